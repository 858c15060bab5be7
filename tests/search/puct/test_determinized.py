"""Search in drawn worlds: against PUCT where nothing is hidden, and against plain numpy over the same worlds."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.hex import interop
from search import puct
from search.puct import determinized
from search.puct.determinized import Settings
from tests.jaxgames.hex.playing import at, joined, play
from tests.search import puct_reference
from tests.search.puct.dark_hex import (
    ABRUPT,
    CELLS,
    CLASSICAL,
    LANES,
    OPEN,
    PLANNERS,
    ROOTS,
    SEARCH,
    SIMULATIONS,
    WORLDS,
    known,
    network,
    opened,
    own,
    same_plans,
    search,
    taken,
    worlds_of,
)
from tests.tic_tac_toe.game import TicTacToe
from tests.tug import Tug

SPLIT = Settings(num_worlds=WORLDS, split=True, search=dataclasses.replace(SEARCH, num_simulations=WORLDS * SIMULATIONS))
WORTH = np.random.default_rng(2).permutation(CELLS).astype(np.float32) / 16


def worth(params, states, seats):
    """The worth of the seat's cells, less that of the other's."""
    black, white = (jax.vmap(OPEN.config.grid.to_bool)(stones).reshape(-1, CELLS).astype(jnp.float32) for stones in states.stones)
    value = (black - white) @ WORTH
    return jnp.zeros((seats.shape[0], CELLS)), jnp.where(seats == 0, value, -value)


def hopeless(params, states, seats):
    """Who is to move has won."""
    return jnp.zeros((seats.shape[0], CELLS)), jnp.ones(seats.shape[0])


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


# --- without a tree ----------------------------------------------------------------------------------------------------


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


def test_looking_ahead_by_values_that_are_no_numbers():
    game = TicTacToe()
    planner = determinized.look_ahead(
        game, lambda value, states, seats: (jnp.zeros((len(seats), 1)), jnp.full(len(seats), value))
    )
    states, keys = jax.tree.map(lambda leaf: leaf[None], game.init(None)), jax.random.split(jax.random.key(0), 1)
    run = jax.jit(lambda value: planner.plan(value, keys, (), states, jnp.zeros(1, jnp.int32), jnp.ones(1, bool))[0])
    same_plans(*(run(np.float32(value)) for value in (math.nan, 0)))


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
