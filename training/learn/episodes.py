"""Episodes from which a network learns by imitation: games with the oracle's memory, and rules that end them early."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.abilities import can_stall
from jaxgames.agent import Agent
from jaxgames.lanes import where_lanes
from search.planner import Plan, Planner
from training.play.lanes import Lanes, Pool, fold
from training.play.partners import Partners

WINDOW = 10  # steps over which the oracle's choices are compared
STOP_RULES = ("off", "unchanged", "released")
_PLAN, _CHANCE, DRAW, _PARTNERS, WORLD = range(1, 6)  # children of the key of a step


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Episodes:
    """L lanes at work.

    Attributes:
      lanes: the games.
      memory: the oracle's.
      recent: int32 [L, 10, P], the oracle's choices in the last steps, in a ring over the clock.
      quiet: int32 [L], steps since somebody did what keeps the game going.
      partners: memory of those who play along, if any do.
    """

    lanes: Lanes
    memory: Any
    recent: Array
    quiet: Array
    partners: Any


@dataclasses.dataclass(frozen=True)
class EpisodeRules:
    """How episodes run; all static.

    Attributes:
      pool: where they come from.
      oracle: who labels.
      stop_rule: end an episode when the oracle's choices stand still: "unchanged" when no choice has changed within 10 steps,
        "released" when their sum equals that of 10 steps ago (which the released code computes), "off".
      stop_when_quiet: end an episode when nobody has kept the game going for more steps than this, in a game that can stall;
        0: never.
      partner: who plays all seats but one, the number of the episode modulo P; None: whoever learns plays them all.
    """

    pool: Pool
    oracle: Planner
    stop_rule: str = "unchanged"
    stop_when_quiet: int = 40
    partner: Agent | None = None

    @property
    def _partners(self) -> Partners | None:
        return None if self.partner is None else Partners(self.pool, self.partner)

    def start(self, key: Array, device: Array, first: Array | int = 0) -> Episodes:
        """Begins episodes of a device; `first` is the lowest number of all devices."""
        count, players = self.pool.lanes, self.pool.game.num_players
        return Episodes(
            lanes=self.pool.start(key, device, first),
            memory=self.oracle.init(count),
            recent=jnp.zeros((count, WINDOW, players), jnp.int32),
            quiet=jnp.zeros(count, jnp.int32),
            partners=() if self._partners is None else self._partners.init(),
        )

    def label(self, params: Any, keys: Array, episodes: Episodes) -> tuple[Plan, Episodes]:
        """Lets the oracle plan for all who choose in all busy lanes."""
        lanes = episodes.lanes
        mover = jnp.maximum(jax.vmap(self.pool.game.to_play)(lanes.states), 0).astype(jnp.int32)
        views = self.pool.views(lanes, self.oracle.sees_state, mover[None])
        plan, memory = self.oracle.plan(params, fold(keys, _PLAN), episodes.memory, views, mover, self.pool.busy(lanes))
        return plan, dataclasses.replace(episodes, memory=memory)

    def among_others(self, keys: Array, episodes: Episodes, actions: Array) -> tuple[Array, Episodes]:
        """Puts the actions of those who play along in the place of those chosen for their seats, int32 [L, P]."""
        if self._partners is None:
            return actions, episodes
        theirs, memory = self._partners.move(fold(keys, _PARTNERS), episodes.lanes, episodes.partners)
        own = self._partners.learner(episodes.lanes)[:, None] == jnp.arange(actions.shape[1])
        return jnp.where(own, actions, theirs), dataclasses.replace(episodes, partners=memory)

    def advance(self, key: Array, keys: Array, episodes: Episodes, actions: Array, choices: Array) -> tuple[Episodes, Array]:
        """Plays one step and begins the next episode where one is over.

        Args:
          key: root of all randomness.
          keys: of this step, [L].
          episodes: the lanes.
          actions: int32 [L, P].
          choices: int32 [L, P], what the oracle would have done, as numbers that stand for it in any step.

        Returns:
          The lanes, and bool [L], those in which an episode ended.
        """
        before = episodes.lanes
        lanes = self.pool.step(before, actions, fold(keys, _CHANCE))
        ended = lanes.states.terminated | self._stands_still(episodes, choices)
        quiet, game = episodes.quiet, self.pool.game
        if self.stop_when_quiet and can_stall(game):
            quiet = jnp.where(game.keeps_going(actions).any(-1), 0, quiet + 1)
            ended = ended | (quiet > self.stop_when_quiet)
        ended = self.pool.busy(before) & ended
        recent = episodes.recent.at[jnp.arange(len(choices)), before.clock % WINDOW].set(choices)
        # The oracle's memory stays out of the branch in `refill`, which would copy it.
        memory = self.oracle.reset(episodes.memory, ended)
        partners = episodes.partners if self._partners is None else self._partners.reset(episodes.partners, ended)
        lanes, _ = self.pool.refill(key, lanes, ended)
        recent = where_lanes(ended, jnp.zeros_like(recent), recent)
        return Episodes(lanes, memory, recent, jnp.where(ended, 0, quiet), partners), ended

    def _stands_still(self, episodes: Episodes, choices: Array) -> Array:
        """bool [L]: the stop rule holds with these choices as the newest."""
        clock = episodes.lanes.clock
        if self.stop_rule == "off":
            return jnp.zeros(clock.shape, bool)
        enough = clock >= WINDOW
        if self.stop_rule == "unchanged":
            return enough & (episodes.recent == choices[:, None]).all((1, 2))
        oldest = episodes.recent[jnp.arange(len(choices)), clock % WINDOW]
        return enough & (oldest.sum(-1) == choices.sum(-1))
