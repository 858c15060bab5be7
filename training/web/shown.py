"""What a page is told of a session: messages as plain values."""

from __future__ import annotations

from typing import Any

import numpy as np

from training.web.session import Session
from training.web.stepper import Moment

_KEPT = 64  # pictures


class Shower:
    """Tells one session to pages; pictures are kept, as several pages ask for the same."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._pictures: dict[tuple[int, int, int | None], str] = {}
        self._lines: dict[tuple[int, int | None], tuple[Moment, dict[str, Any]]] = {}

    def table(self) -> dict[str, Any]:
        """What stays the same through a session."""
        cast = self.session.cast
        return {
            "type": "table",
            "session": self.session.name,
            "game": cast.game.name,
            "mode": cast.mode,
            "names": [cast.name_of(seat) for seat in range(cast.game.num_players)],
            "person": cast.person,
            "spots": dict(cast.board.spots()),
            "keys": dict(cast.board.keys),
            "live": self.session.live,
        }

    def state(self, told: int, game: int) -> dict[str, Any]:
        """The present moment.

        Args:
          told: so many lines of the list of moves are known.
          game: of this number of the session's games; those of another begin again.
        """
        session = self.session
        with session.still():
            at, moment, cast = len(session.actions), session.moments[-1], session.cast
            told = min(told, at) if game == session.game_number and not moment.over else 0  # in the end nothing is hidden
            person, board = cast.person, cast.board
            message = {
                "type": "state",
                "game": session.game_number,
                "at": at,
                "log_from": told,
                "log": [self.line(step) for step in range(told, at)],
                "moves": [],
                **self.clock(),
                **self.view(at),
            }
            if session.awaits_person and person is not None:
                legal = np.flatnonzero(moment.legal[person]).tolist()
                message["moves"] = [[move.action, move.name, move.spots] for move in board.moves(moment.state, person, legal)]
            return message

    def clock(self) -> dict[str, Any]:
        """What changes while a moment lasts."""
        session = self.session
        return {
            "thinking": [session.cast.name_of(seat) for seat in sorted(session.thinking)],
            "awaits": session.awaits_person,
            "all_at_once": session.all_at_once,
            "running": session.running,
            "seconds": session.seconds,
            "failure": session.failure,
        }

    def view(self, at: int) -> dict[str, Any]:
        """One moment as the person sees it; when a game is over, all is shown of its end.

        Raises:
          IndexError: there is none.
        """
        session = self.session
        with session.still():
            moment, cast = session.moments[at], session.cast
            viewer = None if moment.over else cast.person
            return {
                "shown": at,
                "over": moment.over,
                "result": _result(session, at) if moment.over else "",
                "won": 0 if cast.person is None or not moment.over else int(np.sign(moment.outcome[cast.person])),
                "status": cast.board.status(moment.state, viewer),
                "to_play": _movers(session, at),
                "picture": self._picture(at, viewer),
            }

    def line(self, step: int) -> dict[str, Any]:
        """A step in the list of moves; what was said of it before is said again, until it is taken back."""
        session = self.session
        after, viewer = session.moments[step + 1], None if session.moments[-1].over else session.cast.person
        if step == 0 and (0, viewer) in self._lines and self._lines[0, viewer][0] is not after:
            self._lines.clear()  # another game, which may be shorter; the number of the game changes with each step back, too
        known = self._lines.get((step, viewer))
        if known is None or known[0] is not after:
            self._lines[step, viewer] = known = after, self._told(step, viewer)
        return known[1]

    def _told(self, step: int, viewer: int | None) -> dict[str, Any]:
        session = self.session
        moment, actions, board = session.moments[step], session.actions[step], session.cast.board
        after = session.moments[step + 1].state
        seats = np.flatnonzero(moment.asked).tolist()
        told = {seat: board.happened(moment.state, after, seat, actions[seat], viewer) for seat in seats}
        spots = list(board.marks(moment.state, seats[0], actions[seats[0]], viewer)) if len(seats) == 1 else []
        return {"moves": [[seat, text] for seat, text in told.items()], "spots": spots}

    def _picture(self, at: int, viewer: int | None) -> str:
        key = (self.session.game_number, at, viewer)
        if key not in self._pictures:
            while len(self._pictures) >= _KEPT:
                del self._pictures[next(iter(self._pictures))]
            self._pictures[key] = self.session.cast.board.picture(self.session.moments[at].state, viewer)
        return self._pictures[key]


def _movers(session: Session, at: int) -> list[int]:
    return [int(seat) for seat in np.flatnonzero(session.moments[at].asked)]


def _result(session: Session, at: int) -> str:
    """Says in words how a game has ended."""
    outcome, cast = session.moments[at].outcome, session.cast
    winners = [cast.name_of(seat) for seat in range(cast.game.num_players) if outcome[seat] > 0]
    if not winners:
        return "a draw"
    if winners == ["you"]:
        return "you win"
    return f"{' and '.join(dict.fromkeys(winners))} {'wins' if len(winners) == 1 else 'win'}"
