"""Opens a page on which a person plays against agents: `python scripts/play.py --help`."""

from training.jobs.command_line import run_job

if __name__ == "__main__":
    run_job("play")
