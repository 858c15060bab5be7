"""The follower's results (Table VIII of Boney et al. and what lies behind it): trained, evaluated, and made into a page.

Runs live in a work folder and are resumed there; what the page needs of a finished run is kept as one JSON file.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from experiments.papers.behaviour import behaviour
from experiments.papers.tables import OUTCOMES, intervals, markdown, rates
from jaxgames.agent import Agent
from jaxgames.pommerman import bots
from training.jobs import train_follower
from training.jobs.curves import learning_figure
from training.jobs.figures import visits_figure
from training.jobs.train_follower import OracleConfig, TrainConfig
from training.learn.dagger import DaggerConfig
from training.models import policy_value
from training.models.policy_value import PolicyValue, PolicyValueConfig
from training.play import agents, counting, evaluate
from training.storage.files import write_atomically
from training.storage.logs import read_log
from training.storage.weights import load_weights

PAPER = {"DAgger": (23.3, 22.5, 54.2), "cloning": (17.4, 19.2, 63.4)}
WATCHED = 100  # games in which moves and cells are counted
REFERENCE_GAMES = 200
ORACLE_ROWS = 2**14
_LAST = 40  # iterations over which the agreement at the end is averaged


def _network(encoder: str) -> PolicyValueConfig:
    return PolicyValueConfig("pommerman", "ffa", encoder, "paper")


_LEARN = DaggerConfig(updates_per_step=0.5, averaging=0.999)
BASE = TrainConfig(learn=_LEARN, evaluate_every=100, checkpoint_every=100)
_OURS = replace(
    BASE,
    follower=_network("extended"),
    learn=replace(_LEARN, symmetries=True, advantage_weight=0.01),
    evaluate_every=50,
)
_AGGREGATED = replace(_OURS.learn, buffer_size=400_000, final_rate=0.05)
_GUIDE = OracleConfig(guide="training/trained/pommerman_follower.npz")


@dataclasses.dataclass(frozen=True)
class Group:
    """Runs that differ in the seed alone.

    Attributes:
      name: for files.
      title: for the table.
      config: of all of them.
      seeds: how many.
    """

    name: str
    title: str
    config: TrainConfig
    seeds: int = 1


GROUPS = (
    Group("dagger", "DAgger", BASE, 3),
    Group("cloning", "cloning", replace(BASE, learn=replace(_LEARN, method="cloning")), 3),
    Group("plain", "DAgger, last parameters", replace(BASE, learn=replace(_LEARN, averaging=0.0))),
    Group("zero", "DAgger, plane 9 empty", replace(BASE, follower=_network("paper_zero_life"))),
    Group("extended", "DAgger, extended planes", replace(BASE, follower=_network("extended"))),
    Group("ours", "ours", _OURS, 3),
    Group("ours_cloning", "ours, cloning", replace(_OURS, learn=replace(_OURS.learn, method="cloning")), 3),
    Group("aggregated", "ours, larger buffer and falling rate", replace(_OURS, learn=_AGGREGATED)),
    Group("guided", "ours, second round", replace(_OURS, oracle=_GUIDE)),
)


@dataclasses.dataclass(frozen=True)
class Plan:
    """What to do.

    Attributes:
      folder: where the page, figures and data go.
      work: where runs are kept while they train.
      groups: the runs.
    """

    folder: Path
    work: Path = Path("output/results/follower")
    groups: Sequence[Group] = GROUPS

    def runs(self) -> list[tuple[Group, int]]:
        """All runs, the first seed of every group before the second of any."""
        most = max(group.seeds for group in self.groups)
        return [(group, seed) for seed in range(most) for group in self.groups if seed < group.seeds]

    def data(self, group: Group, seed: int) -> Path:
        """The file of a finished run."""
        return self.folder / "data" / f"follower-{group.name}-seed{seed}.json"


def make(plan: Plan, report: Callable[[str], None] = print) -> None:
    """Trains what is missing, and writes the page after each run.

    Args:
      plan: what to do.
      report: told about each finished run.
    """
    for group, seed in plan.runs():
        path = plan.data(group, seed)
        if not path.exists():
            output = plan.work / f"{group.name}{seed}"
            config = replace(group.config, seed=seed, output=str(output), resume=True)
            if not (output / "result.json").exists() and train_follower.run(config) is None:
                return  # asked to stop
            write_atomically(path, json.dumps(collect(config), indent=1) + "\n")
            report(f"{group.name}, seed {seed}: {rates(json.loads(path.read_text())['released'])}")
        write_page(plan)
    references(plan.folder)
    write_page(plan)


def collect(config: TrainConfig) -> dict[str, Any]:
    """Puts together what the page needs of a finished run, and watches its best follower play."""
    folder = Path(config.output)
    train_follower.check_settings(config, folder / "settings.json")
    log = read_log(folder / "log.jsonl")
    who = policy_value.make(config.follower)
    params, _ = load_weights(folder / "best.npz", jax.eval_shape(who.init, jax.random.key(0)), who.meta)
    fields = ("episodes", "steps", "cross_entropy", "agreement", "entropy")
    rated = [record for record in log if "wins" in record]
    last = log[-_LAST:]
    result = json.loads((folder / "result.json").read_text())
    result["settings"] = {name: value for name, value in result["settings"].items() if name not in ("output", "resume")}
    return result | {
        "behaviour": watch(who, who.agent(params)),
        "agreement": float(np.mean([record["agreement"] for record in last])),
        "entropy": float(np.mean([record["entropy"] for record in last])),
        "curve": [{name: record[name] for name in fields} for record in log[:: max(len(log) // 150, 1)]],
        "rated": [{name: record[name] for name in ("episodes", "wins", "draws", "losses")} for record in rated],
    }


def watch(who: PolicyValue, agent: Agent, num_games: int = WATCHED) -> dict[str, Any]:
    """Counts moves, cells and results of an agent against three rule-based ones, on boards of its own."""
    key = jax.random.key(4242)
    simple = bots.simple_agent(who.game)
    games = evaluate.play(who.game, [agent, simple, simple, simple], key, num_games, batch_size=WATCHED, record=WATCHED)
    return behaviour(who.game, key, games) | {"released": counting.count(games).as_dict()}


def references(folder: Path, measure: bool = True) -> dict[str, dict]:
    """The same of the oracle, of oracles that a follower guides, and of a rule-based agent.

    Each is measured once and kept; what is missing is left out if it is not to be measured now.
    """
    who = policy_value.make(_network("paper"))
    guided = f"fdts:table_rows={ORACLE_ROWS},guide={agents.BUNDLED}"
    makers: dict[str, Callable[[], Agent]] = {
        "SimpleAgent": lambda: bots.simple_agent(who.game),
        "oracle": lambda: agents.make(f"fdts:table_rows={ORACLE_ROWS}", who.game),
        "oracle, guided by the policy of ours": lambda: agents.make(guided, who.game),
        "the same, policy weighed four times": lambda: agents.make(f"{guided},prior_weight=16", who.game),
    }
    path = folder / "data" / "follower-reference.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    for title, maker in makers.items():
        if measure and title not in found:
            found[title] = watch(who, maker(), REFERENCE_GAMES)
            write_atomically(path, json.dumps(found, indent=1) + "\n")
    return found


def write_page(plan: Plan) -> None:
    """Writes docs/results/follower.md and its figures from the runs that are finished."""
    results: dict[Group, list[dict]] = {}
    for group in plan.groups:
        paths = [plan.data(group, seed) for seed in range(group.seeds)]
        if found := [json.loads(path.read_text()) for path in paths if path.exists()]:
            results[group] = found
    curves = [(group.title, [_as_log(one) for one in found]) for group, found in results.items()]
    write_atomically(plan.folder / "follower_learning.svg", learning_figure(curves))
    behaviours = {group.title: found[0]["behaviour"] for group, found in results.items()}
    measured = references(plan.folder, measure=False)
    behaviours |= measured
    write_atomically(plan.folder / "follower_visits.svg", visits_figure(behaviours))
    parts = [_HEAD, _table(results), _seeds(results), "## Learning curves\n\n![learning curves](follower_learning.svg)"]
    parts += [_references_table(measured), _behaviour_table(behaviours), "![visited cells](follower_visits.svg)"]
    write_atomically(plan.folder / "follower.md", "\n\n".join(part for part in parts if part) + "\n")


_HEAD = """# Imitating the oracle in Pommerman

Made by `python scripts/results.py follower`. 500 episodes each; the oracle is FDTS + TS with 100 simulations of depth 20 and
2^14 rows per episode; 64 episodes at once, one gradient step of 32 samples for every second step of an episode (the paper:
every step, one episode at a time), Adam with rate 0.001, and but for the row "last parameters" a running mean of the
parameters (decay 0.999 per gradient step). "Ours" is DAgger with extended planes, turned and mirrored boards, and samples
weighed by how much the oracle's choice matters. The parameters reported were chosen by the most wins in 100 games on boards
of their own, after every 100 episodes ("ours": every 50); the games reported are 400 others, against three SimpleAgents,
seats drawn at random. Rates in per cent with 95 % Wilson intervals over all seeds together. The paper's DAgger won 23.3 %
after 500 episodes; the aim here was 40 %."""


_ABOUT_TIME = """With the paper's planes DAgger comes to somewhat less than in the paper, and so does cloning; the distance
between them is nearly the paper's. Extended planes, symmetries and weights make the difference to "ours". A second round,
whose labels come from an oracle that the policy of "ours" guides, adds nothing: that oracle is no stronger (below).

Seed 1 of "ours" had two cores of an AMD EPYC to itself and took 18.0 minutes; other runs shared their cores with other work, so
their minutes say little."""


def _table(results: dict[Group, list[dict]]) -> str:
    rows = []
    for group, found in results.items():
        pooled = {rule: {k: sum(r[rule][k] for r in found) for k in _COUNTS} for rule in ("released", "strict")}
        paper = " / ".join(f"{x:.1f}" for x in PAPER[group.title]) if group.title in PAPER else "–"
        games = pooled["released"]["games"]
        rows.append([group.title, *intervals(pooled["released"]), rates(pooled["strict"]), paper, str(len(found)), str(games)])
    head = ["follower", "win", "draw", "loss", "strict counting", "paper", "seeds", "games"]
    return "## Table VIII\n\n" + markdown(head, rows)


def _seeds(results: dict[Group, list[dict]]) -> str:
    rows = []
    for group, found in results.items():
        by_seed = "; ".join(rates(one["released"]) for one in found)
        steps, updates, seconds, agreement = (np.mean([one[name] for one in found]) for name in _MEANS)
        rows.append([group.title, by_seed, f"{steps:.0f}", f"{updates:.0f}", f"{seconds / 60:.1f}", f"{100 * agreement:.1f}"])
    head = ["follower", "by seed: win / draw / loss", "steps", "gradient steps", "minutes", "agreement with the oracle, %"]
    return f"{_ABOUT_TIME}\n\n{markdown(head, rows)}"


def _references_table(measured: dict[str, dict]) -> str:
    if not measured:
        return ""
    rows = []
    for title, found in measured.items():
        count = found["released"]
        rows.append([title, *intervals(count), str(count["games"])])
    table = markdown(["player", "win", "draw", "loss", "games"], rows)
    return f"## Those who label, and whether a follower helps them\n\nAgainst three SimpleAgents, as above.\n\n{table}"


def _behaviour_table(behaviours: dict[str, dict]) -> str:
    games = f"In {WATCHED} games ({REFERENCE_GAMES} of those who label) against three SimpleAgents, while alive; first seeds."
    first = next(iter(behaviours.values()))
    head = ["agent", *(f"{move}, %" for move in first["moves"]), "bombs per game", "cells visited per game"]
    rows = []
    for title, found in behaviours.items():
        moves = (f"{100 * share:.1f}" for share in found["moves"].values())
        rows.append([title, *moves, f"{found['bombs']:.1f}", f"{found['cells']:.1f}"])
    return f"## What they do\n\n{games}\n\n{markdown(head, rows)}"


_COUNTS = ("games", *OUTCOMES)
_MEANS = ("steps", "updates", "seconds", "agreement")


def _as_log(result: dict) -> list[dict]:
    """The curve of a run with the ratings put in, as the figure wants it."""
    rated = [{**record, "cross_entropy": None, "agreement": None} for record in result["rated"]]
    return sorted([*result["curve"], *rated], key=lambda record: record["episodes"])
