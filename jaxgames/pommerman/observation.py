"""What one Pommerman agent sees, on bit planes; `interop` turns it into the dictionary of the official environment."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import checks, sliced
from jaxgames.bits import Bits
from jaxgames.pommerman.config import PommermanConfig
from jaxgames.pommerman.constants import ITEM_DIGITS
from jaxgames.pommerman.state import Bomber, State


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Observation:
    """One agent's view of the present; all sets are limited to the cells in view.

    Attributes:
      view: the cells in view, all of them where there is no fog.
      rigid, wood: walls.
      items: 2 digits, visible power-ups: 1 extra bomb, 2 range, 3 kick.
      flame_life: 2 digits, life + 1 of the youngest flame: 3, 2, 1; 0 for none.
      bomb_life, bomb_strength: 4 digits each; bombs under agents are seen too, the owner of a bomb is not.
      bomb_moving: 4 sets, bombs that roll up, down, left, right.
      bomber_cells: int8 [] per seat, -1 where dead or out of view.
      alive: bool [] per seat, known to all in spite of fog.
      seat: int32 [], whose view it is.
      own: the agent itself, also when dead.
      message: radio mode: two words int8 [] from the teammate; otherwise ().
      step_count: int16 [].
    """

    view: Bits
    rigid: Bits
    wood: Bits
    items: tuple[Bits, ...]
    flame_life: tuple[Bits, ...]
    bomb_life: tuple[Bits, ...]
    bomb_strength: tuple[Bits, ...]
    bomb_moving: tuple[Bits, ...]
    bomber_cells: tuple[Array, ...]
    alive: tuple[Array, ...]
    seat: Array
    own: Bomber
    message: tuple[Array, ...]
    step_count: Array


def observe(config: PommermanConfig, state: State, player: Array | int) -> Observation:
    """Gives what one agent sees now, and nothing more. The view of a dead agent stays where it died.

    Args:
      config: the variant.
      state: one game.
      player: int [], seat in [0, P). A traced one out of range counts as seat 0.

    Raises:
      ValueError: the seat is no integer [], or known (no JAX array) and out of range.
    """
    checks.seat(player, config.num_players)
    player = jnp.asarray(player, jnp.int32)
    player = jnp.where((player >= 0) & (player < config.num_players), player, 0)
    own = choose_seat(state.bombers, player)
    view = field_of_view(config, own.cell)
    newest, middle, oldest = state.flames[2], state.flames[1], state.flames[0]
    oldest = oldest - middle
    seen = [agent.alive & view.has(agent.cell) for agent in state.bombers]
    message = ()
    if config.has_messages:
        message = choose_seat(state.messages, config.teammate_of(player))
    visible = state.visible_items
    return Observation(
        view=view,
        rigid=state.rigid & view,
        wood=state.wood & view,
        items=sliced.keep(state.items, visible & view),
        flame_life=((newest | (oldest - newest)) & view, (newest | middle) & view),
        bomb_life=sliced.keep(state.bombs.life, view),
        bomb_strength=sliced.keep(state.bombs.strength, view),
        bomb_moving=sliced.keep(state.bombs.moving, view),
        bomber_cells=tuple(jnp.where(s, a.cell, jnp.int8(-1)) for s, a in zip(seen, state.bombers, strict=True)),
        alive=tuple(agent.alive for agent in state.bombers),
        seat=player,
        own=own,
        message=message,
        step_count=state.step_count,
    )


def field_of_view(config: PommermanConfig, cell: Array) -> Bits:
    """Gives the cells an agent in `cell` (int []) sees: a square around it, or everything where there is no fog."""
    grid = config.grid
    if config.view_radius is None:
        return jax.tree.map(jnp.asarray, grid.full)
    rows, columns = grid.empty, grid.empty
    row, column = grid.row_of(cell), grid.column_of(cell)
    for index in range(config.board_size):
        rows = rows | grid.row(index).when(jnp.abs(row - index) <= config.view_radius)
        columns = columns | grid.column(index).when(jnp.abs(column - index) <= config.view_radius)
    return rows & columns


def choose_seat(per_seat: tuple[Any, ...], player: Array) -> Any:
    """Picks one seat's entry (a pytree) by an index that may be traced, int []."""
    chosen = per_seat[0]
    for seat in range(1, len(per_seat)):
        chosen = jax.tree.map(lambda a, b, s=seat: jnp.where(player == s, b, a), chosen, per_seat[seat])
    return chosen


def item_cells(observation: Observation) -> tuple[Bits, ...]:
    """Splits the visible power-ups by kind: extra bombs, ranges, kicks."""
    low, high = observation.items[:ITEM_DIGITS]
    return low - high, high - low, low & high
