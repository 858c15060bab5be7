"""What all bandit searches share: which lanes think, and where the simulations start that run at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import random_bits
from jaxgames.fusion import copied
from jaxgames.lanes import where_lanes
from jaxgames.random_bits import LaneKey
from search.bandit.bandits import Bandit
from search.bandit.choices import chance_keys, conclude
from search.bandit.settings import Settings
from search.dynamics import Dynamics
from search.microbatch import Access, in_microbatches
from search.planner import Plan, ended, of_seat


def think(
    search: Callable,
    settings: Settings,
    game: Dynamics,
    bandit: Bandit,
    keys: Array,
    memory: Any,
    roots: Any,
    seats: Array,
    active: Array,
    access: Access,
) -> tuple[Plan, Any]:
    """Thinks for the lanes that need it by `search`; see `in_microbatches`."""
    active = active & ~game.terminated(roots)
    load = settings.waves(game, roots) if settings.simulations_per_arm else None
    forced = active & False
    if settings.rest_when_forced:
        _, legal = game.arms(roots)
        own = jnp.zeros_like(seats) if game.own_first else seats
        forced = active & (of_seat(legal, own).sum(-1) == 1)
    plan, memory = in_microbatches(search, settings.microbatch_size, keys, memory, roots, active & ~forced, access, load)
    if settings.rest_when_forced:
        words = jnp.zeros((len(seats), game.num_players * game.num_arms), jnp.uint32)
        told = conclude(game, bandit, jax.vmap(random_bits.lane_key)(keys), roots, words, plan.metrics)
        plan = where_lanes(forced, told, plan)
    return ended(plan, game.terminated(roots), game.outcome(roots), game.pass_action, bandit.value_range), memory


@dataclasses.dataclass(frozen=True)
class Waves:
    """Simulations in waves: those of one wave run at once. B trees, L lanes: `leaf_parallelism` for each tree.

    Attributes:
      game: what is walked in.
      settings: sizes.
      lanes: leaves [B], the key of each tree.
      walkers: leaves [L], keys of those that walk in it.
      trees: int32 [L], the tree of each lane.
      roots: nodes [L].
      counts: int32 [B], waves of each tree, none where it does not think.
    """

    game: Dynamics
    settings: Settings
    lanes: LaneKey
    walkers: LaneKey
    trees: Array
    roots: Any
    counts: Array

    @classmethod
    def of(cls, game: Dynamics, settings: Settings, keys: Array, roots: Any, active: Array) -> Waves:
        """Gives those of the trees that think, `active` bool [B], from their keys [B] and roots [B]."""
        lanes = jax.vmap(random_bits.lane_key)(keys)
        trees = jnp.repeat(jnp.arange(len(keys), dtype=jnp.int32), settings.leaf_parallelism)
        numbers = jnp.tile(jnp.arange(settings.leaf_parallelism, dtype=jnp.int32), len(keys))
        walkers = random_bits.fold(LaneKey(lanes.first[trees], lanes.second[trees]), numbers)
        counts = jnp.where(active, settings.waves(game, roots), 0)
        return cls(game, settings, lanes, walkers, trees, jax.tree.map(lambda leaf: leaf[trees], roots), counts)

    @property
    def most(self) -> Array | int:
        """Waves of the tree with most of them."""
        return self.settings.longest(self.counts)

    def wave(self, number: Array) -> tuple[LaneKey, Any, Array]:
        """Gives of one wave keys (leaves [L]), nodes [L] to start from, and which lanes run, bool [L]."""
        lanes = random_bits.fold(self.walkers, number)
        if self.game.redrawn:  # by a key of its own: depths of steps are smaller
            starts = self.game.redrawn(chance_keys(lanes, jnp.int32(self.settings.horizon)), self.roots)
        else:
            starts = copied(self.roots)
        return lanes, starts, (number < self.counts)[self.trees]

    def count_by_tree(self, flags: Array) -> Array:
        """Adds up flags of the lanes of each tree: bool [D, L] to int32 [B, D]."""
        return flags.reshape(flags.shape[0], len(self.counts), -1).sum(-1, dtype=jnp.int32).T
