"""The file of recorded SimpleAgent decisions: which arrays it has, and whether they agree with each other.

It holds N situations (observation and memory), each given to fresh copies of the official agent many times:

    board, bomb_blast_strength, bomb_life, bomb_moving_direction, flame_life   uint8 [N, 11, 11], as observed
    position int8 [N, 2], ammo, blast_strength int8 [N], can_kick uint8 [N], enemies [N, 3]     own values
    source uint8 [N]                  0 free-for-all, 1 team or radio with fog, 2 free-for-all on open boards
    recent int8 [N, 6, 2]             cells, the oldest first, n_recent of them, padded with -1
    prev_direction uint8 [N]          0 none, 1..4
    count, count_big uint16 [N, 6]    how often each move came out of 30 and 130 runs; mask, mask_big: bit of every move that did
    n_memory_appended, n_prev_changed uint8 [N]   of 30 runs, in how many `recent` / `prev_direction` had another value after
    n_exception uint8 [N]             of 30 runs, how many failed

`interop_simple` compares the decisions with ours; what the agent does not look at, and the counts among themselves, are
checked here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from jaxgames import replay
from jaxgames.pommerman.config import PommermanConfig, preset
from jaxgames.pommerman.constants import BOMB_LIFE, FLAME_LIFE, MAX_AMMO, NUM_MOVES, START_BLAST_STRENGTH, Cell, Move
from jaxgames.pommerman.official_observation import allegiance
from jaxgames.pommerman.simple_agent import MEMORY_LENGTH
from jaxgames.replay import Arrays, Findings, any_in_row

MAPS = ("board", "bomb_blast_strength", "bomb_life", "bomb_moving_direction", "flame_life")
RUNS, ALL_RUNS = 30, 130  # of the official agent; with those of the checked re-implementation
SHAPES: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(MAPS, (11, 11)),
    "position": (2,),
    "ammo": (),
    "blast_strength": (),
    "can_kick": (),
    "enemies": (3,),
    "source": (),
    "recent": (MEMORY_LENGTH, 2),
    "n_recent": (),
    "prev_direction": (),
    "count": (NUM_MOVES,),
    "mask": (),
    "n_memory_appended": (),
    "n_prev_changed": (),
    "n_exception": (),
    "count_big": (NUM_MOVES,),
    "mask_big": (),
}

FREE_FOR_ALL, FOGGED, OPENED = 0, 1, 2  # values of `source`


def is_cases(arrays: Mapping[str, np.ndarray]) -> bool:
    """Says whether the names are those of recorded decisions rather than of something else."""
    return sum(name in arrays for name in SHAPES) > len(SHAPES) // 2


def check_form(arrays: Mapping[str, np.ndarray]) -> None:
    """Checks names, shapes and types; raises BadRecording with the first wrong field."""
    replay.check_form(arrays, {name: ("N", *shape) for name, shape in SHAPES.items()}, {"N": "board"})


def check_consistency(arrays: Arrays, findings: Findings) -> np.ndarray:
    """Adds every case whose fields do not agree with each other.

    Returns:
      bool [N], cases without such a fault.
    """
    numbers = {name: arrays[name].astype(np.int64) for name in SHAPES}
    sound = np.ones(len(numbers["board"]), bool)
    for facts in (_counts(numbers), _memory(numbers), _view(numbers)):
        for fact, where in facts:
            wrong = any_in_row(where)
            sound &= ~wrong
            for case in np.flatnonzero(wrong):
                findings.add(f"case {case}: {fact}")
    return sound


def _counts(n: Mapping[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    """What can be wrong with the results."""
    bits = np.arange(NUM_MOVES)
    yield f"count: the sum is not {RUNS}", n["count"].sum(1) != RUNS
    yield f"count_big: the sum is not {ALL_RUNS}", n["count_big"].sum(1) != ALL_RUNS
    yield "count: above count_big", n["count"] > n["count_big"]
    for name in ("mask", "mask_big"):
        field = name.replace("mask", "count")
        yield f"{name}: not the moves of {field}", ((n[name][:, None] >> bits) & 1 != 0) != (n[field] > 0)
        yield f"{name}: has bits beyond move {NUM_MOVES - 1}", n[name] >> NUM_MOVES != 0
    for name in ("n_memory_appended", "n_prev_changed"):
        yield f"{name}: not in 0..{RUNS}", (n[name] < 0) | (n[name] > RUNS)
    walks = n["count"][:, Move.UP : Move.RIGHT + 1].sum(1)
    yield "n_prev_changed: more often than a step was chosen", n["n_prev_changed"] > walks
    yield "n_exception: not 0", n["n_exception"] != 0


def _memory(n: Mapping[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    """What can be wrong with the memory."""
    recent, size = n["recent"], n["board"].shape[1]
    yield f"n_recent: not in 0..{MEMORY_LENGTH}", (n["n_recent"] < 0) | (n["n_recent"] > MEMORY_LENGTH)
    valid = np.arange(MEMORY_LENGTH) < n["n_recent"][:, None]
    yield (
        "recent: not on the board, or not -1 after the last",
        np.where(valid[..., None], (recent < 0) | (recent >= size), recent != -1),
    )
    row, column = (np.clip(recent[..., axis], 0, size - 1) for axis in (0, 1))
    code = n["board"][np.arange(len(recent))[:, None], row, column]
    yield "recent: a cell with a rigid wall", valid & (code == Cell.RIGID)
    yield "prev_direction: not in 0..4", (n["prev_direction"] < 0) | (n["prev_direction"] > Move.RIGHT)


def _view(n: Mapping[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    """What can be wrong with the observation."""
    board, position, source = n["board"], n["position"], n["source"]
    cases, size = len(board), board.shape[1]
    codes = [code for code in range(Cell.AGENT_0 + 4) if code != Cell.DUMMY]
    yield "board: an unknown code", ~np.isin(board, codes)
    yield "source: not in 0..2", (source < FREE_FOR_ALL) | (source > OPENED)
    fogged = source == FOGGED
    config: PommermanConfig = preset("ffa")
    cap = np.where(fogged, preset("team").max_blast_strength, config.max_blast_strength)
    yield "ammo: out of range", (n["ammo"] < 0) | (n["ammo"] > MAX_AMMO)
    yield "blast_strength: out of range", (n["blast_strength"] < START_BLAST_STRENGTH) | (n["blast_strength"] > cap)
    yield "can_kick: not 0 or 1, or 0 on an opened board", (n["can_kick"] < (source == OPENED)) | (n["can_kick"] > 1)

    yield "position: not on the board", (position < 0) | (position >= size)
    row, column = (np.clip(position[:, axis], 0, size - 1) for axis in (0, 1))
    own = board[np.arange(cases), row, column]
    yield "position: there is no agent on the board", own < Cell.AGENT_0
    for seat in range(config.num_players):
        yield f"board: agent {seat} twice", (board == Cell.AGENT_0 + seat).sum((1, 2)) > 1
        for mode, here in (("ffa", ~fogged), ("team", fogged)):
            expected = allegiance(preset(mode), seat)[1]
            yield f"enemies: not those of agent {seat}", here & (own == Cell.AGENT_0 + seat) & (n["enemies"] != expected).any(1)

    rows, columns = np.arange(size)[:, None], np.arange(size)
    radius = preset("team").view_radius
    away = np.maximum(abs(rows - row[:, None, None]), abs(columns - column[:, None, None]))
    hidden = fogged[:, None, None] & (away > (radius or size))
    yield "board: fog and view do not agree", (board == Cell.FOG) != hidden
    rigid = (board == Cell.RIGID).sum((1, 2))
    yield "source: the number of rigid walls is another", ~fogged & ((rigid == config.num_rigid) != (source == FREE_FOR_ALL))

    strength, life, direction, flame = (n[name] for name in MAPS[1:])
    bomb = strength > 0
    too_strong = (strength < START_BLAST_STRENGTH) | (strength > cap[:, None, None])
    yield "bomb_blast_strength: out of range", (strength < 0) | (bomb & too_strong)
    yield "bomb_life: out of range, or not where the bombs are", np.where(bomb, (life < 1) | (life >= BOMB_LIFE), life != 0)
    yield (
        "bomb_moving_direction: out of range, or not where the bombs are",
        np.where(bomb & (board == Cell.BOMB), (direction < 0) | (direction > Move.RIGHT), direction != 0),
    )
    yield "board: bombs and bomb_blast_strength do not agree", np.where(board < Cell.AGENT_0, bomb != (board == Cell.BOMB), False)
    dark = (flame < 1) | (flame > FLAME_LIFE + 1)
    yield "flame_life: out of range, or not where the flames are", np.where(board == Cell.FLAMES, dark, flame != 0)
