"""Constants that shape inference keeps for as long as a traced function lives: each takes a chunk of the pool.

While a graph is built, shape functions ask for the value of some inputs, such as `Reshape`'s shape. `ShapeRefiner`
(shape_refiner.cc) works it out and keeps a copy if it is small. ResNet50's training step leaves 1245 of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from graphmem.graph.model import tensor_bytes

#: Bytes beyond which a value is not kept (`kMaxTensorSize`).
MOST_BYTES = 64

#: Positions of inputs -> the op types whose shape functions ask for them (tensorflow/core/ops/*.cc).
_ASKED = {
    (0,): "AvgPool3DGrad AvgPoolGrad Conv2DBackpropInput Conv3DBackpropInputV2 DepthwiseConv2dNativeBackpropInput"
    " EmptyTensorList Fill MaxPool3DGrad RandomStandardNormal RandomUniform RandomUniformInt Split"
    " StatelessRandomNormal StatelessRandomNormalV2 StatelessRandomUniform StatelessRandomUniformFullIntV2"
    " StatelessRandomUniformIntV2 StatelessRandomUniformV2 StatelessTruncatedNormal StatelessTruncatedNormalV2"
    " StridedSliceGrad TensorListReserve TruncatedNormal",
    (1,): "All Any ArgMax ArgMin Bincount BroadcastTo ConjugateTranspose Conv2DBackpropFilter Conv3DBackpropFilterV2"
    " DepthwiseConv2dNativeBackpropFilter EuclideanNorm ExpandDims Max Mean Min MirrorPad MirrorPadGrad OneHot Pad"
    " PadV2 Prod Reshape ResizeArea ResizeBicubic ResizeBilinear ResizeNearestNeighbor ResizeNearestNeighborGrad"
    " ReverseV2 Sum TensorListConcatV2 TensorListFromTensor TensorListStack Tile TopKV2 Transpose",
    (2,): "GatherV2 LinSpace ScatterNd TensorListGetItem UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd"
    " UnsortedSegmentSum",
    (1, 2): "BatchToSpaceND Slice SpaceToBatchND SplitV",
    (0, 1, 2): "Range",
    (1, 2, 3): "MatrixDiagV3 StridedSlice",
}
_POSITIONS = {kind: positions for positions, kinds in _ASKED.items() for kind in kinds.split()}


def kept_constants(graph_def: Any) -> int:
    """How many constants of a graph, and of the functions in its library, shape functions ask for and keep."""
    bodies = [graph_def.node, *(function.node_def for function in graph_def.library.function)]
    return sum(len(set(_asked(nodes))) for nodes in bodies)


def _asked(nodes: Sequence[Any]) -> Iterator[str]:
    by_name = {node.name: node for node in nodes}
    for node in nodes:
        for source in _sources(node):
            given = by_name.get(source)
            parts = [source] if given is None or given.op != "Pack" else map(_producer, given.input)
            yield from (part for part in parts if part in by_name and _is_small(by_name[part]))


def _sources(node: Any) -> list[str]:
    """The ops whose values the node's shape function asks for."""
    inputs = [_producer(name) for name in node.input if not name.startswith("^")]
    positions = (len(inputs) - 1,) if node.op == "ConcatV2" else _POSITIONS.get(node.op, ())
    return [inputs[position] for position in positions if position < len(inputs)]


def _producer(name: str) -> str:
    """The op of an input: "op", "op:1" in a graph, "op:output:0" in a function."""
    return name.partition(":")[0]


def _is_small(node: Any) -> bool:
    if node.op != "Const":
        return False
    import tensorflow as tf

    tensor = node.attr["value"].tensor
    shape = tuple(dim.size for dim in tensor.tensor_shape.dim)
    nbytes = tensor_bytes(tf.as_dtype(tensor.dtype).name, shape)
    return nbytes is not None and 0 < nbytes <= MOST_BYTES  # an empty one takes no chunk
