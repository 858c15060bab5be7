"""Figures for people: tables in pages, and the one that is shown while cases are measured."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence

import rich.box
import rich.table

from experiments.benchmark import cases
from experiments.benchmark.case import Case
from experiments.benchmark.records import Row, newest
from experiments.pages import NONE, markdown

COLUMNS = ("work", "peer", "reach", "ours, one core", "all cores, wall", "speed-up", "batch", "compile", "commit")

OF_BATCHES = ("searches", "observations", "batches")  # units of which a row shows the time of a whole batch; older rows say so
BRIEF = ("work", "ours, one core", "others")
README = ("pommerman/random", "pommerman/simple_agents", "pommerman/fdts", "hex/dark_random", "hex/puct_100", "hero_academy/oep")


def figures(rows: Sequence[Row]) -> str:
    """Makes the tables of docs/benchmarks.md, one per device, of the newest rows.

    Args:
      rows: as recorded, the newest last.

    Returns:
      Markdown. "One core" is per CPU second with the process pinned to one core; the speed-up is that of all cores over one, both
      by wall time.
    """
    rows = newest(rows)
    devices = dict.fromkeys(row["device"] for row in rows)
    return "\n\n".join(_device_table(device, [row for row in rows if row["device"] == device]) for device in devices)


def brief(rows: Sequence[Row], names: Sequence[str] = ()) -> str:
    """Makes a short table: what was measured on one core of the CPU that has most of it, and what others reach.

    Args:
      rows: as recorded, the newest last.
      names: of the cases to show, in this order; (): all of which there are rows.

    Returns:
      Markdown, "" without rows.
    """
    chosen = names or [case.name for case in cases.CASES]
    found = [row for row in newest(rows) if row["case"] in chosen and row["platform"] == "cpu" and row["cores"] == 1]
    counts = Counter(row["device"] for row in found)
    device = max(counts, key=lambda name: counts[name], default="")
    by_case = {row["case"]: row for row in found if row["device"] == device}
    shown = [(cases.find(name), by_case[name]) for name in chosen if name in by_case]
    return markdown(
        BRIEF, [[f"`{case.name}`: {case.summary}", _result(row, "per_cpu_second"), _peers(case, row)] for case, row in shown]
    )


def _device_table(device: str, rows: Sequence[Row]) -> str:
    last = max(rows, key=lambda row: row["date"])
    cores = max(row["cores"] for row in rows)
    dates = dict.fromkeys((min(row["date"] for row in rows)[:10], last["date"][:10]))
    versions = " and ".join(dict.fromkeys(row["versions"]["jax"] for row in rows))
    title = f"{device}, {cores} core{'s' * (cores > 1)}, jax {versions}, {' to '.join(dates)}"
    by_case = [(case, {row["cores"]: row for row in rows if row["case"] == case.name}) for case in cases.CASES]
    table = markdown(COLUMNS, [_cells(case, of_case) for case, of_case in by_case if of_case])
    return f"**{title}**\n\n{table}"


def _cells(case: Case, rows: dict[int, Row]) -> list[str]:
    """Fills the columns for one case from its rows by number of cores."""
    one, every = rows.get(1), rows[max(rows)]
    shown = one or every
    speed_up = NONE
    if one and every is not one and one["per_wall_second"] and every["per_wall_second"]:
        speed_up = f"{every['per_wall_second'] / one['per_wall_second']:.2f}x"
    return [
        f"`{case.name}`: {case.summary}",
        _peers(case, shown),
        case.reach or NONE,
        _result(one, "per_cpu_second") if one else NONE,
        _result(every, "per_wall_second") if every is not one or every["platform"] != "cpu" else NONE,
        speed_up,
        str(shown["batch"]),
        NONE if case.unit == "s" else f"{shown['compile_seconds']:.1f} s",
        ", ".join(dict.fromkeys(row["commit"] or NONE for row in (one, every) if row)),
    ]


def _peers(case: Case, row: Row) -> str:
    """Writes what peers reach; those that were measured in the same run stand in the row's details, or were not there."""
    shown = []
    for text in case.peers:
        with contextlib.suppress(KeyError):
            shown.append(text.format(**row["details"]))
    return ", ".join(shown) or NONE


def _result(row: Row, clock: str) -> str:
    """Writes the main figure of a row: a rate, the time of a plan, or the seconds of a compilation."""
    if row["unit"] == "s":
        return ", ".join(f"{name.removesuffix('_seconds')} {seconds:.1f} s" for name, seconds in row["details"].items())
    rate = row[clock]
    if not rate:
        return NONE
    if row["unit"] in OF_BATCHES:
        return f"{1000 * row['batch'] / row['devices'] / rate:.3g} ms"
    if row["unit"] == "worlds":
        return f"{1e6 / rate:.3g} us"
    return f"{1000 / rate:.3g} ms" if row["unit"] in ("plans", "decisions") else f"{short(rate)}/s"


def short(number: float) -> str:
    """Writes a number with three digits: 5.58 M, 12.3 k, 276."""
    for size, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= 0.9995 * size:
            return f"{_three_digits(number / size)}{letter}"
    return _three_digits(number)


def _three_digits(number: float) -> str:
    digits = 2 if number < 9.995 else 1 if number < 99.95 else 0
    return f"{number:.{digits}f}"


def for_terminal() -> rich.table.Table:
    """Makes the empty table that is shown while cases are measured."""
    table = rich.table.Table(box=rich.box.SIMPLE_HEAD, padding=0, show_edge=False)
    table.add_column("case", no_wrap=True)
    for name in ("cores", "per CPU s", "per wall s", "batch", "compile", "length", "checksum"):
        table.add_column(name, justify="right")
    return table


def add_row(table: rich.table.Table, row: Row) -> None:
    """Adds a row to the table of `for_terminal`."""
    if row["unit"] == "s":
        for name, seconds in row["details"].items():
            work = f"{row['case']} {name.removesuffix('_seconds')}"
            table.add_row(work, str(row["cores"]), NONE, NONE, NONE, f"{seconds:.1f} s", NONE, NONE)
        return
    table.add_row(
        row["case"],
        str(row["cores"]),
        _result(row, "per_cpu_second"),
        _result(row, "per_wall_second"),
        str(row["batch"]),
        f"{row['compile_seconds']:.1f} s",
        NONE if row["mean_episode_length"] is None else f"{row['mean_episode_length']:.1f}",
        row["checksum"] or NONE,
    )
