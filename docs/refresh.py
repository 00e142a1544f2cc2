"""Run the commands whose output the pages show, and write that output anew: `python docs/refresh.py [PAGE...]`.

A `console` block begins with the command after "$ "; what follows is its output. If the block ends with a line "…",
it is cut where it was cut before. Of the files that a command writes, `peak.svg` becomes docs/images/NAME.svg and
`curve.svg` docs/images/NAME-verify.svg, where NAME is that of the target.
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
CUT = "…"
_BLOCK = re.compile(r"^```console\n\$ (graphmem [^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main() -> None:
    """Refresh the pages given, or all."""
    pages = [Path(name).resolve() for name in sys.argv[1:]] or [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    for page in pages:
        old = page.read_text(encoding="utf-8")
        new = _BLOCK.sub(lambda block: refreshed(block[1], block[2]), old)
        if new != old:
            page.write_text(new, encoding="utf-8")
            print(f"Wrote {page.relative_to(ROOT)}")


def refreshed(command: str, shown: str) -> str:
    """The block of a command with its output of today."""
    lines = run(command).rstrip("\n").split("\n")
    before = shown.rstrip("\n").split("\n")
    if before[-1] == CUT:
        lines = [*lines[: len(before) - 1], CUT]
    return "```console\n$ " + command + "\n" + "\n".join(lines) + "\n```"


def run(command: str) -> str:
    """What a command prints; the picture that it writes is kept."""
    words = shlex.split(command)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "examples").symlink_to(ROOT / "examples")
        python = [sys.executable, "-m", *words]
        here = os.environ | {"PYTHONPATH": str(ROOT)}
        done = subprocess.run(python, cwd=folder, env=here, stdout=subprocess.PIPE, text=True)
        if done.returncode > 1:  # 1 is that of a check which fails
            done.check_returncode()
        for picture, suffix in (("peak.svg", ""), ("curve.svg", "-verify")):
            if (Path(folder) / picture).exists():
                name = re.split(r"[:/]", words[2])[-1].removesuffix(".py").lower()
                (ROOT / "docs" / "images" / f"{name}{suffix}.svg").write_bytes((Path(folder) / picture).read_bytes())
    return done.stdout


if __name__ == "__main__":
    main()
