"""Learning from an oracle where something is hidden: a follower neither sees nor learns what its seat cannot know."""

import dataclasses
import functools

import jax
import numpy as np
import pytest

from jaxgames import runtime
from jaxgames.packing import packing_of
from tests.jaxgames.hex.playing import at, random_games
from tests.training import tiny
from tests.training.learn.dagger_by_hand import unpacked
from training.learn.dagger import Dagger, DaggerConfig
from training.models import policy_value
from training.models.policy_value import PolicyValueConfig
from training.play.lanes import Lanes

KEY = jax.random.key(2)


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
        episodes, ring, counts = dagger._play(dagger.rules, KEY, learner.params, None, learner.games, learner.ring)
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
