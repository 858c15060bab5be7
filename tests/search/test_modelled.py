"""Searches against models by their names: what they are made of, and what is refused."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import others
from jaxgames.agent import memoryless as memoryless_agent
from jaxgames.registration import NoSettings
from search import presets
from search.dynamics import dynamics_of
from search.modelled import Models, dynamics_for, model_of, modelled_puct
from tests.rivalry import Rivalry
from tests.tug import states_of

FFA = jaxgames.make("pommerman", "ffa")


def test_names_and_settings():
    assert {"sp_mcts", "tp_mcts", "modelled_fdts", "modelled_mcts"} <= set(presets.planners_of(FFA))
    game, few = Rivalry(marks=64), {"model": "still", "num_simulations": 5}
    assert presets.by_name(game, "tp_mcts", **few).name == "TP-MCTS against still, fair"
    oracle = presets.by_name(game, "modelled_fdts", root="true", **few)
    assert oracle.sees_state and oracle.uses_hidden
    assert not presets.by_name(game, "sp_mcts", root="visible", **few).uses_hidden
    assert "sp_mcts" not in presets.planners_of(jaxgames.make("hero_academy"))


def settings_of(name="sp_mcts", with_network=True, **options):
    return presets.planners_of(FFA)[name].configure(options, with_network=with_network).search


def test_there_is_noise_at_roots_whose_priors_a_network_gives_anew():
    def noise(*name, **options):
        return settings_of(*name, **options).dirichlet_fraction

    assert noise() == noise("tp_mcts") == 0.25
    assert noise(with_network=False) == noise(reuse=True) == 0
    assert noise(with_network=False, dirichlet_fraction=0.5) == 0.5
    with pytest.raises(ValueError, match=r"^dirichlet_fraction=0\.5: must be 0 with reuse"):
        noise(reuse=True, dirichlet_fraction=0.5)


def test_lanes_think_in_parts_unless_each_has_a_tree_of_its_own():
    assert settings_of().microbatch_size == 32 and settings_of(reuse=True).microbatch_size is None
    with pytest.raises(ValueError, match=r"^microbatch_size=4: must be None with reuse: each lane has a tree of its own$"):
        settings_of(reuse=True, microbatch_size=4)


@pytest.mark.parametrize("name", ["sp_mcts", "tp_mcts"])
@pytest.mark.parametrize("after", [0, 3])
def test_a_kept_tree_has_no_root_from_which_to_count_the_steps_of_models(name, after):
    switching = {"model": "still", "switch_after": after, "then": "simple"}
    with pytest.raises(ValueError, match=rf"^switch_after={after}: must be None with reuse: steps count from where"):
        presets.by_name(FFA, name, reuse=1, **switching)
    presets.by_name(FFA, name, **switching)
    presets.by_name(FFA, name, reuse=1, model="still")


@pytest.mark.parametrize(("options", "message"), [
    ({"model": "nobody"}, r"^model='nobody': must be one of simple, "),
    ({"model": "network"}, r"^model='network': needs weights$"),
    ({"partner": "nobody"}, r"^partner='nobody': must be one of simple, "),
    ({"partner": "simple"}, r"^partner='simple': there are no teams in pommerman ffa$"),
    ({"root": "dreamt"}, r"^root='dreamt': must be one of believed, worst, visible, true$"),
    ({"switch_after": 3}, r"^switch_after=3: needs the model before it, such as model=network$"),
    ({"then": "simple"}, r"^then='simple': needs switch_after, the number of steps before it$"),
    ({"num_simulations": 0}, r"^num_simulations=0: must be >= 1$"),
])  # fmt: skip
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        presets.by_name(FFA, "modelled_fdts", **options)


@pytest.mark.parametrize(("mode", "options", "message"), [
    ("ffa", {"model": "network"}, r"^model='network': needs weights$"),
    ("team", {"partner": "network"}, r"^partner='network': needs weights$"),
    ("team", {"root": "visible"}, r"^root='visible': view_radius=4: .*; take believed or true$"),
])  # fmt: skip
def test_bad_input_of_searches_with_networks(mode, options, message):
    with pytest.raises(ValueError, match=message):
        presets.by_name(jaxgames.make("pommerman", mode), "sp_mcts", **options)


@pytest.mark.parametrize(("options", "setting", "name"), [
    ({}, "model", "random"),
    ({"model": "still", "switch_after": 1, "then": "random"}, "then", "random"),
])  # fmt: skip
def test_models_that_play_by_what_they_have_seen_are_told_by_their_setting(options, setting, name):
    """Also where nobody has named them: Hex tells what its players know."""
    message = f"^{setting}='{name}': plays by what its seat has seen so far; take one that sees the state, such as still$"
    with pytest.raises(ValueError, match=message):
        modelled_puct(jaxgames.make("hex", "hex-3"), unasked, Models(root="true", **options))


def unasked(params, states, seats):
    raise AssertionError("no search is run")


@pytest.mark.parametrize(("name", "options", "message"), [
    ("sp_mcts", {"values": "prospects"}, r"^values='prospects': a network values states by itself: leave out values or weights$"),
    ("tp_mcts", {"values": "heuristic"}, r"^values='heuristic': a network values states by itself"),
    ("sp_mcts", {"model": "network", "switch_after": 1, "then": "network"}, r"^then='network': must be an agent without"),
    ("tp_mcts", {"rival": "none"}, r"^rival='none': must be one of closest, dangerous; a search without a rival is sp_mcts$"),
    ("sp_mcts", {"rival": "closest"}, r"^rival='closest': sp_mcts takes values, model, "),
    ("modelled_fdts", {"model": "still"}, r"^weights: need model=network or partner=network; searches by bandits"),
])  # fmt: skip
def test_bad_input_beside_a_network(name, options, message):
    with pytest.raises(ValueError, match=message):
        presets.by_name(FFA, name, evaluate=unasked, **options)


def test_a_network_beside_values_may_model_the_others():
    """There it values nothing."""
    game = Rivalry(marks=64)
    planner = presets.by_name(game, "modelled_fdts", evaluate=unasked, values="prospects", model="network")
    plain = presets.by_name(game, "modelled_fdts", values="prospects", model="still")
    assert planner.name != plain.name and "network" in planner.name


def test_groups_of_arms_are_chosen_first_against_models_too():
    """In Clash a card, then a position."""
    clash = jaxgames.make("clash")
    plain, models = dynamics_of(clash), Models(model="still")
    against = dynamics_for(clash, models, None, None, shared_answers=False, in_turn=True)
    assert (against.arm_groups, against.arms_listed) == (plain.arm_groups, plain.arms_listed) and max(plain.arm_groups) > 0
    presets.by_name(clash, "modelled_fdts", root="true", grouped=True)
    with pytest.raises(ValueError, match="grouped=True: pommerman against simple has no groups of arms"):
        presets.by_name(FFA, "modelled_fdts", root="true", grouped=True)


def test_the_time_limit_ends_no_simulation_of_puct():
    """It does those of bandits, as in Boney et al.. The arms are those of the search, too."""
    game, keys, params = Rivalry(length=4, max_steps=3), jax.random.split(jax.random.key(0), 1), {"own": None, "opponents": None}
    state, seats = states_of(game, [3]), np.ones(1, np.int32)
    for shared in (True, False):
        dynamics = dynamics_for(game, Models(model="still"), None, None, shared_answers=shared, in_turn=shared)

        @jax.jit
        def told(keys, state, dynamics=dynamics):
            root = dynamics.root(None, keys, state, seats)
            rests = jnp.zeros((1, 1), jnp.int32)
            nodes = jax.lax.fori_loop(0, 3, lambda _, nodes: dynamics.step(params, keys, nodes, rests), root)
            return dynamics.arms(root)[1], dynamics.terminated(nodes)

        legal, terminated = told(keys, state)
        assert legal.all() == shared, "who is cornered may only pull"
        assert bool(terminated[0]) != shared
    assert jaxgames.make("pommerman", "ffa").endless.max_steps == 32000
    assert jaxgames.make("pommerman", "ffa_collapse").endless.max_steps == 800, "whose board goes by the clock"


def test_a_still_model_passes():
    still = model_of(FFA, "still")
    actions, _ = still.act(None, None, (), None, jnp.arange(3), jnp.ones(3, bool))
    assert actions.tolist() == [0, 0, 0]


def test_models_say_whether_they_draw():
    def draws(name):
        return model_of(FFA, name, lambda *_: None).draws

    assert not draws("still") and not draws("network")
    assert draws("simple") and draws("simple_unbiased") and draws("random")


def stay(params, keys, views, seats):
    return jnp.full_like(seats, params)


def test_a_model_of_ones_own_plays_by_its_own_parameters():
    mine = memoryless_agent("its name", stay, sees_state=True, params=np.int32(2))
    model = model_of(FFA, "mine", agents={"mine": mine})
    assert model.act({"own": 1}, None, (), None, jnp.arange(3), jnp.ones(3, bool))[0].tolist() == [2, 2, 2]


def test_an_agent_of_the_game_plays_by_its_own_parameters_too(monkeypatch):
    bot = memoryless_agent("bot", stay, sees_state=True, params=np.int32(2))
    entry = SimpleNamespace(name="bot", settings=NoSettings, build=lambda game, settings: bot)
    monkeypatch.setattr(others, "registered", lambda name: SimpleNamespace(agents=(entry,)))
    for setting in ("model", "partner", "then"):
        model = model_of(FFA, "bot", setting=setting)
        assert model.act({"own": 1}, None, (), None, jnp.arange(3), jnp.ones(3, bool))[0].tolist() == [2, 2, 2]


@pytest.mark.slow
def test_a_model_of_ones_own_plays_by_its_own_parameters_in_a_search():
    mine = memoryless_agent("its name", stay, sees_state=True)
    game, few = Rivalry(marks=64), {"root": "true", "num_simulations": 5}
    states = jax.vmap(game.init)(jax.random.split(jax.random.key(0), 2))
    seats, keys = jnp.array([0, 1]), jax.random.split(jax.random.key(1), 2)
    values = []
    for planner in (
        presets.by_name(game, "sp_mcts", model="mine", agents={"mine": mine._replace(params=np.int32(game.pass_action))}, **few),
        presets.by_name(game, "sp_mcts", model="still", **few),
    ):
        plan, _ = jax.jit(planner.plan)(None, keys, planner.init(2), states, seats, jnp.ones(2, bool))
        values.append((planner.name, plan.qvalues.tolist(), plan.visit_counts.tolist()))
    assert values[0][0] == "SP-MCTS against mine" and values[0][1:] == values[1][1:]


def test_models_of_ones_own_that_are_none():
    with pytest.raises(ValueError, match=r"^model='nobody': must be one of simple, .*, mine, still, network$"):
        model_of(FFA, "nobody", agents={"mine": model_of(FFA, "still")})
    with pytest.raises(ValueError, match=r"^agents\['mine'\]=3: must be a jaxgames.agent.Agent"):
        model_of(FFA, "mine", agents={"mine": 3})
    for names in ({"mine"}, {"network"}):
        with pytest.raises(ValueError, match=r"^agents='(mine|network)': must be named by model, partner or then, and not be"):
            presets.by_name(FFA, "sp_mcts", model="simple", agents=dict.fromkeys(names, model_of(FFA, "still")))
    with pytest.raises(ValueError, match=r"^planner='fdts': takes no agents, as it has no models$"):
        presets.by_name(FFA, "fdts", agents={"mine": model_of(FFA, "still")})
