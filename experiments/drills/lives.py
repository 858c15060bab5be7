"""Lives of a training run: each is a fork of a process that has loaded everything and computed nothing."""

from __future__ import annotations

import ctypes
import dataclasses
import os
import re
import signal
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import jax
from rich.console import Console

from jaxgames import processes
from jaxgames.processes import Processes
from training.jobs import train_alphaze
from training.jobs.train_alphaze import TrainConfig
from training.learn.alphaze import AlphazeConfig
from training.models.policy_value import PolicyValueConfig
from training.storage.checkpoints import UNFINISHED
from training.storage.logs import read_log

SECONDS = 300.0  # no life is longer
_LIBRARY, _DEATH_OF_PARENT = ctypes.CDLL(None), 1  # of C, and PR_SET_PDEATHSIG of Linux
_SOUND = re.compile(r"[1-9][0-9]*")

# A real job on the smallest of boards, which saves after every iteration.
CONFIG = TrainConfig(
    who=PolicyValueConfig(mode="adh-3", network="tiny"),
    learn=AlphazeConfig(
        num_worlds=2,
        num_simulations=4,
        lanes=4,
        steps=10,
        epoch_samples=80,
        buffer_size=128,
        epoch_updates=4,
        updates=2,
        batch_size=16,
    ),
    epochs=4,
    gate_games=0,
    rate_games=0,
    final_games=0,
    checkpoint_every=1,
    keep=3,
)
COMPARED = ("best.npz", f"epoch-{CONFIG.epochs:03d}.npz")  # weights that a run writes last


class Ended(NamedTuple):
    """How a life ended: the exit code (minus the signal's number if one ended it), and all that it printed."""

    code: int
    told: str

    @property
    def went_on_after(self) -> int:
        """The iteration after which it went on; 0 if it began."""
        found = re.search(r"going on after iteration (\d+)", self.told)
        return int(found[1]) if found else 0


def last_line(ended: Ended) -> str:
    """The last that a life has said."""
    lines = ended.told.strip().splitlines()
    return lines[-1] if lines else "not a word"


@dataclasses.dataclass(frozen=True)
class Life:
    """A process at work.

    Attributes:
      process: its number.
      output: file of what it prints.
    """

    process: int
    output: Path

    def runs(self) -> bool:
        """Whether it has not ended; may be asked once after its end."""
        return os.waitid(os.P_PID, self.process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def send(self, number: int) -> None:
        """Sends a signal."""
        os.kill(self.process, number)

    def end(self, seconds: float = SECONDS) -> Ended:
        """Waits for its end; a life that takes longer is killed, with the code of that."""
        limit = time.monotonic() + seconds
        while self.runs() and time.monotonic() < limit:
            time.sleep(0.01)
        if self.runs():
            self.send(signal.SIGKILL)
        _, status = os.waitpid(self.process, 0)
        return Ended(os.waitstatus_to_exitcode(status), self.output.read_text(errors="replace"))


def begin(folder: Path, *, resume: bool = False, output: Path | None = None, together: Processes | None = None) -> Life:
    """Begins or resumes the run of a folder in a fork.

    Args:
      folder: of the run.
      resume: go on with what is there.
      output: file for what it prints; None: one beside the folder.
      together: which one it is of several processes that share the run; None: it is alone.
    """
    config = dataclasses.replace(CONFIG, output=str(folder), resume=resume)
    return apart(lambda: _live(config, together), output or folder.with_name(f"{folder.name}.txt"))


def apart(work: Callable[[], int], output: Path, orphaned: signal.Signals = signal.SIGKILL) -> Life:
    """Does something in a fork, which treats signals as a process of its own does, whatever this one does.

    Args:
      work: gives the exit code.
      output: file for what it prints.
      orphaned: the signal that it gets when this process ends before it; on Linux alone.
    """
    parent = os.getpid()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*fork")  # of processes with threads, which have not begun to compute here
        process = os.fork()
    if process:
        return Life(process, output)
    code = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has it ignored by what runs in the background
        _end_with(parent, orphaned)
        with output.open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        code = work()
    except BaseException as error:
        print(f"traceback: {type(error).__name__}: {error}", file=sys.stderr)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _end_with(parent: int, number: signal.Signals) -> None:
    """Has this process sent a signal when its parent ends."""
    if sys.platform == "linux":
        _LIBRARY.prctl(_DEATH_OF_PARENT, int(number), 0, 0, 0)
        if os.getppid() != parent:  # it has ended before
            signal.raise_signal(number)


def until(life: Life, condition: Callable[[], bool], pause: float = 0.002) -> bool:
    """Waits for something to happen while a life goes on; says whether it has."""
    while life.runs():
        if condition():
            return True
        time.sleep(pause)
    return False


def _live(config: TrainConfig, together: Processes | None) -> int:
    """Runs the job as the command does: what users can mend is told in one line."""
    try:
        if together:
            processes.start(together)
        train_alphaze.run(config, Console(width=200, quiet=not processes.leads()))
        processes.end()
    except (ValueError, OSError, jax.errors.JaxRuntimeError) as error:
        processes.await_verdict(error.__cause__ or error)
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0


def steps_of(folder: Path) -> list[int]:
    """The iterations of which there is a checkpoint."""
    return sorted(int(path.name) for path in (folder / "checkpoints").glob("*") if _SOUND.fullmatch(path.name))


def is_saving(folder: Path) -> bool:
    """Whether a checkpoint is being written."""
    return any((folder / "checkpoints").glob(f"{UNFINISHED}*"))


def differences(folder: Path, straight: Path) -> list[str]:
    """In what the end of a run differs from that of one which nothing has interrupted."""
    found = [f"{name} differs" for name in COMPARED if _content(folder / name) != _content(straight / name)]
    if not (folder / "result.json").exists():
        found.append("no result.json")
    elif _log(folder) != _log(straight):
        found.append("the log differs")
    return found


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def _log(folder: Path) -> list[dict[str, object]]:
    """The log without what depends on the clock."""
    return [{name: value for name, value in line.items() if "second" not in name} for line in read_log(folder / "log.jsonl")]
