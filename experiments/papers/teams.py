"""Searches against models in teams with fogged views: two of ours against two rule-based agents.

With radio only those that talk are measured: all others play the same games, move by move, as without.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax

import jaxgames
from experiments.pages import NONE, markdown
from experiments.papers.behaviour import behaviour
from experiments.papers.hearsay import cells_off
from experiments.papers.measured import Measurement, Page, Plan, Runs, weights_of_finished
from experiments.papers.tables import intervals
from jaxgames.abilities import teams_of
from training.jobs import train_expert
from training.jobs.train_expert import TrainConfig
from training.learn.expert_iteration import ExpertConfig
from training.models.policy_value import PolicyValueConfig
from training.play import agents, counting, evaluate

SEED = 2023  # of all games that are counted
OPPONENTS = ("simple", "simple_unbiased")
WEIGHTS = "WEIGHTS"  # in the name of a player: of the network taught by demonstrations
MODEL = "MODEL"  # of the opponents, as which they are modelled
_SEARCH = f"num_simulations=100,model={MODEL}"
_TAUGHT = f"{_SEARCH},weights={WEIGHTS},dirichlet_fraction=0"
_TALKS = "talks=true"
_PROMISED = f"{_SEARCH},weights=none,values=prospects,replies=4"
PLAYERS = {
    "simple": "SimpleAgent",
    "simple_unbiased": "SimpleUnbiasedAgent",
    f"sp_mcts:{_PROMISED}": "SP-MCTS, no network, four replies",
    f"tp_mcts:{_PROMISED}": "TP-MCTS, no network, four replies",
    f"network:weights={WEIGHTS}": "network alone",
    f"sp_mcts:{_TAUGHT}": "SP-MCTS",
    f"tp_mcts:{_TAUGHT}": "TP-MCTS",
    f"sp_mcts:{_PROMISED},{_TALKS}": "SP-MCTS that talks, no network, four replies",
    f"tp_mcts:{_PROMISED},{_TALKS}": "TP-MCTS that talks, no network, four replies",
}
_SHOWN = ExpertConfig(
    source="demonstrations", player="simple_unbiased", samples=500_000, kept=1, epochs=5, batch_size=128, lanes=256, steps=16
)
_WHO = PolicyValueConfig("pommerman", "team", "pommerlearn_centred", "pyramid")
RUN = Runs("teams-shown", "demonstrations", TrainConfig(who=_WHO, learn=_SHOWN, rounds=1, rate_games=200))


@dataclasses.dataclass(frozen=True)
class Pairing:
    """Who meets whom.

    Attributes:
      mode: the variant.
      player: one of `PLAYERS`; both seats of a team are it.
      opponent: both seats of the other team.
    """

    mode: str
    player: str
    opponent: str

    def name(self, games: int) -> str:
        """Of its file."""
        number = list(PLAYERS).index(self.player)
        return f"teams-{self.mode}-{number}_{self.player.partition(':')[0]}-{self.opponent}-games{games}-seed{SEED}"


@dataclasses.dataclass(frozen=True)
class TeamsPlan(Plan):
    """How much to play.

    Attributes:
      games: of each pairing.
      batch: games at a time.
      work: where the network is trained.
      run: how.
    """

    games: int = 100
    batch: int = 64
    work: Path = Path("output/results/teams")
    run: Runs = RUN


def network(plan: TeamsPlan) -> list[Measurement]:
    """The network, taught by games of SimpleUnbiasedAgents in teams."""
    return [Measurement(f"{plan.run.name}-seed0", partial(_train, plan), plan.run)]


def alone(plan: TeamsPlan) -> list[Measurement]:
    """Players without a network."""
    return _pairings(plan, "team", [player for player in PLAYERS if WEIGHTS not in player and _TALKS not in player])


def talking(plan: TeamsPlan) -> list[Measurement]:
    """Players with radio that tell each other where enemies are."""
    return _pairings(plan, "radio", [player for player in PLAYERS if _TALKS in player])


def taught(plan: TeamsPlan) -> list[Measurement]:
    """Players with the network."""
    return _pairings(plan, "team", [player for player in PLAYERS if WEIGHTS in player])


PARTS = {"alone": alone, "talking": talking, "network": network, "taught": taught}


def _pairings(plan: TeamsPlan, mode: str, players: list[str]) -> list[Measurement]:
    met = [Pairing(mode, player, other) for player in players for other in OPPONENTS if player != other]
    return [Measurement(one.name(plan.games), partial(play, plan, one), one) for one in met]


def _folder(plan: TeamsPlan) -> Path:
    return plan.work / plan.run.name


def _train(plan: TeamsPlan) -> dict | None:
    config = replace(plan.run.config, output=str(_folder(plan)), resume=True)
    result = train_expert.run(config)
    if result is None:
        return None
    return {name: result[name] for name in ("samples", "updates", "seconds")} | {"network": dataclasses.asdict(config.who)}


def play(plan: TeamsPlan, pairing: Pairing) -> dict[str, Any]:
    """Plays one pairing and looks at what one of ours does.

    Raises:
      ValueError: the network has not been trained yet.
    """
    spec = pairing.player.replace(MODEL, pairing.opponent)
    if WEIGHTS in spec:
        spec = spec.replace(WEIGHTS, str(weights_of_finished(_folder(plan))))
    game: Any = jaxgames.make("pommerman", pairing.mode)
    ours, theirs = agents.make(spec, game), agents.make(pairing.opponent, game)
    teams = teams_of(game)
    players = [ours if team == teams[0] else theirs for team in teams]
    key, started = jax.random.key(SEED), time.perf_counter()
    games = evaluate.play(game, players, key, plan.games, batch_size=plan.batch, record=plan.games)
    return {
        "pairing": dataclasses.asdict(pairing),
        "released": counting.count(games).as_dict(),
        "mean_length": round(float(games.lengths.mean()), 1),
        "seconds": round(time.perf_counter() - started, 1),
        "behaviour": behaviour(game, key, games),
        "cells_off": cells_off(game, key, games, heeds=_TALKS in spec) if "mcts" in spec else None,  # others believe nothing
    }


def texts(plan: TeamsPlan) -> dict[str, str]:
    """Makes the tables of the page."""
    found = plan.found([*alone(plan), *talking(plan), *taught(plan)])
    return {mode: _table({one: result for one, result in found.items() if one.mode == mode}) for mode in ("team", "radio")}


def _table(found: Mapping[Pairing, dict]) -> str:
    rows = []
    for one, result in found.items():
        count, does = result["released"], result["behaviour"]
        shares = [f"{100 * does['moves'][move]:.1f}" for move in ("stop", "bomb")]
        numbers = [NONE if does[name] is None else f"{does[name]:.2f}" for name in ("cells_in_20", "kills", "mates", "suicides")]
        length, games = f"{result['mean_length']:.0f}", str(count["games"])
        known = NONE if result.get("cells_off") is None else f"{result['cells_off']:.1f}"
        rows.append([PLAYERS[one.player], PLAYERS[one.opponent], *intervals(count), *shares, *numbers, known, length, games])
    head = ["two of", "against two", "win", "draw", "loss", "stop, %", "bomb, %", "cells in 20 steps"]
    return markdown([*head, "kills per game", "killed the mate", "killed itself", "cells off", "mean length", "games"], rows)


PAGE = Page("teams", TeamsPlan, PARTS, ("jaxgames/pommerman", "search", "training"), texts, lambda plan: {})
