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


def _smooth(values: Sequence[float]) -> np.ndarray:
    """Running means over the last iterations."""
    array = np.array(values, float)
    sums = np.cumsum(np.insert(array, 0, 0.0))
    start = np.maximum(np.arange(len(array)) + 1 - _WINDOW, 0)
    end = np.arange(len(array)) + 1
    return (sums[end] - sums[start]) / (end - start)
