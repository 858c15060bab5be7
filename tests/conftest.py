"""Prepares JAX once for all tests, before any of them is imported."""

from __future__ import annotations

import os

import hypothesis
import pytest

from jaxgames import runtime

hypothesis.settings.register_profile(
    "same_every_time",
    derandomize=True,  # a failure on one machine is a failure on all
    deadline=None,  # the first example compiles
    max_examples=50,
    database=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("same_every_time")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-multi-output-fusion", action="store_true", help="run without XLA's multi-output fusion on a CPU")


def pytest_configure(config: pytest.Config) -> None:
    # One core and one device for each process of tests: parallel runs do not fight, and what is tested is the same on every
    # machine. Tests of several devices start processes of their own. The compilation cache is the one of the checkout.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the processes share an accelerator where there is one
    runtime.prepare(cores=1, multi_output_fusion=not config.getoption("--no-multi-output-fusion"))
