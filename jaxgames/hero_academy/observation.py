"""What a player sees: with hidden hands all but the other's hand and the order of the decks."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.hero_academy import draws
from jaxgames.hero_academy.config import HeroAcademyConfig
from jaxgames.hero_academy.state import Board, State


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Observation:
    """One player's view of the present, and all that it remembers.

    Attributes:
      viewer: int8 [], whose view it is.
      board: everything on it.
      hand, deck: uint32 [], the viewer's own cards, counts.
      other_cards: uint32 [], the other's hand and deck together: whatever it has not played is in one of the two.
      other_hand: uint32 [], the other's hand; zero if hands are hidden.
      other_hand_size: int8 [].
      seeds: int32 [] each, of the decks; zeros if hands are hidden.
      player, action_points, turn, winner, terminated, seat_rewards: as in the state.
    """

    viewer: Array
    board: Board
    hand: Array
    deck: Array
    other_cards: Array
    other_hand: Array
    other_hand_size: Array
    seeds: tuple[Array, Array]
    player: Array
    action_points: Array
    turn: Array
    winner: Array
    terminated: Array
    seat_rewards: tuple[Array, Array]


def observe(config: HeroAcademyConfig, state: State, viewer: Array) -> Observation:
    """Gives what a player (int [], may be traced; out of range counts as 0) sees now, and nothing more."""
    second = jnp.asarray(viewer) == 1
    hand, deck = (jnp.where(second, pair[1], pair[0]) for pair in (state.hands, state.decks))
    other_hand, other_deck = (jnp.where(second, pair[0], pair[1]) for pair in (state.hands, state.decks))
    hidden = config.hidden_hands
    zero = jnp.int32(0)
    return Observation(
        viewer=second.astype(jnp.int8),
        board=state.board,
        hand=hand,
        deck=deck,
        other_cards=other_hand + other_deck,
        other_hand=jnp.zeros_like(other_hand) if hidden else other_hand,
        other_hand_size=draws.count(other_hand).astype(jnp.int8),
        seeds=(zero, zero) if hidden else state.seeds,
        player=state.player,
        action_points=state.action_points,
        turn=state.turn,
        winner=state.winner,
        terminated=state.terminated,
        seat_rewards=state.seat_rewards,
    )
