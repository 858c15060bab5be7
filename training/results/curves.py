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
        battles = np.array([record["battles"] for record in log])
        for axes, field, scale in zip(parts, ("cross_entropy", "agreement"), (1, 100), strict=False):
            axes.plot(battles, scale * _smooth([record[field] for record in log]), color=colour, label=name)
        rated = [(record["battles"], 100 * record["wins"]) for record in log if "wins" in record]
        parts[2].plot([b for b, _ in rated], [w for _, w in rated], marker="o", color=colour, label=name)
    if runs:
        parts[2].legend(frameon=False)
    return as_svg(figure)


def _smooth(values: Sequence[float | None]) -> np.ndarray:
    """Running means over the last iterations; what is missing counts as the value before."""
    array = np.array([np.nan if value is None else value for value in values], float)
    sums = np.cumsum(np.insert(np.nan_to_num(array), 0, 0.0))
    start = np.maximum(np.arange(len(array)) + 1 - _WINDOW, 0)
    end = np.arange(len(array)) + 1
    return (sums[end] - sums[start]) / (end - start)
