"""Searches settings for training a follower: `python scripts/search_hyperparameters.py --help`."""

from scripts._common import run_main
from training.jobs.hyperparameters import SearchConfig, run


def main(config: SearchConfig) -> None:
    """Trains with settings drawn at random and ranks them."""
    run(config)


if __name__ == "__main__":
    run_main(main, SearchConfig)
