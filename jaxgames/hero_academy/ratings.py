"""How promising an action looks before it is tried, and the most promising one of a set.

`rating` values one action. `best` finds the first of the highest rated in a set without looking at them one by one: ratings
depend on the cell of the actor or of the target alone, so they are bit-sliced numbers per cell, and the highest is found digit
by digit, among all actions whose rating is made in the same way, and then among those.

(Source: Justesen et al., Playing Multi-Action Adversarial Games: Online Evolutionary Planning versus Tree Search, section IV,
and the released program, which sorts actions by them.)
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import sliced
from jaxgames.bits import Bits, lowest_bit, union
from jaxgames.fusion import boundary
from jaxgames.hero_academy import actions, cards, combat, units
from jaxgames.hero_academy.actions import DISTANCES, OFFSETS
from jaxgames.hero_academy.config import HeroAcademyConfig
from jaxgames.hero_academy.legal import Sides
from jaxgames.hero_academy.state import Board, State
from jaxgames.platforms import by_platform

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
RANK_BASE = 4096  # more than there are actions


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


Place = tuple[int, int, int, Bits]  # first word, direction from the cell of the set to that of the value, the actions


def best(config: HeroAcademyConfig, state: State, among: Bits) -> Array:
    """Gives the highest rated of a set of legal actions, of several the lowest number.

    Args:
      config: the variant.
      state: one game, with action points left; without, End Turn is all there is.
      among: see `actions`.

    Returns:
      int32 [], an action; of an empty set any number.
    """
    layout = actions.layout(config)
    parts = [functools.partial(part, config) for part in (_best_of_units, _best_of_cards)]

    def in_a_loop(*given: Any) -> Array:  # all in one kernel, a CPU's compiler works shared parts out over and over
        return jax.lax.map(lambda number: jax.lax.switch(number, parts, *given), jnp.arange(len(parts)))

    def in_a_row(*given: Any) -> Array:  # an accelerator asks the host which branch it is
        return jnp.stack([boundary(part(*given)) for part in parts])

    ranks = by_platform(state, among, cpu=in_a_loop, default=in_a_row)
    plain = among.words[layout.plain]
    deploys = plain & jnp.uint32((1 << actions.SWAP_CARD) - 1)
    trades = enumerate(among.words[layout.trade : layout.plain], layout.trade)
    deploy = _rank(DEPLOY + _BIAS, [(layout.plain, deploys)])
    worthless = _rank(_BIAS, [*trades, (layout.plain, plain ^ deploys)])
    return -functools.reduce(jnp.maximum, (*ranks, deploy, worthless)) & (RANK_BASE - 1)


def _rank(value: Array | int, words: Iterable[tuple[int, Array]]) -> Array:
    """The rank of the best of some actions, in numbered words of sets, int32 []; below all others if there is none.

    It is higher for a higher value, and among equals for a lower action.
    """
    lowest = lowest_bit(words, RANK_BASE)
    return jnp.where(lowest < RANK_BASE, (jnp.int32(value) << RANK_BASE.bit_length() - 1) - lowest, -1 << 30)


def _best_of_units(config: HeroAcademyConfig, state: State, among: Bits) -> Array:
    """The rank of the best action of a unit: it attacks, heals or moves."""
    grid, board, sides = config.grid, state.board, Sides(config, state)
    width = actions.layout(config).words
    clerics = sides.own_units & board.of_kind(units.CLERIC)
    attacks: list[Place] = []
    heals: list[Place] = []
    moves: list[Place] = []
    for number, ((right, down), distance) in enumerate(zip(OFFSETS, DISTANCES, strict=True)):
        word = number * width
        acting = Bits(among.words[word : word + width])
        attacked = acting & grid.translate(sides.targets, -down, -right)
        rest = acting - attacked
        attacks.append((word, 0, 0, attacked))
        if distance <= units.HEALING_RANGE:
            healing = rest & clerics & grid.translate(sides.occupied, -down, -right)
            heals.append((word, right, down, healing))
            rest = rest - healing
        moves.append((word, right, down, rest))
    most, lost = _most_and_lost_digits(board)
    heal = sliced.add(sliced.constants([(sides.fallen, REVIVE)]), sliced.keep(lost, board.alive))
    special = config.squares("dDSAP") - sides.occupied
    move = sliced.add(sliced.keep(sliced.add(most, most), sides.fallen), sliced.constants([(special, SPECIAL_SQUARE)]))
    groups = ((_power_digits(config, board, WIZARD_ATTACK), attacks), (heal, heals), (move, moves))
    return functools.reduce(jnp.maximum, (_best_of_group(config, digits, 0, places) for digits, places in groups))


def _best_of_cards(config: HeroAcademyConfig, state: State, among: Bits) -> Array:
    """The rank of the best card that is played on a cell: an inferno, a potion or equipment."""
    layout, board, sides = actions.layout(config), state.board, Sides(config, state)
    played: dict[int, Place] = {}
    for card in range(cards.NUM_UNIT_CARDS, cards.NUM_CARDS):
        word = layout.card_word(card)
        played[card] = (word, 0, 0, Bits(among.words[word : word + layout.words]))
    most, lost = _most_and_lost_digits(board)
    pieces = functools.reduce(sliced.add, (sliced.constants([(carriers, POTION_ITEM)]) for carriers in board.items))
    of_fallen = sliced.add(sliced.constants([(sides.fallen, -POTION)]), sliced.keep(sliced.add(most, pieces), sides.fallen))
    drink = sliced.add(of_fallen, sliced.keep(lost, board.alive))
    equip = sliced.keep(_power_digits(config, board, 0), config.grid.full - board.hurt)
    groups = (
        (_inferno_digits(config, sides, board), INFERNO, [played.pop(cards.INFERNO)]),
        (drink, POTION, [played.pop(cards.POTION)]),
        (equip, 0, list(played.values())),
    )
    return functools.reduce(jnp.maximum, (_best_of_group(config, *group) for group in groups))


def _best_of_group(config: HeroAcademyConfig, digits: Sequence[Bits], more: int, places: list[Place]) -> Array:
    """The rank of the best of some actions, whose ratings are numbers by cell and `more`."""
    grid = config.grid
    digits = boundary(tuple(digits))
    cells = boundary(union(grid.translate(part, down, right) for _, right, down, part in places))
    value, highest = boundary(sliced.highest(digits, cells))
    words: list[tuple[int, Array]] = []
    for start, right, down, part in places:
        words += enumerate((part & grid.translate(highest, -down, -right)).words, start)
    return _rank(value + (_BIAS + more), words)


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
    return sliced.constants(amounts)


def _most_and_lost_digits(board: Board) -> tuple[tuple[Bits, ...], tuple[Bits, ...]]:
    """Hit points at full health, and how many are lost."""
    most = _most_digits(board)
    lost, _ = sliced.subtract(most, sliced.keep(board.hit_points[: len(most)], board.occupied - board.crystals))
    return most, lost


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
    return sliced.constants(amounts)


def _inferno_digits(config: HeroAcademyConfig, sides: Sides, board: Board) -> tuple[Bits, ...]:
    """What an inferno on every cell would hit, in points of its rating."""
    grid = config.grid
    fallen = sides.other & sides.fallen
    most = sliced.keep(_most_digits(board), fallen)
    content = sliced.add(sliced.add(most, most), sliced.constants([(sides.targets, INFERNO_HIT)]))

    def spread(digits: Sequence[Bits], down: int, right: int) -> tuple[Bits, ...]:
        return tuple(grid.translate(plane, down, right) for plane in digits)

    wide = sliced.add(sliced.add(content, spread(content, 0, 1)), spread(content, 0, -1))
    return sliced.add(sliced.add(wide, spread(wide, 1, 0)), spread(wide, -1, 0))
