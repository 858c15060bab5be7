"""The game that the manager keeps: boards as lines tell them, battles and moves as the rules of this project say."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import jaxgames
from jaxgames.stratego import Stratego, StrategoConfig, interop, moves
from jaxgames.stratego.constants import LETTERS
from jaxgames.stratego.state import State
from training.play.stratego import protocol
from training.play.stratego.protocol import Move, Outcome

_KINDS = np.array([*protocol.RANKS, protocol.LAKE])  # by code; -1 is a lake


class Board(NamedTuple):
    """What stands where.

    Attributes:
      ranks: the 100 cells as characters of the protocol.
      owners: 0 or 1 of pieces, 2 elsewhere.
    """

    ranks: str
    owners: list[int]

    def view(self, player: int) -> list[str]:
        """The rows as a player sees them."""
        return protocol.view(self.ranks, self.owners, player)


class GameReferee:
    """A game by the rules of one variant, as `games.Referee`.

    Attributes:
      config: the variant.
      state: where the game is.
    """

    def __init__(self, config: StrategoConfig, state: State) -> None:
        self.config, self.state = config, state
        self._board = board_of(config, state)

    @property
    def player(self) -> int:
        """Whose turn it is."""
        return int(self.state.player)

    def view(self, player: int) -> list[str]:
        """The rows of the board as a player sees them."""
        return self._board.view(player)

    def why_illegal(self, move: Move) -> str:
        """Says why a move of the player on turn is not allowed; "" for a legal one."""
        wrong = protocol.why_illegal(self.view(self.player), move)
        if wrong or action_of(self.config, move, self.player) in interop.legal_list(self.config, self.state):
            return wrong
        return "goes to and fro for too long"

    def play(self, move: Move) -> Outcome:
        """Plays a legal move of the player on turn."""
        before, player = self._board, self.player
        self.state = interop.play(self.config, self.state, action_of(self.config, move, player))
        self._board = board_of(self.config, self.state)
        end = cell_of(*move.target)
        attacker, defender = before.ranks[cell_of(move.x, move.y)], before.ranks[end]
        if defender == protocol.EMPTY:
            return Outcome("OK")
        if defender == "F":
            return Outcome("VICTORY_FLAG")
        word = {player: "KILLS", 1 - player: "DIES"}.get(self._board.owners[end], "BOTHDIE")
        return Outcome(word, attacker, defender)

    def ranks(self, player: int) -> str:
        """The pieces that a player has left."""
        return "".join(rank for rank, owner in zip(*self._board, strict=True) if owner == player)


def variant(mode: str, plies: int = 0) -> Stratego:
    """Makes a variant in which games may have so many plies at least: the protocol has limits of its own.

    Raises:
      ValueError: there is none of this name, its board is not the protocol's, it shows more than lines tell, or it has a start of
        its own.
    """
    made: Any = jaxgames.make("stratego", mode)
    config: StrategoConfig = made.config
    if (config.rows, config.columns, config.home_rows) != (protocol.SIZE, protocol.SIZE, protocol.HOME_ROWS):
        size = f"{config.rows} x {config.columns}"
        raise ValueError(f"mode={mode!r}: has {size} cells; the protocol is for boards of 10 x 10 with 4 home rows")
    if config.open_pieces:
        raise ValueError(f"mode={mode!r}: begins with open pieces, which the protocol does not tell")
    if config.true_sight:
        raise ValueError(f"mode={mode!r}: true_sight=1 shows all pieces, and the protocol hides the other's; leave it out")
    if config.start:
        raise ValueError(f"mode={mode!r}: has a start of its own; leave it out, and give positions by --starts FILE")
    return Stratego(dataclasses.replace(config, max_plies=max(config.max_plies, plies)))


def board_of(config: StrategoConfig, state: State) -> Board:
    """Reads the board of a state."""
    arrays = interop.to_arrays(config, state)
    return Board("".join(_KINDS[arrays["piece"]]), arrays["owner"].tolist())


def of_setups(config: StrategoConfig, setups: Sequence[Sequence[str]]) -> State:
    """Gives the start of a game with two set-ups of the right pieces, each of four rows from the top as they lie on the board."""
    red, blue = setups
    letters = ("a", *LETTERS[0])
    texts = ["".join(letters[protocol.RANKS.index(rank)] for row in rows for rank in row) for rows in (red, blue[::-1])]
    return interop.from_setups(config, *texts)


def counts_of(config: StrategoConfig) -> dict[str, int]:
    """Gives how many pieces of each rank a side of a variant has."""
    return {rank: count for rank, count in zip(protocol.RANKS[1:], config.pieces, strict=True) if count}


def lakes_of(config: StrategoConfig) -> tuple[tuple[int, int], ...]:
    """Gives the cells (x, y) that are lakes in every game of a variant."""
    return tuple((cell % protocol.SIZE, cell // protocol.SIZE) for cell in config.lakes)


def cell_of(x: int, y: int) -> int:
    """Gives the number of a cell; rows count from the top here and there."""
    return protocol.SIZE * y + x


def action_of(config: StrategoConfig, move: Move, player: int) -> int:
    """Gives the action of a move on the board."""
    return moves.action_of(config, cell_of(move.x, move.y), cell_of(*move.target), player)


def move_of(config: StrategoConfig, action: int, player: int) -> Move:
    """Gives the move of an action.

    Raises:
      ValueError: it is none.
    """
    table = moves.table(config, player)
    if not 0 <= action < len(table.inside) or not table.inside[action]:
        raise ValueError(f"action={action}: is no move on the board")
    (y, x), (v, u) = (divmod(int(cell), protocol.SIZE) for cell in (table.start[action], table.end[action]))
    direction = ("DOWN" if v > y else "UP") if x == u else ("RIGHT" if u > x else "LEFT")
    return Move(x, y, direction, abs(v - y) + abs(u - x))
