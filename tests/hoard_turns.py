"""All turns of the game of things gone through by plain Python: what planners of turns are held against."""

import functools
import itertools

import jax
import numpy as np

from jaxgames import random_bits
from search.turns.game import moves_of
from search.turns.planner import TurnPlan
from tests.hoard import PAIR, Hoard

GAME = Hoard()
MOVES = moves_of(GAME)
LANES = 8
SEATS = np.zeros(LANES, np.int32)
ONES = np.ones(LANES, bool)
ADVANCE = jax.jit(jax.vmap(lambda state, action: GAME.advance(state, action, None)))


@functools.cache
def roots():
    return jax.device_get(jax.jit(jax.vmap(GAME.init))(jax.random.split(jax.random.key(2), LANES)))


@functools.cache
def all_worths():
    return roots().worths.tolist()


@functools.cache
def lanes():
    return jax.device_get(jax.jit(jax.vmap(random_bits.lane_key))(jax.random.split(jax.random.key(0), LANES)))


def worth(worths, mine, theirs):
    """The heuristic for whoever has the things `mine`, in whole hundredths."""
    pairs = [sum({2 * k, 2 * k + 1} <= set(some) for k in range(len(worths) // 2)) for some in (mine, theirs)]
    return sum(worths[i] for i in mine) - sum(worths[i] for i in theirs) + PAIR * (pairs[0] - pairs[1])


def turns_of(free):
    return list(itertools.combinations(sorted(free), min(GAME.points, len(free))))


def best_values():
    """The most that a turn can be worth, in each root."""
    return np.array([max(worth(w, t, ()) for t in turns_of(range(8))) for w in all_worths()]) / 100


def taken(turn: TurnPlan):
    """The things that each plan takes; it has to be legal, and to end with the end of the turn."""
    states, result = roots(), [[] for _ in range(LANES)]
    for place in range(MOVES.turn_length):
        for lane, action in enumerate(np.asarray(turn.actions)[:, place].tolist()):
            if action in range(8):
                assert action not in result[lane]
                result[lane].append(action)
        states = ADVANCE(states, np.where(turn.actions[:, place] < 0, GAME.end_turn, turn.actions[:, place]))
    assert (np.asarray(states.player) == 1).all()
    assert all(len(things) == GAME.points for things in result)
    return result
