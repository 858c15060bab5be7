"""Runs Python in a fresh process: for whatever must happen before JAX starts, or on another number of devices."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PREPARED = ("XLA_FLAGS", "PJRT_NPROC")  # what `runtime.prepare` leaves in the environment of this process


def is_kept(name: str) -> bool:
    """Says whether a fresh process should find this variable: not what would tell it how to prepare JAX."""
    return name == "JAX_PLATFORMS" or not (name in PREPARED or name.startswith("JAX_"))


def prepared_environment() -> dict[str, str]:
    """Gives the variables for a process that computes, bit for bit, what this one does."""
    return {name: value for name, value in os.environ.items() if is_kept(name) or name in PREPARED}


def run_python(
    arguments: Sequence[str], environment: Mapping[str, str] | None = None, *, folder: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    """Runs Python and waits for it.

    Args:
      arguments: such as ["-c", code] or ["scripts/plan.py", "--games", "1"].
      environment: variables to add to this process's, which are handed on but for those that prepare JAX.
      folder: where it runs; the checkout's root if not given.

    Returns:
      Exit code and output, as text.
    """
    kept = {name: value for name, value in os.environ.items() if is_kept(name)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env={**kept, **(environment or {})}, capture_output=True, text=True, timeout=300
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
