"""What a benchmark case is: a program that the harness times, or a function that times itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array
from jax.sharding import Mesh

from jaxgames import checks

DEFAULT_REPEATS = 7
LEAST_REPEATS = 5


class TooLarge(ValueError):
    """What was asked for does not fit on the devices."""


class Tally(NamedTuple):
    """What the lanes of one device have done so far; uint32 [B] each, and counting on beyond 2**32 from zero.

    Attributes:
      units: how often a lane did what the case counts.
      episodes: games that came to their end and were followed by the next.
      lengths: steps of those games in all; zeros where their mean would mislead.
      checksum: of what was computed.
    """

    units: Array
    episodes: Array
    lengths: Array
    checksum: Array


def empty_tally(lanes: int) -> Tally:
    """Makes a tally of `lanes` lanes that have done nothing."""
    zeros = jnp.zeros(lanes, jnp.uint32)
    return Tally(zeros, zeros, zeros, zeros)


def _say_nothing(state: Any) -> dict[str, Array]:
    del state
    return {}


@dataclasses.dataclass(frozen=True)
class Program:
    """Work for one device, which the harness compiles and times; `State` is any pytree.

    Attributes:
      start: `start(key, numbers) -> State`; numbers int32 [B]: which lanes of all these are.
      timed: `timed(State, Tally) -> (State, Tally)`, the work itself.
      between: the same, done after each call of `timed` outside the timed part; None: nothing.
      warm_up: calls before anything is timed, so that games are of all ages.
      calls: calls per repeat.
      settings: what a reader must know to judge the figures.
      describe: `describe(State) -> {name: Array}`, of which the row shows the means after the last repeat.
    """

    start: Callable[[Array, Array], Any]
    timed: Callable[[Any, Tally], tuple[Any, Tally]]
    between: Callable[[Any, Tally], tuple[Any, Tally]] | None = None
    warm_up: int = 1
    calls: int = 1
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    describe: Callable[[Any], dict[str, Array]] = _say_nothing


@dataclasses.dataclass(frozen=True)
class Request:
    """What to measure; checked when made.

    Attributes:
      case: its name.
      cores: CPU cores that the process may use.
      batch: lanes per device, None: what suits the case and the kind of device.
      repeats: how often the timed part is repeated.
      seed: of everything that is drawn.
      seconds: of a hurried measurement: warming up and repeats end after so many, peers are left out, and the row tells of the
        compiled program; None: all is done as often as it should be.
      meeting: folder in which `processes` wait for each other, once each has compiled; None: nobody waits. Who has started them
        tells there, by `harness.FAILED`, that one has ended.
      processes: that measure at the same time.
      lock: file that is held while the program is timed, so that processes which share a device measure one after the other.
    """

    case: str
    cores: int = 1
    batch: int | None = None
    repeats: int = DEFAULT_REPEATS
    seed: int = 0
    seconds: float | None = None
    lock: str | None = None
    meeting: str | None = None
    processes: int = 1

    def __post_init__(self) -> None:
        checks.at_least(1, self, "cores")
        if self.seconds is not None:
            checks.numbers(self, "seconds", positive=True)
        if self.batch is not None and self.batch < 1:
            raise ValueError(f"batch={self.batch}: must be >= 1")
        if self.repeats < LEAST_REPEATS:
            raise ValueError(f"repeats={self.repeats}: must be >= {LEAST_REPEATS}")
        checks.seed(self)


@dataclasses.dataclass(frozen=True)
class Case:
    """A named benchmark.

    Attributes:
      name: "game/work".
      unit: what is counted.
      summary: one line for people.
      measure: `measure(request, mesh, batch) -> figures`, with `batch` lanes per device; see `harness`.
      batch: lanes per CPU core that were best.
      accelerator_batch: lanes per device of another kind.
      peers: for the README's table, what others reach: texts that are filled with details of the row, and left out where they are
        missing; a star marks what was measured on another machine.
      reach: for the same table, what we want to reach.
      program: makes its program for so many lanes per device, where `measure` does more than time it; see `harness.program_of`.
    """

    name: str
    unit: str
    summary: str
    measure: Callable[[Request, Mesh, int], dict[str, Any]]
    batch: int
    accelerator_batch: int = 65536
    peers: tuple[str, ...] = ()
    reach: str = ""
    program: Callable[[int], Program] | None = None
