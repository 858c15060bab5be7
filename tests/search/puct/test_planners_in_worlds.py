"""Any planner of an open game in drawn worlds: against planning in each world alone."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from search import fdts
from search.planner import Plan, memoryless
from search.puct import determinized, worlds
from search.turns import evolution
from tests.hoard import Hoard
from tests.search.puct.dark_hex import ABRUPT, LANES, OPEN, WORLDS, known, opened, same_plans, worlds_of


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
