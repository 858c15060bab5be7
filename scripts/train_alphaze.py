"""Trains a network by AlphaZe**: `python scripts/train_alphaze.py --help`."""

from training.jobs.command_line import run_job

if __name__ == "__main__":
    run_job("train-alphaze")
