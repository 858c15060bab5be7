"""Whole-number division and roots that vector units do well, with the same bits on every device.

They go through float32, whose last bit may differ between devices, and put the result right with whole numbers.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array


def divide(number: Array, divisor: Array) -> Array:
    """Divides and cuts toward zero.

    Args:
      number: int32, of less than 2**24 in size.
      divisor: int32, above 0.
    """
    guess = (number.astype(jnp.float32) / divisor.astype(jnp.float32)).astype(jnp.int32)
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
    if jax.default_backend() != "cpu":
        return divide(number, divisor)
    return (number.astype(jnp.float32) / divisor.astype(jnp.float32)).astype(jnp.int32)


def short_root(number: Array) -> Array:
    """Gives the same as `root` of numbers below 2**24, likewise."""
    return root(number) if jax.default_backend() != "cpu" else jnp.sqrt(number.astype(jnp.float32)).astype(jnp.int32)


def square(number: Array) -> Array:
    """Multiplies a number with itself."""
    return number * number


def packed(high: Array, low: Array) -> Array:
    """Joins two int32 of less than 2**15 in size: what makes both of them is then one kernel, and not worked out for each."""
    return (high << 16) | (low & 0xFFFF)


def unpacked(both: Array) -> tuple[Array, Array]:
    """Takes what `packed` joined apart."""
    return both >> 16, (both << 16) >> 16
