"""Settings of AlphaZe**: kinds of games by epoch, what must fit, values of a search, and what is refused."""

import dataclasses
import functools
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import runtime
from jaxgames.game import init_all_information
from search import fdts, puct
from search.puct import determinized
from tests.signals import Signals
from tests.training.signal_players import network
from tests.training.tiny_alphaze import CONFIG, player
from training.learn import alphaze
from training.learn.alphaze import Alphaze, AlphazeConfig, make_player
from training.models import policy_value
from training.models.policy_value import PolicyValueConfig

KEY = jax.random.key(2)


def test_kinds_of_games_by_epoch():
    made = object.__new__(Alphaze)
    made.config = dataclasses.replace(CONFIG, pretrain_epochs=1, true_sight_epochs=2)
    assert [made.kind(epoch) for epoch in range(5)] == ["open", "true_sight", "true_sight", "fair", "fair"]
    made.config = CONFIG
    assert made.kind(0) == "fair"
    made.config = dataclasses.replace(CONFIG, heuristic_epochs=2, true_sight_epochs=3)
    assert [made.kind(epoch) for epoch in range(5)] == ["heuristic", "heuristic", "true_sight", "fair", "fair"]


@pytest.mark.parametrize("settings", [(0, 0, 0), (1, 0, 2), (0, 2, 3), (3, 0, 0), (0, 4, 0)])
def test_kinds_of_so_many_epochs(settings):
    """However many they are, without looking at each."""
    made = object.__new__(Alphaze)
    names = ("pretrain_epochs", "heuristic_epochs", "true_sight_epochs")
    made.config = dataclasses.replace(CONFIG, **dict(zip(names, settings, strict=True)))
    for epochs in range(1, 9):
        assert made.kinds(epochs) == list(dict.fromkeys(made.kind(epoch) for epoch in range(epochs)))
    assert made.kinds(10**18) == made.kinds(8)


def test_one_step_of_all_who_move_at_once_must_fit():
    config = AlphazeConfig(lanes=64, buffer_size=127, batch_size=2)
    who = network(Signals())
    player = fdts(who.game, num_simulations=2, horizon=2, table_rows=16)
    with pytest.raises(ValueError, match=r"^buffer_size=127: must hold one step of all lanes, 128 samples$"):
        Alphaze(config, who, types.SimpleNamespace(devices=np.zeros(1)), player)


def test_the_share_of_promises_reaches_the_values_of_a_search(monkeypatch):
    config, shares = dataclasses.replace(CONFIG, prospects=0.5), []
    with pytest.raises(ValueError, match="game='hex' does not say what its positions promise; must be 0"):
        make_player(config, player())
    monkeypatch.setattr(alphaze, "with_prospects", lambda game, evaluate, share: shares.append(share) or evaluate)
    make_player(config, player())
    assert shares == [0.5]


@pytest.mark.slow  # to compile
def test_values_of_a_search_may_be_what_positions_promise():
    game = jaxgames.make("stratego", "mini")
    who = policy_value.make(PolicyValueConfig("stratego", "mini", network="light"))
    state, seat = jax.tree.map(lambda leaf: leaf[None], jax.jit(game.init)(KEY)), jnp.zeros(1, jnp.int32)
    known = jax.tree.map(lambda leaf: leaf[:, 0], jax.jit(functools.partial(init_all_information, game))(state))

    def values_of(prospects, told):
        """Of a search one move ahead, with a network that knows no other value."""

        def apply(params, planes):
            logits, value = who.network.apply(params, planes)
            return logits, jnp.full_like(value, told)

        config = dataclasses.replace(CONFIG, method="pimc_value", prospects=prospects)
        planner = make_player(config, who._replace(network=who.network._replace(apply=apply)))
        plan, _ = jax.jit(planner.plan)(jax.jit(who.init)(KEY), KEY[None], (), known, seat, jnp.ones(1, bool))
        return np.asarray(plan.qvalues)[0, 0][np.asarray(plan.legal)[0, 0]]

    promised, half = values_of(1.0, 0.5), values_of(0.5, 0.5)
    assert np.unique(promised).size > 3 and np.unique(values_of(0.0, 0.5)).size == 1
    np.testing.assert_allclose(half, (promised - 0.5) / 2, atol=1e-6)  # the other player moves next, and is told 0.5


def test_hidden_games_in_which_all_move_at_once_are_played_fairly_alone():
    """Clash: a search that the network guides plays; searches of the full state need one who is to move."""
    game = jaxgames.make("clash", "toy")
    who = policy_value.make(PolicyValueConfig("clash", "toy", network="compact"))
    config, player = dataclasses.replace(CONFIG, true_sight_epochs=0), fdts(game, num_simulations=4, horizon=2)
    assert list(Alphaze(config, who, runtime.data_mesh(1), player).play) == ["fair"]
    message = "game='clash': all move at once, which searches of the full state cannot: leave out pretrain_epochs, "
    with pytest.raises(ValueError, match=message):
        Alphaze(dataclasses.replace(config, true_sight_epochs=1), who, runtime.data_mesh(1), player)


OPEN = PolicyValueConfig("hex", "hex-3", network="compact")


@pytest.mark.parametrize("method", alphaze.METHODS)
def test_where_nothing_is_hidden_the_state_itself_is_searched(method):
    """Open Hex tells what its players know as DarkHex does."""
    made = Alphaze(dataclasses.replace(CONFIG, method=method), policy_value.make(OPEN), runtime.data_mesh(1))
    (planner,) = made.players.values()
    assert planner.sees_state and planner.name == puct.puct(made.who.game, made.who.evaluate).name
    assert not made.games.pool.informed


def test_who_plays_by_what_is_known_is_told_it_where_nothing_is_hidden_too():
    who = policy_value.make(OPEN)
    planner = determinized.pimc_tree(who.game, who.evaluate)
    assert Alphaze(CONFIG, who, runtime.data_mesh(1), planner).games.pool.informed


@pytest.mark.parametrize("epochs", ["pretrain_epochs", "true_sight_epochs"])
def test_epochs_that_see_everything_are_refused_where_nothing_is_hidden(epochs):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        Alphaze(dataclasses.replace(CONFIG, **{epochs: 1}), policy_value.make(OPEN), runtime.data_mesh(1))
    assert str(error.value) == (
        "game='hex': hides nothing: leave out pretrain_epochs and true_sight_epochs; "
        "a run that was begun with them cannot go on, so choose another output"
    )


TOO_FEW = "true_sight_epochs=2: must be 0 or more than heuristic_epochs=2, which are among them"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"first_play_urgency": float("nan")},
            "first_play_urgency=nan: must be a finite number of 32 bits, at most 3.4e+38 either way",
        ),
        ({"method": "ismcts"}, "method='ismcts': must be one of pc_pimc, medoid, pimc, pimc_value"),
        ({"optimizer": "lion"}, "optimizer='lion': must be one of adam, sgd"),
        ({"num_worlds": 0}, "num_worlds=0: must be >= 1"),
        ({"num_worlds": 2**31}, "num_worlds=2147483648: must be < 2147483648"),
        ({"updates": 2**31}, "updates=2147483648: must be < 2147483648"),
        ({"epoch_updates": 2**31}, "epoch_updates=2147483648: must be < 2147483648"),
        ({"explore_moves": -2}, "explore_moves=-2: must be >= -1"),
        ({"true_sight_epochs": -1}, "true_sight_epochs=-1: must be >= 0"),
        ({"heuristic_epochs": 1, "pretrain_epochs": 2}, "heuristic_epochs=1: must be 0 with pretrain_epochs=2"),
        ({"heuristic_epochs": 2, "true_sight_epochs": 2}, TOO_FEW),
        ({"learning_rate": 0}, "learning_rate=0: must be > 0"),
        ({"learning_rate": float("nan")}, "learning_rate=nan: must be finite and > 0"),
        ({"weight_decay": float("inf")}, "weight_decay=inf: must be finite and >= 0"),
        ({"dirichlet_fraction": 1.5}, "dirichlet_fraction=1.5: must be in 0..1"),
        ({"prospects": -0.5}, "prospects=-0.5: must be in 0..1"),
        ({"buffer_size": 100}, "buffer_size=100: must be at least batch_size=256 and lanes=128"),
        ({"epoch_updates": 100}, "epoch_updates=100: must be a multiple of updates=64"),
    ],
)
def test_bad_settings(values, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        AlphazeConfig(**values)
    assert str(error.value) == message
