"""Our agent for the official Pommerman environment, and matches in it: `python scripts/official_agent.py --help`.

Who loads this file finds the class `OfficialAgent`; matches need that environment.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # any Python finds the packages, and is told what it lacks

from training.jobs.command_line import run_job

if __name__ == "__main__":
    run_job("official-match")

from training.play.official import OfficialAgent

__all__ = ["OfficialAgent"]
