"""Trees of arrays as lists of named leaves: what the file formats of this package have in common."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Place = list[list[int]]  # [start, stop] along each axis of a leaf


@dataclasses.dataclass(frozen=True)
class Leaf:
    """What a file says of one array of a tree.

    Attributes:
      path: where it is, such as "params/dense/kernel".
      shape: its shape.
      dtype: its type, such as "float32" or "key<fry>" (a typed random key).
    """

    path: str
    shape: tuple[int, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{self.dtype} {list(self.shape)}"


def named_leaves(tree: Any) -> dict[str, Any]:
    """Gives the leaves of any tree under their paths, in the order of the tree.

    Raises:
      ValueError: a leaf is not an array, or two leaves have the same path.
    """
    leaves: dict[str, Any] = {}
    for keys, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
        path = jax.tree_util.keystr(keys, simple=True, separator="/")
        if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
            raise ValueError(f"leaf {path} is a Python {type(leaf).__name__}: must be an array")
        if path in leaves:
            raise ValueError(f"leaf {path}: two leaves of the tree have this path")
        leaves[path] = leaf
    return leaves


def describe(leaves: Mapping[str, Any]) -> list[Leaf]:
    """Describes leaves, which may be arrays or `jax.ShapeDtypeStruct`."""
    return [Leaf(path, tuple(leaf.shape), str(leaf.dtype)) for path, leaf in leaves.items()]


def first_difference(saved: Sequence[Leaf], expected: Sequence[Leaf], *, dtypes: bool = True) -> str | None:
    """Names the first leaf that a file and a template do not share.

    Args:
      saved: what the file holds, in any order.
      expected: what the template holds.
      dtypes: whether the types must be the same, and not only the shapes.

    Returns:
      A few words with the leaf's path and both descriptions; None where there is no difference.
    """
    there, here = {leaf.path: leaf for leaf in saved}, {leaf.path: leaf for leaf in expected}
    for path in [*here, *there]:
        if path not in there:
            return f"leaf {path} is not in the file, and {here[path]} is expected"
        if path not in here:
            return f"leaf {path} is {there[path]} in the file, and none is expected"
        if there[path].shape != here[path].shape or (dtypes and there[path].dtype != here[path].dtype):
            return f"leaf {path} is {there[path]} in the file, and {here[path]} is expected"
    return None


def is_key(leaf: Any) -> bool:
    """Says whether a leaf holds typed random keys."""
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def to_host(leaf: Any) -> np.ndarray:
    """Gives an array's values, typed keys as their words; all of it must be on devices of this process, or the same on all."""
    return np.asarray(jax.random.key_data(leaf) if is_key(leaf) else leaf)


def host_shape(leaf: Any) -> tuple[int, ...]:
    """Returns the shape that `to_host` would give, also for a `jax.ShapeDtypeStruct`."""
    return tuple(jax.eval_shape(jax.random.key_data, leaf).shape if is_key(leaf) else leaf.shape)


def is_spread(leaf: Any) -> bool:
    """Says whether some of a leaf is on devices of other processes."""
    return isinstance(leaf, jax.Array) and not leaf.sharding.is_fully_addressable


def place_of(index: Sequence[slice], shape: Sequence[int]) -> Place:
    """Gives the place that slices choose in a leaf of such a shape; of typed keys the slices of words, the last, are left out."""
    return [list(span.indices(size)[:2]) for span, size in zip(index[: len(shape)], shape, strict=True)]


def within(place: Place, origin: Sequence[int]) -> tuple[slice, ...]:
    """Gives the slices of a place in an array that holds a leaf from an origin on; the words of typed keys are taken whole."""
    return tuple(slice(start - first, stop - first) for (start, stop), first in zip(place, origin, strict=True))


def own_place(leaf: Any) -> Place:
    """Gives the smallest box of all that devices of this process hold of a leaf: the whole leaf if it is not spread."""
    if not is_spread(leaf):
        return [[0, size] for size in leaf.shape]
    held = [place_of(index, leaf.shape) for index in leaf.sharding.addressable_devices_indices_map(leaf.shape).values()]
    return [[min(start for start, _ in spans), max(stop for _, stop in spans)] for spans in zip(*held, strict=True)]


def from_host(values: np.ndarray, template: Any, start: Sequence[int] = ()) -> Any:
    """Makes an array of the template's kind, on the template's devices.

    Args:
      values: as `to_host` gave them; of a template that is spread over processes, what lies in `own_place` is enough.
      template: an array of numpy or JAX, or a `jax.ShapeDtypeStruct`; of a JAX array it may have been donated.
      start: where the values begin in the leaf, along each axis; (): at its beginning.

    Returns:
      numpy for numpy; else a JAX array, laid out like the template where that is bound to devices, and otherwise as free to be
      moved as the template is.
    """
    if isinstance(template, np.generic):
        return values[()]
    if isinstance(template, np.ndarray):
        return values
    array: Any = values
    if is_spread(template):
        return _over_processes(values, template, start or (0,) * template.ndim)
    if is_key(template):
        array = jax.random.wrap_key_data(jnp.asarray(values), impl=_key_implementation(template))
    bound = template.committed if isinstance(template, jax.Array) else template.sharding is not None
    return jax.device_put(array, template.sharding if bound else None)


def _over_processes(values: np.ndarray, template: jax.Array, start: Sequence[int]) -> jax.Array:
    """Makes an array of which this process has the parts that its devices hold."""

    def held(index: Any) -> np.ndarray:
        return values[within(place_of(index, template.shape), start)]

    shape = (*template.shape, *values.shape[template.ndim :])  # typed keys have their words in axes of their own
    array = jax.make_array_from_callback(shape, template.sharding, held)
    if not is_key(template):
        return array
    return jax.jit(functools.partial(jax.random.wrap_key_data, impl=_key_implementation(template)))(array)


def _key_implementation(keys: Any) -> Any:
    """Returns the name of the generator that typed keys are for; JAX tells it of arrays only, hence the trace."""
    found = []
    jax.eval_shape(lambda traced: found.append(jax.random.key_impl(traced)), jax.ShapeDtypeStruct(keys.shape, keys.dtype))
    return found[0]
