"""What the tests of all training jobs need: programs that are compiled once, runs in this process, logs to compare."""

import copy
import io
import json
import os
from pathlib import Path

import jax
import pytest
from rich.console import Console

from training.logs import RunLog, read_log


def shared_jobs(module, programs_of):
    """For a fixture: while it lasts, jobs of `module` with equal `programs_of(config)` share what they have compiled."""
    made, patch = {}, pytest.MonkeyPatch()

    class SharedJob(module._Job):
        def __init__(self, config, console):
            programs = programs_of(config)
            if programs not in made:
                super().__init__(config, console)
                made[programs] = copy.copy(self)
            self.__dict__ |= vars(made[programs])
            self.config, self.console, self.folder = config, console, Path(config.output)
            self.key = jax.random.key(config.seed)

    patch.setattr(module, "_Job", SharedJob)
    yield SharedJob
    patch.undo()


def run_here(module, config):
    """Runs a job in this process; returns the result, and what was printed."""
    console = Console(file=io.StringIO(), width=200)
    result = module.run(config, console)
    return result, console.file.getvalue()


def send_signal_at(monkeypatch, module, number, iterations):
    """This process gets a signal while the job of `module` logs these iterations."""

    class Log(RunLog):
        def write(self, iteration, values):
            super().write(iteration, values)
            if iteration in iterations:
                os.kill(os.getpid(), number)

    monkeypatch.setattr(module, "RunLog", Log)


def log_without(folder, times):
    """The log without what depends on the clock."""
    return [{name: value for name, value in line.items() if name not in times} for line in read_log(folder / "log.jsonl")]


def result_of(folder):
    """The result without its time and what may differ between runs."""
    result = json.loads((folder / "result.json").read_text())
    del result["seconds"], result["settings"]["output"], result["settings"]["resume"]
    return result


def newest(folder):
    """The iteration of the newest checkpoint, 0 if there is none."""
    return max((int(path.name) for path in (folder / "checkpoints").glob("*") if path.name.isdigit()), default=0)
