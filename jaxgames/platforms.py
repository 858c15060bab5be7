"""Ways of one computation, for a CPU and for accelerators."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import jax

Result = TypeVar("Result")


def by_platform(*arguments: object, cpu: Callable[..., Result], default: Callable[..., Result]) -> Result:
    """Gives what one of two functions makes of the arguments: `cpu` on a CPU, `default` elsewhere. Both are traced."""
    found: Result = jax.lax.platform_dependent(*arguments, cpu=cpu, default=default)
    return found
