"""Playing whole games: how many, by whom, from where, and that nothing depends on batch or devices."""

import json
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxgames import runtime
from jaxgames.agent import Agent
from search import mcs
from tests.processes import output_of
from tests.training import match_on_devices
from tests.tug import PULL, REST, Tug, random_player, steady_player
from tests.waiting import Waiting, numbered
from training.play import evaluate

KEY = jax.random.key(3)


@pytest.fixture(scope="module")
def waited():
    one, other = numbered(1), numbered(5)
    return evaluate.play(Waiting(), [other, one, one, one], KEY, 1000, batch_size=64, record=1000)


@pytest.fixture(scope="module")
def tugged():
    return match_on_devices.play(8)


def starts(game, count):
    """Start states of the first games, from their keys."""

    @jax.jit
    @jax.vmap
    def start(index):
        return game.init(jax.random.fold_in(jax.random.fold_in(KEY, index), 0))

    return jax.device_get(start(np.arange(count)))


def test_every_game_is_played_to_its_end(waited):
    """Lengths, outcomes and survivors are known from the start states alone."""
    out_at = starts(Waiting(), 1000).out_at
    ordered = np.sort(out_at, axis=1)
    np.testing.assert_array_equal(waited.lengths, ordered[:, -2])
    np.testing.assert_array_equal(np.sort(waited.seats, axis=1), np.tile(np.arange(4), (1000, 1)))
    of_agents = np.take_along_axis(out_at, waited.seats.astype(int), axis=1)
    last = of_agents > ordered[:, -2:-1]
    np.testing.assert_array_equal(waited.outcomes, np.where(last.any(1, keepdims=True), np.where(last, 1, -1), 0))
    np.testing.assert_array_equal(waited.survived, of_agents >= ordered[:, -2:-1])
    # Everybody is asked at every step that begins before it drops out.
    np.testing.assert_array_equal(waited.moves, np.minimum(of_agents, waited.lengths[:, None]).sum(0))
    assert (waited.outcomes == 0).all(1).any() and (waited.outcomes > 0).any()


def test_who_is_out_passes(waited):
    out_at = starts(Waiting(), 1000).out_at
    step = np.arange(8)[None, :, None]
    expected = np.zeros((1000, 8, 4), int)
    for agent, number in enumerate((5, 1, 1, 1)):
        seat = waited.seats[:, agent].astype(int)
        expected[np.arange(1000), :, seat] = (seat + number)[:, None]
    expected = np.where(step < out_at[:, None], expected, 0)
    expected = np.where(step < waited.lengths[:, None, None], expected, -1)
    np.testing.assert_array_equal(waited.actions, expected)


def test_seats_are_drawn_uniformly(waited):
    orders = np.unique(waited.seats, axis=0, return_counts=True)[1]
    assert len(orders) == 24
    assert stats.chisquare(orders).pvalue > 1e-4
    # And without regard to the game that was drawn.
    first = starts(Waiting(), 1000).out_at[:, 0] > 4
    seat_by_start = [np.bincount(waited.seats[first == part, 0], minlength=4) for part in (True, False)]
    assert stats.chi2_contingency(seat_by_start).pvalue > 1e-4


def test_a_lane_that_is_refilled_begins_anew(waited):
    """What the agents remember is of their last game: at most its length, and nothing of those before it."""
    memories = [np.asarray(memory) for memory in waited.memories]  # equal agents are asked together
    assert [memory.shape for memory in memories] == [(64,), (3 * 64,)]
    assert all((memory <= 7).all() for memory in memories) and waited.moves[0] > 64 * 7


@pytest.mark.slow  # to compile; of games in which something is hidden it is shown below
def test_batch_size_does_not_matter(tugged):
    """Also for a planner whose table overflows; given as it is, it plays the same."""
    other = match_on_devices.play(3, as_it_is=True)
    assert match_on_devices.as_lists(other) == match_on_devices.as_lists(tugged)
    assert tugged.memories[0].evicted.shape == (8,)


@pytest.mark.parametrize("devices", [pytest.param(number, marks=pytest.mark.slow) for number in (2, 4)])
def test_number_of_devices_does_not_matter(devices, tugged):
    printed = output_of(f"from tests.training.match_on_devices import main; main({devices})")
    count, games, few, later = json.loads(printed)
    assert count == devices
    assert games == match_on_devices.as_lists(tugged)
    for name, values in few.items():  # fewer games than devices: the same ones
        if name != "moves":
            assert values == games[name][:3]
            assert later[name] == games[name][match_on_devices.LATER :]


@pytest.mark.slow  # to compile; in the middle of a start it is shown below
def test_a_match_can_go_on_later(tugged):
    """The games are those that follow, with their seats, recordings and random numbers."""
    later = match_on_devices.play_later(batch_size=3)
    first = match_on_devices.LATER
    for name in ("outcomes", "survived", "seats", "lengths", "actions"):
        np.testing.assert_array_equal(getattr(later, name), getattr(tugged, name)[first:], name)
    states = evaluate.replay(match_on_devices.GAME, KEY, 2, later)
    expected = evaluate.replay(match_on_devices.GAME, KEY, first + 2, tugged)
    jax.tree.map(np.testing.assert_array_equal, states, expected)


@pytest.mark.slow  # to compile
def test_the_planner_beats_random_play(tugged):
    outcomes = tugged.outcomes
    assert outcomes.shape == (match_on_devices.NUM_GAMES, 2)
    np.testing.assert_array_equal(outcomes.sum(1), 0)
    assert (outcomes[:, 0] > 0).sum() > 2 * (outcomes[:, 0] < 0).sum()
    np.testing.assert_array_equal(tugged.moves, tugged.lengths.sum())


@pytest.fixture(scope="module")
def pulled():
    """Games between who pulls and who rests, some of them recorded, and what was told on the way."""
    told, agents = [], [steady_player(PULL), steady_player(REST)]
    how = {"batch_size": 4, "seating": "fixed", "record": 8, "report": told.append}
    return evaluate.play(Tug(slips=True), agents, KEY, 20, **how), told


@pytest.mark.parametrize("index", [0, 7])
def test_recorded_games_replay_to_their_outcome(index, pulled):
    """With the same slips, which are drawn again from the key."""
    game, games = Tug(slips=True), pulled[0]
    states = evaluate.replay(game, KEY, index, games)
    length = games.lengths[index]
    assert len(states.terminated) == length + 1
    np.testing.assert_array_equal(states.terminated, np.arange(length + 1) == length)
    np.testing.assert_array_equal(states.step_count, np.arange(length + 1))
    last = jax.tree.map(lambda leaf: np.asarray(leaf)[-1], states)
    np.testing.assert_array_equal(np.asarray(game.outcome(last))[games.seats[index]], games.outcomes[index])
    assert (games.actions[index, :length] >= 0).all() and (games.actions[index, length:] == -1).all()


def test_fixed_seats_a_short_recording_and_reports(pulled):
    games, told = pulled
    np.testing.assert_array_equal(games.seats, np.tile([0, 1], (20, 1)))
    assert games.actions.shape == (8, 12, 2)
    for index in range(8):
        assert (games.actions[index, : games.lengths[index]] == [PULL, REST]).all()
    assert [progress.games for progress in told] == sorted(progress.games for progress in told)
    last = told[-1]
    won, drawn = (games.outcomes[:, 0] > 0).sum(), (games.outcomes == 0).all(1).sum()
    assert (last.games, last.wins, last.draws, last.losses, last.moves) == (20, won, drawn, 20 - won - drawn, games.moves[0])


def test_there_are_no_more_lanes_than_games_and_different_agents_are_asked_apart():
    games = evaluate.play(Tug(), [random_player(), random_player()], KEY, 3, batch_size=100, mesh=runtime.data_mesh())
    assert [memory.shape for memory in games.memories] == [(3, 2), (3, 2)]
    # Nothing is recorded where this is not asked for.
    assert games.outcomes.shape == (3, 2) and games.actions.shape == (0, 12, 2)
    with pytest.raises(ValueError, match="index=0: must be below the 0 recorded games"):
        evaluate.replay(Tug(), KEY, 0, games)


@pytest.mark.parametrize(
    ("agents", "num_games", "settings", "message"),
    [
        (1, 5, {}, "1 agents: tug has 2 players"),
        (3, 5, {}, "3 agents: tug has 2 players"),
        (2, 0, {}, "num_games=0: must be >= 1"),
        (2, -1, {}, "num_games=-1: must be >= 1"),
        (2, 5, {"batch_size": 0}, "batch_size=0: must be >= 1"),
        (2, 5, {"record": -1}, "record=-1: must be >= 0"),
        (2, 5, {"first": -1}, "first=-1: must be >= 0"),
        (2, 5, {"common": 0}, "common=0: must be >= 1"),
        (2, 5.0, {}, r"num_games=5\.0: must be a whole number"),
        (2, 5, {"batch_size": 4.0}, r"batch_size=4\.0: must be a whole number"),
    ],
)
def test_wrong_arguments(agents, num_games, settings, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        evaluate.play(Tug(), [steady_player(REST)] * agents, KEY, num_games, **settings)


def test_what_is_no_agent_no_key_and_no_game():
    one = steady_player(REST)
    for agents, told in (
        (["random", one], "agent='random': must be an agent or a planner, "),
        (one, "must be a list, one for each"),
    ):
        with pytest.raises(ValueError, match=told):
            evaluate.play(Tug(), agents, KEY, 4)
    for key in (0, jax.random.split(KEY, 2), np.zeros(2, np.uint32)):
        with pytest.raises(ValueError, match="must be one typed random key"):
            evaluate.play(Tug(), [one, one], key, 4)
    with pytest.raises(ValueError, match="game='tug': must be a game"):
        evaluate.play("tug", [one, one], KEY, 4)


@pytest.mark.slow
def test_other_parameters_of_the_same_agents_compile_nothing():
    """And it is they that play."""
    traced = []

    def act(params, keys, memory, views, seats, active):
        del keys, views, seats, active
        traced.append(True)
        return jnp.full_like(memory, params["action"]), memory

    agent = Agent("learner", lambda size: jnp.zeros(size, jnp.int32), lambda memory, lanes: memory, act)
    opponent = steady_player(REST)

    def play(number, num_games=5):
        players = [agent._replace(params={"action": jnp.int32(number)}), opponent]
        games = evaluate.play(Tug(), players, KEY, num_games, batch_size=4, seating="fixed", record=1)
        return games.actions[0, : games.lengths[0]]

    won = play(PULL)
    np.testing.assert_array_equal(won, [[PULL, REST]] * len(won))
    times = len(traced)
    np.testing.assert_array_equal(play(REST), [[REST, REST]] * 12)
    assert times == len(traced) > 0
    play(PULL, num_games=6)
    assert len(traced) > times, "another loop"


def test_playing_again_with_the_same_planner_compiles_nothing():
    """Planners are given as they are, and each call makes agents of them."""
    traced = []
    flat = mcs(Tug(), num_simulations=4, horizon=4)

    def plan(*arguments):
        traced.append(True)
        return flat.plan(*arguments)

    players = [flat._replace(plan=plan), steady_player(REST)]
    first = evaluate.play(Tug(), players, KEY, 5, batch_size=4)
    times = len(traced)
    again = evaluate.play(Tug(), players, KEY, 5, batch_size=4)
    assert times == len(traced) > 0
    np.testing.assert_array_equal(first.outcomes, again.outcomes)
    players[0] = flat._replace(value_range=[0.0, 1.0])  # which cannot be looked up
    np.testing.assert_array_equal(evaluate.play(Tug(), players, KEY, 5, batch_size=4).outcomes, first.outcomes)


FOUR = [numbered(number) for number in range(4)]


@pytest.fixture(scope="module")
def rotated():
    return evaluate.play(Waiting(), FOUR, KEY, 16, batch_size=3, seating="rotated", record=16)


def test_each_start_is_played_from_all_seats_in_turn(rotated):
    """By four players, with fewer lanes than games."""
    games = rotated
    np.testing.assert_array_equal(games.seats, (np.arange(4) + np.arange(16)[:, None]) % 4)
    starts = np.stack([np.asarray(evaluate.replay(Waiting(), KEY, index, games).out_at)[0] for index in range(16)])
    np.testing.assert_array_equal(starts, starts[::4].repeat(4, 0))
    assert len(np.unique(starts, axis=0)) == 4
    np.testing.assert_array_equal(games.lengths, np.sort(starts, axis=1)[:, -2])  # these are the games that were played


@pytest.mark.slow  # to compile
def test_games_from_one_start_go_different_ways():
    """What is drawn later is not the same."""
    slips = Tug(slips=True)
    pulls = steady_player(PULL)
    twice = evaluate.play(slips, [pulls, pulls], KEY, 40, batch_size=7, seating="rotated", record=40)
    assert (twice.lengths[::2] != twice.lengths[1::2]).any()
    for index in (0, 1, 38, 39):
        last = jax.tree.map(lambda leaf: np.asarray(leaf)[-1], evaluate.replay(slips, KEY, index, twice))
        np.testing.assert_array_equal(np.asarray(slips.outcome(last))[twice.seats[index]], twice.outcomes[index])


def test_a_match_goes_on_in_the_middle_of_a_start(rotated):
    """Game 5 of four seatings each has the start of game 4; what is told while it is played begins with it."""
    whole, seen = rotated, []
    later = evaluate.play(Waiting(), FOUR, KEY, 11, batch_size=3, seating="rotated", record=4, first=5, watch=seen.append)
    for name in ("outcomes", "seats", "lengths"):
        np.testing.assert_array_equal(getattr(later, name), getattr(whole, name)[5:])
    np.testing.assert_array_equal(later.actions, whole.actions[5:9])
    for index in (0, 3):
        states = [evaluate.replay(Waiting(), KEY, *which) for which in ((index, later), (5 + index, whole))]
        jax.tree.map(np.testing.assert_array_equal, *states)
    assert [watched.first for watched in seen] == [5] * len(seen)
    for watched in seen:
        begun = watched.seats[:, 0] >= 0
        np.testing.assert_array_equal(watched.seats[begun], whole.seats[5:9][begun])
    np.testing.assert_array_equal(seen[-1].seats, whole.seats[5:9])


def test_a_seating_that_does_not_exist():
    with pytest.raises(ValueError, match=r"^seating='round': must be one of drawn, fixed, rotated$"):
        evaluate.play(Tug(), [steady_player(REST)] * 2, KEY, 2, seating="round")


class FromTheWall(NamedTuple):
    """Starts one cell from an end: games with odd numbers near the first player's, others near the second's."""

    game: Tug

    def __call__(self, key, number):
        del key
        return self.game.state(jnp.where(number % 2 == 1, 2, -2))


def test_games_with_starts_and_numbers_in_common_replay_to_their_outcome():
    game = Tug(length=3, slips=True)
    agents, how = [steady_player(PULL), random_player()], {"start_of": FromTheWall(game), "common": 4, "first": 5}
    games = evaluate.play(game, agents, KEY, 12, batch_size=4, seating="fixed", record=12, **how)
    for index in range(12):
        states = evaluate.replay(game, KEY, index, games)
        assert states.token[0] == (2 if index % 2 == 0 else -2) and len(states.token) == games.lengths[index] + 1
        last = jax.tree.map(lambda leaf: np.asarray(leaf)[-1], states)
        assert last.terminated and np.array_equal(game.outcome(last), games.outcomes[index])


@pytest.mark.parametrize(
    ("game", "record", "message"),
    [
        (Tug(max_steps=33_000), 0, "game='tug': has max_steps=33000, and games are kept with numbers up to 32767"),
        (Tug(num_actions=40_000), 1, "game='tug': has num_actions=40000, and games are kept with numbers up to 32767"),
    ],
)
def test_games_that_cannot_be_kept_are_refused(game, record, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        evaluate.play(game, [steady_player(REST)] * 2, KEY, 2, record=record)
