"""What games on a page share: a game with its compiled functions, its board, and those who can play it."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import jaxgames
from jaxgames.abilities import teams_of
from jaxgames.game import Game
from jaxgames.page import Board, board_of
from training.play import agents, memory
from training.web.saved import YOU
from training.web.stepper import Mind, stepper_of


class Cast:
    """A game, and who sits in it. Sessions share it: what it compiles is compiled once.

    Attributes:
      game, mode: the game and the name of its variant.
      specs: by seat, agents as on command lines, or `YOU`.
      stepper: plays its steps.
      board: draws it, with these players.
      person: the seat of the person; None: agents alone play.
    """

    def __init__(self, game: Game, mode: str, specs: Sequence[str], *, elsewhere: bool = False) -> None:
        """Makes the agents, or none where they play elsewhere and are only named.

        Raises:
          ValueError: there are not as many as players, or one of them cannot be made.
        """
        if len(specs) != game.num_players:
            raise ValueError(f"{len(specs)} players: {game.name} {mode} has {game.num_players}")
        if list(specs).count(YOU) > 1:
            raise ValueError(f"agents={' '.join(specs)}: there is one person at the page, so {YOU} may stand there once")
        self.game, self.mode, self.specs = game, mode, tuple(specs)
        self.person = specs.index(YOU) if YOU in specs else None
        self.stepper = stepper_of(game)
        named = () if elsewhere else dict.fromkeys(spec for spec in specs if spec != YOU)
        made = {spec: agents.make(spec, game) for spec in named}
        memory.check(game, [made[spec] for spec in specs if spec in made], 1, what="the game")
        self._minds = {spec: Mind(game, agent) for spec, agent in made.items()}
        self.board: Board = board_of(game, [self.name_of(seat) for seat in range(game.num_players)])

    def name_of(self, seat: int) -> str:
        """Gives the name of the player in a seat, marked where it sees what others do not."""
        spec = self.specs[seat]
        return agents.shown(self._minds[spec].agent, self.game) if spec in self._minds else spec

    def mind(self, seat: int) -> Mind:
        """Gives the agent of a seat."""
        return self._minds[self.specs[seat]]


class Casts:
    """All casts of a server, each made once.

    Attributes:
      own: the one with which it was started.
    """

    def __init__(self, own: Cast) -> None:
        self.own = own
        self._made = {(own.game, own.mode, own.specs): own}
        self._making = threading.Lock()

    def of(self, game: Game, mode: str, specs: Sequence[str]) -> Cast:
        """Gives the cast of a saved game.

        Raises:
          ValueError: an agent cannot be made, or reads a file that this server has not been told of.
        """
        for spec in specs:
            known = spec in self.own.specs and (game == self.own.game or not agents.runs_a_file(spec))
            if spec != YOU and not known and agents.reads_a_file(spec, game):
                raise ValueError(f"agent={spec!r}: reads a file; start the server with it to play on against it")
        with self._making:
            key = (game, mode, tuple(specs))
            if key not in self._made:
                while len(self._made) > 4:  # the first is the server's own
                    del self._made[list(self._made)[1]]
                self._made[key] = Cast(game, mode, specs)
            return self._made[key]


def seated(game: Game, given: Sequence[str], seat: int) -> tuple[str, ...]:
    """Says who sits where.

    Args:
      game: the game.
      given: agents as on the command line: one per player, among them `YOU` or not, or one fewer, or none, or one for all others.
      seat: the person's, where it is not among them.

    Raises:
      ValueError: there are not as many, or there is no such seat.
    """
    players, usual = game.num_players, jaxgames.registration(game.name).defaults
    if not 0 <= seat < players:
        raise ValueError(f"seat={seat}: must be in 0..{players - 1}")
    if len(given) == players:
        return tuple(given)
    teams = teams_of(game)
    if not given:
        mates = [usual.planner if teams[each] == teams[seat] else usual.opponent for each in range(players) if each != seat]
        return (*mates[:seat], YOU, *mates[seat:])
    others = tuple(given) * (players - 1) if len(given) == 1 else tuple(given)
    if len(others) != players - 1 or YOU in others:
        raise ValueError(f"agents={' '.join(given)}: must be {players}, or {players - 1} beside you, or one for all others")
    return (*others[:seat], YOU, *others[seat:])
