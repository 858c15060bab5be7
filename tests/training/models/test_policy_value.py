"""A network as a player and as a guide: it takes what is legal, by what it sees alone, also where it fails; its files."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import jaxgames
from jaxgames.game import init_all_information, update_all_information
from search.planner import of_seat
from tests.jaxgames.pommerman import recordings
from tests.training import tiny
from training.models import policy_value
from training.models.policy_value import PolicyValueConfig, masked_log_softmax
from training.play import agents
from training.storage.weights import save_weights

COUNT = 40
PROGRAMS = {}


def pommerman(mode="ffa", encoder="paper", network="paper"):
    return policy_value.make(PolicyValueConfig("pommerman", mode, encoder, network))


@pytest.fixture(scope="module")
def who():
    return tiny.network()


@pytest.fixture(scope="module")
def params(who):
    return tiny.drawn(who.init)


@pytest.fixture(scope="module")
def states():
    keys = jax.random.split(jax.random.key(0), COUNT)
    return jax.device_get(jax.jit(jax.vmap(tiny.GAME.init))(keys))


@jax.jit
def views_of(states, seat):
    return jax.vmap(tiny.GAME.observe, (0, None))(states, seat)


def look(who, params, states, seat, *, greedy=True, seed=0):
    """The likeliest actions, or drawn ones; and the policy, what is legal and the logits behind them."""
    name = (id(who), greedy)
    if name not in PROGRAMS:
        agent = who.agent(greedy=greedy)

        @jax.jit
        def run(params, keys, states, seat):
            views = jax.vmap(who.encoder.view, (0, None))(states, seat)
            seats, ones = jnp.full(len(keys), seat), jnp.ones(len(keys), bool)
            chosen, _ = agent.act(params, keys, agent.init(len(keys)), views, seats, ones)
            return chosen, who.policy(params, views), jax.vmap(who.encoder.legal)(views), who.apply(params, views)[0]

        PROGRAMS[name] = who, run  # with what its name is of, so that no other comes to have it
    keys = jax.random.split(jax.random.key(seed), len(states.step_count))
    return jax.device_get(PROGRAMS[name][1](params, keys, states, np.int32(seat)))


def act(who, params, states, seat, *, greedy=True):
    return look(who, params, states, seat, greedy=greedy)[0]


@pytest.fixture(scope="module")
def apply(who):
    return jax.jit(who.apply)


def test_views_in_parts_give_what_they_give_alone(who, params, states, apply):
    """40 views are more than a part; what fills up the last one is not seen."""
    views = views_of(states, 1)
    found = jax.device_get(apply(params, views))
    assert [len(each) for each in found] == [COUNT, COUNT]
    few = apply(params, jax.tree.map(lambda leaf: np.asarray(leaf)[-10:], views))
    for ours, theirs in zip(found, few, strict=True):
        np.testing.assert_allclose(ours[-10:], theirs, rtol=1e-4, atol=1e-5)


def test_policy_over_what_is_legal(who, params, states):
    for seat in (0, 2):
        taken, policy, legal, logits = look(who, params, states, seat)
        policy = np.exp(policy)
        np.testing.assert_allclose(policy.sum(-1), 1, rtol=1e-5)
        assert (policy[~legal] == 0).all() and (policy[legal] > 0).all() and (~legal).any()
        np.testing.assert_array_equal(taken, np.argmax(np.where(legal, logits, -np.inf), axis=-1))


@pytest.mark.slow
def test_draws_follow_the_policy(who, params, states):
    states = jax.tree.map(lambda leaf: np.repeat(leaf[:1], 1500, axis=0), states)
    taken, log_policy, legal, _ = look(who, params, states, 0, greedy=False)
    policy, counts = np.exp(log_policy[0], dtype=np.float64), np.bincount(taken, minlength=6)
    assert legal[0].sum() > 2 and not counts[~legal[0]].any()
    assert stats.chisquare(counts[legal[0]], 1500 * (policy / policy.sum())[legal[0]]).pvalue > 1e-3
    assert (act(who, params, states, 0) == np.argmax(policy)).all()


@pytest.mark.parametrize("greedy", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_network_that_fails_stops(who, params, states, greedy):
    for bad in (np.nan, np.inf, -np.inf):
        broken = jax.tree.map(lambda leaf, bad=bad: np.full_like(leaf, bad), params)
        np.testing.assert_array_equal(act(who, broken, states, 1, greedy=greedy), 0)


def test_the_dead_stop(who, params, states):
    dead = dataclasses.replace(states, step_count=states.out_at[:, 0])
    assert act(who, params, dead, 0).tolist() == [0] * COUNT
    assert act(who, params, states, 0).any()


def test_what_a_search_is_told(who, params, states, apply):
    """Logits and values of the given seats, by what each of them sees."""
    seats = np.arange(COUNT) % 4
    logits, values = jax.device_get(jax.jit(who.evaluate)(params, states, seats))
    assert (logits.shape, values.shape) == ((COUNT, 6), (COUNT,)) and np.ptp(values) > 0
    for seat in range(4):
        expected = jax.device_get(apply(params, views_of(states, seat)))
        for got, wanted in zip((logits, values), expected, strict=True):
            np.testing.assert_allclose(got[seats == seat], wanted[seats == seat], rtol=1e-4, atol=1e-5)


@pytest.mark.slow  # to compile
def test_in_radio_mode_it_moves_without_a_word():
    who = pommerman("radio", "extended")
    states = recordings.states("radio", COUNT)[2]
    actions = act(who, tiny.drawn(who.init, 1), states, 3, greedy=False)
    assert (actions % 81 == 0).all() and len(set(actions.tolist())) > 3 and actions.max() <= 5 * 81


@pytest.mark.parametrize("mode", ["ffa", "one_vs_one", "team"])
@pytest.mark.parametrize("encoder", ["", "extended"])
def test_what_identifies_its_parameters(mode, encoder):
    config = PolicyValueConfig("pommerman", mode, encoder, "paper")
    who = policy_value.make(config)
    named = dataclasses.asdict(config) | {"encoder": encoder or "paper"}
    assert who.meta == {"kind": "policy_value", "version": 1, **named}
    shapes = jax.eval_shape(who.init, jax.random.key(0))
    size = who.game.config.board_size
    assert shapes["policy"]["kernel"].shape == (size * size * 32, 6)
    assert shapes["entry"]["kernel"].shape == (3, 3, len(who.encoder.channels), 32)


@pytest.mark.parametrize(
    ("settings", "variant"),
    [
        ({}, ("hex", "adh-5")),
        ({"game": "clash", "network": "arena_small"}, ("clash", "beginner")),
        ({"game": "stratego", "network": "light"}, ("stratego", "barrage")),
        ({"game": "hex-adh-3-v1"}, ("hex", "adh-3")),
    ],
)
def test_without_a_variant_it_is_the_usual_one(settings, variant):
    meta = policy_value.make(PolicyValueConfig(**settings)).meta
    assert (meta["game"], meta["mode"]) == variant


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"game": "go"}, "game='go': must be one of pommerman, hex"),
        ({"mode": "duel"}, "mode='duel': must be "),
        ({"encoder": "all"}, "encoder='all': must be one of alphaze"),
        ({"network": "vit"}, "network='vit': must be one of paper, paper_value, compact, residual, tiny, "),
        ({"game": "pommerman", "mode": "ffa"}, "network='tiny': gives the same number of outputs for each of 11 x 11 cells, and"),
    ],
)
def test_unknown_names(settings, message):
    with pytest.raises(ValueError, match=f"^{message}") as error:
        policy_value.make(PolicyValueConfig(**settings))
    assert "\n" not in str(error.value)


# --- files -------------------------------------------------------------------------------------------------------------


def test_the_network_that_comes_with_the_package_plays_in_the_variants_it_fits():
    path = agents.bundled("follower", jaxgames.make("pommerman", "ffa"))
    who, params = policy_value.read(path, jaxgames.make("pommerman", "team"))
    assert (who.encoder.name, who.game.config.is_team, who.meta["mode"]) == ("extended_centred", True, "ffa")
    assert jax.tree.map(jnp.shape, params) == jax.tree.map(jnp.shape, jax.eval_shape(who.init, jax.random.key(0)))
    told = f"weights {path}: of mode 'ffa' with planes 11 x 11 x 24, and here they are 8 x 8 x 24"
    with pytest.raises(ValueError, match=told):
        policy_value.read(path, jaxgames.make("pommerman", "one_vs_one"))
    with pytest.raises(ValueError, match="with planes 11 x 11 x 24, and here they are 8 x 8 x 14"):
        policy_value.first_params(who._replace(encoder=jaxgames.encoder_of(jaxgames.make("pommerman", "one_vs_one"))), path)
    with pytest.raises(ValueError, match=r"game is 'pommerman' there and 'hex' is expected"):
        policy_value.read(path, jaxgames.make("hex", "adh-5"))


def test_a_network_of_other_cards_is_refused(tmp_path):
    """Two decks with as many cards, units and spells have as many planes, which show other things."""
    own = "knight+giant+archers+arrows+minions+fireball+musketeer+baby-dragon"
    mode = f"toy:decks={own}/{own}"
    who = policy_value.make(PolicyValueConfig("clash", mode, network="arena_small"))
    params = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), jax.eval_shape(who.init, jax.random.key(0)))
    path = tmp_path / "clash.npz"
    save_weights(path, params, who.meta)
    turned = own.split("+")[::-1]
    policy_value.read(path, jaxgames.make("clash", "toy", decks=(turned, turned)))
    other = own.replace("knight", "valkyrie").split("+")
    with pytest.raises(ValueError, match="in which a plane shows 'own Knight' that here shows 'own Giant'"):
        policy_value.read(path, jaxgames.make("clash", "toy", decks=(other, other)))


# --- where something is hidden -----------------------------------------------------------------------------------------


def test_it_draws_nothing_where_it_sees_all_and_takes_the_likeliest():
    assert not pommerman().agent().draws and pommerman().agent(greedy=False).draws
    assert policy_value.make(PolicyValueConfig("hex", "adh-3")).agent().draws, "it draws what is hidden"


def test_in_dark_hex_it_tries_what_it_does_not_know_to_be_taken():
    """Also where a stone may lie that it has not met; in its own direction, so that the second player's rows are columns."""
    game = jaxgames.make("hex", "adh-3")
    who = policy_value.make(PolicyValueConfig("hex", "adh-3"))
    first = np.arange(9, dtype=np.float32)[None, ::-1]  # the first output is liked best, then the second ...
    who = who._replace(network=who.network._replace(apply=lambda params, planes: (first, first[:, 0])))
    states = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], game.init())
    infos = jax.jit(lambda states: init_all_information(game, states))(states)

    @jax.jit
    def step(states, infos, key):
        mover = jax.vmap(game.to_play)(states)
        known = jax.tree.map(lambda leaf: of_seat(leaf, mover), infos)
        chosen, _ = who.agent().act(None, key[None], (), known, mover, jnp.ones(1, bool))
        actions = jnp.where(jnp.arange(2) == mover[:, None], chosen[:, None], game.pass_action)
        states = jax.vmap(game.step)(states, actions)
        return states, update_all_information(game, infos, states, actions), chosen[0]

    tried = []
    for key in jax.random.split(jax.random.key(0), 6):
        states, infos, cell = step(states, infos, key)
        tried.append(int(cell))
    assert tried == [0, 0, 1, 3, 2, 6]  # the second player runs into the first stone, and does not try there again


# --- masks -------------------------------------------------------------------------------------------------------------


def test_masked_log_softmax():
    logits = np.array([[1.0, 2.0, 3.0], [1000.0, -1000.0, 0.0]], np.float32)
    legal = np.array([[True, False, True], [False, True, True]])
    got = np.exp(jax.jit(masked_log_softmax)(logits, legal))
    expected = np.exp([1.0, 3.0]) / np.exp([1.0, 3.0]).sum()
    np.testing.assert_allclose(got, [[expected[0], 0, expected[1]], [0, 0, 1]], atol=1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_logits_that_are_no_numbers(bad):
    """Where such a one is legal, the first arm is taken; where it is not, it does not matter."""
    logits = np.array([[0.0, bad, 1.0], [0.0, bad, 1.0]], np.float32)
    got = np.exp(jax.jit(masked_log_softmax)(logits, np.array([[True, True, True], [True, False, True]])))
    np.testing.assert_array_equal(got[0], [1, 0, 0])
    np.testing.assert_allclose(got[1], [1 / (1 + np.e), 0, np.e / (1 + np.e)], rtol=1e-5)


def test_nothing_legal():
    got = jax.jit(masked_log_softmax)(np.array([[5.0, 1.0, 2.0]], np.float32), np.zeros((1, 3), bool))
    np.testing.assert_array_equal(np.exp(got), [[1, 0, 0]])
    assert not np.isnan(got).any()


def test_gradients_behind_a_mask_are_numbers():
    legal = np.array([[True, False, True], [False, False, False]])

    def loss(logits):
        return masked_log_softmax(logits, legal)[:, 0].sum()

    gradient = jax.jit(jax.grad(loss))(np.array([[1, 2, 3], [1, 2, 3]], np.float32))
    assert np.isfinite(gradient).all() and gradient[0, 1] == 0 and not gradient[1].any()


def test_the_likeliest_group_is_one_of_many_unlikely_outputs():
    shares = np.array([[0.3, 0.05, 0.15, 0.15, 0.2, 0.15], [0.5, 0.4, 0.0, 0.0, 0.05, 0.05]])
    with np.errstate(divide="ignore"):
        kept = np.asarray(jax.jit(lambda logs: policy_value.of_likeliest_group(logs, (0, 1, 1, 1, 2, 2)))(np.log(shares)))
    assert (np.isfinite(kept) == np.array([[False, True, True, True, False, False], [True] + [False] * 5])).all()
    assert np.argmax(kept, -1).tolist() == [2, 0]
