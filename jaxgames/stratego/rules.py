"""One move, the battle that it may bring, and the end of the game."""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.bits import Bits, select
from jaxgames.stratego import legal, moves
from jaxgames.stratego.config import StrategoConfig
from jaxgames.stratego.constants import BOMB, FLAG, MARSHAL, MINER, RED, SPY, TWICE_LEVEL
from jaxgames.stratego.legal import Sets
from jaxgames.stratego.moves import Move
from jaxgames.stratego.state import LastMove, State, less_one, position_word, seated


# Traced once per variant, however often a search asks.
@functools.partial(jax.jit, static_argnums=0)
def step(config: StrategoConfig, state: State, action: Array) -> State:
    """Plays an action of the player to move.

    Args:
      config: the variant.
      state: one game.
      action: int []; one that is not legal loses the game.

    Returns:
      The state after it; a finished game stays as it is, with reward 0.
    """
    move, inside = moves.to_move(config, action, state.player)
    fine = inside & legal.is_legal(config, legal.side_of(state, state.player), move)
    after = advance(config, state, move)
    winner = jnp.where(state.player == RED, 1, 0).astype(jnp.int8)
    lost = dataclasses.replace(state, terminated=jnp.bool_(True), winner=winner, reward=_reward(winner))
    rest = dataclasses.replace(state, reward=jnp.int8(0))
    return select(state.terminated, rest, select(fine, after, lost))


def _reward(winner: Array) -> Array:
    """Red's reward, int8 []."""
    return jnp.where(winner < 0, 0, 1 - 2 * winner).astype(jnp.int8)


def kind_at(kinds: Sets, spot: Bits) -> Array:
    """Gives the kind in a cell (a set of one), int32 []."""
    digits = [digit.overlaps(spot).astype(jnp.int32) << number for number, digit in enumerate(kinds)]
    return digits[0] | digits[1] | digits[2] | digits[3]


# Traced once per variant, as `step`.
@functools.partial(jax.jit, static_argnums=0)
def advance(config: StrategoConfig, state: State, move: Move) -> State:
    """Plays a legal move in a game that goes on; `step` without its checks."""
    grid = config.grid
    first = state.player == RED
    start, end = grid.one_hot(move.start), grid.one_hot(move.end)
    own, other = seated(first, state.pieces)
    attacker, defender = kind_at(state.kinds, start), kind_at(state.kinds, end)
    fights = other.overlaps(end)
    beats_bomb, beats_marshal = attacker == MINER, (attacker == SPY) & (defender == MARSHAL)
    wins = jnp.where(defender == BOMB, beats_bomb, beats_marshal | (attacker > defender))
    ties = attacker == defender
    stands = ~wins & ~ties  # the defender
    remains = jnp.where(wins, attacker, jnp.where(ties, 0, defender))

    touched = start | end
    distance = jnp.abs(move.end - move.start)
    goes_far = (distance > 1) & (distance != config.columns)
    was_hidden, was_far = state.hidden.overlaps(start), state.far.overlaps(start)
    shows = fights | (goes_far if config.scout_reveal else jnp.bool_(False))
    counts_as_moved = wins | (stands if config.defence_moves else stands & state.moved.overlaps(end))

    def after(cells: Bits, now: Array) -> Bits:
        """A set of pieces in which the end of the move is now, or not."""
        return (cells - touched) | end.when(now)

    pieces = (own - start) | end.when(wins), other - end.when(wins | ties)
    unknown_own, unknown_other = seated(first, state.unknown)
    unknown = (
        less_one(unknown_own, attacker, was_hidden & shows),
        less_one(unknown_other, defender, fights & state.hidden.overlaps(end)),
    )
    recent = seated(first, state.recent)
    if config.two_square:
        recent = _remembered(recent[0], move, fights), recent[1]
    kinds = tuple(after(digit, (remains >> number) & 1 != 0) for number, digit in enumerate(state.kinds))
    moved_on = dataclasses.replace(
        state,
        pieces=seated(first, pieces),
        kinds=kinds,
        hidden=after(state.hidden, was_hidden & ~shows),
        moved=after(state.moved, counts_as_moved),
        far=after(state.far, was_hidden & ~shows & (was_far | goes_far)),
        unknown=seated(first, unknown),
        recent=seated(first, recent),
        last=(move.start.astype(jnp.int8), move.end.astype(jnp.int8)),
        past=(position_word(state.pieces, state.kinds, state.hidden, state.moved), *state.past)[: config.remembered],
        player=(1 - state.player).astype(jnp.int8),
        ply=state.ply + jnp.int16(1),
    )
    return _ended(config, moved_on, fights & (defender == FLAG))


def _remembered(recent: LastMove, move: Move, fights: Array) -> LastMove:
    """What the two-square rule remembers after a move."""
    back = (move.end == recent.start) & (recent.level > 0)
    same = (move.start == recent.end) & (recent.level == TWICE_LEVEL - 1)
    level = jnp.where(back, jnp.where(same, TWICE_LEVEL, TWICE_LEVEL - 1), 1)
    return LastMove(
        jnp.where(fights, -1, move.start).astype(jnp.int8),
        jnp.where(fights, -1, move.end).astype(jnp.int8),
        jnp.where(fights, 0, level).astype(jnp.int8),
    )


def _ended(config: StrategoConfig, state: State, captured: Array) -> State:
    """Ends the game where the move just made decides it."""
    stuck = ~legal.can_move(config, legal.side_of(state, state.player))
    won = captured | stuck
    winner = jnp.where(won, 1 - state.player, -1).astype(jnp.int8)
    over = won | (state.ply >= np.int16(config.max_plies))
    return dataclasses.replace(state, winner=winner, terminated=over, reward=_reward(winner))


def settled(config: StrategoConfig, state: State) -> State:
    """Says of a position that was set up whether it is over: a flag is gone, nobody can move, or there are too many plies.

    Where both flags are gone nobody has won.
    """
    red, blue = (cells.overlaps(legal.of_kind(state.kinds, FLAG)) for cells in state.pieces)
    stuck = ~legal.can_move(config, legal.side_of(state, state.player))
    won = ~red | ~blue | stuck
    winner = jnp.where(~red, 1, jnp.where(~blue, 0, 1 - state.player))
    winner = jnp.where(won & (red | blue), winner, -1).astype(jnp.int8)
    over = won | (state.ply >= np.int16(config.max_plies))
    return dataclasses.replace(state, winner=winner, terminated=over, reward=jnp.int8(0))
