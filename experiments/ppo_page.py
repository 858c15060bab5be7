"""The page of the PPO example: its curve drawn, and its numbers filled in, from the files that the example has written.

python -m experiments.ppo_page --minutes 13    # trains, plays matches, fills the page
python -m experiments.ppo_page                 # fills the page alone
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np

from experiments.pages import NONE, fill, markdown
from jaxgames import checks
from training.jobs.command_line import run_main
from training.storage import provenance
from training.storage.files import write_atomically
from training.storage.provenance import CHECKOUT

RESULTS = CHECKOUT / "docs" / "results"
CURVE, MATCHES = RESULTS / "data" / "ppo-curve.csv", RESULTS / "data" / "ppo-matches.json"
EVERY = 4  # rows of the table
GAMES = 1000  # of each match


def rows() -> np.ndarray:
    """Reads the curve: a structured array with the columns that the example names."""
    return np.atleast_1d(np.genfromtxt(CURVE, delimiter=",", names=True))


def texts() -> dict[str, str]:
    """Gives the text of each mark of the page."""
    curve, matches = rows(), json.loads(MATCHES.read_text(encoding="utf-8"))["players"]
    shown = [*curve[::EVERY], curve[-1]] if (len(curve) - 1) % EVERY else list(curve[::EVERY])
    head = ("M steps", "minutes", "CPU seconds", "won, %", "lost, %")
    table = [
        (
            f"{row['steps'] / 1e6:.2f}",
            f"{row['seconds'] / 60:.1f}",
            f"{row['CPU_seconds']:.0f}",
            f"{100 * row['won']:.1f}",
            f"{100 * row['lost']:.1f}",
        )
        for row in shown
    ]
    played = [
        (name, *(f"{100 * one[kind] / one['games']:.1f}" for kind in ("wins", "draws", "losses")), str(one["games"]))
        for name, one in matches.items()
    ]
    last = curve[-1]
    level = matches["SimpleAgent"]["wins"] / matches["SimpleAgent"]["games"]
    above = next((row for row in curve if row["won"] > level), None)
    return {
        "curve": markdown(head, table),
        "matches": markdown(("player", "wins, %", "draws, %", "losses, %", "games"), played),
        "speed": f"{last['steps'] / last['CPU_seconds'] / 1000:.0f} k",
        "minutes": f"{last['seconds'] / 60:.1f}",
        "cpu": f"{last['CPU_seconds'] / 60:.1f}",
        "above": f"{above['steps'] / 1e6:.1f} M steps ({above['CPU_seconds']:.0f} CPU seconds)" if above is not None else NONE,
    }


def draw() -> str:
    """Draws the curve as SVG."""
    from training.jobs.figures import COLOURS, as_svg, axes_in_a_row

    curve, matches = rows(), json.loads(MATCHES.read_text(encoding="utf-8"))["players"]
    figure, (axes,) = axes_in_a_row(1, "million steps", ["games won, %"])
    axes.plot(curve["steps"] / 1e6, 100 * curve["won"], color=COLOURS[0], label="PPO, as it learns")
    simple = matches["SimpleAgent"]
    level = 100 * simple["wins"] / simple["games"]
    axes.axhline(level, color=COLOURS[1], linestyle="--", label="a SimpleAgent in its place")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    return as_svg(figure)


def measure(minutes: float) -> None:
    """Trains for so long, and plays what was learnt, and a SimpleAgent in its place, against three SimpleAgents."""
    import jax

    from experiments.benchmark.environments import load_example
    from training.play import agents, counting, evaluate

    example = load_example("ppo_pommerman")
    CURVE.parent.mkdir(parents=True, exist_ok=True)
    _, learnt = example.main(example.Options(minutes=minutes, every=20, out=str(CURVE)))
    simple, found = agents.make("simple", example.GAME), {}
    for number, (name, player) in enumerate((("PPO", learnt), ("SimpleAgent", simple))):
        seats = [player, simple, simple, simple]
        games = evaluate.play(example.GAME, seats, jax.random.key(number + 1), GAMES, batch_size=256, seating="drawn")
        found[name] = {kind: getattr(counting.count(games), kind) for kind in ("games", "wins", "draws", "losses")}
    measured = {"players": found, **provenance.describe(jax.devices()[0])}
    write_atomically(MATCHES, json.dumps(measured, indent=1) + "\n")


@dataclasses.dataclass(frozen=True)
class PpoPageConfig:
    """Draws the curve of the PPO example and fills its page.

    Attributes:
      minutes: to train first; 0: take the files that there are.
      page: to fill; its picture goes beside it.
    """

    minutes: float = 0.0
    page: Path = RESULTS / "ppo.md"

    def __post_init__(self) -> None:
        checks.numbers(self, "minutes")


def run(config: PpoPageConfig) -> None:
    """Trains if asked to, draws the curve and fills the page."""
    if config.minutes:
        measure(config.minutes)
    write_atomically(config.page.parent / "ppo.svg", draw())
    fill(config.page, texts())


if __name__ == "__main__":
    run_main(run, PpoPageConfig)
