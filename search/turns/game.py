"""What planners of whole turns need of a game: sets of actions of the player to move, and a step by it alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeGuard

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import random_bits
from jaxgames.bits import WORD_BITS, Bits
from jaxgames.fusion import boundary
from jaxgames.game import Game, offers
from jaxgames.lanes import where_lanes
from jaxgames.random_bits import LaneKey
from search.arguments import a_game


class SetGame(Game, Protocol):
    """A game of turns that gives its legal actions as sets of numbers, and leaves out those that are not worth a look.

    Its states have `action_points`, int []: how many actions are left in the turn, its end not counted. Each action takes one or
    more of them.
    """

    @property
    def end_turn(self) -> int:
        """The action that ends a turn, and the only one when no action points are left."""
        ...

    @property
    def turn_length(self) -> int:
        """Actions in a turn, its end included, at most."""
        ...

    def known_state(self, state: Any) -> Any:
        """Gives the state as the player to move knows it."""
        ...

    def legal_set(self, state: Any, *, pruned: bool = False) -> Bits:
        """Gives the legal actions of the player to move."""
        ...

    def advance(self, state: Any, action: Array, key: Array | None) -> Any:
        """Plays an action that is legal, or ends the turn, in a game that goes on."""
        ...

    def act(self, state: Any, action: Array) -> Any:
        """Plays a legal action that does not end the turn, in a game that goes on, as `advance` does. It draws nothing.

        Planners also call it with other actions and in games that are over, and drop what comes of that.
        """
        ...

    def best_rated(self, state: Any, among: Bits) -> Array:
        """Gives the most promising of a set of actions at first sight."""
        ...

    def first_listed(self, state: Any, among: Bits) -> Array:
        """Gives the first of a set of actions in the order in which to go through them."""
        ...

    def rollout_action(self, state: Any, lane: LaneKey, greediness: float) -> Array:
        """Chooses an action as rollouts do; greediness: the chance of the most promising one."""
        ...

    def position_key(self, state: Any) -> Array:
        """`state_key` without what an action costs, so that one which is undone again leads to the same."""
        ...


class EndingGame(SetGame, Protocol):
    """A game that ends a turn with less work than any action of it takes."""

    def play_end_turn(self, state: Any, key: Array | None) -> Any:
        """Ends the turn, as `advance` does with `end_turn`, in a game that goes on."""
        ...


class Moves(NamedTuple):
    """How planners of whole turns play a game; all functions are of one state.

    Attributes:
      known: `known(state) -> state`, as the player to move knows it.
      offered: `offered(state) -> Bits`, actions of the player to move that are worth a look; at least one.
      legal: `legal(state) -> Bits`, all of them.
      advance: `advance(state, action, lane) -> state`, with a lane key for chance.
      act: `act(state, action) -> state`, for actions that do not end the turn: much less work where the end of a turn is much.
      end: `end(state, lane) -> state`, the end of the turn.
      best_rated: `best_rated(state, among) -> action`.
      first_listed: `first_listed(state, among) -> action`.
      rollout_action: `rollout_action(state, lane, greediness) -> action`.
      position_key: `position_key(state) -> uint32 [2]`.
      end_turn: the action that ends a turn.
      turn_length: actions in a turn, its end included, at most.
    """

    known: Callable[[Any], Any]
    offered: Callable[[Any], Bits]
    legal: Callable[[Any], Bits]
    advance: Callable[[Any, Array, LaneKey], Any]
    act: Callable[[Any, Array], Any]
    end: Callable[[Any, LaneKey], Any]
    best_rated: Callable[[Any, Bits], Array]
    first_listed: Callable[[Any, Bits], Array]
    rollout_action: Callable[[Any, LaneKey, float], Array]
    position_key: Callable[[Any], Array]
    end_turn: int
    turn_length: int


def has_turns(game: Game) -> TypeGuard[SetGame]:
    """Says whether a game is one of turns of several actions."""
    return offers(game, SetGame)


def ends_alone(game: Game) -> TypeGuard[EndingGame]:
    """Says whether a game ends turns by a function of its own."""
    return offers(game, EndingGame)


def moves_of(game: Game) -> Moves:
    """Gives the moves of a game of turns.

    Raises:
      ValueError: this is no game, or one without turns of several actions.
    """
    a_game(game)
    if not has_turns(game):
        raise ValueError(f"game={game.name!r}: has no turns of several actions")

    def offered(state: Any) -> Bits:
        return game.legal_set(state, pruned=True)

    def advance(state: Any, action: Array, lane: LaneKey) -> Any:
        return game.advance(state, action, random_bits.typed_keys(lane))

    def end(state: Any, lane: LaneKey) -> Any:
        if ends_alone(game):
            return game.play_end_turn(state, random_bits.typed_keys(lane))
        return advance(state, jnp.int32(game.end_turn), lane)

    return Moves(
        game.known_state,
        offered,
        game.legal_set,
        advance,
        game.act,
        end,
        game.best_rated,
        game.first_listed,
        game.rollout_action,
        game.position_key,
        game.end_turn,
        game.turn_length,
    )


def has(actions: Bits, action: Array) -> Array:
    """Says whether a set has an action (int32 []; a negative one: no). Returns bool []."""
    return actions.has(action) & (action >= 0)


def draw(actions: Bits, word: Array) -> Array:
    """Draws one of a set by a random word, int32 []."""
    return actions.pick(random_bits.below(word, actions.count()))


def without(actions: Bits, action: Array) -> Bits:
    """Takes one action (int32 []; a negative one: nothing) out of a set."""
    number, bit = action >> 5, jnp.uint32(1) << (action & (WORD_BITS - 1)).astype(jnp.uint32)
    return Bits(tuple(jnp.where(number == i, word & ~bit, word) for i, word in enumerate(actions.words)))


def value_for(game: Game, state: Any, seat: Array) -> Array:
    """Gives the heuristic from the view of a seat, float32 []."""
    # A masked sum: where single values are sliced out, the compiler works out one game at a time, ten times as slow.
    return jnp.where(jnp.arange(game.num_players) == seat, game.heuristic(state), 0).sum()


def finish_turn(game: Game, moves: Moves, greediness: float, lanes: LaneKey, states: Any) -> Any:
    """Plays on as rollouts do, to the end of the turn in which each state is.

    Args:
      game: the game.
      moves: how it is played.
      greediness: chance of the action of the highest rating.
      lanes: uint32 [B] each, keys.
      states: State [B].
    """
    movers = jax.vmap(game.to_play)(states)

    def unfinished(states: Any) -> Array:
        return ~states.terminated & (jax.vmap(game.to_play)(states) == movers)

    def step(carry: tuple[Array, Array, Array, Any]) -> tuple[Array, Array, Array, Any]:
        number, acting, ended, states = carry
        keys = random_bits.fold(lanes, number)
        action = boundary(jax.vmap(lambda state, key: moves.rollout_action(state, key, greediness))(states, keys))
        # The end of the turn is played once, after the loop.
        ends = acting & (action == moves.end_turn)
        acts = acting & ~ends
        states = where_lanes(acts, jax.vmap(moves.act)(states, action), states)
        ended = jnp.where(ends, number, jnp.where(acts, number + 1, ended))
        return number + 1, acts & unfinished(states) & (states.action_points > 0), ended, states

    acting = unfinished(states) & (states.action_points > 0)
    start = (jnp.int32(0), acting, jnp.zeros_like(movers), states)
    last = moves.turn_length - 1
    _, _, ended, states = jax.lax.while_loop(lambda carry: (carry[0] < last) & carry[1].any(), step, start)
    keys = random_bits.fold(random_bits.fold(lanes, ended), 0)
    return boundary(with_end(moves, unfinished(states), keys, states))


def with_end(moves: Moves, ends: Array, lanes: LaneKey, states: Any) -> Any:
    """Ends the turn where it is to end.

    Args:
      moves: how the game is played.
      ends: bool [B].
      lanes: uint32 [B] each, keys of chance.
      states: State [B].
    """
    return where_lanes(ends, jax.vmap(moves.end)(states, lanes), states)
