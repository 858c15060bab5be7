"""Tells what a change of a card of Clash does: `python scripts/card_report.py --change Knight.hp=2000`."""

from training.jobs.command_line import run_job

if __name__ == "__main__":
    run_job("card-report")
