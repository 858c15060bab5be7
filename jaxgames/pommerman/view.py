"""Pictures of Pommerman as SVG: one position, or a whole game that plays in a browser.

All of them return a standalone SVG as text. `draw` and `animate` take states; the others take the recorded arrays of
`jaxgames.pommerman.arrays` (numpy, states in front) and more options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import jax
import numpy as np

from jaxgames import checks
from jaxgames.pommerman import view_parts as parts
from jaxgames.pommerman.arrays import shown_arrays
from jaxgames.pommerman.config import PommermanConfig
from jaxgames.pommerman.constants import Cell
from jaxgames.pommerman.rules import winners as winners_of
from jaxgames.pommerman.state import State
from jaxgames.pommerman.view_animation import animate_recording

__all__ = ["animate", "animate_recording", "draw", "draw_recording"]


def draw(config: PommermanConfig, state: State, *, names: Sequence[str] = (), caption: str = "") -> str:
    """Draws one position; see `draw_recording`."""
    return draw_recording(shown_arrays(config, jax.tree.map(lambda leaf: leaf[None], state)), 0, names=names, caption=caption)


def animate(config: PommermanConfig, states: State, actions: np.ndarray | None = None, *, names: Sequence[str] = ()) -> str:
    """Draws a game.

    Args:
      config: the variant.
      states: leaves [length + 1]: the start and the state after every step.
      actions: not needed.
      names: one per seat; none: "agent 0", "agent 1", ...

    Raises:
      ValueError: there is no step, the states are not those of one game, or names do not fit the seats.
    """
    del actions
    checks.film(states)
    winners = [seat for seat, won in enumerate(winners_of(config, jax.tree.map(lambda leaf: leaf[-1], states))) if won]
    arrays, teams = shown_arrays(config, states), config.is_team
    return animate_recording(arrays, names=names, teams=teams, winners=winners, max_steps=config.max_steps)


def draw_recording(
    arrays: Mapping[str, np.ndarray],
    index: int,
    *,
    names: Sequence[str] = (),
    title: str = "Pommerman",
    caption: str = "",
) -> str:
    """Draws one position: the whole board (hidden items show faintly), a card per agent, and a legend.

    Args:
      arrays: recorded arrays, see `jaxgames.pommerman.arrays`.
      index: which state; 0 is the first.
      names: one per seat; none: "agent 0", "agent 1", ...
      title: the heading.
      caption: a line above the board.

    Returns:
      A standalone SVG of 720 x 546 pixels.

    Raises:
      ValueError: an array is missing or has another shape, the index is out of range, or names do not fit the seats.
    """
    recording = parts.read(arrays, indices=(index,))
    names = parts.agent_names(names, recording.num_agents)
    cards = []
    for seat, (name, agent) in enumerate(zip(names, recording.agents[0], strict=True)):
        _, _, alive, ammo, blast, kick = agent.tolist()
        cards.append(
            parts.card(
                seat,
                name,
                status=parts.text(50, 38, "alive" if alive else "out", parts.SOFT),
                ammo=parts.text(42, 67, str(ammo), 'class="number"'),
                blast=parts.text(95, 67, str(blast), 'class="number"'),
                kick=parts.KICK_OFF if not kick else "",
                more="" if alive else parts.CARD_OUT,
            )
        )
    right = parts.PANEL_X + parts.PANEL_WIDTH
    body = (
        parts.heading(title)
        + parts.caption_line(caption)
        + parts.text(right, 30, f"step {int(recording.steps[0])}", 'class="number" text-anchor="end"')
        + parts.board_group(recording.size, parts.BOARD_X, parts.BOARD_Y, parts.BOARD_SIDE, position(recording, 0))
        + "".join(cards)
        + parts.legend()
    )
    return parts.document(parts.WIDTH, parts.BOARD_Y + parts.BOARD_SIDE + parts.BOARD_X, title, body)


def position(recording: parts.Recording, state: int) -> str:
    """Everything that stands on the board of one state, in units of `view_parts.CELL`; bombs carry their life as a number."""
    board, items, lives = recording.board[state], recording.items[state], recording.flame_lives[state]
    agents = recording.agents[state]
    body = [
        parts.in_cell(f"c{code}", row, column)
        for code in (Cell.RIGID, Cell.WOOD, Cell.EXTRA_BOMB, Cell.INCREASE_RANGE, Cell.KICK)
        for row, column in np.argwhere(board == code).tolist()
    ]
    hidden = np.argwhere((items > 0) & (lives < 0)).tolist()
    body += [parts.in_cell(f"c{items[row, column]}", row, column, parts.HIDDEN) for row, column in hidden]
    for life in np.unique(lives[lives >= 0]).tolist():
        cells = [(row, column) for row, column in np.argwhere(lives == life).tolist()]
        body.append(f'<path fill="url(#f{life})" d="{parts.flame_path(cells)}"/>')
    body += [parts.remains(seat, row, column) for seat, (row, column, alive, *_) in enumerate(agents.tolist()) if not alive]
    under_agent = {(row, column) for row, column, alive, *_ in agents.tolist() if alive}
    for row, column, owner, life, *_ in recording.bombs[state].tolist():
        body.append(parts.in_cell(f"b{owner}", row, column, f'stroke-dashoffset="{parts.fuse_offset(life)}"'))
        if (row, column) not in under_agent:
            body.append(parts.text(parts.centre(column), parts.centre(row) + 5, str(life), parts.BOMB_LIFE_TEXT))
    body += [parts.in_cell(f"a{seat}", row, column) for seat, (row, column, alive, *_) in enumerate(agents.tolist()) if alive]
    return "".join(body)
