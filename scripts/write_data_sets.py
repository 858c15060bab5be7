"""Plays games of Pommerman and writes samples in the format of PommerLearn: `python scripts/write_data_sets.py --help`."""

from training.jobs.command_line import run_job

if __name__ == "__main__":
    run_job("write-data-sets")
