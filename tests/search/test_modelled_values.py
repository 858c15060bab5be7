"""What searches against models take the states for at which they end: by the game's heuristic, or by what it promises."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from search import presets
from search.modelled import Models, dynamics_for, valued_by_own_seat
from search.opponents import two_player
from search.planner import memoryless
from search.puct.rollout import heuristic_values, promised_values
from tests.rivalry import Rivalry
from tests.tug import Tug, states_of, steady_player

FFA = jaxgames.make("pommerman", "ffa")


def test_values_by_hand():
    with pytest.raises(ValueError, match=r"^values='hope': must be one of auto, heuristic, prospects$"):
        presets.by_name(FFA, "sp_mcts", values="hope")
    with pytest.raises(ValueError, match=r"^game='tug': does not say what its positions promise; take its heuristic$"):
        promised_values(Tug())
    states, seats = states_of(Tug(length=4), [1, 1, -1]), np.array([0, 1, 0], np.int32)
    for values, expected in ((heuristic_values, 0.25), (promised_values, 0.5)):
        logits, found = jax.jit(values(Rivalry(length=4)))(None, states, seats)
        assert logits.shape == (3, 1) and not logits.any()
        assert found.tolist() == [expected, -expected, -expected]


def test_searches_by_bandits_take_promised_values_where_auto_finds_any(monkeypatch):
    guides = []

    def note(game, bandit, settings, guide):
        guides.append(guide)
        return memoryless("search", lambda *_: None)

    monkeypatch.setattr(presets, "tree_planner", note)
    for game, values, promised in ((Rivalry(), "auto", True), (Tug(), "auto", False), (Rivalry(), "heuristic", False)):
        presets.by_name(game, "modelled_fdts", values=values, model="still", root="true")
        assert (guides.pop() is not None) == promised


class Hopeful(Rivalry):
    """Both players are promised something."""

    def prospects(self, state):
        return jnp.array([0.5, 0.25]) + 0 * state.token


def test_in_searches_by_bandits_too_what_is_promised_to_the_own_seat_is_against_the_rival(monkeypatch):
    made = []

    def note(dynamics, bandit, settings, guide):
        made.append((dynamics, guide))
        return memoryless("search", lambda *_: None)

    game = Hopeful(length=4)
    monkeypatch.setattr(presets, "tree_planner", note)
    presets.by_name(game, "modelled_fdts", values="prospects", model="still", root="true", rival="closest")
    dynamics, guide = made.pop()
    states, seats = states_of(game, [1, 1, -1]), np.array([0, 1, 0], np.int32)

    @jax.jit
    def ends(keys):
        return guide.final_values(dynamics, None, dynamics.root(None, keys, states, seats), jnp.zeros((3, 2)))

    values = ends(jax.random.split(jax.random.key(0), 3))
    assert values.tolist() == [[0.5, -0.5], [0.25, -0.25], [0.5, -0.5]]


def ends_by_prospects(game, monkeypatch):
    """What the search by prospects in this game takes its last nodes for, with a guide and by a heuristic: its dynamics too."""
    made = []

    def note(dynamics, bandit, settings, guide):
        made.append((dynamics, guide))
        return memoryless("search", lambda *_: None)

    monkeypatch.setattr(presets, "tree_planner", note)
    presets.by_name(game, "modelled_fdts", values="prospects", model="still", root="true")
    return made.pop()


def test_what_is_promised_takes_the_place_of_a_heuristic_that_is_not_0(monkeypatch):
    """As in `fdts`, where a game says by prospects what all undecided positions are worth."""
    game = Rivalry(length=4)
    dynamics, guide = ends_by_prospects(game, monkeypatch)
    states, seats = states_of(game, [1, 1, 0, -1, 4, 4]), np.array([0, 1, 0, 0, 0, 1], np.int32)
    states = dataclasses.replace(states, terminated=np.abs(states.token) == 4)

    @jax.jit
    def ends(keys):
        nodes = dynamics.root(None, keys, states, seats)
        return guide.final_values(dynamics, None, nodes, dynamics.heuristic(nodes))[:, 0]

    assert ends(jax.random.split(jax.random.key(0), 6)).tolist() == [0.5, -0.5, 0, -0.5, 1, -1]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["ffa", "team"])
def test_in_pommerman_prospects_change_no_bit_by_that(mode, monkeypatch):
    """The heuristic of who is undecided is 0 there, so nothing was in the way of what is promised."""
    game, count = jaxgames.make("pommerman", mode), 24
    dynamics, guide = ends_by_prospects(game, monkeypatch)
    plain = dynamics_for(game, Models(model="still", root="true"), None, None, shared_answers=False, in_turn=False)
    keys, seats = jax.random.split(jax.random.key(0), count), jnp.arange(count) % 4

    @jax.jit
    def ends(states):
        nodes = dynamics.root(None, keys, states, seats)
        both = (guide.final_values(dynamics, None, nodes, each.heuristic(nodes)) for each in (dynamics, plain))
        return *both, dynamics.undecided(nodes)

    step, states = jax.jit(jax.vmap(game.step)), jax.jit(jax.vmap(game.init))(keys)
    seen = []
    for number in range(30):
        actions = jax.random.randint(jax.random.key(number), (count, 4), 0, 6)
        states = step(states, actions, keys)
        if number % 6 == 5:
            now, before, undecided = jax.device_get(ends(states))
            np.testing.assert_array_equal(now.view(np.uint32), before.view(np.uint32))
            seen.append(undecided)
    assert np.concatenate(seen).any() and not np.concatenate(seen).all()


def test_values_of_the_rival_are_the_opposite_of_the_own_seats():
    game = Tug(length=4)
    dynamics = two_player(game, steady_player(0), lambda state, seat: 1 - seat, shared_answers=True)
    turned, evaluate = valued_by_own_seat(dynamics, heuristic_values(game))
    states, seats = states_of(game, [1, 1, -1]), np.array([0, 1, 0], np.int32)

    @jax.jit
    def values(keys, player):
        nodes = turned.root(None, keys, states, seats)
        return turned.evaluate(evaluate, None, nodes, jnp.full(3, player), outputs=None)[1]

    own, rival = (values(jax.random.split(jax.random.key(0), 3), np.int32(player)) for player in (0, 1))
    assert own.tolist() == [0.25, -0.25, -0.25] and rival.tolist() == [-0.25, 0.25, 0.25]
