"""Fills the tables of the pages of games and planners from the code: `python scripts/reference.py --help`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # experiments are part of a checkout alone

from training.jobs.command_line import run_module

if __name__ == "__main__":
    run_module("experiments.reference.command", "run", "ReferenceConfig", alone=True)
