"""The figures of the results pages, as SVG. matplotlib comes with the extra `viz`."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.papers.tables import points, rate
from training.jobs.figures import COLOURS, as_svg, axes_in_a_row, colour

if TYPE_CHECKING:
    from experiments.papers.cells import Cell

BOARDS_IN_A_ROW = 6
_NEAREST_TICKS = 1.4  # on a logarithmic scale, the one over the other
_LINE, _LETTER = 0.6, 0.066  # inches of a legend: a line with the space around it, and a letter

# A line of a figure: its name, and at each place a share in per cent with the bounds of its interval.
Line = tuple[str, Sequence[tuple[float, tuple[float, float, float]]]]


def known_states_figure(cells: Sequence[tuple[Cell, dict]]) -> str:
    """Draws the share of states already in the tree over depth, one line per planner with a tree."""
    figure, (axes,) = axes_in_a_row(1, "depth, steps from the present state", ("states already known, %",))
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
    figure, (axes,) = axes_in_a_row(1, "simulations per move", ("games won, %",))
    lines = []
    for horizon in sorted({cell.horizon for cell, _ in cells}):
        counts = sorted((cell.num_simulations, result["released"]) for cell, result in cells if cell.horizon == horizon)
        lines.append((f"depth {horizon}", [(number, rate(count["wins"], count["games"])) for number, count in counts]))
    _draw_lines(axes, lines)
    return as_svg(figure)


def wins_figure(label: str, panels: Mapping[str, Sequence[Line]]) -> str:
    """Draws shares of games won over a number, on a logarithmic scale: lines with intervals, in panels by their titles."""
    figure, parts = axes_in_a_row(len(panels), label, [f"{title}: games won, %" for title in panels])
    names = list(dict.fromkeys(name for lines in panels.values() for name, _ in lines))
    drawn = {}
    for axes, lines in zip(parts, panels.values(), strict=True):
        for name, line in lines:
            drawn[name] = _draw_line(axes, line, colour(names.index(name)))
        axes.set_ylim(0, 100)
        _numbers_apart(axes, sorted({number for _, line in lines for number, _ in line}))
    _legend_below(figure, {name: drawn[name] for name in names})
    return as_svg(figure)


def _legend_below(figure, drawn: Mapping[str, Any]) -> None:
    """Puts the names of lines under all panels, in as many columns as there is room for."""
    width = _LINE + _LETTER * max(map(len, drawn), default=0)
    columns = max(1, min(4, int(figure.get_figwidth() / width)))
    figure.legend(drawn.values(), drawn.keys(), loc="outside lower center", ncols=columns, frameon=False, fontsize=8)


def _numbers_apart(axes, numbers: Sequence[float]) -> None:
    """A logarithmic scale with the numbers as they are: powers of ten would be set as formulas, which are written as text.

    Numbers so near to the one before that they would run into each other are left out.
    """
    axes.set_xscale("log")
    shown = list(numbers[:1])
    for number in numbers:
        if number >= _NEAREST_TICKS * shown[-1]:
            shown.append(number)
    axes.set_xticks(shown, [f"{number:,}" for number in shown])
    axes.minorticks_off()


def points_figure(label: str, lines: Sequence[tuple[str, Mapping[int, dict]]], *, log: bool = False) -> str:
    """Draws points in per cent over a number, one line with intervals per name."""
    figure, (axes,) = axes_in_a_row(1, label, ("points, %",))
    _draw_lines(axes, [(name, [(number, points(one)) for number, one in found.items()]) for name, found in lines])
    axes.axhline(50, color="#999999", linewidth=0.8)
    axes.set_ylim(0, 100)
    if log:
        _numbers_apart(axes, sorted({number for _, found in lines for number in found}))
    return as_svg(figure)


def _draw_lines(axes, lines: Sequence[Line]) -> None:
    for index, (name, line) in enumerate(lines):
        _draw_line(axes, line, colour(index), name)
    if lines:
        axes.legend(frameon=False)


def _draw_line(axes, line: Sequence[tuple[float, tuple[float, float, float]]], line_colour: str, name: str = ""):
    """Draws a line with its intervals. Returns what a legend shows."""
    middle, low, high = np.array([shares for _, shares in line]).T
    errors = [middle - low, high - middle]
    return axes.errorbar([x for x, _ in line], middle, errors, color=line_colour, marker="o", capsize=3, label=name)


def over_rounds_figure(panels: Mapping[str, Mapping[str, Sequence[tuple[int, float | None]]]]) -> str:
    """Draws lines over the rounds of training, side by side: by label of the panel, by name of the line, (round, value)."""
    figure, parts = axes_in_a_row(len(panels), "round", list(panels))
    for axes, lines in zip(parts, panels.values(), strict=True):
        for index, (name, line) in enumerate(lines.items()):
            there = [(number, value) for number, value in line if value is not None]
            axes.plot([x for x, _ in there], [y for _, y in there], marker="o", markersize=3, color=colour(index), label=name)
        axes.set_ylim(bottom=0)
    drawn = {name: line for axes in parts for line, name in zip(*axes.get_legend_handles_labels(), strict=True)}
    _legend_below(figure, drawn)
    return as_svg(figure)


def bars_figure(labels: Sequence[str], groups: Mapping[str, Sequence[float]]) -> str:
    """Draws shares in per cent as bars, beside each other for each label."""
    figure, (axes,) = axes_in_a_row(1, "", ("share of moves, %",))
    width = 0.8 / max(len(groups), 1)
    for index, (name, shares) in enumerate(groups.items()):
        places = np.arange(len(labels)) + width * (index + 0.5) - 0.4
        hatch = "////" if index >= len(COLOURS) else None  # where colours begin again
        axes.bar(places, 100 * np.array(shares), width, color=colour(index), hatch=hatch, label=name)
    axes.set_xticks(range(len(labels)), labels)
    figure.legend(loc="outside lower center", frameon=False, fontsize=8)  # below the bars: names are long
    return as_svg(figure)


def visits_figure(behaviours: Mapping[str, dict]) -> str:
    """Draws where agents spend their time, one board each; all begin at the top left."""
    from matplotlib.figure import Figure

    columns = min(len(behaviours), BOARDS_IN_A_ROW)
    rows = -(-len(behaviours) // columns)
    figure = Figure(figsize=(2.3 * columns, 2.7 * rows), layout="constrained")
    parts = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes in parts[len(behaviours) :]:
        axes.remove()
    for axes, (name, found) in zip(parts[: len(behaviours)], behaviours.items(), strict=True):
        axes.imshow(np.sqrt(found["visits"]), cmap="viridis")
        axes.set_title("\n".join(textwrap.wrap(name.replace(":", ": ").replace(",", ", "), 26)), fontsize=8)
        axes.grid(visible=False)
        axes.set_xticks([])
        axes.set_yticks([])
    return as_svg(figure)
