"""Round robins between agents in games of two: points, intervals, Elo, and a cross-table."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import Array
from rich.console import Console
from rich.table import Table

import jaxgames
from jaxgames import checks
from jaxgames.agent import Agent
from jaxgames.game import Game
from training import agents, elo, evaluate
from training.counting import wilson
from training.files import check_folder, write_together

BATCH = 128


@dataclasses.dataclass(frozen=True)
class CrossTable:
    """Who made how many points against whom.

    Attributes:
      names: N players.
      points: float [N, N], of the row's player against the column's; a draw is half a point for each.
      games: int [N, N].
      first_points: float [N, N], those of them made in the first seat.
    """

    names: tuple[str, ...]
    points: np.ndarray
    games: np.ndarray
    first_points: np.ndarray

    @property
    def ratings(self) -> np.ndarray:
        """Elo by maximum likelihood; the first player's is 0."""
        return elo.fit(self.points, self.games)

    def as_dict(self) -> dict[str, Any]:
        """Gives everything for a JSON file."""
        errors = elo.standard_errors(self.points, self.games)
        return {
            "names": list(self.names),
            "points": self.points.tolist(),
            "first_points": self.first_points.tolist(),
            "games": self.games.tolist(),
            "elo": [round(x, 1) for x in self.ratings.tolist()],
            "elo_standard_error": [round(x, 1) for x in errors.tolist()],
        }

    def shown(self) -> Table:
        """Makes a table for the terminal, the best first; shares of points in per cent."""
        order = np.argsort(-self.ratings, kind="stable")
        errors = elo.standard_errors(self.points, self.games)
        columns = [str(number + 1) for number in range(len(order))]
        table = Table("player", "Elo", "points %", *columns, title="points in % against")
        for place, index in enumerate(order):
            total, played = self.points[index].sum(), int(self.games[index].sum())
            low, high = wilson(round(total), played)
            cells = [f"{place + 1} {self.names[index]}", f"{self.ratings[index]:+.0f} ± {1.96 * errors[index]:.0f}"]
            cells.append(f"{100 * total / max(played, 1):.1f} ({100 * low:.0f} - {100 * high:.0f})")
            for other in order:
                met = self.games[index, other]
                cells.append(f"{100 * self.points[index, other] / met:.0f}" if met else "–")
            table.add_row(*cells)
        return table


@dataclasses.dataclass(frozen=True)
class TournamentConfig:
    """Lets agents of a game of two meet, each pair equally often in both seats, and rates them.

    Attributes:
      agents: two or more, such as random, path, network:weights=FILE, pc_pimc:weights=FILE,num_worlds=6; the Elo of the first is
        0.
      game: name of the game.
      mode: its variant.
      games: of each pair; even.
      seed: of all play.
      batch: games at a time, over all devices.
      output: folder for result.json and cross_table.svg; "": none.
    """

    agents: tuple[str, ...] = ("random", "path", "pimc:num_simulations=100", "pc_pimc:num_simulations=100")
    game: str = "hex"
    mode: str = "adh-5"
    games: int = 100
    seed: int = 0
    batch: int = BATCH
    output: str = ""

    def __post_init__(self) -> None:
        if len(set(self.agents)) != len(self.agents) or len(self.agents) < 2:
            raise ValueError(f"agents={' '.join(self.agents)}: must be two or more, each named once")
        if self.games < 2 or self.games % 2:
            raise ValueError(f"games={self.games}: must be even and at least 2, because seats are changed half-way")
        checks.at_least(1, self, "batch")
        checks.seed(self)


def run(config: TournamentConfig, console: Console | None = None) -> dict:
    """Plays, shows the cross-table, and writes result.json and cross_table.svg if there is an output folder.

    Returns:
      What result.json holds.

    Raises:
      ValueError: for agents or settings that are not possible.
      OSError: weights cannot be read, or the output folder not written.
    """
    console = console or Console()
    game = jaxgames.make(config.game, config.mode)
    players = {spec: agents.make(spec, game) for spec in config.agents}
    folder = Path(config.output) if config.output else None
    if folder:
        check_folder(folder)
    started = time.perf_counter()
    with console.status("playing"):
        table = round_robin(
            game,
            players,
            jax.random.key(config.seed),
            config.games,
            batch_size=config.batch,
            report=lambda line: console.print(line, highlight=False),
        )
    result = {"settings": dataclasses.asdict(config), "seconds": time.perf_counter() - started, **table.as_dict()}
    console.print(table.shown())
    if folder:
        written: dict[str | os.PathLike[str], str | bytes] = {folder / "result.json": json.dumps(result, indent=2) + "\n"}
        try:
            from training.results.figures import cross_table_figure

            written[folder / "cross_table.svg"] = cross_table_figure(table)
        except ImportError:
            console.print("no picture: pip install jaxgames[viz]", markup=False, highlight=False)
        write_together(written)
        console.print(f"results in {folder}", highlight=False)
    return result


def play_pair(game: Game, pair: Sequence[Agent], key: Array, num_games: int, *, batch_size: int = BATCH) -> np.ndarray:
    """Plays games between two agents, half of them with seats changed, from the same start states.

    Args:
      game: of two players.
      pair: the agents.
      key: a random key.
      num_games: even.
      batch_size: games at a time.

    Returns:
      float [num_games], points of the first agent (1, 0.5 or 0); the first half in the first seat.

    Raises:
      ValueError: the game has not two players, or the number of games is not possible.
    """
    if game.num_players != 2:
        raise ValueError(f"game={game.name!r}: has {game.num_players} players; a round robin needs a game of two")
    if num_games < 2 or num_games % 2:
        raise ValueError(f"num_games={num_games}: must be even and at least 2, because seats are changed half-way")
    played = evaluate.play(game, pair, key, num_games, batch_size=batch_size, seating="rotated")
    points = (1 + played.outcomes[:, 0]) / 2
    return np.concatenate([points[played.seats[:, 0] == seat] for seat in (0, 1)])


def round_robin(
    game: Game,
    players: Mapping[str, Agent],
    key: Array,
    num_games: int,
    *,
    batch_size: int = BATCH,
    report: Callable[[str], None] | None = None,
) -> CrossTable:
    """Lets everybody meet everybody.

    Args:
      game: of two players.
      players: by name; the first one's Elo is 0.
      key: a random key; pair (i, j) uses `fold_in(fold_in(key, i), j)`.
      num_games: of each pair; even.
      batch_size: games at a time.
      report: told about each pair.

    Raises:
      ValueError: fewer than two players, or what `play_pair` refuses.
    """
    names = tuple(players)
    number = len(names)
    if number < 2:
        raise ValueError(f"{number} players: a tournament needs at least two")
    points, first_points = np.zeros((number, number)), np.zeros((number, number))
    games = np.zeros((number, number), int)
    for row, column in itertools.combinations(range(number), 2):
        pair = (players[names[row]], players[names[column]])
        pair_key = jax.random.fold_in(jax.random.fold_in(key, row), column)
        result = play_pair(game, pair, pair_key, num_games, batch_size=batch_size)
        half = num_games // 2
        points[row, column], points[column, row] = result.sum(), num_games - result.sum()
        first_points[row, column], first_points[column, row] = result[:half].sum(), half - result[half:].sum()
        games[row, column] = games[column, row] = num_games
        if report:
            report(f"{names[row]} - {names[column]}: {result.sum():g} - {num_games - result.sum():g}")
    return CrossTable(names, points, games, first_points)
