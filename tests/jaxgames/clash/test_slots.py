"""What all slots mean together is the same one by one, as on CPUs, and at once, as on accelerators."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.clash import game as clash
from jaxgames.clash import slots, tick
from jaxgames.clash.config import ClashConfig
from jaxgames.platforms import for_all_platforms
from tests.emitters import NO_MULTI_OUTPUT_FUSION

BATTLES = 16
STEPS = 40

# Blows, shots, and both on all around; in the air and on the ground; what stuns, slows, pushes and brings others.
DECK = ("zappies", "wizard", "witch", "minions", "giant-snowball", "goblin-barrel", "giant-skeleton", "ice-wizard")


def all_at_once(monkeypatch):
    for module in (slots, tick):
        monkeypatch.setattr(module, "by_platform", lambda *arguments, cpu, default: default(*arguments))
    monkeypatch.setattr(slots, "_AT_ONCE", 4)


def both_ways(monkeypatch, function, *arguments):
    """Compiles a function and calls it, on a CPU as on a CPU, and then as on an accelerator."""
    one_by_one = jax.device_get(jax.jit(functools.partial(function))(*arguments))
    with monkeypatch.context() as patch, for_all_platforms():
        all_at_once(patch)
        compiled = jax.jit(functools.partial(function), compiler_options=NO_MULTI_OUTPUT_FUSION)
        return one_by_one, jax.device_get(compiled(*arguments))


def test_sums_and_the_best_of_what_is_picked(monkeypatch):
    values = np.random.default_rng(0).integers(0, 4, (2, 5, 3)).astype(np.int32)
    flags = np.arange(5)[:, None] < np.full((2, 1, 3), 4)

    def part(slot):
        of_slot = slots.pick(values, slot)
        return of_slot * (slot < 4), jnp.where(slot < 4, of_slot, 9), slot

    def join(one, other):
        better = (other[1] < one[1]) | ((other[1] == one[1]) & (other[2] < one[2]))
        return one[0] + other[0], jnp.where(better, other[1], one[1]), jnp.where(better, other[2], one[2])

    def together(end):
        return slots.put_together(5, end, part, join, (0, 9, -1))

    for found in both_ways(monkeypatch, together, slots.used(jnp.asarray(flags))):
        total, least, first = (np.broadcast_to(leaf, (2, 1, 3))[:, 0] for leaf in found)
        assert (total == values[:, :4].sum(1)).all()
        assert (least == values[:, :4].min(1)).all() and (first == values[:, :4].argmin(1)).all(), "the first of the least"


@pytest.mark.slow
def test_battles_go_on_in_the_same_way(monkeypatch):
    """What comes of ticks in which units of many kinds fight, and spells land."""
    config = ClashConfig(decks=(DECK, DECK[::-1]), slots=10, spell_slots=3, start_elixir=10)
    game = clash.Clash(config)

    def play(state, key):
        actions = jax.random.categorical(key, jnp.where(game.legal_actions(state), 0.0, -jnp.inf))
        after = game.step(state, actions.astype(jnp.int32), key)
        return after, after

    def battle(key):
        return jax.lax.scan(play, game.init(key), jax.random.split(key, STEPS))[1]

    states = jax.jit(jax.vmap(battle))(jax.random.split(jax.random.key(0), BATTLES))
    states = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), states)
    one_by_one, together = both_ways(monkeypatch, jax.vmap(lambda state: tick.run(config, state, 2)), states)
    jax.tree.map(np.testing.assert_array_equal, together, one_by_one)

    def changed(name):
        return (getattr(one_by_one, name) != getattr(states, name)).any(axis=(1, 2))

    assert changed("hp").mean() > 0.2 and changed("target").mean() > 0.2
    assert one_by_one.stun.any() and one_by_one.slow.any() and (np.asarray(states.spell_ticks) == 1).any()
    assert (one_by_one.alive & ~np.asarray(states.alive)).any() and (
        one_by_one.spell_ticks > np.asarray(states.spell_ticks)
    ).any()
