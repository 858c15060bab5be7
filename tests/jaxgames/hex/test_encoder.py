"""The encoder of Hex: one direction for both players, and the half turn that leaves the game as it is."""

import dataclasses
import functools

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames.hex import Hex, HexConfig, interop
from jaxgames.hex.encoder import ENCODERS
from tests.jaxgames.hex.playing import at, play, random_tries

GAME = Hex(HexConfig(4, "abrupt"))
ENCODER = ENCODERS["alphaze"](GAME)
SEATS = (0, 1)


@pytest.fixture(scope="module")
def games():
    cells = random_tries(4, 8, 0)[:, :14]
    return replay_cells(cells), cells


@jax.jit
def planes_of(states, seat):
    return jax.vmap(jax.vmap(lambda state: ENCODER.planes(ENCODER.view(state, seat))))(states)


@jax.jit
def turned_planes(planes, which):
    turn = jax.vmap(jax.vmap(ENCODER.transform_planes, (0, None)), (0, None))
    return turn(planes, which)


actions_of, outputs_of = jax.jit(ENCODER.actions), jax.jit(ENCODER.outputs)


def test_outputs_and_actions_are_inverse():
    outputs, actions = np.arange(ENCODER.num_outputs), np.arange(-2, GAME.num_actions + 3)
    for seat in SEATS:
        assert np.array_equal(outputs_of(actions_of(outputs, seat), seat), outputs)
        numbered = np.asarray(outputs_of(actions, seat))
        cells = (actions >= 0) & (actions < 16)
        assert np.array_equal(numbered >= 0, cells) and sorted(numbered[cells]) == list(range(16))
        assert np.array_equal(actions_of(numbered, seat), np.where(cells, actions, GAME.pass_action))
    assert numbered[2 + 1] == 4, "the second player's rows are columns"


@pytest.mark.parametrize("seat", SEATS)
def test_half_a_turn_of_the_board_is_half_a_turn_of_planes_and_outputs(seat, games):
    states, cells = games
    turned = replay_cells(15 - cells)
    expected = np.asarray(planes_of(turned, seat))
    np.testing.assert_array_equal(turned_planes(planes_of(states, seat), 1), expected)
    np.testing.assert_array_equal(turned_planes(planes_of(states, seat), 0), planes_of(states, seat))
    tried = cells.reshape(-1)
    hot = np.eye(16)[np.asarray(outputs_of(tried, seat))]
    where = np.argmax(jax.jit(jax.vmap(ENCODER.transform_outputs, (0, None)))(hot, 1), -1)
    assert np.array_equal(actions_of(where, seat), 15 - tried)


def replay_cells(cells):
    """Plays cells int [G, T] in as many games; states [G, T + 1]."""
    states = [state for row in cells for state in play(GAME, row)]
    return jax.tree.map(lambda *leaves: np.stack(leaves).reshape(len(cells), -1, *leaves[0].shape), *states)


def test_planes_tell_the_joined_stones_apart():
    game = Hex(HexConfig(3))
    encoder = ENCODERS["alphaze"](game)
    state = interop.from_board(game.config, np.array([1, 0, -1, 0, 1, 0, -1, 0, 0]), 0)
    shown = np.asarray(jax.jit(lambda state: encoder.planes(encoder.view(state, 0)))(state))
    assert shown.shape == encoder.shape == (3, 3, 8) and len(encoder.channels) == 8
    sets = [np.argwhere(shown[..., index]).tolist() for index in range(8)]
    assert sets[:3] == [[[0, 0]], [], [[1, 1]]]  # north, south, neither
    assert sets[4:7] == [[[2, 0]], [[0, 2]], []]  # west, east, neither
    assert len(sets[3]) == 5 and sets[7] == []


@jax.jit
def shown_to(state, seat):
    return ENCODER.planes(ENCODER.view(state, seat))


def test_the_second_player_sees_the_board_turned_over(games):
    """Colours and directions swapped: what one player sees on a board, the other sees on the turned one."""
    states, _ = games
    for lane, time in ((0, 5), (3, 8), (5, 7)):
        state = at(states, lane, time)
        board = interop.board(GAME.config, state).reshape(4, 4)
        other = interop.from_board(GAME.config, -board.T.reshape(-1), 1 - int(state.player))
        here, there = (np.asarray(shown_to(*who)) for who in ((state, 0), (other, 1)))
        assert np.array_equal(here[..., :7], there[..., :7])
        assert not here[..., 7].any() and there[..., 7].all()


def test_legal_outputs_are_the_empty_cells_of_the_view(games):
    states, _ = games
    game, running = jaxgames.make("hex", "hex-4"), ~states.terminated

    @jax.jit
    @functools.partial(jax.vmap, in_axes=(0, None))
    @functools.partial(jax.vmap, in_axes=(0, None))
    def legal_of(state, seat):
        return ENCODER.legal(ENCODER.view(state, seat)), game.legal_actions(GAME.open_state(state))

    for seat in SEATS:
        legal, allowed = jax.device_get(legal_of(states, seat))
        shown = np.asarray(planes_of(states, seat))
        np.testing.assert_array_equal(legal, (shown[..., 3] == 1).reshape(legal.shape) & running[..., None])
        mine = running & (states.player == seat)
        by_action = legal[..., np.asarray(outputs_of(np.arange(16), seat))]
        np.testing.assert_array_equal(by_action[mine], allowed[:, :, seat, :16][mine])


def test_the_view_holds_nothing_that_only_the_dark_game_knows(games):
    """A state with everything found and one with nothing found are shown alike."""
    states, _ = games
    state = at(states, 0, 8)
    other = dataclasses.replace(state, found=state.stones[::-1], attempts=state.attempts + 3)
    for seat in SEATS:
        jax.tree.map(np.testing.assert_array_equal, jax.jit(ENCODER.view)(state, seat), jax.jit(ENCODER.view)(other, seat))
