"""Trains a network by AlphaZe**: `python scripts/train_alphaze.py --help`."""

from scripts._common import run_main
from training.jobs.train_alphaze import TrainConfig, run


def main(config: TrainConfig) -> None:
    """Trains."""
    run(config)


if __name__ == "__main__":
    run_main(main, TrainConfig)
