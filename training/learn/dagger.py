"""Learning to play by imitating an oracle: one compiled program that plays, plans, stores and learns.

DAgger: the follower plays all seats and the oracle labels every state it meets. Cloning: the oracle plays. (Source: Boney et
al., Algorithm 1 and section IV.) Lanes, buffer and mini-batches are split over the devices of a mesh; parameters are the same
on all.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jax.sharding import Mesh, PartitionSpec

from jaxgames import checks
from jaxgames.packing import packing_of
from search.planner import Plan, Planner
from training.learn import replay_buffer, symmetry
from training.learn.episodes import STOP_RULES, EpisodeRules, Episodes
from training.learn.replay_buffer import Ring
from training.models.follower import Follower, masked_log_softmax

METHODS = ("dagger", "cloning")
TARGETS = ("best", "first_best", "values")
_LEARNING = 1 << 30  # keys of gradient steps, beside those of episodes


@dataclasses.dataclass(frozen=True)
class DaggerConfig:
    """How a follower learns; checked when made. The defaults are the paper's where it names a number.

    Attributes:
      method: who plays the episodes: dagger (the follower itself) or cloning (the oracle).
      episodes: how many.
      lanes: episodes at once, over all devices.
      steps: steps in all lanes per iteration.
      updates_per_step: gradient steps per step of one episode.
      batch_size: samples per gradient step, over all devices.
      learning_rate: of Adam.
      final_rate: the learning rate falls in a line with the episodes that are over, to this part of itself; 1: it stays.
      buffer_size: samples kept, over all devices; the oldest give way.
      target: what is imitated: best (evenly among the oracle's best arms), first_best (the first of them, as the released
        code) or values (a softmax of its posterior means).
      temperature: of that softmax.
      advantage_weight: weigh samples by how much the choice matters (the oracle's best value less the mean over legal arms), with
        this much added to the weight of all; 0: all weigh the same, as in the paper.
      averaging: the parameters that are evaluated and kept are a running mean with this decay per gradient step; 0: the last
        ones, as in the paper.
      value_weight: of the squared error of the value, if the network has one.
      symmetries: turn and mirror the boards of each gradient step at random.
      stop_rule: unchanged, released or off; see `episodes.EpisodeRules`.
      stop_without_bomb: end an episode after more steps than this without a bomb; 0: never.
    """

    method: str = "dagger"
    episodes: int = 500
    lanes: int = 64
    steps: int = 8
    updates_per_step: float = 1.0
    batch_size: int = 32
    learning_rate: float = 1e-3
    final_rate: float = 1.0
    buffer_size: int = 100_000
    target: str = "best"
    temperature: float = 0.05
    advantage_weight: float = 0.0
    averaging: float = 0.0
    value_weight: float = 0.5
    symmetries: bool = False
    stop_rule: str = "unchanged"
    stop_without_bomb: int = 40

    def __post_init__(self) -> None:
        for name, choices in (("method", METHODS), ("target", TARGETS), ("stop_rule", STOP_RULES)):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name}={getattr(self, name)!r}: must be one of {', '.join(choices)}")
        checks.at_least(1, self, "episodes", "lanes", "steps", "batch_size")
        checks.numbers(self, "updates_per_step", "value_weight", "advantage_weight", "stop_without_bomb")
        checks.shares(self, "final_rate")
        if not 0 <= self.averaging < 1:
            raise ValueError(f"averaging={self.averaging}: must be at least 0 and below 1")
        checks.numbers(self, "learning_rate", "temperature", positive=True)
        if self.buffer_size < self.batch_size:
            raise ValueError(f"buffer_size={self.buffer_size}: must be at least batch_size={self.batch_size}")


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Sample:
    """One labelled view.

    Attributes:
      observation: what the player saw.
      target: float32 [K], the distribution to imitate.
      value: float32 [], the oracle's.
      weight: float32 [], how much the choice matters: the oracle's best value less the mean over legal arms.
    """

    observation: Any
    target: Array
    value: Array
    weight: Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Learner:
    """All that changes while learning.

    Attributes:
      params, optimizer_state: the same on all devices.
      averaged: running mean of the parameters over gradient steps, with which a follower plays best.
      updates: int32 [], gradient steps so far.
      owed: float32 [], gradient steps not yet made.
      steps: int32 [], steps of all episodes so far.
      ended: int32 [], episodes that are over.
      ring: the buffers of all devices.
      episodes: the lanes of all devices.
    """

    params: Any
    optimizer_state: Any
    averaged: Any
    updates: Array
    owed: Array
    steps: Array
    ended: Array
    ring: Ring
    episodes: Episodes


class Dagger:
    """The compiled program; holds nothing that changes.

    Attributes:
      init: `init(key, params) -> Learner`.
      iterate: `iterate(key, oracle_params, learner) -> (learner, metrics)`; the learner given is used up.
    """

    init: Callable[[Array, Any], Learner]
    iterate: Callable[[Array, Any, Learner], tuple[Learner, dict[str, Array]]]

    def __init__(self, config: DaggerConfig, follower: Follower, oracle: Planner, mesh: Mesh) -> None:
        """Binds everything static.

        Args:
          config: how to learn.
          follower: who learns.
          oracle: who labels; a planner for all seats.
          mesh: one axis "data".

        Raises:
          ValueError: numbers that cannot be split over the devices.
        """
        devices = mesh.devices.size
        checks.split(devices, config, "lanes", "batch_size", "buffer_size")
        if config.episodes < devices:
            raise ValueError(f"episodes={config.episodes}: must be at least the {devices} devices")
        players = follower.game.num_players
        if config.buffer_size < config.lanes * players:
            raise ValueError(
                f"buffer_size={config.buffer_size}: must hold one step of all lanes, {config.lanes * players} samples"
            )
        self.config, self.follower, self.devices = config, follower, devices
        self.rules = EpisodeRules(
            follower.game,
            oracle,
            config.episodes,
            config.lanes // devices,
            devices,
            config.stop_rule,
            config.stop_without_bomb,
        )
        self.optimizer = optax.adam(config.learning_rate)
        self.packing = packing_of(jax.eval_shape(self._example, jax.random.key(0)))
        same, split = PartitionSpec(), PartitionSpec("data")
        fields: list[Any] = [same] * 7 + [split] * 2  # the buffers and the lanes differ from device to device
        specs = Learner(*fields)
        self.init = jax.jit(jax.shard_map(self.local_init, mesh=mesh, in_specs=same, out_specs=specs, check_vma=False))
        self.iterate = jax.jit(
            jax.shard_map(self.local_iterate, mesh=mesh, in_specs=(same, same, specs), out_specs=(specs, same), check_vma=False),
            donate_argnums=(2,),
        )

    def _example(self, key: Array) -> Sample:
        game = self.follower.game
        return Sample(game.observe(game.init(key), jnp.int32(0)), jnp.zeros(game.num_arms), jnp.float32(0), jnp.float32(0))

    def local_init(self, key: Array, params: Any) -> Learner:
        """`init` on one device of the axis "data"."""
        zero = jnp.int32(0)
        return Learner(
            params=params,
            optimizer_state=self.optimizer.init(params),
            averaged=params,
            updates=zero,
            owed=jnp.float32(0),
            steps=zero,
            ended=zero,
            ring=replay_buffer.init(self.config.buffer_size // self.devices, self.packing.num_words),
            episodes=self.rules.start(key, jax.lax.axis_index("data")),
        )

    def local_iterate(self, key: Array, oracle_params: Any, learner: Learner) -> tuple[Learner, dict[str, Array]]:
        """`iterate` on one device of the axis "data"."""

        def one_step(_, carry):
            episodes, samples, seen = carry
            episodes, samples, more = self._play(key, learner.params, oracle_params, episodes, samples)
            return episodes, samples, jax.tree.map(jnp.add, seen, more)

        nothing = jax.tree.map(
            lambda leaf: jnp.zeros(leaf.shape, leaf.dtype),
            jax.eval_shape(lambda: self._play(key, learner.params, oracle_params, learner.episodes, learner.ring)[2]),
        )
        episodes, samples, seen = jax.lax.fori_loop(0, self.config.steps, one_step, (learner.episodes, learner.ring, nothing))
        seen = jax.lax.psum(seen, "data")
        owed = learner.owed + self.config.updates_per_step * seen["steps"]
        number = jnp.floor(owed).astype(jnp.int32)
        learner = dataclasses.replace(
            learner,
            episodes=episodes,
            ring=samples,
            owed=owed - number,
            steps=learner.steps + seen["steps"],
            ended=learner.ended + seen["ended"],
        )
        learner, losses = self._learn(key, learner, number)
        return learner, self._metrics(seen, losses, number, learner)

    def _play(self, key, params, oracle_params, episodes: Episodes, samples: Ring):
        """One step in all lanes of a device: look, plan, store, act. Returns also counts to add up."""
        game, rules = self.follower.game, self.rules
        lanes, players = rules.lanes, game.num_players
        keys = rules.step_keys(key, episodes)
        plan, episodes = rules.label(oracle_params, keys, episodes)
        seats = jnp.arange(players)
        views = jax.vmap(lambda state: jax.vmap(lambda seat: game.observe(state, seat))(seats))(episodes.states)
        views = jax.tree.map(lambda leaf: leaf.reshape(lanes * players, *leaf.shape[2:]), views)
        log_policy = self.follower.policy(params, views).reshape(lanes, players, -1)
        target = self._target(plan)
        act_keys = jax.vmap(lambda k: jax.random.fold_in(k, 3))(keys)
        noise = jax.vmap(lambda k: jax.random.gumbel(k, log_policy.shape[1:]))(act_keys)
        choice = jnp.argmax(plan.action_weights, -1)  # of the oracle, for the stop rule
        drawn = jnp.argmax(log_policy + noise, -1)
        actions = jnp.take_along_axis(plan.arms, drawn[..., None], -1)[..., 0]
        if self.config.method == "cloning":
            actions = plan.actions
        living = jax.vmap(game.in_play)(episodes.states) & rules.busy(episodes)[:, None]
        actions = jnp.where(living, actions, game.pass_action)

        sample = Sample(
            views, target.reshape(lanes * players, -1), plan.root_value.reshape(-1), _advantage(plan.qvalues).reshape(-1)
        )
        samples = replay_buffer.add(samples, jax.vmap(self.packing.pack)(sample), living.reshape(-1))
        busy = rules.busy(episodes)
        episodes, ended = rules.advance(key, keys, episodes, actions, choice)
        arm = jnp.argmax(log_policy, -1)
        agrees = jnp.take_along_axis(plan.action_weights, arm[..., None], -1)[..., 0] > 0
        entropy = -(jnp.exp(log_policy) * log_policy).sum(-1)
        counts = {
            "steps": busy.sum(dtype=jnp.int32),
            "ended": ended.sum(dtype=jnp.int32),
            "samples": living.sum(dtype=jnp.int32),
            "agreed": (agrees & living).sum(dtype=jnp.int32),
            "entropy": jnp.where(living, entropy, 0.0).sum(),
            "arms": ((plan.arms == actions[..., None]) & living[..., None]).sum((0, 1), dtype=jnp.int32),
            "oracle_arms": jnp.where(living[..., None], plan.action_weights, 0.0).sum((0, 1)),
        }
        return episodes, samples, counts

    def _target(self, plan: Plan) -> Array:
        """float32 [L, P, K]."""
        if self.config.target == "best":
            return plan.action_weights
        if self.config.target == "first_best":
            return jax.nn.one_hot(jnp.argmax(plan.action_weights, -1), plan.action_weights.shape[-1])
        legal = _is_legal(plan.qvalues)
        return jnp.exp(masked_log_softmax(plan.qvalues / self.config.temperature, legal))

    def _learn(self, key: Array, learner: Learner, number: Array) -> tuple[Learner, Array]:
        """Makes some gradient steps. Returns the sums of loss, cross-entropy, squared gradient norm, and steps not finite."""
        device = jax.lax.axis_index("data")
        share = self.config.batch_size // self.devices
        passed = jnp.minimum(learner.ended / self.config.episodes, 1.0)
        scale = 1 + (self.config.final_rate - 1) * passed

        def one_update(index, carry):
            params, optimizer_state, averaged, sums = carry
            update = learner.updates + index
            update_key = jax.random.fold_in(jax.random.fold_in(key, _LEARNING), update)
            rows = replay_buffer.sample(learner.ring, jax.random.fold_in(update_key, device), share)
            batch = jax.vmap(self.packing.unpack)(rows)
            which = jax.random.randint(jax.random.fold_in(update_key, _LEARNING), (), 0, symmetry.NUM_SYMMETRIES)
            (loss, entropy), gradient = jax.value_and_grad(self._loss, has_aux=True)(params, batch, which)
            loss, entropy, gradient = jax.lax.pmean((loss, entropy, gradient), "data")
            change, optimizer_state = self.optimizer.update(gradient, optimizer_state)
            norm = optax.tree.norm(gradient)
            bad = ~(jnp.isfinite(loss) & jnp.isfinite(norm))
            sums = sums + jnp.stack([loss, entropy, norm, bad.astype(jnp.float32)])
            params = optax.apply_updates(params, jax.tree.map(lambda leaf: scale * leaf, change))
            # Early on the mean goes over what there is, so that it does not remember how the network was drawn.
            weight = jnp.maximum(1 - self.config.averaging, 1 / (update + 1.0))
            return params, optimizer_state, optax.incremental_update(params, averaged, weight), sums

        start = (learner.params, learner.optimizer_state, learner.averaged, jnp.zeros(4))
        params, optimizer_state, averaged, sums = jax.lax.fori_loop(0, number, one_update, start)
        learner = dataclasses.replace(
            learner,
            params=params,
            optimizer_state=optimizer_state,
            averaged=averaged,
            updates=learner.updates + number,
        )
        return learner, sums

    def _loss(self, params: Any, batch: Sample, which: Array) -> tuple[Array, Array]:
        planes = jax.vmap(self.follower.planes.compute)(batch.observation)
        target = batch.target
        if self.config.symmetries:
            planes, target = symmetry.turn(planes, target, which, self.follower.planes.first_direction)
        logits, value = self.follower.network.apply(params, planes)
        entropies = optax.softmax_cross_entropy(logits, target)
        if self.config.advantage_weight:
            weight = batch.weight + self.config.advantage_weight
            entropies = entropies * weight / weight.mean()
        entropy = entropies.mean()
        # The oracle's value is a probability to win against losing; the network's lies in [-1, 1].
        error = jnp.square(value - (2 * batch.value - 1)).mean()
        return entropy + self.config.value_weight * error, entropy

    def _metrics(self, seen: dict[str, Array], losses: Array, number: Array, learner: Learner) -> dict[str, Array]:
        samples = jnp.maximum(seen["samples"], 1)
        loss, entropy, norm, bad = losses / jnp.maximum(number, 1)
        return {
            "loss": loss,
            "cross_entropy": entropy,
            "gradient_norm": norm,
            "finite": (bad == 0) & jnp.isfinite(optax.tree.norm(learner.params)),
            "agreement": seen["agreed"] / samples,
            "entropy": seen["entropy"] / samples,
            "arms": seen["arms"] / samples,
            "oracle_arms": seen["oracle_arms"] / samples,
            "episodes": learner.ended,
            "steps": learner.steps,
            "updates": learner.updates,
            "new_steps": seen["steps"],
            "new_samples": seen["samples"],
            "buffer": jax.lax.psum(learner.ring.size[0], "data"),
        }


def _is_legal(values: Array) -> Array:
    """The oracle gives illegal arms the value -1; means of wins lie in [0, 1]."""
    return values >= 0


def _advantage(values: Array) -> Array:
    """Best value less the mean over legal arms: float32 [..., K] -> [...]."""
    legal = _is_legal(values)
    mean = jnp.where(legal, values, 0.0).sum(-1) / jnp.maximum(legal.sum(-1), 1)
    return values.max(-1) - mean
