"""Learning curves as SVG. matplotlib comes with the extra `viz`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from training.results.figures import COLOURS, as_svg, axes_in_a_row

_WINDOW = 20  # iterations over which noisy values are averaged


def learning_figure(runs: Sequence[tuple[str, Sequence[dict]]]) -> str:
    """Draws loss, agreement with the oracle and win rate over battles.

    Args:
      runs: name and log (records as `logs.read_log` gives them) of each run.
    """
    figure, parts = axes_in_a_row(3, "battles", ("cross-entropy", "agreement with the oracle, %", "games won, %"))
    for index, (name, log) in enumerate(runs):
        colour = COLOURS[index % len(COLOURS)]
        learnt = [record for record in log if record.get("cross_entropy") is not None]
        battles = [record["battles"] for record in learnt]
        for axes, field, scale in zip(parts, ("cross_entropy", "agreement"), (1, 100), strict=False):
            axes.plot(battles, scale * _smooth([record[field] for record in learnt]), color=colour, label=name)
        rated = [(record["battles"], 100 * record["wins"]) for record in log if "wins" in record]
        parts[2].plot([b for b, _ in rated], [w for _, w in rated], marker="o", color=colour, label=name)
    if runs:
        parts[2].legend(frameon=False)
    return as_svg(figure)


def alphaze_figure(runs: Sequence[tuple[str, Sequence[dict]]]) -> str:
    """Draws the policy's cross-entropy, the error of the value and the points against a random player over searches.

    Args:
      runs: name and log (records as `logs.read_log` gives them) of each run.
    """
    labels = ("cross-entropy of the policy", "squared error of the value", "points against a random player, %")
    figure, parts = axes_in_a_row(3, "searches", labels)
    for index, (name, log) in enumerate(runs):
        colour = COLOURS[index % len(COLOURS)]
        searches, points = 0, []
        for record in log:
            searches = record.get("samples", searches)
            points.append((searches, record))
        for axes, field in zip(parts, ("cross_entropy", "value_error"), strict=False):
            learnt = [(x, record[field]) for x, record in points if field in record]
            axes.plot([x for x, _ in learnt], _smooth([y for _, y in learnt]), color=colour, label=name)
        rated = [(x, 100 * record["score_against_random"]) for x, record in points if "score_against_random" in record]
        parts[2].plot([x for x, _ in rated], [y for _, y in rated], marker="o", color=colour, label=name)
    if runs:
        parts[2].legend(frameon=False)
    return as_svg(figure)


def _smooth(values: Sequence[float]) -> np.ndarray:
    """Running means over the last iterations."""
    array = np.array(values, float)
    sums = np.cumsum(np.insert(array, 0, 0.0))
    start = np.maximum(np.arange(len(array)) + 1 - _WINDOW, 0)
    end = np.arange(len(array)) + 1
    return (sums[end] - sums[start]) / (end - start)
