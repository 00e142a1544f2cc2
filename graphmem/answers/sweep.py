"""Many analyses of a target: every combination of what is varied, in parallel processes or on a Dask cluster."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphmem.answers.points import Point, Value, check_filled
from graphmem.answers.sweep_points import Axis, analyse, as_request, axis, failure, identity, points_of
from graphmem.errors import GraphmemError, TargetError
from graphmem.settings import Settings
from graphmem.target.step import Options
from graphmem.units import as_bytes

KIND = "graphmem-sweep"
"""What a results file says that it is."""

TIMEOUT = 3600.0
"""Seconds that one point may take unless the user says otherwise."""

MEMORY_OF_ONE = 2 << 30
"""Free memory for each process (bytes): TensorFlow and the graph of a large model."""


@dataclass(frozen=True)
class SweptPoint:
    """One combination and what came of it.

    Attributes:
        values: name -> value.
        result: the figures (`graphmem.answers.sweep_points.FIGURES` and more); or "error", "exit_code", "excerpt".
        kept: whether it is from an earlier run.
    """

    values: dict[str, Value]
    result: dict[str, Any]
    kept: bool = False

    @property
    def error(self) -> str | None:
        """Why there are no figures, in a sentence; `None` if there are."""
        return self.result.get("error")


@dataclass(frozen=True)
class Sweep:
    """All points, in the order of the combinations.

    Attributes:
        target: as the user named it.
        axes: what was varied.
        points: one per combination, the last axis fastest.
    """

    target: str
    axes: tuple[Axis, ...]
    points: tuple[SweptPoint, ...]

    @property
    def failed(self) -> list[SweptPoint]:
        """The points without figures."""
        return [point for point in self.points if point.error is not None]

    @property
    def exit_code(self) -> int:
        """0 if every point has figures, else the highest of their errors' codes."""
        return max((point.result["exit_code"] for point in self.failed), default=0)

    @property
    def budget_bytes(self) -> int | None:
        """The limit that all points have in common, if they have one."""
        limits = {point.result["budget_bytes"] for point in self.points if point.error is None}
        return limits.pop() if len(limits) == 1 else None

    def __str__(self) -> str:
        from graphmem.answers.sweep_text import as_table
        from graphmem.render.tables import as_text

        return as_text(as_table(self))


@dataclass
class Results:
    """Results by identity, kept in a file as they come.

    Attributes:
        path: the file; "" keeps none.
        known: identity -> values and result.
    """

    path: str = ""
    known: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, path: str) -> Results:
        """What a file holds; empty if there is none yet.

        Raises:
            TargetError: it is no results file, or cannot be read.
        """
        if not path or not os.path.exists(path):
            return cls(path)
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
            if data["kind"] != KIND or data["schema"] != 1:
                raise ValueError("of another kind")
            return cls(path, {str(item["id"]): item for item in data["points"]})
        except OSError as error:
            raise TargetError(f"{path} cannot be read: {error.strerror}.") from error
        except (ValueError, KeyError, TypeError) as error:
            raise TargetError(f"{path} holds no results of a sweep; name another file for --resume.") from error

    def add(self, name: str, values: Mapping[str, Value], result: dict[str, Any]) -> None:
        """Keep a result; the file is whole at any time."""
        self.known[name] = {"id": name, "values": dict(values), "result": result}
        self.save()

    def save(self) -> None:
        """Write the file anew."""
        from graphmem.render.output import replace_file

        if self.path:
            data = {"schema": 1, "kind": KIND, "points": list(self.known.values())}
            replace_file(self.path, (json.dumps(data, indent=1) + "\n").encode())


Done = Callable[[int, dict[str, Any]], None]
"""Told the number of a request that is done, and its result."""


def sweep_target(
    base: Point,
    axes: Sequence[Axis],
    *,
    jobs: int | None = None,
    dask: str | None = None,
    resume: str = "",
    timeout: float = TIMEOUT,
    progress: Callable[[str], None] = lambda text: None,
) -> Sweep:
    """Analyse a target at every combination of values.

    Args:
        base: the target and what is common to all points.
        axes: what is varied.
        jobs: processes at a time; `None`: as many as there are cores and 2 GiB of free memory for.
        dask: address of a Dask scheduler whose workers are to analyse the points.
        resume: a results file: points in it are not analysed again, those that finish are added to it.
        timeout: seconds that one point may take.
        progress: told how far it is.

    Raises:
        TargetError: the axes or the results file are wrong, or Dask cannot be reached. What is wrong with a point is
            its result.
    """
    combined = points_of(base, axes)
    check_filled(base, {one.name: None for one in axes})
    results = Results.of(resume)
    results.save()  # a place that cannot be written is told before the work
    found: list[SweptPoint | None] = [None] * len(combined)
    names: dict[int, str] = {}
    for number, (values, point) in enumerate(combined):
        if isinstance(point, GraphmemError):
            found[number] = SweptPoint(values, failure(point))
            continue
        names[number] = identity(point)
        kept = results.known.get(names[number])
        if kept is not None:
            found[number] = SweptPoint(values, kept["result"], kept=True)
    open_ones = {number: as_request(point) for number, (_, point) in enumerate(combined)
                 if found[number] is None and isinstance(point, Point)}  # fmt: skip

    def tell() -> None:
        have = [point for point in found if point is not None]
        failed = sum(point.error is not None for point in have)
        progress(f"{len(have)} of {len(found)} points{f', {failed} failed' if failed else ''}")

    def done(number: int, result: dict[str, Any]) -> None:
        values = combined[number][0]
        found[number] = SweptPoint(values, result)
        if "error" not in result:
            results.add(names[number], values, result)
        tell()

    tell()
    if open_ones and dask is not None:
        _on_dask(open_ones, dask, timeout, done)
    elif open_ones:
        _in_processes(open_ones, jobs or default_jobs(len(open_ones)), timeout, done)
    return Sweep(base.target, tuple(axes), tuple(point for point in found if point is not None))


def _in_processes(requests: dict[int, dict[str, Any]], jobs: int, timeout: float, done: Done) -> None:
    """Each request in a process of its own, some at a time; none of them is left when this is interrupted."""
    stop, folder = threading.Event(), os.getcwd()
    with ThreadPoolExecutor(jobs) as threads:
        running: dict[Future[dict[str, Any]], int] = {
            threads.submit(analyse, request, folder, timeout, stop): number for number, request in requests.items()
        }
        try:
            for future in _as_completed(running):
                done(running[future], future.result())
        except BaseException:
            stop.set()
            threads.shutdown(wait=True, cancel_futures=True)
            raise


def _as_completed(futures: Mapping[Future[Any], int]) -> Iterator[Future[Any]]:
    """Futures as they finish; an interrupt is heard in between."""
    left = set(futures)
    while left:
        finished, left = wait(left, timeout=0.5, return_when=FIRST_COMPLETED)
        yield from finished


def _on_dask(requests: dict[int, dict[str, Any]], address: str, timeout: float, done: Done) -> None:
    """Each request as a task of a Dask cluster, in a process of its own there.

    Raises:
        TargetError: Dask is not installed, or no scheduler answers.
    """
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise TargetError("Dask is not installed here: pip install 'graphmem[dask]'.") from error
    try:
        client = Client(address, timeout="20s", set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise TargetError(f"no Dask scheduler answers at {address}: start one, or correct the address.") from error
    with client:
        folder = os.getcwd()
        running = {
            client.submit(analyse, request, folder, timeout, pure=False): number for number, request in requests.items()
        }
        try:
            for future in as_completed(list(running), loop=client.loop):
                lost = future.exception()
                done(running[future], future.result() if lost is None else _lost(lost))
        finally:
            client.cancel(list(running))


def _lost(error: BaseException) -> dict[str, Any]:
    """The result of a point whose Dask worker is gone, or has no graphmem."""
    said = str(error).strip().splitlines() or [""]
    return {"error": f"the Dask worker failed: {type(error).__name__}: {said[0]}", "exit_code": 3, "excerpt": ""}


def default_jobs(points: int) -> int:
    """How many processes at a time: no more than points, cores, and 2 GiB pieces of free memory; 1 at least."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    free = _free_memory()
    return max(1, min(points, cores, cores if free is None else free // MEMORY_OF_ONE))


def _free_memory() -> int | None:
    """Bytes of memory that can be had; `None` where the system does not tell."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def sweep(
    target: str | os.PathLike[str],
    over: Mapping[str, Sequence[Value]],
    *,
    budget: int | str | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    resume: str | os.PathLike[str] = "",
    timeout: float = TIMEOUT,
    step: str | None = None,
    batch: int | None = None,
    inputs: tuple[str, ...] = (),
    dims: dict[str, int] | None = None,
    loss: str | None = None,
    optimizer: str | None = None,
    policy: str = "",
    **settings: Any,
) -> Sweep:
    """Analyse a target at every combination of values.

    Args:
        target: a text as `graphmem.analyze` takes it, with `?` for arguments that are varied; an object cannot be
            given to other processes.
        over: what is varied -> its values: "batch", "size", "step", "optimizer", "loss", "policy" (Keras' dtype
            policy), "device", "runtime", "memory" and other settings, arguments of the target's call, dimensions.
        budget: bytes or a text such as "6GiB": whether each point fits into it.
        jobs: processes at a time; `None`: as many as there are cores and 2 GiB of free memory for.
        dask: address of a Dask scheduler.
        resume: a results file: what is in it is not analysed again, and what finishes is added.
        timeout: seconds that one point may take.
        step, batch, inputs, dims, loss, optimizer, policy, settings: common to all points.

    Returns:
        A `Sweep`; a point that failed has its error there.

    Raises:
        TargetError: the axes, the settings or the results file are wrong, or Dask cannot be reached.
    """
    if not isinstance(target, (str, os.PathLike)):
        raise TargetError("sweep takes a target by its text, such as model.py:build(width=?): points run elsewhere.")
    memory = None if budget is None else as_bytes(budget)
    common = Settings(**(settings if memory is None else {**settings, "memory": memory}))
    options = Options(step, batch, tuple(inputs), dict(dims or {}), loss, optimizer)
    base = Point(os.fspath(target), options, common, policy)
    axes = [axis(name, values) for name, values in over.items()]
    return sweep_target(base, axes, jobs=jobs, dask=dask, resume=os.fspath(resume), timeout=timeout)
