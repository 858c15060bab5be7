"""Why nodes change who leads in DarkHex 5 x 5, PIMC or PC-PIMC: what both choose in the same positions and worlds."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import jaxgames
from experiments.papers.alphaze import SEED, AlphazePlan
from experiments.papers.alphaze_duel import LONG, NUMBERS_OF_NODES, network_of
from experiments.papers.measured import Measurement
from jaxgames.game import init_all_information, update_all_information
from training.play import agents
from training.play.tournament import play_pair

FLATTENED = 1.7  # temperature of the priors with which the published program plays
_PLIES = (4, 8, 12)  # before the positions
_JUDGE = {"num_simulations": 1600, "prior_temperature": 3.0}  # even what the network does not propose gets some nodes


class Positions(NamedTuple):
    """Where choices are compared.

    Attributes:
      views: Information [B], of who is to move.
      seats: int32 [B].
      active: bool [B], games that are not over.
    """

    views: Any
    seats: Array
    active: Array


class Found(NamedTuple):
    """What a search found, of the seat to move.

    Attributes:
      action: int32 [B].
      qvalues: float32 [B, A], by action.
      visits: int32 [B, A], of all worlds.
      weights: float32 [B, A].
    """

    action: np.ndarray
    qvalues: np.ndarray
    visits: np.ndarray
    weights: np.ndarray


def choices(plan: AlphazePlan) -> list[Measurement]:
    """What both searches choose, by the network."""
    return [Measurement(f"hex-5x5-choices-{network}", partial(_choices, plan, network), network) for network in LONG]


def flattened(plan: AlphazePlan) -> list[Measurement]:
    """PC-PIMC with flattened priors against PIMC with plain or flattened ones: by nodes, network, and whether both are."""
    counts = NUMBERS_OF_NODES["pimc"][1:3]

    def one(count: int, network: str, both: bool) -> Measurement:
        name = f"hex-5x5-flattened-{'both-' if both else ''}{count}-{network}"
        return Measurement(name, partial(_match, plan, count, network, both), (count, network, both))

    return [one(count, network, both) for both in (False, True) for count in counts for network in LONG]


def certainty(plan: AlphazePlan) -> list[Measurement]:
    """5 x 5 cells: choices in the same positions, and matches with flattened priors."""
    return [*choices(plan), *flattened(plan)]


def _spelt(plan: AlphazePlan, network: str, search: str, **settings: float) -> str:
    """The name of a search with a kept network."""
    given = {"num_worlds": 6, "weights": network_of(plan, LONG[network]), **settings}
    return f"{search}:{','.join(f'{name}={value}' for name, value in given.items())}"


def _game() -> Any:
    return jaxgames.make("hex", LONG["pimc"].config.who.mode)


def _choices(plan: AlphazePlan, network: str) -> dict[str, Any]:
    """Compares the choices of both searches, judged by larger trees in the same worlds."""
    positions = _positions(plan, network, plan.games)
    find = partial(_found, plan, network, positions)
    judge, lanes, shown = find("pimc", **_JUDGE), np.arange(len(positions.seats)), np.asarray(positions.active)
    rows = []
    for nodes in NUMBERS_OF_NODES["pimc"]:
        by_policy, by_value = (find(search, num_simulations=nodes) for search in ("pc_pimc", "pimc"))
        values = [float(judge.qvalues[lanes, found.action][shown].mean()) for found in (by_policy, by_value)]
        rows.append(
            {
                "nodes": nodes,
                "tried": float((by_policy.visits > 0).sum(1)[shown].mean()),
                "first": float(by_policy.weights.max(1)[shown].mean()),
                "differ": float((by_policy.action != by_value.action)[shown].mean()),
                "values": values,
            }
        )
    return {"network": network, "positions": int(shown.sum()), "best": float(judge.qvalues.max(1)[shown].mean()), "rows": rows}


def _positions(plan: AlphazePlan, network: str, games: int) -> Positions:
    """Positions of games of PC-PIMC, which draws its moves, after some plies."""
    game = _game()
    planner, params = agents.make_planner(_spelt(plan, network, "pc_pimc", num_simulations=32, temperature=1.0), game)
    key, lanes = jax.random.key(SEED), jnp.arange(games)

    def of_movers(states: Any, infos: Any) -> Positions:
        seats = jnp.maximum(jax.vmap(game.to_play)(states), 0)
        return Positions(jax.tree.map(lambda leaf: leaf[lanes, seats], infos), seats, ~states.terminated)

    @jax.jit
    def ply(key: Array, states: Any, infos: Any) -> tuple[Any, Any]:
        think, chance = jax.random.split(key)
        found, _ = planner.plan(params, jax.random.split(think, games), planner.init(games), *of_movers(states, infos))
        states = jax.vmap(game.step)(states, found.actions, jax.random.split(chance, games))
        return states, update_all_information(game, infos, states, found.actions)

    states = jax.vmap(game.init)(jax.random.split(key, games))  # of keys that plies have too; a start of Hex draws nothing
    infos = init_all_information(game, states)
    kept = []
    for number in range(1, _PLIES[-1] + 1):
        states, infos = ply(jax.random.fold_in(key, number), states, infos)
        if number in _PLIES:
            kept.append(of_movers(states, infos))
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *kept)


def _found(plan: AlphazePlan, network: str, positions: Positions, search: str, **settings: float) -> Found:
    """What a search finds. Its worlds are the same ones for every search."""
    planner, params = agents.make_planner(_spelt(plan, network, search, **settings), _game())
    batch = len(positions.seats)
    keys = jax.random.split(jax.random.key(SEED), batch)
    made, _ = jax.jit(planner.plan)(params, keys, planner.init(batch), *positions)
    parts = (made.actions, made.qvalues, made.visit_counts, made.action_weights)
    # Plans of drawn worlds have a column for each action.
    return Found(*(np.asarray(part)[np.arange(batch), np.asarray(positions.seats)] for part in parts))


def _match(plan: AlphazePlan, nodes: int, network: str, both: bool) -> dict[str, Any]:
    """Plays PC-PIMC with flattened priors against PIMC, whose priors are flattened too if they are to be."""
    game, flat = _game(), {"prior_temperature": FLATTENED}
    pairs = (("pc_pimc", flat), ("pimc", flat if both else {}))
    sides = [agents.make(_spelt(plan, network, search, num_simulations=nodes, **more), game) for search, more in pairs]
    points = play_pair(game, sides, jax.random.key(SEED), 2 * plan.games)
    return {"network": network, "num_simulations": nodes, "wins": int(points.sum()), "games": len(points)}
