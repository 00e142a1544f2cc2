"""Inputs, open dimensions and targets as the user writes them: text in, plain data or one sentence out."""

import pytest

from graphmem.errors import TargetError
from graphmem.target.specs import InputSpec, axis_name, fill_shape, parse_input, parse_inputs, safe_name
from graphmem.target.syntax import Named, Place, did_you_mean, parse_named, parse_target


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("x:float32:8x224x224x3", (8, 224, 224, 3)),
        ("x:float32:8,128", (8, 128)),
        ("x:float32:(8, 128)", (8, 128)),
        ("x:float32:(8,)", (8,)),
        ("x:float32:?xnonex3", (None, None, 3)),
        ("x:float32:", ()),
        ("x:float32:scalar", ()),
    ],
)
def test_shapes(text, shape):
    assert parse_input(text) == InputSpec("x", "float32", shape)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x:float32", "is not of the form NAME:DTYPE:SHAPE"),
        (":float32:3", "is not of the form NAME:DTYPE:SHAPE"),
        ("x:floot32:3", "there is no dtype 'floot32'"),
        ("x:variant:3", "there is no dtype 'variant'"),
        ("x:float32:0x3", "'0' in '0x3' is no dimension"),
        ("x:float32:-1x3", "'-1' in '-1x3' is no dimension"),
        ("x:float32:axb", "'a' in 'axb' is no dimension"),
    ],
)
def test_bad_inputs_are_named(text, said):
    with pytest.raises(TargetError, match=r"^--input") as error:
        parse_input(text)
    assert said in str(error.value)


def test_an_input_is_given_once():
    assert list(parse_inputs(("b:int32:1", "a:int32:2"))) == ["b", "a"]
    with pytest.raises(TargetError, match="'a' is given twice"):
        parse_inputs(("a:int32:1", "a:int32:2"))


def test_open_dimensions_are_filled_by_batch_and_name():
    assert fill_shape("img", (None, None, None, 3), 8, {"height": 32, "img.2": 16}) == (8, 32, 16, 3)
    assert fill_shape("tok", (None, None), 4, {"tok.sequence": 7}) == (4, 7)
    assert fill_shape("tok", (None, None), 4, {"sequence": 9, "tok.1": 7}) == (4, 7), "the input's own value goes first"
    assert fill_shape("x", (2, 3), 4, {"x.0": 5}) == (2, 3), "what is known stays"
    assert fill_shape("x", (None, 3), None, {"x.0": 5}) == (5, 3)


def test_a_missing_dimension_is_named_with_its_option():
    with pytest.raises(TargetError, match=r"batch size \(dimension 0 of input 'x'\) is not known; .* --batch N\."):
        fill_shape("x", (None, 3), None, {})
    with pytest.raises(TargetError, match=r"'x' has an open dimension 1 \(sequence\?\); give it with --set x\.1=N\."):
        fill_shape("x", (None, None), 4, {})
    with pytest.raises(TargetError, match=r"open dimension 3; give it with --set x\.3=N\."):
        fill_shape("x", (1, 1, 1, None, 1, 1), 4, {})


def test_names():
    assert [axis_name(4, i) for i in range(4)] == ["batch", "height", "width", "channels"]
    assert axis_name(7, 0) == "batch"
    assert axis_name(7, 3) == ""
    assert safe_name("block/x:0") == "block_x_0"
    assert safe_name("") is None


def test_targets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text("")
    (tmp_path / "net.keras").write_text("")
    (tmp_path / "sm").mkdir()
    (tmp_path / "sm" / "saved_model.pb").write_text("")
    assert parse_target("model.py") == Place("script", "model.py")
    assert parse_target("model.py:build(2, 'a:b', width=(1, 2))") == Place(
        "script", "model.py", Named("build", True, (2, "a:b"), {"width": (1, 2)})
    )
    assert parse_target("pkg.mod:obj.name") == Place("module", "pkg.mod", Named("obj.name"))
    assert parse_target("app:ResNet50") == Place("app", "", Named("ResNet50"))
    assert parse_target("net.keras") == Place("saved", "net.keras")
    assert parse_target("sm") == Place("folder", "sm")


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("modle.py", "There is no file 'modle.py'; did you mean 'model.py'?"),
        ("modle.py:x", "There is no file 'modle.py'; did you mean 'model.py'?"),
        ("nothing", "There is no file 'nothing'."),
        (".", "is a folder without a saved_model.pb"),
        ("a.ipynb", "is a notebook; save it as a Python file"),
        ("a.txt", "is no Python file, saved model (.keras, .h5) or saved trace"),
        ("model.py:", "is neither a name nor a call with literal arguments"),
        ("model.py:f(x)", "is neither a name nor a call with literal arguments"),
        ("model.py:f(**{'a': 1})", "is neither a name nor a call with literal arguments"),
        ("model.py:f()()", "is neither a name nor a call with literal arguments"),
        ("model.py:1", "is neither a name nor a call with literal arguments"),
    ],
)
def test_bad_targets(tmp_path, monkeypatch, target, said):
    monkeypatch.chdir(tmp_path)
    for name in ("model.py", "a.ipynb", "a.txt"):
        (tmp_path / name).write_text("")
    with pytest.raises(TargetError) as error:
        parse_target(target)
    assert said in str(error.value)


def test_a_call_runs_nothing():
    with pytest.raises(TargetError):
        parse_named("build(__import__('os').getcwd())", "t")


def test_did_you_mean():
    assert did_you_mean("resnet5", ["ResNet50", "VGG16"]) == "; did you mean 'ResNet50'?"
    assert did_you_mean("abc", ["ResNet50"]) == "."
