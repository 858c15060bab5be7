"""The training of networks that guess what is hidden: it learns, goes on where it was stopped, and serves planners.

It learns in a game of covered cards, which takes the place of Stratego.
"""

import dataclasses
import functools
import signal
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec

import jaxgames
from jaxgames import runtime
from tests import covered
from tests.training.jobs.runs import log_of, result_of, run_here, send_signal_at, sharing
from training.jobs import train_guess
from training.jobs.train_guess import GuessJob, TrainConfig
from training.learn.guessing import Guessing, GuessingConfig
from training.models import guess
from training.models.guess import Guess, GuessConfig
from training.models.networks import follower as networks
from training.models.networks.follower import NetworkConfig
from training.play import agents
from training.storage.logs import read_log
from training.storage.weights import load_weights, save_weights

TINY = TrainConfig(
    who=GuessConfig("stratego", "mini", network="tiny"),
    learn=GuessingConfig(player="hunt", lanes=32, steps=8, updates=8, batch_size=64, buffer_size=1024, learning_rate=0.03),
    samples=2048,
    rate_every=700,
    seed=3,
    checkpoint_every=1000,
)


GAME = covered.Covered()
ENCODER = covered.encoder(GAME)
NETWORK = networks.make(NetworkConfig(width=8, layers=1), ENCODER.shape, covered.CARDS * covered.KINDS)
WHO = Guess(GAME, ENCODER, NETWORK, {"kind": "guess", "game": "covered", "mode": "", "encoder": "cards", "network": "tiny"})


def counting_player():
    """Uncovers any card, and counts its moves, those of the second side twice."""
    player = covered.random_agent()

    def act(params, keys, memory, views, seats, active):
        chosen, _ = player.act(params, keys, (), views, seats, active)
        return chosen, memory + active * (1 + seats)

    return player._replace(init=lambda batch: jnp.zeros(batch, jnp.int32), reset=lambda memory, lanes: memory, act=act)


@functools.cache
def parts(programs):
    """Compiled once: how games begin, and a step."""
    start = jax.jit(jax.vmap(programs._start, axis_name="data"))
    return lambda key: jax.tree.map(lambda leaf: leaf[0], start(key[None])), jax.jit(programs._step)


@pytest.fixture(scope="module")
def make():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train_guess, "guess", types.SimpleNamespace(make=lambda config: WHO))
        patch.setattr(train_guess, "agents", types.SimpleNamespace(make=lambda name, game: counting_player()))
        yield sharing(GuessJob)


def settings(folder, **changes):
    return dataclasses.replace(TINY, output=str(folder), **changes)


@pytest.fixture(scope="module")
def straight(make, tmp_path_factory):
    """The folder of a run that nothing has interrupted."""
    folder = tmp_path_factory.mktemp("straight") / "run"
    run_here(make, settings(folder))
    return folder


def test_it_learns(straight):
    log = read_log(straight / "log.jsonl")
    assert [line["samples"] for line in log] == list(range(256, 2049, 256))
    assert log[-1]["loss"] < 0.8 * log[0]["loss"] and log[-1]["agreement"] > log[0]["agreement"]


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """The folder of a network for the small Stratego, never trained."""
    who, random = guess.make(TINY.who), np.random.default_rng(0)
    shapes = jax.eval_shape(who.init, jax.random.key(0))
    folder = tmp_path_factory.mktemp("weights")
    params = jax.tree.map(lambda leaf: random.normal(0, 0.1, leaf.shape).astype(np.float32), shapes)
    save_weights(folder / "best.npz", params, who.meta)
    return folder


@pytest.mark.slow  # to compile
def test_it_serves_planners(weights):
    game = jaxgames.make("stratego", "mini")
    who, params = guess.read(weights, game)
    states = jax.jit(jax.vmap(game.init))(jax.random.split(jax.random.key(5), 2))
    seats = jnp.zeros(2, jnp.int32)
    views = jax.jit(jax.vmap(game.observe))(states, seats)
    chances = jax.jit(lambda params, views: who.log_probs(params, jax.vmap(who.encoder.planes)(views)))(params, views)
    assert chances.shape == (2, 36, 12) and np.allclose(np.exp(chances).sum(-1), 1, atol=1e-5)
    worlds = "weights=none,rollout_steps=0,num_worlds=2,num_simulations=4"
    planner, _ = agents.make_planner(f"pc_pimc:guess={weights},candidates=4,{worlds}", game)
    keys = jax.random.split(jax.random.key(2), 2)
    plan, _ = jax.jit(planner.plan)(None, keys, planner.init(2), views, seats, jnp.ones(2, bool))
    legal = np.asarray(jax.jit(jax.vmap(game.legal_actions))(states))
    assert legal[np.arange(2), 0, np.asarray(plan.actions)[:, 0]].all()


def test_guesses_are_rated_in_whole_games_that_are_not_learnt_from(straight, make):
    """Now and then and at the end, in the same games; the best parameters are kept."""
    log = read_log(straight / "log.jsonl")
    rated = {line["samples"]: line["cross_entropy"] for line in log if "cross_entropy" in line}
    assert list(rated) == [768, 1536, 2048] and min(rated.values()) < np.log(covered.KINDS)
    params, meta = load_weights(straight / "best.npz")
    assert meta["samples"] == min(rated, key=rated.get)
    assert result_of(straight)["cross_entropy"] == min(rated.values())
    assert load_weights(straight / "final.npz")[1]["samples"] == 2048
    programs = make(settings(straight), None).programs
    key = jax.random.fold_in(jax.random.key(TINY.seed), (1 << 28) + 1)
    everywhere = NamedSharding(runtime.data_mesh(), PartitionSpec())  # as in the run, so that nothing is compiled again
    found = jax.device_get(programs.rate(key, jax.device_put(params, everywhere)))
    assert found["cross_entropy"] == pytest.approx(min(rated.values()), rel=1e-5)
    np.testing.assert_allclose((found["cross_entropy"], found["guessed"]), by_hand(programs, key, params), rtol=1e-4)


def by_hand(programs, key, params):
    """Cross-entropy and share guessed right, over all positions of the first game of each lane."""
    who, (start, step) = programs.who, parts(programs)
    games, losses, rights = start(key), [], []
    chances = jax.jit(lambda views: who.log_probs(params, jax.vmap(who.encoder.planes)(views)))
    playing = np.ones(TINY.learn.lanes, bool)
    while playing.any():
        games, samples, over = step(key, games, playing)
        logs, secrets = np.asarray(chances(samples.view))[playing], np.asarray(samples.secrets)[playing]
        hidden = (secrets >= 0) & (secrets < who.game.num_secrets)
        losses += (-logs[hidden, secrets[hidden]]).tolist()
        rights += (logs.argmax(-1) == secrets)[hidden].tolist()
        playing &= ~np.asarray(over)
    return np.mean(losses), np.mean(rights)


def test_each_side_has_a_memory_of_its_own(make, straight):
    start, step = parts(make(settings(straight), None).programs)
    games = start(jax.random.key(0))
    lanes = TINY.learn.lanes
    at_work = np.ones(lanes, bool)
    for _ in range(3):
        games, _, over = step(jax.random.key(0), games, np.ones(lanes, bool))
        at_work &= ~np.asarray(over)
    remembered = games.memory.reshape(2, lanes)[:, at_work]
    assert at_work.sum() > lanes // 2 and (remembered == 2).all(), "two moves of the first side, one of the second"


@pytest.mark.slow  # to compile
def test_a_search_may_play():
    """Its trees are those of all seats: nothing is known of their form."""
    who = guess.make(TINY.who)
    player = agents.make("ismcts:num_simulations=4", who.game)
    config = dataclasses.replace(TINY.learn, lanes=4, steps=2, updates=1, batch_size=4)
    programs = Guessing(config, who, player, runtime.data_mesh(1))
    learner = programs.init(jax.random.key(0), who.init(jax.random.key(1)))
    learner, told = programs.iterate(jax.random.key(0), learner)
    assert programs.seats_asked == 2 and told["samples"] == 8 and told["finite"]


def test_settings_of_a_guess_are_told(weights):
    game = jaxgames.make("stratego", "mini")
    told = agents.settings_of(f"pc_pimc:weights=none,guess={weights}", game)
    assert told["guess"] == str(weights) and told["candidates"] == 32
    assert "guess" not in agents.settings_of("pc_pimc:weights=none", game)


def test_the_network_that_comes_with_the_package():
    barrage, full = (jaxgames.make("stratego", mode) for mode in ("barrage", "stratego"))
    assert agents.settings_of("pc_pimc:guess=bundled", barrage)["guess"].endswith("stratego_guess.npz")
    assert "guess" not in agents.settings_of("pc_pimc", barrage)
    with pytest.raises(ValueError, match="no network that guesses comes with this package for this game"):
        agents.make("pc_pimc:guess=bundled", full)  # of the same planes, with other pieces


@pytest.mark.parametrize(
    "spec, message",
    [
        ("pc_pimc:weights=none,candidates=4", "candidates=4 needs guess=FILE"),
        ("ismcts:guess=x.npz", "guess"),
    ],
)
def test_a_guess_that_cannot_be(spec, message):
    with pytest.raises(ValueError, match=message):
        agents.make(spec, jaxgames.make("stratego", "mini"))


def test_other_weights_are_refused(weights):
    with pytest.raises(ValueError, match="kind"):
        agents.make(f"pc_pimc:weights={weights}", jaxgames.make("stratego", "mini"))
    with pytest.raises(ValueError, match="encoder='alphaze': shows what is hidden"):
        guess.make(GuessConfig("stratego", "mini", encoder="alphaze"))
    with pytest.raises(ValueError, match="encoder='yorktown': shows boards from one side; what is hidden is told as each player"):
        guess.make(GuessConfig("stratego", "mini", encoder="yorktown"))
    with pytest.raises(ValueError, match="game='hex': does not tell what is hidden where"):
        guess.make(GuessConfig("hex", "adh-3"))


@pytest.mark.slow
def test_a_run_that_is_stopped_goes_on_as_if_nothing_had_happened(make, straight, tmp_path, monkeypatch):
    send_signal_at(monkeypatch, signal.SIGTERM, 4)
    result, _ = run_here(make, settings(tmp_path))
    assert result is None
    monkeypatch.undo()
    run_here(make, settings(tmp_path, resume=True))
    assert result_of(tmp_path) == result_of(straight)
    assert log_of(tmp_path) == log_of(straight)
    assert (tmp_path / "best.npz").read_bytes() == (straight / "best.npz").read_bytes()
