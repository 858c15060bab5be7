"""Stratego by the text protocol of strategoevaluator, as a player or a manager: `python scripts/stratego_bot.py --help`."""

from training.jobs.command_line import run_job

if __name__ == "__main__":
    run_job("stratego-bot")
