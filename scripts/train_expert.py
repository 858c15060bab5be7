"""Trains a network for searches against modelled opponents: `python scripts/train_expert.py --help`."""

from training.jobs.command_line import run_job

if __name__ == "__main__":
    run_job("train-expert")
