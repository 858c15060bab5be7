"""What a server holds: sessions by name, and those who give opinions."""

from __future__ import annotations

import threading

import jaxgames
from jaxgames import checks
from search import presets
from training.play import agents
from training.web.cast import Cast, Casts
from training.web.opinion import Adviser
from training.web.saved import SavedGame, read, short
from training.web.session import Refused, Session
from training.web.shown import Shower

MOST_SESSIONS = 32
SEEDS = 2**32  # after the last one comes 0
MOST_ADVISERS = 5  # each keeps what it has compiled
_TOO_MANY = "this game was ended, as too many others have begun"


class Desk:
    """The sessions of a server.

    Attributes:
      planner: who is asked for opinions where nobody is named; "": nobody.
      title: the game and its variant; "": of games that are played elsewhere.
      live: sessions that show games played elsewhere, by the number of the game.
    """

    def __init__(self, cast: Cast | None, seed: int, *, planner: str = "", pace: float = 0.0) -> None:
        """Opens a desk; without a cast it only shows games that are played elsewhere."""
        self.planner, self._seed, self._pace = planner, seed, pace
        self._casts = None if cast is None else Casts(cast)
        self.title = "" if cast is None else f"{cast.game.name} {cast.mode}"
        self._sessions: dict[str, Shower] = {}
        self._first: Shower | None = None
        self._failure, self._ready = "", threading.Event()
        self._ready.set()
        self._advisers: dict[tuple[object, str], Adviser] = {}
        self._lock, self._making = threading.Lock(), threading.Lock()
        self.live: dict[int, Shower] = {}

    def open(self, name: str) -> Shower:
        """Gives the session of a name, or a new one for "" (at a desk that only shows games: the first of these).

        Raises:
          Refused: there is none.
        """
        with self._lock:
            if name in self._sessions:
                return self._sessions[name]
            if self._casts is None and self.live:
                return self.live[min(self.live)]
        if name:
            raise Refused(f"session={short(name)}: is no longer there")
        if self._casts is None:
            raise Refused("no game has begun yet")
        self._ready.wait()
        with self._lock:
            first, self._first = self._first, None
            failure, self._failure = self._failure, ""
        if failure:
            raise Refused(failure)
        if first is not None:
            return first
        return self._seat(Session(self._casts.own, self.new_seed(), pace=self._pace))

    def prepare(self, saved: SavedGame | None = None) -> None:
        """Begins the game of the first window that asks for a new one, in a thread: it compiles while the page loads."""
        casts = self._casts
        if casts is None:
            raise ValueError("desk: only shows games that are played elsewhere")
        seed = self.new_seed()
        self._ready.clear()

        def begin() -> None:
            try:
                self._first = self._seat(Session(casts.own, seed, pace=self._pace, saved=saved))
            except ValueError as error:  # of a saved game; told to the first window
                self._failure = str(error)
            finally:
                self._ready.set()

        threading.Thread(target=begin, name="first game", daemon=True).start()

    def load(self, text: str) -> Shower:
        """Gives a session that goes on with a saved game.

        Raises:
          ValueError: it is no game that can be played here.
        """
        saved, game = read(text)
        if self._casts is None:
            raise Refused("games are only watched here; start jaxgames play to load one")
        cast = self._casts.of(game, saved.mode, saved.agents)
        return self._seat(Session(cast, saved.seed, pace=self._pace, saved=saved))

    def show_live(self, number: int, session: Session) -> None:
        """Shows a game that is played elsewhere."""
        with self._lock:
            self._sessions[session.name] = self.live[number] = Shower(session)

    def new_seed(self) -> int:
        """Gives a seed that no game of this server has had."""
        with self._lock:
            seed, self._seed = self._seed, (self._seed + 1) % SEEDS
            return seed

    def adviser(self, session: Session, spec: str) -> Adviser:
        """Gives who is asked for an opinion of a session's game; "": the usual one.

        Raises:
          ValueError: there is no such planner, or it reads a file that this server has not been told of.
        """
        game, told = session.cast.game, [self.planner, *session.cast.specs]
        spec = spec or self.planner or jaxgames.registration(game.name).defaults.planner
        if spec not in told and agents.reads_a_file(spec, game):
            raise ValueError(f"planner={spec!r}: reads a file; start the server with it to ask it")
        if spec.partition(":")[0] not in presets.planners_of(game):
            raise ValueError(f"planner={spec!r}: {checks.one_of(spec, presets.planners_of(game))}")
        with self._making:
            if (game, spec) not in self._advisers:
                adviser = Adviser(game, spec)
                while len(self._advisers) >= MOST_ADVISERS:
                    del self._advisers[next(iter(self._advisers))]
                self._advisers[game, spec] = adviser
            return self._advisers[game, spec]

    def close(self) -> None:
        """Ends all sessions."""
        with self._lock:
            for shower in self._sessions.values():
                shower.session.close()

    def _seat(self, session: Session) -> Shower:
        """Keeps a new session; where there are too many the oldest one that nobody watches gives way, else the oldest."""
        with self._lock:
            while len(self._sessions) >= MOST_SESSIONS:
                names = [name for name, shower in self._sessions.items() if not shower.session.is_watched]
                self._sessions.pop(names[0] if names else next(iter(self._sessions))).session.close(_TOO_MANY)
            self._sessions[session.name] = Shower(session)
            return self._sessions[session.name]
