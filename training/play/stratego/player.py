"""A player that is told lines of the protocol and answers with lines: without errors in the middle of a game, and in time."""

from __future__ import annotations

import concurrent.futures
import contextlib
import logging
import math
import queue
import random
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

from training.play.stratego import protocol
from training.play.stratego.protocol import Move, Outcome

LOG = logging.getLogger(__name__)

Told = tuple[Move, Outcome]


class Mind(Protocol):
    """Who decides; asked by one thread."""

    def setup(self, colour: int) -> list[str]:
        """Gives the four rows of a set-up, from the top as they lie on the board."""
        ...

    def begin(self, colour: int) -> None:
        """Begins a game."""
        ...

    def prepare(self) -> None:
        """Compiles what games need, the first time."""
        ...

    def choose(self, rows: Sequence[str], told: Sequence[Told], wanted: Callable[[], bool]) -> Move | None:
        """Chooses a move.

        Args:
          rows: the board as its player sees it.
          told: the moves since the board before, own and other, with what came of them.
          wanted: says whether the answer is still waited for; None may be returned if not.
        """
        ...


class TextPlayer:
    """A mind behind the protocol.

    Where it has no answer in time, or one that is not legal, a legal move drawn at random is played, one of the `quiet` ones if
    there are such; the mind goes on with that.

    Attributes:
      over: whether it was told to leave.
      moves, replaced: how often it was asked for one, and how many were drawn at random in place of the mind's.
    """

    def __init__(
        self,
        mind: Mind,
        *,
        seconds: float,
        counts: Mapping[str, int],
        lakes: Collection[tuple[int, int]] = (),
        seed: int = 0,
        spent: float = 0.0,
    ) -> None:
        """Makes the player.

        Args:
          mind: who decides.
          seconds: what the manager allows per line.
          counts: how many pieces of each rank it sets up if the mind has no set-up in time.
          lakes: cells (x, y) on which it sets up nothing then.
          seed: of moves in place of the mind's.
          spent: seconds that the manager has been waiting for the first line already.
        """
        self._mind, self._random, self._counts, self._lakes = mind, random.Random(seed), counts, lakes
        self._seconds = seconds - min(0.5, seconds / 4)  # the rest is for the way there
        self._first_by = time.monotonic() + self._seconds - spent if spent else math.inf
        self._worker = _Worker()
        self._rows: list[str] = []
        self._told: list[Told] = []
        self.over, self.moves, self.replaced = False, 0, 0

    @property
    def busy(self) -> bool:
        """Whether its mind is at work."""
        return self._worker.busy

    def prepare(self) -> None:
        """Waits until the mind is compiled, which otherwise begins with the first set-up."""
        self._worker.submit(self._mind.prepare).result()

    def wait(self) -> None:
        """Waits until the mind has nothing to do."""
        with contextlib.suppress(Exception):  # told where it was asked for
            self._worker.submit(lambda: None).result()

    def hear(self, line: str) -> Iterable[str]:
        """Takes a line.

        Args:
          line: without its end.

        Returns:
          The lines to answer, to be sent one by one: between the rows of a set-up the mind is compiled.

        Raises:
          ValueError: it begins a game on a board of another size.
        """
        line = line.rstrip("\r\n")
        if protocol.is_row(line):
            self._rows.append(line)
            if len(self._rows) < protocol.SIZE:
                return []
            rows, self._rows = self._rows, []
            told, self._told = self._told, []
            return [self._answer(rows, told)]
        if self._rows:
            LOG.warning("a board of %d rows, and then %s: the rows are left out", len(self._rows), protocol.shown(line))
            self._rows = []
        return self._hear_other(line)

    def _hear_other(self, line: str) -> Iterable[str]:
        told = protocol.read_told(line)
        if told is not None:
            self._told.append(told)
        elif line.split(" ")[0] == protocol.QUIT:
            self.over = True
        elif (found := protocol.read_header(line)) is not None:
            return self._set_up(found.colour)
        elif line.strip() != protocol.START:
            LOG.warning("%s is no line of the protocol", protocol.shown(line))
        return []

    def _set_up(self, colour: int) -> Iterator[str]:
        self._told, self.over = [], False
        now = time.monotonic()
        first_by = max(min(now + self._seconds, self._first_by), now)
        self._first_by = math.inf
        self._worker.submit(lambda: self._mind.begin(colour))
        try:
            rows: list[str] = self._worker.submit(lambda: self._mind.setup(colour)).result(first_by - now)
        except TimeoutError:
            LOG.warning("no set-up was ready in time, a plain one is sent")
            rows = plain_setup(self._random, colour, self._counts, self._lakes)
        except Exception:  # a match must go on
            LOG.exception("no set-up was found, a plain one is sent")
            rows = plain_setup(self._random, colour, self._counts, self._lakes)
        return self._rows_in_time(rows, first_by, self._worker.submit(self._mind.prepare))

    def _rows_in_time(self, rows: Sequence[str], by: float, prepared: Future[Any]) -> Iterator[str]:
        """Gives the rows of a set-up when the mind is compiled, or else as late as they may be sent: the first one `by` then.

        A manager waits for each of them as long as for a move, and may stop a program from then on until it is on turn.
        """
        for row in rows:
            concurrent.futures.wait([prepared], max(by - time.monotonic(), 0.0))
            yield row
            by = time.monotonic() + self._seconds

    def _answer(self, rows: list[str], told: list[Told]) -> str:
        self.moves += 1
        late = threading.Event()
        try:
            asked = self._worker.submit(lambda: self._mind.choose(rows, told, lambda: not late.is_set()))
            move = asked.result(self._seconds)
            wrong = protocol.why_illegal(rows, move)
            if not wrong:
                return str(move)
            LOG.error("the move %s is not played: %s", move, wrong)
        except TimeoutError:
            late.set()
            LOG.warning("no move was found within %.2g s, one is drawn", self._seconds)
        except ValueError as error:
            LOG.error("no move was found, one is drawn: %s", " ".join(str(error).split()))
        except Exception:  # a match must go on, whatever has been sent
            LOG.exception("no move was found, one is drawn")
        moves = protocol.legal_moves(rows)
        if not moves:
            return protocol.SURRENDER
        self.replaced += 1
        return str(self._random.choice(quiet(rows, moves)))


def quiet(rows: Sequence[str], moves: Sequence[Move]) -> Sequence[Move]:
    """Gives the moves (not empty) that attack nobody and end beside nobody; all of them where there are none such."""

    def risks(move: Move) -> bool:
        x, y = move.target
        near = [(x, y), *((x + dx, y + dy) for dx, dy in protocol.DIRECTIONS.values())]
        return any(rows[v][u] == protocol.ENEMY for u, v in near if 0 <= u < protocol.SIZE and 0 <= v < protocol.SIZE)

    return [move for move in moves if not risks(move)] or moves


def plain_setup(
    random: random.Random, colour: int, counts: Mapping[str, int], lakes: Collection[tuple[int, int]] = ()
) -> list[str]:
    """Draws a set-up of some pieces of each rank: the flag at the back, bombs not in front, all others anywhere but on lakes."""
    own = [(x, y if colour == 0 else protocol.SIZE - 1 - y) for x, y in lakes]  # rows from the back
    cells = {protocol.SIZE * row + x: protocol.EMPTY for x, row in own}

    def put(rank: str, stop: int) -> None:
        free = [[cell for cell in range(end) if cell not in cells] for end in (stop, protocol.HOME_ROWS * protocol.SIZE)]
        cells[random.choice(free[0] or free[1])] = rank

    put("F", protocol.SIZE)
    for rank, stop in (("B", 3 * protocol.SIZE), *((rank, 4 * protocol.SIZE) for rank in counts if rank not in "FB")):
        for _ in range(counts.get(rank, 0)):
            put(rank, stop)
    line = "".join(cells.get(cell, protocol.EMPTY) for cell in range(protocol.HOME_ROWS * protocol.SIZE))
    rows = [line[first : first + protocol.SIZE] for first in range(0, len(line), protocol.SIZE)]
    return rows if colour == 0 else rows[::-1]


class _Worker:
    """One thread that does one thing after the other. It dies with the process."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()
        self._unfinished = 0
        self._lock = threading.Lock()
        threading.Thread(target=self._work, daemon=True).start()

    @property
    def busy(self) -> bool:
        with self._lock:
            return self._unfinished > 0

    def submit(self, work: Callable[[], Any]) -> Future[Any]:
        done: Future[Any] = Future()
        with self._lock:
            self._unfinished += 1
        self._waiting.put((work, done))
        return done

    def _work(self) -> None:
        while True:
            work, done = self._waiting.get()
            try:
                done.set_result(work())
            except BaseException as error:  # told to whoever waits
                done.set_exception(error)
            finally:
                with self._lock:
                    self._unfinished -= 1
