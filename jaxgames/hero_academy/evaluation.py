"""What a position is worth.

(Source: Justesen et al., Playing Multi-Action Adversarial Games: Online Evolutionary Planning versus Tree Search, section IV,
equation of the heuristic.)
"""

from __future__ import annotations

import functools
import operator

import jax.numpy as jnp
from jax import Array

from jaxgames.bits import Bits
from jaxgames.hero_academy import cards, units
from jaxgames.hero_academy.config import HeroAcademyConfig
from jaxgames.hero_academy.state import State


def points(config: HeroAcademyConfig, state: State) -> tuple[Array, Array]:
    """Gives the heuristic from the view of each player, int32 [] each (Justesen et al., Eq. 1-3, with the program's bonuses).

    Of a finished game +-60000 or 0. The two are opposite, but for `config.inferno_slip`.
    """
    material = _material(config, state)
    infernos = [cards.INFERNO_VALUE * _infernos(hand, deck) for hand, deck in zip(state.hands, state.decks, strict=True)]
    spread = infernos[0] - infernos[1]
    first, second = material + spread, (spread if config.inferno_slip else -spread) - material
    end = jnp.where(state.winner == 0, units.WIN_VALUE, jnp.where(state.winner == 1, -units.WIN_VALUE, 0))
    return jnp.where(state.terminated, end, first), jnp.where(state.terminated, -end, second)


def _infernos(hand: Array, deck: Array) -> Array:
    shift = cards.FIELD_BITS * cards.INFERNO
    return (((hand >> shift) & 3) + ((deck >> shift) & 3)).astype(jnp.int32)


def _material(config: HeroAcademyConfig, state: State) -> Array:
    """What the first player has on the board and in unit cards, less what the second has."""
    board = state.board

    def lead(cells: Bits) -> Array:
        return (cells - board.second).count() - (cells & board.second).count()

    terms = [lead(plane) << digit for digit, plane in enumerate(board.hit_points)]
    # A crystal has up(u) = 1 as long as it stands.
    terms.append(2 * int(units.BASE_HIT_POINTS[units.CRYSTAL]) * lead(board.crystals))
    for kind in units.UNITS:
        all_of_kind = board.of_kind(kind)
        living = all_of_kind & board.alive
        terms.append(int(units.BASE_HIT_POINTS[kind]) * (lead(all_of_kind) + lead(living)))
        for item, carriers in enumerate(board.items):
            value = int(units.ITEM_VALUE[kind, item])
            terms.append(value * (lead(all_of_kind & carriers) + lead(living & carriers)))
        for squares, values in (
            (config.assault, units.ASSAULT_VALUE),
            (config.defense, units.DEFENSE_VALUE),
            (config.power, units.POWER_VALUE),
        ):
            terms.append(int(values[kind]) * lead(living & squares))
    deploys = config.deploy[0] | config.deploy[1]
    terms.append(units.DEPLOY_VALUE * lead(board.occupied & board.alive & deploys))
    terms += [sign * _unit_cards(pile[seat]) for pile in (state.hands, state.decks) for seat, sign in ((0, 1), (1, -1))]
    return functools.reduce(operator.add, terms)


def _unit_cards(fields: Array) -> Array:
    """What the unit cards of a hand or deck are worth."""
    total = jnp.zeros_like(fields, jnp.int32)
    for card, value in enumerate(cards.UNIT_CARD_VALUE):
        total = total + int(value) * ((fields >> (cards.FIELD_BITS * card)) & 3).astype(jnp.int32)
    return total
