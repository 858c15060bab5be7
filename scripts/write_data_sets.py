"""Plays games of Pommerman and writes samples in the format of PommerLearn: `python scripts/write_data_sets.py --help`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # any Python finds the packages, and is told what it lacks

from training.jobs.command_line import run_job

if __name__ == "__main__":
    run_job("write-data-sets")
