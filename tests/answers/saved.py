"""Small saved models for tests, made by hand in the layouts that Keras writes: no TensorFlow is needed to read them."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np

ADAM = {"module": "keras.optimizers", "class_name": "Adam", "config": {"learning_rate": 0.001, "name": "adam"}}
DENSE = {"module": "keras.layers", "class_name": "Dense", "config": {"name": "dense"}, "registered_name": None}

WEIGHTS = {
    "layers/dense/vars/0": (100, 50),
    "layers/dense/vars/1": (50,),
    "layers/dropout/seed_generator/vars/0": (2,),
}
SLOTS = {"optimizer/vars/0": (), "optimizer/vars/1": (100, 50), "optimizer/vars/2": (100, 50)}


def weights_file(path: Path, shapes: dict[str, tuple[int, ...]]) -> Path:
    """A `.weights.h5` file with float32 tensors of these shapes."""
    with h5py.File(path, "w") as file:
        for name, shape in shapes.items():
            file[name] = np.zeros(shape, "float32")
    return path


def keras_file(
    path: Path, shapes: dict[str, tuple[int, ...]], compiled: Any = None, packed: bool = False, layers: Any = (DENSE,)
) -> Path:
    """A `.keras` archive."""
    config = {"class_name": "Functional", "module": "keras", "config": {"layers": list(layers)}}
    inner = weights_file(path.with_suffix(".inner"), shapes)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as archive:
        archive.writestr("metadata.json", json.dumps({"keras_version": "3.15.1"}))
        archive.writestr("config.json", json.dumps({**config, "compile_config": compiled}))
        archive.write(inner, "model.weights.h5")
    inner.unlink()
    return path


def h5_model(path: Path, version: str = "3.15.1") -> Path:
    """A compiled model of one layer in the legacy format, with its optimizer's slots."""
    with h5py.File(path, "w") as file:
        file.attrs["keras_version"] = version
        file.attrs["model_config"] = json.dumps({"class_name": "Sequential", "config": {"layers": [DENSE]}})
        training = {"optimizer_config": ADAM, "loss": "mse", "metrics": ["mae"]}
        file.attrs["training_config"] = json.dumps(training)
        file["model_weights/dense/dense/kernel"] = np.zeros((100, 50), "float32")
        file["model_weights/dense/dense/bias"] = np.zeros(50, "float32")
        file["optimizer_weights/adam/dense_kernel_momentum"] = np.zeros((100, 50), "float32")
        file["optimizer_weights/adam/iteration"] = np.zeros((), "int64")
    return path
