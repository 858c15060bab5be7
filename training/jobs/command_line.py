"""Command lines: the jobs by name, flags from a dataclass, a prepared runtime, errors in one line.

Nothing heavy is imported before a job is chosen: `jaxgames --help` costs no time.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import inspect
import io
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NoReturn, TypeVar

Config = TypeVar("Config")


class Job(NamedTuple):
    """A job of the command `jaxgames`: where its function and its config are, and what it does."""

    module: str
    run: str
    config: str
    help: str
    alone: bool = False  # in one process


JOBS = {
    "play": Job(
        "training.web.play", "run", "PlayConfig", "play a game against agents on a page in the browser, or watch them", alone=True
    ),
    "match": Job("training.play.match", "run", "MatchConfig", "a planner against opponents, shown live"),
    "evaluate": Job("training.play.match", "run_agents", "EvaluateConfig", "any agents against each other, trained ones too"),
    "tournament": Job("training.play.tournament", "run", "TournamentConfig", "a round robin of agents, with Elo"),
    "train-follower": Job("training.jobs.train_follower", "run", "TrainConfig", "train a network to imitate an oracle planner"),
    "train-q": Job("training.jobs.train_q", "run", "TrainConfig", "train a network by the outcomes of its own games (Q-MC)"),
    "train-guess": Job("training.jobs.train_guess", "run", "TrainConfig", "train a network to guess what is hidden"),
    "train-alphaze": Job("training.jobs.train_alphaze", "run", "TrainConfig", "train a network by self-play (AlphaZe**)"),
    "train-expert": Job(
        "training.jobs.train_expert", "run", "TrainConfig", "train a network for searches against models (SP-MCTS, TP-MCTS)"
    ),
    "write-data-sets": Job(
        "training.jobs.write_data_sets", "run", "WriteConfig", "play games and write samples in PommerLearn's format"
    ),
    "search-hyperparameters": Job("training.jobs.hyperparameters", "run", "SearchConfig", "search settings for a follower"),
    "official-match": Job(
        "training.play.official",
        "run",
        "OfficialMatchConfig",
        "play Pommerman in the official environment, if it is installed",
        alone=True,
    ),
    "card-report": Job(
        "training.jobs.card_report",
        "run",
        "ReportConfig",
        "what a change of a card of Clash does, in battles with and without",
        alone=True,
    ),
    "hints": Job(
        "training.jobs.hints",
        "run",
        "HintsConfig",
        "draw what the cards of a hand of Clash are worth, and where",
        alone=True,
    ),
    "stratego-bot": Job(
        "training.jobs.stratego_bot",
        "run",
        "StrategoBotConfig",
        "play Stratego by a text protocol, as a player or as a manager",
        alone=True,
    ),
    "replay": Job("training.jobs.replay", "run", "ReplayConfig", "replay recorded games and tell every difference", alone=True),
    "games": Job("training.jobs.list_games", "run", "GamesConfig", "list all games and variants, by their ids", alone=True),
}

BAD_INPUT = 2
INTERRUPTED = 130
ROOT = Path(__file__).resolve().parents[2]
OUR_PACKAGES = ("jaxgames", "search", "training", "experiments", "scripts")
OUR_FOLDERS = tuple(str(ROOT / name) + os.sep for name in OUR_PACKAGES)


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
    line on stderr, with exit code 2; any other error is a bug and shows its traceback.

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

            from jaxgames import processes, runtime
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in OUR_PACKAGES:
            raise
        print(f"error: {error}: use .venv/bin/python, which `make env` makes, or pip install this project", file=sys.stderr)
        return BAD_INPUT
    try:
        with _ended_by_interrupts():
            jax.config.update("jax_traceback_filtering", "off")  # hidden frames would make JAX's own errors look like ours
            main, config = load()
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
        return result if isinstance(result, int) else 0
    except BrokenPipeError:  # the reader of our output, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        processes.await_verdict(error.__cause__ or error)
        if not isinstance(error, ValueError | OSError) or not is_bad_input(error):
            raise
        print(f"error: {one_line(_told(error))}", file=sys.stderr)
        processes.end(failed=True)
        return BAD_INPUT


def _start_processes(together: Any, settings: Any) -> None:
    """Meets the other processes, if there are any, and keeps all but the first from printing.

    Raises:
      ValueError: they run other code or with other settings, or the job is a share of work that one process does.
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
    import jax

    import jaxgames
    from training.storage import provenance
    from training.storage.provenance import flat

    source = provenance.source_hash(("jaxgames", "search", "training"))
    code = {"code": f"jaxgames {jaxgames.__version__} ({source})", "JAX": jax.__version__}
    return code | {name: str(value) for name, value in flat(dataclasses.asdict(settings)).items()}


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
def _ended_by_interrupts() -> Iterator[None]:
    """Lets an interrupt end the process at once: modules in C++ abort where an exception goes through their import."""

    def end(number: int, frame: object) -> None:
        del number, frame
        print("interrupted", file=sys.stderr, flush=True)
        os._exit(INTERRUPTED)

    if (
        signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return
    signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _told(error: ValueError | OSError) -> str:
    """Gives the text of an error; of the operating system's, what file it is about and what is wrong with it."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _leave(code: int) -> None:
    """Prepares the end of the process; one that was interrupted, or refused its input, ends here."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done: no traceback for an interrupt that comes too late
    if code in (INTERRUPTED, BAD_INPUT):  # what XLA still computes or compiles would outlive the interpreter, and crash
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def parse(config: type[Config], arguments: Sequence[str] | None = None) -> Config:
    """Fills a config from the command line; arguments and errors as for `parse_all`."""
    return parse_all(config, arguments)[0]


def parse_alone(config: type[Config], arguments: Sequence[str] | None = None) -> Config:
    """Fills the config of a job that runs in one process; arguments as for `parse_all`.

    Raises:
      ValueError: as for `parse_all`, and for flags by which several processes would meet.
      SystemExit: help was asked for and printed.
    """
    from jaxgames.processes import Processes

    refused = {field.name for field in dataclasses.fields(Processes)} - set(inspect.signature(config).parameters)
    for word in sys.argv[1:] if arguments is None else arguments:
        if word.startswith("--") and word[2:].partition("=")[0].replace("-", "_") in refused:
            raise ValueError(f"{word}: this job is done by one process; leave it out")
    filled: Config = _parsed(config, config, arguments)
    return filled


def parse_all(config: type[Config], arguments: Sequence[str] | None = None) -> tuple[Config, Any]:
    """Fills a config from the command line, and what all jobs take beside their own.

    Args:
      config: a dataclass.
      arguments: the command line without the program's name; None: this process's.

    Returns:
      The filled config, and which processes work together.

    Raises:
      ValueError: a flag or a value is not valid; the message is one line.
      SystemExit: help was asked for and printed.
    """
    import tyro

    from jaxgames.processes import Processes

    plain = tyro.conf.arg(name="")  # no prefix
    return _parsed(tuple[Annotated[config, plain], Annotated[Processes, plain]], config, arguments)  # type: ignore[valid-type]


def _parsed(kind: Any, config: type[Any], arguments: Sequence[str] | None) -> Any:
    """Lets tyro fill what is asked for; the help begins with the docstring of the config."""
    import tyro

    script = Path(sys.argv[0])
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed):
            settings = tyro.cli(
                kind,
                prog=f"python scripts/{script.name}" if script.suffix == ".py" else script.name,
                description=(inspect.getdoc(config) or "").partition("\nAttributes:")[0],
                args=arguments,
            )
    except SystemExit as stop:
        if stop.code in (0, None):
            raise
        raise ValueError(message_of(printed.getvalue())) from None
    except ValueError as error:  # of a config
        raise ValueError(str(error)) from error
    sys.stderr.write(printed.getvalue())
    return settings


def message_of(box: str) -> str:
    """Makes one line of the box that tyro draws around an error.

    Args:
      box: what tyro printed: a frame, the message, and below a rule advice or the help of the flag concerned.

    Returns:
      The message, and the flags that were perhaps meant.
    """
    plain = re.sub(r"\x1b\[[0-9;]*m|[│╭╮╰╯]", "", box)
    rule = r"^.*[─-]{4,} *$"  # the top of the frame, which holds the title, is one; without Unicode a rule follows the title
    parts = re.split(rule, plain, flags=re.MULTILINE)
    message, advice = (parts[1], parts[2:]) if len(parts) > 1 else (plain, [])
    message = re.sub(r"^Error parsing (\w+: )?", "", one_line(message)).rstrip(" .")
    message = re.sub(r"invalid literal for int\(\) with base 10: (.*)", r"\1 is no whole number", message)
    message = re.sub(r"could not convert string to float: (.*)", r"\1 is no number", message)
    message = re.sub(r"^\d+(\.|: )", "", message)  # the place of the config among all that is parsed
    meant = [flag for part in advice if "you meant" in part for flag in re.findall(r"^\s*(--[\w.-]+)", part, flags=re.MULTILINE)]
    return f"{message} (perhaps {' or '.join(meant)}? see --help)" if meant else f"{message} (see --help)"


def is_bad_input(error: ValueError | OSError) -> bool:
    """Says whether an error tells the user something, which a bug does not.

    Args:
      error: as caught.

    Returns:
      True for errors of the operating system, and for a ValueError that a `raise` in this project's code has raised.
    """
    if isinstance(error, OSError):
        return True
    *_, origin = traceback.extract_tb(error.__traceback__)
    return (origin.line or "").startswith("raise ") and os.path.abspath(origin.filename).startswith(OUR_FOLDERS)


def one_line(text: str) -> str:
    """Returns the text with every run of white space, line ends included, as one space."""
    return " ".join(text.split())
