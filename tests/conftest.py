"""Prepares JAX once for all tests, before any of them is imported."""

from __future__ import annotations

import gc
import os
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy starts; its threads wait for each other on busy cores

import hypothesis
import jax
import pytest

import jaxgames.registration  # noqa: F401  # the module: in the package its name is that of a function
from jaxgames import runtime
from tests.emitters import OLDER_EMITTERS

for helpers in ("tests.training.jobs.toy_runs", "tests.search.puct.dark_hex"):  # so that they tell what differs
    pytest.register_assert_rewrite(helpers)

MAX_MEMORY_MAPS = 36_000
"""Of the 65530 that Linux grants a process. Each compiled function takes 25; a process that has no more left dies of a
segmentation fault."""
MAX_MEMORY = 4 * 2**30
"""Bytes of a process, of which several run at once; what has been compiled is most of them."""
QUICK_FLAGS = {  # most of the time of tests goes into compiling
    "--xla_backend_optimization_level": "0",  # of what LLVM makes of XLA's kernels
    "--xla_cpu_parallel_codegen_split_count": "1",
    **OLDER_EMITTERS,
}
SLOW_PASSES = ("while-loop-invariant-code-motion", "simplify-while-loops")  # of the compiler
CYCLES_BEFORE_COLLECTION = 100_000  # tracing makes many objects, few of them garbage in cycles

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
    parser.addoption("--optimized", action="store_true", help='let LLVM optimize, as it does but with -m "not slow"')


def pytest_configure(config: pytest.Config) -> None:
    sys.modules["jaxgames.registration"].ENTRY_POINTS = "none"  # games that are installed here have no part in tests
    # One core and one device for each process of tests: parallel runs do not fight, and what is tested is the same on every
    # machine. Tests of several devices start processes of their own. The compilation cache is the one of the checkout.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the processes share an accelerator where there is one
    # All is kept in the cache, small operations too: the processes of tests need the same ones.
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    if _compiles_quickly(config):  # before it is prepared: the older emitters need XLA's pass "cse"
        given = runtime.user_flags()
        flags = " ".join([given, *(f"{flag}={value}" for flag, value in QUICK_FLAGS.items() if flag not in given)]).strip()
        for name in SLOW_PASSES:
            flags = runtime.with_listed(flags, runtime.DISABLED_PASSES_FLAG, name)
        os.environ["XLA_FLAGS"] = flags
    runtime.prepare(cores=1, multi_output_fusion=not config.getoption("--no-multi-output-fusion"))
    if _compiles_quickly(config):
        jax.config.update("jax_traceback_in_locations_limit", 0)  # nobody reads where an operation was written
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as under nohup: processes of tests would inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.set_threshold(CYCLES_BEFORE_COLLECTION, *gc.get_threshold()[1:])


def _compiles_quickly(config: pytest.Config) -> bool:
    """Whether kernels may be slow: compiling is most of the work of quick tests, and slow ones are the other way round.

    Some of the slow ones even end the process, because the older emitters do not know all that newer ones do.
    """
    return "not slow" in config.option.markexpr and not config.getoption("--optimized")


@pytest.fixture(scope="module", autouse=True)
def _forget_compiled_functions() -> Iterator[None]:
    """Drops what was compiled for the files of tests before, where it has become too much for one process.

    Until then what a file leaves behind is kept, so the garbage collector need not look through it again and again.
    """
    yield
    if _holds_too_much():
        gc.unfreeze()
        jax.clear_caches()
        gc.collect()
    gc.freeze()


def _holds_too_much() -> bool:
    """Says whether this process nears its limits, where Linux tells."""
    maps, size = Path("/proc/self/maps"), Path("/proc/self/statm")
    if not maps.exists():
        return False
    resident = int(size.read_text().split()[1]) * resource.getpagesize()
    return maps.read_bytes().count(b"\n") > MAX_MEMORY_MAPS or resident > MAX_MEMORY
