"""What networks are shown of a battle: planes 18 x 32 in the own frame, and an output for each action.

(Source: Boney et al., table I. Embeddings of units and cards are for a network to learn; here each kind that can come has a
plane of its own, and a network that embeds them multiplies these planes with its table.)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.clash import hidden, rules, zones
from jaxgames.clash.cards import Card
from jaxgames.clash.constants import (
    AIR,
    COLUMNS,
    ELIXIR,
    HAND,
    HEIGHT,
    MOST_ELIXIR,
    MOST_LEVEL,
    NUM_TILES,
    PAST,
    QUEUE,
    ROWS,
    TILE,
    WIDTH,
)
from jaxgames.clash.game import Clash
from jaxgames.clash.observation import Observation
from jaxgames.clash.state import State
from jaxgames.clash.tables import unit_columns
from jaxgames.encoder import CardPlanes, Encoder

MEMORY = 0.9  # by which the trace of a card that was played fades per step


def card_rows(game: Clash) -> np.ndarray:
    """Gives the cards that can come, int32, as the rows as which they are shown, in the order of the table."""
    return _shown(game.config.table.shown_cards, [row for cards in game.config.cards_of for row in _rows_of(game, cards)])


def unit_rows(game: Clash) -> np.ndarray:
    """Gives the units that can come, int32, in the same way."""
    return _shown(game.config.table.shown_units, [game.config.table.unit_ids[unit.name] for unit in game.config.units])


def spell_rows(game: Clash) -> np.ndarray:
    """Gives the spells that can come, int32, in the same way."""
    return _shown(game.config.table.shown_cards, _rows_of(game, game.config.spells))


def _rows_of(game: Clash, cards: Sequence[Card]) -> list[int]:
    return [game.config.table.card_ids[card.key] for card in cards]


def _shown(rows: Sequence[int], which: Sequence[int]) -> np.ndarray:
    return np.array(sorted({rows[row] for row in which}), np.int32)


def _as_shown(rows: Sequence[int], index: Array) -> Array:
    """Replaces rows (int [...]) by those as which they are shown; what is no row of them stays."""
    changed = np.arange(1 << 8, dtype=np.int32)
    changed[: len(rows)] = rows
    return index if (changed == np.arange(len(changed))).all() else jnp.asarray(changed)[index.astype(jnp.int32)]


def channels(game: Clash) -> tuple[str, ...]:
    """Names the planes."""
    units = [game.config.table.units[row].name for row in unit_rows(game)]
    spells = [game.config.table.cards[row].key for row in spell_rows(game)]
    cards = [game.config.table.cards[row].key for row in card_rows(game)]
    sides = ("own", "enemy")
    names = [f"{side} {name}" for name in (*units, *spells) for side in sides]
    names += [f"{side} {what}" for what in ("hit points", "units", "flying", "deploying", "level") for side in sides]
    names += [f"{place} is {card}" for place in (*(f"card {number}" for number in range(HAND)), "next card") for card in cards]
    names += [f"card {number} {what}" for what in ("affordable", "legal") for number in range(HAND)]
    names += ["elixir", "time", "double elixir", "overtime"]
    return (*names, *(f"played {card}" for card in cards))


def card_planes(game: Clash) -> CardPlanes:
    """Says which planes show the own cards."""
    names, kinds = channels(game), len(card_rows(game))
    affordable, legal, clock = (names.index(name) for name in ("card 0 affordable", "card 0 legal", "elixir"))
    return CardPlanes(
        hand=HAND,
        kinds=kinds,
        first=affordable - (HAND + 1) * kinds,
        affordable=affordable,
        legal=legal,
        everywhere=range(clock, len(names) - kinds),
        played=len(names) - kinds,
    )


def state_seen(view: Observation) -> State:
    """Gives a state with all that a player sees; what it does not see is empty."""
    nothing = jnp.zeros(QUEUE, jnp.int8)
    return hidden.state_of(view, nothing, nothing, nothing, jnp.int16(0))


def planes_of(game: Clash, view: Observation) -> Array:
    """Gives the planes of a player's view: float32 [18, 32, C], in the order of `channels`."""
    config, arena = game.config, view.arena
    columns = unit_columns(config)
    mine = np.array([[False], [True]])

    def to_own(values: Array, size: int) -> Array:
        values = values.astype(jnp.int32)
        return jnp.where(mine, size - values, values)

    alive = arena["alive"]
    seats = jnp.where(np.arange(2) == 0, view.viewer, 1 - view.viewer).astype(jnp.int32)
    weight = jnp.stack(
        [
            arena["hp"].astype(jnp.float32) / 1000,
            jnp.ones(alive.shape),
            jnp.asarray(columns.layer[0] == AIR)[arena["unit"]].astype(jnp.float32),
            (arena["deploying"] > 0).astype(jnp.float32),
            jnp.broadcast_to((jnp.asarray(config.levels, jnp.float32) / MOST_LEVEL)[seats][:, None], alive.shape),
        ],
        axis=-1,
    )
    table = config.table
    kind = (_as_shown(table.shown_units, arena["unit"])[..., None] == unit_rows(game)).astype(jnp.float32)
    of_units = _by_tile(to_own(arena["x"], WIDTH), to_own(arena["y"], HEIGHT), alive, jnp.concatenate([kind, weight], axis=-1))
    cast = (_as_shown(table.shown_cards, arena["spell"])[..., None] == spell_rows(game)).astype(jnp.float32)
    of_spells = _by_tile(to_own(arena["spell_x"], WIDTH), to_own(arena["spell_y"], HEIGHT), arena["spell_ticks"] > 0, cast)
    split = len(unit_rows(game))
    objects = jnp.concatenate([of_units[..., :split, :], of_spells, of_units[..., split:, :]], axis=-2)
    objects = objects.reshape(COLUMNS, ROWS, -1)

    state = state_seen(view)
    own = jnp.arange(2) == view.viewer
    hand = zones.hands(config, state)
    affordable = (hand.affordable & own[:, None]).any(0)
    tiles = (rules.legal_tiles(config, state) & own[:, None, None]).any(0)
    legal = jnp.moveaxis(tiles.reshape(HAND, ROWS, COLUMNS), (0, 1, 2), (2, 1, 0))
    own_cards = _as_shown(table.shown_cards, jnp.append(view.hand, view.next_card))
    cards = (own_cards[:, None] == card_rows(game)).reshape(-1)
    clock = [
        view.elixir / (MOST_ELIXIR * ELIXIR),
        view.tick / config.last_tick,
        view.tick >= config.double_from_tick,
        view.tick >= config.regular_ticks,
    ]

    def constant(values: Array) -> Array:
        return jnp.broadcast_to(values.astype(jnp.float32), (COLUMNS, ROWS, values.shape[0]))

    past = view.past.astype(jnp.int32)
    played_cards = jnp.where(past[:, :1] < 0, past[:, :1], _as_shown(table.shown_cards, jnp.maximum(past[:, :1], 0)))
    fading = (played_cards == card_rows(game)) * (MEMORY ** np.arange(PAST, dtype=np.float32))[:, None]
    played = jnp.zeros((COLUMNS, ROWS, fading.shape[1])).at[past[:, 1], past[:, 2]].add(fading)
    parts = [objects, constant(cards), constant(affordable), legal.astype(jnp.float32)]
    return jnp.concatenate([*parts, constant(jnp.stack([jnp.asarray(each, jnp.float32) for each in clock])), played], axis=-1)


def _by_tile(x: Array, y: Array, there: Array, values: Array) -> Array:
    """Sums values [2, N, V] of things over the tiles on which they are: float32 [18, 32, V, 2]."""
    column, row = jnp.clip(x // TILE, 0, COLUMNS - 1), jnp.clip(y // TILE, 0, ROWS - 1)
    board = jnp.zeros((COLUMNS, ROWS, 2, values.shape[-1]))
    board = board.at[column, row, np.arange(2)[:, None]].add(jnp.where(there[..., None], values, 0))
    return jnp.swapaxes(board, -1, -2)


@functools.cache
def encoder(game: Clash) -> Encoder:
    """Makes the encoder. Outputs are numbered as actions; there are no symmetries, as ties go to the own right."""

    def same(numbers: Array, seat: Array) -> Array:
        del seat
        numbers = jnp.asarray(numbers).astype(jnp.int32)
        return jnp.where((numbers >= 0) & (numbers < rules.NUM_ACTIONS), numbers, -1)

    names = channels(game)
    return Encoder(
        name="planes",
        shape=(COLUMNS, ROWS, len(names)),
        channels=names,
        num_outputs=rules.NUM_ACTIONS,
        view=game.observe,
        planes=functools.partial(planes_of, game),
        legal=lambda view: _legal(game, view),
        outputs=same,
        actions=lambda outputs, seat: jnp.maximum(same(outputs, seat), rules.WAIT),
        num_symmetries=1,
        transform_planes=lambda planes, which: planes,
        transform_outputs=lambda per_output, which: per_output,
        shows_observation=True,
        cards=card_planes(game),
        output_groups=(0, *(1 + place for place in range(HAND) for _ in range(NUM_TILES))),
    )


def _legal(game: Clash, view: Observation) -> Array:
    legal = rules.legal_actions(game.config, state_seen(view))
    return jnp.where(view.viewer == 1, legal[1], legal[0])


ENCODERS: dict[str, Callable[[Clash], Encoder]] = {"planes": encoder}
