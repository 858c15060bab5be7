"""Worlds by how likely they are: how often each board is drawn against all that fit, and what is refused."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.stratego import interop
from jaxgames.stratego.game import Stratego
from search.guessed import GuessedWorlds
from tests.jaxgames.stratego.hidden_pieces import boards_that_fit, known

DRAWS = 1024


@functools.cache
def start(mode):
    """A first state, what is hidden from each seat, and what places tell of it: as it is, and where all pieces have moved."""
    game = jaxgames.make("stratego", mode)

    def look(key):
        state = game.init(key)
        seen = jax.vmap(game.observe, (None, 0))(state, jnp.arange(2))
        moved = dataclasses.replace(seen, moved=seen.other)
        usual = [jax.vmap(game.usual_chances)(views) for views in (seen, moved)]
        return state, jax.vmap(game.secrets, (None, 0))(state, seen), *usual

    return game, *jax.device_get(jax.jit(look)(jax.random.key(1)))


def test_boards_are_drawn_as_often_as_the_guess_says():
    config, state, seen = known(True)  # by Red, whose planes are not turned
    cells, fitting = boards_that_fit(config, state)
    game = Stratego(config)
    guess = jnp.asarray(np.random.default_rng(0).normal(size=(config.num_cells, game.num_secrets)), jnp.float32)
    worlds = GuessedWorlds(game, lambda info: guess, 64)
    draws = jax.jit(jax.vmap(worlds.sample_hidden, (0, None)))(jax.random.split(jax.random.key(1), DRAWS), seen)
    drawn = interop.to_arrays(config, jax.device_get(draws))["piece"][:, cells]
    counts = np.array([(drawn == kinds).all(1).sum() for kinds in fitting])
    assert counts.sum() == DRAWS, "no board that does not fit"
    weights = np.exp([sum(guess[cell, kind - 1] for cell, kind in zip(cells, kinds, strict=True)) for kinds in fitting])
    shares = weights / weights.sum()
    assert shares.max() > 4 / len(fitting), "the guess tells boards apart"
    assert np.abs(counts / DRAWS - shares).max() < 0.05


def test_one_candidate_is_what_the_game_draws():
    config, _, seen = known(True)
    game = Stratego(config)
    worlds = GuessedWorlds(game, lambda info: jnp.zeros((config.num_cells, game.num_secrets)), 1)

    @jax.jit
    def both(key):
        expected = game.sample_hidden(jax.random.split(jax.random.split(key)[0], 1)[0], seen)
        return expected, worlds.sample_hidden(key, seen)

    jax.tree.map(np.testing.assert_array_equal, *both(jax.random.key(3)))


@pytest.mark.parametrize("seat", [0, 1])
def test_what_is_hidden_from_a_side(seat):
    game, state, secrets, _, _ = start("mini")
    told = secrets[seat].reshape(game.config.rows, -1)
    arrays = {
        name: values.reshape(told.shape)
        for name, values in interop.to_arrays(game.config, state).items()
        if values.size == told.size
    }
    expected = np.where(arrays["owner"] == 1 - seat, arrays["piece"] - 1, -1)
    assert (told == (expected if seat == 0 else expected[::-1])).all() and (told >= 0).sum() == game.config.num_pieces


@pytest.mark.parametrize("seat", [0, 1])
def test_flags_are_looked_for_where_people_put_them(seat):
    """In the back row first; a piece that has moved may be anything that moves."""
    game, _, secrets, usual, where_all_have_moved = start("barrage")
    usual = usual[seat].reshape(game.config.rows, game.config.columns, -1)
    told = secrets[seat].reshape(usual.shape[:2]) >= 0
    assert (usual[~told] == 0).all() and (usual[told] != 0).any()
    rows, columns = np.nonzero(told)
    flags = {row: usual[row, column, 0] for row, column in zip(rows, columns, strict=True)}
    assert flags[max(flags)] > flags[min(flags)]
    assert (where_all_have_moved[seat] == 0).all()


def test_refused():
    with pytest.raises(ValueError, match="game='hex': does not tell what is hidden where"):
        GuessedWorlds(jaxgames.make("hex", "adh-3"), lambda info: jnp.zeros((9, 2)))
    with pytest.raises(ValueError, match="candidates=0: must be >= 1"):
        GuessedWorlds(jaxgames.make("stratego", "mini"), lambda info: jnp.zeros((36, 12)), 0)
    with pytest.raises(ValueError, match=r"^candidates=2\.5: must be a whole number$"):
        GuessedWorlds(jaxgames.make("stratego", "mini"), lambda info: jnp.zeros((36, 12)), 2.5)
