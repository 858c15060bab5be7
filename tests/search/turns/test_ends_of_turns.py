"""Turns that are ended once, after their actions, are those that are played action by action, with the same cards drawn."""

import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import random_bits
from jaxgames.hero_academy import make
from jaxgames.packing import packing_of
from search.turns import mcts, tree, variation
from search.turns.game import finish_turn, moves_of
from tests.hoard import Hoard

GAME = make("tiny", draws="random", end_turn_early=True)
MOVES = moves_of(GAME)
BATCH = 64
PACKING = packing_of(jax.eval_shape(GAME.init, jax.random.key(0)))


def fold(lanes, number):
    return random_bits.fold(lanes, jnp.int32(number))


@functools.cache
def roots():
    """Keys, and states after 0 to 15 random actions, games that are over among them."""

    def one(key, count):
        def step(number, state):
            lane = random_bits.fold(random_bits.lane_key(key), number)
            legal = MOVES.legal(state)
            action = legal.pick(random_bits.below(random_bits.bits(lane, 0), legal.count()))
            return GAME.step(state, jnp.full(2, action), jax.random.fold_in(key, number))

        return random_bits.lane_key(key), jax.lax.fori_loop(0, count, step, GAME.init(key))

    counts = np.arange(BATCH) % 16
    lanes, states = jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(4), BATCH), counts)
    over = states.terminated | (np.arange(BATCH) % 13 == 5)
    return jax.device_get((lanes, type(states)(**{**vars(states), "terminated": over})))


@functools.cache
def stepped():
    """One action in all lanes, as the rules have it, where the seats are still to move."""

    @jax.jit
    def step(states, movers, actions, lanes):
        going = ~states.terminated & (jax.vmap(GAME.to_play)(states) == movers) & (actions >= 0)
        after = jax.vmap(MOVES.advance)(states, actions, lanes)
        return going, jax.tree.map(lambda a, b: jnp.where(going.reshape(-1, *[1] * (a.ndim - 1)), a, b), after, states)

    return step


@pytest.mark.slow  # to compile
def test_rollouts_to_the_end_of_a_turn():
    lanes, states = roots()
    movers = jax.vmap(GAME.to_play)(states)
    found = jax.jit(lambda lanes, states: finish_turn(GAME, MOVES, 0.5, lanes, states))(lanes, states)
    choose = jax.jit(jax.vmap(lambda state, lane: MOVES.rollout_action(state, lane, 0.5)))
    ended = set()
    for number in range(MOVES.turn_length):
        actions = choose(states, fold(lanes, number))
        going, states = stepped()(states, movers, actions, fold(fold(lanes, number), 0))
        ended |= {number} if (np.asarray(actions == MOVES.end_turn) & np.asarray(going)).any() else set()
    chex.assert_trees_all_equal(found, states)
    assert len(ended) >= 2, "turns ended at several places"


def test_genomes():
    lanes, states = roots()
    seats = np.asarray(jax.vmap(GAME.to_play)(states)) ^ (np.arange(BATCH) % 11 == 3)  # some are not to move
    rng = np.random.default_rng(6)
    genomes = rng.integers(0, MOVES.end_turn + 1, (BATCH, MOVES.turn_length)).astype(np.int32)
    some = np.arange(0, BATCH, 3)  # most genes are illegal; some end the turn, and some genomes are short
    genomes[some, rng.integers(0, MOVES.turn_length, len(some))] = MOVES.end_turn
    genomes[1::3, 1:] = -1

    def noted(lanes, states, seats):
        return {"value": jnp.zeros(len(seats)), "end": jax.vmap(PACKING.pack)(states)}

    played, notes = jax.jit(lambda *given: variation.replay(GAME, MOVES, noted, *given))(lanes, states, seats, genomes)
    lengths = (np.asarray(played) >= 0).sum(1)
    for number in range(MOVES.turn_length):
        _, states = stepped()(states, seats, played[:, number], fold(lanes, variation._CHANCE + number))
    np.testing.assert_array_equal(notes["end"], jax.vmap(PACKING.pack)(states))
    assert {0, 1, MOVES.turn_length} <= set(lengths.tolist())


def test_an_edge_holds_the_largest_numbers():
    child, action = np.array([0, 5, tree.MOST_NODES - 1]), np.array([0, tree.MOST_ACTIONS - 1, tree.MOST_ACTIONS - 1])
    links = tree.link_to(jnp.asarray(child, jnp.int32), jnp.asarray(action, jnp.int32))
    np.testing.assert_array_equal(tree.child_of(links), child)
    np.testing.assert_array_equal(tree.action_of(links), action)


def test_games_of_too_many_actions():
    game = Hoard(things=2048)
    with pytest.raises(ValueError, match="has 2049 actions, a tree over turns holds 2048 at most"):
        mcts.tree_search(game, moves_of(game), mcts.Settings())
