"""States that show themselves in notebooks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import shapes
from tests.tug import Tug


def test_states_show_themselves():
    game = jaxgames.make("hex-hex-5-v1")
    state, later = jax.device_get(jax.jit(lambda: ((start := game.init()), game.step(start, np.array([12, 25], np.int32))))())
    picture = jaxgames.show(game, state, names=("Ann", "Bob"), caption="the beginning")
    assert picture._repr_html_().count("<svg") == 1 and "the beginning" in str(picture) and picture._repr_svg_() == str(picture)
    assert len(repr(picture)) < 80
    both = jax.tree.map(lambda *leaves: np.stack(leaves), state, later)
    assert str(jaxgames.show(game, both, lane=1)) == str(jaxgames.show(game, later))
    film = str(jaxgames.show(game, both))
    assert film.startswith("<svg") and film != str(jaxgames.show(game, later))


SLOW = ("pommerman", "stratego")  # to compile


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in jaxgames.game_names() if name != "hex"]
)
def test_every_game_has_pictures(name):
    game = jaxgames.make(name)
    assert jaxgames.show(game, jax.jit(game.init)(jax.random.key(0)))._repr_html_().count("<svg") == 1


def test_a_game_that_draws_itself_has_pictures():
    class Drawn(Tug):
        def draw(self, state, *, names=(), caption=""):
            return "<svg></svg>"

        def animate(self, states, actions=None, *, names=()):
            return "<svg></svg>"

    assert jaxgames.show(Drawn(), Tug().state(0))._repr_html_().count("<svg") == 1


def test_what_cannot_be_shown_is_told():
    game = jaxgames.make("hex-hex-5-v1")
    with pytest.raises(ValueError, match="game='tug': has no pictures"):
        jaxgames.show(Tug(), Tug().state(0))
    with pytest.raises(ValueError, match="state is a State: must be a state of hex"):
        jaxgames.show(game, Tug().state(0))
    with pytest.raises(ValueError, match="lane=0: must be one state"):
        jaxgames.show(game, game.init(), lane=0)
    batch = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], game.init())
    with pytest.raises(ValueError, match=r"lane=1: must be in 0\.\.0"):
        jaxgames.show(game, batch, lane=1)
    for lane in (True, 0.0):
        with pytest.raises(ValueError, match=rf"lane={lane}: must be in 0\.\.0"):
            jaxgames.show(game, batch, lane=lane)


@pytest.mark.parametrize("name", jaxgames.game_names())
def test_one_state_is_no_film(name):
    game = jaxgames.make(name)
    state = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes.state_of(game))
    with pytest.raises(ValueError, match="states: no common axis of time; give the start and the state after every step"):
        game.animate(state)
    with pytest.raises(ValueError, match="states: 1 of them: must be at least 2"):
        game.animate(jax.tree.map(lambda leaf: leaf[None], state))
