"""Simple players of Hero Academy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import random_bits
from jaxgames.agent import Agent, memoryless
from jaxgames.hero_academy import ratings

if TYPE_CHECKING:
    from jaxgames.hero_academy.game import HeroAcademy


def random_agent(game: HeroAcademy) -> Agent:
    """Plays a uniformly random legal action."""

    def choose(key: Array, state: Any) -> Array:
        legal = game.legal_set(state)
        rank = random_bits.below(random_bits.bits(random_bits.lane_key(key), 0), legal.count())
        return legal.pick(rank)

    return _agent("random", choose, draws=True)


def best_rated_agent(game: HeroAcademy) -> Agent:
    """Plays the highest rated of the pruned actions (the reference's "heuristic" player)."""

    def choose(key: Array, state: Any) -> Array:
        del key
        return ratings.best(game.config, state, game.legal_set(state, pruned=True))

    return _agent("best_rated", choose, draws=False)


def _agent(name: str, choose: Callable[[Array, Any], Array], *, draws: bool) -> Agent:
    """A player without memory. It looks at the state, but at nothing that is hidden from the player to move."""

    def chosen(params: None, keys: Array, views: Any, seats: Array) -> Array:
        del params, seats
        return jax.vmap(choose)(keys, views).astype(jnp.int32)

    return memoryless(name, chosen, sees_state=True, uses_hidden=False, draws=draws)
