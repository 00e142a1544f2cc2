"""cuDNN's recurrent networks: what they keep for the gradient, and what is not known of them.

cuDNN says how much it wants when it is asked, on the card. Of the reserve space two sizes are published: 736,000,000
bytes for an LSTM and 864,000,000 for a GRU (github.com/pytorch/pytorch/issues/2895, a P100, 2017), which have, by
their parameters, four layers of 320 units. `KEPT` is what gives their ratio, 23 to 27, and both to the byte for 25,000
samples times steps, which the report does not tell. Newer cuDNNs may keep more or less. The workspace is unknown.
"""

from __future__ import annotations

from graphmem.graph.model import Op, Tensor
from graphmem.ops.registry import Env, amend
from graphmem.ops.sizes import itemsize, known

KEPT = {"lstm": 5, "gru": 6}
"""Values per unit, time step, sample and layer in the reserve space; one more between layers. An LSTM's are its four
gates and its cell."""

_FORWARD = "CudnnRNN CudnnRNNV2 CudnnRNNV3"
_BACKWARD = "CudnnRNNBackprop CudnnRNNBackpropV2 CudnnRNNBackpropV3"


def workspace(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """What cuDNN asks for when it runs: not known."""
    return [None]


def reserve_space(op: Op, inputs: tuple[Tensor, ...], env: Env) -> dict[int, int | None]:
    """Gates and cells of each layer, and what goes from layer to layer: as much as cuDNN 7 kept; none for inference."""
    if not op.attrs.get("is_training", True):
        return {3: 0}
    x, state, item = known(inputs[0].shape), known(inputs[1].shape), itemsize(inputs[0].dtype)
    kept = KEPT.get(str(op.attrs.get("rnn_mode", "lstm")))
    if x is None or state is None or item is None or kept is None:
        return {3: None}
    directions = 2 if op.attrs.get("direction") == "bidirectional" else 1
    pseudo_layers = state[0] if op.attrs.get("time_major", True) else state[1]
    layers, units = pseudo_layers // directions, state[-1]
    return {3: x[0] * x[1] * units * directions * (layers * kept + layers - 1) * item}


def apply() -> None:
    """Put the formulas on the rows. Runs after all rows are there."""
    amend(f"{_FORWARD} {_BACKWARD}", gpu_scratch=workspace)
    amend(_FORWARD, gpu_outputs=reserve_space)
