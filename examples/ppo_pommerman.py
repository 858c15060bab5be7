"""PPO with a small network of one's own, against the rule-based bots of Pommerman; one file, one compiled update.

    python examples/ppo_pommerman.py --minutes 30 --out ppo.csv --save ppo.npz

The learner sees sets of cells around it and plays against three SimpleAgents. A game is worth 1 to who wins it alone, and -1 to
who dies; on the way the learner is paid for what `game.prospects` says its position promises (a potential, which changes what is
learnt first, and not who is best). Printed are the shares of finished games that were won and lost. An interrupt ends it when the
curve and the network are written; `load("ppo.npz")` gives the player, for matches such as those of `training.play.evaluate`.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
import time
from collections import namedtuple
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import tyro
from flax import nnx

import jaxgames
from jaxgames import runtime
from jaxgames.agent import Agent, memoryless
from jaxgames.bits import union
from jaxgames.observing import unpacked
from jaxgames.pommerman import explosions
from jaxgames.pommerman.observation import item_cells
from training.jobs.stopping import StopRequest
from training.storage.weights import load_weights, save_weights


@dataclasses.dataclass(frozen=True)
class Options:
    """How to train."""

    lanes: int = 512  # games at once
    steps: int = 32  # of each game between updates
    rate: float = 1e-3  # learning rate, falling to a tenth of it
    updates: int = 10**9  # at most so many
    minutes: float = 30  # at most so long
    every: int = 50  # updates between printed lines
    seed: int = 0
    out: str = ""  # file of the curve (CSV)
    save: str = ""  # file of the network (.npz)


GAMMA, LAMBDA, CLIP, ENTROPY, VALUE, MINIBATCHES, WIDTH = 0.995, 0.95, 0.2, 0.01, 0.5, 4, 128
RADIUS = 4  # the network sees a square of 9 x 9 cells around its agent
GAME = jaxgames.make("pommerman", "ffa")


def see(state: Any, seat: jax.Array) -> dict[str, jax.Array]:
    """What the network is shown: sets of cells around its agent, a few numbers, and the potential by which it is paid."""
    config, grid, seen = GAME.config, GAME.config.grid, GAME.observe(state, seat)
    me, bombs = seen.own, union(seen.bomb_life)
    later = (grid.empty, bombs & union(seen.bomb_life[3:]), bombs & union(seen.bomb_life[2:]))  # in 8 steps or more, in 4
    blasts = [explosions.in_reach(grid, bombs - some, seen.bomb_strength, config.max_blast_strength) for some in later]
    enemies = grid.empty
    for other, cell in enumerate(seen.bomber_cells):
        row = jnp.clip(grid.row_of(cell) - grid.row_of(me.cell) + 5, 5 - RADIUS, 5 + RADIUS)  # at the edge if farther away
        column = jnp.clip(grid.column_of(cell) - grid.column_of(me.cell) + 5, 5 - RADIUS, 5 + RADIUS)
        enemies = enemies | grid.one_hot(row * 11 + column).when((seat != other) & (cell >= 0))
    around = [seen.rigid, seen.wood, bombs, union(seen.flame_life), *item_cells(seen), *blasts, grid.full]
    cells = unpacked(grid, [*(grid.centred(cells, me.cell) for cells in around), enemies])
    alive = sum(flag.astype(jnp.float32) for flag in seen.alive)
    numbers = [me.ammo / 3, me.blast_strength / 5, me.can_kick, alive / 4, seen.step_count / config.max_steps]
    promised = jnp.where(jnp.arange(4) == seat, GAME.prospects(state), 0).sum()
    return {
        "cells": cells[:, 5 - RADIUS : 6 + RADIUS, 5 - RADIUS : 6 + RADIUS],
        "numbers": jnp.stack([jnp.asarray(number, jnp.float32) for number in numbers]),
        "potential": jnp.where(state.terminated | ~me.alive, 0.0, promised),
    }


class Network(nnx.Module):
    """Two hidden layers over all that is seen; logits of the moves, and a value."""

    def __init__(self, inputs: int, width: int, rngs: nnx.Rngs) -> None:
        self.first, self.second = nnx.Linear(inputs, width, rngs=rngs), nnx.Linear(width, width, rngs=rngs)
        self.policy = nnx.Linear(width, GAME.num_actions, kernel_init=nnx.initializers.orthogonal(0.01), rngs=rngs)
        self.value = nnx.Linear(width, 1, rngs=rngs)

    def __call__(self, seen: dict[str, jax.Array], legal: jax.Array) -> tuple[jax.Array, jax.Array]:
        flat = seen["cells"].astype(jnp.float32).reshape(len(legal), -1)
        hidden = nnx.relu(self.second(nnx.relu(self.first(jnp.concatenate([flat, seen["numbers"]], axis=1)))))
        return jnp.where(legal, self.policy(hidden), -1e9), self.value(hidden)[:, 0]


def draw(seed: int) -> tuple[Any, Any]:
    """The structure and first parameters of a network."""
    seen = jax.eval_shape(lambda key: see(GAME.init(key), jnp.int32(0)), jax.random.key(0))
    return nnx.split(Network(seen["cells"].size + seen["numbers"].size, WIDTH, nnx.Rngs(seed)), nnx.Param)


Sample = namedtuple("Sample", "seen legal action log_probability value reward done")  # of one step of all lanes, [B] each


def collect(env: jaxgames.Environment, network: Any, steps: int, carry: Any) -> tuple[Any, Sample, jax.Array]:
    """Plays; gives samples [T, B], and how many games were finished, won and lost."""

    def step(carry: Any, _: None) -> tuple[Any, Any]:
        state, now, key = carry
        key, draw, chance = jax.random.split(key, 3)
        logits, value = network(now.observation, now.legal)
        action = jax.random.categorical(draw, logits)
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), action[:, None], axis=1)[:, 0]
        state, after = env.step(state, action, chance)
        reward = after.reward + GAMMA * after.final_observation["potential"] - now.observation["potential"]
        counts = jnp.stack([after.done, after.done & (after.reward > 0), after.done & (after.reward < 0)]).sum(1)
        return (state, after, key), (Sample(now.observation, now.legal, action, chosen, value, reward, after.done), counts)

    carry, (samples, counts) = jax.lax.scan(step, carry, length=steps)
    return carry, samples, counts.sum(0)


def advantages(samples: Sample, last: jax.Array) -> jax.Array:
    """Generalized advantage estimation, [T, B]."""

    def back(carry: Any, sample: Sample) -> tuple[Any, jax.Array]:
        following, value = carry
        advantage = sample.reward - sample.value + GAMMA * (1.0 - sample.done) * (value + LAMBDA * following)
        return (advantage, sample.value), advantage

    return jax.lax.scan(back, (jnp.zeros_like(last), last), samples, reverse=True)[1]


def loss(params: Any, graph: Any, batch: tuple[Sample, jax.Array]) -> jax.Array:
    """PPO's clipped objective over one minibatch, [N] each."""
    sample, advantage = batch
    logits, value = nnx.merge(graph, params)(sample.seen, sample.legal)
    everything = jax.nn.log_softmax(logits)
    chosen = jnp.take_along_axis(everything, sample.action[:, None], axis=1)[:, 0]
    ratio = jnp.exp(chosen - sample.log_probability)
    scaled = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
    gain = jnp.minimum(ratio * scaled, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * scaled)
    entropy = -jnp.where(sample.legal, jnp.exp(everything) * everything, 0).sum(1)
    return (-gain - ENTROPY * entropy + VALUE * (value - sample.value - advantage) ** 2).mean()


def update(env: jaxgames.Environment, graph: Any, optimizer: Any, options: Options, carry: Any) -> tuple[Any, jax.Array]:
    """One round: play, estimate, learn from lanes in a new order."""
    params, moments, games = carry
    network = nnx.merge(graph, params)
    (state, now, key), samples, counts = collect(env, network, options.steps, games)
    estimated = advantages(samples, network(now.observation, now.legal)[1])

    def learn(carry: Any, lanes: jax.Array) -> tuple[Any, None]:
        params, moments = carry
        batch = jax.tree.map(lambda leaf: leaf[:, lanes].reshape(-1, *leaf.shape[2:]), (samples, estimated))
        changes, moments = optimizer.update(jax.grad(loss)(params, graph, batch), moments, params)
        return (optax.apply_updates(params, changes), moments), None

    key, order = jax.random.split(key)
    minibatches = jax.random.permutation(order, options.lanes).reshape(MINIBATCHES, -1)
    (params, moments), _ = jax.lax.scan(learn, (params, moments), minibatches)
    return (params, moments, (state, now, key)), counts


def begin(options: Options) -> tuple[Any, Any, Any]:
    """Gives the compiled update, what it carries from round to round, and the network's structure."""
    env = jaxgames.Environment(GAME, options.lanes, observation=see, opponents="simple", seat="rotating")
    graph, params = draw(options.seed)
    schedule = optax.exponential_decay(options.rate, 1500 * MINIBATCHES, 0.5, end_value=options.rate / 10)
    optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(schedule))
    games = (*jax.jit(env.reset)(jax.random.key(options.seed)), jax.random.key(options.seed + 1))
    run = jax.jit(functools.partial(update, env, graph, optimizer, options), donate_argnums=0)
    return run, (params, optimizer.init(params), games), graph


def player(graph: Any, params: Any) -> Agent:
    """The network as an agent."""

    def choose(params: Any, keys: jax.Array, states: Any, seats: jax.Array) -> jax.Array:
        legal = jax.vmap(lambda state, seat: GAME.legal_in_view(GAME.observe(state, seat)))(states, seats)
        return jax.vmap(jax.random.categorical)(keys, nnx.merge(graph, params)(jax.vmap(see)(states, seats), legal)[0])

    return memoryless("ppo", choose, sees_state=True, params=params, uses_hidden=False)


def load(path: str) -> Agent:
    """The player that `--save` has written."""
    graph, params = draw(0)
    return player(graph, load_weights(path, params)[0])


def main(options: Options) -> tuple[dict[str, float], Agent]:
    """Trains, prints, writes a curve and the network; gives the curve's last line, and the player."""
    runtime.prepare()
    run, carry, graph = begin(options)
    carry, total = run(carry)  # compiles
    began, cpu, rows, names = time.perf_counter(), time.process_time(), [], ("steps", "seconds", "CPU seconds", "won", "lost")
    with StopRequest() as stop:  # an interrupt in the middle of an update would lose the network
        for number in range(1, options.updates + 1):
            carry, counts = run(carry)
            total, seconds = total + counts, time.perf_counter() - began
            done = number == options.updates or seconds > 60 * options.minutes or stop.requested
            if number % options.every == 0 or done:
                shares = total[1:] / total[0]
                rows.append((number * options.lanes * options.steps, seconds, time.process_time() - cpu, *shares.tolist()))
                print("  ".join(f"{name} {value:.4g}" for name, value in zip(names, rows[-1], strict=True)), flush=True)
                total = jnp.zeros_like(total)
                if options.out:  # whole each time: a run that ends early leaves its curve, too
                    np.savetxt(options.out, rows, fmt="%.6g", delimiter=",", header=",".join(names), comments="")
                if options.save:
                    save_weights(options.save, carry[0], {"example": "ppo_pommerman", "steps": rows[-1][0]})
            if done:
                break
    if stop.requested:  # a run that was cut off is none
        sys.exit(130 if stop.interrupted else 0)
    return dict(zip(names, rows[-1], strict=True)), player(graph, carry[0])


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__.splitlines()[0]))
