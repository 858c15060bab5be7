"""Borders: names of cells, boards from outside, planes."""

import dataclasses
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.hex import Hex, HexConfig, information, interop, planes, rules
from tests.jaxgames.hex.playing import at, random_games


def test_names_of_cells():
    config = HexConfig(11)
    assert [interop.cell_name(config, cell) for cell in (0, 1, 11, 120)] == ["a1", "b1", "a2", "k11"]
    assert all(interop.parse_cell(config, interop.cell_name(config, cell)) == cell for cell in range(121))
    for name in ("", "l1", "a0", "a12", "1a", "a-1"):
        with pytest.raises(ValueError, match=r"must be in a1\.\.k11"):
            interop.parse_cell(config, name)


def test_boards_from_outside_are_checked():
    config = HexConfig(3)
    with pytest.raises(ValueError, match="8 cells: a board of 3 x 3 has 9"):
        interop.from_board(config, np.zeros(8, int), 0)
    with pytest.raises(ValueError, match="cell 2 is 7: must be 1, -1 or 0"):
        interop.from_board(config, np.array([0, 0, 7, 0, 0, 0, 0, 0, 0]), 0)
    with pytest.raises(ValueError, match="player=2: must be 0 or 1"):
        interop.from_board(config, np.zeros(9, int), 2)
    with pytest.raises(ValueError, match="player 0 has won"):
        interop.from_board(config, np.array([1, 0, 0, 1, 0, 0, 1, 0, 0]), 0)
    found = (np.eye(1, 9, 4, dtype=bool)[0], np.zeros(9, bool))
    with pytest.raises(ValueError, match="found\\[0\\]: has a cell without a stone"):
        interop.from_board(config, np.zeros(9, int), 0, found)


def test_a_board_goes_out_and_comes_back():
    game = Hex(HexConfig(5))
    states, _, _ = random_games(game, jax.random.split(jax.random.key(0), 4), 8)
    for lane in range(4):
        state = at(states, lane, -1)
        if state.terminated:
            continue
        again = interop.from_board(game.config, interop.board(game.config, state), int(state.player))
        assert np.array_equal(game.state_key(again), game.state_key(jax.tree.map(jnp.asarray, state)))
        assert np.array_equal(interop.joined_codes(game.config, again), interop.joined_codes(game.config, state))


@pytest.mark.parametrize("settings, message", [
    ({"board_size": 1}, "board_size=1: must be in 2..19"),
    ({"board_size": 40}, "board_size=40: must be in 2..19"),
    ({"board_size": "a"}, "board_size='a': must be in 2..19"),
    ({"rules": "dark"}, "rules='dark': must be one of hex, abrupt, classical"),
    ({"swap": True}, "swap=True: no such setting"),
])  # fmt: skip
def test_settings_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        jaxgames.make("hex", "adh", **settings)


def test_planes_tell_the_joined_stones_apart():
    config = HexConfig(3)
    board = np.array([[1, 0, -1], [0, 1, 0], [-1, 0, 0]])
    state = interop.from_board(config, board.reshape(-1), 0)
    shown = np.asarray(planes.planes(config, state, jnp.int32(0)))
    assert shown.shape == (3, 3, planes.NUM_PLANES)
    sets = [np.argwhere(shown[..., index]).tolist() for index in range(8)]
    assert sets[:3] == [[[0, 0]], [], [[1, 1]]]  # north, south, neither
    assert sets[4:7] == [[[2, 0]], [[0, 2]], []]  # west, east, neither
    assert len(sets[3]) == 5 and sets[7] == []


def test_the_second_player_sees_the_board_turned_over():
    # Colours and directions swapped: what one player sees on a board, the other sees on the turned one.
    config = HexConfig(5)
    game = Hex(config)
    states, _, _cells = random_games(game, jax.random.split(jax.random.key(2), 3), 9)
    for lane in range(3):
        state = at(states, lane, 7)
        board = interop.board(config, state).reshape(5, 5)
        mirrored = interop.from_board(config, -board.T.reshape(-1), 1 - int(state.player))
        here = np.asarray(planes.planes(config, jax.tree.map(jnp.asarray, state), jnp.int32(0)))
        there = np.asarray(planes.planes(config, mirrored, jnp.int32(1)))
        assert np.array_equal(here[..., :7], there[..., :7])
        assert not here[..., 7].any() and there[..., 7].all()
    numbers = jnp.arange(25.0)
    assert np.array_equal(planes.turn_cells(config, numbers, jnp.int32(0)), numbers)
    turned = planes.turn_cells(config, numbers, jnp.int32(1))
    assert float(turned[1]) == 5 and np.array_equal(planes.turn_cells(config, turned, jnp.int32(1)), numbers)
    assert rules.init(config).player == 0


def test_attempts_are_checked():
    config = HexConfig(3)
    state = interop.attempt(config, rules.init(config), "b2")
    for cell, message in (("b2", "cell=b2: is taken"), ("d1", "cell='d1': must be in a1..c3"), (9, "cell=9: must be in 0..8")):
        with pytest.raises(ValueError, match=re.escape(message)):
            interop.attempt(config, state, cell)
    for cell in ("a1", "b1", "a2", "b3"):
        state = interop.attempt(config, state, cell)
    with pytest.raises(ValueError, match="cell=c3: the game is over"):
        interop.attempt(config, state, "c3")


def test_a_view_that_no_board_fits():
    config = HexConfig(3, "classical")
    info = information.init(config, jnp.int32(0))
    interop.check_information(config, info)
    # Nine turns of the other, who has joined its edges then wherever the stones are.
    view = dataclasses.replace(info.view, other_turns=jnp.int16(9))
    with pytest.raises(ValueError, match="no board fits: 0 own stones, 0 known ones, 9 turns of the other on 9 cells"):
        interop.check_information(config, dataclasses.replace(info, view=view))
