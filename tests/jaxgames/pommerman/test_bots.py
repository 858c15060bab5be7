"""The rule-based players with the common agent interface."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxgames.pommerman import bots
from jaxgames.pommerman.arrays import STATE_FIELDS, from_arrays
from jaxgames.pommerman.constants import NUM_MESSAGES, Move
from jaxgames.pommerman.game import make
from jaxgames.pommerman.simple_agent import NOWHERE
from tests.jaxgames.pommerman import playing
from tests.jaxgames.pommerman.positions import equal

DATA = Path(__file__).parents[2] / "data" / "pommerman"
BATCH = 64
MAKERS = (bots.simple_agent, bots.simple_unbiased, bots.random_agent, bots.careful_agent)
UNBIASED = pytest.param(bots.simple_unbiased, marks=pytest.mark.slow)  # to compile


def table(mode, recording):
    """A batch of recorded states, a key and a seat for each, and lanes of which every third is not active."""
    arrays = dict(np.load(DATA / f"{recording}.npz"))
    game = make(mode)
    states = from_arrays(game.config, {name: arrays[name][:BATCH] for name in STATE_FIELDS})
    keys = jax.random.split(jax.random.key(4), BATCH)
    seats = jnp.arange(BATCH, dtype=jnp.int32) % game.num_players
    return game, jax.tree.map(jnp.asarray, states), keys, seats, jnp.arange(BATCH) % 3 > 0


@pytest.fixture(scope="module")
def free_for_all():
    return table("ffa", "ffa_simple")


@pytest.fixture(scope="module")
def acted(free_for_all):
    """Actions and memory of the SimpleAgent after its first decision."""
    _, states, keys, seats, active = free_for_all
    agent, act = playing.acting(bots.simple_agent, "ffa")
    return act(None, keys, agent.init(BATCH), states, seats, active)


@pytest.mark.parametrize("maker", [UNBIASED if maker is bots.simple_unbiased else maker for maker in MAKERS])
@pytest.mark.parametrize("mode, recording", [("ffa", "ffa_simple"), pytest.param("radio", "radio", marks=pytest.mark.slow)])
def test_agents_act_for_a_batch(maker, mode, recording):
    game, states, keys, seats, active = table(mode, recording)
    agent, act = playing.acting(maker, mode)
    assert agent.sees_state
    memory = agent.init(BATCH)
    actions, after = act(agent.params, keys, memory, states, seats, active)
    assert actions.shape == (BATCH,) and actions.dtype == jnp.int32
    assert jax.tree.structure(after) == jax.tree.structure(memory)
    assert all(leaf.shape == (BATCH,) for leaf in jax.tree.leaves(after))
    actions = np.asarray(actions)
    assert (actions >= 0).all() and (actions < game.num_actions).all()
    if mode == "radio":
        assert (actions % NUM_MESSAGES == 0).all()


def test_lanes_that_are_not_active_keep_their_memory(free_for_all, acted):
    active = free_for_all[-1]
    latest = np.asarray(acted[1].recent[0])
    assert (latest[~np.asarray(active)] == NOWHERE).all()
    assert (latest[np.asarray(active)] != NOWHERE).any()


def test_a_new_episode_begins_with_a_fresh_memory(free_for_all, acted):
    agent, memory = bots.simple_agent(free_for_all[0]), acted[1]
    after = jax.device_get(jax.jit(agent.reset)(memory, np.arange(BATCH) < 20))
    memory, fresh = jax.device_get((memory, agent.init(BATCH)))
    assert equal(jax.tree.map(lambda leaf: leaf[:20], after), jax.tree.map(lambda leaf: leaf[:20], fresh))
    assert equal(jax.tree.map(lambda leaf: leaf[20:], after), jax.tree.map(lambda leaf: leaf[20:], memory))


def test_a_reset_unbiased_agent_remembers_nothing(free_for_all):
    agent = bots.simple_unbiased(free_for_all[0])
    used = agent.init(BATCH)._replace(num_intended=np.ones(BATCH, np.uint8), seats=np.ones(BATCH, np.uint16))
    cleared = jax.jit(agent.reset)(used, np.arange(BATCH) < 20)
    for told in (cleared.num_intended, cleared.seats):  # without an order of the seats all orders are drawn
        assert told.tolist() == [0] * 20 + [1] * (BATCH - 20)


@pytest.mark.slow
def test_a_reset_unbiased_agent_draws_new_orders(free_for_all):
    _, states, keys, seats, active = free_for_all
    agent, act = playing.acting(bots.simple_unbiased, "ffa")
    _, memory = act(None, keys, agent.init(BATCH), states, seats, np.ones(BATCH, bool))
    cleared = jax.device_get(jax.jit(agent.reset)(memory, np.arange(BATCH) < 20))
    assert (cleared.num_intended[:20] == 0).all() and (cleared.num_intended[20:] == 1).all()
    _, after = act(None, jax.random.split(jax.random.key(5), BATCH), cleared, states, seats, active)
    rows, before, active = (np.asarray(leaf) for leaf in (after.rows[0], memory.rows[0], active))
    changed = rows != before
    assert changed[:20][active[:20]].all() and not changed[20:].any()
    assert (rows[:20][~active[:20]] == 0).all()


@pytest.mark.slow
def test_the_simple_agent_needs_its_observation_only(free_for_all, acted):
    game, states, keys, seats, active = free_for_all
    agent = bots.simple_agent(game, observation_of=lambda seen: seen["now"])
    assert not agent.sees_state
    seen = {"now": jax.jit(jax.vmap(game.observe))(states, seats)}
    assert equal(jax.jit(agent.act)(None, keys, agent.init(BATCH), seen, seats, active), acted)


def test_the_random_agent_is_uniform(free_for_all):
    game, states, _, seats, _ = free_for_all
    act = bots.random_agent(game).act
    keys = jax.random.split(jax.random.key(6), (100, BATCH))
    actions, _ = jax.jit(jax.vmap(lambda key: act(None, key, (), states, seats, None)))(keys)
    assert stats.chisquare(np.bincount(np.ravel(actions), minlength=len(Move))).pvalue > 1e-4


@pytest.mark.parametrize(("mode", "fog"), [("ffa", False), ("team_open", False), ("team", True), ("radio", True)])
def test_the_careful_agent_alone_uses_what_is_hidden_and_only_in_fog(mode, fog):
    game = make(mode)
    assert [maker(game).uses_hidden for maker in MAKERS] == [False, False, False, fog]


def test_the_careful_agent_plays_every_legal_action_and_no_other(free_for_all):
    _, states, _, seats, active = free_for_all
    _, act = playing.acting(bots.careful_agent, "ffa")
    keys = jax.random.split(jax.random.key(6), (200, BATCH))
    actions = [act(None, each, (), states, seats, active)[0] for each in keys]
    counts = (np.asarray(actions)[..., None] == np.arange(len(Move))).sum(0)
    legal = playing.search_arms("ffa", states)[1][np.arange(BATCH), np.asarray(seats)]
    assert ((counts > 0) == legal).all()
    share = counts[legal] / 200 * legal.sum(1).repeat(legal.sum(1))
    assert abs(share - 1).max() < 0.6
