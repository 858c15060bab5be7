"""Replays recorded games of a reference implementation and tells every difference.

Example: python scripts/replay.py pommerman tests/data/pommerman/*.npz
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # any Python finds the packages, and is told what it lacks

from training.jobs.command_line import run_job

if __name__ == "__main__":
    run_job("replay")
