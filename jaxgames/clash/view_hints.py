"""A picture of what the cards of a hand are worth, and where: the arena once for each card, with a heat map over it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jaxgames import svg
from jaxgames.clash import view
from jaxgames.clash.config import ClashConfig
from jaxgames.clash.constants import COLUMNS, ELIXIR, HAND, HEIGHT, NUM_TILES, TILE, WIDTH
from jaxgames.clash.rules import WAIT
from jaxgames.clash.state import State

_COLOURS = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))  # from bad to good
_SMALL = 0.62
_GAP, _HEAD = 14, 96


def draw_hints(
    config: ClashConfig,
    state: State,
    player: int,
    actions: Sequence[int],
    values: Sequence[float],
    *,
    open_tiles: np.ndarray | None = None,
    names: Sequence[str] = (),
    caption: str = "",
) -> str:
    """Draws the values of a player's actions.

    Args:
      config: the battle.
      state: one battle.
      player: whose hand.
      actions: those that have a value, as numbered by `rules`.
      values: of them, from 0, lost, to 1, won.
      open_tiles: bool [4, 576], where each card may be played: tiles without a value take that of the nearest one, and are pale.
        None: they stay empty.
      names: of the players; none: blue and red.
      caption: a line above.

    Returns:
      SVG.

    Raises:
      ValueError: there are not two names, no such player, or not as many values as actions.
    """
    names = svg.names_of(names, view.NAMES)
    if player not in (0, 1):
        raise ValueError(f"player={player!r}: must be 0 or 1")
    if len(actions) != len(values):
        raise ValueError(f"{len(values)} values: must be as many as the {len(actions)} actions")
    known = dict(zip((int(each) for each in actions), (float(each) for each in values), strict=True))
    low, high = min([*known.values(), 1.0]), max([*known.values(), 0.0])
    wide, high_px = WIDTH * view.SCALE * _SMALL, HEIGHT * view.SCALE * _SMALL
    width, height = round(HAND * (wide + _GAP) + _GAP), round(_HEAD + high_px + 60)
    tick, elixir = int(state.tick), int(state.elixir[player]) / ELIXIR
    waits = f", waiting {_percent(known[WAIT])}" if WAIT in known else ""
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' height='{height}' {view.FONT}>",
        f"<rect width='{width}' height='{height}' fill='#f6f4ee'/>",
        view.text(_GAP, 24, caption or f"what the cards of {names[player]} are worth", 16, "font-weight='bold'"),
        view.text(_GAP, 46, f"after {tick / 10:.1f} s, {elixir:.1f} elixir; values in per cent, 0 lost and 100 won{waits}", 13),
    ]
    for place in range(HAND):
        own = {action - 1 - place * NUM_TILES: value for action, value in known.items() if (action - 1) // NUM_TILES == place}
        parts += _card(config, state, player, place, own, (low, high), open_tiles, _GAP + place * (wide + _GAP))
    parts += _scale((low, high), width, height)
    return "".join([*parts, "</svg>"])


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %"


def _card(
    config: ClashConfig,
    state: State,
    player: int,
    place: int,
    values: dict[int, float],
    span: tuple[float, float],
    open_tiles: np.ndarray | None,
    left: float,
) -> list[str]:
    """One arena with the values of one card by tile."""
    card = config.table.cards[int(state.hand[player, place])]
    affordable = card.cost * ELIXIR <= int(state.elixir[player])
    told = "no value"
    if values and not affordable:
        told = f"saving for it {_percent(max(values.values()))}"
    elif values:
        told = f"best {_percent(max(values.values()))}"
    bold = "font-weight='bold'"
    parts = [view.text(left, 72, f"{card.name} ({card.cost})", 14, bold), view.text(left, 90, told, 12)]
    where = f"translate({left - view.LEFT * _SMALL:.1f} {_HEAD - view.TOP * _SMALL:.1f}) scale({_SMALL})"
    parts += [f"<g transform='{where}'>", *view.ground()]
    if values and affordable:
        parts += _heat(player, values, span, None if open_tiles is None else open_tiles[place])
    return [*parts, *view.things(config, state), "</g>"]


def _heat(player: int, values: dict[int, float], span: tuple[float, float], open_tiles: np.ndarray | None) -> list[str]:
    known = np.array(sorted(values))
    best = max(values, key=lambda tile: values[tile])
    parts = []
    for tile in range(NUM_TILES):
        if tile in values:
            parts.append(_tile(player, tile, _colour(values[tile], span), 0.85))
        elif open_tiles is not None and open_tiles[tile]:
            away = (known % COLUMNS - tile % COLUMNS) ** 2 + (known // COLUMNS - tile // COLUMNS) ** 2
            parts.append(_tile(player, tile, _colour(values[int(known[np.argmin(away)])], span), 0.35))
    return [*parts, _tile(player, best, "none", 1.0, "stroke='#fff' stroke-width='3'")]


def _tile(player: int, tile: int, fill: str, opacity: float, more: str = "") -> str:
    column, row = tile % COLUMNS, tile // COLUMNS
    x, y = column * TILE, row * TILE
    if player:
        x, y = WIDTH - x - TILE, HEIGHT - y - TILE
    return view.box(x, y, TILE, TILE, fill, f"fill-opacity='{opacity}' {more}")


def _colour(value: float, span: tuple[float, float]) -> str:
    share = (value - span[0]) / max(span[1] - span[0], 1e-9) * (len(_COLOURS) - 1)
    first = min(max(int(share), 0), len(_COLOURS) - 2)
    mixed = (a + (b - a) * min(max(share - first, 0.0), 1.0) for a, b in zip(_COLOURS[first], _COLOURS[first + 1], strict=True))
    return "#" + "".join(f"{round(each):02x}" for each in mixed)


def _scale(span: tuple[float, float], width: int, height: int) -> list[str]:
    """What the colours mean."""
    steps, top, left = 40, height - 34, _GAP + 60
    wide = (width - 2 * left) / steps
    parts = [
        f"<rect x='{left + number * wide:.1f}' y='{top}' width='{wide + 0.5:.1f}' height='12' "
        f"fill='{_colour(span[0] + (span[1] - span[0]) * number / (steps - 1), span)}'/>"
        for number in range(steps)
    ]
    words = (view.text(_GAP, top + 11, _percent(span[0]), 12), view.text(width - left + 8, top + 11, _percent(span[1]), 12))
    return [*parts, *words, view.text(left, top + 27, "pale: not tried, as the nearest tile; white frame: the best tile", 11)]
