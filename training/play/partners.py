"""Agents that play along where one seat of each game learns."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
from jax import Array

from jaxgames.agent import Agent
from training.play.lanes import Lanes, Pool, fold


@dataclasses.dataclass(frozen=True)
class Partners:
    """Who plays all seats but one of the games of a pool; all static.

    Attributes:
      pool: where the games come from.
      agent: plays.
    """

    pool: Pool
    agent: Agent

    def init(self) -> Any:
        """Gives the memory of all seats, also of those that learn."""
        return self.agent.init(self.pool.lanes * self.pool.game.num_players)

    def learner(self, lanes: Lanes) -> Array:
        """Gives the seat that learns, the number of the game modulo P: int32 [L]."""
        return lanes.number % self.pool.game.num_players

    def move(self, keys: Array, lanes: Lanes, memory: Any) -> tuple[Array, Any]:
        """Gives their actions int32 [L, P], the pass for all others, and their memory; keys [L]."""
        pool, players = self.pool, self.pool.game.num_players
        seats = jnp.tile(jnp.arange(players, dtype=jnp.int32)[:, None], (1, pool.lanes))
        asked = pool.asked(lanes.states).T & (seats != self.learner(lanes))
        each = jnp.concatenate([fold(keys, seat) for seat in range(players)])
        views = pool.views(lanes, self.agent.sees_state, seats)
        chosen, memory = self.agent.act(self.agent.params, each, memory, views, seats.reshape(-1), asked.reshape(-1))
        return jnp.where(asked, chosen.reshape(seats.shape), pool.game.pass_action).T.astype(jnp.int32), memory

    def reset(self, memory: Any, lanes: Array) -> Any:
        """Forgets the games of lanes bool [L]."""
        return self.agent.reset(memory, jnp.tile(lanes, self.pool.game.num_players))
