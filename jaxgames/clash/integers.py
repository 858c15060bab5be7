"""Whole-number division and roots that vector units do well, with the same bits on every device.

They go through float32, whose last bit may differ between devices, and put the result right with whole numbers.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxgames.platforms import by_platform


def divide(number: Array, divisor: Array) -> Array:
    """Divides and cuts toward zero.

    Args:
      number: int32; its size and the divisor together less than 2**31.
      divisor: int32, above 0; the quotient less than 2**22 in size, as the guess may else be wrong by more than one.
    """
    guess = _rounded_quotient(number, divisor)
    size, rest = jnp.abs(guess), jnp.abs(number) - jnp.abs(guess) * divisor
    size = size + (rest >= divisor) - (rest < 0)
    return jnp.where(number < 0, -size, size)


def root(number: Array) -> Array:
    """Gives the whole part of the square root of int32, 0 or more."""
    guess = jnp.sqrt(number.astype(jnp.float32)).astype(jnp.int32)
    guess = guess - (guess * guess > number)
    return guess + ((guess + 1) * (guess + 1) <= number)


def short_divide(number: Array, divisor: Array) -> Array:
    """Divides as `divide` does, both of less than 2**24 in size, with half of the work on a CPU.

    A quotient of such numbers that is rounded as IEEE 754 asks does not reach the next whole number. CPUs round so.
    """
    return by_platform(number, divisor, cpu=_rounded_quotient, default=divide)


def _rounded_quotient(number: Array, divisor: Array) -> Array:
    return (number.astype(jnp.float32) / divisor.astype(jnp.float32)).astype(jnp.int32)


def short_root(number: Array) -> Array:
    """Gives the same as `root` of numbers below 2**24, likewise."""
    return by_platform(number, cpu=lambda number: jnp.sqrt(number.astype(jnp.float32)).astype(jnp.int32), default=root)


def square(number: Array) -> Array:
    """Multiplies a number with itself."""
    return number * number


def packed(high: Array, low: Array) -> Array:
    """Joins two int32 of less than 2**15 in size: what makes both of them is then one kernel, and not worked out for each."""
    return (high << 16) | (low & 0xFFFF)


def unpacked(both: Array) -> tuple[Array, Array]:
    """Takes what `packed` joined apart."""
    return both >> 16, (both << 16) >> 16
