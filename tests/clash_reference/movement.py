"""Where units go: the way over the bridges, pushing and sliding past each other, bounds and river."""

from __future__ import annotations

import dataclasses
from math import isqrt

from tests.clash_reference.objects import Unit
from tests.clash_reference.tables import (
    BRIDGE_INSET,
    BRIDGES,
    HEIGHT,
    MAX_PUSH,
    NORTH_BANK,
    SOUTH_BANK,
    WIDTH,
    clip,
    distance,
    sign,
    tdiv,
    turn,
)


@dataclasses.dataclass
class Motion:
    """A unit in the course of one tick: where it has moved to, how fast, and the sum of what pushes it."""

    unit: Unit
    x: int
    y: int
    vx: int = 0
    vy: int = 0
    moves: bool = False
    push_x: int = 0
    push_y: int = 0


def waypoint(unit: Unit, goal_x: int, goal_y: int) -> tuple[int, int]:
    """Where a unit heads for on its way to the goal."""
    if unit.type.flying:
        return goal_x, goal_y
    if unit.in_river:
        low, high = BRIDGES[0] if unit.on_left_bridge else BRIDGES[1]
        if goal_y >= NORTH_BANK:
            return clip(unit.x, low, high), NORTH_BANK
        if goal_y <= SOUTH_BANK:
            return clip(unit.x, low, high), SOUTH_BANK
        return goal_x, goal_y
    south = unit.y <= SOUTH_BANK
    if south and goal_y > SOUTH_BANK:
        return _bridge_head(unit, goal_x, goal_y, SOUTH_BANK, NORTH_BANK)
    if not south and goal_y < NORTH_BANK:
        return _bridge_head(unit, goal_x, goal_y, NORTH_BANK, SOUTH_BANK)
    return goal_x, goal_y


def _bridge_head(unit: Unit, goal_x: int, goal_y: int, near: int, far: int) -> tuple[int, int]:
    own_left_first = BRIDGES if unit.player == 0 else BRIDGES[::-1]
    ways = []
    for low, high in own_left_first:
        x = unit.x if low <= unit.x <= high else clip(unit.x, low + BRIDGE_INSET, high - BRIDGE_INSET)
        ways.append((distance(unit.x, unit.y, x, near) + distance(goal_x, goal_y, x, far), x))
    _, x = min(ways, key=lambda way: way[0])  # the first of equals
    return (x, far) if unit.x == x else (x, near)


def velocity(unit: Unit, goal: Unit) -> tuple[int, int]:
    """The step of one tick toward the goal."""
    x, y = waypoint(unit, goal.x, goal.y)
    dx, dy = x - unit.x, y - unit.y
    length = isqrt(dx * dx + dy * dy)
    if length <= unit.speed:
        return dx, dy
    return tdiv(dx * unit.speed, length), tdiv(dy * unit.speed, length)


def set_out(unit: Unit, goal: Unit | None) -> Motion:
    """The motion of a unit that walks toward the goal, or stands where it has none."""
    if goal is None:
        return Motion(unit, unit.x, unit.y)
    vx, vy = velocity(unit, goal)
    return Motion(unit, unit.x + vx, unit.y + vy, vx, vy, moves=True)


def push_apart(motions: list[Motion]) -> None:
    """Adds to every mobile unit what all that it overlaps with does to it."""
    for flying in (False, True):
        layer = [motion for motion in motions if motion.unit.type.flying == flying]
        for index, one in enumerate(layer):
            for other in layer[index + 1 :]:
                squared = (one.x - other.x) ** 2 + (one.y - other.y) ** 2
                if squared < (one.unit.type.radius + other.unit.type.radius) ** 2:
                    _push(one, other, squared)
                    _push(other, one, squared)


def _push(motion: Motion, other: Motion, squared: int) -> None:
    unit, obstacle = motion.unit, other.unit
    if not unit.mobile:
        return
    dx, dy, touching = motion.x - other.x, motion.y - other.y, unit.type.radius + obstacle.type.radius
    length = isqrt(squared)
    share = touching - length
    if not obstacle.type.is_building:
        share = share * obstacle.type.mass // (unit.type.mass + obstacle.type.mass)
    if squared == 0:
        away_x, away_y = _way_out(unit, obstacle)
        motion.push_x += away_x * share
        motion.push_y += away_y * share
        return
    motion.push_x += tdiv(dx * share, max(length, 1))
    motion.push_y += tdiv(dy * share, max(length, 1))
    blocked = motion.moves and motion.vx * dx + motion.vy * dy < 0
    if blocked and (obstacle.type.is_building or obstacle.player != unit.player):
        _slide(motion, dx, dy, length)


def _way_out(unit: Unit, obstacle: Unit) -> tuple[int, int]:
    """The direction in which a unit leaves one at exactly its own position."""
    if unit.player != obstacle.player:
        return turn(unit.player, 0, -1)
    return turn(unit.player, -1 if unit.slot < obstacle.slot else 1, 0)


def _slide(motion: Motion, dx: int, dy: int, length: int) -> None:
    unit = motion.unit
    side_x, side_y = -dy, dx
    right, forward = turn(unit.player, 1, 0), turn(unit.player, 0, 1)
    side = (
        sign(side_x * motion.vx + side_y * motion.vy)
        or sign(side_x * right[0] + side_y * right[1])
        or sign(side_x * forward[0] + side_y * forward[1])
    )
    motion.push_x += side * tdiv(side_x * unit.speed, max(length, 1))
    motion.push_y += side * tdiv(side_y * unit.speed, max(length, 1))


def resting_place(motion: Motion, knock: tuple[int, int]) -> tuple[int, int]:
    """Where a unit ends the tick: pushed, knocked back, inside the arena, not in the water."""
    unit, radius = motion.unit, motion.unit.type.radius
    if not unit.mobile:
        return unit.x, unit.y
    x = motion.x + clip(motion.push_x, -MAX_PUSH, MAX_PUSH) + knock[0]
    y = motion.y + clip(motion.push_y, -MAX_PUSH, MAX_PUSH) + knock[1]
    x, y = clip(x, radius, WIDTH - radius), clip(y, radius, HEIGHT - radius)
    wet = SOUTH_BANK < y < NORTH_BANK and not any(low <= x <= high for low, high in BRIDGES)
    if unit.type.flying or not wet:
        return x, y
    if unit.in_river:
        low, high = BRIDGES[0] if unit.on_left_bridge else BRIDGES[1]
        return clip(x, low, high), y
    return x, SOUTH_BANK if unit.y <= SOUTH_BANK else NORTH_BANK
