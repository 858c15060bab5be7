"""Encoders of Pommerman: outputs and actions, and the eight symmetries: a turned board is played by turned moves."""

import functools

import jax
import numpy as np
import pytest

from jaxgames.pommerman import Pommerman, interop, preset
from jaxgames.pommerman.encoder import ENCODERS
from jaxgames.pommerman.replay import step_batch
from jaxgames.symmetries import cell_order, direction_order
from tests.jaxgames.pommerman import recordings
from tests.jaxgames.pommerman.playing import search_arms
from tests.jaxgames.pommerman.positions import position

COUNT = 60
WAYS = ("up", "down", "left", "right")
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


OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in ("extended", "pommerlearn", "pommerlearn_centred")]


@pytest.fixture(scope="module", params=["extended_centred", *OTHERS])
def game(request):
    """Recorded states with kicks and rolling bombs: the variant, an encoder that knows directions, and the states."""
    config, arrays, state = recordings.states("ffa_kick", COUNT)
    return config, ENCODERS[request.param](Pommerman(config)), arrays, state


@pytest.fixture(scope="module")
def look(game):
    """`look(state, seat) -> float32 [S, H, W, C]`, the planes of a batch of states."""
    encoder = game[1]
    compute = jax.jit(jax.vmap(lambda state, seat: encoder.planes(encoder.view(state, seat)), (0, None)))
    return lambda state, seat: np.asarray(compute(state, np.int32(seat)))


@functools.cache
def transformed(encoder):
    """Turned planes and turned outputs of a batch, compiled once."""
    planes = jax.jit(jax.vmap(encoder.transform_planes, (0, None)))
    outputs = jax.jit(jax.vmap(jax.vmap(encoder.transform_outputs, (0, None)), (0, None)))
    return planes, outputs


def turned_planes(encoder, planes, which):
    return np.asarray(transformed(encoder)[0](planes, np.int32(which)))


@pytest.mark.parametrize("which", range(8))
def test_planes_of_a_turned_position(which, game, look):
    """All planes, those that belong to directions included."""
    config, encoder, arrays, state = game
    turned = interop.from_arrays(config, turned_arrays(arrays, which))
    for seat in (0, 3):
        np.testing.assert_array_equal(turned_planes(encoder, look(state, seat), which), look(turned, seat))
    rolling = [place for place, name in enumerate(encoder.channels) if name in {f"bomb {way}" for way in WAYS}]
    assert (np.abs(look(state, 0)[..., rolling]).sum((0, 1, 2)) > 0).all()


@pytest.mark.parametrize(
    "which", [which if which in (1, 4) else pytest.param(which, marks=pytest.mark.slow) for which in range(8)]
)
def test_moves_and_turning_commute(which, game, look):
    """Turning a position and its target, and playing the target's move, leads to the turned result of the move."""
    config, encoder, arrays, state = game
    moves = np.random.default_rng(0).integers(0, 6, (COUNT, 4)).astype(np.int32)
    after = step_batch(config, state, moves)
    turned_state = interop.from_arrays(config, turned_arrays(arrays, which))
    target = np.asarray(transformed(encoder)[1](np.eye(6, dtype=np.float32)[moves], np.int32(which)))
    assert np.array_equal(target.sum(-1), np.ones((COUNT, 4)))
    turned_moves = np.asarray(encoder.actions(target.argmax(-1), 0))
    turned_after = step_batch(config, turned_state, turned_moves)
    for seat in range(4):
        np.testing.assert_array_equal(turned_planes(encoder, look(after, seat), which), look(turned_after, seat))
    np.testing.assert_array_equal(turned_moves, turned_move(which)[moves])


def test_eight_different_symmetries_and_the_identity_first():
    cells, directions = cell_order(11), direction_order()
    assert cells.shape == (8, 121) and cells.dtype == np.int32 and directions.shape == (8, 4)
    assert len({tuple(order) for order in cells.tolist()}) == 8 == len({tuple(order) for order in directions.tolist()})
    assert cells[0].tolist() == list(range(121)) and directions[0].tolist() == [0, 1, 2, 3]
    assert all(sorted(order) == list(range(121)) for order in cells.tolist())
    # They are a group: one after another is one of them.
    group = {tuple(order) for order in cells.tolist()}
    assert {tuple(one[other].tolist()) for one in cells for other in cells} == group


@pytest.mark.parametrize("mode, name", [("ffa", "paper"), ("one_vs_one", "extended"), ("radio", "paper_zero_life")])
def test_the_identity_comes_first_and_planes_without_directions_keep_their_order(mode, name):
    encoder = ENCODERS[name](Pommerman(preset(mode)))
    planes = np.random.default_rng(0).random((1, *encoder.shape), np.float32)
    with_direction = [channel.startswith("bomb ") and channel != "bomb strength" for channel in encoder.channels]
    for which in range(encoder.num_symmetries):
        turned = turned_planes(encoder, planes, which)[0]
        expected = np.moveaxis(turned_square(np.moveaxis(planes[0], -1, 0), which), 0, -1)
        channels = np.ones(len(with_direction), bool) if which == 0 else ~np.array(with_direction)
        np.testing.assert_array_equal(turned[..., channels], expected[..., channels])
        outputs = np.asarray(transformed(encoder)[1](np.arange(6, dtype=np.float32)[None, None], np.int32(which)))[0, 0]
        np.testing.assert_array_equal(outputs[turned_move(which)], np.arange(6), "stop and bomb have no direction")


@pytest.mark.parametrize("mode", ["ffa", "radio"])
def test_outputs_and_actions_are_inverse(mode):
    game = Pommerman(preset(mode))
    encoder = ENCODERS["paper"](game)
    outputs, every = np.arange(-1, encoder.num_outputs + 1), np.arange(-2, game.num_actions + 2)
    arms, legal = search_arms(mode, position("0.1.2.3", config=game.config))

    @jax.jit
    def numbers(arms):
        actions, numbered = encoder.actions(outputs, 0), encoder.outputs(every, 0)
        return actions, encoder.outputs(actions, 0), numbered, encoder.actions(numbered, 0), encoder.outputs(arms, 0)

    actions, again, numbered, back, of_arms = jax.device_get(numbers(arms[0]))
    assert np.array_equal(again[1:-1], outputs[1:-1])
    silent = (every >= 0) & (every < game.num_actions) & (every % (game.num_actions // 6) == 0)
    assert np.array_equal(numbered >= 0, silent), "words have no output"
    assert np.array_equal(back[silent], every[silent])
    assert actions[[0, -1]].tolist() == [game.pass_action] * 2
    assert (of_arms == outputs[1:-1]).all() and legal.shape == arms.shape
