"""The faults, one function each: what is done to a run, and what must hold afterwards.

A fault is given an empty folder, a finished run to compare with, and a generator of random numbers. It returns what is wrong, in
words; nothing if all is as it should be.
"""

from __future__ import annotations

import contextlib
import functools
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from experiments.drills.lives import COMPARED, Ended, begin, differences, is_saving, last_line, steps_of, until
from experiments.drills.together import asked_to_end, hung, lost
from training.jobs.errors import one_line

Fault = Callable[[Path, Path, random.Random], list[str]]
_DISK = 1_200_000  # bytes of a disk that is too small for the run


def _resumed(folder: Path, straight: Path, least: int) -> list[str]:
    """Resumes a run to its end: it must go on after iteration `least` or later, and end as if nothing had happened."""
    ended = begin(folder, resume=True).end()
    wrong = [] if ended.code == 0 else [f"resumed, it ended with code {ended.code}: {last_line(ended)}"]
    if ended.went_on_after < least:
        wrong.append(f"iteration {least} was saved and it went on after {ended.went_on_after}")
    return wrong + (differences(folder, straight) if ended.code == 0 else [])


def _one_line(ended: Ended, code: int, *words: str) -> list[str]:
    """A refusal must have its exit code, no traceback, and name the reason."""
    wrong = [] if ended.code == code else [f"ended with code {ended.code}, expected {code}: {last_line(ended)}"]
    if "raceback" in ended.told:
        wrong.append("there is a traceback")
    return wrong + [f"does not say {word!r}: {last_line(ended)}" for word in words if word not in ended.told]


def killed(folder: Path, straight: Path, draw: random.Random) -> list[str]:
    """kill -9 at a random moment."""
    life = begin(folder)
    until(life, lambda: bool(steps_of(folder)))
    time.sleep(draw.uniform(0, 2))
    life.send(signal.SIGKILL)
    life.end()
    return _resumed(folder, straight, max(steps_of(folder), default=0))


def killed_while_saving(folder: Path, straight: Path, draw: random.Random) -> list[str]:
    """kill -9 in the middle of writing a checkpoint."""
    life = begin(folder)
    number = draw.randint(1, 12)
    until(life, lambda: max(steps_of(folder), default=0) >= number and is_saving(folder), 0.0005)
    time.sleep(draw.uniform(0, 0.03))
    life.send(signal.SIGKILL)
    life.end()
    return _resumed(folder, straight, max(steps_of(folder), default=0))


def stopped(folder: Path, straight: Path, draw: random.Random) -> list[str]:
    """SIGTERM or SIGINT: the iteration is finished and saved."""
    life = begin(folder)
    until(life, lambda: bool(steps_of(folder)))
    time.sleep(draw.uniform(0, 1))
    number = draw.choice([signal.SIGTERM, signal.SIGINT])
    life.send(number)
    ended = life.end()
    is_over = number == signal.SIGTERM or (folder / "result.json").exists()
    wrong = [] if ended.code == (0 if is_over else 130) else [f"ended with code {ended.code}: {last_line(ended)}"]
    return wrong + _resumed(folder, straight, max(steps_of(folder), default=0))


def _damage(path: Path, draw: random.Random) -> str:
    """Damages a file in some way, and says which."""
    content = bytearray(path.read_bytes())
    way = draw.choice(["flipped", "cut", "emptied", "removed", "overwritten", "grown"]) if content else "removed"
    if way == "flipped":
        place = draw.randrange(8 * len(content))
        content[place // 8] ^= 1 << place % 8
    elif way == "cut":
        del content[draw.randrange(len(content)) :]
    elif way == "emptied":
        content.clear()
    elif way == "overwritten":
        first = draw.randrange(len(content))
        content[first : first + 64] = draw.randbytes(len(content[first : first + 64]))
    elif way == "grown":
        content += draw.randbytes(16)
    if way == "removed":
        path.unlink()
    else:
        path.write_bytes(content)
    return way


def _without_its_end(folder: Path) -> None:
    """Takes from a finished run its last checkpoint and all that is written at the end.

    What is restored must be learnt from and written then: of a run that is over, files that were never touched would be compared.
    """
    shutil.rmtree(folder / "checkpoints" / str(steps_of(folder)[-1]))
    for name in (*COMPARED, "result.json"):
        (folder / name).unlink()


def damaged(folder: Path, straight: Path, draw: random.Random) -> list[str]:
    """One file of the newest checkpoint is damaged: the one before takes its place."""
    shutil.copytree(straight, folder)
    _without_its_end(folder)
    *_, before, newest = steps_of(folder)
    files = sorted(path for path in (folder / "checkpoints" / str(newest)).rglob("*") if path.is_file())
    path = draw.choice(files)
    way = _damage(path, draw)
    return [f"{path.name} {way}: {each}" for each in _resumed(folder, straight, before)]


def disk_full(folder: Path, straight: Path, draw: random.Random) -> list[str]:
    """The disk has no room: one line, what was saved is there, and with room the run goes on."""
    with _small_disk(folder.with_name(f"{folder.name}-disk"), _DISK - draw.randrange(_DISK // 2)) as disk:
        ended = begin(disk / "run", output=folder.with_name(f"{folder.name}-full.txt")).end()
        wrong = _one_line(ended, 2, "error: ")
        if (disk / "run").exists():
            shutil.copytree(disk / "run", folder)
    return wrong + _resumed(folder, straight, max(steps_of(folder), default=0))


@contextlib.contextmanager
def _small_disk(path: Path, size: int, options: str = "") -> Iterator[Path]:
    """Mounts a disk of so many bytes in memory; only root may."""
    path.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}{options}", "tmpfs", str(path)], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def read_only(folder: Path, straight: Path, draw: random.Random) -> list[str]:
    """The folder cannot be written: one line at once, and nothing is lost."""
    del draw
    with _small_disk(folder.with_name(f"{folder.name}-disk"), 2**26) as disk:
        shutil.copytree(straight, disk / "run")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        told = folder.with_name(f"{folder.name}-refused.txt")  # not on the disk that cannot be written
        wrong = _one_line(begin(disk / "run", resume=True, output=told).end(), 2, "give another folder")
        shutil.copytree(disk / "run", folder)
    return wrong + _resumed(folder, straight, max(steps_of(folder), default=0))


def two_runs(folder: Path, straight: Path, draw: random.Random) -> list[str]:
    """A second run on a folder in use is refused with who holds it; the first goes on."""
    first = begin(folder)
    until(first, lambda: bool(steps_of(folder)))
    time.sleep(draw.uniform(0, 1))
    first.send(signal.SIGSTOP)  # so that it is still at work
    wrong = _one_line(
        begin(folder, resume=True, output=folder.with_name(f"{folder.name}-second.txt")).end(60),
        2,
        f"in use by process {first.process}",
    )
    first.send(signal.SIGCONT)
    ended = first.end()
    return wrong + ([] if ended.code == 0 else [f"the first ended with code {ended.code}"]) + differences(folder, straight)


@functools.cache
def _no_mounting() -> str:
    """Why this process may not mount a disk; "" if it may: root may not in every container."""
    if os.geteuid():
        return "needs a disk of its own, which only root may mount"
    if not shutil.which("mount"):
        return "needs a disk of its own, and there is no program mount"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            subprocess.run(["umount", "-l", folder], check=True)
            return ""
    return f"needs a disk of its own, which may not be mounted here ({one_line(done.stderr)})"


FAULTS: Mapping[str, Fault] = {
    "killed": killed,
    "killed while saving": killed_while_saving,
    "stopped": stopped,
    "a lost process": lost,
    "a hung process": hung,
    "one of two asked to end": asked_to_end,
    "a damaged file": damaged,
    "two runs on one folder": two_runs,
    "a full disk": disk_full,
    "a read-only folder": read_only,
}
_ON_A_DISK = ("a full disk", "a read-only folder")


def left_out() -> dict[str, str]:
    """Faults that cannot be made on this machine, each with the reason."""
    return dict.fromkeys(_ON_A_DISK, reason) if (reason := _no_mounting()) else {}


def faults() -> dict[str, Fault]:
    """All faults that can be made on this machine, by name."""
    missing = left_out()
    return {name: fault for name, fault in FAULTS.items() if name not in missing}
