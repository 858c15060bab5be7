"""Shapes of what games make are traced once per variant."""

from __future__ import annotations

import jax
import pytest

import jaxgames
from jaxgames import shapes
from jaxgames.hex.config import HexConfig
from jaxgames.hex.game import Hex


def test_what_is_remembered_is_what_jax_says():
    game = jaxgames.make("hex", "adh", board_size=3)
    state = jax.eval_shape(game.init, jax.random.key(0))
    seen = jax.eval_shape(game.observe, state, 0)
    assert shapes.state_of(game) == state
    assert shapes.observation_of(game) == seen
    assert shapes.information_of(game) == jax.eval_shape(game.init_information, 0, seen)


def test_equal_games_are_traced_once_and_others_again():
    traced = []

    class Counted(Hex):
        def init(self, key):
            traced.append(self.config.board_size)
            return super().init(key)

    for size in (4, 4, 5, 4):
        shapes.state_of(Counted(HexConfig(board_size=size)))
    assert traced == [4, 5]


def test_a_batch_has_one_axis_more():
    game = jaxgames.make("hex", board_size=3)
    batch, one = shapes.batched(shapes.state_of(game), 7), shapes.state_of(game)
    pairs = zip(jax.tree.leaves(batch), jax.tree.leaves(one), strict=True)
    assert all(many.shape == (7, *single.shape) and many.dtype == single.dtype for many, single in pairs)


def test_mistakes_are_raised_each_time():
    game = jaxgames.make("hex", board_size=3)
    for _ in range(2):
        with pytest.raises(TypeError):
            shapes.shapes_of(game, "observe")
