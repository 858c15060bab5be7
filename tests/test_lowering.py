"""What is compiled for a GPU and a TPU: nothing that only a CPU can do, and no call back into Python, slips into any program."""

from functools import partial

import jax
import jax.numpy as jnp
import pytest

import jaxgames
from experiments.kernels import plans
from jaxgames import runtime
from jaxgames.abilities import keeps_beliefs
from jaxgames.game import is_hidden
from jaxgames.platforms import for_all_platforms
from search import presets, puct
from search.modelled import Models, WithModels
from tests.training import tiny, tiny_alphaze
from training.learn.dagger import Dagger, DaggerConfig
from training.learn.expert_iteration import ExpertConfig, ExpertIteration
from training.learn.guessing import Guessing, GuessingConfig
from training.learn.monte_carlo import MonteCarlo, MonteCarloConfig
from training.models import guess, policy_value
from training.models.guess import GuessConfig
from training.models.networks import arena
from training.models.networks.presets import PRESETS
from training.models.policy_value import PolicyValueConfig
from training.play import agents

LANES = 4
SEATS, ACTIVE = jax.ShapeDtypeStruct((LANES,), jnp.int32), jax.ShapeDtypeStruct((LANES,), bool)


def lowered(function, *arguments):
    """Gives the program for both; what has no rule for one of them raises."""
    with for_all_platforms():
        text = jax.jit(function).trace(*arguments).lower(lowering_platforms=("cuda", "tpu")).as_text()
    assert "func.func public @main" in text and "callback" not in text
    return text


def keys():
    return jax.eval_shape(lambda: jax.random.split(jax.random.key(0), LANES))


def states_of(game):
    return jax.eval_shape(lambda: jax.vmap(game.init)(jax.random.split(jax.random.key(0), LANES)))


def lower_step(game):
    def step(states, actions, keys):
        states = jax.vmap(game.step)(states, actions, keys)
        shown = jax.vmap(game.observe, (0, None))(states, jnp.int32(0))
        return (
            states,
            shown,
            jax.vmap(game.search_arms)(states),
            jax.vmap(game.legal_actions)(states),
            jax.vmap(game.heuristic)(states),
        )

    lowered(step, states_of(game), jax.ShapeDtypeStruct((LANES, game.num_players), jnp.int32), keys())


def lower_plan(game, spec):
    planner, params = agents.make_planner(spec, game)
    memory = jax.eval_shape(lambda: planner.init(LANES))
    lowered(planner.plan, params, keys(), memory, views_of(game, planner.sees_state), SEATS, ACTIVE)


def views_of(game, sees_state=False):
    return jax.eval_shape(partial(plans.views, game, sees_state), states_of(game), SEATS)


IN_WORLDS = pytest.param("pc_pimc:num_simulations=4,ahead_worlds=3", marks=pytest.mark.slow)


@pytest.mark.parametrize("spec", ["mcs:num_simulations=4", IN_WORLDS])
def test_a_step_and_a_search_on_small_boards(spec):
    game = jaxgames.make("hex", "adh-3" if "pimc" in spec else "hex-3")
    lower_step(game)
    lower_plan(game, spec)


VARIANTS = [listed.id for listed in jaxgames.games()]


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_steps_of_all_variants(name):
    lower_step(jaxgames.make(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in VARIANTS if is_hidden(jaxgames.make(name))])
def test_worlds_of_all_hidden_games(name):
    game = jaxgames.make(name)
    lowered(jax.vmap(game.sample_hidden), keys(), views_of(game))


BOTS = [(name, entry.name) for name in jaxgames.game_names() for entry in jaxgames.registration(name).agents]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "bot"), BOTS)
def test_bots_of_all_games(name, bot):
    game = jaxgames.make(name)
    agent = agents.make(bot, game)
    memory = jax.eval_shape(lambda: agent.init(LANES))
    lowered(agent.act, agent.params, keys(), memory, views_of(game, agent.sees_state), SEATS, ACTIVE)


@pytest.mark.slow
@pytest.mark.parametrize("network", PRESETS)
def test_networks_and_their_gradients(network):
    game, mode = ("clash", "beginner") if network in arena.PRESETS else ("hex", "hex")  # on 11 x 11 cells all others fit
    who = policy_value.make(PolicyValueConfig(game, mode, network=network))
    params = jax.eval_shape(who.init, jax.random.key(0))
    views = jax.eval_shape(jax.vmap(who.encoder.view), states_of(who.game), SEATS)

    def squares(params, views):
        return sum((output.astype(jnp.float32) ** 2).mean() for output in who.apply(params, views))

    lowered(jax.value_and_grad(squares), params, views)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "planner"),
    [(name, planner) for name in jaxgames.game_names() for planner in presets.planners_of(jaxgames.make(name))],
)
def test_planners_of_all_games(name, planner):
    game = jaxgames.make(name)
    plans_from_beliefs = isinstance(presets.planners_of(game)[planner].settings, WithModels)
    lower_plan(game, f"{planner}:root=true" if plans_from_beliefs and not keeps_beliefs(game) else planner)


@pytest.mark.slow
def test_self_play_and_its_gradient_steps():
    who, programs = tiny_alphaze.player(), tiny_alphaze.programs(mesh=runtime.data_mesh(1))
    key = jax.random.key(0)
    params = jax.eval_shape(who.init, key)
    learner = jax.eval_shape(programs.init, key, params)
    for play in programs.play.values():
        lowered(play, key, params, learner)
    lowered(programs.learn, key, learner)


@pytest.mark.slow
def test_imitation():
    config = DaggerConfig(episodes=8, lanes=4, steps=2, batch_size=4, buffer_size=64)
    who = tiny.network()
    dagger = Dagger(config, who, tiny.drawing_oracle(), runtime.data_mesh(1))
    key = jax.random.key(0)
    learner = jax.eval_shape(dagger.init, key, jax.eval_shape(who.init, key))
    lowered(dagger.iterate, key, None, learner)


@pytest.mark.slow
def test_learning_from_outcomes():
    who = tiny_alphaze.player()
    config = MonteCarloConfig(lanes=4, steps=2, updates=2, batch_size=4, buffer_size=64)
    lower_learner(MonteCarlo(config, who, runtime.data_mesh(1)), who.init, "iterate")


@pytest.mark.slow
@pytest.mark.parametrize("source", ["demonstrations", "search"])
def test_learning_from_demonstrations_and_searches(source):
    who = policy_value.make(PolicyValueConfig(game="hex", mode="hex-3", network="tiny"))
    sizes = {"samples": 64, "kept": 2, "lanes": 4, "steps": 2, "updates": 2, "batch_size": 4}
    changes = {"search": puct.Settings(num_simulations=4), "models": Models(model="still", root="true")}
    config = ExpertConfig(source=source, player="path", **sizes, **(changes if source == "search" else {}))
    lower_learner(ExpertIteration(config, who, runtime.data_mesh(1)), who.init, "play", "learn")


@pytest.mark.slow
def test_learning_to_guess():
    who = guess.make(GuessConfig("stratego", "mini", network="tiny"))
    config = GuessingConfig(player="hunt", lanes=4, steps=2, updates=2, batch_size=4, buffer_size=64)
    programs = Guessing(config, who, agents.make(config.player, who.game), runtime.data_mesh(1))
    key, params = jax.random.key(0), jax.eval_shape(who.init, jax.random.key(0))
    lowered(programs.rate, key, params)
    lower_learner(programs, who.init, "iterate")


def lower_learner(programs, init, *names):
    key = jax.random.key(0)
    learner = jax.eval_shape(programs.init, key, jax.eval_shape(init, key))
    for name in names:
        lowered(getattr(programs, name), key, learner)
