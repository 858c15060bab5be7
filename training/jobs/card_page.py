"""The card report as a page: tables, plots, and what is counted."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping, Sequence

import numpy as np

from training.jobs.figures import COLOURS, as_svg, axes_in_a_row

# Title, name of the figure, by which number it is multiplied to be shown.
COLUMNS = (
    ("use rate, %", "use_rate", 100.0),
    ("plays per battle", "plays", 1.0),
    ("damage per elixir", "damage", 1.0),
    ("of it to towers", "to_towers", 1.0),
    ("kills per elixir", "kills", 1.0),
    ("elixir killed per elixir", "worth", 1.0),
)
_COUNTED = (
    "Points: 1 for a battle won, half for one drawn. Use rate: share of all cards that the deck in question plays.",
    "In each tick the hit points that a unit or tower loses are shared among all blows, shots and waves of spells that land on "
    "it, by their damage, and so is its death. What a card's units make or leave, and their bombs, count for the card.",
    "Not counted: damage beyond the hit points that were there, what buildings lose by age, units that die by their own blow, "
    "and what stuns, slows, pushes and drawing fire are good for. Kills are of troops and buildings, not of towers; elixir "
    "killed is what these had cost.",
    "Both arms play the same shuffles on both sides with the same random numbers; four such battles are a block. Intervals are "
    "of means over blocks, and differences are taken block by block.",
)


def cell(figure: Mapping, scale: float = 1.0) -> str:
    """Writes a figure: without -> with (difference, interval)."""
    first, second, difference = (figure[name] for name in ("without", "with", "difference"))

    def number(value: float, sign: str = "") -> str:
        value *= scale
        return f"{value:{sign}.0f}" if abs(value) >= 100 else f"{value:{sign}.1f}" if abs(value) >= 10 else f"{value:{sign}.2f}"

    left, right = (number(one["mean"]) if one else "–" for one in (first, second))
    if not difference:
        return f"{left} -> {right}"
    middle = number(difference["mean"], "+")
    if difference["low"] is None:
        return f"{left} -> {right} ({middle})"
    return f"{left} -> {right} ({middle}, {number(difference['low'], '+')} to {number(difference['high'], '+')})"


def short_cell(figure: Mapping, scale: float = 1.0) -> str:
    """Writes a figure for the terminal: without -> with, and a star where the interval of the difference leaves 0 out."""
    return cell(figure, scale).partition(" (")[0] + (" *" if is_found(figure["difference"]) else "")


def is_found(difference: Mapping | None) -> bool:
    """Says whether an interval of a difference leaves 0 out."""
    if not difference or difference["low"] is None:
        return False
    return bool(difference["low"] > 0 or difference["high"] < 0)


def verdict(report: Mapping) -> str:
    """Gives the answer in one line: what the change does to the points of the deck."""
    difference = report["all"]["difference"]
    middle = f"{100 * difference['mean']:+.1f} points of 100"
    if difference["low"] is None:
        return f"With the change the deck makes {middle}; a single block of battles has no interval"
    told = f"{middle} (interval {100 * difference['low']:+.1f} to {100 * difference['high']:+.1f})"
    if is_found(difference):
        return f"With the change the deck makes {told}: {'more' if difference['mean'] > 0 else 'fewer'} than without"
    return f"With the change the deck makes {told}: no difference is found"


def lines(report: Mapping) -> list[str]:
    """Gives what is said below the table: the answer, points by deck, and what so many battles can find."""
    told = [f"against {one['against']}: points {cell(one, 100)} %" for one in report["decks"]]
    if len(told) > 1:
        told.append(f"against all: points {cell(report['all'], 100)} %")
    return [verdict(report), *told, *power_lines(report)]


def power_lines(report: Mapping) -> list[str]:
    """Gives what the battles can find, in words."""
    found = report["power"]
    sure = f"alpha {found['alpha']:g}, power {found['power']:g}"
    if found["smallest_difference"] is None:
        return [f"power ({sure}): the arms do not differ in any block, so nothing can be said"]
    needed = ", ".join(f"{100 * float(each):g} points: {count}" for each, count in found["battles_for"].items())
    least = f"{report['battles']} battles find a difference of {100 * found['smallest_difference']:.1f} points of 100"
    if found["smallest_difference"] > 1:
        least = f"{report['battles']} battles are too few to find any difference"
    return [f"power ({sure}): {least}; battles for a smaller or larger one of {needed}"]


def plots(report: Mapping) -> dict[str, str]:
    """Draws the figures of the page, as SVG by title.

    Raises:
      ImportError: matplotlib is not there.
    """
    return {
        "Points by deck": _points_plot(report),
        "Use rate": _cards_plot(report["cards"], "use_rate", "share of plays, %", 100.0),
        "Damage per elixir": _cards_plot(report["cards"], "damage", "hit points per elixir"),
        "Kills per elixir": _cards_plot(report["cards"], "kills", "kills per elixir"),
        "What a smaller difference needs": _power_plot(report),
    }


def _points_plot(report: Mapping) -> str:
    figure, (axes,) = axes_in_a_row(1, "", ("points, %",))
    rows = [*report["decks"], {"against": "all", **report["all"]}] if len(report["decks"]) > 1 else report["decks"]
    names = [f"deck {number + 1}" for number in range(len(report["decks"]))] + ["all"] * (len(rows) > len(report["decks"]))
    _bars(axes, [(row["without"], row["with"]) for row in rows], 100.0)
    axes.set_ylim(0, 100)  # intervals of few battles may be wider than that
    axes.axhline(50, color="#999999", linewidth=0.8)
    axes.set_xticks(range(len(rows)), [f"against {name}" for name in names])
    return as_svg(figure)


def _cards_plot(cards: Sequence[Mapping], name: str, label: str, scale: float = 1.0) -> str:
    figure, (axes,) = axes_in_a_row(1, "", (label,))
    _bars(axes, [(card[name]["without"], card[name]["with"]) for card in cards], scale)
    axes.set_xticks(range(len(cards)), [card["with"] for card in cards], rotation=40, ha="right", fontsize=8)
    return as_svg(figure)


def _bars(axes, rows: Sequence[tuple[Mapping | None, Mapping | None]], scale: float) -> None:
    """Draws two bars with intervals for each row, without and with the change."""
    for arm, title in enumerate(("without the change", "with it")):
        found = [row[arm] or {"mean": 0.0, "low": 0.0, "high": 0.0} for row in rows]
        ends = [[one["mean"] if one[each] is None else one[each] for one in found] for each in ("mean", "low", "high")]
        middle, low, high = scale * np.array(ends)
        places = np.arange(len(rows)) + 0.4 * arm - 0.2
        axes.bar(places, middle, 0.38, yerr=[middle - low, high - middle], capsize=2, color=COLOURS[arm], label=title)
    axes.legend(frameon=False, fontsize=8, ncols=2, loc="lower right", bbox_to_anchor=(1, 1))  # above: bars may be high


def _power_plot(report: Mapping) -> str:
    figure, (axes,) = axes_in_a_row(1, "battles, of both arms", ("difference of points that is found, %",))
    found = report["power"]
    if found["battles_for"]:
        least, number = 100 * found["smallest_difference"], report["battles"]
        battles = np.geomspace(max(number / 16, 8), number * 64, 50)
        axes.plot(battles, least * np.sqrt(number / battles), color=COLOURS[0])
        axes.plot([number], [least], "o", color=COLOURS[1], label="this report")
        axes.set(xscale="log", yscale="log")
        _plain_ticks(axes.xaxis, [10**power for power in range(9) if battles[0] <= 10**power <= battles[-1]])
        _plain_ticks(axes.yaxis, [1, 2, 5, 10, 20, 50])
        axes.set_ylim(max(least / 10, 0.5), 100)
        axes.legend(frameon=False, fontsize=8)
    axes.set_title(f"alpha {found['alpha']:g}, power {found['power']:g}", fontsize=9)
    return as_svg(figure)


def _plain_ticks(axis, ticks: Sequence[int]) -> None:
    """Puts ticks with plain numbers onto a logarithmic axis."""
    axis.set_ticks(ticks, [str(tick) for tick in ticks])
    axis.set_ticks([], minor=True)


def page(report: Mapping, figures: Mapping[str, str]) -> str:
    """Makes the page, a single HTML file with the figures in it."""
    without, changed = report["deck"]["without"], report["deck"]["with"]
    head = f"Card report: {report['change']}"
    who = " against ".join(dict.fromkeys(report["players"]))
    intro = [
        f"{report['battles']} battles, half of them with the change; {who}, {report['settings']['mode']}, "
        f"{report['mean_seconds'][0]:g} s on average without the change and {report['mean_seconds'][1]:g} s with it.",
        f"The deck in question: {', '.join(without)}. With the change: {', '.join(changed)}.",
        f"Intervals hold with {100 * (1 - report['settings']['alpha']):g} %. "
        "Figures are: without the change -> with it (difference, its interval).",
    ]
    by_deck = [
        [f"deck {number + 1}: {one['against'].replace('+', ', ')}", cell(one, 100)] for number, one in enumerate(report["decks"])
    ]
    if len(by_deck) > 1:
        by_deck.append(["all", cell(report["all"], 100)])
    cards = [
        [one["card"] if one["card"] == one["with"] else f"{one['card']} -> {one['with']}"]
        + [cell(one[figure], scale) for _, figure, scale in COLUMNS]
        for one in report["cards"]
    ]
    towers = [[title, cell(report["towers"][name])] for title, name in (("damage to units", "to_units"), ("kills", "kills"))]
    parts = [
        f"<h1>{html.escape(head)}</h1>",
        f"<p><b>{html.escape(verdict(report))}.</b></p>",
        *(f"<p>{html.escape(text)}</p>" for text in intro),
        "<h2>Points by deck</h2>",
        _table(["against", "points, %"], by_deck),
        *(f"<p>{html.escape(text)}</p>" for text in power_lines(report)),
        "<h2>Cards</h2>",
        _table(["card", *(title for title, _, _ in COLUMNS)], cards),
        "<h2>Towers, per battle</h2>",
        _table(["", "towers of the deck in question"], towers),
        *(_plot(title, svg) for title, svg in figures.items()),
    ]
    if not figures:
        parts.append("<p>No plots: <code>pip install '.[viz]'</code> in a checkout</p>")
    parts.append("<h2>What is counted</h2>" + "".join(f"<p>{html.escape(text)}</p>" for text in _COUNTED))
    style = (
        "body{font-family:Helvetica,Arial,sans-serif;margin:2em;max-width:75em;color:#222}table{border-collapse:collapse}"
        "td,th{border:1px solid #ccc;padding:.3em .6em;text-align:left;font-size:.9em}img{max-width:100%}"
    )
    title = html.escape(head)
    return (
        f"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>{title}</title><style>{style}</style></head>"
        f"<body>{''.join(parts)}</body></html>\n"
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in cells) + "</tr>"

    return "<table>" + row(head, "th") + "".join(row(cells, "td") for cells in rows) + "</table>"


def _plot(title: str, svg: str) -> str:
    data = base64.b64encode(svg.encode()).decode()
    return f"<h2>{html.escape(title)}</h2><img alt='{html.escape(title)}' src='data:image/svg+xml;base64,{data}'>"
