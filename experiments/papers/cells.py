"""One cell of the tables of planners in Pommerman: a player with settings, a number of games, and how they ended."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax

import jaxgames
from experiments.papers.measured import play_timed
from jaxgames import processes
from jaxgames.agent import Agent
from jaxgames.game import Game
from search import presets
from search.planner import Planner, as_agent
from training.play import agents, counting, evaluate


@dataclasses.dataclass(frozen=True)
class Cell:
    """What to play.

    Attributes:
      planner: its short name; "simple": the rule-based agent itself.
      bandit, num_simulations, horizon, table_rows: its settings.
      games: how many.
      seed: of everything.
    """

    planner: str
    bandit: str = "ts"
    num_simulations: int = 100
    horizon: int = 20
    games: int = 200
    seed: int = 2021
    table_rows: int = 2**16

    @property
    def player(self) -> str:
        """The planner with its settings, for names of files."""
        parts = [self.planner]
        if self.planner != "simple":
            parts += [self.bandit] if "bandit" in self.options else []
            parts += [f"n{self.num_simulations}", f"k{self.horizon}"]
        return "-".join(parts + ([f"rows{self.table_rows}"] if self.table_rows != Cell.table_rows else []))

    @property
    def name(self) -> str:
        """The file's name: no two different cells share one."""
        return f"{self.player}-games{self.games}-seed{self.seed}"

    @property
    def options(self) -> dict[str, Any]:
        """Settings of the planner, as far as it takes them."""
        known = presets.planners_of(jaxgames.make("pommerman"))[self.planner].kinds
        return {name: getattr(self, name) for name in ("bandit", "num_simulations", "horizon", "table_rows") if name in known}

    def make(self, game: Game) -> Planner:
        """Makes the planner."""
        return presets.by_name(game, self.planner, **self.options)


def play_counted(
    game: Game, players: Sequence[Agent], seed: int, games: int, batch: int, first: int = 0
) -> tuple[evaluate.Games, dict[str, Any]]:
    """Plays games, and counts those of the first player.

    Args:
      game: what is played.
      players: who plays.
      seed: of all play.
      games: how many.
      batch: at a time.
      first: the number of the first one.

    Returns:
      The games, and for a file: counts by both rules, lengths, moves, and the time of the whole match once all is compiled.
    """
    played, times = play_timed(game, players, seed, games, batch_size=batch, first=first)
    return played, {
        "released": counting.count(played).as_dict(),
        "strict": counting.count(played, strict=True).as_dict(),
        "lengths": played.lengths.tolist(),
        "moves": played.moves.tolist(),
        **times,
        "devices": jax.device_count(),
    }


def play_cell(cell: Cell, batch: int) -> dict:
    """Plays one cell against three rule-based agents.

    Args:
      cell: what.
      batch: games at a time.

    Returns:
      Counts by both rules, wins by seat, lengths, time, and the share of known states by depth.
    """
    game = jaxgames.make("pommerman", "ffa")
    players = [agents.make("simple", game)] * game.num_players
    bytes_per_lane = 0
    if cell.planner != "simple":
        planner = cell.make(game)
        bytes_per_lane = planner.memory_bytes
        players[0] = as_agent(planner, keep_metrics=True)
    games, counts = play_counted(game, players, cell.seed, cell.games, batch)
    result = {
        "cell": dataclasses.asdict(cell),
        **counts,
        "wins_by_seat": counting.count_by_seat(games).tolist(),
        "draws": int((games.outcomes == 0).all(1).sum()),
        "memory_bytes_per_game": bytes_per_lane,
    }
    if cell.planner != "simple":
        result["metrics"] = {name: processes.fetch(value).sum(0).tolist() for name, value in games.memories[0][1].items()}
    return result
