"""Benchmarks of searches in which models play the others (SP-MCTS, TP-MCTS), and of what their networks learn from."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from experiments.benchmark.case import Case, Program, Tally
from experiments.benchmark.harness import throughput
from experiments.benchmark.lanes import MANY_LANES, mixed, together
from experiments.benchmark.pommerman import MID_GAME, MODE, ffa, play_and_plan
from experiments.benchmark.pommerman_starts import POOL_SIZE, Pool
from jaxgames.specs import values_of
from search import presets
from search.planner import Planner
from training.learn.expert_iteration import shown_moves
from training.learn.self_play import SelfPlay
from training.learn.targets import Targets
from training.models import policy_value
from training.models.policy_value import PolicyValueConfig
from training.play import agents
from training.play import lanes as play_lanes

BATCH = 64
ENCODER, NETWORK = "pommerlearn_centred", "pyramid"  # of the networks that come with the package
DEMONSTRATION_STEPS = 64
OLD_ENOUGH = 4  # calls before anything is timed


def searched(spec: str) -> Planner:
    """Makes a search by its name, fair and guided by the network that comes with the package, as a player of a match is."""
    planner, params = agents.make_planner(spec, ffa())

    def plan(_: Any, keys: Array, *rest: Any) -> Any:
        return planner.plan(params, keys, *rest)

    return planner._replace(plan=plan)


def search_match(
    batch: int,
    name: str,
    num_simulations: int,
    model: str,
    *,
    warm_up: int = MID_GAME,
    calls: int = 1,
    pool_size: int = POOL_SIZE,
) -> Program:
    """Makes the program of a search against three SimpleAgents; games go on with a move of the search each."""
    game, settings = ffa(), {"num_simulations": num_simulations, "model": model, **together(batch)}
    spec = f"{name}:{','.join(f'{setting}={value}' for setting, value in settings.items())}"
    program = play_and_plan(game, searched(spec), batch, warm_up=warm_up, calls=calls, pool=Pool(game.config, pool_size))
    waves = -(-num_simulations // values_of(presets.planners_of(game)[name].settings)["leaf_parallelism"])
    told = {"agent": spec, "num_simulations": num_simulations, "waves": waves}
    return dataclasses.replace(program, settings={**program.settings, **told})


def demonstrations(batch: int, *, steps: int = DEMONSTRATION_STEPS, warm_up: int = OLD_ENOUGH) -> Program:
    """Makes a program of games of four SimpleUnbiasedAgents; one sample of a living player is one unit, its planes included."""
    game, who = ffa(), policy_value.make(PolicyValueConfig("pommerman", MODE, ENCODER, NETWORK))
    planner = shown_moves(agents.make("simple_unbiased", game), game)
    games = SelfPlay(play_lanes.Pool(game, batch), Targets(who.encoder), remembered=4 * batch)

    def start(key: Array, numbers: Array) -> Any:
        key = jax.random.fold_in(key, numbers[0])
        return key, planner.init(games.rows), games.start(key, jnp.int32(0))

    def timed(carry: Any, tally: Tally) -> tuple[Any, Tally]:
        def step(carry: tuple, _: None) -> tuple[tuple, None]:
            key, memory, at_work, tally = carry
            before = at_work.lanes.number
            at_work, memory, sample, use, _counts = games.step(key, planner, None, memory, at_work)
            planes = jax.vmap(who.encoder.planes)(sample.view)
            policy = jax.vmap(games.targets.unpack)(sample.policy)
            digest = seen(planes) + (policy @ jnp.arange(6.0)).astype(jnp.uint32)
            tally = tally._replace(
                units=tally.units + use.reshape(-1, batch).sum(0, dtype=jnp.uint32),
                episodes=tally.episodes + (at_work.lanes.number != before).astype(jnp.uint32),
                checksum=mixed(tally.checksum, digest.reshape(-1, batch).sum(0, dtype=jnp.uint32)),
            )
            return (key, memory, at_work, tally), None

        (key, memory, at_work, tally), _ = jax.lax.scan(step, (*carry, tally), length=steps)
        return (key, memory, at_work), tally

    settings = {"mode": MODE, "player": "simple_unbiased", "encoder": ENCODER, "steps_per_repeat": steps}
    return Program(start, timed, warm_up=warm_up, settings=settings)


def seen(planes: Array) -> Array:
    """One word per sample, uint32 [N], of planes float32 [N, H, W, C], by their bits: it takes longer to add floats."""
    return jax.lax.bitcast_convert_type(planes, jnp.uint32).reshape(len(planes), -1).sum(1, dtype=jnp.uint32)


def _case(name: str, summary: str, search: tuple[str, int, str], peer: str, reach: str) -> Case:
    planner, num_simulations, model = search
    make = functools.partial(search_match, name=planner, num_simulations=num_simulations, model=model, warm_up=20)
    return Case(f"pommerman/{name}", "plans", summary, throughput(make), BATCH, MANY_LANES, (peer,), reach)


CASES: tuple[Case, ...] = (
    _case(
        "sp_mcts",
        "SP-MCTS, fair, 1000 simulations, SimpleUnbiasedAgents as models, small network; per move, 64 games at once",
        ("sp_mcts", 1000, "simple_unbiased"),
        "PommerLearn 34 ms on a GPU server*",
        "60 ms, aim 25 ms",
    ),
    _case(
        "tp_mcts",
        "TP-MCTS, the same",
        ("tp_mcts", 1000, "simple_unbiased"),
        "PommerLearn 35 ms on a GPU server*",
        "70 ms, aim 30 ms",
    ),
    _case(
        "sp_mcts_network",
        "SP-MCTS, fair, 250 simulations, the network as the model of all others; per move, 64 games at once",
        ("sp_mcts", 250, "network"),
        "PommerLearn 165 to 316 ms*",
        "60 ms, aim 25 ms",
    ),
    Case(
        "pommerman/demonstrations",
        "samples",
        "four SimpleUnbiasedAgents, samples of all of them with planes",
        throughput(demonstrations),
        batch=256,
        accelerator_batch=8192,
        reach="0.3 M/s, aim 1 M/s",
    ),
)
