"""What networks are shown: numbers of planes by hand, both sides alike, and left for right."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.stratego import Stratego, encoder, hidden, interop, legal, moves, rules
from jaxgames.stratego.constants import KIND_NAMES
from tests.jaxgames.stratego.playing import CONFIG, play, position, random_game

GAME = Stratego(CONFIG)


def swapped(state):
    """The same position with the sides exchanged: Red sees what Blue saw."""
    arrays = interop.to_arrays(CONFIG, state)
    rows = {name: arrays[name].reshape(5, 5)[::-1].reshape(-1) for name in ("piece", "owner", "visible", "moved", "far")}
    rows["owner"] = np.where(rows["owner"] < 2, 1 - rows["owner"], 2)
    return interop.from_arrays(CONFIG, rows | {"player": 1 - arrays["player"], "ply": arrays["ply"]})


def mirrored(state):
    """The same position with left and right exchanged."""
    arrays = interop.to_arrays(CONFIG, state)
    rows = {name: arrays[name].reshape(5, 5)[:, ::-1].reshape(-1) for name in ("piece", "owner", "visible", "moved", "far")}
    return interop.from_arrays(CONFIG, rows | {"player": arrays["player"], "ply": arrays["ply"]})


@pytest.fixture(scope="module")
def states():
    played = [*random_game(CONFIG, 60)[:-1], *random_game(CONFIG, 60, seed=1)[:-1]]
    return played[:: len(played) // 8]


@functools.cache
def looking(name):
    """Planes and legal outputs of a state for a seat, and both with left and right exchanged."""
    made = jaxgames.encoder_of(GAME, name)

    @jax.jit
    def look(state, seat):
        view = made.view(state, seat)
        planes, legal_outputs = made.planes(view), made.legal(view)
        return planes, legal_outputs, made.transform_planes(planes, 1), made.transform_outputs(legal_outputs, 1)

    return look


@pytest.mark.parametrize("name", ["alphaze", pytest.param("belief", marks=pytest.mark.slow)])
def test_both_sides_and_both_hands_see_alike(name, states):
    second, look = jaxgames.encoder_of(GAME, name).channels.index("second player"), looking(name)
    for state in states:
        planes, outputs, turned, turned_outputs = look(state, jnp.int32(state.player))
        other, other_outputs, *_ = look(swapped(state), 1 - jnp.int32(state.player))
        assert np.array_equal(np.delete(planes, second, -1)[..., :-1], np.delete(other, second, -1)[..., :-1])
        assert np.array_equal(outputs, other_outputs)
        hand, hand_outputs, *_ = look(mirrored(state), jnp.int32(state.player))
        assert np.array_equal(turned[..., :-1], hand[..., :-1]) and np.array_equal(turned_outputs, hand_outputs)


def test_planes_of_a_position():
    state = position("YaPaa aaXaa aa_aa aaaaa MaCaa")
    planes = dict(zip(encoder.CHANNELS, np.moveaxis(_planes("alphaze", state, 0), -1, 0), strict=True))
    assert planes["own flag"][0, 0] == 1 and planes["own spy"][0, 2] == 1 and planes["other marshal"][3, 2] == 1
    assert planes["other hidden"].sum() == 3 and planes["own hidden"].sum() == 2 and planes["lake"][2, 2] == 1
    assert planes["empty"].sum() == 25 - 6 and planes["second player"].sum() == 0
    believed = _planes("belief", state, 0)
    chances = believed[3, 2, 1:24:2]
    assert {KIND_NAMES[kind]: round(float(chance), 4) for kind, chance in enumerate(chances) if chance} == {
        "flag": 0.3333,
        "scout": 0.3333,
        "marshal": 0.3333,
    }


def _planes(name, state, seat):
    return np.asarray(looking(name)(state, jnp.int32(seat))[0])


def test_positions_that_come_back_are_counted():
    state = position("YaaaO aaaaa aa_aa Eaaaa MaaaC")
    count = jax.jit(lambda state: encoder.repetitions(GAME.observe(state, state.player)))
    there, back = ("a2a3", "e5e4"), ("a3a2", "e4e5")
    state = play(state, *there, *back)
    assert int(count(state)) == 0  # at first the pieces had not moved
    state = play(state, *there, *back)
    assert int(count(state)) == 1
    state = play(state, *there)
    assert int(count(state)) == 2
    assert int(count(play(state, "a3a4"))) == 0


def test_a_network_of_what_is_known_sees_no_hidden_piece(states):
    @jax.jit
    def other_world(key, state):
        return hidden.sample(CONFIG, key, GAME.observe(state, state.player))

    changed = 0
    for number, state in enumerate(states):
        world = other_world(jax.random.key(number), state)
        changed += notation_of(world) != notation_of(state)
        assert np.array_equal(*(_planes("belief", each, state.player) for each in (world, state)))
    assert changed


def notation_of(state):
    return interop.to_arrays(CONFIG, jax.device_get(state))["piece"].tolist()


def test_a_move_is_the_same_output_for_both_sides(states):
    made = jaxgames.encoder_of(GAME)
    mask = jax.jit(lambda state: legal.legal_mask(CONFIG, legal.side_of(state, state.player), state.player))
    step = jax.jit(lambda state, action: rules.step(CONFIG, state, action))
    for state in states[:3]:
        action = int(np.flatnonzero(np.asarray(mask(state)))[0])
        other = swapped(state)
        output = int(made.outputs(jnp.int32(action), jnp.int32(state.player)))
        after = step(other, made.actions(jnp.int32(output), 1 - jnp.int32(state.player)))
        assert notation_of(swapped(jax.device_get(step(state, action)))) == notation_of(after)


def test_outputs_are_numbered_cell_by_cell_as_planes_are():
    full = jaxgames.make("stratego", "barrage")
    made = jaxgames.encoder_of(full)
    # a4-a5 of Red: column 0, row 3, one cell forward; of Blue a7-a6 is the same.
    for text, seat in (("a4a5", 0), ("a7a6", 1)):
        action = moves.parse_move(full.config, text, seat)
        assert int(made.outputs(jnp.int32(action), jnp.int32(seat))) == (10 * 3 + 0) * 36 + 9
    numbers = jnp.arange(3600)
    assert np.array_equal(made.outputs(made.actions(numbers, 0), 0), numbers)
    assert int(made.outputs(jnp.int32(3600), 0)) == -1 and int(made.actions(jnp.int32(-1), 0)) == 3600
