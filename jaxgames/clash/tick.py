"""A tick of 0.1 s. Its steps have the numbers of the written rules; all read positions and lives as they were at its start.

Arrays have the battles as their last axis.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.clash import attacks, damage, groups, movement, spawning, targeting
from jaxgames.clash.attacks import Shots, Strike
from jaxgames.clash.config import ClashConfig
from jaxgames.clash.constants import ELIXIR, KING, MOST_ELIXIR, TOWERS
from jaxgames.clash.damage import Hits
from jaxgames.clash.ending import ended
from jaxgames.clash.kinds import Kinds, look_up, places_of
from jaxgames.clash.state import State
from jaxgames.clash.tables import Features, UnitColumns, features
from jaxgames.clash.targeting import Aim
from jaxgames.platforms import Result, by_platform


def run(config: ClashConfig, state: State, num_ticks: int) -> State:
    """Plays so many ticks of one battle in which nobody plays a card; a battle that has ended stays as it is.

    Mapped over battles, they become the last axis for as long as it runs: there a processor's vectors lie along battles.
    """
    return _runner(config, num_ticks)(state)


@functools.lru_cache(maxsize=64)
def _runner(config: ClashConfig, num_ticks: int) -> Callable[[State], State]:
    def run_all(states: State) -> State:
        def body(number: Array, carry: tuple[State, Kinds]) -> tuple[State, Kinds]:
            del number
            return go_on(config, *carry, carry[0].terminated)

        return jax.lax.fori_loop(0, num_ticks, body, (states, look_up(config, states)))[0]

    return along_battles(groups.by_size(run_all))


def along_battles(function: Callable[[State], Any]) -> Callable[[State], Any]:
    """Makes of a function of battles, leaves [..., B], one of a single battle that is to be mapped."""

    @jax.custom_batching.custom_vmap
    def of_one(state: State) -> Any:
        return jax.tree.map(lambda leaf: leaf[..., 0], function(jax.tree.map(lambda leaf: leaf[..., None], state)))

    @of_one.def_vmap
    def of_many(axis_size: int, in_batched: list[State], states: State) -> tuple[Any, Any]:
        def last(leaf: Array, batched: bool) -> Array:
            return jnp.moveaxis(leaf, 0, -1) if batched else jnp.broadcast_to(leaf[..., None], (*leaf.shape, axis_size))

        found = function(jax.tree.map(last, states, in_batched[0]))
        return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, -1, 0), found), jax.tree.map(lambda leaf: True, found)

    return of_one


def go_on(config: ClashConfig, states: State, kinds: Kinds, rests: Array) -> tuple[State, Kinds]:
    """Plays a tick, new units and bombs included, of battles, leaves [..., B]; those that rest, bool [B], stay as they are."""
    after, events = tick(config, states, kinds)
    return with_births(config, states, after, kinds, events, rests)


def with_births(
    config: ClashConfig, states: State, after: State, kinds: Kinds, events: Events, rests: Array
) -> tuple[State, Kinds]:
    """Ends a tick: new units and bombs come, and those that rest, bool [B], stay as they were.

    Args:
      config: the battle.
      states: before the tick.
      after: what `tick` gave.
      kinds: before the tick.
      events: what `tick` gave.
      rests: which battles.
    """
    need = features(config)

    def kept(new: State) -> State:
        return jax.tree.map(lambda old, new: jnp.where(rests, old, new), states, new)

    if not (need.children or need.bombs):
        return kept(after), kinds

    def born() -> tuple[State, Kinds]:
        new = kept(_born(config, states, after, kinds, events))
        return new, look_up(config, new)

    return where_something_comes(kinds, events, born, lambda: (kept(after), kinds))  # only then must kinds be looked up again


def where_something_comes(kinds: Kinds, events: Events, some: Callable[[], Result], none: Callable[[], Result]) -> Result:
    """Gives `some()` where a tick brings new units or bombs to any battle, `none()`, which is the same then, where it does not.

    Something comes in few ticks. Among as many battles as an accelerator plays it comes in every tick, so there it is `some()`.
    """

    def if_any() -> Result:
        found: Result = jax.lax.cond(_any_births(kinds, events), some, none)
        return found

    return by_platform(cpu=if_any, default=some)


class Events(NamedTuple):
    """What may bring new units and bombs: bool [2, H, B] who has died, whose wave is due; bool [2, S, B] which spells land."""

    died: Array
    due: Array
    landed: Array


def _any_births(kinds: Kinds, events: Events) -> Array:
    units, spells = kinds.units, kinds.spells
    of_units = (events.died & ((units.death_count > 0) | (units.bomb_ticks > 0))) | events.due
    return of_units.any() | (events.landed & (spells.spawn_count > 0)).any()


def _born(config: ClashConfig, before: State, after: State, kinds: Kinds, events: Events) -> State:
    """Lets bombs and children of a tick come."""
    need = features(config)
    if need.bombs:
        after = of_each(functools.partial(spawning.lay_bombs, config))(after, kinds, events.died)
    if need.children:
        after = of_each(functools.partial(spawning.bring_children, config))(after, before, kinds, *events)
    return after


def tick(config: ClashConfig, state: State, kinds: Kinds) -> tuple[State, Events]:
    """Plays one tick of battles that run, but for new units and bombs, which come last.

    Args:
      config: the battle.
      state: before it, leaves [..., B].
      kinds: of all units and spells, from `look_up`.
    """
    need, units = features(config), kinds.units
    places = places_of(state.x, state.y)
    aim = targeting.choose(state, units, places)
    beat, speed = slowed(state, units, need)
    flying = attacks.fly(state, units, aim)
    blow = attacks.strike(state, units, aim, beat)
    flying, blow, motion = jax.lax.optimization_barrier((flying, blow, movement.walk(units, places, aim, speed)))
    hits = damage.of_units(state, units, places, aim, blow, flying, need)
    if config.spells or need.bombs:
        hits = damage.both(hits, damage.of_spells(state, kinds, places, need))
    x, y = movement.settle(state, units, places, motion, hits.push_x, hits.push_y)
    shots = attacks.shoot(flying, state, units, aim, blow)
    after = _spells_go_on(config, state, kinds)
    after = dataclasses.replace(
        after,
        x=x.astype(jnp.int16),
        y=y.astype(jnp.int16),
        cooldown=blow.cooldown.astype(jnp.int8),
        turn=state.turn ^ (blow.fires & (units.projectile_speed > 0)).astype(jnp.int8),
        elixir=_elixir(config, state),
    )
    after, died = _hurt(after, units, need, aim, blow, shots, hits)
    after = _times(state, after, need, hits)
    after = ended(config, dataclasses.replace(after, tick=state.tick + jnp.int16(1)))
    return after, Events(died, spawning.waves_due(state, kinds), state.spell_ticks == 1)


def of_each(function: Callable[..., Any]) -> Callable[..., Any]:
    """Maps a function of one battle over the last axis."""
    return jax.vmap(function, in_axes=-1, out_axes=-1)


def elixir_gain(config: ClashConfig, tick: Array) -> Array:
    """Gives how much elixir comes in a tick (of any integer type, which is that of the result)."""
    gain = 1 + (tick >= config.double_from_tick).astype(tick.dtype)
    if config.triple_from_tick is not None:
        gain = jnp.where(tick >= config.triple_from_tick, 3, gain).astype(tick.dtype)
    return gain


def _elixir(config: ClashConfig, state: State) -> Array:
    """Step 1: elixir comes, int16 [2]."""
    return jnp.minimum(state.elixir + elixir_gain(config, state.tick), MOST_ELIXIR * ELIXIR)


def slowed(state: State, kinds: UnitColumns, need: Features) -> tuple[Array | int, Array]:
    """Gives by how much cooldowns go down, and speeds: slowed units rest in some ticks, spread evenly."""
    if not need.slows:
        return 1, kinds.speed
    full = 100 - jnp.where(state.slow > 0, state.slow_pct.astype(jnp.int32), 0)
    tick = state.tick.astype(jnp.int32)
    beat = tick * full // 100 - (tick - 1) * full // 100
    return beat, kinds.speed * full // 100


def _spells_go_on(config: ClashConfig, state: State, kinds: Kinds) -> State:
    """Step 5 without its hits: waves come and are counted."""
    if not config.spells and not features(config).bombs:
        return state
    lands = state.spell_ticks == 1
    waves = state.spell_waves - lands
    interval = jnp.where(waves > 0, kinds.spells.interval, 0).astype(jnp.int8)
    ticks = jnp.where(lands, interval, jnp.maximum(state.spell_ticks - 1, 0)).astype(jnp.int8)
    return dataclasses.replace(state, spell_ticks=ticks, spell_waves=waves)


def _hurt(
    state: State, kinds: UnitColumns, need: Features, aim: Aim, blow: Strike, shots: Shots, hits: Hits
) -> tuple[State, Array]:
    """Step 10: all damage at once, deaths, and kings that wake. Returns the state and who died, bool [2, H, B]."""
    hp, shield = state.hp.astype(jnp.int32), state.shield.astype(jnp.int32)
    lost = hits.damage
    if need.shields:
        shield, lost = jnp.where(shield > 0, jnp.maximum(shield - lost, 0), 0), jnp.where(shield > 0, 0, lost)
    if need.decay:
        lost = lost + damage.decay(state, kinds)
    hp = hp - lost
    dies = state.alive & (hp <= 0)
    if need.kamikaze:
        dies |= state.alive & blow.fires & (kinds.kamikaze > 0)
    alive = state.alive & ~dies
    target, *of_shots = damage.forget((aim.target, *(shots.target[:, turn] for turn in range(2))), dies)
    king_hit = (hits.damage[:, KING] > 0) | dies[:, : TOWERS - 1].any(1)
    after = dataclasses.replace(
        state,
        alive=alive,
        hp=jnp.where(alive, hp, 0).astype(jnp.int16),
        shield=jnp.where(alive, shield, 0).astype(jnp.int16),
        target=jnp.where(alive, target, -1).astype(jnp.int8),
        shot_ticks=shots.ticks.astype(jnp.int8),
        shot_target=jnp.where(shots.ticks > 0, jnp.stack(of_shots, axis=1), -1).astype(jnp.int8),
        shot_x=jnp.where(shots.ticks > 0, shots.x, 0).astype(jnp.int16),
        shot_y=jnp.where(shots.ticks > 0, shots.y, 0).astype(jnp.int16),
        king_awake=state.king_awake | king_hit,
    )
    return after, dies


def _times(before: State, after: State, need: Features, hits: Hits) -> State:
    """Step 11: ages and timers; what stuns or slows in this tick holds from the next one on."""
    alive = before.alive
    after = dataclasses.replace(
        after,
        deploying=jnp.where(alive, jnp.maximum(after.deploying - 1, 0), after.deploying).astype(jnp.int8),
        age=after.age + alive.astype(jnp.int16),
    )
    if need.stuns:
        stun = jnp.maximum(jnp.maximum(before.stun.astype(jnp.int32) - 1, 0), hits.stun)
        after = dataclasses.replace(after, stun=stun.astype(jnp.int8))
    if need.slows:
        slow = jnp.maximum(jnp.maximum(before.slow.astype(jnp.int32) - 1, 0), hits.slow)
        worst = jnp.maximum(jnp.where(before.slow > 0, before.slow_pct, 0).astype(jnp.int32), hits.slow_pct)
        after = dataclasses.replace(after, slow=slow.astype(jnp.int8), slow_pct=jnp.where(slow > 0, worst, 0).astype(jnp.int8))
    return after
