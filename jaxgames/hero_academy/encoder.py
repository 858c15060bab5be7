"""What networks are shown of Hero Academy: an observation as planes, from the left; an output per action that there can be.

Planes are computed from an `Observation` and nothing else, so that what a player cannot see cannot enter them. The second player
sees the board mirrored, so that both have their own side on the left. The rules have no symmetry: squares differ from top to
bottom, and lightning chooses between cells by their direction.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import sliced
from jaxgames.bits import WORD_BITS, select
from jaxgames.encoder import Encoder
from jaxgames.fusion import worked_out
from jaxgames.hero_academy import actions, cards, hidden, units
from jaxgames.hero_academy.actions import OFFSETS
from jaxgames.hero_academy.config import HeroAcademyConfig
from jaxgames.hero_academy.game import HeroAcademy
from jaxgames.hero_academy.observation import Observation

_SQUARES = ("own deploy", "other deploy", "assault", "defense", "power")
_THINGS = tuple(f"{side} {name}" for side in ("own", "other") for name in units.UNIT_NAMES[1:])
_STATES = ("knocked down", "hurt", *units.ITEM_NAMES, "hit points")
_PILES = tuple(f"{pile}: {card}" for pile in ("own hand", "own deck", "other hand", "other cards") for card in cards.CARD_NAMES)
_NUMBERS = ("other hand size", "action points", "turn", "own turn", "second player")
CHANNELS = (*_SQUARES, *_THINGS, *_STATES, *_PILES, *_NUMBERS)

HIT_POINTS_UNIT = 1000  # hit points are shown in thousands


@functools.cache
def encoder(game: HeroAcademy) -> Encoder:
    """Makes the encoder. A view is an observation; outputs are the actions that are possible in some state, in their order."""
    config = game.config
    action_of = output_actions(config)
    output_of = np.full((2, game.num_actions), -1, np.int32)
    for seat in (0, 1):
        output_of[seat, action_of[seat]] = np.arange(action_of.shape[1])

    def look_up(table: np.ndarray, numbers: Array, seat: Array, outside: int) -> Array:
        numbers = jnp.asarray(numbers)
        inside = (numbers >= 0) & (numbers < table.shape[1])
        found = jnp.where(seat == 1, table[1], table[0])[jnp.where(inside, numbers, 0)]
        return jnp.where(inside, found, outside).astype(jnp.int32)

    def legal(seen: Observation) -> Array:
        of_mover = game.legal_set(hidden.state_of(seen, seen.other_hand, seen.seeds))
        words = worked_out(jnp.stack(of_mover.words))
        asked = jnp.where(seen.viewer == 1, action_of[1], action_of[0])
        found = (words[asked // WORD_BITS] >> (asked % WORD_BITS).astype(jnp.uint32)) & 1
        return (found != 0) & (seen.player == seen.viewer)

    return Encoder(
        name="observation",
        shape=(config.grid.rows, config.grid.columns, len(CHANNELS)),
        channels=CHANNELS,
        num_outputs=action_of.shape[1],
        view=game.observe,
        planes=lambda seen: planes_of(config, seen),
        legal=legal,
        outputs=lambda actions, seat: look_up(output_of, actions, seat, -1),
        actions=lambda outputs, seat: look_up(action_of, outputs, seat, game.pass_action),
        num_symmetries=1,
        transform_planes=lambda planes, which: planes,
        transform_outputs=lambda per_output, which: per_output,
        shows_observation=True,
        bounds=(0, math.inf),
    )


def output_actions(config: HeroAcademyConfig) -> np.ndarray:
    """Gives the action of each output for both seats, int32 [2, A]: all but the pass that are possible in some state.

    Outputs are in the order of the first player's actions; those of the second player are the mirrored ones.
    """
    layout, grid = actions.layout(config), config.grid
    rows, columns = np.divmod(np.arange(grid.num_cells), grid.columns)
    mirrored = rows * grid.columns + grid.columns - 1 - columns
    pairs = []
    for offset, (right, down) in enumerate(OFFSETS):
        other = OFFSETS.index((-right, down))
        cells = np.flatnonzero(_inside(rows + down, grid.rows) & _inside(columns + right, grid.columns)).tolist()
        pairs += [(layout.unit(offset, cell), layout.unit(other, mirrored[cell])) for cell in cells]
    pairs += [(layout.trade_with(cell), layout.trade_with(mirrored[cell])) for cell in range(grid.num_cells)]
    places = np.argsort(mirrored[config.deploy_cells[1]])  # the second player's, in the order in which it sees them
    for card in range(cards.NUM_UNIT_CARDS):
        pairs += [(layout.deploy(card, place), layout.deploy(card, int(other))) for place, other in enumerate(places)]
    pairs += [(layout.swap_card(card),) * 2 for card in range(cards.NUM_CARDS)]
    pairs.append((layout.end_turn, layout.end_turn))
    for card in range(cards.NUM_UNIT_CARDS, cards.NUM_CARDS):
        pairs += [(layout.play(card, cell), layout.play(card, mirrored[cell])) for cell in range(grid.num_cells)]
    return np.array(pairs, np.int32).T


def _inside(places: np.ndarray, length: int) -> np.ndarray:
    return (places >= 0) & (places < length)


def planes_of(config: HeroAcademyConfig, seen: Observation) -> Array:
    """Gives the planes of what a player sees: float32 [H, W, C], by `CHANNELS`.

    Counts of cards are in thirds; the other's hand is empty where it is hidden, and "other cards" are its hand and deck together.
    Action points, the turn and the size of a hand are shares of the most that there can be.
    """
    grid, board = config.grid, seen.board
    second = seen.viewer == 1
    own = select(second, board.second, board.occupied - board.second)
    own_deploy, other_deploy = select(second, config.deploy[::-1], config.deploy)
    sets = [own_deploy, other_deploy, config.assault, config.defense, config.power]
    kinds = [board.of_kind(kind) for kind in (*units.UNITS, units.CRYSTAL)]
    sets += [*(cells & own for cells in kinds), *(cells - own for cells in kinds)]
    sets += [board.occupied - board.alive, board.hurt, *board.items]
    shown = sliced.weighted_sums(grid, [[(cells, 1)] for cells in sets])
    # By themselves, as they have many digits; worked out, or each of all planes' elements would add them up.
    hit_points = worked_out(sliced.weighted_sums(grid, [sliced.terms(board.hit_points)]) / HIT_POINTS_UNIT)
    shown = jnp.concatenate([shown, hit_points], axis=-1)
    shown = jnp.where(second, shown[:, ::-1], shown)
    shifts = cards.FIELD_BITS * np.arange(cards.NUM_CARDS, dtype=np.uint32)
    piles = [(pile >> shifts) & cards.MOST_OF_A_KIND for pile in (seen.hand, seen.deck, seen.other_hand, seen.other_cards)]
    most_points = max(config.action_points, config.first_action_points)
    shares = (seen.other_hand_size / cards.HAND_SIZE, seen.action_points / most_points, seen.turn / config.turn_limit)
    flags = (seen.player == seen.viewer, second)
    numbers = jnp.stack([jnp.asarray(number, jnp.float32) for number in (*shares, *flags)])
    same = jnp.concatenate([*(pile.astype(jnp.float32) / cards.MOST_OF_A_KIND for pile in piles), numbers])
    return jnp.concatenate([shown, jnp.broadcast_to(same, (*shown.shape[:2], len(same)))], axis=-1)


ENCODERS: dict[str, Callable[[HeroAcademy], Encoder]] = {"observation": encoder}
