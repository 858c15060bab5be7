"""Pictures of battles as SVG: one position, or a whole battle that plays in a browser.

Both return a standalone SVG as text: the arena with river, bridges and towers, units with their radius, owner and health,
shots, spells where they will land, and beside it hands, elixir and the clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from jaxgames import checks, svg
from jaxgames.clash.cards import Card, Unit
from jaxgames.clash.config import ClashConfig
from jaxgames.clash.constants import (
    BRIDGES,
    COLUMNS,
    DRAW,
    ELIXIR,
    FOOTPRINTS,
    HEIGHT,
    KING,
    MOST_ELIXIR,
    RIVER,
    ROWS,
    TILE,
    TOWER_X,
    TOWER_Y,
    TOWERS,
    WIDTH,
)
from jaxgames.clash.state import State, stayed
from jaxgames.clash.tables import unit_columns

SCALE = 0.02  # of the arena, in pixels per thousandth of a tile
SECONDS_PER_STEP, SECONDS_AT_END = 0.25, 3.0
NAMES = ("blue", "red")
COLOURS = ("#2f6fde", "#d8423a")
_DARK = ("#173f86", "#8b211c")
_BARS = ("#6fc3ff", "#ff8f7d")
CARDS = {"troop": "#fbf3dc", "building": "#e3ded2", "spell": "#e9dcf5"}
_GRASS, _GRASS_2, _WATER, _BRIDGE = "#8fc46b", "#86bc62", "#5aa9d6", "#b58a58"
LEFT, TOP, _PANEL = 16.0, 46.0, 250.0
FONT = "font-family='Helvetica,Arial,sans-serif'"
_MARGIN = 40.0
_WHOLE_NAME, _FEW_LETTERS = 6, 4  # a longer name is cut


def draw(config: ClashConfig, state: State, *, names: Sequence[str] = (), caption: str = "") -> str:
    """Draws one position.

    Args:
      config: the battle.
      state: one battle.
      names: of the players; none: blue and red.
      caption: a line below.

    Raises:
      ValueError: there are not two names.
    """
    names = svg.names_of(names, NAMES)
    return _picture([*_background(names), _below(caption), *things(config, state), *_panel(config, state)])


def animate(config: ClashConfig, states: State, actions: np.ndarray | None = None, *, names: Sequence[str] = ()) -> str:
    """Draws a battle that plays and begins again.

    Args:
      config: the battle.
      states: leaves [T + 1]: the start and the state after every step.
      actions: not needed.
      names: of the players; none: blue and red.

    Raises:
      ValueError: there is no step, or there are not two names.
    """
    del actions
    names = svg.names_of(names, NAMES)
    length = checks.film(states)
    arrays = {name: np.asarray(leaf) for name, leaf in vars(states).items()}
    seconds = SECONDS_PER_STEP * length + SECONDS_AT_END
    times = np.append(np.arange(length + 1) * SECONDS_PER_STEP, seconds)
    parts = _background(names)
    shown = svg.shown_between(times[-2], seconds, seconds)  # a film does not tell its end before
    parts.append(f"<g opacity='0'>{shown}{_below(_result(arrays['winner'][-1], names))}</g>")
    parts += _films(config, arrays, times, seconds)
    for number in range(length + 1):
        state = State(**{name: leaf[number] for name, leaf in arrays.items()})
        shown = "".join(_panel(config, state) + _effects(config, state))
        parts.append(f"<g opacity='0'>{svg.shown_between(times[number], times[number + 1], seconds)}{shown}</g>")
    return _picture(parts)


def _result(winner: int, names: Sequence[str]) -> str:
    if winner < 0:
        return "the battle goes on"
    return "drawn" if winner == DRAW else f"{names[int(winner)]} wins"


def _picture(parts: list[str]) -> str:
    wide, high = round(LEFT * 2 + WIDTH * SCALE + _PANEL), round(TOP + HEIGHT * SCALE + _MARGIN)
    head = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {wide} {high}' width='{wide}' height='{high}' {FONT}>"
    return head + f"<rect width='{wide}' height='{high}' fill='#f6f4ee'/>" + "".join(parts) + "</svg>"


def _at(x: float, y: float) -> tuple[float, float]:
    """Pixels of a place; player 0 is below."""
    return LEFT + x * SCALE, TOP + (HEIGHT - y) * SCALE


def box(x: float, y: float, wide: float, high: float, fill: str, more: str = "") -> str:
    """A rectangle by its corner and sizes in the arena, in thousandths of a tile."""
    left, top = _at(x, y + high)
    return f"<rect x='{left:.1f}' y='{top:.1f}' width='{wide * SCALE:.1f}' height='{high * SCALE:.1f}' fill='{fill}' {more}/>"


def text(x: float, y: float, words: str, size: float = 13, more: str = "") -> str:
    """Words at a place of the picture, in pixels."""
    return f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size}' fill='#222' {more}>{svg.plain(words)}</text>"


def ground() -> list[str]:
    """The arena without anything that moves."""
    parts = [box(0, 0, WIDTH, HEIGHT, _GRASS)]
    parts += [
        box(column * TILE, row * TILE, TILE, TILE, _GRASS_2)
        for row in range(ROWS)
        for column in range(row % 2, COLUMNS, 2)
        if not RIVER[0] <= row * TILE < RIVER[1]
    ]
    parts.append(box(0, RIVER[0], WIDTH, RIVER[1] - RIVER[0], _WATER))
    parts += [box(low - 500, RIVER[0] - 200, high - low + 1000, RIVER[1] - RIVER[0] + 400, _BRIDGE) for low, high in BRIDGES]
    for left, bottom, right, top in FOOTPRINTS:
        wide, high = (right - left) * TILE, (top - bottom) * TILE
        parts.append(box(left * TILE, bottom * TILE, wide, high, "#c9c3b4"))
        parts.append(box(WIDTH - right * TILE, HEIGHT - top * TILE, wide, high, "#c9c3b4"))
    return parts


def _background(names: Sequence[str]) -> list[str]:
    parts = ground()
    beside = LEFT * 2 + WIDTH * SCALE
    for player, y in ((0, TOP + HEIGHT * SCALE - 190), (1, TOP + 16)):
        bold = f"font-weight='bold' style='fill:{COLOURS[player]}'"
        parts.append(text(beside, y, names[player], 16, bold))
    return parts


def _below(caption: str) -> str:
    return text(LEFT, TOP + HEIGHT * SCALE + 24, caption, 14)


def things(config: ClashConfig, state: State) -> list[str]:
    """Units with their health, spells and shots."""
    units = []
    for player, slot in np.argwhere(np.asarray(state.alive)).tolist():
        unit = config.table.units[int(state.unit[player, slot])]
        x, y = _place(player, state.x[player, slot], state.y[player, slot])
        full = int(unit_columns(config).hp[player, int(state.unit[player, slot])])
        faint = " opacity='0.5'" if state.deploying[player, slot] > 0 else ""
        share = int(state.hp[player, slot]) / full
        units.append(f"<g transform='translate({x:.1f} {y:.1f})'{faint}>{_unit(unit, player)}{_health(unit, player, share)}</g>")
    return units + _effects(config, state)


def _place(player: int, x: Any, y: Any) -> tuple[float, float]:
    return _at(WIDTH - int(x), HEIGHT - int(y)) if player else _at(int(x), int(y))


def _unit(unit: Unit, player: int) -> str:
    """A unit around (0, 0): a square for what stands, a disc for what walks, with a shadow for what flies; its name."""
    radius = unit.radius * SCALE
    colours = f"fill='{COLOURS[player]}' stroke='{_DARK[player]}' stroke-width='1.5'"
    if unit.kind == "troop":
        shadow = (
            f"<ellipse cx='3' cy='{radius + 4:.1f}' rx='{radius:.1f}' ry='3' fill='#000' opacity='0.25'/>" if unit.flying else ""
        )
        body = f"{shadow}<circle r='{radius:.1f}' {colours}/>"
    else:
        body = f"<rect x='{-radius:.1f}' y='{-radius:.1f}' width='{2 * radius:.1f}' height='{2 * radius:.1f}' rx='3' {colours}/>"
    letters = letters_of(unit)
    size = 8 if len(letters) <= _FEW_LETTERS + 1 else 6.5
    return f"{body}<text text-anchor='middle' y='3' font-size='{size}' fill='#fff'>{svg.plain(letters)}</text>"


def letters_of(unit: Unit) -> str:
    """Gives the letters on a unit, no two of the standard table alike: Prince, Prin (Princess), MPek (MiniPekka), EGo4."""
    if unit.kind == "crown_tower":
        return unit.name.replace("Tower", "")
    words = re.findall(r"[A-Z][a-z]*", unit.name)
    name = unit.name.rstrip("*0123456789")
    tail = unit.name[len(name) :]  # a number, or the star of a changed unit
    if len(words) > 1:
        return "".join(word[0] for word in words[:-1]) + words[-1][: 2 if tail else 3] + tail
    return (name if len(name) <= _WHOLE_NAME else name[:_FEW_LETTERS]) + tail


def _health(unit: Unit, player: int, share: float) -> str:
    wide = max(unit.radius * SCALE * 2, 14)
    top = -unit.radius * SCALE - 6
    fill = f"<rect x='{-wide / 2:.1f}' y='{top:.1f}' width='{wide * share:.1f}' height='3' fill='{_BARS[player]}'/>"
    return _behind_bar(wide, top) + fill


def _behind_bar(wide: float, top: float) -> str:
    return f"<rect x='{-wide / 2 - 1:.1f}' y='{top - 1:.1f}' width='{wide + 2:.1f}' height='5' rx='1.5' fill='#2b2b2b'/>"


def _effects(config: ClashConfig, state: State) -> list[str]:
    """Spells where they will land, and shots where their targets are."""
    parts = []
    for player, slot in np.argwhere(np.asarray(state.spell_ticks) > 0).tolist():
        row, cards = int(state.spell[player, slot]), config.table.cards
        radius = cards[row].radius if row < len(cards) else config.table.units[row - len(cards)].death_radius
        x, y = _place(player, state.spell_x[player, slot], state.spell_y[player, slot])
        name = cards[row].name if row < len(cards) else f"{config.table.units[row - len(cards)].name} falls"
        circle = f"r='{max(radius, 500) * SCALE:.1f}' fill='{COLOURS[player]}' fill-opacity='0.18' stroke='{_DARK[player]}'"
        parts.append(f"<g transform='translate({x:.1f} {y:.1f})'><circle {circle} stroke-dasharray='4 3'/>")
        parts.append(f"<text text-anchor='middle' y='4' font-size='10' fill='#222'>{svg.plain(name)}</text></g>")
    for player, turn, slot in np.argwhere(np.asarray(state.shot_ticks) > 0).tolist():
        from_x, from_y = _place(player, state.x[player, slot], state.y[player, slot])
        to_x, to_y = _place(player, state.shot_x[player, turn, slot], state.shot_y[player, turn, slot])
        share = 1 / (1 + int(state.shot_ticks[player, turn, slot]))
        x, y = from_x + (to_x - from_x) * share, from_y + (to_y - from_y) * share
        parts.append(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3.5' fill='#ffe9a8' stroke='{_DARK[player]}' stroke-width='1.5'/>")
    return parts


def _panel(config: ClashConfig, state: State) -> list[str]:
    """The clock, and of each player elixir, hand and next card."""
    cards, left = config.table.cards, LEFT * 2 + WIDTH * SCALE
    parts = [text(LEFT, TOP - 16, clock(config, int(state.tick)), 20, "font-weight='bold'")]
    for x, y, words in tower_points(state):
        parts.append(text(x, y, words, 11, "text-anchor='middle' font-weight='bold'"))
    for player, top in ((0, TOP + HEIGHT * SCALE - 180), (1, TOP + 26)):
        elixir = int(state.elixir[player]) / ELIXIR
        parts.append(f"<rect x='{left:.0f}' y='{top:.0f}' width='200' height='12' rx='4' fill='#ddd'/>")
        parts.append(
            f"<rect x='{left:.0f}' y='{top:.0f}' width='{elixir / MOST_ELIXIR * 200:.1f}' height='12' rx='4' fill='#b03fd0'/>"
        )
        parts.append(text(left + 206, top + 11, f"{int(elixir)}", 13))
        parts += [_box_of_elixir(left, top, number) for number in range(1, MOST_ELIXIR)]
        for place, row in enumerate(np.asarray(state.hand[player]).tolist()):
            parts.append(_card(left + 51 * place, top + 20, cards[row], elixir, int(state.saving[player]) == place))
        parts.append(text(left, top + 110, f"next: {cards[int(state.queue[player][0])].name}", 12))
    return parts


def clock(config: ClashConfig, tick: int) -> str:
    """Gives the time that is left, and how fast elixir comes."""
    rest = (config.regular_ticks if tick < config.regular_ticks else config.last_tick) - tick
    words = f"{rest // 600}:{rest // 10 % 60:02d}" + (" overtime" if tick >= config.regular_ticks else "")
    gain = 1 + (tick >= config.double_from_tick)
    if config.triple_from_tick is not None and tick >= config.triple_from_tick:
        gain = 3
    return words + (f" · {gain}x elixir" if gain > 1 else "")


def tower_points(state: State) -> Iterator[tuple[float, float, str]]:
    """Gives the hit points of each tower, and where they stand, in pixels."""
    for player in range(2):
        for tower in range(TOWERS):
            x, y = _place(player, TOWER_X[tower], TOWER_Y[tower])
            away = (44 if tower == KING else 37) * (1 if player == 0 else -1) + 4
            yield x, y + away, str(int(state.hp[player, tower])) if state.alive[player, tower] else "down"


def _box_of_elixir(left: float, top: float, number: int) -> str:
    """A line between two elixirs of the bar."""
    x = left + number / MOST_ELIXIR * 200
    return f"<path d='M{x:.0f} {top:.0f}v12' stroke='#fff' stroke-opacity='0.6'/>"


def _card(left: float, top: float, card: Card, elixir: float, saved_for: bool) -> str:
    """A card of a hand with its cost, pale while it cannot be paid, with a thick frame while it is saved for."""
    frame = "stroke='#b03fd0' stroke-width='3'" if saved_for else "stroke='#777'"
    parts = [f"<rect width='47' height='72' rx='5' fill='{CARDS[card.type]}' {frame}/>"]
    words = card.name.replace(".", "").split()
    for line, word in enumerate(words):
        y = 42 + 11 * (line - (len(words) - 1) / 2)
        size = 9.5 if len(word) < 8 else 7.5
        parts.append(f"<text x='23.5' y='{y:.1f}' text-anchor='middle' font-size='{size}' fill='#222'>{svg.plain(word)}</text>")
    parts.append("<circle cx='9' cy='9' r='9' fill='#b03fd0' stroke='#fff'/>")
    parts.append(f"<text x='9' y='13' text-anchor='middle' font-size='11' font-weight='bold' fill='#fff'>{card.cost}</text>")
    faint = " opacity='0.5'" if card.cost > elixir else ""
    return f"<g transform='translate({left:.0f} {top:.0f})'{faint}>{''.join(parts)}</g>"


def _films(config: ClashConfig, arrays: dict[str, np.ndarray], times: np.ndarray, seconds: float) -> list[str]:
    """Each unit as a thing that moves from its birth to its death; its health is a bar that shrinks."""
    parts = []
    alive, unit = arrays["alive"], arrays["unit"]
    same = stayed(alive, arrays["age"], arrays["tick"])
    for player in range(2):
        for slot in range(alive.shape[2]):
            here = alive[:, player, slot]
            born = here & ~np.append(False, same[:, player, slot])
            for start in np.flatnonzero(born).tolist():
                later = np.flatnonzero(~here[start:] | (np.arange(len(here) - start) > 0) & born[start:])
                end = start + int(later[0]) if len(later) else len(here)
                parts.append(_life(config, arrays, int(unit[start, player, slot]), player, slot, start, end, times, seconds))
    return parts


def _life(
    config: ClashConfig,
    arrays: dict[str, np.ndarray],
    row: int,
    player: int,
    slot: int,
    start: int,
    end: int,
    times: np.ndarray,
    seconds: float,
) -> str:
    unit, full = config.table.units[row], int(unit_columns(config).hp[player, row])
    frames = range(start, end)
    x, y = arrays["x"][start:end, player, slot], arrays["y"][start:end, player, slot]
    places = [_place(player, one, other) for one, other in zip(x, y, strict=True)]
    kept = [
        n for n in range(len(places)) if n in (0, len(places) - 1) or places[n] != places[n - 1] or places[n] != places[n + 1]
    ]
    move = _animated(
        "transform", [f"{places[n][0]:.1f} {places[n][1]:.1f}" for n in kept], [times[frames[n]] for n in kept], seconds
    )
    hp = arrays["hp"][start:end, player, slot]
    changes = [n for n in range(len(hp)) if n == 0 or hp[n] != hp[n - 1]]
    wide, top = max(unit.radius * SCALE * 2, 14), -unit.radius * SCALE - 6
    sizes = [f"{wide * int(hp[n]) / full:.1f}" for n in changes]
    shrink = _animated("width", sizes, [times[frames[n]] for n in changes], seconds)
    back, fill = _behind_bar(wide, top), _BARS[player]
    bar = f"<rect x='{-wide / 2:.1f}' y='{top:.1f}' width='{sizes[0]}' height='3' fill='{fill}'>{shrink}</rect>"
    shown = svg.shown_between(times[start], times[end], seconds)
    begin = f"transform='translate({places[0][0]:.1f} {places[0][1]:.1f})'"
    return f"<g opacity='{int(end == len(arrays['tick']))}' {begin}>{shown}{move}{_unit(unit, player)}{back}{bar}</g>"


def _animated(attribute: str, values: list[str], moments: list[float], seconds: float) -> str:
    """Lets an attribute go through values at times; the first holds before, the last after."""
    if len(values) < 2:
        return ""
    shares = [f"{moment / seconds:.4f}" for moment in moments]
    values, shares = [values[0], *values, values[-1]], ["0", *shares, "1"]
    more = f"dur='{seconds:.1f}s' repeatCount='indefinite' values='{';'.join(values)}' keyTimes='{';'.join(shares)}'"
    if attribute == "transform":
        return f"<animateTransform attributeName='transform' type='translate' {more}/>"
    return f"<animate attributeName='{attribute}' calcMode='discrete' {more}/>"
