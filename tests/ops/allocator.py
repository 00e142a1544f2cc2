"""What TensorFlow's own allocator does for single ops: measured in a child process.

The child puts the CPU device on TensorFlow's BFC allocator, whose events the profiler records with op, size and kind.
One thread runs ops one at a time, kernels have two. Each case is one op, run twice: with inputs that the caller holds,
and with inputs that die with the op.

As a script (`python allocator.py CASES.json`) it is that child.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

THREADS = 2


@dataclass(frozen=True)
class Case:
    """One op to run.

    Attributes:
        op: the op type.
        tensors: input name -> (dtype, shape) of a tensor with random values, or [(dtype, shape), ...] for a list input.
        consts: input name -> value of an integer constant (or a list of them).
        attrs: attributes; dtypes as names.
        fed: input name -> value of an integer input that is no constant, so that TensorFlow does not fold the op away.
        integers: the dtype of constants and fed inputs.
        top: random integer inputs are below this.
    """

    op: str
    tensors: dict[str, Any]
    consts: dict[str, Any] = field(default_factory=dict)
    attrs: dict[str, Any] = field(default_factory=dict)
    fed: dict[str, Any] = field(default_factory=dict)
    integers: str = "int32"
    top: int = 3

    def __str__(self) -> str:
        shapes = [f"{dtype}{list(shape)}" for dtype, shape in flat(self.tensors.values())]
        extra = [f"{k}={v}".replace(" ", "") for k, v in (*self.consts.items(), *self.fed.items(), *self.attrs.items())]
        return "-".join([self.op, *shapes, *(text[:40] for text in extra)]).replace(" ", "")


def flat(specs: Any) -> list[tuple[str, tuple[int, ...]]]:
    """The (dtype, shape) pairs of the inputs, list inputs opened."""
    found = []
    for spec in specs:
        found += flat(spec) if isinstance(spec, list) and not isinstance(spec[0], str) else [(spec[0], tuple(spec[1]))]
    return found


@dataclass
class Observed:
    """What one run of a case showed.

    Attributes:
        node: type, attrs, inputs and outputs ([dtype, shape]) and constant inputs of the op that ran.
        allocations: (bytes requested, "output" or "temp"), in order.
    """

    node: dict[str, Any]
    allocations: list[tuple[int, str]]


def measure(cases: list[Case]) -> list[dict[str, Observed]]:
    """Per case {"held": ..., "dying": ...}: what the allocator did. Starts one process for all of them."""
    with tempfile.TemporaryDirectory() as folder:
        question, answer = Path(folder, "cases.json"), Path(folder, "answer.json")
        question.write_text(json.dumps([asdict(case) for case in cases]))
        env = dict(
            os.environ,
            TF_CPP_MIN_LOG_LEVEL="3",
            TF_CPU_ALLOCATOR_USE_BFC="true",
            TF_CPU_BFC_MEM_LIMIT_IN_MB="4000",
            TF_ENABLE_ONEDNN_OPTS="0",
            CUDA_VISIBLE_DEVICES="",
        )
        command = [sys.executable, __file__, str(question), str(answer)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            raise AssertionError(done.stderr[-3000:])
        return [
            {way: Observed(node, [(n, kind) for n, kind in allocations]) for way, (node, allocations) in found.items()}
            for found in json.loads(answer.read_text())
        ]


def main(question: str, answer: str) -> None:
    """Run the cases of a file under the profiler and write what was seen to another."""
    import tensorflow as tf

    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(THREADS)
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    runs, errors = [], []
    for index, data in enumerate(json.loads(Path(question).read_text())):
        for way in ("held", "dying"):
            name = f"case_{index}_{way}"
            try:
                runs.append((index, way, name, *build(tf, Case(**data), name, way)))
            except Exception as error:
                errors.append(f"{Case(**data)}: {(str(error) or repr(error)).splitlines()[-1]}")
    if errors:
        sys.exit("\n".join(errors))
    seen = profile(tf, lambda: [call() for *_, call in runs])
    found: list[dict[str, Any]] = [{} for _ in range(len(runs) // 2)]
    for index, way, name, node, _ in runs:
        found[index][way] = (node, seen.get(name, []))
    Path(answer).write_text(json.dumps(found))


def build(tf: Any, case: Case, name: str, way: str) -> tuple[dict[str, Any], Any]:
    """(the op's description, a callable that runs it) for one way of feeding a case."""
    specs = flat(case.tensors.values())
    arguments = [tf.constant(random_array(tf, dtype, shape, case.top)) for dtype, shape in specs]
    arguments += [tf.constant(value, case.integers) for value in case.fed.values()]

    @tf.function(autograph=False, input_signature=[tf.TensorSpec(a.shape, a.dtype) for a in arguments])
    def run(*args: Any) -> Any:
        held = list(args)
        if way == "dying":
            held = [fresh(tf, arg) for arg in held[: len(specs)]] + held[len(specs) :]
        supply = iter(held)
        inputs = {
            key: [next(supply) for _ in spec] if isinstance(spec, list) and isinstance(spec[0], list) else next(supply)
            for key, spec in case.tensors.items()
        }
        consts = {key: tf.constant(value, case.integers) for key, value in case.consts.items()}
        fed = dict(zip(case.fed, supply, strict=True))
        if case.op.startswith("_"):
            return private_op(tf, case, tf.nest.flatten(list(inputs.values())), name)
        result = getattr(tf.raw_ops, case.op)(**inputs, **consts, **fed, **case.attrs, name=name)
        return [x for x in tf.nest.flatten(result) if isinstance(x, tf.Tensor)]

    concrete = run.get_concrete_function()
    concrete(*arguments)
    return describe(tf, concrete.graph.get_operation_by_name(name)), lambda: concrete(*arguments)


def private_op(tf: Any, case: Case, inputs: list[Any], name: str) -> list[Any]:
    """An op that only Grappler makes: built by hand, its element type that of its first input."""
    number = inputs[0].dtype.as_datatype_enum
    attrs = {"T": tf.compat.v1.AttrValue(type=number)}
    if case.op == "_FusedConv2D":
        attrs["TArgs"] = tf.compat.v1.AttrValue(
            list=tf.compat.v1.AttrValue.ListValue(type=[number] * (len(inputs) - 2))
        )
        attrs["num_host_args"] = tf.compat.v1.AttrValue(i=0)
    for key, value in case.attrs.items():
        attr = attrs.setdefault(key, tf.compat.v1.AttrValue())
        if isinstance(value, list):
            kind = attr.list.s if isinstance(value[0], str) else attr.list.i
            kind.extend([item.encode() if isinstance(item, str) else item for item in value])
        elif isinstance(value, str):
            attr.s = value.encode()
        else:
            attr.i = value
    graph = tf.compat.v1.get_default_graph()
    made = graph.create_op(case.op, inputs, [inputs[0].dtype], name=name, attrs=attrs)
    return list(made.outputs)


def fresh(tf: Any, tensor: Any) -> Any:
    """A copy that nobody else holds."""
    if tensor.dtype == tf.bool:
        return tf.raw_ops.LogicalNot(x=tensor)
    if tensor.dtype.is_quantized:
        whole = tf.as_dtype(tensor.dtype.name[1:])
        return tf.bitcast(fresh(tf, tf.bitcast(tensor, whole)), tensor.dtype)
    return tf.raw_ops.Mul(x=tensor, y=tf.ones((), tensor.dtype))


def random_array(tf: Any, dtype: str, shape: tuple[int, ...], top: int) -> Any:
    """Values that most kernels accept: reals in [0.5, 1), integers in [0, top), both truths."""
    import numpy as np

    rng = np.random.default_rng(0)
    kind = tf.as_dtype(dtype)
    if kind.is_integer or kind == tf.bool:
        return rng.integers(0, top, shape).astype(kind.as_numpy_dtype)
    return rng.uniform(0.5, 1, shape).astype(kind.as_numpy_dtype)


def describe(tf: Any, op: Any) -> dict[str, Any]:
    """The op as plain data: what a trace would know of it."""
    attrs = {}
    for key in op.node_def.attr:
        value = op.get_attr(key)
        if isinstance(value, tf.DType):
            value = value.name
        if isinstance(value, bytes):
            value = value.decode()
        if isinstance(value, (bool, int, float, str)):
            attrs[key] = value
        elif isinstance(value, list) and all(isinstance(item, (int, float, str)) for item in value):
            attrs[key] = value
        elif isinstance(value, list) and all(isinstance(item, bytes) for item in value):
            attrs[key] = [item.decode() for item in value]
    consts = {}
    for position, tensor in enumerate(op.inputs):
        value = tf.get_static_value(tensor) if tensor.op.type == "Const" else None
        if value is not None:
            consts[position] = value.tolist()

    def plain(tensors: Any) -> list[tuple[str, list[int] | None]]:
        return [(t.dtype.name, t.shape.as_list() if t.shape.rank is not None else None) for t in tensors]

    return {
        "type": op.type,
        "attrs": attrs,
        "consts": consts,
        "inputs": plain(op.inputs),
        "outputs": plain(op.outputs),
    }


def profile(tf: Any, run: Any) -> dict[str, list[tuple[int, str]]]:
    """Op name -> its allocations while `run` ran; one that names no op is that of the kernel running then."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    with tempfile.TemporaryDirectory() as folder:
        options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=3, python_tracer_level=0)
        tf.profiler.experimental.start(folder, options)
        run()
        tf.profiler.experimental.stop()
        space = xplane_pb2.XSpace()
        space.ParseFromString(next(Path(folder).glob("plugins/profile/*/*.xplane.pb")).read_bytes())
    seen: dict[str, list[tuple[int, str]]] = {}
    events = []
    for plane in space.planes:
        stats = {key: value.name for key, value in plane.stat_metadata.items()}
        for line in plane.lines:
            kernels = [
                (event.offset_ps, event.offset_ps + event.duration_ps, name.rpartition(":")[0])
                for event in line.events
                if ":" in (name := plane.event_metadata[event.metadata_id].name)
            ]
            for event in line.events:
                if plane.event_metadata[event.metadata_id].name.startswith("MemoryAllocation"):
                    running = [name for start, end, name in kernels if start <= event.offset_ps < end]
                    found: dict[str, Any] = {"time": line.timestamp_ns * 1000 + event.offset_ps}
                    found["running"] = running[-1] if running else ""
                    for stat in event.stats:
                        which = stat.WhichOneof("value")
                        value = getattr(stat, which)
                        name = stats[stat.metadata_id]
                        found[name] = plane.stat_metadata[value].name if which == "ref_value" else value
                    events.append(found)
    for found in sorted(events, key=lambda item: item["time"]):
        op = found.get("tf_op") or found["running"]
        seen.setdefault(op, []).append((found["requested_bytes"], found.get("region_type", "")))
    return seen


if __name__ == "__main__":
    main(*sys.argv[1:])
