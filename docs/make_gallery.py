"""Draw the gallery: `python docs/make_gallery.py` analyses five examples, and writes gallery.md and its pictures."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "gallery.md"
PICTURES = Path("docs") / "images" / "gallery"

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
        "steady slope up and down again. The peak is where the loops turn around.",
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
    ".timeline": "bytes alive over the step",
    ".lifetimes": "where the allocator puts each buffer",
}
"""Part of a picture's name -> what it shows."""

HEAD = """# Gallery

Five of [the examples](../examples/README.md), each with its three [pictures](pictures.md): what is alive at the peak
([how to read it](../README.md#how-to-read-the-picture)), the timeline, and the map of the allocator's pool. They are
for a CPU, op by op, and one column of a paper wide. `python docs/make_gallery.py` made this page.
"""


def main() -> None:
    """Analyse the examples, draw them, write the page."""
    (ROOT / PICTURES).mkdir(parents=True, exist_ok=True)
    PAGE.write_text("\n".join([HEAD, *map(section, MODELS)]), encoding="utf-8")


def section(name: str) -> str:
    """Draw an example; its part of the page."""
    title, text = MODELS[name]
    names = [f"{name}{kind}.svg" for kind in KINDS]
    outputs = [word for file in names for word in ("-o", str(PICTURES / file))]
    command = ["peak", f"examples/{name}.py", "--device", "cpu", "--threads", "2"]
    env = os.environ | {"PYTHONPATH": str(ROOT), "TF_ENABLE_ONEDNN_OPTS": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "graphmem", *command, "--width", "120", "--force", *outputs],
        cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    headline = done.stdout.partition("\n")[0]
    shown = [
        f'<img src="images/gallery/{file}" width="330" alt="{title}: {what}">'
        for file, what in zip(names, KINDS.values(), strict=True)
    ]
    table = ["| alive at the peak | over the step; in the pool |", "|---|---|"]
    table += [f"| {shown[0]} | {shown[1]}<br>{shown[2]} |", ""]
    shell = " ".join(["graphmem", *command, *(f"-o peak{kind}.svg" for kind in KINDS)])
    return "\n".join([f"## {title}\n", text, "", f"```bash\n{shell}\n```\n", f"`{headline}`\n", *table])


if __name__ == "__main__":
    main()
