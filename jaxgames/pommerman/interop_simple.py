"""Recorded decisions of the official SimpleAgent (see `simple_cases` for the file), and how ours compares with them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import random_bits
from jaxgames.pommerman.arrays import pack_number
from jaxgames.pommerman.config import PommermanConfig, preset
from jaxgames.pommerman.constants import FIRST_ITEM, ITEM_DIGITS, LIFE_DIGITS, NUM_ITEM_KINDS, NUM_MOVES, STRENGTH_DIGITS, Cell
from jaxgames.pommerman.observation import Observation
from jaxgames.pommerman.simple_agent import MEMORY_LENGTH, NOWHERE, SimpleMemory, decide, draw_words
from jaxgames.pommerman.simple_cases import FOGGED, RUNS, check_form
from jaxgames.pommerman.state import Bomber
from jaxgames.replay import read_npz

FLAME_LIFE_DIGITS = 2
BATCH = 512  # cases per call, the last one padded: one compilation per variant
MAX_STANDARD_ERRORS = 5.0
MAX_IMPOSSIBLE_SHARE = 0.03


@dataclasses.dataclass(frozen=True, order=True)
class Mismatch:
    """One statistic of one case that differs by more than chance explains.

    Attributes:
      index: which case.
      field: "move", "recent" or "previous".
      description: what was expected and what came out.
    """

    index: int
    field: str
    description: str


def observation_from_arrays(config: PommermanConfig, arrays: Mapping[str, Any]) -> Observation:
    """Makes a batch of observations from recorded arrays.

    Args:
      config: the variant; in fogged ones the cells with code 5 are those out of view.
      arrays: `board`, the four maps, `position`, `ammo`, `blast_strength`, `can_kick`, with N in front.

    Returns:
      An `Observation` with leaves [N] (numpy). Agents that are not on the board count as alive, and the step count is 0, as
      a recording does not tell; the seat is that of the agent shown at `position`.
    """
    grid, seats = config.grid, config.num_players
    board = arrays["board"].astype(np.int32)
    cases = len(board)
    position = arrays["position"].astype(np.int32)
    cell = position[:, 0] * grid.columns + position[:, 1]
    shown = [(board == Cell.AGENT_0 + seat).reshape(cases, -1) for seat in range(seats)]
    kinds = np.where((board >= FIRST_ITEM) & (board < FIRST_ITEM + NUM_ITEM_KINDS), board - (FIRST_ITEM - 1), 0)
    alive: Any = np.ones(cases, bool)
    silent = np.zeros(cases, np.int8)
    facts: Any = {  # numpy where an Observation says jax: the two are interchangeable outside jit
        "bomber_cells": tuple(np.where(s.any(1), s.argmax(1), NOWHERE).astype(np.int8) for s in shown),
        "alive": (alive,) * seats,
        "seat": board[np.arange(cases), position[:, 0], position[:, 1]] - Cell.AGENT_0,
        "own": Bomber(
            cell=cell.astype(np.int8),
            alive=alive,
            ammo=arrays["ammo"].astype(np.int8),
            blast_strength=arrays["blast_strength"].astype(np.int8),
            can_kick=arrays["can_kick"] != 0,
        ),
        "message": (silent, silent) if config.has_messages else (),
        "step_count": np.zeros(cases, np.int16),
    }
    return Observation(
        view=grid.from_numpy(board != Cell.FOG),
        rigid=grid.from_numpy(board == Cell.RIGID),
        wood=grid.from_numpy(board == Cell.WOOD),
        items=pack_number(grid, kinds, ITEM_DIGITS),
        flame_life=pack_number(grid, arrays["flame_life"], FLAME_LIFE_DIGITS),
        bomb_life=pack_number(grid, arrays["bomb_life"], LIFE_DIGITS),
        bomb_strength=pack_number(grid, arrays["bomb_blast_strength"], STRENGTH_DIGITS),
        bomb_moving=tuple(grid.from_numpy(arrays["bomb_moving_direction"] == 1 + d) for d in range(4)),
        **facts,
    )


def memory_from_arrays(config: PommermanConfig, arrays: Mapping[str, Any]) -> SimpleMemory:
    """Makes a batch of memories from `recent` and `prev_direction`. Leaves [N] (numpy)."""
    recent = arrays["recent"].astype(np.int32)
    cells = np.where(recent[..., 0] >= 0, recent[..., 0] * config.board_size + recent[..., 1], NOWHERE).astype(np.int8)
    length = (cells >= 0).sum(1)
    latest = [np.where(length > back, cells[np.arange(len(cells)), length - 1 - back], NOWHERE) for back in range(MEMORY_LENGTH)]
    memory: Any = (tuple(cell.astype(np.int8) for cell in latest), arrays["prev_direction"].astype(np.int8))
    return SimpleMemory(*memory)


class Tried(NamedTuple):
    """How often each result came out.

    Attributes:
      moves: int [N, 6].
      appended: int [N], `recent` had another value afterwards.
      changed: int [N], `previous` had another value afterwards.
    """

    moves: Any
    appended: Any
    changed: Any


def count_decisions(config: PommermanConfig, observation: Observation, memory: SimpleMemory, draws: int, seed: int) -> Tried:
    """Decides each case `draws` times and counts the results.

    Args:
      config: the variant.
      observation: leaves [N].
      memory: leaves [N].
      draws: decisions per case.
      seed: of the random words; case and draw number are counted from it.
    """
    lane, cases = random_bits.lane_key(jax.random.key(seed)), len(np.asarray(memory.previous))
    parts = []
    for start in range(0, cases, BATCH):
        rows = np.minimum(np.arange(start, start + BATCH), cases - 1)
        part = jax.tree.map(lambda leaf, rows=rows: jnp.asarray(np.asarray(leaf)[rows]), (observation, memory))
        parts.append(jax.device_get(_count(config, draws, jnp.asarray(rows, jnp.int32), *part, lane)))
    return Tried(*(np.concatenate(counted)[:cases] for counted in zip(*parts, strict=True)))


@functools.partial(jax.jit, static_argnums=(0, 1))
def _count(
    config: PommermanConfig, draws: int, number: Array, observation: Observation, memory: SimpleMemory, lane: random_bits.LaneKey
) -> Tried:
    cases = len(number)

    def draw(case: Array, observation: Observation, memory: SimpleMemory, turn: Array) -> Tried:
        move, after = decide(config, observation, memory, draw_words(random_bits.fold(lane, case), turn))
        appended = jnp.stack([a != b for a, b in zip(after.recent, memory.recent, strict=True)]).any()
        return Tried(jnp.arange(NUM_MOVES) == move, appended, after.previous != memory.previous)

    def draw_all(total: Tried, turn: Array) -> tuple[Tried, None]:
        tried = jax.vmap(draw, in_axes=(0, 0, 0, None))(number, observation, memory, turn)
        return jax.tree.map(lambda t, new: t + new.astype(jnp.int32), total, tried), None

    none = jnp.zeros(cases, jnp.int32)
    total, _ = jax.lax.scan(draw_all, Tried(jnp.zeros((cases, NUM_MOVES), jnp.int32), none, none), jnp.arange(draws))
    return total


def check_simple_cases(
    recording: str | Path | Mapping[str, np.ndarray], draws: int = 200, seed: int = 0
) -> tuple[int, list[Mismatch]]:
    """Compares our SimpleAgent with the recorded decisions of the official one.

    A case fails where a move that was never recorded comes out in more than 3 % of the draws, or where the frequency of a
    move, or of a change of memory, differs by more than 5 standard errors (of both samples together).

    Args:
      recording: a file, or its arrays (see `simple_cases`).
      draws: decisions per case.
      seed: of our random words.

    Returns:
      The number of cases, and what differs.

    Raises:
      ValueError: the file cannot be read, a field is missing or has another form, or there are no draws.
    """
    arrays = dict(recording) if isinstance(recording, Mapping) else dict(read_npz(recording))
    check_form(arrays)
    if draws < 1:
        raise ValueError(f"draws={draws}: must be >= 1")
    fogged = arrays["source"] == FOGGED
    mismatches: list[Mismatch] = []
    for mode, chosen in (("ffa", ~fogged), ("team", fogged)):
        index = np.flatnonzero(chosen)
        if len(index):
            mismatches += _compare(preset(mode), {name: array[index] for name, array in arrays.items()}, index, draws, seed)
    return len(fogged), sorted(mismatches)


def _compare(
    config: PommermanConfig, arrays: Mapping[str, np.ndarray], index: np.ndarray, draws: int, seed: int
) -> list[Mismatch]:
    tried = count_decisions(config, observation_from_arrays(config, arrays), memory_from_arrays(config, arrays), draws, seed)
    expected = arrays["count_big"].astype(np.int64)
    runs = expected.sum(1)
    possible = (arrays["mask_big"][:, None] >> np.arange(NUM_MOVES)) & 1 != 0
    found = []
    share = tried.moves / draws
    for case, move in np.argwhere(~possible & (share > MAX_IMPOSSIBLE_SHARE)):
        found.append(Mismatch(int(index[case]), "move", f"move {move} came out in {share[case, move]:.1%}, but is impossible"))
    errors = standard_errors(tried.moves, draws, expected, runs[:, None])
    for case, move in np.argwhere(possible & (errors > MAX_STANDARD_ERRORS)):
        text = f"move {move}: {share[case, move]:.1%}, recorded {expected[case, move]} of {runs[case]}"
        found.append(Mismatch(int(index[case]), "move", text))
    for field, ours, name in (("recent", tried.appended, "n_memory_appended"), ("previous", tried.changed, "n_prev_changed")):
        errors = standard_errors(ours, draws, arrays[name].astype(np.int64), RUNS)
        for case in np.flatnonzero(errors > MAX_STANDARD_ERRORS):
            text = f"changed in {ours[case] / draws:.1%}, recorded {arrays[name][case]} of {RUNS}"
            found.append(Mismatch(int(index[case]), field, text))
    return found


def standard_errors(ours: np.ndarray, draws: int, theirs: np.ndarray, runs: np.ndarray | int) -> np.ndarray:
    """How many standard errors two frequencies are apart, under the assumption that both have the same probability."""
    pooled = (ours + theirs) / (draws + runs)
    spread = np.sqrt(pooled * (1 - pooled) * (1 / draws + 1 / runs))
    return np.abs(ours / draws - theirs / runs) / np.maximum(spread, 1e-12)
