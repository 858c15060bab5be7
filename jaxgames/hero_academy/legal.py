"""Which actions are legal, and which of them planners look at.

(Source: Justesen et al., Playing Multi-Action Adversarial Games: Online Evolutionary Planning versus Tree Search, section III;
pruning as in the released program.)
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.bits import Bits, select, union
from jaxgames.hero_academy import actions, cards, units
from jaxgames.hero_academy.actions import DISTANCES, OFFSETS
from jaxgames.hero_academy.config import MOST_DEPLOY_SQUARES, HeroAcademyConfig
from jaxgames.hero_academy.state import State

# Cells between a unit and what it attacks, by the distances right and down. Living enemies there block the line of sight.
_BLOCKERS = {
    (2, 0): ((1, 0),),
    (0, 2): ((0, 1),),
    (3, 0): ((1, 0), (2, 0)),
    (0, 3): ((0, 1), (0, 2)),
    (2, 1): ((1, 0), (1, 1)),
    (1, 2): ((0, 1), (1, 1)),
}
_BLOCK = (-1, 0, 1)  # the three rows and columns that an inferno burns


class Sides:
    """Sets that the rules speak of, from the view of the player to move."""

    def __init__(self, config: HeroAcademyConfig, state: State) -> None:
        board = state.board
        self.second = state.player == 1
        self.occupied = board.occupied
        self.crystals = board.crystals
        self.own = select(self.second, board.second, self.occupied - board.second)
        self.other = self.occupied - self.own
        self.free = config.grid.full - self.occupied
        self.fallen = self.occupied - board.alive
        self.own_units = (self.own & board.alive) - self.crystals
        self.targets = self.other & board.alive
        first, second = config.deploy
        self.own_deploy = select(self.second, second, first)
        self.other_deploy = select(self.second, first, second)

    def mine(self, pair: tuple[Array, Array]) -> Array:
        """Chooses from (first player's, second player's)."""
        return jnp.where(self.second, pair[1], pair[0])


# Traced once per variant, as `rules.advance`.
@functools.partial(jax.jit, static_argnums=0, static_argnames="pruned")
def legal_set(config: HeroAcademyConfig, state: State, *, pruned: bool = False) -> Bits:
    """Gives the legal actions of the player to move, numbered as `actions` says; none after the end.

    Args:
      config: the variant.
      state: one game.
      pruned: without those that planners leave out: infernos that hit nothing, or nothing that another would not hit as well,
        and swaps of a card of which the hand holds only one.
    """
    sides = Sides(config, state)
    at_work = (state.action_points > 0) & ~state.terminated
    words = [*_unit_words(config, state, sides, at_work)]
    hand = jnp.where(at_work, sides.mine(state.hands), jnp.uint32(0))
    held = (hand | (hand >> 1)) & cards.LOW_BITS
    played = _card_words(config, state, sides, held, pruned)
    plain = _deploy_bits(config, sides, held) | _swap_bits(state, sides, hand, held, pruned)
    anything = plain
    for word in (*words, *played):
        anything = anything | word
    may_end = ~state.terminated if config.end_turn_early else (anything == 0) & ~state.terminated
    plain = plain | jnp.where(may_end, jnp.uint32(1 << actions.END_TURN), jnp.uint32(0))
    return Bits((*words, plain, *played))


def arm_set(config: HeroAcademyConfig, state: State) -> Bits:
    """Gives the pruned legal actions; all of them where the pruned ones would end the turn and the rules do not let it end."""
    pruned, legal = legal_set(config, state, pruned=True), legal_set(config, state)
    return select((pruned - legal).any(), legal, pruned)


def _unit_words(config: HeroAcademyConfig, state: State, sides: Sides, at_work: Array) -> list[Array]:
    """What units on the board may do: the sets of cells from which they act, by offset; then the ninja's exchanges."""
    grid, board = config.grid, state.board
    acting = sides.own_units.when(at_work)
    by_kind = {kind: acting & board.of_kind(kind) for kind in units.UNITS}
    clerics, ninjas = by_kind[units.CLERIC], by_kind[units.NINJA]
    enterable = (sides.free | sides.fallen) - sides.other_deploy
    healable = sides.own_units & board.hurt
    seen: dict[tuple[int, int], Bits] = {}

    def target_at(right: int, down: int) -> Bits:
        if (right, down) not in seen:
            seen[right, down] = grid.translate(sides.targets, -down, -right)
        return seen[right, down]

    def reaching(reach: np.ndarray, distance: int) -> Bits:
        able = [by_kind[kind] for kind in units.UNITS if reach[kind] >= distance]
        return union(able) if len(able) < len(units.UNITS) else acting

    distances = range(1, actions.REACH + 1)
    by_speed, by_range = ({each: reaching(reach, each) for each in distances} for reach in (units.SPEED, units.RANGE))
    words: list[Array] = []
    for (right, down), distance in zip(OFFSETS, DISTANCES, strict=True):
        attacked = target_at(right, down)
        for x, y in _BLOCKERS.get((abs(right), abs(down)), ()):
            attacked = attacked - target_at(x * _sign(right), y * _sign(down))
        able = by_speed[distance] & grid.translate(enterable, -down, -right) | by_range[distance] & attacked
        if distance <= units.HEALING_RANGE:
            able = able | clerics & grid.translate(healable, -down, -right)
        words += able.words
    return [*words, *(sides.own_units - ninjas).when(ninjas.any()).words]


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def _deploy_bits(config: HeroAcademyConfig, sides: Sides, held: Array) -> Array:
    """Unit cards on own deploy squares that are free or hold a knocked-down unit."""
    room = sides.free | sides.fallen
    total = jnp.uint32(0)
    first, second = config.deploy_cells
    for place, (mine, theirs) in enumerate(zip(first, second, strict=True)):
        is_free = jnp.where(sides.second, room.has(theirs), room.has(mine))
        for card in range(cards.NUM_UNIT_CARDS):
            bit = actions.DEPLOY + MOST_DEPLOY_SQUARES * card + place
            total = total | jnp.where(is_free, ((held >> (cards.FIELD_BITS * card)) & 1) << bit, jnp.uint32(0))
    return total


def _swap_bits(state: State, sides: Sides, hand: Array, held: Array, pruned: bool) -> Array:
    """Cards that may be put back: any, as long as the deck is not empty."""
    several = (hand >> 1) & cards.LOW_BITS  # two or three of a kind
    may_go = jnp.where(sides.mine(state.decks) != 0, several if pruned else held, jnp.uint32(0))
    total = jnp.uint32(0)
    for card in range(cards.NUM_CARDS):
        total = total | (((may_go >> (cards.FIELD_BITS * card)) & 1) << (actions.SWAP_CARD + card))
    return total


def _card_words(config: HeroAcademyConfig, state: State, sides: Sides, held: Array, pruned: bool) -> list[Array]:
    """Cards that are no units, by the cells on which they may be played."""
    board = state.board

    def holds(card: int) -> Array:
        return ((held >> (cards.FIELD_BITS * card)) & 1) != 0

    burnable = useful_infernos(config, sides.other) if pruned else jax.tree.map(jnp.asarray, config.grid.full)
    words = [
        *burnable.when(holds(cards.INFERNO)).words,
        *((sides.own - sides.crystals) & board.hurt).when(holds(cards.POTION)).words,
    ]
    for card, item in cards.ITEM_OF_CARD.items():
        words += (sides.own_units - board.items[item]).when(holds(card)).words
    return words


def useful_infernos(config: HeroAcademyConfig, content: Bits) -> Bits:
    """Leaves out infernos that hit nothing, or nothing that another would not hit as well.

    Of several that hit the same the lowest cell stays.

    Args:
      config: the variant.
      content: everything of the other player, knocked-down units too.
    """
    grid = config.grid
    columns = {x: union(grid.translate(content, -y, -x) for y in _BLOCK) for x in _BLOCK}
    rows = {y: union(grid.translate(content, -y, -x) for x in _BLOCK) for y in _BLOCK}
    dominated = grid.empty
    for down in range(-2, 3):
        for right in range(-2, 3):
            if (down, right) <= (0, 0):
                continue
            # What is lost by burning at the later cell instead, and the other way round seen from the earlier cell.
            loses = union([*_missed(columns, right), *_missed(rows, down), grid.empty])
            back = union([*_missed(columns, -right), *_missed(rows, -down), grid.empty])
            both = grid.translate(grid.full, -down, -right)  # cells whose partner is on the board
            back_here = grid.translate(back, -down, -right)
            later = (both & back_here) - loses  # the later cell hits more: this one goes
            earlier = both - back_here  # the later cell hits the same or less: it goes
            dominated = dominated | later | grid.translate(earlier, down, right)
    return union(rows.values()) - dominated


def _missed(lines: dict[int, Bits], shift: int) -> list[Bits]:
    """The lines of a block that are outside of the block moved by `shift`."""
    return [cells for line, cells in lines.items() if not -1 <= line - shift <= 1]
