"""Reports shaped like those of real networks at their peak, for the frontier picture; no TensorFlow."""

from __future__ import annotations

from dataclasses import replace

from graphmem.graph.model import tensor_bytes
from graphmem.report.report import FrontierBuffer, PeakPoint, Report
from tests.example_reports import report_of

PEAK, POSITIONS = 5012, 10_000


class Step:
    """Collects buffers; each is born after the one before and the layers are read back in reverse."""

    def __init__(self) -> None:
        self.buffers: list[FrontierBuffer] = []

    def add(
        self,
        scope: str,
        made_by: str,
        shape: tuple[int | None, ...] | None,
        reader: str,
        *,
        reader_scope: str | None = None,
        role: str = "activation",
        phase: str = "forward",
        dtype: str = "float32",
        size: int | None = None,
        at_peak: str = "",
    ) -> None:
        """`at_peak`: "made" or "read" by the op at the peak, which is called `peak`."""
        born = len(self.buffers) + 1
        where = scope if reader_scope is None else reader_scope
        freed = POSITIONS - born if reader else POSITIONS
        if at_peak == "made":
            born = PEAK
        if at_peak == "read" or (at_peak and role == "scratch"):
            freed = PEAK + 1
        op = "peak" if at_peak == "made" else f"{scope}/{made_by}"
        last_reader = "peak" if at_peak == "read" else f"grad/{where}/{reader}" if reader else ""
        self.buffers.append(
            FrontierBuffer(
                tensor=f"{op} (scratch)" if role == "scratch" else f"{op}:0",
                bytes=tensor_bytes(dtype, shape) if size is None else size,
                shape=shape,
                dtype=dtype,
                role=role,
                phase=phase,
                scope=scope,
                made_by=made_by,
                last_reader=last_reader,
                last_reader_type=reader,
                last_reader_scope=where if reader else "",
                born=born,
                freed=freed,
                op=op,
            )
        )

    def report(self, op_type: str, scope: str, phase: str = "backward", **changes: object) -> Report:
        """The report whose peak op, `peak`, has this type and scope."""
        return report_of(
            self.buffers,
            peak=PeakPoint("peak", op_type, scope, phase, PEAK, POSITIONS),
            weight_bytes=102_229_600,
            optimizer_bytes=204_884_104,
            other_state_bytes=212_508,
            argument_bytes=4_816_928,
            **changes,
        )


def resnet50() -> Report:
    """Four stages of bottleneck blocks; the peak is at the start of the backward pass of the second stage."""
    step = Step()
    step.add("conv1_conv", "Conv2D", (32, 112, 112, 64), "FusedBatchNormGradV3", reader_scope="conv1_bn")
    step.add("conv1_relu", "Relu", (32, 112, 112, 64), "MaxPoolGrad", reader_scope="pool1_pool")
    step.add("pool1_pool", "MaxPool", (32, 56, 56, 64), "Conv2DBackpropFilter", reader_scope="conv2_block1_1_conv")
    for stage, side, width, blocks in ((2, 56, 64, 3), (3, 28, 128, 4), (4, 14, 256, 6), (5, 7, 512, 3)):
        for block in range(1, blocks + 1):
            name = f"conv{stage}_block{block}"
            for layer, channels in ((1, width), (2, width), (3, 4 * width)):
                shape = (32, side, side, channels)
                step.add(
                    f"{name}_{layer}_conv", "Conv2D", shape, "FusedBatchNormGradV3", reader_scope=f"{name}_{layer}_bn"
                )
                for _ in range(2):
                    step.add(f"{name}_{layer}_bn", "FusedBatchNormV3", (channels,), "FusedBatchNormGradV3")
                if layer < 3:
                    step.add(
                        f"{name}_{layer}_relu",
                        "Relu",
                        shape,
                        "Conv2DBackpropFilter",
                        reader_scope=f"{name}_{layer + 1}_conv",
                    )
            step.add(f"{name}_out", "Relu", (32, side, side, 4 * width), "ReluGrad")
    step.add(
        "conv2_block1_out",
        "ReluGrad",
        (32, 56, 56, 256),
        "FusedBatchNormGradV3",
        role="gradient",
        phase="backward",
        at_peak="read",
    )
    step.add(
        "conv2_block1_3_bn",
        "FusedBatchNormGradV3",
        (32, 56, 56, 256),
        "Conv2DBackpropInput",
        role="gradient",
        phase="backward",
        at_peak="made",
    )
    step.add(
        "conv2_block1_3_bn",
        "FusedBatchNormGradV3",
        None,
        "",
        role="scratch",
        phase="backward",
        dtype="",
        size=4 << 20,
        at_peak="made",
    )
    step.add("", "Mean", (), "", role="output")
    return step.report("FusedBatchNormGradV3", "conv2_block1_3_bn", target="app:ResNet50")


def unet() -> Report:
    """Layers with Keras's own names; the encoder's outputs wait for the decoder."""
    step, number = Step(), 0

    def convolutions(side: int, width: int) -> None:
        nonlocal number
        for _ in range(2):
            name = f"conv2d_{number}" if number else "conv2d"
            step.add(name, "Relu", (2, side, side, width), "ReluGrad")
            number += 1

    for level, width in enumerate((64, 128, 256, 512)):
        convolutions(256 >> level, width)
        pool = f"max_pooling2d_{level}" if level else "max_pooling2d"
        step.add(pool, "MaxPool", (2, 128 >> level, 128 >> level, width), "MaxPoolGrad")
    convolutions(16, 1024)
    for level, width in enumerate((512, 256, 128, 64)):
        side = 32 << level
        name = f"concatenate_{level}" if level else "concatenate"
        step.add(name, "ConcatV2", (2, side, side, 2 * width), "Conv2DBackpropFilter", reader_scope=f"conv2d_{number}")
        convolutions(side, width)
    step.add("conv2d_18", "Conv2D", (2, 256, 256, 1), "SigmoidGrad")
    step.add(
        "conv2d_17",
        "Conv2DBackpropInput",
        (2, 256, 256, 64),
        "ReluGrad",
        role="gradient",
        phase="backward",
        at_peak="read",
    )
    step.add(
        "conv2d_17",
        "ReluGrad",
        (2, 256, 256, 64),
        "Conv2DBackpropInput",
        role="gradient",
        phase="backward",
        at_peak="made",
    )
    return step.report("ReluGrad", "conv2d_17", target="unet.py:model")


def transformer(layers: int = 12) -> Report:
    """Nested scopes and two dtypes; the logits' gradient is the largest."""
    step = Step()
    step.add(
        "gpt/token_embedding",
        "ResourceGather",
        (8, 512, 768),
        "Mul",
        dtype="float16",
        reader_scope="gpt/embedding_dropout",
    )
    for layer in range(layers):
        block = f"gpt/decoder_layer_{layer}"
        step.add(
            f"{block}/self_attention_norm",
            "AddV2",
            (8, 512, 768),
            "MatMul",
            dtype="float16",
            reader_scope=f"{block}/self_attention/query",
        )
        for part in ("query", "key", "value"):
            step.add(
                f"{block}/self_attention/{part}",
                "Einsum",
                (8, 512, 12, 64),
                "Einsum",
                dtype="float16",
                reader_scope=f"{block}/self_attention",
            )
        step.add(f"{block}/self_attention/softmax", "Softmax", (8, 12, 512, 512), "Mul", dtype="float16")
        step.add(
            f"{block}/self_attention/dropout",
            "SelectV2",
            (8, 12, 512, 512),
            "Einsum",
            dtype="float16",
            reader_scope=f"{block}/self_attention",
        )
        step.add(f"{block}/self_attention/dropout", "GreaterEqual", (8, 12, 512, 512), "Cast", dtype="bool")
        step.add(f"{block}/feedforward_intermediate", "BiasAdd", (8, 512, 3072), "TanhGrad", dtype="float16")
        step.add(
            f"{block}/feedforward_intermediate",
            "Mul",
            (8, 512, 3072),
            "MatMul",
            dtype="float16",
            reader_scope=f"{block}/feedforward_output",
        )
    step.add("gpt/logits", "MatMul", (8, 512, 50257), "SparseSoftmaxCrossEntropyWithLogits", at_peak="read")
    step.add(
        "gpt/logits",
        "SparseSoftmaxCrossEntropyWithLogits",
        (8, 512, 50257),
        "Mul",
        role="gradient",
        phase="backward",
        at_peak="made",
    )
    step.add("gpt/logits", "SparseSoftmaxCrossEntropyWithLogits", (4096,), "Mean", role="output", at_peak="made")
    return step.report("SparseSoftmaxCrossEntropyWithLogits", "gpt/logits", "forward", target="gpt.py:train_step")


def tiny() -> Report:
    """Three small tensors, no scopes."""
    step = Step()
    step.add("", "MatMul", (4, 8), "ReluGrad", reader_scope="")
    step.add("", "Relu", (4, 8), "MatMul", reader_scope="", at_peak="read")
    step.add(
        "", "MatMul", (8, 8), "AssignSubVariableOp", reader_scope="", role="gradient", phase="backward", at_peak="made"
    )
    return step.report("MatMul", "")


def empty() -> Report:
    """Nothing alive."""
    return Step().report("NoOp", "", "forward")


def giant() -> Report:
    """One tensor of 48 GiB and three small ones."""
    step = Step()
    step.add(
        "dense_with_a_very_long_name_that_no_column_can_hold_in_full",
        "MatMul",
        (131072, 98304),
        "SomeVeryLongOpTypeNameWithoutEnd",
    )
    for index in range(3):
        step.add(f"norm_{index}", "Mul", (64,), "Sum")
    return step.report(
        "SomeVeryLongOpTypeNameWithoutEnd", "dense_with_a_very_long_name_that_no_column_can_hold_in_full"
    )


def unknown_sizes() -> Report:
    """Some tensors have no known size."""
    step = Step()
    step.add("tokenizer", "StringSplitV2", (None,), "StringLower", dtype="string")
    step.add("ragged", "Where", (None, 2), "GatherNd", dtype="int64")
    step.add("dense", "MatMul", (64, 4096), "ReluGrad")
    step.add("dense_1", "MatMul", (64, 4096), "ReluGrad")
    report = step.report("MatMul", "dense_2")
    return replace(report, at_least=True, unknown_sizes=["tokenizer/StringSplitV2:0", "ragged/Where:0"])


def hostile() -> Report:
    """Names that are no identifiers: markup, quotes, backslashes, control characters, other scripts."""
    step = Step()
    for name in (
        "<b>&amp;</b>",
        'say "hi" \\N \\l',
        "层/卷积_1",
        "tab\there\nline",
        "}; evil [label=x]; {",
        "%s{}[]|<>",
    ):
        step.add(name, "Op<&>", (1024, 1024), "Grad\"'\\", reader_scope=f"{name}/後")
    return step.report("Op<&>", 'peak "of" <all>')


CASES = {case.__name__: case for case in (resnet50, unet, transformer, tiny, empty, giant, unknown_sizes, hostile)}
