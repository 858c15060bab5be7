"""What the tests of training jobs need: runs in this process, and what they have left."""

import copy
import dataclasses
import io
import json
import os
import sys

import jax
import numpy as np
import pytest
from rich.console import Console

from training.jobs import running
from training.jobs.job import Job
from training.jobs.stopping import StoppedByInterrupt
from training.storage.logs import RunLog, read_log


def sharing(job_class):
    """Gives `make(config, console)` of jobs that share what the first of them has compiled; they must learn in the same way."""
    made = []

    def make(config, console):
        if not made:
            made.append(job_class(config, console))
        shared = copy.copy(made[0])
        Job.__init__(shared, config, console)
        return shared

    return make


def run_here(make, config, *, draws=False):
    """Runs a job, made by `make(config, console)`, in this process; returns the result, and what was printed.

    In place of the result of a run that an interrupt has stopped there is that interrupt.
    It draws its log only if this is asked for: a picture takes longer than all else of a small run.
    """
    console = Console(file=io.StringIO(), width=200)
    with pytest.MonkeyPatch.context() as patch:
        if not draws:
            patch.setitem(sys.modules, "training.jobs.curves", None)
        try:
            result = running.run(make(config, console))
        except StoppedByInterrupt as stop:
            result = stop
    return result, console.file.getvalue()


def stepped(params, number):
    """Parameters after a made-up gradient step of this number, which is noise."""
    draw = np.random.default_rng(int(number))
    return jax.tree.map(lambda leaf: np.asarray(leaf) + draw.normal(0, 0.1, leaf.shape).astype(np.float32), params)


def send_signal_at(monkeypatch, number, *iterations):
    """This process gets a signal while a job logs these iterations."""

    class Log(RunLog):
        def write(self, iteration, values):
            super().write(iteration, values)
            if iteration in iterations:
                os.kill(os.getpid(), number)

    monkeypatch.setattr(running, "RunLog", Log)


def log_of(folder):
    """The log without what depends on the clock."""
    lines = read_log(folder / "log.jsonl")
    return [{name: value for name, value in line.items() if "second" not in name} for line in lines]


def result_of(folder):
    """The result without its time and what may differ between runs."""
    result = json.loads((folder / "result.json").read_text())
    del result["seconds"], result["settings"]["output"], result["settings"]["resume"]
    return result


def steps_of(folder):
    """The iterations of which there are checkpoints."""
    return sorted(int(path.name) for path in (folder / "checkpoints").glob("*") if path.name.isdigit())


def contents(folder):
    """Every file, and when it was written."""
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*") if path.is_file()}


def as_json(config):
    """Settings as settings.json has them."""
    return {"job": config.JOB, **json.loads(json.dumps(dataclasses.asdict(config)))}
