"""Ways of one computation, for a CPU and for accelerators; only those are traced that can run."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax import Array

Result = TypeVar("Result")
Value = TypeVar("Value")

_FOR_ALL = contextvars.ContextVar("for_all", default=False)


def by_platform(*arguments: object, cpu: Callable[..., Result], default: Callable[..., Result]) -> Result:
    """Gives what one of two functions makes of the arguments: `cpu` on a CPU, `default` elsewhere.

    Like `jax.lax.platform_dependent`, which traces both ways everywhere and so takes twice as long. Where JAX has nothing but
    CPUs, the other way is left out; a program that is traced there to be compiled for an accelerator would get the way of a CPU,
    which does the same and is slower. `for_all_platforms` says that both are wanted.
    """
    if only_cpus():
        return cpu(*arguments)
    found: Result = jax.lax.platform_dependent(*arguments, cpu=cpu, default=default)
    return found


def repeated(count: int, function: Callable[[Value], Value], value: Value) -> Value:
    """Gives `function(function(...(value)))`, `count` times: in a loop on a CPU, in straight-line code elsewhere.

    A round of a loop is kernels of its own on an accelerator; elementwise operations in a row are one kernel. A CPU compiles the
    loop sooner.
    """

    def in_a_loop(value: Value) -> Value:
        found: Value = jax.lax.fori_loop(0, count, lambda _, value: function(value), value)
        return found

    def in_a_row(value: Value) -> Value:
        for _ in range(count):
            value = function(value)
        return value

    return by_platform(value, cpu=in_a_loop, default=in_a_row)


def while_any(
    most: int,
    unfinished: Callable[[Value], Array],
    function: Callable[[Array, Value], Value],
    value: Value,
    *,
    short: bool = False,
) -> Value:
    """Gives what `function(number, value)` makes of a value in `most` rounds, or in fewer where nothing is left to do.

    An accelerator asks the host in each round of a loop whose length it does not know, which takes as long as several kernels. So
    it goes through all rounds.

    Args:
      most: rounds, numbered from 0.
      unfinished: bool [], whether there is anything left to do.
      function: one round. Once `unfinished` is False, further rounds must change nothing that is read later.
      value: to begin with.
      short: loops usually end after few rounds, so accelerators ask, too.

    Returns:
      The value after the last round.
    """
    if not short and not only_cpus():
        found: Value = jax.lax.fori_loop(0, most, function, value)
        return found

    def one_round(carry: tuple[Array, Value]) -> tuple[Array, Value]:
        number, value = carry
        return number + 1, function(number, value)

    return jax.lax.while_loop(lambda carry: (carry[0] < most) & unfinished(carry[1]), one_round, (jnp.int32(0), value))[1]


def only_cpus() -> bool:
    """Says whether what is traced now runs on CPUs alone: for ways that differ in shapes, which one program cannot both have.

    Where it does not, or `for_all_platforms` says so, programs have the shapes that accelerators want, on a CPU too.
    """
    return jax.default_backend() == "cpu" and not _FOR_ALL.get()


@contextlib.contextmanager
def for_all_platforms() -> Iterator[None]:
    """Programs traced in here can be compiled for any platform, and are then what they are there."""
    token = _FOR_ALL.set(True)
    try:
        yield
    finally:
        _FOR_ALL.reset(token)
