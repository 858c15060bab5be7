"""The follower's results (Table VIII of Boney et al. and what it rests on).

Runs live in a work folder and are resumed there; what the page needs of a finished run is kept as one JSON file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from experiments.pages import NONE, markdown
from experiments.papers.behaviour import behaviour
from experiments.papers.figures import visits_figure
from experiments.papers.measured import Measurement, Page, Plan, Runs, by_seed, of_groups, trained, weights_of_finished
from experiments.papers.tables import OUTCOMES, intervals, rate_of_seeds, rates
from jaxgames.agent import Agent
from jaxgames.pommerman import bots
from training.jobs import train_follower
from training.jobs.curves import learning_figure
from training.jobs.train_follower import OracleConfig, TrainConfig
from training.learn.dagger import DaggerConfig
from training.models import policy_value
from training.models.policy_value import PolicyValue, PolicyValueConfig
from training.play import agents, counting, evaluate
from training.storage.logs import measured, read_log
from training.storage.weights import load_weights

PAPER = {"DAgger": "23.3 / 22.5 / 54.2", "cloning": "17.4 / 19.2 / 63.4"}
WATCHED = 100  # games in which moves and cells are counted
REFERENCE_GAMES = 200
ORACLE = "fdts:table_rows=16384"
WORK = Path("output/results/follower")
_FIRST_OURS = str(WORK / "ours0" / "best.npz")  # which the page trains first; see `_check_guide`
GUIDED = f"{ORACLE},guide={_FIRST_OURS}"
MODELLING = "sp_mcts:root=true,weights=none,values=prospects,num_simulations=64,replies=4"
REFERENCES = (  # name of the file, title, agent
    ("simple", "SimpleAgent", "simple"),
    ("oracle", "oracle", ORACLE),
    ("guided", "oracle, guided by the policy of ours", GUIDED),
    ("guided_4", "the same, policy weighed four times", f"{GUIDED},prior_weight=16"),
    ("modelling", "SP-MCTS, which takes the others for SimpleAgents", MODELLING),
)
_LAST = 40  # iterations over which the agreement at the end is averaged


def _network(encoder: str = "paper", network: str = "paper") -> PolicyValueConfig:
    return PolicyValueConfig("pommerman", "ffa", encoder, network)


_LEARN = DaggerConfig(updates_per_step=0.5, averaging=0.999)
BASE = TrainConfig(learn=_LEARN, evaluate_every=100, checkpoint_every=100)
_OURS = replace(
    BASE,
    follower=_network("extended"),
    learn=replace(_LEARN, symmetries=True, advantage_weight=0.01),
    evaluate_every=50,
)
_AGGREGATED = replace(_OURS.learn, buffer_size=400_000, final_rate=0.05)
_GUIDE = OracleConfig(guide=_FIRST_OURS)
_MODELS = OracleConfig(planner=MODELLING)
_AMONG = replace(
    _OURS.learn,
    opponent="simple",
    target="values",
    temperature=0.025,
    advantage_weight=0.005,
    batch_size=128,
    updates_per_step=0.0625,
    final_rate=0.1,
    buffer_size=400_000,
    stop_rule="off",
    stop_when_quiet=0,
)
_CHOICES = replace(_AMONG, target="first_best", advantage_weight=0.05)
_MODELLED = replace(
    _OURS, follower=_network("extended_centred", "pyramid"), learn=_AMONG, oracle=_MODELS, evaluate_every=100, evaluate_games=200
)


def _longer(times: int) -> TrainConfig:
    """The same games, with more gradient steps."""
    return replace(_MODELLED, learn=replace(_AMONG, updates_per_step=times * _AMONG.updates_per_step))


GROUPS = (
    Runs("dagger", "DAgger", BASE, 3),
    Runs("cloning", "cloning", replace(BASE, learn=replace(_LEARN, method="cloning")), 3),
    Runs("plain", "DAgger, last parameters", replace(BASE, learn=replace(_LEARN, averaging=0.0))),
    Runs("zero", "DAgger, plane 9 empty", replace(BASE, follower=_network("paper_zero_life"))),
    Runs("extended", "DAgger, extended planes", replace(BASE, follower=_network("extended"))),
    Runs("ours", "ours", _OURS, 3),
    Runs("ours_cloning", "ours, cloning", replace(_OURS, learn=replace(_OURS.learn, method="cloning")), 3),
    Runs("aggregated", "ours, larger buffer and falling rate", replace(_OURS, learn=_AGGREGATED)),
    Runs("guided", "ours, second round", replace(_OURS, oracle=_GUIDE)),
    Runs("modelled", "ours, among SimpleAgents, taught by SP-MCTS", _MODELLED),
    Runs("modelled_4x", "the same, four times as many gradient steps", _longer(4)),
    Runs("modelled_12x", "the same, twelve times as many", _longer(12)),
    Runs("choices", "taught by its choices alone, quiet views count more", replace(_MODELLED, learn=_CHOICES)),
)


@dataclasses.dataclass(frozen=True)
class FollowerPlan(Plan):
    """What to train.

    Attributes:
      work: where runs are kept while they train.
      groups: the runs.
    """

    work: Path = WORK
    groups: Sequence[Runs] = GROUPS


def runs(plan: FollowerPlan) -> list[Measurement]:
    """Runs by group and seed, the first seed of every group before the second of any; but for those of `guided`."""
    return _runs(plan, [group for group in plan.groups if not group.config.oracle.guide])


def guided(plan: FollowerPlan) -> list[Measurement]:
    """Runs whose oracle is guided by what the first run of "ours" has learnt, which must be over."""
    return _runs(plan, [group for group in plan.groups if group.config.oracle.guide])


def _runs(plan: FollowerPlan, groups: Sequence[Runs]) -> list[Measurement]:
    return by_seed(groups, "follower-{name}-seed{seed}", partial(_train, plan))


def references(plan: FollowerPlan) -> list[Measurement]:
    """How the oracle, oracles that a follower guides, and a rule-based agent play."""
    del plan
    return [Measurement(f"follower-reference-{name}", partial(_reference, spec), title) for name, title, spec in REFERENCES]


PARTS = {"runs": runs, "guided": guided, "references": references}


def _train(plan: FollowerPlan, group: Runs, seed: int) -> dict | None:
    """Trains, or goes on with, a run. Returns what the page needs of it; None if asked to stop."""
    config = replace(group.config, seed=seed, output=str(plan.work / f"{group.name}{seed}"), resume=True)
    if not (Path(config.output) / "result.json").exists():
        _check_guide(config.oracle.guide)
    result = trained(train_follower.run, config)
    return None if result is None else result | collect(config)


def collect(config: TrainConfig) -> dict[str, Any]:
    """Puts together what the page needs of a finished run beside its result, and watches its best follower play."""
    folder = Path(config.output)
    log = read_log(folder / "log.jsonl")
    who = policy_value.make(config.follower)
    params, _ = load_weights(folder / "best.npz", jax.eval_shape(who.init, jax.random.key(0)), who.meta)
    fields = ("episodes", "steps", "cross_entropy", "agreement", "entropy")
    rated = [record for record in log if record.get("wins") is not None]
    last = log[-_LAST:]
    return {
        "behaviour": watch(who, who.agent(params)),
        "agreement": float(np.mean(measured(last, "agreement"))),
        "entropy": float(np.mean(measured(last, "entropy"))),
        "curve": [{name: record[name] for name in fields} for record in log[:: max(len(log) // 150, 1)]],
        "rated": [{name: record[name] for name in ("episodes", "wins", "draws", "losses")} for record in rated],
    }


def watch(who: PolicyValue, agent: Agent, num_games: int = WATCHED) -> dict[str, Any]:
    """Counts moves, cells and results of an agent against three rule-based ones, on boards of its own."""
    key = jax.random.key(4242)
    simple = bots.simple_agent(who.game)
    games = evaluate.play(who.game, [agent, simple, simple, simple], key, num_games, batch_size=WATCHED, record=WATCHED)
    return behaviour(who.game, key, games) | {"released": counting.count(games).as_dict()}


def _check_guide(spec: str) -> None:
    """Raises ValueError where the first run of "ours" guides and is not over."""
    if _FIRST_OURS in spec:
        weights_of_finished(Path(_FIRST_OURS).parent)


def _reference(spec: str) -> dict[str, Any]:
    _check_guide(spec)
    who = policy_value.make(_network())
    return watch(who, agents.make(spec, who.game), REFERENCE_GAMES)


def texts(plan: FollowerPlan) -> dict[str, str]:
    """Makes the tables of the page."""
    results, measured = _by_group(plan), plan.found(references(plan))
    return {
        "followers": _table(results),
        "seeds": _seeds(results),
        "references": _references_table(measured),
        "behaviour": _behaviour_table(_behaviours(results) | measured),
    }


def figures(plan: FollowerPlan) -> dict[str, str]:
    """Draws the figures of the page, if there is anything to draw."""
    results, measured = _by_group(plan), plan.found(references(plan))
    curves = [(group.title, [_as_log(one) for one in found]) for group, found in results.items()]
    behaviours = _behaviours(results) | measured
    drawn = {"follower_learning": learning_figure(curves)} if curves else {}
    return drawn | ({"follower_visits": visits_figure(behaviours)} if behaviours else {})


PAGE = Page("follower", FollowerPlan, PARTS, ("jaxgames/pommerman", "search", "training"), texts, figures)


def _by_group(plan: FollowerPlan) -> dict[Runs, list[dict]]:
    """Finished runs by group, in order of their seeds."""
    return of_groups(plan.found([*runs(plan), *guided(plan)]), plan.groups)


def _behaviours(results: dict[Runs, list[dict]]) -> dict[str, dict]:
    """How the first seeds play, by title."""
    return {group.title: found[0]["behaviour"] for group, found in results.items()}


def _table(results: dict[Runs, list[dict]]) -> str:
    rows = []
    for group, found in results.items():
        strict = {name: sum(one["strict"][name] for one in found) for name in _COUNTS}
        paper, games = PAPER.get(group.title, NONE), str(sum(one["released"]["games"] for one in found))
        shares = (rate_of_seeds([one["released"] for one in found], what) for what in OUTCOMES)
        rows.append([group.title, *shares, rates(strict), paper, str(len(found)), games])
    return markdown(["follower", "win", "draw", "loss", "strict counting", "paper", "seeds", "games"], rows)


def _seeds(results: dict[Runs, list[dict]]) -> str:
    rows = []
    for group, found in results.items():
        by_seed = "; ".join(rates(one["released"]) for one in found)
        steps, updates, seconds, agreement = (np.mean([one[name] for one in found]) for name in _MEANS)
        rows.append([group.title, by_seed, f"{steps:.0f}", f"{updates:.0f}", f"{seconds / 60:.1f}", f"{100 * agreement:.1f}"])
    head = ["follower", "by seed: win / draw / loss", "steps", "gradient steps", "minutes", "agreement with the oracle, %"]
    return markdown(head, rows)


def _references_table(measured: dict[str, dict]) -> str:
    counts = {title: found["released"] for title, found in measured.items()}
    rows = [[title, *intervals(count), str(count["games"])] for title, count in counts.items()]
    return markdown(["player", "win", "draw", "loss", "games"], rows)


def _behaviour_table(behaviours: dict[str, dict]) -> str:
    rows = []
    for title, found in behaviours.items():
        shares = (f"{100 * share:.1f}" for share in found["moves"].values())
        rows.append([title, *shares, f"{found['bombs']:.1f}", f"{found['cells']:.1f}"])
    moves = next(iter(behaviours.values()))["moves"] if behaviours else ()
    return markdown(["agent", *(f"{move}, %" for move in moves), "bombs per game", "cells visited per game"], rows)


_COUNTS = ("games", *OUTCOMES)
_MEANS = ("steps", "updates", "seconds", "agreement")


def _as_log(result: dict) -> list[dict]:
    """The curve of a run with the ratings put in, as the figure wants it."""
    rated = [{**record, "cross_entropy": None, "agreement": None} for record in result["rated"]]
    return sorted([*result["curve"], *rated], key=lambda record: record["episodes"])
