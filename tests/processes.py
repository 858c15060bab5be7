"""Runs Python in a fresh process: for whatever must happen before JAX starts, or on another number of devices."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from jaxgames import processes

ROOT = Path(__file__).resolve().parents[1]
PREPARED = ("XLA_FLAGS", "PJRT_NPROC")  # what `runtime.prepare` leaves in the environment of this process


def is_kept(name: str) -> bool:
    """Says whether a fresh process should find this variable: not what would tell it how to prepare JAX."""
    return name == "JAX_PLATFORMS" or not (name in PREPARED or name.startswith("JAX_"))


def prepared_environment() -> dict[str, str]:
    """Gives the variables for a process that computes, bit for bit, what this one does."""
    return {name: value for name, value in os.environ.items() if is_kept(name) or name in PREPARED}


def run_python(
    arguments: Sequence[str], environment: Mapping[str, str] | None = None, *, folder: Path = ROOT, seconds: float = 300
) -> subprocess.CompletedProcess[str]:
    """Runs Python and waits for it.

    Args:
      arguments: such as ["-c", code] or ["scripts/plan.py", "--games", "1"].
      environment: variables to add to this process's, which are handed on but for those that prepare JAX.
      folder: where it runs; the checkout's root if not given.
      seconds: that it may take.

    Returns:
      Exit code and output, as text.
    """
    kept = {name: value for name, value in os.environ.items() if is_kept(name)}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**kept, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=seconds,
    )


def output_of(code: str, environment: Mapping[str, str] | None = None) -> str:
    """Runs code in a fresh process that must succeed without a word on stderr.

    Args:
      code: Python.
      environment: variables to add, as in `run_python`.

    Returns:
      What the code printed, without white space around it.
    """
    done = run_python(["-c", code], environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.strip()


def start_python(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Starts Python as `run_python` does, and does not wait for it."""
    kept = {name: value for name, value in os.environ.items() if is_kept(name)}
    command, given = [sys.executable, *arguments], {**kept, **(environment or {})}
    return subprocess.Popen(command, cwd=ROOT, env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ends_of(started: Sequence[subprocess.Popen[str]], seconds: float = 120) -> list[tuple[int, str, str]]:
    """Waits for processes; gives the exit code and the output of each. None outlives this."""
    try:
        told = [process.communicate(timeout=seconds) for process in started]
        return [(process.returncode, *both) for process, both in zip(started, told, strict=True)]
    finally:
        for process in started:
            process.kill()


def run_together(code: str, count: int, environment: Mapping[str, str] | None = None) -> list[tuple[int, str, str]]:
    """Runs code in several processes at once; `me` and `together` in it are the number and the `Processes` of each."""
    port = processes.free_port()
    return ends_of([start_python(["-c", joined(code, port, count, index)], environment) for index in range(count)])


def joined(code: str, port: int, count: int, index: int, patience: int = 60) -> str:
    """Gives code before which it is said which process of how many it runs in."""
    options = f"processes.Processes('localhost:{port}', {count}, {index}, {patience})"
    return f"from jaxgames import processes\nme, together = {index}, {options}\n{code}"
