"""What can be set of a PUCT search."""

from __future__ import annotations

import dataclasses

from jaxgames import checks

MAX_WAVE = 64  # walks of one tree at once
MAX_IN_WAVES = 1 << 24  # visits of a search that lets several walks go at once: those on their way are counted above them


@dataclasses.dataclass(frozen=True)
class Settings:
    """How a PUCT search runs; checked when made.

    Attributes:
      num_simulations: simulations per plan, each a descent through the tree: nodes opened, final states met again, and with leaf
        parallelism simulations that are lost.
      c_init: of the exploration constant c(N) = ln((N + c_base + 1) / c_base) + c_init.
      c_base: of the same: the more visits of the node beside it, the more is explored.
      first_play_urgency: Q of an arm never tried, for the mover; None: the value of its node. To be left out with normalize_q.
      normalize_q: Q is scaled to [0, 1] between the least and the greatest of the node, its own value among them, and that of an
        arm never tried is the least, as in mctx.
      count_self: N counts the opening of the node itself, as in mctx.
      dirichlet_fraction: how much of the root's priors is noise.
      dirichlet_alpha: of that noise: the smaller, the fewer arms it favours.
      prior_temperature: priors are flattened by the power of 1 / this (PommerLearn without noise: 1.7).
      temperature: of the final choice by visits; 0: the most visited arm.
      q_veto: swap the visits of the best and of the most visited arm if the best has a Q higher by more than this, and two visits
        or more; None: never.
      q_weight: add (Q2 - Q1) * q_weight * n1 to the second most visited arm if its Q is higher.
      mcts_solver: prove wins and losses; take what is won, do not choose what is lost, and search nothing that is proven.
      reuse: keep the tree from move to move; models go on with what they remember since the root at which it was begun.
      max_candidates: arms kept per node, those of the highest priors; None: all, or 128 where there are more than 512.
      leaf_parallelism: so many simulations go down one tree before their leaves are valued, all of them at once. What is on its
        way counts as visited, at an unchanged Q (virtual visits); a simulation that meets a node still waiting for its value is
        lost, and not made up for: a plan has num_simulations less its metric "lost" (CrazyAra goes on until the root has its
        visits).
      replies: where chance plays a part (dice, or models that draw), a node holds so many samples of what comes after each arm,
        and each visit goes on with one of them, drawn again; an arm's visits and value are of all its samples together. 1: what
        was drawn first holds for the whole search; so it is where nothing is drawn.
      random_starts: share of the simulations that begin somewhere down the most visited line, and there with an arm drawn at
        random; what lies above is not credited (CrazyAra: 1/20 and 1/100 together).
      microbatch_size: at most so many of the lanes that need a plan are worked on together, then the next; None: all lanes, also
        those that need none, as with reuse, where each has a tree of its own.
    """

    num_simulations: int = 800
    c_init: float = 2.5
    c_base: float = 19652.0
    first_play_urgency: float | None = -1.0
    normalize_q: bool = False
    count_self: bool = False
    dirichlet_fraction: float = 0.0
    dirichlet_alpha: float = 0.3
    prior_temperature: float = 1.0
    temperature: float = 0.0
    q_veto: float | None = None
    q_weight: float = 0.0
    mcts_solver: bool = False
    reuse: bool = False
    max_candidates: int | None = None
    leaf_parallelism: int = 1
    replies: int = 1
    random_starts: float = 0.0
    microbatch_size: int | None = None

    def __post_init__(self) -> None:
        checks.at_least(
            1,
            self,
            "num_simulations",
            "leaf_parallelism",
            "replies",
            *(name for name in ("max_candidates", "microbatch_size") if getattr(self, name) is not None),
        )
        checks.below(checks.COUNTS, self, "num_simulations")
        checks.flags(self, "normalize_q", "count_self", "mcts_solver", "reuse")
        checks.numbers(self, "c_init", "temperature", "q_weight", *(["q_veto"] if self.q_veto is not None else []))
        checks.numbers(self, "c_base", "dirichlet_alpha", "prior_temperature", positive=True)
        if self.first_play_urgency is not None:
            checks.finite("first_play_urgency", self.first_play_urgency)
        if self.normalize_q and self.first_play_urgency not in (None, Settings.first_play_urgency):
            raise ValueError(f"first_play_urgency={self.first_play_urgency}: leave it out with normalize_q, it takes the least")
        checks.shares(self, "dirichlet_fraction", "random_starts")
        if self.leaf_parallelism > MAX_WAVE:
            raise ValueError(f"leaf_parallelism={self.leaf_parallelism}: must be in 1..{MAX_WAVE}")
        if self.leaf_parallelism > 1:
            checks.below(MAX_IN_WAVES, self, "num_simulations")
        if self.replies > 1 and self.mcts_solver:
            raise ValueError(
                f"replies={self.replies}: must be 1 with mcts_solver: nothing is certain after one of several replies"
            )
        if self.reuse and self.dirichlet_fraction:
            raise ValueError(f"dirichlet_fraction={self.dirichlet_fraction}: must be 0 with reuse: a kept root has its priors")
        if self.reuse and self.microbatch_size is not None:
            raise ValueError(f"microbatch_size={self.microbatch_size}: must be None with reuse: each lane has a tree of its own")

    @property
    def num_waves(self) -> int:
        """How often walks go down one tree at once; of the last time not all of them need to."""
        return -(-self.num_simulations // self.leaf_parallelism)

    @property
    def num_rows(self) -> int:
        """Nodes that a search writes."""
        return self.num_waves * self.leaf_parallelism + 1

    @property
    def has_chance(self) -> bool:
        """Whether walks draw."""
        return self.replies > 1 or self.random_starts > 0


ALPHAZE = Settings()
MCTX = Settings(c_init=1.25, first_play_urgency=None, normalize_q=True, count_self=True)
