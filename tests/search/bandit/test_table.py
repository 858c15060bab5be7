"""The search table against a plain model: what it holds, what gives way, what a reset leaves."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from search.bandit import table
from search.bandit.settings import Settings

WORDS = 4
ROWS = 16  # four buckets


@jax.jit
def look(tables, keys):
    slot = table.find(tables, jnp.arange(keys.shape[0], dtype=jnp.int32), keys)
    return slot, table.read(tables, slot)


@jax.jit
def put(tables, keys, words, use):
    slot, _ = look(tables, keys)
    return table.tick(table.write(tables, slot, words, use), use)


@jax.jit
def stay(tables, keys, words, use):
    """As `put`, at the same time."""
    return table.write(tables, look(tables, keys)[0], words, use)


hold, release = (
    jax.jit(lambda tables, keys, use, change=change: change(tables, look(tables, keys)[0], use))
    for change in (table.hold, table.release)
)
reset = jax.jit(table.reset)
init = jax.jit(table.init, static_argnums=(0, 1, 2))


def keys_of(*numbers):
    """A key per lane."""
    return np.array([[number * 2654435761 % 2**32, number] for number in map(int, numbers)], np.uint32)


def words_of(*numbers):
    return np.array([[number, number + 1, number + 2, number + 3] for number in numbers], np.uint32)


def in_one_bucket(count, rows=ROWS):
    """Numbers of keys that share a bucket."""
    empty = init(400, rows, WORDS)
    slot, _ = look(empty, keys_of(*range(400)))
    bucket = np.asarray(slot.row) // table.WAYS % (rows // table.WAYS)
    return np.flatnonzero(bucket == bucket[0])[:count].tolist()


def test_an_empty_table_knows_nothing():
    slot, words = look(init(2, ROWS, WORDS), keys_of(5, 6))
    assert not slot.found.any() and not slot.evicts.any() and not words.any()
    # The key of zeros is a key like any other, and not what an empty row holds.
    slot, _ = look(init(1, ROWS, WORDS), np.zeros((1, 2), np.uint32))
    assert not slot.found.any()


def test_what_is_written_is_read_in_its_own_lane_only():
    tables = put(init(3, ROWS, WORDS), keys_of(7, 7, 8), words_of(10, 20, 30), np.array([True, False, True]))
    slot, words = look(tables, keys_of(7, 7, 7))
    np.testing.assert_array_equal(slot.found, [True, False, False])
    np.testing.assert_array_equal(words, [[10, 11, 12, 13], [0] * 4, [0] * 4])
    np.testing.assert_array_equal(tables.stored, [1, 0, 1])
    again = put(tables, keys_of(7, 7, 8), words_of(40, 50, 60), np.array([True, True, False]))
    _, words = look(again, keys_of(7, 7, 8))
    np.testing.assert_array_equal(words[:, 0], [40, 50, 30])
    np.testing.assert_array_equal(again.stored, [1, 1, 1])
    np.testing.assert_array_equal(again.evicted, [0, 0, 0])


def test_keys_that_share_a_half_are_different():
    one = np.array([[1, 2]], np.uint32)
    tables = put(init(1, ROWS, WORDS), one, words_of(10), np.array([True]))
    for other in ([1, 3], [3, 2], [2, 1]):
        slot, _ = look(tables, np.array([other], np.uint32))
        assert not slot.found.any()


def test_the_row_visited_longest_ago_gives_way():
    first, second, third, fourth, fifth, sixth = in_one_bucket(6)
    tables = init(1, ROWS, WORDS)
    use = np.array([True])
    for number in (first, second, third, fourth):
        slot, _ = look(tables, keys_of(number))
        assert not slot.evicts.any()
        tables = put(tables, keys_of(number), words_of(number), use)
    tables = put(tables, keys_of(first), words_of(1000), use)  # now the second is the oldest
    slot, _ = look(tables, keys_of(fifth))
    assert slot.evicts.all()
    tables = put(tables, keys_of(fifth), words_of(fifth), use)
    tables = put(tables, keys_of(sixth), words_of(sixth), use)
    found = {number: bool(look(tables, keys_of(number))[0].found[0]) for number in (first, second, third, fourth, fifth, sixth)}
    assert found == {first: True, second: False, third: False, fourth: True, fifth: True, sixth: True}
    assert int(look(tables, keys_of(first))[1][0, 0]) == 1000
    assert (int(tables.stored[0]), int(tables.evicted[0])) == (6, 2)


@pytest.mark.parametrize("place", range(table.WAYS))
def test_a_row_that_is_held_does_not_give_way(place):
    """Of a bucket in which all rows are as old, whichever way it lies in; once released it is as new as the last simulation."""
    many, use = in_one_bucket(9), np.array([True])
    tables, kept = init(1, ROWS, WORDS), many[place]
    for number in many[:4]:
        tables = stay(tables, keys_of(number), words_of(number), use)
    tables = hold(tables, keys_of(kept), ~use)
    tables = hold(hold(tables, keys_of(kept), use), keys_of(many[8]), use)
    for number in many[4:8]:
        tables = stay(tables, keys_of(number), words_of(number), use)
    slot, words = look(tables, keys_of(kept))
    assert slot.found.all() and words[0, 0] == kept and int(tables.evicted[0]) == 4
    tables = release(table.tick(tables, jnp.asarray(use)), keys_of(kept), use)
    assert int(tables.keys[slot.row[0], 2]) == int(tables.clock[0]) - 1


class Model:
    """A table as a list of (key, words, clock) per bucket."""

    def __init__(self):
        self.buckets = {}
        self.clock = self.stored = self.evicted = 0

    def put(self, bucket, key, words):
        rows = self.buckets.setdefault(bucket, {})
        if key not in rows:
            self.stored += 1
            if len(rows) == table.WAYS:
                self.evicted += 1
                del rows[min(rows, key=lambda k: rows[k][1])]
        rows[key] = (words, self.clock)
        self.clock += 1

    def get(self, bucket, key):
        return self.buckets.get(bucket, {}).get(key, (None, 0))[0]


def test_long_random_use_equals_a_model():
    source = np.random.default_rng(0)
    lanes = 3
    tables, models = init(lanes, ROWS, WORDS), [Model() for _ in range(lanes)]
    for step in range(250):
        numbers, use = source.integers(0, 30, lanes), source.random(lanes) < 0.7
        if step % 60 == 59:
            over = source.random(lanes) < 0.5
            tables = reset(tables, np.asarray(over))
            models = [Model() if gone else model for gone, model in zip(over, models, strict=True)]
        slot, words = jax.device_get(look(tables, keys_of(*numbers)))
        assert ((slot.row >= np.arange(lanes) * ROWS) & (slot.row < np.arange(1, lanes + 1) * ROWS)).all()
        for lane, model in enumerate(models):
            expected = model.get(slot.row[lane] // table.WAYS, numbers[lane])
            assert slot.found[lane] == (expected is not None)
            assert words[lane, 0] == (expected or 0)
            if use[lane]:
                model.put(slot.row[lane] // table.WAYS, numbers[lane], step + 1)
        tables = put(tables, keys_of(*numbers), words_of(*[step + 1] * lanes), np.asarray(use))
        assert tables.stored.tolist() == [model.stored for model in models]
        assert tables.evicted.tolist() == [model.evicted for model in models]


def test_nothing_survives_a_reset_of_the_lane():
    tables = init(2, ROWS, WORDS)
    for number in range(30):
        tables = put(tables, keys_of(number, number), words_of(number, number), np.array([True, True]))
    known = [look(tables, keys_of(number, number))[0].found.tolist() for number in range(30)]
    tables = reset(tables, np.array([True, False]))
    assert (int(tables.stored[0]), int(tables.evicted[0])) == (0, 0) and int(tables.stored[1]) == 30
    for number in range(30):
        slot, words = look(tables, keys_of(number, number))
        assert slot.found.tolist() == [False, known[number][1]]
        assert not slot.evicts[0] and not words[0].any()


@pytest.mark.parametrize("resets", [1, 2, 5])
def test_after_a_reset_everything_is_as_in_a_new_table(resets):
    """Also which states share a bucket and push each other out: a game must not depend on those played before it."""
    used = init(1, ROWS, WORDS)
    for _ in range(resets):
        for number in range(100, 130):
            used = put(used, keys_of(number), words_of(number), np.array([True]))
        used = reset(used, np.array([True]))
    new = init(1, ROWS, WORDS)
    for number in np.random.default_rng(1).integers(0, 40, 120):
        (slot, words), (slot_new, words_new) = look(used, keys_of(number)), look(new, keys_of(number))
        assert slot.found == slot_new.found and slot.evicts == slot_new.evicts
        np.testing.assert_array_equal(words, words_new)
        used, new = (put(t, keys_of(number), words_of(number), np.array([True])) for t in (used, new))
    assert (int(used.stored[0]), int(used.evicted[0])) == (int(new.stored[0]), int(new.evicted[0])) and int(new.evicted[0]) > 10


def test_tables_of_some_lanes():
    lanes = 5
    tables = init(lanes, ROWS, WORDS)
    everybody = np.ones(lanes, bool)
    tables = put(tables, keys_of(*range(lanes)), words_of(*range(lanes)), everybody)
    some = np.array([3, 1], np.int32)
    part = jax.jit(table.take)(tables, some)
    slot, words = look(part, keys_of(3, 1))
    assert slot.found.all()
    np.testing.assert_array_equal(words, words_of(3, 1))
    part = put(part, keys_of(77, 88), words_of(77, 88), np.array([True, False]))
    # Not compiled as a whole: scatters into several arrays of one shape side by side end the process on a CPU.
    back = table.put_back(tables, part, lambda whole, piece: whole.at[some].set(piece))
    expected = put(tables, keys_of(0, 0, 0, 77, 0), words_of(0, 0, 0, 77, 0), np.arange(lanes) == 3)
    jax.tree.map(np.testing.assert_array_equal, back, expected)


def test_sizes():
    tables = init(3, 64, 24)
    per_row = tables.keys.nbytes + tables.words.nbytes
    assert per_row == 3 * 64 * table.row_bytes(24)
    assert tables.num_rows == 64
    # Everything else is a few numbers per lane.
    others = [getattr(tables, field.name) for field in dataclasses.fields(tables) if field.name not in ("keys", "words")]
    assert sum(leaf.nbytes for leaf in others if hasattr(leaf, "nbytes")) <= 3 * 32


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 0, 4), "table_rows=0: must be a power of two, at least 4"),
        ((1, 2, 4), "table_rows=2: must be a power of two, at least 4"),
        ((1, 48, 4), "table_rows=48: must be a power of two, at least 4"),
        ((1, -8, 4), "table_rows=-8: must be a power of two, at least 4"),
        ((0, 16, 4), "batch_size=0: must be >= 1"),
        ((2**15, 2**16, 4), "batch_size=32768 x table_rows=65536: must be below"),
    ],
)
def test_impossible_sizes(arguments, message):
    with pytest.raises(ValueError, match=message.replace("*", r"\*")) as error:
        table.init(*arguments)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "settings, rows",
    [
        ({}, 2**16),
        ({"num_simulations": 16, "horizon": 6}, 4096),
        ({"num_simulations": 1, "horizon": 1}, 32),
        ({"table_rows": 64}, 64),
        ({"table_bytes": 4 * 28}, 4),
        ({"table_bytes": 2**20}, 2**15),
    ],
)
def test_how_large_a_table_is(settings, rows):
    """By rows, by bytes (28 a row of three words, which takes four), or by simulations times depth."""
    assert Settings(**settings).rows(3) == rows


def test_tables_that_cannot_be():
    with pytest.raises(ValueError, match=r"^table_bytes=100: must be >= 112, the smallest table of this game$"):
        Settings(table_bytes=100).rows(3)
    with pytest.raises(ValueError, match=r"^table_bytes=100: give table_rows=64 or this, not both$"):
        Settings(table_rows=64, table_bytes=100)
    for size, given in (("table_rows", 4096.0), ("table_rows", "64"), ("table_rows", True), ("table_bytes", 1e6)):
        with pytest.raises(ValueError, match=rf"^{size}={given!r}: must be a whole number$"):
            Settings(**{size: given})
    with pytest.raises(ValueError, match=r"^table_rows=1099511627776: must be < 2147483648$"):
        Settings(table_rows=2**40)
    with pytest.raises(ValueError, match=r"^table_bytes=0: must be >= 1$"):
        Settings(table_bytes=0)
