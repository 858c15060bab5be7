"""Searches against models by their names, and planners that plan from what is believed."""

import dataclasses
import functools
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.agent import memoryless as memoryless_agent
from jaxgames.registration import NoSettings
from search import modelled as modelled_module
from search import presets
from search.believed import believed
from search.dynamics import dynamics_of
from search.modelled import ROOTS, Models, _rival, dynamics_for, model_of, modelled, modelled_puct, valued_by_own_seat
from search.opponents import two_player
from search.planner import Plan, memoryless
from search.puct import Settings
from search.puct.rollout import heuristic_values, promised_values
from search.rivals import most_dangerous
from tests.emitters import NEWER_EMITTERS
from tests.rivalry import Rivalry
from tests.signals import Signals
from tests.tug import Tug, states_of, steady_player
from tests.waiting import Waiting

FFA = jaxgames.make("pommerman", "ffa")


@pytest.mark.slow
def test_a_planner_is_given_what_its_player_believes():
    """The planner puts what it is shown into its plan: the number of steps and of bombs that are believed in."""

    def plan(params, keys, memory, views, seats, active):
        told = views.step_count.astype(jnp.int32) + 1000 * jax.vmap(lambda state: state.wood.count())(views)
        rows = jnp.zeros((len(seats), 1, 1))
        found = Plan(told[:, None], rows.astype(int), rows > -1, rows, rows.astype(int), rows, rows[:, :, 0], {})
        return found, memory

    fair = believed(FFA, memoryless("teller", plan, own_first=True))
    assert not fair.sees_state and fair.name == "teller, fair"
    states = jax.vmap(FFA.init)(jax.random.split(jax.random.key(0), 3))
    seats, keys = jnp.array([0, 2, 3]), jax.random.split(jax.random.key(1), 3)
    observe = jax.jit(jax.vmap(FFA.observe))
    run, step = jax.jit(fair.plan), jax.jit(jax.vmap(FFA.step))
    memory, woods = fair.init(3), np.asarray(jax.vmap(lambda state: state.wood.count())(states))
    for number in range(3):
        active = jnp.array([True, True, number != 1])
        told, memory = run(None, keys, memory, observe(states, seats), seats, active)
        expected = np.where(np.asarray(active), number + 1000 * woods, np.asarray(told.actions[:, 0]))
        assert told.actions[:, 0].tolist() == expected.tolist()
        states = step(states, jnp.zeros((3, 4), jnp.int32))
    memory = fair.reset(memory, jnp.array([True, False, False]))
    assert memory.begins.tolist() == [True, False, False]


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


def test_who_cannot_believe_says_so():
    with pytest.raises(
        ValueError, match=r"^root='believed': game='signals' does not say what its players believe; take root=true, an oracle$"
    ):
        modelled_puct(Signals(), heuristic_values(Signals()), Models(model="still"))
    assert "sp_mcts" not in presets.planners_of(jaxgames.make("hex", "hex-5"))


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


def teller():
    """A planner that plays the mark of the state that it is shown, and 0 where it is not asked."""

    def plan(params, keys, memory, views, seats, active):
        rows, marks = jnp.zeros((len(seats), 1, 1)), jnp.where(active, views.mark, 0)
        return Plan(marks[:, None], rows.astype(int), rows > -1, rows, rows.astype(int), rows, rows[:, :, 0], {}), memory

    return memoryless("teller", plan, own_first=True)


def test_the_worst_is_believed_where_it_is_asked_for():
    game, seats, ones = Rivalry(marks=64), np.zeros(2, np.int32), np.ones(2, bool)
    keys = jax.random.split(jax.random.key(0), 2)
    views = jax.jit(jax.vmap(game.init))(keys)
    for worst, told in ((False, [0, 1, 9]), (True, [63, 63, 63])):
        planner = believed(game, teller(), worst_case=worst)
        memory, run = planner.init(2), jax.jit(planner.plan)
        for mark in told:
            found, memory = run(None, keys, memory, views, seats, ones)
            assert found.actions.tolist() == [[mark]] * 2
    assert presets.by_name(FFA, "sp_mcts", root="worst", num_simulations=2).name.endswith(", fair")


def test_who_is_not_asked_goes_on_from_what_it_believed_and_did_last():
    game, planner = Rivalry(marks=64), believed(Rivalry(marks=64), teller())
    keys, seats = jax.random.split(jax.random.key(0), 2), np.zeros(2, np.int32)
    views, memory, run = jax.jit(jax.vmap(game.init))(keys), planner.init(2), jax.jit(planner.plan)
    told = []
    for asked in ([True, True], [True, True], [True, False], [True, True]):
        found, memory = run(None, keys, memory, views, seats, np.array(asked))
        told.append(found.actions[:, 0].tolist())
    assert told == [[0, 0], [1, 1], [9, 0], [9, 9]]
    found, _ = run(None, keys, planner.reset(memory, np.array([True, False])), views, seats, np.ones(2, bool))
    assert found.actions[:, 0].tolist() == [0, 9]  # a new episode begins with nothing believed


@functools.partial(jax.jit, static_argnums=0)
def _observed(game, states, seats):
    return jax.vmap(game.observe)(states, seats)


def plans_of_two_worlds(planner, game):
    """Gives the plans of two moves in states, and in others that differ in what is hidden alone."""
    keys, seats, ones = jax.random.split(jax.random.key(0), 4), np.arange(4, dtype=np.int32) % 2, np.ones(4, bool)
    run, plans = jax.jit(planner.plan, compiler_options=NEWER_EMITTERS), []
    for first_mark in (3, 40):
        memory, found = planner.init(4), []
        for move in range(2):
            states = states_of(game, np.array([0, 1, -1, 2]) - move)
            states = dataclasses.replace(states, mark=first_mark + move + np.arange(4, dtype=np.int32))
            views = states if planner.sees_state else _observed(game, states, seats)
            plan, memory = run(None, keys, memory, views, seats, ones)
            found.append(jax.device_get(plan))
        plans.append(found)
    return plans


def same(first, second):
    return all(np.array_equal(one, other) for one, other in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True))


@pytest.mark.parametrize("root", ROOTS)
def test_what_is_hidden_is_shown_to_oracles_alone(root):
    game = Rivalry(marks=64)
    planner = modelled(game, lambda dynamics: teller(), Models(model="still", root=root))
    assert same(*plans_of_two_worlds(planner, game)) == (root != "true") == (not planner.uses_hidden)


@pytest.mark.slow
@pytest.mark.parametrize("root", ["believed", "visible", "true"])
def test_what_is_hidden_changes_no_plan_but_an_oracles(root):
    """The network goes by the mark, in whatever state the search asks it about."""

    def opinion(params, states, seats):
        return jnp.sin(states.mark[:, None] * jnp.array([1.0, 2.0, 3.0])), jnp.cos(states.mark * 0.9 + seats)

    game = Rivalry(length=4, marks=64)
    planner = modelled_puct(game, opinion, Models(model="still", root=root), Settings(40, leaf_parallelism=4, replies=2))
    assert same(*plans_of_two_worlds(planner, game)) == (root != "true")


def test_values_by_hand():
    with pytest.raises(ValueError, match=r"^values='hope': must be one of auto, heuristic, prospects$"):
        presets.by_name(FFA, "sp_mcts", values="hope")
    with pytest.raises(ValueError, match=r"^game='tug': does not say what its positions promise; take its heuristic$"):
        promised_values(Tug())
    states, seats = states_of(Tug(length=4), [1, 1, -1]), np.array([0, 1, 0], np.int32)
    for values, expected in ((heuristic_values, 0.25), (promised_values, 0.5)):
        logits, found = jax.jit(values(Rivalry(length=4)))(None, states, seats)
        assert logits.shape == (3, 1) and not logits.any()
        assert found.tolist() == [expected, -expected, -expected]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Round:
    """What the four of `Threats` did, int32 [4]; -1 before."""

    actions: jax.Array
    terminated: jax.Array


STRIKE, GUARD, HIT = 1, 2, 3


class Threats:
    """One step of four who act at once: who strikes gains a little; who is hit by the one across, unguarded, loses."""

    name, num_players, num_actions, num_arms, pass_action, max_steps, value_when_out = "threats", 4, 4, 4, 0, 1, 0.0

    def init(self, key):
        return Round(jnp.full(4, -1, jnp.int32), jnp.bool_(False))

    def step(self, state, actions, key):
        return Round(jnp.where(state.terminated, state.actions, actions), jnp.bool_(True))

    def to_play(self, state):
        return jnp.int32(-1)

    def search_arms(self, state):
        return jnp.tile(jnp.arange(4, dtype=jnp.int32), (4, 1)), jnp.ones((4, 4), bool)

    def in_play(self, state):
        return jnp.ones(4, bool)

    def heuristic(self, state):
        hit = (jnp.roll(state.actions, 2) == HIT) & (state.actions != GUARD)
        return 0.25 * (state.actions == STRIKE) - hit

    outcome, possible_arms = heuristic, search_arms

    def state_key(self, state):
        return state.actions[:2].astype(jnp.uint32)

    def closest_enemy(self, state, seat):
        return (seat + 1) % 4

    def are_enemies(self, seat, other):
        return seat != other

    @property
    def endless(self):
        return self


@pytest.mark.slow
@pytest.mark.parametrize(("rival", "best"), [("closest", STRIKE), ("dangerous", GUARD)])
def test_the_rival_of_tp_mcts_may_be_the_most_dangerous(rival, best):
    """Only who sees the one across as its rival guards itself."""
    options = {"model": "still", "root": "true", "num_simulations": 40}
    planner = presets.by_name(Threats(), "tp_mcts", rival=rival, **options)

    def actions(keys, seats, active):
        states = jax.vmap(Threats().init)(keys)
        return planner.plan(None, keys, planner.init(4), states, seats, active)[0].actions

    run = jax.jit(actions, compiler_options=NEWER_EMITTERS)
    found = run(jax.random.split(jax.random.key(0), 4), np.arange(4, dtype=np.int32), np.ones(4, bool))
    assert found[:, 0].tolist() == [best] * 4


class Pairs(Threats):
    """The same, in which who is across is a teammate."""

    def are_enemies(self, seat, other):
        return (seat - other) % 2 != 0


def test_a_teammate_is_never_dangerous_and_of_equals_the_closest_is_named():
    seats = np.arange(4, dtype=np.int32)
    states = Round(np.full((4, 4), -1, np.int32), np.zeros(4, bool))
    for game, ahead in ((Threats(), 2), (Pairs(), 1)):
        found = jax.jit(jax.vmap(_rival(game, "dangerous")))(states, seats)
        assert found.tolist() == ((seats + ahead) % 4).tolist()


class Last(Threats):
    """The same, in which all but the first are out."""

    def in_play(self, state):
        return jnp.arange(4) == 0


def test_nobody_who_is_out_or_when_all_is_over_is_dangerous():
    states = Round(np.full((5, 4), -1, np.int32), np.arange(5) == 4)
    found = jax.jit(jax.vmap(most_dangerous(Last())))(states, np.array([0, 1, 2, 3, 1], np.int32))
    assert found.tolist() == [-1, 0, 0, 0, -1]


def test_searches_by_bandits_take_promised_values_where_auto_finds_any(monkeypatch):
    guides = []

    def note(game, bandit, settings, guide):
        guides.append(guide)
        return memoryless("search", lambda *_: None)

    monkeypatch.setattr(presets, "tree_planner", note)
    for game, values, promised in ((Rivalry(), "auto", True), (Tug(), "auto", False), (Rivalry(), "heuristic", False)):
        presets.by_name(game, "modelled_fdts", values=values, model="still", root="true")
        assert (guides.pop() is not None) == promised


class Hopeful(Rivalry):
    """Both players are promised something."""

    def prospects(self, state):
        return jnp.array([0.5, 0.25]) + 0 * state.token


def test_in_searches_by_bandits_too_what_is_promised_to_the_own_seat_is_against_the_rival(monkeypatch):
    made = []

    def note(dynamics, bandit, settings, guide):
        made.append((dynamics, guide))
        return memoryless("search", lambda *_: None)

    game = Hopeful(length=4)
    monkeypatch.setattr(presets, "tree_planner", note)
    presets.by_name(game, "modelled_fdts", values="prospects", model="still", root="true", rival="closest")
    dynamics, guide = made.pop()
    states, seats = states_of(game, [1, 1, -1]), np.array([0, 1, 0], np.int32)

    @jax.jit
    def ends(keys):
        return guide.final_values(dynamics, {"own": None}, dynamics.root(None, keys, states, seats), jnp.zeros((3, 2)))

    values = ends(jax.random.split(jax.random.key(0), 3))
    assert values.tolist() == [[0.5, -0.5], [0.25, -0.25], [0.5, -0.5]]


def ends_by_prospects(game, monkeypatch):
    """What the search by prospects in this game takes its last nodes for, with a guide and by a heuristic: its dynamics too."""
    made = []

    def note(dynamics, bandit, settings, guide):
        made.append((dynamics, guide))
        return memoryless("search", lambda *_: None)

    monkeypatch.setattr(presets, "tree_planner", note)
    presets.by_name(game, "modelled_fdts", values="prospects", model="still", root="true")
    return made.pop()


def test_what_is_promised_takes_the_place_of_a_heuristic_that_is_not_0(monkeypatch):
    """As in `fdts`, where a game says by prospects what all undecided positions are worth."""
    game = Rivalry(length=4)
    dynamics, guide = ends_by_prospects(game, monkeypatch)
    states, seats = states_of(game, [1, 1, 0, -1, 4, 4]), np.array([0, 1, 0, 0, 0, 1], np.int32)
    states = dataclasses.replace(states, terminated=np.abs(states.token) == 4)

    @jax.jit
    def ends(keys):
        nodes = dynamics.root(None, keys, states, seats)
        return guide.final_values(dynamics, {"own": None}, nodes, dynamics.heuristic(nodes))[:, 0]

    assert ends(jax.random.split(jax.random.key(0), 6)).tolist() == [0.5, -0.5, 0, -0.5, 1, -1]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["ffa", "team"])
def test_in_pommerman_prospects_change_no_bit_by_that(mode, monkeypatch):
    """The heuristic of who is undecided is 0 there, so nothing was in the way of what is promised."""
    game, count = jaxgames.make("pommerman", mode), 24
    dynamics, guide = ends_by_prospects(game, monkeypatch)
    plain = dynamics_for(game, Models(model="still", root="true"), None, None, shared_answers=False, in_turn=False)
    keys, seats = jax.random.split(jax.random.key(0), count), jnp.arange(count) % 4

    @jax.jit
    def ends(states):
        nodes = dynamics.root(None, keys, states, seats)
        both = (guide.final_values(dynamics, {"own": None}, nodes, each.heuristic(nodes)) for each in (dynamics, plain))
        return *both, dynamics.undecided(nodes)

    step, states = jax.jit(jax.vmap(game.step)), jax.jit(jax.vmap(game.init))(keys)
    seen = []
    for number in range(30):
        actions = jax.random.randint(jax.random.key(number), (count, 4), 0, 6)
        states = step(states, actions, keys)
        if number % 6 == 5:
            now, before, undecided = jax.device_get(ends(states))
            np.testing.assert_array_equal(now.view(np.uint32), before.view(np.uint32))
            seen.append(undecided)
    assert np.concatenate(seen).any() and not np.concatenate(seen).all()


def test_values_of_the_rival_are_the_opposite_of_the_own_seats():
    game = Tug(length=4)
    dynamics = two_player(game, steady_player(0), lambda state, seat: 1 - seat, shared_answers=True)
    turned, evaluate = valued_by_own_seat(dynamics, heuristic_values(game))
    states, seats = states_of(game, [1, 1, -1]), np.array([0, 1, 0], np.int32)

    @jax.jit
    def values(keys, player):
        nodes = turned.root(None, keys, states, seats)
        return turned.evaluate(evaluate, {"own": None}, nodes, jnp.full(3, player), outputs=None)[1]

    own, rival = (values(jax.random.split(jax.random.key(0), 3), np.int32(player)) for player in (0, 1))
    assert own.tolist() == [0.25, -0.25, -0.25] and rival.tolist() == [-0.25, 0.25, 0.25]


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
    monkeypatch.setattr(modelled_module, "registration", lambda name: SimpleNamespace(agents=(entry,)))
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


def test_who_is_close_must_be_told_by_the_game():
    with pytest.raises(ValueError, match=r"^rival='closest': game='waiting' does not say who is close; take rival=none$"):
        _rival(Waiting(), "closest")
