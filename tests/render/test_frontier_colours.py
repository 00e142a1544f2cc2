"""The roles' colours: told apart by colour-blind readers and in a grey print, and readable."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from graphmem.graph.model import ROLES
from graphmem.render.colours import ROLE_STYLES, in_role_order, mix, role_style
from graphmem.render.themes import THEMES

#: Machado, Oliveira and Fernandes (2009), severity 1: linear RGB as seen with each deficiency.
VISION = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.95047, 1.0, 1.08883])
STEP_ROLES = ("activation", "gradient", "update", "scratch", "output")


def linear(colour: str) -> np.ndarray:
    value = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIE L*a*b* of linear RGB."""
    ratio = TO_XYZ @ rgb / WHITE
    f = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one: str, other: str) -> float:
    """WCAG's contrast ratio."""
    low, high = sorted(float(TO_XYZ[1] @ linear(colour)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def test_every_role_has_a_style_in_the_order_of_the_roles() -> None:
    assert tuple(ROLE_STYLES) == ROLES


@pytest.mark.parametrize("vision", VISION)
def test_no_two_roles_look_alike(vision: str) -> None:
    """A distance of 10 in CIE L*a*b* is clear side by side in areas."""
    seen = {role: lab(np.clip(VISION[vision] @ linear(style.fill), 0, 1)) for role, style in ROLE_STYLES.items()}
    close = [pair for pair in combinations(ROLES, 2) if np.linalg.norm(seen[pair[0]] - seen[pair[1]]) < 13]
    assert close == []


@pytest.mark.parametrize("roles", [STEP_ROLES, ("weight", "optimizer state", "other state", "input", "constant")])
def test_roles_that_stand_together_differ_in_lightness(roles: tuple[str, ...]) -> None:
    lightness = sorted(lab(linear(ROLE_STYLES[role].fill))[0] for role in roles)
    assert min(np.diff(lightness)) > 8


@pytest.mark.parametrize("roles", [STEP_ROLES, ("weight", "optimizer state", "other state", "input", "constant")])
def test_the_theme_for_print_is_grey_and_keeps_roles_apart(roles: tuple[str, ...]) -> None:
    look = THEMES["print"]
    seen = [look.fill(role) for role in roles] + [look.tint(role) for role in roles]
    assert all(colour[1:3] == colour[3:5] == colour[5:7] for colour in seen)
    assert min(np.diff(sorted(lab(linear(look.fill(role)))[0] for role in roles))) > 8


@pytest.mark.parametrize("role", ROLES)
def test_text_is_readable(role: str) -> None:
    style = ROLE_STYLES[role]
    assert contrast(style.text, style.fill) >= 4.5
    for theme in THEMES.values():
        assert contrast(theme.ink, theme.tint(role)) >= 6
        assert contrast(theme.faint, theme.band) >= 4.5
        assert contrast(theme.paper, theme.ink) >= 9


def test_mix_and_order() -> None:
    assert (mix("#000000", 1), mix("#000000", 0), mix("#ff0000", 0.5)) == ("#000000", "#ffffff", "#ff8080")
    assert in_role_order({"output": 1, "new": 2, "weight": 3}) == [("weight", 3), ("output", 1), ("new", 2)]
    assert mix("#ffffff", 0.5, "#000000") == "#808080"
    assert role_style("new") == role_style("newer")
    assert role_style("new").fill not in {style.fill for style in ROLE_STYLES.values()}
