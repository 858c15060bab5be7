"""Benchmarks of searches in which models play the others: SP-MCTS and TP-MCTS on Pommerman."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
from jax import Array

from experiments.benchmark.case import Case, Program
from experiments.benchmark.harness import throughput
from experiments.benchmark.pommerman import MID_GAME, MODE, ffa, play_and_plan
from experiments.benchmark.pommerman_starts import POOL_SIZE, Pool
from search.modelled import POMMERLEARN, Models, modelled_puct
from search.planner import Planner
from training.models import policy_value
from training.models.policy_value import PolicyValueConfig

BATCH = 64
NETWORK = "compact"


def drawn_search(models: Models, num_simulations: int) -> Planner:
    """Makes a search whose network has drawn parameters: what it computes costs the same as with learnt ones."""
    game = ffa()
    who = policy_value.make(PolicyValueConfig(game.name, MODE, "pommerlearn", NETWORK))
    params = who.init(jax.random.key(0))
    settings = dataclasses.replace(POMMERLEARN, num_simulations=num_simulations)
    planner = modelled_puct(game, who.evaluate, models, settings, outputs=who.encoder.outputs)

    def plan(_: Any, keys: Array, *rest: Any) -> Any:
        return planner.plan(params, keys, *rest)

    return planner._replace(plan=plan)


def search_match(
    batch: int, models: Models, num_simulations: int, *, warm_up: int = MID_GAME, calls: int = 1, pool_size: int = POOL_SIZE
) -> Program:
    """Makes the program of a search against three SimpleAgents; games go on with a move of the search each."""
    game, planner = ffa(), drawn_search(models, num_simulations)
    program = play_and_plan(game, planner, batch, warm_up=warm_up, calls=calls, pool=Pool(game.config, pool_size))
    sizes = {"num_simulations": num_simulations, "network": NETWORK, **dataclasses.asdict(models)}
    return dataclasses.replace(program, settings={**program.settings, **sizes})


def _case(name: str, summary: str, models: Models, num_simulations: int, peer: str, reach: str) -> Case:
    make = functools.partial(search_match, models=models, num_simulations=num_simulations, warm_up=20)
    return Case(f"pommerman/{name}", "plans", summary, throughput(make), batch=BATCH, peers=(peer,), reach=reach)


CASES: tuple[Case, ...] = (
    _case(
        "sp_mcts",
        "SP-MCTS, 1000 simulations, rule-based models, small network, one move of one game",
        Models(root="visible"),
        1000,
        "PommerLearn 34 ms on a GPU server*",
        "60 ms, aim 25 ms",
    ),
    _case(
        "tp_mcts",
        "TP-MCTS, the same",
        Models(root="visible", rival="closest"),
        1000,
        "PommerLearn 35 ms on a GPU server*",
        "70 ms, aim 30 ms",
    ),
    _case(
        "sp_mcts_network",
        "SP-MCTS, 250 simulations, the network as the model of all others",
        Models(root="visible", model="network"),
        250,
        "PommerLearn 165 to 316 ms*",
        "60 ms, aim 25 ms",
    ),
)
