"""Episodes from which a follower learns: lanes with a game, the oracle's search tree and rules that end it early."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.pommerman import Pommerman
from jaxgames.pommerman.constants import Move
from search.planner import Plan, Planner, where_lanes

WINDOW = 10  # steps over which the oracle's choices are compared
STOP_RULES = ("off", "unchanged", "released")


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Episodes:
    """L lanes at work.

    Attributes:
      states: State [L].
      memory: the oracle's trees.
      number: int32 [L], which episode; the number of episodes or more where none is left.
      clock: int32 [L], steps played.
      recent: int8 [L, 10, P], the oracle's choices in the last steps, in a ring over `clock`.
      quiet: int32 [L], steps since somebody laid a bomb.
      next_number: int32 [1], the next episode of this device to begin.
    """

    states: Any
    memory: Any
    number: Array
    clock: Array
    recent: Array
    quiet: Array
    next_number: Array


@dataclasses.dataclass(frozen=True)
class EpisodeRules:
    """How episodes run; all static.

    Attributes:
      game: what is played.
      oracle: who labels.
      episodes: how many, over all devices.
      lanes: at once, on this device.
      num_devices: devices that share the episodes: episode `i` runs on device `i % num_devices`.
      stop_rule: end an episode when the oracle's choices stand still: "unchanged" when no choice has changed within 10 steps,
        "released" when their sum equals that of 10 steps ago (which the released code computes), "off".
      stop_without_bomb: end an episode when nobody has laid a bomb for more steps than this; 0: never.
    """

    game: Pommerman
    oracle: Planner
    episodes: int
    lanes: int
    num_devices: int = 1
    stop_rule: str = "unchanged"
    stop_without_bomb: int = 40

    def start(self, key: Array, device: Array) -> Episodes:
        """Begins the first episodes of a device."""
        number = jnp.arange(self.lanes, dtype=jnp.int32) * self.num_devices + device
        players = self.game.num_players
        return Episodes(
            states=self._boards(key, number),
            memory=self.oracle.init(self.lanes),
            number=number,
            clock=jnp.zeros(self.lanes, jnp.int32),
            recent=jnp.zeros((self.lanes, WINDOW, players), jnp.int8),
            quiet=jnp.zeros(self.lanes, jnp.int32),
            next_number=jnp.full(1, self.lanes * self.num_devices, jnp.int32) + device,
        )

    def busy(self, episodes: Episodes) -> Array:
        """bool [L]: lanes that play."""
        return episodes.number < self.episodes

    def step_keys(self, key: Array, episodes: Episodes) -> Array:
        """Keys [L] for this step: they depend on the episode and its clock alone."""
        return jax.vmap(lambda n, t: jax.random.fold_in(jax.random.fold_in(jax.random.fold_in(key, n), 1), t))(
            episodes.number, episodes.clock
        )

    def label(self, params: Any, keys: Array, episodes: Episodes) -> tuple[Plan, Episodes]:
        """Lets the oracle plan for all players in all busy lanes."""
        seats = jnp.zeros(self.lanes, jnp.int32)
        plan, memory = self.oracle.plan(params, keys, episodes.memory, episodes.states, seats, self.busy(episodes))
        return plan, dataclasses.replace(episodes, memory=memory)

    def advance(self, key: Array, keys: Array, episodes: Episodes, actions: Array, choices: Array) -> tuple[Episodes, Array]:
        """Plays one step and begins the next episode where one is over.

        Args:
          key: root of all randomness.
          keys: of this step, [L].
          episodes: the lanes.
          actions: int32 [L, P].
          choices: int32 [L, P], arms that the oracle would have taken.

        Returns:
          The lanes, and bool [L], those in which an episode ended.
        """
        busy = self.busy(episodes)
        chance = jax.vmap(lambda k: jax.random.fold_in(k, 2))(keys)
        states = jax.vmap(self.game.step)(episodes.states, actions, chance)
        moves = actions // (self.game.num_actions // self.game.num_arms)
        quiet = jnp.where((moves == Move.BOMB).any(-1), 0, episodes.quiet + 1)
        place = episodes.clock % WINDOW
        still = self._stands_still(episodes, choices)
        recent = episodes.recent.at[jnp.arange(self.lanes), place].set(choices.astype(jnp.int8))
        ended = states.terminated | still
        if self.stop_without_bomb:
            ended = ended | (quiet > self.stop_without_bomb)
        ended = busy & ended
        # The trees stay out of the branch below, which would copy them.
        memory = self.oracle.reset(episodes.memory, ended)
        episodes = dataclasses.replace(
            episodes, states=states, memory=memory, clock=episodes.clock + 1, recent=recent, quiet=quiet
        )
        return self._refill(key, episodes, ended), ended

    def _stands_still(self, episodes: Episodes, choices: Array) -> Array:
        """bool [L]: the stop rule holds with these choices as the newest."""
        if self.stop_rule == "off":
            return jnp.zeros(self.lanes, bool)
        enough = episodes.clock >= WINDOW
        if self.stop_rule == "unchanged":
            return enough & (episodes.recent == choices[:, None].astype(jnp.int8)).all((1, 2))
        oldest = episodes.recent[jnp.arange(self.lanes), episodes.clock % WINDOW]
        return enough & (oldest.sum(-1, dtype=jnp.int32) == choices.sum(-1))

    def _boards(self, key: Array, number: Array) -> Any:
        return jax.vmap(lambda n: self.game.init(jax.random.fold_in(jax.random.fold_in(key, n), 0)))(number)

    def _refill(self, key: Array, episodes: Episodes, ended: Array) -> Episodes:
        order = jnp.cumsum(ended.astype(jnp.int32)) - 1
        number = jnp.where(ended, episodes.next_number + order * self.num_devices, episodes.number)

        def renew(states: Any) -> Any:
            return where_lanes(ended, self._boards(key, number), states)

        return dataclasses.replace(
            episodes,
            states=jax.lax.cond(ended.any(), renew, lambda states: states, episodes.states),
            number=number,
            clock=jnp.where(ended, 0, episodes.clock),
            recent=where_lanes(ended, jnp.zeros_like(episodes.recent), episodes.recent),
            quiet=jnp.where(ended, 0, episodes.quiet),
            next_number=episodes.next_number + ended.sum(dtype=jnp.int32) * self.num_devices,
        )
