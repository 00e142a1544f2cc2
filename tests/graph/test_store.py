from __future__ import annotations

import copy
import gc
import json
import math
import os
import time
import tracemalloc
import zlib

import pytest

from benchmarks.synthetic import decoder_graph
from graphmem.errors import InternalError, TargetError
from graphmem.graph import store
from graphmem.graph.columns import to_columns
from graphmem.graph.model import Argument, Made, Op, StepGraph, Tensor, Variable
from graphmem.graph.store import is_trace, load_trace, save_trace
from tests import graphs


def rich_graph() -> StepGraph:
    """Every kind of value that a trace may hold."""
    attrs = {
        "_arg": ("variable", 0),
        "shape": [1, None, [2, 3]],
        "nested": ((), [(1, (2.5, None))], {"a": [True, False], "b": {}}),
        "epsilon": 1e-7,
        "infinities": [math.inf, -math.inf],
        "minus_zero": -0.0,
        "limits": [-(2**63), 2**64 - 1],
        "text": 'quote " backslash \\ newline \n tab \t nul \0 snow ☃ emoji 😀',
        "nothing": None,
    }
    op = Op(
        name="odd/näme",
        type="_Arg",
        inputs=(),
        controls=(),
        outputs=(Tensor("resource", None, 0, host=True), Tensor("float8_e5m2", (3, None), None)),
        attrs=attrs,
        scope="encoder/block_3/conv2d",
        phase="backward",
        role="scratch",
        source="model.py:12",
        device="gpu",
    )
    after = Op("after", "NoOp", (), (0,), ())
    weight = Variable("w", "bfloat16", (2, 3), 12, scope="layer")
    slot = Variable("m", "float32", (2, 3), 24, role="optimizer state", trainable=False, slot_of="w")
    argument = Argument("x", "string", (None,), None)
    info = {"kind": "train", "facts": {"loss": "mse"}, "notes": []}
    return StepGraph([op, after], [weight, slot], [argument], info, [Made(0, 12, "drawn")], kept_constants=3)


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "step.graphmem")


@pytest.mark.parametrize("make", [*graphs.ALL, rich_graph], ids=lambda make: make.__name__)
def test_what_comes_back_is_what_went_in(make, path):
    save_trace(make(), path)
    loaded = load_trace(path)
    assert loaded == make()
    assert repr(loaded) == repr(make())  # == cannot tell -0.0 from 0.0, True from 1


def test_not_a_number_comes_back_as_one(path):
    graph = graphs.chain()
    graph.ops[0].attrs["value"] = [math.nan]
    save_trace(graph, path)
    assert math.isnan(load_trace(path).ops[0].attrs["value"][0])


def test_the_same_graph_gives_the_same_bytes(path, tmp_path):
    save_trace(rich_graph(), path)
    again = tmp_path / "again.graphmem"
    save_trace(load_trace(path), str(again))
    with open(path, "rb") as file:
        assert file.read() == again.read_bytes()


def test_loaded_ops_share_nothing_that_can_be_changed(path):
    graph = graphs.chain()
    for op in graph.ops:
        op.attrs["same"] = 1
    save_trace(graph, path)
    loaded = load_trace(path)
    loaded.ops[1].attrs["same"] = 2
    loaded.ops[1].outputs[0].host = True
    assert loaded.ops[2].attrs["same"] == 1
    assert not loaded.ops[2].outputs[0].host


def test_the_header_is_one_readable_line(path):
    save_trace(graphs.chain(), path)
    with open(path, "rb") as file:
        magic, version, ops, size = file.readline().split()
        assert (magic, version, ops) == (b"graphmem-trace", b"1", b"5")
        assert len(zlib.decompress(file.read())) == int(size)


def test_an_existing_file_is_kept_unless_forced(path):
    save_trace(graphs.chain(), path)
    with pytest.raises(TargetError, match="exists; choose another name, or pass --force"):
        save_trace(graphs.diamond(), path)
    assert load_trace(path) == graphs.chain()
    save_trace(graphs.diamond(), path, force=True)
    assert load_trace(path) == graphs.diamond()


def test_nothing_half_written_is_left_when_the_disk_is_full(path, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(TargetError, match=r"cannot be written: No space left on device\."):
        save_trace(graphs.chain(), path)
    assert os.listdir(tmp_path) == []


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(TargetError, match="cannot be written: No such file or directory"):
        save_trace(graphs.chain(), str(tmp_path / "nowhere" / "step.graphmem"))
    with pytest.raises(TargetError, match="is not a regular file"):
        save_trace(graphs.chain(), str(tmp_path), force=True)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (b"bytes", "a bytes is not plain data"),
        ({1: 2}, "1 cannot be a key"),
        ({"": 2}, "'' cannot be a key"),
        (2**64, "does not fit in 64 bits"),
        ("\ud800", "surrogates not allowed"),
        ({1, 2}, "a set is not plain data"),
    ],
)
def test_attributes_that_are_not_plain_data(value, what, path, tmp_path):
    graph = graphs.chain()
    graph.ops[1].attrs["bad"] = [value]
    with pytest.raises(InternalError, match=f"op 'a' has an attribute that cannot be saved: .*{what}"):
        save_trace(graph, path)
    assert os.listdir(tmp_path) == []


def test_an_attribute_that_holds_itself(path):
    graph = graphs.chain()
    graph.ops[1].attrs["self"] = graph.ops[1].attrs
    with pytest.raises(InternalError, match="cannot be saved: something is nested more than 50 levels deep"):
        save_trace(graph, path)


def test_info_that_is_not_plain_data(path):
    graph = graphs.chain()
    graph.info["when"] = object()
    with pytest.raises(InternalError, match="the trace cannot be saved: a object is not plain data"):
        save_trace(graph, path)


def test_an_illegal_graph_is_not_saved(path):
    graph = graphs.chain()
    graph.ops[1].inputs = ((9, 0),)
    with pytest.raises(InternalError, match="inputs exist"):
        save_trace(graph, path)


# --- files that are not what save_trace writes ---


def packed(text: bytes, header: bytes | None = None) -> bytes:
    return (header or b"graphmem-trace 1 5 %d\n" % len(text)) + zlib.compress(text)


def packed_json(data: dict) -> bytes:
    text = json.dumps(data).encode()
    return packed(text, b"graphmem-trace 1 %d %d\n" % (len(data["name"]), len(text)))


def refused(path: str, content: bytes) -> str:
    with open(path, "wb") as file:
        file.write(content)
    with pytest.raises(TargetError) as caught:
        load_trace(path)
    message = str(caught.value)
    assert message.startswith(path)
    assert message.endswith(".")
    assert "\n" not in message
    return message.removeprefix(path + " ")


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(TargetError, match=r"cannot be read: No such file or directory\."):
        load_trace(str(tmp_path / "none.graphmem"))
    with pytest.raises(TargetError, match=r"cannot be read: Is a directory\."):
        load_trace(str(tmp_path))


@pytest.mark.parametrize("content", [b"", b"\n", b"PK\x03\x04", b"\x80\x04\x95.", b"graphmem-tracer 1 1 1\n", b"{}"])
def test_a_foreign_file(path, content):
    assert refused(path, content) == "is not a trace that graphmem saved."
    assert not is_trace(path)


def test_is_trace(path, tmp_path):
    assert not is_trace(path)
    assert not is_trace(str(tmp_path))
    assert not is_trace("a\0b")
    save_trace(graphs.chain(), path)
    assert is_trace(path)


def test_a_newer_version_whatever_its_header_holds(path):
    assert refused(path, b"graphmem-trace 2 7 7 7\n???") == (
        "is a trace of format 2, this version of graphmem reads format 1: upgrade graphmem, or trace the target again."
    )


@pytest.mark.parametrize(
    "header", [b" \n", b" 1\n", b" 1 5\n", b" 1 5 5 5\n", b" 1 -5 5\n", b" 1 5 5", b" one 5 5\n", b" 1 " + b"9" * 200]
)
def test_a_damaged_header(path, header):
    assert refused(path, b"graphmem-trace" + header) == "is damaged: its header cannot be read."


def test_a_truncated_file_wherever_it_is_cut(path):
    save_trace(graphs.two_weights(), path)
    with open(path, "rb") as file:
        whole = file.read()
    for length in range(whole.index(b"\n") + 1, len(whole), 7):
        assert refused(path, whole[:length]) == "is damaged: it ends too early."


def test_any_flipped_byte_is_noticed(path):
    save_trace(graphs.two_weights(), path)
    with open(path, "rb") as file:
        whole = bytearray(file.read())
    for place in range(0, len(whole), 3):
        spoilt = whole.copy()
        spoilt[place] ^= 0x55
        refused(path, bytes(spoilt))


def test_something_after_the_end(path):
    assert refused(path, packed(b"{}") + b"x") == "is damaged: something follows its end."


def test_a_bomb_is_not_inflated(path):
    bomb = zlib.compress(bytes(200 * 2**20), 9)
    tracemalloc.start()
    try:
        assert refused(path, b"graphmem-trace 1 5 1000\n" + bomb) == (
            "is damaged: it holds more than the 1000 bytes that its header promises."
        )
        assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
    finally:
        tracemalloc.stop()
    claim = b"graphmem-trace 1 5 99999999999\n"
    assert refused(path, claim + bomb) == (
        "is damaged: it claims 99999999999 bytes of data, more than a trace may hold."
    )


def test_less_data_than_promised(path):
    assert refused(path, packed(b"{}", b"graphmem-trace 1 5 3\n")) == (
        "is damaged: it holds 2 bytes, its header promises 3."
    )


@pytest.mark.parametrize("text", [b"[[],[],[],[],[]]", b'{"a":{},"b":{},"c":{}}', b"[1,2,3,4,5,6,7,8,9]"])
def test_too_many_values_are_not_parsed(path, monkeypatch, text):
    monkeypatch.setattr(store, "MAX_VALUES", 8)
    monkeypatch.setattr(json, "loads", lambda *_, **__: pytest.fail("parsed"))
    assert refused(path, packed(text)) == "is damaged: it holds more values than a trace may."


def test_a_trace_too_large_to_be_read_is_not_written(path, monkeypatch):
    monkeypatch.setattr(store, "MAX_VALUES", 8)
    with pytest.raises(InternalError, match="the trace of 5 ops is too large to be saved"):
        save_trace(graphs.chain(), path)


def test_data_nested_too_deeply(path):
    for text in (b"[" * 200_000 + b"]" * 200_000, b'{"a":' * 200_000 + b"1" + b"}" * 200_000):
        assert refused(path, packed(text)) == "is damaged: its data is nested too deeply."


def test_attributes_nested_too_deeply(path):
    data = to_columns(graphs.chain())
    for too_deep in ("[" * 50 + "]" * 50, '{"a":' * 50 + "1" + "}" * 50, '{"":[' * 50 + "]}" * 50):
        data["info"] = {"deep": json.loads(too_deep)}
        assert refused(path, packed_json(data)) == "is damaged: something is nested more than 50 levels deep."
    graph = graphs.chain()
    graph.info["deep"] = json.loads("[" * 49 + "]" * 49)
    save_trace(graph, path, force=True)
    assert load_trace(path) == graph


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (b"", "Expecting value"),
        (b"{", "Expecting property name"),
        (b"NaN", "it holds NaN, which is no JSON"),
        (b"[-Infinity]", "it holds -Infinity, which is no JSON"),
        (b"[1e999]", "it holds a number that is out of range"),
        (b"1" * 5000, "digits"),
        ('"ü"'.encode(), "can't decode"),
        (b"\xff", "can't decode"),
        (b"[]", "what holds 'name' is a list, not a dict"),
        (b"null", "what holds 'name' is a NoneType, not a dict"),
        (b"{}", "'name' is missing"),
    ],
)
def test_text_that_is_no_graph(path, text, what):
    message = refused(path, packed(text))
    assert message.startswith("is damaged: ")
    assert what in message


def spoil(data: dict, place: str, value: object) -> dict:
    """A copy of the data with another value at "columns.inputs.0"."""
    data = copy.deepcopy(data)
    *way, last = [int(key) if key.isdigit() else key for key in place.split(".")]
    inner = data
    for key in way:
        inner = inner[key]
    inner[last] = value
    return data


SPOILT = [
    ("name.0", 5, "'name' holds something that is not a str"),
    ("name.0", "\ud800", "surrogates not allowed"),
    ("name", "text", "'name' is a str, not a list"),
    ("name.1", "x", "names are unique"),
    ("tables.type.0", None, "'type' holds something that is not a str"),
    ("tables.phase.0", "sideways", "its phase is 'sideways'"),
    ("columns.type", [0], "'type' has 1 entries for 12 ops"),
    ("columns.type.0", 99, "'type' has an index out of its table"),
    ("columns.type.0", -1, "'type' has an index out of its table"),
    ("columns.type.0", 10**300, "'type' has an index out of its table"),
    ("columns.type.0", True, "'type' holds something that is not a int"),
    ("columns.attrs.0", 0.5, "'attrs' holds something that is not a int"),
    ("columns.inputs.0", -1, "names op #-1 of 12"),
    ("columns.inputs.0", 10**300, "inputs exist"),
    ("columns.inputs.1", 7, "reads output 7 of an op that has 1"),
    ("columns.inputs", [1], "zip() argument"),
    ("columns.controls", [1], "the counts of 'controls' do not add up"),
    ("counts.outputs.0", -1, "the counts of 'outputs' do not add up"),
    ("counts.inputs", [], "the counts of 'inputs' do not add up"),
    ("tables.attrs.0", [], "'attrs' holds something that is not a dict"),
    ("tables.attrs.0", {"": 1}, "an object with an empty key is neither a tuple nor a float"),
    ("tables.attrs.0", {"a": {"": [1], "b": 2}}, "an object with an empty key is neither a tuple nor a float"),
    ("tables.attrs.0", {"a": {"": "infinite"}}, "an object with an empty key is neither a tuple nor a float"),
    ("tables.attrs.0", {"a": 2**64}, "an integer does not fit in 64 bits"),
    ("tables.attrs.0", {"_arg": {"": ["argument", 10**18]}}, "it stands for argument 1000000000000000000 of 1"),
    ("tables.tensor.0", ["float32", [4], 16], "not enough values to unpack"),
    ("tables.tensor.0", ["float32", [4], 16, 1], "host is a int, not a bool"),
    ("tables.tensor.0", ["float32", [4], 17, False], "it claims 17 bytes; float32 of shape [4] is 16 bytes"),
    ("tables.tensor.0", ["float32", [-4], None, False], "a size is negative or too large"),
    ("tables.tensor.0", ["float32", [2**63], None, False], "a size is negative or too large"),
    ("tables.tensor.0", ["float32", [1.5], None, False], "a size is a float, not a int"),
    ("tables.tensor.0", ["float32", [1] * 255, None, False], "a shape has too many dimensions"),
    ("tables.tensor.0", [None, [4], 16, False], "a dtype is a NoneType, not a str"),
    ("variables.0.0", None, "a name is a NoneType, not a str"),
    ("variables.0.5", 1, "trainable is a int, not a bool"),
    ("variables.0.6", "v", "it is a slot of 'v'"),
    ("variables.0", {}, "'variables' holds something that is not a list"),
    ("arguments.0", [], "not enough values to unpack"),
    ("arguments.0.3", 10**300, "a size is negative or too large"),
    ("made.0", [0, 64, "drawn"], "not enough values to unpack"),
    ("made.0.0", True, "a number is a bool, not a int"),
    ("made.0.2", "guessed", "it makes a variable in the way 'guessed'"),
    ("info", [], "'info' is a list, not a dict"),
    ("info.kind", {"": None}, "an object with an empty key is neither a tuple nor a float"),
    ("name", [], "'type' has 12 entries for 0 ops"),
]


@pytest.mark.parametrize(("place", "value", "what"), SPOILT)
def test_every_field_is_checked(path, place, value, what):
    data = spoil(to_columns(graphs.tied_weight()), place, value)
    message = refused(path, packed_json(data))
    assert message.startswith("is damaged: ")
    assert what in message


def test_a_header_that_promises_other_ops(path):
    text = json.dumps(to_columns(graphs.chain())).encode()
    with open(path, "wb") as file:
        file.write(packed(text))
    assert load_trace(path) == graphs.chain()
    content = packed(text, b"graphmem-trace 1 6 %d\n" % len(text))
    assert refused(path, content) == "is damaged: its header promises 6 ops, it holds 5."


def test_the_garbage_collector_is_left_as_it_was(path):
    save_trace(graphs.chain(), path)
    assert gc.isenabled()
    load_trace(path)
    assert gc.isenabled()
    gc.disable()
    try:
        load_trace(path)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_ten_thousand_ops_load_fast(path):
    graph = decoder_graph(10_000)
    save_trace(graph, path)
    started = time.process_time()
    assert load_trace(path) == graph
    assert time.process_time() - started < 1.5  # 0.06 s on a laptop; room for a slow, busy machine
