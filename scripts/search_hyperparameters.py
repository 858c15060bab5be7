"""Searches settings for training a follower: `python scripts/search_hyperparameters.py --help`."""

from training.jobs.command_line import run_job

if __name__ == "__main__":
    run_job("search-hyperparameters")
