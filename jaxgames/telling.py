"""Actions in words, as pages call them, for programs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import checks, shapes
from jaxgames.game import Game


def in_words(game: Game, state: Any, action: int, seat: int | None = None) -> str:
    """Says what an action is, as the game's page does. Whether it is legal, not all pages say.

    Args:
      game: any game; one that has no board of its own on a page only tells the number.
      state: one state.
      action: its number.
      seat: whose action it is; None: of the player to move.

    Raises:
      ValueError: this is no state of the game, no number of an action or no seat; or all move at once, and no seat is given.
    """
    state, seat = _one(game, state), _seat(game, state, seat)
    return _board(game).moves(state, seat, [_number(game, action)])[0].name


def turn_in_words(game: Game, state: Any, actions: Sequence[int]) -> list[str]:
    """Plays actions of the player to move one after another, and says what each does; hit points too, where a page tells them.

    Args:
      game: a game of turns.
      state: one state, in which the first is played.
      actions: their numbers, such as `plan.metrics["turn"][lane]`; -1, which fills a plan, and all after the end of the turn or
        the game are left out.

    Raises:
      ValueError: this is no state of the game, or no number of an action; or all move at once.
    """
    before, hashable = _one(game, state), cast(Any, game)  # a frozen config decides what is compiled
    mover, board, told = _seat(game, before, None), _board(game), []
    for action in [_number(game, action) for action in np.asarray(actions) if action != -1]:
        if before.terminated or int(game.to_play(before)) != mover:
            break
        everybody = np.full(game.num_players, game.pass_action, np.int32)
        everybody[mover] = action
        after = jax.device_get(_step_of(hashable)(before, everybody))
        told.append(board.happened(before, after, mover, action, mover))
        before = after
    return told


def _board(game: Game) -> Any:
    from jaxgames.page import board_of  # loads what draws

    return board_of(game)


@functools.lru_cache(maxsize=8)
def _step_of(game: Game) -> Callable[[Any, Any], Any]:
    """A compiled step; what chance brings at the end of a turn is told nowhere."""
    return jax.jit(lambda state, actions: game.step(state, actions, jax.random.key(0)))


def _one(game: Game, state: Any) -> Any:
    """Gives one state with numpy leaves."""
    if extra := shapes.leading_axes(game, state):
        raise ValueError(f"state with {extra} leading axes: must be one state")
    return jax.device_get(state)


def _seat(game: Game, state: Any, seat: int | None) -> int:
    if seat is not None:
        number = checks.as_integer(seat)
        if number is None or not 0 <= number < game.num_players:
            raise ValueError(f"seat={seat!r}: must be in 0..{game.num_players - 1}")
        return number
    mover = int(jnp.asarray(game.to_play(state)))
    if mover < 0:
        raise ValueError(f"seat=None: all move at once in {game.name}, so say whose action it is")
    return mover


def _number(game: Game, action: Any) -> int:
    number = checks.as_integer(action)
    if number is None or not 0 <= number < game.num_actions:
        raise ValueError(f"action={action}: must be in 0..{game.num_actions - 1}")
    return number
