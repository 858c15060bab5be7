"""Draws what the cards of a hand are worth in Clash, and where: `python scripts/hints.py --time 40`."""

from training.jobs.command_line import run_job

if __name__ == "__main__":
    run_job("hints")
