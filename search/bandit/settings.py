"""Sizes and variants of the bandit searches."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
from jax import Array

from jaxgames import checks
from search.bandit import table
from search.dynamics import Dynamics

_PLANS, _MOST_ROWS = 32, 2**16  # a table has room for the states of so many plans, but no more rows
MICROBATCH_SIZE = 128  # on a CPU: half of it costs a full batch of Pommerman a tenth more, a quarter of it four tenths


@dataclasses.dataclass(frozen=True)
class Settings:
    """How a decoupled tree search runs; checked when made.

    Attributes:
      num_simulations: simulations per plan.
      simulations_per_arm: so many for each action that the player with most of them can choose among in the present state, but
        never more than `num_simulations`; 0: always all of these.
      rest_when_forced: do not think where the seat that is asked has a single legal action; only that action is then told.
        Not for learners that take the plans of all seats.
      grouped: choose a group of arms first, by what all of its arms have met, then one of them (a combinatorial bandit), in games
        that tell such groups: in Clash a card, then a position.
      horizon: steps per simulation.
      keep_all: keep every visited state (FDTS) or only one new one per simulation (MCTS).
      rollout: MCTS: play randomly from the new state to the horizon, else stop there.
      leaf_parallelism: so many simulations of one tree run at once on the same statistics; divides `num_simulations`.
      table_rows: rows of the table per game, a power of two; None: by `table_bytes`.
      table_bytes: as many rows as fit into so many bytes; None: room for all states of 32 plans, at most 2^16 rows.
      microbatch_size: at most so many of the lanes that need a plan are worked on together, then the next.
    """

    num_simulations: int = 100
    simulations_per_arm: int = 0
    rest_when_forced: bool = False
    grouped: bool = False
    horizon: int = 20
    keep_all: bool = True
    rollout: bool = True
    leaf_parallelism: int = 1
    table_rows: int | None = None
    table_bytes: int | None = None
    microbatch_size: int = MICROBATCH_SIZE

    def __post_init__(self) -> None:
        checks.at_least(1, self, "num_simulations", "horizon", "leaf_parallelism", "microbatch_size")
        checks.at_least(0, self, "simulations_per_arm")
        checks.below(checks.COUNTS, self, "num_simulations", "simulations_per_arm")
        if self.num_simulations % self.leaf_parallelism:
            raise ValueError(f"leaf_parallelism={self.leaf_parallelism}: must divide num_simulations={self.num_simulations}")
        if self.keep_all and not self.rollout:
            raise ValueError("rollout=False: needs keep_all=False (mcts); where all states are kept there is no rollout")
        checks.flags(self, "rest_when_forced", "grouped", "keep_all", "rollout")
        if self.table_bytes is not None:
            checks.at_least(1, self, "table_bytes")
        if self.table_rows is not None:
            checks.below(checks.COUNTS, self, "table_rows")
            table.check_rows(self.table_rows)
            if self.table_bytes is not None:
                raise ValueError(f"table_bytes={self.table_bytes}: give table_rows={self.table_rows} or this, not both")

    def groups(self, game: Dynamics) -> tuple[int, ...]:
        """Gives the group of each arm; () where arms are chosen by themselves.

        Raises:
          ValueError: the game tells none.
        """
        if self.grouped and not game.arm_groups:
            raise ValueError(f"grouped=True: {game.name} has no groups of arms")
        return game.arm_groups if self.grouped else ()

    def waves(self, game: Dynamics, nodes: Any) -> Array:
        """Gives how often the simulations that run at once are run from each of the nodes [B], int32 [B]."""
        most = self.num_simulations // self.leaf_parallelism
        if not self.simulations_per_arm:
            return jnp.full_like(game.to_play(nodes), most, jnp.int32)
        _, legal = game.arms(nodes)
        wanted = legal.sum(-1, dtype=jnp.int32).max(-1) * min(self.simulations_per_arm, self.num_simulations)
        return jnp.minimum((wanted + self.leaf_parallelism - 1) // self.leaf_parallelism, most)

    def longest(self, waves: Array) -> Array | int:
        """Gives the most of `waves`, as a plain number where it is known while tracing."""
        return waves.max() if self.simulations_per_arm else self.num_simulations // self.leaf_parallelism

    def rows(self, num_words: int) -> int:
        """Gives the rows of a table of rows of so many words.

        Raises:
          ValueError: not even the smallest table fits into `table_bytes`.
        """
        if self.table_rows is not None:
            return self.table_rows
        if self.table_bytes is None:
            states = _PLANS * self.num_simulations * self.horizon
            return min(max(table.WAYS, 1 << (states - 1).bit_length()), _MOST_ROWS)
        least = table.WAYS * table.row_bytes(num_words)
        if self.table_bytes < least:
            raise ValueError(f"table_bytes={self.table_bytes}: must be >= {least}, the smallest table of this game")
        return table.WAYS << (self.table_bytes // least).bit_length() - 1
