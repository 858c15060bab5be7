"""Makes the pages in docs/results: `python scripts/results.py pommerman` (takes hours on two cores)."""

from __future__ import annotations

from experiments.papers.command import ResultsConfig, run
from scripts._common import run_main

if __name__ == "__main__":
    run_main(run, ResultsConfig)
