"""What is left of the towers when all that is on the arena has been played out without further cards."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.clash.config import ClashConfig
from jaxgames.clash.constants import TOWERS
from jaxgames.clash.kinds import Kinds, look_up
from jaxgames.clash.state import State
from jaxgames.clash.tick import along_battles, go_on
from jaxgames.platforms import only_cpus

# Some battles take three times as long as most. On a CPU so many are played at a time, and the next ones take the places of
# those that are quiet as soon as these are more than one in `_REFILL`.
_AT_ONCE, _REFILL = 48, 8


def tower_hp(config: ClashConfig, state: State) -> Array:
    """Plays one battle on until it is over or quiet, at most `value_ticks`; gives hit points of towers, int16 [2, 3].

    A tower that has fallen has none.
    """
    return _player(config)(state)


def is_quiet(state: State) -> Array:
    """Says which battles, leaves [..., B], are over or have only towers left, and nothing in the air: bool [B]."""
    units = state.alive[:, TOWERS:].any((0, 1))
    return state.terminated | ~(units | (state.shot_ticks > 0).any((0, 1, 2)) | (state.spell_ticks > 0).any((0, 1)))


def standing_hp(state: State) -> Array:
    """Gives the hit points of towers, int16 [2, 3, ...]: those that have fallen have none."""
    return jnp.where(state.alive[:, :TOWERS], state.hp[:, :TOWERS], 0)


class _AtWork(NamedTuple):
    """Battles that are being played, C of B.

    Attributes:
      waiting: int32 [], the first that is not begun.
      lane: int32 [C], which battle each is; B or more: none.
      ticks: int32 [C], played so far.
      states: leaves [..., C].
      kinds: of their units.
      found: int16 [2, 3, B], what is known of the towers at the end.
    """

    waiting: Array
    lane: Array
    ticks: Array
    states: State
    kinds: Kinds
    found: Array


@functools.lru_cache(maxsize=64)
def _player(config: ClashConfig) -> Callable[[State], Array]:
    return along_battles(functools.partial(_play_out, config))


def _play_out(config: ClashConfig, battles: State) -> Array:
    """Plays battles, leaves [..., B], to their quiet ends: int16 [2, 3, B]."""
    count = battles.tick.shape[-1]
    size = min(count, _AT_ONCE) if only_cpus() else count
    first = jax.tree.map(lambda leaf: leaf[..., :size], battles)
    nothing = jnp.zeros((2, TOWERS, count), jnp.int16)
    none = jnp.zeros(size, jnp.int32)
    begun = _AtWork(jnp.int32(size), jnp.arange(size, dtype=jnp.int32), none, first, look_up(config, first), nothing)

    def rests(work: _AtWork) -> Array:
        return is_quiet(work.states) | (work.ticks >= config.value_ticks) | (work.lane >= count)

    def play(work: _AtWork) -> _AtWork:
        states, kinds = go_on(config, work.states, work.kinds, rests(work))
        return work._replace(ticks=work.ticks + 1, states=states, kinds=kinds)

    def goes_on(work: _AtWork) -> Array:
        least = jnp.where(work.waiting < count, size - size // _REFILL, 0)
        return (~rests(work)).sum() > least

    def refill(work: _AtWork) -> _AtWork:
        work = jax.lax.while_loop(goes_on, play, work)
        done = rests(work)
        towers = standing_hp(work.states)
        found = work.found.at[..., jnp.where(done, work.lane, count)].set(towers, mode="drop")
        lane = jnp.where(done, work.waiting + jnp.cumsum(done, dtype=jnp.int32) - 1, work.lane)
        fresh = jnp.minimum(lane, count - 1)
        states = jax.tree.map(lambda whole, own: jnp.where(done, whole[..., fresh], own), battles, work.states)
        waiting = work.waiting + done.sum(dtype=jnp.int32)
        return _AtWork(waiting, lane, jnp.where(done, 0, work.ticks), states, look_up(config, states), found)

    def unfinished(work: _AtWork) -> Array:
        return (work.lane < count).any()

    return jax.lax.while_loop(unfinished, refill, begun).found
