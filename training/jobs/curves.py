"""Learning curves as SVG. matplotlib comes with the extra `viz`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from training.jobs.figures import COLOURS, as_svg, axes_in_a_row, colour

_WINDOW = 20  # iterations over which noisy values are averaged

# Name and logs (records as `logs.read_log` gives them), one per seed.
Runs = Sequence[tuple[str, Sequence[Sequence[dict]]]]
# A field of the records, its factor and its label.
_Curve = tuple[str, float, str]


def learning_figure(runs: Runs) -> str:
    """Draws loss, agreement with the oracle and win rate over episodes.

    Args:
      runs: loss and agreement are the first seed's; of the win rate the mean is drawn, and a band from the lowest to the highest.
    """
    noisy = (("cross_entropy", 1, "cross-entropy"), ("agreement", 100, "agreement with the oracle, %"))
    return _figure(runs, ("episodes", "episodes"), noisy, ("wins", 100, "games won, %"))


def alphaze_figure(runs: Runs) -> str:
    """Draws the policy's cross-entropy, the error of the value and the points against a random player over searches.

    Args:
      runs: the first two are the first seed's; of the points the mean is drawn, and a band from the fewest to the most.
    """
    noisy = (("cross_entropy", 1, "cross-entropy of the policy"), ("value_error", 1, "squared error of the value"))
    return _figure(runs, ("samples", "searches"), noisy, ("score_against_random", 100, "points against a random player, %"))


def expert_figure(runs: Runs) -> str:
    """Draws the policy's cross-entropy, the error of the value and the games won by the network alone over samples.

    Args:
      runs: as for `alphaze_figure`.
    """
    noisy = (("cross_entropy", 1, "cross-entropy of the policy"), ("value_error", 1, "squared error of the value"))
    return _figure(runs, ("samples", "samples"), noisy, ("wins_alone", 100, "games won without search, %"))


def q_figure(runs: Runs) -> str:
    """Draws the error of the values of actions, the value of what is done and the games won over samples.

    Args:
      runs: as for `alphaze_figure`.
    """
    noisy = (("loss", 1, "squared error of the value"), ("value", 1, "value of what is done"))
    return _figure(runs, ("samples", "samples"), noisy, ("wins", 100, "games won, %"))


def guess_figure(runs: Runs) -> str:
    """Draws the cross-entropy per hidden place and the places guessed right in other games over samples.

    Args:
      runs: as for `alphaze_figure`.
    """
    noisy = (("loss", 1, "cross-entropy per hidden place, nats"),)
    return _figure(runs, ("samples", "samples"), noisy, ("guessed", 100, "guessed right in other games, %"))


_STYLES = ("-", "--", ":")  # of lines, where there are more of them than colours


def _figure(runs: Runs, over: tuple[str, str], noisy: Sequence[_Curve], rated: _Curve) -> str:
    field_over, label_over = over
    figure, parts = axes_in_a_row(1 + len(noisy), label_over, [label for _, _, label in (*noisy, rated)])
    for index, (name, logs) in enumerate(runs):
        look: dict[str, Any] = {
            "color": colour(index),
            "linestyle": _STYLES[index // len(COLOURS) % len(_STYLES)],
        }
        for axes, (field, scale, _) in zip(parts, noisy, strict=False):
            x, values = _along(logs[:1], field_over, field)
            axes.plot(x, scale * _smooth(values[0]), label=name, **look)
        field, scale, _ = rated
        x, values = _along(logs, field_over, field)
        parts[-1].plot(x, scale * values.mean(0), marker="o", label=name, **look)
        parts[-1].fill_between(x, scale * values.min(0), scale * values.max(0), color=look["color"], alpha=0.15, linewidth=0)
    if runs:
        figure.legend(*parts[-1].get_legend_handles_labels(), loc="outside lower center", ncol=3, frameon=False)
    return as_svg(figure)


def _along(logs: Sequence[Sequence[dict]], over: str, field: str) -> tuple[np.ndarray, np.ndarray]:
    """A field of each log [logs, n], as far as all have it, over another one, as the first log has it [n]."""
    x, rows = [], []
    for log in logs:
        place, row = 0, []
        for record in log:
            place = record.get(over, place)
            if record.get(field) is not None:
                row.append((place, record[field]))
        x.append([place for place, _ in row])
        rows.append([value for _, value in row])
    shortest = min(map(len, rows))
    return np.array(x[0][:shortest]), np.array([row[:shortest] for row in rows], float)


def _smooth(values: np.ndarray) -> np.ndarray:
    """Running means over the last iterations."""
    sums = np.cumsum(np.insert(values, 0, 0.0))
    start = np.maximum(np.arange(len(values)) + 1 - _WINDOW, 0)
    end = np.arange(len(values)) + 1
    return (sums[end] - sums[start]) / (end - start)
