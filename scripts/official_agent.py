"""Our agent for the official Pommerman environment, and matches in it: `python scripts/official_agent.py --help`.

Who loads this file finds the class `OfficialAgent`; matches need that environment.
"""

import sys
from pathlib import Path

# Any Python finds the packages, and is told what it lacks; last, as the program that loads this file has packages of its own.
sys.path.append(str(Path(__file__).resolve().parents[1]))

from training.jobs.command_line import run_job

if __name__ == "__main__":
    run_job("official-match")

from training.play.official import OfficialAgent

__all__ = ["OfficialAgent"]
