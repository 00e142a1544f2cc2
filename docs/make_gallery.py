"""Draw the gallery: `python docs/make_gallery.py` analyses the examples, and writes gallery.md and its pictures.

Each example takes minutes, as it is traced, compiled by XLA and compared with estimates: `docs/make_gallery.py dcgan`
draws those of one anew and keeps the others.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "gallery.md"
PICTURES = Path("docs") / "images" / "gallery"
MACHINE = ["--device", "cpu", "--threads", "2"]

MODELS = {
    "resnet50": (
        "ResNet50",
        "Images. The forward pass fills up, and gradients take the room that activations leave: the curve stays near\n"
        "its peak through most of the backward pass, so that no single layer is to blame.",
    ),
    "unet_segmentation": (
        "U-Net",
        "Images at full resolution on both sides. What the skip connections carry waits from the first layers to the\n"
        "last, and the outermost layers are the largest.",
    ),
    "transformer_text": (
        "Transformer",
        "Text. The peak is a point in the gradient of attention, where matrices of length by length stand beside each\n"
        "other: half of the sequence would make them a quarter as large.",
    ),
    "lstm_text": (
        "LSTM",
        "Text, in a loop. Each iteration keeps its gates for the backward loop: thousands of small buffers, and a\n"
        "steady slope up and down again. The peak is where the loops turn around. XLA plans each loop as a whole: it\n"
        "needs more.",
    ),
    "dcgan": (
        "GAN",
        "A training step of its own with two optimizers: the discriminator's turn is low, the generator's goes\n"
        "through both networks. The point is the scratch of one convolution, and gone when that op is done.",
    ),
}
"""Example -> its title, and what to see in its pictures."""

KINDS = {
    "": "the tensors alive at the peak",
    ".timeline": "bytes alive over the step, by role",
    ".layers": "bytes alive over the step, by layer",
    ".lifetimes": "where TensorFlow's allocator puts each buffer",
    ".xla": "where XLA puts each buffer",
    ".wide": "the tensors alive at the peak, for the width of a page",
    ".compare": "estimates beside the peak",
}
"""Part of a picture's name -> what it shows."""

HEAD = """# Gallery

Five of [the examples](../examples/README.md) in every kind of [picture](pictures.md), for a CPU: what is alive at the
peak ([how to read it](../README.md#how-to-read-the-picture)), the timeline by role and by layer, the map of the
allocator's pool and that of the memory that XLA plans, what is alive at the peak for the width of a page, and
[estimates](compare.md) beside the peak. [Sweeps](sweep.md) and [measured curves](verify.md) have pictures too. All are
one column of a paper wide unless they stand alone. `python docs/make_gallery.py` made this page.
"""

DAG = "graphmem peak examples/mnist_cnn.py --step predict -o peak.dag.svg"
"""What draws every tensor of a small step."""


def main() -> None:
    """Analyse the examples, or those that are named, draw them, write the page."""
    (ROOT / PICTURES).mkdir(parents=True, exist_ok=True)
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    headlines = dict(re.findall(r"^## (.*?)\n.*?^`([^`\n]*)`$", page, re.MULTILINE | re.DOTALL))
    for name in sys.argv[1:] or [*MODELS, "mnist_cnn"]:
        if name in MODELS:
            headlines[MODELS[name][0]] = draw(name)
        else:
            draw_dag()
    sections = [section(name, headlines[MODELS[name][0]]) for name in MODELS]
    PAGE.write_text("\n".join([HEAD, *sections, dag_section()]), encoding="utf-8")


def commands(name: str) -> list[str]:
    """What a reader types for the pictures of an example; those with another name than here are for their own files."""
    target = f"examples/{name}.py"
    machine = " ".join(MACHINE)
    return [
        f"graphmem peak {target} {machine} -o peak.svg -o peak.timeline.svg -o peak.lifetimes.svg -o peak.graphmem",
        "graphmem peak peak.graphmem --by scope -o layers.timeline.svg",
        "graphmem peak peak.graphmem --direction tb -o wide.svg",
        f"graphmem peak {target} {machine} --runtime xla -o xla.lifetimes.svg",
        f"graphmem compare {target} {machine} -o compare.svg",
    ]


def draw(name: str) -> str:
    """Draw an example; the first line of its report."""
    files = {
        "peak.svg": "", "peak.timeline.svg": ".timeline", "peak.lifetimes.svg": ".lifetimes",
        "layers.timeline.svg": ".layers", "wide.svg": ".wide", "xla.lifetimes.svg": ".xla", "compare.svg": ".compare",
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        headlines = [run(command, folder).partition("\n")[0] for command in commands(name)]
        for file, kind in files.items():
            (ROOT / PICTURES / f"{name}{kind}.svg").write_bytes(Path(folder, file).read_bytes())
    return headlines[0]


def draw_dag() -> None:
    """Draw the whole DAG of a small step."""
    with tempfile.TemporaryDirectory() as folder:
        run(f"{DAG} {' '.join(MACHINE)}", folder)
        (ROOT / PICTURES / "mnist_cnn.dag.svg").write_bytes(Path(folder, "peak.dag.svg").read_bytes())


def dag_section() -> str:
    """The part of the page about it; the picture has the scale of the others, which are 238 points wide."""
    svg = (ROOT / PICTURES / "mnist_cnn.dag.svg").read_text(encoding="utf-8")
    width = min(684, round(float(svg.split('width="')[1].split("pt")[0]) * 330 / 238))
    said = "every tensor of a prediction, coloured by when it is alive"
    return "\n".join(
        [
            "## The whole DAG\n", "For steps of a few dozen tensors, such as the prediction of a small network.\n",
            f"```bash\n{DAG}\n```\n",
            f'<img src="images/gallery/mnist_cnn.dag.svg" width="{width}" alt="mnist_cnn: {said}">', "",
        ]
    )  # fmt: skip


def run(command: str, folder: str) -> str:
    """Run a command with the examples of the repository and its files in a folder; its standard output."""
    words = [str(ROOT / word) if word.startswith("examples/") else word for word in shlex.split(command)[1:]]
    words += ["--width", "120"] if words[0] == "peak" else []
    env = os.environ | {"PYTHONPATH": str(ROOT), "TF_ENABLE_ONEDNN_OPTS": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "graphmem", *words], cwd=folder, env=env, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def section(name: str, headline: str) -> str:
    """The part of the page that an example has."""
    title, text = MODELS[name]

    def shown(kind: str, width: int = 330) -> str:
        return f'<img src="images/gallery/{name}{kind}.svg" width="{width}" alt="{title}: {KINDS[kind]}">'

    shell = "\n".join(commands(name))
    return "\n".join(
        [
            f"## {title}\n", text, "", f"```bash\n{shell}\n```\n", f"`{headline}`\n",
            "| alive at the peak | over the step, by role and by layer |", "|---|---|",
            f"| {shown('')} | {shown('.timeline')}<br>{shown('.layers')} |", "",
            "| the allocator's pool, op by op | the memory that XLA plans |", "|---|---|",
            f"| {shown('.lifetimes')} | {shown('.xla')} |", "",
            shown(".wide", 684), "", shown(".compare", 480), "",
        ]
    )  # fmt: skip


if __name__ == "__main__":
    main()
