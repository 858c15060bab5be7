"""Learning from an oracle: what is stored, who plays, how often the network learns, and what stops it."""

import dataclasses
import functools
import json
import types

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxgames import runtime
from jaxgames.packing import packing_of
from tests.jaxgames.hex.playing import at, random_games
from tests.processes import output_of
from tests.training import cloning_on_devices, tiny
from tests.training.tiny import GAME, as_set, rows_of
from training.learn.dagger import Dagger, DaggerConfig, Sample
from training.models import policy_value
from training.models.policy_value import PolicyValueConfig, masked_log_softmax
from training.play.lanes import Lanes

KEY = jax.random.key(2)
BATTLES, LANES, STEPS, PLAYERS, RATE = 6, 4, 4, 4, 2.25
TINY = DaggerConfig(
    episodes=BATTLES,
    lanes=LANES,
    steps=STEPS,
    updates_per_step=RATE,
    batch_size=8,
    learning_rate=3e-3,
    final_rate=0.25,
    buffer_size=2048,
    advantage_weight=0.1,
    averaging=0.75,
    stop_when_quiet=8,
)


@pytest.fixture(scope="module")
def dagger():
    """The follower plays, and what it meets is labelled: the one program that most tests share."""
    return Dagger(TINY, tiny.network(), tiny.drawing_oracle(), runtime.data_mesh())


@functools.cache
def _fresh_params(dagger):
    return tiny.drawn(dagger.who.init)


def begin(dagger):
    return dagger.init(KEY, _fresh_params(dagger))


@pytest.fixture(scope="module")
def first(dagger):
    """One iteration: the learner before and after, and the metrics."""
    before = jax.device_get(begin(dagger))
    return before, *jax.device_get(dagger.iterate(KEY, None, begin(dagger)))


@pytest.fixture(scope="module")
def whole(dagger):
    """All episodes: the metrics of every iteration, and the last learner."""
    learner, told = begin(dagger), []
    for _ in range(BATTLES * GAME.max_steps):
        learner, metrics = dagger.iterate(KEY, None, learner)
        told.append(jax.device_get(metrics))
        if told[-1]["episodes"] >= BATTLES:
            return told, jax.device_get(learner)
    raise AssertionError("no end")


def on_device(dagger, learner):
    """A copy to iterate on, which uses up what it is given; laid out as `init` does, so that nothing is compiled again."""
    return jax.tree.map(jax.device_put, learner, _shardings(dagger))


@functools.cache
def _shardings(dagger):
    return jax.tree.map(lambda leaf: leaf.sharding, begin(dagger))


def unpacked(dagger, buffer):
    """What a ring holds, the first rows of it that count, as numpy arrays."""
    samples = jax.device_get(_unpack(dagger)(buffer.rows))
    return jax.tree.map(lambda leaf: leaf[: buffer.size[0]], samples)


@functools.cache
def _unpack(dagger):
    return jax.jit(jax.vmap(dagger.updates.packing.unpack))


# --- the same once more, step by step ----------------------------------------------------------------------------------


class Episode:
    """An episode played by the parts of a `Dagger` outside its program, the keys as they are written down in `EpisodeRules`.

    Without parameters the oracle plays.
    """

    def __init__(self, dagger, key, number, params=None):
        self.parts, self.params, self.oracle = _parts(dagger), params, dagger.rules.oracle
        self.key, self.rules = jax.random.fold_in(key, number), dagger.rules
        self.state, self.memory = self.parts[0](jax.random.fold_in(self.key, 0)), self.oracle.init(1)
        self.clock, self.quiet, self.past, self.over = 0, 0, [], False

    def step(self):
        """Plays a step. Returns the rows of the living players, uint32 [number of them, W]."""
        key = jax.random.fold_in(jax.random.fold_in(self.key, 1), self.clock)
        _, look, policy, step = self.parts
        plan, alive, rows, self.memory = look(key, self.memory, self.state)
        drawn = plan.actions if self.params is None else policy(self.params, key, self.state)
        actions = np.where(alive, drawn, 0)
        self.state, self.clock = step(self.state, actions), self.clock + 1
        self.past.append(np.argmax(plan.action_weights, -1).tolist())
        self.quiet = 0 if (actions == 5).any() else self.quiet + 1
        still = len(self.past) > 10 and all(past == self.past[-1] for past in self.past[-11:])
        self.over = bool(self.state.terminated) or still or self.quiet > self.rules.stop_when_quiet
        return np.asarray(rows)[np.asarray(alive)]

    def rest(self):
        """Plays to the end."""
        rows = []
        while not self.over:
            rows.append(self.step())
        return np.concatenate(rows)


@functools.cache
def _parts(dagger):
    """Compiled once: `init`, `look`, `policy`, `step`."""
    config, who, seats = dagger.config, dagger.who, jnp.arange(PLAYERS)

    def look(key, memory, state):
        states = jax.tree.map(lambda leaf: leaf[None], state)
        plan_key = jax.random.fold_in(key, 1)
        plan, memory = dagger.rules.oracle.plan(None, plan_key[None], memory, states, jnp.zeros(1, jnp.int32), jnp.ones(1, bool))
        plan = jax.tree.map(lambda leaf: leaf[0], plan)
        target = plan.action_weights
        if config.target == "values":
            weights = jnp.where(GAME.search_arms(state)[1], jnp.exp((plan.qvalues - 1) / 2 / config.temperature), 0.0)
            target = weights / weights.sum(-1, keepdims=True)
        legal = GAME.search_arms(state)[1]
        matters = (plan.qvalues.max(-1) - (plan.qvalues * legal).sum(-1) / legal.sum(-1)) / 2  # values lie in [-1, 1]
        chance = (plan.root_value + 1) / 2
        per_output = target[:, ::-1]  # arms are in the opposite order
        samples = Sample(jax.vmap(lambda seat: GAME.observe(state, seat))(seats), per_output, chance, matters)
        return plan, GAME.in_play(state), jax.vmap(dagger.updates.packing.pack)(samples), memory

    def policy(params, key, state):
        scores = who.policy(params, jax.vmap(lambda seat: GAME.observe(state, seat))(seats))
        return jnp.argmax(scores + jax.random.gumbel(jax.random.fold_in(key, 3), scores.shape), -1)

    return jax.jit(GAME.init), jax.jit(look), jax.jit(policy), jax.jit(GAME.step)


def test_what_is_stored(dagger, first):
    """What the living see and the oracle's plans for them, step by step and lane by lane; the follower has drawn the moves."""
    before, after, metrics = first
    episodes = [Episode(dagger, KEY, number, before.params) for number in range(LANES)]
    rows = np.concatenate([episode.step() for _ in range(STEPS) for episode in episodes])
    np.testing.assert_array_equal(rows_of(after.ring), rows)
    assert not any(episode.over for episode in episodes) and after.games.lanes.clock.tolist() == [STEPS] * LANES
    assert metrics["new_samples"] == len(rows) == metrics["buffer"] and metrics["new_steps"] == STEPS * LANES
    states = jax.tree.map(lambda *leaves: np.stack(leaves), *[jax.device_get(episode.state) for episode in episodes])
    jax.tree.map(np.testing.assert_array_equal, after.games.lanes.states, states)


def test_the_dead_are_not_stored(dagger, whole):
    told, after = whole
    samples = sum(metrics["new_samples"] for metrics in told)
    steps = sum(metrics["new_steps"] for metrics in told)
    assert samples == told[-1]["buffer"] == after.ring.size[0] and steps == told[-1]["steps"]
    assert 2 * steps < samples < PLAYERS * steps
    stored = unpacked(dagger, after.ring)
    assert stored.view.alive.all()
    np.testing.assert_allclose(stored.target.sum(-1), 1, rtol=1e-5)
    assert ((stored.value >= 0) & (stored.value <= 1)).all()


# --- episodes -----------------------------------------------------------------------------------------------------------


def test_so_many_battles_are_played_and_no_more(dagger, whole):
    told, after = whole
    assert [metrics["episodes"] for metrics in told] == sorted(metrics["episodes"] for metrics in told)
    assert told[-1]["episodes"] == BATTLES == after.progress["episodes"]
    assert sorted(after.games.lanes.number) == list(range(BATTLES, BATTLES + LANES)) and after.games.lanes.next_number == [
        BATTLES + LANES
    ]
    # All lanes are idle: nothing more is played, stored or learnt.
    later, metrics = jax.device_get(dagger.iterate(KEY, None, on_device(dagger, after)))
    assert metrics["new_steps"] == metrics["new_samples"] == 0 and metrics["episodes"] == BATTLES and metrics["finite"]
    assert metrics["updates"] == after.updates and metrics["steps"] == after.progress["steps"]
    for name in ("params", "optimizer_state", "ring"):
        jax.tree.map(np.testing.assert_array_equal, getattr(later, name), getattr(after, name))
    np.testing.assert_array_equal(later.games.memory, after.games.memory)


def test_lanes_rest_one_after_another(whole):
    told, _ = whole
    busy = [metrics["new_steps"] for metrics in told]
    assert busy[0] == LANES * STEPS and busy[-1] < LANES * STEPS and min(busy) > 0


def test_the_number_of_updates_follows_the_steps(whole):
    """Also where it is no whole number per iteration."""
    told, after = whole
    for metrics in told:
        assert metrics["updates"] == int(RATE * metrics["steps"])
    assert any(RATE * metrics["steps"] % 1 for metrics in told)
    assert after.progress["owed"] == RATE * after.progress["steps"] % 1


def test_metrics(whole):
    told, _ = whole
    for metrics in told:
        assert all(np.isfinite(value).all() for value in metrics.values()) and metrics["finite"]
        assert 0 <= metrics["agreement"] <= 1 and 0 <= metrics["entropy"] <= np.log(6) + 1e-5
        for name in ("outputs", "oracle_outputs"):
            assert metrics[name].shape == (6,)
            np.testing.assert_allclose(metrics[name].sum(), 1, rtol=1e-5)
        assert metrics["gradient_norm"] > 0 and metrics["loss"] >= metrics["cross_entropy"] > 0


# --- learning ----------------------------------------------------------------------------------------------------------


def loss_on(dagger, params, buffer):
    """Loss and cross-entropy on all that a buffer holds."""
    return _losses(dagger)[0](params, unpacked(dagger, buffer))


@functools.cache
def _losses(dagger):
    """Compiled once: loss and cross-entropy, and the same with the gradient."""
    loss = functools.partial(loss_by_hand, dagger)
    return jax.jit(loss), jax.jit(jax.value_and_grad(loss, has_aux=True))


def loss_by_hand(dagger, params, stored):
    """Cross-entropy, weighed by what is at stake, with half the squared error of the value; and the cross-entropy."""
    logits, value = dagger.who.apply(params, stored.view)
    weight = stored.weight + TINY.advantage_weight
    entropy = -(stored.target * jax.nn.log_softmax(logits)).sum(-1) @ weight / weight.sum()
    return entropy + 0.5 * jnp.square(value - (2 * stored.value - 1)).mean(), entropy


@jax.jit
def first_step(params, gradient, scale):
    """Parameters after the first step of Adam."""
    optimizer = optax.adam(TINY.learning_rate)
    change, _ = optimizer.update(gradient, optimizer.init(params))
    return optax.apply_updates(params, optax.tree.scale(scale, change))


def idle(learner, *, owed, ended=0, **changes):
    """A learner that plays no more and makes the gradient steps that it owes; so many episodes are over."""
    lanes = dataclasses.replace(learner.games.lanes, number=np.full(LANES, BATTLES, np.int32))
    games, progress = (
        dataclasses.replace(learner.games, lanes=lanes),
        learner.progress | {"owed": np.float32(owed), "episodes": np.int32(ended)},
    )
    return dataclasses.replace(learner, games=games, progress=progress, **changes)


def test_learning_lowers_the_loss_on_what_is_stored(dagger, first, whole):
    """On a buffer that stays as it is."""
    before, buffer = first[0], whole[1].ring
    after, metrics = jax.device_get(dagger.iterate(KEY, None, on_device(dagger, idle(before, ring=buffer, owed=400))))
    assert metrics["updates"] == 400 and metrics["finite"]
    jax.tree.map(np.testing.assert_array_equal, after.ring, buffer)
    old, new = (loss_on(dagger, learner.params, buffer) for learner in (before, after))
    assert new[0] < 0.9 * old[0] and new[1] < 0.95 * old[1]
    # What is told is the mean on the way from one to the other, in mini-batches.
    assert 0.95 * new[0] < metrics["loss"] < old[0]
    assert 0.95 * new[1] < metrics["cross_entropy"] < old[1]


@pytest.mark.parametrize(("ended", "scale"), [(0, 1), (2, 3 / 4), (BATTLES, 0.25)])
def test_one_update_is_one_step_of_adam(dagger, first, whole, ended, scale):
    """By another way, with a buffer that is just one mini-batch, of samples of all weights; steps fall with the episodes."""
    before, buffer = first[0], whole[1].ring
    weights = unpacked(dagger, buffer).weight
    rows = buffer.rows[np.argsort(weights)[np.linspace(0, len(weights) - 1, TINY.batch_size).astype(int)]]
    rows = np.concatenate([rows, buffer.rows[len(rows) :]])
    batch = dataclasses.replace(buffer, rows=rows, size=np.array([TINY.batch_size], np.int32))
    learner = idle(before, ring=batch, owed=1.5, ended=ended, updates=np.int32(9))
    later, metrics = jax.device_get(dagger.iterate(KEY, None, on_device(dagger, learner)))
    assert metrics["updates"] == 10 and later.progress["owed"] == 0.5
    stored = unpacked(dagger, batch)
    assert np.ptp(stored.weight) > 0.1
    (loss, entropy), gradient = jax.device_get(_losses(dagger)[1](before.params, stored))
    expected = first_step(before.params, gradient, scale)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), later.params, expected)
    np.testing.assert_allclose(metrics["loss"], loss, rtol=1e-4)
    np.testing.assert_allclose(metrics["cross_entropy"], entropy, rtol=1e-4)
    norm = np.sqrt(sum(np.square(leaf).sum() for leaf in jax.tree.leaves(gradient)))
    np.testing.assert_allclose(metrics["gradient_norm"], norm, rtol=1e-3)
    # The running mean takes a quarter of the new.
    mean = jax.tree.map(lambda new, old: 0.25 * new + 0.75 * old, later.params, before.averaged)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), later.averaged, mean)


def test_the_running_mean_forgets_the_first_parameters(dagger, first):
    before, after, metrics = first
    assert metrics["updates"] == RATE * STEPS * LANES
    learner = idle(before, ring=after.ring, owed=1)
    later, _ = jax.device_get(dagger.iterate(KEY, None, on_device(dagger, learner)))
    jax.tree.map(np.testing.assert_array_equal, later.averaged, later.params)
    assert not np.array_equal(after.averaged["policy"]["kernel"], after.params["policy"]["kernel"])


def test_same_key_same_result(dagger, first):
    _, after, metrics = first
    again = jax.device_get(dagger.iterate(KEY, None, begin(dagger)))
    jax.tree.map(np.testing.assert_array_equal, again, (after, metrics))
    other, _ = dagger.iterate(jax.random.key(3), None, dagger.init(jax.random.key(3), after.params))
    assert as_set(rows_of(other.ring)) != as_set(rows_of(after.ring))


def spoilt(tree):
    return jax.tree.map(lambda leaf: np.full_like(leaf, np.nan) if np.issubdtype(leaf.dtype, np.floating) else leaf, tree)


def test_parameters_that_are_no_numbers_are_told(dagger):
    learner = jax.device_get(begin(dagger))
    learner = on_device(dagger, dataclasses.replace(learner, params=spoilt(learner.params)))
    _, metrics = dagger.iterate(KEY, None, learner)
    assert not metrics["finite"]
    assert metrics["outputs"].tolist() == [1, 0, 0, 0, 0, 0], "and the follower stands still"


def test_a_last_update_that_spoils_the_parameters_is_told_at_once(dagger, first):
    """Its loss and gradient were numbers; what it made must not be saved as good."""
    before, after, _ = first
    learner = idle(before, ring=after.ring, owed=1, optimizer_state=jax.device_get(spoilt(before.optimizer_state)))
    learner, metrics = jax.device_get(dagger.iterate(KEY, None, on_device(dagger, learner)))
    assert metrics["updates"] == 1 and np.isfinite(metrics["loss"]) and np.isfinite(metrics["gradient_norm"])
    assert not np.isfinite(jax.tree.leaves(learner.params)[0]).any()
    assert not metrics["finite"]


# --- cloning, lanes and devices ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cloned():
    return cloning_on_devices.clone(lanes=4, steps=8)


@pytest.mark.slow
def test_samples_of_cloning(cloned):
    """Those of the oracle's own episodes, played one by one to their ends; with values as targets."""
    dagger, learner, metrics = cloned
    episodes = [Episode(dagger, cloning_on_devices.root_key(), number) for number in range(cloning_on_devices.BATTLES)]
    rows = np.concatenate([episode.rest() for episode in episodes])
    got = rows_of(learner.ring)
    assert len(got) == len(rows) and metrics["steps"] == sum(episode.clock for episode in episodes)
    # Targets and weights are computed in another way here: equal but for rounding; the rest is equal bit for bit.
    found, expected = (jax.device_get(jax.vmap(dagger.updates.packing.unpack)(jnp.asarray(part))) for part in (got, rows))
    packing = packing_of(jax.tree.map(lambda leaf: leaf[0], found.view))
    seen, wanted = (np.asarray(jax.vmap(packing.pack)(part.view)) for part in (found, expected))
    order, expected_order = (np.lexsort(part.T[::-1]) for part in (seen, wanted))
    np.testing.assert_array_equal(seen[order], wanted[expected_order])
    assert len(np.unique(seen, axis=0)) == len(got), "no two are alike, so that the order is the same"
    for name in ("target", "value", "weight"):
        numbers, others = getattr(found, name)[order], getattr(expected, name)[expected_order]
        np.testing.assert_allclose(numbers, others, atol=1e-5)
    assert len(np.unique(found.target)) > 10 and found.weight.max() > 0.1


@pytest.mark.slow
def test_samples_of_cloning_do_not_depend_on_the_number_of_lanes(cloned):
    _, learner, metrics = cloned
    _, other, other_metrics = cloning_on_devices.clone(lanes=2, steps=3)
    assert as_set(rows_of(other.ring)) == as_set(rows_of(learner.ring))
    expected = cloning_on_devices.summary(learner, metrics)
    assert cloning_on_devices.summary(other, other_metrics) == expected
    assert expected["busy"] == 0 and expected["episodes"] == cloning_on_devices.BATTLES and expected["finite"]


@pytest.mark.slow
def test_samples_of_cloning_do_not_depend_on_the_number_of_devices(cloned):
    """And all devices learn the same."""
    _, learner, metrics = cloned
    devices, same, found = json.loads(output_of("from tests.training.cloning_on_devices import main; main(2)"))
    assert devices == 2 and same
    assert found == cloning_on_devices.summary(learner, metrics)


# --- targets -----------------------------------------------------------------------------------------------------------


def test_targets():
    """Evenly among the best, the first of them, or a softmax of the values over what is legal."""
    who, oracle, random = tiny.network(), tiny.drawing_oracle(), np.random.default_rng(0)
    legal = random.random((3, PLAYERS, 6)) < 0.7
    legal[..., 0] = True
    values = np.where(legal, random.integers(1, 5, legal.shape) / 10, -1).astype(np.float32)
    best = values == values.max(-1, keepdims=True)
    plan = types.SimpleNamespace(qvalues=values, legal=legal, action_weights=best / best.sum(-1, keepdims=True))

    def target(**settings):
        settings = {"lanes": 4, "buffer_size": 64, **settings}
        return np.asarray(jax.jit(lambda: Dagger(DaggerConfig(**settings), who, oracle, runtime.data_mesh())._weights(plan))())

    assert (best.sum(-1) > 1).any()
    np.testing.assert_allclose(target(target="best"), best / best.sum(-1, keepdims=True), rtol=1e-6)
    np.testing.assert_array_equal(target(target="first_best"), np.eye(6)[best.argmax(-1)])
    weights = np.where(legal, np.exp(values / 2 / 0.2), 0)  # as chances to win
    np.testing.assert_allclose(
        target(target="values", temperature=0.2), weights / weights.sum(-1, keepdims=True), rtol=1e-5, atol=1e-7
    )


def test_values_count_as_chances_to_win_whatever_their_range():
    """Those between 0 and 1 as they are, bit for bit."""
    oracle, legal = tiny.drawing_oracle(), np.array([[[True, True, True, False]]])
    chances = np.array([[[0.5, 0.75, 0.25, 0.9]]], np.float32)
    found = []
    for value_range, values in (((0.0, 1.0), chances), ((-1.0, 1.0), 2 * chances - 1)):
        config = DaggerConfig(lanes=4, buffer_size=64, target="values", temperature=0.3)
        dagger = Dagger(config, tiny.network(), oracle._replace(value_range=value_range), runtime.data_mesh())
        plan = types.SimpleNamespace(qvalues=values, legal=legal)
        found.append(jax.device_get(jax.jit(lambda: (dagger._weights(plan), dagger._advantage(plan)))()))  # noqa: B023
    (weights, advantage), others = found
    np.testing.assert_allclose(weights, others[0], rtol=1e-6)
    assert advantage == others[1] == 0.25
    expected = jax.jit(lambda: jnp.exp(masked_log_softmax(jnp.asarray(chances) / 0.3, legal)))()
    np.testing.assert_array_equal(weights, expected)


# --- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "imitating"}, "method='imitating': must be one of dagger, cloning"),
        ({"target": "all"}, "target='all': must be one of best, first_best, values"),
        ({"stop_rule": "on"}, "stop_rule='on': must be one of off, unchanged, released"),
        ({"episodes": 0}, "episodes=0: must be >= 1"),
        ({"lanes": 0}, "lanes=0: must be >= 1"),
        ({"steps": -1}, "steps=-1: must be >= 1"),
        ({"batch_size": 0}, "batch_size=0: must be >= 1"),
        ({"updates_per_step": -0.5}, "updates_per_step=-0.5: must be >= 0"),
        ({"updates_per_step": float("nan")}, "updates_per_step=nan: must be finite and >= 0"),
        ({"updates_per_step": float("inf")}, "updates_per_step=inf: must be finite and >= 0"),
        ({"value_weight": float("nan")}, "value_weight=nan: must be finite and >= 0"),
        ({"value_weight": float("inf")}, "value_weight=inf: must be finite and >= 0"),
        ({"advantage_weight": float("inf")}, "advantage_weight=inf: must be finite and >= 0"),
        ({"averaging": 1.0}, "averaging=1.0: must be at least 0 and below 1"),
        ({"averaging": float("nan")}, "averaging=nan: must be at least 0 and below 1"),
        ({"stop_when_quiet": -1}, "stop_when_quiet=-1: must be >= 0"),
        ({"learning_rate": 0.0}, "learning_rate=0.0: must be > 0"),
        ({"learning_rate": float("nan")}, "learning_rate=nan: must be finite and > 0"),
        ({"learning_rate": float("inf")}, "learning_rate=inf: must be finite and > 0"),
        ({"temperature": -1.0}, "temperature=-1.0: must be > 0"),
        ({"buffer_size": 31}, "buffer_size=31: must be at least batch_size=32"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        DaggerConfig(**settings)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("devices", "settings", "message"),
    [
        (1, {"lanes": 64, "buffer_size": 255}, "buffer_size=255: must hold one step of all lanes, 256 samples"),
        (2, {"lanes": 3}, "lanes=3: must be a multiple of the 2 devices"),
        (2, {"batch_size": 7}, "batch_size=7: must be a multiple of the 2 devices"),
        (2, {"buffer_size": 1001}, "buffer_size=1001: must be a multiple of the 2 devices"),
        (2, {"episodes": 1}, "episodes=1: must be at least the 2 devices"),
    ],
)
def test_numbers_that_do_not_go_together(devices, settings, message):
    mesh = types.SimpleNamespace(devices=np.zeros(devices))  # as much of one as is looked at before anything is compiled
    with pytest.raises(ValueError) as error:  # noqa: PT011
        Dagger(DaggerConfig(**settings), tiny.network(), tiny.drawing_oracle(), mesh)
    assert str(error.value) == message


# --- where something is hidden ------------------------------------------------------------------------------------------


def in_hex(mode):
    """A learner of Hex on a small board."""
    who = policy_value.make(PolicyValueConfig("hex", mode, network="tiny"))
    config = DaggerConfig(lanes=8, episodes=64, steps=1, updates_per_step=0.0, buffer_size=64, batch_size=4)
    return Dagger(config, who, tiny.drawing_oracle(who.game), runtime.data_mesh(1))


@functools.cache
def of_hex(mode):
    """The same, how it begins, and one step in all lanes on one device: `play(learner) -> (learner, counts)`."""
    dagger = in_hex(mode)

    def play(learner):
        episodes, ring, counts = dagger._play(KEY, learner.params, None, learner.games, learner.ring)
        return dataclasses.replace(learner, games=episodes, ring=ring), counts

    begun = jax.device_get(dagger.init(KEY, tiny.drawn(dagger.who.init)))
    return dagger, begun, tiny.on_one_device(play)


def after_steps(mode, count):
    """A learner after so many steps, with nothing in its buffer."""
    _, learner, play = of_hex(mode)
    for _ in range(count):
        learner, _ = play(learner)
    return dataclasses.replace(learner, ring=jax.tree.map(np.zeros_like, learner.ring))


def others_than(dagger, lanes):
    """States in which each mover knows what it knows in these lanes, and everything else is drawn anew."""
    game = dagger.who.game
    mover = np.asarray(jax.jit(jax.vmap(game.to_play))(lanes.states))
    infos = jax.tree.map(lambda leaf: leaf[np.arange(len(mover)), mover], lanes.infos)
    return jax.device_get(jax.jit(jax.vmap(game.sample_hidden))(jax.random.split(jax.random.key(9), len(mover)), infos)), mover


def differ(one, other):
    """Which rows of two trees are not equal, bool [rows]."""
    leaves = zip(*(jax.tree.leaves(jax.device_get(tree)) for tree in (one, other)), strict=True)
    return np.any([(a != b).reshape(len(a), -1).any(1) for a, b in leaves], axis=0)


def test_a_follower_is_shown_a_state_that_fits_what_its_seat_knows():
    """Where other stones are hidden from who moves, the same is shown, and the same policy comes of it."""
    dagger = in_hex("adh-3")
    states, infos, _ = jax.device_get(random_games(dagger.who.game, jax.random.split(jax.random.key(0), 60), 8))
    some = np.flatnonzero(~states.terminated[:, 4])[:8]
    lanes = Lanes(at(states, some, 4), at(infos, some, 4), *[np.zeros(8, np.int32)] * 3)
    others, mover = others_than(dagger, lanes)
    view = jax.jit(jax.vmap(dagger.who.encoder.view))
    truth = jax.device_get(view(lanes.states, mover))
    assert differ(truth, view(others, mover)).sum() >= 4, "the encoder would show the difference"
    look, params = jax.jit(dagger._look), tiny.drawn(dagger.who.init)
    (shown, policy), (again, same) = (
        look(params, jax.random.split(KEY, 8), dataclasses.replace(lanes, states=each)) for each in (lanes.states, others)
    )
    np.testing.assert_array_equal(policy, same)
    assert not differ(shown, again).any()
    of_mover = jax.tree.map(lambda leaf: np.asarray(leaf)[2 * np.arange(8) + mover], shown)
    assert differ(of_mover, truth).sum() >= 4
    board, _ = of_mover
    for seat in range(2):
        mine = mover == seat
        for word, true in zip(board.stones[seat].words, lanes.states.stones[seat].words, strict=True):
            np.testing.assert_array_equal(word[mine], true[mine], "it knows its own stones")


@pytest.mark.slow  # to compile
def test_a_follower_neither_sees_nor_learns_from_what_its_seat_cannot_know():
    """Where other stones are hidden from who moves, the same is stored and done."""
    dagger, _, play = of_hex("adh-3")
    learner = after_steps("adh-3", 4)
    lanes = learner.games.lanes
    others, mover = others_than(dagger, lanes)
    views = jax.jit(jax.vmap(dagger.who.encoder.view))
    packing = packing_of(jax.tree.map(lambda leaf: leaf[0], jax.device_get(views(others, mover))))
    pack = jax.jit(jax.vmap(packing.pack))
    truth, lie = (np.asarray(pack(views(states, mover))) for states in (lanes.states, others))
    assert (truth != lie).any(1).sum() >= 4, "the encoder would show the difference"

    (after, counts), (other, other_counts) = (
        play(dataclasses.replace(learner, games=dataclasses.replace(learner.games, lanes=changed)))
        for changed in (lanes, dataclasses.replace(lanes, states=others))
    )
    assert counts["samples"] == 8 == after.ring.size[0]
    np.testing.assert_array_equal(after.ring.rows, other.ring.rows)
    assert counts["entropy"] == other_counts["entropy"] and counts["agreed"] == other_counts["agreed"]

    shown, _ = unpacked(dagger, after.ring).view
    for seat in range(2):
        mine = mover == seat
        for word, true in zip(jax.tree.leaves(shown.stones[seat]), jax.tree.leaves(lanes.states.stones[seat]), strict=True):
            np.testing.assert_array_equal(word[mine], true[mine], "it knows its own stones")
    assert (np.asarray(pack(unpacked(dagger, after.ring).view)) != truth).any(1).sum() >= 4


@pytest.mark.slow
def test_where_nothing_is_hidden_the_state_itself_is_shown():
    """Bit for bit, and nobody keeps what each seat knows."""
    dagger, _, play = of_hex("hex-3")
    learner = after_steps("hex-3", 4)
    lanes = learner.games.lanes
    assert lanes.infos == ()
    mover = np.asarray(jax.vmap(dagger.who.game.to_play)(lanes.states))
    after, counts = play(learner)
    assert counts["samples"] == 8
    seen = jax.device_get(jax.jit(jax.vmap(dagger.who.encoder.view))(lanes.states, mover))
    jax.tree.map(np.testing.assert_array_equal, unpacked(dagger, after.ring).view, seen)
