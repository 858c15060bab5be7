"""FDTS against the plain reference and on its own: batches, waves, resets, the ends of games, full tables, and what it finds."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from search import fdts, mcs, mcts, presets
from search.bandit import makers
from search.bandit.settings import Settings
from search.dynamics import dynamics_of
from tests.search.reference import assert_like_reference, compiled, make
from tests.tug import ARMS, PULL, REST, SHOUT, Tug, states_of, step_all

CYCLES = Tug(slips=True)  # three states that come back all the time, and chance
MANY = Tug(marks=10**6, slips=True, max_steps=40, length=3)  # hardly a state comes back
BATCH = 4
TOKENS = (0, 1, 0, -1)
SIMULATIONS, HORIZON = 16, 6
SIZE = {"num_simulations": SIMULATIONS, "horizon": HORIZON}
TINY = {"table_rows": 4, "leaf_parallelism": 4}  # of a table, and waves that fill it


def keys_of(seed, count=BATCH):
    return jax.random.split(jax.random.key(seed), count)


def yes(count=BATCH):
    return np.ones(count, bool)


def advance(game, states, plan, seed):
    return step_all(game, states, plan.actions, keys_of(seed, len(states.terminated)))


def assert_finite(plan):
    jax.tree.map(lambda leaf: np.testing.assert_array_equal(np.isfinite(leaf), True), plan)


@pytest.fixture
def planner():
    return make(CYCLES, "fdts", **SIZE)


@pytest.fixture
def states():
    return states_of(CYCLES, TOKENS)


@pytest.mark.parametrize("bandit", ["ts", pytest.param("ucb", marks=pytest.mark.slow)])
def test_like_reference(bandit, states):
    assert_like_reference(CYCLES, "fdts", bandit, states, moves=3, **SIZE)


@pytest.mark.slow
def test_like_reference_where_no_state_comes_back():
    assert_like_reference(MANY, "fdts", "ts", states_of(MANY, [0, 2, -1, 0]), moves=3, **SIZE)


def test_waves_like_reference():
    """Four walks of a wave open the same rows: what all of them found must be there."""
    assert_like_reference(MANY, "fdts", "ts", states_of(MANY, [0, 2, -1, 0]), moves=3, leaf_parallelism=4, **SIZE)


def test_form_of_a_plan(planner, states):
    plan, _ = compiled(planner)(keys_of(0), planner.init(BATCH), states, yes())
    forms = {
        "actions": ((BATCH, 2), np.int32),
        "arms": ((BATCH, 2, 3), np.int32),
        "qvalues": ((BATCH, 2, 3), np.float32),
        "visit_counts": ((BATCH, 2, 3), np.int32),
        "action_weights": ((BATCH, 2, 3), np.float32),
        "root_value": ((BATCH, 2), np.float32),
    }
    assert {name: (getattr(plan, name).shape, getattr(plan, name).dtype) for name in forms} == forms
    assert {"met", "known", "evicted", "stored"} <= set(plan.metrics)
    np.testing.assert_array_equal(plan.arms, np.tile(ARMS, (BATCH, 1, 1)))
    np.testing.assert_allclose(plan.action_weights.sum(-1), 1, rtol=1e-6)


def test_a_single_legal_arm(planner, states):
    """With the back to the wall a player may only pull."""
    plan, _ = compiled(planner)(keys_of(0), planner.init(BATCH), states, yes())
    assert plan.actions[1, 1] == PULL and plan.actions[3, 0] == PULL
    np.testing.assert_array_equal(plan.visit_counts[1, 1], [0, 0, plan.visit_counts[1, 0].sum()])
    np.testing.assert_array_equal(plan.qvalues[1, 1, :2], -1)
    np.testing.assert_array_equal(plan.action_weights[1, 1], [0, 0, 1])
    assert_finite(plan)


@dataclasses.dataclass(frozen=True)
class Solo:
    """The tug of war for one: player 0 alone, against nobody. Three words of statistics per state, as many as a key takes."""

    tug: Tug = Tug(max_steps=8)
    name: str = "solo"
    num_players: int = 1
    num_actions: int = 3
    num_arms: int = 3
    pass_action: int = REST

    def init(self, key):
        return self.tug.init(key)

    def to_play(self, state):
        return self.tug.to_play(state)

    def in_play(self, state):
        return self.tug.in_play(state)[:1]

    def outcome(self, state):
        return self.tug.outcome(state)[:1]

    def step(self, state, actions, key):
        return self.tug.step(state, jnp.concatenate([actions, jnp.array([REST])]), key)

    def heuristic(self, state):
        return self.tug.heuristic(state)[:1]

    def state_key(self, state):
        return self.tug.state_key(state)

    def search_arms(self, state):
        return jax.tree.map(lambda leaf: leaf[:1], self.tug.search_arms(state))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fdts", "mcts", "mcts_no_rollout"])
def test_one_player_with_three_arms(kind):
    planner, states = make(Solo(), kind, num_simulations=200, horizon=8), states_of(Solo().tug, [0, 1, 0, -1])
    assert planner.memory_bytes == 2**12 * 4 * (3 + 4)
    plan, _ = compiled(planner)(keys_of(0), planner.init(BATCH), states, yes())
    np.testing.assert_array_equal(plan.actions[:, 0], PULL)
    assert (plan.visit_counts.sum((1, 2)) >= 200).all()


def test_inactive_lanes_keep_their_memory(planner, states):
    _, memory = compiled(planner)(keys_of(0), planner.init(BATCH), states, yes())
    _, after = compiled(planner)(keys_of(1), memory, states, np.arange(BATCH) == 1)
    rows = np.arange(len(memory.keys)) // memory.num_rows
    for name, lanes in {"keys": rows, "words": rows, "clock": None, "started": None, "evicted": None, "stored": None}.items():
        kept = (np.arange(BATCH) if lanes is None else lanes) != 1
        old, new = np.asarray(getattr(memory, name)), np.asarray(getattr(after, name))
        np.testing.assert_array_equal(old[kept], new[kept])
    assert (np.asarray(memory.words) != np.asarray(after.words)).any()


def test_nothing_to_plan(planner, states):
    """With all lanes at rest, or at a terminal root, the memory stays and nothing is NaN."""
    _, memory = compiled(planner)(keys_of(0), planner.init(BATCH), states, yes())
    ended = dataclasses.replace(states, token=np.array([2, -2, 0, 2], np.int32), terminated=yes())
    for views, active in ((states, ~yes()), (ended, yes())):
        plan, after = compiled(planner)(keys_of(1), memory, views, active)
        assert_finite(plan)
        assert ((plan.actions >= 0) & (plan.actions < 3)).all()
        for name in ("keys", "words", "stored", "evicted"):
            np.testing.assert_array_equal(getattr(memory, name), getattr(after, name))


def test_reset_forgets_one_lane(planner):
    states, keys = states_of(CYCLES, [0, 0, 1, 0]), keys_of(7)
    fresh, _ = compiled(planner)(keys, planner.init(BATCH), states, yes())
    memory = planner.init(BATCH)
    for move in range(3):
        _, memory = compiled(planner)(keys_of(move), memory, states, yes())
    memory = jax.jit(planner.reset)(memory, np.array([True, False, True, False]))
    again, _ = compiled(planner)(keys, memory, states, yes())
    for lane in range(BATCH):
        equal = jax.tree.map(lambda a, b, lane=lane: bool((a[lane] == b[lane]).all()), again, fresh)
        assert jax.tree.all(equal) == (lane in (0, 2))
    assert again.visit_counts[1].sum() > 3 * fresh.visit_counts[1].sum()


@pytest.fixture
def crowded():
    """More states than rows."""
    return make(MANY, "fdts", num_simulations=32, horizon=HORIZON, table_rows=16)


@pytest.mark.slow
def test_after_a_reset_a_full_table_plays_as_a_new_one(crowded):
    states = states_of(MANY, [0, 1])
    fresh, used = crowded.init(2), crowded.init(2)
    for move in range(2):
        _, used = compiled(crowded)(keys_of(move, 2), used, states, yes(2))
    assert np.asarray(used.evicted > 0).all()
    used = jax.jit(crowded.reset)(used, yes(2))
    for move in range(2, 4):
        plan_fresh, fresh = compiled(crowded)(keys_of(move, 2), fresh, states, yes(2))
        plan_used, used = compiled(crowded)(keys_of(move, 2), used, states, yes(2))
        jax.tree.map(np.testing.assert_array_equal, plan_fresh, plan_used)
    assert np.asarray(used.evicted > 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [{"table_rows": 16}, TINY], ids=["crowded", "tiny"])
def test_a_full_table_still_works(sizes):
    """Also one so small that a wave pushes out what it has just opened."""
    planner = make(MANY, "fdts", num_simulations=32, horizon=HORIZON, **sizes)
    memory, states = planner.init(2), states_of(MANY, [0, 1])
    for move in range(3):
        plan, memory = compiled(planner)(keys_of(move, 2), memory, states, yes(2))
        assert_finite(plan)
        assert (plan.visit_counts >= 0).all() and (plan.visit_counts.sum(-1) <= 32 * (move + 1)).all()
        assert (np.asarray(plan.qvalues)[plan.action_weights > 0] > 0).all() and (plan.qvalues <= 1).all()
        assert (plan.metrics["evicted"] > 0).all()
        assert (plan.metrics["stored"] - plan.metrics["evicted"] <= sizes["table_rows"]).all()
        np.testing.assert_array_equal(plan.metrics["met"][:, 0], 32)
        states = advance(MANY, states, plan, move)


SMALL = Tug(length=4, marks=2, slips=True)  # fourteen states, some of which come back within a simulation


@pytest.mark.parametrize("leaf_parallelism", [pytest.param(1, marks=pytest.mark.slow), 4])
def test_a_full_table_loses_nothing_of_the_root(leaf_parallelism):
    """Not to what is visited below it, also where a simulation comes back to it; nor what was known of it before the plan."""
    planner = make(SMALL, "fdts", **SIZE, table_rows=4, leaf_parallelism=leaf_parallelism)
    memory = planner.init(BATCH)
    for times, token in ((1, 0), (2, 0), (3, 0), (1, 2)):
        plan, memory = compiled(planner)(keys_of(times), memory, states_of(SMALL, [token] * BATCH), yes())
        assert (plan.visit_counts.sum(-1) >= times * SIMULATIONS).all()
        assert (plan.metrics["evicted"] > 0).all()
        stamps = np.asarray(memory.keys[:, 2]).reshape(BATCH, -1)
        assert (stamps < memory.clock[:, None]).all(), "roots of before give way like all others"


@pytest.mark.parametrize("leaf_parallelism", [pytest.param(1, marks=pytest.mark.slow), 4])
def test_statistics_add_up(leaf_parallelism):
    """In a game where no state comes back within a simulation, and with room for all of them."""
    planner = make(MANY, "fdts", leaf_parallelism=leaf_parallelism, **SIZE)
    plan, memory = compiled(planner)(keys_of(0), planner.init(BATCH), states_of(MANY, [0, 0, 1, -1]), yes())
    np.testing.assert_array_equal(plan.visit_counts.sum(-1), SIMULATIONS)
    met, known = np.asarray(plan.metrics["met"]), np.asarray(plan.metrics["known"])
    np.testing.assert_array_equal(met[:, 0], SIMULATIONS)
    np.testing.assert_array_equal(known[:, 0], SIMULATIONS - leaf_parallelism)  # the root is new to the first wave
    assert (np.diff(met, axis=1) <= 0).all() and (known <= met).all() and (known >= 0).all()
    np.testing.assert_array_equal(plan.metrics["evicted"], 0)
    if leaf_parallelism == 1:  # whatever was not known was stored
        np.testing.assert_array_equal(plan.metrics["stored"], (met - known).sum(1))
    np.testing.assert_array_equal(memory.stored, plan.metrics["stored"])


@functools.cache
def thrifty(kind):
    """The plan of a search that takes six simulations per arm, and rests where there is one."""
    planner = make(CYCLES, kind, simulations_per_arm=6, rest_when_forced=True, microbatch_size=2, **SIZE)
    return compiled(planner)(keys_of(0), planner.init(BATCH), states_of(CYCLES, TOKENS), yes())[0]


FDTS_AND_SLOW = pytest.mark.parametrize("kind", ["fdts", pytest.param("mcs", marks=pytest.mark.slow)])


@FDTS_AND_SLOW
@pytest.mark.parametrize(("number", "lanes"), [(SIMULATIONS, [0, 2]), pytest.param(12, [1], marks=pytest.mark.slow)])
def test_simulations_by_the_number_of_arms(kind, number, lanes, states):
    """As many as the player with more arms can choose among say, in every lane as if it were alone; at most as many as ever."""
    plan = thrifty(kind)
    np.testing.assert_array_equal(plan.legal.sum(-1).max(-1), [3, 2, 3, 2])
    np.testing.assert_array_equal(plan.metrics["met"][:3, 0], [SIMULATIONS, 12, SIMULATIONS])
    other = make(CYCLES, kind, **SIZE | {"num_simulations": number})
    alone, _ = compiled(other)(keys_of(0), other.init(BATCH), states, yes())
    for name in ("actions", "visit_counts", "qvalues"):
        np.testing.assert_array_equal(getattr(plan, name)[lanes], getattr(alone, name)[lanes])


def test_no_arm_lacks_a_simulation_where_they_do_not_fill_whole_waves(states):
    """Three times 3 and 2 arms, four at a time: three waves and two, or as many as there may be at most."""
    for most, expected in ((16, [3, 2, 3, 2]), (8, [2, 2, 2, 2])):
        settings = Settings(most, simulations_per_arm=3, leaf_parallelism=4)
        assert jax.jit(functools.partial(settings.waves, dynamics_of(CYCLES)))(states).tolist() == expected


@FDTS_AND_SLOW
def test_a_seat_with_one_action_may_rest(kind):
    plan = thrifty(kind)
    assert (plan.metrics["met"][:3, 0] > 0).all() and plan.metrics["met"][3, 0] == 0
    np.testing.assert_array_equal(plan.legal[3, 0].sum(), 1)
    assert plan.actions[3, 0] == PULL
    np.testing.assert_array_equal(plan.arms[3], ARMS)


@pytest.mark.slow
def test_what_was_learnt_is_used_again():
    planner = make(MANY, "fdts", **SIZE)
    memory, states = planner.init(BATCH), states_of(MANY, [0, 0, 1, -1])
    shares = []
    for move in range(3):
        plan, memory = compiled(planner)(keys_of(move), memory, states, yes())
        shares.append(float(plan.metrics["known"].sum() / plan.metrics["met"].sum()))
    assert np.all(np.diff(shares) > 0)
    # After a real move the new root has the visits that it got below the old one.
    after, _ = compiled(planner)(keys_of(5), memory, advance(MANY, states, plan, 4), yes())
    assert (after.visit_counts.sum(-1) > SIMULATIONS).all()


@pytest.mark.slow
@pytest.mark.parametrize("bandit", ["ts", "ucb"])
def test_finds_the_dominant_action(bandit):
    planner = make(CYCLES, "fdts", bandit, num_simulations=1600, horizon=8)
    plan, _ = compiled(planner)(keys_of(0, 16), planner.init(16), states_of(CYCLES, [0, 1] * 8), yes(16))
    np.testing.assert_array_equal(plan.actions, PULL)
    # Both pull: the token moves to either side with 3/4 x 1/4, and an end, or the side it is on after 8 steps, decides.
    moves = 5 / 8 * np.eye(5) + 3 / 16 * (np.eye(5, k=1) + np.eye(5, k=-1))
    moves[[0, -1]] = np.eye(5)[[0, -1]]
    after = np.linalg.matrix_power(moves, 8)[2:4]
    results = [-1, -1, 0, 1, 1] if bandit == "ts" else [-1, -0.25, 0, 0.25, 1]
    value = after @ results
    value = (1 + value) / 2 if bandit == "ts" else value
    # Below the value of best play by what was spent on trying the rest.
    np.testing.assert_allclose(plan.root_value[:, 0], np.tile(value, 8), atol=0.06)


def with_step(state):
    return jnp.stack([state.step_count.astype(jnp.uint32), (state.token + 9).astype(jnp.uint32)])


def only_rest(state):
    return jnp.asarray(ARMS), jnp.asarray(ARMS == REST) | (jnp.asarray(ARMS == SHOUT) & (state.token == 0))


def test_other_keys_and_arms_stand_in_for_the_game_s_own(monkeypatch):
    """In what the search is made of, which is not made."""
    made, states = [], states_of(Tug(), [0, 1, 2])
    monkeypatch.setattr(makers, "decoupled_search", lambda dynamics, *_: made.append(dynamics))
    fdts(Tug(), num_simulations=8, horizon=6, key=with_step, arms=only_rest)
    keys, (arms, legal) = jax.jit(lambda states: (made[0].state_key(states), made[0].arms(states)))(states)
    assert keys.tolist() == [[0, 9], [0, 10], [0, 11]]
    assert arms.tolist() == [ARMS.tolist()] * 3
    np.testing.assert_array_equal(legal, [(ARMS == REST) | ((ARMS == SHOUT) & (token == 0)) for token in (0, 1, 2)])


@pytest.mark.slow  # to compile
def test_other_keys_and_arms():
    states = states_of(Tug(), [0])
    planner = fdts(Tug(), num_simulations=8, horizon=6, table_rows=64, key=with_step, arms=only_rest)
    plan, _ = compiled(planner)(keys_of(0, 1), planner.init(1), states, yes(1))
    np.testing.assert_array_equal(plan.visit_counts[0].sum(-1), 8)  # though the token stays at the root
    assert plan.visit_counts[0][ARMS == PULL].sum() == 0 and (plan.actions != PULL).all()


def test_size_of_the_memory(planner):
    nbytes = sum(leaf.nbytes for leaf in jax.tree.leaves(planner.init(BATCH)))
    assert planner.memory_bytes == 2**12 * 4 * (6 + 3)  # six statistics, a key of two words, a stamp
    assert BATCH * planner.memory_bytes <= nbytes <= BATCH * (planner.memory_bytes + 32)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_simulations": 0}, "num_simulations=0: must be >= 1"),
        ({"horizon": 0}, "horizon=0: must be"),
        ({"horizon": 513}, "horizon=513: must be in 1..512"),
        ({"leaf_parallelism": 0}, "leaf_parallelism=0: must be >= 1"),
        ({"leaf_parallelism": 3}, "leaf_parallelism=3: must divide num_simulations=100"),
        ({"table_rows": 100}, "table_rows=100: must be a power of two, at least 4"),
    ],
)
@pytest.mark.parametrize("kind", ["fdts", "mcts", "mcts_no_rollout"])
def test_bad_settings(kind, settings, message):
    with pytest.raises(ValueError, match=message) as error:
        presets.by_name(CYCLES, kind, **settings)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("preset", [fdts, mcts, mcs])
def test_what_would_have_no_effect_is_refused(preset):
    dynamics = dynamics_of(Tug())
    with pytest.raises(ValueError, match=r"^arms: stands in for a game's own; of the dynamics of 'tug' replace a field$"):
        preset(dynamics, arms=Tug().search_arms)
    if preset is not mcs:
        with pytest.raises(ValueError, match=r"^key: stands in for a game's own; of the dynamics of 'tug' replace a field$"):
            preset(dynamics, key=Tug().state_key)
    if preset is not mcts:
        with pytest.raises(TypeError, match=r"^rollout=False: no such setting; must be one of num_simulations, "):
            preset(Tug(), rollout=False)


def test_unknown_names():
    with pytest.raises(ValueError, match="planner='alpha': must be one of fdts, mcts, mcts_no_rollout, mcs"):
        presets.by_name(CYCLES, "alpha")
    with pytest.raises(ValueError, match="bandit='exp3': must be one of ts, ucb, uniform"):
        presets.by_name(CYCLES, "fdts", bandit="exp3")
