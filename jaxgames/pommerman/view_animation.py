"""A whole game of Pommerman as one SVG that plays in a loop in any browser, without a script.

The motion is CSS. What appears and disappears (bombs, flames, wood, items) shares its keyframes with everything that lasts as
long and differs in the delay alone; what moves or counts has keyframes of its own, grouped by value. The style sheet that starts
the clocks is the last element of the document, so that all of them start together however slowly the document arrives. A viewer
without CSS animations shows the first state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from jaxgames.pommerman import view_parts as parts
from jaxgames.pommerman.constants import MAX_STEPS, Cell
from jaxgames.pommerman.view_timeline import BombTrack, Timeline, bomb_tracks, flame_groups, runs

FADE_STATES = 4  # how long a dying agent takes to fade
BANNER_DELAY = 0.15  # share of the pause at the end that passes before the result shows, and again until it is there
TEAM_NAMES = "ABAB"  # by seat
LINE, DIGIT = 20, 10.5  # height of a line in a strip of numbers, width of a digit
BAR_Y = 541


def animate_recording(
    arrays: Mapping[str, np.ndarray],
    *,
    names: Sequence[str] = (),
    captions: Mapping[int, str] | Sequence[str] | None = None,
    seconds_per_step: float = 0.15,
    end_pause: float = 3.0,
    title: str = "Pommerman",
    result: str | None = None,
    teams: bool = False,
    winners: Sequence[int] | None = None,
    max_steps: int = MAX_STEPS,
) -> str:
    """Draws a whole game as one animated SVG.

    Args:
      arrays: recorded arrays of the states of one game in order, see `jaxgames.pommerman.arrays`.
      names: one per seat; none: "agent 0", "agent 1", ...
      captions: lines above the board. A mapping says from which state on a line is shown, a sequence has one line per state.
      seconds_per_step: how long a step takes.
      end_pause: seconds for which the last state stays, with the result.
      title: the heading.
      result: what is announced at the end; None: who is left (see `game_result`).
      teams: whether seats 0 and 2 play against seats 1 and 3.
      winners: the seats that won, where the last state does not tell (a collapse may kill winners after the end).
      max_steps: the game's limit.

    Returns:
      A standalone SVG of 720 x 560 pixels. Holding the mouse button down on it pauses.

    Raises:
      ValueError: an array is missing or has another shape, the states are not those of one game, or an option is out of range.
    """
    recording = parts.read(arrays)
    names = parts.agent_names(names, recording.num_agents)
    for option, value in (("seconds_per_step", seconds_per_step), ("end_pause", end_pause)):
        if not 0.01 <= value <= 60:
            raise ValueError(f"{option}={value}: must be in 0.01..60 seconds")
    lines = _caption_lines(captions, recording.num_states)
    deaths = _deaths(recording.agents[:, :, 2])
    shown: Sequence[int] = []
    if result is None:
        shown = winning_seats(recording, teams=teams) if winners is None else winners
        result = game_result(recording, names, teams=teams, winners=shown, max_steps=max_steps)

    timeline = Timeline(recording, seconds_per_step, end_pause, repr((title, lines, names, result)))
    body = (
        parts.heading(title)
        + _captions(timeline, lines)
        + _step_counter(timeline, recording)
        + parts.board_group(recording.size, parts.BOARD_X, parts.BOARD_Y, parts.BOARD_SIDE, _board(timeline, recording, deaths))
        + "".join(_card(timeline, recording, seat, names[seat], deaths[seat], teams) for seat in range(recording.num_agents))
        + parts.legend()
        + _progress(timeline, deaths)
        + _banner(timeline, result, shown)
        + timeline.style()
    )
    return parts.document(parts.WIDTH, parts.HEIGHT, title, body)


def winning_seats(recording: parts.Recording, *, teams: bool = False) -> list[int]:
    """The seats that won, by who is alive in the last state; empty for a draw and for a game that is not over.

    Args:
      recording: a game.
      teams: whether seats 0 and 2 play against seats 1 and 3; a dead member of a winning team has won too.
    """
    sides = [seat % 2 if teams else seat for seat in range(recording.num_agents)]
    left = {side for side, alive in zip(sides, recording.agents[-1, :, 2].tolist(), strict=True) if alive}
    return [seat for seat, side in enumerate(sides) if left == {side}]


def game_result(
    recording: parts.Recording,
    names: Sequence[str],
    *,
    teams: bool = False,
    winners: Sequence[int] | None = None,
    max_steps: int = MAX_STEPS,
) -> str:
    """Says how a game ended.

    Args:
      recording: a game.
      names: one per seat.
      teams: whether seats 0 and 2 play against seats 1 and 3.
      winners: the seats that won; None: by who is alive in the last state.
      max_steps: the game's limit.
    """
    winners = winning_seats(recording, teams=teams) if winners is None else winners
    if winners:
        listed = " and ".join(dict.fromkeys(names[seat] for seat in winners))
        return f"team {TEAM_NAMES[winners[0]]} wins: {listed}" if teams else f"{listed} wins"
    left, last = int((recording.agents[-1, :, 2] != 0).sum()), int(recording.steps[-1])
    if not left:
        return "draw: nobody is left"
    return f"draw: step limit, {left} left" if last >= max_steps else f"the recording ends at step {last}, {left} left"


def _board(timeline: Timeline, recording: parts.Recording, deaths: Sequence[int | None]) -> str:
    board, lives = recording.board, recording.flame_lives
    standing = (board == Cell.RIGID) | (board == Cell.WOOD)
    lying = (board >= Cell.EXTRA_BOMB) & (board <= Cell.KICK)
    body = [
        parts.in_cell(f"c{code}", row, column, timeline.visible(start, stop))
        for codes in (np.where(standing, board, 0), np.where(lying, board, 0))
        for row, column, code, start, stop in runs(codes)
    ]
    hidden = np.where(lives < 0, recording.items, 0)
    for row, column, code, start, stop in runs(hidden):
        body.append(parts.in_cell(f"c{code}", row, column, f"{parts.HIDDEN} {timeline.visible(start, stop)}".strip()))
    for (start, burning), cells in flame_groups(recording).items():
        frames = [(age, f"fill:url(#f{life})") for age, life in enumerate(burning)]
        more = timeline.visible(start, start + len(burning), frames)
        body.append(f'<path fill="url(#f{burning[0]})" {more} d="{parts.flame_path(cells)}"/>')
    for seat, death in enumerate(deaths):
        if death is not None:
            row, column = recording.agents[death, seat, :2].tolist()
            body.append(parts.remains(seat, row, column, timeline.visible(death, timeline.num_states)))
    body += [_bomb(timeline, track) for track in bomb_tracks(recording)]
    body += [_agent(timeline, recording.agents[:, seat], seat, death) for seat, death in enumerate(deaths)]
    return "".join(body)


def _bomb(timeline: Timeline, track: BombTrack) -> str:
    length = len(track.lives)
    stop = track.start + length
    burnt = [f"stroke-dashoffset:{parts.fuse_offset(life)}" for life in (*track.lives, track.lives[-1] - 1)]
    if stop < timeline.num_states:
        shown = timeline.visible(track.start, stop, [(0, burnt[0])], burnt[-1], "linear")
    else:
        ages = (0, length - 1) if length > 1 else (0,)
        shown = timeline.visible(track.start, stop, [(age, burnt[age]) for age in ages], burnt[-2], "linear")
    more = f'stroke-dashoffset="{parts.fuse_offset(track.lives[0])}" {shown}'
    motion = timeline.motion(track.cells, track.start)
    if not motion:
        return parts.in_cell(f"b{track.owner}", *track.cells[0], more)
    return f"<g {motion} {parts.moved(*track.cells[0])}>{parts.use(f'b{track.owner}', 0, 0, more)}</g>"


def _agent(timeline: Timeline, agent: np.ndarray, seat: int, death: int | None) -> str:
    if death == 0:
        return ""
    cells = [(row, column) for row, column in agent[: None if death is None else death + 1, :2].tolist()]
    fading = ""
    if death is not None:
        at, gone = (timeline.percent(timeline.seconds_per_step * state) for state in (death, death + FADE_STATES))
        frames = f"0%,{at}{{opacity:1;transform:scale(1)}}{gone},to{{opacity:0;transform:scale(1.7)}}"
        fading = f'class="{timeline.rule(frames, "linear")}"'
    figure = parts.use(f"a{seat}", 0, 0, fading)
    return f'<g data-agent="{seat}" {timeline.motion(cells)} {parts.moved(*cells[0])}>{figure}</g>'


def _strip(timeline: Timeline, words: Sequence[str], x: float, y: float, width: float) -> str:
    """A number that changes, one text per state: a window on a strip of all of them, with its top left corner at (x, y)."""
    lines = {word: line for line, word in enumerate(sorted(set(words)))}
    shifts = [-LINE * lines[word] for word in words]
    strip = "".join(parts.text(1, 15 + LINE * line, word, 'class="number"') for word, line in lines.items() if word)
    more = timeline.steps_rule(shifts, "transform:translateY({}px)")
    start = f' transform="translate(0 {shifts[0]})"' if shifts[0] else ""
    return f'<svg x="{x:g}" y="{y:g}" width="{width:g}" height="{LINE}"><g {more}{start}>{strip}</g></svg>'


def _step_counter(timeline: Timeline, recording: parts.Recording) -> str:
    right = parts.PANEL_X + parts.PANEL_WIDTH
    steps = recording.steps.tolist()
    last = str(max(steps))
    words = [f"{step:>{len(last)}}" for step in steps]
    x = right - DIGIT * (2 * len(last) + 1.8)
    digits = [_strip(timeline, column, x + DIGIT * place, 15, DIGIT + 2) for place, column in enumerate(_columns(words))]
    body = [parts.text(x - 4, 30, "step", 'class="number" text-anchor="end"'), *digits]
    body.append(parts.text(right, 30, f"/ {last}", 'class="number" text-anchor="end"'))
    return "".join(body)


def _columns(words: Sequence[str]) -> list[list[str]]:
    """The characters of words of one length, place by place; nothing for a blank."""
    return [[letter.strip() for letter in column] for column in zip(*words, strict=True)]


def _captions(timeline: Timeline, lines: Sequence[str]) -> str:
    starts = [state for state, line in enumerate(lines) if state == 0 or line != lines[state - 1]]
    return "".join(
        parts.caption_line(lines[start], timeline.visible(start, stop))
        for start, stop in zip(starts, [*starts[1:], timeline.num_states], strict=True)
        if lines[start]
    )


def _card(timeline: Timeline, recording: parts.Recording, seat: int, name: str, death: int | None, teams: bool) -> str:
    _, _, _, ammo, blast, kick = recording.agents[:, seat].T.tolist()
    side = f"team {TEAM_NAMES[seat]}, " if teams else ""
    end = timeline.num_states if death is None else death
    words = [(0, end, f"{side}alive")] if end else []
    if death is not None:
        words.append((death, timeline.num_states, f"{side}out at step {int(recording.steps[death])}"))
    status = (f"<g {timeline.visible(a, b)}>{parts.text(50, 38, line, parts.SOFT)}</g>" for a, b, line in words)
    return parts.card(
        seat,
        name,
        status="".join(status),
        ammo=_strip(timeline, [str(number) for number in ammo], 41, 52, 22),
        blast=_strip(timeline, [str(number) for number in blast], 94, 52, 22),
        kick=timeline.steps_rule([0.15 + 0.85 * bool(able) for able in kick], "opacity:{:.3g}")
        + ("" if kick[0] else f" {parts.KICK_OFF}"),
        more=timeline.steps_rule([1 if state < end else 0.4 for state in range(timeline.num_states)], "opacity:{}"),
    )


def _progress(timeline: Timeline, deaths: Sequence[int | None]) -> str:
    width = parts.PANEL_X + parts.PANEL_WIDTH - parts.BOARD_X
    last = max(timeline.num_states - 1, 1)
    at = timeline.percent(timeline.seconds_per_step * last)
    more = timeline.rule(f"0%{{transform:scaleX(0)}}{at},to{{transform:scaleX(1)}}", "linear")
    marks = "".join(
        f'<circle cx="{width * death / last:.4g}" cy="3" r="5" stroke="#fff" stroke-width="1.5" '
        f'fill="{parts.AGENT_COLOURS[seat]}"/>'
        for seat, death in enumerate(deaths)
        if death is not None
    )
    bar = f'rx="3" width="{width}" height="6"'
    return (
        f'<g transform="translate({parts.BOARD_X} {BAR_Y})"><rect {bar} fill="#dde3ea"/>'
        f'<rect {bar} fill="{parts.SOFT_INK}" transform="scale(0 1)" class="{more}"/>{marks}</g>'
    )


def _banner(timeline: Timeline, result: str, winners: Sequence[int]) -> str:
    height = 100 if winners else 64
    top = parts.BOARD_Y + (parts.BOARD_SIDE - height) / 2
    end = timeline.seconds_per_step * (timeline.num_states - 1)
    start, shown = (timeline.percent(end + share * BANNER_DELAY * timeline.end_pause) for share in (1, 2))
    more = timeline.rule(f"0%,{start}{{opacity:0}}{shown},to{{opacity:1}}", "linear")
    middle = parts.BOARD_SIDE / 2
    words = parts.fitted(middle, height - 24, result, 22, parts.BOARD_SIDE, f'text-anchor="middle" {parts.BOLD}')
    places = [middle + 44 * (place - (len(winners) - 1) / 2) for place in range(len(winners))]
    return (
        f'<g opacity="0" class="{more}" transform="translate({parts.BOARD_X} {top:g})">'
        f'<rect width="{parts.BOARD_SIDE}" height="{height}" fill="#fff" opacity=".93"/>'
        f"{''.join(parts.use(f'a{seat}', x, 32) for seat, x in zip(winners, places, strict=True))}"
        f"{words}</g>"
    )


def _deaths(alive: np.ndarray) -> list[int | None]:
    """The state in which each agent is first dead; None: never. Raises ValueError when one comes back."""
    back = np.argwhere((alive[1:] != 0) & (alive[:-1] == 0))
    if len(back):
        state, seat = back[0].tolist()
        raise ValueError(f"s_agents: agent {seat} comes back to life in state {state + 1}; give the states of one game")
    return [None if column.all() else int(np.argmin(column != 0)) for column in alive.T]


def _caption_lines(captions: Mapping[int, str] | Sequence[str] | None, num_states: int) -> list[str]:
    """One line per state."""
    if captions is None:
        return [""] * num_states
    if not isinstance(captions, Mapping):
        if isinstance(captions, str) or len(captions) != num_states:
            raise ValueError(f"captions: {len(captions)} lines, must be {num_states}, one per state (or a mapping)")
        return list(captions)
    for state in captions:
        if not 0 <= state < num_states:
            raise ValueError(f"captions: state {state} must be in 0..{num_states - 1}")
    lines, line = [], ""
    for state in range(num_states):
        line = captions.get(state, line)
        lines.append(line)
    return lines
