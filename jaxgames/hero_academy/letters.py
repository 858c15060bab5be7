"""Positions of Hero Academy in letters."""

from __future__ import annotations

import jax
import numpy as np

from jaxgames import letters
from jaxgames.hero_academy import cards, interop, units, words
from jaxgames.hero_academy.config import HeroAcademyConfig
from jaxgames.hero_academy.state import State

_PLAYERS = ("first", "second")
_UNITS = {units.KNIGHT: "k", units.ARCHER: "a", units.CLERIC: "c", units.WIZARD: "w", units.NINJA: "n", units.CRYSTAL: "*"}


def to_text(config: HeroAcademyConfig, state: State) -> str:
    """Writes the board and both hands: 1 or 2 for whose a unit is, k, a, c, w, n or * (a crystal), and its hit points."""
    batch = interop.to_arrays(config, jax.tree.map(lambda leaf: np.asarray(leaf)[None], state))
    arrays = {name: values[0] for name, values in batch.items()}
    told = zip(*(arrays[f"unit_{name}"].ravel().tolist() for name in ("class", "owner", "hp")), strict=True)
    cells = [f"{owner}{_UNITS[kind]}{hit_points}" if kind else "." for kind, owner, hit_points in told]
    columns = config.grid.columns
    rows = [cells[row * columns : (row + 1) * columns] for row in range(config.grid.rows)]
    board = letters.board(
        rows, [str(row + 1) for row in range(len(rows))], [words.column_name(column) for column in range(columns)]
    )
    hands = "".join(f"{name}: {_hand(hand)}\n" for name, hand in zip(_PLAYERS, arrays["hand"].tolist(), strict=True))
    moves = f"{_PLAYERS[arrays['player'] - 1]} is to move, {arrays['ap']} action points\n"
    return board + hands + ("the game is over\n" if arrays["terminal"] else moves)


def _hand(counts: list[int]) -> str:
    return ", ".join(f"{count} {cards.CARD_NAMES[card]}" for card, count in enumerate(counts) if count) or "no cards"
