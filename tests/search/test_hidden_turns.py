"""Planners of whole turns where hands are hidden: they go by what the player to move knows."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import random_bits
from jaxgames.hero_academy import make
from search import turn_mcts
from search.moves import moves_of

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


def worlds():
    """States that look the same to the player to move."""
    state = jax.jit(some_turns)(jax.random.key(3))
    assert not state.terminated
    seen = HIDDEN.observe(state, state.player)
    return jax.jit(jax.vmap(lambda key: HIDDEN.sample_hidden(key, seen)))(jax.random.split(jax.random.key(0), WORLDS))


def same(leaf):
    return (np.asarray(leaf) == np.asarray(leaf)[:1]).all()


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


def test_trees_do_not_see_the_others_hand():
    """The tree goes on into the other's turn, where its hand matters."""
    states = worlds()
    settings = turn_mcts.Settings(num_simulations=300, burn_bridges=True, lanes_at_once=WORLDS)
    planner = turn_mcts.turn_mcts(HIDDEN, settings)
    keys = jnp.stack([jax.random.key(1)] * WORLDS)
    memory, seats, active = planner.init(WORLDS), states.player.astype(jnp.int32), jnp.ones(WORLDS, bool)
    plan, memory = jax.jit(planner.plan)(None, keys, memory, states, seats, active)
    assert plan.metrics["depth"].min() > 2  # actions of the own turn
    assert same(plan.metrics["turn"]) and same(plan.root_value) and same(memory.keys)
    search = turn_mcts.tree_search(OPEN, moves_of(OPEN), settings)
    seeing = jax.jit(search.run)(jax.vmap(random_bits.lane_key)(keys), states, seats)
    assert not same(seeing.value)
    # The plan holds through the turn, whatever the other has.
    after = jax.vmap(HIDDEN.step)(states, plan.actions, keys)
    assert planner.ready(memory, after).all()
