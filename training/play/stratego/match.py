"""Matches between two entrants: games with both colours from the same starts, counted, written down and shown."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import platform
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import jaxgames
from jaxgames.stratego import Stratego
from jaxgames.stratego.state import State
from training.play.counting import Count, in_percent
from training.play.stratego import games, records, referee
from training.play.stratego.games import BLUE, RED, Played, Rules
from training.play.stratego.partners import Entrant, OwnEntrant
from training.storage.files import write_atomically, write_together
from training.storage.owner import JOB, RESULT

NAME = "stratego-bot"  # of the job


@dataclasses.dataclass(frozen=True)
class Match:
    """What is played.

    Attributes:
      entrants: two, who may be one and the same.
      game: the variant.
      mode: its name.
      rules: how games are managed.
      start: gives the position of start 0, 1, ...; None: players set up their own pieces.
      count: how many games; each start is played twice, with both colours.
    """

    entrants: Sequence[Entrant]
    game: Stratego
    mode: str
    rules: Rules
    start: Callable[[int], State] | None
    count: int


@dataclasses.dataclass(frozen=True)
class Finished:
    """A game of a match.

    Attributes:
      number: from 0 on.
      red: which of the two entrants had red.
      played: the game.
      start: the position it began with; None if no board was set up.
    """

    number: int
    red: int
    played: Played
    start: State | None

    def outcome(self, entrant: int) -> int:
        """Gives 1, 0 or -1 for an entrant (0 or 1)."""
        winner = self.played.ending.winner
        if winner not in (RED, BLUE):
            return 0
        return 1 if (winner == RED) == (self.red == entrant) else -1


def play(match: Match) -> Iterator[Finished]:
    """Plays a match, game by game. Programs are ended after each game, and when the match is left early."""
    for number in range(match.count):
        red = number % 2
        start = None if match.start is None else match.start(number // 2)
        began: list[State] = []

        def begin(setups: Sequence[Sequence[str]], start: State | None = start, began: list[State] = began) -> games.Referee:
            state = referee.of_setups(match.game.config, setups) if start is None else start
            began.append(state)
            return referee.GameReferee(match.game.config, state)

        with contextlib.ExitStack() as stack:
            partners: list[games.Partner] = []
            last = ""

            def close(partner: games.Partner) -> None:
                partner.close(last)  # noqa: B023

            for entrant in (match.entrants[red], match.entrants[1 - red]):
                partners.append(entrant.enter())
                stack.callback(close, partners[-1])
            played = games.play(partners, begin, match.rules)
            last = f"QUIT {played.result}"
        yield Finished(number, red, played, began[0] if began else None)


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """Turns SIGTERM and SIGHUP into an interrupt while the context lasts, so that programs are ended before this one is.

    Signals that are ignored, or that somebody else handles, such as the command line, are left alone.
    """

    def stop(number: int, frame: object) -> None:
        del number, frame
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # no other may set handlers
        yield
        return
    ours = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def run(match: Match, settings: Mapping[str, Any], folder: Path | None, console: Console) -> dict[str, Any]:
    """Plays a match, shows it, and writes its games and result.

    Args:
      match: what is played.
      settings: for the result's file.
      folder: where the files go; None: nowhere.
      console: where results are shown.

    Returns:
      What `result.json` holds.
    """
    finished: list[Finished] = []
    result: dict[str, Any] = {}
    with stoppable():
        for game in play(match):
            finished.append(game)
            console.print(
                f"game {game.number + 1}: {game.played.result} ({game.played.ending.reason})", markup=False, soft_wrap=True
            )
            result = {JOB: NAME, "settings": dict(settings), **summary(match, finished)}
            if folder is not None:
                _write(match, game, result, folder)
    console.print(_table(result))
    for entrant in match.entrants:
        if isinstance(entrant, OwnEntrant) and entrant.player.replaced:
            player = entrant.player
            told = (
                f"{entrant.name}: {player.replaced} of {player.moves} moves were drawn at random, as it had no legal one in time"
            )
            console.print(told, markup=False, soft_wrap=True)
    if folder is not None:
        console.print(f"results in {folder / RESULT}, games in {folder / 'games'}", markup=False, soft_wrap=True)
    return result


def _write(match: Match, game: Finished, result: Mapping[str, Any], folder: Path) -> None:
    """Writes a game and what is known after it; the first game of a match takes the place of those of an earlier one."""
    for path in (folder / "games").glob("*") if game.number == 0 else ():
        if path.stem.isdecimal() and path.suffix in (".json", ".log", ".svg"):  # .svg: drawn of a record
            path.unlink()
    name = f"{game.number + 1:04}"
    found = records.record(game.played, match.game.config, match.mode, game.start)
    texts = {f"{name}.json": json.dumps(found, indent=1) + "\n", f"{name}.log": game.played.log()}
    write_together({folder / "games" / file: text for file, text in texts.items()})
    write_atomically(folder / RESULT, json.dumps(result, indent=2) + "\n")


def summary(match: Match, finished: Sequence[Finished]) -> dict[str, Any]:
    """Counts games by entrant.

    Returns:
      For a JSON file: of each entrant wins, draws and losses with 95 % intervals, the same by colour, how its games were lost,
      its slowest line in seconds, and how many of its moves were drawn at random, as our agent had no legal one in time (None for
      a program); the mean number of turns, and the result line of each game.
    """
    players = []
    for entrant in range(2):
        mine = [RED if game.red == entrant else BLUE for game in finished]
        outcomes = [game.outcome(entrant) for game in finished]
        by_colour = {
            name: _count([outcome for outcome, colour in zip(outcomes, mine, strict=True) if colour == wanted])
            for name, wanted in (("red", RED), ("blue", BLUE))
        }
        lost = Counter(game.played.ending.word for game, outcome in zip(finished, outcomes, strict=True) if outcome < 0)
        slowest = max((game.played.slowest[colour] for game, colour in zip(finished, mine, strict=True)), default=0.0)
        of_games = [game.played.drawn[colour] for game, colour in zip(finished, mine, strict=True)]
        drawn = [count for count in of_games if count is not None]
        players.append(
            {
                "name": match.entrants[entrant].name,
                **_count(outcomes),
                **by_colour,
                "lost_by": dict(lost),
                "slowest": round(slowest, 4),
                "drawn_moves": sum(drawn) if len(drawn) == len(finished) else None,
            }
        )
    return {
        "players": players,
        "mean_turns": float(np.mean([game.played.turn for game in finished])),
        "results": [game.played.result for game in finished],
        "device": f"{jax.device_count()} x {jax.devices()[0].device_kind}",
        "versions": {"python": platform.python_version(), "jax": jax.__version__, "jaxgames": jaxgames.__version__},
    }


def _count(outcomes: Sequence[int]) -> dict[str, Any]:
    counts = Counter(outcomes)
    return Count(len(outcomes), counts[1], counts[0], counts[-1]).as_dict()


def _table(result: Mapping[str, Any]) -> Table:
    """Makes the table for the terminal."""
    table = Table("player", "win %", "draw %", "loss %", "games", "as red", "as blue", "slowest line")
    table.columns[0].overflow = "fold"
    for player in result["players"]:
        colours = [f"{part['wins']}-{part['draws']}-{part['losses']}" for part in (player["red"], player["blue"])]
        table.add_row(escape(player["name"]), *in_percent(player), str(player["games"]), *colours, f"{player['slowest']:.2f} s")
    return table
