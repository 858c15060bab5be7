"""Lets agents meet in a round robin and rates them: `python scripts/tournament.py --help`."""

from scripts._common import run_main
from training.play.tournament import TournamentConfig, run


def main(config: TournamentConfig) -> None:
    """Plays."""
    run(config)


if __name__ == "__main__":
    run_main(main, TournamentConfig)
