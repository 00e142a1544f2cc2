"""A network of each family of `keras.applications`, on small images."""

from __future__ import annotations

from typing import Any

import keras
from _steps import Training, images, labels, variants
from keras import applications


def _classify(build: Any, batch: int, size: int, optimizer: Any = "adam") -> Training:
    """Ten classes told apart."""
    model = build(weights=None, input_shape=(size, size, 3), classes=10)
    return Training(model, images(batch, size), labels(batch), optimizer, "sparse_categorical_crossentropy")


@variants()
def resnet():
    return _classify(applications.ResNet50, 8, 48, keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True))


@variants("train", "predict")
def resnetv2():
    return _classify(applications.ResNet50V2, 8, 64, keras.optimizers.AdamW())


@variants("train", "predict")
def densenet():
    return _classify(applications.DenseNet121, 8, 48, "sgd")


@variants("train", "predict", "train+mixed")
def vgg():
    return _classify(applications.VGG16, 16, 32, "rmsprop")


@variants()
def mobilenet():
    return _classify(applications.MobileNet, 16, 64)


@variants()
def mobilenetv2():
    return _classify(applications.MobileNetV2, 16, 64, keras.optimizers.RMSprop(momentum=0.9))


@variants()
def mobilenetv3():
    return _classify(applications.MobileNetV3Small, 16, 96)


@variants("train", "predict")
def efficientnet():
    return _classify(applications.EfficientNetB0, 8, 64)


@variants("train", "predict", "train+mixed")
def efficientnetv2():
    return _classify(applications.EfficientNetV2B0, 8, 64, "rmsprop")


@variants("train", "predict")
def inception():
    return _classify(applications.InceptionV3, 4, 75)


@variants("train", "predict")
def inception_resnet():
    return _classify(applications.InceptionResNetV2, 2, 75, "sgd")


@variants("train", "predict")
def xception():
    return _classify(applications.Xception, 4, 96, keras.optimizers.SGD(0.1, momentum=0.9))


@variants("train", "predict")
def nasnet():
    return _classify(applications.NASNetMobile, 8, 64)


@variants("train", "predict")
def convnext_tiny():
    return _classify(applications.ConvNeXtTiny, 4, 64, keras.optimizers.AdamW())
