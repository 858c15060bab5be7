"""Trains a follower to imitate an oracle planner: `python scripts/train_follower.py --help`."""

from scripts._common import run_main
from training.jobs.train_follower import TrainConfig, run


def main(config: TrainConfig) -> None:
    """Trains."""
    run(config)


if __name__ == "__main__":
    run_main(main, TrainConfig)
