"""Games of Pommerman played for a data set: samples of whole games, in the order of agents' episodes, and how the games went."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh, PartitionSpec

from jaxgames import processes
from jaxgames.packing import Packing, packing_of
from jaxgames.pommerman.pommerlearn_episodes import episodes
from search.planner import Plan, Planner
from training.learn.self_play import Games, Sample, SelfPlay
from training.play.lanes import START

_STEPS = 16  # per call


class Recording(NamedTuple):
    """N samples of G games.

    Attributes:
      samples: Sample [N]; the games are numbered 0..G - 1.
      actions: int8 [N], what was done.
      qvalues: float32 [N, A], the search's value of each action, NaN where it was not tried.
      attributes: of agents and episodes, as in data sets.
    """

    samples: Sample
    actions: np.ndarray
    qvalues: np.ndarray
    attributes: dict[str, Any]


class Recorder:
    """Plays games and keeps all that happens; the compiled program is made once."""

    def __init__(self, games: SelfPlay, planner: Planner, mesh: Mesh) -> None:
        """Binds everything static.

        Args:
          games: how they are played; lanes are those of one device.
          planner: who searches.
          mesh: one axis "data".
        """
        self.games, self.planner = games, planner
        same, split, by_step = PartitionSpec(), PartitionSpec("data"), PartitionSpec(None, "data")

        def compiled(function: Callable, takes: tuple, gives: Any) -> Callable:
            return jax.jit(jax.shard_map(function, mesh=mesh, in_specs=takes, out_specs=gives, check_vma=False))

        self._start = compiled(self._begin, (same,), split)
        self._play = compiled(self._advance, (same, same, split), (split, by_step))

    @functools.cached_property
    def packing(self) -> Packing:
        """Of one sample."""
        return packing_of(jax.eval_shape(self.games.example))

    def record(self, key: Array, params: Any, samples: int, report: Callable[[int], None] = lambda count: None) -> Recording:
        """Plays whole games, the first ones by number, until they have so many samples or a few more.

        Args:
          key: root of all randomness.
          params: of the planner.
          samples: how many.
          report: told how many there are in games that are over, now and then.
        """
        carry, told = self._start(key), list[dict[str, np.ndarray]]()
        lengths, counts = dict[int, int](), dict[int, int]()
        while True:
            carry, found = self._play(key, params, carry)
            steps = {name: _flat(values) for name, values in processes.fetch(found).items()}
            told.append({name: steps[name][steps["active"]] for name in ("rows", "qvalues", "of_sample")})
            told[-1] |= {name: steps[name] for name in ("actions", "number", "clock")}
            over = steps["ended"]
            lengths |= dict(zip(steps["number"][over].tolist(), (steps["clock"][over] + 1).tolist(), strict=True))
            for number, count in zip(*np.unique(told[-1]["of_sample"], return_counts=True), strict=True):
                counts[int(number)] = counts.get(int(number), 0) + int(count)
            done = games = 0
            while games in lengths and done < samples:
                done, games = done + counts[games], games + 1
            report(min(done, samples))
            if done >= samples:
                whole = {name: np.concatenate([part[name] for part in told]) for name in told[0]}
                return self._put_together(key, whole, np.array([lengths[number] for number in range(games)]))

    def _begin(self, key: Array) -> tuple[Games, Any]:
        return self.games.start(key, jax.lax.axis_index("data")), self.planner.init(self.games.rows)

    def _advance(self, key: Array, params: Any, carry: tuple[Games, Any]) -> tuple[tuple[Games, Any], dict[str, Array]]:
        return jax.lax.scan(lambda carry, _: self._step(key, params, carry), carry, length=_STEPS)

    def _step(self, key: Array, params: Any, carry: tuple[Games, Any]) -> tuple[tuple[Games, Any], dict[str, Array]]:
        games, memory = carry
        found = self.games.decide(key, self.planner, params, memory, games)
        after, ended, _ = self.games.advance(key, games, found)
        memory = self.planner.reset(found.memory, jnp.tile(ended, self.games.seats_at_once))
        told = {
            "rows": jax.vmap(self.packing.pack)(found.sample),
            "qvalues": jax.vmap(self._qvalues)(found.plan, found.sample.seat.astype(jnp.int32)),
            "of_sample": found.sample.number,
            "active": found.active,
            "actions": found.actions.astype(jnp.int8),
            "number": games.lanes.number,
            "clock": games.lanes.clock,
            "ended": ended,
        }
        return (after, memory), told

    def _qvalues(self, plan: Plan, seat: Array) -> Array:
        """The search's value of each action that it has tried, float32 [A]; NaN for others, and where all show their moves."""
        encoder = self.games.targets.encoder
        outputs = encoder.outputs(plan.arms, seat)
        here = (outputs[:, None] == jnp.arange(encoder.num_outputs)) & (plan.legal & (plan.visit_counts > 0))[:, None]
        values = jnp.where(here, plan.qvalues[:, None], 0.0).sum(0)
        return jnp.where(here.any(0) & (self.games.partner is not None), values, jnp.nan)

    def _put_together(self, key: Array, told: dict[str, np.ndarray], lengths: np.ndarray) -> Recording:
        count, game = len(lengths), self.games.pool.game
        kept = told["of_sample"] < count
        rows, qvalues = told["rows"][kept], told["qvalues"][kept]
        unpack_rows = jax.jit(jax.vmap(self.packing.unpack))
        parts = [jax.device_get(unpack_rows(rows[start : start + 10_000])) for start in range(0, len(rows), 10_000)]
        samples: Sample = jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)
        order = np.lexsort((samples.clock, samples.seat, samples.number))
        samples, qvalues = jax.tree.map(lambda leaf: leaf[order], (samples, qvalues))
        actions = np.zeros((count, lengths.max(), game.num_players), np.int8)
        played = told["number"] < count
        actions[told["number"][played], told["clock"][played]] = told["actions"][played]
        done = actions[samples.number, samples.clock, samples.seat]
        own = samples.number.astype(np.int64) * game.num_players + samples.seat
        places, steps = np.unique(own, return_counts=True)
        starts = jax.vmap(lambda number: jax.random.fold_in(jax.random.fold_in(key, number), START))(jnp.arange(count))
        of_agents = {
            "AgentIds": (places % game.num_players).tolist(),
            "AgentSteps": steps.tolist(),
            "AgentEpisode": (places // game.num_players).tolist(),
        }
        return Recording(samples, done, qvalues, of_agents | episodes(game, starts, actions, lengths))


def _flat(values: np.ndarray) -> np.ndarray:
    return values.reshape(-1, *values.shape[2:])
