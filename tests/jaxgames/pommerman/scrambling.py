"""Changes all that one player cannot know, for tests that nothing of it reaches what the player is shown."""

from __future__ import annotations

import numpy as np

from jaxgames.pommerman import interop


def scrambled(config, arrays, seat, rng):
    """Changes all that `seat` cannot know, as far as the result is a possible state."""
    changed = {field: arrays[field].copy() for field in interop.STATE_FIELDS}
    count, size = len(changed["s_board"]), config.board_size
    # Items under wood and flames, and older flames under younger ones.
    hidden = (changed["s_board"] == 2) | (changed["s_flames"] > 0)
    changed["s_items"] = np.where(hidden, rng.choice([0, 6, 7, 8], (count, size, size)), 0).astype(np.uint8)
    youngest = np.where(changed["s_flames"] >= 4, 4, np.where(changed["s_flames"] >= 2, 2, changed["s_flames"]))
    changed["s_flames"] = (youngest | (np.maximum(youngest, 1) - 1 & rng.integers(0, 4, youngest.shape))).astype(np.uint8)
    changed["s_flames"] *= youngest > 0
    # Numbers of the others, and owners of the bombs.
    others = [other for other in range(config.num_players) if other != seat]
    changed["s_agents"][:, others, 3] = rng.integers(0, 11, (count, len(others)))
    changed["s_agents"][:, others, 4] = rng.integers(2, config.max_blast_strength + 1, (count, len(others)))
    changed["s_agents"][:, others, 5] = rng.integers(0, 2, (count, len(others)))
    listed = np.arange(32) < changed["s_nbombs"][:, None]
    changed["s_bombs"][..., 2] = np.where(listed, rng.integers(0, config.num_players, listed.shape), -1)
    # Where dead agents lie.
    dead = changed["s_agents"][..., 2] == 0
    dead[:, seat] = False
    changed["s_agents"][..., :2] = np.where(
        dead[..., None], rng.integers(0, size, (*dead.shape, 2)), changed["s_agents"][..., :2]
    )
    if config.view_radius is not None:
        _scramble_fog(config, changed, seat, rng)
    return changed


def _scramble_fog(config, changed, seat, rng):
    """Draws everything again that lies out of view: walls, power-ups, flames; bombs there get other numbers or vanish."""
    count, size = len(changed["s_board"]), config.board_size
    rows, columns = np.indices((size, size))
    own = changed["s_agents"][:, seat].astype(int)
    away = np.maximum(abs(rows - own[:, 0, None, None]), abs(columns - own[:, 1, None, None]))
    fog = (away > config.view_radius) & (changed["s_board"] < 10)
    drawn = rng.choice([0, 1, 2, 4, 6, 7, 8], (count, size, size))
    for state in range(count):
        bombs = changed["s_bombs"][state, : changed["s_nbombs"][state]].tolist()
        kept = [bomb for bomb in bombs if away[state, bomb[0], bomb[1]] <= config.view_radius]
        changed["s_bombs"][state], changed["s_nbombs"][state] = -1, len(kept)
        changed["s_bombs"][state, : len(kept)] = np.array(kept, np.int8).reshape(-1, 6)
    changed["s_board"] = np.where(fog, drawn, changed["s_board"]).astype(np.uint8)
    flames = np.where(drawn == 4, rng.integers(1, 8, drawn.shape), 0)
    changed["s_flames"] = np.where(fog, flames, changed["s_flames"]).astype(np.uint8)
    changed["s_items"] = np.where(fog & ~np.isin(drawn, (2, 4)), 0, changed["s_items"])
    # A living agent out of view goes somewhere else out of view, in the last state of all only to keep this simple.
    for state in range(count):
        for other in range(config.num_players):
            row, column, alive = changed["s_agents"][state, other, :3]
            if other != seat and alive and away[state, row, column] > config.view_radius:
                free = np.argwhere(fog[state] & (changed["s_board"][state] == 0))
                if len(free):
                    changed["s_board"][state, row, column] = 0
                    row, column = free[rng.integers(len(free))]
                    changed["s_agents"][state, other, :2] = row, column
                    changed["s_board"][state, row, column] = 10 + other
                    fog[state, row, column] = False
