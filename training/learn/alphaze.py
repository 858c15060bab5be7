"""AlphaZe**: learning from the searches of one's own games, also where something is hidden.

Two compiled programs share a learner: one plays and stores, one makes gradient steps. (Source: Bluml et al., Algorithm 3, Eq. 5
and 6.) Lanes, buffer and mini-batches are split over the devices of a mesh; parameters are the same on all.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jax.sharding import Mesh, PartitionSpec

from jaxgames import checks
from jaxgames.packing import packing_of
from search import puct
from search.planner import Planner
from search.puct import determinized
from training.learn import replay_buffer
from training.learn.replay_buffer import Ring
from training.learn.self_play import UNFINISHED, Lanes, Sample, SelfPlay
from training.models.policy_value import PolicyValue

METHODS = ("pc_pimc", "medoid", "pimc", "pimc_value")
OPTIMIZERS = ("adam", "sgd")
_LEARNING = 1 << 30  # keys of gradient steps, beside those of games
_PARTS = ("value_error", "cross_entropy", "agreement")  # of what `_loss` tells
_SHORTEST_GAME = 3  # steps: none is shorter on any board, so that outcomes are not forgotten before their samples


@dataclasses.dataclass(frozen=True)
class AlphazeConfig:
    """How to play and learn; checked when made. What the paper does on a cluster is in brackets.

    Attributes:
      method: of playing: pc_pimc, medoid, pimc or pimc_value; see `pimc`.
      true_sight_epochs: so many epochs begin with games in which the search sees everything (TSL) [6 of 10 in DarkHex 11 x 11].
      pretrain_epochs: so many epochs before those play the open game instead (section 9.2).
      num_worlds: worlds per search [12].
      num_simulations: per world [800].
      microbatch_size: games whose worlds are searched together; an accelerator wants all lanes at once.
      lanes: games at once, over all devices.
      steps: in all lanes per call of the playing program.
      epoch_samples: searches per epoch [409 600 in DarkHex].
      buffer_size: samples kept, over all devices; the oldest give way.
      epoch_updates: gradient steps per epoch.
      updates: gradient steps per call of the learning program.
      batch_size: samples per gradient step, over all devices [512].
      optimizer: adam or sgd (with Nesterov's momentum 0.9).
      learning_rate: the highest; in each epoch it rises for a quarter of the steps and falls along a cosine.
      value_weight: alpha of Eq. 5.
      weight_decay: c of Eq. 5.
      dirichlet_fraction, dirichlet_alpha: noise at the roots of self-play.
      explore_moves: in so many first attempts of each side the action is drawn by the policy; -1: a sixth of the cells.
      temperature: of that draw.
      value_temperature: of the policy to be learnt with the methods pimc and pimc_value.
      symmetries: turn the boards of each gradient step at random.
    """

    method: str = "pc_pimc"
    true_sight_epochs: int = 0
    pretrain_epochs: int = 0
    num_worlds: int = 6
    num_simulations: int = 32
    microbatch_size: int = 32
    lanes: int = 128
    steps: int = 16
    epoch_samples: int = 16_384
    buffer_size: int = 65_536
    epoch_updates: int = 256
    updates: int = 64
    batch_size: int = 256
    optimizer: str = "adam"
    learning_rate: float = 2e-3
    value_weight: float = 0.5
    weight_decay: float = 1e-4
    dirichlet_fraction: float = 0.25
    dirichlet_alpha: float = 0.3
    explore_moves: int = -1
    temperature: float = 1.0
    value_temperature: float = 0.1
    symmetries: bool = True

    def __post_init__(self) -> None:
        for name, choices in (("method", METHODS), ("optimizer", OPTIMIZERS)):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name}={getattr(self, name)!r}: must be one of {', '.join(choices)}")
        counts = ("num_worlds", "num_simulations", "microbatch_size", "lanes", "steps", "epoch_samples")
        checks.at_least(1, self, *counts, "epoch_updates", "updates", "batch_size")
        checks.at_least(0, self, "true_sight_epochs", "pretrain_epochs")
        checks.at_least(-1, self, "explore_moves")
        checks.numbers(self, "value_weight", "weight_decay", "temperature", "value_temperature")
        checks.numbers(self, "learning_rate", "dirichlet_alpha", positive=True)
        checks.shares(self, "dirichlet_fraction")
        if self.buffer_size < max(self.batch_size, self.lanes):
            raise ValueError(
                f"buffer_size={self.buffer_size}: must be at least batch_size={self.batch_size} and lanes={self.lanes}"
            )
        if self.epoch_updates % self.updates:
            raise ValueError(f"epoch_updates={self.epoch_updates}: must be a multiple of updates={self.updates}")


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Learner:
    """All that changes while learning.

    Attributes:
      params, optimizer_state: the same on all devices.
      updates: int32 [], gradient steps so far.
      samples: int32 [], searches so far.
      ring: the buffers of all devices.
      lanes: the games of all devices.
    """

    params: Any
    optimizer_state: Any
    updates: Array
    samples: Array
    ring: Ring
    lanes: Lanes


def _search_settings(config: AlphazeConfig, noise: bool) -> puct.Settings:
    """How one world is searched, with noise at the root or without."""
    return dataclasses.replace(
        puct.ALPHAZE,
        num_simulations=config.num_simulations,
        dirichlet_fraction=config.dirichlet_fraction if noise else 0.0,
        dirichlet_alpha=config.dirichlet_alpha,
    )


def make_player(config: AlphazeConfig, who: PolicyValue, *, noise: bool = False, temperature: float = 0.0) -> Planner:
    """Makes the planner that a method plays with; params of its plans are those of the network.

    Args:
      config: the method and its budget.
      who: the network.
      noise: at the roots, for self-play.
      temperature: of the final choice.
    """
    combine = {"pc_pimc": "policy", "medoid": "medoid", "pimc": "value", "pimc_value": "value"}[config.method]
    settings = determinized.Settings(
        combine=combine,
        num_worlds=config.num_worlds,
        microbatch_size=config.microbatch_size,
        search=_search_settings(config, noise),
        temperature=temperature,
        value_temperature=config.value_temperature if noise or temperature else 0.0,
    )
    make = determinized.pimc_value if config.method == "pimc_value" else determinized.pimc_tree
    return make(who.game, who.evaluate, settings)


class Alphaze:
    """The compiled programs; holds nothing that changes.

    Attributes:
      init: `init(key, params) -> Learner`.
      play: by kind (fair, true_sight, or open: the game with nothing hidden): `play(key, params, learner) -> (learner, metrics)`:
        games with the search of these parameters. The learner given is used up, the params are not.
      restart: `restart(key, learner) -> learner`: gives up all games and begins new ones, between kinds that play another game.
      learn: `learn(key, learner) -> (learner, metrics)`: gradient steps; the learner given is used up.
    """

    def __init__(self, config: AlphazeConfig, who: PolicyValue, mesh: Mesh) -> None:
        """Binds everything static.

        Args:
          config: how to play and learn.
          who: the network that learns.
          mesh: one axis "data".

        Raises:
          ValueError: numbers that cannot be split over the devices.
        """
        devices = mesh.devices.size
        checks.split(devices, config, "lanes", "batch_size", "buffer_size")
        self.config, self.who, self.devices = config, who, devices
        moves = config.explore_moves if config.explore_moves >= 0 else max(who.game.num_arms // 6, 1)
        capacity, lanes = config.buffer_size // devices, config.lanes // devices
        # Steps of all lanes since the oldest game of the buffer began, as games; what is at work, and what a restart adds.
        remembered = (capacity + lanes * who.game.max_steps) // _SHORTEST_GAME + 3 * lanes
        self.games = SelfPlay(
            who.game,
            lanes=lanes,
            remembered=remembered,
            num_devices=devices,
            explore_steps=who.game.num_players * moves,
            temperature=config.temperature,
        )
        self.packing = packing_of(jax.eval_shape(self.games.example))
        self.optimizer = self._optimizer()
        open_games = dataclasses.replace(self.games, game=who.game.open_game)
        search = _search_settings(config, noise=True)
        ways = {
            "fair": (self.games, make_player(config, who, noise=True)),
            "true_sight": (self.games, determinized.true_sight(who.game, who.evaluate, search)),
            "open": (open_games, determinized.true_sight(who.game.open_game, who.evaluate, search)),
        }
        same, split = PartitionSpec(), PartitionSpec("data")
        fields: list[Any] = [same] * 4 + [split] * 2
        specs = Learner(*fields)
        self.init = jax.jit(jax.shard_map(self._init, mesh=mesh, in_specs=same, out_specs=specs, check_vma=False))
        self.play = {
            kind: jax.jit(
                jax.shard_map(
                    functools.partial(self._play, *way),
                    mesh=mesh,
                    in_specs=(same, same, specs),
                    out_specs=(specs, same),
                    check_vma=False,
                ),
                donate_argnums=(2,),
            )
            for kind, way in ways.items()
        }
        self.restart = jax.jit(
            jax.shard_map(self._restart, mesh=mesh, in_specs=(same, specs), out_specs=specs, check_vma=False),
            donate_argnums=(1,),
        )
        self.learn = jax.jit(
            jax.shard_map(self._learn, mesh=mesh, in_specs=(same, specs), out_specs=(specs, same), check_vma=False),
            donate_argnums=(1,),
        )

    def kind(self, epoch: int) -> str:
        """Says how games of an epoch (from 0) are played."""
        config = self.config
        if epoch < config.pretrain_epochs:
            return "open"
        return "true_sight" if epoch < config.pretrain_epochs + config.true_sight_epochs else "fair"

    def _optimizer(self) -> optax.GradientTransformation:
        """The direction of a step; `_rate` gives its length."""
        if self.config.optimizer == "adam":
            return optax.scale_by_adam()
        return optax.trace(0.9, nesterov=True)

    def _rate(self, update: Array) -> Array:
        """The learning rate of a gradient step: up for a quarter of each epoch, then down."""
        part = (update % self.config.epoch_updates + 0.5) / self.config.epoch_updates
        fall = 0.5 * (1 + jnp.cos(jnp.pi * (part - 0.25) / 0.75))
        return self.config.learning_rate * jnp.where(part < 0.25, part / 0.25, 0.01 + 0.99 * fall)

    def _init(self, key: Array, params: Any) -> Learner:
        zero = jnp.int32(0)
        return Learner(
            params=params,
            optimizer_state=self.optimizer.init(params),
            updates=zero,
            samples=zero,
            ring=replay_buffer.init(self.config.buffer_size // self.devices, self.packing.num_words),
            lanes=self.games.start(key, jax.lax.axis_index("data")),
        )

    def _restart(self, key: Array, learner: Learner) -> Learner:
        return dataclasses.replace(learner, lanes=self.games.restart(key, jax.lax.axis_index("data"), learner.lanes))

    def _play(
        self, games: SelfPlay, planner: Planner, key: Array, params: Any, learner: Learner
    ) -> tuple[Learner, dict[str, Array]]:
        """Plays some steps in all lanes and stores the searches."""
        device = jax.lax.axis_index("data")

        def step(carry: tuple[Lanes, Any, Ring], _: None) -> tuple[tuple[Lanes, Any, Ring], dict[str, Array]]:
            lanes, memory, samples = carry
            lanes, memory, sample, counts = games.step(key, device, planner, params, memory, lanes)
            rows = jax.vmap(self.packing.pack)(sample)
            return (lanes, memory, replay_buffer.add(samples, rows, jnp.ones(len(rows), bool))), counts

        begin = (learner.lanes, planner.init(games.lanes), learner.ring)
        (lanes, _, samples), counts = jax.lax.scan(step, begin, length=self.config.steps)
        seen = jax.lax.psum(jax.tree.map(lambda count: count.sum(0), counts), "data")
        learner = dataclasses.replace(learner, lanes=lanes, ring=samples, samples=learner.samples + seen["searches"])
        searches, ended = jnp.maximum(seen["searches"], 1), jnp.maximum(seen["games"], 1)
        return learner, {
            "samples": learner.samples,
            "games": seen["games"],
            "policy_entropy": seen["entropy"] / searches,
            "root_value": seen["root_value"] / searches,
            "mean_length": seen["length"] / ended,
            "first_player_wins": seen["first_wins"] / ended,
        }

    def _learn(self, key: Array, learner: Learner) -> tuple[Learner, dict[str, Array]]:
        """Makes gradient steps."""
        device = jax.lax.axis_index("data")
        share = self.config.batch_size // self.devices

        def one(index: Array, carry: tuple[Any, Any, Array]) -> tuple[Any, Any, Array]:
            params, state, sums = carry
            update = learner.updates + index
            update_key = jax.random.fold_in(jax.random.fold_in(key, _LEARNING), update)
            rows = replay_buffer.sample(learner.ring, jax.random.fold_in(update_key, device), share)
            batch = jax.vmap(self.packing.unpack)(rows)
            which = jax.random.randint(jax.random.fold_in(update_key, _LEARNING), (), 0, self._symmetries)
            results = learner.lanes.outcomes[batch.number % self.games.remembered]
            (loss, parts), gradient = jax.value_and_grad(self._loss, has_aux=True)(params, batch, results, which)
            loss, parts, gradient = jax.lax.pmean((loss, parts, gradient), "data")
            change, state = self.optimizer.update(gradient, state, params)
            rate = self._rate(update)
            params = optax.apply_updates(params, jax.tree.map(lambda leaf: -rate * leaf, change))
            seen = jnp.stack([loss, optax.tree.norm(gradient), *(parts[name] for name in _PARTS)])
            return params, state, sums + seen

        start = (learner.params, learner.optimizer_state, jnp.zeros(2 + len(_PARTS)))
        params, state, sums = jax.lax.fori_loop(0, self.config.updates, one, start)
        learner = dataclasses.replace(
            learner, params=params, optimizer_state=state, updates=learner.updates + self.config.updates
        )
        means = dict(zip(("loss", "gradient_norm", *_PARTS), sums / self.config.updates, strict=True))
        return learner, means | {
            "finite": jnp.isfinite(sums).all() & jnp.isfinite(optax.tree.norm(params)),
            "updates": learner.updates,
        }

    @property
    def _symmetries(self) -> int:
        return self.who.game.num_symmetries if self.config.symmetries else 1

    def _loss(self, params: Any, batch: Sample, results: Array, which: Array) -> tuple[Array, dict[str, Array]]:
        """Eq. 5; samples of games that are not over count for the policy alone."""
        game, config = self.who.game, self.config
        player = batch.player.astype(jnp.int32)
        planes = jax.vmap(game.input_planes)(batch.state, player)
        policy = jax.vmap(game.orient)(batch.policy.astype(jnp.float32), player)
        planes, policy = game.symmetry(planes, policy, which)
        logits, value = self.who.network.apply(params, planes)
        result = jnp.take_along_axis(results, player[:, None], 1)[:, 0]
        over = result != UNFINISHED
        error = jnp.where(over, jnp.square(result - value), 0.0).sum() / jnp.maximum(over.sum(), 1)
        entropy = optax.softmax_cross_entropy(logits, policy).mean()
        decay = sum(jnp.square(leaf).sum() for leaf in jax.tree.leaves(params))
        agreement = (logits.argmax(-1) == policy.argmax(-1)).mean()
        loss = config.value_weight * error + entropy + config.weight_decay * decay
        return loss, {"value_error": error, "cross_entropy": entropy, "agreement": agreement}
