"""Pits a planner against opponents and shows it live: `python scripts/plan.py --help`."""

from training.jobs.command_line import run_job

if __name__ == "__main__":
    run_job("match")
