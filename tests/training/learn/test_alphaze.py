"""The compiled programs of AlphaZe**: what games leave in the buffer, what is learnt from it, and by how many devices."""

import dataclasses
import functools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import runtime
from jaxgames.hex import interop
from search.planner import Plan, Planner, memoryless
from tests.jaxgames.hex.playing import at, joined
from tests.processes import output_of
from tests.training import tiny_alphaze
from tests.training.tiny import on_one_device
from tests.training.tiny_alphaze import CONFIG, GAME, rows_of
from training.learn.alphaze import Alphaze
from training.learn.self_play import UNFINISHED, Sample

KEY = jax.random.key(2)
CALLS, LANES = 3, CONFIG.lanes
KINDS = ("open", "true_sight", "fair", "searched")


def drawing() -> Planner:
    """Draws its policy, over what is legal in a world that it draws."""

    def plan(params, keys, memory, views, seats, active):
        worlds = jax.vmap(GAME.sample_hidden)(keys, views)
        arms, legal = (each[jnp.arange(len(seats)), seats][:, None] for each in jax.vmap(GAME.search_arms)(worlds))
        scores = jnp.where(legal[:, 0], jax.vmap(lambda key: jax.random.uniform(key, (9,)))(keys), 0.0)[:, None]
        weights, nothing = scores / scores.sum(-1, keepdims=True), jnp.zeros((len(seats), 1))
        chosen = jnp.take_along_axis(arms[:, 0], jnp.argmax(scores, -1), 1)
        return Plan(chosen, arms, legal, scores, legal.astype(jnp.int32), weights, nothing, {}), memory

    return memoryless("drawing", plan, sees_state=False, own_first=True)


@functools.cache
def programs(searches=False) -> Alphaze:
    """Fair games are played by a search, or by who draws its policy, which takes less to compile."""
    return tiny_alphaze.programs() if searches else Alphaze(CONFIG, tiny_alphaze.player(), runtime.data_mesh(), drawing())


@functools.cache
def drawn_params():
    """Parameters drawn from a normal distribution, of which none is zero."""
    random = np.random.default_rng(2)
    shapes = jax.eval_shape(programs().who.init, KEY)
    return jax.tree.map(lambda leaf: random.normal(0, 0.3, leaf.shape).astype(leaf.dtype), shapes)


@functools.cache
def played(kind):
    """Some calls of the playing program: the learner, its samples in order, and what was told."""
    params, play = drawn_params(), programs(True).play["fair"] if kind == "searched" else programs().play[kind]
    learner, told = programs().init(KEY, params), []
    for _ in range(CALLS):
        learner, metrics = play(KEY, params, learner)
        told.append(jax.device_get(metrics))
    samples = jax.jit(jax.vmap(programs().updates.packing.unpack))(rows_of(learner.ring))
    return jax.device_get(learner), jax.device_get(samples), told


def games_of(samples):
    """The places of each game's samples, in order."""
    return {number: np.flatnonzero(samples.number == number) for number in np.unique(samples.number)}


def outcome_of(games, number):
    return np.asarray(games.results)[number % len(games.results)] % 4 - 1


def by_cell(samples):
    """Policies in the direction of the board: float16 [N, K]."""
    outputs = jax.jit(jax.vmap(programs().who.encoder.outputs, (None, 0)))(np.arange(9), samples.seat)
    return np.take_along_axis(samples.policy, np.asarray(outputs), axis=1)


# --- games -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [k if k == "fair" else pytest.param(k, marks=pytest.mark.slow) for k in KINDS])
def test_who_moved_last_has_won_and_games_that_run_on_have_no_result(kind):
    learner, samples, told = played(kind)
    games = games_of(samples)
    running = set(learner.games.lanes.number.tolist())
    assert set(games) | running == set(range(int(learner.games.lanes.next_number[0])))
    for number, places in games.items():
        players = samples.seat[places]
        np.testing.assert_array_equal(players, np.arange(len(places)) % 2)  # turns alternate
        outcome = outcome_of(learner.games, number)
        if number in running:
            assert (outcome == UNFINISHED).all()
        else:
            assert outcome.tolist() == ([1, -1] if players[-1] == 0 else [-1, 1])
    over = [number for number in games if number not in running]
    assert len(over) >= 4 and sum(len(games[number]) for number in over) < len(samples.number)
    assert [int(one["samples"]) for one in told] == [LANES * CONFIG.steps * (call + 1) for call in range(CALLS)]
    counts = np.array([one["games"] for one in told])
    assert counts.sum() == len(over)
    ended = [one for one in told if one["games"]]
    assert all(np.isnan(one["mean_length"]) and np.isnan(one["first_player_wins"]) for one in told if not one["games"])
    lengths, wins = (sum(one[name] * one["games"] for one in ended) for name in ("mean_length", "first_player_wins"))
    assert lengths == pytest.approx(sum(len(games[number]) for number in over))
    assert wins == pytest.approx(sum(outcome_of(learner.games, number)[0] > 0 for number in over))


@pytest.mark.slow
def test_games_in_which_the_search_sees_everything_are_games_of_hex():
    """States are the true ones: a stone more each time, and policies on free cells; nobody runs into anything."""
    for kind in ("open", "true_sight"):
        learner, samples, _ = played(kind)
        boards, policies = interop.board(GAME.config, samples.view[0]).astype(int), by_cell(samples)
        signs = np.where(samples.seat == 0, 1, -1)
        for number, places in games_of(samples).items():
            placed = np.diff(boards[places], axis=0) * signs[places[:-1], None]
            assert not boards[places[0]].any() and (np.sort(placed)[:, :-1] == 0).all() and (placed.sum(1) == 1).all()
            if number not in learner.games.lanes.number:
                board, sign = boards[places[-1]], signs[places[-1]]
                after = board + sign * np.eye(9, dtype=int)
                assert any(joined(after[cell].reshape(3, 3), sign) for cell in np.flatnonzero(board == 0))
        assert not policies[boards != 0].any()
        np.testing.assert_allclose(policies.astype(float).sum(1), 1, atol=5e-3)
    np.testing.assert_array_equal(rows_of(learner.ring), rows_of(played("open")[0].ring))


@pytest.mark.slow
def test_games_by_the_heuristic_do_not_depend_on_the_network():
    made = tiny_alphaze.programs(dataclasses.replace(CONFIG, heuristic_epochs=1))
    rows = []
    for seed in range(2):
        params = made.who.init(jax.random.key(seed))
        learner, told = made.play["heuristic"](KEY, params, made.init(KEY, params))
        rows.append(rows_of(learner.ring))
    np.testing.assert_array_equal(*rows)
    assert told["samples"] == LANES * CONFIG.steps and told["games"] > 0


@pytest.mark.parametrize("kind", ["fair", pytest.param("searched", marks=pytest.mark.slow)])
def test_samples_of_fair_games_are_worlds_that_fit_what_the_mover_knew(kind):
    """Its own stones stay, those of the other come and go; policies lie on what it might try, taken cells included."""
    _, samples, _ = played(kind)
    boards = interop.board(GAME.config, samples.view[0]).astype(int) * np.where(samples.seat == 0, 1, -1)[:, None]
    vanished = 0
    for places in games_of(samples).values():
        for own in (places[::2], places[1::2]):
            for before, after in zip(boards[own], boards[own[1:]], strict=False):
                mine = (after == 1).astype(int) - (before == 1)
                assert (mine >= 0).all() and mine.sum() <= 1
                vanished += ((before == -1) & (after == 0)).any()
    policies = by_cell(samples)
    assert vanished and not policies[boards == 1].any()
    assert policies[boards == -1].any() and (policies > 0).sum(1).max() > 1
    assert not any(np.asarray(cells.words).any() for cells in samples.view[0].found)
    np.testing.assert_allclose(policies.astype(float).sum(1), 1, atol=5e-3)


def test_games_depend_on_the_seed():
    again, _ = programs().play["fair"](KEY, drawn_params(), programs().init(KEY, drawn_params()))
    other, _ = programs().play["fair"](jax.random.key(3), drawn_params(), programs().init(KEY, drawn_params()))
    held = rows_of(played("fair")[0].ring)[: LANES * CONFIG.steps]
    np.testing.assert_array_equal(rows_of(again.ring), held)
    assert not np.array_equal(rows_of(other.ring), held)


def test_actions_are_drawn_in_so_many_first_steps_and_no_more():
    assert programs().games.explore_steps == GAME.max_steps < 2 * CONFIG.explore_moves
    assert tiny_alphaze.programs(dataclasses.replace(CONFIG, explore_moves=-1)).games.explore_steps == GAME.opening_steps == 2
    assert tiny_alphaze.programs(dataclasses.replace(CONFIG, explore_moves=3)).games.explore_steps == 2 * 3
    games = dataclasses.replace(programs().games, explore_steps=3, temperature=0.5)
    clock = np.arange(5).repeat(400)
    policy = np.tile(np.array([0.1, 0.5, 0.4, 0.0], np.float32), (len(clock), 1))
    arms = np.tile(np.array([7, 3, 5, 1], np.int32), (len(clock), 1))
    planned = np.full(len(clock), 5, np.int32)  # a planner may choose what it does not weigh the most
    plan = Plan(planned, arms, policy > 0, policy, arms, policy, planned, {})
    chosen = np.asarray(jax.jit(games._choose)(jax.random.split(KEY, len(clock)), plan, clock)).reshape(5, 400)
    shares = np.stack([(chosen == arm).mean(1) for arm in arms[0]], axis=1)
    np.testing.assert_allclose(shares[:3], np.tile(np.array([1, 25, 16, 0]) / 42, (3, 1)), atol=0.08)
    assert (chosen[3:] == 5).all()


@pytest.mark.slow
def test_games_that_are_given_up_stay_without_a_result():
    before, samples, _ = played("open")
    learner = programs().restart(KEY, jax.tree.map(jnp.asarray, before))
    first = int(before.games.lanes.next_number[0])
    np.testing.assert_array_equal(learner.games.lanes.number, first + np.arange(LANES))
    assert int(learner.games.lanes.next_number[0]) == first + LANES and not np.asarray(learner.games.lanes.clock).any()
    for number in games_of(samples):
        np.testing.assert_array_equal(outcome_of(learner.games, number), outcome_of(before.games, number))
    learner, _ = programs().play["fair"](KEY, drawn_params(), learner)
    for number in before.games.lanes.number:
        assert (outcome_of(learner.games, number) == UNFINISHED).all()


def test_outcomes_outlive_their_samples():
    """Also if one game is as long as can be, the others as short as can be, and the buffer as small as can be."""
    short, long = [0, 1, 3, 2, 6], [0, 3, 3, 0, 1, 4, 4, 1, 2, 8, 8, 2, 5, 6, 6, 5, 7]
    script = jnp.array([(short * 4)[:17], long]).T
    config = dataclasses.replace(CONFIG, lanes=8, buffer_size=8, batch_size=8)
    games = tiny_alphaze.programs(config).games
    slow = jnp.arange(8) == 0

    def plan(params, keys, clock, views, seats, active):
        cell = jnp.where(slow, script[clock, 1], script[clock % 5, 0])
        hot = jax.nn.one_hot(cell, 9)[:, None].repeat(2, 1)
        arms, legal = jax.vmap(GAME.search_arms)(views)
        return Plan(arms[:, :, 0], arms, legal, hot, hot.astype(jnp.int32), hot, jnp.zeros((8, 2)), {}), clock + 1

    planner = Planner("scripted", lambda size: jnp.int32(0), lambda memory, lanes: memory, plan, memory_bytes=4, metrics={})
    step = jax.jit(lambda clock, lanes: games.step(KEY, planner, None, clock, lanes)[:3])
    clock, lanes = np.int32(0), jax.jit(games.start)(KEY, np.int32(0))
    for number in range(17):
        clock, (lanes, _, sample) = clock + 1, step(clock, lanes)
        last = jax.device_get(sample)
        if number < 16:
            assert (outcome_of(lanes, last.number[0]) == UNFINISHED).all(), number
    assert outcome_of(lanes, last.number[0]).tolist() == [1, -1]
    assert (last.number[0], int(lanes.lanes.next_number[0])) == (0, 8 + 7 * 3 + 1)
    for number in last.number[1:]:
        assert number in np.asarray(lanes.lanes.number) and (outcome_of(lanes, number) == UNFINISHED).all()


# --- learning ----------------------------------------------------------------------------------------------------------


def test_the_loss_is_that_of_the_paper():
    """Results are those of who moved; samples of games that are not over count for the policy alone."""
    batch = at(played("fair")[1], slice(12))
    results = np.array([[1, -1], [-1, 1], [UNFINISHED, UNFINISHED]] * 4, np.int8)
    params = jax.device_get(drawn_params())
    logits, values = jax.device_get(jax.jit(programs().who.evaluate)(params, batch.view[0], batch.seat.astype(np.int32)))
    results = results[np.arange(12), batch.seat]
    own = results.astype(float)
    over = own != UNFINISHED
    error = np.square(own - values)[over].mean()
    log_probs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    entropy = -(batch.policy.astype(np.float32) * log_probs).sum(1).mean()
    decay = sum(np.square(leaf).sum() for leaf in jax.tree.leaves(params))
    tell = on_one_device(programs().judge)
    upright, half = np.zeros(12, np.int32), np.arange(12, dtype=np.int32) % 2
    loss, parts = tell(params, batch, results, upright)
    np.testing.assert_allclose(parts["value_error"].total / parts["value_error"].number, error, rtol=1e-4)
    np.testing.assert_allclose(parts["cross_entropy"], entropy, rtol=1e-4)
    np.testing.assert_allclose(loss, 0.5 * error + entropy + 1e-4 * decay, rtol=1e-4)
    swapped, _ = tell(params, batch, np.where(results == UNFINISHED, results, -results), upright)
    assert not np.allclose(swapped, loss, rtol=1e-3)
    _, none = tell(params, batch, np.full_like(results, UNFINISHED), upright)
    assert none["value_error"] == (0, 0) and none["cross_entropy"] == parts["cross_entropy"]
    # Half a turn of the board with its policy is another sample of the same game.
    turned, _ = tell(params, turn(batch), results, 1 - upright)
    np.testing.assert_allclose(turned, loss, rtol=1e-4)
    boards = jax.tree.map(
        lambda one, other: np.where(half.reshape(-1, *[1] * (np.ndim(one) - 1)) == 1, other, one), batch, turn(batch)
    )
    some, _ = tell(params, boards, results, half)
    np.testing.assert_allclose(some, loss, rtol=1e-4, err_msg="each sample is turned by itself")


def turn(batch: Sample) -> Sample:
    """Turns boards and policies by half a circle."""
    boards = interop.board(GAME.config, batch.view[0])[:, ::-1]
    states = [interop.from_board(GAME.open_game.config, board, 0) for board in boards]
    state = jax.tree.map(lambda *leaves: np.stack(leaves), *states)
    return dataclasses.replace(batch, view=(state, batch.seat), policy=batch.policy[:, ::-1])


@pytest.mark.slow
def test_the_loss_falls_on_a_buffer_that_stays_the_same():
    learner = jax.tree.map(jnp.asarray, played("true_sight")[0])
    told = []
    for _ in range(8):
        learner, metrics = programs().learn(KEY, learner)
        told.append(jax.device_get(metrics))
    assert all(one["finite"] for one in told) and [int(one["updates"]) for one in told] == list(range(20, 180, 20))
    for name in ("loss", "value_error", "cross_entropy"):
        assert told[-1][name] < 0.9 * told[0][name], name
    # Values have learnt the sign of their results.
    _, samples, _ = played("true_sight")
    _, values = jax.jit(programs().who.evaluate)(learner.params, samples.view[0], jnp.asarray(samples.seat, jnp.int32))
    own = np.array([outcome_of(learner.games, n)[p] for n, p in zip(samples.number, samples.seat, strict=True)])
    over = own != UNFINISHED
    assert (np.sign(values)[over] == own[over]).mean() > 0.75


def test_a_loss_that_is_no_number_is_told():
    learner = played("fair")[0]
    broken = jax.tree.map(lambda leaf: leaf * np.float32(np.nan), learner.params)
    _, metrics = programs().learn(KEY, dataclasses.replace(learner, params=broken))
    assert not metrics["finite"]


def test_the_learning_rate_rises_and_falls_in_each_epoch():
    rates = np.asarray(jax.jit(programs().rate)(np.arange(80))) / CONFIG.learning_rate
    np.testing.assert_allclose(rates[:40], rates[40:])
    assert (np.diff(rates[:10]) > 0).all() and (np.diff(rates[10:40]) < 0).all()
    assert rates.max() == pytest.approx(1, abs=0.01) and 0.01 <= rates[39] < 0.02 < rates[0] < 0.06


# --- devices -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_two_devices():
    """A game is the same on whatever device it is played; all hold the same parameters; what cannot be split is refused."""
    found = json.loads(output_of("from tests.training.alphaze_on_devices import main; main()"))
    assert found["devices"] == 2
    assert found["same_games"] and found["games_differ"] > 1
    assert found["samples"] == found["samples_alone"]
    assert found["finite"] and found["same_params"] and found["changed"]
    assert found["refused"] == "lanes=3: must be a multiple of the 2 devices"
