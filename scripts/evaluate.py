"""Plays any agents, trained ones too, against each other: `python scripts/evaluate.py --help`."""

from training.jobs.command_line import run_job

if __name__ == "__main__":
    run_job("evaluate")
