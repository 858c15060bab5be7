"""Our agent for the official Pommerman environment, and matches in it: `python scripts/official_agent.py --help`.

Who loads this file finds the class `OfficialAgent`; matches need that environment.
"""

from training.jobs.command_line import run_job
from training.play.official import OfficialAgent

__all__ = ["OfficialAgent"]

if __name__ == "__main__":
    run_job("official-match")
