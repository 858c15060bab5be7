"""Pictures of Hero Academy as SVG: one position, or a whole game, turn by turn, that plays in a browser.

A turn is drawn as the position in which it begins with its actions as numbered arrows. Both functions return a standalone SVG
as text; programs that do not play animations show the last turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

import jax
import numpy as np

from jaxgames.hero_academy import actions, cards, interop, units
from jaxgames.hero_academy.actions import OFFSETS
from jaxgames.hero_academy.config import HeroAcademyConfig
from jaxgames.hero_academy.state import State

SECONDS_PER_TURN, SECONDS_AT_END = 2.0, 4.0
CELL, MARGIN, TOP, SIDE = 56, 12, 54, 96
_SQUARES = {"d": "#dfe8f5", "D": "#f6dfdc", "S": "#d9e9d4", "A": "#f2e2b8", "P": "#e6d9ef"}
_PLAIN = "#f7f5ef"
_MARKS = {"d": "deploy", "D": "deploy", "S": "defense", "A": "assault", "P": "power"}
_COLOURS = ("#2f5d9e", "#b8403a")
_PALE = ("#a9bddb", "#e0b3b0")  # knocked down
_LETTERS = ".KACWN◆"
_ITEM_COLOURS = ("#5b8c5a", "#8d8d8d", "#d0a020", "#f4efe0")
_FONT = "font-family='Helvetica,Arial,sans-serif'"


def draw(
    config: HeroAcademyConfig,
    state: State,
    *,
    names: Sequence[str] = ("first", "second"),
    turn: Sequence[int] = (),
    caption: str = "",
) -> str:
    """Draws one position, and arrows for actions that are played from it.

    Args:
      config: the variant.
      state: one game.
      names: of the players.
      turn: actions by the player to move, in order.
      caption: a line below.
    """
    arrays = interop.to_arrays(config, jax.tree.map(lambda leaf: np.asarray(leaf)[None], state))
    frame = _frame(config, {name: rows[0] for name, rows in arrays.items()}, list(turn), caption)
    return _picture(config, [frame], names)


def animate(
    config: HeroAcademyConfig, states: State, played: Sequence[int], *, names: Sequence[str] = ("first", "second")
) -> str:
    """Draws a game, one picture per turn.

    Args:
      config: the variant.
      states: leaves [length + 1]: the start and the state after every action.
      played: the action of each step, [length].
      names: of the players.

    Raises:
      ValueError: there is no action, or not one fewer than states.
    """
    arrays = interop.to_arrays(config, states)
    length = len(arrays["player"]) - 1
    if length < 1 or len(played) != length:
        raise ValueError(f"{len(played)} actions for {length + 1} states: must be one fewer, and at least 1")
    starts = [0, *(step for step in range(1, length) if arrays["turn"][step] != arrays["turn"][step - 1])]
    frames = []
    for start, end in zip(starts, [*starts[1:], length], strict=True):
        mover = int(arrays["player"][start]) - 1
        caption = f"turn {arrays['turn'][start]}, {names[mover]}"
        frames.append(_frame(config, {name: rows[start] for name, rows in arrays.items()}, list(played[start:end]), caption))
    winner = int(arrays["winner"][-1])
    how = "the game is not over" if winner < 0 else "a draw" if winner == 0 else f"{names[winner - 1]} wins"
    frames.append(_frame(config, {name: rows[-1] for name, rows in arrays.items()}, [], f"{how}, turn {arrays['turn'][-1]}"))
    return _picture(config, frames, names)


def _picture(config: HeroAcademyConfig, frames: list[str], names: Sequence[str]) -> str:
    wide, high = config.grid.columns * CELL + 2 * (MARGIN + SIDE), config.grid.rows * CELL + TOP + 44
    seconds = SECONDS_PER_TURN * (len(frames) - 1) + SECONDS_AT_END
    parts = []
    for number, frame in enumerate(frames):
        shown = ""
        if len(frames) > 1:
            begin, end = number * SECONDS_PER_TURN / seconds, (number + 1) * SECONDS_PER_TURN / seconds
            last = number == len(frames) - 1
            values, times = ("0;1", f"0;{begin:.4f}") if last else ("0;1;0", f"0;{begin:.4f};{end:.4f}")
            if number == 0:
                values, times = "1;0", f"0;{end:.4f}"
            shown = (
                f"<animate attributeName='opacity' calcMode='discrete' dur='{seconds:.1f}s' repeatCount='indefinite' "
                f"values='{values}' keyTimes='{times}'/>"
            )
        hidden = " opacity='0'" if number < len(frames) - 1 else ""
        parts.append(f"<g{hidden}>{shown}{frame}</g>")
    heads = [
        f"<text x='{x}' y='22' {_FONT} font-size='15' font-weight='bold' fill='{_COLOURS[seat]}' text-anchor='{anchor}'>"
        f"{escape(names[seat])}</text>"
        for seat, x, anchor in ((0, MARGIN, "start"), (1, wide - MARGIN, "end"))
    ]
    head = (
        "<defs><marker id='tip' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='7' markerHeight='7' orient='auto'>"
        "<path d='M0 0L8 4L0 8z' fill='#222'/></marker></defs><rect width='100%' height='100%' fill='#fff'/>"
    )
    size = f"width='{wide}' height='{high}' viewBox='0 0 {wide} {high}'"
    body = head + "".join(heads) + _squares(config) + "".join(parts)
    return f"<svg xmlns='http://www.w3.org/2000/svg' {size}>{body}</svg>\n"


def _corner(config: HeroAcademyConfig, cell: int) -> tuple[int, int]:
    row, column = divmod(cell, config.grid.columns)
    return MARGIN + SIDE + column * CELL, TOP + row * CELL


def _middle(config: HeroAcademyConfig, cell: int) -> tuple[float, float]:
    x, y = _corner(config, cell)
    return x + CELL / 2, y + CELL / 2


def _squares(config: HeroAcademyConfig) -> str:
    parts = []
    for cell, kind in enumerate("".join(config.board)):
        x, y = _corner(config, cell)
        place = f"x='{x}' y='{y}' width='{CELL}' height='{CELL}'"
        parts.append(f"<rect {place} fill='{_SQUARES.get(kind, _PLAIN)}' stroke='#c9c2b2'/>")
        if kind in _MARKS:
            parts.append(f"<text x='{x + 3}' y='{y + CELL - 4}' {_FONT} font-size='8' fill='#8a8272'>{_MARKS[kind]}</text>")
    return "".join(parts)


def _frame(config: HeroAcademyConfig, state: dict[str, np.ndarray], turn: list[int], caption: str) -> str:
    """One position: units with their hit points and items, hands, and the arrows of a turn."""
    kinds, owners = state["unit_class"].ravel(), state["unit_owner"].ravel()
    things = [(int(cell), int(kinds[cell]), int(owners[cell]) - 1) for cell in np.flatnonzero(kinds)]
    parts = [_unit(config, *thing, state) for thing in things]
    parts += [_hand(config, seat, state) for seat in (0, 1)]
    parts += [_arrow(config, state, number, action) for number, action in enumerate(turn, 1)]
    text = escape(f"{caption}   ({int(state['ap'])} action points)")
    y = TOP + config.grid.rows * CELL + 26
    parts.append(f"<text x='{MARGIN + SIDE}' y='{y}' {_FONT} font-size='14' fill='#333'>{text}</text>")
    return "".join(parts)


def _unit(config: HeroAcademyConfig, cell: int, kind: int, owner: int, state: dict[str, np.ndarray]) -> str:
    x, y = _middle(config, cell)
    hit_points, items = int(state["unit_hp"].ravel()[cell]), int(state["unit_equip"].ravel()[cell])
    most = int(units.most_hit_points(np.array(kind), np.array(items)))
    colour = _COLOURS[owner] if hit_points else _PALE[owner]
    if kind == units.CRYSTAL:
        shape = f"<path d='M{x} {y - 22}L{x + 15} {y - 4}L{x} {y + 14}L{x - 15} {y - 4}z' fill='{colour}'/>"
    else:
        shape = f"<circle cx='{x}' cy='{y - 4}' r='17' fill='{colour}'/>"
        letter = _LETTERS[kind] if hit_points else "×"
        text = f"{_FONT} font-size='17' font-weight='bold' fill='#fff' text-anchor='middle'"
        shape += f"<text x='{x}' y='{y + 2}' {text}>{letter}</text>"
    for number in range(len(units.ITEM_NAMES)):
        if (items >> number) & 1:
            dot = f"cx='{x - 18 + 6 * number}' cy='{y - 22}' r='3.2' fill='{_ITEM_COLOURS[number]}'"
            shape += f"<circle {dot} stroke='#333' stroke-width='0.7'/>"
    share = 36 * hit_points / max(most, 1)
    bar = f"<rect x='{x - 18}' y='{y + 17}' width='36' height='4' fill='#ddd'/>"
    return shape + bar + f"<rect x='{x - 18}' y='{y + 17}' width='{share:.1f}' height='4' fill='#3b9b54'/>"


def _hand(config: HeroAcademyConfig, seat: int, state: dict[str, np.ndarray]) -> str:
    wide = config.grid.columns * CELL + 2 * (MARGIN + SIDE)
    x, anchor = (MARGIN, "start") if seat == 0 else (wide - MARGIN, "end")
    held = [f"{count}× {cards.CARD_NAMES[card]}" for card, count in enumerate(state["hand"][seat]) if count]
    lines = [*held, f"deck {int(state['deck'][seat].sum())}"]
    style = f"{_FONT} font-size='11' fill='{_COLOURS[seat]}' text-anchor='{anchor}'"
    return "".join(f"<text x='{x}' y='{TOP + 12 + 16 * row}' {style}>{escape(line)}</text>" for row, line in enumerate(lines))


def _arrow(config: HeroAcademyConfig, state: dict[str, np.ndarray], number: int, action: int) -> str:
    """An action of a turn: from the unit to its target, or from the hand to the cell of a card."""
    layout = actions.layout(config)
    word, bit = divmod(int(action), 32)
    seat = int(state["player"]) - 1
    hand = (MARGIN + SIDE - 8, TOP + 20.0) if seat == 0 else (MARGIN + SIDE + config.grid.columns * CELL + 8, TOP + 20.0)
    if word < layout.trade:
        offset, half = divmod(word, layout.words)
        cell = 32 * half + bit
        right, down = OFFSETS[offset]
        start, end = _middle(config, cell), _middle(config, cell + down * config.grid.columns + right)
    elif word == layout.plain:
        if bit >= actions.SWAP_CARD:
            return ""
        place = config.deploy_cells[seat, bit % 3]
        start, end = hand, _middle(config, int(place))
    else:
        before = layout.trade if word < layout.plain else layout.plain + 1
        target = 32 * ((word - before) % layout.words) + bit
        start, end = hand, _middle(config, target)
    (x, y), (to_x, to_y) = start, end
    way = f"M{x:.0f} {y:.0f}L{to_x:.0f} {to_y:.0f}"
    line = f"<path d='{way}' stroke='#222' stroke-width='2' opacity='0.75' marker-end='url(#tip)'/>"
    mid_x, mid_y = x + 0.6 * (to_x - x), y + 0.6 * (to_y - y)
    badge = f"<circle cx='{mid_x:.0f}' cy='{mid_y:.0f}' r='7' fill='#222'/>"
    text = f"{_FONT} font-size='10' fill='#fff' text-anchor='middle'"
    return line + badge + f"<text x='{mid_x:.0f}' y='{mid_y + 3.5:.0f}' {text}>{number}</text>"
