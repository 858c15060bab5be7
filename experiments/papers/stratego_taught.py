"""Networks that `hunt` taught: in Barrage, shown beliefs or drawn worlds, and in full Stratego (games of Bluml et al.)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import jaxgames
from experiments.pages import markdown
from experiments.papers.measured import Measurement, few_of, play_timed, trained
from experiments.papers.stratego_learning import BARRAGE
from experiments.papers.tables import cost_per_move, ends, for_file, points, with_interval
from training.jobs import train_expert
from training.jobs.train_expert import TrainConfig
from training.learn.expert_iteration import ExpertConfig
from training.models.policy_value import PolicyValueConfig
from training.play import agents, counting
from training.storage.logs import measured, read_log

if TYPE_CHECKING:
    from experiments.papers.stratego import StrategoPlan

SEED = 2025
FULL = "stratego:max_plies=1000"
SHOWN = ExpertConfig(
    source="demonstrations",
    player="hunt",
    samples=131_072,
    epochs=3,
    lanes=128,
    steps=64,
    updates=128,
    learning_rate=2e-3,
    value_weight=0.3,
)
ROUNDS = 4
ALONE, SEARCH = "network:weights={}", "pc_pimc:num_worlds=3,num_simulations=100,weights={}"


@dataclass(frozen=True)
class Pupil:
    """A network that was shown the games of `hunt` against itself.

    Attributes:
      name: for files.
      title: for tables.
      mode: of Stratego.
      encoder: what it is shown.
    """

    name: str
    title: str
    mode: str
    encoder: str

    def config(self, plan: StrategoPlan) -> TrainConfig:
        """The settings of its run, in the plan's work folder."""
        who = PolicyValueConfig(game="stratego", mode=self.mode, encoder=self.encoder, network="light")
        output = str(plan.work / f"taught-{self.name}")
        return TrainConfig(who=who, learn=SHOWN, rounds=plan.epochs or ROUNDS, rate_games=0, output=output, resume=True)

    def weights(self, plan: StrategoPlan) -> Path:
        """The file of the network."""
        return Path(self.config(plan).output) / "best.npz"


WORLDS = Pupil("worlds", "a world that fits", BARRAGE, "alphaze")
BELIEFS = Pupil("beliefs", "probabilities", BARRAGE, "belief")
STRATEGO = Pupil("stratego", "Stratego", FULL, "alphaze")


@dataclass(frozen=True)
class Contest:
    """A match of a pupil, alone or in a search; names of players have {} where weights belong.

    Attributes:
      pupil: who.
      player: how it plays.
      opponent: against whom.
      other: the pupil whose weights the opponent has, if any.
      few: play a quarter of the games.
    """

    pupil: Pupil
    player: str
    opponent: str
    other: Pupil | None = None
    few: bool = False

    def name(self, games: int) -> str:
        """The name of the file for so many games."""
        against = self.opponent.format(self.other.name) if self.other else self.opponent
        return f"stratego-taught-{for_file(self.player.format(self.pupil.name), against)}-games{games}"


PLANES = (
    *(Contest(pupil, ALONE, bot) for pupil in (WORLDS, BELIEFS) for bot in ("hunt", "random")),
    Contest(BELIEFS, ALONE, ALONE, WORLDS),
    *(Contest(pupil, SEARCH, "hunt") for pupil in (WORLDS, BELIEFS)),
    Contest(BELIEFS, SEARCH, SEARCH, WORLDS),
)
LARGE = (
    *(Contest(STRATEGO, ALONE, bot) for bot in ("hunt", "random")),
    *(Contest(STRATEGO, SEARCH, bot, few=True) for bot in ("hunt", "random")),
    Contest(STRATEGO, "hunt", "random"),
)


def planes(plan: StrategoPlan) -> list[Measurement]:
    """Two networks of Barrage that differ in what they are shown of hidden pieces."""
    return _measurements(plan, PLANES)


def full(plan: StrategoPlan) -> list[Measurement]:
    """A network of full Stratego, and what it plays like."""
    return _measurements(plan, LARGE)


def _measurements(plan: StrategoPlan, contests: Iterable[Contest]) -> list[Measurement]:
    found = []
    for contest in contests:
        games = few_of(plan.games) if contest.few else plan.games
        found.append(Measurement(contest.name(games), partial(play, plan, contest, games), contest))
    return found


def play(plan: StrategoPlan, contest: Contest, games: int) -> dict | None:
    """Teaches whoever has not been taught, and plays the match. Returns how games ended for the pupil; None if asked to stop."""
    lessons = {}
    for pupil in (contest.pupil, contest.other):
        if pupil is not None:
            lessons[pupil.name] = teach(plan, pupil)
    if not all(lessons.values()):
        return None
    game = jaxgames.make("stratego", contest.pupil.mode)
    opponent = contest.opponent.format(contest.other.weights(plan)) if contest.other else contest.opponent
    players = [agents.make(name, game) for name in (contest.player.format(contest.pupil.weights(plan)), opponent)]
    played, times = play_timed(game, players, SEED, games, batch_size=min(plan.batch, games), seating="rotated")
    return {
        "match": {"player": contest.player, "opponent": contest.opponent, "seed": SEED, "batch": plan.batch},
        "lessons": lessons,
        **asdict(counting.count(played)),
        "mean_length": round(float(played.lengths.mean()), 1),
        "moves": played.moves.tolist(),
        **times,
    }


def teach(plan: StrategoPlan, pupil: Pupil) -> dict | None:
    """Trains, or goes on with, a network. Returns what its job found, and its settings; None if asked to stop."""
    config = pupil.config(plan)
    result = trained(train_expert.run, config)
    if result is None:
        return None
    agreement = measured(read_log(Path(config.output) / "log.jsonl"), "agreement")
    return {
        "result": {name: value for name, value in result.items() if name != "settings"},
        "settings": result["settings"],
        "agreement": round(agreement[-1], 4),  # of its first choice with the move that was shown
    }


def planes_table(found: dict[Contest, dict]) -> str:
    """Makes the table of networks that differ in their planes."""
    head = ["shown of hidden pieces", "player", "against", "points, %", "won – drawn – lost"]
    rows = []
    for contest, result in found.items():
        against = f"the same, shown {contest.other.title}" if contest.other else f"`{contest.opponent}`"
        rows.append([contest.pupil.title, _how(contest.player), against, with_interval(*points(result)), ends(result)])
    return markdown(head, rows)


def full_table(found: dict[Contest, dict]) -> str:
    """Makes the table of full Stratego."""
    head = ["player", "against", "points, %", "won – drawn – lost", "mean length", "CPU ms per move"]
    rows = []
    for contest, result in found.items():
        shown = [_how(contest.player), f"`{contest.opponent}`", with_interval(*points(result)), ends(result)]
        rows.append([*shown, f"{result['mean_length']:.0f}", cost_per_move(result)])
    return markdown(head, rows)


def _how(player: str) -> str:
    return {ALONE: "network", SEARCH: "PC-PIMC, 3 x 100"}.get(player, f"`{player}`")
