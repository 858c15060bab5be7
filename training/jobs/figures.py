"""Figures as SVG. matplotlib comes with the extra `viz`."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from training.play.cross_table import CrossTable

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999", "#8c564b")
_OPACITY = 0.8  # of the cells of a cross-table


def colour(index: int) -> str:
    """Gives the colour of a line by its number; where there are more lines than colours they begin again."""
    return COLOURS[index % len(COLOURS)]


def cross_table_figure(table: CrossTable) -> str:
    """Draws the share of points of each player (row) against each other (column), the best first, with Elo."""
    from matplotlib.figure import Figure

    elo = table.ratings
    order = np.argsort(-elo, kind="stable")
    size = len(order)
    shares = np.full((size, size), np.nan)
    met = table.games > 0
    shares[met] = 100 * table.points[met] / table.games[met]
    shares = shares[np.ix_(order, order)]
    ratings = [f"{table.names[index]} ({elo[index]:+.0f})" for index in order]
    names = [_wrapped(f"{place}  {name}") for place, name in enumerate(ratings, 1)]
    lines = [name.split("\n") for name in names]
    cell = max(0.55, 0.1 + 0.16 * max(map(len, lines)))  # inches, as are the numbers that follow
    label = 0.07 * max(len(line) for name in lines for line in name)
    figure = Figure(figsize=(max(0.4 + label + cell * size, 3), 0.8 + cell * size), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(shares, cmap="RdBu", vmin=0, vmax=100, alpha=_OPACITY, aspect="auto")
    for row in range(size):
        for column in range(size):
            if row != column and not np.isnan(share := shares[row, column]):
                ink = _readable_on(image.to_rgba(share)[:3])
                axes.text(column, row, f"{share:.0f}", ha="center", va="center", fontsize=9, color=ink)
    axes.set_yticks(range(size), names, fontsize=8)
    axes.set_xticks(range(size), [str(place + 1) for place in range(size)])
    figure.suptitle("points in % against; Elo in brackets", fontsize=9)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return as_svg(figure)


def _wrapped(name: str, width: int = 44) -> str:
    """Breaks a name into lines, behind a comma, a colon or a slash where that is possible."""
    lines = [""]
    for part in re.findall(r"[^,:/]+[,:/]*|[,:/]+", name):
        for piece in textwrap.wrap(part, width, drop_whitespace=False):
            if len(lines[-1] + piece) > width:
                lines.append("")
            lines[-1] += piece
    return "\n".join(lines)


def _readable_on(cell: Sequence[float] | np.ndarray) -> str:
    """Gives the colour of numbers on a cell (red, green, blue) that is not opaque: white on dark ones."""
    shown = _OPACITY * np.asarray(cell) + 1 - _OPACITY
    return "white" if shown @ (0.299, 0.587, 0.114) < 0.5 else "black"  # how bright each looks


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
