"""What is inside a saved model, and what each way of loading it costs, on files made by hand."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from graphmem.answers.load.answer import LoadCost, load_cost, read
from graphmem.answers.load.text import FORMATS, as_text, ways_table
from graphmem.answers.load.ways import (
    LAYER_OBJECTS,
    READ_COPIES,
    VARIABLE_OBJECTS,
    Machine,
    Measured,
    ways_of,
)
from graphmem.errors import TargetError
from tests.answers.saved import ADAM, DENSE, SLOTS, WEIGHTS, h5_model, keras_file, weights_file

KERNEL, BIAS, SEED, COUNTER = 100 * 50 * 4, 50 * 4, 2 * 4, 4
COMPILED = {"optimizer": ADAM, "loss": {"class_name": "function", "config": "mse"}, "metrics": ["mae", None]}


@pytest.mark.parametrize("packed", [False, True])
def test_kinds_sizes_and_training_of_a_keras_file(tmp_path: Path, packed: bool) -> None:
    path = keras_file(tmp_path / "net.keras", WEIGHTS | SLOTS, COMPILED, packed)
    contents = read(str(path))
    assert (contents.format, contents.layers, contents.keras_version) == ("keras", 1, "3.15.1")
    assert contents.bytes_of("weight") == KERNEL + BIAS
    assert contents.bytes_of("optimizer") == 2 * KERNEL + COUNTER
    assert contents.bytes_of("other") == SEED
    assert [(row["kind"], row["dtype"], row["tensors"]) for row in contents.sums] == [
        ("weight", "float32", 2), ("optimizer", "float32", 3), ("other", "float32", 1),
    ]  # fmt: skip
    assert contents.disk_bytes == path.stat().st_size
    assert (sum(row["disk_bytes"] for row in contents.sums) < contents.bytes_of()) is packed
    assert contents.training is not None
    assert (contents.training.optimizer, contents.training.loss) == ("Adam", "mse")
    assert contents.training.metrics == ("mae",)


def test_ways_of_a_keras_file(tmp_path: Path) -> None:
    contents = read(str(keras_file(tmp_path / "net.keras", WEIGHTS | SLOTS, COMPILED)))
    compiled, plain, weights = ways_of(contents, Machine())
    reading = READ_COPIES * KERNEL
    assert compiled.stored_bytes == 3 * KERNEL + BIAS + SEED + COUNTER
    assert compiled.object_bytes == 6 * VARIABLE_OBJECTS + LAYER_OBJECTS
    assert compiled.reading_bytes == contents.weights_member_bytes + reading
    assert plain.stored_bytes == weights.stored_bytes == KERNEL + BIAS + SEED
    assert plain.reading_bytes == contents.weights_member_bytes + reading
    assert weights.reading_bytes == reading
    assert compiled.peak_bytes == compiled.after_bytes + compiled.reading_bytes


def test_a_large_file_is_unpacked_to_disk(tmp_path: Path) -> None:
    contents = read(str(keras_file(tmp_path / "net.keras", WEIGHTS | SLOTS, COMPILED)))
    total = contents.bytes_of()
    enough = ways_of(contents, Machine(free_bytes=2 * total + 2))[0]
    scarce = ways_of(contents, Machine(free_bytes=2 * total))[0]
    assert enough.reading_bytes - scarce.reading_bytes == contents.weights_member_bytes
    assert "temporary file" in scarce.says


def test_slots_that_compiling_makes(tmp_path: Path) -> None:
    contents = read(str(keras_file(tmp_path / "net.keras", WEIGHTS | {"optimizer/vars/0": ()}, COMPILED)))
    made = ways_of(contents, Machine(slots=(4, 2 * KERNEL)))[0]
    assert (made.made_bytes, made.at_least) == (2 * KERNEL, False)
    assert made.object_bytes == (4 + 4) * VARIABLE_OBJECTS + LAYER_OBJECTS
    assert "compiling makes them" in made.says
    unknown = ways_of(contents, Machine())[0]
    assert (unknown.made_bytes, unknown.at_least) == (0, True)


def test_keras_3_leaves_the_slots_of_h5_where_they_are(tmp_path: Path) -> None:
    new, old = (read(str(h5_model(tmp_path / f"{v}.h5", v))) for v in ("3.15.1", "2.15.0"))
    compiled = ways_of(new, Machine())[0]
    assert compiled.stored_bytes == KERNEL + BIAS
    assert "does not restore" in compiled.says
    legacy = ways_of(old, Machine())[0]
    assert legacy.stored_bytes == 2 * KERNEL + BIAS + 8
    assert legacy.call == "tf_keras.models.load_model(FILE)"
    assert legacy.reading_bytes == (KERNEL + BIAS) + (READ_COPIES - 1) * KERNEL  # a layer is read at once


def test_a_weights_file_is_a_lower_bound(tmp_path: Path) -> None:
    cost = load_cost(weights_file(tmp_path / "net.weights.h5", WEIGHTS | SLOTS))
    assert [(way.name, way.at_least) for way in cost.ways] == [("compiled", True), ("weights only", True)]
    assert cost.ways[1].stored_bytes == KERNEL + BIAS + SEED
    assert "≥" in as_text(cost)


def test_not_compiled(tmp_path: Path) -> None:
    cost = load_cost(keras_file(tmp_path / "net.keras", WEIGHTS))
    assert cost.contents.training is None
    assert cost.ways[0].stored_bytes == cost.ways[1].stored_bytes
    assert "nothing: it was saved without having been compiled" in as_text(cost)


def test_code_in_the_file_is_named_and_not_run(tmp_path: Path) -> None:
    lambda_layer = {"class_name": "Lambda", "module": "keras.layers", "config": {"function": ["code", None, None]}}
    own = {"class_name": "Mine", "module": "my.layers", "config": {}, "registered_name": "Mine"}
    path = keras_file(tmp_path / "a.keras", WEIGHTS, layers=[lambda_layer])
    with pytest.raises(TargetError, match=r"Python bytecode .* pass --unsafe"):
        load_cost(path, verify=True)
    assert load_cost(path).ways
    other = keras_file(tmp_path / "b.keras", WEIGHTS, layers=[DENSE, own])
    with pytest.raises(TargetError, match=r"classes of your own \(Mine\)"):
        load_cost(other, verify=True)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.keras", b"no archive", "no zip archive"),
        ("a.h5", b"no file", "is no model or weights file, or is damaged"),
        ("a.txt", b"", "is no saved model by its name"),
        ("a.keras", None, "does not exist"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, content: bytes | None, says: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(TargetError, match=says):
        load_cost(tmp_path / name)


def test_a_folder_with_nothing(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"no saved_model.pb, no .index file"):
        load_cost(tmp_path)


def measured(cost: LoadCost, after: int) -> LoadCost:
    for way in cost.ways:
        way.measured = Measured(before=10**9, peak=after * 2, after=after, seconds=1.0)
    return cost


def test_agreement(tmp_path: Path) -> None:
    cost = load_cost(weights_file(tmp_path / "net.weights.h5", {"layers/dense/vars/0": (5000, 5000)}))
    way = cost.ways[0]
    assert cost.agrees(way) is None
    assert cost.agrees(measured(cost, round(way.after_bytes / 1.09)).ways[0]) is True
    assert cost.agrees(measured(cost, round(way.after_bytes / 1.11)).ways[0]) is False
    assert "agreement: none (tolerance 10 %)" in as_text(cost)
    assert "+11.0 %" in as_text(cost)


def test_formats(tmp_path: Path) -> None:
    cost = load_cost(keras_file(tmp_path / "net.keras", WEIGHTS | SLOTS, COMPILED))
    data = json.loads(FORMATS[".json"](cost))
    assert (data["schema"], [way["name"] for way in data["ways"]]) == (1, ["compiled", "not compiled", "weights only"])
    assert data["ways"][0]["peak_bytes"] == cost.ways[0].peak_bytes
    assert data["contents"]["tensors"][0]["shape"] == [100, 50]
    assert len(ways_table(cost).columns) + 3 == len(ways_table(measured(cost, 5)).columns)
    assert all(FORMATS[ending](cost) for ending in FORMATS)
    assert max(map(len, as_text(dataclasses.replace(cost), width=80).splitlines())) <= 80
