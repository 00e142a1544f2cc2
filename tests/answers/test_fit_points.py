"""What can be varied of a target, and the target at a value."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem.answers.points import Point, check_filled, keywords, places
from graphmem.errors import TargetError
from graphmem.settings import Settings
from graphmem.target.step import Options


def point(target: str = "model.py:build", **options: Any) -> Point:
    return Point(target, Options(**options), Settings(device="cpu"))


@pytest.mark.parametrize(
    ("target", "words", "found"),
    [
        ("model.py", (), []),
        ("model.py:build(width=?)", (), ["width"]),
        ("model.py:build(?, shape=(?, ?, 3))", (), ["argument", "shape"]),
        ("package.module:nets.build(depth=?)", (), ["depth"]),
        ("app:ResNet50(input_shape=(?, ?, 3))", (), ["input_shape"]),
        ("train.py", ("--image-size", "?", "--other", "3", "-b=?", "?"), ["image-size", "b", "argument"]),
    ],
)
def test_places_are_named_after_what_they_follow(target: str, words: tuple[str, ...], found: list[str]) -> None:
    assert places(target, words) == found


@pytest.mark.parametrize(
    ("target", "name", "value", "filled"),
    [
        ("model.py:build(width=?)", "width", 64, "model.py:build(width=64)"),
        ("a(b)/model.py:build(?, width=?)", "width", 64, None),
        ("model.py:build(?, width=?)", "argument", 0.5, "model.py:build(0.5, width=?)"),
        ("model.py:build(shape=(?, ?, 3))", "shape", 8, "model.py:build(shape=(8, 8, 3))"),
        ("model.py:build(act=?)", "act", "relu", "model.py:build(act='relu')"),
        ("model.py:build(width=32, depth=2)", "width", 8, "model.py:build(width=8, depth=2)"),
        ("app:VGG16", "size", 64, "app:VGG16(input_shape=(64, 64, 3))"),
        ("app:VGG16(classes=9)", "size", 64, "app:VGG16(classes=9, input_shape=(64, 64, 3))"),
    ],
)
def test_a_value_goes_into_its_place(target: str, name: str, value: Any, filled: str | None) -> None:
    if filled is None:
        with pytest.raises(TargetError):
            point(target).at(name, value)
    else:
        assert point(target).at(name, value).target == filled


def test_what_else_can_be_varied() -> None:
    base = point(batch=2, dims={"sequence": 7})
    assert base.at("batch", 9).options.batch == 9
    assert dict(base.at("size", 64).options.dims) == {"sequence": 7, "height": 64, "width": 64}
    assert dict(base.at("height", 64).options.dims) == {"sequence": 7, "height": 64}
    assert dict(base.at("sequence", 64).options.dims) == {"sequence": 64}
    assert base.at("optimizer", "sgd").options.optimizer == "sgd"
    assert base.at("step", "predict").options.kind == "predict"
    assert base.at("policy", "mixed_float16").policy == "mixed_float16"
    assert base.at("runtime", "xla").settings.runtime == "xla"
    assert base.at("threads", 3).settings.threads == 3
    assert base.at("memory", "6GiB").settings.memory == 6 << 30
    words = point(script_args=("--size", "?", "--batch=?")).at("batch", 4).options.script_args
    assert words == ("--size", "?", "--batch=4")
    assert base.options.batch == 2
    assert dict(base.options.dims) == {"sequence": 7}


@pytest.mark.parametrize(("name", "value"), [("batch", "many"), ("batch", 0), ("sequence", 0.5), ("threads", "two")])
def test_values_that_are_none(name: str, value: Any) -> None:
    with pytest.raises(TargetError, match=f"{name} must be a whole number"):
        point().at(name, value)


def test_a_place_that_stays_open_is_told() -> None:
    check_filled(point("model.py:build(width=?)"), {"width": None})
    with pytest.raises(TargetError, match="has a \\? for 'width'"):
        check_filled(point("model.py:build(width=?)"), {"batch": None})


def test_a_place_outside_of_a_call_is_refused() -> None:
    with pytest.raises(TargetError, match="stands for an argument in a call"):
        places("model.py:build?")


def test_keywords_of_a_call() -> None:
    assert keywords("model.py:build(2, width=3, depth=?)") == ["width", "depth"]
    assert keywords("model.py:build") == keywords("folder(1)/model.py") == []


def test_an_application_that_says_its_shape_has_no_other_size() -> None:
    with pytest.raises(TargetError, match="write input_shape"):
        point("app:VGG16(input_shape=(32, 32, 3))").at("size", 64)
