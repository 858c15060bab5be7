"""Tables in Markdown, and rates as all results pages show them."""

from __future__ import annotations

from collections.abc import Iterable

from training.play.counting import points_interval, wilson

OUTCOMES = ("wins", "draws", "losses")


def markdown(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Makes a table of texts."""
    head = list(head)
    lines = [head, ["---"] * len(head), *[list(row) for row in rows]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def interval(successes: int, trials: int) -> str:
    """Gives a rate in per cent with its 95 % Wilson interval, such as "19.5 (16–24)"."""
    low, high = wilson(successes, trials)
    return f"{100 * successes / trials:.1f} ({100 * low:.0f}–{100 * high:.0f})"


def points(wins: int, draws: int, games: int) -> str:
    """Gives mean points in per cent, a draw counting half, with their 95 % interval, such as "52.5 (46–59)"."""
    low, high = points_interval(wins, draws, games)
    return f"{100 * (wins + draws / 2) / games:.1f} ({100 * low:.0f}–{100 * high:.0f})"


def intervals(count: dict) -> list[str]:
    """Gives the rates of `OUTCOMES`, each with its interval, of counts by these names and `games`."""
    return [interval(count[what], count["games"]) for what in OUTCOMES]


def rates(count: dict) -> str:
    """Gives win / draw / loss in per cent, of counts by these names and `games`."""
    return " / ".join(f"{100 * count[what] / count['games']:.1f}" for what in OUTCOMES)
