"""What a model was compiled with, in words, from the configurations that Keras saves."""

from __future__ import annotations

from typing import Any

from graphmem.answers.load.contents import Training


def training_of(config: dict[str, Any]) -> Training:
    """From the `compile_config` of Keras 3 or the `training_config` of a legacy `.h5` file.

    >>> training_of({"optimizer": "adam", "loss": ["mse", None], "metrics": ["accuracy"]})
    Training(optimizer='adam', optimizer_config={}, loss='mse', metrics=('accuracy',))
    """
    optimizer = config.get("optimizer", config.get("optimizer_config"))
    name, arguments = words(optimizer), {}
    if isinstance(optimizer, dict) and isinstance(optimizer.get("config"), dict):
        arguments = {key: value for key, value in optimizer["config"].items() if _is_plain(value)}
    return Training(name, arguments, words(config.get("loss")), tuple(_each(config.get("metrics"))))


def words(said: Any) -> str:
    """A loss, metric or optimizer as a text, however it was configured.

    >>> words({"class_name": "function", "config": "mse"}), words({"class_name": "Adam", "config": {}}), words(None)
    ('mse', 'Adam', '')
    >>> words({"out_a": "mse", "out_b": {"class_name": "Huber", "config": {}}})
    'out_a: mse, out_b: Huber'
    """
    if isinstance(said, str):
        return said
    if isinstance(said, (list, tuple)):
        return ", ".join(filter(None, map(words, said)))
    if not isinstance(said, dict):
        return ""
    kind, config = said.get("class_name"), said.get("config")
    if not isinstance(kind, str):
        return ", ".join(f"{key}: {words(value)}" for key, value in said.items() if words(value))
    if kind == "function":
        return words(config) if isinstance(config, str) else str((config or {}).get("name", "function"))
    if kind in ("MeanMetricWrapper", "LossFunctionWrapper") and isinstance(config, dict) and config.get("fn"):
        return words(config["fn"])
    return kind.rpartition(">")[2]


def _each(said: Any) -> list[str]:
    if isinstance(said, dict) and not isinstance(said.get("class_name"), str):
        return [f"{key}: {words(value)}" for key, value in said.items() if words(value)]
    found = said if isinstance(said, (list, tuple)) else [said]
    return [text for text in map(words, found) if text]


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, int, float, bool)) or (
        isinstance(value, dict) and isinstance(value.get("class_name"), str)
    )
