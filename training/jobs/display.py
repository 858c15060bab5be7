"""What a learner shows while it runs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from training.play.telling import SECONDS, duration, is_live, now_and_then

COMPILING = "compiling"
BLOCKS = " ▁▂▃▄▅▆▇█"  # the height of a bar, in eighths


class Display:
    """A panel that is kept up to date; without a terminal, a plain line now and then.

    The panel has a progress bar with the time left, a table of named values and, as a line of small bars, a distribution.
    """

    def __init__(
        self,
        title: str,
        total: int,
        *,
        start: int = 0,
        unit: str = "iterations",
        console: Console | None = None,
        plain_seconds: float = SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepares the display; it appears when it is entered as a context.

        Args:
          title: what is going on.
          total: how many units there are to do.
          start: how many were done before this process began.
          unit: what is counted.
          console: where to; None: standard output.
          plain_seconds: without a terminal, the least time between two lines, in seconds.
          clock: gives the time in seconds.
        """
        self._title, self._total, self._unit = title, total, unit
        self._console = console or Console()
        self._plain_seconds, self._clock = plain_seconds, clock
        self._started = self._measured_since = clock()
        self._first: int | None = None  # what was done at the first update: the time before it went into compiling
        self._done = start
        self._end: float | None = None
        self._values: Mapping[str, str | float] = {}
        self._distribution: Mapping[str, float] | None = None
        self._printed_at: float | None = None
        self._printed: tuple[Any, ...] = ()
        self._doing = ""
        live = is_live(self._console)
        self._live = Live(console=self._console, get_renderable=self._panel, refresh_per_second=2) if live else None
        self._lines = now_and_then(self._console, self._going_on)

    def __enter__(self) -> Display:
        if self._live is not None:
            self._live.start()
        self._lines.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.__exit__(None, None, None)
        if self._live is not None:
            self._live.stop()
        elif self._printed != self._shown() and self._values:
            self._print_line()

    def doing(self, text: str, *, line: bool = False) -> None:
        """Shows what is being done from now on.

        Args:
          text: such as "playing"; it stays until the next one. While it begins with "compiling" no time left is told.
          line: without a terminal, print it as a line of its own: it may take long until the next update.
        """
        self._doing = text
        if line and self._live is None:
            self.note(f"{self._title}: {text}")

    def update(
        self,
        done: int,
        values: Mapping[str, str | float],
        distribution: Mapping[str, float] | None = None,
        *,
        is_over: bool = True,
    ) -> None:
        """Shows new values.

        Args:
          done: how many units are done, those of earlier processes included.
          values: by name, in the order in which they are shown.
          distribution: shares between 0 and 1, such as those of actions; None: there is none.
          is_over: whether nothing is left to do once all units are done; else the time left is not known then.
        """
        now = self._clock()
        if self._first is None:
            self._first, self._measured_since = done, now
        self._done, self._values, self._distribution = done, dict(values), distribution
        self._end = None if done >= self._total and not is_over else self._expected_end(now)
        if self._live is None and (self._printed_at is None or now - self._printed_at >= self._plain_seconds):
            self._print_line()

    def note(self, text: str) -> None:
        """Prints a line above the panel, such as that a checkpoint was saved."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _going_on(self) -> str:
        """Gives a line for when nothing else has been printed lately; "" when something has."""
        printed = self._started if self._printed_at is None else self._printed_at
        return "" if self._clock() - printed < self._plain_seconds else f"{self._title}: {self._progress()}"

    def _expected_end(self, now: float) -> float | None:
        """Returns when all is done at the pace since the first update: what was before that went into compiling."""
        left = max(self._total - self._done, 0)
        if not left:
            return now
        if self._first is None or self._done <= self._first:
            return None
        return now + (now - self._measured_since) / (self._done - self._first) * left

    def _progress(self) -> str:
        now = self._clock()
        end = self._end  # read once: another thread may change it
        late = end is not None and end < now and self._done < self._total
        left = "?" if end is None or late or self._doing.startswith(COMPILING) else duration(max(end - now, 0.0))
        told = f"{self._done}/{self._total} {self._unit}, {duration(now - self._started)} passed, {left} left"
        return f"{told}, {self._doing}" if self._doing else told

    def _shown(self) -> tuple[Any, ...]:
        return self._done, self._values, self._distribution

    def _print_line(self) -> None:
        parts = [f"{self._title}: {self._progress()}", *(f"{name} {_number(value)}" for name, value in self._values.items())]
        if self._distribution:
            parts.append(" ".join(f"{name} {100 * share:.0f}%" for name, share in self._distribution.items()))
        self._console.print(" | ".join(parts), markup=False, highlight=False, soft_wrap=True)
        self._printed_at, self._printed = self._clock(), self._shown()

    def _panel(self) -> RenderableType:
        # Lines of the panel that are there from the start keep it from jumping.
        bar = Table.grid(padding=(0, 1), expand=True)
        bar.add_column(ratio=1)
        bar.add_column(no_wrap=True)
        bar.add_row(ProgressBar(total=max(self._total, 1), completed=self._done), self._progress())
        table = Table.grid(padding=(0, 2))
        cells = [Text.assemble((f"{name}  ", "dim"), (_number(value), "bold")) for name, value in self._values.items()]
        for begin in range(0, len(cells), 3):
            table.add_row(*cells[begin : begin + 3])
        rows: list[RenderableType] = [bar, table]
        if shares := self._distribution:  # read once: this runs in the thread that refreshes the screen
            largest = max(shares.values())
            rows.append(Text("   ").join(_bar(name, share, largest) for name, share in shares.items()))
        return Panel(Group(*rows), title=Text(self._title), title_align="left")


def _bar(name: str, share: float, largest: float) -> Text:
    """Draws a share as a block, as high as it is large beside the largest."""
    height = math.ceil((len(BLOCKS) - 1) * share / largest) if 0 < share <= largest else 0  # NaN has no height
    return Text.assemble((f"{name} ", "dim"), (BLOCKS[height], "cyan"), f" {100 * share:.0f}%")


def _number(value: str | float) -> str:
    if isinstance(value, str | int):
        return str(value)
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"
