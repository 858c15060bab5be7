"""Which Hero Academy: the board, the decks, how many actions a turn has, and what is hidden or left to chance."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

from jaxgames import checks
from jaxgames.bitboard import Grid
from jaxgames.bits import Bits
from jaxgames.hero_academy import cards

# "." plain, d and D deploy squares of the first and second player, c and C their crystals, S defense, A assault, P power.
BOARDS = {
    "standard": ("d...S...D", "..c...C..", "..P...P..", ".c.....C.", "d...A...D"),
    "small": ("d..S..D", "..c.C..", ".c.P.C.", "d..A..D"),
    "tiny": ("d.S.P", "c.A.C", "P.S.D"),
}
SQUARES = ".dDcCSAP"
DECKS = {
    "standard": (3, 3, 3, 3, 1, 2, 2, 3, 2, 3, 3),
    "small": (2, 2, 2, 2, 1, 1, 1, 2, 1, 2, 2),
    "tiny": (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1),
}
DRAWS = ("seeded", "random")
MODES = ("standard", "hidden", "small", "tiny", "ap")
MOST_ACTION_POINTS = 25
MOST_TURNS = 10_000
MOST_CELLS = 64
MOST_ROWS = 31  # of a grid, and columns
MOST_DEPLOY_SQUARES = 3
PUBLISHED_TURNS = 100
_FORMS: dict[type, str] = {int: "an integer", bool: "True or False"}


@dataclasses.dataclass(frozen=True)
class HeroAcademyConfig:
    """Settings of one variant; checked when made.

    Attributes:
      board: rows of squares: "." plain, d and D deploy squares of the first and the second player, c and C their crystals, S
        defense, A assault, P power.
      deck: cards of each kind, in the order knight, archer, cleric, wizard, ninja, inferno, potion, runemetal, scroll,
        dragonscale, shining helm; the same for both players.
      action_points: actions per turn.
      first_action_points: actions in the first turn of the game.
      turn_limit: turns of both players together, after which the game is drawn.
      draws: "seeded" (each deck deals as its seed tells, so everything follows from the state) or "random".
      hidden_hands: players do not see the other's hand, nor deck seeds.
      end_turn_early: End Turn is among the legal actions at all times, not only when nothing else is left; `step` takes it
        always.
      inferno_slip: the second player's heuristic counts unspent infernos with the wrong sign, as the released program does.
    """

    board: tuple[str, ...] = BOARDS["standard"]
    deck: tuple[int, ...] = DECKS["standard"]
    action_points: int = 5
    first_action_points: int = 3
    turn_limit: int = PUBLISHED_TURNS
    draws: str = "seeded"
    hidden_hands: bool = False
    end_turn_early: bool = False
    inferno_slip: bool = False

    def __post_init__(self) -> None:
        self._check_types()
        for name in ("action_points", "first_action_points"):
            if not 1 <= getattr(self, name) <= MOST_ACTION_POINTS:
                raise ValueError(f"{name}={getattr(self, name)}: must be in 1..{MOST_ACTION_POINTS}")
        if not 1 <= self.turn_limit <= MOST_TURNS:
            raise ValueError(f"turn_limit={self.turn_limit}: must be in 1..{MOST_TURNS}")
        if self.draws not in DRAWS:
            raise ValueError(f"draws={self.draws!r}: {checks.one_of(self.draws, DRAWS)}")
        self._check_board()
        self._check_deck()

    def _check_types(self) -> None:
        """Makes tuples of board and deck, and ints of numbers; raises unless switches are True or False, and so on."""
        for name, kind, form in (("board", str, "rows of squares such as 'd..D'"), ("deck", int, "counts of cards, integers")):
            given = getattr(self, name)
            parts = () if isinstance(given, str) or not isinstance(given, Iterable) else tuple(_as(kind, part) for part in given)
            if not parts or None in parts:
                raise ValueError(f"{name}={' '.join(repr(given).split())}: must be {form}")
            object.__setattr__(self, name, parts)
        for field in dataclasses.fields(self):
            value, usual = getattr(self, field.name), type(field.default)
            if usual in _FORMS:
                if _as(usual, value) is None:
                    raise ValueError(f"{field.name}={value!r}: must be {_FORMS[usual]}")
                object.__setattr__(self, field.name, _as(usual, value))

    def _check_board(self) -> None:
        lengths = {len(row) for row in self.board}
        if len(lengths) != 1:
            raise ValueError(f"board: rows of {sorted(lengths)} squares, must all be equally long")
        rows, columns = len(self.board), lengths.pop()
        if not (2 <= rows <= MOST_ROWS and 2 <= columns <= MOST_ROWS and rows * columns <= MOST_CELLS):
            raise ValueError(f"board: {columns} x {rows} squares, must be 2 to {MOST_ROWS} a side, at most {MOST_CELLS} in all")
        text = "".join(self.board)
        for square in text:
            if square not in SQUARES:
                raise ValueError(f"board: {square!r} is no square, must be one of {' '.join(SQUARES)}")
        if not text.count("c") == text.count("C") > 0:
            raise ValueError(f"board: {text.count('c')} and {text.count('C')} crystals, must be as many for both and at least 1")
        if text.count("d") != text.count("D") or not 1 <= text.count("d") <= MOST_DEPLOY_SQUARES:
            counts = f"{text.count('d')} and {text.count('D')} deploy squares"
            raise ValueError(f"board: {counts}, must be as many for both and 1 to {MOST_DEPLOY_SQUARES}")

    def _check_deck(self) -> None:
        if len(self.deck) != cards.NUM_CARDS:
            raise ValueError(f"deck: {len(self.deck)} kinds of cards, must be {cards.NUM_CARDS}")
        for name, count in zip(cards.CARD_NAMES, self.deck, strict=True):
            most = 1 if name == "ninja" else cards.MOST_OF_A_KIND  # a swap is known by its target alone
            if not 0 <= count <= most:
                raise ValueError(f"deck: {count} x {name}, must be 0..{most}")
        unit_cards = sum(self.deck[: cards.NUM_UNIT_CARDS])
        others = sum(self.deck) - unit_cards
        least = cards.FIRST_UNITS, cards.HAND_SIZE - cards.FIRST_UNITS
        if unit_cards < least[0] or others < least[1]:
            raise ValueError(f"deck: {unit_cards} unit cards and {others} others, must be at least {least[0]} and {least[1]}")

    @functools.cached_property
    def grid(self) -> Grid:
        return Grid(len(self.board), len(self.board[0]))

    @property
    def num_cells(self) -> int:
        return self.grid.num_cells

    def squares(self, kinds: str) -> Bits:
        """Gives the set of squares of these kinds."""
        return self.grid.constant(np.array([square in kinds for square in "".join(self.board)]))

    @functools.cached_property
    def assault(self) -> Bits:
        return self.squares("A")

    @functools.cached_property
    def defense(self) -> Bits:
        return self.squares("S")

    @functools.cached_property
    def power(self) -> Bits:
        return self.squares("P")

    @functools.cached_property
    def deploy(self) -> tuple[Bits, Bits]:
        """Each player's deploy squares."""
        return self.squares("d"), self.squares("D")

    @functools.cached_property
    def deploy_cells(self) -> np.ndarray:
        """Each player's deploy squares in order, int32 [2, D]."""
        text = "".join(self.board)
        return np.array([[cell for cell, kind in enumerate(text) if kind == mine] for mine in "dD"], np.int32)

    @property
    def num_assault(self) -> int:
        return "".join(self.board).count("A")

    @property
    def max_steps(self) -> int:
        """Longest game in steps: every turn all its actions and End Turn."""
        return self.first_action_points + 1 + (self.turn_limit - 1) * (self.action_points + 1)

    @property
    def deck_word(self) -> int:
        """The full deck as a word of fields."""
        return sum(count << (cards.FIELD_BITS * card) for card, count in enumerate(self.deck))


def _as(kind: type, value: Any) -> Any:
    """Gives a value as one of this kind, a whole number of any integer type as an int; None for everything else."""
    if kind is int:
        return checks.as_integer(value)
    return value if isinstance(value, kind) else None


def preset(mode: str) -> HeroAcademyConfig:
    """Gives a configuration by its short name.

    Args:
      mode: standard (the paper's tables: seeded draws, open hands), hidden (random draws, hidden hands), small or tiny (other
        boards and decks), or ap-N (N actions per turn, with the turn limit of the paper's study).

    Raises:
      ValueError: there is no such variant.
    """
    name, dash, number = mode.partition("-")
    if name not in MODES or (dash != "") != (name == "ap") or (dash and not number.isdecimal()):
        raise ValueError(f"mode={mode!r}: {checks.one_of(name, MODES[:-1])}, or ap-N such as ap-15")
    if name == "ap":
        points = int(number)
        turns = PUBLISHED_TURNS * 5 // points if 1 <= points < 5 else PUBLISHED_TURNS
        return HeroAcademyConfig(action_points=points, turn_limit=turns)
    if name == "hidden":
        return HeroAcademyConfig(draws="random", hidden_hands=True)
    return HeroAcademyConfig(board=BOARDS[name], deck=DECKS[name])
