"""The folder of a run: whether it is free for a run or holds the one that goes on, with the same settings."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from jaxgames import processes
from training.jobs.job import CHECKPOINTS, JobConfig
from training.storage.checkpoints import UNFINISHED, Checkpoints
from training.storage.files import LOCK, write_atomically
from training.storage.json_files import read_json
from training.storage.logs import LOG_FILE, read_log
from training.storage.named_files import Digests, digests
from training.storage.owner import FILES, GO_ON, JOB, RESULT, SETTINGS, check_owner, other_owner
from training.storage.provenance import as_read, flat

BEST = "best.npz"  # the weights that a run stands for


def check_folder(config: Any, folder: Path, checkpoints: Checkpoints, files: Digests | None = None) -> None:
    """Checks that a config, and what is in the files that it names, fit the folder of its run, in which no other job has written.

    Args:
      config: of the job.
      folder: of its run.
      checkpoints: in that folder.
      files: what is in those files; None: what is in them now.
    """
    check_owner(config, folder)

    def check() -> None:
        if config.resume:
            check_settings(config, folder / SETTINGS, files)
        elif checkpoints.steps():
            raise ValueError(f"output={config.output!r}: holds a run; go on with --resume, or choose another folder")

    processes.agree(check)


def check_kept(config: Any, folder: Path) -> None:
    """Checks that no run has lost its checkpoints: it would begin again, and write over what is left of it.

    To be asked before `Checkpoints` makes their folder. A run that was stopped before its first one has that folder, empty; it
    may begin again.

    Args:
      config: of the job.
      folder: of its run, in which no other job has written.

    Raises:
      ValueError: there is a result, are weights or a log, and no checkpoints.
    """
    check_owner(config, folder)

    def check() -> None:
        if processes.leads() and (left := _left(config, folder)):
            told = f"holds the {left} of a run without checkpoints; give another folder, or move away what lies there"
            raise ValueError(f"output={config.output!r}: {told}")

    processes.agree(check)


def _left(config: Any, folder: Path) -> str:
    """Names what is left of a run whose checkpoints were taken away; "": nothing, they are there, or there were none yet."""
    place, log = folder / CHECKPOINTS, _iterations(folder / LOG_FILE)
    if place.is_dir() and any(not path.name.startswith(UNFINISHED) for path in place.iterdir()):
        return ""
    if _holds(folder / RESULT, "settings", dict):
        return RESULT
    if place.is_dir():  # weights may be older than the first checkpoint; a log of more iterations than that takes is not
        settings = folder / SETTINGS
        every = read_json(settings, "settings", then=GO_ON) if _holds(settings, "checkpoint_every", int) else vars(config)
        return LOG_FILE if log and log[-1] > every["checkpoint_every"] else ""
    if (folder / BEST).exists():
        return BEST
    return LOG_FILE if log else ""


def _holds(path: Path, name: str, kind: type) -> bool:
    """Says whether a file is there, and holds JSON with a value of this name."""
    try:
        read_json(path, "file", {name: kind})
    except (OSError, ValueError):
        return False
    return True


def _iterations(path: Path) -> list[int]:
    """Gives the iterations in a log; none where there is no log, or the file is something else, which `RunLog` tells."""
    try:
        return [record["iteration"] for record in read_log(path)]
    except (OSError, ValueError):
        return []


def check_length(config: Any, folder: Path, name: str, done: int) -> None:
    """Checks that a run which goes on is not to become shorter than it is: its result would be of neither length.

    Args:
      config: of the job that goes on.
      folder: of its run.
      name: of the setting that says how long the run is.
      done: how much of that is done, which may be more than was asked for, as iterations are whole.

    Raises:
      ValueError: less is asked for than is done, and less than before.
    """

    def check() -> None:
        path, given = folder / SETTINGS, getattr(config, name)
        before = read_json(path, "settings", then=GO_ON).get(name, done) if path.exists() else done
        if given < min(done, before):
            raise ValueError(f"{name}={given}: the run in {folder} has already done {done}; must be >= {min(done, before)}")

    processes.agree(check)


def write_settings(config: Any, folder: Path, files: Digests | None = None, **more: str) -> None:
    """Writes a config into the folder of its run, with the job's name and what is in the files that it names.

    Args:
      config: of a job.
      folder: of its run.
      files: what was in those files when they were read; None: what is in them now.
      more: what else is written, by name.
    """
    files = digests(config) if files is None else files
    settings = {JOB: config.JOB, **dataclasses.asdict(config), **({FILES: files} if files else {}), **more}
    write_atomically(folder / SETTINGS, json.dumps(settings, indent=2) + "\n")


def check_settings(config: Any, path: Path, files: Digests | None = None, free: Collection[str] | None = None) -> None:
    """Compares a config, and what is in the files that it names, with those that a run was begun with.

    Args:
      config: of a job.
      path: of the run's settings.json; nothing is compared if it is not there.
      files: what is in those files; None: what is in them now.
      free: fields that may differ; None: its `FREE`, which a run that goes on may have changed.

    Raises:
      ValueError: another field differs, or a file that one names, or the file at `path` is no config.
    """
    if not path.exists():
        return
    before, free = flat(read_json(path, "settings", then=GO_ON)), config.FREE if free is None else free
    compared = {name: value for name, value in flat(as_read(config)).items() if name not in free}
    for name, value in compared.items():
        if (found := before.get(name)) != value:
            raise ValueError(f"{name}={value!r}: the run in {path.parent} has {found!r}; give that, or choose another output")
    files = digests(config) if files is None else files
    for name in (name for name in compared if name not in config.READ_AT_START):
        prefix = f"{FILES}.{name}."  # of what has been read; earlier versions did not tell it
        read = {key.removeprefix(prefix): digest for key, digest in before.items() if key.startswith(prefix)}
        if difference := _difference(read, files.get(name, {})):
            what, mend = difference
            told = f"{what} since the run in {path.parent} read it; {mend}, or choose another output"
            raise ValueError(f"{name}={compared[name]!r}: {told}")


def _difference(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, str] | None:
    """Says what else files hold than before, by their digests, and what to do; None: nothing, but for files after all others."""
    first = [*now][: len(before)]
    for file, digest in before.items():
        if file not in now:
            return f"{file} has gone", "put it back"
        if now[file] != digest:
            return f"what is in {file} has changed", "put that back"
        if file not in first:
            new = next(each for each in first if each not in before)
            return f"{new} has come before {file}", f"take {new} away"
    return None


def files_as_read(config: Any, folder: Path, files: Digests) -> Digests:
    """Gives what is in the files of a run that goes on, and what was in those that it only began with.

    Args:
      config: of the job.
      folder: of its run.
      files: what is in all of them now.
    """
    path = folder / SETTINGS
    begun = read_json(path, "settings", then=GO_ON).get(FILES, {}) if path.exists() else {}
    now = {name: found for name, found in files.items() if name not in config.READ_AT_START}
    return now | {name: begun[name] for name in config.READ_AT_START if name in begun}


def remove_outdated_result(config: Any, folder: Path, *, is_over: bool) -> None:
    """Removes a result that the run will replace: while there is one, others take the run for finished.

    That is the result of a shorter run, or of one with other settings than now (those of `JobConfig.FREE` aside). A result of
    another job stays.

    Args:
      config: of the job that goes on.
      folder: of its run.
      is_over: whether nothing is left to learn.
    """

    def settings(whole: Any) -> dict[str, Any]:
        return {name: value for name, value in flat(whole).items() if name not in JobConfig.FREE}

    def remove() -> None:
        path = folder / RESULT
        if not processes.leads() or not path.exists() or other_owner(config, path):
            return
        try:
            before = settings(read_json(path, "result", {"settings": dict})["settings"])
        except ValueError:
            before = {}
        if not is_over or before != settings(as_read(config)):
            path.unlink()

    processes.agree(remove)


@contextlib.contextmanager
def nothing_left(folder: Path) -> Iterator[None]:
    """Empties a folder of which nothing was there before, when a run is interrupted before its first iteration is done."""
    before = [path for path in folder.iterdir() if path.name != LOCK]
    try:
        yield
    except KeyboardInterrupt:
        if not processes.leads():
            raise
        log = folder / LOG_FILE
        if not before and not (log.exists() and log.stat().st_size):
            for path in folder.iterdir():
                if path.is_dir():
                    shutil.rmtree(path)
                elif path.name != LOCK:
                    path.unlink()
        raise
