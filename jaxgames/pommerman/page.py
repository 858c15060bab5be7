"""Pommerman on a page: the board as one player sees it; played by the arrow keys and the space bar, or by clicks around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxgames import page
from jaxgames.page import Move
from jaxgames.pommerman import belief, view
from jaxgames.pommerman import constants as rules
from jaxgames.pommerman import view_parts as parts
from jaxgames.pommerman.arrays import shown_arrays

_SIDE, _MARGIN, _CARD = 640, 10, 56
_NAMES = ("stop", "up", "down", "left", "right", "bomb")
_KEYS = {" ": 5, ".": 0, "ArrowUp": 1, "ArrowDown": 2, "ArrowLeft": 3, "ArrowRight": 4, "w": 1, "s": 2, "a": 3, "d": 4}
_WAYS = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))
_FOG, _BOMB = "#55607a", "#7b8494"
_UNKNOWN_BOMB = (
    "<defs><g id='bx'><circle r='12' fill='#2b3340'/><circle cx='-6' cy='-6.5' r='2.2' fill='#fff' opacity='.75'/>"
    "<circle r='15.5' fill='none' stroke='#fff' stroke-width='5'/>"
    f"<circle r='15.5' fill='none' stroke='{_BOMB}' stroke-width='4' "
    "pathLength='100' stroke-dasharray='100' transform='rotate(-90)'/></g></defs>"
)


class Page(page.Board):
    """The board of `jaxgames.page` for Pommerman; `game` is a `Pommerman`."""

    game: Any

    @property
    def keys(self) -> Mapping[str, int]:
        return {key: self._action(move) for key, move in _KEYS.items()}

    @property
    def seconds(self) -> float:
        return 0.3

    def picture(self, state: Any, seat: int | None) -> str:
        size = self.game.config.board_size
        fog = self._fog(state, seat)
        recording = self._recording(state, seat)
        body = view.position(recording, 0) if seat is None else _seen(recording, fog, self._known_dead(seat))
        shade = "".join(
            f"<rect x='{40 * column}' y='{40 * row}' width='40' height='40'/>" for row, column in np.argwhere(fog).tolist()
        )
        board = parts.board_group(size, _MARGIN, _MARGIN + _CARD, _SIDE, f"{body}<g fill='{_FOG}' opacity='.82'>{shade}</g>")
        cards = "".join(self._card(recording, each, seat) for each in range(recording.num_agents))
        wide, high = _SIDE + 2 * _MARGIN, _SIDE + 2 * _MARGIN + _CARD
        head = f"<svg xmlns='http://www.w3.org/2000/svg' class='pommerman' viewBox='0 0 {wide} {high}'>"
        return f"{head}{parts.STYLE}{parts.SYMBOLS}{_UNKNOWN_BOMB}{board}{cards}</svg>"

    def spots(self) -> Mapping[str, str]:
        size = self.game.config.board_size
        side = _SIDE / size
        return {
            f"c{row * size + column}": f"<rect x='{_MARGIN + side * column + 2:.1f}' y='{_MARGIN + _CARD + side * row + 2:.1f}' "
            f"width='{side - 4:.1f}' height='{side - 4:.1f}' rx='8'/>"
            for row in range(size)
            for column in range(size)
        }

    def moves(self, state: Any, seat: int, actions: Sequence[int]) -> list[Move]:
        size, per_move = self.game.config.board_size, self._action(1)
        row, column = divmod(int(state.bombers[seat].cell), size)
        found = []  # what also says something is among all actions, but neither clicked nor a button: these are 480
        for action in actions:
            move, words = divmod(action, per_move)
            spots: tuple[str, ...] = ()
            if 0 < move < len(_WAYS) and not words:
                there = row + _WAYS[move][0], column + _WAYS[move][1]
                if min(there) >= 0 and max(there) < size:
                    spots = (f"c{there[0] * size + there[1]}",)
            said = "" if not words else f", says {words // rules.NUM_WORDS} {words % rules.NUM_WORDS}"
            found.append(Move(action, _NAMES[move] + said, spots or (("said",) if words else ())))
        return found

    def status(self, state: Any, seat: int | None) -> str:
        step = f"Step {int(state.step_count)}"
        if seat is None:
            return step
        if not state.bombers[seat].alive:
            return f"{step}. You are out"
        message = state.messages[self.game.config.teammate_of(seat)] if state.messages else ()
        said = f", your teammate says {' '.join(str(int(word)) for word in message)}" if message else ""
        return f"{step}. Arrow keys move, space lays a bomb, a point stands still{said}"

    def told(self, state: Any, seat: int, action: int, viewer: int | None) -> str:
        """The own actions; the others' are seen on the board."""
        return self.moves(state, seat, [action])[0].name if viewer in (None, seat) else ""

    def _action(self, move: int) -> int:
        return move * (rules.NUM_MESSAGES if self.game.config.has_messages else 1)

    def _fog(self, state: Any, seat: int | None) -> np.ndarray:
        """Cells out of view, bool [N, N]."""
        size, radius = self.game.config.board_size, self.game.config.view_radius
        if seat is None or radius is None:
            return np.zeros((size, size), bool)
        row, column = divmod(int(state.bombers[seat].cell), size)
        away = np.abs(np.arange(size) - row)[:, None], np.abs(np.arange(size) - column)[None]
        return (away[0] > radius) | (away[1] > radius)

    def _known_dead(self, seat: int) -> Sequence[int]:
        """The seats of whom a player knows where they lie if they are dead: in fog not those of others."""
        return range(self.game.num_players) if self.game.config.view_radius is None else (seat,)

    def _recording(self, state: Any, seat: int | None) -> parts.Recording:
        shown = state if seat is None else belief.without_hidden(state)
        return parts.read(shown_arrays(self.game.config, jax.tree.map(lambda leaf: np.asarray(leaf)[None], shown)), indices=(0,))

    def _card(self, recording: parts.Recording, seat: int, viewer: int | None) -> str:
        """Who plays a seat and whether it lives; what it carries, if that may be known."""
        wide = _SIDE / recording.num_agents
        x, y = _MARGIN + seat * wide, 4
        _, _, alive, ammo, blast, kick = recording.agents[0, seat].tolist()
        known = viewer in (None, seat)
        carries = (
            parts.use("bomb", 54, 34)
            + parts.text(66, 39, str(ammo), parts.SOFT)
            + parts.use("fire", 92, 34)
            + parts.text(103, 39, str(blast), parts.SOFT)
            + parts.use("boot", 126, 34, "" if kick else parts.KICK_OFF)
            if known
            else parts.text(46, 38, "in play" if alive else "out", parts.SOFT)
        )
        faint = "" if alive else " opacity='.4'"
        return (
            f"<g transform='translate({x:.1f} {y})'{faint}>"
            f"<rect width='{wide - 8:.1f}' height='{_CARD - 8}' rx='10' fill='{parts.CARD}'/>"
            f"<rect width='6' height='{_CARD - 8}' rx='3' fill='{parts.AGENT_COLOURS[seat]}'/>{parts.use(f'a{seat}', 26, 25)}"
            f"{parts.fitted(46, 19, self.names[seat], 13, wide - 58, parts.BOLD)}{carries}</g>"
        )


def _seen(recording: parts.Recording, fog: np.ndarray, known_dead: Sequence[int]) -> str:
    """What stands on the cells in view, as `view.position` draws it; whose bombs are is not told."""
    board, lives, agents = recording.board[0], np.where(fog, -1, recording.flame_lives[0]), recording.agents[0].tolist()
    codes = (rules.Cell.RIGID, rules.Cell.WOOD, rules.Cell.EXTRA_BOMB, rules.Cell.INCREASE_RANGE, rules.Cell.KICK)
    body = [
        parts.in_cell(f"c{code}", row, column) for code in codes for row, column in np.argwhere((board == code) & ~fog).tolist()
    ]
    for life in np.unique(lives[lives >= 0]).tolist():
        cells = [(row, column) for row, column in np.argwhere(lives == life).tolist()]
        body.append(f'<path fill="url(#f{life})" d="{parts.flame_path(cells)}"/>')
    here = [(seat, row, column, alive) for seat, (row, column, alive, *_) in enumerate(agents) if not fog[row, column]]
    body += [parts.remains(seat, row, column) for seat, row, column, alive in here if not alive and seat in known_dead]
    for row, column, _, life, *_ in recording.bombs[0].tolist():
        if not fog[row, column]:
            body.append(parts.in_cell("bx", row, column, f'stroke-dashoffset="{parts.fuse_offset(life)}"'))
            body.append(parts.text(parts.centre(column), parts.centre(row) + 5, str(life), parts.BOMB_LIFE_TEXT))
    body += [parts.in_cell(f"a{seat}", row, column) for seat, row, column, alive in here if alive]
    return "".join(body)
