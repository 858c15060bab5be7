"""Trains a network to tell what actions are worth by how its own games end (Q-MC): `python scripts/train_q.py --help`."""

from training.jobs.command_line import run_job

if __name__ == "__main__":
    run_job("train-q")
