"""Rule-based players of Stratego, as agents."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import random_bits
from jaxgames.agent import Agent, memoryless
from jaxgames.stratego import legal, moves
from jaxgames.stratego.game import Stratego
from jaxgames.stratego.observation import Observation


def random_agent(game: Stratego) -> Agent:
    """Makes an agent that plays each of its legal moves with the same probability."""
    config = game.config

    def choose(key: Array, seen: Observation) -> Array:
        found = legal.as_set(legal.legal_moves(config, seen.side))
        rank = random_bits.below(random_bits.bits(random_bits.lane_key(key), 0), jnp.maximum(found.count(), 1))
        return moves.to_action(config, legal.move_of(config, seen.side, found.pick(rank)), seen.viewer)

    return memoryless("random", lambda params, keys, views, seats: jax.vmap(choose)(keys, views))
