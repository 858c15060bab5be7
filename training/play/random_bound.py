"""What the best reply to a random player makes in abrupt DarkHex, exactly: the most that any agent can hope for against it.

The reply chooses by all that it has seen, so this goes through its sequences of attempts and results, each with the weights of
the boards that it cannot tell apart. What a player who saw everything would still make bounds an attempt from above, and most
attempts need not be looked at.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator

LARGEST = 3  # rows; 4 x 4 has too many sequences

# Boards that a player cannot tell apart, with their probabilities: (the other's stones, those of mine that the other has met).
_Boards = dict[tuple[int, int], float]


def best_against_random(board_size: int) -> tuple[float, float]:
    """Gives the probabilities that the best reply to a random player wins abrupt DarkHex, as first and as second player.

    The random player takes a cell that it does not know to be taken, all alike.

    Args:
      board_size: rows, 2 or 3.

    Raises:
      ValueError: any other size.
    """
    if not 2 <= board_size <= LARGEST:
        raise ValueError(f"board_size={board_size}: must be in 2..{LARGEST}; larger boards have too many sequences of attempts")
    board = _Board(board_size)
    start: _Boards = {(0, 0): 1.0}
    return board.best(0, 0, 0, start), board.after(1, 0, 0, start)


class _Board:
    """A board as sets of cells in the bits of plain integers; the first player joins top and bottom."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.full = (1 << size * size) - 1
        self.wins = [[self._joins(stones, side) for stones in range(self.full + 1)] for side in range(2)]
        self.seen_best = functools.cache(self._seen_best)
        self.seen_after = functools.cache(self._seen_after)

    def best(self, side: int, mine: int, known: int, boards: _Boards) -> float:
        """The weight of what is won by the best attempts from here on: `mine` are stones, `known` those met of the other."""
        bounds = {cell: self._bound(side, mine, boards, cell) for cell in _cells(self.full & ~(mine | known))}
        best = 0.0
        for cell in sorted(bounds, key=lambda cell: -bounds[cell]):
            if bounds[cell] <= best:
                break
            met = {board: weight for board, weight in boards.items() if board[0] & cell}
            free = {board: weight for board, weight in boards.items() if not board[0] & cell}
            won = self.after(side, mine, known | cell, met)
            if self.wins[side][mine | cell]:
                won += sum(free.values())
            else:
                won += self.after(side, mine | cell, known, free)
            best = max(best, won)
        return best

    def after(self, side: int, mine: int, known: int, boards: _Boards) -> float:
        """The same, when the random player is to move."""
        found: _Boards = defaultdict(float)
        for (others, met), weight in boards.items():
            for board, share in self._replies(side, mine, others, met):
                found[board] += weight * share
        return self.best(side, mine, known, found) if found else 0.0

    def _replies(self, side: int, mine: int, others: int, met: int) -> Iterator[tuple[tuple[int, int], float]]:
        """The boards after the random player's attempt, but for those that it wins, with their probabilities."""
        choices = self.full & ~(others | met)
        share = 1 / choices.bit_count()
        for cell in _cells(choices):
            if cell & mine:
                yield (others, met | cell), share
            elif not self.wins[1 - side][others | cell]:
                yield (others | cell, met), share

    def _bound(self, side: int, mine: int, boards: _Boards, cell: int) -> float:
        return sum(weight * self._seen_try(side, mine, *board, cell) for board, weight in boards.items())

    def _seen_try(self, side: int, mine: int, others: int, met: int, cell: int) -> float:
        """The probability to win after an attempt, for one who sees everything from then on."""
        if not others & cell:
            mine |= cell
            if self.wins[side][mine]:
                return 1.0
        return self.seen_after(side, mine, others, met)

    def _seen_best(self, side: int, mine: int, others: int, met: int) -> float:
        return max(self._seen_try(side, mine, others, met, cell) for cell in _cells(self.full & ~(mine | others)))

    def _seen_after(self, side: int, mine: int, others: int, met: int) -> float:
        return sum(share * self.seen_best(side, mine, *board) for board, share in self._replies(side, mine, others, met))

    def _joins(self, stones: int, side: int) -> bool:
        """Says whether stones join the side's edges."""
        size = self.size
        at = {(row, column) for row in range(size) for column in range(size) if stones >> row * size + column & 1}
        reached = {cell for cell in at if cell[side] == 0}
        while grown := {(row + i, column + j) for row, column in reached for i, j in _NEIGHBOURS} & at - reached:
            reached |= grown
        return any(cell[side] == size - 1 for cell in reached)


_NEIGHBOURS = ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0))


def _cells(places: int) -> Iterator[int]:
    """The bits of a set, one by one."""
    while places:
        cell = places & -places
        yield cell
        places ^= cell
