"""One position per clause of the rules."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.hex import Hex, HexConfig, interop, rules
from tests.jaxgames.hex.playing import compiled, play, random_games

PLAIN, ABRUPT = Hex(HexConfig(3)), Hex(HexConfig(3, "abrupt"))


def game(rules_name="hex", size=3):
    return compiled(Hex(HexConfig(size, rules_name)))


def cells(size, *names):
    return [interop.parse_cell(HexConfig(size), name) for name in names]


def test_the_first_player_joins_north_and_south():
    states = play(PLAIN, cells(3, "a1", "b1", "a2", "b2", "a3"))
    assert [bool(state.terminated) for state in states] == [False] * 5 + [True]
    assert game().outcome(states[-1]).tolist() == [1, -1]
    assert states[-1].rewards.tolist() == [1, -1]


def test_the_second_player_joins_west_and_east():
    states = play(PLAIN, cells(3, "a1", "a2", "b1", "b2", "a3", "c2"))
    assert game().outcome(states[-1]).tolist() == [-1, 1]
    assert not bool(states[-2].terminated)


@pytest.mark.parametrize("bridge, joined", [(("b1", "a2"), True), (("a1", "b2"), False)])
def test_neighbours_lie_towards_south_west_not_south_east(bridge, joined):
    # On 2 x 2, b1 and a2 touch; a1 and b2 do not.
    first, second = cells(2, *bridge)
    other = [cell for cell in range(4) if cell not in (first, second)]
    state = play(Hex(HexConfig(2)), [first, other[0], second])[-1]
    assert bool(state.terminated) is joined


def test_abrupt_who_hits_a_hidden_stone_loses_the_turn_and_remembers_it():
    dark = game("abrupt")
    states = play(ABRUPT, [0, 0, 1])
    hit = states[2]
    assert int(hit.player) == 0 and interop.board(dark.config, hit).tolist() == [1] + [0] * 8
    assert interop.view_codes(dark.config, hit, 1).tolist() == [1] + [0] * 8
    assert not bool(dark.legal_actions(states[3])[1, 0])


def test_classical_who_hits_a_hidden_stone_tries_again():
    dark = game("classical")
    state = play(Hex(HexConfig(3, "classical")), [0, 0])[-1]
    assert int(state.player) == 1
    assert [int(turns) for turns in state.turns] == [1, 0]
    assert dark.legal_actions(state)[1].tolist() == [False] + [True] * 8 + [False]


def test_a_hidden_stone_may_be_tried_and_a_known_one_may_not():
    assert bool(game("abrupt").legal_actions(play(ABRUPT, [4])[-1])[1, 4])
    assert not bool(game().legal_actions(play(PLAIN, [4])[-1])[1, 4])


@pytest.mark.parametrize("action", [4, 9, -1, 500])
def test_an_illegal_attempt_loses(action):
    state = play(PLAIN, [4])[-1]
    after = game().step(state, jnp.array([9, action]))
    assert bool(after.terminated) and game().outcome(after).tolist() == [1, -1] and after.rewards.tolist() == [1, -1]
    assert interop.board(game().config, after).tolist() == interop.board(game().config, state).tolist()


def test_a_game_lost_by_an_illegal_attempt_is_not_the_one_that_goes_on():
    state = play(PLAIN, [4])[-1]
    after = game().step(state, jnp.array([9, 4]))
    goes_on = dataclasses.replace(after, terminated=state.terminated)
    assert PLAIN.state_key(after).tolist() != PLAIN.state_key(goes_on).tolist()


def test_a_finished_game_stays_and_pays_nothing():
    end = play(PLAIN, cells(3, "a1", "b1", "a2", "b2", "a3"))[-1]
    after = game().step(end, jnp.array([8, 8]))
    assert after.rewards.tolist() == [0, 0] and game().outcome(after).tolist() == [1, -1]
    assert game().legal_actions(after).tolist() == [[False] * 9 + [True]] * 2
    same = jax.tree.map(
        lambda a, b: bool((a == b).all()), (end.stones, end.turns, end.last), (after.stones, after.turns, after.last)
    )
    assert all(jax.tree.leaves(same))


def test_the_other_player_can_only_pass():
    state = game().init()
    assert game().legal_actions(state).tolist() == [[True] * 9 + [False], [False] * 9 + [True]]
    arms, legal = game().search_arms(state)
    assert arms[1, 0] == 9 and legal[1].tolist() == [True] + [False] * 8 and legal[0].all()


@pytest.mark.parametrize(
    "name, size", [("abrupt", 7), *(pytest.param(name, size, marks=pytest.mark.slow)
    for name in ("hex", "abrupt", "classical") for size in (2, 4, 7) if (name, size) != ("abrupt", 7))]
)  # fmt: skip
def test_every_game_ends_with_one_winner_in_time(name, size):
    hexes = Hex(HexConfig(size, name))
    states, _, _ = random_games(hexes, jax.random.split(jax.random.key(size), 64), hexes.max_steps)
    last = jax.tree.map(lambda leaf: np.asarray(leaf)[:, -1], states)
    assert last.terminated.all()
    outcome, won = jax.device_get(jax.jit(jax.vmap(lambda state: (hexes.outcome(state), rules.winner(state))))(last))
    assert (outcome.sum(-1) == 0).all()
    # Labels by brute force: the winner's stones join its edges, the other's do not.
    boards = interop.board(hexes.config, last)
    assert [_winner(board.reshape(size, size)) for board in boards] == won.tolist()


def _winner(board):
    size, winners = len(board), []
    for sign in (1, -1):
        own = (board if sign == 1 else board.T) == sign
        seen, todo = set(), [(0, c) for c in range(size) if own[0, c]]
        while todo:
            r, c = todo.pop()
            if (r, c) in seen:
                continue
            seen.add((r, c))
            for dr, dc in ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0)):
                if 0 <= r + dr < size and 0 <= c + dc < size and own[r + dr, c + dc]:
                    todo.append((r + dr, c + dc))
        if any(r == size - 1 for r, _ in seen):
            winners.append(sign)
    assert len(winners) == 1
    return winners[0]


def test_a_long_snake_is_joined_at_once():
    # A path that fills 11 x 11 in both directions: the last stone, in its middle, joins it.
    size = 11
    config = HexConfig(size)
    own = np.zeros((size, size), int)
    for row in range(0, size, 2):
        own[row] = 1
    for number, row in enumerate(range(1, size, 2)):
        own[row, 0 if number % 2 else size - 1] = 1
    middle = 5 * size + (size - 1 if own[5, size - 1] else 0)
    own.reshape(-1)[middle] = 0
    state = interop.from_board(config, own, 0)
    assert not bool(state.terminated)
    after, winner = jax.jit(lambda state, cell: (after := rules.step(config, state, cell), rules.winner(after)))(state, middle)
    assert bool(after.terminated) and int(winner) == 1
