"""Trains a network to guess what is hidden from a player: `python scripts/train_guess.py --help`."""

from training.jobs.command_line import run_job

if __name__ == "__main__":
    run_job("train-guess")
