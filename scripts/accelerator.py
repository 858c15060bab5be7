"""Checks and measures an accelerator and trains on it, in a few minutes: `python scripts/accelerator.py --help`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # experiments are part of a checkout alone

from experiments.accelerator import clock  # noqa: F401 (first of all: from here its minutes count)
from training.jobs.command_line import run_module

if __name__ == "__main__":
    run_module("experiments.accelerator.command", "main", "AcceleratorConfig", alone=True)
