"""The table of what is alive at the peak, as columns of texts that fit a width."""

from __future__ import annotations

from graphmem.render.rows import FrontierRow, cut_at, group_frontier, plural, shorten
from graphmem.render.words import common_prefix
from graphmem.report.report import FrontierBuffer, Report
from graphmem.units import format_bytes

_WIDE = 98  # from here there is room for the op that made each buffer


def frontier_columns(report: Report, width: int, top: int) -> list[list[str]]:
    """The columns, two blanks apart; the first cell of each is its title, the last row is the step peak.

    Repeated buffers share a row, with their number in a column of its own; what is beyond `top` rows is one row. The
    sizes in the first column add up to the step peak.
    """
    rows = group_frontier(report.frontier)
    cut = cut_at([row.bytes for row in rows], top)
    shown, others = rows[:cut], rows[cut:]
    common = _main_dtype(shown)
    wide, prefix = width >= _WIDE, common_prefix(report)
    repeated = any(len(row.buffers) > 1 for row in shown)
    columns = [
        ["bytes", *(size_cell(row.bytes) for row in shown)],
        *([["", *(f"{len(row.buffers)} ×" if len(row.buffers) > 1 else "" for row in shown)]] if repeated else []),
        ["role", *(row.first.role for row in shown)],
        [f"{common} shape".lstrip(), *(shape_cell(row.first, common) for row in shown)],
        ["made in", *(_made_in(row, prefix, wide) for row in shown)],
        *([["by", *(row.first.made_by for row in shown)]] if wide else []),
        ["kept for", *(kept_for(report, row, wide) for row in shown)],
    ]
    if others:
        size, count = sum(row.bytes or 0 for row in others), sum(len(row.buffers) for row in others)
        _add_sum(columns, format_bytes(size), f"… {plural(count, 'other')}")
    _add_sum(columns, format_bytes(report.step_peak_bytes), "step peak")
    _fit(columns, width, fixed=3 + repeated)
    return columns


def _main_dtype(rows: list[FrontierRow]) -> str:
    """The dtype of most of these bytes: it stands in the title once, the others beside each shape."""
    sizes: dict[str, int] = {}
    for row in rows:
        if row.first.dtype:
            sizes[row.first.dtype] = sizes.get(row.first.dtype, 0) + (row.bytes or 0)
    return max(sizes, key=lambda dtype: sizes[dtype], default="")


def _add_sum(columns: list[list[str]], size: str, label: str) -> None:
    """A row that adds others up: its size in the first column, its label below the roles."""
    for index, column in enumerate(columns):
        column.append(size if index == 0 else label if column[0] == "role" else "")


def _fit(columns: list[list[str]], width: int, fixed: int) -> None:
    """Shorten the names in all but the `fixed` first columns, widest first, until the columns stand side by side."""
    widths = [max(map(len, column)) for column in columns]
    room = width - 2 * (len(columns) - 1)
    while sum(widths) > room and max(widths[fixed:]) > 8:
        widest = max(range(fixed, len(columns)), key=lambda index: (widths[index], index))
        widths[widest] -= 1
    for column, most in zip(columns[fixed:], widths[fixed:], strict=True):
        column[:] = [_shorten_reader(cell, most) if "in " in cell else shorten(cell, most) for cell in column]


def _shorten_reader(text: str, width: int) -> str:
    """`ReluGrad in conv2_block1_relu` to `ReluGrad in co…1_relu`: the op whole if it leaves room for a layer."""
    op, _, layer = text.rpartition("in ")
    if len(text) <= width or width < len(op) + 9:
        return shorten(text, width)
    return f"{op}in {shorten(layer, width - len(op) - 3)}"


def _made_in(row: FrontierRow, prefix: str, wide: bool) -> str:
    return row.scope.removeprefix(prefix) or ("(no layer)" if wide else f"({row.first.made_by})")


def kept_for(report: Report, row: FrontierRow, wide: bool = True) -> str:
    """Who reads the buffer last, the reason why it is still there; of another layer the op only if there is room."""
    item = row.first
    if not item.last_reader_type:
        return "end of the step" if item.freed > report.peak.position + 1 else "this op only"
    if item.last_reader_scope in ("", item.scope):
        return item.last_reader_type
    op = f"{item.last_reader_type} " if wide else ""
    return f"{op}in {row.last_reader_scope.removeprefix(common_prefix(report))}"


def shape_cell(item: FrontierBuffer, common: str = "") -> str:
    """`8×224×224×3 float32`, without the dtype if it is the common one; scratch has no shape."""
    if item.role == "scratch":
        return "of this op"
    if item.shape is None:
        text = item.dtype if item.dtype == "list element" else "unknown rank"
    else:
        text = "×".join("?" if dim is None else str(dim) for dim in item.shape) or "scalar"
    return text if item.dtype in (common, text) else f"{text} {item.dtype}"


def size_cell(size: int | None) -> str:
    """A size in a table: a dash for none, `unknown` for what is unknown."""
    return "unknown" if size is None else format_bytes(size) if size else "–"
