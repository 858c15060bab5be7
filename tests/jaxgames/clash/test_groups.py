"""Battles that are taken by groups of like size come back in their order."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from jaxgames.clash import groups
from jaxgames.clash.slots import used
from jaxgames.platforms import for_all_platforms

BATTLES = 128


def battles(game, last_slots):
    """Battles of which each uses slots up to its own last one, told apart by their elixir; the battles are the last axis."""
    state, count = jax.device_get(jax.jit(game.init)(jax.random.key(0))), len(last_slots)
    states = jax.tree.map(lambda leaf: np.repeat(np.asarray(leaf)[..., None], count, axis=-1), state)
    alive = np.arange(state.alive.shape[1])[:, None] < last_slots
    return dataclasses.replace(states, alive=np.stack([alive, alive]), elixir=np.stack([np.arange(count, dtype=np.int16)] * 2))


def test_each_group_goes_as_far_as_its_own_battles_do_and_order_stays():
    last_slots = np.random.default_rng(0).integers(3, 33, BATTLES)
    states = battles(jaxgames.make("clash", "all"), last_slots)

    def bound(states):
        return dataclasses.replace(states, tick=jnp.full_like(states.tick, used(states.alive)))

    after = jax.jit(groups.by_size(bound))(states)
    order = np.argsort(last_slots, kind="stable")
    expected = np.empty(BATTLES, int)
    for group in order.reshape(-1, groups._TOGETHER):
        expected[group] = last_slots[group].max()
    assert after.tick.tolist() == expected.tolist()
    assert after.elixir[0].tolist() == list(range(BATTLES))
    assert (np.asarray(after.alive) == states.alive).all()


def test_batches_that_make_no_groups_worth_it_and_those_of_few_slots_are_taken_whole():
    sizes = []

    def look(states):
        sizes.append(states.tick.shape[-1])
        return states

    cases = [("all", 64, 64), ("all", 65, 65), ("all", 127, 127), ("all", 128, 64), ("beginner", 128, 128)]
    for mode, number, seen in [*cases, ("all", 110, 55), ("all", 130, 26), ("all", 192, 64)]:
        one = jax.eval_shape(jaxgames.make("clash", mode).init, jax.random.key(0))
        states = jax.tree.map(lambda leaf, n=number: jax.ShapeDtypeStruct((*leaf.shape, n), leaf.dtype), one)
        jax.eval_shape(groups.by_size(look), states)
        assert sizes.pop() == seen
        with for_all_platforms():
            jax.eval_shape(groups.by_size(look), states)
        assert sizes.pop() == number, "as accelerators take them"
