"""The replay buffer against a deque, and how even its draws are."""

import collections
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from training.learn import replay_buffer

add, sample = jax.jit(replay_buffer.add), jax.jit(replay_buffer.sample, static_argnums=2)
WIDTH = 4


def held(buffer):
    """The rows that count, the oldest first."""
    count, place = int(buffer.size[0]), int(buffer.added[0])
    rows = np.asarray(buffer.rows)[:, 0].tolist()
    return rows[:count] if count < len(rows) else rows[place:] + rows[:place]


def filled(capacity, count):
    """A ring to which the numbers 0, 1, 2, ... were added."""
    buffer = replay_buffer.init(capacity, 1)
    for start in range(0, count, capacity):
        numbers = start + np.arange(capacity, dtype=np.uint32)
        buffer = add(buffer, numbers[:, None], numbers < count)
    return buffer


@functools.partial(jax.jit, static_argnums=2)
def _draws(buffer, keys, count):
    return jax.vmap(lambda key: replay_buffer.sample(buffer, key, count)[:, 0])(keys)


def draws(buffer, seed, times, count):
    """So many batches, int [times, count]."""
    return np.asarray(_draws(buffer, jax.random.split(jax.random.key(seed), times), count))


@given(st.sampled_from([4, 5, 7]), st.lists(st.lists(st.booleans(), min_size=WIDTH, max_size=WIDTH), max_size=12))
def test_like_a_deque(capacity, masks):
    buffer, expected = replay_buffer.init(capacity, 2), collections.deque(maxlen=capacity)
    for turn, mask in enumerate(masks):
        numbers = np.arange(WIDTH, dtype=np.uint32) + 100 * turn + 1
        buffer = add(buffer, np.stack([numbers, numbers + 1], axis=1), np.array(mask))
        expected.extend(number for number, use in zip(numbers.tolist(), mask, strict=True) if use)
        assert held(buffer) == list(expected)
    rows = np.asarray(buffer.rows)
    assert (rows[: int(buffer.size[0]), 1] == rows[: int(buffer.size[0]), 0] + 1).all(), "whole rows"


def test_the_counters_do_not_overflow():
    """However long a run is."""
    buffer = filled(3, 1000)
    assert buffer.size.tolist() == [3] and 0 <= int(buffer.added[0]) < 3
    assert held(buffer) == [997, 998, 999]


@pytest.mark.parametrize(("capacity", "size", "count"), [
    *(pytest.param(*sizes, marks=pytest.mark.slow) for sizes in ((1, 1, 1), (3, 3, 2), (8, 8, 8), (1000, 1000, 7))),
    (50, 8, 8), (100, 100, 32), (100, 33, 32), (100, 63, 32),
])  # fmt: skip
def test_no_row_is_drawn_twice_while_there_are_enough(capacity, size, count):
    buffer = filled(capacity, size)
    drawn = draws(buffer, 2, 4000, count)
    assert drawn.shape == (4000, count)
    assert all(len(set(batch)) == count for batch in drawn.tolist())
    assert len({tuple(sorted(batch)) for batch in drawn.tolist()}) > (3900 if size > 2 * count else 0), "other ones each time"


@pytest.mark.parametrize(("capacity", "size", "count"), [
    *(pytest.param(*sizes, marks=pytest.mark.slow) for sizes in ((7, 7, 5), (3, 2, 9), (40, 40, 1))),
    (10, 10, 4), (50, 31, 8), (50, 3, 8),
])  # fmt: skip
def test_every_row_is_drawn_as_often(capacity, size, count):
    """Also where the batch does not divide what is held, where the ring is not full, and where rows have to come again."""
    buffer = filled(capacity, size)
    drawn = draws(buffer, 2, 4000, count)
    assert drawn.max() < size
    counts = np.bincount(drawn.reshape(-1), minlength=size)
    # Draws of one batch exclude each other, so the counts vary less than independent ones and the test is on the safe side.
    assert stats.chisquare(counts).pvalue > 1e-3
    each = np.stack([np.bincount(batch, minlength=size) for batch in drawn])
    assert each.min() >= count // size and each.max() <= -(-count // size)


def test_neighbours_may_come_together():
    """A batch is no comb: any two rows may be in it."""
    buffer = filled(10, 10)
    drawn = draws(buffer, 3, 4000, 4)
    together = np.zeros((10, 10), int)
    for batch in drawn:
        together[np.ix_(batch, batch)] += 1
    assert (together > 0).all()


def test_large_rings():
    """Counts whose product does not fit into 32 bits."""
    size, count = 1_500_000, 4096
    rows = np.arange(size, dtype=np.uint32)[:, None]
    buffer = replay_buffer.Ring(rows, np.zeros(1, np.int32), np.full(1, size, np.int32))
    drawn = np.sort(np.asarray(sample(buffer, jax.random.key(0), count))[:, 0])
    assert len(set(drawn.tolist())) == count
    assert np.diff(drawn).max() <= 2 * (size // count + 1) and drawn[0] < 800 and drawn[-1] > size - 800


@pytest.mark.parametrize(("size", "count"), [
    (100_000, 65_536), *(pytest.param(*sizes, marks=pytest.mark.slow) for sizes in ((131_071, 65_535), (65_537, 65_536))),
])  # fmt: skip
def test_large_batches(size, count):
    """The number of a part times the rest of the division does not fit into 31 bits."""
    rows = np.arange(size, dtype=np.uint32)[:, None]
    buffer = replay_buffer.Ring(rows, np.zeros(1, np.int32), np.full(1, size, np.int32))
    drawn = np.sort(np.asarray(sample(buffer, jax.random.key(0), count))[:, 0])
    assert len(set(drawn.tolist())) == count and drawn[-1] < size
    thirds = np.bincount(drawn * 3 // size, minlength=3)
    assert np.abs(thirds - count / 3).max() < 3 * np.sqrt(count)


def test_an_empty_ring_gives_its_first_row():
    assert sample(replay_buffer.init(5, 2), jax.random.key(0), 3).tolist() == [[0, 0]] * 3


def test_same_key_same_rows():
    buffer = filled(20, 20)
    one, again, other = (sample(buffer, jax.random.key(seed), 6).tolist() for seed in (1, 1, 2))
    assert one == again != other


def test_impossible_sizes():
    with pytest.raises(ValueError, match=r"^capacity=0: must be >= 1$"):
        replay_buffer.init(0, 3)
    with pytest.raises(ValueError, match=r"^count=65537: must be <= 65536$"):
        replay_buffer.sample(replay_buffer.init(4, 1), jax.random.key(0), 65_537)
    with pytest.raises(ValueError, match=r"^5 rows at once: the buffer holds 4; take a larger one or fewer lanes$"):
        replay_buffer.add(replay_buffer.init(4, 1), jnp.zeros((5, 1), jnp.uint32), jnp.ones(5, bool))
