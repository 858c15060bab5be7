"""The log of a training run: a line of JSON per iteration, and the same as curves for TensorBoard."""

from __future__ import annotations

import errno
import json
import math
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np

from jaxgames import processes
from training.storage.files import sync, write_alone

LOG_FILE = "log.jsonl"
EVENTS_FOLDER = "events"

Value = float | int | str | Sequence[float] | np.ndarray


class RunLog:
    """Writes `log.jsonl` and, where tensorboardX is installed, `events/` in the folder of a run.

    Of several processes the first one writes.

    A run that was interrupted and goes on leaves the same log as one that was not: what has been written of iterations which
    are done again is dropped first. That holds where `sync` came before each checkpoint; a warning tells of lines that are lost.
    """

    def __init__(self, folder: str | os.PathLike[str], first_iteration: int = 0) -> None:
        """Opens the log and drops what is in it of `first_iteration` and later ones.

        Args:
          folder: of the run; made where it is missing.
          first_iteration: the first that will be written; 0 begins a new log. From iteration 1 on each has a line.

        Raises:
          OSError: the folder cannot be written.
          ValueError: the file that is there is no log; it stays as it is.
        """
        self._path = Path(folder) / LOG_FILE
        self._file, self._events = None, None
        if not processes.leads():
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        last = _drop_from(self._path, first_iteration)
        if last < first_iteration - 1:
            told = f"its lines from iteration {last + 1} on are lost; the run goes on with iteration {first_iteration}"
            warnings.warn(f"log {self._path}: {told}", stacklevel=2)
        self._path.touch()
        sync(self._path.parent)  # the file has its name there
        self._file = self._path.open("ab", buffering=0)  # a line is one write: nothing waits in a buffer when the run is killed
        self._events = _open_events(self._path.parent / EVENTS_FOLDER, first_iteration)

    def __enter__(self) -> RunLog:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
        if self._events is not None:
            self._events.close()

    def write(self, iteration: int, values: Mapping[str, Value]) -> None:
        """Adds a line.

        Args:
          iteration: its number.
          values: by name; numbers (also of numpy and JAX, one or an array of them) that are not finite are written as null.

        Raises:
          ValueError: one of the names is "iteration".
          OSError: the disk is full.
        """
        if "iteration" in values:
            raise ValueError("values['iteration']: the name is taken by the number of the iteration")
        if self._file is None:
            return
        record = {"iteration": int(iteration), **{name: _plain(value) for name, value in values.items()}}
        line = json.dumps(record, allow_nan=False).encode() + b"\n"
        try:
            _append(self._file, line)
        except OSError as error:
            raise self._failure(error) from error
        if self._events is not None:
            for name, number in _curves(record):
                self._events.add_scalar(name, number, int(iteration))

    def sync(self) -> None:
        """Waits until all lines are on the disk: before a checkpoint is saved, which must not know more than the log.

        Raises:
          OSError: the disk is full or cannot be written.
        """
        if self._file is None:
            return
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._failure(error) from error

    def _failure(self, error: OSError) -> OSError:
        return OSError(f"{self._path}: cannot be written ({error.strerror}): free some space, then go on with --resume")


def _append(file: FileIO, line: bytes) -> None:
    """Writes a line at once; where the disk has room for a part of it alone, nothing stays and it is an OSError."""
    length = file.seek(0, os.SEEK_END)
    if file.write(line) != len(line):
        file.truncate(length)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def read_log(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Reads a log; a last line that is torn is left out.

    Raises:
      ValueError: the file is no log.
      OSError: it cannot be read.
    """
    return [record for record, _ in _lines(Path(path))]


def measured(log: Iterable[Mapping[str, Any]], name: str) -> list[Any]:
    """Gives the values of a metric, in order; records without it are passed over, and those where it was not measured (null)."""
    return [record[name] for record in log if record.get(name) is not None]


def median_of(log: Iterable[Mapping[str, Any]], name: str) -> float | None:
    """Gives the median of a metric; None where it was never measured, as the speed of a run of one iteration, which compiled."""
    values = measured(log, name)
    return float(np.median(values)) if values else None


def _lines(path: Path) -> list[tuple[dict[str, Any], bytes]]:
    """Reads the lines of a log, each as a record and as it stands in the file, without the end of line."""
    found = []
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
            is_record = isinstance(record, dict) and isinstance(record.get("iteration"), int)
        except ValueError:
            is_record = False
        if is_record:
            found.append((record, line))
        elif number < len(lines):  # the last is empty, or torn
            raise ValueError(f"{path}:{number}: is no line of a log: move the file away, or choose another output folder")
    return found


def _drop_from(path: Path, first_iteration: int) -> int:
    """Rewrites a log without the iterations from this one on; leaves it alone where there are none.

    Returns:
      The last iteration that stays; 0 for none.
    """
    if not path.exists():
        return 0
    kept = [(record["iteration"], line) for record, line in _lines(path) if record["iteration"] < first_iteration]
    content = b"".join(line + b"\n" for _, line in kept)
    if content != path.read_bytes():
        write_alone({path: content})
    return max((iteration for iteration, _ in kept), default=0)


def _open_events(folder: Path, first_iteration: int) -> Any:
    """Opens a file of events for TensorBoard; gives None where tensorboardX is missing."""
    try:
        from tensorboardX import SummaryWriter
    except ImportError:
        return None
    # TensorBoard then hides what an interrupted run has written of these iterations. The suffix keeps two runs that begin within
    # one second, as tensorboardX counts, from writing the same file.
    return SummaryWriter(str(folder), purge_step=first_iteration, filename_suffix=f".{first_iteration}.{os.getpid()}")


def _plain(value: Any) -> Any:
    """Turns a value into what JSON has: str, bool, int, float or None, and lists of them."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if hasattr(value, "tolist"):  # numpy and JAX
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _curves(record: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Gives the numbers of a record under a name each; those of a list under "name/0", "name/1" and so on."""
    curves = []
    for name, value in record.items():
        parts = {f"{name}/{index}": part for index, part in enumerate(value)} if isinstance(value, list) else {name: value}
        curves += [(label, part) for label, part in parts.items() if isinstance(part, int | float) and name != "iteration"]
    return curves
