"""Partners by name: programs, and our own agents behind the same lines."""

from __future__ import annotations

import time
from collections.abc import Callable
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
        self._answers: list[str] = []
        self._took = 0.0
        self._drawn_before = player.replaced

    @property
    def drawn_moves(self) -> int:
        """Moves of this game that its mind did not choose."""
        return self._player.replaced - self._drawn_before

    def send(self, text: str, seconds: float) -> None:
        """Tells it lines; it answers at once, by a time limit of its own."""
        del seconds
        begun = time.monotonic()
        for line in text.split("\n"):
            self._answers += self._player.hear(line)
        self._took = time.monotonic() - begun

    def read_line(self, seconds: float) -> str:
        """Gives the next line of its answers.

        Raises:
          Failure: it has none, or was late.
        """
        if not self._answers:
            raise Failure("no answer")
        if self._took > seconds:
            raise Failure(f"no line within {seconds:g} s")
        return self._answers.pop(0)

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
