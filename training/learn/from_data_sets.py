"""Learning from data sets: samples that others, or we at another time, have written down take the place of games."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from jax.sharding import Mesh

from jaxgames.pommerman.pommerlearn_samples import check_suits
from training.learn import data_sets
from training.learn.data_sets import DataSet
from training.learn.dealing import deal_rows
from training.learn.expert_iteration import ExpertConfig, Samples, expert_loss
from training.learn.learner import Learner, Programs, Updates, check_split, mean
from training.learn.self_play import UNFINISHED
from training.learn.targets import Targets, is_highest
from training.models.policy_value import PolicyValue
from training.play.telling import counted
from training.storage.zarr_folders import CHUNK


class DataSetLearning:
    """The same programs as those of `ExpertIteration`; `play` reads samples, each once, in the order in which they were written.

    Attributes:
      init: `init(key, params) -> Learner`; its progress counts `samples`.
      learn: `learn(key, learner) -> (learner, metrics)`: gradient steps; the learner given is used up.
    """

    def __init__(self, config: ExpertConfig, who: PolicyValue, mesh: Mesh, rounds: int) -> None:
        """Opens the data sets and binds everything static.

        Args:
          config: how to learn; `data_sets` names them.
          who: the network that learns.
          mesh: one axis "data".
          rounds: that will need `samples` each.

        Raises:
          ValueError: a data set is torn or of another form, there are too few samples, or numbers cannot be split over the
            devices.
        """
        check_suits(who.game, who.encoder)
        self.config, self.who, self.devices = config, who, check_split(mesh, config)
        self.sets = [DataSet(path, who.game) for path in data_sets.files_of(config.data_sets)]
        total = sum(one.steps for one in self.sets)
        if rounds * config.samples > total:
            needed = f"{counted(rounds, 'round')} of so many: {rounds * config.samples} are needed"
            rest = f"{total} are in {counted(len(self.sets), 'data set')}"
            raise ValueError(f"samples={config.samples}: {needed}, and {rest}")
        self.rows = max(min(CHUNK, config.samples) // self.devices, 1) * self.devices
        self.targets = Targets(who.encoder)
        self.updates = Updates(
            self._loss,
            optax.adamw(config.learning_rate, weight_decay=config.weight_decay),
            jax.eval_shape(lambda: self._kept(self._example())),
            config.batch_size,
            config.buffer_size,
            self.devices,
            who.encoder.num_symmetries if config.symmetries else 1,
        )
        programs = Programs(mesh)
        self.programs = programs
        same, learner = programs.same, programs.learner
        split = jax.sharding.PartitionSpec("data")
        self.init = programs.compile(self._init, (same, same), learner)
        self.learn = programs.compile(self._learn, (same, learner), (learner, same))
        self._store = programs.compile(self._add, (split, split, learner), (learner, same))

    def play(self, key: Array, learner: Learner) -> tuple[Learner, dict[str, Any]]:
        """Reads the next samples of a round; the learner given is used up."""
        del key
        have, of_round = int(learner.progress["samples"]), self.config.samples
        samples = self.read(have, min(have + self.rows, (have // of_round + 1) * of_round))
        count, rows = len(samples.value), self.rows
        # Sample i belongs to device i % D, so that all have equally many.
        first = have % self.devices
        place = (np.arange(rows) - first) % rows
        use = place < count
        place = np.where(use, place, 0)
        by_device = np.argsort(np.arange(rows) % self.devices, kind="stable")
        padded = jax.tree.map(lambda leaf: leaf[place][by_device], samples)
        learner, metrics = self._store(*self.programs.spread((padded, use[by_device])), learner)
        return learner, {name: jax.device_get(value) for name, value in metrics.items()}

    def deal(self, key: Array, learner: Learner) -> Learner:
        """Takes up a learner of another number of devices, its rings of numpy, as saved."""
        del key
        ring = deal_rows(learner.ring, self.devices, self.config.buffer_size // self.devices)
        return dataclasses.replace(learner, ring=self.programs.spread(ring))

    def read(self, start: int, stop: int) -> Samples:
        """Gives samples by their number in all data sets together."""
        parts = []
        for one in self.sets:
            if start < one.steps and stop > 0:
                parts.append(one.read(max(start, 0), min(stop, one.steps)))
            start, stop = start - one.steps, stop - one.steps
        joined: Samples = jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)
        return joined

    def _example(self) -> Samples:
        encoder, zero = self.who.encoder, jnp.float32(0)
        view = encoder.view(self.who.game.init(jax.random.key(0)), jnp.int32(0))
        return Samples(view, jnp.zeros(encoder.num_outputs), zero, jnp.int8(0), jnp.int16(0))

    def _kept(self, sample: Samples) -> Samples:
        """A sample as the buffer keeps it."""
        return sample._replace(policy=self.targets.pack(sample.policy), value=sample.value.astype(jnp.float16))

    def _init(self, key: Array, params: Any) -> Learner:
        del key
        return self.updates.init(params, (), samples=jnp.int32(0))

    def _add(self, samples: Samples, use: Array, learner: Learner) -> tuple[Learner, dict[str, Array]]:
        chosen = jnp.where(use[:, None], is_highest(samples.policy), False).sum(0, dtype=jnp.int32)
        last = use & (samples.left == 1) & (samples.result != UNFINISHED)
        counts = {
            "samples": use.sum(dtype=jnp.int32),
            "chosen": chosen,
            "games": last.sum(dtype=jnp.int32),
            "wins": (last & (samples.result > 0)).sum(dtype=jnp.int32),
            "draws": (last & (samples.result == 0)).sum(dtype=jnp.int32),
        }
        seen = jax.lax.psum(counts, "data")
        ring = self.updates.store(learner.ring, jax.vmap(self._kept)(samples), use)
        progress = {"samples": learner.progress["samples"] + seen["samples"]}
        told = progress | {
            "games": seen["games"],
            "wins": mean(seen["wins"], seen["games"]),
            "draws": mean(seen["draws"], seen["games"]),
            "action_shares": mean(seen["chosen"], seen["samples"]),
        }
        return dataclasses.replace(learner, ring=ring, progress=progress), told

    def _learn(self, key: Array, learner: Learner) -> tuple[Learner, dict[str, Array]]:
        return self.updates.learn(key, learner, self.config.updates)

    def _loss(self, params: Any, batch: Samples, games: Any, which: Array) -> tuple[Array, dict[str, Any]]:
        del games
        policy = jax.vmap(self.targets.unpack)(batch.policy)
        return expert_loss(self.config, self.who, params, batch._replace(policy=policy), which)
