"""A network that guides a search: nothing without it, what its policy and its values do, and that it can do no harm."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jaxgames import random_bits
from search import fdts
from search.bandit import bandits, table
from search.bandit.bandits import MAX_CREDITS, rounding_noise
from search.bandit.choices import with_prior
from search.bandit.guide import Guide
from search.dynamics import dynamics_of
from tests.search.reference import compiled_rule, rule_of
from tests.tug import ARMS, PULL, REST, Tug, states_of

BATCH, SIMULATIONS, WEIGHT = 4, 24, 20.0
BANDITS = ("ts", "ucb", "uniform")
BY_DEFAULT_AND_SLOW = ["ts", pytest.param("ucb", marks=pytest.mark.slow)]


@dataclasses.dataclass(frozen=True)
class Undecided(Tug):
    """A tug of war that is worth nothing to anybody until it is decided."""

    def heuristic(self, state):
        return self.outcome(state)


WALL = 29
GAME = Undecided(marks=10**6, max_steps=40, length=WALL + 1)  # long, so that only close to the end anything is decided
MIDDLE, ALL = (0,) * BATCH, (0, WALL, WALL - 1, -WALL)


def network(params, states, seats):
    """Logits by seat, the same in all states; as value, a multiple of the side on which the token is."""
    own_side = jnp.sign(states.token) * jnp.where(seats == 0, 1, -1)
    return params["logits"][seats], params["value"] * own_side


def params_of(first=(0.0, 0.0, 0.0), second=(0.0, 0.0, 0.0), value=0.0):
    """Parameters of `network` from logits by arm; a network gives them by action."""
    by_action = np.take_along_axis(np.array([first, second], np.float32), np.argsort(ARMS, axis=1), axis=1)
    return {"logits": by_action, "value": np.float32(value)}


def broken_network(params, states, seats):
    raise AssertionError("not asked for")


GUIDES = {
    "plain": None,
    "silent": Guide(broken_network, 0.0),
    "guided": Guide(network, WEIGHT, values=True),
    "values": Guide(network, 0.0, values=True),
}


@functools.cache
def make(guide, bandit, **settings):
    """A planner, the same object again for the same arguments, which then is compiled once."""
    settings = {"num_simulations": SIMULATIONS, "horizon": 4, "table_rows": 2**10, **settings}
    return fdts(GAME, rule_of(bandit), guide=GUIDES[guide], **settings)


@functools.partial(jax.jit, static_argnums=0)
def _plan(plan, params, keys, memory, states, active):
    return plan(params, keys, memory, states, jnp.zeros(active.shape, jnp.int32), active)


def plan_of(planner, params=None, tokens=MIDDLE, seed=0, memory=None):
    """Plans one move; returns the plan and the memory."""
    keys, active = jax.random.split(jax.random.key(seed), len(tokens)), np.ones(len(tokens), bool)
    plan, memory = _plan(planner.plan, params, keys, memory or planner.init(len(tokens)), states_of(GAME, tokens), active)
    return jax.device_get(plan), memory


def assert_same(one, other):
    jax.tree.map(np.testing.assert_array_equal, one, other)


# --- without a word from the network -----------------------------------------------------------------------------------


def test_a_guide_of_no_weight_is_not_asked():
    """While a plan is traced its network would raise an error."""
    keys, active = jax.random.split(jax.random.key(0), BATCH), np.ones(BATCH, bool)
    silent, states = make("silent", "ts"), states_of(GAME, ALL)
    memory = jax.eval_shape(lambda: silent.init(BATCH))
    jax.eval_shape(functools.partial(silent.plan, None), keys, memory, states, np.zeros(BATCH, np.int32), active)


@pytest.mark.slow  # to compile
@pytest.mark.parametrize("bandit", ["ts", "ucb"])
def test_a_guide_of_no_weight_changes_nothing(bandit):
    """Bit for bit, with the tree that grows; and the network is not asked."""
    plain, silent = make("plain", bandit), make("silent", bandit)
    one, other = plain.init(BATCH), silent.init(BATCH)
    for seed in range(3):
        plan, one = plan_of(plain, tokens=ALL, seed=seed, memory=one)
        guided, other = plan_of(silent, tokens=ALL, seed=seed, memory=other)
        assert_same((guided, other), (plan, one))


@pytest.mark.parametrize("bandit", BY_DEFAULT_AND_SLOW)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_network_that_fails_does_no_harm(bandit, bad):
    """Neither its policy nor its values."""
    plan, memory = plan_of(make("plain", bandit), tokens=ALL)
    broken = params_of((bad, 0.0, 1.0), (bad, bad, bad), np.nan)
    assert_same(plan_of(make("guided", bandit), broken, tokens=ALL), (plan, memory))
    # The other player is guided all the same.
    guided, _ = plan_of(make("guided", bandit), params_of((bad, bad, bad), (0.0, 0.0, 9.0)))
    np.testing.assert_array_equal(guided.actions[:, 1], PULL)
    np.testing.assert_array_equal(guided.visit_counts.sum(-1), SIMULATIONS)


def test_values_without_bounds_count_as_sure():
    planner = make("guided", "ts")
    assert_same(plan_of(planner, params_of(value=np.inf))[0], plan_of(planner, params_of(value=1.0))[0])


# --- the policy --------------------------------------------------------------------------------------------------------


@jax.jit
def uniform_policy(legal, logit):
    return jnp.where(legal, jax.nn.softmax(jnp.where(legal, logit, -1e9)), 0.0)


@pytest.mark.parametrize("bandit", BANDITS)
@given(count=st.integers(1, 6), weight=st.floats(0, MAX_CREDITS, width=32), logit=st.floats(-50, 50, width=32))
@example(count=3, weight=2.25, logit=0.3)  # shares of one half and a half
def test_a_uniform_policy_prefers_no_arm(bandit, count, weight, logit):
    """All legal arms keep the mean of an arm never tried, whatever is rounded."""
    rule, legal = compiled_rule(bandit), np.arange(6) < count
    words = rule.prior(uniform_policy(legal, np.float32(logit)), legal, np.float32(weight))
    np.testing.assert_array_equal(rule.values(words), rule.values(np.zeros(6, np.uint32)))
    assert not np.asarray(words)[~legal].any()
    assert len(set(np.asarray(words)[legal].tolist())) == 1
    worth = np.asarray(rule.visits(words))[0] if bandit == "ucb" else (np.asarray(words)[0] >> 16) / 2
    assert abs(float(worth) - (weight / count if count > 1 else 0)) <= 0.51


@pytest.mark.parametrize("bandit", BANDITS)
def test_a_prior_by_hand(bandit):
    rule = compiled_rule(bandit)
    words = rule.prior(np.array([0.75, 0.25, 0.0], np.float32), np.array([True, True, False]), np.float32(8))
    if bandit == "ucb":
        np.testing.assert_array_equal(rule.visits(words), [6, 2, 0])
        np.testing.assert_array_equal(rule.values(words), [0, 0, 0])
    else:  # 6 wins against 2 losses, and the other way round
        np.testing.assert_array_equal(rule.visits(words), [8, 8, 0])
        np.testing.assert_allclose(rule.values(words), [7 / 10, 3 / 10, 1 / 2], rtol=1e-6)


@pytest.mark.parametrize("bandit", BY_DEFAULT_AND_SLOW)
@pytest.mark.parametrize("arm", range(3))
def test_a_strong_policy_decides_where_nothing_else_does(bandit, arm):
    """For each player its own."""
    other = (arm + 1) % 3
    plan, _ = plan_of(make("guided", bandit), params_of(9 * np.eye(3)[arm], 9 * np.eye(3)[other]))
    np.testing.assert_array_equal(plan.actions, np.tile([ARMS[0, arm], ARMS[1, other]], (BATCH, 1)))
    # Without it, anything may be chosen.
    chosen = [plan_of(make("plain", bandit), seed=seed)[0].actions for seed in range(10)]
    assert (np.unique(chosen) == [0, 1, 2]).all()


@pytest.mark.parametrize("bandit", BY_DEFAULT_AND_SLOW)
def test_a_policy_of_what_is_illegal_counts_for_nothing(bandit):
    """With the back to the wall a player may only pull."""
    plan, _ = plan_of(make("guided", bandit), params_of((9.0, 0.0, 0.0), (0.0, 9.0, 0.0)), tokens=(WALL, -WALL, 0, 0))
    for lane, player in ((0, 1), (1, 0)):
        assert plan.actions[lane, player] == PULL
        np.testing.assert_array_equal(plan.action_weights[lane, player], [0, 0, 1] if player else [0, 1, 0])
        illegal = ARMS[player] != PULL
        np.testing.assert_array_equal(plan.visit_counts[lane, player][illegal], 0)
        np.testing.assert_array_equal(plan.qvalues[lane, player][illegal], -1)
    # Off the middle nobody may shout: the policy is what is left without it.
    away = (5,) * BATCH
    uniform, _ = plan_of(make("guided", bandit), params_of(), tokens=away)
    assert_same(plan_of(make("guided", bandit), params_of((0.0, 0.0, 9.0)), tokens=away)[0], uniform)


def test_the_policy_weighs_in_the_present_state_alone():
    """Both are told to rest, and do so; what they try in the next state is as wide as ever."""

    @jax.jit
    def statistics_after_rest(memory, states, keys):
        rested = jax.vmap(GAME.step)(states, jnp.full((BATCH, 2), REST), keys)
        words = table.read(memory, table.find(memory, jnp.arange(BATCH), jax.vmap(GAME.state_key)(rested)))
        return rule_of("ts").visits(words).reshape(BATCH, 2, 3)

    tried = np.zeros((2, 3), int)
    for seed in range(4):
        _, memory = plan_of(make("guided", "ts"), params_of((9.0, 0.0, 0.0), (0.0, 9.0, 0.0)), seed=seed)
        keys = jax.random.split(jax.random.key(0), BATCH)
        tried += np.asarray(statistics_after_rest(memory, states_of(GAME, MIDDLE), keys)).sum(0)
    assert tried.sum(1).min() > 4 * BATCH * SIMULATIONS / 2
    assert (tried[ARMS == REST] < 0.6 * tried.sum(1)).all()


@pytest.mark.parametrize("bandit", BY_DEFAULT_AND_SLOW)
def test_the_policy_is_no_part_of_the_tree(bandit):
    """It weighs the same at every plan, and a planner without it finds nothing of it."""
    planner, params = make("guided", bandit), params_of((1.0, 0.0, 2.0))
    memory = planner.init(BATCH)
    for times in range(1, 4):
        plan, memory = plan_of(planner, params, seed=times, memory=memory)
        np.testing.assert_array_equal(plan.visit_counts[:, 0].sum(-1), times * SIMULATIONS)
    plain, _ = plan_of(make("plain", bandit), memory=memory)
    np.testing.assert_array_equal(plain.visit_counts.sum(-1), 4 * SIMULATIONS)


@pytest.mark.parametrize("bandit", BANDITS)
def test_a_policy_never_flows_over(bandit):
    """Statistics that are nearly full, and the strongest policy."""
    rule, add_prior = compiled_rule(bandit), jax.jit(functools.partial(with_prior, rule_of(bandit)))
    prior = np.asarray(rule.prior(np.array([1, 0], np.float32), np.array([True, True]), np.float32(MAX_CREDITS)))
    most = 0

    def visits(words):
        return np.asarray(rule.visits(words))

    for value in (1.0, -1.0, 0.0):
        word, credit = np.zeros(2, np.uint32), np.asarray(rule.credit(np.float32(value), np.float32(0)))
        for credits in (MAX_CREDITS, 100, 10, 1):  # up to the last count at which it is not full
            more = word + np.uint32(credits) * credit
            while not np.asarray(rule.is_full(more)).any():
                word, more = more, more + np.uint32(credits) * credit
        total = add_prior(word, prior)
        assert (visits(total) >= visits(word)).all()
        np.testing.assert_array_equal(visits(total), visits(word) + visits(prior))
        full = word + credit
        assert np.asarray(rule.is_full(full)).all()
        np.testing.assert_array_equal(add_prior(full, prior), full)
        most = max(most, int(visits(total).max()))
    assert most > 15_000


# --- the values --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("guide", "bandit"), [
    ("guided", "ts"),
    *(pytest.param(*pair, marks=pytest.mark.slow) for pair in (("guided", "ucb"), ("values", "ts"), ("values", "ucb"))),
])  # fmt: skip
def test_values_at_the_ends_of_simulations_move_the_choice(guide, bandit):
    """No game ends within four steps of the middle, so only the network tells apart the states in which simulations end.

    If it calls the own side good, both players pull; if it calls it bad, neither does.
    """
    planner = make(guide, bandit)
    for value in (0.9, -0.9):
        memory = planner.init(BATCH)
        for seed in range(20):
            plan, memory = plan_of(planner, params_of(value=value), seed=seed, memory=memory)
        np.testing.assert_array_equal(plan.actions == PULL, value > 0)


def test_what_is_decided_keeps_its_value():
    """Also of a player who is out while the others play on, and at the end of a game that nobody won."""
    guide = Guide(lambda params, states, seats: (jnp.zeros((len(seats), 3)), jnp.where(seats == 0, 0.5, -0.25)), values=True)

    class Sided(Undecided):
        def in_play(self, state):
            return jnp.array([True, False]) | (state.token != 1)

    game = Sided()
    states = states_of(game, [0, 1, 2, -2, 0, 0])
    states = dataclasses.replace(states, terminated=np.array([False, False, True, True, True, False]))
    values = np.array(jax.jit(jax.vmap(game.heuristic))(states))
    values[5] = [0.125, -1]
    expected = [[0.5, -0.25], [0.5, 0.0], [1, -1], [-1, 1], [0, 0], [0.125, -1]]
    final_values = jax.jit(functools.partial(guide.final_values, dynamics_of(game), None))
    np.testing.assert_array_equal(final_values(states, values), expected)
    silent = dataclasses.replace(guide, evaluate=broken_network, values=False)
    np.testing.assert_array_equal(silent.final_values(dynamics_of(game), None, states, values), values)


def test_the_network_is_asked_about_the_right_state_and_seat():
    seen = Guide(lambda params, states, seats: (jnp.zeros((len(seats), 3)), (10 * states.token + seats) / 100), values=True)
    states = states_of(GAME, [1, -2, 3])
    values = jax.jit(functools.partial(seen.final_values, dynamics_of(GAME), None))(states, np.zeros((3, 2), np.float32))
    np.testing.assert_allclose(values, [[0.10, 0.11], [-0.20, -0.19], [0.30, 0.31]], rtol=1e-6)


@pytest.mark.parametrize("bandit", BANDITS)
def test_soft_credit_has_the_right_mean_and_the_weight_of_one_simulation(bandit):
    rule = compiled_rule(bandit)
    noise = (np.arange(4096, dtype=np.float32) + 0.5) / 4096
    for value in (-1.0, -0.99, -0.5, -0.3, 0.0, 0.01, 0.3, 0.77, 1.0):
        words = rule.soft_credit(np.full_like(noise, value), noise)
        np.testing.assert_array_equal(rule.visits(words), 1)
        if bandit == "ucb":
            mean = np.mean(rule.values(words))
        else:  # wins and losses in halves
            wins, losses = np.asarray(words) >> 16, np.asarray(words) & 0xFFFF
            np.testing.assert_array_equal(wins + losses, 2)
            mean = np.mean(wins.astype(int) - losses.astype(int)) / 2
        np.testing.assert_allclose(mean, value, atol=1e-3)
    for value in (-1.0, 0.0, 1.0):  # what is certain is not rounded
        words = rule.soft_credit(np.full_like(noise, value), noise)
        np.testing.assert_array_equal(words, rule.credit(np.float32(value), np.float32(0)))
    for beyond in (0.0, 1 - 2**-24):
        np.testing.assert_array_equal(rule.visits(rule.soft_credit(np.array([-1, 1], np.float32), np.float32(beyond))), 1)


def test_noise_is_drawn_for_each_simulation_and_player():
    keys = jax.random.split(jax.random.key(0), 500)
    noise = np.asarray(jax.jit(lambda keys: rounding_noise(jax.vmap(random_bits.lane_key)(keys), 4))(keys))
    assert noise.shape == (500, 4) and len(np.unique(noise)) > 1990
    assert ((noise >= 0) & (noise < 1)).all() and abs(noise.mean() - 0.5) < 0.02


# --- batches -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_waves_are_guided_too():
    plan, _ = plan_of(make("guided", "ts", leaf_parallelism=4), params_of(second=(0.0, 0.0, 9.0), value=0.5))
    np.testing.assert_array_equal(plan.actions[:, 1], PULL)
    np.testing.assert_array_equal(plan.metrics["met"][:, 0], SIMULATIONS)


# --- form --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [-1.0, 513.0, float("nan"), float("inf")])
def test_impossible_weights(weight):
    with pytest.raises(ValueError, match=rf"^prior_weight={weight}: must be in 0\.\.512$"):
        Guide(network, weight)


@pytest.mark.parametrize("weight", ["4", True, None])
def test_weights_are_numbers(weight):
    with pytest.raises(ValueError, match=rf"^prior_weight={weight!r}: must be a number$"):
        Guide(network, weight)


def test_a_guide_has_a_network():
    with pytest.raises(ValueError, match=r"^evaluate=None: must be a function, from \(params, states, seats\) to"):
        Guide(None, values=True)


def test_names():
    assert fdts(GAME, guide=Guide(network)).name == "guided FDTS + TS"
    assert fdts(GAME, bandits.ucb1()).name == "FDTS + UCB"
