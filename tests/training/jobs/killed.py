"""Runs the toy job and kills it, again and again: `python -m tests.training.jobs.killed FOLDER TIMES`.

Each life is a fork of this process, which has loaded everything and computed nothing. Prints how many lives ended while a
checkpoint was being written; at last a life is left to end by itself.
"""

import os
import random
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path

from rich.console import Console

from jaxgames import runtime
from tests.training.jobs.runs import steps_of
from tests.training.jobs.toy import ToyConfig, ToyJob, ToyLearnConfig
from training.jobs import running
from training.storage.checkpoints import UNFINISHED

SECONDS = 120  # for a life to save something


def config_of(folder, **changes):
    """A run that saves most of its time."""
    return ToyConfig(seed=3, output=str(folder), learn=ToyLearnConfig(rows=500), **{"checkpoint_every": 1, **changes})


def begin(config):
    """Runs the job in a fork; returns its number."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        warnings.simplefilter("error")  # no checkpoint may be damaged
        running.run(ToyJob(config, Console(quiet=True)))
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def is_saving(folder, before):
    """Whether a checkpoint is being written, and is not the first of this life."""
    return steps_of(folder) != before and any((folder / "checkpoints").glob(f"{UNFINISHED}*"))


def main(folder, times):
    """Kills, mostly without warning, at moments when a checkpoint is being written or was a moment ago."""
    runtime.prepare(cores=1)
    warnings.filterwarnings("ignore", message=".*fork")  # of processes with threads, which this one is not yet
    draw, torn = random.Random(0), 0
    for turn in range(times):
        before, number = steps_of(folder), (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)[turn % 3]
        process, end = begin(config_of(folder, resume=True, total=10**6)), time.monotonic() + SECONDS
        while not is_saving(folder, before):
            assert time.monotonic() < end and os.waitpid(process, os.WNOHANG) == (0, 0)
            time.sleep(0.001)
        time.sleep(draw.uniform(0, 0.1))
        os.kill(process, number)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        assert code == (-number if number == signal.SIGKILL else 0), code
        torn += any((folder / "checkpoints").glob(f"{UNFINISHED}*"))
    last = begin(config_of(folder, resume=True, total=2 * steps_of(folder)[-1] + 4))
    assert os.waitpid(last, 0)[1] == 0
    print(torn)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
