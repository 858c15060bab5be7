"""What every game must keep to, for the games of this package."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames

GAMES = (
    *(("pommerman", mode) for mode in ("ffa", "ffa_collapse", "team", "radio", "one_vs_one")),
    *(("hex", mode) for mode in ("hex-5", "cdh-3", "adh-4", "adh")),
    *(("stratego", mode) for mode in ("mini", "mini:true_sight=1,blocked_fields=3", "barrage-p2sro")),
    *(("clash", mode) for mode in ("toy", "beginner:positions=8")),
    *(
        ("hero_academy", mode)
        for mode in ("standard", "tiny:hidden_hands=1,draws=random", "hidden", "small", "ap-1", "standard:end_turn_early=1")
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "mode"), GAMES)
def test_a_game_keeps_its_contract(name, mode):
    jaxgames.check_game(jaxgames.make(name, mode))


@pytest.mark.parametrize("name", ["pommerman", "hex", "hero_academy", "stratego"])
def test_the_grid_of_a_board_is_made_once_and_is_no_setting(name):
    config = jaxgames.make(name).config
    before = hash(config)
    assert config.grid is config.grid and hash(config) == before and config == jaxgames.make(name).config


@pytest.mark.parametrize("name", ["pommerman", "hex", "hero_academy", "clash", "stratego"])
def test_known_actions_and_seats_out_of_range_are_told(name):
    game = jaxgames.make(name)
    key = jax.random.key(0)
    state = jax.eval_shape(game.init, key)
    passes = [game.pass_action] * game.num_players
    for wrong in (game.num_actions, -1):
        told = rf"action {wrong} of player 1: must be in 0\.\.{game.num_actions - 1}"
        joint = [passes[0], wrong, *passes[2:]]
        for known in (joint, np.array(joint), np.array(joint, np.int16)):
            for play in (game.step, lambda state, known, key, apply=game.apply: apply(state, known)):
                with pytest.raises(ValueError, match=told):
                    jax.eval_shape(lambda state, key, play=play, known=known: play(state, known, key), state, key)
    for seat, told in (
        (game.num_players, f"player={game.num_players}: must be in 0"),
        (np.int8(-1), "player=-1"),
        (0.0, "one integer"),
    ):
        with pytest.raises(ValueError, match=told):
            jax.eval_shape(lambda state, seat=seat: game.observe(state, seat), state)


@pytest.mark.parametrize("name", ["pommerman", "hex", "hero_academy", "clash", "stratego"])
def test_a_seat_of_jax_out_of_range_sees_what_the_first_sees(name):
    game = jaxgames.make(name)
    state = jax.jit(game.init)(jax.random.key(0))
    seen = jax.device_get(jax.jit(jax.vmap(game.observe, (None, 0)))(state, jnp.array([0, -1, game.num_players, 100])))
    for leaf in jax.tree.leaves(seen):
        np.testing.assert_array_equal(leaf, np.broadcast_to(leaf[:1], leaf.shape))


@pytest.mark.parametrize("mode", ["hex-3", "adh-3"])
def test_known_actions_are_played_inside_jit(mode):
    game = jaxgames.make("hex", mode)
    should = jax.jit(game.step)(game.init(), jnp.array([4, game.pass_action], jnp.int32))
    given = ([4, game.pass_action], np.array([4, game.pass_action]), jnp.array([4, game.pass_action], jnp.uint8))
    for after in jax.jit(lambda state: [game.step(state, known) for known in given])(game.init()):
        assert jax.tree.all(jax.tree.map(lambda a, b: (a == b).all() and a.dtype == b.dtype, after, should))


def test_out_of_range_in_an_array_of_jax_is_as_the_game_says():
    game = jaxgames.make("hex", "hex-3")

    @jax.jit
    def played(actions):
        after = game.step(game.init(), actions)
        return after.terminated, game.outcome(after)

    terminated, outcome = played(jnp.array([99, game.pass_action]))
    assert terminated and outcome.tolist() == [-1, 1]
