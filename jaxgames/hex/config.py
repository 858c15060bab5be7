"""Which Hex: the board, and what happens when a hidden stone is hit."""

from __future__ import annotations

import dataclasses
import functools

from jaxgames import checks
from jaxgames.hex.geometry import HexGrid

RULES = ("hex", "abrupt", "classical")
COUNT_RULES = ("dp", "fork")
MODES = {"hex": "hex", "adh": "abrupt", "cdh": "classical"}


@dataclasses.dataclass(frozen=True)
class HexConfig:
    """Settings of one variant; checked when made.

    Attributes:
      board_size: side of the board, in cells.
      rules: "hex" (both see everything), "abrupt" (DarkHex; who tries a cell with a hidden stone loses the turn) or "classical"
        (DarkHex; who does so tries again).
      count_rule: how `sample_hidden` draws the number of hidden stones in abrupt DarkHex: "dp" by how likely each is, or "fork":
        as many stones of the other as the player has, like the published code, or as there are cells and turns for.
    """

    board_size: int = 11
    rules: str = "hex"
    count_rule: str = "dp"

    def __post_init__(self) -> None:
        size = checks.as_integer(self.board_size)
        if size is None:
            raise ValueError(f"board_size={self.board_size!r}: must be an integer in 2..19")
        if not 2 <= size <= 19:
            raise ValueError(f"board_size={size}: must be in 2..19")
        object.__setattr__(self, "board_size", size)
        if self.rules not in RULES:
            raise ValueError(f"rules={self.rules!r}: {checks.one_of(self.rules, RULES)}")
        if self.count_rule not in COUNT_RULES:
            raise ValueError(f"count_rule={self.count_rule!r}: {checks.one_of(self.count_rule, COUNT_RULES)}")

    @functools.cached_property
    def grid(self) -> HexGrid:
        return HexGrid(self.board_size, self.board_size)

    @property
    def num_cells(self) -> int:
        return self.board_size * self.board_size

    @property
    def is_dark(self) -> bool:
        return self.rules != "hex"

    @property
    def max_steps(self) -> int:
        """Longest game in attempts: each fills a cell of the mover's own view, and a full board is won."""
        return 2 * self.num_cells - 1 if self.is_dark else self.num_cells


def preset(mode: str) -> HexConfig:
    """Gives a configuration by its short name: hex, adh (abrupt DarkHex) or cdh (classical DarkHex).

    Args:
      mode: the name, 11 x 11 cells; or followed by the side of the board, such as adh-5.

    Raises:
      ValueError: for an unknown name or an impossible size.
    """
    name, dash, size = mode.partition("-")
    if name not in MODES or (dash and not size.isdecimal()):
        raise ValueError(f"mode={mode!r}: {checks.one_of(name, MODES)}, with the size of a board that is not 11 as in adh-5")
    return HexConfig(int(size), MODES[name]) if dash else HexConfig(rules=MODES[name])
