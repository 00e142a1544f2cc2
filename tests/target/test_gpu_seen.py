"""Keras sees a GPU while it traces, nobody else does, and everything is put back."""

from __future__ import annotations

import sys

import pytest

pytestmark = pytest.mark.tf


def keras_module(name: str):
    import keras  # noqa: F401

    return sys.modules[f"keras.src.backend.tensorflow.{name}"]


def test_keras_sees_a_gpu_and_others_do_not() -> None:
    import tensorflow as tf

    from graphmem.target.gpu_seen import gpu_seen

    rnn, nn = keras_module("rnn"), keras_module("nn")
    assert not rnn._is_gpu_available()
    assert nn._cpu_only()
    with gpu_seen():
        assert rnn._is_gpu_available()
        assert not nn._cpu_only()
        assert tf.config.list_logical_devices("GPU") == []
        assert tf.config.list_physical_devices("GPU") == []
        assert all(device.device_type == "CPU" for device in tf.config.list_physical_devices())
    assert not rnn._is_gpu_available()
    assert nn._cpu_only()


def test_all_is_put_back_after_an_error() -> None:
    import tensorflow as tf

    from graphmem.target.gpu_seen import gpu_seen

    before = tf.config.list_logical_devices, tf.config.list_physical_devices

    def fail() -> None:
        with gpu_seen():
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        fail()
    assert before == (tf.config.list_logical_devices, tf.config.list_physical_devices)
    assert keras_module("nn")._cpu_only()


def test_off_changes_nothing() -> None:
    from graphmem.target.gpu_seen import gpu_seen

    with gpu_seen(False):
        assert not keras_module("rnn")._is_gpu_available()


def ops_of(layers: list, shape: tuple[int, ...], device: str, **options) -> list[str]:
    import keras

    import graphmem

    model = keras.Sequential([keras.Input(shape), *layers, keras.layers.Flatten(), keras.layers.Dense(1)])
    report = graphmem.analyze(
        model, batch=3, loss="mse", optimizer="sgd", device=device, runtime="graph", orders=1, **options
    )
    return [op.type for op in report.simulation.graph.ops]


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_recurrent_layers_are_cudnns_on_a_gpu(kind: str) -> None:
    import keras

    layer = getattr(keras.layers, kind)
    on_gpu = ops_of([layer(8, return_sequences=True)], (12, 4), "gpu")
    assert (on_gpu.count("CudnnRNNV3"), on_gpu.count("CudnnRNNBackpropV3"), on_gpu.count("LoopCond")) == (1, 1, 0)
    assert not {"PyFunc", "PyFuncStateless"} & set(on_gpu)
    on_cpu = ops_of([layer(8, return_sequences=True)], (12, 4), "cpu")
    assert (on_cpu.count("CudnnRNNV3"), on_cpu.count("LoopCond")) == (0, 2)


@pytest.mark.parametrize("options", [{"activation": "relu"}, {"use_cudnn": False}, {"recurrent_dropout": 0.1}])
def test_what_cudnn_cannot_do_is_a_loop(options: dict) -> None:
    import keras

    ops = ops_of([keras.layers.LSTM(8, **options)], (12, 4), "gpu")
    assert (ops.count("CudnnRNNV3"), ops.count("LoopCond")) == (0, 2)


def test_an_lstm_in_inference_and_of_two_directions() -> None:
    import keras

    both = keras.layers.Bidirectional(keras.layers.LSTM(8))
    assert ops_of([both], (12, 4), "gpu", step="predict").count("CudnnRNNV3") == 2


def test_channels_first_is_transposed_on_the_cpu_only() -> None:
    import keras

    layers = [keras.layers.DepthwiseConv2D(3, data_format="channels_first")]
    assert "Transpose" in ops_of(layers, (4, 16, 16), "cpu")
    fresh = [keras.layers.DepthwiseConv2D(3, data_format="channels_first")]
    assert "Transpose" not in ops_of(fresh, (4, 16, 16), "gpu")


def test_the_reserve_space_lives_from_the_forward_to_the_backward_pass() -> None:
    import keras

    import graphmem

    model = keras.Sequential([keras.Input((12, 4)), keras.layers.LSTM(8), keras.layers.Dense(1)])
    report = graphmem.analyze(model, batch=3, loss="mse", optimizer="sgd", device="gpu", runtime="graph", orders=1)
    lives, graph = report.simulation.lifetimes, report.simulation.graph
    forward = next(index for index, op in enumerate(graph.ops) if op.type == "CudnnRNNV3")
    kept = [b for b, (op, slot) in enumerate(zip(lives.op, lives.slot, strict=True)) if (op, slot) == (forward, 3)]
    assert [lives.nbytes[buffer] for buffer in kept] == [3 * 12 * 8 * 5 * 4]
    assert graph.ops[report.simulation.schedule.ops[lives.last[kept[0]]]].type == "CudnnRNNBackpropV3"
    assert not lives.host[kept[0]]
    assert report.at_least
    assert all(name.endswith("(scratch)") and "CudnnRNN" in name for name in report.unknown_sizes)


def test_a_layer_of_cudnns_keeps_xla_away_on_a_gpu_only() -> None:
    import keras

    from graphmem.target.jit import jit_of_model

    def jit(asked, *layers):
        model = keras.Sequential([keras.Input((12, 4)), *layers, keras.layers.Dense(1)])
        return jit_of_model(model, "keras", asked)

    by_default = jit("auto", keras.layers.LSTM(8, name="inner"))
    assert by_default.runtime("gpu") == ("graph", "layer 'inner' is cuDNN's on a GPU, which XLA cannot compile")
    assert by_default.runtime("cpu")[0] == "graph"
    assert jit("auto", keras.layers.Bidirectional(keras.layers.LSTM(8))).runtime("gpu")[0] == "graph"
    told = jit(True, keras.layers.GRU(8))
    assert (told.runtime("gpu")[0], told.runtime("cpu")[0]) == ("graph", "xla")
    for layer in (keras.layers.GRU(8, use_cudnn=False), keras.layers.LSTM(8, activation="relu"), keras.layers.Dense(8)):
        assert jit("auto", layer).runtime("gpu")[0] == "xla"
