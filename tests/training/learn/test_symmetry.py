"""The eight symmetries: a turned board is played by turned moves, in the real game."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.pommerman import interop, planes
from jaxgames.pommerman.replay import observe_batch, step_batch
from tests.jaxgames.pommerman import recordings
from training.learn import symmetry

COUNT = 60
STEP = {1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}


def turned_square(board, which):
    """Turns the last two axes: by quarters of a turn against the clock, from the fifth on after mirroring on the diagonal."""
    board = np.swapaxes(board, -1, -2) if which >= 4 else board
    return np.rot90(board, which % 4, axes=(-2, -1))


def turned_cell(row, column, which, size=11):
    """Where a cell goes; both may be arrays."""
    if which >= 4:
        row, column = column, row
    for _ in range(which % 4):
        row, column = size - 1 - column, row
    return row, column


def turned_move(which):
    """int [6]: what each move becomes."""
    result = [0, 0, 0, 0, 0, 5]
    for move, (row, column) in STEP.items():
        centre, after = turned_cell(5, 5, which), turned_cell(5 + row, 5 + column, which)
        delta = (after[0] - centre[0], after[1] - centre[1])
        result[move] = next(other for other, step in STEP.items() if step == delta)
    return np.array(result)


def turned_arrays(arrays, which):
    """A whole state, turned."""
    result = {name: turned_square(arrays[name], which) for name in ("s_board", "s_items", "s_flames")}
    bombs, agents = arrays["s_bombs"].astype(int), arrays["s_agents"].astype(int)
    listed = np.arange(bombs.shape[1]) < arrays["s_nbombs"][:, None]
    row, column = turned_cell(bombs[..., 0], bombs[..., 1], which)
    turned = np.stack([row, column, bombs[..., 2], bombs[..., 3], bombs[..., 4], turned_move(which)[bombs[..., 5]]], axis=-1)
    agents[..., :2] = np.stack(turned_cell(agents[..., 0], agents[..., 1], which), axis=-1)
    result |= {"s_bombs": np.where(listed[..., None], turned, -1).astype(np.int8), "s_agents": agents.astype(np.int8)}
    return {**arrays, **result}


@pytest.fixture(scope="module")
def game():
    """Recorded states with kicks and rolling bombs: the variant, its planes and the moves known to be legal, and the states."""
    config, arrays, state = recordings.states("ffa_kick", COUNT)
    return config, planes.extended(config), arrays, state


@pytest.fixture(scope="module")
def look(game):
    """`look(state, seat) -> float32 [S, H, W, C]`, the planes of a batch of states."""
    config, shown, _, _ = game
    compute = jax.jit(jax.vmap(shown.compute))
    return lambda state, seat: np.asarray(compute(observe_batch(config, state, seat)))


turn = jax.jit(symmetry.turn, static_argnums=3)


@pytest.mark.parametrize("which", range(8))
def test_planes_of_a_turned_position(which, game, look):
    """All planes, those that belong to directions included."""
    config, shown, arrays, state = game
    turned = interop.from_arrays(config, turned_arrays(arrays, which))
    for seat in (0, 3):
        got, _ = turn(look(state, seat), np.zeros((COUNT, 6)), which, shown.first_direction)
        np.testing.assert_array_equal(got, look(turned, seat))
    directions = look(state, 0)[..., shown.first_direction : shown.first_direction + 4]
    assert (directions.sum((0, 1, 2)) > 0).all()


@pytest.mark.parametrize("which", range(8))
def test_moves_and_turning_commute(which, game, look):
    """Turning a position and its target, and playing the target's move, leads to the turned result of the move."""
    config, shown, _, state = game
    moves = np.random.default_rng(0).integers(0, 6, (COUNT, 4)).astype(np.int32)
    after = step_batch(config, state, moves)
    arrays = interop.to_arrays(config, state)
    turned_state = interop.from_arrays(config, turned_arrays(arrays, which))
    turned_moves = np.zeros_like(moves)
    for seat in range(4):
        _, target = turn(look(state, seat), np.eye(6, dtype=np.float32)[moves[:, seat]], which, shown.first_direction)
        np.testing.assert_array_equal(np.sort(target, axis=-1)[:, -1], 1)
        turned_moves[:, seat] = np.argmax(target, axis=-1)
    turned_after = step_batch(config, turned_state, turned_moves)
    for seat in range(4):
        got, _ = turn(look(after, seat), np.zeros((COUNT, 6)), which, shown.first_direction)
        np.testing.assert_array_equal(got, look(turned_after, seat))
    np.testing.assert_array_equal(turned_moves, turned_move(which)[moves])


def test_eight_different_symmetries_and_the_identity_first():
    cells, directions = symmetry.cell_order(11), symmetry.direction_order()
    assert cells.shape == (8, 121) and cells.dtype == np.int32 and directions.shape == (8, 4)
    assert len({tuple(order) for order in cells.tolist()}) == 8 == len({tuple(order) for order in directions.tolist()})
    assert cells[0].tolist() == list(range(121)) and directions[0].tolist() == [0, 1, 2, 3]
    assert all(sorted(order) == list(range(121)) for order in cells.tolist())
    # They are a group: one after another is one of them.
    group = {tuple(order) for order in cells.tolist()}
    assert {tuple(one[other].tolist()) for one in cells for other in cells} == group


@pytest.mark.parametrize("size", [8, 11])
def test_the_identity_changes_nothing(size):
    key = jax.random.key(0)
    board, targets = jax.random.uniform(key, (5, size, size, 7)), jax.random.uniform(key, (5, 6))
    for first in (None, 2):
        turned = turn(board, targets, 0, first)
        jax.tree.map(np.testing.assert_array_equal, turned, (board, targets))


@pytest.mark.parametrize("which", range(1, 8))
def test_planes_without_directions_keep_their_order(which):
    board = jax.random.uniform(jax.random.key(1), (4, 8, 8, 6))
    expected = np.moveaxis(turned_square(np.moveaxis(np.asarray(board), -1, 1), which), 1, -1)
    turned, targets = turn(board, jnp.tile(jnp.arange(6.0), (4, 1)), which, None)
    np.testing.assert_array_equal(turned, expected)
    np.testing.assert_array_equal(np.asarray(targets)[:, turned_move(which)], np.tile(np.arange(6.0), (4, 1)))
    assert (np.asarray(targets)[:, [0, 5]] == [0, 5]).all(), "stopping and laying bombs have no direction"
    last, _ = turn(board, jnp.zeros((4, 6)), which, 2)
    np.testing.assert_array_equal(np.asarray(last)[..., :2], expected[..., :2])
