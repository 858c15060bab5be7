"""Who can still get away: hand-made positions, and a search cell by cell in random games."""

import dataclasses
import functools

import jax
import numpy as np
import pytest

from jaxgames.pommerman import escape
from jaxgames.pommerman.arrays import to_arrays
from tests.jaxgames.pommerman import playing
from tests.jaxgames.pommerman.positions import FFA, SMALL, SMALL_TEAM, TEAM, Bomb, Man, position

ROOM, DOOMED, THREATENED = "room", "doomed", "threatened"
NOOK = ".0# ### ..1"  # seat 0 has two cells at the border


@functools.cache
def compiled(config):
    return jax.jit(jax.vmap(functools.partial(escape.cornered, config)))


def fate(drawing, config=SMALL, **details):
    """Of seat 0."""
    state = position(drawing, config=config, **details)
    doomed, threatened = (flags[0, 0] for flags in playing.in_portions(compiled(config), state, playing.ROWS))
    assert not (doomed and threatened)
    return DOOMED if doomed else THREATENED if threatened else ROOM


@pytest.mark.parametrize(("drawing", "details", "expected"), [
    (NOOK, {}, ROOM),
    (NOOK, {"bombs": {(0, 0): Bomb(owner=1)}}, DOOMED),  # the only other cell, and it is in reach
    (NOOK, {"bombs": {(2, 0): Bomb(owner=1, strength=9)}}, ROOM),  # a wall is between
    (".0. ### ..1", {"bombs": {(0, 0): Bomb(owner=1)}}, ROOM),  # the other way is free,
    (".0.# #### ...1", {"bombs": {(0, 0): Bomb(owner=1)}}, ROOM),  # and its end out of reach,
    (".0.# #### ...1", {"bombs": {(0, 0): Bomb(owner=1, strength=3)}}, DOOMED),  # but not of a stronger bomb,
    (".0.# ##.# ...1", {"bombs": {(0, 0): Bomb(owner=1, strength=5)}}, ROOM),  # or round the corner
    ("0+ ++ ..1", {"bombs": {(0, 0): Bomb(owner=0)}, "m0": Man(ammo=0)}, DOOMED),  # its own bomb under itself
    ("+0 ++ ..2", {}, ROOM),
    (".+ 0+ 1.", {"m1": Man(strength=3)}, THREATENED),  # an enemy at the way out, who has a bomb,
    (".+ 0+ 1.", {"m1": Man(strength=3, ammo=0)}, ROOM),  # who has none,
    (".+ 0+ 1.", {}, ROOM),  # whose bomb leaves a cell,
    (".. 0+ 1.", {"m1": Man(strength=3)}, ROOM),  # and round the corner
    (".# .# 0# .# 1.", {}, ROOM),  # the bomb does not reach so far,
    (".# .# 0# .# 1.", {"m1": Man(strength=5)}, THREATENED),  # or does
    (".# .# 0# .# .. 1.", {"m1": Man(strength=5)}, ROOM),  # a way out before the enemy
    ("1# 0# 2.", {"m1": Man(ammo=0)}, THREATENED),
    ("1+ 0# 2.", {"m1": Man(ammo=0), "m2": Man(ammo=0), "bombs": {(1, 0): Bomb()}}, DOOMED),  # enemies bar the way
])  # fmt: skip
def test_who_is_cornered(drawing, details, expected):
    assert fate(drawing, **details) == expected


def test_a_partner_bars_no_way_and_lays_no_bomb():
    assert fate(".+ 0+ 2. 1", SMALL_TEAM) == ROOM
    assert fate("++ 0+ 2. 1", SMALL_TEAM, bombs={(1, 0): Bomb()}) == ROOM


def test_eight_steps_are_the_limit():
    drawing, behind = "#######. 0....... #######. #######.", {(1, 0): Bomb(strength=8)}
    assert fate(drawing, bombs=behind | {(0, 7): Bomb(strength=2)}) == ROOM  # round the corner is the eighth cell
    assert fate(drawing, bombs=behind | {(0, 7): Bomb(strength=3)}) == DOOMED


def test_the_dead_are_not_cornered():
    state = position(".+ 0+ 1.", bombs={(7, 7): Bomb(owner=1)}, config=SMALL)  # the dead lie in the last cell
    flags = playing.in_portions(compiled(SMALL), state, playing.ROWS)
    assert np.asarray(flags)[:, 0, 2:].tolist() == [[False, False]] * 2


# --- a search cell by cell -----------------------------------------------------------------------------------------------


def blast(board, cell, strength):
    """The cells that a bomb reaches; walls are 1 and 2 on the board."""
    size, reached = len(board), {cell}
    for rows, columns in ((-1, 0), (1, 0), (0, -1), (0, 1)):
        for far in range(1, strength):
            row, column = cell[0] + far * rows, cell[1] + far * columns
            if not (0 <= row < size and 0 <= column < size) or board[row, column] == 1:
                break
            reached.add((row, column))
            if board[row, column] == 2:
                break
    return reached


def way_out(board, start, barred, steps=escape.STEPS):
    """The cells that one comes to."""
    reached = {start}
    for _ in range(steps):
        beside = {(row + dr, column + dc) for row, column in reached for dr, dc in ((-1, 0), (1, 0), (0, -1), (0, 1))}
        on_board = {cell for cell in beside if min(cell) >= 0 and max(cell) < len(board)}
        reached |= {cell for cell in on_board - barred if not board[cell]}
    return reached


def scattered(states, config):
    """All bombers close together somewhere, with bombs of any strength."""
    rng, grid = np.random.default_rng(8), config.grid
    is_wall = grid.to_numpy(states.rigid) | grid.to_numpy(states.wood)
    where = np.stack(np.divmod(np.arange(grid.num_cells), grid.columns), -1)
    centre = where[rng.integers(0, grid.num_cells, len(is_wall))]
    far = abs(where - centre[:, None]).sum(-1) + 3 * rng.random(is_wall.shape)
    cells = np.where(is_wall, 99, far).argsort(-1)[:, rng.permutation(4)].astype(np.int8)
    strength, alive = rng.integers(2, config.max_blast_strength + 1, cells.shape, np.int8), rng.random(cells.shape) < 0.8
    changed = (
        dataclasses.replace(bomber, cell=cells[:, seat], blast_strength=strength[:, seat], alive=alive[:, seat])
        for seat, bomber in enumerate(states.bombers)
    )
    return dataclasses.replace(states, bombers=tuple(changed))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["ffa", "team"])
def test_random_games_agree_with_a_search_cell_by_cell(mode):
    config = FFA if mode == "ffa" else TEAM
    games = playing.random_games(mode, playing.ROWS, 60, 3)
    states = scattered(jax.tree.map(lambda leaf: leaf[20::20].reshape(-1, *leaf.shape[2:]), games), config)
    found = np.stack(playing.in_portions(compiled(config), states, playing.ROWS), -1)
    arrays, grid = to_arrays(config, states), config.grid
    boards = grid.to_numpy(states.rigid) + 2 * grid.to_numpy(states.wood)
    counts = {DOOMED: 0, THREATENED: 0}
    for number, board in enumerate(boards.reshape(-1, grid.rows, grid.columns)):
        men, bombs = arrays["s_agents"][number].tolist(), arrays["s_bombs"][number][: arrays["s_nbombs"][number]].tolist()
        lying = {(row, column): strength for row, column, _, _, strength, _ in bombs}
        now = set().union(*(blast(board, cell, strength) for cell, strength in lying.items()))
        for seat, (row, column, alive, *_) in enumerate(men):
            enemies = {tuple(men[enemy][:2]): men[enemy] for enemy in config.enemies_of(seat) if men[enemy][2]}
            safe = way_out(board, (row, column), {*lying, *enemies}) - now
            then = set().union(*(blast(board, cell, man[4]) for cell, man in enemies.items() if man[3] > 0))
            doomed = bool(alive) and not safe
            threatened = bool(alive) and bool(safe) and not safe - then
            assert found[number, seat].tolist() == [doomed, threatened]
            counts[DOOMED] += doomed
            counts[THREATENED] += threatened
    assert min(counts.values()) > 10, counts
