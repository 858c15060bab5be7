"""Search in drawn worlds: against PUCT where nothing is hidden, and against plain numpy over the same worlds."""

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.hex import interop
from jaxgames.hex.encoder import CHANNELS, planes_of
from search import fdts, puct
from search.planner import Plan, memoryless
from search.puct import determinized, worlds
from search.puct.determinized import Settings
from search.turns import evolution
from tests.hoard import Hoard
from tests.jaxgames.hex.playing import at, joined, play, random_games
from tests.search import puct_reference
from tests.tic_tac_toe.game import TicTacToe
from tests.tug import Tug

OPEN, ABRUPT, CLASSICAL = (jaxgames.make("hex", mode) for mode in ("hex-3", "adh-3", "cdh-3"))
CELLS, LANES, WORLDS, SIMULATIONS = 9, 5, 4, 12
ROOTS = LANES * WORLDS  # lanes of a search without worlds, so that all share what is compiled
SEARCH = puct.Settings(num_simulations=SIMULATIONS, c_init=0.5, c_base=1.0)  # a base so small that visits matter
SPLIT = Settings(num_worlds=WORLDS, split=True, search=dataclasses.replace(SEARCH, num_simulations=WORLDS * SIMULATIONS))
# Sums of such numbers are exact, in whatever order they are added.
WEIGHTS = np.random.default_rng(1).integers(-3, 4, (CELLS * len(CHANNELS), CELLS + 1)).astype(np.float32) / 8
WORTH = np.random.default_rng(2).permutation(CELLS).astype(np.float32) / 16
PLANNERS = {}


def network(params, states, seats):
    shown = jax.vmap(lambda state, seat: planes_of(OPEN.config, state, seat))(states, seats)
    out = jax.lax.dot(shown.reshape(seats.shape[0], -1), WEIGHTS, precision="highest")
    return out[:, :-1], out[:, -1] / 16 + met(states) / 4


def worth(params, states, seats):
    """The worth of the seat's cells, less that of the other's."""
    black, white = (jax.vmap(OPEN.config.grid.to_bool)(stones).reshape(-1, CELLS).astype(jnp.float32) for stones in states.stones)
    value = (black - white) @ WORTH
    return jnp.zeros((seats.shape[0], CELLS)), jnp.where(seats == 0, value, -value)


def hopeless(params, states, seats):
    """Who is to move has won."""
    return jnp.zeros((seats.shape[0], CELLS)), jnp.ones(seats.shape[0])


def met(states):
    """Whether somebody has run into a hidden stone."""
    return jax.vmap(lambda state: state.found[0].any() | state.found[1].any())(states)


def known(game, steps, count=LANES):
    """Games that are not over after so many attempts: states, what the players to move know, and who they are."""
    states, infos = some_games(game)
    alive = np.flatnonzero(~states.terminated[:, steps])[:count]
    movers = states.player[alive, steps].astype(np.int32)
    assert len(alive) == count
    return at(states, alive, steps), at(infos, alive, steps, movers), movers


@functools.cache
def some_games(game):
    states, infos, _ = jax.device_get(random_games(game, jax.random.split(jax.random.key(0), 60), 8))
    return states, infos


def search(make, game, settings, views, seats, active=None, evaluate=network):
    """Plans with a planner that is compiled once; gives the plan and the keys."""
    name = (make, game, settings, evaluate, len(seats))
    if name not in PLANNERS:
        planner = make(game, evaluate, settings)
        PLANNERS[name] = planner, jax.jit(planner.plan)
    planner, run = PLANNERS[name]
    keys = jax.random.split(jax.random.key(0), len(seats))
    active = np.ones(len(seats), bool) if active is None else active
    return jax.device_get(run(None, keys, planner.init(len(seats)), views, seats, active)[0]), keys


def own(per_player, seats):
    """The rows of the seats, per cell: plans over drawn worlds also have a column for the pass, which nobody takes."""
    rows = per_player[np.arange(len(seats)), seats]
    return rows[..., :CELLS] if rows.ndim > 1 else rows


@functools.partial(jax.jit, static_argnums=0)
def _drawn_worlds(game, keys, infos):
    return worlds.draw_worlds(game, keys, infos, WORLDS)


def worlds_of(game, infos, keys):
    """The worlds that a plan has drawn, State [lanes * WORLDS]; so many lanes at once as most tests have."""
    parts = [
        _drawn_worlds(game, keys[place : place + LANES], at(infos, slice(place, place + LANES)))
        for place in range(0, len(keys), LANES)
    ]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *jax.device_get(parts))


def opened(game, states):
    """The same positions with nothing hidden."""
    return jax.device_get(_opened(game, states))


@functools.partial(jax.jit, static_argnums=0)
def _opened(game, states):
    return jax.vmap(game.open_state)(states)


def taken(game, infos):
    """Which cells a player knows to be taken, bool [lanes, K]."""
    own, known = (game.config.grid.to_numpy(cells) != 0 for cells in (infos.view.own, infos.view.known))
    return own | known


def same_plans(one, other):
    jax.tree.map(np.testing.assert_array_equal, one, other)


# --- nothing hidden ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_where_everything_is_seen_all_searches_are_puct():
    states, infos, seats = known(OPEN, 3, ROOTS)
    plain, _ = search(puct.puct, OPEN, SEARCH, states, seats)
    seeing, _ = search(determinized.true_sight, ABRUPT, SEARCH, states, seats)
    drawing, _ = search(determinized.pimc_tree, OPEN, Settings(num_worlds=1, search=SEARCH), infos, seats)
    same_plans(seeing, plain)
    for name in ("actions", "root_value"):
        np.testing.assert_array_equal(getattr(drawing, name), getattr(plain, name), name)
    for name in ("arms", "legal", "visit_counts", "action_weights", "qvalues"):
        np.testing.assert_array_equal(own(getattr(drawing, name), seats), own(getattr(plain, name), seats), name)
    assert len(np.unique(plain.actions, axis=0)) > 3 and (own(plain.visit_counts, seats).sum(-1) == SIMULATIONS).all()


def test_who_sees_all_is_not_shown_what_others_have_run_into(monkeypatch):
    """The search in it is the one that is compiled already."""
    states, _, seats = known(ABRUPT, 5, ROOTS)
    assert any(word.any() for found in states.found for word in found.words)
    plain, keys = search(puct.puct, OPEN, SEARCH, opened(ABRUPT, states), seats)
    planner, run = PLANNERS[puct.puct, OPEN, SEARCH, network, ROOTS]
    monkeypatch.setattr(puct, "puct", lambda game, *_, **__: planner._replace(plan=run) if game == OPEN else None)
    seeing = determinized.true_sight(ABRUPT, network, SEARCH)
    plan, _ = seeing.plan(None, keys, seeing.init(ROOTS), states, seats, np.ones(ROOTS, bool))
    same_plans(jax.device_get(plan), plain)


@pytest.mark.slow
def test_one_possible_world_is_searched_the_same_however_often_it_is_drawn():
    """The second player has met all stones of the first: nothing is hidden from it."""
    games = [play(CLASSICAL, [cell, cell])[-1] for cell in range(LANES)]
    infos = []
    for cell, state in enumerate(games):
        info = CLASSICAL.init_information(jnp.int32(1))
        for after, action in zip(play(CLASSICAL, [cell, cell])[1:], (CLASSICAL.pass_action, cell), strict=True):
            info = CLASSICAL.update_information(info, CLASSICAL.observe(after, jnp.int32(1)), jnp.int32(action))
        assert int(state.player) == 1
        infos.append(info)
    infos = jax.tree.map(lambda *leaves: np.stack(leaves), *infos)
    seats = np.ones(LANES, np.int32)
    many, _ = search(determinized.pimc_tree, CLASSICAL, SPLIT, infos, seats)
    states = jax.tree.map(lambda *leaves: np.stack(leaves).repeat(WORLDS, 0), *games)
    plain, _ = search(puct.puct, OPEN, SEARCH, jax.vmap(CLASSICAL.open_state)(states), seats.repeat(WORLDS))
    np.testing.assert_array_equal(own(many.action_weights, seats), own(plain.action_weights, seats.repeat(WORLDS))[::WORLDS])
    np.testing.assert_array_equal(own(many.visit_counts, seats), WORLDS * own(plain.visit_counts, seats.repeat(WORLDS))[::WORLDS])
    np.testing.assert_array_equal(many.actions, plain.actions[::WORLDS])


# --- worlds put together -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game, settings", [
    (ABRUPT, SPLIT),
    pytest.param(CLASSICAL, Settings(combine="value", num_worlds=WORLDS, tree="game", search=SEARCH), marks=pytest.mark.slow),
], ids=["policy", "value"])  # fmt: skip
def test_a_plan_puts_together_what_puct_finds_in_each_world(game, settings):
    """In the open game with the budget split, and in the tree of the game itself with the whole budget for each world."""
    _, infos, seats = known(game, 5)
    plan, keys = search(determinized.pimc_tree, game, settings, infos, seats)
    worlds, owners = worlds_of(game, infos, keys), seats.repeat(WORLDS)
    inside = OPEN if settings.tree == "open" else game
    roots = opened(game, worlds) if settings.tree == "open" else worlds
    each, _ = search(puct.puct, inside, SEARCH, roots, owners)
    policies, visits, values = (
        own(part, owners).reshape(LANES, WORLDS, CELLS) for part in (each.action_weights, each.visit_counts, each.qvalues)
    )
    assert (visits.sum(-1) == SIMULATIONS).all()  # of each world: split, or for each
    assert any(len(np.unique(lane, axis=0)) > 1 for lane in policies)  # worlds that differ
    np.testing.assert_array_equal(own(plan.visit_counts, seats), visits.sum(1))
    results = np.where(visits > 0, values, -1.0)
    np.testing.assert_allclose(own(plan.qvalues, seats), results.mean(1), rtol=1e-6)
    expected = policies.mean(1) if settings.combine == "policy" else np.eye(CELLS)[results.sum(1).argmax(-1)]
    found = own(plan.action_weights, seats)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_allclose(found.sum(-1), 1, rtol=1e-6)
    assert not found[taken(game, infos)].any()
    np.testing.assert_array_equal(own(plan.actions, seats), found.argmax(-1))
    np.testing.assert_array_equal(own(plan.actions, 1 - seats), game.pass_action)
    np.testing.assert_allclose(own(plan.root_value, seats), own(each.root_value, owners).reshape(LANES, -1).mean(1), rtol=1e-5)
    np.testing.assert_array_equal(own(plan.root_value, 1 - seats), -own(plan.root_value, seats))
    for name, numbers in each.metrics.items():
        np.testing.assert_array_equal(plan.metrics[name], numbers.reshape(LANES, WORLDS).sum(1), name)


@dataclasses.dataclass(frozen=True)
class HiddenHoard(Hoard):
    """What the things are worth is not seen."""

    @property
    def open_game(self):
        return Hoard(**{field.name: getattr(self, field.name) for field in dataclasses.fields(self)})

    def open_state(self, state):
        return state

    def observe(self, state, player):
        return dataclasses.replace(state, worths=jnp.zeros_like(state.worths))

    def init_information(self, player, observation=None):
        return observation

    def update_information(self, info, observation, own_action):
        return observation

    def sample_hidden(self, key, info):
        return dataclasses.replace(info, worths=jax.random.randint(key, (self.things,), 1, 10))


def by_worth(game):
    """Takes what is worth much, or what chance favours."""

    def plan(params, keys, memory, views, seats, active):
        arms, legal = jax.vmap(game.search_arms)(views)
        noise = jax.vmap(lambda key: jax.random.uniform(key, (game.num_arms,)))(keys)
        values = jnp.where(legal, (jnp.pad(views.worths, ((0, 0), (0, 1))) * noise)[:, None] / 10, -1.0)
        weights = jnp.where(legal, values, 0) / jnp.maximum(jnp.where(legal, values, 0).sum(-1, keepdims=True), 1e-6)
        actions = jnp.take_along_axis(arms, values.argmax(-1)[..., None], -1)[..., 0]
        return Plan(actions, arms, legal, values, legal.astype(jnp.int32), weights, values.max(-1), {}), memory

    return memoryless("by worth", plan)


HOARD = HiddenHoard(things=6, points=2)
OF_TURNS = evolution.Settings(num_generations=3, population=8)
PLANNERS_OF_WORLDS = {
    "FDTS in DarkHex": (ABRUPT, fdts(OPEN, num_simulations=40, horizon=9, table_rows=256)),
    "OEP with hidden worths": (HOARD, evolution.oep(HOARD.open_game, OF_TURNS)),
    "by hidden worths": (HOARD, by_worth(HOARD.open_game)),
}


@functools.cache
def over_worlds(what):
    game, planner = PLANNERS_OF_WORLDS[what]
    return determinized.determinized(game, planner, worlds.Worlds(num_worlds=WORLDS, microbatch_size=3))


@functools.cache
def planned_over(what):
    return jax.jit(over_worlds(what).plan)


@functools.cache
def hoards():
    """What the first players of some games know, and their seats."""

    @jax.jit
    @jax.vmap
    def seen(key):
        return HOARD.observe(HOARD.init(key), jnp.int32(0))

    return jax.device_get(seen(jax.random.split(jax.random.key(5), LANES))), np.zeros(LANES, np.int32)


@pytest.mark.parametrize(
    "what", [name if name == "by hidden worths" else pytest.param(name, marks=pytest.mark.slow) for name in PLANNERS_OF_WORLDS]
)
def test_any_planner_of_the_open_game_plans_in_drawn_worlds(what):
    """The same as planning in each world alone and adding up what each of them does."""
    game, planner = PLANNERS_OF_WORLDS[what]
    if game is ABRUPT:
        _, infos, seats = known(game, 4)
    else:
        infos, seats = hoards()
    over = over_worlds(what)
    keys, active = jax.random.split(jax.random.key(0), LANES), np.arange(LANES) != 1
    run = planned_over(what)
    plan, memory = run(None, keys, over.init(LANES), infos, seats, active)
    again, _ = run(None, keys, memory, infos, seats, active)
    same_plans(again, plan)  # nothing is kept from worlds that are no more
    worlds, owners = worlds_of(game, infos, keys), seats.repeat(WORLDS)
    world_keys = jax.jit(jax.vmap(lambda key: jax.random.split(jax.random.fold_in(key, 1), WORLDS)))(keys).reshape(-1)
    count = LANES * WORLDS
    roots = opened(game, worlds)
    each, _ = jax.jit(planner.plan)(None, world_keys, planner.init(count), roots, owners, np.ones(count, bool))
    rows = {name: np.asarray(getattr(each, name))[np.arange(count), owners] for name in ("arms", "legal", "action_weights")}
    expected = np.zeros((LANES, game.num_actions))
    for number, (arms, legal, weights) in enumerate(zip(*rows.values(), strict=True)):
        np.add.at(expected[number // WORLDS], arms[legal], weights[legal] / WORLDS)
    found = np.asarray(plan.action_weights)[np.arange(LANES), seats]
    np.testing.assert_allclose(found[active], expected[active], atol=1e-6)
    best = np.asarray(plan.actions)[np.arange(LANES), seats]
    assert (expected[np.arange(LANES), best] >= expected.max(-1) - 1e-6)[active].all()
    assert len({tuple(row) for row in expected[active].tolist()}) > 1
    assert not over.sees_state and not over.uses_hidden and over.memory_bytes == WORLDS * planner.memory_bytes


def test_of_many_actions_a_plan_has_those_of_the_highest_weights(monkeypatch):
    what = "by hidden worths"
    game, planner = PLANNERS_OF_WORLDS[what]
    (infos, seats), ones, keys = hoards(), np.ones(LANES, bool), jax.random.split(jax.random.key(0), LANES)
    whole, _ = planned_over(what)(None, keys, over_worlds(what).init(LANES), infos, seats, ones)
    monkeypatch.setattr(worlds, "MOST_COLUMNS", 3)
    over = determinized.determinized(game, planner, worlds.Worlds(num_worlds=WORLDS, microbatch_size=3))
    few, _ = jax.jit(over.plan)(None, keys, over.init(LANES), infos, seats, ones)
    assert few.arms.shape[2] == 3 < whole.arms.shape[2]
    np.testing.assert_array_equal(few.actions, whole.actions)
    for name in ("action_weights", "qvalues", "visit_counts", "legal"):
        kept = np.take_along_axis(np.asarray(getattr(whole, name))[:, 0], np.asarray(few.arms)[:, 0], axis=1)
        np.testing.assert_array_equal(np.asarray(getattr(few, name))[:, 0], kept, name)


@pytest.mark.parametrize(("value_range", "columns"), [
    ((-1.0, 1.0), worlds.MOST_COLUMNS),
    ((0.0, 1.0), 3),
    pytest.param((-1.0, 1.0), 3, marks=pytest.mark.slow),
    pytest.param((0.0, 1.0), worlds.MOST_COLUMNS, marks=pytest.mark.slow),
])  # fmt: skip
def test_values_of_worlds_are_on_the_scale_of_the_planner(value_range, columns, monkeypatch):
    """What is not tried in a world counts as lost there, and what is good for a player is as bad for the other."""
    (lost, won), game = value_range, HOARD.open_game
    # What is best in most worlds is not tried in one of them, and the last is tried in none.
    values = lost + (won - lost) * np.array([0.9, 0.5, 0.3, 0.9])

    def plan(params, keys, memory, views, seats, active):
        arms, legal = (rows[..., : len(values)] for rows in jax.vmap(game.search_arms)(views))
        world = jnp.arange(len(seats))[:, None, None] % WORLDS
        visits = jnp.where((jnp.arange(len(values)) == 0) & (world == 0), 0, np.array([1, 1, 1, 0]))
        told = jnp.broadcast_to(jnp.asarray(values, jnp.float32), arms.shape)
        weights, everyone = jnp.full_like(told, 0.25), jnp.zeros((len(seats), 2), jnp.int32)
        return Plan(everyone, arms, legal, told, visits + 0 * arms, weights, told[:, :, 0], {}), memory

    monkeypatch.setattr(worlds, "MOST_COLUMNS", columns)
    planner = memoryless("told", plan, value_range=value_range)
    over = determinized.determinized(HOARD, planner, worlds.Worlds(combine="value", num_worlds=WORLDS))
    infos, seats = hoards()
    keys, ones = jax.random.split(jax.random.key(0), LANES), np.ones(LANES, bool)
    found, _ = jax.jit(over.plan)(None, keys, (), infos, seats, ones)
    assert over.value_range == value_range and (found.actions[:, 0] == 0).all()
    results = np.array([(3 * values[0] + lost) / WORLDS, values[1], values[2], lost])
    for lane, row in zip(np.asarray(found.arms)[:, 0], np.asarray(found.qvalues)[:, 0], strict=True):
        np.testing.assert_allclose(row[lane < 4], results[lane[lane < 4]], rtol=1e-6)
    np.testing.assert_allclose(found.root_value, [[values[0], lost + won - values[0]]] * LANES, rtol=1e-6)


def test_a_plan_of_worlds_is_of_the_games_seats():
    """Also that of a planner whose own plans have one row, for whoever plans."""
    planner = memoryless("first", lambda *_: None)._replace(own_first=True)
    assert not determinized.determinized(ABRUPT, planner, worlds.Worlds(num_worlds=WORLDS)).own_first


def test_planners_that_play_fair_take_no_drawn_worlds():
    fair = determinized.pimc_value(ABRUPT, worth, Settings(num_worlds=WORLDS))
    with pytest.raises(ValueError, match=r"^planner='PIMC, no tree': plays by what its seat knows; drawn worlds need"):
        determinized.determinized(ABRUPT, fair)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (Settings(combine="medoid"), "combine='medoid': must be value, there are no policies without a tree"),
        (Settings(split=True), "split=True: must be False, there are no simulations without a tree"),
    ],
)
def test_what_belongs_to_trees_is_refused_without_one(settings, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        determinized.pimc_value(ABRUPT, worth, settings)


def test_looking_one_action_ahead_is_for_games_of_turns():
    with pytest.raises(ValueError, match=r"^game='tug': all its players move at once; looking ahead needs one who is to move$"):
        determinized.look_ahead(Tug(), worth)


@pytest.mark.slow
@pytest.mark.parametrize("make", [determinized.pimc_tree, determinized.pimc_value])
def test_no_planner_gives_up_a_lost_game_by_an_illegal_attempt(make):
    """Every result can be the worst one: here whoever has moved has lost, but for who has won."""
    _, infos, seats = known(ABRUPT, 8, 24)
    settings = Settings(combine="value", num_worlds=1, search=dataclasses.replace(SEARCH, num_simulations=1))
    plan, _ = search(make, ABRUPT, settings, infos, seats, evaluate=hopeless)
    free = ~taken(ABRUPT, infos)
    assert free[np.arange(len(seats)), own(plan.actions, seats)].all()
    assert (own(plan.qvalues, seats).max(-1) == -1).any() and (~free[:, 0]).any()


def test_looking_ahead_in_a_lost_game_is_legal():
    """All arms are worth the worst, the first one, which is taken, too."""
    game = TicTacToe()
    planner = determinized.look_ahead(game, hopeless)

    @jax.jit
    def plan(cells):
        states = jax.vmap(lambda cell: game.step(game.init(None), jnp.array([cell, game.pass_action])))(cells)
        seats, keys = jnp.ones(len(cells), jnp.int32), jax.random.split(jax.random.key(0), len(cells))
        return planner.plan(None, keys, (), states, seats, jnp.ones(len(cells), bool))[0]

    found = jax.device_get(plan(np.arange(3)))
    np.testing.assert_array_equal(found.actions, [[game.pass_action, 1], [game.pass_action, 0], [game.pass_action, 0]])
    np.testing.assert_array_equal(found.action_weights[:, 1].argmax(-1), [1, 0, 0])
    np.testing.assert_array_equal(found.qvalues[:, 1], -1)


def test_looking_one_move_ahead_equals_brute_force_and_actions_are_drawn_by_the_policy():
    _, infos, seats = known(ABRUPT, 6)
    infos, seats = jax.tree.map(lambda leaf: leaf.repeat(80, 0), infos), seats.repeat(80)
    soft = Settings(combine="value", num_worlds=WORLDS, value_temperature=0.5, temperature=1.0)
    plan, keys = search(determinized.pimc_value, ABRUPT, soft, infos, seats, evaluate=worth)
    lanes = np.arange(0, len(seats), 16)
    boards = interop.board(ABRUPT.config, worlds_of(ABRUPT, at(infos, lanes), keys[lanes])).reshape(-1, WORLDS, CELLS)
    results, wins = np.full((len(lanes), WORLDS, CELLS), -1.0), 0
    for row, world in np.ndindex(results.shape[:2]):
        board, sign = boards[row, world], 1 if seats[lanes[row]] == 0 else -1
        for cell in np.flatnonzero(board == 0):
            after = board + sign * np.eye(CELLS, dtype=int)[cell]
            won = joined(after.reshape(3, 3), sign)
            wins += won
            results[row, world, cell] = 1 if won else sign * (after @ WORTH)
    free = boards == 0
    assert 0 < wins < free.sum()
    np.testing.assert_allclose(own(plan.qvalues, seats)[lanes], results.mean(1), rtol=1e-5)
    np.testing.assert_array_equal(own(plan.visit_counts, seats)[lanes], free.sum(1))
    policy = own(plan.action_weights, seats)
    legal = ~taken(ABRUPT, infos)
    chances = np.exp(results.mean(1) / 0.5) * legal[lanes]
    np.testing.assert_allclose(policy[lanes], chances / chances.sum(-1, keepdims=True), rtol=1e-4)
    drawn = np.eye(CELLS)[own(plan.actions, seats)]
    assert not drawn[~legal].any()
    deviation = (drawn - policy).sum(0) / np.sqrt((policy * (1 - policy)).sum(0))
    assert (np.abs(deviation) < 4.5).all() and (drawn.sum(0) > 5).all()


# --- lanes -------------------------------------------------------------------------------------------------------------


FEW = dataclasses.replace(SPLIT, microbatch_size=2)


@pytest.mark.parametrize("settings", [SPLIT, pytest.param(FEW, marks=pytest.mark.slow)], ids=["whole", "portions"])
def test_portions_and_lanes_that_need_no_plan_change_nothing(settings):
    _, infos, seats = known(ABRUPT, 5)
    whole, _ = search(determinized.pimc_tree, ABRUPT, SPLIT, infos, seats)
    parts, _ = search(determinized.pimc_tree, ABRUPT, settings, infos, seats)
    same_plans(parts, whole)
    active = np.array([False, True, True, False, True])
    some, _ = search(determinized.pimc_tree, ABRUPT, settings, infos, seats, active)
    same_plans(*(jax.tree.map(lambda leaf: leaf[active], plan) for plan in (some, whole)))
    assert np.isfinite(some.action_weights).all() and not some.visit_counts[~active].any()
    none, _ = search(determinized.pimc_tree, ABRUPT, settings, infos, seats, np.zeros(LANES, bool))
    assert not none.visit_counts.any() and np.isfinite(none.action_weights).all()


# --- constants and settings --------------------------------------------------------------------------------------------


def test_the_exploration_constant_grows_with_the_visits():
    """It is 2.50005 at first and 2.54 after 800; with a small base it matters, and the search is still the slow one."""
    preset = puct.ALPHAZE
    rates = [math.log((count + preset.c_base + 1) / preset.c_base) + preset.c_init for count in (0, 800)]
    np.testing.assert_allclose(rates, [2.50005, 2.5400], atol=6e-5)
    states, _, seats = known(ABRUPT, 3, ROOTS)
    states = opened(ABRUPT, states)
    found = own(search(puct.puct, OPEN, SEARCH, states, seats)[0].visit_counts, seats)[:4].tolist()
    assert [slow_search(at(states, lane), SEARCH) for lane in range(4)] == found
    steady = dataclasses.replace(SEARCH, c_init=SEARCH.c_init + math.log(2), c_base=1e6)  # the same before the first visit
    assert [slow_search(at(states, lane), steady) for lane in range(4)] != found


step = jax.jit(lambda state, arm: OPEN.step(state, jnp.full(2, arm)))


@jax.jit
def judge(state):
    batch = jax.tree.map(lambda leaf: leaf[None], state)
    return network(None, batch, state.player[None].astype(jnp.int32)), OPEN.outcome(state)


def slow_search(state, settings):
    def open_node(state):
        player, over = int(state.player), bool(state.terminated)
        (logits, value), outcome = jax.device_get(judge(state))
        (logits,), (value,), outcome = logits, value, float(outcome[player])
        legal = (interop.board(OPEN.config, state) == 0) & (not over)
        prior = np.where(legal, np.exp(logits), 0.0)
        return puct_reference.Node(state, prior / max(prior.sum(), 1e-30), outcome if over else float(value), over, player)

    budget = (settings.num_simulations, settings.c_init, settings.c_base)
    return puct_reference.search(open_node, lambda state, arm: step(state, np.int32(arm)), state, *budget)[0].tolist()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"combine": "mode"}, "combine='mode': must be one of policy, medoid, value"),
        ({"tree": "closed"}, "tree='closed': must be one of open, game"),
        ({"num_worlds": 0}, "num_worlds=0: must be >= 1"),
        ({"microbatch_size": 0}, "microbatch_size=0: must be >= 1"),
        ({"temperature": -1.0}, "temperature=-1.0: must be >= 0"),
        ({"value_temperature": float("nan")}, "value_temperature=nan: must be finite and >= 0"),
        ({"value_temperature": 0.5}, "value_temperature=0.5: needs combine=value, not 'policy'"),
        ({"split": True, "num_worlds": 13, "search": SEARCH}, "split: num_simulations=12 must be at least num_worlds=13"),
    ],
)
def test_settings_are_checked(values, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        Settings(**values)
    assert str(error.value) == message
