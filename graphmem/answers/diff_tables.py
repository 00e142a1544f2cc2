"""A diff as tables: by memory, role, layer and tensor, and what is set differently."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from graphmem.answers.diff import Change, Diff, LayerChange, TensorChange
from graphmem.render.patterns import pattern, skeleton
from graphmem.render.rows import cut_at, plural
from graphmem.render.tables import Cell, Column, Table
from graphmem.render.words import PHASE_WORDS, common_prefix, short_target, step_words
from graphmem.report.report import FrontierBuffer
from graphmem.units import format_bytes

_FIGURES = (Column("before_bytes", "bytes"), Column("after_bytes", "bytes"), Column("change_bytes", "change"))


def tables_of(diff: Diff, top: int = 10) -> list[Table]:
    """The tables of a diff that have rows; lists are bounded, and what they hide is one row of them.

    Args:
        top: rows of each list.
    """
    lists = layer_table(diff, top), tensor_table(diff, top), setting_table(diff)
    return [table for table in (memory_table(diff), role_table(diff), *lists) if table.rows]


def memory_table(diff: Diff) -> Table:
    """The lines that the needed memory consists of."""
    changes = [item for item in diff.memory if item.before or item.after or item.name == "needed"]
    rows = tuple(_cells(item) for item in changes)
    return Table((Column("memory"), *_FIGURES), rows, "Memory", bold=(len(rows) - 1,))


def role_table(diff: Diff) -> Table:
    """The step peak by role; adds up to it."""
    rows = [_cells(item) for item in diff.roles]
    if rows:
        rows.append(("step peak", diff.before.step_peak_bytes, diff.after.step_peak_bytes, _step(diff)))
    return Table((Column("role"), *_FIGURES), tuple(rows), "What the step peak is", bold=(len(rows) - 1,))


def layer_table(diff: Diff, top: int) -> Table:
    """The layers whose step peak or variables changed; adds up to the change of both."""
    groups: dict[tuple[object, ...], list[LayerChange]] = {}
    for layer in diff.layers:
        if layer.step_before != layer.step_after or layer.variables_before != layer.variables_after:
            figures = layer.step_before, layer.step_after, layer.variables_before, layer.variables_after
            names = skeleton(layer.scope), layer.was is None, layer.now is None, layer.was == layer.now
            groups.setdefault((*names, *figures), []).append(layer)
    ranked = sorted(groups.values(), key=lambda group: -abs(sum(layer.change for layer in group)))
    cut = cut_at([abs(sum(layer.change for layer in group)) for group in ranked], top)
    prefixes = _prefixes(diff)
    rows = [(_layer_name(group, prefixes), *_layer_cells(group)) for group in ranked[:cut]]
    hidden = [layer for group in ranked[cut:] for layer in group]
    if hidden:
        rows.append((f"… {plural(len(hidden), 'other')}", *_layer_cells(hidden)))
    if len(rows) > 1:
        rows.append(("all layers", *_layer_cells(diff.layers)))
    columns = (
        Column("layer"), *_FIGURES, Column("step_peak_bytes", "change", "of it step peak"),
        Column("variables_bytes", "change", "variables"),
    )  # fmt: skip
    where = f" in {prefixes[1].rstrip('/')}" if prefixes[1] else ""
    return Table(columns, tuple(rows), f"Which layers changed{where}", bold=(len(rows) - 1,) if len(rows) > 1 else ())


def tensor_table(diff: Diff, top: int) -> Table:
    """The buffers that moved in or out of the peak or changed their size, repeated layers in one row."""
    groups: dict[tuple[object, ...], list[TensorChange]] = {}
    for item in diff.tensors:
        if item.status != "same":
            what = item.status, item.any.role, item.any.made_by, skeleton(item.any.scope)
            groups.setdefault((*what, _form(item.before), _form(item.after)), []).append(item)
    ranked = sorted(groups.values(), key=lambda group: -abs(_sum(group)))
    cut = cut_at([abs(_sum(group)) for group in ranked], top)
    prefixes = _prefixes(diff)
    rows = [_tensor_cells(group, prefixes) for group in ranked[:cut]]
    hidden = [item for group in ranked[cut:] for item in group]
    if hidden:
        rows.append((_sum(hidden), f"… {plural(len(hidden), 'other')}", "", "", "", ""))
    columns = (
        Column("change_bytes", "change"), Column("status", title="at the peak"), Column("role"),
        Column("shape"), Column("scope", title="made in"), Column("made_by", for_people=False),
    )  # fmt: skip
    return Table(columns, tuple(rows), "What is alive at the peak")


def setting_table(diff: Diff) -> Table:
    """What is set, or was found, differently."""
    rows = tuple(
        (item.name, _said(item.before), _said(item.after)) for item in diff.settings if item.name != "target"
    )  # the headline has it
    return Table((Column("setting"), Column("before"), Column("after")), rows, "What else differs")


def flat_table(diff: Diff) -> Table:
    """Every figure of a diff in one table, for programs: nothing folded, nothing left out."""
    rows: list[tuple[Cell, ...]] = [("memory", item.name, None, *_cells(item)[1:]) for item in diff.memory]
    for kind, changes in (("role", diff.roles), ("phase", diff.phases), ("op type", diff.op_types)):
        rows += [(kind, item.name, None, *_cells(item)[1:]) for item in changes]
    for layer in diff.layers:
        rows.append(("layer step peak", layer.scope, None, *_figures(layer.step_before, layer.step_after)))
        rows.append(("layer variables", layer.scope, None, *_figures(layer.variables_before, layer.variables_after)))
    for item in diff.tensors:
        sizes = [0 if buffer is None else buffer.bytes for buffer in (item.before, item.after)]
        rows.append(("tensor", item.any.tensor, item.status, *sizes, item.change))
    return Table((Column("kind"), Column("name"), Column("status"), *_FIGURES), tuple(rows), headline(diff)[0])


def headline(diff: Diff) -> tuple[str, str, str]:
    """What is compared, how, and where: `a.py → b.py`, `peak 1.00 MiB → 1.50 MiB: 0.500 MiB more (+50.0 %)`, the op."""
    before, after = diff.before, diff.after
    names = [short_target(report.target) or "a step" for report in (before, after)]
    if names[0] == names[1] and before.target != after.target:
        names = [before.target, after.target]
    steps = [step_words(report.step, report.batch) for report in (before, after)]
    what = f"{names[0]} → {names[1]}, {steps[0]}" if names[0] != names[1] else f"{names[0]} {steps[0]}"
    what += f" → {steps[1]}" if steps[0] != steps[1] else ""
    sizes = [f"{'at least ' if r.at_least else ''}{format_bytes(r.needed_bytes)}" for r in (before, after)]
    return what, f"peak {sizes[0]} → {sizes[1]}: {in_words(diff.change, before.needed_bytes)}", _moments(diff)


def _moments(diff: Diff) -> str:
    """Where the peaks are: `worst moment: backward pass, op MatMul in net/fc → forward pass, op Relu in net/out`."""
    points = [report.peak for report in (diff.before, diff.after)]
    said = [f"{PHASE_WORDS.get(p.phase, p.phase)}, op {p.op_type}{f' in {p.scope}' if p.scope else ''}" for p in points]
    return f"worst moment: {said[0]}" + (f" → {said[1]}" if said[0] != said[1] else ", in both")


def in_words(change: int, before: int) -> str:
    """A change and its share: `4.50 MiB more (+14.4 %)`, `no change`."""
    if not change:
        return "no change"
    share = f" ({100 * change / before:+.1f} %)" if before else ""
    return f"{format_bytes(abs(change))} {'more' if change > 0 else 'less'}{share}"


def _step(diff: Diff) -> int:
    return diff.after.step_peak_bytes - diff.before.step_peak_bytes


def _cells(item: Change) -> tuple[Cell, ...]:
    return item.name, item.before, item.after, item.change


def _figures(before: int, after: int) -> tuple[int, int, int]:
    return before, after, after - before


def _layer_cells(layers: Sequence[LayerChange]) -> tuple[Cell, ...]:
    before, after = sum(layer.before for layer in layers), sum(layer.after for layer in layers)
    step = sum(layer.step_after - layer.step_before for layer in layers)
    return before, after, after - before, step, after - before - step


def _prefixes(diff: Diff) -> tuple[str, str]:
    """The path of the model itself on either side, which says nothing in a list of layers."""
    return common_prefix(diff.before), common_prefix(diff.after)


def _name(scopes: Iterable[str], prefix: str) -> str:
    """Layers in one text, without the path of the model."""
    return pattern({scope.removeprefix(prefix) for scope in scopes}) or "(no layer)"


def _layer_name(group: Sequence[LayerChange], prefixes: tuple[str, str]) -> str:
    """The layers in one text, with what they were called before, and whether they are new or gone."""
    was, now = ([scope for layer in group if (scope := getattr(layer, side)) is not None] for side in ("was", "now"))
    if not was:
        return f"{_name(now, prefixes[1])} (new)"
    if not now:
        return f"{_name(was, prefixes[0])} (gone)"
    old, new = _name(was, prefixes[0]), _name(now, prefixes[1])
    return new if old == new else f"{new} (was {old})"


def _form(buffer: FrontierBuffer | None) -> tuple[object, ...] | None:
    return None if buffer is None else (buffer.bytes, buffer.shape, buffer.dtype)


def _sum(group: Sequence[TensorChange]) -> int:
    return sum(item.change or 0 for item in group)


def _tensor_cells(group: Sequence[TensorChange], prefixes: tuple[str, str]) -> tuple[Cell, ...]:
    first = group[0]
    status = first.status if len(group) == 1 else f"{len(group)} {first.status}"
    scope = _name((item.any.scope for item in group), prefixes[first.after is not None])
    change = None if first.change is None else _sum(group)
    return change, status, first.any.role, _shapes(first), scope, first.any.made_by


def _shapes(item: TensorChange) -> str:
    """The shape, and what changed in it: `8×32→64`; with the dtype where that changed."""
    one, other = item.before or item.any, item.after or item.any
    dtypes = f"{one.dtype}→{other.dtype} " if one.dtype != other.dtype and one.dtype and other.dtype else ""
    if one.shape is None or other.shape is None or len(one.shape) != len(other.shape):
        return dtypes + " → ".join(dict.fromkeys((_shape(one), _shape(other))))
    dims = [_dim(a) if a == b else f"{_dim(a)}→{_dim(b)}" for a, b in zip(one.shape, other.shape, strict=True)]
    return dtypes + ("×".join(dims) or "scalar")


def _shape(buffer: FrontierBuffer) -> str:
    if buffer.shape is None:
        return "–"
    return "×".join(map(_dim, buffer.shape)) or "scalar"


def _dim(size: int | None) -> str:
    return "?" if size is None else str(size)


def _said(value: str | int | None) -> str | None:
    return None if value is None else str(value)
