"""Reproduces the tables and figures of the papers; every number is written to docs/results with its seed and command."""
