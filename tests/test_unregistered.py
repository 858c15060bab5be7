"""What is there for a game of one's own that is in no register: what needs nothing but the game."""

import dataclasses

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames.game import GameBase
from search import mcs, presets
from search.opponents import single_player
from tests.tug import REST, Tug, states_of, steady_player
from training.play import agents, evaluate

TUG = Tug()
MODELLED = ("sp_mcts", "tp_mcts", "modelled_fdts", "modelled_mcts")


@dataclasses.dataclass(frozen=True)
class Unseen(GameBase):
    """A game without pictures."""

    name: str = "unseen"


def test_agents_by_name():
    assert set(agents.names_of(TUG)) == {"random", *presets.planners_of(TUG)}
    for name in agents.names_of(TUG):
        spec = f"{name}:root=true" if name in MODELLED else name  # nothing is believed where nobody says what players know
        assert agents.make(spec, TUG).name == spec
    with pytest.raises(ValueError, match=r"^agent='simple': must be one of random, .*, in this variant of tug, or python:FILE"):
        agents.make("simple", TUG)


def test_models_by_name():
    with pytest.raises(ValueError, match=r"^model='simple': must be one of random, still, network"):
        presets.by_name(TUG, "modelled_mcts", model="simple", root="true")
    assert presets.by_name(TUG, "modelled_mcts", model="still", root="true").name


def test_words_are_numbers():
    assert jaxgames.in_words(TUG, TUG.init(jax.random.key(0)), 2, seat=0) == "action 2"


def test_pictures_are_missing_in_one_line():
    for draw in (Unseen().draw, Unseen().animate):
        with pytest.raises(ValueError, match=r"^game='unseen': has no pictures$"):
            draw(None)


def test_a_search_against_a_model_that_has_no_weights_plays_as_it_is():
    planner = mcs(single_player(TUG, steady_player(REST)), num_simulations=40, horizon=6)
    given = (
        jax.random.split(jax.random.key(0), 2),
        planner.init(2),
        states_of(TUG, [0, 1]),
        np.zeros(2, np.int32),
        np.ones(2, bool),
    )
    plans = [jax.jit(planner.plan)(params, *given)[0].root_value for params in (None, {"own": None, "opponents": None})]
    np.testing.assert_array_equal(*plans)
    np.testing.assert_array_equal(jax.jit(lambda: planner.plan(None, *given)[0].root_value)(), plans[0])  # views are of numpy
    counts = evaluate.play(TUG, [planner, steady_player(REST)], jax.random.key(0), 2, batch_size=2).outcomes
    assert (np.asarray(counts)[:, 0] == 1).all(), "who pulls wins against one who rests"
