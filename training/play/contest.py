"""Plays any agents against each other and tells how each of them did."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Mapping
from pathlib import Path

import jax
import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import jaxgames
from jaxgames import checks
from training.play import agents, counting, evaluate, memory
from training.play.match import RECORDED, draw_game
from training.storage.files import output_folder, write_together


@dataclasses.dataclass(frozen=True)
class ContestConfig:
    """Plays agents against each other in games to their end; who sits where is drawn for each game.

    Attributes:
      agents: one per player, such as follower, follower:FILE, simple, random, fdts:bandit=ucb,num_simulations=50; none: follower
        and three of simple in Pommerman, pc_pimc and random in Hex, oep and greedy_action in Hero Academy.
      game: name of the game.
      mode: its variant; "": ffa in Pommerman, adh-5 in Hex, standard in Hero Academy.
      games: games to play.
      seed: of boards, seats and all play.
      batch: games at a time, over all devices.
      output: folder for result.json and game.svg; "": none.
    """

    agents: tuple[str, ...] = ()
    game: str = "pommerman"
    mode: str = ""
    games: int = 400
    seed: int = 0
    batch: int = 128
    output: str = ""

    def __post_init__(self) -> None:
        standard = agents.defaults_of(self.game)
        object.__setattr__(self, "mode", self.mode or standard.mode)
        object.__setattr__(self, "agents", self.agents or standard.contest)
        checks.at_least(1, self, "games", "batch")
        checks.seed(self)


def run(config: ContestConfig, console: Console | None = None) -> dict:
    """Plays, shows a table, and writes result.json and game.svg if there is an output folder.

    Returns:
      What result.json holds.

    Raises:
      ValueError: for agents or settings that are not possible.
      OSError: weights cannot be read, or the output folder not written, or it is in use.
    """
    with output_folder(config.output) as folder:
        return _play(config, folder, console or Console())


def _play(config: ContestConfig, folder: Path | None, console: Console) -> dict:
    game = jaxgames.make(config.game, config.mode)
    if len(config.agents) != game.num_players:
        raise ValueError(f"{len(config.agents)} agents: {config.game} {config.mode} has {game.num_players} players")
    made = {spec: agents.make(spec, game) for spec in config.agents}
    players = [made[spec] for spec in config.agents]
    record = min(config.games, RECORDED) if config.output else 0
    results = (evaluate.bytes_of_results(game, config.games, record), f"fewer games than {config.games}")
    memory.check(game, players, config.batch, games=config.games, other=results)
    key, started = jax.random.key(config.seed), time.perf_counter()
    with console.status("playing") as status:
        games = evaluate.play(
            game,
            players,
            key,
            config.games,
            batch_size=config.batch,
            record=record,
            report=lambda progress: status.update(f"{progress.games} of {config.games} games"),
        )
    result = {"settings": dataclasses.asdict(config), "seconds": time.perf_counter() - started}
    result |= {"mean_length": float(games.lengths.mean()), "agents": summarize(config.agents, games)}
    console.print(_table(result, {spec: agents.shown(agent, game) for spec, agent in made.items()}))
    if folder:
        number, svg = draw_game(game, key, games, list(config.agents))
        result["picture_of_game"] = number
        write_together({folder / "game.svg": svg, folder / "result.json": json.dumps(result, indent=2) + "\n"})
        console.print(f"results in {folder}", markup=False, highlight=False)
    return result


def summarize(names: tuple[str, ...], games: evaluate.Games) -> list[dict]:
    """Counts per agent, in the order given; agents of the same name are counted together.

    Returns:
      Dictionaries with name, `released` and `strict`.
    """
    result = []
    for name in dict.fromkeys(names):
        columns = [index for index, other in enumerate(names) if other == name]
        counts = {}
        for rule in ("released", "strict"):
            parts = [counting.count(games, agent, strict=rule == "strict") for agent in columns]
            sums = np.array([(part.games, part.wins, part.draws, part.losses) for part in parts]).sum(0)
            counts[rule] = counting.Count(*(int(number) for number in sums)).as_dict()
        result.append({"name": name, **counts})
    return result


def _table(result: dict, shown: Mapping[str, str]) -> Table:
    title = f"mean length {result['mean_length']:.0f} steps"
    table = Table("agent", "counting", "win %", "draw %", "loss %", "games", title=title)
    differ = any(agent["released"] != agent["strict"] for agent in result["agents"])
    for agent in result["agents"]:
        for rule in ("released", "strict") if differ else ("released",):
            counts, cells = agent[rule], []
            for what in ("win", "draw", "loss"):
                low, high = counts[f"{what}_interval"]
                number = counts[{"win": "wins", "draw": "draws", "loss": "losses"}[what]]
                cells.append(f"{100 * number / counts['games']:.1f} ({100 * low:.1f} - {100 * high:.1f})")
            name = escape(shown[agent["name"]]) if rule == "released" else ""
            table.add_row(name, rule if differ else "", *cells, str(counts["games"]))
    return table
