"""What a planner thinks of the actions of one state, for people who want to know more than its choice."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from search.planner import Plan, Planner


class Appraisal(NamedTuple):
    """Actions of one player with their values, in the order of their numbers; N actions.

    Attributes:
      actions: int32 [N].
      values: float32 [N], from 0, what is lost, to 1, what is won.
      visits: int32 [N], how often each was tried.
    """

    actions: np.ndarray
    values: np.ndarray
    visits: np.ndarray


def appraise(planner: Planner, params: Any, key: Array, state: Any, seat: int, *, searches: int = 1) -> Appraisal:
    """Asks a planner for the values of the actions that a seat may choose.

    Args:
      planner: sees the state.
      params: of its network, or None.
      key: a random key.
      state: one state, without batch axis.
      seat: whose actions.
      searches: so many searches with random numbers of their own; an action's value is their mean, weighed by its visits.

    Returns:
      All actions that have been tried; their values are the searches' own, so those of few visits are drawn to the middle. The
      first question to a planner compiles it, and later ones by as many searches do not.

    Raises:
      ValueError: the planner does not see the state, or plans for all seats and there is none of this number.
    """
    if not planner.sees_state:
        raise ValueError(f"planner={planner.name!r}: sees only what a seat knows; values of a state need one that sees it")
    find = _finder(planner.init, planner.plan, searches)
    found = jax.device_get(find(params, key, state, np.int32(seat)))
    players = found.arms.shape[1]
    if not planner.own_first and not 0 <= seat < players:
        raise ValueError(f"seat={seat}: must be in 0..{players - 1}")
    row = 0 if planner.own_first else int(seat)
    columns = (found.arms[:, row], found.legal[:, row], found.qvalues[:, row], found.visit_counts[:, row])
    return appraisal_of(*columns, planner.value_range)


@functools.lru_cache(maxsize=1)
def _finder(init: Callable, plan: Callable, searches: int) -> Callable:
    """Jits searches in one state, for a seat."""

    @jax.jit
    def find(params: Any, key: Array, state: Any, seat: Array) -> Plan:
        states = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (searches, *jnp.shape(leaf))), state)
        seats, active = jnp.broadcast_to(seat, (searches,)), jnp.ones(searches, bool)
        found, _ = plan(params, jax.random.split(key, searches), init(searches), states, seats, active)
        return found

    return find


def appraisal_of(
    arms: np.ndarray, legal: np.ndarray, qvalues: np.ndarray, visit_counts: np.ndarray, value_range: tuple[float, float]
) -> Appraisal:
    """Puts the searches of one seat together: columns of plans [searches, K] (see `Plan`), and `Planner.value_range`."""
    arms, legal, values, visits = (np.asarray(each).reshape(-1) for each in (arms, legal, qvalues, visit_counts))
    tried = legal & (visits > 0)
    actions, place = np.unique(arms[tried], return_inverse=True)
    low, high = value_range
    count = np.bincount(place, weights=visits[tried], minlength=len(actions))
    total = np.bincount(place, weights=visits[tried] * (values[tried].astype(float) - low) / (high - low), minlength=len(actions))
    return Appraisal(actions.astype(np.int32), (total / np.maximum(count, 1)).astype(np.float32), count.astype(np.int32))
