"""Lines of the text protocol of strategoevaluator: boards, set-ups, moves and what came of them.

Cells are (x, y) with y downwards: red owns the rows 0 to 3 and moves first, blue the rows 6 to 9. Ranks are told the other way
round: 1 is the marshal, 9 a scout. Nothing here needs the game itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

SIZE = 10
HOME_ROWS = 4
COLOURS = ("RED", "BLUE")
RANKS = ".Fs987654321B"
"""The character of each kind of piece: flag, spy, scout to marshal, bomb; 0 is an empty cell."""
EMPTY, LAKE, ENEMY = ".", "+", "#"
IMMOBILE, SCOUT = "FB", "9"
DIRECTIONS: Mapping[str, tuple[int, int]] = {"UP": (0, -1), "DOWN": (0, 1), "LEFT": (-1, 0), "RIGHT": (1, 0)}
START, QUIT, SURRENDER = "START", "QUIT", "SURRENDER"
LONGEST_LINE = 4096  # bytes; the longest one of the protocol tells a name and a result
BATTLES = ("KILLS", "DIES", "BOTHDIE")

_HEADER = re.compile(r"(RED|BLUE)(?: (\S+))? (\d+) (\d+)", re.ASCII)
_MOVE = re.compile(r"([+-]?\d{1,9})\s+([+-]?\d{1,9})\s+(UP|DOWN|LEFT|RIGHT)(?:\s+([+-]?\d{1,9}))?", re.ASCII)
_TOLD = re.compile(_MOVE.pattern + r"\s+(OK|ILLEGAL|VICTORY_FLAG|(?:KILLS|DIES|BOTHDIE)\s+([Fs1-9B])\s+([Fs1-9B]))", re.ASCII)


class Move(NamedTuple):
    """A move: the cell that is left, one of `DIRECTIONS`, and how far."""

    x: int
    y: int
    direction: str
    distance: int = 1

    @property
    def target(self) -> tuple[int, int]:
        """The cell that is entered."""
        dx, dy = DIRECTIONS[self.direction]
        return self.x + self.distance * dx, self.y + self.distance * dy

    def __str__(self) -> str:
        return f"{self.x} {self.y} {self.direction}" + (f" {self.distance}" if self.distance != 1 else "")


class Outcome(NamedTuple):
    """What came of a move: OK, KILLS, DIES, BOTHDIE, ILLEGAL or VICTORY_FLAG; in battles the ranks of attacker and defender."""

    word: str
    attacker: str = ""
    defender: str = ""

    def __str__(self) -> str:
        return " ".join(part for part in self if part)


class Header(NamedTuple):
    """The first line of a game: for whom it is, and against whom."""

    colour: int
    opponent: str


def header(colour: int, opponent: str) -> str:
    """Writes the line that begins a game; a name is one word."""
    return f"{COLOURS[colour]} {word(opponent)} {SIZE} {SIZE}"


def word(name: str) -> str:
    """Makes one word of a name, as lines have room for: white space becomes underscores."""
    return "_".join(name.split())[:200] or "unnamed"


def read_header(line: str) -> Header | None:
    """Reads the line that begins a game; None: it is another.

    Raises:
      ValueError: the board has another size.
    """
    found = _HEADER.fullmatch(line.strip())
    if not found:
        return None
    colour, opponent, width, height = found.groups()
    if (width, height) != (str(SIZE), str(SIZE)):
        raise ValueError(f"{shown(line)}: the board must be {SIZE} x {SIZE}")
    return Header(COLOURS.index(colour), opponent or "")


def read_move(text: str) -> Move:
    """Reads what a player answered.

    Raises:
      ValueError: it is no move; the message says what one looks like.
    """
    found = _MOVE.fullmatch(text.strip())
    if not found:
        raise ValueError(f"{shown(text)} is no move such as '0 3 DOWN' or '0 3 DOWN 2'")
    x, y, direction, distance = found.groups()
    return Move(int(x), int(y), direction, int(distance or 1))


def read_told(line: str) -> tuple[Move, Outcome] | None:
    """Reads a line that tells a move and what came of it; None: it is another."""
    found = _TOLD.fullmatch(line.strip())
    if not found:
        return None
    x, y, direction, distance, outcome, attacker, defender = found.groups()
    told = Outcome(outcome.split()[0], attacker or "", defender or "")
    return Move(int(x), int(y), direction, int(distance or 1)), told


def is_row(line: str) -> bool:
    """Says whether a line is a row of a board."""
    return len(line) == SIZE and all(cell in RANKS + LAKE + ENEMY for cell in line)


def why_illegal(rows: Sequence[str], move: Move) -> str:
    """Says why a move is not allowed; "" for a legal one.

    Args:
      rows: the board as the player on turn sees it, `SIZE` rows from the top.
      move: what it wants.
    """
    if not (_inside(move.x, move.y) and _inside(*move.target)):
        return "leaves the board"
    piece = rows[move.y][move.x]
    if piece in (EMPTY, LAKE, ENEMY):
        return f"no piece of its own at {move.x} {move.y}"
    if piece in IMMOBILE:
        return f"a {'flag' if piece == 'F' else 'bomb'} does not move"
    if move.distance < 1 or (move.distance > 1 and piece != SCOUT):
        return f"{move.distance} cells: must be 1, or more for a scout"
    *between, last = [rows[y][x] for x, y in path(move)]
    if any(cell != EMPTY for cell in between):
        return "something is in the way"
    if last not in (EMPTY, ENEMY):
        return "enters a lake" if last == LAKE else "enters a cell with a piece of its own"
    return ""


def path(move: Move) -> list[tuple[int, int]]:
    """Gives the cells that a move enters, the last of them its target."""
    dx, dy = DIRECTIONS[move.direction]
    return [(move.x + step * dx, move.y + step * dy) for step in range(1, move.distance + 1)]


def legal_moves(rows: Sequence[str]) -> list[Move]:
    """Gives all moves of the player who sees a board."""
    moves = []
    for y, row in enumerate(rows):
        for x, piece in enumerate(row):
            if piece in EMPTY + LAKE + ENEMY + IMMOBILE:
                continue
            for direction in DIRECTIONS:
                for distance in range(1, SIZE if piece == SCOUT else 2):
                    move = Move(x, y, direction, distance)
                    if why_illegal(rows, move):
                        break
                    moves.append(move)
    return moves


def check_setup(
    rows: Sequence[str], counts: Mapping[str, int], *, lakes: Collection[tuple[int, int]] = (), colour: int = 0
) -> None:
    """Checks the four rows that a player has sent.

    Args:
      rows: from the top, as they lie on the board.
      counts: how many pieces of each rank there must be.
      lakes: cells of the board (x, y) on which nothing can stand.
      colour: whose rows they are.

    Raises:
      ValueError: a row has another length, there are unknown, missing or too many pieces, or one stands on a lake.
    """
    if len(rows) != HOME_ROWS:
        raise ValueError(f"set-up of {len(rows)} rows: must be {HOME_ROWS}")
    for number, row in enumerate(rows):
        if len(row) != SIZE:
            raise ValueError(f"row {number + 1} of the set-up, {shown(row)}: must have {SIZE} characters, not {len(row)}")
        unknown = next((cell for cell in row if cell not in RANKS), None)
        if unknown is not None:
            raise ValueError(f"row {number + 1} of the set-up, {shown(row)}: {unknown!r} is no piece; these are {RANKS[1:]}")
    found = Counter("".join(rows))
    for rank in RANKS[1:]:
        if found[rank] != counts.get(rank, 0):
            raise ValueError(f"set-up with {found[rank]} of the piece {rank}: must be {counts.get(rank, 0)}")
    top = first_row(colour)
    for x, y in sorted(lakes):
        if top <= y < top + HOME_ROWS and rows[y - top][x] != EMPTY:
            raise ValueError(f"set-up with the piece {rows[y - top][x]} at {x} {y}: must be empty, as a lake is there")


def first_row(colour: int) -> int:
    """Gives the uppermost of a player's home rows."""
    return 0 if colour == 0 else SIZE - HOME_ROWS


def view(ranks: Iterable[str], owners: Iterable[int], player: int) -> list[str]:
    """Gives the rows of a board as a player is shown them.

    Args:
      ranks: of the 100 cells from the top left, characters of `RANKS` or `LAKE`.
      owners: 0 or 1 of pieces.
      player: who looks.
    """
    cells = [rank if rank in (EMPTY, LAKE) or owner == player else ENEMY for rank, owner in zip(ranks, owners, strict=True)]
    return ["".join(cells[start : start + SIZE]) for start in range(0, SIZE * SIZE, SIZE)]


def value(ranks: Iterable[str]) -> int:
    """Gives the worth of some pieces as result lines tell it: 1 for a spy to 10 for a marshal, nothing for flag and bombs."""
    return sum(RANKS.index(rank) - 1 for rank in ranks if rank not in EMPTY + LAKE + IMMOBILE)


def shown(text: str, length: int = 40) -> str:
    """Quotes what somebody has sent, cut to a length that fits into a message."""
    return repr(text) if len(text) <= length else f"{text[:length]!r}... ({len(text)} characters)"


def _inside(x: int, y: int) -> bool:
    return 0 <= x < SIZE and 0 <= y < SIZE
