"""Plans of any planner in any game, as cases of which kernels are counted: for those that no benchmark measures."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

import jaxgames
from experiments.benchmark.case import Case, Program, Tally
from experiments.benchmark.harness import throughput
from experiments.benchmark.lanes import lane_keys, mixed, together, typed_keys, visits_digest
from jaxgames.game import Game, is_hidden
from search import presets
from training.play import agents

LANES = 4096  # as of the accelerators' batches of searches, such as hex/puct_100


def is_plan(name: str) -> bool:
    """Says whether a name is of a planner, "GAME PLANNER:SETTINGS", and not of a benchmark case, "game/work"."""
    return " " in name


def case(name: str) -> Case:
    """Makes the case of a planner's plans, from the start of a game; one plan is one unit.

    Args:
      name: such as "hex mcts:num_simulations=50"; the game may be an id, such as hex-adh-v1.

    Raises:
      ValueError: there is no such game, planner or setting.
      OSError: the file of a network cannot be read.
    """
    game_name, _, spec = name.partition(" ")
    game, spec = jaxgames.make(game_name), spec.strip()
    agents.make_planner(spec, game)  # what is wrong is told at once

    def make(batch: int) -> Program:
        return _program(game, spec, batch)

    return Case(name, "plans", f"{game_name}: plans of {spec}", throughput(make), LANES, LANES)


def _program(game: Game, spec: str, batch: int) -> Program:
    planner, params = agents.make_planner(_wide(game, spec, batch), game)
    values = agents.settings_of(spec, game)
    simulations = values.get("num_simulations")
    told = {"waves": -(-simulations // values.get("leaf_parallelism", 1))} if simulations else {}

    def start(key: Array, numbers: Array) -> Any:
        keys = lane_keys(key, numbers)
        states = jax.vmap(game.init)(typed_keys(keys, jnp.int32(0)))
        seats = jnp.maximum(jax.vmap(game.to_play)(states), 0).astype(jnp.int32)
        return params, keys, views(game, planner.sees_state, states, seats), seats, planner.init(batch), jnp.int32(1)

    def timed(carry: Any, tally: Tally) -> tuple[Any, Tally]:
        params, keys, views, seats, memory, clock = carry
        plan, memory = planner.plan(params, typed_keys(keys, clock), memory, views, seats, jnp.ones(batch, bool))
        digest = visits_digest(plan.visit_counts.reshape(batch, -1)) + plan.actions.reshape(batch, -1)[:, 0].astype(jnp.uint32)
        tally = tally._replace(units=tally.units + 1, checksum=mixed(tally.checksum, digest))
        return (params, keys, views, seats, memory, clock + 1), tally

    return Program(start, timed, settings={"agent": spec, **told})


def _wide(game: Game, spec: str, batch: int) -> str:
    """Adds that all lanes are planned for at once, where there are many and a planner's settings do not say otherwise."""
    name, colon, text = spec.partition(":")
    wide = [
        f"{option}={value}"
        for option, value in together(batch).items()
        if option in presets.planners_of(game)[name].kinds and f"{option}=" not in text
    ]
    return f"{name}:{','.join([text] * bool(colon and text) + wide)}" if wide else spec


def views(game: Game, sees_state: bool, states: Any, seats: Array) -> Any:
    """Gives what planners are shown at the start of games: states, what a seat knows, or what it sees in games that hide nothing.

    Args:
      game: of the states.
      sees_state: the planner is shown states.
      states: of games that begin, leaves [B, ...].
      seats: int32 [B], whose turn it is.
    """
    if sees_state:
        return states
    seen = jax.vmap(game.observe)(states, seats)
    return jax.vmap(game.init_information)(seats, seen) if is_hidden(game) else seen
