"""Pictures of Hex and DarkHex as SVG: one position, or a whole game that plays in a browser.

Both return a standalone SVG as text. In DarkHex the true board stands beside what each player sees. Programs that do not
play animations show the last position, with the number of its move on every stone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from jaxgames import checks, svg
from jaxgames.hex.config import HexConfig
from jaxgames.hex.geometry import BLACK, WHITE
from jaxgames.hex.honeycomb import Honeycomb
from jaxgames.hex.interop import board, cell_name, view_codes
from jaxgames.hex.state import State

SECONDS_PER_ATTEMPT, SECONDS_AT_END = 0.9, 4.0
SIDE = 18.0  # of a hexagon
MARGIN = 36.0
_HEAD, _FOOT = 52, 42  # heights above and below the boards
_CELL, _LINE, _PAPER = "#f3efe4", "#b9b2a0", "#ffffff"
_COLOUR_NAMES = ("black", "white")
_COLOURS = ("#20242c", "#fbfbfb")  # stones
_EDGES = ("#20242c", "#d0a94f")  # of the sides that each player joins
_RIMS = ("#000000", "#8a8578")
_HIT, _WON, _NEW = "#c8372d", "#2f9e57", "#e58a1f"
_LETTER = 8.2  # width of a letter of size 14, in fonts as wide as DejaVu Sans
_BOLD = 0.7  # width of a bold letter in such fonts, as a share of its size
_HIDDEN = " opacity='0'"
_FONT = "font-family='Helvetica,Arial,sans-serif'"
_WORDS = f"{_FONT} font-size='14' fill='#3a3833'"


@dataclasses.dataclass(frozen=True)
class _Stone:
    """A stone on one board: its cell, whose it is, the attempt with which it comes into sight, and its number (0: none)."""

    cell: int
    player: int
    since: int
    number: int


def draw(config: HexConfig, state: State, *, names: Sequence[str] = (), caption: str = "") -> str:
    """Draws one position.

    Args:
      config: the variant.
      state: one game.
      names: of the players; none: black and white.
      caption: a line below.

    Raises:
      ValueError: there are not two names.
    """
    names = svg.names_of(names, _COLOUR_NAMES)
    boards = [("board", _stones_of(board(config, state)))]
    if config.is_dark:
        boards += [(_seen_by(names, player), _stones_of(view_codes(config, state, player))) for player in (BLACK, WHITE)]
    return _picture(config, boards, names, [caption], [], [], seconds=0.0)


def animate(config: HexConfig, states: State, actions: np.ndarray | None = None, *, names: Sequence[str] = ()) -> str:
    """Draws a game.

    Args:
      config: the variant.
      states: leaves [length + 1]: the start and the state after every attempt.
      actions: not needed.
      names: of the players; none: black and white.

    Raises:
      ValueError: there is no attempt, or there are not two names.
    """
    del actions
    names = svg.names_of(names, _COLOUR_NAMES)
    length = checks.film(states)
    truth = board(config, states)
    boards = [("board", _appearing(truth))]
    if config.is_dark:
        boards += [(_seen_by(names, player), _appearing(view_codes(config, states, player))) for player in (BLACK, WHITE)]
    movers = np.asarray(states.player)[:-1]
    hits: list[tuple[int, int]] = []
    told = ["the empty board"]
    for attempt, mover in enumerate(movers.tolist(), start=1):
        before, after = truth[attempt - 1], truth[attempt]
        who, hit = f"{names[mover]} ({_COLOUR_NAMES[mover]})", False
        changed = np.flatnonzero(before != after)
        if config.is_dark and not changed.size:
            views = np.sign(view_codes(config, states, mover)[attempt - 1 : attempt + 1])
            changed, hit = np.flatnonzero(views[0] != views[1]), True
        if not changed.size:
            told.append(f"attempt {attempt}: {who} tries what is not allowed")
            continue
        cell = int(changed[0])
        hits += [(cell, attempt)] if hit else []
        place = cell_name(config, cell)
        told.append(f"attempt {attempt}: {who} {f'runs into the hidden stone on {place}' if hit else f'plays {place}'}")
    last = np.asarray(states.last)[-1]
    caption, chain = f"{length} attempts, the game is not over", []
    if np.asarray(states.terminated)[-1]:
        mover = int(np.asarray(states.player)[-1])
        winner = mover if last >= 0 else 1 - mover
        how = f"at {cell_name(config, int(last))}" if last >= 0 else "by an attempt that is not allowed"
        caption = f"{names[winner]} wins {how}, attempt {length}"
        chain = winning_chain(config, truth[-1], winner) if last >= 0 else []
    told[-1] = caption
    seconds = SECONDS_PER_ATTEMPT * length + SECONDS_AT_END
    return _picture(config, boards, names, told, hits, chain, seconds=seconds)


def _seen_by(names: Sequence[str], player: int) -> str:
    """The title of a player's view: its colour, and its name if that is another word."""
    colour = _COLOUR_NAMES[player]
    return f"seen by {colour}" if names[player] == colour else f"seen by {colour} ({names[player]})"


def _stones_of(cells: np.ndarray) -> list[_Stone]:
    return [_Stone(int(cell), BLACK if cells[cell] > 0 else WHITE, 0, 0) for cell in np.flatnonzero(cells)]


def _appearing(codes: np.ndarray) -> list[_Stone]:
    """The stones of a board over time [length + 1, n * n], each with the attempt that brought it into sight."""
    signs = np.sign(codes)
    stones = []
    for cell in np.flatnonzero(signs[-1]):
        since = int(np.argmax(signs[:, cell] != 0))
        stones.append(_Stone(int(cell), BLACK if signs[-1, cell] > 0 else WHITE, since, since))
    return stones


def winning_chain(config: HexConfig, stones: np.ndarray, player: int) -> list[int]:
    """Finds a shortest chain of stones that joins the player's edges.

    Args:
      config: the variant.
      stones: int [cells], above 0 black's and below 0 white's, as `interop.board` gives them.
      player: whose edges.

    Returns:
      Its cells, from one edge to the other; [] if there is none.
    """
    own = stones > 0 if player == BLACK else stones < 0
    table = config.grid.neighbour_table
    rows, columns = np.divmod(np.arange(config.num_cells), config.board_size)
    line = rows if player == BLACK else columns
    before = {int(cell): -1 for cell in np.flatnonzero(own & (line == 0))}
    queue = list(before)
    for cell in queue:
        if line[cell] == config.board_size - 1:
            path = [cell]
            while before[path[-1]] >= 0:
                path.append(before[path[-1]])
            return path
        for other in table[cell].tolist():
            if other < config.num_cells and own[other] and other not in before:
                before[other] = cell
                queue.append(other)
    return []


def _comb(config: HexConfig) -> Honeycomb:
    return Honeycomb(config.board_size, SIDE, MARGIN)


def _empty_board(config: HexConfig) -> str:
    """Cells, coloured edges, and names of rows and columns."""
    comb = _comb(config)
    outlines = map(comb.outline, range(config.num_cells))
    parts = [f"<polygon points='{outline}' fill='{_CELL}' stroke='{_LINE}'/>" for outline in outlines]
    for player, points in comb.edges():
        line = f"fill='none' stroke='{_EDGES[player]}' stroke-width='3.5' stroke-linejoin='round'"
        parts.append(f"<polyline points='{points}' {line}/>")
    label = f"{_FONT} font-size='12' fill='#55524a' text-anchor='middle'"
    for number in range(comb.size):
        x, y = comb.middle(number)
        parts.append(f"<text x='{x - 3:.1f}' y='{y - SIDE - 6:.1f}' {label}>{chr(ord('a') + number)}</text>")
        x, y = comb.middle(number * comb.size)
        parts.append(f"<text x='{x - comb.wide / 2 - 13:.1f}' y='{y + 4.5:.1f}' {label}>{number + 1}</text>")
    return "".join(parts)


def _shown_from(attempt: int, seconds: float, until: int | None = None) -> str:
    """An animation that shows an element from an attempt on; "" if the picture stands still."""
    end = seconds if until is None else until * SECONDS_PER_ATTEMPT
    return svg.shown_between(attempt * SECONDS_PER_ATTEMPT, end, seconds) if seconds else ""


def _stone(config: HexConfig, stone: _Stone, seconds: float) -> str:
    x, y = _comb(config).middle(stone.cell)
    radius = 0.68 * SIDE
    colour, rim = _COLOURS[stone.player], _RIMS[stone.player]
    body = f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{radius:.1f}' fill='{colour}' stroke='{rim}' stroke-width='1.2'/>"
    if seconds and stone.since:  # the newest one
        ring = f"cx='{x:.1f}' cy='{y:.1f}' r='{radius + 2:.1f}' fill='none' stroke='{_NEW}' stroke-width='2.5' opacity='0'"
        body += f"<circle {ring}>{_shown_from(stone.since, seconds, stone.since + 1)}</circle>"
    return f"<g>{_shown_from(stone.since, seconds)}{body}</g>"


def _number(config: HexConfig, stone: _Stone, seconds: float) -> str:
    """The number of a stone, which lies above the winning chain; none where a stone has no number."""
    if not stone.number:
        return ""
    x, y = _comb(config).middle(stone.cell)
    style = f"{_FONT} font-size='11' text-anchor='middle' fill='{_COLOURS[1 - stone.player]}'"
    text = f"<text x='{x:.1f}' y='{y + 3.8:.1f}' {style}>{stone.number}</text>"
    return f"<g>{_shown_from(stone.since, seconds)}{text}</g>"


def _picture(
    config: HexConfig,
    boards: Sequence[tuple[str, list[_Stone]]],
    names: Sequence[str],
    told: Sequence[str],
    hits: Sequence[tuple[int, int]],
    chain: Sequence[int],
    *,
    seconds: float,
) -> str:
    """Boards side by side, each a title with its stones; failed attempts (cell, attempt) and the chain go onto the first.

    Below stands what is told of each moment, the last of it to the end.
    """
    comb = _comb(config)
    right, bottom = comb.middle(config.num_cells - 1)
    wide, high = right + comb.wide / 2 + MARGIN, bottom + SIDE + 8
    empty = _empty_board(config)
    parts = []
    for place, (title, stones) in enumerate(boards):
        body = [empty, *(_stone(config, stone, seconds) for stone in stones)]
        if place == 0 and chain:
            body.append(_chain(comb, chain, max(stone.since for stone in stones), seconds))
        body += [_number(config, stone, seconds) for stone in stones]
        if place == 0:
            body += [_cross(comb, cell, attempt, seconds) for cell, attempt in hits]
        short, letters = svg.fitted(title, 13, wide - 8, _BOLD)  # the whole name is in the legend
        label = f"{_FONT} font-size='{letters:.3g}' font-weight='bold' fill='#3a3833'"
        body.append(f"<text x='{MARGIN - 10:.0f}' y='8' {label}>{svg.plain(short)}</text>")
        parts.append(f"<g transform='translate({place * wide:.1f} {_HEAD})'>{''.join(body)}</g>")
    height = high + _HEAD + _FOOT
    legend, end_of_legend = _legend(names)
    parts += legend
    below = MARGIN + _LETTER * max(map(len, told)) + MARGIN
    total = max(wide * len(boards), end_of_legend, below)
    foot = f"x='{MARGIN:.0f}' y='{height - 14:.1f}' {_WORDS}"
    for moment, words in enumerate(told):
        is_last = moment == len(told) - 1
        shown = _shown_from(moment, seconds, None if is_last else moment + 1)
        parts.append(f"<text {foot}{'' if is_last else _HIDDEN}>{svg.plain(words)}{shown}</text>")
    size = f"width='{total:.0f}' height='{height:.0f}' viewBox='0 0 {total:.0f} {height:.0f}'"
    ground = f"<rect width='100%' height='100%' fill='{_PAPER}'/>"
    return f"<svg xmlns='http://www.w3.org/2000/svg' {size}>{ground}{''.join(parts)}</svg>\n"


def _chain(comb: Honeycomb, chain: Sequence[int], since: int, seconds: float) -> str:
    """The line through the winning chain, from a moment on."""
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(comb.middle, chain))
    line = f"stroke='{_WON}' stroke-width='6' stroke-linecap='round' stroke-linejoin='round' fill='none' opacity='0.5'"
    return f"<polyline points='{points}' {line}>{_shown_from(since, seconds).replace('0;1', '0;0.5')}</polyline>"


def _cross(comb: Honeycomb, cell: int, attempt: int, seconds: float) -> str:
    """The mark of an attempt that failed, as long as it lasts."""
    x, y = comb.middle(cell)
    cross = f"M{x - 7:.1f},{y - 7:.1f}l14,14m0,-14l-14,14"
    return f"<path d='{cross}' stroke='{_HIT}' stroke-width='3' opacity='0'>{_shown_from(attempt, seconds, attempt + 1)}</path>"


def _legend(names: Sequence[str]) -> tuple[list[str], float]:
    """Says which sides each player joins; and where this ends, in pixels."""
    parts, x = [], MARGIN
    for player, sides in ((BLACK, "top and bottom"), (WHITE, "left and right")):
        words = f"{names[player]} joins {sides}"
        parts.append(f"<path d='M{x:.0f},26h20' stroke='{_EDGES[player]}' stroke-width='4'/>")
        stone = f"r='7' fill='{_COLOURS[player]}' stroke='{_RIMS[player]}' stroke-width='1.2'"
        parts.append(
            f"<circle cx='{x + 10:.0f}' cy='19' {stone}/><text x='{x + 27:.0f}' y='24' {_WORDS}>{svg.plain(words)}</text>"
        )
        x += 55 + _LETTER * len(words)
    return parts, x
