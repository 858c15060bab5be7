"""Walking, flying, and pushing each other away. Arrays have the battles as their last axis."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.clash.constants import (
    AIR,
    AIR_BUILDING,
    BRIDGE_INSET,
    BRIDGES,
    GROUND_BUILDING,
    HEIGHT,
    MOST_PUSH,
    RIVER,
    WIDTH,
)
from jaxgames.clash.integers import packed, root, short_divide, short_root, square, unpacked
from jaxgames.clash.kinds import Places, places_of
from jaxgames.clash.slots import pick, put_together, used
from jaxgames.clash.state import State
from jaxgames.clash.tables import UnitColumns
from jaxgames.clash.targeting import Aim

SOUTH, NORTH = RIVER


class Motion(NamedTuple):
    """Steps of units in a tick, int32 [2, H, B]; moves: bool, units that walk or fly."""

    moves: Array
    x: Array
    y: Array
    speed: Array


def flies(kinds: UnitColumns) -> Array:
    """bool [2, H, B]."""
    return (kinds.layer & (AIR | AIR_BUILDING)) != 0


def walk(kinds: UnitColumns, places: Places, aim: Aim, speed: Array) -> Motion:
    """Walks toward targets (step 7 of a tick), on the ground over bridges.

    Args:
      kinds: of the units.
      places: where they are.
      aim: where they want to go.
      speed: int32 [2, H, B].
    """
    moves = aim.acting & (speed > 0) & ~aim.attacking & (aim.target >= 0)
    goal_x, goal_y = _waypoint(kinds, places, aim)
    way_x, way_y = goal_x - places.x, goal_y - places.y
    length = root(square(way_x) + square(way_y))
    arrives = length <= speed
    divisor = jnp.maximum(length, 1)
    step_x = jnp.where(arrives, way_x, short_divide(way_x * speed, divisor))
    step_y = jnp.where(arrives, way_y, short_divide(way_y * speed, divisor))
    return Motion(moves, jnp.where(moves, step_x, 0), jnp.where(moves, step_y, 0), speed)


def _waypoint(kinds: UnitColumns, places: Places, aim: Aim) -> tuple[Array, Array]:
    """Gives the point that each unit walks to in this tick: the goal, or an end of a bridge."""
    x, y, goal_x, goal_y = places.x, places.y, aim.x, aim.y
    south, north = y <= SOUTH, y >= NORTH
    crosses = (south & (goal_y > SOUTH)) | (north & (goal_y < NORTH))
    near, far = jnp.where(south, SOUTH, NORTH), jnp.where(south, NORTH, SOUTH)
    ways = []
    for low, high in BRIDGES:
        inside = (x >= low) & (x <= high)
        at = jnp.where(inside, x, jnp.clip(x, low + BRIDGE_INSET, high - BRIDGE_INSET))
        cost = root(square(x - at) + square(y - near)) + root(square(goal_x - at) + square(goal_y - far))
        ways.append((at, cost))
    (left, left_cost), (right, right_cost) = ways
    bridge_x = jnp.where(left_cost <= right_cost, left, right)
    bridge_y = jnp.where(x == bridge_x, far, near)
    between = ~south & ~north
    start, end = _bridge(x)
    goal_between = (goal_y > SOUTH) & (goal_y < NORTH)
    on_x = jnp.where(goal_between, goal_x, jnp.clip(x, start, end))
    on_y = jnp.where(goal_between, goal_y, jnp.where(goal_y >= NORTH, NORTH, SOUTH))
    to_x = jnp.where(crosses, bridge_x, jnp.where(between, on_x, goal_x))
    to_y = jnp.where(crosses, bridge_y, jnp.where(between, on_y, goal_y))
    air = flies(kinds)
    return jnp.where(air, goal_x, to_x), jnp.where(air, goal_y, to_y)


def _bridge(x: Array) -> tuple[Array, Array]:
    """Gives the ends of the bridge on this side of the arena."""
    left = x < WIDTH // 2
    return jnp.where(left, BRIDGES[0][0], BRIDGES[1][0]), jnp.where(left, BRIDGES[0][1], BRIDGES[1][1])


def settle(state: State, kinds: UnitColumns, places: Places, motion: Motion, push_x: Array, push_y: Array) -> tuple[Array, Array]:
    """Moves units, pushes apart what overlaps, and keeps all inside the arena and off the water (steps 7 to 9 of a tick).

    Args:
      state: the battle.
      kinds: of the units.
      places: where they are.
      motion: where they want to be.
      push_x: by which spells move them, int32 [2, H, B].
      push_y: likewise.

    Returns:
      x, y: int32 [2, H, B].
    """
    moved_x, moved_y = places.x + motion.x, places.y + motion.y
    apart_x, apart_y = _push(state, kinds, places_of(moved_x, moved_y), motion)
    x = moved_x + jnp.clip(apart_x, -MOST_PUSH, MOST_PUSH) + push_x
    y = moved_y + jnp.clip(apart_y, -MOST_PUSH, MOST_PUSH) + push_y
    x = jnp.clip(x, kinds.radius, WIDTH - kinds.radius)
    y = jnp.clip(y, kinds.radius, HEIGHT - kinds.radius)
    x, y = _off_the_water(kinds, places, x, y)
    stands = ~state.alive | (kinds.mass == 0)
    return jnp.where(stands, places.x, x), jnp.where(stands, places.y, y)


def _off_the_water(kinds: UnitColumns, places: Places, x: Array, y: Array) -> tuple[Array, Array]:
    wet = (y > SOUTH) & (y < NORTH) & ~flies(kinds)
    for low, high in BRIDGES:
        wet &= (x < low) | (x > high)
    was_on = (places.y > SOUTH) & (places.y < NORTH)
    start, end = _bridge(places.x)
    bank = jnp.where(places.y <= SOUTH, SOUTH, NORTH)
    return jnp.where(wet & was_on, jnp.clip(x, start, end), x), jnp.where(wet & ~was_on, bank, y)


def _push(state: State, kinds: UnitColumns, places: Places, motion: Motion) -> tuple[Array, Array]:
    """Sums the pushes on each unit: out of what it overlaps by its share, and aside where it walks into something.

    Returns int32 [2, H, B], x and y.
    """
    slot = np.arange(state.alive.shape[1], dtype=np.int32)[:, None]
    # Who stands on the ground meets who does, who flies who flies; the dead nobody.
    floor = jnp.where(state.alive, jnp.where(flies(kinds), 2, 1), 0)
    fixed = (kinds.layer & (GROUND_BUILDING | AIR_BUILDING)) != 0

    def by(number: Array, enemy: bool) -> tuple[Array, Array]:
        def its(values: Array) -> Array:
            return pick(values[::-1] if enemy else values, number)

        from_x = places.x - pick(places.other_x if enemy else places.x, number)
        from_y = places.y - pick(places.other_y if enemy else places.y, number)
        squared, radii = square(from_x) + square(from_y), kinds.radius + its(kinds.radius)
        meets = (floor == its(floor)) & (floor > 0) & (squared < square(radii))
        if not enemy:
            meets &= slot != number
        from_x, from_y = jnp.where(meets, from_x, 0), jnp.where(meets, from_y, 0)
        squared = jnp.where(meets, squared, 1)
        distance = short_root(squared)
        depth = jnp.where(meets, radii - distance, 0)
        divisor = jnp.maximum(distance, 1)
        share = short_divide(depth * its(kinds.mass), jnp.maximum(kinds.mass + its(kinds.mass), 1))
        share = jnp.where(its(fixed), depth, share)
        same = squared == 0
        aside, back = (0, -1) if enemy else (jnp.where(slot < number, -1, 1), 0)
        push_x = short_divide(jnp.where(same, aside, from_x) * share, divisor)
        push_y = short_divide(jnp.where(same, back, from_y) * share, divisor)
        slides = meets & motion.moves & (motion.x * from_x + motion.y * from_y < 0)
        if not enemy:
            slides &= its(fixed)
        across = motion.y * from_x - motion.x * from_y
        side = jnp.sign(jnp.where(across != 0, across, jnp.where(from_y != 0, -from_y, from_x)))
        along = jnp.where(slides, side * motion.speed, 0)
        push_x += short_divide(-from_y * along, divisor)
        push_y += short_divide(from_x * along, divisor)
        return push_x, push_y

    def by_both(number: Array) -> tuple[Array, Array]:
        (own_x, own_y), (other_x, other_y) = by(number, False), by(number, True)
        # Two of less than 2 * 1400 + 400 each, by the limits of radii and speeds.
        return unpacked(packed(own_x + other_x, own_y + other_y))

    def sums(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
        return one[0] + other[0], one[1] + other[1]

    return put_together(state.alive.shape[1], used(state.alive), by_both, sums, (0, 0))
