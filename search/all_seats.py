"""A planner for all seats at once, made of one that plans for the seat it is asked for."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.game import Game
from search.arguments import checked, state_of
from search.planner import Plan, Planner


def for_all_seats(game: Game, planner: Planner) -> Planner:
    """Asks a planner once for every seat: the lanes and seats are one larger batch.

    A learner that imitates an oracle in games of simultaneous moves needs plans of all players of a state.

    Args:
      game: of P players.
      planner: sees the state. One that plans for all seats by itself is given back as it is.

    Returns:
      A planner whose plans have all P players; nothing is planned for those who are out of the game. Its metrics are those of
      all seats in turn, without counts that may be added up.

    Raises:
      ValueError: the planner sees only what a seat knows.
    """
    if not planner.sees_state:
        raise ValueError(f"planner={planner.name!r}: must see the state, as with root=true; it plans from what one seat knows")
    if not planner.own_first:
        return planner
    players = game.num_players

    def by_seat(tree: Any) -> Any:
        return jax.tree.map(lambda leaf: jnp.repeat(leaf, players, axis=0), tree)

    def plan(params: Any, keys: Array, memory: Any, views: Any, seats: Array, active: Array) -> tuple[Plan, Any]:
        del seats
        batch = active.shape[0]
        each = jax.vmap(lambda key: jax.vmap(lambda seat: jax.random.fold_in(key, seat))(jnp.arange(players)))(keys)
        asked = active[:, None] & jax.vmap(game.in_play)(views)
        own = jnp.tile(jnp.arange(players, dtype=jnp.int32), batch)
        found, memory = planner.plan(params, each.reshape(-1), memory, by_seat(views), own, asked.reshape(-1))

        def first(rows: Array) -> Array:
            return rows[:, 0].reshape(batch, players, *rows.shape[2:])

        names = ("actions", "arms", "legal", "qvalues", "visit_counts", "action_weights", "root_value")
        metrics = jax.tree.map(lambda leaf: leaf.reshape(batch, players, *leaf.shape[1:]), found.metrics)
        return Plan(**{name: first(getattr(found, name)) for name in names}, metrics=metrics), memory

    size = planner.search_bytes
    asking = planner._replace(
        init=lambda batch_size: planner.init(batch_size * players),
        reset=lambda memory, lanes: planner.reset(memory, by_seat(lanes)),
        plan=plan,
        memory_bytes=planner.memory_bytes * players,
        metrics={},
        ready=None,
        search_bytes=None if size is None else lambda batch_size: size(batch_size * players),
        own_first=False,
    )
    return checked(asking, state_of(game), game.num_players)
