"""What players of Pommerman do, and how that changes while a network learns: the behaviour report.

A training run leaves the network after each round; here each plays games, by a search or alone, and is watched. What the samples
of a round were is taken from the run's log. (Source: Weil et al., Figures 3 to 5.)
"""

from __future__ import annotations

import dataclasses
import re
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

import jaxgames
from experiments.pages import NONE, markdown
from experiments.papers.behaviour import behaviour
from experiments.papers.figures import bars_figure, over_rounds_figure, visits_figure
from experiments.papers.measured import Measurement, Page, Plan
from experiments.papers.tables import OUTCOMES, interval
from jaxgames import checks
from jaxgames.abilities import teams_of
from jaxgames.pommerman.constants import Move
from training.play import agents, counting, evaluate
from training.storage.json_files import read_json
from training.storage.logs import LOG_FILE, read_log

NAME = "behaviour"
MOVES = tuple(move.name.lower() for move in Move)
_FIGURES = {name: f"{NAME}_{name}" for name in ("visits", "moves", "rounds", "samples")}
_SHOWN = (("cells_in_20", "different cells in 20 steps"), ("bombs", "bomb moves per game"), ("kills", "kills per game"))


@dataclasses.dataclass(frozen=True)
class BehaviourConfig:
    """Watches players of Pommerman, and the networks of training runs round by round; writes a page with tables and figures.

    What has been watched is not watched again: called again, with other runs too, it adds what is missing.

    Attributes:
      runs: folders of `train-expert` runs, which hold round-000.npz, round-001.npz and so on.
      rounds: of each run, as far as it has them; the last that it has is always one of them.
      player: who plays with a run's network, without weights: a search such as sp_mcts:num_simulations=100, or network.
      agents: other players to compare with.
      opponent: who plays all other seats.
      mode: the variant.
      games: of each player.
      batch: games at a time.
      seed: of boards, seats and play.
      folder: where the page, its figures and the data go.
    """

    runs: tuple[str, ...] = ()
    rounds: tuple[int, ...] = (0, 5, 10, 15, 25, 50)
    player: str = "sp_mcts:num_simulations=100"
    agents: tuple[str, ...] = ("simple_unbiased",)
    opponent: str = "simple_unbiased"
    mode: str = "ffa"
    games: int = 100
    batch: int = 128
    seed: int = 4242
    folder: Path = Path("output/behaviour")

    def __post_init__(self) -> None:
        checks.at_least(1, self, "games", "batch")
        checks.seed(self)
        names = [Path(run).resolve().name for run in self.runs]
        if len(set(names)) < len(names):
            raise ValueError(f"runs={' '.join(self.runs)}: folders must differ in their names")
        if "weights=" in self.player:
            raise ValueError(f"player={self.player!r}: the weights are those of the runs; leave them out")


class Watched(NamedTuple):
    """Whom a result is of.

    Attributes:
      run: name of a training run; "": none.
      round: of it.
      player: as on command lines.
      opponent: as on command lines.
      mode: the variant.
    """

    run: str
    round: int
    player: str
    opponent: str
    mode: str

    @property
    def title(self) -> str:
        return f"{self.run}, round {self.round}" if self.run else self.player


@dataclasses.dataclass(frozen=True)
class BehaviourPlan(Plan):
    """What to watch.

    Attributes:
      config: the command line.
    """

    config: BehaviourConfig = BehaviourConfig()

    def results(self) -> list[dict]:
        """All that has been watched, in order of runs, rounds and players."""
        has = {"watched.run": str, "watched.round": int, "watched.player": str}
        paths = sorted((self.folder / "data").glob(f"{NAME}-*.json"))
        found = [read_json(path, "measurement of behaviour", has, then="remove it, and it is measured again") for path in paths]
        return sorted(found, key=lambda one: (one["watched"]["run"] or "~", one["watched"]["round"], one["watched"]["player"]))


def run(config: BehaviourConfig) -> None:
    """Watches what is missing and writes the page.

    Raises:
      ValueError: there is no such run, player or variant, or weights are others than those watched before.
      OSError: a file cannot be read or written.
    """
    PAGE.make(BehaviourPlan(config.folder, config))


def players(plan: BehaviourPlan) -> list[Measurement]:
    """Networks of the runs, and other players."""
    config = plan.config
    found = []
    for folder in map(Path, config.runs):
        for number in rounds_of(folder, config.rounds):
            weights = folder / f"round-{number:03d}.npz"
            spec = f"{config.player}{',' if ':' in config.player else ':'}weights={weights}"
            who = Watched(folder.resolve().name, number, config.player, config.opponent, config.mode)
            found.append(_watching(plan, who, spec, weights))
    others = (Watched("", 0, spec, config.opponent, config.mode) for spec in config.agents)
    return [*found, *(_watching(plan, who, who.player, None) for who in others)]


def logs(plan: BehaviourPlan) -> list[Measurement]:
    """What the samples of each round were, by the logs of the runs."""
    found = []
    for folder in map(Path, plan.config.runs):
        who = Watched(folder.resolve().name, max(rounds_of(folder, ())), "", "", "")
        found.append(Measurement(f"{NAME}-log-{_slug(who.run)}-{who.round:03d}", partial(logged, folder, who), who))
    return found


def known(plan: BehaviourPlan) -> list[Measurement]:
    """All that is there already, whoever asked for it."""
    return [Measurement(path.stem, lambda: None) for path in sorted((plan.folder / "data").glob(f"{NAME}-*.json"))]


PARTS = {"players": players, "logs": logs, "known": known}


def rounds_of(folder: Path, wanted: Sequence[int]) -> list[int]:
    """Gives the rounds of a run that are wanted and there, and its last.

    Raises:
      ValueError: it has none.
    """
    there = sorted(int(path.stem.removeprefix("round-")) for path in folder.glob("round-[0-9]*.npz"))
    if not there:
        raise ValueError(f"run {folder}: has no round-000.npz and so on; give the folder of a train-expert run")
    return sorted({number for number in wanted if number in there} | {there[-1]})


def _watching(plan: BehaviourPlan, who: Watched, spec: str, weights: Path | None) -> Measurement:
    config = plan.config
    parts = (who.run and f"{_slug(who.run)}-{who.round:03d}", _slug(who.player), _slug(who.opponent), who.mode)
    name = f"{NAME}-{'-'.join(filter(None, parts))}-games{config.games}-seed{config.seed}"
    checksum = None if weights is None else zlib.crc32(weights.read_bytes())
    before = plan.read(name)
    if before and before["weights"] != checksum:
        raise ValueError(f"{weights}: other weights than those of {plan.path(name)}; remove that file, or give another folder")
    return Measurement(name, partial(watch, config, who, spec, checksum), who)


def watch(config: BehaviourConfig, who: Watched, spec: str, checksum: int | None) -> dict[str, Any]:
    """Lets a player play, and looks at what it does."""
    game: Any = jaxgames.make("pommerman", config.mode)
    opponent = agents.make(config.opponent, game)
    player = opponent if spec == config.opponent else agents.make(spec, game)
    key, teams = jax.random.key(config.seed), teams_of(game)
    everybody = [player if team == teams[0] else opponent for team in teams]
    games = evaluate.play(game, everybody, key, config.games, batch_size=config.batch, record=config.games)
    found = behaviour(game, key, games)
    counted = {"released": counting.count(games).as_dict(), "mean_length": round(float(games.lengths.mean()), 1)}
    return {"watched": who._asdict(), "weights": checksum, **found, **counted}


def logged(folder: Path, who: Watched) -> dict[str, Any]:
    """Reads shares of actions among the samples of each round, and how the games they came from ended."""
    rows: dict[int, list[tuple[int, dict]]] = {}
    before = 0
    for record in read_log(folder / LOG_FILE):
        if record.get("action_shares") is not None:
            rows.setdefault(record["round"] + 1, []).append((record["samples"] - before, record))
            before = record["samples"]
    rounds = []
    for number, records in sorted(rows.items()):
        samples = np.array([count for count, _ in records])
        shares = np.average([record["action_shares"] for _, record in records], axis=0, weights=samples)
        games = np.array([record["games"] for _, record in records])
        won = [record["wins"] or 0 for _, record in records]  # null where no game has ended
        wins = float(np.average(won, weights=games)) if games.sum() else None
        moves = {move: round(float(share), 4) for move, share in zip(MOVES, shares, strict=True)}
        rounds.append({"round": number, "samples": int(samples.sum()), "games": int(games.sum()), "wins": wins, "moves": moves})
    return {"watched": who._asdict(), "weights": None, "log": rounds}


def texts(plan: BehaviourPlan) -> dict[str, str]:
    """Makes the tables of the page."""
    results = plan.results()
    tables = {"players": _players_table(results), "logs": _logs_table(results), "change": _change_table(results)}
    watched, logs_found = _kinds(results)
    there = {"visits": watched, "moves": watched, "rounds": _by_run(watched), "samples": logs_found}  # what each is drawn of
    return tables | {f"{name}-figure": f"![{name}]({file}.svg)" if there[name] else "" for name, file in _FIGURES.items()}


def figures(plan: BehaviourPlan) -> dict[str, str]:
    """Draws the figures of the page, if there is anything to draw."""
    results = plan.results()
    watched, logs_found = _kinds(results)
    runs = _by_run(watched)
    drawn = {}
    if watched:
        ends = [one for found in runs.values() for one in (found[0], found[-1])]
        others = [one for one in watched if not one["watched"]["run"]]
        shown = [*ends, *others]
        boards = dict(zip(_titles(shown, lambda who: who.title), shown, strict=True))
        drawn[_FIGURES["visits"]] = visits_figure(boards)
        drawn[_FIGURES["moves"]] = bars_figure(MOVES, {title: list(one["moves"].values()) for title, one in boards.items()})
    if runs:
        lines = {
            label: {run: [(one["watched"]["round"], one[field]) for one in found] for run, found in runs.items()}
            for field, label in _SHOWN
        }
        stops = {run: [(one["watched"]["round"], 100 * one["moves"]["stop"]) for one in found] for run, found in runs.items()}
        drawn[_FIGURES["rounds"]] = over_rounds_figure({"stop, % of moves": stops, **lines})
    if logs_found:
        panels = {
            f"{one['watched']['run']}: samples, %": {
                move: [(row["round"], 100 * row["moves"][move]) for row in one["log"]] for move in MOVES
            }
            for one in _newest(logs_found)
        }
        drawn[_FIGURES["samples"]] = over_rounds_figure(panels)
    return drawn


PAGE = Page(NAME, BehaviourPlan, PARTS, ("jaxgames/pommerman", "search", "training"), texts, figures)


def _kinds(results: list[dict]) -> tuple[list[dict], list[dict]]:
    """Tells what was watched from logs."""
    return [one for one in results if "log" not in one], [one for one in results if "log" in one]


def _by_run(watched: list[dict]) -> dict[str, list[dict]]:
    """Results of each run, and of each way in which its networks were watched."""
    of_runs = [one for one in watched if one["watched"]["run"]]
    runs: dict[str, list[dict]] = {}
    for title, one in zip(_titles(of_runs, lambda who: who.run), of_runs, strict=True):
        runs.setdefault(title, []).append(one)
    return runs


def _titles(results: list[dict], of: Callable[[Watched], str]) -> list[str]:
    """Gives results their titles, with player, variant and opponent where the same title was watched in several ways."""
    everybody = [Watched(**one["watched"]) for one in results]
    ways: dict[str, set[tuple[str, ...]]] = {}
    for who in everybody:
        ways.setdefault(of(who), set()).add((who.player, who.mode, who.opponent))
    return [
        of(who) + (f" ({who.player}, {who.mode}, against {who.opponent})" if len(ways[of(who)]) > 1 else "") for who in everybody
    ]


def _newest(logs_found: list[dict]) -> list[dict]:
    """Of logs of one run, the one that goes on the longest."""
    return list({one["watched"]["run"]: one for one in logs_found}.values())


def _players_table(results: list[dict]) -> str:
    rows = []
    for one in results:
        if "log" in one:
            continue
        who, count = Watched(**one["watched"]), one["released"]
        shares = [f"{100 * one['moves'][move]:.1f}" for move in MOVES]
        numbers = [_number(one[name]) for name in ("cells_in_20", "cells", "bombs", "kills", "suicides")]
        ends = [interval(count[what], count["games"]) for what in OUTCOMES[:2]]
        player = f"{who.player}, {who.mode}, against {who.opponent}"
        rows.append([who.title if who.run else who.player, player, *shares, *numbers, *ends, str(count["games"])])
    numbers = ["cells in 20 steps", "cells per game", "bomb moves per game", "kills per game", "killed by itself"]
    return markdown(["who", "plays", *(f"{move}, %" for move in MOVES), *numbers, "win", "draw", "games"], rows)


def _change_table(results: list[dict]) -> str:
    """From the first round that was watched to the last: does a player become passive?"""
    rows = []
    for run, found in _by_run(_kinds(results)[0]).items():
        first, last = found[0], found[-1]
        if first is last:
            continue
        stops = [f"{100 * one['moves']['stop']:.1f}" for one in (first, last)]
        numbers = [[_number(one[name]) for one in (first, last)] for name, _ in _SHOWN]
        cells = [f"{before} → {after}" for before, after in (stops, *numbers)]
        rows.append([run, f"{first['watched']['round']} → {last['watched']['round']}", *cells])
    return markdown(["run", "rounds", "stop, %", *(label for _, label in _SHOWN)], rows)


def _logs_table(results: list[dict]) -> str:
    rows = []
    for one in _newest(_kinds(results)[1]):
        found = one["log"]
        for row in [*found[: -1 : max(len(found) // 10, 1)], *found[-1:]]:  # the last one always
            shares = [f"{100 * row['moves'][move]:.1f}" for move in MOVES]
            wins = NONE if row["wins"] is None else f"{100 * row['wins']:.1f}"
            rows.append([one["watched"]["run"], str(row["round"]), *shares, wins, str(row["games"]), str(row["samples"])])
    return markdown(["run", "round", *(f"{move}, %" for move in MOVES), "games won, %", "games", "samples"], rows)


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "_", text).strip("_")
