"""Lets agents meet in a round robin and rates them: `python scripts/tournament.py --help`."""

from training.jobs.command_line import run_job

if __name__ == "__main__":
    run_job("tournament")
