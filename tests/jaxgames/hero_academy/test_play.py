"""Whole random games on every board: what must always hold, ratings, deals, and what a player may see."""

import dataclasses
import functools
import itertools
from collections import Counter

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import random_bits
from jaxgames.bits import Bits
from jaxgames.hero_academy import cards, draws, hidden, interop, make, ratings, units
from jaxgames.hero_academy.legal import Sides
from jaxgames.replay import read_npz
from search.turns.game import without
from tests.jaxgames.hero_academy.positions import position
from tests.recordings import SAMPLES

BATCH = 64
MODES = ("standard", "hidden", "tiny", "small", "ap-1", "ap-15")


@functools.cache
def played(mode, steps=240):
    """Random play: start states [B], states [steps, B], actions, and whether these do the same with `act`."""
    game = make(mode)

    def step(states, key):
        def one(state, key):
            legal = game.legal_set(state)
            lane = random_bits.lane_key(jax.random.fold_in(key, 0))
            action = legal.pick(random_bits.below(random_bits.bits(lane, 0), legal.count()))
            action = jnp.where(state.terminated, game.pass_action, action)
            after = game.step(state, jnp.full(2, action), jax.random.fold_in(key, 1))
            same = jax.tree.map(lambda one, other: (one == other).all(), game.act(state, action), after)
            return after, (after, action, jnp.stack(jax.tree.leaves(same)).all())

        keys = jax.vmap(functools.partial(jax.random.fold_in, key))(jnp.arange(BATCH))
        return jax.vmap(one)(states, keys)

    @jax.jit
    def play(first, second):
        start = jax.vmap(game.init)(jax.random.split(first, BATCH))
        return start, *jax.lax.scan(step, start, jax.random.split(second, steps))[1]

    return game, *jax.device_get(play(jax.random.key(1), jax.random.key(2)))


def flat(states):
    return jax.tree.map(lambda leaf: np.asarray(leaf).reshape(-1, *leaf.shape[2:]), states)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_what_must_always_hold(mode):
    game, start, states, *_ = played(mode)
    # Whatever is done costs a point, but for the end of a turn.
    points, turns = (
        np.concatenate([getattr(start, name)[None], getattr(states, name)]).astype(int) for name in ("action_points", "turn")
    )
    same_turn = (turns[1:] == turns[:-1]) & ~states.terminated
    assert same_turn.any() and (np.diff(points, axis=0)[same_turn] == -1).all()
    config, every = game.config, flat(states)
    arrays = interop.to_arrays(config, every)
    # What is kept beside the rest follows from it: `from_arrays` works it out again, and checks hit points.
    rebuilt = interop.from_arrays(config, arrays)
    rebuilt = dataclasses.replace(rebuilt, seat_rewards=every.seat_rewards)
    for ours, theirs, crystals in zip(every.board.hurt.words, rebuilt.board.hurt.words, every.board.crystals.words, strict=True):
        np.testing.assert_array_equal(ours & ~crystals, theirs & ~crystals)
    same = dataclasses.replace(rebuilt.board, hurt=every.board.hurt)
    chex.assert_trees_all_equal(every, dataclasses.replace(rebuilt, board=same))
    # Nobody has more of a kind of unit than its deck held.
    for seat in (0, 1):
        for card in range(cards.NUM_UNIT_CARDS):
            on_board = ((arrays["unit_class"] == card + 1) & (arrays["unit_owner"] == seat + 1)).sum((1, 2))
            held = arrays["hand"][:, seat, card] + arrays["deck"][:, seat, card]
            assert (on_board + held <= config.deck[card]).all()
    assert (arrays["hand"].sum(2) <= cards.HAND_SIZE).all()
    assert (arrays["ap"] <= max(config.action_points, config.first_action_points)).all()


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_an_action_is_played_alike_with_and_without_an_eye_on_the_end_of_the_turn(mode):
    game, start, states, actions, alike = played(mode)
    over = np.concatenate([start.terminated[None], states.terminated[:-1]])
    acts = (actions != game.end_turn) & ~over
    assert alike[acts].all() and acts.sum() > 256


@pytest.mark.slow
def test_most_games_come_to_an_end_and_rewards_are_given_once():
    _, _, states, *_ = played("tiny")
    over = states.terminated
    assert over[-1].mean() > 0.1
    ended = over & ~np.concatenate([np.zeros((1, BATCH), bool), over[:-1]])
    assert (np.asarray(states.rewards)[~ended] == 0).all()
    assert (np.asarray(states.rewards).sum(-1) == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["tiny", "standard"])
def test_the_end_of_a_turn_alone_is_that_of_advance(mode):
    """By the seeds of a game and by words that are drawn; with and without units that have fallen."""
    states = played(mode)[2]
    some = jax.tree.map(lambda leaf: leaf[5::17], flat(states))
    keys = jax.random.split(jax.random.key(5), len(some.turn))
    for draws_of in ("seeded", "random"):
        by = make(mode, draws=draws_of)
        alone = jax.jit(jax.vmap(by.play_end_turn))(some, keys)
        advanced = jax.jit(jax.vmap(lambda state, key, by=by: by.advance(state, jnp.int32(by.end_turn), key)))(some, keys)
        chex.assert_trees_all_equal(alone, advanced)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["standard", pytest.param("tiny", marks=pytest.mark.slow)])
def test_the_highest_rated_action_of_a_set_is_found(monkeypatch, mode):
    """Of all that is legal in some states, and in others of a random part of it."""
    game, _, states, *_ = played(mode)
    assert game.num_actions < ratings.RANK_BASE
    some = jax.tree.map(lambda leaf: leaf[7::31], flat(states))
    legal = np.asarray(jax.jit(jax.vmap(game.legal_actions))(some))
    legal = legal & (np.random.default_rng(4).random(legal.shape) < np.resize([1.0, 0.2], len(legal))[:, None, None])
    running = ~some.terminated & (some.action_points > 0) & legal.any((1, 2))
    shifts = np.arange(32, dtype=np.uint32)
    own_words = (legal[np.arange(len(legal)), some.player].reshape(len(legal), -1, 32) << shifts).sum(-1, dtype=np.uint32)
    among = Bits(tuple(jnp.asarray(own_words[:, word]) for word in range(own_words.shape[1])))
    best = jax.jit(jax.vmap(lambda state, among: ratings.best(game.config, state, among)))(some, among)
    rate = jax.jit(jax.vmap(lambda state, action: ratings.rating(game.config, state, action)))
    own = legal[np.arange(len(running)), some.player]
    running = running & own.any(1)
    rows, actions = np.nonzero(own & running[:, None])
    of_row = jax.tree.map(lambda leaf: leaf[rows], some)
    order = np.asarray(rate(of_row, jnp.asarray(actions))).astype(int) * game.num_actions - actions
    highest = np.full(len(running), -(10**9))
    np.maximum.at(highest, rows, order)
    np.testing.assert_array_equal(np.asarray(best)[running], (-highest % game.num_actions)[running])
    monkeypatch.setattr(ratings, "by_platform", lambda *arguments, cpu, default: default(*arguments))
    elsewhere = jax.jit(jax.vmap(lambda state, among: ratings.best(game.config, state, among)))(some, among)
    np.testing.assert_array_equal(elsewhere, best, "an accelerator goes another way")


def listed_at(config, parse, state, action):
    """Where an action stands in the released program's list, by the rules' text: something to sort by."""
    what = jax.tree.map(int, parse(jnp.int32(action)))
    columns = config.grid.columns
    row, column = divmod(what.cell, columns)
    if what.is_unit:
        return (0, column, row, column + what.right, row + what.down)
    if what.is_trade:
        ninja = int((state.board.of_kind(units.NINJA) & Sides(config, state).own_units).first())
        return (0, ninja % columns, ninja // columns, column, row)
    if what.is_deploy:
        return (1, what.card, 0, what.place, 0)
    if what.is_card:
        return (1, what.card, 0, column, row)
    return (1, what.card, 1, 0, 0) if what.is_swap_card else (2, 0, 0, 0, 0)


def test_actions_are_listed_as_in_the_released_program():
    game, recorded = make("standard"), read_npz(SAMPLES / "hero_academy" / "synthetic_steps.npz")
    every = jax.device_get(interop.from_arrays(game.config, recorded))
    pick = np.flatnonzero(~every.terminated)[::15]
    some = jax.tree.map(lambda leaf: leaf[pick], every)
    most = 1 + int(np.diff(recorded["legal_offset"])[pick].max())

    def next_one(left, _):
        action = jax.vmap(game.first_listed)(some, left)
        return jax.vmap(without)(left, action), action

    @jax.jit
    def listed(states):
        sets = jax.vmap(game.legal_set)(states)
        return sets.count(), jax.lax.scan(next_one, sets, None, length=most)[1]

    counts, order = jax.device_get(listed(some))
    assert counts.max() <= most
    kinds = Counter()
    parse = jax.jit(game.layout.parse)
    for lane, count in enumerate(counts):
        state = jax.tree.map(lambda leaf, lane=lane: leaf[lane], some)
        places = [listed_at(game.config, parse, state, action) for action in order[:count, lane]]
        assert places == sorted(places)
        assert len(set(places)) == count
        kinds.update(place[:3:2] for place in places)
    assert len(kinds) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["tiny", "standard"])
def test_arms_are_the_pruned_actions_and_all_of_them_where_they_are_few(mode):
    """Where nothing is left but an end of the turn that the rules do not allow, they are all legal actions."""
    game, _, states, *_ = played(mode)
    some = jax.tree.map(lambda leaf: leaf[::61] if mode == "standard" else leaf[::7], flat(states))
    _, offered = jax.jit(jax.vmap(game.search_arms))(some)
    legal, pruned = (
        np.stack(jax.jit(jax.vmap(lambda state, pruned=pruned: game.legal_set(state, pruned=pruned)))(some).words, -1)
        for pruned in (False, True)
    )
    forced = ((pruned & ~legal) != 0).any(-1)
    count = np.bitwise_count(np.where(forced[:, None], legal, pruned)).sum(-1)
    mine = (np.arange(2) == some.player[:, None]) & ~some.terminated[:, None]
    expected = np.where(mine, np.minimum(count, game.num_arms)[:, None], 1)
    np.testing.assert_array_equal(np.asarray(offered).sum(-1), expected)
    assert mode == "standard" or forced.any()


def test_first_hands_are_dealt_as_by_dealing_anew():
    config = make("tiny", draws="random").config
    hands = np.asarray(jax.jit(jax.vmap(lambda key: draws.first_hand(config, key)))(jax.random.split(jax.random.key(5), 20_000)))
    counts = interop.counts_of(hands)
    assert (counts.sum(1) == cards.HAND_SIZE).all()
    assert (counts[:, : cards.NUM_UNIT_CARDS].sum(1) == cards.FIRST_UNITS).all()
    # One card of each kind: 10 x 20 hands, all as likely.
    found = Counter(hands.tolist())
    assert len(found) == 200
    expected = len(hands) / 200
    assert sum((number - expected) ** 2 / expected for number in found.values()) < 267  # 199 degrees of freedom, p = 0.001


def test_a_player_sees_nothing_of_the_others_hand():
    game = make("hidden")
    names = list(cards.CARD_NAMES)
    one = position({(2, 3): "K"}, hand=["potion"], other_hand=["knight", "archer"], deck=("wizard", "ninja"))
    deck = [0] * cards.NUM_CARDS
    for name in ("knight", "archer", "wizard", "ninja"):
        deck[names.index(name)] += 1
    swapped = dataclasses.replace(
        one, hands=(one.hands[0], one.decks[1]), decks=(one.decks[0], one.hands[1]), seeds=(one.seeds[0] + 1, one.seeds[1] + 7)
    )
    chex.assert_trees_all_equal(game.observe(one, jnp.int32(0)), game.observe(swapped, jnp.int32(0)))
    open_game = make("standard")
    assert int(open_game.observe(one, jnp.int32(0)).other_hand) == int(one.hands[1])


def test_random_draws_need_a_key():
    game, ends = make("tiny", draws="random"), np.full(2, make("tiny").end_turn)
    state = jax.eval_shape(game.init, jax.random.key(0))
    calls = (
        lambda state: game.step(state, ends),
        lambda state: game.apply(state, ends),
        lambda state: game.advance(state, game.end_turn, None),
    )
    for call in calls:
        with pytest.raises(ValueError, match=r"key=None: with draws='random' cards come by chance, so give a key"):
            jax.eval_shape(call, state)
    seeded = make("tiny")
    jax.eval_shape(lambda state: seeded.step(state, ends), jax.eval_shape(seeded.init, jax.random.key(0)))


def test_hidden_hands_are_drawn_evenly():
    game = make("hidden")
    state = position({(2, 3): "K"}, other_hand=["knight", "archer"], deck=("wizard", "potion", "potion"), hand=["scroll"])
    seen = game.observe(state, jnp.int32(0))
    sample = jax.jit(jax.vmap(lambda key: game.sample_hidden(key, seen)))
    worlds = sample(jax.random.split(jax.random.key(3), 6000))
    hands = np.asarray(worlds.hands[1])
    assert (np.asarray(worlds.hands[1]) + np.asarray(worlds.decks[1]) == int(state.hands[1]) + int(state.decks[1])).all()
    unseen = [
        name
        for name, count in zip(cards.CARD_NAMES, interop.counts_of(np.uint32(seen.other_cards)), strict=True)
        for _ in range(count)
    ]
    expected = Counter()
    for pair in itertools.combinations(range(len(unseen)), 2):
        key = sum(1 << (2 * cards.CARD_NAMES.index(unseen[place])) for place in pair)
        expected[key] += 6000 / 10
    found = Counter(hands.tolist())
    assert set(found) == set(expected)
    assert sum((found[key] - number) ** 2 / number for key, number in expected.items()) < 22.5  # 6 degrees of freedom, p = 0.001


HIDDEN = make("tiny", hidden_hands=True)


@functools.cache
def hidden_start():
    return jax.device_get(jax.jit(HIDDEN.init)(jax.random.key(0)))


def test_a_hand_that_is_untouched_holds_three_units_for_both_seats():
    game, start = HIDDEN, hidden_start()
    # (viewer, turn, points), and whether the other still has its first hand.
    cases = {(0, 1, 3): True, (0, 1, 0): True, (0, 2, 5): True, (0, 2, 4): False, (0, 3, 5): False}
    cases |= {(1, 1, 3): True, (1, 1, 2): False, (1, 2, 5): False, (1, 2, 3): False}
    keys = jax.random.split(jax.random.key(4), 200)

    @jax.jit
    def drawn(keys, state, viewer):
        seen = game.observe(state, viewer)
        return jax.vmap(lambda key: hidden.drawn_hand(game.config, key, seen))(keys)

    for (viewer, turn, points), untouched in cases.items():
        state = dataclasses.replace(start, turn=np.int16(turn), action_points=np.int8(points))
        counts = interop.counts_of(np.asarray(drawn(keys, state, np.int32(viewer))))
        assert (counts.sum(1) == cards.HAND_SIZE).all()
        share = (counts[:, : cards.NUM_UNIT_CARDS].sum(1) == cards.FIRST_UNITS).mean()
        assert (share == 1) == untouched, (viewer, turn, points, share)


def test_information_is_the_latest_view():
    game, state = HIDDEN, hidden_start()
    seen = game.observe(state, jnp.int32(1))
    info = game.init_information(jnp.int32(1), seen)
    chex.assert_trees_all_equal(info, seen)
    with pytest.raises(ValueError, match="observation=None"):
        game.init_information(jnp.int32(1))
