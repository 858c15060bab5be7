"""Which Stratego: board, pieces, whose rules, and what starts open."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

from jaxgames import checks
from jaxgames.bitboard import Grid
from jaxgames.stratego import constants, land
from jaxgames.stratego.constants import IMMOBILE, KIND_NAMES, MOST_OF_A_KIND, MOST_SIDE, NUM_KINDS, PLAYERS, SCOUT

SETUPS = ("human", "uniform")


@dataclasses.dataclass(frozen=True)
class StrategoConfig:
    """Settings of one variant; checked when made. Cells count row by row from Red's back row: cell = columns * row + column.

    Attributes:
      rows: of the board, 3 to 10.
      columns: of the board, 2 to 10.
      home_rows: rows in which each side sets up its pieces.
      lakes: cells that nobody enters.
      pieces: how many of each kind a side has, in the order of `constants.KIND_NAMES`, with one flag.
      two_square: a piece may not go to and fro between two cells for a third time (the rule of stratego_env).
      scout_reveal: a piece that is seen to move more than one cell is shown.
      defence_moves: a piece that has beaten its attacker counts as moved.
      max_plies: a game of so many moves is a draw.
      open_pieces: kinds that both players see from the start, by name.
      blocked_fields: lakes that are drawn for every game, among the cells that are empty at its start.
      setups: human (drawn as people set up their pieces, on boards of 10 x 10 cells) or uniform.
      start: the position with which every game starts, as FENfS; "": one that is drawn.
      true_sight: both players see everything; what would be hidden is still tracked.
      remembered: so many earlier positions are remembered, to tell networks how often one has come back.
      far_inference: in drawn states, pieces that have moved more than one cell are scouts.
    """

    rows: int = constants.BOARD_SIDE
    columns: int = constants.BOARD_SIDE
    home_rows: int = constants.HOME_ROWS
    lakes: tuple[int, ...] = constants.LAKES
    pieces: tuple[int, ...] = constants.FULL_PIECES
    two_square: bool = False
    scout_reveal: bool = False
    defence_moves: bool = False
    max_plies: int = constants.YORKTOWN_PLIES
    open_pieces: tuple[str, ...] = ()
    blocked_fields: int = 0
    setups: str = "human"
    start: str = ""
    true_sight: bool = False
    remembered: int = 8
    far_inference: bool = True

    def __post_init__(self) -> None:
        for name, low, high in (
            ("remembered", 0, 64),
            ("rows", 3, MOST_SIDE),
            ("columns", 2, MOST_SIDE),
            ("max_plies", 1, 30_000),
        ):
            self._check_number(name, low, high)
        self._check_number("home_rows", 1, self.rows // 2)
        for name in ("two_square", "scout_reveal", "defence_moves", "true_sight", "far_inference"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name}={getattr(self, name)!r}: must be True or False")
        self._check_lists()
        empty = self.num_cells - len(self.lakes) - 2 * sum(self.pieces)
        self._check_number("blocked_fields", 0, max(empty, 0))
        self._check_land()
        if self.setups not in SETUPS:
            raise ValueError(f"setups={self.setups!r}: {checks.one_of(self.setups, SETUPS)}")
        size = (self.rows, self.columns, self.home_rows)
        if self.setups == "human" and size != (constants.BOARD_SIDE, constants.BOARD_SIDE, constants.HOME_ROWS):
            raise ValueError("setups='human': must be uniform unless there are 10 x 10 cells and 4 home rows")
        if not isinstance(self.start, str):
            raise ValueError(f"start={self.start!r}: must be a position as text")
        if self.start:
            self._check_start()

    def _check_number(self, name: str, low: int, high: int) -> None:
        value = checks.as_integer(getattr(self, name))
        if value is None or not low <= value <= high:
            raise ValueError(f"{name}={getattr(self, name)!r}: must be an integer in {low}..{high}")
        object.__setattr__(self, name, value)

    def _check_lists(self) -> None:
        for name in ("lakes", "pieces", "open_pieces"):
            if not isinstance(getattr(self, name), tuple | list):
                raise ValueError(f"{name}={getattr(self, name)!r}: must be a tuple")
        object.__setattr__(self, "open_pieces", tuple(self.open_pieces))
        for name in ("lakes", "pieces"):
            numbers = [checks.as_integer(number) for number in getattr(self, name)]
            if None in numbers:
                raise ValueError(f"{name}={getattr(self, name)!r}: must be integers")
            object.__setattr__(self, name, tuple(numbers))
        for cell in self.lakes:
            if not 0 <= cell < self.num_cells or self.lakes.count(cell) > 1:
                raise ValueError(f"lakes={self.lakes}: cell {cell} must be in 0..{self.num_cells - 1}, and once")
        if len(self.pieces) != NUM_KINDS or not 0 <= min(self.pieces) <= max(self.pieces) <= MOST_OF_A_KIND:
            raise ValueError(
                f"pieces={self.pieces}: must be {NUM_KINDS} numbers in 0..{MOST_OF_A_KIND}, of {', '.join(KIND_NAMES)}"
            )
        if self.pieces[0] != 1:
            raise ValueError(f"pieces={self.pieces}: must have one flag")
        for seat, home in enumerate(self.home_cells):
            if sum(self.pieces) > len(home):
                room = f"{PLAYERS[seat]}'s {len(home)} home cells"
                raise ValueError(f"pieces={self.pieces}: {sum(self.pieces)} must fit into {room}")
        if not any(count for kind, count in enumerate(self.pieces, 1) if kind not in IMMOBILE):
            raise ValueError(f"pieces={self.pieces}: must have one that moves")
        for piece in self.open_pieces:
            if piece not in KIND_NAMES:
                raise ValueError(f"open_pieces: {piece!r} must be one of {', '.join(KIND_NAMES)}")

    def _check_land(self) -> None:
        """Raises where lakes keep the sides apart, or so many are to be drawn that they hardly ever leave a game."""
        dry = tuple(cell for cell in range(self.num_cells) if cell not in self.lakes)
        if not land.is_joined(self.columns, frozenset(dry), self.home_cells):
            raise ValueError(f"lakes={self.lakes}: must leave a way from some home cell of Red's to one of Blue's")
        still = sum(count for kind, count in enumerate(self.pieces, 1) if kind in IMMOBILE)
        pieces = (self.num_pieces - still, still)
        if self.blocked_fields and not land.can_be_blocked(self.columns, dry, self.home_cells, *pieces, self.blocked_fields):
            why = "hardly any draw of so many leaves all pieces within reach and both sides able to move"
            raise ValueError(f"blocked_fields={self.blocked_fields}: must be fewer: {why}")

    def _check_start(self) -> None:
        from jaxgames.stratego import notation  # a position is read by a config

        if self.blocked_fields:
            raise ValueError(f"blocked_fields={self.blocked_fields}: must be 0 with a start, which names all lakes")
        if self.open_pieces:
            raise ValueError(f"open_pieces={self.open_pieces}: must be () with a start, in which they have lower-case letters")
        notation.check(dataclasses.replace(self, start=""), self.start)

    @functools.cached_property
    def grid(self) -> Grid:
        return Grid(self.rows, self.columns)

    @property
    def num_cells(self) -> int:
        return self.rows * self.columns

    @property
    def home_cells(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Cells of each side, lakes left out, from its back row on and in the order of columns."""
        by_row = [range(row * self.columns, (row + 1) * self.columns) for row in range(self.rows)]
        homes = (by_row[: self.home_rows], by_row[: -self.home_rows - 1 : -1])
        red, blue = (tuple(cell for row in home for cell in row if cell not in self.lakes) for home in homes)
        return red, blue

    @property
    def num_pieces(self) -> int:
        """Of one side."""
        return sum(self.pieces)

    @property
    def max_steps(self) -> int:
        return self.max_plies

    @property
    def most_moves(self) -> int:
        """No player has more legal moves: four for each piece, and for scouts all other cells of their row and column."""
        return int(self.moves_of(self.pieces))

    def moves_of(self, counts: Sequence[Any]) -> Any:
        """Gives how many moves so many pieces of each kind can have at most; counts are numbers or arrays."""
        mobile = sum(count for kind, count in enumerate(counts, 1) if kind not in IMMOBILE)
        scouts = counts[SCOUT - 1]
        return 4 * (mobile - scouts) + (self.rows + self.columns - 2) * scouts


_P2SRO = {"two_square": True, "scout_reveal": True, "defence_moves": True}
_SIZES: dict[str, dict] = {
    "barrage": {"pieces": constants.BARRAGE_PIECES},
    "stratego": {"pieces": constants.FULL_PIECES},
}
_FORMS: dict[str, dict] = {
    "": {},
    "-p2sro": _P2SRO,
    "-open-flags": {"open_pieces": ("flag",)},
    "-open-marshals": {"open_pieces": ("marshal",)},
    "-blocked": {"blocked_fields": 10},
}
_ENV_PLIES = {"barrage": constants.ENV_BARRAGE_PLIES, "stratego": constants.ENV_FULL_PLIES}
_MINI = {"rows": 6, "columns": 6, "home_rows": 2, "lakes": (14, 21), "pieces": constants.MINI_PIECES, "setups": "uniform"}

MODES: dict[str, dict] = {
    **{size + form: _SIZES[size] | _FORMS[form] for size in _SIZES for form in _FORMS},
    "mini": _MINI | {"max_plies": 300},
}
for _size, _plies in _ENV_PLIES.items():
    MODES[f"{_size}-p2sro"]["max_plies"] = _plies


def preset(mode: str) -> StrategoConfig:
    """Gives a configuration by its name.

    Args:
      mode: barrage or stratego by the rules of the AlphaZe** paper's code, alone or with -p2sro (the rules of stratego_env),
        -open-flags, -open-marshals or -blocked (ten more lakes); or mini, on 6 x 6 cells.

    Raises:
      ValueError: for an unknown name.
    """
    if mode not in MODES:
        raise ValueError(f"mode={mode!r}: {checks.one_of(mode, MODES)}")
    return StrategoConfig(**MODES[mode])
