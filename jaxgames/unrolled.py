"""Functions of short vectors as functions of their numbers: what an accelerator fuses into few kernels.

Code for a handful of agents is short, and quick to compile, when it keeps them in one vector, and on a CPU that is fast. On an
accelerator every stack and every reduction of such a vector is a kernel of its own, with next to nothing to do. The same work on
separate numbers is elementwise from the first operation to the last.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.extend import core

from jaxgames.fusion import any_lane

Numbers = np.ndarray
"""An array taken apart: of its shape, dtype object, each entry a number of all lanes (or shared by them)."""


def unrolled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a function of all lanes at once that does the same to each, with every array in it taken apart into its numbers.

    Args:
      function: of one lane, of pytrees of arrays [] to such a pytree. In between it may use arrays of any shape, elementwise
        operations, operations that move numbers to places known in advance, reductions, `jax.jit` and `while_loop`. A loop
        goes on until all lanes are done, and has a first round whether they are or not; one that is done must stay as it is, as
        in `fusion.all_lanes`.

    Returns:
      The function, of arrays that all have the shape of the lanes.

    Raises:
      NotImplementedError: when traced, for an operation of another kind.
    """

    @functools.wraps(function)
    def of_lanes(*arguments: Any) -> Any:
        leaves = jax.tree.leaves(arguments)
        lane = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((), leaf.dtype), arguments)
        traced, results = jax.make_jaxpr(function, return_shape=True)(*lane)
        found = _run(traced, [_numbers((), [leaf]) for leaf in leaves])
        lanes = np.shape(leaves[0])
        return jax.tree.unflatten(jax.tree.structure(results), [jnp.broadcast_to(numbers.item(), lanes) for numbers in found])

    return of_lanes


def _numbers(shape: tuple[int, ...], entries: Sequence[Any]) -> Numbers:
    """Puts entries in their places, one by one: NumPy would look into those that are arrays."""
    numbers = np.empty(shape, object)
    for place, entry in zip(np.ndindex(shape), entries, strict=True):
        numbers[place] = entry
    return numbers


def _constant(value: Any) -> Numbers:
    return _numbers(np.shape(value), list(np.asarray(value).reshape(-1)))


def _run(traced: Any, arguments: Sequence[Numbers]) -> list[Numbers]:
    """Goes through the operations of a traced function."""
    known: dict[Any, Numbers] = dict(zip(traced.jaxpr.constvars, map(_constant, traced.consts), strict=True))
    known |= dict(zip(traced.jaxpr.invars, arguments, strict=True))

    def value(atom: Any) -> Numbers:
        return _constant(atom.val) if isinstance(atom, core.Literal) else known[atom]

    for equation in traced.jaxpr.eqns:
        found = _apply(equation, [value(atom) for atom in equation.invars])
        known |= dict(zip(equation.outvars, found, strict=True))
    return [value(atom) for atom in traced.jaxpr.outvars]


def _apply(equation: Any, operands: list[Numbers]) -> list[Numbers]:
    name, params = equation.primitive.name, equation.params
    if name in _CALLS:
        return _run(params["jaxpr"], operands)
    if name == "while":
        return _loop(params, operands)
    if name in _MOVES:
        return [_MOVES[name](params, *operands)]
    if name in _REDUCTIONS:
        return [_reduce(_REDUCTIONS[name], operands[0], params["axes"])]
    if name not in _ELEMENTWISE:
        raise NotImplementedError(
            f"operation {name}: cannot be unrolled; elementwise ones can: {', '.join(sorted(_ELEMENTWISE))}"
        )

    def one(*numbers: Array) -> Any:
        lanes = np.broadcast_shapes(*map(np.shape, numbers))
        return equation.primitive.bind(*(jnp.broadcast_to(number, lanes) for number in numbers), **params)

    return [_each(one, equation.outvars[0].aval.shape, operands)]


def _each(one: Callable[..., Any], shape: tuple[int, ...], operands: Sequence[Numbers]) -> Numbers:
    operands = [np.broadcast_to(numbers, shape) for numbers in operands]
    return _numbers(shape, [one(*(numbers[place] for numbers in operands)) for place in np.ndindex(shape)])


def _reduce(pair: Callable[[Array, Array], Array], numbers: Numbers, axes: Sequence[int]) -> Numbers:
    in_front = np.moveaxis(numbers, axes, range(len(axes)))
    shape = in_front.shape[len(axes) :]
    rows = in_front.reshape(-1, *shape)
    parts = [rows[row : row + 1].reshape(shape) for row in range(len(rows))]
    return _each(lambda *each: functools.reduce(pair, each), shape, parts)


def _loop(params: dict[str, Any], operands: Sequence[Numbers]) -> list[Numbers]:
    first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    for_condition, for_body, start = operands[:first], operands[first:second], operands[second:]
    shapes = [numbers.shape for numbers in start]
    lanes = np.broadcast_shapes(*(np.shape(number) for numbers in operands for number in numbers.flat))

    def entries(carry: Sequence[Numbers]) -> list[list[Array]]:
        return [[jnp.broadcast_to(number, lanes) for number in numbers.flat] for numbers in carry]

    def numbers(carry: list[list[Array]]) -> list[Numbers]:
        return [_numbers(shape, each) for shape, each in zip(shapes, carry, strict=True)]

    def goes_on(carry: list[list[Array]]) -> Array:
        answer = _run(params["cond_jaxpr"], [*for_condition, *numbers(carry)])[0].item()
        return any_lane(answer.astype(jnp.uint32))

    def one_round(carry: list[list[Array]]) -> list[list[Array]]:
        return entries(_run(params["body_jaxpr"], [*for_body, *numbers(carry)]))

    # The first round goes before the first look: an accelerator asks the host at each, which takes longer than a round.
    return numbers(jax.lax.while_loop(goes_on, one_round, one_round(entries(start))))


def _broadcast(params: dict[str, Any], numbers: Numbers) -> Numbers:
    shape = params["shape"]
    lengths = [1] * len(shape)
    for axis, place in enumerate(params["broadcast_dimensions"]):
        lengths[place] = numbers.shape[axis]
    return np.broadcast_to(numbers.reshape(lengths), shape)


def _slice(params: dict[str, Any], numbers: Numbers) -> Numbers:
    strides = params["strides"] or (1,) * numbers.ndim
    return numbers[tuple(map(slice, params["start_indices"], params["limit_indices"], strides))]


_CALLS = {"jit", "pjit"}
_MOVES: dict[str, Callable[..., Numbers]] = {
    "broadcast_in_dim": _broadcast,
    "concatenate": lambda params, *parts: np.concatenate(parts, params["dimension"]),
    "stack": lambda params, *parts: np.stack(parts, params["axis"]),
    "reshape": lambda params, numbers: numbers.reshape(params["new_sizes"]),
    "slice": _slice,
    "squeeze": lambda params, numbers: numbers.squeeze(params["dimensions"]),
    "transpose": lambda params, numbers: numbers.transpose(params["permutation"]),
}
_REDUCTIONS: dict[str, Callable[[Array, Array], Array]] = {
    "reduce_or": jax.lax.bitwise_or,
    "reduce_and": jax.lax.bitwise_and,
    "reduce_sum": jax.lax.add,
    "reduce_max": jax.lax.max,
    "reduce_min": jax.lax.min,
}
_LOGIC = ("and", "not", "or", "xor", "shift_left", "shift_right_arithmetic", "shift_right_logical", "clz", "population_count")
_COMPARISONS = ("eq", "ge", "gt", "le", "lt", "ne")
_ARITHMETIC = ("abs", "add", "div", "max", "min", "mul", "neg", "rem", "sign", "sub")
_ELEMENTWISE = frozenset((*_LOGIC, *_COMPARISONS, *_ARITHMETIC, "convert_element_type", "copy", "select_n"))
