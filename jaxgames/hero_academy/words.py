"""Actions in words: what a player is about to do, and what has come of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from jaxgames.hero_academy import cards, decoded, interop, units
from jaxgames.hero_academy.config import HeroAcademyConfig
from jaxgames.hero_academy.decoded import Decoded

Arrays = Mapping[str, np.ndarray]
"""One state as `interop.to_arrays` gives it, without batch axis, cells in one row."""


def arrays_of(config: HeroAcademyConfig, state: Any) -> dict[str, np.ndarray]:
    """Gives one state as arrays; those of the board have one entry per cell."""
    batch = interop.to_arrays(config, jax.tree.map(lambda leaf: np.asarray(leaf)[None], state))
    return {name: rows[0].ravel() if name.startswith("unit") else rows[0] for name, rows in batch.items()}


def cell_name(config: HeroAcademyConfig, cell: int) -> str:
    """Names a cell by its column (see `column_name`) and its row 1, 2, ... from the top."""
    row, column = divmod(cell, config.grid.columns)
    return f"{column_name(column)}{row + 1}"


def column_name(column: int) -> str:
    """Names a column a, b, ..., z, aa, bb, ... from the left."""
    times, letter = divmod(column, 26)
    return chr(ord("a") + letter) * (times + 1)


def ninja_of(state: Arrays, seat: int) -> int:
    """Gives the cell of the ninja of a seat; -1: it has none that stands."""
    found = np.flatnonzero((state["unit_class"] == units.NINJA) & (state["unit_owner"] == seat + 1) & (state["unit_hp"] > 0))
    return int(found[0]) if len(found) else -1


def planned(config: HeroAcademyConfig, state: Arrays, seat: int, said: Decoded) -> str:
    """Says what an action of a seat does in a state."""
    end = cell_name(config, said.end)
    match said.kind:
        case decoded.UNIT:
            verb, actor = _verb(state, seat, said), _unit(config, state, said.start)
            return f"{actor} {verb} {_unit(config, state, said.end)}" if verb else f"{actor}–{end}"
        case decoded.TRADE:
            return f"ninja {cell_name(config, ninja_of(state, seat))} changes places with {end}"
        case decoded.DEPLOY:
            return f"{cards.CARD_NAMES[said.card]} to {end}"
        case decoded.CARD:
            return f"{cards.CARD_NAMES[said.card]} on {end}"
        case decoded.SWAP:
            return f"swap {cards.CARD_NAMES[said.card]}"
    return "end turn" if said.kind == decoded.END else "pass"


def happened(config: HeroAcademyConfig, before: Arrays, after: Arrays, seat: int, said: Decoded) -> str:
    """Says what an action of a seat has done: who lost or won how many hit points, and who has left the board."""
    told = planned(config, before, seat, said)
    if said.kind != decoded.END and after["terminal"] and int(after["winner"]) == 2 - seat:
        return f"{told}, which is not legal"
    if said.kind == decoded.END:
        lost = [_unit(config, before, cell) for cell in _gone(before, after, seat)]
        return f"{told}: {' and '.join(lost)} {'is' if len(lost) == 1 else 'are'} taken out" if lost else told
    if said.kind == decoded.UNIT and (verb := _verb(before, seat, said)):
        return told + _of_unit(config, before, after, seat, said, verb)
    if said.kind == decoded.CARD:
        return told + _of_card(config, before, after, seat, said)
    return told


def _verb(state: Arrays, seat: int, said: Decoded) -> str:
    """What a unit does to what stands where it acts; "": nothing stands there, so it goes there."""
    if not state["unit_class"][said.end]:
        return ""
    is_own, is_alive = state["unit_owner"][said.end] == seat + 1, state["unit_hp"][said.end] > 0
    if is_own and state["unit_class"][said.start] == units.CLERIC:
        return "heals" if is_alive else "revives"
    return "stomps" if not is_alive else "acts on" if is_own else "attacks"


def _unit(config: HeroAcademyConfig, state: Arrays, cell: int) -> str:
    return f"{units.UNIT_NAMES[state['unit_class'][cell]]} {cell_name(config, cell)}"


def _of_unit(config: HeroAcademyConfig, before: Arrays, after: Arrays, seat: int, said: Decoded, verb: str) -> str:
    """What an attack or a cleric has done, after the words for the action."""
    if verb in ("heals", "revives"):
        return _gained(before, after, said.end)
    if verb != "attacks":
        return ""
    lost = _losses(before, after, seat)
    if before["unit_class"][said.start] != units.WIZARD:  # what is pushed away has taken its hit points with it
        return f" ({_lost(before, said.end, int(lost.sum()))})"
    others = [cell for cell in np.flatnonzero(lost).tolist() if cell != said.end]
    struck = [f", {_unit(config, before, cell)} ({_lost(before, cell, int(lost[cell]))})" for cell in others]
    return f" ({_lost(before, said.end, int(lost[said.end]))})" + "".join(struck)


def _of_card(config: HeroAcademyConfig, before: Arrays, after: Arrays, seat: int, said: Decoded) -> str:
    """What a card has done, after the words for the action."""
    if said.card != cards.INFERNO:
        return _gained(before, after, said.end)
    lost = _losses(before, after, seat)
    stomped = [cell for cell in _gone(before, after, 1 - seat) if not lost[cell]]
    told = [f"{_unit(config, before, cell)} ({_lost(before, cell, int(lost[cell]))})" for cell in np.flatnonzero(lost).tolist()]
    told += [f"{_unit(config, before, cell)} (taken out)" for cell in stomped]
    return f": {', '.join(told)}" if told else ""


def _losses(before: Arrays, after: Arrays, seat: int) -> np.ndarray:
    """How many hit points the other has lost by cell, int [cells]; one who was pushed is at two of them, with the right sum."""
    held = [np.where(state["unit_owner"] == 2 - seat, state["unit_hp"].astype(int), 0) for state in (before, after)]
    return held[0] - held[1]


def _gone(before: Arrays, after: Arrays, seat: int) -> list[int]:
    """The cells from which something of a seat has gone."""
    mine = before["unit_owner"] == seat + 1
    return np.flatnonzero(mine & (after["unit_class"] == 0)).tolist()


def _lost(before: Arrays, cell: int, lost: int) -> str:
    """What has become of something by losing hit points."""
    left = int(before["unit_hp"][cell]) - lost
    fate = "destroyed" if before["unit_class"][cell] == units.CRYSTAL else "knocked down"
    return f"{lost} damage, {f'{left} left' if left > 0 else fate}"


def _gained(before: Arrays, after: Arrays, cell: int) -> str:
    """What has become of something by winning hit points."""
    won = int(after["unit_hp"][cell]) - int(before["unit_hp"][cell])
    return f" ({won} more hit points, now {after['unit_hp'][cell]})" if won > 0 else ""
