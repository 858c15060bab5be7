"""What learners share: parameters that gradient steps on drawn samples change, and a buffer of these samples.

A learner brings a sample type, a loss and a step of playing; see `dagger` and `alphaze`. Lanes, buffer and mini-batches are split
over the devices of a mesh; parameters are the same on all.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jax.flatten_util import ravel_pytree
from jax.sharding import Mesh, PartitionSpec

from jaxgames import checks, processes
from jaxgames.encoder import Encoder
from jaxgames.packing import Packing, packing_of
from training.learn import replay_buffer
from training.learn.replay_buffer import MOST_DRAWN, Ring

_LEARNING = 1 << 30  # keys of gradient steps, beside those of games


class Mean(NamedTuple):
    """A mean that is divided last: what steps and devices tell counts by how much they have counted.

    Attributes:
      total: float32 [], a sum.
      number: number [], of how many.
    """

    total: Array
    number: Array

    def over_devices(self) -> Array:
        """Gives what a loss takes, on each device of the axis "data", 0 where nothing was counted.

        The mean of it over the devices is that of all samples, however many of them count on each.
        """
        devices = jax.lax.axis_size("data")
        number = jax.lax.pmean(jnp.asarray(self.number, jnp.float32), "data")
        return self.total / jnp.maximum(number, 1 / devices)


def mean(total: Array, count: Array) -> Array:
    """Divides sums by their count: NaN where nothing was counted, which logs have as null."""
    return total / count


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Learner:
    """All that changes while learning.

    Attributes:
      params, optimizer_state: the same on all devices.
      averaged: running mean of the parameters over gradient steps; None where none is kept.
      updates: int32 [], gradient steps so far.
      progress: what playing counts, the same on all devices: arrays [] by name.
      ring: the buffers of all devices.
      games: the games at work on all devices.
    """

    params: Any
    optimizer_state: Any
    averaged: Any
    updates: Array
    progress: dict[str, Array]
    ring: Ring
    games: Any

    @property
    def best_params(self) -> Any:
        """Those to play with: the running mean, if there is one."""
        return self.params if self.averaged is None else self.averaged


@dataclasses.dataclass(frozen=True)
class Updates:
    """How samples change parameters; all static.

    Attributes:
      loss: `loss(params, samples [B], games, which) -> (loss, parts by name)`; `games` are the learner's; `which` (int32 [B]) is
        the symmetry in which to show each sample, see `turned`. Parts are told: float32 [], or a `Mean` of those samples that
        count; one named "loss" in place of the loss.
      optimizer: of optax, its learning rate included.
      example: one sample, or its shapes.
      batch_size, buffer_size: over all devices.
      num_devices: that share them.
      num_symmetries: to draw from.
      averaging: decay per gradient step of a running mean of the parameters; 0: none is kept.
    """

    loss: Callable[[Any, Any, Any, Array], tuple[Array, dict[str, Array]]]
    optimizer: optax.GradientTransformation
    example: Any
    batch_size: int
    buffer_size: int
    num_devices: int = 1
    num_symmetries: int = 1
    averaging: float = 0.0

    @functools.cached_property
    def packing(self) -> Packing:
        """Of one sample."""
        return packing_of(self.example)

    def init(self, params: Any, games: Any, /, **progress: Array) -> Learner:
        """Begins with an empty buffer, on one device."""
        return Learner(
            params=params,
            optimizer_state=self.optimizer.init(params),
            averaged=params if self.averaging else None,
            updates=jnp.int32(0),
            progress=progress,
            ring=replay_buffer.init(self.buffer_size // self.num_devices, self.packing.num_words),
            games=games,
        )

    def store(self, ring: Ring, samples: Any, use: Array) -> Ring:
        """Adds those of samples [M] that are to be used, bool [M]."""
        return replay_buffer.add(ring, jax.vmap(self.packing.pack)(samples), use)

    def draw(self, ring: Ring, key: Array, count: int) -> Any:
        """Draws samples [count]."""
        return jax.vmap(self.packing.unpack)(replay_buffer.sample(ring, key, count))

    def learn(self, key: Array, learner: Learner, number: Array | int, scale: Array | float = 1.0) -> tuple[Learner, dict]:
        """Makes gradient steps, on one device of the axis "data".

        Args:
          key: root of all randomness.
          learner: with samples in the buffer.
          number: of gradient steps.
          scale: of their length.

        Returns:
          The learner, and means over the steps, NaN without any: `loss`, `gradient_norm` and the parts of the loss; `finite`,
          whether all numbers are, the parameters included.
        """
        device = jax.lax.axis_index("data")
        share = self.batch_size // self.num_devices

        def one_update(index: Array, carry: tuple) -> tuple:
            params, optimizer_state, averaged, sums = carry
            update = learner.updates + index
            update_key = jax.random.fold_in(jax.random.fold_in(key, _LEARNING), update)
            batch = self.draw(learner.ring, jax.random.fold_in(update_key, device), share)
            turn_key = jax.random.fold_in(jax.random.fold_in(update_key, _LEARNING), device)
            which = jax.random.randint(turn_key, (share,), 0, self.num_symmetries)
            told, gradient = self._gradient(params, batch, learner.games, which)
            change, optimizer_state = self.optimizer.update(gradient, optimizer_state, params)
            params = optax.apply_updates(params, jax.tree.map(lambda leaf: scale * leaf, change))
            if self.averaging:
                # Early on the mean goes over what there is, so that it does not remember how the network was drawn.
                weight = jnp.maximum(1 - self.averaging, 1 / (update + 1.0))
                averaged = optax.incremental_update(params, averaged, weight)
            return params, optimizer_state, averaged, jax.tree.map(jnp.add, sums, told)

        upright = jnp.zeros(share, jnp.int32)
        shapes = jax.eval_shape(
            lambda ring: self._gradient(learner.params, self.draw(ring, key, share), learner.games, upright)[0], learner.ring
        )
        sums = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
        start = (learner.params, learner.optimizer_state, learner.averaged, sums)
        params, optimizer_state, averaged, sums = jax.lax.fori_loop(0, number, one_update, start)
        learner = dataclasses.replace(
            learner, params=params, optimizer_state=optimizer_state, averaged=averaged, updates=learner.updates + number
        )
        finite = jnp.isfinite(jnp.stack(jax.tree.leaves(sums))).all() & jnp.isfinite(optax.tree.norm(params))
        means = {name: mean(*part) for name, part in sums.items()}
        return learner, means | {"finite": finite, "updates": learner.updates}

    def _gradient(self, params: Any, batch: Any, games: Any, which: Array) -> tuple[dict[str, Mean], Any]:
        """What is told of one step, and the gradient: means over all devices."""
        (loss, parts), gradient = jax.value_and_grad(self.loss, has_aux=True)(params, batch, games, which)
        told = {name: _as_mean(part) for name, part in {"loss": loss, **parts}.items()}
        # In one piece: between processes each array would be a message of its own, and cost as much as the whole.
        flat, restore = ravel_pytree((told, gradient))
        told, gradient = restore(jax.lax.pmean(flat, "data"))
        return told | {"gradient_norm": _as_mean(optax.tree.norm(gradient))}, gradient


def _as_mean(part: Array | Mean) -> Mean:
    """Gives what a loss tells as a mean, in float32; a number counts once."""
    total, number = part if isinstance(part, Mean) else (part, 1)
    return Mean(jnp.asarray(total, jnp.float32), jnp.asarray(number, jnp.float32))


def turned(encoder: Encoder, views: Any, per_output: Array, which: Array | None) -> tuple[Array, Array]:
    """Shows views [B] in symmetries of the game.

    Args:
      encoder: knows the symmetries.
      views: of samples.
      per_output: float32 [B, A].
      which: int32 [B], of each sample; None: all as they are.

    Returns:
      planes float32 [B, H, W, C] and numbers per output, both turned.
    """
    planes = jax.vmap(encoder.planes)(views)
    if which is None:
        return planes, per_output
    return jax.vmap(encoder.transform_planes)(planes, which), jax.vmap(encoder.transform_outputs)(per_output, which)


class Programs:
    """Compiles what works on learners, over the devices of a mesh."""

    def __init__(self, mesh: Mesh) -> None:
        same, split = PartitionSpec(), PartitionSpec("data")
        self.mesh, self.same = mesh, same
        self.learner: Any = Learner(same, same, same, same, same, split, split)  # type: ignore[arg-type]

    def spread(self, tree: Any) -> Any:
        """Lays numpy arrays, equal in all processes, out over the devices."""
        return processes.spread(tree, self.mesh, PartitionSpec("data"))

    def compile(self, function: Callable, takes: tuple[Any, ...], gives: Any) -> Callable:
        """Jits a function of one device; a learner among what it takes is used up.

        Args:
          function: what to run on each device of the axis "data".
          takes: per argument, `same` or `learner`.
          gives: likewise.
        """
        used_up = tuple(number for number, spec in enumerate(takes) if spec is self.learner)
        spread = jax.shard_map(function, mesh=self.mesh, in_specs=takes, out_specs=gives, check_vma=False)
        return jax.jit(spread, donate_argnums=used_up)


def check_holds(config: Any, step: int) -> None:
    """Raises a ValueError unless a config's buffer holds the samples of one step of all lanes."""
    if config.buffer_size < step:
        raise ValueError(f"buffer_size={config.buffer_size}: must hold one step of all lanes, {step} samples")


def check_split(mesh: Mesh, config: Any) -> int:
    """Gives the number of devices of a mesh.

    Raises:
      ValueError: a config's lanes, batch_size or buffer_size cannot be split over them, or too much is to be drawn at once.
    """
    devices: int = mesh.devices.size
    checks.split(devices, config, "lanes", "batch_size", "buffer_size")
    if config.batch_size > devices * MOST_DRAWN:
        raise ValueError(f"batch_size={config.batch_size}: must be <= {devices * MOST_DRAWN}, {MOST_DRAWN} per device")
    return devices
