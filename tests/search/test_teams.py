"""Searches against models in games of teams: what being out is worth, who is an enemy, and legal messages."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.abilities import teams_of
from jaxgames.agent import memoryless
from search.opponents import single_player
from tests.jaxgames.hex.playing import at
from tests.jaxgames.pommerman.positions import position

MODES = {mode: jaxgames.make("pommerman", mode) for mode in ("ffa", "team", "radio")}
STILL = memoryless("still", lambda params, keys, views, seats: jnp.zeros(len(seats), jnp.int32), sees_state=True)


def test_teams():
    assert {mode: teams_of(game) for mode, game in MODES.items()} == {
        "ffa": (0, 1, 2, 3),
        "team": (0, 1, 0, 1),
        "radio": (0, 1, 0, 1),
    }
    assert teams_of(jaxgames.make("hex", "hex-3")) == (0, 1)


@functools.cache
def valued(mode):
    """Jits what nodes are worth to the own seat, and whether they are the end of its game: of states [L] and seats [L]."""
    game = MODES[mode]
    dynamics = single_player(game, STILL, shared_answers=True)

    def look(states, seats):
        nodes = dynamics.root(None, jax.random.split(jax.random.key(0), len(seats)), states, seats)
        return dynamics.outcome(nodes)[:, 0], dynamics.heuristic(nodes)[:, 0], dynamics.terminated(nodes)

    return jax.jit(look)


@pytest.mark.parametrize(("mode", "drawing", "seat", "over", "value"), [
    ("team", "0.1 2.3", 0, False, 0),
    ("team", "..1 2.3", 0, True, -0.5),  # the mate may win for both
    ("team", "..1 ..3", 0, True, -1),
    ("team", "2..", 0, True, 1),  # and here has won
    ("team", "2..", 3, True, -1),
    ("ffa", "..1 2.3", 0, True, -1),
    ("ffa", "0..", 0, True, 1),
])  # fmt: skip
def test_values_by_team(mode, drawing, seat, over, value):
    game = MODES[mode]
    state = position(drawing, config=game.config)
    lives = [str(each) in drawing for each in range(4)]
    teams = {team for each, team in enumerate(teams_of(game)) if lives[each]}
    states = jax.tree.map(jnp.asarray, state.__class__(**{**vars(state), "terminated": np.array([len(teams) == 1])}))
    outcome, heuristic, ended = (x.tolist()[0] for x in valued(mode)(states, jnp.array([seat])))
    assert ended == over and outcome == heuristic == value


def test_messages_of_searches_are_legal():
    """A search in radio mode chooses among silent moves, all of which the game allows."""
    game = MODES["radio"]
    state = at(position("0.1 ... 2.3", config=game.config), 0)
    offered = jax.jit(lambda state: (*game.possible_arms(state), game.legal_actions(state)))
    arms, possible, legal = jax.device_get(offered(state))
    assert arms.tolist() == [[0, 81, 162, 243, 324, 405]] * 4 and possible[:, 0].all()
    assert np.take_along_axis(legal, arms, 1)[:, 0].all() and int(arms.max()) < game.num_actions
