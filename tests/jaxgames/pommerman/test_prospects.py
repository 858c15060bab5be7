"""What undecided positions promise, and whose next action is most dangerous, in hand-made positions."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.pommerman.game import Pommerman
from jaxgames.pommerman.prospects import Weights, prospects
from search.rivals import most_dangerous
from tests.jaxgames.pommerman.positions import FFA, SMALL, SMALL_TEAM, Bomb, Man, position

WEIGHTS = Weights()


@functools.cache
def compiled(config):
    return jax.jit(jax.vmap(functools.partial(prospects, config)))


def value(drawing, config=SMALL, **details):
    """Of seat 0."""
    return float(compiled(config)(position(drawing, config=config, **details))[0, 0])


FOUR = "0.... ..... ....1 ..... 2...3"
CORNERED = (WEIGHTS.enemy_doomed + WEIGHTS.in_line) / 3


def test_what_is_settled_counts_as_in_the_published_value():
    assert np.asarray(compiled(SMALL)(position("0", config=SMALL)))[0].tolist() == [1, -1, -1, -1]
    found = np.asarray(compiled(SMALL)(position("0.1", config=SMALL)))[0]
    assert (np.abs(found[:2]) < 1).all() and found[2:].tolist() == [-1, -1]


@pytest.mark.parametrize(("better", "worse", "difference"), [
    ((FOUR.replace("3", "."), {}), (FOUR, {}), WEIGHTS.kills / 3),
    ((FOUR, {"m0": Man(ammo=4, strength=6, kick=True)}), (FOUR, {}), WEIGHTS.gear),
    ((FOUR, {}), (FOUR[:1] + "+" + FOUR[2:], {}), WEIGHTS.wood / SMALL.num_wood),
    (("0.1 ... ... ... ..2", {}), ("0..1 ... ... ... ..2", {}), WEIGHTS.near / 16),
    (("0.1", {}), ("0..1", {}), (WEIGHTS.near + WEIGHTS.duel) / 16),
    ((".0# ### 1", {}), (".0# ### 1", {"bombs": {(0, 0): Bomb(owner=1)}}), WEIGHTS.doomed + WEIGHTS.in_line),
    ((".1# ### 0", {"bombs": {(0, 0): Bomb()}, "m0": Man(ammo=0)}), (".1# ### 0", {}), CORNERED),
    (("++ 0+ 1.", {"m1": Man(ammo=0)}), ("++ 0+ 1.", {}), WEIGHTS.threatened),
    (("++ 1+ 0.", {}), ("++ 1+ 0.", {"m0": Man(ammo=0)}), WEIGHTS.enemy_threatened / 3),
    ((FOUR, {}), (FOUR, {"bombs": {(1, 0): Bomb(owner=1)}, "m1": Man(ammo=0)}), WEIGHTS.in_line),
    ((FOUR, {"bombs": {(1, 4): Bomb(owner=0)}, "m0": Man(ammo=0)}), (FOUR, {}), WEIGHTS.in_line / 3),
    ((FOUR, {"m0": Man(ammo=0), "bombs": {(6, 7): Bomb(owner=0)}}), (FOUR, {}), 0),  # laying a bomb costs no gear
])  # fmt: skip
def test_what_is_better_and_by_how_much(better, worse, difference):
    (one, first), (other, second) = better, worse
    assert value(one, **first) - value(other, **second) == pytest.approx(difference, abs=1e-5)


def test_a_hopeless_position_is_better_than_death():
    worst = value("0# #. .. 1+ +2 3+", bombs={(7, 0): Bomb(), (0, 7): Bomb(), (0, 0): Bomb()}, m0=Man(ammo=0))
    assert -1 < worst < -0.9


@pytest.mark.slow
def test_a_teammate_is_no_enemy():
    assert value("0.2 ... ..1", SMALL_TEAM) == pytest.approx(value("0.. ..2 ..1", SMALL_TEAM))
    assert value("0.. ... 2.1", SMALL_TEAM) < value("0.. ... ..1", SMALL_TEAM, m1=Man()) + WEIGHTS.kills


@pytest.mark.slow
def test_the_most_dangerous_enemy_is_who_can_cost_most():
    game = Pommerman(FFA)
    find = jax.jit(jax.vmap(most_dangerous(game), (0, None)))

    def found(drawing, **details):
        return int(find(position(drawing, **details), jnp.int32(0))[0])

    # Who can lay a bomb in line, although an unarmed one is nearer; of those who cannot, the closest.
    assert found("0.1 ... .3. ..2", m1=Man(ammo=0), m2=Man(ammo=0), m3=Man(ammo=0)) == 1
    assert found("0.. .1. ... 3.2", m1=Man(ammo=0), m2=Man(ammo=0), m3=Man(strength=5)) == 3
    assert found("0") == -1
