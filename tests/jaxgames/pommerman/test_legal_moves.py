"""The mask of the published planner, against the same rule written out slowly over plain arrays."""

import functools

import jax
import numpy as np
import pytest

from jaxgames.pommerman.game import Pommerman
from jaxgames.pommerman.replay import BATCH
from tests.jaxgames.pommerman import recordings
from tests.jaxgames.pommerman.positions import FFA, Bomb, Man, position

STEPS = {1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}


@functools.cache
def compiled(config):
    game = Pommerman(config)
    return jax.jit(jax.vmap(lambda state: (game.legal_actions(state), *game.search_arms(state))))


def masks(config, state):
    """legal_actions and search_arms of a batch, padded to a fixed size: one compilation per variant."""
    count = len(state.step_count)
    padded = jax.tree.map(lambda leaf: np.concatenate([leaf, np.repeat(leaf[:1], BATCH - count, 0)]), state)
    return [np.asarray(array)[:count] for array in compiled(config)(padded)]


def slow_mask(arrays, index):
    """The rule as it is written: one game, plain loops."""
    board = arrays["s_board"][index].astype(int)
    size = len(board)
    bombs = arrays["s_bombs"][index, : arrays["s_nbombs"][index]].tolist()
    content = board.copy()
    for row, column, *_ in bombs:
        content[row, column] = 3  # also under an agent
    unsafe = np.zeros((size, size), bool)
    for row, column, _, life, strength, _ in bombs:
        unsafe[row, column] = True
        if life == 1:
            unsafe[max(0, row - strength) : row + strength + 1, column] = True
            unsafe[row, max(0, column - strength) : column + strength + 1] = True
    result = []
    for row, column, alive, ammo, *_ in arrays["s_agents"][index].tolist():
        legal = [False] * 6
        if alive:
            legal[0] = not unsafe[row, column]
            for move, (down, right) in STEPS.items():
                r, c = row + down, column + right
                legal[move] = 0 <= r < size and 0 <= c < size and content[r, c] not in (1, 2, 3, 4) and not unsafe[r, c]
            legal[5] = ammo > 0
        legal[0] = legal[0] or not any(legal)
        result.append(legal)
    return result


@pytest.mark.parametrize(
    "name", ["ffa_random", "ffa_simple", "ffa_kick", "ffa_conflict", pytest.param("team", marks=pytest.mark.slow)]
)
def test_recorded_states(name):
    config, arrays, state = recordings.states(name)
    for start in range(0, len(arrays["s_board"]), BATCH):
        part = slice(start, start + BATCH)
        legal, arms, arms_legal = masks(config, jax.tree.map(lambda leaf, part=part: leaf[part], state))
        expected = [slow_mask(arrays, index) for index in range(len(arrays["s_board"]))[part]]
        assert np.array_equal(legal, expected)
        assert np.array_equal(arms_legal, expected)
        assert (arms == np.arange(6)).all()


def test_radio_adds_every_message_for_the_living():
    config, arrays, state = recordings.states("radio", 100)
    legal, arms, arms_legal = masks(config, state)
    expected = np.array([slow_mask(arrays, index) for index in range(100)])
    alive = arrays["s_agents"][..., 2] == 1
    messages = np.where(alive[..., None], True, np.arange(81) == 0)
    assert legal.shape == (100, 4, 486)
    assert np.array_equal(legal.reshape(100, 4, 6, 81), expected[..., None] & messages[:, :, None])
    assert (arms == 81 * np.arange(6)).all(), "the arms of a search are the silent moves"
    assert np.array_equal(arms_legal, expected)


def test_everybody_has_a_legal_action():
    for name in recordings.GAMES:
        if name not in ("ffa_collapse", "team"):
            config, _, state = recordings.states(name, 100)
            assert masks(config, state)[0].any(-1).all()


def legal_of(state, seat=0):
    return np.flatnonzero(masks(FFA, state)[0][0, seat]).tolist()


def test_consequences_of_the_rule():
    assert legal_of(position("0.1")) == [0, 2, 4, 5]
    assert legal_of(position("0.1", m0=Man(ammo=0))) == [0, 2, 4]
    assert legal_of(position("0.1", bombs={(0, 0): Bomb()})) == [2, 4, 5], "who stands on a bomb may not stop"
    assert legal_of(position("0#\n#.", bombs={(0, 0): Bomb()}, m0=Man(ammo=0))) == [0], "unless nothing else is left"
    assert legal_of(position("0.1", bombs={(0, 1): Bomb()}, m0=Man(kick=True))) == [0, 2, 5], "nobody walks into a bomb"
    assert legal_of(position("01")) == [0, 2, 4, 5], "another agent's cell is fine"
    assert legal_of(position("0.1", flames={(0, 1): [0]})) == [0, 2, 5], "flames are not, even in their last step"
    assert legal_of(position("0b1")) == [0, 2, 4, 5]
    assert legal_of(position("0.1", bombs={(0, 3): Bomb(life=1)})) == [0, 2, 5], "marked one cell too far"
    assert legal_of(position("0.#", bombs={(0, 3): Bomb(life=1, strength=3)})) == [2, 5], "and through walls"
    assert legal_of(position("0.#", bombs={(0, 3): Bomb(life=2, strength=3)})) == [0, 2, 4, 5]
    assert legal_of(position("0.1"), seat=3) == [0], "the dead may only stop"


@functools.cache
def seen(config):
    game = Pommerman(config)
    seats = np.arange(4)
    return jax.jit(jax.vmap(lambda state: jax.vmap(lambda seat: game.legal_in_view(game.observe(state, seat)))(seats)))


def test_a_player_can_tell_its_legal_actions_where_all_is_seen():
    config, _, state = recordings.states("ffa_simple", 100)
    assert np.array_equal(seen(config)(state), masks(config, state)[0])


@pytest.mark.slow
def test_a_player_does_not_know_of_bombs_in_the_fog():
    config, _, state = recordings.states("radio", 100)
    told, legal = np.asarray(seen(config)(state)), masks(config, state)[0]
    assert told.shape == legal.shape and (told | ~legal).all(), "who sees less is warned of less"
    assert told.any(-1).all()
