"""Makes the pages in docs/results: `python scripts/results.py pommerman` (takes hours on two cores)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # experiments are part of a checkout alone

from training.jobs.command_line import run_module

if __name__ == "__main__":
    run_module("experiments.papers.command", "run", "ResultsConfig")
