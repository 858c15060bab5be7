"""What a player sees: all of the arena, and of cards its own hand, the next one, and which its deck has."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.clash.config import ClashConfig
from jaxgames.clash.constants import DRAW
from jaxgames.clash.state import State

# Fields of a state that all see; the first axis of each is the player.
SEEN = (
    "alive",
    "unit",
    "x",
    "y",
    "hp",
    "shield",
    "cooldown",
    "deploying",
    "target",
    "age",
    "turn",
    "stun",
    "slow",
    "slow_pct",
    "shot_ticks",
    "shot_target",
    "shot_x",
    "shot_y",
    "spell",
    "spell_ticks",
    "spell_x",
    "spell_y",
    "spell_waves",
    "king_awake",
)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Observation:
    """One player's view of the present; pairs are (own, the other's), each told in its owner's frame, as in the state.

    Attributes:
      viewer: int8 [], whose view it is.
      arena: all that is in play, as in the state and by its names there, [2, ...] each: of units what, where and how they are,
        and what they shoot at; of spells what, where and when; whether the king's tower is awake.
      elixir: int16 [], own.
      hand: int8 [4], own.
      next_card: int8 [], that comes into the own hand next.
      deck: bool [C], the cards of the own deck; in which order they come is not seen.
      saving: int8 [], own.
      past: int8 [10, 3], own.
      other_past: int8 [10, 3], the cards and tiles that the other has played in its last ten steps: all have seen them.
      tick: int16 [].
      outcome: int8 [], 1 own win, -1 loss, 2 drawn, 0 the battle runs.
      rewards: int8 [2], own and the other's.
    """

    viewer: Array
    arena: dict[str, Array]
    elixir: Array
    hand: Array
    next_card: Array
    deck: Array
    saving: Array
    past: Array
    other_past: Array
    tick: Array
    outcome: Array
    rewards: Array


def observe(config: ClashConfig, state: State, viewer: Array) -> Observation:
    """Gives what a player (int [], may be traced; out of range counts as 0) sees now, and nothing more."""
    second = jnp.asarray(viewer) == 1

    def pair(leaf: Array) -> Array:
        return jnp.where(second, leaf[::-1], leaf)

    def own(leaf: Array) -> Array:
        return pair(leaf)[0]

    winner = state.winner.astype(jnp.int32)
    won = jnp.where(winner == second, 1, -1)
    outcome = jnp.where(winner < 0, 0, jnp.where(winner == DRAW, DRAW, won))
    return Observation(
        viewer=second.astype(jnp.int8),
        arena={name: pair(getattr(state, name)) for name in SEEN},
        elixir=own(state.elixir),
        hand=own(state.hand),
        next_card=own(state.queue)[0],
        deck=(np.arange(len(config.table.cards)) == jnp.append(own(state.hand), own(state.queue))[:, None]).any(0),
        saving=own(state.saving),
        past=own(state.past),
        other_past=pair(state.past)[1],
        tick=state.tick,
        outcome=outcome.astype(jnp.int8),
        rewards=pair(state.seat_rewards),
    )


def arena_of(observation: Observation) -> dict[str, Array]:
    """Gives the fields of `SEEN` as they stand in the state."""
    second = observation.viewer == 1
    return {name: jnp.where(second, leaf[::-1], leaf) for name, leaf in observation.arena.items()}


def winner_of(observation: Observation) -> Array:
    """Gives the winner as in the state, int8 []."""
    viewer, outcome = observation.viewer.astype(jnp.int32), observation.outcome
    winner = jnp.where(outcome == 1, viewer, 1 - viewer)
    return jnp.where(outcome == 0, -1, jnp.where(outcome == DRAW, DRAW, winner)).astype(jnp.int8)
