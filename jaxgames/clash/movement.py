"""Walking, flying, and pushing each other away."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

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
from jaxgames.clash.integers import divide, root, square
from jaxgames.clash.kinds import Places, places_of
from jaxgames.clash.state import State
from jaxgames.clash.tables import UnitColumns
from jaxgames.clash.targeting import Aim

SOUTH, NORTH = RIVER


class Motion(NamedTuple):
    """Steps of units in a tick, int32 [2, H]; moves: bool, units that walk or fly."""

    moves: Array
    x: Array
    y: Array
    speed: Array


def flies(kinds: UnitColumns) -> Array:
    """bool [2, H]."""
    return (kinds.layer & (AIR | AIR_BUILDING)) != 0


def walk(kinds: UnitColumns, places: Places, aim: Aim, speed: Array) -> Motion:
    """Walks toward targets (step 7 of a tick), on the ground over bridges.

    Args:
      kinds: of the units.
      places: where they are.
      aim: where they want to go.
      speed: int32 [2, H].
    """
    moves = aim.acting & (speed > 0) & ~aim.attacking & (aim.target >= 0)
    goal_x, goal_y = _waypoint(kinds, places, aim)
    way_x, way_y = goal_x - places.x, goal_y - places.y
    length = root(square(way_x) + square(way_y))
    arrives = length <= speed
    divisor = jnp.maximum(length, 1)
    step_x = jnp.where(arrives, way_x, divide(way_x * speed, divisor))
    step_y = jnp.where(arrives, way_y, divide(way_y * speed, divisor))
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
    low, high = _bridge(x)
    goal_between = (goal_y > SOUTH) & (goal_y < NORTH)
    on_x = jnp.where(goal_between, goal_x, jnp.clip(x, low, high))
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
      push_x, push_y: int32 [2, H], by which spells move them.

    Returns:
      x, y: int32 [2, H].
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
    low, high = _bridge(places.x)
    bank = jnp.where(places.y <= SOUTH, SOUTH, NORTH)
    return jnp.where(wet & was_on, jnp.clip(x, low, high), x), jnp.where(wet & ~was_on, bank, y)


def _push(state: State, kinds: UnitColumns, places: Places, motion: Motion) -> tuple[Array, Array]:
    """Sums the pushes on each unit: out of what it overlaps by its share, and aside where it walks into something.

    Returns int32 [2, H], x and y.
    """
    slots = state.alive.shape[-1]
    solid = jnp.where(state.alive, jnp.where(flies(kinds), 2, 1), 0)
    fixed = (kinds.layer & (GROUND_BUILDING | AIR_BUILDING)) != 0

    def both(values: Array) -> Array:
        """[2, 1, 2H]: of the own units, then of the other's."""
        return jnp.concatenate([values, values[::-1]], axis=1)[:, None, :]

    def own(values: Array) -> Array:
        return values[:, :, None]

    from_x = own(places.x) - jnp.concatenate([places.x, places.other_x], axis=1)[:, None, :]
    from_y = own(places.y) - jnp.concatenate([places.y, places.other_y], axis=1)[:, None, :]
    first, second = np.arange(slots)[:, None], np.arange(2 * slots)
    enemy = second >= slots
    squared = square(from_x) + square(from_y)
    radii = own(kinds.radius) + both(kinds.radius)
    meets = (own(solid) == both(solid)) & (squared < square(radii)) & (own(solid) > 0) & (first != second)
    distance = root(jnp.where(meets, squared, 0))
    depth = jnp.where(meets, radii - distance, 0)
    divisor = jnp.maximum(distance, 1)
    masses = jnp.maximum(own(kinds.mass) + both(kinds.mass), 1)
    share = jnp.where(both(fixed), depth, divide(depth * both(kinds.mass), masses))
    same = meets & (squared == 0)
    aside = np.where(enemy, 0, np.where(first < second, -1, 1)).astype(np.int32)
    back = np.where(enemy, -1, 0).astype(np.int32)
    push_x = divide(jnp.where(same, aside, jnp.where(meets, from_x, 0)) * share, divisor)
    push_y = divide(jnp.where(same, back, jnp.where(meets, from_y, 0)) * share, divisor)
    against = own(motion.x) * from_x + own(motion.y) * from_y < 0
    slides = meets & own(motion.moves) & (both(fixed) | enemy) & against
    across = own(motion.y) * from_x - own(motion.x) * from_y
    side = jnp.sign(jnp.where(across != 0, across, jnp.where(from_y != 0, -from_y, from_x)))
    along = jnp.where(slides, side * own(motion.speed), 0)
    push_x += jnp.where(meets, divide(-from_y * along, divisor), 0)
    push_y += jnp.where(meets, divide(from_x * along, divisor), 0)
    return _sums(push_x, push_y)


def _sums(first: Array, second: Array) -> tuple[Array, Array]:
    """Sums two arrays over their last axis in one go, as they come from the same work."""
    zero = jnp.int32(0)
    one, two = lax.reduce((first, second), (zero, zero), lambda a, b: (a[0] + b[0], a[1] + b[1]), (first.ndim - 1,))
    return one, two
