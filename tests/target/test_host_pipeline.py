"""What input pipelines hold on the host, for pipelines small enough to count by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphmem.cli.main import main
from graphmem.errors import TargetError
from graphmem.target.host_pipeline import Stage, said_stages, stages_of, summary

SAMPLE = 8 * 4 + 4
"""Bytes of a sample: eight floats and an integer."""


def test_sums_and_what_is_unknown() -> None:
    stages = [Stage.of("prefetch", 2, 10), Stage.of("shuffle", None, 10), Stage.of("cache", 5, None)]
    assert [(stage.bytes, stage.why) for stage in stages] == [
        (20, ""), (None, "how many is not known"), (None, "the size of an element is not known"),
    ]  # fmt: skip
    found = summary(stages, "fit()")
    assert (found["bytes"], found["at_least"], found["source"]) == (20, True, "fit()")
    assert found["stages"][0] == {"name": "prefetch", "elements": 2, "element_bytes": 10, "why": "", "bytes": 20}
    assert summary(stages[1:], "")["bytes"] is None


def test_a_pipeline_that_is_described() -> None:
    stages = said_stages({"prefetch": 2, "queue": 10, "shuffle": 1000, "cache": 100}, 360, 10)
    assert [stage.bytes for stage in stages] == [720, 3600, 36000, 3600]
    with pytest.raises(TargetError, match="--cache counts samples"):
        said_stages({"cache": 1}, 360, None)


def held(x: Any, framework: str = "keras", batch_bytes: int | None = 360, **given: Any) -> list[tuple[Any, ...]]:
    return [(s.name, s.elements, s.bytes) for s in stages_of(x, {"x": x, **given}, framework, batch_bytes)]


def samples(count: int = 100) -> Any:
    import tensorflow as tf

    return tf.data.Dataset.from_tensor_slices((np.zeros((count, 8), "float32"), np.zeros(count, "int32")))


@pytest.mark.tf
def test_stages_of_a_dataset() -> None:
    import tensorflow as tf

    def same(x: Any, y: Any) -> Any:
        return x, y

    data = samples().shuffle(50).map(same, num_parallel_calls=4).batch(10).prefetch(2).repeat()
    whole = ("tensors", 1, 100 * SAMPLE)
    mapped = ("parallel map", 4, 4 * SAMPLE)
    assert held(data) == [("prefetch", 2, 20 * SAMPLE), mapped, ("shuffle", 50, 50 * SAMPLE), whole]
    assert held(samples().shuffle(1000)) == [("shuffle", 100, 100 * SAMPLE), whole]
    assert held(samples().cache().shuffle(10)) == [("shuffle", 10, 0), ("cache", 100, 100 * SAMPLE), whole]
    assert held(samples().cache("on_disk")) == [whole]
    assert held(samples().prefetch(tf.data.AUTOTUNE)) == [("prefetch", None, None), whole]
    assert held(samples().prefetch(0)) == [whole]
    zipped = tf.data.Dataset.zip(samples(10).cache(), samples(20))
    assert held(zipped) == [("cache", 10, 10 * SAMPLE), ("tensors", 1, 10 * SAMPLE), ("tensors", 1, 20 * SAMPLE)]


@pytest.mark.tf
def test_unknown_is_never_zero() -> None:
    import tensorflow as tf

    text = tf.data.Dataset.from_tensor_slices(["a", "bc"]).cache()
    assert held(text) == [("cache", 2, None), ("tensors", 1, None)]
    open_shape = tf.data.Dataset.from_generator(lambda: iter([]), output_signature=tf.TensorSpec((None,))).prefetch(3)
    assert held(open_shape) == [("prefetch", 3, None), ("flat_map", None, None)]
    files = tf.data.TFRecordDataset(["a"]).shuffle(5)
    assert [name for name, _, size in held(files) if size is None] == ["shuffle", "TFRecord"]
    inner = tf.data.Dataset.range(9).interleave(lambda _: samples(), num_parallel_calls=2).cache()
    assert held(inner)[0][:1] == ("cache",)
    assert all(size is None for _, _, size in held(inner))


@pytest.mark.tf
def test_queues_generators_and_arrays() -> None:
    import keras
    import tf_keras

    class Batches(keras.utils.PyDataset):
        def __len__(self) -> int:
            return 3

    assert held(Batches(workers=4, max_queue_size=7)) == [("queue", 8, 8 * 360)]
    assert held(Batches(workers=1, use_multiprocessing=True)) == [("queue", 11, 11 * 360)]
    assert held(Batches()) == [("prefetch", None, None)]

    class Legacy(tf_keras.utils.Sequence):
        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> Any:
            raise IndexError

    assert held(Legacy(), "tf_keras", workers=2, max_queue_size=10) == [("queue", 11, 11 * 360)]
    assert held(iter([]), batch_bytes=None) == [("prefetch", None, None)]
    arrays = held(np.zeros((100, 8), "float32"), y=np.zeros(100, "int32"))
    assert arrays == [("prefetch", None, None), ("arrays", 1, 100 * SAMPLE)]


SCRIPT = """
import keras, numpy as np, tensorflow as tf
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])
model.compile("adam", "mse")
data = tf.data.Dataset.from_tensor_slices((np.zeros((100, 8), "float32"), np.zeros((100, 4), "float32")))
model.fit(data.batch(10).prefetch(3))
"""


@pytest.mark.tf
@pytest.mark.cli
def test_on_the_command_line(tmp_path: Path, monkeypatch: Any, capfd: pytest.CaptureFixture[str]) -> None:
    import json

    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(SCRIPT)
    common = ("--device", "cpu", "--orders", "1")
    assert main(["peak", "train.py", "--pipeline", "-o", "a.json", *common]) == 0
    text = capfd.readouterr().out
    assert "Host memory of the input pipeline, apart from the peak: 6.09 KiB\n  of fit() in train.py line 6" in text
    assert json.loads(Path("a.json").read_text())["host_pipeline"]["bytes"] == 30 * 48 + 100 * 48
    assert main(["peak", "train.py", "--prefetch", "2", "--shuffle", "100", "--json", *common]) == 0
    data = json.loads(capfd.readouterr().out)
    assert (data["host_pipeline"]["bytes"], data["host_pipeline"]["source"]) == (20 * 48 + 100 * 48, "the options")
    assert main(["peak", "train.py", "--json", *common]) == 0
    plain = json.loads(capfd.readouterr().out)
    assert plain["host_pipeline"] == {}
    assert plain["peak_bytes"] == data["peak_bytes"]
    assert main(["peak", "app:MobileNetV2", "--batch", "1", "--pipeline", *common]) == 2
    assert "describe the pipeline with --prefetch" in capfd.readouterr().err
    assert main(["peak", "train.py", "--pipeline", "--runtime", "both"]) == 2
    assert "--runtime graph" in capfd.readouterr().err
    assert main(["peak", "train.py", "--shuffle", "0"]) == 2
