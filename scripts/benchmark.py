"""Measures how fast things are and keeps the results: `python scripts/benchmark.py --help`."""

from experiments.benchmark.command import BenchmarkConfig, run
from scripts._common import run_main


def main(config: BenchmarkConfig) -> int:
    """Measures; returns the exit code."""
    return run(config)


if __name__ == "__main__":
    run_main(main, BenchmarkConfig)
