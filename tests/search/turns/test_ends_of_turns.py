"""Turns that are ended once, after their actions, are those that are played action by action, with the same cards drawn."""

import dataclasses
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

BATCH = 64


class Dealt(Hoard):
    """What the things are worth is drawn anew with each end of a turn."""

    def advance(self, state, action, key):
        drawn = jax.random.randint(key, (self.things,), 1, 10)
        after = super().advance(state, action, key)
        again = (action == self.end_turn) & ~state.terminated
        return dataclasses.replace(after, worths=jnp.where(again, drawn, after.worths))

    def act(self, state, action):
        return super().advance(state, action, None)

    def step(self, state, actions, key):
        return self.advance(state, actions[state.player], key)


GAMES = pytest.mark.parametrize("game", [
    Dealt(ends_early=True),
    pytest.param(make("tiny", draws="random", end_turn_early=True), marks=pytest.mark.slow),
], ids=["hoard", "hero academy"])  # fmt: skip


def fold(lanes, number):
    return random_bits.fold(lanes, jnp.int32(number))


@functools.cache
def roots(game):
    """Keys, states after 0 to 15 random actions, games that are over among them, and who is to move."""
    moves = moves_of(game)

    def one(key, count):
        def step(number, state):
            lane = random_bits.fold(random_bits.lane_key(key), number)
            legal = moves.legal(state)
            action = legal.pick(random_bits.below(random_bits.bits(lane, 0), legal.count()))
            return game.step(state, jnp.full(2, action), jax.random.fold_in(key, number))

        state = jax.lax.fori_loop(0, count, step, game.init(key))
        return random_bits.lane_key(key), state, game.to_play(state)

    counts = np.arange(BATCH) % 16
    lanes, states, movers = jax.device_get(jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(4), BATCH), counts))
    over = states.terminated | (np.arange(BATCH) % 13 == 5)
    return lanes, dataclasses.replace(states, terminated=over), movers


@functools.cache
def stepped(game):
    """One action in all lanes, as the rules have it, where the seats are still to move; chance by a child of their keys."""
    moves = moves_of(game)

    @jax.jit
    def step(states, movers, actions, lanes, number):
        going = ~states.terminated & (jax.vmap(game.to_play)(states) == movers) & (actions >= 0)
        after = jax.vmap(moves.advance)(states, actions, fold(lanes, number))
        return going, jax.tree.map(lambda a, b: jnp.where(going.reshape(-1, *[1] * (a.ndim - 1)), a, b), after, states)

    return step


@GAMES
def test_rollouts_to_the_end_of_a_turn(game):
    lanes, states, movers = roots(game)
    moves = moves_of(game)
    found = jax.jit(lambda lanes, states: finish_turn(game, moves, 0.5, lanes, states))(lanes, states)

    @jax.jit
    def choose(states, lanes, number):
        lanes = fold(lanes, number)
        return jax.vmap(lambda state, lane: moves.rollout_action(state, lane, 0.5))(states, lanes), lanes

    ended = set()
    for number in range(moves.turn_length):
        actions, numbered = choose(states, lanes, np.int32(number))
        going, states = stepped(game)(states, movers, actions, numbered, np.int32(0))
        ended |= {number} if (np.asarray(actions == moves.end_turn) & np.asarray(going)).any() else set()
    chex.assert_trees_all_equal(found, states)
    assert len(ended) >= 2, "turns ended at several places"


@GAMES
def test_genomes(game):
    lanes, states, movers = roots(game)
    moves, packing = moves_of(game), packing_of(jax.eval_shape(game.init, jax.random.key(0)))
    seats = movers ^ (np.arange(BATCH) % 11 == 3)  # some are not to move
    rng = np.random.default_rng(6)
    genomes = rng.integers(0, moves.end_turn + 1, (BATCH, moves.turn_length)).astype(np.int32)
    some = np.arange(0, BATCH, 3)  # most genes are illegal; some end the turn, and some genomes are short
    genomes[some, rng.integers(0, moves.turn_length, len(some))] = moves.end_turn
    genomes[1::3, 1:] = -1

    def noted(lanes, states, seats):
        return {"value": jnp.zeros(len(seats)), "end": jax.vmap(packing.pack)(states)}

    played, notes = jax.jit(lambda *given: variation.replay(game, moves, noted, *given))(lanes, states, seats, genomes)
    lengths = (np.asarray(played) >= 0).sum(1)
    for number in range(moves.turn_length):
        _, states = stepped(game)(states, seats, np.asarray(played)[:, number], lanes, np.int32(variation._CHANCE + number))
    np.testing.assert_array_equal(notes["end"], jax.jit(jax.vmap(packing.pack))(states))
    assert {0, 1, moves.turn_length} <= set(lengths.tolist())


def test_an_edge_holds_the_largest_numbers():
    child, action = np.array([0, 5, tree.MOST_NODES - 1]), np.array([0, tree.MOST_ACTIONS - 1, tree.MOST_ACTIONS - 1])
    links = tree.link_to(jnp.asarray(child, jnp.int32), jnp.asarray(action, jnp.int32))
    np.testing.assert_array_equal(tree.child_of(links), child)
    np.testing.assert_array_equal(tree.action_of(links), action)


def test_games_of_too_many_actions():
    game = Hoard(things=2048)
    with pytest.raises(ValueError, match="has 2049 actions, a tree over turns holds 2048 at most"):
        mcts.tree_search(game, moves_of(game), mcts.Settings())
