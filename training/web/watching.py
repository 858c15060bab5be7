"""Games of a match on the page while they are played."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from jaxgames.game import Game
from training.play.evaluate import Watched
from training.web.cast import Cast
from training.web.desk import Desk
from training.web.saved import SavedGame
from training.web.server import serving
from training.web.session import Session

SHOWN = 16  # of the first games


@contextlib.contextmanager
def watched(game: Game, mode: str, specs: Sequence[str], seed: int, port: int) -> Iterator[tuple[Callable[[Watched], None], str]]:
    """Serves a page that shows games while the context lasts.

    Args:
      game: what is played.
      mode: the name of its variant.
      specs: the agents, as on command lines.
      seed: of the root key.
      port: of the page.

    Returns:
      What `evaluate.play` takes as `watch`, and the address of the page.

    Raises:
      ValueError, OSError: as `serving`.
    """
    desk = Desk(None, seed)
    with serving(desk, "127.0.0.1", port) as address:
        yield Watching(desk, game, mode, specs, seed), address


class Watching:
    """Puts games onto a desk as they come."""

    def __init__(self, desk: Desk, game: Game, mode: str, specs: Sequence[str], seed: int) -> None:
        self._desk, self._game, self._mode, self._specs, self._seed = desk, game, mode, tuple(specs), seed
        self._sessions: dict[int, Session] = {}

    def __call__(self, games: Watched) -> None:
        """Shows the games so far."""
        for number in range(min(SHOWN, len(games.seats))):
            if games.seats[number, 0] < 0:
                continue
            if number not in self._sessions:
                self._begin(number, games.seats[number])
            played = games.actions[number]
            self._sessions[number].feed(played[: int((played[:, 0] >= 0).sum())].tolist())

    def _begin(self, number: int, seats: np.ndarray) -> None:
        first = saved_game(self._game, self._mode, self._specs, self._seed, number, seats)
        cast = Cast(self._game, self._mode, first.agents, elsewhere=True)
        self._sessions[number] = Session(cast, self._seed, saved=first, live=True)
        self._desk.show_live(number, self._sessions[number])


def saved_game(game: Game, mode: str, specs: Sequence[str], seed: int, number: int, seats: np.ndarray) -> SavedGame:
    """Gives the beginning of a game of a match, in which agent `k` sits in `seats[k]`, as a file holds it."""
    by_seat = [spec for _, spec in sorted(zip(seats.tolist(), specs, strict=True))]
    return SavedGame(game.name, mode, seed, number, number, tuple(by_seat))
