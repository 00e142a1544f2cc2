"""How charts look: on a page, on a dark screen, in a grey print."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphmem.render.colours import FAINT, INK, mix, role_style


@dataclass(frozen=True)
class Theme:
    """One look.

    Attributes:
        paper: the background.
        ink: text and lines.
        faint: secondary text, frames.
        band: every other phase's background.
        accent: limits and failures.
        line: curves drawn over areas.
        fills: fills of roles that differ from `graphmem.render.colours`.
        hatches: patterns over the fills of roles: a sign of the role that no printer loses.
        layers: fills of layers, which have no colours of their own.
        layer_hatches: patterns over those.
        outlined: whether areas are parted by lines.
        shade: the share of a role's fill in the ground of a box of text.
    """

    paper: str
    ink: str
    faint: str
    band: str
    accent: str
    line: str
    layers: tuple[str, ...]
    fills: dict[str, str] = field(default_factory=dict)
    hatches: dict[str, str] = field(default_factory=dict)
    layer_hatches: tuple[str, ...] = ("",)
    outlined: bool = False
    shade: float = 0.2

    def fill(self, role: str) -> str:
        """The fill of a role."""
        return self.fills.get(role) or role_style(role).fill

    def tint(self, role: str) -> str:
        """The fill of a role, so pale on `paper` that `ink` is readable on it."""
        return mix(self.fill(role), self.shade, self.paper)

    @property
    def strip(self) -> str:
        """The ground of a heading, darker than `band` on light paper and lighter on dark."""
        return mix(self.faint, 0.28, self.paper)

    def hatch(self, role: str) -> str:
        """The pattern of a role, "" for none."""
        return self.hatches.get(role, "")


_LAYERS = ("#74c3ee", "#bd431a", "#fbee7a", "#54318f", "#d9922a", "#0b5c40", "#16233b", "#b9bcc2")

THEMES = {
    "light": Theme("#ffffff", INK, FAINT, "#f1f1f4", "#bd431a", "#1a1a1a", _LAYERS),
    "dark": Theme(
        "#14161a", "#eceef2", "#a2a7b0", "#1e2127", "#ff8a5c", "#ffffff",
        ("#74c3ee", "#e0693d", "#fbee7a", "#a78be0", "#d9922a", "#39a27c", "#8b9cc4", "#777b84"),
        fills={
            "weight": "#8b9cc4", "optimizer state": "#a78be0", "other state": "#777b84", "gradient": "#e0693d",
            "output": "#39a27c",
        },
        shade=0.3,
    ),
    "print": Theme(
        "#ffffff", "#000000", "#404040", "#ececec", "#000000", "#000000",
        ("#d8d8d8", "#9c9c9c", "#f4f4f4", "#404040", "#bdbdbd", "#ffffff", "#1c1c1c", "#c0c0c0"),
        fills={
            "weight": "#1c1c1c", "optimizer state": "#404040", "other state": "#6a6a6a", "input": "#8c8c8c",
            "constant": "#efefef", "activation": "#d8d8d8", "gradient": "#9c9c9c", "update": "#bdbdbd",
            "scratch": "#ffffff", "output": "#2c2c2c",
        },
        hatches={
            "gradient": "////", "update": "\\\\\\\\", "scratch": "||||", "input": "----", "optimizer state": "xxxx",
        },
        outlined=True,
        shade=0.35,
        layer_hatches=("", "////", "||||", "xxxx", "\\\\\\\\", "----", "", ""),
    ),
}  # fmt: skip
"""Name -> look; "print" is without colour."""
