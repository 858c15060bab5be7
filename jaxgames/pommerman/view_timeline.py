"""When things happen in an animated game: style rules for the clock, and what becomes of every bomb, flame and cell."""

from __future__ import annotations

import dataclasses
import itertools
import zlib
from collections.abc import Hashable, Iterator, Mapping, Sequence

import numpy as np

from jaxgames.pommerman import view_parts as parts

MARGIN = 0.001  # seconds: things end this much early, so that nothing flickers where the loop closes


class Timeline:
    """The clock of the animation: gives out names of style rules, and writes the style sheet at the end.

    State i is shown from second `i * seconds_per_step` on, the last one until `seconds`, where the loop starts again.
    """

    def __init__(self, recording: parts.Recording, seconds_per_step: float, end_pause: float, shown: str) -> None:
        """Begins a film of a recording; `shown` is what else makes this film another than others of the same game."""
        self.num_states = recording.num_states
        self.seconds_per_step = seconds_per_step
        self.end_pause = end_pause
        self.seconds = (recording.num_states - 1) * seconds_per_step + end_pause
        # Keyframes are global in a web page: two games in one page must not share names.
        content = b"".join(np.ascontiguousarray(a).tobytes() for a in (recording.board, recording.agents, recording.steps))
        self._prefix = f"p{zlib.crc32(content + repr((seconds_per_step, end_pause, shown)).encode()) & 0xFFFFF:05x}-"
        self._rules: dict[tuple[str, str], str] = {}

    def seconds_at(self, state: int) -> float:
        """When a state is first shown; `num_states` stands for the end."""
        return self.seconds if state >= self.num_states else state * self.seconds_per_step

    def percent(self, seconds: float) -> str:
        """Writes a time, in seconds from the start, as a share of the whole film: "12.5%"."""
        return f"{max(0.0, min(100.0, 100 * seconds / self.seconds)):.4f}".rstrip("0").rstrip(".") + "%"

    def rule(self, frames: str, timing: str) -> str:
        """Gives the class for these keyframes, the same one for the same frames."""
        key = (frames, timing)
        return self._rules.setdefault(key, f"{self._prefix}{len(self._rules)}")

    def steps_rule(self, values: Sequence[Hashable], declaration: str) -> str:
        """Attributes for an element that takes one value per state, in jumps; `declaration` has {} for the value."""
        if len(set(values)) < 2:
            return ""
        frames = {state: value for state, value in enumerate(values) if state == 0 or value != values[state - 1]}
        return f'class="{self.rule(self._grouped(frames, declaration), "step-end")}"'

    def motion(self, cells: Sequence[tuple[int, int]], start: int = 0) -> str:
        """Attributes for an element that goes from cell to cell (row, column), one per state, gliding in between."""
        if len(set(cells)) < 2:
            return ""
        last = len(cells) - 1
        turns = [i for i in range(last + 1) if i in (0, last) or cells[i] != cells[i - 1] or cells[i] != cells[i + 1]]
        frames = {start + i: f"{parts.centre(cells[i][1])}px,{parts.centre(cells[i][0])}px" for i in turns}
        frames[self.num_states] = frames[start + last]
        return f'class="{self.rule(self._grouped(frames, "transform:translate({})"), "linear")}"'

    def visible(
        self, start: int, stop: int, frames: Sequence[tuple[int, str]] = (), last: str = "", timing: str = "step-end"
    ) -> str:
        """Attributes for an element that is seen in the states start .. stop - 1; stop = `num_states`: until the end.

        Args:
          start: the first state.
          stop: the state in which it is gone.
          frames: declarations that hold in between, by the number of states after `start`, ascending.
          last: the declaration at the end.
          timing: how these declarations change.
        """
        if start == 0 and stop >= self.num_states and not frames:
            return ""
        origin = self.seconds_at(start)
        end = self.percent(self.seconds_at(stop) - origin - MARGIN)
        keyframes = "".join(
            f"{self.percent(age * self.seconds_per_step)}{{visibility:visible;{declaration}}}"
            for age, declaration in frames or [(0, "")]
        )
        keyframes = f"{keyframes}{end},to{{visibility:hidden;{last}}}".replace(";}", "}")
        delay = f' visibility="hidden" style="animation-delay:{origin - self.seconds:.5g}s"' if start else ""
        return f'class="{self.rule(keyframes, timing)}"{delay}'

    def style(self) -> str:
        """The style sheet; belongs at the end of the document."""
        rules = "".join(
            f"@keyframes {name}{{{frames}}}.{name}{{animation:{name} {self.seconds:.5g}s {timing} infinite}}"
            for (frames, timing), name in self._rules.items()
        )
        return f"<style>{rules}.pommerman:active *{{animation-play-state:paused}}</style>"

    def _grouped(self, frames: Mapping[int, Hashable], declaration: str) -> str:
        groups: dict[Hashable, list[str]] = {}
        for state, value in frames.items():
            groups.setdefault(value, []).append(self.percent(self.seconds_at(state)))
        return "".join(f"{','.join(at)}{{{declaration.format(value)}}}" for value, at in groups.items())


@dataclasses.dataclass
class BombTrack:
    """One bomb from the state in which it appears: its life and cell (row, column) in every state."""

    owner: int
    strength: int
    start: int
    lives: list[int]
    cells: list[tuple[int, int]]


def bomb_tracks(recording: parts.Recording) -> list[BombTrack]:
    """Follows every bomb, whatever the order of the lists: in a step its life falls by one and it rolls one cell at most."""
    tracks: list[BombTrack] = []
    before: list[BombTrack] = []
    for state, bombs in enumerate(recording.bombs):
        now: list[BombTrack] = []
        waiting = [tuple(bomb) for bomb in bombs.tolist()]
        for reach in (0, 1):
            for bomb in list(waiting):
                row, column, owner, life, strength, _ = bomb
                for track in before:
                    moved = abs(track.cells[-1][0] - row) + abs(track.cells[-1][1] - column)
                    if moved == reach and (track.owner, track.strength, track.lives[-1]) == (owner, strength, life + 1):
                        track.lives.append(life)
                        track.cells.append((row, column))
                        before.remove(track)
                        waiting.remove(bomb)
                        now.append(track)
                        break
        for row, column, owner, life, strength, _ in waiting:
            now.append(BombTrack(owner, strength, state, [life], [(row, column)]))
            tracks.append(now[-1])
        before = now
    return tracks


def flame_groups(recording: parts.Recording) -> dict[tuple[int, tuple[int, ...]], list[tuple[int, int]]]:
    """Groups cells (row, column) which burn alike: by the state in which they catch fire and the life of the flame from there."""
    shown = recording.flame_lives
    groups: dict[tuple[int, tuple[int, ...]], list[tuple[int, int]]] = {}
    for row, column, life, start, stop in runs(shown + 1, falling=True):
        lives = tuple(shown[start:stop, row, column].tolist())
        assert life == lives[0] + 1
        groups.setdefault((start, lives), []).append((row, column))
    return groups


def runs(codes: np.ndarray, *, falling: bool = False) -> Iterator[tuple[int, int, int, int, int]]:
    """Yields (row, column, code, start, stop) for every stretch of states in which a cell keeps a code other than 0.

    Args:
      codes: int [S, N, N].
      falling: whether the code may also fall on the way, to 1 at the lowest; the code yielded is the first.
    """
    changes = codes[1:] > codes[:-1] if falling else codes[1:] != codes[:-1]
    changes = changes | ((codes[1:] == 0) != (codes[:-1] == 0))
    for row, column in np.argwhere((codes > 0).any(0)).tolist():
        line = codes[:, row, column]
        bounds = [0, *(np.flatnonzero(changes[:, row, column]) + 1).tolist(), len(line)]
        for start, stop in itertools.pairwise(bounds):
            if line[start] > 0:
                yield row, column, int(line[start]), start, stop
