"""Speed, measured: named cases, each in a process of its own, with rows that are kept and a table that is made from them."""

from experiments.benchmark.case import Case, Program, Request, Tally
from experiments.benchmark.cases import CASES, find
from experiments.benchmark.harness import measure

__all__ = ["CASES", "Case", "Program", "Request", "Tally", "find", "measure"]
