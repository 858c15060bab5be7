"""Rule-based players of Hex and DarkHex: hand-made positions, all positions near an end, and a slow count of the ways."""

import functools

import jax
import numpy as np
import pytest
from scipy import stats

from jaxgames.hex import Hex, HexConfig, interop
from jaxgames.hex.bots import path_agent, random_agent
from tests.jaxgames.hex.playing import at, joined, random_games

SIGNS = {"x": 1, "o": -1, ".": 0, "X": 1, "O": -1}
AROUND = ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0))
SIZE = 5
AGENTS = {"path": path_agent, "random": random_agent}
HEX, DARK = (Hex(HexConfig(SIZE, rules)) for rules in ("hex", "abrupt"))


@functools.partial(jax.jit, static_argnums=(0, 1))
def moves(name, game, infos, keys=None):
    """What an agent plays; what it is not told does not matter."""
    return AGENTS[name](game).act(None, keys, (), infos, None, None)[0]


def known(rules, text, player):
    """What a player knows of a board; capital letters are stones that the other has not met in DarkHex."""
    letters = np.array(list("".join(text.split())))
    game = Hex(HexConfig(len(text.split()), rules))
    met = [np.isin(letters, [letter]) for letter in "ox"]
    board = np.array([SIGNS[letter] for letter in letters])
    state = interop.from_board(game.config, board, player, tuple(met) if game.config.is_dark else None)
    return game, jax.tree.map(lambda leaf: leaf[None], jax.device_get(informed(game, state, np.int32(player))))


@functools.partial(jax.jit, static_argnums=0)
def informed(game, state, player):
    return game.update_information(game.init_information(player), game.observe(state, player), game.pass_action)


# --- the path agent ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "player", "cell"),
    [
        ("x.. ..o x..", 0, "a2"),  # x joins
        ("x.. o.o x..", 1, "b2"),  # o joins
        ("x.. ..o x..", 1, "a2"),  # o stops x
        ("x.. o.o x..", 0, "b2"),  # x stops o
        ("..x.. ..x.. o...o ..x.. ..x..", 0, "c3"),
        ("..x.. ..x.. o...o ..x.. ..x..", 1, "c3"),
        (".x... oo.oo ..... ...x. .....", 1, "c2"),
        (".x... oo.oo ..... ...x. .....", 0, "c2"),
    ],
)
@pytest.mark.parametrize("rules", ["hex", pytest.param("abrupt", marks=pytest.mark.slow)])
def test_the_path_agent_joins_what_lacks_one_stone_or_stops_the_other(rules, text, player, cell):
    game, info = known(rules, text, player)
    assert interop.cell_name(game.config, int(moves("path", game, info)[0])) == cell


def test_the_path_agent_counts_only_the_stones_that_it_knows():
    """A wall that it has not met is not there for it."""
    game, info = known("abrupt", "..x.. ..x.. ..x.. ooo.o .....", 0)
    assert interop.cell_name(game.config, int(moves("path", game, info)[0])) == "d4"  # the gap
    game, info = known("abrupt", "..x.. ..x.. ..x.. OOO.O .....", 0)
    assert interop.cell_name(game.config, int(moves("path", game, info)[0])) in ("b4", "c4")


def winning(board, sign):
    """Free cells with which a player joins its edges at once."""
    after = board + sign * np.eye(SIZE * SIZE, dtype=int)
    return [cell for cell in np.flatnonzero(board == 0) if joined(after[cell].reshape(SIZE, SIZE), sign)]


@functools.cache
def played(game):
    """States of random games, players to move, and what these know."""
    states, infos, _ = random_games(game, jax.random.split(jax.random.key(0), 40), 18)
    games, steps = np.nonzero(~np.asarray(states.terminated))
    movers = np.asarray(states.player)[games, steps].astype(int)
    return at(states, games, steps), movers, at(infos, games, steps, movers)


@pytest.fixture(scope="module")
def positions():
    """Boards, signs of the players to move, and what the path agent plays, in random games of Hex."""
    states, movers, infos = played(HEX)
    cells = np.asarray(moves("path", HEX, infos, jax.random.split(jax.random.key(3), len(movers))))
    return interop.board(HEX.config, states).astype(int), np.where(movers == 0, 1, -1), cells


def test_the_path_agent_never_misses_an_end(positions):
    joins = stops = 0
    for board, sign, cell in zip(*positions, strict=True):
        own, others = winning(board, sign), winning(board, -sign)
        assert board[cell] == 0 and (not own or cell in own) and (own or len(others) != 1 or cell == others[0])
        joins, stops = joins + bool(own), stops + (not own and len(others) == 1)
    assert joins > 20 and stops > 20


def test_the_path_agent_takes_the_cell_with_the_fewest_stones_for_both(positions):
    """The most central one of several."""
    boards, _, cells = positions
    from_centre = np.abs(np.indices((SIZE, SIZE)) - SIZE // 2).sum(0)
    for index in range(0, len(boards), 20):
        board = boards[index].reshape(SIZE, SIZE)
        sums = np.where(board == 0, ways(board) + ways(-board.T).T, 1000)
        assert cells[index] == np.lexsort((from_centre.reshape(-1), sums.reshape(-1)))[0], board


def ways(board):
    """For the player whose stones are 1 and who joins top and bottom: free cells on a shortest way through each free cell."""
    cost = np.where(board == 1, 0, np.where(board == 0, 1, 1000))

    def stones_to(row):
        least = np.full((SIZE, SIZE), 1000)
        least[row] = cost[row]
        for _ in range(SIZE * SIZE):
            for r, c in np.ndindex(SIZE, SIZE):
                near = [(r + down, c + right) for down, right in AROUND if 0 <= r + down < SIZE and 0 <= c + right < SIZE]
                least[r, c] = min(least[r, c], min(least[place] for place in near) + cost[r, c])
        return least

    return stones_to(0) + stones_to(SIZE - 1) - 1


# --- both --------------------------------------------------------------------------------------------------------------


BOTH = {"hex-path": (HEX, "path"), "abrupt-random": (DARK, "random"), "abrupt-path": (DARK, "path")}
OF_HEX = pytest.param(HEX, "random", id="hex-random", marks=pytest.mark.slow)


@pytest.mark.parametrize(("game", "name"), [*(pytest.param(*both, id=name) for name, both in BOTH.items()), OF_HEX])
def test_nothing_is_tried_that_is_known_to_be_taken(name, game):
    _, movers, infos = played(game)
    cells = np.asarray(moves(name, game, infos, jax.random.split(jax.random.key(3), len(movers))))
    taken = game.config.grid.to_numpy(infos.view.own | infos.view.known) != 0
    assert ((cells >= 0) & (cells < SIZE * SIZE)).all() and not taken[np.arange(len(cells)), cells].any()


def test_the_random_agent_draws_evenly():
    game, info = known("abrupt", "x.o.. .x.O. .o..x ..... O....", 0)
    infos = jax.tree.map(lambda leaf: leaf.repeat(4000, 0), info)
    counts = np.bincount(moves("random", game, infos, jax.random.split(jax.random.key(4), 4000)), minlength=25)
    free = np.array([letter in ".O" for letter in "x.o...x.O..o..x.....O...."])
    assert not counts[~free].any() and stats.chisquare(counts[free]).pvalue > 1e-4
