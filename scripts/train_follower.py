"""Trains a follower to imitate an oracle planner: `python scripts/train_follower.py --help`."""

from training.jobs.command_line import run_job

if __name__ == "__main__":
    run_job("train-follower")
