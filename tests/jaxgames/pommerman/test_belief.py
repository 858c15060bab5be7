"""What a player believes: in full view the truth but for what is hidden, in fog whatever it sees."""

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from jaxgames.pommerman import belief
from jaxgames.pommerman.bots import careful_agent, simple_agent

LANES, STEPS, SEAT = 6, 90, 1


def followed(mode, make_bot, steps=STEPS):
    """States [T, L] of games between copies of a bot, what seat 1 believes and observes after each step."""
    game = jaxgames.make("pommerman", mode)
    bot, players = make_bot(game), game.num_players
    seats = jnp.tile(jnp.arange(players), LANES)
    observe = jax.vmap(lambda state: game.observe(state, jnp.int32(SEAT)))

    def step(carry, key):
        states, memory, beliefs = carry
        views = jax.tree.map(lambda leaf: jnp.repeat(leaf, players, axis=0), states)
        keys, asked = jax.random.split(key, LANES * players), jnp.ones(LANES * players, bool)
        actions, memory = bot.act(None, keys, memory, views, seats, asked)
        actions = actions.reshape(LANES, players)
        states = jax.vmap(game.step)(states, actions)
        seen = observe(states)
        beliefs = jax.vmap(game.update_belief)(beliefs, seen, actions[:, SEAT])
        shown = observe(beliefs)
        return (states, memory, beliefs), (states, beliefs, seen, shown)

    def run(key):
        states = jax.vmap(game.init)(jax.random.split(key, LANES))
        begin = (states, bot.init(LANES * players), jax.vmap(game.init_belief)(observe(states)))
        return jax.lax.scan(step, begin, jax.random.split(key, steps))[1]

    return game, jax.device_get(jax.jit(run)(jax.random.key(1)))


def test_in_full_view_only_what_is_hidden_is_not_known():
    _game, (states, believed, _, _) = followed("ffa", simple_agent)
    running = ~states.terminated
    truth = jax.vmap(jax.vmap(belief.without_hidden))(states)
    for (path, found), true in zip(jax.tree_util.tree_leaves_with_path(believed), jax.tree.leaves(truth), strict=True):
        name = jax.tree_util.keystr(path)
        if "bombers" in name and "alive" not in name:  # of the dead nothing matters
            seat = int(name.split("[")[1].split("]")[0])
            relevant = running & np.asarray(states.bombers[seat].alive)
        else:
            relevant = running
        np.testing.assert_array_equal(np.asarray(found)[relevant], np.asarray(true)[relevant], name)
    assert max(int(bomber.ammo.max()) for bomber in believed.bombers) > 1, "somebody has collected a bomb"
    assert any(word.any() for plane in believed.bombs.owner for word in plane.words)


def test_in_the_worst_case_all_others_are_fully_equipped():
    game = jaxgames.make("pommerman", "ffa")
    seen = game.observe(game.init(jax.random.key(0)), jnp.int32(SEAT))
    believed = belief.init_belief(game.config, seen, worst_case=True)
    found = [(int(one.ammo), int(one.blast_strength), bool(one.can_kick)) for one in believed.bombers]
    assert found == [(1, 2, False) if seat == SEAT else (5, 10, True) for seat in range(4)]


def test_in_fog_the_believed_state_looks_like_what_is_seen():
    _, (states, _, seen, shown) = followed("team", careful_agent)
    running = ~states.terminated & np.asarray(states.bombers[SEAT].alive)
    for (path, found), true in zip(jax.tree_util.tree_leaves_with_path(shown), jax.tree.leaves(seen), strict=True):
        np.testing.assert_array_equal(np.asarray(found)[running], np.asarray(true)[running], jax.tree_util.keystr(path))
