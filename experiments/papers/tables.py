"""Rates as all results pages show them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from training.play.counting import points_interval, wilson

OUTCOMES = ("wins", "draws", "losses")


def with_interval(middle: float, low: float, high: float) -> str:
    """Writes a rate with its interval, all in per cent: "19.5 (16–24)"."""
    return f"{middle:.1f} ({low:.0f}–{high:.0f})"


def rate(successes: int, trials: int) -> tuple[float, float, float]:
    """Gives a rate and the bounds of its 95 % Wilson interval, in per cent."""
    low, high = wilson(successes, trials)
    return 100 * successes / trials, 100 * low, 100 * high


def points(count: dict) -> tuple[float, float, float]:
    """Gives mean points, a draw counting half, and the bounds of their 95 % interval, in per cent."""
    wins, draws, games = (count[name] for name in ("wins", "draws", "games"))
    low, high = points_interval(wins, draws, games)
    return 100 * (wins + draws / 2) / games, 100 * low, 100 * high


def interval(successes: int, trials: int) -> str:
    """Gives a rate in per cent with its 95 % Wilson interval."""
    return with_interval(*rate(successes, trials))


def intervals(count: dict) -> list[str]:
    """Gives the rates of `OUTCOMES`, each with its interval, of counts by these names and `games`."""
    return [interval(count[what], count["games"]) for what in OUTCOMES]


def rate_of_seeds(counts: Sequence[dict], what: str) -> str:
    """Gives the mean rate of what was trained several times, from the lowest to the highest; of one seed, with its interval.

    Games of several seeds are no sample of one player: seeds differ by more than games tell.

    Args:
      counts: of each seed, with as many games.
      what: the name of what is counted.
    """
    if len(counts) == 1:
        return interval(counts[0][what], counts[0]["games"])
    shares = [100 * count[what] / count["games"] for count in counts]
    return with_interval(sum(shares) / len(shares), min(shares), max(shares))


def ends(count: dict) -> str:
    """Gives how many games were won, drawn and lost: "40 – 8 – 16"."""
    return " – ".join(str(count[what]) for what in OUTCOMES)


def cost_per_move(result: dict) -> str:
    """Gives the CPU time of a match in ms per move of the first player, the others' included."""
    return f"{1e3 * result['cpu_seconds'] / result['moves'][0]:.1f}"


def for_file(*texts: str) -> str:
    """Writes texts such as names of players so that they can be a part of a file's name."""
    return "-".join(re.sub(r"[^a-z0-9]+", "-", text.replace("num_", "")) for text in texts)


def rates(count: dict) -> str:
    """Gives win / draw / loss in per cent, of counts by these names and `games`."""
    return " / ".join(f"{100 * count[what] / count['games']:.1f}" for what in OUTCOMES)
