"""The order in which the released program lists actions: what a search that does not get through all of them comes to first.

(Source: Justesen et al., Playing Multi-Action Adversarial Games: Online Evolutionary Planning versus Tree Search, section IV,
and the released program.)
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.bitboard import Grid
from jaxgames.bits import Bits, select, union
from jaxgames.hero_academy import actions, cards, units
from jaxgames.hero_academy.actions import OFFSETS
from jaxgames.hero_academy.config import MOST_DEPLOY_SQUARES, HeroAcademyConfig
from jaxgames.hero_academy.legal import Sides
from jaxgames.hero_academy.state import State


def first_listed(config: HeroAcademyConfig, state: State, among: Bits) -> Array:
    """Gives the first of a set of legal actions in the released program's order.

    Units come before cards. Units, and what each acts on, go column by column from the left, each from the top; cards go by their
    number, each with its cells in the same order and its exchange for another one last; End Turn is the last of all. Deploy
    squares go by their number, row by row: on the board of the released program that is the same.

    Args:
      config: the variant.
      state: one game.
      among: see `actions`; not empty.

    Returns:
      int32 [], an action.
    """
    layout = actions.layout(config)
    of_unit = _first_of_units(config, state, among)
    of_card = _first_of_cards(config, among)
    nothing = Bits(tuple(jnp.zeros_like(word) for word in among.words))
    rest = Bits((*nothing.words[: layout.plain], among.words[layout.plain], *nothing.words[layout.plain + 1 :]))
    return select(of_unit.any(), of_unit, select(of_card.any(), of_card, rest)).first()


def _first_by_column(grid: Grid, cells: Bits) -> Bits:
    """The first cell column by column, as a set; empty if there is none."""
    left = jnp.int32(grid.columns)
    for column in reversed(range(grid.columns)):
        left = jnp.where(cells.overlaps(grid.column(column)), column, left)
    inside = union(grid.column(column).when(left == column) for column in range(grid.columns)) & cells
    return grid.one_hot(jnp.minimum(inside.first(), grid.num_cells - 1)) & cells


def _first_of_units(config: HeroAcademyConfig, state: State, among: Bits) -> Bits:
    """The first action of a unit; empty if there is none."""
    grid, layout = config.grid, actions.layout(config)
    sides = Sides(config, state)
    width = layout.words
    by_offset = [Bits(among.words[word : word + width]) for word in range(0, layout.trade, width)]
    trades = Bits(among.words[layout.trade : layout.plain])
    ninjas = sides.own_units & state.board.of_kind(units.NINJA)
    unit = _first_by_column(grid, union(by_offset) | ninjas.when(trades.any()))
    own = [cells & unit for cells in by_offset]
    trades = trades.when(unit.overlaps(ninjas))
    reached = [grid.translate(cells, down, right) for cells, (right, down) in zip(own, OFFSETS, strict=True)]
    target = _first_by_column(grid, union(reached) | trades)
    words = [word for cells, there in zip(own, reached, strict=True) for word in cells.when(there.overlaps(target)).words]
    words += (trades & target).words
    nothing = jnp.zeros_like(words[0])
    return Bits((*words, *[nothing] * (layout.num_words - len(words))))


def _first_of_cards(config: HeroAcademyConfig, among: Bits) -> Bits:
    """The first action with a card; empty if there is none."""
    layout = actions.layout(config)
    plain = among.words[layout.plain]
    nothing = jnp.zeros_like(plain)
    free = jnp.bool_(True)  # no card before has an action
    chosen, words = nothing, list[Array]()
    for card in range(cards.NUM_CARDS):
        exchange = plain & np.uint32(1 << (actions.SWAP_CARD + card))
        if card < cards.NUM_UNIT_CARDS:
            places = np.uint32(((1 << MOST_DEPLOY_SQUARES) - 1) << (actions.DEPLOY + MOST_DEPLOY_SQUARES * card))
            deploys = plain & places
            here = jnp.where(deploys != 0, deploys & -deploys, exchange)
        else:
            start = layout.card_word(card)
            cells = _first_by_column(config.grid, Bits(among.words[start : start + layout.words]))
            words += cells.when(free).words
            here = jnp.where(cells.any(), nothing, exchange)
            free = free & ~cells.any()
        chosen = chosen | jnp.where(free, here, nothing)
        free = free & (here == 0)
    return Bits((*[nothing] * layout.plain, chosen, *words))
