"""The start of a game.

(Source: Justesen et al., Playing Multi-Action Adversarial Games: Online Evolutionary Planning versus Tree Search, section III,
and the released program.)
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.hero_academy import cards, draws, units
from jaxgames.hero_academy.config import HeroAcademyConfig
from jaxgames.hero_academy.state import Board, State


def init(config: HeroAcademyConfig, key: Array) -> State:
    """Deals first hands; crystals stand, and nothing else.

    Args:
      config: the variant.
      key: one key; by seeded draws it draws the seeds of both decks (0 to 999), else the hands.
    """
    keys = jax.random.split(key)
    if config.draws == "seeded":
        seeds = tuple(jax.random.randint(each, (), 0, cards.NUM_SEEDS, jnp.int32) for each in keys)
        return deal(config, (seeds[0], seeds[1]))
    hands = tuple(draws.first_hand(config, each) for each in keys)
    return start(config, (hands[0], hands[1]), (jnp.int32(0), jnp.int32(0)))


def deal(config: HeroAcademyConfig, seeds: tuple[Array, Array]) -> State:
    """Gives the start of the game that belongs to the seeds of both decks, int32 [] each, 0 to 999."""
    table_hands, table_seeds = draws.seeded_hands(config.deck)
    hands = tuple(jnp.asarray(table_hands)[seed] for seed in seeds)
    after = tuple(jnp.asarray(table_seeds)[seed] for seed in seeds)
    return start(config, (hands[0], hands[1]), (after[0], after[1]))


def start(config: HeroAcademyConfig, hands: tuple[Array, Array], seeds: tuple[Array, Array]) -> State:
    """Gives the first state with these hands (uint32 [] each) and deck seeds after the deal (int32 [] each)."""
    grid = config.grid
    ours, theirs = config.squares("c"), config.squares("C")
    crystals = ours | theirs
    empty = grid.empty

    def digits(number: int, count: int) -> tuple:
        return tuple(crystals if (number >> digit) & 1 else empty for digit in range(count))

    board = Board(
        kinds=digits(units.CRYSTAL, units.KIND_BITS),
        second=theirs,
        alive=crystals,
        hurt=empty,
        items=(empty,) * len(units.ITEM_NAMES),
        hit_points=digits(int(units.BASE_HIT_POINTS[units.CRYSTAL]), units.HIT_POINT_BITS),
    )
    deck = np.uint32(config.deck_word)
    return State(
        board=jax.tree.map(jnp.asarray, board),
        hands=hands,
        decks=(deck - hands[0], deck - hands[1]),
        seeds=seeds,
        player=jnp.int8(0),
        action_points=jnp.int8(config.first_action_points),
        turn=jnp.int16(1),
        winner=jnp.int8(-1),
        terminated=jnp.bool_(False),
        seat_rewards=(jnp.int8(0), jnp.int8(0)),
    )
