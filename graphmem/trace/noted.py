"""Shapes noted on the nodes of a GraphDef, which TensorFlow takes where its shape functions know less."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf

Shape = tuple["int | None", ...] | None


def note(node: Any, shapes: Iterable[Any]) -> None:
    """Set the shapes of all outputs of a node."""
    noted = node.attr["_output_shapes"].list.shape
    del noted[:]
    noted.extend(tf.TensorShape(shape).as_proto() for shape in shapes)


def shape_of(source: str, found: dict[str, list[tuple[str, Shape]]]) -> Any:
    """The shape of an input, named as a node names it; `found`: (dtype, shape) of each output, by node."""
    name, _, slot = source.partition(":")
    return found[name][int(slot or 0)][1]
