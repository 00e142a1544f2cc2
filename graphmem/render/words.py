"""What the report says in sentences: the headline, the place of the peak, how the figure came about."""

from __future__ import annotations

from collections.abc import Sequence

from graphmem.render.rows import plural, shorten
from graphmem.report.report import Report
from graphmem.units import format_bytes

NO_BREAK = "\ue000"
"""Stands for a blank at which no line is broken, until the lines are laid out."""

_STEPS = {"train": "train step", "test": "test step", "predict": "predict step"}
PHASE_WORDS = {"forward": "forward pass", "backward": "backward pass", "update": "weight update"}
_DEVICES = {"cpu": "CPU", "gpu": "GPU"}
_RUNTIMES = {"graph": "op-by-op runtime", "xla": "compiled by XLA"}


def headline(report: Report, width: int) -> list[str]:
    """Line one: whose peak, how much, and its range; two lines if the names leave no room for the range.

    Such as `ResNet50 train step, batch 8: peak 707 MiB (705 – 720 over 8 orders)`.
    """
    what = step_words(report.step, report.batch)
    figure = f"peak {'at least ' if report.at_least else ''}{format_bytes(report.needed_bytes)}"
    spread = headline_range(report)
    name = short_target(report.target)
    line = f"{name} {what}: {figure} ({spread})".lstrip() if spread else f"{name} {what}: {figure}".lstrip()
    if len(line) <= width:
        return [line]
    room = width - len(f" {what}: {figure}")
    first = f"{shorten(name, max(room, 12))} {what}: {figure}"
    return [first, f"  ({spread})"] if spread else [first]


def step_words(step: str, batch: int | None) -> str:
    """What is analysed, such as `train step, batch 8`."""
    what = _STEPS.get(step, "step")
    return what if batch is None else f"{what}, batch {batch}"


def short_target(target: str) -> str:
    """The target without its folders and without `app:`: what one calls the model."""
    path, colon, rest = target.partition(":")
    if path == "app" and rest:
        return rest
    return f"{path.replace(chr(92), '/').rstrip('/').rpartition('/')[2]}{colon}{rest}"


def headline_range(report: Report) -> str:
    """The range over the orders, in the unit and with the decimals of the peak itself; "" for one order."""
    if report.orders < 2:
        return ""
    number, unit = format_bytes(report.needed_bytes).split()
    decimals = len(number.partition(".")[2])
    scale = 1024 ** ("B", "KiB", "MiB", "GiB", "TiB", "PiB").index(unit)
    low, high = (f"{size / scale:.{decimals}f}" for size in report.needed_range_bytes)
    return f"{low} – {high} over {report.orders} orders" if low != high else f"the same in {report.orders} orders"


def where_is_the_peak(report: Report) -> str:
    """The moment of the peak: phase, op type, layer, position."""
    peak = report.peak
    layer = f" in {shorten(peak.scope.removeprefix(common_prefix(report)), 50)}" if peak.scope else ""
    phase = PHASE_WORDS.get(peak.phase, peak.phase)
    place = f"position {peak.position} of {peak.positions}"
    return f"Worst moment: {phase}, op {peak.op_type}{layer}, {unbroken(place)}"


def common_prefix(report: Report) -> str:
    """The path that nearly all bytes share, such as `resnet50/`: it says nothing in a list of layers."""
    whole = report.step_peak_bytes
    tops = [row for row in report.by_scope if row.depth == 1 and row.bytes > 0.9 * whole and row.own < row.bytes]
    return f"{tops[0].scope}/" if tops else ""


def modelled(report: Report) -> str:
    """What runs the step, in one line."""
    device, runtime = _DEVICES.get(report.device, report.device), _RUNTIMES.get(report.runtime, report.runtime)
    facts = [f"{report.facts[name]}" for name in ("optimizer", "dtype policy") if name in report.facts]
    if report.card and report.runtime != "xla":
        device = f"{device} ({report.card})"
    if report.runtime == "xla":
        return ", ".join([f"{runtime} for {report.facts.get('compiled for', device)}", *facts])
    return ", ".join([f"{runtime} on {device}", f"{report.order} order", *facts])


def remarks(report: Report) -> list[tuple[str, str]]:
    """What stands beside the figure, each a (title, text), the most important first."""
    lines = [("Runtime", report.runtime_reason)] if report.runtime_reason else []
    if report.step_peak_bytes:
        times = report.naive_sum_bytes / report.step_peak_bytes
        text = f", {times:.1f}× the step peak: most are never alive together" if times >= 1.05 else ""
        lines.append(("All tensors", f"{format_bytes(report.naive_sum_bytes)} if added up{text}"))
    if report.unknown_ops:
        names = ", ".join(f"{name} ({count})" for name, count in sorted(report.unknown_ops.items()))
        lines.append(("Unknown ops", f"{names}: their outputs are counted, what they need while they run is not"))
    if report.unknown_sizes:
        names = ", ".join(report.unknown_sizes[:5]) + (", …" if len(report.unknown_sizes) > 5 else "")
        lines.append(("Unknown sizes", f"{plural(len(report.unknown_sizes), 'tensor')} in no figure: {names}"))
    lines += [("Not counted", text) for text in report.not_counted]
    lines += [("Note", text) for text in report.notes]
    facts = [f"{name} {value}" for name, value in report.facts.items()]
    products = {"tensorflow": "TensorFlow", "keras": "Keras", "tf_keras": "tf_keras"}
    facts += [f"{products.get(name, name)} {version}" for name, version in report.versions.items()]
    count = f"{report.ops:,} {'instructions' if report.runtime == 'xla' else 'ops'}"
    lines.append(("Set-up", ", ".join(map(unbroken, [count, *facts]))))
    if short_target(report.target) != report.target.removeprefix("app:"):
        lines.append(("Target", report.target))
    return lines


def sizes_in_words(sizes: Sequence[tuple[str, int]]) -> str:
    """`weights 97.7 MiB, optimizer state 195 MiB`, leaving out what is zero."""
    return ", ".join(unbroken(f"{name} {format_bytes(size)}") for name, size in sizes if size)


def unbroken(text: str) -> str:
    """The text with blanks at which no line is broken, if it is short."""
    return text.replace(" ", NO_BREAK) if len(text) <= 40 else text


def breakable(text: str) -> str:
    """The text with blanks only, for what lays its lines out itself."""
    return text.replace(NO_BREAK, " ")
