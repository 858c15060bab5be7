"""Checks and measures an accelerator and trains on it, in a few minutes: `python scripts/accelerator.py --help`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # experiments are part of a checkout alone

from training.jobs.command_line import run_module

if __name__ == "__main__":
    run_module("experiments.accelerator.command", "run", "AcceleratorConfig", alone=True)
