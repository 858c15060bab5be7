"""The results of the planners of turns in Hero Academy (Justesen et al., Table II and Fig. 5): what is played for their page.

Every measurement is kept as one JSON file and made only once.
"""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from experiments.papers.cells import Measurements, make_page
from jaxgames import random_bits
from jaxgames.agent import Agent
from jaxgames.hero_academy import HeroAcademy
from search.turns import evolution, greedy
from search.turns import mcts as turn_mcts
from search.turns.game import moves_of
from search.turns.population import generations_for
from training.play import hero_agents
from training.play.tournament import play_pair

SEED = 2016  # of everything
SOURCES = ("jaxgames/hero_academy", "search")
PLAYERS = {
    "random": "random",
    "greedy_action": "Greedy Action",
    "greedy_turn": "Greedy Turn",
    "mcts": "MCTS",
    "mcts_non_exploring": "non-exploring MCTS",
    "mcts_bridge_burning": "bridge-burning MCTS",
    "oep": "OEP",
}
TREES = ("mcts", "mcts_non_exploring", "mcts_bridge_burning")
WITHOUT_BUDGET = ("random", "greedy_action")
ACTION_POINTS = (1, 3, 5, 10, 15, 20, 25)
BUDGETS = (1000, 2000, 5000, 10_000, 20_000, 50_000)
RIVAL_BUDGET = 5000  # of the OEP that others are measured against
HIDDEN = ("greedy_action", "greedy_turn", "mcts_non_exploring", "mcts_bridge_burning")  # against OEP, with hands hidden
# Pairs that the released program has played with fixed budgets: both players, and its games as wins, draws and losses.
CHECKS: tuple[tuple[str, str, tuple[int, int, int]], ...] = (
    ("greedy_action", "random", (20, 0, 0)),
    ("best_rated", "greedy_action", (8, 2, 30)),
    ("oep:num_generations=10", "greedy_action", (16, 0, 20)),
    ("oep:num_generations=50", "greedy_action", (9, 1, 8)),
    ("oep:num_generations=200", "greedy_action", (9, 0, 1)),
    ("greedy_turn:num_evaluations=5000", "greedy_action", (8, 0, 22)),
    ("oep:num_generations=50", "greedy_turn:num_evaluations=5000", (17, 1, 2)),
    ("mcts:num_evaluations=2000", "greedy_action", (0, 0, 20)),
    ("mcts_non_exploring:num_evaluations=2000", "greedy_action", (16, 0, 4)),
    ("mcts_bridge_burning:num_evaluations=2000", "greedy_action", (17, 1, 2)),
    ("oep:num_generations=50", "mcts_non_exploring:num_evaluations=2000", (5, 0, 5)),
)
EXTRAS = {
    "niches": "oep:niches=1",
    "restarts": "oep:restart_after=20",
    "islands": "oep:islands=4,population=25",
    "replies": "oep_replies:",
    "rollouts": "oep:rollouts=1",
    "mutation 0.3": "oep:mutation=0.3",
    "rolling horizon": f"rolling_horizon:num_evaluations={RIVAL_BUDGET // 5}",  # it thinks before each of five actions
}


@dataclasses.dataclass(frozen=True)
class Plan:
    """What to do.

    Attributes:
      folder: where the page, figures and data go.
      games: of each pair of Table II with OEP or two trees, and of most other comparisons.
      evaluations: per turn in them.
      small_games: of the other pairs, of the strength of large trees, and of what the released program has played too.
      small_evaluations: per turn in them.
      study_evaluations: per turn in the study of action points.
      batch: games at a time.
    """

    folder: Path
    games: int = 100
    evaluations: int = 20_000
    small_games: int = 50
    small_evaluations: int = 2000
    study_evaluations: int = 2000
    batch: int = 100

    @property
    def data(self) -> Path:
        return self.folder / "data"


def table_cells(plan: Plan) -> list[tuple[str, str, int, int]]:
    """The pairs of Table II: both players, evaluations per turn and games; those with OEP first."""
    cells = []
    for first, second in itertools.combinations(PLAYERS, 2):
        full = second == "oep" or (first in TREES and second in TREES)
        sizes = (plan.evaluations, plan.games) if full else (plan.small_evaluations, plan.small_games)
        cells.append((first, second, *sizes))
    return sorted(cells, key=lambda cell: (cell[1] != "oep", -cell[2]))


def cell_name(first: str, second: str, size: int, games: int) -> str:
    """The name of a pair of Table II."""
    return f"hero-table2-{first}-{second}-n{size}-games{games}"


def budget_name(plan: Plan, player: str, size: int) -> str:
    """The name of a measurement of strength over budget."""
    return f"hero-budget-{player}-n{size}-games{budget_games(plan, player, size)}"


def budget_games(plan: Plan, player: str, size: int) -> int:
    """How many games are played for it: large trees play fewer."""
    return plan.small_games if player != "oep" and size >= plan.evaluations else plan.games


def actions_name(plan: Plan, tree: str, points: int) -> str:
    """The name of a measurement of Fig. 5."""
    return f"hero-actions-{points}-{tree}-n{plan.study_evaluations}-games{plan.games}"


def extra_name(plan: Plan, extra: str) -> str:
    """The name of a measurement of what goes beyond the paper."""
    return f"hero-extra-{extra.replace(' ', '_')}-games{2 * plan.games}"


def hidden_name(plan: Plan, player: str) -> str:
    """The name of a measurement with random draws."""
    return f"hero-hidden-{player}-games{plan.games}"


def check_name(plan: Plan, first: str, second: str) -> str:
    """The name of a pair that the released program has played too."""
    pair = "-".join(player.replace(":num_evaluations=", "").replace(":num_generations=", "") for player in (first, second))
    return f"hero-check-{pair}-games{plan.small_games}"


def outcomes_name(plan: Plan) -> str:
    """The name of the measurement of what is looked at."""
    return f"hero-outcomes-n{plan.evaluations}"


def with_budget(player: str, evaluations: int) -> str:
    """A player with a budget, as `hero_agents.make` takes it."""
    if player in WITHOUT_BUDGET or "num_evaluations" in player:
        return player
    join = "" if player.endswith(":") else "," if ":" in player else ":"
    return f"{player}{join}num_evaluations={evaluations}"


def _table2(plan: Plan) -> Measurements:
    return [
        (cell_name(first, second, size, games), partial(_match, plan, with_budget(first, size), with_budget(second, size), games))
        for first, second, size, games in table_cells(plan)
    ]


def _budgets(plan: Plan) -> Measurements:
    rival = with_budget("oep", RIVAL_BUDGET)
    return [
        (
            budget_name(plan, player, size),
            partial(_match, plan, with_budget(player, size), rival, budget_games(plan, player, size)),
        )
        for player in ("oep", "mcts_bridge_burning")
        for size in BUDGETS
    ]


def _actions(plan: Plan) -> Measurements:
    """Fig. 5."""
    size = plan.study_evaluations
    return [
        (
            actions_name(plan, tree, points),
            partial(_match, plan, with_budget("oep", size), with_budget(tree, size), plan.games, f"ap-{points}"),
        )
        for tree in reversed(TREES)
        for points in ACTION_POINTS
    ]


def _extras(plan: Plan) -> Measurements:
    rival = with_budget("oep", RIVAL_BUDGET)
    return [
        (extra_name(plan, name), partial(_match, plan, with_budget(spec, RIVAL_BUDGET), rival, 2 * plan.games))
        for name, spec in EXTRAS.items()
    ]


def _hidden(plan: Plan) -> Measurements:
    """Matches with random draws and hidden hands."""
    rival = with_budget("oep", RIVAL_BUDGET)
    return [
        (hidden_name(plan, player), partial(_match, plan, with_budget(player, RIVAL_BUDGET), rival, plan.games, "hidden"))
        for player in HIDDEN
    ]


def _checks(plan: Plan) -> Measurements:
    """What the released program has played with fixed budgets."""
    games = plan.small_games
    return [(check_name(plan, first, second), partial(_match, plan, first, second, games)) for first, second, _ in CHECKS]


def _outcomes(plan: Plan) -> Measurements:
    return [(outcomes_name(plan), partial(outcomes, plan))]


PARTS: dict[str, Callable[[Plan], Measurements]] = {
    "table2": _table2,
    "checks": _checks,
    "budgets": _budgets,
    "extras": _extras,
    "outcomes": _outcomes,
    "hidden": _hidden,
    "actions": _actions,
}

# `make(plan, write_page, chosen, report)`: see `cells.make_page`.
make = partial(make_page, PARTS, SOURCES)


def _match(plan: Plan, first: str, second: str, games: int, mode: str = "standard") -> dict:
    """Plays a pair with sides changed half-way."""
    game = jaxgames.make("hero_academy", mode)
    assert isinstance(game, HeroAcademy)
    pair: list[Agent] = [hero_agents.make(spec, game) for spec in (first, second)]
    started, cpu = time.perf_counter(), time.process_time()
    points = play_pair(game, pair, jax.random.key(SEED), games, batch_size=plan.batch)
    return {
        "players": [first, second],
        "mode": mode,
        "games": games,
        "wins": int((points == 1).sum()),
        "draws": int((points == 0.5).sum()),
        "seconds": round(time.perf_counter() - started, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
    }


def outcomes(plan: Plan, games: int = 32) -> dict:
    """Counts what planners look at in a turn: unique states behind it, and how deep trees go (section VII-A).

    Args:
      plan: how many evaluations a turn has.
      games: positions, each at the start of a turn some way into a game in which actions are chosen as rollouts do.
    """
    game = jaxgames.make("hero_academy", "standard")
    assert isinstance(game, HeroAcademy)
    moves = moves_of(game)
    keys, more_keys = jax.random.split(jax.random.key(SEED), (2, games))
    states = jax.jit(jax.vmap(lambda key, turns: _some_turns(game, key, turns)))(keys, 6 + jnp.arange(games) % 20)
    going = np.flatnonzero(~np.asarray(states.terminated))
    states = jax.tree.map(lambda leaf: leaf[going], states)
    lanes, seats = jax.vmap(random_bits.lane_key)(more_keys[going]), jax.vmap(game.to_play)(states)
    result: dict = {"evaluations": plan.evaluations, "positions": len(going), "players": {}}
    walk = greedy.best_turn(game, moves, greedy.Settings(num_evaluations=plan.evaluations))
    turn = jax.jit(walk.run)(lanes, states, seats)
    result["players"]["greedy_turn"] = {"outcomes": _spread(turn.metrics["evaluations"])}
    kinds = (turn_mcts.Settings(), turn_mcts.NON_EXPLORING, turn_mcts.BRIDGE_BURNING)
    for name, settings in zip(TREES, kinds, strict=True):
        search = turn_mcts.tree_search(game, moves, dataclasses.replace(settings, num_simulations=plan.evaluations))
        turn = jax.jit(search.run)(lanes, states, seats)
        result["players"][name] = {
            "outcomes": _spread(turn.metrics["outcomes"]),
            "depth": _spread(turn.metrics["depth"]),
            "nodes": _spread(turn.metrics["nodes"]),
        }
    evolving = generations_for(plan.evaluations, evolution.Settings())
    result["players"]["oep"] = {"outcomes": _spread(_evolved_outcomes(game, evolving, lanes, states, seats))}
    return result


def _some_turns(game: HeroAcademy, key: jax.Array, turns: jax.Array):
    """A state at the start of a turn, so many turns into a game in which actions are chosen as rollouts do."""
    deal, play = jax.random.split(key)
    lane = random_bits.lane_key(play)

    def step(carry):
        number, state = carry
        action = game.rollout_action(state, random_bits.fold(lane, number), 0.5)
        return number + 1, game.advance(state, action, None)

    def unfinished(carry):
        return (carry[1].turn < turns) & ~carry[1].terminated

    return jax.lax.while_loop(unfinished, step, (jnp.int32(0), game.init(deal)))[1]


def _evolved_outcomes(game: HeroAcademy, settings: evolution.Settings, lanes, states, seats) -> np.ndarray:
    """How many different states the turns lead to that OEP makes, per position."""
    noted = evolution.evolution(game, moves_of(game), settings, notes_outcomes=True)
    carry = jax.jit(noted.start)(lanes, states, seats, jnp.ones(len(seats), bool))
    one = jax.jit(noted.round)
    seen: list[set] = [set() for _ in range(len(seats))]
    for number in range(noted.rounds):
        carry = one(jnp.int32(number), carry)
        keys = np.asarray(carry.notes["outcome"])[:, settings.num_survivors :].astype(np.uint64)
        for lane, words in enumerate(keys[..., 0] << np.uint64(32) | keys[..., 1]):
            seen[lane].update(words.tolist())
    return np.array([len(some) for some in seen])


def _spread(values) -> dict[str, float]:
    """Mean, median and largest."""
    array = np.asarray(values)
    return {"mean": float(array.mean()), "median": float(np.median(array)), "most": float(array.max())}
