"""Evolving turns, in all its kinds, in a game whose turns can all be gone through."""

import dataclasses
import functools
import itertools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxgames import random_bits
from search.turns import anytime, coevolution, evolution, greedy, population
from search.turns import mcts as turn_mcts
from search.turns.game import moves_of
from search.turns.planner import TurnPlan, TurnSearch, never, turn_planner
from tests.hoard import PAIR, Hoard

GAME = Hoard()
MOVES = moves_of(GAME)
LANES = 8
SEATS = np.zeros(LANES, np.int32)
ONES = np.ones(LANES, bool)
ADVANCE = jax.jit(jax.vmap(lambda state, action: GAME.advance(state, action, None)))
BASE = evolution.Settings(num_generations=40, population=16, mutation=0.3)
REPLIES = coevolution.Settings(num_generations=200, population=16, replies=8, mutation=0.3)


@functools.cache
def roots():
    return jax.device_get(jax.jit(jax.vmap(GAME.init))(jax.random.split(jax.random.key(2), LANES)))


@functools.cache
def all_worths():
    return roots().worths.tolist()


@functools.cache
def lanes():
    return jax.device_get(jax.jit(jax.vmap(random_bits.lane_key))(jax.random.split(jax.random.key(0), LANES)))


@functools.cache
def compiled(settings):
    """So many rounds of a search with some settings, compiled once: what there is then, and the plan."""
    kind = coevolution.coevolve if isinstance(settings, coevolution.Settings) else evolution.evolution
    search = kind(GAME, MOVES, settings)

    @jax.jit
    def some(lanes, roots, rounds):
        now = search.rounds_from(jnp.int32(0), rounds, search.start(lanes, roots, jnp.asarray(SEATS), jnp.asarray(ONES)))
        return now, search.finish(now)

    return lambda lanes, roots, rounds=search.rounds: jax.device_get(some(lanes, roots, np.int32(rounds)))


def run(settings):
    return compiled(settings)(lanes(), roots())[1]


def worth(worths, mine, theirs):
    """The heuristic for whoever has the things `mine`, in whole hundredths."""
    pairs = [sum({2 * k, 2 * k + 1} <= set(some) for k in range(len(worths) // 2)) for some in (mine, theirs)]
    return sum(worths[i] for i in mine) - sum(worths[i] for i in theirs) + PAIR * (pairs[0] - pairs[1])


def turns_of(free):
    return list(itertools.combinations(sorted(free), min(GAME.points, len(free))))


def best_values():
    """The most that a turn can be worth, in each root."""
    return np.array([max(worth(w, t, ()) for t in turns_of(range(8))) for w in all_worths()]) / 100


def answered(worths, turn):
    """What a turn is worth after the best reply."""
    return min(worth(worths, turn, reply) for reply in turns_of(set(range(8)) - set(turn)))


def taken(turn: TurnPlan):
    """The things that each plan takes; it has to be legal, and to end with the end of the turn."""
    states, result = roots(), [[] for _ in range(LANES)]
    for place in range(MOVES.turn_length):
        for lane, action in enumerate(np.asarray(turn.actions)[:, place].tolist()):
            if action in range(8):
                assert action not in result[lane]
                result[lane].append(action)
        states = ADVANCE(states, np.where(turn.actions[:, place] < 0, GAME.end_turn, turn.actions[:, place]))
    assert (np.asarray(states.player) == 1).all()
    assert all(len(things) == GAME.points for things in result)
    return result


KINDS = {
    "plain": BASE,
    "niches": dataclasses.replace(BASE, niches=True),
    "restarts": dataclasses.replace(BASE, restart_after=5),
    "restarts on islands": dataclasses.replace(BASE, restart_after=12, islands=2, migrate_every=1000),
    "islands": dataclasses.replace(BASE, islands=3, population=8, migrate_every=4),
}
IN_NICHES = dataclasses.replace(BASE, niches=True, rollouts=2, greediness=1.0)


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow) if kind in ("niches", "restarts", "islands") else kind for kind in KINDS]
)
def test_the_best_turn_is_found(kind):
    turn = run(KINDS[kind])
    np.testing.assert_allclose(turn.value, best_values(), rtol=1e-5)
    found = [worth(w, t, ()) for w, t in zip(all_worths(), taken(turn), strict=True)]
    np.testing.assert_allclose(np.array(found) / 100, turn.value, rtol=1e-5)


def evolved(settings, rounds=10):
    return compiled(settings)(lanes(), roots(), rounds)[0]


@functools.partial(jax.jit, static_argnums=0)
def _sorted(settings, now):
    return evolution._sorted(settings, now)


def in_order(settings, now):
    return jax.device_get(_sorted(settings, now))


@functools.partial(jax.jit, static_argnums=0)
def _migrated(settings, now):
    return evolution._migrated(settings, now)


def migrated(settings, now):
    return jax.device_get(_migrated(settings, now))


def outcomes(genomes):
    """How many different sets of things the survivors' turns take, per lane."""
    kept = np.asarray(genomes)[:, : BASE.num_survivors]
    return np.array([len({tuple(sorted(genome)) for genome in lane.tolist()}) for lane in kept])


def sorted_population(settings):
    return in_order(settings, evolved(settings))


def test_parents_are_two_survivors_and_every_pair_comes_as_often():
    drawn = jax.jit(lambda keys: population.parents(jax.vmap(random_bits.lane_key)(keys), 4))
    counts = np.zeros((4, 4))
    np.add.at(counts, jax.device_get(drawn(jax.random.split(jax.random.key(0), 6000))), 1)
    assert not np.diag(counts).any() and stats.chisquare(counts[~np.eye(4, dtype=bool)]).pvalue > 1e-3


def test_of_equals_the_first_is_ahead():
    values, outcomes = np.array([[3.0, 5.0, 5.0, 1.0]], np.float32), np.zeros((1, 4, 2), np.uint32)
    assert jax.jit(population.order_of)(values).tolist() == [[1, 2, 0, 3]]
    assert jax.jit(population.deduplicate)(values, outcomes).tolist() == [[-np.inf, 5, -np.inf, -np.inf]]


def test_niches_keep_one_turn_of_each_outcome():
    plain, niches = (sorted_population(settings).genomes for settings in (BASE, IN_NICHES))
    assert (outcomes(niches) == BASE.num_survivors).all()
    assert outcomes(plain).mean() < BASE.num_survivors - 2


@pytest.mark.parametrize("kind", [pytest.param("restarts", marks=pytest.mark.slow), "restarts on islands"])
def test_restarts_forget_all_but_the_best(kind):
    restarts = KINDS[kind]
    now = evolved(restarts, rounds=90)
    plain = evolved(BASE, rounds=90)
    # The best turns are there, in the population or beside it; the populations differ from those that went on.
    best = np.maximum(np.asarray(now.notes["value"]).max(1), np.asarray(now.elite_value))
    np.testing.assert_allclose(best.reshape(LANES, -1).max(1), best_values(), rtol=1e-5)
    assert (np.asarray(now.breeds_from) > restarts.random_rounds).all()
    assert np.asarray(now.notes["value"]).mean() < np.asarray(plain.notes["value"]).mean()


def test_islands_are_apart_but_for_voyages():
    alone = KINDS["restarts on islands"]
    now = evolved(alone)
    assert (np.asarray(now.breeds_from) == alone.random_rounds).all(), "no island has begun again"
    genomes = np.asarray(now.genomes).reshape(LANES, 2, BASE.population, -1)
    assert (genomes[:, 0] != genomes[:, 1]).any((1, 2)).all()
    # The tenth round sends each island's best to the other one.
    before = in_order(alone, now)
    after = migrated(dataclasses.replace(alone, migrate_every=10), before)
    last = BASE.num_survivors - 1
    old, new = (np.asarray(x.genomes).reshape(LANES, 2, BASE.population, -1) for x in (before, after))
    np.testing.assert_array_equal(new[:, 0, last], old[:, 1, 0])
    np.testing.assert_array_equal(new[:, 1, last], old[:, 0, 0])
    np.testing.assert_array_equal(np.delete(new, last, 2), np.delete(old, last, 2))
    at_home = migrated(dataclasses.replace(alone, migrate_every=7), before)
    chex.assert_trees_all_equal(at_home, before)
    # Nobody sails to or from an island that begins again.
    begins = dataclasses.replace(before, breeds_from=np.concatenate([[99], before.breeds_from[1:]]).astype(np.int32))
    halted = migrated(dataclasses.replace(alone, migrate_every=10), begins)
    np.testing.assert_array_equal(halted.genomes[:2], before.genomes[:2])
    np.testing.assert_array_equal(halted.genomes[2:], after.genomes[2:])


def test_rollouts_look_at_what_the_other_can_do():
    """A greedy opponent takes the rest of what is worth most, so the value is that of this very reply."""
    turn = run(IN_NICHES)
    for lane, worths in enumerate(all_worths()):

        def greedy_reply(turn, worths=worths):
            free = sorted(set(range(8)) - set(turn), key=lambda i: (-worths[i], i))
            return worth(worths, turn, free[: GAME.points])

        best = max(greedy_reply(turn) for turn in turns_of(range(8)))
        assert float(turn.value[lane]) == pytest.approx(best / 100, abs=1e-6)
        assert greedy_reply(taken(turn)[lane]) == best


def test_the_lowest_of_random_rollouts_counts(monkeypatch):
    settings = dataclasses.replace(BASE, rollouts=1)
    kept = settings.num_survivors
    now = jax.device_get(jax.jit(evolution.evolution(GAME, MOVES, settings).start)(lanes(), roots(), SEATS, ONES))
    now = dataclasses.replace(now, notes=now.notes | {"value": np.full_like(now.notes["value"], 0.5)})
    found = np.linspace(0, 1, kept, dtype=np.float32)
    monkeypatch.setattr(evolution, "_rollout_value", lambda *_: jnp.tile(found, LANES))
    again = jax.jit(lambda now: evolution._evaluated_again(GAME, MOVES, settings, lanes(), now).notes["value"])(now)
    np.testing.assert_array_equal(again[:, :kept], np.tile(np.minimum(found, 0.5), (LANES, 1)))
    np.testing.assert_array_equal(again[:, kept:], 0.5)


def test_replies_make_turns_stand_against_the_best_one():
    turn = run(REPLIES)
    worths = all_worths()
    best = np.array([max(answered(w, t) for t in turns_of(range(8))) for w in worths]) / 100
    np.testing.assert_allclose(turn.value, best, atol=1e-6)
    np.testing.assert_allclose([answered(w, t) / 100 for w, t in zip(worths, taken(turn), strict=True)], best, atol=1e-6)
    # Who looks at the own turn alone is worth less after the best reply, in some of the games.
    blind = taken(run(BASE))
    assert np.mean([answered(w, t) / 100 for w, t in zip(worths, blind, strict=True)]) < best.mean()


def test_no_turn_is_on_trial_before_there_is_a_whole_generation():
    short = dataclasses.replace(REPLIES, num_generations=2, trial=0.9)
    assert short.growing_rounds == short.random_rounds < short.rounds
    assert dataclasses.replace(REPLIES, trial=0.5).growing_rounds == REPLIES.rounds - REPLIES.rounds // 2


@pytest.mark.parametrize(
    "settings", [BASE, pytest.param(KINDS["islands"], marks=pytest.mark.slow), REPLIES], ids=["oep", "islands", "replies"]
)
def test_a_lane_does_not_depend_on_the_others(settings):
    order = np.array([3, 0, 5, 1, 4, 2, 7, 6])
    keys, states = jax.tree.map(lambda leaf: leaf[order], (lanes(), roots()))
    whole = jax.tree.map(lambda leaf: leaf[order], run(settings))
    chex.assert_trees_all_equal(whole, compiled(settings)(keys, states)[1])


def test_greedy_action_takes_any_of_equal_actions():
    """Those too that are tried later than others."""
    game, count = Hoard(things=20), 2000

    @jax.jit
    def chosen(keys):
        states = jax.vmap(game.init)(keys)
        states = dataclasses.replace(states, worths=jnp.full_like(states.worths, 3))
        drawn, seats = jax.vmap(random_bits.lane_key)(keys), jnp.zeros(count, jnp.int32)
        return greedy.best_action(game, moves_of(game), drawn, states, seats, jnp.ones(count, bool))[0]

    counts = np.bincount(chosen(jax.random.split(jax.random.key(0), count)), minlength=20)
    assert len(counts) == 20 and stats.chisquare(counts).pvalue > 1e-3


class Misjudged(Hoard):
    """Who is to move takes what is worth least for what is worth most."""

    def known_state(self, state):
        return dataclasses.replace(state, worths=-state.worths)


@functools.cache
def misjudging():
    return jax.jit(greedy.greedy_action(Misjudged()).plan)


def test_greedy_action_goes_by_what_is_known():
    plan, _ = misjudging()(None, jax.random.split(jax.random.key(0), LANES), (), roots(), SEATS, ONES)
    expected = [min(worths) for worths in all_worths()]
    assert [worths[action] for worths, action in zip(all_worths(), plan.actions[:, 0].tolist(), strict=True)] == expected


def test_greedy_action_has_nothing_to_plan_at_an_end():
    """Nor where nobody asks: its values are numbers all the same."""
    states = roots()
    ended = dataclasses.replace(states, terminated=np.arange(LANES) % 2 == 0)
    active = np.arange(LANES) < LANES // 2
    plan, _ = jax.device_get(misjudging()(None, jax.random.split(jax.random.key(0), LANES), (), ended, SEATS, active))
    assert np.isfinite(plan.root_value).all() and np.isfinite(plan.qvalues).all()
    asked = np.asarray(active & ~ended.terminated)
    assert (plan.root_value[~asked] == 0).all() and (plan.root_value[asked, 0] != 0).all()


def test_greedy_turn_looks_at_every_outcome_once():
    turn = jax.jit(greedy.best_turn(GAME, MOVES, greedy.Settings(num_evaluations=1000)).run)(lanes(), roots(), SEATS)
    np.testing.assert_array_equal(turn.metrics["evaluations"], len(turns_of(range(8))))
    np.testing.assert_allclose(turn.value, best_values(), rtol=1e-5)


def test_a_plan_is_kept_and_made_anew_where_the_game_took_another_way():
    planner = greedy.greedy_turn(GAME, greedy.Settings(num_evaluations=20))
    run_plan = jax.jit(planner.plan)

    def plan(*arguments):
        return jax.device_get(run_plan(*arguments))

    memory, states = jax.jit(planner.init, static_argnums=0)(LANES), roots()
    keys = jax.random.split(jax.random.key(1), LANES)
    first, memory = plan(None, keys, memory, states, SEATS, ONES)
    whole = np.asarray(first.metrics["turn"])
    np.testing.assert_array_equal(first.actions[:, 0], whole[:, 0])
    np.testing.assert_array_equal(first.actions[:, 1], GAME.pass_action)
    after = ADVANCE(states, first.actions[:, 0])
    second, memory = plan(None, jax.random.split(jax.random.key(2), LANES), memory, after, SEATS, ONES)
    np.testing.assert_array_equal(second.actions[:, 0], whole[:, 1])
    np.testing.assert_array_equal(second.metrics["position"], 1)
    # Lane 0 finds itself at the start of the turn again, lane 1 is not asked.
    mixed = jax.tree.map(
        lambda old, new: np.where((np.arange(LANES) == 0).reshape(-1, *[1] * (old.ndim - 1)), old, new), states, after
    )
    asked = np.arange(LANES) != 1
    third, kept = plan(None, jax.random.split(jax.random.key(3), LANES), memory, mixed, SEATS, asked)
    assert third.metrics["position"][0] == 0
    assert kept.next[1] == memory.next[1]
    cleared = planner.reset(memory, np.arange(LANES) == 2)
    assert (np.asarray(cleared.next) == np.where(np.arange(LANES) == 2, MOVES.turn_length, np.asarray(memory.next))).all()


@pytest.mark.parametrize("points, keeps_plan, ready", [
    pytest.param(3, True, True, marks=pytest.mark.slow), (3, False, False), pytest.param(1, False, True, marks=pytest.mark.slow),
])  # fmt: skip
def test_who_thinks_before_every_action_does_so_unless_only_the_end_is_left(points, keeps_plan, ready):
    """Where a turn may always be ended, ending it early is a choice; the search here takes a thing and ends the turn."""
    game = Hoard(points=points)
    moves = moves_of(game)._replace(offered=game.legal_set)

    def finish(count):
        turn = jnp.full((len(count), moves.turn_length), game.end_turn).at[:, 0].set(0)
        return TurnPlan(turn, jnp.zeros(len(count)), {})

    search = TurnSearch(lambda lanes, states, seats, active: seats, lambda number, seats: seats, finish, never, 1)
    planner = turn_planner(game, moves, "by hand", search, keeps_plan=keeps_plan)

    @jax.jit
    def first_action(keys):
        states = jax.vmap(game.init)(keys)
        plan, memory = planner.plan(None, keys, planner.init(2), states, jnp.zeros(2, jnp.int32), jnp.ones(2, bool))
        after = jax.vmap(lambda state: game.advance(state, jnp.int32(0), None))(states)
        return plan.actions, planner.ready(memory, after)

    actions, is_ready = jax.device_get(first_action(jax.random.split(jax.random.key(0), 2)))
    assert not actions[:, 0].any()
    assert is_ready.tolist() == [ready] * 2


def test_budgets_count_all_turns_that_are_played():
    assert BASE.num_evaluations == (2 + 39) * 8
    assert KINDS["islands"].num_evaluations == (2 + 39) * 3 * 4
    assert dataclasses.replace(BASE, rollouts=1).num_evaluations == (2 + 39) * 16
    assert REPLIES.num_evaluations == 201 * (3 * 16 + 8) + (201 - 50) * 8
    found = population.generations_for(3200, REPLIES)
    more = dataclasses.replace(found, num_generations=found.num_generations + 1)
    assert found.num_evaluations <= 3200 < more.num_evaluations
    assert population.generations_for(24, KINDS["islands"]).num_generations == 1
    for settings in (KINDS["islands"], dataclasses.replace(BASE, rollouts=1), REPLIES):
        spent = [dataclasses.replace(settings, num_generations=count).num_evaluations for count in range(1, 80)]
        for evaluations in range(spent[0], spent[-1], 7):
            count = population.generations_for(evaluations, settings).num_generations
            assert count == sum(one <= evaluations for one in spent)


CLOCKED = {
    "oep": evolution.evolution(GAME, MOVES, dataclasses.replace(BASE, num_generations=10**6)),
    "mcts": turn_mcts.tree_search(GAME, MOVES, turn_mcts.Settings(num_simulations=3000, max_children=9)),
    "burning": turn_mcts.tree_search(GAME, MOVES, turn_mcts.Settings(3000, burn_bridges=True, max_children=9)),
    "greedy turn": greedy.best_turn(GAME, MOVES, greedy.Settings(num_evaluations=10**6)),
}


@pytest.mark.parametrize("name", [n if n == "oep" else pytest.param(n, marks=pytest.mark.slow) for n in CLOCKED])
def test_more_time_more_rounds(name):
    think = anytime.by_the_clock(GAME, CLOCKED[name])
    keys = jax.random.split(jax.random.key(3), LANES)
    _, few = think(keys, roots(), 0.001)
    turn, many = think(keys, roots(), 200)
    taken(turn)
    assert 1 <= few < many
    if name in ("oep", "greedy turn"):
        for milliseconds in (1000, 5000, 25_000):  # what a machine that does much else needs
            if not np.allclose(turn.value, best_values(), rtol=1e-5):
                turn, many = think(keys, roots(), milliseconds)
        np.testing.assert_allclose(turn.value, best_values(), rtol=1e-5)
    else:
        assert (np.asarray(turn.metrics["nodes"]) <= many + 1).all()


def test_without_time_nothing_can_be_thought():
    with pytest.raises(ValueError, match="milliseconds=0: must be > 0"):
        anytime.by_the_clock(GAME, CLOCKED["oep"])(jax.random.split(jax.random.key(3), LANES), roots(), 0)


@pytest.mark.parametrize(
    ("make_settings", "message"),
    [
        (lambda: evolution.Settings(rollouts=-1), "rollouts=-1"),
        (lambda: evolution.Settings(restart_after=-1), "restart_after=-1"),
        (lambda: evolution.Settings(islands=0), "islands=0"),
        (lambda: evolution.Settings(migrate_every=0), "migrate_every=0"),
        (lambda: evolution.Settings(greediness=1.5), "greediness=1.5"),
        (lambda: coevolution.Settings(replies=1), "replies=1: must be >= 4"),
        (lambda: coevolution.Settings(population=2), "population=2: must be >= 4"),
        (lambda: coevolution.Settings(survivors=0.0), "survivors=0.0"),
        (lambda: coevolution.Settings(judges=0), r"judges=0: must be in 1\.\.12"),
        (lambda: coevolution.Settings(trial=2), "trial=2"),
        (lambda: coevolution.Settings(mutation=-1), "mutation=-1"),
        (lambda: coevolution.Settings(trial=1.0), r"trial=1\.0"),
        (lambda: population.generations_for(0, REPLIES), "evaluations=0"),
        (lambda: population.generations_for(99, evolution.Settings()), "evaluations=99: must be >= 100"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(make_settings, message):
    with pytest.raises(ValueError, match=message) as error:
        make_settings()
    assert "\n" not in str(error.value)
