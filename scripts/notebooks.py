"""Runs the notebooks and keeps their outputs: `python scripts/notebooks.py --help`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # experiments are part of a checkout alone

from training.jobs.command_line import run_module

if __name__ == "__main__":
    run_module("experiments.notebooks", "run", "NotebooksConfig", alone=True)
