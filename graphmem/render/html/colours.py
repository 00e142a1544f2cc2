"""The page's colours as CSS variables: those of every picture, light and dark."""

from __future__ import annotations

from graphmem.graph.model import ROLES
from graphmem.render.colours import INK, role_style
from graphmem.render.themes import THEMES

_DARK_INK = "#14161a"


def variable_of(role: str) -> str:
    """The name of a role's CSS variable.

    >>> variable_of("optimizer state")
    '--role-optimizer-state'
    """
    return f"--role-{role.replace(' ', '-')}"


def stylesheet(pictures: dict[str, tuple[str, str]]) -> str:
    """The variables: light, dark where the system or the reader asks for it, light again in print.

    Args:
        pictures: variables of pictures' own, with their colours in light and in dark.
    """
    light, dark = (
        _variables(name) + "".join(f"{key}:{pair[index]};" for key, pair in pictures.items())
        for index, name in enumerate(("light", "dark"))
    )
    return (
        f":root{{color-scheme:light;{light}}}\n"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n"
        f":root[data-theme=dark]{{color-scheme:dark;{dark}}}\n"
        f"@media print{{:root:root:root{{color-scheme:light;{light}}}}}\n"
    )


def _variables(name: str) -> str:
    theme = THEMES[name]
    found = {
        "--paper": theme.paper, "--ink": theme.ink, "--faint": theme.faint, "--band": theme.band,
        "--accent": theme.accent, "--line": theme.line,
    }  # fmt: skip
    for role in ROLES:
        own = theme.fill(role) == role_style(role).fill
        found[variable_of(role)] = theme.fill(role)
        found[f"{variable_of(role)}-ink"] = role_style(role).text if own else _DARK_INK
    found |= {"--role-other": "#b0b0b0", "--role-other-ink": INK}
    return "".join(f"{key}:{value};" for key, value in found.items())
