"""One table of the roles' colours, borders and order, for every picture and table.

The fills differ for readers with protanopia, deuteranopia and tritanopia, and the roles that a step holds alive
together (activation, gradient, update, scratch, output) also differ in lightness, so that a grey print keeps them
apart. `tests/render/test_colours.py` measures both.
"""

from __future__ import annotations

from dataclasses import dataclass

from graphmem.graph.model import ROLES

INK = "#1a1a1a"
"""Text and lines."""

FAINT = "#6b6b6b"
"""Secondary text and frames."""


@dataclass(frozen=True)
class RoleStyle:
    """How one role looks.

    Attributes:
        fill: the role's colour, `#rrggbb`: bars, areas, swatches.
        text: the colour of text on `fill`.
        line: style of an outline, "solid", "dashed" or "dotted": a second sign of the role in a grey print.
        pen: width of an outline in points.
    """

    fill: str
    text: str
    line: str = "solid"
    pen: float = 0.5


def mix(colour: str, share: float, ground: str = "#ffffff") -> str:
    """The colour `#rrggbb` with this share of it, the rest the ground's.

    >>> mix("#000000", 0.2)
    '#cccccc'
    """
    pairs = ((int(colour[at : at + 2], 16), int(ground[at : at + 2], 16)) for at in (1, 3, 5))
    return "#" + "".join(f"{round(under - share * (under - part)):02x}" for part, under in pairs)


ROLE_STYLES: dict[str, RoleStyle] = {
    "weight": RoleStyle("#16233b", "#ffffff"),
    "optimizer state": RoleStyle("#54318f", "#ffffff"),
    "other state": RoleStyle("#63676e", "#ffffff"),
    "input": RoleStyle("#9a9ea5", INK),
    "constant": RoleStyle("#dcdce0", INK),
    "activation": RoleStyle("#74c3ee", INK),
    "gradient": RoleStyle("#bd431a", "#ffffff", pen=1.3),
    "update": RoleStyle("#d9922a", INK, "dashed", 0.8),
    "scratch": RoleStyle("#fbee7a", INK, "dotted", 0.8),
    "output": RoleStyle("#0b5c40", "#ffffff"),
}
"""Role -> style, in the order of `graphmem.graph.model.ROLES`."""


def role_style(role: str) -> RoleStyle:
    """The style of a role; an unlisted role is a grey of its own rather than an error in a picture."""
    return ROLE_STYLES.get(role, RoleStyle("#b0b0b0", INK))


def in_role_order(roles: dict[str, int]) -> list[tuple[str, int]]:
    """The (role, bytes) pairs in the order of every table and picture; unlisted roles last, by name."""
    rank = {role: index for index, role in enumerate(ROLES)}
    return sorted(roles.items(), key=lambda item: (rank.get(item[0], len(rank)), item[0]))
