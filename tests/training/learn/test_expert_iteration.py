"""Learning from rule-based players and from searches against them: what is stored, and that it is learnt."""

import dataclasses
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import runtime
from jaxgames.agent import Agent, memoryless
from search import planner
from search.believed import believed
from search.modelled import Models
from search.planner import Plan
from search.puct.search import puct
from search.puct.settings import Settings
from tests.rivalry import Rivalry
from tests.signals import Signals, encoder
from tests.training.signal_players import knowing, network, share_of_right_answers
from tests.training.tiny import on_one_device
from tests.tug import PULL, SHOUT
from training.learn import expert_iteration
from training.learn.expert_iteration import (
    ExpertConfig,
    ExpertIteration,
    Samples,
    expert_loss,
    make_search,
    sharpened,
    value_target,
)
from training.learn.self_play import UNFINISHED, SelfPlay
from training.learn.targets import Targets
from training.models import policy_value
from training.models.policy_value import PolicyValueConfig
from training.play.lanes import Pool

KEY = jax.random.key(2)
SMALL = {"samples": 256, "kept": 2, "lanes": 32, "steps": 4, "updates": 8, "batch_size": 64, "learning_rate": 0.03}


@pytest.mark.slow
def test_demonstrations_are_learnt(monkeypatch):
    who = network(Signals())
    monkeypatch.setattr(expert_iteration.agents, "make", lambda name, game: knowing(game))
    config = ExpertConfig(source="demonstrations", player="knowing", **SMALL)
    programs = ExpertIteration(config, who, runtime.data_mesh())
    learner = programs.init(KEY, jax.jit(who.init)(KEY))
    for _ in range(4):
        learner, played = programs.play(KEY, learner)
    for _ in range(8):
        learner, learnt = programs.learn(KEY, learner)
    assert int(played["samples"]) == 4 * 4 * 32 * 2, "both seats show what they do"
    assert "action_shares" not in played, "outputs have no names"
    assert learnt["agreement"] > 0.9 and learnt["finite"]
    assert share_of_right_answers(who, learner.params) > 0.95


@pytest.mark.slow
def test_demonstrations_where_something_is_hidden():
    who = policy_value.make(PolicyValueConfig(game="hex", mode="adh-3", network="tiny"))
    programs = ExpertIteration(ExpertConfig(source="demonstrations", player="path", **SMALL), who, runtime.data_mesh())
    learner = programs.init(KEY, jax.jit(who.init)(KEY))
    for _ in range(4):
        learner, played = programs.play(KEY, learner)
    agreement = []
    for _ in range(8):
        learner, learnt = programs.learn(KEY, learner)
        agreement.append(float(learnt["agreement"]))
    assert played["games"] > 20 and agreement[-1] > max(0.4, agreement[0]), "what the player knew is not shown, so it is not all"


@pytest.mark.slow  # to compile
def test_who_shows_its_moves_remembers_them_from_call_to_call(monkeypatch):
    """However many steps a call has; and a restart ends all memories."""
    game = Signals(max_steps=16)

    def act(params, keys, memory, views, seats, active):
        return memory % game.num_actions, memory + 1

    counting = Agent("counting", lambda rows: jnp.zeros(rows, jnp.int32), _forget, act, sees_state=True)
    monkeypatch.setattr(expert_iteration.agents, "make", lambda name, game: counting)
    who, found = network(game), {}
    for steps in (4, 12):
        config = ExpertConfig(source="demonstrations", player="counting", **{**SMALL, "samples": 2048, "steps": steps})
        programs = ExpertIteration(config, who, runtime.data_mesh())
        learner = programs.init(KEY, jax.jit(who.init)(KEY))
        for _ in range(24 // steps):
            learner, _ = programs.play(KEY, learner)
        found[steps] = jax.device_get(learner)
    jax.tree.map(np.testing.assert_array_equal, found[4].ring, found[12].ring)
    assert found[4].games.memory.tolist() == 64 * [24 - 16], "of the second game"
    restarted = programs.games.restart(KEY, jax.tree.map(jnp.asarray, found[4].games))
    assert not restarted.memory.any() and not isinstance(restarted.memory, tuple)


def _forget(memory, lanes):
    return jnp.where(lanes, 0, memory)


def test_one_seat_learns_and_partners_play_the_others():
    game = Signals()
    who = network(game)
    lazy = memoryless("lazy", lambda params, keys, views, seats: jnp.full(len(seats), game.pass_action), sees_state=True)
    games = SelfPlay(Pool(game, 8), Targets(who.encoder), remembered=64, partner=lazy)
    planner = expert_iteration.shown_moves(knowing(game), game)

    @jax.jit
    def play(key):
        def step(carry, _):
            lanes, memory = carry
            lanes, memory, sample, use, counts = games.step(key, planner, None, memory, lanes)
            return (lanes, memory), (sample, use, counts)

        return jax.lax.scan(step, (games.start(key, jnp.int32(0)), planner.init(games.rows)), length=8)

    (lanes, _), (samples, used, counts) = jax.device_get(play(KEY))
    assert games.rows == 8 and used.all()
    np.testing.assert_array_equal(samples.seat, samples.number % 2)
    assert counts["games"].sum() == counts["wins"].sum() > 0, "who answers wins against who does not"
    rows = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), samples)
    outcomes, left = jax.jit(lambda lanes, rows: (games.outcomes_of(lanes, rows), games.steps_left(lanes, rows)))(lanes, rows)
    over = np.asarray(outcomes) != UNFINISHED
    assert over.any() and (np.asarray(outcomes)[over] == 1).all()
    np.testing.assert_array_equal(np.asarray(left)[over], (game.max_steps - samples.clock.reshape(-1))[over])


def test_seats_that_search_at_once_draw_numbers_of_their_own():
    games = SelfPlay(Pool(Signals(), 3), Targets(None), remembered=8)
    keys = jax.random.split(KEY, 3)
    found = jax.random.key_data(jax.jit(games._per_seat)(keys))
    assert games.rows == 6 and len({tuple(key) for key in found.tolist()}) == 6


@dataclasses.dataclass(frozen=True)
class Talking(Rivalry):
    """A word is a hundred, added to an action."""

    has_words = True

    def tell(self, observation, action):
        return action + 100

    def silent(self, actions):
        return actions % 100

    def heed(self, before, belief, observation):
        return belief


@pytest.mark.parametrize(("explore_steps", "done"), [(0, PULL), (5, SHOUT)])
def test_what_is_played_is_what_the_planner_chose_or_drew_and_is_what_it_remembers(explore_steps, done):
    """A planner that rates one action highest and chooses another, as one with a temperature may."""

    def plan(params, keys, memory, views, seats, active):
        del params, keys, views, active
        many, shape = len(seats), (len(seats), 1, 3)
        arms = jnp.broadcast_to(jnp.arange(3), shape)
        weights = jnp.broadcast_to(jnp.eye(3)[SHOUT], shape)
        actions, nothing = jnp.full((many, 1), PULL), jnp.zeros(shape)
        return Plan(actions, arms, nothing == 0, nothing, nothing.astype(int), weights, nothing[:, :, 0], {}), memory

    game = Talking(marks=5)
    fickle = believed(game, planner.memoryless("fickle", plan)._replace(own_first=True), talks=True)
    shown = encoder(Signals())._replace(
        num_outputs=3, view=lambda state, seat: state.token, outputs=lambda actions, seat: actions.astype(jnp.int32)
    )
    games = SelfPlay(Pool(game, 4), Targets(shown), remembered=8, explore_steps=explore_steps)

    @jax.jit
    def decided(key):
        found = games.decide(key, fickle, None, fickle.init(games.rows), games.start(key, jnp.int32(0)))
        return found.actions, found.memory.actions

    actions, remembered = jax.device_get(decided(KEY))
    assert (actions == done).all() and (remembered == done).all(), "without words"


def values_of(planner, game, explore_steps=0):
    """Values of samples, and the plan of the same step: one seat acts in each lane."""
    games = SelfPlay(Pool(game, 8), Targets(encoder(game)), remembered=8, explore_steps=explore_steps)

    @jax.jit
    def decided(key):
        found = games.decide(key, planner, None, planner.init(games.rows), games.start(key, jnp.int32(0)))
        return found.sample.value, found.plan, found.actions[:, 0]

    return jax.device_get(decided(KEY))


def test_the_value_of_a_sample_is_that_of_the_action_alone():
    """By a search that counts visits: what is won by other actions is in the mean of all its simulations."""
    game = Signals(in_turns=True)

    def evaluate(params, states, seats):
        del params
        worth = jax.vmap(game.heuristic)(states)
        return jnp.zeros((len(seats), 1)), jnp.take_along_axis(worth, seats[:, None], 1)[:, 0]

    value, plan, actions = values_of(puct(game, evaluate, Settings(num_simulations=12)), game)
    column = np.argmax((plan.arms == actions[:, None]) & plan.legal, -1)[:, None]
    assert (np.take_along_axis(plan.visit_counts, column, 1) > 0).all() and ((plan.visit_counts > 0).sum(-1) > 1).all()
    np.testing.assert_allclose(value, np.take_along_axis(plan.qvalues, column, 1)[:, 0], atol=1e-3)
    assert (np.abs(value - plan.root_value[:, 0]) > 0.05).all()


@pytest.mark.parametrize(("explore_steps", "tried", "value_range", "worth"), [
    (0, True, (-1.0, 1.0), 0.5),  # the planner's choice
    (1, True, (-1.0, 1.0), -0.25),  # what is drawn by its policy
    pytest.param(1, False, (-1.0, 1.0), 0.125, marks=pytest.mark.slow),  # nothing is known but of the root
    pytest.param(0, True, (0.0, 1.0), 0.0, marks=pytest.mark.slow),  # a search that counts a draw as half a win
    (1, False, (0.0, 1.0), -0.75),
])  # fmt: skip
def test_the_value_of_a_sample_is_that_of_what_is_done(explore_steps, tried, value_range, worth):
    game = Signals(in_turns=True)

    def plan(params, keys, memory, views, seats, active):
        del params, keys, seats, active
        arms, legal = jax.vmap(game.search_arms)(views)
        columns = jnp.arange(game.num_arms)
        rows = [
            jnp.broadcast_to(row, arms.shape) for row in (jnp.array([-0.25, 0.5, 0.9, 0.0]), columns * 0 + tried, columns == 0)
        ]
        qvalues, visits, weights = rows[0], rows[1].astype(jnp.int32), rows[2].astype(jnp.float32)
        return Plan(arms[:, :, 1], arms, legal, qvalues, visits, weights, jnp.full(arms.shape[:2], 0.125), {}), memory

    value, _, _ = values_of(planner.memoryless("fickle", plan)._replace(value_range=value_range), game, explore_steps)
    np.testing.assert_array_equal(value, np.float16(worth))


def test_policy_targets_are_sharpened():
    policy = np.array([[0.5, 0.3, 0.2], [0.4, 0.4, 0.2]], np.float32)
    half = jax.jit(lambda policies: sharpened(policies, 0.5))(np.stack([policy, np.float32(0.8) * policy, 0 * policy]))
    np.testing.assert_allclose(half[0], [[0.75, 0.15, 0.1], [0.7, 0.2, 0.1]], rtol=1e-6)
    np.testing.assert_array_equal(jax.jit(lambda: sharpened(policy, 0.0))(), policy)
    # What is kept of a policy may sum to less than one, and of none it is nothing.
    np.testing.assert_allclose(half[1], 0.8 * np.asarray(half[0]), rtol=1e-6)
    assert not np.asarray(half[2]).any()


def test_value_targets():
    """Nothing is discounted in a player's last sample, of which one step is left."""
    given = np.array([1, -1, 0], np.int8), np.array([1, 3, 6], np.int16), np.array([0.2, 0.4, 0.6], np.float32)
    cases = [(1.0, 0.0), (0.5, 0.0), (0.5, 0.25)]
    plain, discounted, searched = jax.jit(lambda *given: [value_target(*given, *case) for case in cases])(*given)
    np.testing.assert_array_equal(plain, [1, -1, 0])
    np.testing.assert_allclose(discounted, [1, -0.25, 0])
    mixed = [0.25 * 0.2 + 0.75, 0.25 * 0.4 + 0.75 * (-0.25 + 0.75 * 0.4), 0.25 * 0.6 + 0.75 * (31 / 32) * 0.6]
    np.testing.assert_allclose(searched, mixed, rtol=1e-6)


def test_games_that_are_not_over_leave_the_gradient_finite():
    """Their steps to the end are below 0: a discount to that power would be infinite, and no mask would help the gradient."""
    left = np.array([-800, 3], np.int16)

    def error(value, discount):
        target = value_target(jnp.array([UNFINISHED, 1], jnp.int8), left, jnp.zeros(2), discount, 0.0)
        return jnp.where(jnp.array([False, True]), jnp.square(value - target), 0.0).sum()

    gradient = jax.jit(jax.grad(error))
    for discount in (0.0, 0.5, 0.9):
        assert gradient(0.25, discount) == pytest.approx(2 * (0.25 - discount**2))


def test_games_that_are_not_over_teach_no_values():
    values = np.array([0.5, -1.0], np.float32)
    who = types.SimpleNamespace(
        encoder=types.SimpleNamespace(planes=lambda view: view),
        network=types.SimpleNamespace(apply=lambda params, planes: (jnp.zeros((2, 4)), values)),
    )
    rows = (np.zeros((2, 1)), np.eye(4)[:2], np.zeros(2), np.array([1, UNFINISHED]), np.array([3, 1]))
    samples = Samples(*(row.astype(np.float32 if row.dtype == float else np.int32) for row in rows))
    config = ExpertConfig(value_weight=0.25, discount=0.5, symmetries=False)
    loss, parts = on_one_device(lambda samples: expert_loss(config, who, None, samples, jnp.zeros(2, jnp.int32)))(samples)
    assert parts["value_error"] == ((0.5**2 - 0.5) ** 2, 1) and parts["cross_entropy"] == pytest.approx(np.log(4))
    assert loss == pytest.approx(0.25 * parts["value_error"].total + 0.75 * parts["cross_entropy"])


def test_other_networks_may_be_models(monkeypatch):
    """As in searches that play."""
    made = []
    monkeypatch.setattr(expert_iteration.agents, "make", lambda text, game: made.append(text) or knowing(game))
    models = Models(model="network:one.npz", switch_after=2, then="follower:two.npz", root="true")
    search = make_search(network(Signals()), models, Settings(num_simulations=1))
    assert made == ["network:one.npz", "follower:two.npz"] and search.name == "SP-MCTS against network:one.npz"


def test_files_of_models_are_looked_for(tmp_path):
    who = policy_value.make(PolicyValueConfig(game="hex", mode="hex-3", network="tiny"))
    path = tmp_path / "none.npz"
    with pytest.raises(OSError, match=r"none\.npz"):
        make_search(who, Models(model=f"network:{path}", root="true"), Settings(num_simulations=1))
    with pytest.raises(ValueError, match=r"^agent='follower': must be follower:weights=FILE, or the folder of a training run$"):
        make_search(who, Models(model="follower", root="true"), Settings(num_simulations=1))


def test_gradient_steps_follow_what_is_kept():
    config = ExpertConfig(samples=1000, kept=2, epochs=2, updates=10, batch_size=100)
    assert [config.updates_after(number) for number in (1, 2, 3)] == [20, 60, 100]


@pytest.mark.parametrize(("field", "value", "message"), [
    ("source", "books", "source='books': must be one of demonstrations, search"),
    ("samples", 0, "samples=0: must be >= 1"),
    ("batch_size", 10**8, "batch_size=100000000: must be at most samples=100000 x kept=4"),
    ("sharpening", 1.5, r"sharpening=1\.5: must be"),
    ("discount", -0.1, r"discount=-0\.1: must be"),
    ("mixing", 0.5, r"^mixing=0\.5: must be 0 with source=demonstrations, in which nothing is searched$"),
])  # fmt: skip
def test_settings_are_checked(field, value, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(ExpertConfig(source="demonstrations" if field == "mixing" else "search"), **{field: value})


@pytest.mark.parametrize(("settings", "seats", "message"), [
    ({"samples": 10, "kept": 1}, 1, "samples=10: must be >= 64 with kept=1, to hold the 64 samples of one step of lanes=64"),
    ({"samples": 15, "kept": 4}, 1, "samples=15: must be >= 16 with kept=4, to hold the 64 samples of one step of lanes=64"),
    ({"samples": 127, "kept": 1, "source": "demonstrations"}, 2,
     "samples=127: must be >= 128 with kept=1, to hold the 128 samples of one step of lanes=64"),
])  # fmt: skip
def test_one_step_of_all_lanes_must_fit(monkeypatch, settings, seats, message):
    """Told by the numbers that were given, also where several devices share them; one more and it fits."""
    monkeypatch.setattr(expert_iteration.agents, "make", lambda name, game: knowing(game))
    monkeypatch.setattr(expert_iteration, "Updates", lambda *args: 1 // 0)
    game = Signals(in_turns=seats == 1)
    config = ExpertConfig(player="knowing", batch_size=2, models=Models(model="still", root="true"), **settings)
    for devices in (1, 2):
        mesh = types.SimpleNamespace(devices=np.zeros(devices))
        if config.buffer_size % devices == 0:  # else that is told
            with pytest.raises(ValueError, match=f"^{message}$"):
                ExpertIteration(config, network(game), mesh)
        fits = dataclasses.replace(config, samples=64 * seats // config.kept)
        with pytest.raises(ZeroDivisionError):
            ExpertIteration(fits, network(game), mesh)
