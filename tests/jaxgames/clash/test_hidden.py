"""What a player can tell of the other's cards, on decks small enough to count all ways."""

import dataclasses
import functools
import itertools

import jax
import numpy as np
import pytest
from scipy import stats

import jaxgames
from jaxgames.clash import hidden
from jaxgames.clash.config import BEGINNER_DECK

GAME = jaxgames.make("clash", "toy")
CONFIG = GAME.config
CARDS = [CONFIG.table.card_ids[key] for key in BEGINNER_DECK]
DRAWS = 4000


def information(played):
    """What player 0 knows at the start, after the other has played these cards in as many steps."""
    info = jax.device_get(begin(jax.random.key(0)))
    view = info.view
    for number, card in enumerate(played, 1):
        past = np.concatenate([np.array([[card, 9, 9]], np.int8), view.other_past[:-1]])
        view = type(view)(**(vars(view) | {"other_past": past, "tick": np.int16(5 * number)}))
        info = jax.device_get(update(info, view))
    return info


begin = jax.jit(lambda key: hidden.init_information(CONFIG, GAME.observe(GAME.init(key), 0)))
update = jax.jit(functools.partial(hidden.update_information, CONFIG))
draw = jax.jit(jax.vmap(functools.partial(hidden.sample, CONFIG), (0, None)))


def worlds(info):
    states = jax.device_get(draw(jax.random.split(jax.random.key(1), DRAWS), info))
    return states.hand[:, 1], states.queue[:, 1], states


def test_all_hands_and_queues_are_as_likely_before_anything_is_seen():
    hands, queues, _ = worlds(information([]))
    sets = [frozenset(hand) for hand in hands.tolist()]
    ways = [frozenset(way) for way in itertools.combinations(CARDS, 4)]
    assert stats.chisquare([sets.count(way) for way in ways]).pvalue > 1e-3
    assert all(sorted((*hand, *queue)) == sorted(CARDS) for hand, queue in zip(hands.tolist(), queues.tolist(), strict=True))
    first = np.bincount(queues[:, 0], minlength=len(CARDS))[CARDS]
    assert stats.chisquare(first).pvalue > 1e-3


def test_the_own_deck_is_known_where_decks_are_drawn():
    game = jaxgames.make("clash", "toy", decks=((), ()), pool=(*BEGINNER_DECK, "valkyrie", "wizard", "mini-pekka", "hog-rider"))
    state = jax.device_get(jax.jit(game.init)(jax.random.key(3)))
    begin = jax.jit(lambda state, seat: game.init_information(seat, game.observe(state, seat)))
    draw = jax.jit(jax.vmap(game.sample_hidden, (0, None)))
    for seat in (0, 1):
        info = begin(state, np.int32(seat))
        drawn = jax.device_get(draw(jax.random.split(jax.random.key(1), 64), info))
        decks = np.sort(np.concatenate([drawn.hand, drawn.queue], 2))
        truth = np.sort(np.concatenate([state.hand, state.queue], 1))
        assert (decks[:, seat] == truth[seat]).all() and (drawn.queue[:, seat, 0] == state.queue[seat, 0]).all()
        assert len(np.unique(drawn.queue[:, seat], axis=0)) == 6, "in which order its other three come is not known"
        assert len(np.unique(decks[:, 1 - seat], axis=0)) > 50, "of the other's nothing is known"


def test_a_played_card_comes_back_after_four_others():
    first, second, third, fourth, fifth = CARDS[:5]
    hands, queues, _ = worlds(information([first, second]))
    assert (queues[:, 2:] == [first, second]).all()
    ways = list(itertools.combinations(CARDS[2:], 4))
    counts = [(np.sort(hands, 1) == np.sort(way)).all(1).sum() for way in ways]
    assert sum(counts) == DRAWS and stats.chisquare(counts).pvalue > 1e-3
    hands, queues, _ = worlds(information([first, second, third, fourth]))
    assert (queues == [first, second, third, fourth]).all()
    hands, queues, _ = worlds(information([first, second, third, fourth, fifth]))
    assert (queues == [second, third, fourth, fifth]).all() and (hands == first).any(1).all()


def test_elixir_is_known_exactly():
    info = information([CARDS[0], CARDS[1]])  # Knight 3 and Giant 5, from 10
    assert int(info.other_elixir) == 280 - 3 * 28 + 5 - 5 * 28 + 5
    early, late = (type(info.view)(**(vars(info.view) | {"tick": np.int16(CONFIG.double_from_tick + tick)})) for tick in (-2, 3))
    late = type(late)(**(vars(late) | {"other_past": np.full_like(late.other_past, -1)}))  # nothing is played
    for before, after in ((100, 100 + 2 * 1 + 3 * 2), (277, 280)):
        known = type(info)(**(vars(info) | {"view": early, "other_elixir": np.int16(before)}))
        assert int(update(known, late).other_elixir) == after
    triple = dataclasses.replace(CONFIG, triple_from_tick=CONFIG.double_from_tick + 2)
    known = type(info)(**(vars(info) | {"view": early, "other_elixir": np.int16(100)}))
    assert int(jax.jit(functools.partial(hidden.update_information, triple))(known, late).other_elixir) == 100 + 2 * 1 + 2 * 2 + 3


@pytest.mark.slow
def test_knowledge_of_played_battles_fits_the_truth():
    game = jaxgames.make("clash", "toy")
    step, update, look = jax.jit(game.step), jax.jit(game.update_information), jax.jit(game.observe)
    legal_actions = jax.jit(game.legal_actions)
    state = jax.jit(game.init)(jax.random.key(5))
    info = jax.jit(game.init_information, static_argnums=0)(0, look(state, 0))
    key = jax.random.key(7)
    for number in range(30):
        legal = np.asarray(legal_actions(state))
        random = np.random.default_rng(number)
        actions = np.array([random.choice(np.flatnonzero(row)) for row in legal], np.int32)
        state = step(state, actions, key)
        info = update(info, look(state, 0), actions[0])
        known = np.asarray(info.other_queue) >= 0
        assert (np.asarray(info.other_queue)[known] == np.asarray(state.queue[1])[known]).all()
        assert set(np.flatnonzero(info.other_hand)) <= set(np.asarray(state.hand[1]).tolist())
        assert int(info.other_elixir) == int(state.elixir[1])
        own = np.asarray(info.own_queue)
        assert own[0] >= 0 and (own[own >= 0] == np.asarray(state.queue[0])[own >= 0]).all()  # the next card is shown
