"""Borders: names of cells, boards from outside."""

import dataclasses
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.hex import Hex, HexConfig, hidden, interop, setup
from tests.jaxgames.hex.playing import play


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
    with pytest.raises(ValueError, match=r"cell 2 is 0\.5: must be 1, -1 or 0"):
        interop.from_board(config, np.array([0, 0, 0.5, 0, 0, 0, 0, 0, 0]), 0)
    with pytest.raises(ValueError, match="player=2: must be 0 or 1"):
        interop.from_board(config, np.zeros(9, int), 2)
    with pytest.raises(ValueError, match="player 0 has won"):
        interop.from_board(config, np.array([1, 0, 0, 1, 0, 0, 1, 0, 0]), 0)
    found = (np.eye(1, 9, 4, dtype=bool)[0], np.zeros(9, bool))
    with pytest.raises(ValueError, match="found\\[0\\]: has a cell without a stone"):
        interop.from_board(HexConfig(3, "abrupt"), np.zeros(9, int), 0, found)
    with pytest.raises(ValueError, match="found: must be None in Hex"):
        interop.from_board(config, np.zeros(9, int), 0, found)
    for wrong, sizes in (((*found, found[0]), r"\[9, 9, 9\]"), ((found[0], found[1][:8]), r"\[9, 8\]"), (found[:1], r"\[9\]")):
        with pytest.raises(ValueError, match=f"found: arrays of {sizes} cells: must be two, of 9 each"):
            interop.from_board(HexConfig(3, "abrupt"), np.zeros(9, int), 0, wrong)
    for player in (2, -1):
        with pytest.raises(ValueError, match=f"player={player}: must be in 0..1"):
            interop.view_codes(config, setup.init(config), player)


def test_a_board_goes_out_and_comes_back():
    game = Hex(HexConfig(5))
    for seed in range(4):
        state = play(game, np.random.default_rng(seed).permutation(25)[:8])[-1]
        assert not state.terminated
        again = interop.from_board(game.config, interop.board(game.config, state), int(state.player))
        assert np.array_equal(game.state_key(again), game.state_key(jax.tree.map(jnp.asarray, state)))
        assert np.array_equal(interop.joined_codes(game.config, again), interop.joined_codes(game.config, state))


@pytest.mark.parametrize("settings, message", [
    ({"board_size": 1}, "board_size=1: must be in 2..19"),
    ({"board_size": 40}, "board_size=40: must be in 2..19"),
    ({"board_size": "a"}, "board_size='a': must be an integer in 2..19"),
    ({"board_size": 3.0}, "board_size=3.0: must be an integer in 2..19"),
    ({"board_size": None}, "board_size=None: must be an integer in 2..19"),
    ({"rules": "dark"}, "rules='dark': must be one of hex, abrupt, classical"),
    ({"swap": True}, "swap=True: no such setting"),
])  # fmt: skip
def test_settings_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        jaxgames.make("hex", "adh", **settings)


def test_attempts_are_checked():
    config = HexConfig(3)
    state = interop.attempt(config, setup.init(config), "b2")
    for cell, message in (
        ("b2", "cell=b2: is taken"),
        ("d1", "cell='d1': must be in a1..c3"),
        (9, "cell=9: must be"),
        (-1, "cell=-1: must be"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            interop.attempt(config, state, cell)
    for cell in (1.7, 2.0, None, [3], np.float32(2)):
        with pytest.raises(ValueError, match=re.escape(f"cell={cell!r}: must be an integer in 0..8, or a name")):
            interop.attempt(config, state, cell)
    for cell in (0, np.int8(1), jnp.int32(3), "b3"):
        state = interop.attempt(config, state, cell)
    with pytest.raises(ValueError, match="cell=c3: the game is over"):
        interop.attempt(config, state, "c3")


draw_many = jax.jit(lambda config, keys, info: jax.vmap(lambda key: hidden.sample(config, key, info))(keys), static_argnums=0)


def known(config, *, own=(), other=(), turns=None, player=0):
    """What a player knows that has these stones, knows these, and has counted so many turns of the other."""
    info, grid = hidden.init_information(config, jnp.int32(player)), config.grid
    mine, theirs = (jax.tree.map(jnp.asarray, grid.constant(list(cells))) for cells in (own, other))
    turns = jnp.int16(len(other) if turns is None else turns)
    view = dataclasses.replace(info.view, own=mine, known=theirs, own_turns=jnp.int16(len(own)), other_turns=turns)
    return dataclasses.replace(info, view=view)


def fits(config, info):
    """Whether some board that is drawn fits."""
    return bool(draw_many(config, jax.random.split(jax.random.key(0), 64), info).fits.any())


@pytest.mark.parametrize("rules_name", ["hex", "abrupt", pytest.param("classical", marks=pytest.mark.slow)])
@pytest.mark.parametrize("player", [0, 1])
def test_views_that_boards_fit_are_accepted(rules_name, player):
    config = HexConfig(3, rules_name)
    for view in ({}, {"own": [4], "other": [5]}, {"own": [0, 8], "other": [2, 6]}):
        assert fits(config, known(config, **view, player=player))
    if config.is_dark:
        assert fits(config, known(config, own=[4, 8], turns=2, player=player))


@pytest.mark.parametrize("settings, view", [
    # Nine turns of the other, who has joined its edges then wherever the stones are.
    pytest.param(("classical",), {"turns": 9}, marks=pytest.mark.slow),
    pytest.param(("classical",), {"other": [0, 1, 8], "turns": 1}, marks=pytest.mark.slow),
    (("abrupt",), {"other": [0, 1, 8], "turns": 1}),
    pytest.param(("abrupt", "fork"), {"other": [0, 1, 8], "turns": 1}, marks=pytest.mark.slow),
    (("hex",), {"other": [1], "turns": 7}),
    (("hex",), {"other": [1, 5], "turns": 1}),
    *[pytest.param((rules_name,), view, marks=[pytest.mark.slow] * (rules_name == "classical"))
      for rules_name in ("hex", "abrupt", "classical") for view in (
        {"own": [1, 4, 7], "other": [0, 2, 8]},  # the own stones have won
        {"own": [3, 4, 5], "other": [0, 2, 8], "player": 1},
        {"own": [0, 1], "other": [3, 4, 5]},  # those of the other have
        {"own": [0, 4], "other": [4]},  # two stones on a cell
    )],
])  # fmt: skip
def test_views_that_no_board_fits_are_told(settings, view):
    config = HexConfig(3, *settings[:1], **({"count_rule": settings[1]} if len(settings) > 1 else {}))
    assert not fits(config, known(config, **view))


@pytest.mark.parametrize("rules_name, turns, stones", [
    pytest.param("classical", [1, 1], {1}, marks=pytest.mark.slow),
    ("abrupt", [1, 2], {1, 2}),
])  # fmt: skip
def test_a_board_with_failed_attempts_is_seen_and_drawn_as_it_was_made(rules_name, turns, stones):
    # White has one stone and has run into black's, which has ended a turn in abrupt DarkHex alone.
    game = Hex(HexConfig(3, rules_name))
    hit = np.arange(9) == 4
    state = interop.from_board(game.config, np.array([0, 0, 0, 0, 1, 0, 0, 0, -1]), 0, (np.zeros(9, bool), hit))
    assert [int(number) for number in state.turns] == turns and int(state.attempts) == 3
    infos = [dataclasses.replace(game.init_information(seat), view=game.observe(state, seat)) for seat in (0, 1)]
    if rules_name == "abrupt":  # black cannot know which of white's turns has failed
        infos[0] = dataclasses.replace(infos[0], collisions=jnp.zeros(10).at[:2].set(0.5))
    for info in infos:
        assert fits(game.config, info)
    keys = jax.random.split(jax.random.key(0), 64)
    black, white = (draw_many(game.config, keys, info) for info in infos)
    assert set(np.asarray(black.state.stones[1].count()).tolist()) == stones
    assert np.array_equal(interop.board(game.config, white.state), np.tile(interop.board(game.config, state), (64, 1)))
    for worlds in (black, white):
        assert np.asarray(worlds.fits).all()
        assert (np.stack(worlds.state.turns, -1) == turns).all()


def test_a_board_that_is_opened_is_one_of_hex():
    game = Hex(HexConfig(3, "abrupt"))
    found = (np.zeros(9, bool), np.arange(9) == 4)
    state = game.open_state(interop.from_board(game.config, np.array([0, 0, 0, 0, 1, 0, 0, 0, -1]), 0, found))
    for seat in (0, 1):
        info = dataclasses.replace(game.open_game.init_information(seat), view=game.open_game.observe(state, seat))
        assert fits(game.open_game.config, info)
