"""Evolving turns, in all its kinds, in a game whose turns can all be gone through."""

import dataclasses
import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxgames import random_bits
from search.turns import anytime, coevolution, evolution, greedy, population
from search.turns import mcts as turn_mcts
from tests.hoard_turns import GAME, LANES, MOVES, ONES, SEATS, all_worths, best_values, lanes, roots, taken, turns_of, worth

BASE = evolution.Settings(num_generations=40, population=16, mutation=0.3)
REPLIES = coevolution.Settings(num_generations=200, population=16, replies=8, mutation=0.3)


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


def answered(worths, turn):
    """What a turn is worth after the best reply."""
    return min(worth(worths, turn, reply) for reply in turns_of(set(range(8)) - set(turn)))


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
