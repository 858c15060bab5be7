"""Learning to guess what is hidden: games of a player against itself, in which the truth is known afterwards.

Whoever is to move is shown to the network, and what was hidden from it is the target: cross-entropy over the places that hide
something. So it learns how those who play hold and move their pieces.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from jax.sharding import Mesh

from jaxgames import checks
from jaxgames.agent import Agent
from jaxgames.turns import moves_at_once
from training.learn.dealing import deal_rows, first_not_begun
from training.learn.learner import Learner, Mean, Programs, Updates, check_split, mean
from training.models.guess import Guess
from training.play.lanes import Lanes, Pool, fold

_ACT, _CHANCE = range(2)  # children of the key of a step


@dataclasses.dataclass(frozen=True)
class GuessingConfig:
    """How to play and learn; checked when made.

    Attributes:
      player: who plays both sides, by name; "": the usual opponent of the game.
      lanes: games at once, over all devices.
      steps: in all lanes per iteration.
      updates: gradient steps per iteration.
      batch_size: samples per gradient step, over all devices.
      buffer_size: samples kept, over all devices; the oldest give way.
      learning_rate: of Adam.
      symmetries: mirror the boards of each gradient step at random.
    """

    player: str = ""
    lanes: int = 128
    steps: int = 64
    updates: int = 32
    batch_size: int = 256
    buffer_size: int = 131_072
    learning_rate: float = 1e-3
    symmetries: bool = True

    def __post_init__(self) -> None:
        checks.at_least(1, self, "lanes", "steps", "updates", "batch_size")
        checks.below(checks.COUNTS, self, "steps", "updates")
        checks.numbers(self, "learning_rate", positive=True)
        for name in ("batch_size", "lanes"):
            if self.buffer_size < getattr(self, name):
                raise ValueError(f"buffer_size={self.buffer_size}: must be at least {name}={getattr(self, name)}")


class Sample(NamedTuple):
    """One player before its move.

    Attributes:
      view: what it sees.
      secrets: int8 [H * W], what is hidden from it.
    """

    view: Any
    secrets: Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Games:
    """Games at work on one device, and what their player remembers, see `Guessing.seats_asked`."""

    lanes: Lanes
    memory: Any


class Guessing:
    """The compiled program; holds nothing that changes.

    Attributes:
      init: `init(key, params) -> Learner`; its progress counts `samples`.
      iterate: `iterate(key, learner) -> (learner, metrics)`; the learner given is used up.
      rate: `rate(key, params) -> metrics`: `cross_entropy` per hidden place and the share `guessed` right, in as many games as
        there are lanes, from their starts to their ends.
      deal: `deal(key, learner) -> learner`: of another number of devices, its rings and games of numpy, as saved.
      seats_asked: how many seats of a game the player is asked for at once: all if it remembers something, as a side must not
        read what the other has believed and found; else the one to move.
    """

    def __init__(self, config: GuessingConfig, who: Guess, player: Agent, mesh: Mesh) -> None:
        """Binds everything static.

        Args:
          config: how to play and learn.
          who: the network.
          player: who plays.
          mesh: one axis "data".

        Raises:
          ValueError: all move at once, or numbers that cannot be split over the devices.
        """
        devices = check_split(mesh, config)
        if moves_at_once(who.game):
            raise ValueError(f"game={who.game.name!r}: all move at once; what is guessed belongs to who is to move")
        self.config, self.who, self.player = config, who, player
        remembers = jax.tree.leaves(jax.eval_shape(lambda: player.init(1)))
        self.seats_asked = who.game.num_players if remembers else 1
        self.pool = Pool(who.game, config.lanes // devices, devices, informed=not player.sees_state)
        self.updates = Updates(
            self._loss,
            optax.adam(config.learning_rate),
            jax.eval_shape(self._example),
            config.batch_size,
            config.buffer_size,
            devices,
            who.encoder.num_symmetries if config.symmetries else 1,
        )
        programs = Programs(mesh)
        same, learner = programs.same, programs.learner
        self.init = programs.compile(self._init, (same, same), learner)
        self.iterate = programs.compile(self._iterate, (same, learner), (learner, same))
        self.rate = programs.compile(self._rate, (same, same), same)
        begin = programs.compile(self._begin, (same, same, learner), learner)

        def deal(key: Array, learner: Learner) -> Learner:
            first = first_not_begun(learner.games.lanes.next_number, devices)
            ring = programs.spread(deal_rows(learner.ring, devices, config.buffer_size // devices))
            dealt: Learner = begin(key, np.int32(first), dataclasses.replace(learner, ring=ring, games=()))
            return dealt

        self.deal = deal

    def _example(self) -> Sample:
        return self._sample(self.who.game.init(jax.random.key(0)), jnp.int32(0))

    def _sample(self, state: Any, seat: Array) -> Sample:
        seen = self.who.encoder.view(state, seat)  # what the player observes, as these encoders do
        return Sample(seen, self.who.game.secrets(state, seen))

    def _init(self, key: Array, params: Any) -> Learner:
        return self._begin(key, jnp.int32(0), self.updates.init(params, (), samples=jnp.int32(0)))

    def _begin(self, key: Array, first: Array, learner: Learner) -> Learner:
        """Begins games, `first` the lowest number of all devices."""
        return dataclasses.replace(learner, games=self._start(key, first))

    def _start(self, key: Array, first: Array | int = 0) -> Games:
        lanes = self.pool.start(key, jax.lax.axis_index("data"), first)
        return Games(lanes, self.player.init(self.seats_asked * self.pool.lanes))

    def _iterate(self, key: Array, learner: Learner) -> tuple[Learner, dict[str, Array]]:
        def step(carry: tuple, _: None) -> tuple[tuple, Array]:
            games, ring = carry
            everywhere = jnp.ones(self.pool.lanes, bool)
            games, sample, ended = self._step(key, games, everywhere)
            lanes = self.pool.refill(key, games.lanes, ended)[0]
            memory = self.player.reset(games.memory, jnp.tile(ended, self.seats_asked))
            games = Games(lanes, memory)
            return (games, self.updates.store(ring, sample, everywhere)), ended

        (games, ring), ended = jax.lax.scan(step, (learner.games, learner.ring), length=self.config.steps)
        told = {
            "samples": learner.progress["samples"] + self.config.lanes * self.config.steps,
            "games": jax.lax.psum(ended.sum(dtype=jnp.int32), "data"),
        }
        learner = dataclasses.replace(learner, games=games, ring=ring, progress={"samples": told["samples"]})
        learner, learnt = self.updates.learn(key, learner, self.config.updates)
        return learner, told | learnt

    def _step(self, key: Array, games: Games, active: Array) -> tuple[Games, Sample, Array]:
        """Plays one step in the active lanes, bool [L]; gives samples [L] and the games that are over, bool [L]."""
        pool, game, lanes = self.pool, self.who.game, games.lanes
        keys = pool.step_keys(key, lanes)
        seats = jax.vmap(game.to_play)(lanes.states).astype(jnp.int32)
        samples = jax.vmap(self._sample)(lanes.states, seats)
        actions, memory = self._act(fold(keys, _ACT), games, seats, active)
        lanes = pool.step(lanes, actions, fold(keys, _CHANCE))
        return Games(lanes, memory), samples, lanes.states.terminated

    def _act(self, keys: Array, games: Games, movers: Array, active: Array) -> tuple[Array, Any]:
        """Asks the player for who is to move: actions int32 [L, P], and its memory."""
        pool, game, player = self.pool, self.who.game, self.player
        every = jnp.arange(game.num_players)
        seats = jnp.tile(every[:, None], (1, pool.lanes)).astype(jnp.int32) if self.seats_asked > 1 else movers[None]
        asked = active & (seats == movers)
        views = pool.views(games.lanes, player.sees_state, seats)
        each = jnp.concatenate([keys, *(fold(keys, number) for number in range(1, len(seats)))])
        chosen, memory = player.act(player.params, each, games.memory, views, seats.reshape(-1), asked.reshape(-1))
        own = jnp.where(asked, chosen.reshape(seats.shape), 0).sum(0)
        return jnp.where(every == movers[:, None], own[:, None], game.pass_action).astype(jnp.int32), memory

    def _rate(self, key: Array, params: Any) -> dict[str, Array]:
        """`rate` on one device of the axis "data"."""

        def step(carry: tuple) -> tuple:
            games, playing, sums = carry
            games, samples, ended = self._step(key, games, playing)
            secrets = jnp.where(playing[:, None], samples.secrets, -1)  # nothing is hidden from who has played to the end
            told = self._told(params, jax.vmap(self.who.encoder.planes)(samples.view), secrets)
            return games, playing & ~ended, jax.tree.map(jnp.add, sums, told)

        sums = (jnp.float32(0), jnp.int32(0), jnp.int32(0))
        start = (self._start(key), jnp.ones(self.pool.lanes, bool), sums)
        _, _, sums = jax.lax.while_loop(lambda carry: carry[1].any(), step, start)
        cross_entropy, right, count = jax.lax.psum(sums, "data")
        return {"cross_entropy": mean(cross_entropy, count), "guessed": mean(right, count)}

    def _loss(self, params: Any, batch: Sample, games: Any, which: Array) -> tuple[Array, dict[str, Any]]:
        del games
        encoder = self.who.encoder
        planes = jax.vmap(encoder.planes)(batch.view)
        secrets = batch.secrets
        if self.config.symmetries:
            boards = secrets.reshape(-1, *encoder.shape[:2], 1).astype(jnp.float32)
            planes, boards = (jax.vmap(encoder.transform_planes)(each, which) for each in (planes, boards))
            secrets = boards.reshape(secrets.shape).astype(secrets.dtype)
        cross_entropy, right, count = self._told(params, planes, secrets)
        found = Mean(cross_entropy, count)
        return found.over_devices(), {"loss": found, "agreement": Mean(right, count)}

    def _told(self, params: Any, planes: Array, secrets: Array) -> tuple[Array, Array, Array]:
        """Sums over hidden places of secrets int8 [B, H * W]: of the cross-entropy, of those guessed right, and their number."""
        log_probs = self.who.log_probs(params, planes)
        here = secrets[..., None] == jnp.arange(self.who.game.num_secrets, dtype=secrets.dtype)
        right = (log_probs == log_probs.max(-1, keepdims=True)) & here
        return -jnp.where(here, log_probs, 0.0).sum(), right.sum(), here.sum()
