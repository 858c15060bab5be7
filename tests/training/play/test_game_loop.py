"""Lanes that wait for each other while their agents know what to do: fewer searches, the same games."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.agent import Agent, memoryless
from search import as_agent, puct
from search.puct.rollout import random_rollouts
from search.turns import evolution
from tests.hoard import Hoard
from tests.training.match_on_devices import as_lists
from tests.tug import Tug, random_player
from tests.waiting import Waiting, numbered
from training.play import evaluate
from training.play.game_loop import Loop, turns_of

KEY = jax.random.key(3)


def thinker(hints: bool) -> Agent:
    """Thinks once in three steps. Its memory: answers left, and its share of the rounds in which anybody thought."""

    def act(params, keys, memory, views, seats, active):
        del params, keys, views
        left, shares = memory
        thinks = active & (left == 0)
        left = jnp.where(thinks, 3, left)
        shares = shares + jnp.where(thinks, 1 / jnp.maximum(thinks.sum(), 1), 0)
        return (seats + left).astype(jnp.int32), (left - active, shares)

    return Agent(
        "thinker",
        lambda size: (jnp.zeros(size, jnp.int32), jnp.zeros(size)),
        lambda memory, lanes: (jnp.where(lanes, 0, memory[0]), memory[1]),
        act,
        ready=(lambda memory, views: memory[0] > 0) if hints else None,
    )


def one_thinker(hints: bool) -> list[Agent]:
    return [thinker(hints), *[numbered(1)] * 3]


def four_thinkers(hints: bool) -> list[Agent]:
    """Two of them the same object."""
    three = [thinker(hints) for _ in range(3)]
    return [*three, three[0]]


@pytest.mark.slow
@pytest.mark.parametrize("agents", [one_thinker, four_thinkers])
def test_those_who_think_wait_for_each_other(agents):
    games = {
        (hints, batch_size): evaluate.play(Waiting(), agents(hints), KEY, 200, batch_size=batch_size, record=200)
        for hints, batch_size in ((False, 16), (True, 16), (True, 3))
    }
    for played in games.values():
        assert as_lists(played) == as_lists(games[False, 16])
    rounds = {which: np.asarray(played.memories[0][1]).sum() for which, played in games.items()}
    assert 1 < rounds[True, 16] < 0.7 * rounds[False, 16]


def test_waiting_changes_no_game_with_chance():
    games = [
        evaluate.play(Tug(slips=True), [thinker(hints), random_player()], KEY, 20, batch_size=4, record=2) for hints in (0, 1)
    ]
    assert as_lists(games[0]) == as_lists(games[1])
    states = evaluate.replay(Tug(slips=True), KEY, 1, games[1])
    assert states.terminated[-1] and not states.terminated[:-1].any()


@pytest.mark.slow
@pytest.mark.parametrize(("chosen", "came"), [(jnp.full(2, 1.7), r"float32 \[2\]"), (jnp.int32(1), r"int32 \[\]")])
def test_an_agent_that_chooses_no_actions_is_told(chosen, came):
    agent = Agent("plain", lambda size: (), lambda memory, lanes: memory, lambda *given: (chosen, given[2]))
    with pytest.raises(ValueError, match=rf"^agent='plain': chose {came}, must be integers \[2\], an action for each game(\n|$)"):
        evaluate.play(Tug(), [agent, random_player()], jax.random.key(0), 2, batch_size=2)


@pytest.mark.slow  # to compile
def test_two_search_trees_in_one_match():
    """They are computations of their own, which the compiler must not join; apart they play as one for both does."""
    game = jaxgames.make("hex", "hex-2")

    def planner():
        return puct.puct(game, random_rollouts(game), puct.Settings(num_simulations=3, temperature=1.0))

    one = planner()
    games = [evaluate.play(game, pair, KEY, 12, batch_size=4, record=12) for pair in ([one, one], [one, planner()])]
    assert as_lists(games[0]) == as_lists(games[1])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["oep", "rolling horizon", "oep with its metrics"])
def test_waiting_for_planners_of_turns(name):
    """They say themselves where they are ready; without, the same games come out."""
    game, settings = Hoard(), evolution.Settings(num_generations=2, population=8)
    planner = evolution.rolling_horizon(game, settings) if name == "rolling horizon" else evolution.oep(game, settings)
    agent = as_agent(planner, keep_metrics="metrics" in name)
    other = memoryless("takes nothing", lambda params, keys, views, seats: jnp.full(keys.shape[0], game.end_turn))
    games = [
        evaluate.play(game, [player, other], KEY, 8, batch_size=size, seating="rotated", record=8)
        for player, size in ((agent, 8), (agent._replace(ready=None), 3))
    ]
    assert as_lists(games[1]) == as_lists(games[0])
    assert (games[0].outcomes[:, 0] > 0).all()


def test_partners_stay_partners_wherever_they_sit():
    assert turns_of((0, 1, 0, 1)) == [0, 1, 2, 3] and turns_of((0, 0, 2, 2)) == [0, 2] and turns_of((0, 1)) == [0, 1]
    loop = Loop(jaxgames.make("pommerman", "team"), (), 64, 1, 64, 64, 0, "drawn")
    seats = np.asarray(jax.jit(loop._seats)(KEY, np.arange(64)))
    assert {tuple(row) for row in seats.tolist()} == {(0, 1, 2, 3), (1, 2, 3, 0), (2, 3, 0, 1), (3, 0, 1, 2)}
