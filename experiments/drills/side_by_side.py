"""Drills side by side, each made by a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import NamedTuple

from experiments.drills.lives import Life, apart, last_line

_CALLING_OFF = signal.SIGINT
_TIDYING = 10.0  # seconds for a drill that is called off


class Drill(NamedTuple):
    """A drill to be made.

    Attributes:
      number: from 0.
      fault: its name.
      place: folder of its run, which is empty; names beside it that begin as it does are its own, too.
    """

    number: int
    fault: str
    place: Path


def make(drills: Iterator[Drill], one: Callable[[Drill], list[str]], at_once: int) -> Generator[tuple[Drill, list[str]]]:
    """Makes drills, so many at once. Gives each when it is over, with what is wrong; who closes it calls off what is at work.

    Args:
      drills: is asked for the next one when there is room for it.
      one: makes one drill.
      at_once: how many are at work at most.
    """
    at_work: dict[Drill, Life] = {}
    try:
        while True:
            while len(at_work) < at_once and (drill := next(drills, None)) is not None:
                at_work[drill] = _begun(drill, one)
            if not at_work:
                return
            for drill in [drill for drill, life in at_work.items() if not life.runs()]:
                yield drill, _ended(drill, at_work.pop(drill))
            time.sleep(0.02)
    finally:
        _call_off(list(at_work.values()))


def _begun(drill: Drill, one: Callable[[Drill], list[str]]) -> Life:
    def work() -> int:
        os.setsid()  # what is called off ends with all that it has started
        _findings_of(drill).write_text(json.dumps(one(drill)))
        return 0

    return apart(work, drill.place.with_name(f"{drill.place.name}-drill.txt"), _CALLING_OFF)


def _findings_of(drill: Drill) -> Path:
    return drill.place.with_name(f"{drill.place.name}-wrong.json")


def _ended(drill: Drill, life: Life) -> list[str]:
    """What is wrong, as the process of a drill that is over has found."""
    ended = life.end()
    if ended.code:
        return [f"could not be made: its process ended with code {ended.code}: {last_line(ended)}"]
    wrong: list[str] = json.loads(_findings_of(drill).read_text())
    return wrong


def _call_off(lives: list[Life]) -> None:
    """Ends drills that are at work: each may tidy up, such as unmount its disk."""
    for life in lives:
        life.send(_CALLING_OFF)
    for life in lives:
        life.end(_TIDYING)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(life.process, signal.SIGKILL)
