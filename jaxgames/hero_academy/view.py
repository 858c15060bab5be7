"""Pictures of Hero Academy as SVG: one position, or a whole game, turn by turn, that plays in a browser.

A turn is drawn as the position in which it begins with its actions as numbered arrows, one for all that have the same ends;
cards that are swapped and a turn that ends early are told below. Both functions return a standalone SVG as text; programs that
do not play animations show the last turn.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import checks, svg
from jaxgames.hero_academy import cards, decoded, interop, rules, shapes, units
from jaxgames.hero_academy.config import HeroAcademyConfig
from jaxgames.hero_academy.decoded import decode
from jaxgames.hero_academy.state import State

Box = tuple[float, float, float, float]  # left, top, right, bottom

SECONDS_PER_TURN, SECONDS_AT_END = 2.0, 4.0
CELL, MARGIN, TOP, SIDE = 72, 12, 54, 112
_CAPTION_HEIGHT, _LEGEND_HEIGHT = 58, 56
_END_TURN = "end turn early"
_NAMES = ("first", "second")
_HAND = -1  # where cards come from, among cells
# Every arrow keeps to the right, so that there and back do not cover each other. Its label stands at the first of these shares
# of its length and pixels aside at which it covers no other label and no tip.
_KEEP_RIGHT = 5
_TIP = 14
_FROM_UNIT, _TO_UNIT = 20, 16  # an arrow leaves its unit readable, and the one that it meets
_LABEL_HEIGHT = 14
_PLACES = tuple((share, aside) for aside in (0, 15, -15, 30, -30, 45, -45) for share in (0.6, 0.5, 0.7, 0.4, 0.8, 0.3, 0.9))
_FONT = "font-family='Helvetica,Arial,sans-serif'"


def draw(
    config: HeroAcademyConfig,
    state: State,
    *,
    names: Sequence[str] = (),
    caption: str = "",
    turn: Sequence[int] = (),
) -> str:
    """Draws one position, and arrows for actions that are played from it.

    Args:
      config: the variant.
      state: one game.
      names: of the players; none: first and second.
      caption: a line below.
      turn: actions by the player to move, in order, such as `plan.metrics["turn"][lane]`; -1, which fills a plan, is left out.

    Raises:
      ValueError: one of these actions is not legal where it is played, or there are not two names.
    """
    names, arrays = svg.names_of(names, _NAMES), _arrays(config, state)
    status = _status(arrays, names)
    told = f"{caption}   ({status})" if caption else status
    return _picture(config, [_frame(config, arrays, _ends_of_turn(config, state, turn), told)], names)


def animate(config: HeroAcademyConfig, states: State, actions: np.ndarray | None = None, *, names: Sequence[str] = ()) -> str:
    """Draws a game, one picture per turn.

    Args:
      config: the variant.
      states: leaves [length + 1]: the start and the state after every action.
      actions: int [length, 2], the actions of each step, drawn as arrows; None: positions alone.
      names: of the players; none: first and second.

    Raises:
      ValueError: there is no step, there are not as many actions as steps, or one that nobody can have; or not two names.
    """
    names = svg.names_of(names, _NAMES)
    length = checks.film(states)
    arrays = interop.to_arrays(config, states)
    if actions is not None and np.shape(actions) != (length, 2):
        raise ValueError(f"actions: shape {np.shape(actions)}, must be {(length, 2)} for {length + 1} states")
    states_of = [{name: rows[step] for name, rows in arrays.items()} for step in range(length + 1)]
    starts = [0, *(step for step in range(1, length) if arrays["turn"][step] != arrays["turn"][step - 1])]
    frames = []
    for start, end in zip(starts, [*starts[1:], length], strict=True):
        mover = int(arrays["player"][start]) - 1
        played = [] if actions is None else [int(action) for action in np.asarray(actions)[start:end, mover]]
        turn = [_ends(config, states_of[start + step], mover, action) for step, action in enumerate(played)]
        frames.append(_frame(config, states_of[start], turn, _status(states_of[start], names)))
    frames.append(_frame(config, states_of[-1], [], _status(states_of[-1], names)))
    return _picture(config, frames, names)


def _arrays(config: HeroAcademyConfig, state: State) -> dict[str, np.ndarray]:
    """The arrays of one state, without batch axis."""
    arrays = interop.to_arrays(config, jax.tree.map(lambda leaf: np.asarray(leaf)[None], state))
    return {name: rows[0] for name, rows in arrays.items()}


def _status(state: dict[str, np.ndarray], names: Sequence[str]) -> str:
    """Says whose turn it is and what is left of it, or who has won."""
    if state["terminal"]:
        return f"{names[int(state['winner']) - 1]} wins" if state["winner"] else "a draw"
    points = int(state["ap"])
    left = f"{points} action point{'' if points == 1 else 's'} left"
    return f"turn {state['turn']}, {names[int(state['player']) - 1]} to move, {left}"


def _picture(config: HeroAcademyConfig, frames: list[str], names: Sequence[str]) -> str:
    wide, high = config.grid.columns * CELL + 2 * (MARGIN + SIDE), _foot(config) + _CAPTION_HEIGHT + _LEGEND_HEIGHT
    seconds = SECONDS_PER_TURN * (len(frames) - 1) + SECONDS_AT_END
    parts = []
    for number, frame in enumerate(frames):
        shown = ""
        if len(frames) > 1:
            end = seconds if number == len(frames) - 1 else (number + 1) * SECONDS_PER_TURN
            shown = svg.shown_between(number * SECONDS_PER_TURN, end, seconds)
        hidden = " opacity='0'" if number < len(frames) - 1 else ""
        parts.append(f"<g{hidden}>{shown}{frame}</g>")
    heads = [
        f"<text x='{x}' y='22' {_FONT} font-size='15' font-weight='bold' fill='{shapes.COLOURS[seat]}' text-anchor='{anchor}'>"
        f"{svg.plain(names[seat])}</text>"
        for seat, x, anchor in ((0, MARGIN, "start"), (1, wide - MARGIN, "end"))
    ]
    head = (
        "<defs><marker id='tip' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='7' markerHeight='7' orient='auto'>"
        "<path d='M0 0L8 4L0 8z' fill='#222'/></marker></defs><rect width='100%' height='100%' fill='#fff'/>"
    )
    size = f"width='{wide}' height='{high}' viewBox='0 0 {wide} {high}'"
    body = head + "".join(heads) + _squares(config) + _legend(config) + "".join(parts)
    return f"<svg xmlns='http://www.w3.org/2000/svg' {size}>{body}</svg>\n"


def _foot(config: HeroAcademyConfig) -> int:
    """Where the board ends."""
    return TOP + config.grid.rows * CELL


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
        parts.append(f"<rect {place} fill='{shapes.SQUARES.get(kind, shapes.PLAIN)}' stroke='#c9c2b2'/>")
        if kind in shapes.MARKS:
            parts.append(
                f"<text x='{x + 4}' y='{y + CELL - 4}' {_FONT} font-size='10' fill='#6b6455'>{shapes.MARKS[kind]}</text>"
            )
    return "".join(parts)


def _legend(config: HeroAcademyConfig) -> str:
    """Below the board: what the shapes are, and what the dots above a unit and the bar below it say."""
    parts, x, y = [], MARGIN + 14, _foot(config) + _CAPTION_HEIGHT + 10
    text = f"{_FONT} font-size='12' fill='#555'"
    for kind, shape in shapes.UNITS.items():
        name = units.UNIT_NAMES[kind]
        letter = "" if kind == units.CRYSTAL else f" ({shapes.LETTERS[kind]})"
        parts.append(f"<path d='{shape}' transform='translate({x} {y}) scale(.5)' fill='#777'/>")
        parts.append(f"<text x='{x + 15}' y='{y + 4}' {text}>{name}{letter}</text>")
        x += 36 + 7 * len(name + letter)
    x, y = MARGIN + 10, y + 26
    for item, name in enumerate(units.ITEM_NAMES):
        parts.append(_badge(item, x, y))
        parts.append(f"<text x='{x + 11}' y='{y + 4}' {text}>{name}</text>")
        x += 32 + 7 * len(name)
    parts.append(f"<text x='{x}' y='{y + 4}' {text}>bar: hit points; pale and ×: knocked down</text>")
    return "".join(parts)


def _frame(config: HeroAcademyConfig, state: dict[str, np.ndarray], turn: list[tuple[int, int] | str], caption: str) -> str:
    """One position: units with their hit points and items, hands, and the arrows of a turn."""
    kinds, owners = state["unit_class"].ravel(), state["unit_owner"].ravel()
    things = [(int(cell), int(kinds[cell]), int(owners[cell]) - 1) for cell in np.flatnonzero(kinds)]
    parts = [_unit(config, *thing, state) for thing in things]
    parts += [_hand(config, seat, state) for seat in (0, 1)]
    parts += _arrows(config, int(state["player"]) - 1, turn)
    y = _foot(config) + 26
    lines = (caption, _told(turn, int(state["ap"])))
    for row, line in enumerate(lines):
        text = f"x='{MARGIN + SIDE}' y='{y + 18 * row}' {_FONT} font-size='{14 - 2 * row}' fill='#333'"
        parts.append(f"<text {text}>{svg.plain(line)}</text>")
    return "".join(parts)


def _told(turn: list[tuple[int, int] | str], points: int) -> str:
    """Words about what no arrow shows: swapped cards, and the end of a turn that has points left."""
    numbers: dict[str, list[int]] = {}
    for number, step in enumerate(turn, 1):
        if isinstance(step, str) and (step != _END_TURN or number <= points):
            numbers.setdefault(step, []).append(number)
    return ", ".join(f"{' '.join(map(str, group))}: {words}" for words, group in numbers.items())


def _unit(config: HeroAcademyConfig, cell: int, kind: int, owner: int, state: dict[str, np.ndarray]) -> str:
    x, y = _middle(config, cell)
    hit_points, items = int(state["unit_hp"].ravel()[cell]), int(state["unit_equip"].ravel()[cell])
    most = int(units.most_hit_points(np.array(kind), np.array(items)))
    colour = shapes.COLOURS[owner] if hit_points else shapes.PALE[owner]
    shape = f"<path d='{shapes.UNITS[kind]}' transform='translate({x} {y - 4})' fill='{colour}' stroke='#fff'/>"
    if kind != units.CRYSTAL:
        letter = shapes.LETTERS[kind] if hit_points else "×"
        text = f"{_FONT} font-size='16' font-weight='bold' fill='#fff' text-anchor='middle'"
        shape += f"<text x='{x}' y='{y + 2 + shapes.LETTER_DOWN.get(kind, 0)}' {text}>{letter}</text>"
    for number in range(len(units.ITEM_NAMES)):
        if (items >> number) & 1:
            shape += _badge(number, x - 28 + 13 * number, y - 29)
    share = 36 * hit_points / max(most, 1)
    bar = f"<rect x='{x - 31}' y='{y + 19}' width='36' height='4' fill='#ddd'/>"
    bar += f"<rect x='{x - 31}' y='{y + 19}' width='{share:.1f}' height='4' fill='#3b9b54'/>"
    return shape + bar + f"<text x='{x + 8}' y='{y + 24.5}' {_FONT} font-size='10' fill='#444'>{hit_points}</text>"


def _badge(item: int, x: float, y: float) -> str:
    """A piece of equipment."""
    dot = f"<circle cx='{x}' cy='{y}' r='6' fill='{shapes.ITEM_COLOURS[item]}' stroke='#fff' stroke-width='0.7'/>"
    text = f"{_FONT} font-size='9' font-weight='bold' fill='#fff' text-anchor='middle'"
    return f"{dot}<text x='{x}' y='{y + 3}' {text}>{shapes.ITEM_LETTERS[item]}</text>"


def _hand(config: HeroAcademyConfig, seat: int, state: dict[str, np.ndarray]) -> str:
    wide = config.grid.columns * CELL + 2 * (MARGIN + SIDE)
    x, anchor = (MARGIN, "start") if seat == 0 else (wide - MARGIN, "end")
    held = [f"{count}× {cards.CARD_NAMES[card]}" for card, count in enumerate(state["hand"][seat]) if count]
    lines = [*held, f"deck {int(state['deck'][seat].sum())}"]
    style = f"{_FONT} font-size='12' fill='{shapes.COLOURS[seat]}' text-anchor='{anchor}'"
    return "".join(f"<text x='{x}' y='{TOP + 12 + 17 * row}' {style}>{svg.plain(line)}</text>" for row, line in enumerate(lines))


# --- actions as arrows -------------------------------------------------------------------------------------------------


def _ends_of_turn(config: HeroAcademyConfig, state: State, turn: Sequence[int]) -> list[tuple[int, int] | str]:
    """See `_ends`, for all actions of a turn; raises a ValueError unless each is legal where it is played."""
    mover, ends = int(state.player), []
    for number, action in enumerate((int(action) for action in turn if action != -1), 1):
        if int(state.player) != mover or state.terminated:
            raise ValueError(f"action={action}: number {number} of the turn, which has ended before")
        ends.append(_ends(config, _arrays(config, state), mover, action))
        legal, state = _play(config)(state, jnp.int32(action))
        if not legal:
            raise ValueError(f"action={action}: number {number} of the turn, is not legal there")
    return ends


@functools.cache
def _play(config: HeroAcademyConfig) -> Callable[[State, Array], tuple[Array, State]]:
    """Says whether an action is legal, and gives the state after it; what is drawn at the end of a turn is shown nowhere."""
    return jax.jit(lambda state, action: (rules.is_legal(config, state, action), rules.advance(config, state, action, None)))


def _ends(config: HeroAcademyConfig, state: dict[str, np.ndarray], seat: int, action: int) -> tuple[int, int] | str:
    """Gives the cells from which (or _HAND) and onto which an action goes, or words where it goes nowhere."""
    said = decode(config, seat, action)
    if said is not None:
        match said.kind:
            case decoded.END:
                return _END_TURN
            case decoded.SWAP:
                return f"swap {cards.CARD_NAMES[said.card]}"
            case decoded.UNIT:
                return said.start, said.end
            case decoded.DEPLOY | decoded.CARD:
                return _HAND, said.end
            case decoded.TRADE if (ninja := _ninja(state, seat)) != said.end:  # it does not change places with itself
                return ninja, said.end
    raise ValueError(f"action={action}: the player to move can never do this, must be one of its legal actions")


def _ninja(state: dict[str, np.ndarray], seat: int) -> int:
    ninjas = (state["unit_class"] == units.NINJA) & (state["unit_owner"] == seat + 1) & (state["unit_hp"] > 0)
    if not ninjas.any():
        raise ValueError(f"turn: player {seat + 1} has no ninja that could change places")
    return int(ninjas.argmax())


def _arrows(config: HeroAcademyConfig, seat: int, turn: list[tuple[int, int] | str]) -> list[str]:
    """One arrow for all actions of a turn that have the same ends, with their numbers; labels lie above all arrows."""
    numbers: dict[tuple[int, int], list[int]] = {}
    for number, step in enumerate(turn, 1):
        if not isinstance(step, str):
            numbers.setdefault(step, []).append(number)
    ways = [_line(config, seat, start, end) for start, end in numbers]
    tips = [_tip(way) for way in ways]
    lines: list[str] = []
    labels: list[str] = []
    taken: list[Box] = []
    for way, group in zip(ways, numbers.values(), strict=True):
        name = " ".join(map(str, group))
        x, y, to_x, to_y = way
        style = "stroke='#222' stroke-width='2' opacity='0.75' marker-end='url(#tip)'"
        lines.append(f"<path data-actions='{name}' d='M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}' {style}/>")
        wide = 8 + 6 * len(name)
        box = _free_place(way, wide, taken, tips)
        taken.append(box)
        left, top = box[:2]
        rect = f"x='{left:.1f}' y='{top:.1f}' width='{wide}' height='{_LABEL_HEIGHT}' rx='7' fill='#222'"
        text = f"x='{left + wide / 2:.1f}' y='{top + 10.5:.1f}' {_FONT} font-size='10' fill='#fff' text-anchor='middle'"
        labels.append(f"<g data-label='{name}'><rect {rect}/><text {text}>{name}</text></g>")
    return lines + labels


def _line(config: HeroAcademyConfig, seat: int, start: int, end: int) -> Box:
    """Where an arrow begins and ends, in pixels: x and y twice."""
    edge = MARGIN + SIDE - 8 if seat == 0 else MARGIN + SIDE + config.grid.columns * CELL + 8
    (x, y), (to_x, to_y) = (edge, TOP + 20.0) if start == _HAND else _middle(config, start), _middle(config, end)
    length = math.hypot(to_x - x, to_y - y)
    across, along = (to_x - x) / length, (to_y - y) / length
    right, down = -_KEEP_RIGHT * along, _KEEP_RIGHT * across
    begin = 0 if start == _HAND else _FROM_UNIT
    return (
        *(x + right + begin * across, y + down + begin * along),
        *(to_x + right - _TO_UNIT * across, to_y + down - _TO_UNIT * along),
    )


def _tip(way: Box) -> Box:
    """The box of an arrow's tip."""
    x, y, to_x, to_y = way
    back = _TIP / 2 / math.hypot(to_x - x, to_y - y)
    left, top = to_x - back * (to_x - x) - _TIP / 2, to_y - back * (to_y - y) - _TIP / 2
    return left, top, left + _TIP, top + _TIP


def _free_place(way: Box, wide: int, taken: list[Box], tips: list[Box]) -> Box:
    """Chooses the box of a label by its arrow that covers least of other labels, and among those least of tips."""
    x, y, to_x, to_y = way
    length = math.hypot(to_x - x, to_y - y)
    right, down = -(to_y - y) / length, (to_x - x) / length
    boxes = []
    for share, aside in _PLACES:
        left = x + share * (to_x - x) + aside * right - wide / 2
        top = y + share * (to_y - y) + aside * down - _LABEL_HEIGHT / 2
        boxes.append((left, top, left + wide, top + _LABEL_HEIGHT))
    return min(boxes, key=lambda box: tuple(sum(_common(box, other) for other in others) for others in (taken, tips)))


def _common(one: Box, other: Box) -> float:
    """The area that two boxes have in common."""
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return max(wide, 0.0) * max(high, 0.0)
