"""Everybody against everybody (Table XI): random play, Q-MC, a bot, the follower and the oracle; the learners are trained here.

Runs live in a work folder and are resumed there; a match that needs a player who has not learnt yet lets it learn first.
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

from experiments.pages import NONE, markdown
from experiments.papers.clash_matches import MIXED, TRAINED, ClashPlan, ends_table, match, oracle
from experiments.papers.measured import Measurement, trained
from experiments.papers.tables import interval
from training.jobs import train_follower, train_q
from training.jobs.train_follower import OracleConfig
from training.learn.dagger import DaggerConfig
from training.learn.monte_carlo import MonteCarloConfig
from training.models.policy_value import PolicyValueConfig

# The strongest is expected last.
TITLES = {"random": "random", "q": "Q-MC", "counter": "bot", "follower": "follower", "oracle": "oracle"}
LEARNERS = ("follower", "q")
PAIRS = tuple(itertools.combinations(TITLES, 2))[::-1]
OTHER_PAIRS = tuple(pair for pair in PAIRS if not {"random", "q"} & set(pair))
DECKS = {"trained": TRAINED, "mixed": MIXED}


def config_of(plan: ClashPlan, name: str) -> Any:
    """Gives the job by which a player learns."""
    sizes, learning = plan.sizes, plan.sizes.learning
    who = PolicyValueConfig("clash", sizes.with_decks(), network=learning.network)
    shared: dict[str, Any] = {"output": str(plan.work / f"{sizes.name}-{name}"), "resume": True, "final_games": 0}
    if name == "q":
        play = MonteCarloConfig(lanes=learning.lanes, learning_rate=3e-4 if plan.paper else 2e-3)
        every = max(learning.samples // 4, 1)
        return train_q.TrainConfig(who=who, learn=play, samples=learning.samples, evaluate_every=every, **shared)
    imitate = DaggerConfig(
        lanes=learning.lanes,
        episodes=learning.episodes,
        updates_per_step=learning.rate,
        learning_rate=3e-4 if plan.paper else 1e-3,
        target="values",
        stop_rule="off",
        stop_when_quiet=0,
    )
    teacher = OracleConfig(planner=oracle(sizes, labels=True))
    every = max(learning.episodes // 4, 1)
    return train_follower.TrainConfig(follower=who, learn=imitate, oracle=teacher, evaluate_every=every, **shared)


def learned(plan: ClashPlan, name: str) -> dict | None:
    """Lets a player learn, or go on with it. Returns what its run tells; None if asked to stop."""
    return trained(_JOBS[name].run, config_of(plan, name))


_JOBS: dict[str, Any] = {"follower": train_follower, "q": train_q}


def players(plan: ClashPlan) -> list[Measurement]:
    """The follower and Q-MC learn."""
    return [Measurement(f"clash-{plan.sizes.name}-learns-{name}", partial(learned, plan, name), name) for name in LEARNERS]


def round_robin(plan: ClashPlan) -> list[Measurement]:
    """Every pair, with the decks of training; the bot, the follower and the oracle with decks of which neither knows more."""
    return [_met(plan, "trained", pair) for pair in PAIRS] + [_met(plan, "mixed", pair) for pair in OTHER_PAIRS]


def _met(plan: ClashPlan, decks: str, pair: tuple[str, str]) -> Measurement:
    first, second = pair[::-1]
    games = plan.games if "oracle" in pair else plan.quick_games
    name = f"clash-{plan.sizes.name}-{decks}-{first}-{second}-games{games}"
    return Measurement(name, partial(_play, plan, decks, (first, second), games), (decks, first, second))


def _play(plan: ClashPlan, decks: str, pair: tuple[str, str], games: int) -> dict | None:
    """Plays a pair; None if asked to stop while one of them learns."""
    for name in pair:
        if name in LEARNERS and learned(plan, name) is None:
            return None
    first, second = (_spec(plan, name) for name in pair)
    return match(first, second, plan.sizes.with_decks(DECKS[decks]), games, plan.batch)


def _spec(plan: ClashPlan, name: str) -> str:
    """A player as command lines call it."""
    if name == "q":
        return f"network:{config_of(plan, name).output}"
    if name == "follower":
        return f"follower:{config_of(plan, name).output}/final.npz"
    return oracle(plan.sizes) if name == "oracle" else name


def texts(plan: ClashPlan) -> dict[str, str]:
    """Makes the tables."""
    found = plan.found(round_robin(plan))
    return {
        "table11": _cross_table(found),
        "mixed": _pairs([(label, one) for label, one in found.items() if label[0] == "mixed"]),
        "pairs": _pairs([(label, one) for label, one in found.items() if label[0] == "trained"]),
        "learning": _learning(plan.found(players(plan))),
    }


def _cross_table(found: dict[tuple[str, str, str], dict]) -> str:
    """Shares of battles that the row's player won against the column's."""

    def cell(row: str, column: str) -> str:
        for (first, second), won in (((row, column), "wins"), ((column, row), "losses")):
            if one := found.get(("trained", first, second)):
                return interval(one[won], one["games"])
        return NONE

    rows = [[TITLES[row], *(cell(row, column) if row != column else "" for column in TITLES)] for row in TITLES]
    return markdown(["battles won, %, by", *(f"against {title}" for title in TITLES.values())], rows)


def _pairs(found: list[tuple[tuple[str, str, str], dict]]) -> str:
    lines = ((f"{TITLES[first]} – {TITLES[second]}", one) for (_, first, second), one in found)
    return ends_table(["pair"], lines, "points of the first, %")


def _learning(found: dict[str, dict]) -> str:
    rows = [
        [
            TITLES[name],
            f"{one['episodes']} battles, {one['steps']} steps" if "episodes" in one else f"{one['samples']} actions",
            str(one["updates"]),
            f"{one['seconds'] / 60:.1f}",
        ]
        for name, one in found.items()
    ]
    return markdown(["learner", "learnt from", "gradient steps", "minutes"], rows)
