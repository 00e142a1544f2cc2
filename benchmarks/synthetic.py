"""Step graphs of any size without TensorFlow, shaped like the training step of a residual network."""

from __future__ import annotations

from graphmem.graph.model import Argument, Op, StepGraph, Tensor, Variable, tensor_bytes

WIDTH, BATCH = 256, 32


def decoder_graph(n_ops: int) -> StepGraph:
    """A training step of at least `n_ops` ops and fewer than one layer more.

    Each layer is `x + relu(x @ w + b)`, a residual block as a decoder has them: its input and activation are kept for
    the backward pass, which makes gradients in the opposite order; the weights are updated in place at the end. All
    layers have one size, so that the peak can be worked out on paper.
    """
    graph = StepGraph(ops=[], info={"kind": "train", "target": f"synthetic:{n_ops}"})
    layers = max(1, -(-(n_ops - 3) // OPS_PER_LAYER))
    graph.arguments.append(Argument("x", "float32", (BATCH, WIDTH), BATCH * WIDTH * 4))
    x = _add(graph, "x", "_Arg", [], (BATCH, WIDTH), "input", attrs={"_arg": ("argument", 0)})
    saved = []
    for layer in range(layers):
        x, *kept = _forward(graph, layer, x)
        saved.append(kept)
    grad = _add(graph, "loss/grad", "MatMul", [x, x], (BATCH, WIDTH), "gradient", "backward")
    updates = []
    for layer in reversed(range(layers)):
        grad, *pair = _backward(graph, layer, grad, saved[layer])
        updates.append(pair)
    for layer, (handles, grads) in zip(reversed(range(layers)), updates, strict=True):
        for part, handle, gradient in zip(("w", "b"), handles, grads, strict=True):
            name, inputs = f"update/layer_{layer}/{part}", [handle, gradient]
            _add(graph, name, "AssignSubVariableOp", inputs, None, "update", "update", scope=f"decoder/layer_{layer}")
    _add(graph, "result", "_Retval", [x], None, "output")
    return graph


OPS_PER_LAYER = 15
"""8 forward (two handles and two reads among them), 5 backward, 2 updates."""


def _forward(graph: StepGraph, layer: int, x: int) -> tuple[int, ...]:
    """x + relu(x @ w + b): 8 ops; returns the output, x, the relu, the read weight and the two handles."""
    scope = f"decoder/layer_{layer}"
    handles, reads = [], []
    for part, shape in (("w", (WIDTH, WIDTH)), ("b", (WIDTH,))):
        graph.variables.append(
            Variable(f"{scope}/{part}", "float32", shape, tensor_bytes("float32", shape), scope=scope)
        )
        attrs = {"_arg": ("variable", len(graph.variables) - 1)}
        handle = Tensor("resource", (), 0, host=True)
        name = f"{scope}/{part}"
        graph.ops.append(Op(name, "_Arg", (), (), (handle,), attrs, scope, role="weight"))
        handles.append(len(graph.ops) - 1)
        reads.append(_add(graph, f"{name}/read", "ReadVariableOp", [handles[-1]], shape, "weight", scope=scope))
    product = _add(graph, f"{scope}/matmul", "MatMul", [x, reads[0]], (BATCH, WIDTH), scope=scope)
    biased = _add(graph, f"{scope}/bias", "BiasAdd", [product, reads[1]], (BATCH, WIDTH), scope=scope)
    relu = _add(graph, f"{scope}/relu", "Relu", [biased], (BATCH, WIDTH), scope=scope)
    out = _add(graph, f"{scope}/add", "AddV2", [x, relu], (BATCH, WIDTH), scope=scope)
    return out, x, relu, reads[0], *handles


def _backward(graph: StepGraph, layer: int, grad: int, kept: list[int]) -> tuple[int, list[int], list[int]]:
    """5 ops; returns the gradient of the layer's input, the handles of its variables, and their gradients."""
    x, relu, weight, *handles = kept
    scope = f"decoder/layer_{layer}"

    def add(name: str, kind: str, inputs: list[int], shape: tuple[int, ...]) -> int:
        return _add(graph, f"gradient/{scope}/{name}", kind, inputs, shape, "gradient", "backward", scope=scope)

    through = add("relu", "ReluGrad", [grad, relu], (BATCH, WIDTH))
    bias = add("bias", "BiasAddGrad", [through], (WIDTH,))
    weights = add("weights", "MatMul", [x, through], (WIDTH, WIDTH))
    inputs = add("inputs", "MatMul", [through, weight], (BATCH, WIDTH))
    total = add("add", "AddN", [grad, inputs], (BATCH, WIDTH))
    return total, handles, [weights, bias]


def _add(
    graph: StepGraph,
    name: str,
    kind: str,
    inputs: list[int],
    shape: tuple[int, ...] | None,
    role: str = "activation",
    phase: str = "forward",
    *,
    scope: str = "",
    attrs: dict[str, object] | None = None,
) -> int:
    outputs = () if shape is None else (Tensor("float32", shape, tensor_bytes("float32", shape)),)
    reads = tuple((index, 0) for index in inputs)
    attrs = attrs if attrs is not None else {"T": "float32"}
    graph.ops.append(Op(name, kind, reads, (), outputs, attrs, scope, phase, role, f"model.py:{len(name)}"))
    return len(graph.ops) - 1
