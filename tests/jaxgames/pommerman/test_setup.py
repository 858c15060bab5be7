"""Start states have the distribution of the official generator."""

import functools

import jax
import numpy as np
import pytest
from scipy import stats

from jaxgames.pommerman import interop, setup
from jaxgames.pommerman.config import preset
from tests.jaxgames.pommerman.positions import PROTECTED

FFA = preset("ffa")
BOARDS = 4096
TINY = 1e-4  # a right generator fails one test in ten thousand

CORNERS = ((1, 1), (9, 1), (9, 9), (1, 9))
FIXED_WOOD = [cell for i in (4, 5, 6) for cell in ((1, i), (9, i), (i, 1), (i, 9))]

# Of 600 boards of the official generator: attempts, and boards with 0..4 passages that cannot be reached.
OFFICIAL_BOARDS, OFFICIAL_ATTEMPTS, OFFICIAL_CUT_OFF = 600, 731, (56, 151, 172, 137, 84)


def keys(count=BOARDS):
    return jax.random.split(jax.random.key(0), count)


@functools.partial(jax.jit, static_argnums=0)
def draw(config, keys):
    return jax.vmap(functools.partial(setup.init, config))(keys)


@pytest.fixture(scope="module")
def starts():
    return interop.to_arrays(FFA, draw(FFA, keys()))


@pytest.fixture(scope="module")
def attempts():
    """Walls as drawn, before boards that cut off too much are thrown away: rigid, wood, number of passages cut off."""
    keys = jax.random.split(jax.random.key(1), BOARDS)
    rigid, wood, cut_off = jax.jit(jax.vmap(lambda key: setup.try_walls(FFA, key)))(keys)
    return interop.unpack(FFA.grid, rigid), interop.unpack(FFA.grid, wood), np.asarray(cut_off)


def cut_off_by_walking(board):
    """Counts passages that cannot be reached from (9, 9) when nothing but rigid walls is in the way."""
    seen, todo = {(9, 9)}, [(9, 9)]
    while todo:
        row, column = todo.pop()
        for cell in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
            if min(cell) >= 0 and max(cell) <= 10 and cell not in seen and board[cell] != 1:
                seen.add(cell)
                todo.append(cell)
    return sum(1 for cell in np.ndindex(11, 11) if board[cell] == 0 and cell not in seen)


def test_counts_and_symmetry(starts):
    board, items = starts["s_board"], starts["s_items"]
    assert ((board == 1).sum((1, 2)) == 36).all()
    assert ((board == 2).sum((1, 2)) == 36).all()
    assert ((items > 0).sum((1, 2)) == 20).all()
    assert not items[board != 2].any()
    walls = np.where(board <= 2, board, 0)
    assert (walls == walls.swapaxes(1, 2)).all()
    assert not walls[:, range(11), range(11)].any()
    interop.check_arrays(FFA, starts)


def test_corners_arms_and_fixed_wood(starts):
    board = starts["s_board"]
    for seat, cell in enumerate(CORNERS):
        assert (board[:, *cell] == 10 + seat).all()
        assert (starts["s_agents"][:, seat] == [*cell, 1, 1, 2, 0]).all()
    for cell in PROTECTED:
        assert (board[:, *cell] == 0).all()
    for cell in FIXED_WOOD:
        assert (board[:, *cell] == 2).all()
    assert not starts["s_nbombs"].any()
    assert not starts["s_flames"].any()
    assert not starts["s_step"].any()


def test_boards_cut_off_four_passages_at_most(starts):
    """And some do."""
    assert max(cut_off_by_walking(board) for board in starts["s_board"][:500]) == 4


def test_what_is_cut_off_is_counted_rightly(attempts):
    rigid, wood, cut_off = attempts
    corners = np.zeros((11, 11), bool)
    corners[tuple(np.transpose(CORNERS))] = True
    for index in range(300):
        board = np.where(rigid[index], 1, np.where(wood[index], 2, np.where(corners, 10, 0)))
        assert cut_off_by_walking(board) == cut_off[index]


def test_as_many_boards_are_thrown_away_as_by_the_official_generator(attempts):
    accepted = int((attempts[2] <= 4).sum())
    table = [[accepted, BOARDS - accepted], [OFFICIAL_BOARDS, OFFICIAL_ATTEMPTS - OFFICIAL_BOARDS]]
    assert stats.chi2_contingency(table).pvalue > TINY


def test_passages_are_cut_off_as_often_as_by_the_official_generator(attempts):
    ours = np.bincount(attempts[2][attempts[2] <= 4], minlength=5)
    assert stats.chi2_contingency([ours, OFFICIAL_CUT_OFF]).pvalue > TINY


def test_every_candidate_becomes_a_wall_equally_often(attempts):
    """Pairs of cells are drawn without replacement, which spreads them more evenly than chance: compare with that variance."""
    rigid, wood, _ = attempts
    upper = np.zeros((11, 11), bool)
    upper.ravel()[list(setup._plan(FFA)[0])] = True
    for walls, drawn in ((rigid[:, upper], 18), (wood[:, upper], 12)):
        assert walls.shape[1] == 40
        assert (walls.sum(1) == drawn).all()
        share = drawn / 40
        statistic = ((walls.sum(0) - BOARDS * share) ** 2).sum() / (BOARDS * share * (1 - share)) * 39 / 40
        assert stats.chi2.sf(statistic, 39) > TINY
    assert not (rigid & wood).any()


def test_every_wood_hides_an_item_equally_often(starts):
    """Among the fixed wood, which is there on every board."""
    hits = np.array([(starts["s_items"][:, *cell] > 0).sum() for cell in FIXED_WOOD])
    share = 20 / 36
    # Twelve of 36 cells, 20 drawn without replacement: any two cells are correlated by -1/35.
    variance = BOARDS * share * (1 - share)
    assert stats.chi2.sf(((hits - hits.mean()) ** 2).sum() / (variance * 36 / 35), 11) > TINY
    spread = np.sqrt(variance * 12 * (1 - 11 / 35))
    assert abs(hits.sum() - BOARDS * 12 * share) < 4 * spread


def test_all_kinds_of_items_are_equally_frequent_in_every_cell(starts):
    kinds = np.stack([(starts["s_items"] == kind).sum(0) for kind in (6, 7, 8)], axis=-1)
    assert stats.chisquare(kinds.sum((0, 1))).pvalue > TINY
    often = kinds[kinds.sum(-1) > 100]
    statistic = ((often - often.mean(-1, keepdims=True)) ** 2 / often.mean(-1, keepdims=True)).sum()
    assert stats.chi2.sf(statistic, 2 * len(often)) > TINY


def test_boards_differ_and_depend_on_the_key_alone(starts):
    boards = starts["s_board"].reshape(BOARDS, -1)
    assert len(np.unique(boards, axis=0)) == BOARDS
    again = interop.to_arrays(FFA, draw(FFA, keys()[::-1]))
    assert all(np.array_equal(again[name], starts[name][::-1]) for name in starts)


def test_the_small_board():
    config = preset("one_vs_one")
    starts = interop.to_arrays(config, draw(config, keys(256)))
    board, items = starts["s_board"], starts["s_items"]
    assert board.shape == (256, 8, 8)
    assert ((board == 1).sum((1, 2)) == 16).all()
    assert ((board == 2).sum((1, 2)) == 16).all()
    assert ((items > 0).sum((1, 2)) == 10).all()
    assert (board[:, 1, 1] == 10).all()
    assert (board[:, 6, 6] == 11).all()
    for cell in ((1, 2), (1, 3), (2, 1), (3, 1), (6, 5), (6, 4), (5, 6), (4, 6)):
        assert (board[:, *cell] == 0).all()
    interop.check_arrays(config, starts)
