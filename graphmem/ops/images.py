"""Resizing, colours and boxes of images."""

from __future__ import annotations

from graphmem.graph.model import Op, Tensor
from graphmem.ops.elementwise import FIRST_DYING
from graphmem.ops.registry import Env, Rule, register
from graphmem.ops.sizes import itemsize, known, times


def scaled_rows(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """The image with its rows scaled already, its columns not, in float32."""
    image, scaled = known(inputs[0].shape), known(op.outputs[0].shape)
    if image is None or scaled is None:
        return [None]
    return [times(image[0], scaled[1], *image[2:], 4)]


def gradient_rows(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """The gradient with its rows scaled back already, its columns not, in float32."""
    scaled, image = known(inputs[0].shape), known(op.outputs[0].shape)
    if image is None or scaled is None:
        return [None]
    return [times(image[0], image[1], *scaled[2:], 4)]


def value_range(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """One number for each pixel."""
    shape = inputs[0].shape
    return [None] if shape is None else [times(*shape[:-1], itemsize(inputs[0].dtype))]


def channel_means(op: Op, inputs: tuple[Tensor, ...], env: Env) -> list[int | None]:
    """A float32 for each image and channel."""
    shape = inputs[0].shape
    return [None] if shape is None else [times(*shape[:-3], shape[-1], 4)]


register(
    "ResizeArea ResizeBicubic ResizeBicubicGrad ResizeBilinear ResizeBilinearGrad ResizeNearestNeighbor"
    " ResizeNearestNeighborGrad CropAndResize CropAndResizeGradBoxes CropAndResizeGradImage"
    " ImageProjectiveTransformV2 ImageProjectiveTransformV3",
    Rule(source="resize_bilinear_op.cc and others: measured"),
)
register("ScaleAndTranslate", Rule(cpu_scratch=scaled_rows, source="scale_and_translate_op.cc: measured"))
register("RGBToHSV", Rule(cpu_scratch=value_range, source="colorspace_op.cc: measured"))
register("HSVToRGB AdjustSaturation", Rule(source="colorspace_op.cc, adjust_saturation_op.cc: measured"))
register("AdjustContrastv2", Rule(cpu_scratch=channel_means, source="adjust_contrast_op.cc"))
register("AdjustHue", Rule(forward=FIRST_DYING, source="adjust_hue_op.cc: measured"))
register(
    "DrawBoundingBoxes DrawBoundingBoxesV2 NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV3"
    " NonMaxSuppressionV4 NonMaxSuppressionV5 CombinedNonMaxSuppression",
    Rule(source="non_max_suppression_op.cc, draw_bounding_box_op.cc: measured"),
)
register(
    "ScaleAndTranslateGrad",
    Rule(cpu_scratch=gradient_rows, source="scale_and_translate_op.cc: measured, less its weights"),
)
register(
    "DecodeJpeg DecodeAndCropJpeg DecodePng DecodeGif DecodeBmp DecodeImage DecodeWebP EncodeJpeg EncodePng"
    " EncodeJpegVariableQuality ExtractJpegShape DecodeWav EncodeWav AudioSpectrogram Mfcc",
    Rule(source="decode_image_op.cc, decode_wav_op.cc, spectrogram_op.cc and others"),
)
register(
    "ExtractGlimpse ExtractGlimpseV2 NonMaxSuppressionWithOverlaps SampleDistortedBoundingBox"
    " SampleDistortedBoundingBoxV2 StatelessSampleDistortedBoundingBox RandomCrop",
    Rule(source="attention_ops.cc, sample_distorted_bounding_box_op.cc and others: measured"),
)
register("LRN LRNGrad", Rule(source="lrn_op.cc"))
