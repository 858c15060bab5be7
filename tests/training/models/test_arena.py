"""The network of followers that play cards: its outputs are actions, and places of the hand share what is learnt."""

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames.encoder import CardPlanes
from tests.training.tiny import drawn
from training.models.networks import presets
from training.models.policy_value import PolicyValueConfig, make

HAND, KINDS, HEIGHT, WIDTH = 2, 3, 5, 6
# Three planes of the board, cards of two places and the next one, affordable, legal, two constants, what was played.
CARDS = CardPlanes(HAND, KINDS, first=3, affordable=12, legal=14, everywhere=range(16, 18), played=18)
SHAPE = (HEIGHT, WIDTH, 21)
OUTPUTS = 1 + HAND * HEIGHT * WIDTH


@pytest.fixture(scope="module")
def network():
    return presets.by_name("arena_small", SHAPE, OUTPUTS, CARDS)


@pytest.fixture(scope="module")
def params(network):
    return drawn(network.init)


@pytest.fixture(scope="module")
def apply(network):
    return jax.jit(network.apply)


def planes(hand, affordable=(1, 1)):
    """Three boards with these cards in the hand."""
    result = np.random.default_rng(0).normal(size=(3, *SHAPE)).astype(np.float32)
    result[..., 3:18] = 0
    for place, card in enumerate((*hand, 0)):
        result[..., 3 + KINDS * place + card] = 1
    result[..., 12:14] = affordable
    return result


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_form(network, apply, params, whole):
    """A fresh network has other opinions of actions, and none of states; in short, only its value head is fresh."""
    fresh = jax.jit(lambda key: network.init(key) if whole else {"value": network.init(key)["value"]})(jax.random.key(0))
    logits, value = apply(params | fresh, planes((0, 1)))
    assert logits.shape == (3, OUTPUTS) and np.isfinite(logits).all() and (value == 0).all()
    assert np.ptp(np.asarray(logits), axis=1).min() > 0


def test_what_a_card_is_worth_somewhere_does_not_depend_on_its_place_in_the_hand(apply, params):
    params = jax.tree.map(np.array, params)
    params["constants"]["kernel"][: HAND * 8] = 0  # what holds for the whole board may tell places apart
    one, other = (np.asarray(apply(params, planes(hand))[0])[:, 1:].reshape(3, HAND, -1) for hand in ((0, 1), (1, 0)))
    np.testing.assert_allclose(one, other[:, ::-1], rtol=1e-4, atol=1e-5)
    assert not np.allclose(one[:, 0], one[:, 1])


def test_the_first_output_of_a_card_that_cannot_be_paid_saves_for_it(apply, params):
    logits = {flag: np.asarray(apply(params, planes((0, 1), (flag, 1)))[0]) for flag in (0, 1)}
    cells = HEIGHT * WIDTH
    assert not np.allclose(logits[0][:, 1], logits[1][:, 1])
    scaled = {name: np.asarray(leaf) for name, leaf in params["asked"].items()}
    scaled = {"kernel": scaled["kernel"].copy(), "bias": scaled["bias"].copy()}
    scaled["kernel"][:, -1], scaled["bias"][-1] = 0, 7
    saved = np.asarray(apply(params | {"asked": scaled}, planes((0, 1), (0, 1)))[0])
    assert (saved[:, 1] == 7).all() and (saved[:, 1 + cells] != 7).all()


def test_outputs_run_along_the_first_axis_of_the_board(apply, params):
    board = planes((0, 1))
    changed = board.copy()
    changed[:, 4, 0, 0] += 5
    change = np.abs(np.asarray(apply(params, changed)[0] - apply(params, board)[0]))[:, 1 : 1 + HEIGHT * WIDTH].mean(0)
    assert change.argmax() % HEIGHT >= 3 and change.argmax() // HEIGHT <= 1  # near the cell, whose number is 4


def test_every_parameter_counts(network, params):
    def scalar(params):
        logits, value = network.apply(params, np.concatenate([planes((0, 1)), planes((1, 2), (0, 0))]))
        return (logits**2).sum() + value.sum()

    params = jax.tree.map(lambda leaf: leaf + 0.05 * np.random.default_rng(1).normal(size=leaf.shape).astype(np.float32), params)
    for path, gradient in jax.tree_util.tree_leaves_with_path(jax.device_get(jax.jit(jax.grad(scalar))(params))):
        assert np.isfinite(gradient).all() and np.any(gradient), jax.tree_util.keystr(path)


def test_it_fits_clash():
    who = make(PolicyValueConfig("clash", "toy", network="arena_small"))
    cards, channels = who.encoder.cards, who.encoder.channels
    assert channels[cards.first].startswith("card 0 is") and channels[cards.first + 4 * cards.kinds].startswith("next card is")
    assert channels[cards.affordable] == "card 0 affordable" and channels[cards.legal] == "card 0 legal"
    assert channels[cards.everywhere.start : cards.everywhere.stop] == ("elixir", "time", "double elixir", "overtime")
    assert channels[cards.played].startswith("played") and len(channels) == cards.played + cards.kinds
    shapes = jax.eval_shape(who.network.apply, jax.eval_shape(who.init, jax.random.key(0)), np.zeros((2, *who.encoder.shape)))
    assert shapes[0].shape == (2, 2305)


def test_other_games():
    with pytest.raises(ValueError, match=r"^network='arena': is for games in which cards are played on a board$"):
        make(PolicyValueConfig("hex", "adh-3", network="arena"))
    with pytest.raises(ValueError, match=r"^outputs=7: must be 1 \+ 2 x 5 x 6 for this network$"):
        presets.by_name("arena", SHAPE, 7, CARDS)
    assert jaxgames.encoder_of(jaxgames.make("hex", "adh-3")).cards is None
