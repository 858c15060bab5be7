"""Partners by name: programs, and our own agents behind the same lines."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from training.play.stratego import protocol
from training.play.stratego.games import Partner
from training.play.stratego.player import TextPlayer
from training.play.stratego.programs import Failure, Program, command_of

PREFIX = "program:"


class Entrant(Protocol):
    """Somebody who can be asked to play games, one after the other."""

    @property
    def name(self) -> str:
        """What it is called; one word."""
        ...

    def prepare(self) -> None:
        """Does what takes long, before the first game."""
        ...

    def enter(self) -> Partner:
        """Gives a partner for one game."""
        ...


class OutsideEntrant:
    """A program, started again for each game."""

    def __init__(self, command: str) -> None:
        """Checks the command line.

        Raises:
          ValueError: there is no such program.
        """
        self._command = command_of(command)
        self.name = protocol.word(" ".join(Path(part).name or part for part in self._command))

    def prepare(self) -> None:
        """It is started for each game."""

    def enter(self) -> Partner:
        return Program(self._command, self.name)


class OwnEntrant:
    """An agent of ours in this process, told nothing but the lines of the protocol."""

    def __init__(self, name: str, player: TextPlayer) -> None:
        self.name, self.player = protocol.word(name), player

    def prepare(self) -> None:
        self.player.prepare()

    def enter(self) -> Partner:
        return OwnPartner(self.name, self.player)


class OwnPartner:
    """Our player in one game."""

    def __init__(self, name: str, player: TextPlayer) -> None:
        self.name, self._player = name, player
        self._answers: Iterator[str] = iter(())  # to what it was told last; each may still be waited for
        self._took = 0.0  # by `send`: a part of the first one's time
        self._drawn_before = player.replaced

    @property
    def drawn_moves(self) -> int:
        """Moves of this game that its mind did not choose."""
        return self._player.replaced - self._drawn_before

    def send(self, text: str, seconds: float) -> None:
        """Tells it lines, which it answers by a time limit of its own; earlier answers that nobody has read are left out."""
        del seconds
        begun = time.monotonic()
        answers = [self._player.hear(line) for line in text.split("\n")]
        self._answers = itertools.chain.from_iterable(answers)
        self._took = time.monotonic() - begun

    def read_line(self, seconds: float) -> str:
        """Gives the next line of its answers.

        Raises:
          Failure: it has none, or was late.
        """
        begun = time.monotonic() - self._took
        self._took = 0.0
        line = next(self._answers, None)
        if line is None:
            raise Failure("no answer")
        if time.monotonic() - begun > seconds:
            raise Failure(f"no line within {seconds:g} s")
        return line

    def pause(self) -> None:
        """It thinks only when it is asked."""

    def resume(self) -> None:
        """It thinks only when it is asked."""

    def close(self, line: str = "") -> None:
        """Tells it a last line."""
        if line:
            self._player.hear(line)


def entrant(spec: str, own: Callable[[], OwnEntrant]) -> Entrant:
    """Makes an entrant of its name.

    Args:
      spec: program:COMMAND, or the name and settings of an agent of ours.
      own: makes the agent of ours.

    Raises:
      ValueError: there is no such program or agent.
    """
    if spec.startswith(PREFIX):
        return OutsideEntrant(spec.removeprefix(PREFIX))
    return own()
