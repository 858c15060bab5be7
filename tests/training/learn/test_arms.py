"""Arms are not outputs: a game that offers some of its actions, in another order in each state, is learnt by every learner."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import runtime
from jaxgames.packing import packing_of
from search import fdts, planner, puct
from search.bandit.guide import Guide
from search.planner import Plan, Planner
from search.puct import determinized
from tests.signals import Signals, encoder
from tests.training.signal_players import network, share_of_right_answers, shares_of_right_answers
from training.learn.alphaze import Alphaze, AlphazeConfig
from training.learn.dagger import Dagger, DaggerConfig
from training.learn.self_play import SelfPlay
from training.learn.targets import Targets
from training.play.lanes import Pool

KEY = jax.random.key(5)
LEARN = {"lanes": 32, "steps": 4, "buffer_size": 1024, "batch_size": 64}


def oracle(game: Signals) -> Planner:
    """Values the arm that is right."""

    def plan(params, keys, memory, views, seats, active):
        arms, legal = jax.vmap(game.search_arms)(views)
        right = (arms == jax.vmap(game.right)(views)[:, None, None]).astype(jnp.float32)
        actions = jnp.argmax(right, -1)
        return Plan(actions, arms, legal, right, right.astype(jnp.int32), right, right.max(-1), {}), memory

    return planner.memoryless("right", plan)


@pytest.mark.slow  # to compile
def test_dagger_learns_actions():
    who = network(Signals())
    config = DaggerConfig(episodes=10_000, updates_per_step=0.25, learning_rate=0.03, symmetries=True, **LEARN)
    dagger = Dagger(config, who, oracle(who.game), runtime.data_mesh())
    params = jax.jit(who.init)(KEY)
    learner = dagger.init(KEY, params)
    for _ in range(8):
        learner, metrics = dagger.iterate(KEY, None, learner)
    before, after = shares_of_right_answers(who, params, learner.params)
    assert before < 0.5 and after > 0.95 and metrics["finite"]


PLAY = AlphazeConfig(
    num_simulations=16, epoch_samples=1024, epoch_updates=32, updates=32, learning_rate=0.05, dirichlet_alpha=1.0, **LEARN
)


@pytest.mark.slow  # to compile
def test_self_play_learns_actions_in_turns():
    """By PUCT."""
    who = network(Signals(in_turns=True))
    programs = Alphaze(PLAY, who, runtime.data_mesh())
    learner = programs.init(KEY, jax.jit(who.init)(KEY))
    for _ in range(4):
        learner, played = programs.play["fair"](KEY, jax.tree.map(jnp.copy, learner.params), learner)
        learner, learnt = programs.learn(KEY, learner)
    assert played["samples"] == 4 * LEARN["lanes"] * LEARN["steps"] and learnt["finite"]
    assert share_of_right_answers(who, learner.params) > 0.95


@pytest.mark.slow  # to compile
def test_self_play_learns_actions_where_all_act_at_once():
    """By a search that the network guides: every acting seat makes samples of its own, with the outcome of that seat."""
    who = network(Signals())
    guide = Guide(who.evaluate, prior_weight=2.0, outputs=who.encoder.outputs)
    player = fdts(who.game, num_simulations=24, horizon=2, table_rows=64, guide=guide)
    programs = Alphaze(PLAY, who, runtime.data_mesh(), player)

    @jax.jit
    def told(games, rows):
        samples = jax.vmap(programs.updates.packing.unpack)(rows)
        return samples, programs.games.outcomes_of(games, samples)

    learner = programs.init(KEY, jax.jit(who.init)(KEY))
    for number in range(4):
        learner, played = programs.play["fair"](KEY, jax.tree.map(jnp.copy, learner.params), learner)
        if number == 0:
            size = int(learner.ring.size[0])
            samples, outcomes = jax.device_get(told(learner.games, np.asarray(learner.ring.rows)[:size]))
            outcomes = outcomes.reshape(LEARN["steps"], 2, -1)
        learner, learnt = programs.learn(KEY, learner)
    assert played["samples"] == 4 * LEARN["lanes"] * LEARN["steps"] * 2 and learnt["finite"]
    assert share_of_right_answers(who, learner.params) > 0.95
    seats, numbers = (leaf.reshape(outcomes.shape) for leaf in (samples.seat, samples.number))
    assert (seats[:, 0] == 0).all() and (seats[:, 1] == 1).all() and (numbers[:, 0] == numbers[:, 1]).all()
    assert (numbers[:2] == np.arange(LEARN["lanes"])).all() and (numbers[2:] >= LEARN["lanes"]).all()
    np.testing.assert_array_equal(outcomes[:, 0], -outcomes[:, 1])
    assert len(np.unique(outcomes)) > 1 and (np.abs(outcomes) <= 1).all()


# --- targets -----------------------------------------------------------------------------------------------------------


def wide(count: int):
    """An encoder that numbers so many actions backwards."""
    return encoder(Signals())._replace(
        num_outputs=count, outputs=lambda actions, seat: jnp.where(actions < 0, -1, count - 1 - actions)
    )


@pytest.mark.parametrize("count", [40, 3600])
def test_targets_are_about_actions(count):
    """Arms in any order, some of them twice, illegal, or without an output."""
    targets = Targets(wide(count))
    arms = np.array([7, 3, -1, 30, 3, 12], np.int32)
    legal = np.array([True, True, True, False, True, True])
    weights = np.array([0.5, 0.125, 0.1, 0.9, 0.125, 0.0], np.float32)

    @jax.jit
    def told(*plan):
        per_output = targets.per_output(*plan)
        kept = targets.pack(per_output)
        return per_output, kept, targets.unpack(kept), targets.unpack(targets.pack_arms(*plan))

    per_output, kept, unpacked, of_arms = jax.device_get(told(arms, legal, weights, np.int32(0)))
    expected = np.zeros(count, np.float32)
    expected[count - 1 - 7], expected[count - 1 - 3] = 0.5, 0.25
    np.testing.assert_array_equal(per_output, expected)
    assert sum(leaf.nbytes for leaf in jax.tree.leaves(kept)) < 1000 and targets.is_dense == (count == 40)
    np.testing.assert_allclose(unpacked, expected, rtol=1e-3)
    np.testing.assert_array_equal(of_arms, unpacked)


def test_barrage_has_no_number_for_each_of_its_moves():
    """Neither in samples nor in the nodes of its trees."""
    game = jaxgames.make("stratego", "barrage")
    games = SelfPlay(Pool(game, 4, informed=True), Targets(jaxgames.encoder_of(game)), remembered=4)
    assert packing_of(jax.eval_shape(games.example)).num_words < 250 < game.num_actions
    settings = determinized.Settings(num_worlds=3, search=puct.Settings(num_simulations=800))
    search = determinized.pimc_tree(game, lambda *asked: (None, None), settings)
    assert search.memory_bytes < 6e6


def test_of_many_outputs_the_best_are_kept():
    targets = Targets(wide(3600))
    weights = np.random.default_rng(0).dirichlet(np.full(3600, 0.1)).astype(np.float32)
    there_and_back = jax.jit(lambda weights: targets.unpack(targets.pack(weights)))
    back = np.asarray(there_and_back(weights))
    kept = back > 0
    assert kept.sum() == 64 and weights[kept].min() >= weights[~kept].max()
    assert back.sum() == pytest.approx(1, abs=0.01)
    np.testing.assert_allclose(back[kept], weights[kept] / weights[kept].sum(), rtol=2e-3)
    assert not np.asarray(there_and_back(np.zeros_like(weights))).any()
