"""How promising an action looks before it is tried, and the most promising one of a set.

`rating` values one action. `best` finds the first of the highest rated in a set without looking at them one by one: ratings
depend on the cell of the actor or of the target alone, so they are bit-sliced numbers per cell, and the highest is found digit
by digit.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.bitboard import Bits, select, sliced_add, sliced_constants, sliced_keep, sliced_subtract, union
from jaxgames.hero_academy import actions, cards, combat, units
from jaxgames.hero_academy.actions import DISTANCES, OFFSETS
from jaxgames.hero_academy.config import HeroAcademyConfig
from jaxgames.hero_academy.legal import Sides
from jaxgames.hero_academy.state import Board, State

DEPLOY = 200
WIZARD_ATTACK = 200  # more than its power
REVIVE = 1400
SPECIAL_SQUARE = 30
INFERNO = -500
INFERNO_HIT = 300
POTION = -300
POTION_ITEM = 200  # per piece of equipment of a knocked-down unit
END_TURN = 10_000  # with no action points left

_BIAS = 512  # makes all ratings positive
_DIGITS = 15  # of the highest rating: an inferno on nine knocked-down knights


def rating(config: HeroAcademyConfig, state: State, action: Array) -> Array:
    """Gives the rating of a legal action (int32 []) by which planners sort, int32 []."""
    grid, board, sides = config.grid, state.board, Sides(config, state)
    what = actions.layout(config).parse(action)
    there = jnp.where(what.is_unit, what.cell + what.down * grid.columns + what.right, what.cell)
    here, there = (jnp.clip(cell, 0, grid.num_cells - 1) for cell in (what.cell, there))
    actor, target = board.read(here), board.read(there)
    most = combat.most_hit_points(target.kind, target.items)
    stands = target.kind != units.EMPTY
    fallen = stands & ~target.alive
    is_other = stands & (target.second != sides.second)
    near = jnp.abs(what.right) + jnp.abs(what.down) <= units.HEALING_RANGE

    attack = combat.power(config, actor, here) + jnp.where(actor.kind == units.WIZARD, WIZARD_ATTACK, 0)
    special = config.squares("dDSAP").has(there)
    move = jnp.where(fallen, 2 * most, jnp.where(special, SPECIAL_SQUARE, 0))
    heals = (actor.kind == units.CLERIC) & near & stands
    heal = jnp.where(fallen, REVIVE, most - target.hit_points)
    of_unit = jnp.where(is_other & target.alive, attack, jnp.where(heals, heal, move))

    pieces = sum(target.has(item).astype(jnp.int32) for item in range(len(units.ITEM_NAMES)))
    potion = jnp.where(target.alive, most - target.hit_points + POTION, most + POTION_ITEM * pieces)
    equip = jnp.where(target.hit_points == most, combat.power(config, target, there), 0)
    fire = _inferno_digits(config, sides, board)
    spot = grid.one_hot(there)
    inferno = sum(jnp.where(plane.overlaps(spot), 1 << digit, 0) for digit, plane in enumerate(fire)) + INFERNO
    of_card = jnp.where(what.card == cards.INFERNO, inferno, jnp.where(what.card == cards.POTION, potion, equip))

    end = jnp.where(state.action_points == 0, END_TURN, 0)
    plain = jnp.where(what.is_deploy, DEPLOY, jnp.where(what.is_end, end, 0))
    return jnp.where(what.is_unit, of_unit, jnp.where(what.is_card, of_card, plain)).astype(jnp.int32)


def best(config: HeroAcademyConfig, state: State, among: Bits) -> Array:
    """Gives the highest rated of a set of legal actions, of several the lowest number.

    Args:
      config: the variant.
      state: one game, with action points left; without, End Turn is all there is.
      among: see `actions`; not empty.

    Returns:
      int32 [], an action.
    """
    grid, sides = config.grid, Sides(config, state)
    layout = actions.layout(config)
    groups = _groups(config, layout, state, sides, among)
    values = _highest([(digits, cells) for digits, cells, _ in groups])
    plain = among.words[layout.plain]
    trades = among.words[layout.trade : layout.plain]
    deploys = plain & jnp.uint32((1 << actions.SWAP_CARD) - 1)
    others = plain ^ deploys
    worthless = functools.reduce(jnp.bitwise_or, (others, *trades)) != 0
    highest = jnp.where(deploys != 0, DEPLOY + _BIAS, jnp.where(worthless, _BIAS, -1))
    highest = functools.reduce(jnp.maximum, (value for value, _ in values), highest)
    words: list[Array] = [jnp.zeros_like(word) for word in among.words]
    for (value, cells), (_, _, places) in zip(values, groups, strict=True):
        kept = cells.when(value == highest)
        for start, right, down, part in places:
            here = part & grid.translate(kept, -down, -right)
            for number, word in enumerate(here.words):
                words[start + number] = words[start + number] | word
    for number, word in enumerate(trades, layout.trade):
        words[number] = jnp.where(highest == _BIAS, word, jnp.uint32(0))
    words[layout.plain] = jnp.where(highest == DEPLOY + _BIAS, deploys, jnp.where(highest == _BIAS, others, jnp.uint32(0)))
    return Bits(tuple(words)).first()


Place = tuple[int, int, int, Bits]  # first word, direction from the cell of the set to that of the value, the actions
Group = tuple[Sequence[Bits], Bits, list[Place]]  # values by cell, cells of interest, actions there


def _groups(config: HeroAcademyConfig, layout: actions.Layout, state: State, sides: Sides, among: Bits) -> list[Group]:
    """Sorts a set of actions by what their rating depends on."""
    grid, board, width = config.grid, state.board, layout.words

    def part(word: int) -> Bits:
        return Bits(among.words[word : word + width])

    clerics = sides.own_units & board.of_kind(units.CLERIC)
    attacks: list[Place] = []
    heals: list[Place] = []
    moves: list[Place] = []
    for number, ((right, down), distance) in enumerate(zip(OFFSETS, DISTANCES, strict=True)):
        word = number * width
        acting = part(word)
        attacked = acting & grid.translate(sides.targets, -down, -right)
        rest = acting - attacked
        healing = rest & clerics & grid.translate(sides.occupied, -down, -right) if distance <= units.HEALING_RANGE else None
        attacks.append((word, 0, 0, attacked))
        moves.append((word, right, down, rest if healing is None else rest - healing))
        if healing is not None:
            heals.append((word, right, down, healing))
    cells_of = functools.partial(_cells_of, config)
    most = _most_digits(board)
    lost, _ = sliced_subtract(most, sliced_keep(board.hit_points[: len(most)], board.occupied - board.crystals))
    fallen = sides.fallen
    bias = [(config.grid.full, _BIAS)]
    attack_values = _power_digits(config, board, WIZARD_ATTACK)
    heal_values = sliced_add(sliced_constants([(fallen, REVIVE)]), sliced_keep(lost, board.alive))
    special = config.squares("dDSAP") - sides.occupied
    twice = sliced_keep(sliced_add(most, most), fallen)
    move_values = sliced_add(twice, sliced_constants([(special, SPECIAL_SQUARE)]))
    groups: list[Group] = [
        (sliced_add(attack_values, sliced_constants(bias)), cells_of(attacks), attacks),
        (sliced_add(heal_values, sliced_constants(bias)), cells_of(heals), heals),
        (sliced_add(move_values, sliced_constants(bias)), cells_of(moves), moves),
    ]
    first_card = layout.plain + 1
    played: dict[int, Place] = {}
    for card in range(cards.NUM_UNIT_CARDS, cards.NUM_CARDS):
        word = first_card + (card - cards.NUM_UNIT_CARDS) * width
        played[card] = (word, 0, 0, part(word))
    infernos, potions = [played.pop(cards.INFERNO)], [played.pop(cards.POTION)]
    equipment = list(played.values())
    fire = sliced_add(_inferno_digits(config, sides, board), sliced_constants([(grid.full, _BIAS + INFERNO)]))
    pieces = functools.reduce(sliced_add, (sliced_constants([(carriers, POTION_ITEM)]) for carriers in board.items))
    of_fallen = sliced_add(
        sliced_constants([(fallen, -POTION)]), sliced_add(sliced_keep(most, fallen), sliced_keep(pieces, fallen))
    )
    drink = sliced_add(of_fallen, sliced_keep(lost, board.alive))
    drink = sliced_add(drink, sliced_constants([(grid.full, _BIAS + POTION)]))
    equip = sliced_add(sliced_keep(_power_digits(config, board, 0), grid.full - board.hurt), sliced_constants(bias))
    groups += [
        (fire, cells_of(infernos), infernos),
        (drink, cells_of(potions), potions),
        (equip, cells_of(equipment), equipment),
    ]
    return groups


def _cells_of(config: HeroAcademyConfig, places: list[Place]) -> Bits:
    """The cells by which places are valued."""
    return union(config.grid.translate(cells, down, right) for _, right, down, cells in places)


def _highest(groups: list[tuple[Sequence[Bits], Bits]]) -> list[tuple[Array, Bits]]:
    """Finds the highest number on each set of cells. Returns it (int32 [], -1 for an empty set) and the cells that have it."""
    zero = jnp.zeros_like(groups[0][1].words[0])
    width = len(groups[0][1].words)
    rows = [
        [plane.words[i] for plane in digits[:_DIGITS]] + [zero] * (_DIGITS - len(digits))
        for digits, _ in groups
        for i in range(width)
    ]
    # A loop, because the compiler works a chain of digits out once per use of every link.
    by_digit = [jnp.stack(row[::-1]) for row in jax.lax.optimization_barrier(rows)]

    def next_digit(carry: tuple[list[Bits], list[Array]], planes: list[Array]) -> tuple[tuple[list[Bits], list[Array]], None]:
        kept, values = [], []
        for number, (cells, value) in enumerate(zip(*carry, strict=True)):
            high = cells & Bits(tuple(planes[width * number : width * (number + 1)]))
            some = high.any()
            kept.append(select(some, high, cells))
            values.append((value << 1) | some.astype(jnp.int32))
        return (kept, values), None

    start = ([cells for _, cells in groups], [zero.astype(jnp.int32)] * len(groups))
    (kept, values), _ = jax.lax.scan(next_digit, start, by_digit)
    return [
        (jnp.where(cells.any(), value, -1), best_cells)
        for (_, cells), value, best_cells in zip(groups, values, kept, strict=True)
    ]


# --- numbers by cell ----------------------------------------------------------------------------------------------------


def _most_digits(board: Board) -> tuple[Bits, ...]:
    """Hit points at full health."""
    dragons, helms = board.items[units.DRAGONSCALE], board.items[units.HELM]
    one, two = dragons ^ helms, dragons & helms
    amounts = []
    standing = board.occupied - board.crystals
    knights = board.of_kind(units.KNIGHT)
    for cells, kind in ((knights, units.KNIGHT), (standing - knights, units.ARCHER)):
        base, more = int(units.BASE_HIT_POINTS[kind]), int(units.ARMOUR_HIT_POINTS[kind])
        amounts += [(cells - one - two, base), (cells & one, base + more), (cells & two, base + 2 * more)]
    return sliced_constants(amounts)


def _power_digits(config: HeroAcademyConfig, board: Board, wizards_more: int) -> tuple[Bits, ...]:
    """Power of every unit on its cell."""
    archers, wizards = board.of_kind(units.ARCHER), board.of_kind(units.WIZARD)
    standing = board.occupied - board.crystals
    amounts = []
    for cells, kind in ((archers, units.ARCHER), (wizards, units.WIZARD), (standing - archers - wizards, units.KNIGHT)):
        base = int(units.POWER[kind])
        for runemetal in (False, True):
            with_rune = cells & board.items[units.RUNEMETAL] if runemetal else cells - board.items[units.RUNEMETAL]
            for square in (False, True):
                on_square = with_rune & config.power if square else with_rune - config.power
                for scroll in (False, True):
                    those = on_square & board.items[units.SCROLL] if scroll else on_square - board.items[units.SCROLL]
                    strength = base + (base // 2 if runemetal else 0) + (units.SQUARE_POWER if square else 0)
                    strength *= units.SCROLL_FACTOR if scroll else 1
                    amounts.append((those, strength + (wizards_more if kind == units.WIZARD else 0)))
    return sliced_constants(amounts)


def _inferno_digits(config: HeroAcademyConfig, sides: Sides, board: Board) -> tuple[Bits, ...]:
    """What an inferno on every cell would hit, in points of its rating."""
    grid = config.grid
    fallen = sides.other & sides.fallen
    most = sliced_keep(_most_digits(board), fallen)
    content = sliced_add(sliced_add(most, most), sliced_constants([(sides.targets, INFERNO_HIT)]))

    def spread(digits: Sequence[Bits], down: int, right: int) -> tuple[Bits, ...]:
        return tuple(grid.translate(plane, down, right) for plane in digits)

    wide = sliced_add(sliced_add(content, spread(content, 0, 1)), spread(content, 0, -1))
    return sliced_add(sliced_add(wide, spread(wide, 1, 0)), spread(wide, -1, 0))
