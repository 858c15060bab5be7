"""Hand-made positions for the tests: drawn as text, played for one step, and looked at as plain Python values.

A drawing is the top left part of the board, the rest is passages:

    .  passage      #  rigid wall      +  wood      b r k  visible extra bomb, range, kick      *  flames of life 2
    0 1 2 3  agents
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import jax
import numpy as np

from jaxgames.pommerman import interop
from jaxgames.pommerman.config import PommermanConfig, preset
from jaxgames.pommerman.replay import step_batch
from jaxgames.pommerman.state import State

FFA = preset("ffa")
TEAM = preset("team")
SMALL = dataclasses.replace(FFA, board_size=8, num_rigid=16, num_wood=16, num_items=10)  # half as many words to compile
SMALL_TEAM = dataclasses.replace(TEAM, board_size=8, num_rigid=16, num_wood=16, num_items=10)
STOP, UP, DOWN, LEFT, RIGHT, BOMB = range(6)
EXTRA, RANGE, KICK = 6, 7, 8
# Cells next to the corners of the standard board, which stay free.
PROTECTED = (
    *((1, 2), (1, 3), (2, 1), (3, 1), (7, 1), (8, 1), (9, 2), (9, 3)),
    *((9, 7), (9, 8), (7, 9), (8, 9), (1, 7), (1, 8), (2, 9), (3, 9)),
)
CODES = {".": 0, "#": 1, "+": 2, "*": 4, "b": EXTRA, "r": RANGE, "k": KICK}


class Bomb(NamedTuple):
    owner: int = 0
    life: int = 9
    strength: int = 2
    direction: int = STOP


class Man(NamedTuple):
    """An agent; `cell` is taken from the drawing, and an agent that is not drawn is dead."""

    ammo: int = 1
    strength: int = 2
    kick: bool = False
    alive: bool = True
    cell: tuple[int, int] = (0, 0)


class Result(NamedTuple):
    """What came out of a step, or what a position is."""

    board: np.ndarray
    hidden: dict[tuple[int, int], int]
    flames: dict[tuple[int, int], set[int]]
    bombs: dict[tuple[int, int], Bomb]
    men: list[Man]
    rewards: tuple[int, ...]
    done: bool
    state: State


def position(drawing, *, bombs=None, flames=None, hidden=None, step=0, config=FFA, messages=None, **men) -> State:
    """Makes a state with leaves [1].

    Args:
      drawing: rows of characters, see the top of this file.
      bombs: cell -> Bomb.
      flames: cell -> lives; other than those drawn.
      hidden: cell -> item code.
      step: step count.
      config: the variant.
      messages: radio mode: two words per seat.
      **men: m0=Man(...) and so on; a drawn agent without is `Man()`, one that is not drawn is dead, in the last cell.
    """
    size, seats = config.board_size, config.num_players
    board = np.zeros((size, size), np.uint8)
    cells = {}
    for row, line in enumerate(drawing.split()):
        for column, sign in enumerate(line):
            if sign.isdigit():
                cells[int(sign)] = (row, column)
                board[row, column] = 10 + int(sign)
            else:
                board[row, column] = CODES[sign]
    fire = np.where(board == 4, 4, 0).astype(np.uint8)
    for cell, lives in (flames or {}).items():
        fire[cell] = sum(1 << life for life in lives)
        board[cell] = 4
    items = np.zeros((size, size), np.uint8)
    for cell, code in (hidden or {}).items():
        items[cell] = code
    rows = np.full((32, 6), -1, np.int8)
    for slot, (cell, bomb) in enumerate((bombs or {}).items()):
        rows[slot] = (*cell, *bomb)
        if board[cell] == 0:
            board[cell] = 3
    agents = np.zeros((seats, 6), np.int8)
    for seat in range(seats):
        man = men.get(f"m{seat}", Man())
        cell = cells.get(seat, man.cell if f"m{seat}" in men else (size - 1, size - 1))
        agents[seat] = (*cell, seat in cells, man.ammo, man.strength, man.kick)
    arrays = {"s_board": board, "s_items": items, "s_flames": fire, "s_nbombs": np.uint8(len(bombs or {})), "s_bombs": rows}
    arrays |= {"s_agents": agents, "s_step": np.int16(step)}
    state = interop.from_arrays(config, {name: np.asarray(array)[None] for name, array in arrays.items()})
    if messages is not None:
        words = tuple(tuple(np.array([word], np.int8) for word in pair) for pair in messages)
        state = dataclasses.replace(state, messages=words)
    return state


def look(state: State, config: PommermanConfig = FFA) -> Result:
    """Takes a state with leaves [1] apart."""
    arrays = {name: array[0] for name, array in interop.to_arrays(config, state).items()}
    bombs = arrays["s_bombs"][: arrays["s_nbombs"]].tolist()
    men = [
        Man(ammo, strength, bool(kick), bool(alive), (r, c)) for r, c, alive, ammo, strength, kick in arrays["s_agents"].tolist()
    ]
    return Result(
        board=arrays["s_board"],
        hidden={(int(r), int(c)): int(arrays["s_items"][r, c]) for r, c in np.argwhere(arrays["s_items"])},
        flames={(int(r), int(c)): lives_of(int(arrays["s_flames"][r, c])) for r, c in np.argwhere(arrays["s_flames"])},
        bombs={(r, c): Bomb(*numbers) for r, c, *numbers in bombs},
        men=men,
        rewards=tuple(int(reward[0]) for reward in state.seat_rewards),
        done=bool(state.terminated[0]),
        state=state,
    )


def lives_of(bits: int) -> set[int]:
    return {life for life in range(3) if bits >> life & 1}


def play(state: State, *moves: int, config: PommermanConfig = FFA) -> Result:
    """Plays one step; seats without a move stop."""
    actions = np.zeros((1, config.num_players), np.int32)
    actions[0, : len(moves)] = moves
    return look(step_batch(config, state, actions), config)


def play_on(state: State, *steps: tuple[int, ...], config: PommermanConfig = FFA) -> list[Result]:
    """Plays several steps, also beyond the end of the game, as the official environment does."""
    results = []
    for moves in steps:
        state = dataclasses.replace(state, terminated=np.zeros(1, bool))
        results.append(play(state, *moves, config=config))
        state = results[-1].state
    return results


def equal(one, other) -> bool:
    """Says whether two pytrees are the same bit for bit."""
    same = jax.tree.map(lambda a, b: bool(np.array_equal(a, b)) and np.asarray(a).dtype == np.asarray(b).dtype, one, other)
    return jax.tree.structure(one) == jax.tree.structure(other) and all(jax.tree.leaves(same))
