"""Measures how fast things are and keeps the results: `python scripts/benchmark.py --help`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # experiments are part of a checkout alone

from experiments.benchmark.command import BenchmarkConfig, run
from training.jobs.command_line import run_main

if __name__ == "__main__":
    run_main(run, BenchmarkConfig)
