"""What a search against modelled opponents asks of the game: possible moves and the closest enemy, in hand-made positions."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.pommerman.modelling import closest_enemy, possible_moves
from tests.jaxgames.pommerman.positions import FFA, TEAM, Bomb, Man, position


@functools.cache
def compiled(config):
    def look(state):
        seats = jnp.arange(4)
        return possible_moves(config, state), jax.vmap(lambda seat: closest_enemy(config, state, seat))(seats)

    return jax.jit(jax.vmap(look))


def moves(drawing, **details):
    """What seat 0 may do, as letters: s(top), u, d, l, r, b(omb)."""
    possible, _ = compiled(FFA)(position(drawing, **details))
    return "".join(letter for letter, fine in zip("sudlrb", np.asarray(possible)[0, 0], strict=True) if fine)


@pytest.mark.parametrize(("drawing", "details", "expected"), [
    ("0", {}, "sdrb"),  # not off the board
    ("... .0. ...", {}, "sudlrb"),
    (".#. +01 .b.", {}, "sdb"),  # into a power-up; not into walls or another bomber
    ("... .0. ...", {"bombs": {(0, 1): Bomb()}}, "sdlrb"),  # a bomb is in the way,
    ("... .0. ...", {"bombs": {(0, 1): Bomb()}, "m0": Man(kick=True)}, "sudlrb"),  # but for who can kick it
    ("... .0. ...", {"bombs": {(1, 1): Bomb()}}, "sudlr"),  # two bombs do not lie in one cell
    ("... .0. ...", {"m0": Man(ammo=0)}, "sudlr"),
    ("... .0. ...", {"flames": {(0, 1): {2}, (1, 0): {1}, (1, 2): {0}}}, "sdrb"),  # only flames that die now are entered
    ("... .0. ...", {"bombs": {(0, 4): Bomb(life=1, strength=9)}}, "sudlrb"),  # nobody looks ahead
])  # fmt: skip
def test_possible_moves(drawing, details, expected):
    assert moves(drawing, **details) == expected


def test_the_dead_may_only_stop():
    possible, _ = compiled(FFA)(position("0.1"))
    assert np.asarray(possible)[0, 3].tolist() == [True, False, False, False, False, False]


@pytest.mark.parametrize(("drawing", "config", "expected"), [
    ("0.1 ... 2.3", FFA, [1, 0, 0, 1]),  # of equals the lowest seat
    ("0... .... ...1 ..23", FFA, [1, 3, 3, 1]),
    ("0.2 ... 3.1", TEAM, [3, 2, 1, 0]),  # a teammate is none
    ("0", FFA, [-1, 0, 0, 0]),
])  # fmt: skip
def test_the_closest_enemy_is_the_nearest_living_one(drawing, config, expected):
    _, found = compiled(config)(position(drawing, config=config))
    alive = [str(seat) in drawing for seat in range(4)]
    assert [seat for seat, lives in zip(np.asarray(found)[0].tolist(), alive, strict=True) if lives] == [
        seat for seat, lives in zip(expected, alive, strict=True) if lives
    ]
