"""What a user may choose of a picture, and which picture a file's name asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from graphmem.errors import TargetError
from graphmem.render.themes import THEMES

PICTURES = (".svg", ".png", ".pdf")
"""Endings of pictures."""

KINDS = ("frontier", "timeline", "lifetimes", "dag")
"""What a picture may show: what is alive at the peak, bytes over the step, where the allocator put each buffer, or
every tensor of a small step."""

DOT_KINDS = ("frontier", "dag")
"""Those that Graphviz draws."""

DIRECTIONS = ("tb", "lr")
"""Where arrows go: down, or to the right."""

STACKS = ("role", "scope")
"""What the areas of a timeline are."""

COLUMN_MM, PAGE_MM = 84.0, 174.0
"""Widths of one and of two columns of a paper."""

NARROWEST_MM, WIDEST_MM = 60.0, 600.0


@dataclass(frozen=True)
class Choices:
    """What a user may choose of what is written.

    Attributes:
        top: rows of each list, in text; boxes of a frontier, which shows 14 at most.
        picture: one of `KINDS`, for pictures whose name does not say.
        by: one of `STACKS`, for timelines.
        theme: a key of `graphmem.render.themes.THEMES`.
        direction: one of `DIRECTIONS`, for pictures that Graphviz draws; `None`: to the right in a frontier, else down.
        width: of a picture in millimetres; `None`: one column of a paper, or both for a frontier with arrows down.
        depth: components of the scopes that make a frame of a frontier; `None`: as many as give a handful of frames.
        caption: whether each picture gets a caption in a file of its own.

    Raises:
        TargetError: a value that is none of these.
    """

    top: int = 10
    picture: str = "frontier"
    by: str = "role"
    theme: str = "light"
    width: float | None = None
    depth: int | None = None
    direction: str | None = None
    caption: bool = False

    def __post_init__(self) -> None:
        for name, value, known in (
            ("picture", self.picture, KINDS), ("by", self.by, STACKS), ("theme", self.theme, tuple(THEMES)),
            ("direction", self.direction, (None, *DIRECTIONS)),
        ):  # fmt: skip
            if value not in known:
                raise TargetError(f"there is no {name} {value!r}; choose one of {', '.join(filter(None, known))}.")
        if self.width is not None and not NARROWEST_MM <= self.width <= WIDEST_MM:
            raise TargetError(
                f"a picture {self.width:g} mm wide cannot be drawn; choose {NARROWEST_MM:g} to {WIDEST_MM:g} mm."
            )

        if self.depth is not None and self.depth < 0:
            raise TargetError(f"the depth of the scopes cannot be {self.depth}; it is 0 or more.")

    @property
    def inches(self) -> float:
        """The width of a chart."""
        return (self.width or COLUMN_MM) / 25.4


def kind_of(path: str, choices: Choices) -> str:
    """Which picture a file is: as its name says before the ending (`a.timeline.svg`), else as was chosen; "" if none.

    >>> kind_of("a.timeline.svg", Choices()), kind_of("a.svg", Choices(picture="lifetimes")), kind_of("a.md", Choices())
    ('timeline', 'lifetimes', '')
    """
    name = PurePath(path)
    kinds = KINDS if name.suffix.lower() in PICTURES else DOT_KINDS if name.suffix.lower() == ".dot" else ()
    if not kinds:
        return ""
    said = PurePath(name.stem).suffix.lower()[1:]
    return said if said in kinds else choices.picture if choices.picture in kinds else DOT_KINDS[0]


def check_choices(paths: Sequence[str], choices: Choices) -> None:
    """See to it that no choice is without effect.

    Raises:
        TargetError: one is.
    """
    kinds = [kind_of(path, choices) for path in paths]
    drawn = [kind for kind in kinds if kind]
    given = {
        "--picture": choices.picture != "frontier", "--theme": choices.theme != "light",
        "--width": choices.width is not None, "--depth": choices.depth is not None, "--caption": choices.caption,
        "--by": choices.by != "role", "--direction": choices.direction is not None,
    }  # fmt: skip
    asked = [name for name, is_given in given.items() if is_given]
    if asked and not drawn:
        raise TargetError(f"{', '.join(asked)}: no picture is written; add -o FILE with {', '.join(PICTURES)}.")
    if choices.picture not in DOT_KINDS and drawn and all(PurePath(path).suffix.lower() == ".dot" for path in paths):
        raise TargetError(f"--picture {choices.picture}: a .dot file holds a {' or a '.join(DOT_KINDS)}.")
    if given["--by"] and "timeline" not in drawn:
        raise TargetError("--by is for timelines: add --picture timeline.")
    if given["--depth"] and "frontier" not in drawn:
        raise TargetError("--depth is for frontiers: add -o FILE with .svg, .png, .pdf or .dot.")
    if given["--direction"] and not set(DOT_KINDS) & set(drawn):
        raise TargetError(f"--direction is for a {' or a '.join(DOT_KINDS)}: add --picture.")
    if choices.width is not None and "frontier" in drawn:
        from graphmem.render.frontier import check_width

        check_width(choices.width, choices.direction)
