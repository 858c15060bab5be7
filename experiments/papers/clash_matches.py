"""What all tables of Clash share: sizes, planners with their settings, and matches."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import jaxgames
from experiments.pages import markdown
from experiments.papers.measured import Measurement, Plan, play_timed
from experiments.papers.tables import ends, points, with_interval
from jaxgames.clash.config import BEGINNER_DECK
from training.play import agents, counting

SEED = 2020
SIMULATIONS_PER_ARM = 4
_SHORT_BATTLES = "double_from_tick=0,regular_ticks=450,overtime_ticks=150,tiebreak=lowest_tower_hp,value=play_on_hp"

# The decks with which players are trained, and two more of the same cards, four of each of the former.
OTHER_DECK = ("hog-rider", "valkyrie", "wizard", "goblins", "mega-minion", "mini-pekka", "spear-goblins", "poison")
TRAINED = (BEGINNER_DECK, OTHER_DECK)
MIXED = (
    ("knight", "archers", "arrows", "baby-dragon", "hog-rider", "wizard", "goblins", "mini-pekka"),
    ("giant", "minions", "fireball", "musketeer", "valkyrie", "mega-minion", "spear-goblins", "poison"),
)


@dataclasses.dataclass(frozen=True)
class Learning:
    """How players of the round robin are trained.

    Attributes:
      network: of both.
      lanes: battles at once.
      episodes: that the oracle labels, for the follower.
      rate: gradient steps of the follower per step of one battle.
      samples: actions from which Q-MC learns.
      oracle: more settings of the oracle.
    """

    network: str
    lanes: int
    episodes: int
    rate: float
    samples: int
    oracle: str = ""


@dataclasses.dataclass(frozen=True)
class Sizes:
    """What is played, and how far players look.

    Attributes:
      name: for files.
      mode: the variant.
      horizons: steps of a simulation in the tables over horizons.
      horizon: of all else.
      table_bytes: of a tree.
      savings: settings of planners that save time on a CPU.
      at_once: simulations of one tree that Thompson sampling runs at once, where nothing is said of other bandits.
      learning: what its players learn.
    """

    name: str
    mode: str
    horizons: tuple[int, ...]
    horizon: int
    table_bytes: int
    savings: str
    at_once: int
    learning: Learning

    def with_decks(self, decks: tuple[tuple[str, ...], ...] = TRAINED) -> str:
        """The variant with these decks, one per side."""
        return f"{self.mode}{',' if ':' in self.mode else ':'}decks={'/'.join('+'.join(deck) for deck in decks)}"


SHORT = Sizes(
    "short",
    f"beginner:positions=2,{_SHORT_BATTLES}",
    (5, 10, 20),
    10,
    1_000_000,
    "rest_when_forced=1,microbatch_size=16",
    4,
    Learning("arena_small", 32, 192, 0.25, 300_000, "leaf_parallelism=4,microbatch_size=16"),
)
PAPER = Sizes("paper", "beginner", (10, 25, 50), 50, 64_000_000, "", 1, Learning("arena_paper", 32, 300, 1.0, 4_000_000))


@dataclasses.dataclass(frozen=True)
class Player:
    """A planner with a bandit; the weight of exploration c, None for the published one; at_once: simulations of a tree."""

    planner: str = "fdts"
    bandit: str = "ts"
    c: float | None = None
    horizon: int = 0
    at_once: int = 1

    @property
    def name(self) -> str:
        """For files."""
        waves = f"-w{self.at_once}" if self.at_once > 1 else ""
        return f"{self.planner}-{self.bandit}" + (f"-c{self.c}" if self.c is not None else "") + f"-k{self.horizon}{waves}"

    def spec(self, sizes: Sizes, savings: str | None = None) -> str:
        """As command lines call it; `savings` in place of those of the sizes."""
        most = SIMULATIONS_PER_ARM * jaxgames.make("clash", sizes.mode).num_arms
        more = sizes.savings if savings is None else savings
        parts = [f"bandit={self.bandit}"] + ([f"c={self.c}"] if self.c is not None else [])
        parts += [f"horizon={self.horizon}", f"simulations_per_arm={SIMULATIONS_PER_ARM}", f"num_simulations={most}"]
        if self.at_once > 1:
            parts.append(f"leaf_parallelism={self.at_once}")
        if self.planner != "mcs":
            parts.append(f"table_bytes={sizes.table_bytes}")
        return f"{self.planner}:{','.join(filter(None, [*parts, more]))}"


@dataclasses.dataclass(frozen=True)
class ClashPlan(Plan):
    """How much to play.

    Attributes:
      games: of the oracle against each other player of the round robin.
      quick_games: of each other pair, which plays in a tenth of the time.
      table_games: of each pair of the other tables.
      strategy_games: of each player in which strategies are counted.
      batch: games at a time.
      paper: with the paper's sizes, for an accelerator.
      work: where players are kept while they learn.
    """

    games: int = 32
    quick_games: int = 128
    table_games: int = 16
    strategy_games: int = 16
    batch: int = 32
    paper: bool = False
    work: Path = Path("output/results/clash")

    @property
    def sizes(self) -> Sizes:
        return PAPER if self.paper else SHORT

    def met(self, first: Player, second: Player | str, label: object, games: int) -> Measurement:
        """A pair to play; sides are changed from game to game."""
        other = second if isinstance(second, str) else second.name
        name = f"clash-{self.sizes.name}-{first.name}-{other}-games{games}"
        spec = second if isinstance(second, str) else second.spec(self.sizes)
        return Measurement(name, partial(match, first.spec(self.sizes), spec, self.sizes.mode, games, self.batch), label)


def oracle(sizes: Sizes, *, labels: bool = False) -> str:
    """The oracle of the round robin as command lines call it.

    Args:
      sizes: what is played.
      labels: it labels for a learner: it thinks for both sides, also for one that can only wait.
    """
    rests = "" if labels or not sizes.savings else "rest_when_forced=1"
    savings = ",".join(filter(None, [sizes.learning.oracle, rests]))
    return Player(horizon=sizes.horizon).spec(dataclasses.replace(sizes, mode=sizes.with_decks()), savings)


def match(first: str, second: str, mode: str, games: int, batch: int) -> dict:
    """Plays a pair; gives how battles ended for the first."""
    game = jaxgames.make("clash", mode)
    pair = [agents.make(spec, game) for spec in (first, second)]
    played, times = play_timed(game, pair, SEED, games, batch_size=batch, seating="rotated")
    return {
        "players": [first, second],
        "mode": mode,
        **dataclasses.asdict(counting.count(played)),
        "mean_length": round(float(played.lengths.mean()), 1),
        **times,
    }


def ends_table(names: Sequence[str], lines: Iterable[tuple], points_title: str = "points, %") -> str:
    """Makes a table of matches: their names, and how the battles of the first player ended.

    Args:
      names: titles of the columns that name a match.
      lines: of each match its names, and at last what `match` has returned.
      points_title: of the column with the points.
    """
    rows = [
        [*named, with_interval(*points(one)), ends(one), f"{one['mean_length'] / 2:.0f}", f"{one['cpu_seconds']:.0f}"]
        for *named, one in lines
    ]
    return markdown([*names, points_title, "won – drawn – lost", "mean length, s", "CPU s"], rows)
