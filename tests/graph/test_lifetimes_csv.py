"""Lifetimes as minimalloc's CSV: written, read, and the peak of published instances."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphmem.errors import TargetError
from graphmem.graph.lifetimes_csv import Row, peak_of, read_lifetimes, write_lifetimes
from graphmem.ops.registry import Env
from graphmem.report.lifetimes import lifetimes_of
from graphmem.runtime.simulate import Simulation, simulate
from tests import graphs

INSTANCES = sorted(Path(__file__).with_name("minimalloc").glob("*.csv"))


def replay(name: str) -> Simulation:
    return simulate(getattr(graphs, name)(), order="graph", env=Env(threads=1))


@pytest.mark.parametrize("path", INSTANCES, ids=lambda path: path.stem)
def test_published_instances_need_their_capacity(path: Path) -> None:
    """These two are tight: at one time the buffers fill the capacity that their names give."""
    rows = read_lifetimes(path.read_text())
    capacity = int(path.stem.split(".")[1])
    assert peak_of(rows) == capacity
    alive = [sum(row.size for row in rows if row.lower <= other.lower < row.upper) for other in rows]
    assert max(alive) == capacity


def test_both_instances_are_there() -> None:
    assert [(path.stem, len(read_lifetimes(path.read_text()))) for path in INSTANCES] == [
        ("A.1048576", 154),
        ("input.12", 5),
    ]


def test_a_step_is_written_buffer_by_buffer() -> None:
    """The diamond: `top` lives until `right` has read it, the result until the step ends."""
    written = write_lifetimes(lifetimes_of(replay("diamond")))
    assert written == "id,lower,upper,size\n1,1,4,8\n2,2,5,16\n3,3,5,32\n4,4,6,64\n"


@pytest.mark.parametrize(
    "name", ["chain", "diamond", "dead_output", "view_chain", "two_weights", "x_times_x", "unknown_size", "empty"]
)
def test_what_is_written_is_read_and_has_the_peak_of_the_simulation(name: str) -> None:
    simulation = replay(name)
    rows = lifetimes_of(simulation)
    assert read_lifetimes(write_lifetimes(rows)) == rows
    assert peak_of(rows) == simulation.peak


def test_residents_and_unknown_sizes_are_no_buffers_of_the_step() -> None:
    assert [row.size for row in lifetimes_of(replay("inplace_update"))] == [64]
    assert all(row.size > 0 for row in lifetimes_of(replay("unknown_size")))


def test_a_buffer_that_starts_when_another_ends_does_not_meet_it() -> None:
    assert peak_of([Row("a", 0, 3, 8), Row("b", 3, 5, 8)]) == 8
    assert peak_of([]) == 0


def test_other_columns_and_older_names_are_read() -> None:
    text = "size,buffer_id,start,end,alignment\n4,a,0,2,64\n\n8,b,2,2,64\n"
    assert read_lifetimes(text) == [Row("a", 0, 3, 4), Row("b", 2, 3, 8)]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "no column id, lower, upper, size"),
        ("id,lower,size\na,0,3\n", "no column upper"),
        ("id,lower,upper,size\na,0,1,4\nb,0,one,4\n", "line 3 of the lifetimes is not"),
        ("id,lower,upper,size\na,0,1\n", "line 2 of the lifetimes is not"),
        ("id,lower,upper,size\na,3,3,4\n", r"line 2 of the lifetimes: a buffer lives in \[lower, upper\)"),
        ("id,lower,upper,size\na,0,3,-4\n", "0 bytes or more"),
    ],
)
def test_what_cannot_be_read_is_named(text: str, sentence: str) -> None:
    with pytest.raises(TargetError, match=sentence):
        read_lifetimes(text)
