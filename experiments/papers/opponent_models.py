"""Searches against modelled opponents on Pommerman: players without networks, with and without the full state; and the models."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from functools import partial

import jax

import jaxgames
from experiments.pages import markdown
from experiments.papers.measured import Measurement, Page, Plan, play_timed
from experiments.papers.tables import cost_per_move, intervals, rates
from training.play import agents, counting

OPPONENTS = {"simple": "SimpleAgents", "simple_unbiased": "SimpleUnbiasedAgents"}
SEED = 1016  # of what is reported; settings were chosen by games of other seeds


@dataclasses.dataclass(frozen=True)
class Contest:
    """One player against three equal ones.

    Attributes:
      player: an agent by name, with its settings.
      opponent: a name of `OPPONENTS`.
      games: how many.
    """

    player: str
    opponent: str
    games: int

    @property
    def name(self) -> str:
        """Of its file."""
        spelt = re.sub(r"[^a-z0-9_.]+", "-", self.player.replace("num_simulations=", "n").replace("weights=none,", ""))
        return f"models-{spelt}-{self.opponent}-games{self.games}-seed{SEED}"


_ORACLE = "weights=none,root=true,num_simulations=256,values=prospects"
STRONGEST = f"sp_mcts:{_ORACLE}"
WITHOUT_MODELS = ("fdts", "oep", "fdts:leaf_parallelism=4,values=prospects", "oep:values=prospects")
ORACLES = (
    (STRONGEST, "simple"),
    (STRONGEST, "simple_unbiased"),
    (f"{STRONGEST},model=simple_unbiased", "simple_unbiased"),
    (f"{STRONGEST},replies=4", "simple"),
    (f"{STRONGEST},model=simple_unbiased,replies=4", "simple_unbiased"),
    (f"tp_mcts:{_ORACLE},replies=4", "simple"),
    (f"tp_mcts:{_ORACLE},model=simple_unbiased,replies=4", "simple_unbiased"),
    ("modelled_fdts:root=true,leaf_parallelism=4,values=prospects", "simple"),
    ("modelled_fdts:root=true,leaf_parallelism=4,values=prospects,model=simple_unbiased", "simple_unbiased"),
    ("modelled_fdts:root=true,leaf_parallelism=4,values=prospects,rival=closest", "simple"),
    ("sp_mcts:weights=none,root=true,num_simulations=256,values=heuristic", "simple"),
    *((without_models, opponent) for without_models in WITHOUT_MODELS for opponent in ("simple", "simple_unbiased")),
)
FAIR = (
    ("sp_mcts:weights=none,num_simulations=256,values=prospects", "simple"),
    ("sp_mcts:weights=none,num_simulations=256,values=prospects", "simple_unbiased"),
    ("sp_mcts:weights=none,num_simulations=256,values=prospects,model=simple_unbiased", "simple_unbiased"),
    ("sp_mcts:weights=none,num_simulations=256,values=prospects,replies=4,dirichlet_fraction=0.25", "simple"),
    ("tp_mcts:weights=none,num_simulations=256,values=prospects,replies=4", "simple"),
    ("modelled_fdts:leaf_parallelism=4,values=prospects", "simple"),
    ("modelled_fdts:leaf_parallelism=4,values=prospects,model=simple_unbiased", "simple_unbiased"),
    ("modelled_mcts:leaf_parallelism=4,values=prospects", "simple"),
    ("modelled_fdts:leaf_parallelism=4,values=prospects,rival=dangerous", "simple"),
)
FAIR_UNBIASED = "sp_mcts:weights=none,num_simulations={},values=prospects,model=simple_unbiased"
BEST = (  # what the official agent plays, against each opponent with its own model
    (FAIR_UNBIASED.format(256) + ",replies=4", "simple_unbiased"),
    ("sp_mcts:weights=none,num_simulations=256,values=prospects,replies=4", "simple"),
)
REPLIES = (
    *BEST,
    *((FAIR_UNBIASED.format(256) + f",replies={replies}", "simple_unbiased") for replies in (2, 8)),
    *((FAIR_UNBIASED.format(simulations) + ",replies=4", "simple_unbiased") for simulations in (64, 1024)),
    (FAIR_UNBIASED.format(256).replace("sp_", "tp_") + ",replies=4", "simple_unbiased"),
    ("sp_mcts:num_simulations=256,model=simple_unbiased,replies=4", "simple_unbiased"),
    ("tp_mcts:num_simulations=256,model=simple_unbiased,replies=4", "simple_unbiased"),
)
HAND_VALUED = "sp_mcts:weights=none,num_simulations=256,values=prospects{}"
WITH_MODEL = "sp_mcts:num_simulations=50,model={}"  # guided by the network that comes with the package
MODELS = (
    *((HAND_VALUED.format(model), "simple") for model in (",model=still", "", ",model=simple_unbiased")),
    *(
        (WITH_MODEL.format(model), "simple")
        for model in ("still", "simple", "simple_unbiased", "network,switch_after=3,then=simple", "network")
    ),
)


# Simulations of which a move takes about as long as one of FDTS with 100 simulations of 20 steps, by who is the model.
_EQUAL = {
    "modelled_fdts:leaf_parallelism=4,values=prospects": {"simple": 60, "simple_unbiased": 40},
    "modelled_mcts:leaf_parallelism=4,values=prospects": {"simple": 60, "simple_unbiased": 40},
    "sp_mcts:weights=none,values=prospects,replies=4": {"simple": 400, "simple_unbiased": 400},
    "tp_mcts:weights=none,values=prospects,replies=4": {"simple": 300, "simple_unbiased": 300},
    "sp_mcts:replies=4": {"simple": 48, "simple_unbiased": 48},
    "tp_mcts:replies=4": {"simple": 48, "simple_unbiased": 48},
}
_SELF_PLAY = ("fdts:num_simulations=100", "oep:num_simulations=240")
EQUAL_TIME = (
    *((player, opponent) for player in _SELF_PLAY for opponent in OPPONENTS),
    *(
        (f"{player},num_simulations={count},model={opponent}{root}", opponent)
        for root in (",root=true", "")
        for player, counts in _EQUAL.items()
        for opponent, count in counts.items()
    ),
)


@dataclasses.dataclass(frozen=True)
class OpponentModelsPlan(Plan):
    """How much to play.

    Attributes:
      games: of every cell; four times as many of the best players.
      batch: games at a time.
    """

    games: int = 100
    batch: int = 64

    def contests(self, pairs: Iterable[tuple[str, str]]) -> list[Measurement]:
        """Pairs of player and opponent, which are the labels."""
        cells = [Contest(*pair, self.games * (4 if pair in BEST else 1)) for pair in pairs]
        return [Measurement(cell.name, partial(play, cell, self.batch), (cell.player, cell.opponent)) for cell in cells]


def play(contest: Contest, batch: int) -> dict:
    """Plays a contest: counts by both rules, and CPU time after everything was compiled."""
    game = jaxgames.make("pommerman", "ffa")
    player, opponent = agents.make(contest.player, game), agents.make(contest.opponent, game)
    players = [player, *[opponent] * (game.num_players - 1)]
    games, times = play_timed(game, players, SEED, contest.games, batch_size=batch)
    return {
        "contest": {**dataclasses.asdict(contest), "seed": SEED, "batch": batch},
        "released": counting.count(games).as_dict(),
        "strict": counting.count(games, strict=True).as_dict(),
        "lengths": games.lengths.tolist(),
        "moves": games.moves.tolist(),
        **times,
        "devices": jax.device_count(),
    }


def oracles(plan: OpponentModelsPlan) -> list[Measurement]:
    """Players that are shown the true state."""
    return plan.contests(ORACLES)


def fair(plan: OpponentModelsPlan) -> list[Measurement]:
    """Players that plan from what their seat has seen."""
    return plan.contests(FAIR)


def replies(plan: OpponentModelsPlan) -> list[Measurement]:
    """Fair players whose models, which draw, are asked for several replies."""
    return plan.contests(REPLIES)


def models(plan: OpponentModelsPlan) -> list[Measurement]:
    """One search, guided by a network, with different models."""
    return plan.contests(MODELS)


def equal_time(plan: OpponentModelsPlan) -> list[Measurement]:
    """The players with and without the full state, each with the right model, at equal time per move."""
    return plan.contests(EQUAL_TIME)


PARTS = {"equal_time": equal_time, "oracles": oracles, "fair": fair, "replies": replies, "models": models}


def texts(plan: OpponentModelsPlan) -> dict[str, str]:
    """Makes the tables of the page."""
    return {name: table(plan.found(part(plan))) for name, part in PARTS.items()}


def table(results: dict[tuple[str, str], dict]) -> str:
    """Makes the table of contests, labelled (player, opponent)."""
    rows = []
    for (player, opponent), result in results.items():
        count = result["released"]
        shown = [f"`{player}`", OPPONENTS[opponent], *intervals(count), rates(result["strict"]), str(count["games"])]
        rows.append([*shown, cost_per_move(result)])
    head = ["player", "against three", "win", "draw", "loss", "strict counting", "games", "CPU ms per move"]
    return markdown(head, rows)


PAGE = Page("opponent_models", OpponentModelsPlan, PARTS, ("jaxgames/pommerman", "search"), texts, lambda plan: {})
