"""Rates as all results pages show them."""

from __future__ import annotations

import re

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


def ends(count: dict) -> str:
    """Gives how many games were won, drawn and lost: "40 – 8 – 16"."""
    return " – ".join(str(count[what]) for what in OUTCOMES)


def for_file(*texts: str) -> str:
    """Writes texts such as names of players so that they can be a part of a file's name."""
    return "-".join(re.sub(r"[^a-z0-9]+", "-", text.replace("num_", "")) for text in texts)


def rates(count: dict) -> str:
    """Gives win / draw / loss in per cent, of counts by these names and `games`."""
    return " / ".join(f"{100 * count[what] / count['games']:.1f}" for what in OUTCOMES)
