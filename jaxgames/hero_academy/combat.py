"""What actions of units and cards do to the board: power, damage, attacks with all that follows, healing, inferno.

(Source: Justesen et al., Playing Multi-Action Adversarial Games: Online Evolutionary Planning versus Tree Search, section III,
and the released program.)
"""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import sliced
from jaxgames.bits import Bits, select, union
from jaxgames.hero_academy import units
from jaxgames.hero_academy.config import HeroAcademyConfig
from jaxgames.hero_academy.legal import Sides
from jaxgames.hero_academy.state import Board, Unit

# Scores of the neighbours that lightning may jump to (right, down), if it does not go straight on; of equals the first.
_STRAIGHT_ON = 10
_JUMPS = {
    (right, down): 1 + 4 * (right == 0 or down == 0) + 2 * (down == -1) + (right == 1)
    for right in (-1, 0, 1)
    for down in (-1, 0, 1)
    if (right, down) != (0, 0)
}


def look_up(table: np.ndarray, kind: Array) -> Array:
    """Reads a table of numbers by kind (int32 []) by comparing, because a gather keeps the compiler from vectorizing."""
    numbers, counts = np.unique(table[1:], return_counts=True)
    common = numbers[counts.argmax()]
    result = jnp.full_like(kind, int(common))
    for number in numbers[numbers != common]:
        here = [kind == int(index) for index in np.flatnonzero(table == number) if index]
        for is_kind in here:
            result = jnp.where(is_kind, int(number), result)
    return result


def quotient(number: Array, divisor: int) -> Array:
    """Divides an int32 [] that is not negative: unsigned division by a constant is a multiplication."""
    unsigned = number.astype(jnp.uint32)
    return (unsigned // jnp.uint32(divisor)).astype(jnp.int32)


def most_hit_points(kind: Array, items: Array) -> Array:
    """Gives hit points at full health, int32 []."""
    pieces = ((items >> units.DRAGONSCALE) & 1) + ((items >> units.HELM) & 1)
    return look_up(units.BASE_HIT_POINTS, kind) + pieces * look_up(units.ARMOUR_HIT_POINTS, kind)


def power(config: HeroAcademyConfig, unit: Unit, cell: Array) -> Array:
    """Gives the power of a unit on a cell, for attack and heal, int32 []."""
    strength = look_up(units.POWER, unit.kind)
    strength = strength + jnp.where(unit.has(units.RUNEMETAL), strength >> 1, 0)
    strength = strength + jnp.where(config.power.has(cell), units.SQUARE_POWER, 0)
    return jnp.where(unit.has(units.SCROLL), units.SCROLL_FACTOR * strength, strength)


def damage(config: HeroAcademyConfig, strength: Array, attacker: Array, close: Array, target: Unit, cell: Array) -> Array:
    """Gives the damage of an attack before what assault squares add.

    Args:
      config: the variant.
      strength: int32 [], power of the attacker.
      attacker: int32 [], its kind.
      close: bool [], the target is next to it.
      target: what is attacked.
      cell: int32 [], where that stands.

    Returns:
      int32 [].
    """
    doubled = jnp.where(close, look_up(units.CLOSE_DOUBLED, attacker), look_up(units.FAR_DOUBLED, attacker))
    armour = jnp.where(target.has(units.DRAGONSCALE), units.ITEM_RESISTANCE, 0)
    armour = armour + jnp.where(config.defense.has(cell), units.SQUARE_RESISTANCE, 0)
    physical = look_up(units.PHYSICAL_RESISTANCE, target.kind) + armour
    helmet = jnp.where(target.has(units.HELM), units.ITEM_RESISTANCE, 0)
    magical = look_up(units.MAGICAL_RESISTANCE, target.kind) + helmet
    is_magical = (attacker == units.CLERIC) | (attacker == units.WIZARD)
    resistance = jnp.where(target.kind == units.CRYSTAL, 0, jnp.where(is_magical, magical, physical))
    return quotient(strength * doubled * (100 - resistance), 200)


def assault_bonus(config: HeroAcademyConfig, sides: Sides) -> Array:
    """Gives what own units on assault squares add to the damage of crystals, int32 []."""
    held = sides.own_units & config.assault
    if config.num_assault == 1:
        return jnp.where(held.any(), units.ASSAULT_BONUS, 0)
    return units.ASSAULT_BONUS * held.count()


def hit(target: Unit, lost: Array) -> tuple[Unit, Array]:
    """Takes hit points from a target. Returns what is left, and whether a crystal has fallen (bool [])."""
    left = target.hit_points - lost
    alive = left > 0
    after = target._replace(hit_points=jnp.maximum(left, 0), alive=alive, hurt=jnp.ones_like(alive))
    return after, ~alive & (target.kind == units.CRYSTAL)


def healed(target: Unit, strength: Array) -> Unit:
    """Lets a cleric of a power (int32 []) heal or revive its target."""
    return restored(target, target.hit_points + strength * jnp.where(target.alive, units.HEALING, units.REVIVING))


def potion(target: Unit) -> Unit:
    """Gives a potion to a unit."""
    more = jnp.where(target.alive, target.hit_points + units.POTION_HEALING, units.POTION_REVIVAL)
    return restored(target, more)


def equipped(target: Unit, item: Array) -> Unit:
    """Gives a piece of equipment (int32 [], its number) to a unit."""
    items = target.items | (1 << item)
    is_armour = (item == units.DRAGONSCALE) | (item == units.HELM)
    more = jnp.where(is_armour, quotient(target.hit_points, 10), 0)
    return restored(target._replace(items=items), target.hit_points + more)


def restored(target: Unit, hit_points: Array) -> Unit:
    """Sets the hit points of a unit (int32 []), at most to full health, and says whether some are still missing."""
    most = most_hit_points(target.kind, target.items)
    left = jnp.minimum(hit_points, most)
    return target._replace(hit_points=left, alive=jnp.ones_like(target.alive), hurt=left != most)


def knock_back_to(config: HeroAcademyConfig, sides: Sides, board: Board, cell: Array, right: Array, down: Array) -> Bits:
    """Gives the cell to which a knight pushes its target: none where it cannot go.

    Args:
      config: the variant.
      sides: of the player to move.
      board: before the attack.
      cell: int32 [], the target's.
      right: int32 [], the direction of the attack, one of the two is 0.
      down: int32 [].
    """
    grid = config.grid
    row, column = grid.row_of(cell) + down, grid.column_of(cell) + right
    inside = (row >= 0) & (row < grid.rows) & (column >= 0) & (column < grid.columns)
    to = grid.one_hot(row * grid.columns + column).when(inside)
    return to - (sides.occupied & board.alive) - sides.own_deploy


def lightning(
    config: HeroAcademyConfig,
    sides: Sides,
    board: Board,
    start: tuple[Array, Array, Array],
    strength: Array,
    bonus: Array,
) -> tuple[Board, Bits]:
    """Lets a wizard's lightning jump on from its first target.

    Args:
      config: the variant.
      sides: of the player to move, before the attack.
      board: after the first hit.
      start: cell of the first target and the direction from which it was hit (right, down), int32 [] each; the cell is -1 where
        no lightning is.
      strength: int32 [], power of the wizard, to whom near and far are the same.
      bonus: int32 [], added against crystals.

    Returns:
      The board, and crystals that have fallen (they still stand there).
    """
    grid = config.grid
    cell, right, down = start
    going = cell >= 0
    fallen = grid.empty
    attacker = jnp.full_like(cell, units.WIZARD)
    for share, whole in units.CHAIN:
        row, column = grid.row_of(cell), grid.column_of(cell)
        best = jnp.zeros_like(cell)
        to, to_right, to_down = cell, right, down
        for (x, y), score in _JUMPS.items():
            onto_row, onto_column = row + y, column + x
            inside = (onto_row >= 0) & (onto_row < grid.rows) & (onto_column >= 0) & (onto_column < grid.columns)
            target = jnp.clip(cell + y * grid.columns + x, 0, grid.num_cells - 1)
            is_back = (right == -x) & (down == -y)
            found = inside & ~is_back & sides.targets.has(target)
            worth = jnp.where(found, jnp.where((right == x) & (down == y), _STRAIGHT_ON, score), 0)
            better = worth > best
            best = jnp.maximum(best, worth)
            to, to_right, to_down = select(better, (target, jnp.int32(x), jnp.int32(y)), (to, to_right, to_down))
        going = going & (best > 0)
        cell, right, down = to, to_right, to_down
        target_unit = board.read(jnp.clip(cell, 0, grid.num_cells - 1))
        lost = damage(config, strength, attacker, jnp.zeros_like(going), target_unit, cell)
        lost = quotient(lost * share, whole) + jnp.where(target_unit.kind == units.CRYSTAL, bonus, 0)
        after, falls = hit(target_unit, lost)
        spot = grid.one_hot(cell).when(going)
        board = board.write_hit_points(spot, after.hit_points)
        fallen = fallen | spot.when(falls)
    return board, fallen


def burn(config: HeroAcademyConfig, sides: Sides, board: Board, spot: Bits, bonus: Array) -> tuple[Board, Bits]:
    """Lets an inferno burn the block around a cell (the set of it; empty: nothing burns).

    All units of one kind of resistance lose the same, so that hit points are subtracted digit by digit on whole sets.

    Returns:
      The board, and what is to be removed: knocked-down units of the other and crystals that have fallen.
    """
    grid = config.grid
    wide = spot | grid.translate(spot, 0, 1) | grid.translate(spot, 0, -1)
    block = wide | grid.translate(wide, 1, 0) | grid.translate(wide, -1, 0)
    struck = sides.targets & block
    crystals = struck & sides.crystals
    wizards = (struck & board.kinds[2]) - board.kinds[1] - board.kinds[0]
    helmets = struck & board.items[units.HELM]
    of_wizards = int(units.MAGICAL_RESISTANCE[units.WIZARD])
    groups: list[tuple[Bits, int]] = [
        (struck - wizards - helmets - crystals, 0),
        (wizards - helmets, of_wizards),
        (helmets - wizards, units.ITEM_RESISTANCE),
        (wizards & helmets, of_wizards + units.ITEM_RESISTANCE),
    ]
    amounts = [(cells, units.INFERNO_DAMAGE * (100 - resistance) // 100) for cells, resistance in groups]
    for held in range(config.num_assault + 1):
        here = crystals.when(bonus == units.ASSAULT_BONUS * held)
        amounts.append((here, units.INFERNO_DAMAGE + units.ASSAULT_BONUS * held))
    left, negative = sliced.subtract(board.hit_points, sliced.constants(amounts))
    dead = struck & (negative | (struck - union(left)))
    burnt = dataclasses.replace(
        board,
        alive=board.alive - dead,
        hurt=board.hurt | struck,
        hit_points=sliced.drop(left, dead),
    )
    return burnt, (sides.fallen & sides.other & block) | (dead & crystals)
