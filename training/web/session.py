"""A game at the page: its moments, who has chosen what, and the thread in which agents think.

All public methods may be called from any thread. Whoever shows the game waits for `changes` to grow.
"""

from __future__ import annotations

import contextlib
import dataclasses
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from training.web.cast import Cast
from training.web.saved import SavedGame
from training.web.stepper import Moment

FASTEST, SLOWEST = 0.02, 60.0  # seconds of a step by the clock
_WAIT = 3600.0


class Refused(ValueError):
    """Something was asked for that is not possible now; told to the person in one line."""


class Thought(NamedTuple):
    """An agent that has to choose: its seat, the moment, and which of the games that a session has had (see `_game`)."""

    seat: int
    moment: Moment
    memory: Any
    at: int
    game: int


class Session:
    """One game, and those that follow it at the same page.

    Attributes:
      name: by which pages find it.
      cast: the game and who plays.
      changes: grows whenever something is new to be shown.
    """

    def __init__(self, cast: Cast, seed: int, *, pace: float = 0.0, saved: SavedGame | None = None, live: bool = False) -> None:
        """Begins a game.

        Args:
          cast: the game and who plays.
          seed: of the game.
          pace: seconds between moves of agents in games of turns, so that each is seen.
          saved: a game to go on with, in place of a new one.
          live: its steps come from elsewhere, by `feed`, and are shown one after another while somebody watches.
        """
        self.name, self.cast, self.changes = secrets.token_urlsafe(6), cast, 0
        self._pace, self._live = pace, live
        self._changed = threading.Condition(threading.RLock())
        self._game, self._closed, self._running, self._thinking = 0, False, False, frozenset[int]()
        self._seconds = cast.board.seconds
        self._ended, self._failure, self._fed, self._watchers = "", "", saved.actions if live and saved else (), 0
        with self._changed:
            self._begin(saved or SavedGame(cast.game.name, cast.mode, seed, 0, 0, cast.specs))
        threading.Thread(target=self._follow if live else self._think, name=f"game {self.name}", daemon=True).start()

    # --- what is shown -------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def still(self) -> Iterator[None]:
        """Keeps the game from changing while the context lasts."""
        with self._changed:
            yield

    def wait(self, seen: int, seconds: float, over: Callable[[], bool] = lambda: False) -> bool:
        """Waits until there is more to show than the changes seen, the session is closed, or the time is over; says whether.

        Args:
          seen: so many changes.
          seconds: at most so long.
          over: also ends it, if it says so when anything happens here, such as a call of `watched`.
        """
        with self._changed:
            return self._changed.wait_for(lambda: self.changes != seen or self._closed or over(), seconds)

    @property
    def moments(self) -> Sequence[Moment]:
        """All moments, from the first to the present one."""
        return self._moments

    @property
    def actions(self) -> Sequence[tuple[int, ...]]:
        """The actions of all steps."""
        return self._actions

    @property
    def game_number(self) -> int:
        """Grows when another game begins or steps are taken back."""
        return self._game

    @property
    def running(self) -> bool:
        """The clock runs."""
        return self._running

    @property
    def seconds(self) -> float:
        """What a step takes by the clock."""
        return self._seconds

    @property
    def thinking(self) -> frozenset[int]:
        """Seats whose agents think."""
        return self._thinking

    @property
    def failure(self) -> str:
        """Why the game cannot go on; "": it can."""
        return self._failure

    @property
    def live(self) -> bool:
        """Its steps come from elsewhere."""
        return self._live

    @property
    def is_watched(self) -> bool:
        """Some window shows it."""
        return self._watchers > 0

    @property
    def ended(self) -> str:
        """Why the session was closed; "": it is open, or nobody has to know."""
        return self._ended

    @property
    def awaits_person(self) -> bool:
        """The person has to choose."""
        seat = self.cast.person
        return not self._live and seat is not None and bool(self._moments[-1].asked[seat]) and seat not in self._chosen

    @property
    def all_at_once(self) -> bool:
        """Others than the person choose in the present step too, or nobody waits for a person: the clock can drive the game."""
        asked = self._moments[-1].asked
        return self.cast.person is None or not asked[self.cast.person] or int(asked.sum()) > 1

    def saved(self) -> SavedGame:
        """Gives the game as far as it has been played."""
        with self._changed:
            return dataclasses.replace(self._first, actions=tuple(self._actions))

    # --- what is done --------------------------------------------------------------------------------------------------

    def act(self, action: int, at: int, game: int | None = None) -> None:
        """Takes the person's action in a step, or while the clock runs in the one that has come meanwhile.

        Args:
          action: its number.
          at: the step.
          game: the `game_number` for which it was chosen; None: the present one.

        Raises:
          Refused: it is not the person's turn, another step or game has come, the action is not legal, or the session is closed.
        """
        with self._changed:
            self._check_open()
            seat, moment = self.cast.person, self._moments[-1]
            if seat is None or self._live:
                raise Refused("agents play this game: there is nothing to choose")
            if game not in (None, self._game):
                raise Refused("another game has begun, or steps were taken back: choose again")
            if at != len(self._actions) and not (
                self._running and 0 <= at < len(self._actions)
            ):  # the clock was faster: the next one
                raise Refused(f"step {at} is over, the game is at step {len(self._actions)}")
            if moment.over or not moment.asked[seat]:
                raise Refused("the game is over" if moment.over else "it is not your turn")
            if not 0 <= action < self.cast.game.num_actions or not moment.legal[seat, action]:
                raise Refused(f"action {action} is not legal here")
            self._chosen[seat] = action
            self._step_if_due()
            self._tell()

    def take_back(self, to: int | None = None) -> None:
        """Goes back to a step, or (None) to the person's choice before; what planners had in mind is forgotten.

        Raises:
          Refused: there is no such step, nothing to take back, or the session is closed.
        """
        with self._changed:
            self._check_open()
            if self._live:
                raise Refused("this game is played elsewhere")
            seat, last = self.cast.person, len(self._actions)
            if to is None:
                asked = [at for at in range(last) if seat is None or self._moments[at].asked[seat]]
                if not asked:
                    raise Refused("there is nothing to take back")
                to = asked[-1]
            if not 0 <= to <= last:
                raise Refused(f"step {to}: must be in 0..{last}")
            del self._moments[to + 1 :], self._actions[to:]
            self._running = False
            self._fresh()

    def new_game(self, seed: int) -> None:
        """Begins another game with the same players.

        Raises:
          Refused: the game is played elsewhere, or the session is closed.
        """
        with self._changed:
            self._check_open()
            if self._live:
                raise Refused("this game is played elsewhere")
            self._running = False
            self._begin(SavedGame(self.cast.game.name, self.cast.mode, seed, 0, 0, self.cast.specs))

    def set_clock(self, running: bool, seconds: float) -> None:
        """Lets the clock run or stop.

        Raises:
          Refused: that is no time for a step, or the session is closed.
        """
        if not FASTEST <= seconds <= SLOWEST:  # before it is made a float: a whole number may be too large for that
            raise Refused(f"seconds={str(seconds)[:20]}: must be in {FASTEST}..{SLOWEST}")
        with self._changed:
            self._check_open()
            self._running, self._seconds, self._stepped = running, float(seconds), time.monotonic()
            self._tell()

    def feed(self, actions: Sequence[Sequence[int]]) -> None:
        """Gives all steps that have been played elsewhere so far."""
        with self._changed:
            if len(actions) > len(self._fed):
                self._fed = tuple(tuple(int(action) for action in row) for row in actions)
                self._changed.notify_all()

    def watched(self, by: int) -> None:
        """Tells that so many more windows show this game, or fewer."""
        with self._changed:
            self._watchers += by
            self._changed.notify_all()

    def close(self, why: str = "") -> None:
        """Ends the session; an agent that is thinking does so to the end of its move.

        Args:
          why: told to whoever watches it, or asks for something.
        """
        with self._changed:
            self._closed, self._ended = True, why
            self._changed.notify_all()

    def _check_open(self) -> None:
        """Raises `Refused` once the session has been closed."""
        if self._closed:
            raise Refused(self._ended or "this game was ended")

    # --- how it goes on ------------------------------------------------------------------------------------------------

    def _begin(self, first: SavedGame) -> None:
        """Plays a game as far as it is saved."""
        self._first = dataclasses.replace(first, actions=())
        self._moments = [self.cast.stepper.begin(first.seed, first.start)]
        self._actions: list[tuple[int, ...]] = []
        for row in () if self._live else first.actions:
            self._check(row)
            self._play(row)
        self._fresh()

    def _play(self, row: tuple[int, ...]) -> None:
        """Plays a step. What a player may not do has the result that its game documents: agents may choose it."""
        moment, clock = self._moments[-1], len(self._actions)
        self._moments.append(self.cast.stepper.step(moment, row, self._first.seed, self._first.number, clock))
        self._actions.append(row)

    def _check(self, row: tuple[int, ...]) -> None:
        """Raises a ValueError unless a step that has been saved can be the next."""
        moment, clock, seat = self._moments[-1], len(self._actions), self.cast.person
        if moment.over:
            raise ValueError(f"saved game: step {clock}: the game is over")
        if seat is not None and moment.asked[seat] and not moment.legal[seat, row[seat]]:
            raise ValueError(f"saved game: step {clock}: your action={row[seat]} is not legal")

    def _fresh(self) -> None:
        """Forgets what agents had in mind of another game."""
        self._game += 1
        self._memories: dict[int, Any] = {}
        self._chosen: dict[int, int] = {}
        self._stepped = time.monotonic()
        self._failure = ""
        self._tell()

    def _tell(self) -> None:
        self.changes += 1
        self._changed.notify_all()

    def _step_if_due(self) -> float:
        """Plays a step where all have chosen and it is time; gives the seconds until it may be."""
        moment, person = self._moments[-1], self.cast.person
        waiting = [seat for seat in np.flatnonzero(moment.asked).tolist() if seat not in self._chosen]
        if moment.over or self._failure or [seat for seat in waiting if seat != person]:
            return _WAIT
        by_person = person is not None and bool(moment.asked[person])
        if self._running and self.all_at_once:
            left = self._stepped + self._seconds - time.monotonic()
        elif by_person:
            left = _WAIT if waiting else 0.0
        elif person is None or int(moment.asked.sum()) > 1:  # a person who is out sees the rest by the clock
            return _WAIT
        else:
            left = self._stepped + self._pace - time.monotonic()
        if left > 0:
            return left
        self._play(tuple(self._chosen.get(seat, self._idle(seat)) for seat in range(self.cast.game.num_players)))
        self._chosen.clear()
        self._stepped = time.monotonic()
        self._tell()
        return 0.0

    def _idle(self, seat: int) -> int:
        """What is done for a seat that is not asked, or does not choose in time."""
        legal, passes = self._moments[-1].legal[seat], self.cast.game.pass_action
        return passes if legal[passes] else int(legal.argmax())

    def _thoughts(self) -> list[Thought]:
        moment, at = self._moments[-1], len(self._actions)
        seats = [seat for seat in np.flatnonzero(moment.asked).tolist() if seat != self.cast.person and seat not in self._chosen]
        if moment.over or self._failure or (self.cast.person is None and not self._running):
            return []
        return [Thought(seat, moment, self._memories.get(seat), at, self._game) for seat in seats]

    def _think(self) -> None:
        """Asks agents, and plays the steps that nobody has to be waited for; runs in a thread of its own."""
        self._warm_up()
        while True:
            with self._changed:
                if self._closed:
                    return
                thoughts = self._thoughts()
                self._show_thinking(thoughts)
                if not thoughts:
                    seconds = self._step_if_due()
                    if seconds > 0:
                        self._changed.wait(min(seconds, _WAIT))
                    continue
            try:
                self._ask(thoughts[0])
            except Exception as error:  # an agent may be anybody's: the game stops, the server goes on
                with self._changed:
                    if thoughts[0].game == self._game:
                        self._failure = f"{self.cast.name_of(thoughts[0].seat)} failed: {type(error).__name__}: {error}"[:300]
                        self._tell()

    def _follow(self) -> None:
        """Shows what is played elsewhere, a step at a time; runs in a thread of its own."""
        with self._changed:
            while not self._closed:
                left = self._stepped + self._seconds - time.monotonic()
                if not self._watchers or len(self._fed) <= len(self._actions):
                    self._changed.wait(_WAIT)
                elif left > 0:
                    self._changed.wait(left)
                else:
                    self._play(self._fed[len(self._actions)])
                    self._stepped = time.monotonic()
                    self._tell()

    def _warm_up(self) -> None:
        """Compiles the step, the picture and the agents before the first action comes."""
        with contextlib.suppress(Exception):  # whatever it is, it will be told when it happens in the game
            cast, moment, first = self.cast, self._moments[-1], self._first
            idle = [self._idle(seat) for seat in range(cast.game.num_players)]
            after = cast.stepper.step(moment, idle, first.seed, first.number, 0)
            cast.board.picture(after.state, cast.person)
            if moment.asked[[seat for seat in range(cast.game.num_players) if seat != cast.person]].any():
                return  # they are about to be asked
            for seat, spec in enumerate(cast.specs):
                if seat != cast.person and cast.specs.index(spec) == seat and not self._closed:
                    mind = cast.mind(seat)
                    mind.act(moment, mind.begin(), seat, first.seed, first.number, 0)

    def _ask(self, thought: Thought) -> None:
        mind, first = self.cast.mind(thought.seat), self._first
        memory = mind.begin() if thought.memory is None else thought.memory
        action, memory = mind.act(thought.moment, memory, thought.seat, first.seed, first.number, thought.at)
        with self._changed:
            if thought.game == self._game:  # nobody has gone back meanwhile
                self._memories[thought.seat], self._chosen[thought.seat] = memory, action

    def _show_thinking(self, thoughts: Sequence[Thought]) -> None:
        seats = frozenset(thought.seat for thought in thoughts)
        if seats != self._thinking:
            self._thinking = seats
            self._tell()
