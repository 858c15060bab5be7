"""One window of a browser: what it asks for, and a thread that tells it what is new.

Messages are JSON objects. A window says `{"do": WHAT, ...}`, see `_DOES`; it is told `{"type": ..., ...}`: `table` (what stays
the same), `state` (a new moment), `clock` (who thinks), `view` (an earlier moment), `opinion`, `saved`, `games`, `error` (one
line).
"""

from __future__ import annotations

import contextlib
import functools
import json
import threading
from collections.abc import Callable
from typing import Any, Protocol

from search.appraisal import Appraisal
from training.jobs.errors import is_bad_input, one_line
from training.web.desk import Desk
from training.web.saved import short
from training.web.session import Refused, Session
from training.web.shown import Shower

LONGEST_MESSAGE = 500_000  # characters
_ASK_AGAIN = 5.0  # seconds
_KINDS: dict[str, Any] = {
    "action": int,
    "at": int,
    "game": int,
    "to": int,
    "text": str,
    "planner": str,
    "seconds": (int, float),
    "running": bool,
    "session": str,
}


class Wire(Protocol):
    """A connection, as that of `websockets.sync`."""

    def send(self, message: str) -> None:
        """Sends text."""
        ...

    def recv(self) -> str | bytes:
        """Waits for a message."""
        ...


def serve_window(wire: Wire, desk: Desk, ended: type[BaseException]) -> None:
    """Talks to a window until it closes, which `wire` tells by an exception of type `ended`."""
    window = _Window(wire, desk, ended)
    try:
        while True:
            window.answer(wire.recv())
    except ended:
        pass
    finally:
        window.close()


class _Window:
    """The state of one connection.

    `_lock` keeps what its threads share, the number of the watch among it: each time a session is opened a new one begins, with a
    thread of its own. `_order` keeps what is told in order: nothing of a watch comes after the table of the next.
    """

    def __init__(self, wire: Wire, desk: Desk, ended: type[BaseException]) -> None:
        self._wire, self._desk, self._ended = wire, desk, ended
        self._lock, self._order = threading.Lock(), threading.Lock()
        self._shower: Shower | None = None
        self._closed, self._number = False, 0
        self._asking = threading.Lock()  # one opinion at a time

    def close(self) -> None:
        """Ends the thread that tells what is new."""
        with self._lock:
            self._closed = True
            if self._shower is not None:
                self._shower.session.watched(-1)

    # --- what a window asks for ----------------------------------------------------------------------------------------

    def answer(self, message: str | bytes) -> None:
        """Does what a message says; whatever is wrong with it is told in one line, and nothing else happens."""
        try:
            told = _read(message)
            self._do(told)
        except Refused as error:
            self._say({"type": "error", "text": one_line(str(error))[:400]})
        except (ValueError, OSError) as error:
            if not is_bad_input(error):
                raise
            self._say({"type": "error", "text": one_line(str(error))[:400]})

    def _do(self, told: dict[str, Any]) -> None:
        what = told["do"]
        if what == "open":
            self._open(told.get("session", ""))
        elif what == "load":
            self._watch(self._desk.load(_given(told, "text")))
        elif self._shower is None:
            raise Refused(f"do={what!r}: open a session first")
        elif what in _DOES:
            _DOES[what](self, self._shower, told)
        else:
            raise Refused(f"do={short(what)}: must be one of open, load, {', '.join(_DOES)}")

    def _open(self, name: str) -> None:
        """Opens a session; where it cannot be had, another, with the reason. Where there is none yet, the window asks again."""
        reasons: list[str] = []
        for asked in (name, "", ""):  # the second may be a saved game that cannot be played
            try:
                shower = self._desk.open(asked)
            except Refused as error:
                reasons.append(str(error))
            else:
                notice = f"{'; '.join(reasons)}: here is a new game" if reasons else ""
                self._watch(shower, one_line(notice))
                return
        raise Refused(reasons[-1])

    def _act(self, shower: Shower, told: dict[str, Any]) -> None:
        shower.session.act(_given(told, "action"), _given(told, "at"), told.get("game"))

    def _back(self, shower: Shower, told: dict[str, Any]) -> None:
        shower.session.take_back(told.get("to"))

    def _new(self, shower: Shower, told: dict[str, Any]) -> None:
        del told
        shower.session.new_game(self._desk.new_seed())

    def _clock(self, shower: Shower, told: dict[str, Any]) -> None:
        shower.session.set_clock(_given(told, "running"), _given(told, "seconds"))

    def _look(self, shower: Shower, told: dict[str, Any]) -> None:
        at, last = _given(told, "at"), len(shower.session.actions)
        if not 0 <= at <= last:
            raise Refused(f"at={at}: must be in 0..{last}")
        self._say(_of_board(lambda: {"type": "view", **shower.view(at)}))

    def _save(self, shower: Shower, told: dict[str, Any]) -> None:
        del told
        saved = shower.session.saved()
        name = f"{saved.game}-{saved.mode.partition(':')[0]}-{saved.seed}-{len(saved.actions)}.json"
        self._say({"type": "saved", "name": name, "text": saved.to_text()})

    def _games(self, shower: Shower, told: dict[str, Any]) -> None:
        del shower, told
        rows = [(number, each.session) for number, each in sorted(self._desk.live.items())]
        games = [
            {"number": number, "session": each.name, "steps": len(each.actions), "over": each.moments[-1].over}
            for number, each in rows
        ]
        self._say({"type": "games", "games": games})

    def _opinion(self, shower: Shower, told: dict[str, Any]) -> None:
        """Asks a planner in a thread of its own, so that the window can go on meanwhile."""
        session = shower.session
        seat = session.cast.person
        with session.still():
            game, at, moment = session.game_number, len(session.actions), session.moments[-1]
        if session.ended:
            raise Refused(session.ended)
        if seat is None or not session.awaits_person:
            raise Refused("opinions are about your own choice: it is not your turn")
        adviser = self._desk.adviser(session, told.get("planner", ""))
        if not self._asking.acquire(blocking=False):
            raise Refused("the planner is thinking already")

        def ask() -> None:
            try:
                found = adviser.ask(moment, seat, self._desk.new_seed())
                message = {"type": "opinion", "game": game, "at": at, "planner": adviser.name, "moves": _in_rows(found)}
                if shower is self._shower:
                    self._say(message)
            except Exception as error:  # of a planner that may be anybody's
                self._say({"type": "error", "text": one_line(f"{adviser.name} failed: {type(error).__name__}: {error}")[:400]})
            finally:
                self._asking.release()

        threading.Thread(target=ask, name="opinion", daemon=True).start()

    # --- what it is told -----------------------------------------------------------------------------------------------

    def _watch(self, shower: Shower, notice: str = "") -> None:
        """Shows a session from now on, from its beginning also where it was shown before, with a line about it."""
        with self._order:
            with self._lock:
                before, self._shower = self._shower, shower
                self._number = number = self._number + 1
                shower.session.watched(1)
                if before is not None:
                    before.session.watched(-1)  # which also wakes the thread that told it
            self._say(shower.table() | {"notice": notice})
        threading.Thread(target=self._tell, args=(shower, number), name="window", daemon=True).start()

    def _watches(self, number: int) -> bool:
        """Says whether the watch of this number goes on."""
        return not self._closed and number == self._number

    def _tell(self, shower: Shower, number: int) -> None:
        """Tells what is new of a session, until the window closes or another watch begins."""
        session, seen, told, game = shower.session, -1, 0, -1
        moment: tuple[int, int] | None = None
        while self._watches(number):
            if not session.wait(seen, _ASK_AGAIN, lambda: not self._watches(number)):
                continue
            with session.still():
                if session.changes == seen:  # closed, or the watch is over
                    break
                seen = session.changes
                now = (session.game_number, len(session.actions))
                if now == moment:
                    message = self._pulse(session, shower)
                else:
                    message = _of_board(functools.partial(shower.state, told, game))
                    if message["type"] == "state":
                        moment, (game, told) = now, now
            self._say_of(number, message)
        if session.ended:
            self._say_of(number, {"type": "error", "text": session.ended})

    def _say_of(self, number: int, message: dict[str, Any]) -> None:
        """Says something of a watch, if it goes on."""
        with self._order:
            if self._watches(number):
                self._say(message)

    def _pulse(self, session: Session, shower: Shower) -> dict[str, Any]:
        return {"type": "clock", "game": session.game_number, "at": len(session.actions), **shower.clock()}

    def _say(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(self._ended):
            self._wire.send(json.dumps(message, separators=(",", ":")))


def _of_board(tell: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Gives a message, or says that the board, which may be anybody's, has failed."""
    try:
        return tell()
    except Exception as error:
        return {"type": "error", "text": one_line(f"the board failed: {type(error).__name__}: {error}")[:400]}


def _read(message: str | bytes) -> dict[str, Any]:
    """Reads a message.

    Raises:
      ValueError: it is none.
    """
    if not isinstance(message, str):
        raise ValueError("message: must be text, not bytes")
    if len(message) > LONGEST_MESSAGE:
        raise ValueError(f"message of {len(message)} characters: must have at most {LONGEST_MESSAGE}")
    try:
        told = json.loads(message)
    except (ValueError, RecursionError):  # of no JSON, of a number of thousands of digits, of too many brackets
        raise ValueError(f"message {short(message)}: is no JSON") from None
    if not isinstance(told, dict) or not isinstance(told.get("do"), str):
        raise ValueError(f'message {short(message)}: must be an object with a word "do"')
    for name, value in told.items():
        if name in _KINDS and (not isinstance(value, _KINDS[name]) or (isinstance(value, bool) and name != "running")):
            raise ValueError(f"{name}={short(value)}: is of the wrong kind")
    return told


def _given(told: dict[str, Any], name: str) -> Any:
    if name not in told:
        raise Refused(f"do={told['do']!r}: lacks {name}")
    return told[name]


def _in_rows(found: Appraisal) -> list[list[float]]:
    """Actions with values and visits, the most visited first."""
    rows = [
        [int(action), round(float(value), 4), int(visits)]
        for action, value, visits in zip(found.actions, found.values, found.visits, strict=True)
    ]
    return sorted(rows, key=lambda row: (-row[2], -row[1]))


_DOES = {
    "act": _Window._act,
    "back": _Window._back,
    "new": _Window._new,
    "clock": _Window._clock,
    "look": _Window._look,
    "save": _Window._save,
    "games": _Window._games,
    "opinion": _Window._opinion,
}
