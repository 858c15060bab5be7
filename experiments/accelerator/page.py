"""The page that tells what was found, made again after every row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.accelerator.pieces import CHECKS, CORE, LEARNERS, SPEEDS, Piece, on_several
from experiments.accelerator.supervise import LATE
from experiments.benchmark.table import short
from experiments.pages import NONE, markdown

Row = Mapping[str, Any]
TRAINING = ("training", "iterations", "first after", "later ones", "first and last loss")


def page(about: Mapping[str, Any], rows: Sequence[Row], missing: Mapping[str, Sequence[Piece]], minutes: float) -> str:
    """Writes the page.

    Args:
      about: what the working process has told of the device; {} if it has not begun.
      rows: as in rows.jsonl.
      missing: pieces that were not reached (yet), by part.
      minutes: that were given.
    """
    found = {part: [row for row in rows if row["part"] == part] for part in (CHECKS, SPEEDS, CORE, LEARNERS)}
    cores = {row["name"]: row["per_cpu_second"] for row in found[CORE] if not row["failed"]}
    same = sum(row.get("same", False) for row in found[CHECKS])
    late = sum(row["failed"].startswith(LATE) for row in rows)
    failed = sum(bool(row["failed"]) for row in rows) - late
    speeds, trainings = (sum(not row["failed"] for row in found[part]) for part in (SPEEDS, LEARNERS))
    parts = [
        f"# {device_of(about) if about else 'no device yet'}",
        f"{versions_of(about)}, commit {about.get('commit') or NONE}; {minutes:g} minutes were given.",
        f"**{same} of {sum('same' in row for row in found[CHECKS])} checks agree; {speeds} speeds, {trainings} trainings; "
        f"{failed} failed, {late} took too long, {sum(map(len, missing.values()))} were not reached.**",
        "## Is it what a CPU gives?",
        f"The device against the CPU of the same machine ({about.get('against', NONE)}), which does its part in two halves of "
        "the batch. Of states every bit must be the same.",
        markdown(("check", "compared", "same", "what differs", "s"), [_check(row) for row in found[CHECKS]]) or NONE,
        "## How fast is it?",
        "Medians of few repeats. `needs` are the bytes of the program, arguments and work space; kernels, gathers and scatters "
        "are those of one round of its main loop (a step of all games, a simulation of all searches), as compiled for this "
        "device; `+` marks loops whose length only the device knows, counted once; `cores` of the same machine's CPU do as much.",
        markdown(
            ("case", "batch", "per second", "cores", "compiled in", "needs", "kernels", "gathers, scatters"),
            [_speed(row, cores.get(row["name"])) for row in found[SPEEDS]],
        )
        or NONE,
        "\n".join(f"One core of the CPU, `{row['name']}`: {row['failed']}." for row in found[CORE] if row["failed"]),
        "## Does everything learn on it?",
        markdown(TRAINING, map(learner, found[LEARNERS])) or NONE,
        "## What was not reached",
        "\n".join(f"* {part}: {', '.join(piece.title for piece in pieces)}" for part, pieces in missing.items() if pieces)
        or NONE,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def device_of(about: Row) -> str:
    """Names a device, and says how many of them there are."""
    return f"{about['device']} ({about['devices']} of platform {about['platform']})"


def versions_of(about: Row) -> str:
    """Names the versions of what runs on it."""
    return ", ".join(f"{name} {version}" for name, version in about.get("versions", {}).items())


def cores_worth(rate: float | None, core: float | None) -> str:
    """Says how many cores of the CPU do as much."""
    worth = rate / core if rate and core else None
    return NONE if worth is None else f"{worth:.1f}" if worth < 10 else f"{worth:.0f}"


def _check(row: Row) -> list[str]:
    if row["failed"]:
        return [row["name"], NONE, "**failed**", row["failed"], f"{row['seconds']:.1f}"]
    return [row["name"], row["compared"], "yes" if row["same"] else "**no**", row["differs"] or NONE, f"{row['seconds']:.1f}"]


def _speed(row: Row, core: float | None) -> list[str]:
    several = on_several(row.get("devices", 1))
    if row["failed"]:
        return [f"`{row['name']}`", f"{row['size']:g} x usual{several}", f"**{row['failed']}**", NONE, NONE, NONE, NONE, NONE]
    program = row.get("program") or {}
    rate = row["per_wall_second"]
    needs = program.get("argument_bytes", 0) + program.get("extra_bytes", 0)
    return [
        f"`{row['name']}`",
        f"{row['batch']}{several}",
        f"{short(rate)} {row['unit']}" if rate else NONE,
        cores_worth(rate, core),
        f"{row['compile_seconds']:.1f} s",
        f"{needs / 2**20:.0f} MiB" if needs else NONE,
        f"{program['kernels']}{'+' * bool(program['open_loops'])}" if program else NONE,
        f"{program['gathers']}, {program['scatters']}" if program else NONE,
    ]


def learner(row: Row) -> list[str]:
    """Tells of a training: its name, iterations, seconds of the first and of later ones, first and last loss."""
    if row["failed"]:
        return [row["name"], NONE, f"**{row['failed']}**", NONE, NONE]
    later = f"{row['later_seconds']:.3g} s" if row["later_seconds"] is not None else NONE
    losses = ", ".join(f"{loss:.4g}" for loss in row["losses"])
    return [row["name"], str(row["iterations"]), f"{row['first_seconds']:.1f} s", later, losses or NONE]
