"""Pits a planner against rule-based agents and shows it live: `python scripts/plan.py --help`."""

from scripts._common import run_main
from training.play.match import MatchConfig, run


def main(config: MatchConfig) -> None:
    """Plays the match."""
    run(config)


if __name__ == "__main__":
    run_main(main, MatchConfig)
