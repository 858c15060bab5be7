"""The figures of the results pages, as SVG. matplotlib comes with the extra `viz`."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from training.play import counting

if TYPE_CHECKING:
    from experiments.papers.cells import Cell
    from training.play.tournament import CrossTable

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999", "#8c564b")


def known_states_figure(cells: Sequence[tuple[Cell, dict]]) -> str:
    """Draws the share of states already in the tree over depth, one line per planner with a tree."""
    figure, axes = _axes("depth, steps from the present state", "states already known, %")
    lines = [(cell, result["metrics"]) for cell, result in cells if "known" in result.get("metrics", {})]
    for index, (cell, metrics) in enumerate(lines):
        known, met = np.array(metrics["known"]), np.array(metrics["met"])
        depth = np.flatnonzero(met[1:]) + 1
        style = "-" if cell.bandit == "ts" else "--"
        label = f"{cell.planner.upper().replace('_', ' ')} + {cell.bandit.upper()}"
        axes.plot(depth, 100 * known[depth] / met[depth], style, color=COLOURS[index // 2], label=label)
    if lines:
        axes.legend(frameon=False)
    return as_svg(figure)


def sweep_figure(cells: Sequence[tuple[Cell, dict]]) -> str:
    """Draws the win rate over the number of simulations, one line per depth, with 95 % intervals."""
    figure, axes = _axes("simulations per move", "games won, %")
    for index, horizon in enumerate(sorted({cell.horizon for cell, _ in cells})):
        line = sorted((c.num_simulations, r["released"]) for c, r in cells if c.horizon == horizon)
        x = [n for n, _ in line]
        rate = np.array([100 * r["wins"] / r["games"] for _, r in line])
        bounds = 100 * np.array([counting.wilson(r["wins"], r["games"]) for _, r in line])
        errors = np.abs(bounds.T - rate)
        axes.errorbar(x, rate, errors, color=COLOURS[index], marker="o", capsize=3, label=f"depth {horizon}")
    if cells:
        axes.legend(frameon=False)
    return as_svg(figure)


def visits_figure(behaviours: Mapping[str, dict]) -> str:
    """Draws where agents spend their time, one board each; all begin at the top left."""
    figure, parts = axes_in_a_row(len(behaviours), "", [""] * len(behaviours))
    figure.set_size_inches(2.3 * len(behaviours), 2.7)
    for axes, (name, found) in zip(parts, behaviours.items(), strict=True):
        axes.imshow(np.sqrt(found["visits"]), cmap="viridis")
        axes.set_title("\n".join(textwrap.wrap(name, 22)), fontsize=8)
        axes.grid(visible=False)
        axes.set_xticks([])
        axes.set_yticks([])
    return as_svg(figure)


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


def _axes(x_label: str, y_label: str):
    figure, parts = axes_in_a_row(1, x_label, (y_label,))
    return figure, parts[0]


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
