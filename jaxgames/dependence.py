"""Which outputs of a traced function depend on its inputs at all; nothing is run to find out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax.extend import core


def depends_on_inputs(function: Callable[..., Any], *shapes: Any) -> list[bool]:
    """Says for each leaf of a function's result whether it depends on the arguments.

    What comes out of an operation counts as dependent as soon as one of its operands is.

    Args:
      function: can be traced.
      *shapes: of its arguments, from `jax.eval_shape`, or arrays.
    """
    closed = jax.make_jaxpr(function)(*shapes)
    dependent = set(closed.jaxpr.invars)
    for equation in closed.jaxpr.eqns:
        if any(not isinstance(operand, core.Literal) and operand in dependent for operand in equation.invars):
            dependent.update(equation.outvars)
    return [not isinstance(result, core.Literal) and result in dependent for result in closed.jaxpr.outvars]
