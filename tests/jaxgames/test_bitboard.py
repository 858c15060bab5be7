"""Sets of cells against numpy arrays, on boards of several sizes; everything mapped over a batch of random sets."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import bitboard
from jaxgames.bitboard import DIRECTIONS, DOWN, LEFT, OPPOSITE, RIGHT, UP, Grid
from jaxgames.bits import Bits, lowest_bit, nth, select, stacked, union

SIZES = [(11, 11), (2, 3), *(pytest.param(size, marks=pytest.mark.slow) for size in ((8, 8), (19, 19), (9, 5), (31, 2)))]
BATCH = 32
TRANSLATIONS = [(0, 0), (0, 3), (2, -1), (-3, 0), (-1, 2), (4, 4), (1, -1), (0, -40), (40, 0)]
DELTA = {UP: (-1, 0), DOWN: (1, 0), LEFT: (0, -1), RIGHT: (0, 1)}


def random_masks(size, seed, count=BATCH):
    """Bool [count, rows, columns], from empty to full."""
    rng = np.random.default_rng(seed)
    masks = rng.random((count, *size)) < np.linspace(0, 1, count)[:, None, None]
    masks[0], masks[-1] = False, True
    return masks


def moved(mask, direction):
    """One set moved by one cell; what leaves the board is dropped."""
    row, column = DELTA[direction]
    padded = np.pad(mask, 1)
    return np.roll(padded, (row, column), (0, 1))[1:-1, 1:-1]


def corners_and_middle(size):
    """Some cells, by number."""
    rows, columns = size
    return [0, columns - 1, rows // 2 * columns + columns // 2, (rows - 1) * columns, rows * columns - 1]


@functools.cache
def everything(size):
    """All that is computed from two sets `a` and `b`, compiled once per board."""
    grid = Grid(*size)

    def results(a, b):
        return {
            "and": grid.to_bool(a & b),
            "or": grid.to_bool(a | b),
            "xor": grid.to_bool(a ^ b),
            "minus": grid.to_bool(a - b),
            "any": a.any(),
            "overlaps": a.overlaps(b),
            "count": a.count(),
            "first": a.first(),
            "last": a.last(),
            "has": jax.vmap(a.has)(jnp.arange(grid.num_cells)),
            "pick": jax.vmap(a.pick)(jnp.arange(grid.num_cells)),
            "shift": [grid.to_bool(grid.shift(a, d)) for d in DIRECTIONS],
            "centred": [grid.to_bool(grid.centred(a, jnp.int32(cell))) for cell in corners_and_middle(size)],
            "translate": [grid.to_bool(grid.translate(a, *by)) for by in TRANSLATIONS],
            "open": [grid.to_bool(grid.open_towards(a, d)) for d in DIRECTIONS],
            "neighbours": grid.to_bool(grid.neighbours(a)),
            "flood": grid.to_bool(grid.flood(a & b, a)),
            "when": [grid.to_bool(a.when(jnp.bool_(flag))) for flag in (False, True)],
            "itself": grid.to_bool(a),
            "rows": jnp.stack(grid.rows_of(a)),
            "from rows": grid.to_bool(grid.from_rows(grid.rows_of(a))),
        }

    masks = random_masks(size, 1), random_masks(size, 2)[np.random.default_rng(3).permutation(BATCH)]
    sets = [grid.from_numpy(mask) for mask in masks]
    return grid, masks, sets, jax.tree.map(np.asarray, jax.jit(jax.vmap(results))(*sets))


@pytest.mark.parametrize("size", SIZES)
def test_operations_on_sets(size):
    _, (a, b), _, got = everything(size)
    assert (got["and"] == (a & b)).all()
    assert (got["or"] == (a | b)).all()
    assert (got["xor"] == (a ^ b)).all()
    assert (got["minus"] == (a & ~b)).all()
    assert (got["any"] == a.any((1, 2))).all()
    assert (got["overlaps"] == (a & b).any((1, 2))).all()
    assert not got["when"][0].any()
    assert (got["when"][1] == a).all()
    assert (got["itself"] == a).all()
    assert (got["rows"] == (a * (1 << np.arange(size[1]))).sum(-1)).all()
    assert (got["from rows"] == a).all()


@pytest.mark.parametrize("size", SIZES)
def test_counting_and_picking(size):
    grid, (a, _), _, got = everything(size)
    for index, mask in enumerate(a):
        cells = np.flatnonzero(mask)
        assert got["count"][index] == len(cells)
        assert got["first"][index] == (cells[0] if len(cells) else 32 * grid.num_words)
        assert got["last"][index] == (cells[-1] if len(cells) else -1)
        assert (got["has"][index] == mask.ravel()).all()
        assert (got["pick"][index][: len(cells)] == cells).all()


@pytest.mark.parametrize("size", SIZES)
def test_moving_by_several(size):
    _, (a, _), _, got = everything(size)
    rows, columns = size
    for (down, right), found in zip(TRANSLATIONS, got["translate"], strict=True):
        expected = np.zeros_like(a)
        for row, column in np.ndindex(size):
            if 0 <= row + down < rows and 0 <= column + right < columns:
                expected[:, row + down, column + right] = a[:, row, column]
        assert (np.broadcast_to(found, a.shape) == expected).all()


@pytest.mark.parametrize("size", SIZES)
def test_moving_a_cell_to_the_middle(size):
    _, (a, _), _, got = everything(size)
    rows, columns = size
    for cell, found in zip(corners_and_middle(size), got["centred"], strict=True):
        expected = np.zeros_like(a)
        down, right = rows // 2 - cell // columns, columns // 2 - cell % columns
        for row, column in np.ndindex(size):
            if 0 <= row + down < rows and 0 <= column + right < columns:
                expected[:, row + down, column + right] = a[:, row, column]
        assert (found == expected).all(), cell


@pytest.mark.parametrize("size", SIZES)
def test_moving(size):
    _, (a, _), _, got = everything(size)
    inside = np.ones(size, bool)
    for direction in DIRECTIONS:
        expected = np.stack([moved(mask, direction) for mask in a])
        assert (got["shift"][direction] == expected).all()
        may_go = moved(inside, OPPOSITE[direction])
        assert (got["open"][direction] == (a & may_go)).all()
    around = functools.reduce(np.logical_or, [np.stack([moved(mask, d) for mask in a]) for d in DIRECTIONS])
    assert (got["neighbours"] == around).all()


def flooded(cells, inside):
    """One set with all that is joined to it."""
    while True:
        grown = cells | (functools.reduce(np.logical_or, [moved(cells, d) for d in DIRECTIONS]) & inside)
        if (grown == cells).all():
            return cells
        cells = grown


@pytest.mark.parametrize("size", SIZES)
def test_flooding(size):
    _, (a, b), _, got = everything(size)
    np.testing.assert_array_equal(got["flood"], [flooded(cells, inside) for cells, inside in zip(a & b, a, strict=True)])


@pytest.mark.parametrize("size", [pytest.param(SIZES[0], marks=pytest.mark.slow), *SIZES[1:]])
def test_accelerators_flood_the_same(size, monkeypatch):
    grid, a, b = Grid(*size), *(random_masks(size, seed) for seed in (1, 2))
    floods = jax.jit(jax.vmap(lambda cells, inside: grid.to_bool(grid.flood(cells, inside))))
    monkeypatch.setattr(bitboard, "by_platform", lambda *arguments, cpu, default: default(*arguments))
    inside = a | (np.random.default_rng(5).random(a.shape) < 0.5)
    found = floods(grid.from_numpy(inside & b), grid.from_numpy(inside))
    np.testing.assert_array_equal(found, [flooded(*each) for each in zip(inside & b, inside, strict=True)])


@pytest.mark.parametrize("size", SIZES)
def test_cells_and_constants(size):
    grid = Grid(*size)
    cells, numbers = np.arange(grid.num_cells), np.arange(-3, 32 * grid.num_words + 3)
    rows, columns = (0, size[0] - 1), (0, size[1] - 1)
    mask = np.random.default_rng(0).random(size) < 0.5

    @jax.jit
    def constants(cells, numbers):
        sets = {
            "full": grid.full,
            "empty": grid.empty,
            "rows": [grid.row(index) for index in rows],
            "columns": [grid.column(index) for index in columns],
            "of a mask": grid.constant(mask),
            "of cells": grid.constant(np.flatnonzero(mask)),
            "one hot": jax.vmap(grid.one_hot)(numbers),
        }
        shown = jax.tree.map(grid.to_bool, sets, is_leaf=lambda leaf: isinstance(leaf, Bits))
        return shown, grid.row_of(cells), grid.column_of(cells), grid.full.count()

    got, row_of, column_of, count = jax.device_get(constants(cells, numbers))
    assert (row_of == cells // size[1]).all()
    assert (column_of == cells % size[1]).all()
    assert (got["one hot"].reshape(len(numbers), -1) == (numbers[:, None] == cells)).all()
    assert got["full"].all()
    assert not got["empty"].any()
    assert int(count) == grid.num_cells, "unused bits of the last word are zero"
    for index, found in zip(rows, got["rows"], strict=True):
        assert np.flatnonzero(found).tolist() == list(range(index * size[1], (index + 1) * size[1]))
    for index, found in zip(columns, got["columns"], strict=True):
        assert np.flatnonzero(found).tolist() == list(range(index, grid.num_cells, size[1]))
    assert (got["of a mask"] == mask).all()
    assert (got["of cells"] == mask).all()


def test_rows_and_columns_of_every_possible_grid():
    for rows in range(2, 32):
        for columns in (2, 3, 7, 26, 28, 29, 30, 31):
            cells = np.arange(rows * columns, dtype=np.int32)
            assert (Grid(rows, columns).row_of(cells) == cells // columns).all()


@pytest.mark.parametrize("size", [(1, 5), (5, 1), (32, 5), (5, 32), (0, 0)])
def test_grids_that_cannot_be(size):
    with pytest.raises(ValueError, match=rf"rows={size[0]}, columns={size[1]}: must be in 2\.\.31"):
        Grid(*size)


def test_batches_of_sets():
    grid = Grid(9, 5)
    masks = random_masks((9, 5), 4, 24).reshape(4, 6, 9, 5)
    sets = grid.from_numpy(masks)
    assert all(word.shape == (4, 6) for word in sets.words)

    @jax.jit
    def results(sets):
        joined = union(Bits(tuple(word[i] for word in sets.words)) for i in range(4))
        chosen = jax.vmap(select)(jnp.arange(4) % 2 == 0, sets, jax.tree.map(jnp.zeros_like, sets))
        return [grid.to_bool(some) for some in (sets, joined, chosen)]

    same, joined, chosen = jax.device_get(results(sets))
    assert (same == masks).all()
    assert (joined == masks.any(0)).all()
    assert (chosen == masks * np.array([1, 0, 1, 0])[:, None, None, None]).all()


def test_the_lowest_bit_of_words_in_any_order():
    words = [(7, 0), (3, 0b1000), (5, 1), (1, 0)]
    numbered = [(number, jnp.uint32(word)) for number, word in words]
    assert int(lowest_bit(numbered, 1000)) == 3 * 32 + 3
    assert int(lowest_bit(numbered[:1], 1000)) == 1000
    assert int(lowest_bit([], 1000)) == 1000


def test_sets_side_by_side():
    grid = Grid(6, 7)
    sets = [grid.constant(range(count)) for count in (0, 5, 42)]
    side_by_side = stacked(sets)
    assert side_by_side.count().tolist() == [0, 5, 42]
    for index, cells in enumerate(sets):
        assert [int(word) for word in nth(side_by_side, index).words] == [int(word) for word in cells.words]
