"""Figures as SVG. matplotlib comes with the extra `viz`."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from training.play.tournament import CrossTable

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999", "#8c564b")


def colour(index: int) -> str:
    """Gives the colour of a line by its number; where there are more lines than colours they begin again."""
    return COLOURS[index % len(COLOURS)]


def cross_table_figure(table: CrossTable) -> str:
    """Draws the share of points of each player (row) against each other (column), the best first, with Elo."""
    from matplotlib.figure import Figure

    order = np.argsort(-table.ratings, kind="stable")
    size = len(order)
    shares = np.full((size, size), np.nan)
    met = table.games > 0
    shares[met] = 100 * table.points[met] / table.games[met]
    shares = shares[np.ix_(order, order)]
    figure = Figure(figsize=(3.4 + 0.7 * size, 1.6 + 0.5 * size), layout="constrained")
    axes = figure.subplots()
    axes.imshow(shares, cmap="RdBu", vmin=0, vmax=100, alpha=0.8)
    for row in range(size):
        for column in range(size):
            if row != column and not np.isnan(shares[row, column]):
                axes.text(column, row, f"{shares[row, column]:.0f}", ha="center", va="center", fontsize=9)
    names = ["\n".join(textwrap.wrap(f"{table.names[index]} ({table.ratings[index]:+.0f})", 34)) for index in order]
    axes.set_yticks(range(size), [f"{place + 1}  {name}" for place, name in enumerate(names)], fontsize=8)
    axes.set_xticks(range(size), [str(place + 1) for place in range(size)])
    axes.set_title("points in % against; Elo in brackets", fontsize=9)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return as_svg(figure)


def axes_in_a_row(count: int, x_label: str, y_labels: Sequence[str]):
    """Makes a figure with some axes side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4 if count == 1 else 4.2 * count, 3.8), layout="constrained")
    parts = figure.subplots(1, count, squeeze=False)[0]
    for axes, y_label in zip(parts, y_labels, strict=True):
        axes.set(xlabel=x_label, ylabel=y_label)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", alpha=0.3)
    return figure, parts


def as_svg(figure) -> str:
    """Gives a figure as SVG text; what looks like a formula, such as a player's name with dollars, is written as it stands."""
    import matplotlib as mpl
    from matplotlib.text import Text

    for words in figure.findobj(Text):
        words.set_parse_math(False)
    text = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "jaxgames"}):  # the same picture, the same bytes
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()
