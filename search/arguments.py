"""Checks of what a planner is asked: each mistake is one line that names the argument, what came and what must come.

They look at shapes, and at the types of keys, seats and flags, while a plan is traced: a compiled plan has none of them.
"""

from __future__ import annotations

import functools
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import shapes
from jaxgames.abilities import keeps_beliefs
from jaxgames.checks import as_integer
from jaxgames.game import Game, is_hidden
from search.planner import Plan, Planner

S = TypeVar("S")

_WHOLE, _REAL = (jnp.integer, jnp.int32, "whole numbers"), (jnp.floating, jnp.float32, "floats")
_FIELDS: dict[str, tuple[Any, Any, str]] = {  # of a plan
    "actions": _WHOLE,
    "arms": _WHOLE,
    "legal": (jnp.bool_, jnp.bool_, "flags"),
    "qvalues": _REAL,
    "visit_counts": _WHOLE,
    "action_weights": _REAL,
    "root_value": _REAL,
}
_SHOWN = {  # by what a planner sees
    True: "states of its game",
    False: "jax.vmap(game.observe)(states, seats); where worlds are drawn, what game.update_information makes of these",
}
_LONGEST = 80  # letters of what a message repeats


def checked(planner: Planner, view: Any, num_seats: int | None = None) -> Planner:
    """The same planner, which refuses arguments that do not fit.

    Args:
      planner: any.
      view: the shapes of what it is shown in one lane, as `jax.eval_shape` gives them; None: anything.
      num_seats: of the game; None: not known here.

    Returns:
      A planner with the same plans. Its `init`, `reset` and `plan` raise a ValueError for: a batch that is no whole number, keys,
      seats or flags that are not one per lane, views that are not a batch of what it is shown, and a memory of other shapes than
      `init` gives for as many lanes. So `init` must be one that can be traced, and no plan changes the shapes of a memory.
    """

    @functools.lru_cache(maxsize=8)
    def memory_of(batch_size: int) -> Any:
        return jax.eval_shape(lambda: planner.init(batch_size))

    def init(batch_size: int) -> Any:
        count = as_integer(batch_size)
        if count is None or count < 1:
            raise ValueError(f"batch_size={told(batch_size)}: must be a whole number, 1 or more")
        return planner.init(count)

    def same_memory(memory: Any, batch: int) -> None:
        _same_shapes("memory", memory, memory_of(batch), f"that of init({batch}) of {planner.name!r}")

    def reset(memory: Any, lanes: Array) -> Any:
        _per_lane("lanes", lanes, jnp.bool_, "flags")
        same_memory(memory, len(lanes))
        return planner.reset(memory, lanes)

    def plan(params: Any, keys: Array, memory: Any, views: Any, seats: Array, active: Array) -> tuple[Plan, Any]:
        keys = _typed(keys)
        batch = len(keys)
        _per_lane("seats", seats, jnp.integer, "whole numbers", batch)
        _are_seats(seats, num_seats)
        _per_lane("active", active, jnp.bool_, "flags", batch)
        if view is not None:
            words = f"{batch} of what {planner.name!r} is shown: {_SHOWN[planner.sees_state]}"
            _same_shapes("views", views, shapes.batched(view, batch), words)
        same_memory(memory, batch)
        found, memory = planner.plan(params, keys, memory, views, seats, active)
        return sound(planner.name, found, batch), memory

    return planner._replace(init=init, reset=reset, plan=plan)


def sound(name: str, plan: Plan, batch: int) -> Plan:
    """Gives a planner's plan with the types of numbers that `Plan` documents.

    Raises:
      ValueError: a field is no array of its kind and shape.
    """
    of_kind(f"plan of {name!r}", plan, Plan)
    players, arms = jnp.shape(plan.actions)[1:2], jnp.shape(plan.arms)[2:3]
    fields = {}
    for field, (kind, dtype, words) in _FIELDS.items():
        given, by_arm = getattr(plan, field), field not in ("actions", "root_value")
        shape = (batch, *players, *(arms if by_arm else ()))
        fits = hasattr(given, "dtype") and given.shape == shape and given.ndim == 2 + by_arm
        if not fits or not jnp.issubdtype(given.dtype, kind):
            came = f"of shape {list(given.shape)} and type {given.dtype}" if hasattr(given, "dtype") else told(given)
            must = f"must be {words} [B, P{', K' * by_arm}], as in the other fields, with B={batch}"
            raise ValueError(f"plan of {name!r}: {field} {came}: {must}")
        fields[field] = jnp.asarray(given, dtype)
    return Plan(**fields, metrics=plan.metrics)


def state_of(game: Game) -> Any:
    """The shapes of a state.

    Raises:
      ValueError: this is no game.
    """
    a_game(game)
    return shapes.state_of(game)


def _typed(keys: Any) -> Array:
    """Keys [B]; also of their numbers, uint32 [B, 2], or as many as JAX's own kind of keys has."""
    if not hasattr(keys, "dtype"):
        raise ValueError(f"keys={keys!r}: must be random keys [B], one per lane")
    is_typed = jnp.issubdtype(keys.dtype, jax.dtypes.prng_key)
    lanes = keys.shape if is_typed else keys.shape[:-1] if keys.dtype == jnp.uint32 else ()
    if len(lanes) != 1 or not (is_typed or keys.shape[-1] in (2, _key_words())):
        raise ValueError(f"keys of shape {list(keys.shape)} and type {keys.dtype}: must be random keys [B], one per lane")
    return keys if is_typed else jax.random.wrap_key_data(keys, impl="threefry2x32" if keys.shape[1] == 2 else None)


def _key_words() -> int:
    """Numbers in a key of the kind that JAX makes by default."""
    return int(jax.eval_shape(lambda: jax.random.key_data(jax.random.key(0))).shape[-1])


def _per_lane(name: str, given: Any, kind: Any, words: str, batch: int | None = None) -> None:
    """Raises unless these are of a kind, one per lane; of as many lanes as there are, or any number of them."""
    must = f"must be {words} [B], one per lane" if batch is None else f"must be {words} [{batch}], one per lane as keys are"
    if not hasattr(given, "dtype"):
        raise ValueError(f"{name}={told(given)}: {must}")
    shape = jnp.shape(given)
    if len(shape) != 1 or batch not in (None, shape[0]) or not jnp.issubdtype(given.dtype, kind):
        raise ValueError(f"{name} of shape {list(shape)} and type {given.dtype}: {must}")


def _are_seats(seats: Any, num_seats: int | None) -> None:
    """Raises where seats that are known, no array of JAX, are none."""
    if not isinstance(seats, np.ndarray):
        return
    for lane in np.flatnonzero(seats < 0)[:1]:
        raise ValueError(f"seats[{lane}]={seats[lane]}: must be 0 or more; `to_play` gives -1 where all move at once")
    if num_seats is not None:
        for lane in np.flatnonzero(seats >= num_seats)[:1]:
            raise ValueError(f"seats[{lane}]={seats[lane]}: must be in 0..{num_seats - 1}")


def _same_shapes(name: str, given: Any, expected: Any, words: str) -> None:
    """Raises at the first array that is missing, is not expected, or has another shape."""
    found, wanted = _shapes(given), _shapes(expected)
    for place in (*wanted, *found):
        came, due = found.get(place), wanted.get(place)
        if came != due:
            what = f"of shape {list(came)}" if came is not None else "missing"
            must = f"must be {list(due)}" if due is not None else "must not be there"
            raise ValueError(f"{name}{place} {what}: {must}; {name} must be {words}")


def _shapes(tree: Any) -> dict[str, tuple[int, ...]]:
    return {jax.tree_util.keystr(path): jnp.shape(leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def of_kind(name: str, given: Any, kind: type, example: str = "") -> None:
    """Raises unless an argument is of a class, such as the settings of a search; an example says how one is made."""
    if not isinstance(given, kind):
        raise ValueError(f"{name}={told(given)}: must be {example or f'a {kind.__module__}.{kind.__qualname__}'}")


def told(given: Any) -> str:
    """What was given, for a message: of large things, such as a state, the type alone."""
    text = repr(given)
    return text if len(text) <= _LONGEST and "\n" not in text else f"a {type(given).__name__}"


def settings_of(kind: type[S], given: S | None) -> S:
    """The settings of a search; None: those that it has where none are given.

    Raises:
      ValueError: they are those of something else.
    """
    if given is None:
        return kind()
    of_kind("settings", given, kind)
    return given


def a_game(game: Any) -> None:
    """Raises unless this is a game."""
    if not callable(getattr(game, "search_arms", None)):
        raise ValueError(f"game={told(game)}: must be a game, as jaxgames.make gives it")


def a_hidden_game(game: Any) -> None:
    """Raises unless this is a game in which something is hidden."""
    a_game(game)
    if not is_hidden(game):
        raise ValueError(f"game={game.name!r}: does not say what its players know, so no worlds can be drawn")


def a_believed_game(game: Any) -> None:
    """Raises unless this is a game that says what its players believe."""
    a_game(game)
    if not keeps_beliefs(game):
        raise ValueError(f"game={game.name!r}: does not say what its players believe")


def a_function(name: str, given: Any, what: str) -> None:
    """Raises unless an argument can be called."""
    if not callable(given):
        raise ValueError(f"{name}={told(given)}: must be a function, {what}")
