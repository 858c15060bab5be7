"""Actions at the border: checked, and between the official notation and ours.

Officially an action is a move 0..5; in radio mode a list of a move and two words, or a plain move with the message (0, 0).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jaxgames.pommerman import rules
from jaxgames.pommerman.config import PommermanConfig
from jaxgames.pommerman.constants import NUM_MESSAGES, NUM_MOVES, NUM_WORDS, WORDS_PER_MESSAGE

OfficialAction = int | list[int]


def check_actions(config: PommermanConfig, actions: ArrayLike) -> np.ndarray:
    """Checks actions, one per seat. Inside jit a number out of range counts as stop; here it is an error.

    Args:
      config: the variant.
      actions: integers [..., P], for one game or many.

    Returns:
      int32 [..., P].

    Raises:
      ValueError: no integers, not one per seat, or out of range; names the first wrong one.
    """
    array = np.asarray(actions)
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"actions={actions!r}: must be integers")
    if array.ndim < 1 or array.shape[-1] != config.num_players:
        raise ValueError(f"actions of shape {array.shape}: must be (..., {config.num_players}), one per seat")
    wrong = np.argwhere((array < 0) | (array >= rules.num_actions(config)))
    if len(wrong):
        *game, seat = (int(i) for i in wrong[0])
        where = f"game {game[0] if len(game) == 1 else tuple(game)}, agent {seat}" if game else f"agent {seat}"
        raise ValueError(f"action {array[tuple(wrong[0])]} of {where}: must be in 0..{rules.num_actions(config) - 1}")
    return array.astype(np.int32)


def from_official_actions(config: PommermanConfig, actions: Sequence[int | Sequence[int]]) -> np.ndarray:
    """Makes the actions of one step from the official ones.

    Args:
      config: the variant.
      actions: per seat a move, or in radio mode also [move, word, word].

    Returns:
      int32 [P].

    Raises:
      ValueError: names the agent, and what is wrong with its action.
    """
    try:
        of_seats = list(actions)
    except TypeError:
        raise ValueError(f"actions={actions!r}: must be a list, one per seat") from None
    if len(of_seats) != config.num_players:
        raise ValueError(f"{len(of_seats)} actions: must be {config.num_players}, one per seat")
    joined = []
    for seat, action in enumerate(of_seats):
        parts: list[Any] = list(action) if isinstance(action, Sequence | np.ndarray) else [action]
        if len(parts) != 1 and not (config.has_messages and len(parts) == 1 + WORDS_PER_MESSAGE):
            form = "a move, or a list of a move and two words" if config.has_messages else "a move"
            raise ValueError(f"action {action!r} of agent {seat}: must be {form}")
        for part, count, name in zip(parts, (NUM_MOVES, NUM_WORDS, NUM_WORDS), ("move", "word", "word"), strict=False):
            if isinstance(part, bool | np.bool_) or not isinstance(part, int | np.integer) or not 0 <= part < count:
                raise ValueError(f"{name} {part!r} of agent {seat}: must be an integer in 0..{count - 1}")
        move, *words = (int(part) for part in parts)
        joined.append(join_words(config, move, np.array(words or (0, 0))))
    return np.array(joined, np.int32)


def to_official_actions(config: PommermanConfig, actions: ArrayLike) -> list[OfficialAction]:
    """Turns the actions of one step, int [P], into the official ones: moves, or in radio mode [move, word, word]."""
    checked = check_actions(config, actions)
    if not config.has_messages:
        return [int(action) for action in checked]
    split = [(action // NUM_MESSAGES, action % NUM_MESSAGES // NUM_WORDS, action % NUM_WORDS) for action in checked]
    return [[int(part) for part in parts] for parts in split]


def join_words(config: PommermanConfig, moves: ArrayLike, words: np.ndarray) -> np.ndarray:
    """Joins moves, int [...], and words, int [..., 2], to actions: the moves alone where there is no radio."""
    moves = np.asarray(moves, np.int32)
    if not config.has_messages:
        return moves
    return moves * NUM_MESSAGES + words[..., 0].astype(np.int32) * NUM_WORDS + words[..., 1]
