"""Published facts about memory on GPUs, beside what graphmem says of the same programs, without a GPU.

    python benchmarks/gpu_facts.py                    all facts, as Markdown
    python benchmarks/gpu_facts.py conv bert --write  some of them, into docs/gpu.md

Nothing is tuned: models and cards are those of the reports, allocators and rewrites TensorFlow's defaults. The reports
are of TensorFlow 1.11 to 1.13, graphmem models the version that is installed.

conv    github.com/tensorflow/tensorflow/issues/26107: one convolution on a V100
resnet  developer.ibm.com/linuxonpower/2019/06/11: ResNet50 on one image of 6000x6000, out of memory
bert    github.com/google-research/bert, README: largest batches of BERT-Base on a Titan X of 12 GB
rnn     github.com/pytorch/pytorch/issues/2895: what cuDNN keeps of four recurrent layers
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from benchmarks.forks import forked
from graphmem.units import format_bytes

PAGE = ROOT / "docs" / "gpu.md"

#: Sequence length -> the largest batch that ran.
BERT = {64: 64, 128: 32, 256: 16, 320: 14, 384: 12, 512: 6}

#: A Titan X (Pascal): 11.90 GiB, as TensorFlow's logs of the time say ("totalMemory: 11.90GiB").
TITAN_X = {"like": "GeForce GTX 1080 Ti", "memory": "11.9GiB", "capability": "6.1"}


#: Bytes: no step fails, and no rewrite has tensors wait on the host.
MORE_THAN_ENOUGH = 1 << 40


def conv() -> list[list[str]]:
    """Output and layout copies of Conv2D, 16x224x224x4 to 16 channels."""
    import tensorflow as tf

    import graphmem

    kernel, bias = tf.Variable(tf.zeros((3, 3, 4, 16))), tf.Variable(tf.zeros(16))

    def step(x: Any) -> Any:
        return tf.nn.bias_add(tf.nn.conv2d(x, kernel, 1, "SAME"), bias)

    report = graphmem.analyze(step, tf.TensorSpec((16, 224, 224, 4)), device="V100", runtime="graph")
    sizes = [(op.type, op.outputs[0].nbytes) for op in report.simulation.graph.ops if op.outputs]
    made = [size for kind, size in sizes if kind == "Conv2D"]
    copies = sorted(size for kind, size in sizes if kind == "Transpose")
    return [
        ["output of the convolution", "51.38 MB", _mb(made), _holds(_mb(made) == "51.38 MB")],
        ["layout copies", "12.85 and 51.38 MB", _mb(copies), _holds(_mb(copies) == "12.85 and 51.38 MB")],
    ]


def resnet() -> list[list[str]]:
    """Live tensors of ResNet50 at 6000x6000, by size."""
    import tf_keras

    import graphmem
    from graphmem.xla.cards import find_gpu

    model = tf_keras.applications.ResNet50(weights=None, input_shape=(6000, 6000, 3))
    model.compile("rmsprop", "categorical_crossentropy")
    report = graphmem.analyze(model, batch=1, device="V100 32GB", runtime="graph", memory=MORE_THAN_ENOUGH)
    pool = find_gpu("V100 32GB").pool_bytes
    rows = [(row.tensor, row.scope, row.bytes or 0) for row in report.frontier]
    big = [scope for _, scope, size in rows if f"{size / 2**30:.2f}" == "2.15"]
    small = [scope for _, scope, size in rows if f"{size / 2**20:.2f}" == "549.32"]
    fits = report.needed_bytes <= pool
    named = {part for part in ("conv1_conv", "conv1_bn", "pool1_pad", "conv2_") if any(part in scope for scope in big)}
    return [
        [
            "tensors of 2.15 GiB alive",
            "9 at the failure",
            f"{len(big)} at the peak",
            _holds(len(big) == 9, f"{len(big) - 9:+d}"),
        ],
        [
            "among them conv1, bn_conv1, the padded pool input, convolutions of the first stage",
            "all",
            f"{len(named)} of 4",
            _holds(len(named) == 4),
        ],
        ["among them gradient sums in another layout", "3", "0 at the peak", _holds(False)],
        ["tensors of 549.32 MiB alive", "many", f"{len(small)} at the peak", _holds(len(small) > 1)],
        [
            "fits into 32 GB",
            "no",
            f"{'yes' if fits else 'no'}: {format_bytes(report.needed_bytes)} needed",
            _holds(not fits),
        ],
    ]


def bert() -> list[list[str]]:
    """Largest batches of BERT-Base."""
    return [_bert_row(length, published) for length, published in BERT.items()]


def _bert_row(length: int, published: int) -> list[str]:
    """The largest batch is read off a line through what two batches take: both peaks are in the same place."""
    from graphmem.xla.cards import find_gpu

    pool = find_gpu("TITAN X", [{"TITAN X (Pascal)": TITAN_X}]).pool_bytes
    more = published + max(1, published // 4)
    low, high = (json.loads(forked(_bert_bytes, batch, length)) for batch in (published, more))
    largest = {}
    for count in ("needed", "bfc"):
        per_sample = (high[count] - low[count]) / (more - published)
        largest[count] = int(published + (pool - low[count]) / per_sample)
    return [
        f"length {length}: largest batch",
        str(published),
        f"{largest['bfc']} ({format_bytes(low['bfc'])} of {format_bytes(pool)} in use at {published}; "
        f"{largest['needed']} without the allocator's rounding)",
        _holds(largest["bfc"] == published, f"{largest['bfc'] / published - 1:+.0%}"),
    ]


def _bert_bytes(batch: int, length: int) -> str:
    import graphmem
    from benchmarks.bert import training_step

    step, specs = training_step(batch, length)
    report = graphmem.analyze(
        step, *specs, device="GTX 1080 Ti", runtime="graph", allocator="bfc", memory=MORE_THAN_ENOUGH, orders=1
    )
    assert not report.at_least
    return json.dumps({"needed": report.needed_bytes, "bfc": report.allocator["peak_in_use_bytes"]})


def rnn() -> list[list[str]]:
    """Reserve space of cuDNN's networks, 4 layers of 320 units over 25,000 steps."""
    from graphmem.graph.model import Op, Tensor, tensor_bytes
    from graphmem.ops.registry import Env, lookup

    rows = []
    for mode, published in (("lstm", 736_000_000), ("gru", 864_000_000)):
        rule = lookup("CudnnRNNV2")
        tensors = [Tensor("float32", shape, tensor_bytes("float32", shape)) for shape in ((500, 50, 123), (4, 50, 320))]
        op = Op("rnn", "CudnnRNNV2", (), (), (), {"rnn_mode": mode})
        found = rule.gpu_outputs(op, tuple(tensors), Env(device="gpu"))[3] if rule and rule.gpu_outputs else None
        name = f"reserve space of four layers of {mode.upper()}"
        rows.append([name, f"{published:,} B", f"{found:,} B", "the rule is made of it"])
    return rows


FACTS: dict[str, Callable[[], list[list[str]]]] = {"conv": conv, "resnet": resnet, "bert": bert, "rnn": rnn}


def main() -> None:
    """Print the tables, or put them into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("facts", nargs="*", metavar="FACT", help=f"of {', '.join(FACTS)}; default: all")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.relative_to(ROOT)}")
    given = parser.parse_args()
    if wrong := [name for name in given.facts if name not in FACTS]:
        parser.error(f"there is no fact {wrong[0]!r}")
    for name in given.facts or FACTS:
        rows = json.loads(forked(_rows, name)) if name != "bert" else bert()  # a process for each of its traces
        table = "\n".join("| " + " | ".join(row) + " |" for row in [HEAD, ["---"] * len(HEAD), *rows])
        print(f"{table}\n", flush=True)
        if given.write:
            PAGE.write_text(put_in(PAGE.read_text(encoding="utf-8"), name, table), encoding="utf-8")


def put_in(page: str, name: str, table: str) -> str:
    """The page with a table in the place of that name."""
    begin, end = f"<!-- {name} -->\n", "<!-- end -->"
    before, found, rest = page.partition(begin)
    assert found, f"the page has no place for {name}"
    return f"{before}{begin}{table}\n{end}{rest.partition(end)[2]}"


HEAD = ["what", "published", "graphmem", "holds"]


def _rows(name: str) -> str:
    return json.dumps(FACTS[name]())


def _mb(sizes: list[int]) -> str:
    return " and ".join(f"{size / 1e6:.2f}" for size in sizes) + " MB"


def _holds(holds: bool, margin: str = "") -> str:
    return "yes" if holds else f"no{f', {margin}' if margin else ''}"


if __name__ == "__main__":
    main()
