"""What networks are shown of a battle: planes 18 x 32 in the own frame, and an output for each action.

(Source: Boney et al., table I. Embeddings of units and cards are for a network to learn; here each kind that can come has a
plane of its own, and a network that embeds them multiplies these planes with its table.)
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import jax
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
from jaxgames.fusion import worked_out

MEMORY = 0.9  # by which the trace of a card that was played fades per step
_NO_PLANE = np.iinfo(np.int32).max  # of what is not shown

Places = tuple[Array, ...]
"""Columns, rows and planes of values that are added, int32, one each per value."""


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
    # What is the same on all tiles is laid out first, and the few things that are somewhere are added. A concatenation of planes
    # would ask for each of 50 000 numbers of which plane it is.
    config, shown = game.config, card_planes(game)
    own_cards = _as_shown(config.table.shown_cards, jnp.append(view.hand, view.next_card))
    affordable, legal = _own_hand(game, view)
    clock = [
        view.elixir / (MOST_ELIXIR * ELIXIR),
        view.tick / config.last_tick,
        view.tick >= config.double_from_tick,
        view.tick >= config.regular_ticks,
    ]
    everywhere = [
        jnp.zeros(shown.first),
        (own_cards[:, None] == card_rows(game)).reshape(-1),
        affordable,
        jnp.zeros(HAND),  # of legal tiles
        jnp.stack([jnp.asarray(each, jnp.float32) for each in clock]),
        jnp.zeros(shown.kinds),
    ]
    row = worked_out(jnp.concatenate([part.astype(jnp.float32) for part in everywhere]))
    planes = jnp.broadcast_to(row, (COLUMNS, ROWS, row.shape[0]))
    planes = jax.lax.dynamic_update_slice(planes, legal.astype(jnp.float32), (0, 0, shown.legal))
    things = (_units(game, view), _spells(game, view), _played(game, view))
    places, values = jax.tree.map(lambda *parts: jnp.concatenate(parts), *things)
    return planes.at[places].add(values.astype(planes.dtype), mode="drop")


def _own_hand(game: Clash, view: Observation) -> tuple[Array, Array]:
    """Says which cards of the own hand are affordable and where they may be played: bool [HAND] and [18, 32, HAND]."""
    state = state_seen(view)
    own = jnp.arange(2) == view.viewer
    affordable = (zones.hands(game.config, state).affordable & own[:, None]).any(0)
    tiles = (rules.legal_tiles(game.config, state) & own[:, None, None]).any(0)
    return affordable, jnp.moveaxis(tiles.reshape(HAND, ROWS, COLUMNS), (0, 1, 2), (2, 1, 0))


def _units(game: Clash, view: Observation) -> tuple[Places, Array]:
    """Gives what units add to the planes of their kinds, and to those of what is summed over units."""
    config, arena = game.config, view.arena
    alive, unit = arena["alive"], arena["unit"]
    seats = jnp.where(np.arange(2) == 0, view.viewer, 1 - view.viewer).astype(jnp.int32)
    summed = [
        arena["hp"].astype(jnp.float32) / 1000,
        jnp.ones(alive.shape),
        jnp.asarray(unit_columns(config).layer[0] == AIR)[unit].astype(jnp.float32),
        (arena["deploying"] > 0).astype(jnp.float32),
        jnp.broadcast_to((jnp.asarray(config.levels, jnp.float32) / MOST_LEVEL)[seats][:, None], alive.shape),
    ]
    kinds, spells = len(unit_rows(game)), len(spell_rows(game))
    kind = _number_among(unit_rows(game), config.table.shown_units, unit)
    numbers = [kind, *(jnp.full(alive.shape, kinds + spells + number) for number in range(len(summed)))]
    return _on_tiles(
        arena["x"], arena["y"], jnp.where(alive, jnp.stack(numbers), -1), jnp.stack([jnp.ones(alive.shape), *summed])
    )


def _spells(game: Clash, view: Observation) -> tuple[Places, Array]:
    """Gives what spells that are on their way add to the planes of their kinds."""
    arena = view.arena
    kind = _number_among(spell_rows(game), game.config.table.shown_cards, arena["spell"])
    number = jnp.where((arena["spell_ticks"] > 0) & (kind >= 0), len(unit_rows(game)) + kind, -1)
    return _on_tiles(arena["spell_x"], arena["spell_y"], number[None], jnp.ones((1, *number.shape)))


def _on_tiles(x: Array, y: Array, numbers: Array, values: Array) -> tuple[Places, Array]:
    """Gives where values are added, and the values.

    Args:
      x: of N own and N enemy things, [2, N], each in the frame of its side.
      y: the same.
      numbers: int32 [V, 2, N]: own things add to plane 2 * number, enemies to the next one; negative: to none.
      values: float32 [V, 2, N].
    """

    def to_own(values: Array, size: int) -> Array:
        values = values.astype(jnp.int32)
        return jnp.where(np.array([[False], [True]]), size - values, values)

    column = jnp.clip(to_own(x, WIDTH) // TILE, 0, COLUMNS - 1)
    row = jnp.clip(to_own(y, HEIGHT) // TILE, 0, ROWS - 1)
    plane = jnp.where(numbers < 0, _NO_PLANE, 2 * numbers + np.arange(2)[:, None])
    places = (jnp.broadcast_to(part, plane.shape).reshape(-1) for part in (column, row, plane))
    return tuple(places), values.reshape(-1)


def _played(game: Clash, view: Observation) -> tuple[Places, Array]:
    """Gives the traces of cards where they were played."""
    past = view.past.astype(jnp.int32)
    number = _number_among(card_rows(game), game.config.table.shown_cards, past[:, 0])
    plane = jnp.where(number < 0, _NO_PLANE, card_planes(game).played + number)
    return (past[:, 1], past[:, 2], plane), jnp.asarray(MEMORY ** np.arange(PAST, dtype=np.float32))


def _number_among(kinds: np.ndarray, rows: Sequence[int], index: Array) -> Array:
    """Numbers rows of a table (int [...]) among the kinds that can come; -1 for others, and where there is no such row."""
    shown = list(kinds)
    numbers = np.array([shown.index(row) if row in shown else -1 for row in rows], np.int32)
    is_row = (index >= 0) & (index < len(numbers))  # what falls when a unit dies has no card
    return jnp.where(is_row, jnp.asarray(numbers)[jnp.where(is_row, index, 0).astype(jnp.int32)], -1)


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
        bounds=(0, math.inf),
        cards=card_planes(game),
        output_groups=(0, *(1 + place for place in range(HAND) for _ in range(NUM_TILES))),
    )


def _legal(game: Clash, view: Observation) -> Array:
    legal = rules.legal_actions(game.config, state_seen(view))
    return jnp.where(view.viewer == 1, legal[1], legal[0])


ENCODERS: dict[str, Callable[[Clash], Encoder]] = {"planes": encoder}
