"""Convolutions and their gradients."""

from __future__ import annotations

from tests.ops.cases.make import conv, conv3d

IMAGES = [(4, 32, 32, 16), (1, 32, 32, 16), (2, 64, 64, 32)]
CONVOLUTIONS = [
    *[
        conv(op, image, (k, k, image[3], out), stride, padding)
        for op in ("Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput")
        for image in IMAGES
        for k, out, stride, padding in [
            (3, 24, 1, "SAME"),
            (1, 24, 1, "SAME"),
            (3, 64, 2, "SAME"),
            (5, 8, 1, "VALID"),
            (1, 24, 2, "VALID"),
        ]
    ],
    conv("Conv2DBackpropInput", (8, 4, 4, 8), (3, 3, 8, 8), 1, "SAME"),
    conv("Conv2DBackpropFilter", (8, 4, 4, 8), (3, 3, 8, 8), 1, "SAME"),
    conv("Conv2DBackpropInput", (2, 16, 16, 64), (3, 3, 64, 256), 1, "SAME"),
    conv("Conv2D", (2, 8, 8, 16), (8, 8, 16, 64), 1, "VALID"),
    conv("Conv2DBackpropFilter", (2, 8, 8, 16), (8, 8, 16, 64), 1, "VALID"),
    conv("Conv2DBackpropInput", (2, 8, 8, 16), (8, 8, 16, 64), 1, "VALID"),
    conv("Conv2D", (2, 16, 16, 64), (3, 3, 64, 32), 1, "SAME", "float16"),
    conv("Conv2DBackpropFilter", (2, 16, 16, 64), (3, 3, 64, 32), 1, "SAME", "float16"),
    conv("Conv2DBackpropInput", (2, 16, 16, 64), (3, 3, 64, 32), 1, "SAME", "float16"),
    *[
        conv(f"DepthwiseConv2dNative{end}", image, (3, 3, image[3], m), stride, "SAME")
        for end in ("", "BackpropFilter", "BackpropInput")
        for image in [(4, 32, 32, 16), (2, 16, 16, 67), (16, 8, 8, 96)]
        for m, stride in [(1, 1), (2, 1), (1, 2)]
    ],
    *[
        conv3d(f"Conv3D{end}", image, f, s, p)
        for end in ("", "BackpropFilterV2", "BackpropInputV2")
        for image, f, s, p in [
            ((2, 8, 16, 16, 8), (3, 3, 3, 8, 16), 1, "SAME"),
            ((1, 8, 16, 16, 8), (1, 1, 1, 8, 16), 1, "SAME"),
            ((2, 8, 16, 16, 8), (3, 3, 3, 8, 16), 2, "VALID"),
            ((2, 16, 32, 32, 16), (3, 3, 3, 16, 32), 1, "SAME"),
            ((4, 8, 8, 8, 64), (3, 3, 3, 64, 64), 1, "SAME"),
        ]
    ],
]
