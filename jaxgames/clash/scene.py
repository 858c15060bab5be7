"""Hand-made battles: units and spells put where one wants them, and what happens tick by tick. Positions are absolute here."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import checks
from jaxgames.clash import setup
from jaxgames.clash.config import ClashConfig
from jaxgames.clash.constants import DECK, HEIGHT, KING, TOWER_X, TOWER_Y, TOWERS, WIDTH
from jaxgames.clash.state import State, free_slots
from jaxgames.clash.tables import unit_columns
from jaxgames.clash.tick import run

_PART = 100  # ticks that are played at once
_start = jax.jit(setup.start, static_argnums=0)


class Scene:
    """A battle under construction: numpy arrays of a state, in the owners' frames.

    Attributes:
      config: the battle.
      arrays: by the names of the state's fields.
    """

    def __init__(self, config: ClashConfig) -> None:
        self.config = config
        cards = np.stack([[config.table.card_ids[card.key] for card in cards[:DECK]] for cards in config.cards_of])
        start = jax.device_get(_start(config, jnp.asarray(cards, jnp.int8)))
        self.arrays: dict[str, np.ndarray] = {name: np.array(value) for name, value in vars(start).items()}

    def put_unit(self, player: int, name: str, x: int, y: int, *, slot: int | None = None) -> int:
        """Deploys a unit with its centre at a place, in the lowest free slot or a given one. Returns the slot."""
        player, (own_x, own_y) = _player(player), _own(player, x, y)
        if name not in self.config.table.unit_ids:
            raise ValueError(f"unit={name!r}: {checks.one_of(name, self.config.table.unit_ids)}")
        unit = self.config.table.unit_ids[name]
        free = np.flatnonzero(free_slots(self.state)[player])
        if not len(free) if slot is None else slot not in free:
            raise ValueError(f"slot={slot}: must be a free slot of player {player}; there are {free.tolist()}")
        place = int(free[0]) if slot is None else slot
        columns = unit_columns(self.config)
        radius = int(columns.radius[player, unit])
        values = {
            "alive": True,
            "unit": unit,
            "x": np.clip(own_x, radius, WIDTH - radius),
            "y": np.clip(own_y, radius, HEIGHT - radius),
            "hp": columns.hp[player, unit],
            "shield": columns.shield[player, unit],
            "cooldown": columns.hit_ticks[player, unit],
            "deploying": columns.deploy_ticks[player, unit],
            "target": -1,
            "age": 0,
        }
        for field, value in values.items():
            self.arrays[field][player, place] = value
        return place

    def put_card(self, player: int, key: str, x: int, y: int) -> list[int]:
        """Deploys a card, or casts a spell, as if the centre of its tile were at a place. Returns the slots."""
        player, card = _player(player), self.config.table.card(key)
        if card.type == "spell":
            return [self.cast(player, key, x, y)]
        sign = 1 - 2 * player
        return [self.put_unit(player, card.unit, x + sign * right, y + sign * up) for right, up in card.offsets]

    def cast(self, player: int, key: str, x: int, y: int, *, ticks: int | None = None) -> int:
        """Casts a spell that lands after so many ticks, or as many as it flies from the king's tower. Returns the slot."""
        player, (own_x, own_y) = _player(player), _own(player, x, y)
        card = self.config.table.card(key)
        idle = np.flatnonzero(self.arrays["spell_ticks"][player] == 0)
        if not len(idle):
            raise ValueError(f"card={key!r}: player {player} has no idle slot for a spell")
        if ticks is None:
            distance = math.isqrt((own_x - int(TOWER_X[KING])) ** 2 + (own_y - int(TOWER_Y[KING])) ** 2)
            ticks = max(1, -(-distance // card.projectile_speed)) if card.projectile_speed else card.first_wave_ticks
        values = {"spell": self.config.table.card_ids[key], "spell_ticks": ticks, "spell_x": own_x, "spell_y": own_y}
        for field, value in (values | {"spell_waves": card.waves}).items():
            self.arrays[field][player, idle[0]] = value
        return int(idle[0])

    @property
    def state(self) -> State:
        """The battle as it stands."""
        return State(**{name: jnp.asarray(value) for name, value in self.arrays.items()})


def _player(player: int) -> int:
    number = checks.as_integer(player)
    if number not in (0, 1):
        raise ValueError(f"player={player!r}: must be 0 or 1")
    return int(number)


def _own(player: int, x: int, y: int) -> tuple[int, int]:
    """Turns a place of the arena into the player's frame."""
    numbers = checks.as_integer(x), checks.as_integer(y)
    if None in numbers or not (0 <= x <= WIDTH and 0 <= y <= HEIGHT):
        raise ValueError(f"position=({x!r}, {y!r}): must be integers inside the arena, 0..{WIDTH} and 0..{HEIGHT}")
    return (WIDTH - x, HEIGHT - y) if player else (x, y)


def film(config: ClashConfig, state: State, num_ticks: int, *, towers_act: bool = True, units_act: bool = True) -> Any:
    """Plays ticks in which nobody plays a card. Returns numpy states [num_ticks + 1, ...], the given one first.

    Args:
      config: the battle.
      state: its start.
      num_ticks: how many.
      towers_act: otherwise towers are kept from it, as if being deployed; they can be aimed at.
      units_act: the same of all others.
    """
    slots = np.arange(config.slots)
    held = np.where(slots < TOWERS, not towers_act, not units_act)
    parts: list[Any] = [jax.tree.map(lambda leaf: np.asarray(leaf)[None], state)]
    for _ in range(0, num_ticks, _PART):  # parts of one length, or every length were compiled
        state, part = _play(config, state, held)
        parts.append(jax.device_get(part))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[: num_ticks + 1], *parts)


@functools.partial(jax.jit, static_argnums=0)
def _play(config: ClashConfig, state: State, held: Array) -> tuple[State, Any]:
    def one(state: State, _: None) -> tuple[State, State]:
        waits = state.alive & held
        deploying = jnp.where(waits & (state.deploying == 0), 1, state.deploying).astype(jnp.int8)
        after = run(config, dataclasses.replace(state, deploying=deploying), 1)
        return after, after

    return jax.lax.scan(one, state, length=_PART)


def absolute(states: Any) -> tuple[np.ndarray, np.ndarray]:
    """Gives where units are in the arena: int32 [..., 2, H] each, x and y."""
    second = np.array([[False], [True]])
    x, y = np.asarray(states.x, np.int32), np.asarray(states.y, np.int32)
    return np.where(second, WIDTH - x, x), np.where(second, HEIGHT - y, y)
