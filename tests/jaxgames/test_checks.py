import re
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import checks


@pytest.mark.parametrize(
    ("check", "value", "message"),
    [
        (checks.at_least, 0, "lanes=0: must be >= 1"),
        (checks.at_least, 2.0, "lanes=2.0: must be a whole number"),
        (checks.at_least, True, "lanes=True: must be a whole number"),
        (checks.at_least, np.True_, f"lanes={np.True_!r}: must be a whole number"),
        (checks.at_least, "2", "lanes='2': must be a whole number"),
        (checks.at_least, jnp.int32(2), "lanes=Array(2, dtype=int32): must be a whole number"),
        (checks.below, 1, "lanes=1: must be < 1"),
        (checks.below, 0.5, "lanes=0.5: must be a whole number"),
    ],
)
def test_whole_numbers_in_a_range(check, value, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        check(1, SimpleNamespace(lanes=value), "lanes")


@pytest.mark.parametrize("value", [1, np.int64(1), np.uint8(200)])
def test_whole_numbers_of_any_type(value):
    checks.at_least(1, SimpleNamespace(lanes=value), "lanes")
    checks.below(201, SimpleNamespace(lanes=value), "lanes")


def test_whole_numbers_and_what_is_none():
    numbers = [7, np.int8(7), np.uint64(7), np.array(7), jnp.int32(7)]
    assert [(checks.as_integer(value), type(checks.as_integer(value))) for value in numbers] == [(7, int)] * 5
    for other in (True, False, np.True_, np.array(True), jnp.bool_(True), 7.0, "7", None, [7], np.array([7, 7])):
        assert checks.as_integer(other) is None


@pytest.mark.parametrize("value", ["2", None, True, jnp.float32(0.5)])
def test_what_is_no_number(value):
    for check in (checks.numbers, checks.shares):
        with pytest.raises(ValueError, match=f"^c={re.escape(repr(value))}: must be a number$"):
            check(SimpleNamespace(c=value), "c")
    for number in (0, 0.5, np.float32(0.5), np.int64(1)):
        checks.shares(SimpleNamespace(c=number), "c")


def test_numbers_of_either_sign_that_32_bits_can_hold():
    for value in (-2, 0, 0.5, np.float32(-1e38)):
        checks.finite("c", value)
    for value in (1e39, -np.inf, np.nan):
        with pytest.raises(ValueError, match=rf"^c={re.escape(str(value))}: must be a finite number of 32 bits, at most"):
            checks.finite("c", value)
    for value in ("0", True, None):
        with pytest.raises(ValueError, match=f"^c={value!r}: must be a number$"):
            checks.finite("c", value)


def test_actions_come_back_as_an_array_of_jax():
    given = checks.actions(jnp.array([7, -1], jnp.int8), 2, 3)
    assert given.tolist() == [7, -1] and given.dtype == jnp.int32, "what may be traced is not looked at"
    for known in ([0, 2], np.array([0, 2])):
        assert checks.actions(known, 2, 3).tolist() == [0, 2]
    assert checks.actions([0, 9], 2).tolist() == [0, 9], "where the game does not say how many there are"
    with pytest.raises(ValueError, match=r"action 9 of player 1: must be in 0\.\.2"):
        checks.actions([0, 9], 2, 3)


def test_seats():
    for seat in (0, np.int64(1), jnp.int32(7)):
        checks.seat(seat, 2)
    for seat, told in ((2, r"player=2: must be in 0\.\.1"), (True, "type bool"), (jnp.zeros(2, int), r"shape \(2,\)")):
        with pytest.raises(ValueError, match=told):
            checks.seat(seat, 2)


def test_a_film_has_one_axis_of_time():
    assert checks.film({"one": np.zeros((3, 2)), "other": np.zeros(3)}) == 2
    with pytest.raises(ValueError, match="states: no common axis of time"):
        checks.film({"one": np.zeros((3, 2)), "other": np.zeros(4)})
    with pytest.raises(ValueError, match="states: 1 of them: must be at least 2"):
        checks.film(np.zeros((1, 2)))


@pytest.mark.parametrize(("given", "told"), [
    ("SIMPLE", "perhaps simple?"), ("simpel", "perhaps simple?"), ("KNIGHT", "perhaps Knight or knight?"),
    ("spmcts", "perhaps sp_mcts or tp_mcts?"), ("chess", ""), ("", ""),
])  # fmt: skip
def test_what_is_perhaps_meant(given, told):
    assert checks.perhaps(given, ("simple", "Knight", "knight", "sp_mcts", "tp_mcts")) == told
