"""The cards that `--device` knows: graphmem's own table, and what users add to it."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from graphmem.errors import TargetError
from graphmem.units import parse_bytes
from graphmem.xla.gpus import MULTIPROCESSORS, Gpu

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_TABLE = Path(__file__).parents[1] / "data" / "gpus.toml"
_REQUIRED = ("capability", "memory", "sms", "clock_mhz", "bandwidth_gb_s", "l2")
_KEYS = {*_REQUIRED, "aliases", "source", "like"}
_MAKERS = re.compile(r"nvidia|geforce|tesla|quadro|generation")
_SERIES = re.compile(r"^(?:rtx|gtx)(?=\d)")


def find_gpu(name: str, more: Iterable[Mapping[str, Any]] = ()) -> Gpu:
    """The card of a name: "a100", "RTX 3060 12GB", "rtx3060", "Tesla V100-SXM2-32GB".

    Capitals, blanks and dashes, the maker's words and the card's memory may be left out or given.

    Args:
        name: as the user writes it.
        more: tables of cards that the user has added, later ones before earlier ones: `[gpus]` of the file that
            `user_table` reads, `[tool.graphmem.gpus]`.

    Raises:
        TargetError: no card is called so, or several; or a table of the user's is wrong.
    """
    cards = all_gpus(more)
    wanted = _plain(name)
    exact = _with_key(cards, wanted) or _with_key(cards, wanted, _SERIES)
    if exact:
        return exact[-1]
    begun = [card for card in cards if any(key.startswith(wanted) for key in _keys(card))] if wanted else []
    if len(begun) == 1:
        return begun[0]
    if begun:
        raise TargetError(f"there are several cards called {name!r}: {_listed(begun)}; say which.")
    close = difflib.get_close_matches(wanted, [key for card in cards for key in _keys(card)], n=5, cutoff=0.6)
    near = [card for card in cards if _keys(card) & set(close)]
    hint = f"; did you mean {_listed(near)}?" if near else "."
    raise TargetError(f"no card is called {name!r}{hint} Cards can be added: see docs/devices.md.")


def all_gpus(more: Iterable[Mapping[str, Any]] = ()) -> list[Gpu]:
    """All cards; one that a user adds takes the place of one of the same name.

    Raises:
        TargetError: a table of the user's is wrong.
    """
    cards = dict(_own())
    for table in more:
        for name, row in table.items():
            cards.pop(name, None)
            cards[name] = _card(name, row, list(cards.values()))
    return list(cards.values())


def user_table() -> Mapping[str, Any]:
    """The `[gpus]` table of `gpus.toml` in graphmem's configuration folder; empty if there is none.

    Raises:
        TargetError: the file is no TOML, or has no such table.
    """
    import platformdirs

    path = platformdirs.user_config_path("graphmem") / "gpus.toml"
    if not path.is_file():
        return {}
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("gpus")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TargetError(f"{path} cannot be read: {error}; correct it.") from error
    if not isinstance(table, dict):
        raise TargetError(f"{path} needs a table [gpus] with a table for each card.")
    return table


@cache
def _own() -> Mapping[str, Gpu]:
    table = tomllib.loads(_TABLE.read_text(encoding="utf-8"))["gpus"]
    return {name: _card(name, row, []) for name, row in table.items()}


def _card(name: str, row: Any, known: list[Gpu]) -> Gpu:
    """A card of one row of a table."""
    if not isinstance(row, dict):
        raise TargetError(f"card {name!r} must be a table with {', '.join(_REQUIRED)}.")
    strange = [key for key in row if key not in _KEYS]
    if strange:
        raise TargetError(f"card {name!r} has no {strange[0]!r}; it may have {', '.join(sorted(_KEYS))}.")
    values = {**_row_of_like(name, row, known), **row}
    missing = [key for key in _REQUIRED if key not in values]
    if missing:
        raise TargetError(f"card {name!r} lacks {', '.join(missing)}; give them, or a card that is like it with like.")
    return Gpu(
        name=name,
        capability=_capability(name, values["capability"]),
        memory_bytes=_size(name, "memory", values["memory"]),
        sms=int(_number(name, "sms", values["sms"])),
        clock_mhz=_number(name, "clock_mhz", values["clock_mhz"]),
        bandwidth=round(_number(name, "bandwidth_gb_s", values["bandwidth_gb_s"]) * 1e9),
        l2_bytes=_size(name, "l2", values["l2"]),
        aliases=_aliases(name, row.get("aliases", [])),
        source=str(values.get("source", "")),
    )


def _row_of_like(name: str, row: Mapping[str, Any], known: list[Gpu]) -> dict[str, Any]:
    """What a card takes over from the one that it is like."""
    if "like" not in row:
        return {}
    like = _with_key(known, _plain(str(row["like"])))
    if not like:
        raise TargetError(f"card {name!r} is to be like {row['like']!r}, which is no card that is known.")
    one = like[-1]
    return {
        "capability": one.architecture,
        "memory": one.memory_bytes,
        "sms": one.sms,
        "clock_mhz": one.clock_mhz,
        "bandwidth_gb_s": one.bandwidth / 1e9,
        "l2": one.l2_bytes,
        "source": f"as {one.name}",
    }


def _capability(name: str, value: Any) -> tuple[int, int]:
    known = {f"{major}.{minor}": (major, minor) for major, minor in MULTIPROCESSORS}
    if str(value) not in known:
        raise TargetError(f"card {name!r}: capability must be one of {', '.join(known)}, not {value!r}.")
    return known[str(value)]


def _size(name: str, key: str, value: Any) -> int:
    try:
        size = parse_bytes(value) if isinstance(value, str) else value
    except TargetError as error:
        raise TargetError(f"card {name!r}: {key}: {error}") from None
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise TargetError(f"card {name!r}: {key} must be bytes or a size such as 12GiB, not {value!r}.")
    return size


def _number(name: str, key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 1:
        raise TargetError(f"card {name!r}: {key} must be a number of 1 or more, not {value!r}.")
    return value


def _aliases(name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(alias, str) for alias in value):
        raise TargetError(f"card {name!r}: aliases must be a list of names.")
    return tuple(value)


def _plain(name: str) -> str:
    """A name without capitals, punctuation and the maker's words."""
    return _MAKERS.sub("", re.sub(r"[^a-z0-9]", "", name.lower()))


def _keys(card: Gpu) -> set[str]:
    """The plain names that a card goes by, each with and without its memory."""
    names = {_plain(name) for name in (card.name, *card.aliases)}
    nominal = f"{round(card.memory_bytes / 0.975 / (1 << 30))}gb"
    return names | {name + nominal for name in names if not name.endswith("gb")}


def _with_key(cards: list[Gpu], key: str, drop: re.Pattern[str] | None = None) -> list[Gpu]:
    """The cards of a plain name, of which `drop` may be left out."""
    return [card for card in cards if key in {drop.sub("", k) if drop else k for k in _keys(card)}]


def _listed(cards: list[Gpu]) -> str:
    return ", ".join(card.name for card in cards)
