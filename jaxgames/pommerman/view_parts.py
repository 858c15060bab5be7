"""What the pictures of Pommerman are made of: checked recordings, colours, symbols, cards and the legend, as SVG text.

Boards are drawn in units of 40 per cell, with every symbol centred on its cell; `board_group` scales them to pixels.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Mapping, Sequence

import numpy as np

from jaxgames import svg
from jaxgames.pommerman.arrays import STATE_FIELDS
from jaxgames.pommerman.constants import BOMB_LIFE, FLAME_LIFE, Cell

CELL = 40
WIDTH, HEIGHT = 720, 560
BOARD_X, BOARD_Y, BOARD_SIDE = 16, 46, 484
PANEL_X, PANEL_WIDTH = 516, 188
CARD_HEIGHT, CARD_STEP = 82, 90
LEGEND_HEIGHT = 120
LETTER_WIDTH = 0.7  # of a bold letter in a wide font, as a share of the font size

# By seat. At least 29 apart in CIELAB for normal sight, protanopia, deuteranopia and tritanopia alike (Machado's matrices).
AGENT_COLOURS = ("#0b62c4", "#f2b705", "#2bb58a", "#8e1652")
DIGIT_COLOURS = ("#fff", "#3a2c00", "#06382a", "#fff")
FLAME_COLOURS = (("#f3b9a6", "#f8d5c9"), ("#f58a3c", "#ffc46b"), ("#ffb000", "#fff3b8"))  # by life: edge, core
INK, SOFT_INK, PAPER, CARD = "#1f2a37", "#64748b", "#ffffff", "#f3f5f8"
SOFT = 'class="soft"'
HIDDEN = 'opacity=".45"'
KICK_OFF = 'opacity=".15"'
CARD_OUT = 'opacity=".4"'
BOLD = f'font-weight="700" fill="{INK}"'
CAPTION = f'text-anchor="end" fill="{SOFT_INK}"'
BOMB_LIFE_TEXT = 'text-anchor="middle" font-size="14" font-weight="700" fill="#fff"'

_FLAMES = "".join(
    f'<pattern id="f{life}" width="40" height="40" patternUnits="userSpaceOnUse"><path fill="{edge}" d="M0 0h40v40H0z"/>'
    f'<path fill="{core}" d="M20 4q3 13 16 16q-13 3-16 16q-3-13-16-16q13-3 16-16z"/></pattern>'
    for life, (edge, core) in enumerate(FLAME_COLOURS)
)
_BOMBS = "".join(
    f'<g id="b{seat}"><circle r="12" fill="#2b3340"/><circle cx="-6" cy="-6.5" r="2.2" fill="#fff" opacity=".75"/>'
    f'<circle r="15.5" fill="none" stroke="#fff" stroke-width="5"/><circle r="15.5" fill="none" stroke="{colour}" '
    f'stroke-width="4" pathLength="100" stroke-dasharray="100" transform="rotate(-90)"/></g>'
    for seat, colour in enumerate(AGENT_COLOURS)
)
_AGENTS = "".join(
    f'<g id="a{seat}"><ellipse cy="17" rx="12" ry="3" opacity=".18"/>'
    f'<rect x="-14" y="-17" width="28" height="33" rx="12.5" fill="{colour}" stroke="#fff" stroke-width="1.6"/>'
    '<rect x="-10" y="-12" width="20" height="12" rx="6" fill="#fff"/>'
    f'<path d="M-4-8.3v4.6M4-8.3v4.6" stroke="{INK}" stroke-width="3.2" stroke-linecap="round"/>'
    f'<text y="12" text-anchor="middle" font-size="12" font-weight="700" fill="{digit}">{seat}</text></g>'
    for seat, (colour, digit) in enumerate(zip(AGENT_COLOURS, DIGIT_COLOURS, strict=True))
)
_TILE = '<rect x="-14" y="-14" width="28" height="28" rx="7" fill="{}" stroke="{}" stroke-width="1.6"/>'
_BOOT = "M-6-9h6.5v8.5l6.5 2.8q2.4 1.2 2.4 5.2H-6z"
_FIRE = "M.5-10q1 4.5 4.5 7.5q3.5 3.5 2.5 7.5q-1.5 5-7.5 5q-6 0-7.3-5q-.7-3.5 2-6q.6 2 2 2.5q1-6 3.8-11.5z"
_LEGEND_FLAMES = "".join(
    f'<rect x="{x}" y="-7.5" width="13" height="15" fill="{FLAME_COLOURS[life][0]}"/>' for x, life in ((-20, 2), (-7, 1), (6, 0))
)

SYMBOLS = (
    '<defs><pattern id="floor" width="80" height="80" patternUnits="userSpaceOnUse"><path fill="#e9edf2" d="M0 0h80v80H0z"/>'
    '<path fill="#e1e6ed" d="M0 0h40v40h40v40H40V40H0z"/></pattern>'
    + _FLAMES
    + _BOMBS
    + _AGENTS
    + f"""
<g id="c{Cell.RIGID:d}"><path fill="#465264" d="M-20-20h40v40h-40z"/><path fill="#5d6b80" d="M-18-18h36v32h-36z"/>
<path fill="#6b7a90" d="M-18-18h36v4h-36z"/></g>
<g id="c{Cell.WOOD:d}"><rect x="-19" y="-19" width="38" height="38" rx="4" fill="#b98a52"/>
<path fill="none" stroke="#9a6f3d" stroke-width="2" d="M-18-6.5h36M-18 6.5h36M-6-18v11M7-6v12M-9 7v11"/></g>
<g id="c{Cell.EXTRA_BOMB:d}">{_TILE.format("#fff", "#2b3340")}<circle cx="-2.5" cy="2.5" r="7.5" fill="#2b3340"/>
<path stroke="#2b3340" stroke-width="2.6" d="M8-11v8M4-7h8"/></g>
<g id="c{Cell.INCREASE_RANGE:d}">{_TILE.format("#fff", "#d9480f")}<path fill="#e8590c" d="{_FIRE}"/></g>
<g id="c{Cell.KICK:d}">{_TILE.format("#fff", "#5f3dc4")}<path fill="#5f3dc4" d="{_BOOT}"/></g>
<g id="x" fill="none" stroke-linecap="round"><path stroke="#fff" stroke-width="9" d="M-8-8L8 8M-8 8L8-8"/>
<path stroke-width="5" d="M-8-8L8 8M-8 8L8-8"/></g>
<g id="bomb"><circle r="8" fill="#2b3340"/><circle cx="-2.7" cy="-3" r="2" fill="#fff" opacity=".75"/></g>
<path id="fire" fill="#e8590c" d="{_FIRE}"/><path id="boot" fill="#5f3dc4" d="{_BOOT}"/>
<g id="flames">{_LEGEND_FLAMES}</g></defs>"""
).replace("\n", "")

STYLE = (
    '<style>.pommerman{font-family:system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif;'
    "font-variant-numeric:tabular-nums}.pommerman .soft{font-size:11px;fill:" + SOFT_INK + "}"
    ".pommerman .number{font-size:15px;font-weight:600;fill:" + INK + "}</style>"
)


@dataclasses.dataclass(frozen=True)
class Recording:
    """Recorded arrays, checked and as int32; S states, P agents, boards of N x N cells.

    Attributes:
      board, items, flames: int32 [S, N, N], codes of cells, hidden items, bits of the lives of flames.
      bombs: one int32 [K, 6] per state: row, column, owner, life, blast strength, direction.
      agents: int32 [S, P, 6], row, column, alive, ammo, blast strength, can_kick.
      steps: int32 [S].
    """

    board: np.ndarray
    items: np.ndarray
    flames: np.ndarray
    bombs: tuple[np.ndarray, ...]
    agents: np.ndarray
    steps: np.ndarray

    @property
    def num_states(self) -> int:
        """S."""
        return len(self.board)

    @property
    def size(self) -> int:
        """Side of the board in cells, N."""
        return int(self.board.shape[1])

    @property
    def num_agents(self) -> int:
        """P."""
        return int(self.agents.shape[1])

    @property
    def flame_lives(self) -> np.ndarray:
        """int32 [S, N, N], the life of the newest flame of a cell, -1 without flames."""
        return np.max([np.where(self.flames >> life & 1, life, -1) for life in range(FLAME_LIFE + 1)], axis=0)


def read(arrays: Mapping[str, np.ndarray], *, indices: Sequence[int] | None = None) -> Recording:
    """Checks recorded arrays as far as a picture needs it.

    Args:
      arrays: see `jaxgames.pommerman.arrays`; others are ignored.
      indices: the states to take; None: all.

    Raises:
      ValueError: a field is missing or has another shape or dtype, there is no state, or an index is out of range.
    """
    for name in STATE_FIELDS:
        if name not in arrays:
            raise ValueError(f"{name}: missing; a recording has {', '.join(STATE_FIELDS)}")
        if not np.issubdtype(np.asarray(arrays[name]).dtype, np.integer):
            raise ValueError(f"{name}: dtype {np.asarray(arrays[name]).dtype}, must be an integer type")
    fields = {name: np.asarray(arrays[name]) for name in STATE_FIELDS}
    board, agents, listed = fields["s_board"], fields["s_agents"], fields["s_bombs"]
    if board.ndim != 3 or board.shape[1] != board.shape[2] or not len(board):
        raise ValueError(f"s_board: shape {board.shape}, must be (S, N, N) with at least one state")
    if agents.ndim != 3 or agents.shape[1] not in (2, 3, 4):
        raise ValueError(f"s_agents: shape {agents.shape}, must be (S, P, 6) with 2 to 4 agents")
    slots = listed.shape[1] if listed.ndim == 3 else 0
    shapes = {"s_items": board.shape[1:], "s_flames": board.shape[1:], "s_nbombs": (), "s_bombs": (slots, 6)}
    shapes |= {"s_agents": (agents.shape[1], 6), "s_step": ()}
    for name, shape in shapes.items():
        if fields[name].shape != (len(board), *shape):
            raise ValueError(f"{name}: shape {fields[name].shape}, must be {(len(board), *shape)} to go with s_board")
    chosen = range(len(board)) if indices is None else [operator.index(index) for index in indices]
    for index in chosen:
        if not 0 <= index < len(board):
            raise ValueError(f"index={index}: must be in 0..{len(board) - 1}, the states of this recording")
    fields = {name: array[np.asarray(chosen, np.int64)].astype(np.int32) for name, array in fields.items()}
    if (fields["s_nbombs"] > slots).any() or (fields["s_nbombs"] < 0).any():
        raise ValueError(f"s_nbombs: {int(fields['s_nbombs'].max())} bombs, s_bombs has room for 0..{slots}")
    bombs = tuple(rows[:count] for rows, count in zip(fields["s_bombs"], fields["s_nbombs"], strict=True))
    if any(((rows[:, 2] < 0) | (rows[:, 2] >= len(AGENT_COLOURS))).any() for rows in bombs):
        raise ValueError(f"s_bombs: an owner is none of 0..{len(AGENT_COLOURS) - 1}")
    return Recording(fields["s_board"], fields["s_items"], fields["s_flames"], bombs, fields["s_agents"], fields["s_step"])


def agent_names(names: Sequence[str], num_agents: int) -> tuple[str, ...]:
    """Gives one name per seat; where none are given "agent 0", "agent 1", ...

    Raises:
      ValueError: not one name per seat.
    """
    return svg.names_of(names, [f"agent {seat}" for seat in range(num_agents)])


def use(symbol: str, x: float, y: float, more: str = "") -> str:
    """One copy of a symbol with its centre at (x, y)."""
    return f'<use href="#{symbol}" x="{x:g}" y="{y:g}"{" " if more else ""}{more}/>'


def centre(place: int) -> int:
    """Where the middle of a row or column is."""
    return place * CELL + CELL // 2


def in_cell(symbol: str, row: int, column: int, more: str = "") -> str:
    """One copy of a symbol in a cell of the board."""
    return use(symbol, centre(column), centre(row), more)


def moved(row: int, column: int) -> str:
    """The attribute that puts a group into a cell of the board."""
    return f'transform="translate({centre(column)} {centre(row)})"'


def fuse_offset(life: int) -> str:
    """How much of the ring around a bomb has burnt away, in hundredths, for `stroke-dashoffset`."""
    return f"{100 * (1 - min(life, BOMB_LIFE - 1) / (BOMB_LIFE - 1)):.3g}"


def flame_path(cells: Sequence[tuple[int, int]]) -> str:
    """The outline of burning cells (row, column), for the attribute `d`."""
    return "".join(f"M{column * CELL} {row * CELL}h40v40h-40z" for row, column in cells)


def board_group(size: int, x: float, y: float, side: float, body: str) -> str:
    """A board of `size` cells per side with its floor and frame, `side` pixels wide, its top left corner at (x, y)."""
    units = size * CELL
    return (
        f'<g transform="translate({x:g} {y:g}) scale({side / units:.5g})"><path fill="url(#floor)" d="M0 0h{units}v{units}H0z"/>'
        f'{body}<rect width="{units}" height="{units}" fill="none" stroke="#465264" stroke-width="2"/></g>'
    )


def text(x: float, y: float, words: str, more: str = "") -> str:
    """A line of text; `more` holds further attributes."""
    return f'<text x="{x:g}" y="{y:g}"{" " if more else ""}{more}>{svg.plain(words)}</text>'


def fitted(x: float, y: float, words: str, size: float, width: float, more: str) -> str:
    """A line of text that stays within a width: smaller when long, and cut at three quarters of the size."""
    short, smaller = svg.fitted(words, size, width, LETTER_WIDTH)
    return text(x, y, short, f'font-size="{smaller:.3g}" {more}')


def card(seat: int, name: str, *, status: str, ammo: str, blast: str, kick: str, more: str = "") -> str:
    """The card of an agent in the panel.

    Args:
      seat: which agent, and so which colour and which place in the panel.
      name: its name, shortened when too long; the whole name is the tooltip.
      status: SVG for the line below the name, in the coordinates of the card.
      ammo: SVG for the number beside the bomb.
      blast: SVG for the number beside the fire.
      kick: attributes of the symbol that says whether the agent can kick.
      more: attributes of the whole card.
    """
    return (
        f'<g transform="translate({PANEL_X} {BOARD_Y + seat * CARD_STEP})"><rect width="{PANEL_WIDTH}" height="{CARD_HEIGHT}" '
        f'rx="8" fill="{CARD}"/><rect width="6" height="{CARD_HEIGHT}" rx="3" fill="{AGENT_COLOURS[seat]}"/>'
        f"<g{' ' if more else ''}{more}><title>{svg.plain(name)}</title>"
        f"{use(f'a{seat}', 29, 25)}{fitted(50, 22, name, 13.5, PANEL_WIDTH - 54, BOLD)}{status}"
        f"{use('bomb', 29, 62)}{ammo}{use('fire', 82, 62)}{blast}{use('boot', 138, 62, kick)}</g></g>"
    )


def legend() -> str:
    """What the symbols mean, at the bottom of the panel."""
    top = BOARD_Y + BOARD_SIDE - LEGEND_HEIGHT
    rows = [
        ((f"c{Cell.RIGID:d}", "rigid wall", ""), (f"c{Cell.EXTRA_BOMB:d}", "extra bomb", "")),
        ((f"c{Cell.WOOD:d}", "wood", ""), (f"c{Cell.INCREASE_RANGE:d}", "longer blast", "")),
        (("b0", "bomb, fuse", 'stroke-dashoffset="35"'), (f"c{Cell.KICK:d}", "kick", "")),
        (("flames", "new → old", ""), (f"c{Cell.EXTRA_BOMB:d}", "hidden", HIDDEN)),
    ]
    body = "".join(
        f'<g transform="translate({13 + 95 * column} {26 * line + 20}) scale(.52)">'
        f"{use(f'c{Cell.WOOD:d}', 0, 0) if more == HIDDEN else ''}{use(symbol, 0, 0, more)}</g>"
        + text(28 + 95 * column, 26 * line + 24, words, SOFT)
        for line, pair in enumerate(rows)
        for column, (symbol, words, more) in enumerate(pair)
    )
    return f'<g transform="translate({PANEL_X} {top})">{body}</g>'


def heading(title: str) -> str:
    """The title of a picture, above the left third of the board."""
    return fitted(BOARD_X, 31, title, 19, BOARD_SIDE / 3, BOLD)


def caption_line(words: str, more: str = "") -> str:
    """A line above the rest of the board."""
    return fitted(BOARD_X + BOARD_SIDE, 31, words, 13, BOARD_SIDE * 2 / 3 - 8, f"{CAPTION}{' ' if more else ''}{more}")


def remains(seat: int, row: int, column: int, more: str = "") -> str:
    """A cross where an agent died."""
    return in_cell("x", row, column, f'stroke="{AGENT_COLOURS[seat]}" opacity=".85"{" " if more else ""}{more}')


def document(width: float, height: float, title: str, body: str) -> str:
    """A standalone SVG."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="pommerman" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}"><title>{svg.plain(title)}</title>{STYLE}{SYMBOLS}'
        f'<rect width="{width:g}" height="{height:g}" rx="10" fill="{PAPER}"/>{body}</svg>\n'
    )
