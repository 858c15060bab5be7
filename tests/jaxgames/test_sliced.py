"""Numbers per cell against numpy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import sliced
from jaxgames.bitboard import Grid

BATCH = 32
DIGITS = 4
SIZES = [pytest.param((11, 11), marks=pytest.mark.slow), (9, 5)]


def planes_of(grid, numbers, digits=DIGITS):
    return tuple(grid.from_numpy((numbers >> digit) & 1 != 0) for digit in range(digits))


def value_of(grid, planes):
    """int [..., rows, columns]"""
    return sum(np.asarray(grid.to_bool(plane)).astype(int) << digit for digit, plane in enumerate(planes))


@pytest.mark.parametrize("size", SIZES)
def test_numbers_per_cell(size):
    grid, rng = Grid(*size), np.random.default_rng(5)
    numbers = rng.integers(0, 16, (BATCH, *size))
    area = rng.random((BATCH, *size)) < 0.5
    values = rng.integers(0, 16, BATCH)

    def results(planes, cells, value):
        free = sliced.drop(planes, cells)
        return {
            "array": sliced.to_array(grid, planes),
            "equal": [grid.to_bool(sliced.equal(planes, v, cells)) for v in range(16)],
            "decrement": sliced.to_array(grid, sliced.decrement(planes)),
            "keep": sliced.to_array(grid, sliced.keep(planes, cells)),
            "drop": sliced.to_array(grid, free),
            "write": sliced.to_array(grid, sliced.write(free, cells, value)),
            "fill": sliced.to_array(grid, sliced.fill(free, cells, 9)),
            "highest": (highest := sliced.highest(planes, cells))[0],
            "have_it": grid.to_bool(highest[1]),
        }

    planes = planes_of(grid, numbers)
    got = jax.tree.map(np.asarray, jax.jit(jax.vmap(results))(planes, grid.from_numpy(area), jnp.asarray(values)))
    assert (got["array"] == numbers).all()
    for value in range(16):
        assert (got["equal"][value] == ((numbers == value) & area)).all()
    assert (got["decrement"] == np.maximum(numbers - 1, 0)).all()
    assert (got["keep"] == np.where(area, numbers, 0)).all()
    assert (got["drop"] == np.where(area, 0, numbers)).all()
    assert (got["write"] == np.where(area, values[:, None, None], numbers)).all()
    assert (got["fill"] == np.where(area, 9, numbers)).all()
    most = np.where(area, numbers, -1).max((1, 2))
    assert (got["highest"] == most).all()
    assert (got["have_it"] == (area & (numbers == most[:, None, None]))).all()
    assert (sliced.highest(planes, grid.empty)[0] == -1).all()


@pytest.mark.parametrize("digits", [(4, 4), (5, 2), (2, 5)])
def test_sums_and_differences(digits):
    grid, rng = Grid(9, 5), np.random.default_rng(6)
    first, second = (rng.integers(0, 1 << count, (BATCH, 9, 5)) for count in digits)
    a, b = (planes_of(grid, numbers, count) for numbers, count in zip((first, second), digits, strict=True))
    np.testing.assert_array_equal(value_of(grid, sliced.add(a, b)), first + second)
    if digits[0] >= digits[1]:
        difference, negative = sliced.subtract(a, b)
        below = np.asarray(grid.to_bool(negative))
        np.testing.assert_array_equal(below, first < second)
        np.testing.assert_array_equal(value_of(grid, difference), (first - second) % (1 << digits[0]))


def test_constants_on_sets_that_do_not_overlap():
    grid = Grid(9, 5)
    few, one = grid.constant([0, 7, 44]), grid.constant([3])
    found = value_of(grid, sliced.constants([(few, 5), (one, 12)])).reshape(-1)
    expected = np.zeros(45, int)
    expected[[0, 7, 44]], expected[3] = 5, 12
    np.testing.assert_array_equal(found, expected)
    assert sliced.constants([(few, 0)]) == ()


@pytest.mark.parametrize("size", SIZES)
def test_weighted_sums_of_sets(size):
    grid, rng = Grid(*size), np.random.default_rng(6)
    masks = rng.random((4, BATCH, *size)) < 0.5
    counts = [(1,), (9, -1, -20), (), (1, -1), (1, 2, 4)]  # of the first sets

    def sums(*sets):
        return sliced.weighted_sums(grid, [tuple(zip(sets, plane, strict=False)) for plane in counts])

    got = np.asarray(jax.jit(jax.vmap(sums))(*[grid.from_numpy(mask) for mask in masks]))
    assert got.dtype == np.float32 and got.shape == (BATCH, *size, len(counts))
    for index, plane in enumerate(counts):
        expected = sum(count * mask for count, mask in zip(plane, masks.astype(int), strict=False))
        assert (got[..., index] == expected).all()


@pytest.mark.parametrize("size", SIZES)
def test_small_numbers(size):
    grid, rng = Grid(*size), np.random.default_rng(7)
    digits = [4, 1, 0, 2]
    values = [rng.integers(0, 2**count, (BATCH, *size)) for count in digits]
    planes = [
        tuple(grid.from_numpy((value >> digit) & 1 != 0) for digit in range(count))
        for value, count in zip(values, digits, strict=True)
    ]
    got = np.asarray(jax.jit(jax.vmap(lambda *planes: sliced.small_numbers(grid, planes)))(*planes))
    assert got.dtype == np.int32
    np.testing.assert_array_equal(got, np.stack(values, -1))
