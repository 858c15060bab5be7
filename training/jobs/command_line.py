"""Command lines: a job by name, flags from a dataclass, a prepared runtime, errors in one line.

Nothing heavy is imported before a job is chosen: `jaxgames --help` costs no time.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, NoReturn, TypeVar

from training.jobs.catalogue import ALIASES, JOBS
from training.jobs.errors import OUR_PACKAGES, is_bad_input, one_line, text_of
from training.jobs.flags import parse_all, parse_alone
from training.jobs.output import outlived

Config = TypeVar("Config")

BAD_INPUT = 2
INTERRUPTED = 130
TERMINATED = 143


def main() -> NoReturn:
    """The command `jaxgames`: runs the job that its first word names, and leaves the process."""
    name, *rest = sys.argv[1:] or ["--help"]
    if name in ("-h", "--help"):
        jobs = "\n".join(f"  {name:24}{job.help}" for name, job in JOBS.items())
        print(f"usage: jaxgames JOB [flags]\n\n{jobs}\n\njaxgames JOB --help tells more")
        sys.exit()
    if name == "--version":
        print(importlib.import_module("jaxgames").__version__)
        sys.exit()
    name = ALIASES.get(name, name)
    if name not in JOBS:
        print(f"error: job={name!r}: must be one of {', '.join(JOBS)}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    sys.argv = [f"jaxgames {name}", *rest]
    run_job(name)


def run_job(name: str) -> NoReturn:
    """Runs one of `JOBS` with the flags of this process, and leaves it."""
    job = JOBS[name]
    run_module(job.module, job.run, job.config, alone=job.alone)


def run_module(module: str, run: str, config: str, *, alone: bool = False) -> NoReturn:
    """Runs a function of a module that is imported first, with the flags of this process, and leaves it; the end of every script.

    Args:
      module: its dotted name.
      run: name of the function, as `main` of `run_main`.
      config: name of its config.
      alone: it runs in one process, and not in several that share the work.
    """

    def load() -> tuple[Callable[[Any], Any], type[Any]]:
        found = importlib.import_module(module)
        return getattr(found, run), getattr(found, config)

    _run(load, None, alone)


def run_main(main: Callable[[Config], Any], config: type[Config], arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs a command line and leaves the process.

    The flags fill `config` before JAX is prepared and `main` is called, so that `--help` and a mistyped flag cost no time. Bad
    input (a flag, a ValueError that this project raises, a file that cannot be opened, a Python without JAX) is told in one
    line on stderr, with exit code 2; any other error is a bug and shows its traceback. An interrupt ends it with exit code 130,
    SIGTERM with 143; a job may do otherwise.

    Args:
      main: takes the filled config; an int that it returns is the exit code.
      config: a frozen dataclass; its docstrings are the help.
      arguments: the command line without the program's name; None: this process's, which then ends.
    """
    _run(lambda: (main, config), arguments)


def _run(
    load: Callable[[], tuple[Callable[[Any], Any], type[Any]]], arguments: Sequence[str] | None, alone: bool = False
) -> NoReturn:
    """Does what `run_main` says, imports included."""
    with outlived():
        code = _code_of(load, arguments, alone)
        if arguments is None:
            _leave(code)
    sys.exit(code)


def _code_of(load: Callable[[], tuple[Callable[[Any], Any], type[Any]]], arguments: Sequence[str] | None, alone: bool) -> int:
    """Runs and returns the exit code; bad input is told."""
    with _no_interrupt_is_lost():
        return _code(load, arguments, alone)


def _code(load: Callable[[], tuple[Callable[[Any], Any], type[Any]]], arguments: Sequence[str] | None, alone: bool) -> int:
    try:
        with _ended_by_interrupts():
            import jax

            from jaxgames import processes
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in OUR_PACKAGES:
            raise
        print(f"error: {error}: use .venv/bin/python, which `make env` makes, or pip install this project", file=sys.stderr)
        return BAD_INPUT
    terminated: list[int] = []
    try:
        with _ended_by_interrupts():
            jax.config.update("jax_traceback_filtering", "off")  # hidden frames would make JAX's own errors look like ours
            main, config = load()
        with _interrupted_by_sigterm(terminated):
            result = _done(main, config, arguments, alone)
        return result if isinstance(result, int) else 0
    except KeyboardInterrupt as stop:
        from training.jobs.stopping import StoppedByInterrupt

        print("interrupted", file=sys.stderr)
        if isinstance(stop, StoppedByInterrupt):  # the other processes have been, too
            processes.end()
        return TERMINATED if terminated else INTERRUPTED
    except Exception as error:
        processes.await_verdict(error.__cause__ or error)
        if not isinstance(error, ValueError | OSError) or not is_bad_input(error):
            raise
        print(f"error: {one_line(text_of(error))}", file=sys.stderr)
        processes.end(failed=True)
        return BAD_INPUT


def _done(main: Callable[[Any], Any], config: type[Any], arguments: Sequence[str] | None, alone: bool) -> Any:
    """Does the job, and parts from the other processes. Returns what `main` does."""
    from jaxgames import processes, runtime

    if alone:
        settings = parse_alone(config, arguments)
        runtime.prepare()
    else:
        settings, together = parse_all(config, arguments)
        runtime.prepare()
        _start_processes(together, settings)
    result = main(settings)
    sys.stdout.flush()
    processes.end()
    return result


def _start_processes(together: Any, settings: Any) -> None:
    """Meets the other processes, if there are any, and keeps all but the first from printing.

    Raises:
      ValueError: they run other code, with other settings or with other files of the same names, or the job is a share of work
        that one process does.
      OSError: as `processes.start`.
    """
    from jaxgames import processes

    if getattr(settings, "shard", None):  # a share of independent work needs nobody
        if together.coordinator not in ("", processes.NONE):
            raise ValueError(f"coordinator={together.coordinator!r}: a shard is done by one process; leave it out")
        return
    processes.start(together, lambda: _program(settings))
    if not processes.leads():
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, to the end of the process


def _program(settings: Any) -> dict[str, str]:
    """What several processes must have in common."""
    from importlib.metadata import version

    import jax

    import jaxgames
    from training.storage import provenance
    from training.storage.named_files import digests
    from training.storage.provenance import flat

    is_of_checkout = type(settings).__module__.startswith("experiments.")
    packages = ("jaxgames", "search", "training", *(["experiments"] if is_of_checkout else []))
    code = f"jaxgames {jaxgames.__version__} ({provenance.source_hash(packages)})"
    libraries = {name: version(name) for name in ("jaxlib", "flax", "optax", "numpy")}
    told = {"code": code, "JAX": jax.__version__, **libraries}
    files = {f"file {path}": digest for found in digests(settings).values() for path, digest in found.items()}
    return told | files | {name: str(value) for name, value in flat(dataclasses.asdict(settings)).items()}


@contextlib.contextmanager
def _no_interrupt_is_lost() -> Iterator[None]:
    """Sends an interrupt again that has come where Python ignores exceptions.

    Such as in JAX's callback of the garbage collector, which is often what Python runs first after XLA has compiled.
    """
    before = sys.unraisablehook
    main = threading.main_thread()

    def send() -> None:
        signal.pthread_kill(main.ident or 0, signal.SIGINT)

    def tell(ignored: Any) -> None:
        if not issubclass(ignored.exc_type, KeyboardInterrupt):
            before(ignored)
        elif main.is_alive():
            threading.Timer(0.01, send).start()  # not from here, where it would be ignored again

    sys.unraisablehook = tell
    try:
        yield
    finally:
        sys.unraisablehook = before


@contextlib.contextmanager
def _interrupted_by_sigterm(come: list[int]) -> Iterator[None]:
    """Makes SIGTERM an interrupt, so that what is half done is cleared away, as when the time of a job of SLURM is over.

    Args:
      come: takes the signal; more of them are ignored, as they would interrupt the clearing away.
    """

    def stop(number: int, frame: object) -> None:
        del frame
        if not come:
            come.append(number)
            raise KeyboardInterrupt

    with _handled(signal.SIGTERM, stop, usual=signal.SIG_DFL):
        yield


@contextlib.contextmanager
def _ended_by_interrupts() -> Iterator[None]:
    """Lets an interrupt end the process at once: modules in C++ abort where an exception goes through their import."""

    def end(number: int, frame: object) -> None:
        del number, frame
        print("interrupted", file=sys.stderr, flush=True)
        os._exit(INTERRUPTED)

    with _handled(signal.SIGINT, end, usual=signal.default_int_handler):
        yield


@contextlib.contextmanager
def _handled(number: signal.Signals, handler: Callable[[int, FrameType | None], None], usual: Any) -> Iterator[None]:
    """Handles a signal while the context lasts; not where its handler is not the usual one, and in no thread but the main one."""
    if signal.getsignal(number) is not usual or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, usual)


def _leave(code: int) -> None:
    """Prepares the end of the process; one that was interrupted, or refused its input, ends here."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done: no traceback for an interrupt that comes too late
    if code in (INTERRUPTED, TERMINATED, BAD_INPUT):  # what XLA still computes would outlive the interpreter, and crash
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):  # a full disk, which was told
                stream.flush()
        os._exit(code)
