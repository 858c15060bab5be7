"""What the tests of all training jobs need: programs that are compiled once, runs in this process, logs to compare."""

import copy
import dataclasses
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import pytest
from rich.console import Console

from tests.processes import ROOT, prepared_environment
from training.jobs import job
from training.storage.logs import RunLog, read_log


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


def start(script, config):
    """Starts a script with the flags of a config in a process of its own, on as many devices as this one has."""
    flat = job.flat(dataclasses.asdict(config))
    flags = [
        part
        for name, value in flat.items()
        if name != "resume" and value != "" and not isinstance(value, bool)
        for part in (f"--{name}", f"{value}")
    ]
    flags += ["--resume"] if config.resume else []
    return subprocess.Popen(
        [sys.executable, script, *flags],
        cwd=ROOT,
        env=prepared_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def kill_at_random(script, config, times, source, numbers=(signal.SIGKILL,)):
    """Starts a run, and again, and kills each process at some moment after its first iteration; at last lets it end."""
    log, again = Path(config.output) / "log.jsonl", dataclasses.replace(config, resume=True)
    for turn in range(times):
        before = set(log.read_bytes().splitlines()) if log.exists() else set()
        process = start(script, again if turn else config)
        alive_until = time.monotonic() + 280
        while process.poll() is None and time.monotonic() < alive_until:
            lines = log.read_bytes().splitlines() if log.exists() else []
            if lines and lines[-1] not in before:
                break
            time.sleep(0.01)
        time.sleep(source.uniform(0, 0.3))
        number = numbers[turn % len(numbers)]
        process.send_signal(number)
        told, error = process.communicate(timeout=280)
        assert process.returncode == (-number if number == signal.SIGKILL else 0), told + error
    process = start(script, again)
    told, error = process.communicate(timeout=280)
    assert process.returncode == 0, told + error
    assert "going on after iteration" in told and "results in" in told
