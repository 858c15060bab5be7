"""Planners of whole turns where hands are hidden: they go by what the player to move knows."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import random_bits
from jaxgames.hero_academy import draws, make
from search.turns import mcts as turn_mcts
from search.turns.game import moves_of
from search.turns.planner import TurnPlan, TurnSearch, never, turn_planner

HIDDEN = make("tiny", action_points=2, first_action_points=2, draws="random", hidden_hands=True)
OPEN = HIDDEN.open_game
WORLDS = 8


def some_turns(key):
    """A state at the start of the second player's second turn."""
    lane = random_bits.lane_key(key)

    def step(carry):
        number, state = carry
        action = HIDDEN.rollout_action(state, random_bits.fold(lane, number), 0.5)
        return number + 1, HIDDEN.advance(state, action, jax.random.fold_in(key, number))

    return jax.lax.while_loop(lambda carry: carry[1].turn < 4, step, (jnp.int32(0), HIDDEN.init(key)))[1]


@functools.cache
def worlds():
    """States that look the same to the player to move."""
    state = jax.jit(some_turns)(jax.random.key(3))
    assert not state.terminated
    seen = HIDDEN.observe(state, state.player)
    return jax.jit(jax.vmap(lambda key: HIDDEN.sample_hidden(key, seen)))(jax.random.split(jax.random.key(0), WORLDS))


def same(leaf):
    return (np.asarray(leaf) == np.asarray(leaf)[:1]).all()


@pytest.mark.slow
def test_the_others_hand_goes_into_its_deck():
    states = worlds()
    known = jax.vmap(HIDDEN.known_state)(states)
    assert not same(states.hands[0]) and all(map(same, jax.tree.leaves(known)))
    assert not known.hands[0].any()
    np.testing.assert_array_equal(known.decks[0], states.hands[0] + states.decks[0])
    rest = {"hands": states.hands, "decks": states.decks}
    np.testing.assert_array_equal(known.hands[1], states.hands[1])
    np.testing.assert_array_equal(known.decks[1], states.decks[1])
    jax.tree.map(np.testing.assert_array_equal, dataclasses.replace(known, **rest), states)
    untouched = jax.vmap(OPEN.known_state)(states)
    jax.tree.map(np.testing.assert_array_equal, untouched, states)


def test_nobody_knows_what_seeds_will_deal():
    """Throughout a turn other seeds stand in their place, so that a plan made of known states fits what comes."""
    game = make("tiny", hidden_hands=True)
    start = jax.device_get(jax.jit(game.init)(jax.random.key(0)))
    known = [
        jax.device_get(game.known_state(dataclasses.replace(start, seeds=(np.int32(first), np.int32(second)))))
        for first, second in ((17, 23), (500, 901))
    ]
    jax.tree.map(np.testing.assert_array_equal, *known)
    later = jax.device_get(game.known_state(dataclasses.replace(start, action_points=np.int8(1))))
    assert later.seeds == known[0].seeds
    assert game.open_game.known_state(start).seeds == start.seeds


@pytest.mark.slow
def test_planners_of_turns_are_shown_what_is_known():
    """The search here values a turn by the cards that it sees in the other's hand, and ends the turn."""

    def start(lanes, states, seats, active):
        return states.hands[0]

    def finish(hand):
        value = draws.count(hand).astype(jnp.float32)
        return TurnPlan(jnp.full((len(hand), 3), HIDDEN.end_turn), value, {})

    for game, seen in ((HIDDEN, False), (OPEN, True)):
        search = TurnSearch(start, lambda number, hand: hand, finish, never, 1)
        planner = turn_planner(game, moves_of(game), "by hand", search)
        states, keys = worlds(), jnp.stack([jax.random.key(1)] * WORLDS)
        seats, active = states.player.astype(jnp.int32), jnp.ones(WORLDS, bool)
        plan, memory = jax.jit(planner.plan)(None, keys, planner.init(WORLDS), states, seats, active)
        counts = np.asarray(draws.count(states.hands[0])) if seen else np.zeros(WORLDS)
        assert (np.abs(np.asarray(plan.root_value)[:, 1]) == counts).all()
        assert same(memory.keys) != seen


@pytest.mark.slow
def test_trees_do_not_see_the_others_hand():
    """The tree goes on into the other's turn, where its hand matters, and the plan holds whatever the other has."""
    states = worlds()
    settings = turn_mcts.Settings(num_simulations=300, burn_bridges=True, microbatch_size=WORLDS)
    search = turn_mcts.tree_search(HIDDEN, moves_of(HIDDEN), settings)
    keys, run = jnp.stack([jax.random.key(1)] * WORLDS), jax.jit(search.run)
    lanes, seats = jax.vmap(random_bits.lane_key)(keys), states.player.astype(jnp.int32)
    turn = run(lanes, jax.vmap(HIDDEN.known_state)(states), seats)
    assert turn.metrics["depth"].min() > 2  # actions of the own turn
    assert all(map(same, jax.tree.leaves(turn)))
    assert not same(run(lanes, states, seats).value)
    planner = turn_mcts.turn_mcts(HIDDEN, settings)
    plan, memory = jax.jit(planner.plan)(None, keys, planner.init(WORLDS), states, seats, jnp.ones(WORLDS, bool))
    np.testing.assert_array_equal(plan.metrics["turn"], turn.actions)
    assert planner.ready(memory, jax.vmap(HIDDEN.step)(states, plan.actions, keys)).all()
