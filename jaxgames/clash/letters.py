"""Battles of Clash in letters."""

from __future__ import annotations

import string
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from jaxgames import letters
from jaxgames.clash.card_table import Table
from jaxgames.clash.config import ClashConfig
from jaxgames.clash.constants import BRIDGES, COLUMNS, DRAW, ELIXIR, RIVER, ROWS, TILE
from jaxgames.clash.state import State

_PLAYERS = ("blue", "red")
_LETTERS = (string.ascii_uppercase, string.ascii_lowercase)


def to_text(config: ClashConfig, state: State) -> str:
    """Writes the arena with blue below, what each letter in it is, hands and the clock; places are tiles: column, row.

    Capitals are blue's units and small letters red's, + one for which no letter is left, ~ the river, * a spell that will land.
    """
    battle: State = jax.tree.map(np.asarray, state)
    cells = [[_ground(column, row) for column in range(COLUMNS)] for row in range(ROWS)]
    legend = []
    for player, slot in np.argwhere(battle.spell_ticks > 0).tolist():
        column, row = _tile(player, battle.spell_x[player, slot], battle.spell_y[player, slot])
        cells[row][column] = "*"
        name = _spell_name(config.table, int(battle.spell[player, slot]))
        legend.append(f"* {_PLAYERS[player]} {name} at {column}, {row} in {int(battle.spell_ticks[player, slot]) / 10} s")
    for letter, player, slot in reversed(list(_units(battle))):  # of several on one tile the first is seen
        column, row = _tile(player, battle.x[player, slot], battle.y[player, slot])
        cells[row][column] = letter
        name = config.table.units[int(battle.unit[player, slot])].name
        health = int(battle.hp[player, slot]) + int(battle.shield[player, slot])
        legend.insert(0, f"{letter} {_PLAYERS[player]} {name}, {health} hit points, at {column}, {row}")
    names = [f"{row:2}" for row in reversed(range(ROWS))]
    board = letters.board(cells[::-1], names, [str(column % 10) for column in range(COLUMNS)])
    players = [_player(config.table, battle, player) for player in range(2)]
    return board + "\n".join([*legend, *players, _clock(battle)]) + "\n"


def _units(battle: State) -> Iterator[tuple[str, int, int]]:
    """Gives what stands in the arena: a letter, whose it is, its slot."""
    for player in range(2):
        for number, slot in enumerate(np.flatnonzero(battle.alive[player]).tolist()):
            yield _LETTERS[player][number] if number < len(_LETTERS[player]) else "+", player, slot


def _tile(player: int, x: Any, y: Any) -> tuple[int, int]:
    """Gives the column and row in the arena of a place in a player's frame."""
    column, row = min(int(x) // TILE, COLUMNS - 1), min(int(y) // TILE, ROWS - 1)
    return (COLUMNS - 1 - column, ROWS - 1 - row) if player else (column, row)


def _ground(column: int, row: int) -> str:
    middle = column * TILE + TILE // 2
    return "~" if RIVER[0] <= row * TILE < RIVER[1] and not any(low <= middle <= high for low, high in BRIDGES) else "."


def _spell_name(table: Table, row: int) -> str:
    """Names a spell, or the blow of a unit that has died."""
    return table.cards[row].name if row < len(table.cards) else f"fall of {table.units[row - len(table.cards)].name}"


def _player(table: Table, battle: State, player: int) -> str:
    hand = ", ".join(table.cards[card].name for card in battle.hand[player].tolist())
    coming = table.cards[int(battle.queue[player, 0])].name
    return f"{_PLAYERS[player]}: {int(battle.elixir[player]) / ELIXIR:.1f} elixir; {hand}; next {coming}"


def _clock(battle: State) -> str:
    passed = f"{int(battle.tick) / 10} s passed"
    if not battle.terminated:
        return passed
    return f"{passed}; " + ("drawn" if battle.winner == DRAW else f"{_PLAYERS[int(battle.winner)]} has won")
