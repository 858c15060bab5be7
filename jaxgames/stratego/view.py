"""Pictures of Stratego as SVG: one position, or a whole game that plays in a browser.

Both return a standalone SVG as text. The true board stands beside what each player sees; Red's back row is at the bottom.
Programs that do not play animations show the last position.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import jax
import numpy as np

from jaxgames import checks, svg
from jaxgames.stratego.config import StrategoConfig
from jaxgames.stratego.constants import BLUE, FILES, KIND_NAMES, PLAYERS, RED, SYMBOLS
from jaxgames.stratego.film import SECONDS, Film, Piece, film_of, still
from jaxgames.stratego.interop import to_arrays
from jaxgames.stratego.moves import cell_name
from jaxgames.stratego.state import State

CELL = 34.0
MARGIN = 26.0
_TOP, _BOTTOM = 66.0, 62.0
_GROUND, _GRID, _LAKE, _LAST = "#e9e4cf", "#c9c1a4", "#7fb0cf", "#f2c230"
_COLOURS = ("#c03a2e", "#2f5d9e")
_RIMS = ("#7c1e15", "#183a68")
_BATTLE, _INK = "#f08c1a", "#3a3833"
_FONT = "font-family='Helvetica,Arial,sans-serif'"
_EVERYTHING = -1  # in place of a player: who sees all


def draw(config: StrategoConfig, state: State, *, names: Sequence[str] = (), caption: str = "") -> str:
    """Draws one position: the true board, and what each player sees.

    Args:
      config: the variant.
      state: one game.
      names: of the players; none: red and blue.
      caption: a line below; "": who is to move or has won.

    Raises:
      ValueError: there are not two names.
    """
    names = svg.names_of(names, PLAYERS)
    return _picture(config, state, still(config, state), names, caption or _result(names, state))


def animate(config: StrategoConfig, states: State, actions: np.ndarray | None = None, *, names: Sequence[str] = ()) -> str:
    """Draws a game; in a battle both pieces stand side by side, open, before it is decided.

    Args:
      config: the variant.
      states: leaves [length + 1]: the start and the state after every move.
      actions: not needed.
      names: of the players; none: red and blue.

    Raises:
      ValueError: there is no move, or there are not two names.
    """
    del actions
    names = svg.names_of(names, PLAYERS)
    checks.film(states)
    last = _at(states, -1)
    return _picture(config, last, film_of(config, states), names, _result(names, last))


def _at(states: State, number: int) -> State:
    state: State = jax.tree.map(lambda leaf: np.asarray(leaf)[number], states)
    return state


def _result(names: Sequence[str], state: State) -> str:
    ply = int(state.ply)
    moves = f"{ply} move{'s' if ply != 1 else ''}"
    if not state.terminated:
        return f"after {moves}, {names[int(state.player)]} is to move"
    if int(state.winner) < 0:
        return f"a draw after {moves}"
    return f"{names[int(state.winner)]} wins after {moves}"


def _picture(config: StrategoConfig, state: State, film: Film, names: Sequence[str], caption: str) -> str:
    wide, high = config.columns * CELL + 2 * MARGIN, config.rows * CELL + _TOP + _BOTTOM
    lakes = np.flatnonzero(to_arrays(config, state)["piece"] < 0).tolist()
    empty = _empty_board(config, lakes)
    parts = []
    boards = [("the board", _EVERYTHING)]
    if not config.true_sight:
        boards += [(_seen_by(names, seat), seat) for seat in (RED, BLUE)]
    for place, (title, viewer) in enumerate(boards):
        body = [empty, _last_move(config, film), *(_piece(config, piece, viewer, film.seconds) for piece in film.pieces)]
        body += [_burst(config, fight.cell, fight.time, film.seconds) for fight in film.fights]
        label = f"<text x='{MARGIN:.0f}' y='{_TOP - 20:.0f}' {_FONT} font-size='13' font-weight='bold' fill='{_INK}'>"
        parts.append(f"<g transform='translate({place * wide:.0f} 0)'>{label}{svg.plain(title)}</text>{''.join(body)}</g>")
    text = f"{_FONT} font-size='14' fill='{_INK}'"
    head = " against ".join(name if name == colour else f"{name} ({colour})" for name, colour in zip(names, PLAYERS, strict=True))
    parts.append(f"<text x='{MARGIN:.0f}' y='22' {text}>{svg.plain(head)}</text>")
    last = film.moves[-1][0] if film.moves and film.seconds else None  # a film does not tell its end before
    hidden, shown = ("", "") if last is None else (" opacity='0'", svg.shown_between(last, film.seconds, film.seconds))
    parts.append(f"<text x='{MARGIN:.0f}' y='{high - 10:.0f}'{hidden} {text}>{shown}{svg.plain(caption)}</text>")
    for fight in film.fights:
        words = f"{_title(fight.attacker)} attacks {_title(fight.defender)} on {cell_name(config, fight.cell)}"
        shown = svg.shown_between(fight.time, fight.time + 2 * SECONDS, film.seconds)
        parts.append(f"<text x='{MARGIN:.0f}' y='{high - 30:.0f}' opacity='0' {text}>{shown}{words}</text>")
    total = wide * len(boards)
    size = f"width='{total:.0f}' height='{high:.0f}' viewBox='0 0 {total:.0f} {high:.0f}'"
    ground = "<rect width='100%' height='100%' fill='#ffffff'/>"
    return f"<svg xmlns='http://www.w3.org/2000/svg' {size}>{ground}{''.join(parts)}</svg>\n"


def _seen_by(names: Sequence[str], seat: int) -> str:
    colour = PLAYERS[seat]
    return f"seen by {colour}" if names[seat] == colour else f"seen by {colour} ({names[seat]})"


def _title(piece: Piece) -> str:
    return f"{PLAYERS[piece.owner]} {KIND_NAMES[piece.kind - 1]}"


def _corner(config: StrategoConfig, column: float, row: float) -> tuple[float, float]:
    """The upper left corner of a cell: row 0 is at the bottom."""
    return MARGIN + CELL * column, _TOP + CELL * (config.rows - 1 - row)


def _empty_board(config: StrategoConfig, lakes: Iterable[int]) -> str:
    x, y = _corner(config, 0, config.rows - 1)
    width, height = config.columns * CELL, config.rows * CELL
    parts = [f"<rect x='{x}' y='{y}' width='{width}' height='{height}' fill='{_GROUND}' stroke='{_INK}' stroke-width='2'/>"]
    for cell in lakes:
        row, column = divmod(cell, config.columns)
        left, top = _corner(config, column, row)
        parts.append(f"<rect x='{left}' y='{top}' width='{CELL}' height='{CELL}' fill='{_LAKE}'/>")
    lines = [f"M{x + CELL * number},{y}v{height}" for number in range(1, config.columns)]
    lines += [f"M{x},{y + CELL * number}h{width}" for number in range(1, config.rows)]
    parts.append(f"<path d='{''.join(lines)}' stroke='{_GRID}'/>")
    text = f"{_FONT} font-size='10' fill='#6b675d' text-anchor='middle'"
    bottom = y + height + 13
    parts += [
        f"<text x='{x + CELL * (column + 0.5)}' y='{bottom}' {text}>{FILES[column]}</text>" for column in range(config.columns)
    ]
    middles = [_corner(config, 0, row)[1] + CELL / 2 + 4 for row in range(config.rows)]
    parts += [f"<text x='{x - 11}' y='{middle}' {text}>{row + 1}</text>" for row, middle in enumerate(middles)]
    return "".join(parts)


def _discrete(
    attribute: str, changes: Sequence[tuple[float, Any]], seconds: float, element: str = "animate", more: str = ""
) -> str:
    """An animation of an attribute that takes a value from each time on; "" where nothing changes."""
    if not seconds or len(changes) < 2:
        return ""
    times = ";".join(f"{time / seconds:.5f}" if time else "0" for time, _ in changes)
    values = ";".join(str(value) for _, value in changes)
    return (
        f"<{element} attributeName='{attribute}'{more} calcMode='discrete' dur='{seconds:.1f}s' repeatCount='indefinite' "
        f"values='{values}' keyTimes='{times}'/>"
    )


def _from_on(time: float | None, seconds: float, before: int, after: int) -> tuple[int, str]:
    """What an opacity is in the end, and how it changes at a time; None: never."""
    if time is None:
        return before, ""
    return after, _discrete("opacity", [(0.0, before), (time, after)], seconds) if time > 0 else ""


def _last_move(config: StrategoConfig, film: Film) -> str:
    """Frames around the cells of the latest move."""
    frames = []
    for which in (1, 2):
        if not film.moves:
            continue
        corners = [(move[0], _corner(config, *reversed(divmod(move[which], config.columns)))) for move in film.moves]
        x, y = corners[-1][1]
        begin = [(0.0, corners[0][1]), *corners] if film.seconds else []
        moving = "".join(
            _discrete(name, [(time, spot[axis]) for time, spot in begin], film.seconds) for axis, name in enumerate("xy")
        )
        shown = _discrete("opacity", [(0.0, 0), (film.moves[0][0], 1)], film.seconds)
        frames.append(
            f"<rect x='{x}' y='{y}' width='{CELL}' height='{CELL}' fill='{_LAST}' fill-opacity='0.55'>{moving}{shown}</rect>"
        )
    return "".join(frames)


def _piece(config: StrategoConfig, piece: Piece, viewer: int, seconds: float) -> str:
    """A piece with its face, or its back where the viewer does not know it; a dot if it has moved, a line if it is a secret."""
    places = [(time, _corner(config, column, row)) for time, column, row in piece.places]
    path = [(time, f"{x:.1f} {y:.1f}") for time, (x, y) in places]
    moving = _discrete("transform", path, seconds, "animateTransform", " type='translate'")
    there, going = _from_on(piece.gone, seconds, 1, 0)
    side, middle = CELL - 6, CELL / 2
    colour, rim = _COLOURS[piece.owner], _RIMS[piece.owner]
    body = f"<rect x='3' y='3' width='{side}' height='{side}' rx='5' fill='{colour}' stroke='{rim}' stroke-width='1.5'/>"
    text = f"<text x='{middle}' y='{middle + 6}' {_FONT} font-size='17' text-anchor='middle' fill='#ffffff'"
    face, back = f"{text} font-weight='bold'>{SYMBOLS[piece.kind - 1]}</text>", f"{text} fill-opacity='0.6'>?</text>"
    secret = f"<path d='M8,{CELL - 6.5}h{CELL - 16}' stroke='#ffffff' stroke-opacity='0.7' stroke-width='2'/>"
    knows = viewer in (_EVERYTHING, piece.owner)
    inside = [body]
    if knows:
        inside += [face, _fading(secret, piece.shown, seconds)]
    else:
        inside += [_appearing(face, piece.shown, seconds), _fading(back, piece.shown, seconds)]
    inside.append(_appearing(f"<circle cx='{CELL - 8}' cy='8' r='2.2' fill='#ffffff'/>", piece.moved, seconds))
    x, y = places[-1][1]
    return f"<g transform='translate({x:.1f} {y:.1f})' opacity='{there}'>{moving}{going}{''.join(inside)}</g>"


def _fading(element: str, time: float | None, seconds: float) -> str:
    """An element that is there until a time."""
    return _with_opacity(element, *_from_on(time, seconds, 1, 0))


def _appearing(element: str, time: float | None, seconds: float) -> str:
    """An element that is there from a time on."""
    return _with_opacity(element, *_from_on(time, seconds, 0, 1))


def _with_opacity(element: str, opacity: int, change: str) -> str:
    if not change:
        return element if opacity else ""
    return f"<g opacity='{opacity}'>{change}{element}</g>"


def _burst(config: StrategoConfig, cell: int, time: float, seconds: float) -> str:
    """A star around a cell during a battle."""
    x, y = _corner(config, *reversed(divmod(cell, config.columns)))
    angles = np.arange(16) * np.pi / 8
    radius = np.where(np.arange(16) % 2, 0.52, 0.78) * CELL
    points = " ".join(
        f"{x + CELL / 2 + r * np.cos(angle):.1f},{y + CELL / 2 + r * np.sin(angle):.1f}"
        for r, angle in zip(radius, angles, strict=True)
    )
    shown = svg.shown_between(time, time + SECONDS, seconds)
    return f"<polygon points='{points}' fill='none' stroke='{_BATTLE}' stroke-width='3' opacity='0'>{shown}</polygon>"
