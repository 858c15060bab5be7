"""Faults of one of two processes that share a run: it is killed, hangs, or is asked to end."""

from __future__ import annotations

import contextlib
import random
import signal
import socket
import time
from pathlib import Path

from experiments.drills.lives import CONFIG, Ended, Life, begin, last_line, steps_of, until
from jaxgames.processes import Processes

A_MINUTE = 60.0
_PORTS = range(10_000, 30_000)


def lost(folder: Path, straight: Path, draw: random.Random) -> list[str]:
    """kill -9 of one of two processes: the other ends within a minute with one line, and one alone or both at once go on."""
    del straight  # with other devices other mini-batches are drawn
    address, gone = _address(draw), draw.randrange(2)
    both = _both_begin(folder, address, draw)
    over = _is_over(folder)
    both[gone].send(signal.SIGKILL)
    ended = both[1 - gone].end(A_MINUTE)
    both[gone].end()
    return ([] if over else _tells_of(ended, gone)) + _going_on(folder, address, draw)


def hung(folder: Path, straight: Path, draw: random.Random) -> list[str]:
    """One of two processes hangs: the other ends as if it were lost, and it ends too when it comes to life again."""
    del straight
    address, gone = _address(draw), draw.randrange(2)
    both = _both_begin(folder, address, draw)
    over = _is_over(folder)
    both[gone].send(signal.SIGSTOP)
    ended = both[1 - gone].end(A_MINUTE)
    both[gone].send(signal.SIGCONT)
    back = both[gone].end(A_MINUTE)
    wrong = [] if over else _tells_of(ended, gone) + _blames_itself(back, ended, gone)
    if back.code == -signal.SIGKILL:
        wrong.append(f"process {gone} did not end within a minute after it had come to life again")
    if "raceback" in back.told:
        wrong.append(f"there is a traceback of process {gone}")
    return wrong + _going_on(folder, address, draw)


def asked_to_end(folder: Path, straight: Path, draw: random.Random) -> list[str]:
    """SIGTERM to one of two processes: both finish the iteration, save it and end."""
    del straight
    address = _address(draw)
    both = _both_begin(folder, address, draw)
    before = max(steps_of(folder), default=0)
    both[draw.randrange(2)].send(signal.SIGTERM)
    wrong = []
    ends = [life.end(A_MINUTE) for life in both]
    accepted = _ends_when_asked(folder)
    for number, ended in enumerate(ends):
        if ended.code not in accepted:
            wrong.append(f"process {number} ended with code {ended.code}: {last_line(ended)}")
    if not _is_over(folder) and max(steps_of(folder), default=0) < before:
        wrong.append(f"iteration {before} was saved and is gone")
    return wrong + _going_on(folder, address, draw)


def _ends_when_asked(folder: Path) -> tuple[int, ...]:
    """Exit codes of processes of which one was sent SIGTERM: after the last iteration it may end as others do, JAX the other."""
    all_learnt = _is_over(folder) or (folder / f"epoch-{CONFIG.epochs:03d}.npz").exists()
    return (0, -signal.SIGTERM, -signal.SIGABRT) if all_learnt else (0,)


def _both(folder: Path, address: str, resume: bool) -> list[Life]:
    outputs = [folder.with_name(f"{folder.name}-{number}.txt") for number in range(2)]
    who = [Processes(address, 2, number) for number in range(2)]
    return [begin(folder, resume=resume, output=out, together=one) for out, one in zip(outputs, who, strict=True)]


def _both_begin(folder: Path, address: str, draw: random.Random) -> list[Life]:
    """Begins a run of two processes, and waits for a moment after its first checkpoint."""
    both = _both(folder, address, resume=False)
    until(both[0], lambda: bool(steps_of(folder)))
    time.sleep(draw.uniform(0, 2))
    return both


def _address(draw: random.Random) -> str:
    """Draws an address for two processes, and for those that go on after them.

    Connections of other drills take ports above the range from which it is drawn, and no two drills at once draw the same one but
    by a rare chance.
    """
    while True:
        port = draw.choice(_PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):  # somebody has it
            probe.bind(("", port))
            return f"localhost:{port}"


def _is_over(folder: Path) -> bool:
    return (folder / "result.json").exists()


def _tells_of(ended: Ended, gone: int) -> list[str]:
    """Who stays must end within a minute, with one line that names the other; it may have come to the end of the run."""
    if ended.code == 0:
        return []
    told = [line for line in ended.told.splitlines() if line.startswith("error: ")]
    wrong = []
    if ended.code == -signal.SIGKILL:
        wrong.append(f"process {1 - gone} was still there a minute after process {gone}")
    if len(told) != 1 or f"process {gone} of 2" not in told[0]:
        wrong.append(f"process {1 - gone} said in {len(told)} lines: {last_line(ended)}")
    if "raceback" in ended.told:
        wrong.append("there is a traceback")
    return wrong


def _blames_itself(back: Ended, ended: Ended, gone: int) -> list[str]:
    """Who was still for too long must say so, unless the other has come to the end of the run."""
    if ended.code == 0 or f"error: process {gone} of 2 gave no sign of life" in back.told:
        return []
    return [f"process {gone}, which is back, did not say that it gave no sign of life: {last_line(back)}"]


def _going_on(folder: Path, address: str, draw: random.Random) -> list[str]:
    """Resumes the run by one process alone or by both, on the port of before: after what was saved, and to its end."""
    saved, over = max(steps_of(folder), default=0), _is_over(folder)
    lives = _both(folder, address, resume=True) if draw.randrange(2) else [begin(folder, resume=True)]
    wrong = []
    for number, resumed in enumerate([life.end() for life in lives]):
        if resumed.code != 0 or not _is_over(folder):
            wrong.append(f"resumed by {len(lives)}, process {number} ended with code {resumed.code}: {last_line(resumed)}")
        if number == 0 and not over and resumed.went_on_after < saved:
            wrong.append(f"iteration {saved} was saved and it went on after {resumed.went_on_after}")
    return wrong
