"""Games that are learnt from: what is remembered of how they ended, and for whom they ended when."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.agent import memoryless
from tests.fading import LEAVE, STAY, Fading
from tests.signals import Signals
from training.learn.self_play import LONGEST, UNFINISHED, SelfPlay
from training.learn.targets import Targets
from training.play.lanes import Pool

KEY = jax.random.key(2)


def test_games_that_begin_in_place_of_those_given_up_are_not_over():
    """Where their results go, there may be those of games long ago."""
    games = SelfPlay(Pool(Signals(), 3), Targets(None), remembered=4)

    @jax.jit
    def restarted(key):
        now = games.start(key, jnp.int32(0))
        return games.restart(key, dataclasses.replace(now, results=jnp.full_like(now.results, 7)))

    now = restarted(KEY)
    assert now.lanes.number.tolist() == [3, 4, 5]
    assert (np.asarray(now.results)[:, 0] == [UNFINISHED + 1, UNFINISHED + 1, 7, UNFINISHED + 1]).all()


def test_games_longer_than_a_result_counts_are_refused():
    assert SelfPlay(Pool(Signals(max_steps=LONGEST), 3), Targets(None), remembered=4).rows
    assert jnp.iinfo(jnp.int16).max == UNFINISHED + 1 + 4 * LONGEST
    with pytest.raises(ValueError, match=r"^max_steps=8192: must be <= 8191 in games that are learnt from$"):
        SelfPlay(Pool(Signals(max_steps=LONGEST + 1), 3), Targets(None), remembered=4)


class Judged(Fading):
    """Who is out has lost, but for the last seat: of that nothing is known before the end."""

    def outcome(self, state):
        alone = state.terminated & (state.there.sum() == 1)
        return jnp.where(alone, jnp.where(state.there, 1.0, -1.0), 0.0)

    def heuristic(self, state):
        return jnp.where(state.there, 0.0, jnp.array([-1.0, -1.0, 0.0]))


def test_a_game_ends_for_a_learner_who_is_out_and_knows_its_result():
    still = memoryless("still", lambda params, keys, views, seats: jnp.full(len(seats), STAY), sees_state=True)
    games = SelfPlay(Pool(Judged(), 3), Targets(None), remembered=8, partner=still)

    @jax.jit
    def advance(now, actions):
        return games._advance(KEY, jax.random.split(KEY, 3), now, (), actions, now.lanes.number % 3)

    now, ended, _ = advance(jax.jit(games.start)(KEY, np.int32(0)), np.where(np.eye(3) > 0, LEAVE, STAY))  # each learner leaves
    assert ended.tolist() == [True, True, False]
    now, ended, _ = advance(now, np.where(np.arange(9).reshape(3, 3) == 6, LEAVE, STAY))
    assert ended.tolist() == [False, False, True] and now.lanes.number.tolist() == [3, 4, 5]
    results = np.asarray(now.results[:3])
    assert (results % 4 - 1).tolist() == [[-1, 0, 0], [0, -1, 0], [-1, 1, 0]]
    assert (results // 4).tolist() == [[1, 1, 1], [1, 1, 1], [2, 2, 1]]


class Paired(Judged):
    """The first and the last are a team."""

    value_when_out = 0.0
    possible_arms = closest_enemy = endless = None

    def are_enemies(self, seat, other):
        return seat % 2 != other % 2


@pytest.mark.parametrize(("game", "results"), [(Judged, [-1, 0, 0]), (Paired, [0, 0, 0])])
def test_who_was_out_when_nobody_wins_has_lost_but_for_members_of_a_team(game, results):
    games = SelfPlay(Pool(game(max_steps=2), 1), Targets(None), remembered=4)

    @jax.jit
    def advance(now, actions):
        return games._advance(KEY, jax.random.split(KEY, 1), now, (), actions, now.lanes.number)

    now, ended, _ = advance(jax.jit(games.start)(KEY, np.int32(0)), np.array([[LEAVE, STAY, STAY]]))
    assert not ended.any()
    now, ended, _ = advance(now, np.full((1, 3), STAY))
    assert ended.all() and (np.asarray(now.results[0]) % 4 - 1).tolist() == results
