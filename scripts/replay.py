"""Replays recorded games of a reference implementation and tells every difference.

Example: python scripts/replay.py pommerman tests/data/pommerman/*.npz
"""

from training.jobs.command_line import run_job

if __name__ == "__main__":
    run_job("replay")
