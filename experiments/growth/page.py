"""The tables and figures of the page of growth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.benchmark.table import short
from experiments.caches import in_words
from experiments.growth.curves import BATCH, CORES, DAGGER, LEARNERS, MEMORY, SEARCHES, SELF_PLAY, SIMULATIONS, STEPS
from experiments.pages import NONE, markdown
from training.jobs.figures import COLOURS, as_svg, axes_in_a_row

Row = Mapping[str, Any]


def tables(rows: Sequence[Row], levels: Mapping[str, int]) -> dict[str, str]:
    """Makes the tables of the page, by the names of their marks."""
    of = {part: [row for row in rows if row["part"] == part] for part in (BATCH, CORES, LEARNERS, SIMULATIONS, MEMORY)}
    return {
        "batch": markdown(
            ("case", "games", "per CPU second", "of the best", "touched by a step", "fits into"),
            [_batch(row, _best(of[BATCH], row["name"]), levels) for row in of[BATCH]],
        ),
        "cores": markdown(
            ("case", "spread over", "per second", "of one"), [_cores(row, _first(of[CORES], row["name"])) for row in of[CORES]]
        ),
        "learners": markdown(
            ("job", "processes", "iterations per second", "of one process"),
            [_learners(row, _first(of[LEARNERS], row["name"])) for row in of[LEARNERS]],
        ),
        "simulations": markdown(
            ("search", "simulations", "ms per search", "us per simulation", "tree per game"),
            [_simulations(row) for row in of[SIMULATIONS]],
        ),
        "memory": markdown(("search", "size", "bytes per game"), [_memory(row) for row in of[MEMORY]]),
        "caches": in_words(levels),
    }


def _rate(row: Row) -> float:
    rate: float | None = row.get("per_cpu_second") or row.get("per_wall_second")
    return rate or 0.0


def _best(rows: Sequence[Row], name: str) -> float:
    return max(_rate(row) for row in rows if row["name"] == name)


def _first(rows: Sequence[Row], name: str) -> Row:
    """Gives the row of one device or process; {} where there is none."""
    return next((row for row in rows if row["name"] == name and row["number"] == 1), {})


def _of(one: Row, row: Row) -> str:
    """Gives a rate as a multiple of that of one; with the commits of both where the code has changed between."""
    if not one.get("per_wall_second"):
        return NONE
    commits = "" if _is_same_code(one, row) else f" (commits {row['commit'] or NONE}, {one['commit'] or NONE})"
    return f"{row['per_wall_second'] / one['per_wall_second']:.2f}{commits}"


def _is_same_code(one: Row, other: Row) -> bool:
    """Says whether two rows were measured at the same commit."""
    return one.get("commit") == other.get("commit")


def working_set(row: Row) -> int:
    """Bytes that a program goes over again and again: its games, and what lies between its kernels."""
    program = row.get("program") or {}
    return program.get("argument_bytes", 0) + program.get("extra_bytes", 0)


def smallest_cache(size: int, levels: Mapping[str, int]) -> str:
    """Names the first cache that so many bytes fit into; memory if none."""
    return next((name for name, capacity in levels.items() if size <= capacity), "memory")


def _batch(row: Row, best: float, levels: Mapping[str, int]) -> list[str]:
    rate = _rate(row)
    if not rate:
        return [f"`{row['name']}`", str(row["number"]), row.get("failed", NONE), NONE, NONE, NONE]
    size = working_set(row)
    share = f"{100 * rate / best:.0f} %"
    return [f"`{row['name']}`", str(row["number"]), short(rate), share, f"{size / 1024:.3g} KiB", smallest_cache(size, levels)]


def _cores(row: Row, one: Row) -> list[str]:
    name, kind = row["name"].split(", ")
    if "failed" in row:
        return [f"`{name}`", f"{row['number']} {kind}", row["failed"], NONE]
    return [f"`{name}`", f"{row['number']} {kind}", short(row["per_wall_second"]), _of(one, row)]


def _learners(row: Row, one: Row) -> list[str]:
    if "failed" in row:
        return [row["name"], str(row["number"]), row["failed"], NONE]
    return [row["name"], str(row["number"]), f"{row['per_wall_second']:.3g}", _of(one, row)]


def _simulations(row: Row) -> list[str]:
    rate = _rate(row)
    if not rate:
        return [row["name"], str(row["number"]), row.get("failed", NONE), NONE, NONE]
    needs = row["program"].get("argument_bytes", 0) / row["lanes"]
    return [row["name"], str(row["number"]), f"{1e3 / rate:.3g}", f"{1e6 / rate / row['number']:.3g}", f"{needs / 1024:.3g} KiB"]


def _memory(row: Row) -> list[str]:
    what = "simulations" if "PUCT" in row["name"] else "rows"
    found = row.get("failed") or f"{row['bytes'] / 1024:.4g} KiB"
    return [row["name"], f"{row['number']} {what}", found]


def figures(rows: Sequence[Row]) -> dict[str, str]:
    """Draws the curves, as SVG by name of the file."""
    batch, (axes,) = axes_in_a_row(1, "games at a time", ("steps per CPU second, of the best batch",))
    for index, name in enumerate(STEPS):
        there = [(row["number"], _rate(row)) for row in rows if row["part"] == BATCH and row["name"] == name and _rate(row)]
        best = max((rate for _, rate in there), default=1.0)
        axes.plot([x for x, _ in there], [rate / best for _, rate in there], marker="o", color=COLOURS[index], label=name)
    _logarithmic(axes, 2)
    time, (axes, other) = axes_in_a_row(2, "simulations per search", ("ms of a core per search", "bytes of a tree"))
    for index, name in enumerate(SEARCHES):
        there = [(row["number"], _rate(row)) for row in rows if row["part"] == SIMULATIONS and row["name"] == name and _rate(row)]
        axes.plot([x for x, _ in there], [1e3 / rate for _, rate in there], marker="o", color=COLOURS[index], label=name)
        sizes = [
            (row["number"], row["bytes"]) for row in rows if row["part"] == MEMORY and row["name"] == name and "bytes" in row
        ]
        label = f"{name}, {'simulations' if 'PUCT' in name else 'rows'}"
        other.plot([x for x, _ in sizes], [y for _, y in sizes], marker="o", color=COLOURS[index], label=label)
    for each in (axes, other):
        _logarithmic(each, 10, both=True)
    other.set_xlabel("simulations, or rows of the table")
    return {"growth_batch.svg": as_svg(batch), "growth_simulations.svg": as_svg(time), "growth_spread.svg": _spread(rows)}


def _spread(rows: Sequence[Row]) -> str:
    """Draws what more devices and processes gain: random play on the left, learners on the right."""
    figure, (play, learn) = axes_in_a_row(2, "devices, or processes", ("steps, of one", "iterations, of one"))
    for index, name in enumerate(STEPS):
        for kind, style in (("devices", "--"), ("processes", "-")):
            _gained(play, rows, CORES, f"{name}, {kind}", style, COLOURS[index])
    for index, name in enumerate((SELF_PLAY, DAGGER)):
        _gained(learn, rows, LEARNERS, name, "-", COLOURS[index])
    for axes in (play, learn):
        numbers = {x for line in axes.lines for x in line.get_xdata()}
        axes.set_xticks(sorted(numbers))
        axes.set_ylim(bottom=0)
        if numbers:
            axes.legend(frameon=False, fontsize=8, handlelength=4)  # long enough for dashes on both sides of the mark
    learn.set_xlabel("processes, two devices in all")
    return as_svg(figure)


def _gained(axes: Any, rows: Sequence[Row], part: str, name: str, style: str, colour: str) -> None:
    """Draws the rates of a curve over that of one, where this was measured."""
    there = [row for row in rows if row["part"] == part and row["name"] == name and "failed" not in row]
    if one := _first(there, name):
        numbers, ratios = [row["number"] for row in there], [row["per_wall_second"] / one["per_wall_second"] for row in there]
        label = name if all(_is_same_code(one, row) for row in there) else f"{name}\n(of different commits)"
        axes.plot(numbers, ratios, style, marker="o", color=colour, label=label)


def _logarithmic(axes: Any, base: int, both: bool = False) -> None:
    if not any(len(line.get_xdata()) for line in axes.lines):
        return
    axes.set_xscale("log", base=base)
    if both:
        axes.set_yscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.legend(frameon=False, fontsize=8)
