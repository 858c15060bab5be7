"""Actions in words, of all games."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames


def test_an_action_of_each_game():
    key = jax.random.key(0)
    hex_game = jaxgames.make("hex", "hex-3")
    assert jaxgames.in_words(hex_game, hex_game.init(key), 4) == "b2"
    assert jaxgames.in_words(hex_game, hex_game.init(key), jnp.int32(9), seat=1) == "pass"
    pommerman = jaxgames.make("pommerman", "ffa")
    assert jaxgames.in_words(pommerman, pommerman.init(key), 5, seat=2) == "bomb"
    hero = jaxgames.make("hero_academy", "tiny")
    assert jaxgames.in_words(hero, hero.init(key), hero.end_turn) == "end turn"


def test_a_turn_of_one_action():
    game = jaxgames.make("hex", "hex-3")
    assert jaxgames.turn_in_words(game, game.init(jax.random.key(0)), [4, 5]) == ["b2"], "then the other is to move"


@pytest.mark.parametrize(
    ("name", "action", "seat", "message"),
    [
        ("hex", 999, None, "action=999: must be in 0"),
        ("hex", 1.0, None, r"action=1\.0: must be in 0"),
        ("hex", 0, 2, r"seat=2: must be in 0\.\.1"),
        ("pommerman", 0, None, "seat=None: all move at once in pommerman, so say whose action it is"),
    ],
)
def test_what_cannot_be_told_is_refused_in_one_line(name, action, seat, message):
    game = jaxgames.make(name)
    with pytest.raises(ValueError, match=f"^{message}") as error:
        jaxgames.in_words(game, game.init(jax.random.key(0)), action, seat)
    assert "\n" not in str(error.value)


def test_a_batch_or_the_state_of_another_game_is_refused():
    game, other = jaxgames.make("hex", "hex-3"), jaxgames.make("hero_academy", "tiny")
    state = game.init(jax.random.key(0))
    with pytest.raises(ValueError, match="state with 1 leading axes: must be one state"):
        jaxgames.in_words(game, jax.tree.map(lambda leaf: np.asarray(leaf)[None], state), 0)
    with pytest.raises(ValueError, match="must be a state of hero_academy"):
        jaxgames.turn_in_words(other, state, [0])
