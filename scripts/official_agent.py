"""Plays our agent in the official Pommerman environment: `python scripts/official_agent.py --help`. Needs that environment."""

from training.jobs.command_line import run_job

if __name__ == "__main__":
    run_job("official-match")
