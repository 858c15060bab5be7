"""One game between two partners by the protocol: who is asked what, and how it ends."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from training.play.stratego import protocol
from training.play.stratego.programs import Failure
from training.play.stratego.protocol import Move, Outcome

RED, BLUE, BOTH = range(3)
NOBODY = -1


class Partner(Protocol):
    """Somebody who speaks the protocol, for one game. All methods but `close` may raise a `Failure`."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    def send(self, text: str, seconds: float) -> None:
        """Tells it lines."""
        ...

    def read_line(self, seconds: float) -> str:
        """Waits for a line of its."""
        ...

    def pause(self) -> None:
        """Lets it not think."""
        ...

    def resume(self) -> None:
        """Lets it think again."""
        ...

    def close(self, line: str = "") -> None:
        """Tells it a last line and ends it."""
        ...

    @property
    def drawn_moves(self) -> int | None:
        """Moves of this game that were drawn at random, as it had no legal one in time; None: it does not tell."""
        ...


class Referee(Protocol):
    """The game as the manager knows it."""

    def view(self, player: int) -> list[str]:
        """The rows of the board as a player sees them."""
        ...

    def why_illegal(self, move: Move) -> str:
        """Says why a move of the player on turn is not allowed; "" for a legal one."""
        ...

    def play(self, move: Move) -> Outcome:
        """Plays a legal move of the player on turn."""
        ...

    def ranks(self, player: int) -> str:
        """The pieces that a player has left."""
        ...


@dataclasses.dataclass(frozen=True)
class Rules:
    """How games are managed.

    Attributes:
      seconds: for each line that is waited for.
      turns: the game is drawn when the counter of turns, which begins with 1, comes to this number.
      counts: how many pieces of each rank a player sets up; None: set-ups are dealt, and what is sent is read and left aside.
      lakes: cells (x, y) on which a player may set up nothing.
      pause: stop the program that is not on turn.
    """

    seconds: float = 2.0
    turns: int = 5000
    counts: Mapping[str, int] | None = None
    lakes: Collection[tuple[int, int]] = ()
    pause: bool = True


class Ending(NamedTuple):
    """How a game ended.

    Attributes:
      word: VICTORY, SURRENDER, ILLEGAL, DRAW, DRAW_DEFAULT or BAD_SETUP.
      colour: whose turn it was; of a bad set-up, whose; `BOTH`.
      winner: `RED`, `BLUE` or `NOBODY`.
      reason: in words.
    """

    word: str
    colour: int
    winner: int
    reason: str


@dataclasses.dataclass(frozen=True)
class Played:
    """A game that was played.

    Attributes:
      names: of red and blue.
      setups: rows of red's and blue's set-up; none for one that was not accepted.
      moves: with what came of them; the last may be ILLEGAL.
      texts: the moves as they were sent.
      ending: how it ended.
      turn: the counter of turns at the end; 0 while setting up.
      values: of red's and blue's pieces left.
      slowest: seconds that red and blue took for their slowest line.
      drawn: moves of red and blue that were drawn at random, as an agent of ours had no legal one in time; None: of a program.
    """

    names: tuple[str, str]
    setups: tuple[tuple[str, ...], tuple[str, ...]]
    moves: tuple[tuple[Move, Outcome], ...]
    texts: tuple[str, ...]
    ending: Ending
    turn: int
    values: tuple[int, int]
    slowest: tuple[float, float]
    drawn: tuple[int | None, int | None] = (None, None)

    @property
    def result(self) -> str:
        """The line that tells the result."""
        colour = self.ending.colour
        who = "neither BOTH" if colour == BOTH else f"{self.names[colour]} {protocol.COLOURS[colour]}"
        return f"{who} {self.ending.word} {self.turn} {self.values[RED]} {self.values[BLUE]}"

    def log(self) -> str:
        """Tells the game as the published manager does: both set-ups, all moves, why it ended, and the result."""
        lines = []
        for name, colour, rows in zip(self.names, protocol.COLOURS, self.setups, strict=True):
            lines += [f"{name} {colour} SETUP", *(rows or ["INVALID!"])]
        for ply, (text, (_, outcome)) in enumerate(zip(self.texts, self.moves, strict=False)):
            lines.append(f"{ply // 2 + 1} {('RED', 'BLU')[ply % 2]}: {text} {outcome}")
        if len(self.texts) > len(self.moves):
            ply = len(self.moves)
            lines.append(f"{ply // 2 + 1} {('RED', 'BLU')[ply % 2]}: {self.texts[-1]}")
        where = f"on {protocol.COLOURS[self.ending.colour]}'s turn" if self.turn else "in the SETUP phase"
        return "\n".join([*lines, f"Game ends {where} - REASON: {self.ending.reason}", self.result, ""])


def play(partners: Sequence[Partner], start: Callable[[Sequence[Sequence[str]]], Referee], rules: Rules) -> Played:
    """Plays a game to its end. The partners are told the result, but not ended.

    Args:
      partners: red and blue.
      start: makes a referee of the rows of both set-ups; it deals them itself if they are not played with.
      rules: how.
    """
    return _Game(partners, rules).play(start)


class _Game:
    """A game at work."""

    def __init__(self, partners: Sequence[Partner], rules: Rules) -> None:
        self._partners, self._rules = partners, rules
        self._names = tuple(protocol.word(partner.name) for partner in partners)
        self._moves: list[tuple[Move, Outcome]] = []
        self._texts: list[str] = []
        self._slowest = [0.0, 0.0]
        self._broken = ["", ""]  # why a player can no longer be told anything
        self._turn = 0

    def play(self, start: Callable[[Sequence[Sequence[str]]], Referee]) -> Played:
        setups, bad = [], ["", ""]
        for colour in (RED, BLUE):
            try:
                setups.append(self._set_up(colour))
            except (Failure, ValueError) as error:
                setups.append([])
                bad[colour] = str(error)
        if any(bad):
            return self._played(setups, _bad_setup(bad), (0, 0))
        referee = start(setups)
        if self._rules.counts is None:
            setups = [referee.view(RED)[: protocol.HOME_ROWS], referee.view(BLUE)[-protocol.HOME_ROWS :]]
        ending = self._play(referee)
        return self._played(setups, ending, tuple(protocol.value(referee.ranks(player)) for player in (RED, BLUE)))

    def _played(self, setups: Sequence[Sequence[str]], ending: Ending, values: Sequence[int]) -> Played:
        return Played(
            names=(self._names[RED], self._names[BLUE]),
            setups=(tuple(setups[RED]), tuple(setups[BLUE])),
            moves=tuple(self._moves),
            texts=tuple(self._texts),
            ending=ending,
            turn=self._turn,
            values=(values[RED], values[BLUE]),
            slowest=(self._slowest[RED], self._slowest[BLUE]),
            drawn=(self._partners[RED].drawn_moves, self._partners[BLUE].drawn_moves),
        )

    def _set_up(self, colour: int) -> list[str]:
        first = self._ask(colour, protocol.header(colour, self._names[1 - colour]))
        rows = [first, *(self._partners[colour].read_line(self._rules.seconds) for _ in range(protocol.HOME_ROWS - 1))]
        if self._rules.counts is not None:
            protocol.check_setup(rows, self._rules.counts, lakes=self._rules.lakes, colour=colour)
        return rows

    def _play(self, referee: Referee) -> Ending:
        self._turn = 1
        self._tell(RED, protocol.START)
        while self._turn < self._rules.turns:
            for colour in (RED, BLUE):
                ending = self._attrition(referee, colour) or self._ply(referee, colour) or self._attrition(referee, colour)
                if ending:
                    return ending
                told = f"{self._texts[-1]} {self._moves[-1][1]}"
                for player in (RED, BLUE):
                    self._tell(player, told)
            self._turn += 1
        return Ending("DRAW_DEFAULT", BLUE if self._moves else RED, NOBODY, f"a draw after {self._turn} turns")

    def _ply(self, referee: Referee, colour: int) -> Ending | None:
        """Asks for a move and plays it. Returns how the game ends by it, None if it goes on."""
        if self._rules.pause:
            self._partners[1 - colour].pause()
            self._partners[colour].resume()
        try:
            text = " ".join(self._ask(colour, "\n".join(referee.view(colour))).split())
        except Failure as failure:
            return Ending("ILLEGAL", colour, 1 - colour, str(failure))
        if text == protocol.SURRENDER:
            self._texts.append(f"{text} OK")
            return Ending("SURRENDER", colour, 1 - colour, "surrendered")
        try:
            move = protocol.read_move(text)
        except ValueError as error:
            self._texts.append(protocol.shown(text))
            return Ending("ILLEGAL", colour, 1 - colour, str(error))
        self._texts.append(text)
        wrong = referee.why_illegal(move)
        if wrong:
            self._moves.append((move, Outcome("ILLEGAL")))
            return Ending("ILLEGAL", colour, 1 - colour, f"the move {move}: {wrong}")
        outcome = referee.play(move)
        self._moves.append((move, outcome))
        return Ending("VICTORY", colour, colour, "captured the flag") if outcome.word == "VICTORY_FLAG" else None

    def _attrition(self, referee: Referee, colour: int) -> Ending | None:
        """Says how the game ends if the partner of the player on turn has nothing left that moves."""
        own, others = (any(rank not in protocol.IMMOBILE for rank in referee.ranks(p)) for p in (colour, 1 - colour))
        if others:
            return None
        if not own:
            return Ending("DRAW", colour, NOBODY, "nobody has a piece that moves")
        return Ending("VICTORY", colour, colour, "the other has no piece left that moves")

    def _ask(self, colour: int, text: str) -> str:
        """Tells a player something and waits for its line."""
        begun = time.monotonic()
        try:
            self._tell(colour, text)
            if self._broken[colour]:
                raise Failure(self._broken[colour])
            return self._partners[colour].read_line(self._rules.seconds)
        finally:
            self._slowest[colour] = max(self._slowest[colour], time.monotonic() - begun)

    def _tell(self, colour: int, text: str) -> None:
        """Tells a player something; one that cannot be told loses when it is on turn."""
        try:
            if not self._broken[colour]:
                self._partners[colour].send(text, self._rules.seconds)
        except Failure as failure:
            self._broken[colour] = str(failure)


def _bad_setup(bad: Sequence[str]) -> Ending:
    if all(bad):
        return Ending("BAD_SETUP", BOTH, NOBODY, f"both set-ups: red {bad[RED]}; blue {bad[BLUE]}")
    colour = RED if bad[RED] else BLUE
    return Ending("BAD_SETUP", colour, 1 - colour, bad[colour])
