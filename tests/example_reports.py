# ruff: noqa: E501
"""Hand-made reports: no TensorFlow, every figure written here or added up from the buffers written here."""

from __future__ import annotations

from collections import Counter
from typing import Any

from graphmem.graph.model import PHASES, ROLES
from graphmem.report.report import FrontierBuffer, PeakPoint, Report, ScopeRow, Timeline

VERSIONS = {"graphmem": "0.1.0", "tensorflow": "2.21.0", "keras": "3.15.1"}
MIB = 1 << 20


def buffer(
    nbytes: int | None, shape: tuple[int | None, ...] | None, role: str, phase: str, scope: str, made_by: str, reader: str = "",
    reader_scope: str | None = None, *, dtype: str = "float32", freed: int = 100, source: str = "", op: str = "",
) -> FrontierBuffer:  # fmt: skip
    """A buffer alive at the peak; its last reader is in the same layer unless said otherwise."""
    name = op or f"{scope or 'top'}/{made_by}"
    where = scope if reader_scope is None else reader_scope
    return FrontierBuffer(
        tensor=f"{name} (scratch)" if role == "scratch" else f"{name}:0",
        bytes=nbytes, shape=shape, dtype=dtype, role=role, phase=phase, scope=scope, made_by=made_by,
        last_reader=f"{where}/{reader}" if reader else "", last_reader_type=reader, last_reader_scope=where if reader else "",
        born=1, freed=freed, source=source, op=name,
    )  # fmt: skip


def scope_rows(frontier: list[FrontierBuffer]) -> list[ScopeRow]:
    """The scope tree of these buffers, children after their parent and largest first."""
    total: Counter[str] = Counter()
    count: Counter[str] = Counter()
    own: Counter[str] = Counter()
    for item in frontier:
        parts = item.scope.split("/") if item.scope else []
        own[item.scope] += item.bytes or 0
        for depth in range(len(parts) + 1):
            total["/".join(parts[:depth])] += item.bytes or 0
            count["/".join(parts[:depth])] += 1
    rows: list[ScopeRow] = []

    def add(scope: str, depth: int) -> None:
        rows.append(ScopeRow(scope, depth, total[scope], own[scope], count[scope]))
        children = [s for s in total if s and (s.rpartition("/")[0] == scope)]
        for child in sorted(children, key=lambda s: (-total[s], s)):
            add(child, depth + 1)

    add("", 0)
    return rows


def report_of(frontier: list[FrontierBuffer], **changes: Any) -> Report:
    """A report whose step peak is the sum of these buffers."""
    ranked = sorted(frontier, key=lambda item: (-(item.bytes or 0), item.tensor))
    peak = sum(item.bytes or 0 for item in ranked)
    role: Counter[str] = Counter()
    phase: Counter[str] = Counter()
    both: dict[str, dict[str, int]] = {}
    op_type: Counter[str] = Counter()
    source: Counter[str] = Counter()
    for item in ranked:
        size = item.bytes or 0
        role[item.role] += size
        phase[item.phase] += size
        both.setdefault(item.role, {}).setdefault(item.phase, 0)
        both[item.role][item.phase] += size
        op_type[item.made_by] += size
        source[item.source] += size
    values: dict[str, Any] = {
        "target": "model.py", "step": "train", "runtime": "graph", "device": "cpu", "order": "default", "orders": 8, "batch": 8,
        "versions": VERSIONS, "facts": {"optimizer": "adam", "threads": "2", "oneDNN": "off"}, "ops": 100, "unknown_ops": {},
        "unknown_sizes": [], "at_least": False, "weight_bytes": 0, "optimizer_bytes": 0, "other_state_bytes": 0,
        "argument_bytes": 0, "constant_bytes": 0, "step_peak_bytes": peak, "step_peak_range_bytes": (peak, peak),
        "naive_sum_bytes": 3 * peak, "peak": PeakPoint("grad/Sum", "Sum", "dense", "backward", 50, 100),
        "by_role": {name: role[name] for name in ROLES if name in role},
        "by_phase": {name: phase[name] for name in PHASES if name in phase},
        "by_role_phase": both, "by_op_type": dict(op_type), "by_source": dict(source), "by_scope": scope_rows(ranked),
        "frontier": ranked, "not_counted": [], "notes": [],
    }  # fmt: skip
    return Report(**(values | changes))


def mlp() -> Report:
    """Two dense layers, four buffers: small enough to check every row by eye."""
    frontier = [
        buffer(8 * MIB, (512, 4096), "activation", "forward", "dense", "Relu", "ReluGrad", source="model.py:12"),
        buffer(8 * MIB, (512, 4096), "gradient", "backward", "dense_1", "MatMul", "ReluGrad", "dense", source="model.py:13"),
        buffer(20480, (512, 10), "activation", "forward", "dense_1", "Softmax", "MatMul", source="model.py:13"),
        buffer(4, (), "output", "forward", "", "Mean"),
    ]
    return report_of(
        frontier, target="model.py", batch=512, weight_bytes=12_900_392, optimizer_bytes=25_800_784, other_state_bytes=24,
        argument_bytes=1_607_680, constant_bytes=64, naive_sum_bytes=80 * MIB,
        not_counted=["TensorFlow's own code and data on the host."], notes=["optimizer: Adam, as none was compiled."],
    )  # fmt: skip


def resnet50() -> Report:
    """Shaped like ResNet50's peak at batch 8: dozens of activations waiting for the backward pass."""
    frontier: list[FrontierBuffer] = []
    for block, (side, width, repeats) in enumerate([(56, 64, 3), (28, 128, 4), (14, 256, 6), (7, 512, 3)], 2):
        for unit in range(1, repeats + 1):
            name = f"conv{block}_block{unit}"
            for layer, channels in ((1, width), (2, width), (3, 4 * width)):
                scope, shape = f"resnet50/{name}_{layer}_bn", (8, side, side, channels)
                size = 4 * 8 * side * side * channels
                frontier.append(buffer(size, shape, "activation", "forward", scope, "Sub", "Mul", op=f"{scope}/sub"))
                frontier.append(buffer(size, shape, "activation", "forward", scope, "AddV2", "ReluGrad",
                                       f"resnet50/{name}_{layer}_relu", op=f"{scope}/batchnorm/add_1"))  # fmt: skip
    stem = "resnet50/conv1_bn"
    frontier += [
        buffer(25690112, (8, 112, 112, 64), "activation", "forward", stem, "Sub", "Mul", op=f"{stem}/sub"),
        buffer(25690112, (8, 112, 112, 64), "gradient", "backward", stem, "Mul", "Sum", op=f"grad/{stem}/mul"),
        buffer(25690112, (8, 112, 112, 64), "gradient", "backward", stem, "Neg", freed=51, op=f"grad/{stem}/neg"),
        buffer(12845056, None, "scratch", "backward", stem, "Sum", dtype="", op=f"grad/{stem}/Sum"),
        buffer(8192, (2048,), "update", "update", "", "Mul", "AssignSubVariableOp"),
        buffer(4, (), "output", "forward", "", "Mean"),
    ]
    peak = sum(item.bytes or 0 for item in frontier)
    return report_of(
        frontier, target="app:ResNet50", ops=9904, weight_bytes=102_229_600, optimizer_bytes=204_884_104,
        other_state_bytes=212_508, argument_bytes=4_816_928, constant_bytes=5_120,
        step_peak_range_bytes=(peak - 2 * MIB, peak + 13 * MIB), naive_sum_bytes=7_900_000_000,
        peak=PeakPoint("gradient_tape/resnet50_1/conv1_bn_1/moments/Sum_12", "Sum", "resnet50/conv1_bn", "backward", 4512, 9904),
        facts={"optimizer": "adam", "loss": "sparse_categorical_crossentropy", "dtype policy": "float32", "threads": "2",
               "oneDNN": "off", "rewrites": "TensorFlow's own"},
        not_counted=["TensorFlow's own code and data on the host (about 400 MiB for the Python process).",
                     "the input pipeline's buffers."],
        notes=["optimizer: Adam, as none was compiled.", "loss: sparse_categorical_crossentropy, as none was compiled: say "
               "--loss to choose another one, which decides what of the last layer is kept for the backward pass."],
    )  # fmt: skip


def transformer() -> Report:
    """Long nested scopes, two dtypes, a GPU, a figure that is a lower bound."""
    frontier: list[FrontierBuffer] = []
    for layer in range(12):
        base = f"gpt_language_model/transformer_decoder_stack/decoder_layer_{layer}"
        where = f"layers/decoder.py:{40 + layer % 3}"
        frontier += [
            buffer(4 * 12 * 128 * 128 * 2, (4, 12, 128, 128), "activation", "forward", f"{base}/self_attention/attention_softmax",
                   "Softmax", "Mul", dtype="bfloat16", source=where, op=f"{base}/softmax"),
            buffer(4 * 128 * 3072 * 2, (4, 128, 3072), "activation", "forward", f"{base}/feed_forward/intermediate_dense_projection",
                   "Einsum", "TanhGrad", f"{base}/feed_forward/gelu_activation", dtype="bfloat16", source=where, op=f"{base}/einsum"),
        ]  # fmt: skip
    frontier += [
        buffer(4 * 128 * 50257 * 4, (4, 128, 50257), "gradient", "backward", "gpt_language_model/token_logits", "SoftmaxCrossEntropyWithLogits",
               "Cast", "gpt_language_model/token_logits", source="train.py:88", op="xent"),
        buffer(None, (None, 128), "activation", "forward", "gpt_language_model/ragged", "StringSplitV2", "Cast", dtype="string", op="split"),
    ]  # fmt: skip
    return report_of(
        frontier, target="examples/long_folder_name/gpt_language_model_training.py:build(depth=12)", device="gpu",
        order="breadth-first", orders=1, batch=4, step="train", ops=123_456, at_least=True,
        unknown_ops={"MyCustomAttention": 12, "StringSplitV2": 1}, unknown_sizes=["split:0"],
        weight_bytes=497_759_232, optimizer_bytes=995_518_472, argument_bytes=4096,
        peak=PeakPoint("xent", "SoftmaxCrossEntropyWithLogits", "gpt_language_model/token_logits", "backward", 61000, 123456),
        facts={"optimizer": "adamw", "dtype policy": "mixed_bfloat16", "rewrites": "Grappler for a virtual GPU of architecture 8.0"},
    )  # fmt: skip


def custom() -> Report:
    """A function of the user's own: no layers, no batch, one order, everything made in the forward pass."""
    frontier = [
        buffer(1000, (250,), "activation", "forward", "", "Mul", "Sum", source="step.py:3"),
        buffer(2000, (500,), "activation", "forward", "", "AddV2", "Mul", source="step.py:4", op="top/AddV2_1", freed=51),
    ]
    return report_of(frontier, target="step.py:step", step="custom", batch=None, orders=1, naive_sum_bytes=3000, facts={},
                     peak=PeakPoint("Mul_1", "Mul", "", "forward", 2, 7))  # fmt: skip


def nothing() -> Report:
    """A step that holds no memory of its own."""
    return report_of([], target="identity.py:f", step="predict", batch=1, orders=1,
                     peak=PeakPoint("NoOp", "NoOp", "", "forward", 0, 1))  # fmt: skip


def with_timeline() -> Report:
    """The MLP with a timeline of four positions that peaks at the third."""
    base = mlp()
    total = [0, 8 * MIB, base.step_peak_bytes, 4]
    by_role = {"activation": [0, 8 * MIB, 8 * MIB + 20480, 0], "gradient": [0, 0, 8 * MIB, 0], "output": [0, 0, 4, 4]}
    phases = [("forward", 0, 2), ("backward", 2, 4)]
    values = {name: getattr(base, name) for name in base.__dataclass_fields__}
    return Report(**(values | {"timeline": Timeline(total, by_role, phases)}))


CASES = {"mlp": mlp, "resnet50": resnet50, "transformer": transformer, "custom": custom, "nothing": nothing}
