"""Drawn boards: each that fits is as likely, as enumeration says; and nothing that is hidden is seen."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.stratego import Stratego, hidden, interop, notation
from tests.jaxgames.stratego.hidden_pieces import boards_that_fit, known
from tests.jaxgames.stratego.playing import CONFIG, at, play, position, random_game

DRAWS = 12_000


@pytest.mark.parametrize("far_inference", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_every_board_that_fits_is_as_likely(far_inference):
    config, state, seen = known(far_inference)
    cells, fitting = boards_that_fit(config, state)
    assert len(fitting) == (3 * 24 if far_inference else 4 * 3 * 24)
    keys = jax.random.split(jax.random.key(5), DRAWS)
    draws = jax.jit(jax.vmap(functools.partial(hidden.sample, config), (0, None)))(keys, seen)
    arrays = interop.to_arrays(config, jax.device_get(draws))
    drawn = arrays["piece"][:, cells]
    counts = np.array([(drawn == kinds).all(1).sum() for kinds in fitting])
    assert counts.sum() == DRAWS  # no board that does not fit
    expected = DRAWS / len(fitting)
    chi_square = ((counts - expected) ** 2 / expected).sum()
    freedom = len(fitting) - 1
    assert abs(chi_square - freedom) < 4 * np.sqrt(2 * freedom)
    exact = np.mean([np.eye(13)[list(kinds)] for kinds in fitting], axis=0)[:, 1:]
    found = np.asarray(jax.jit(functools.partial(hidden.marginals, config))(seen))
    assert np.allclose(found[cells], exact, atol=1e-6) and found.sum() == pytest.approx(len(cells), abs=1e-4)
    before = interop.to_arrays(config, state)
    for name in ("owner", "visible", "moved", "far", "player", "ply"):
        assert (arrays[name] == before[name]).all(), name
    others = np.setdiff1d(np.arange(config.num_cells), cells)
    assert (arrays["piece"][:, others] == before["piece"][others]).all()


def test_what_is_hidden_changes_nothing_that_is_seen():
    config, state, seen = known(True)
    game = Stratego(config)
    cells, fitting = boards_that_fit(config, state)
    observe = jax.jit(game.observe)
    for kinds in fitting[::7]:
        arrays = interop.to_arrays(config, state)
        arrays["piece"][cells] = kinds
        other = observe(interop.from_arrays(config, arrays), jnp.int32(0))
        assert all(jax.tree.leaves(jax.tree.map(lambda one, two: bool((one == two).all()), other, seen)))


def test_drawn_boards_fit_in_random_games():
    """Kinds are counted, moved pieces are mobile, and what the player sees of a drawn board is what it saw."""
    game = Stratego(CONFIG)
    states = [state for seed in range(4) for state in random_game(CONFIG, 60, seed)[5::8]]
    chosen = jax.tree.map(lambda *leaves: np.stack(leaves), *states)

    @jax.jit
    @jax.vmap
    def draw(state, key):
        seen = game.observe(state, 1 - state.player)
        world = game.sample_hidden(key, seen)
        again = game.observe(world, 1 - state.player)
        same = jax.tree.map(lambda one, two: (one == two).all(), again, seen)
        return world, jnp.stack(jax.tree.leaves(same)).all(), hidden.hidden_pieces(CONFIG, seen).fits

    keys = jax.random.split(jax.random.key(3), len(chosen.ply))
    worlds, same, fits = jax.device_get(draw(chosen, keys))
    true, drawn = (interop.to_arrays(CONFIG, jax.device_get(each)) for each in (chosen, worlds))
    assert same.all() and fits.all()
    for kind in range(1, 13):
        for seat in (0, 1):
            counts = [((board["piece"] == kind) & (board["owner"] == seat)).sum(1) for board in (true, drawn)]
            assert (counts[0] == counts[1]).all()
    secret = (drawn["owner"] >= 0) & ~drawn["visible"] & drawn["moved"]
    assert not np.isin(drawn["piece"][secret], (1, 12)).any()
    assert (true["piece"] != drawn["piece"]).any()


def test_views_of_a_finished_game_tell_who_has_won():
    """Also after the step that has ended it, whose reward alone tells of the end."""
    game = Stratego(CONFIG)
    won = play(position("Yaaaa Caaaa aa_aa aaaaa MaaaO"), "a4a5")
    later = jax.device_get(game.apply(won, jnp.array([0, 0])))
    again = notation.read(CONFIG, notation.write(CONFIG, won))
    assert (int(won.reward), int(later.reward), int(again.reward)) == (1, 0, 0)
    sample = jax.jit(game.sample_hidden)
    for seat in (0, 1):
        seen = [jax.device_get(game.observe(state, jnp.int32(seat))) for state in (won, later, again)]
        seen.append(notation.read_view(CONFIG, notation.write_view(CONFIG, won, seat, exact=True), seat))
        for view in seen:
            world = sample(jax.random.key(1), view)
            assert bool(world.terminated) and int(view.winner) == int(world.winner) == 0
            np.testing.assert_array_equal(game.outcome(world), [1, -1])


def test_says_where_no_board_fits():
    config, state, _ = known(True)
    view = notation.write_view(config, at(state), 0, exact=True)
    assert "?" in view and "!" in view
    letters, *rest = view.split()
    with pytest.raises(ValueError, match="no board fits: 5 hidden pieces"):
        notation.read_view(config, " ".join([letters, *rest[:-1], "u111100000001"]), 0)
    with pytest.raises(ValueError, match="must be told by field u"):
        notation.read_view(config, " ".join([letters.replace("?", "a", 1), *rest[:-1]]), 0)
