"""Plays any agents, trained ones too, against each other: `python scripts/evaluate.py --help`."""

from scripts._common import run_main
from training.play.contest import ContestConfig, run


def main(config: ContestConfig) -> None:
    """Plays."""
    run(config)


if __name__ == "__main__":
    run_main(main, ContestConfig)
