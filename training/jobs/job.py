"""What training jobs have in common: their settings, and what `running.run` asks of each."""

from __future__ import annotations

import abc
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import jax
from jax.sharding import Mesh
from rich.console import Console

from jaxgames import checks, processes, runtime
from jaxgames.agent import Agent
from jaxgames.registration import named
from search.planner import size_in_bytes
from training.play import evaluate, memory
from training.storage.checkpoints import steps_in
from training.storage.named_files import digests

CHECKPOINTS = "checkpoints"  # a folder in that of a run


@dataclasses.dataclass(frozen=True)
class JobConfig:
    """What the settings of every training job begin with; checked when made.

    Attributes:
      seed: of everything.
      checkpoint_every: iterations between two checkpoints; there is one after each evaluation anyhow.
      keep: checkpoints kept.
      output: folder of the run.
      resume: go on with the run in that folder, with its settings; most jobs may also make it longer. Without one, begin.
    """

    JOB: ClassVar[str]  # its name, as after `jaxgames`
    FREE: ClassVar[frozenset[str]] = frozenset({"output", "resume", "keep", "checkpoint_every"})  # may change when a run goes on
    READ_AT_START: ClassVar[frozenset[str]] = frozenset()  # settings whose files have no influence once a run has begun

    seed: int = 0
    checkpoint_every: int = 20
    keep: int = 2
    output: str = "output"
    resume: bool = False

    def __post_init__(self) -> None:
        for name in {"who", "follower"} & {field.name for field in dataclasses.fields(self)}:  # a run's variant has a name
            object.__setattr__(self, name, named(getattr(self, name)))
        checks.at_least(1, self, "checkpoint_every", "keep")
        checks.seed(self)
        checks.folder(self)


class Job(abc.ABC):
    """A training job; `running.run` carries it to its end. Holds nothing that changes.

    As it stands, an iteration is one call of the compiled programs, and units are samples.

    Attributes:
      config, console, folder, key: as given, and made of it.
      files: what was in the files that its settings name before any was read.
      programs: what is compiled: `deal(key, learner)`, and `iterate(key, learner) -> (learner, metrics)` for this `advance`.
      who: the network that learns, with its game and its encoder.
      meta: what its checkpoints are of, such as the game and the network.
      title, total, unit: of what is shown: what goes on, how many units there are to do, and of what.
      learning_rate: what to make smaller where learning fails.
      num_devices: that work on it.
    """

    SHOWN: ClassVar[Mapping[str, str]]  # values that are displayed, and what they are called there
    SPEED: ClassVar[str]  # the value that counts work; it is logged per second
    FIGURE: ClassVar[str]  # the function of `training.jobs.curves` that draws the log
    LENGTH: ClassVar[str] = ""  # the setting by which a run that goes on may be made longer, which `length` counts; "": none

    programs: Any
    who: Any
    meta: dict[str, Any]
    title: str
    total: int
    unit: str
    learning_rate: float

    def __init__(self, config: Any, console: Console) -> None:
        self.config, self.console = config, console
        self.files = digests(config)
        self.folder = Path(config.output)
        self.key = jax.random.key(config.seed)
        self.num_devices = jax.device_count()

    def make_mesh(self, learn: Any) -> Mesh:
        """Makes the mesh for settings of learning, as `mesh_for` does, and notes its size."""
        mesh = mesh_for(self.console, lanes=learn.lanes, batch_size=learn.batch_size, buffer_size=learn.buffer_size)
        self.num_devices = mesh.size
        return mesh

    @property
    def variant(self) -> str:
        """The game and its variant, for people."""
        return f"{self.meta['game']} {self.meta['mode']}"

    def goes_on(self) -> bool:
        """Says whether the run goes on from a checkpoint: files that it only began with are not read then. All processes call."""
        return bool(self.config.resume and processes.on_first(lambda: steps_in(self.folder / CHECKPOINTS)))

    @abc.abstractmethod
    def start(self) -> Any:
        """Makes the state before the first iteration: everything that changes, as a tree of arrays; changed in place later."""

    def begin(self, state: Any) -> None:
        """Does what is to be done once, before the first iteration."""
        del state

    def advance(self, state: Any) -> dict[str, Any]:
        """Makes one iteration, in place, and returns values for the log; "finite" False ends the run.

        What was not measured is NaN: null in the log, and not shown.
        """
        before = samples_of(state)
        state.learner, metrics = self.programs.iterate(self.key, state.learner)
        return plain(metrics) | {self.SPEED: samples_of(state) - before}

    def doing(self, state: Any) -> str:
        """Says what `advance` does next, for people; another text where it calls another compiled program."""
        del state
        return "playing and learning"

    def rating(self, state: Any) -> str:
        """Says what `rate` does next, for people; "": nothing that takes time."""
        del state
        return ""

    def ending(self) -> str:
        """Says what `finish` plays, for people; "": nothing."""
        return ""

    def rate(self, state: Any) -> dict[str, Any]:
        """Evaluates what is learnt where that is due; returns values for the log, none where it is not."""
        del state
        return {}

    def done(self, state: Any) -> int:
        """Returns how many of the `total` units are done."""
        return min(samples_of(state), self.total)

    def length(self, state: Any) -> int:
        """Returns how much is done of what `LENGTH` names; iterations are whole, so this may be more than was asked for."""
        return samples_of(state)

    def is_over(self, state: Any) -> bool:
        """Says whether no iteration is left to do."""
        return self.done(state) >= self.total

    def distribution(self, values: Mapping[str, Any]) -> Mapping[str, float] | None:
        """Returns shares to show as bars, such as those of moves, of the values that were measured."""
        del values
        return None

    def deal(self, learner: Any) -> Any:
        """Takes up a learner of another number of devices: what is spread over them is numpy, as saved."""
        return self.programs.deal(self.key, learner)

    def check_memory(self, *playing: tuple[str, int, Sequence[Agent]], buffer: str = "learn.buffer_size") -> None:
        """Raises a ValueError when games cannot fit into memory beside the learner; compiles nothing.

        Args:
          playing: the setting that says how many games are played, how many at once, and who plays; the first are those that
            are learnt from.
          buffer: the setting by which the learner becomes smaller.
        """
        check = functools.partial(memory.check, self.who.game, what="the run")
        setting, lanes, players = playing[0]
        check(players, lanes, setting=setting)  # before the learner, which holds these games
        learner = size_in_bytes(jax.eval_shape(self.programs.init, self.key, jax.eval_shape(self.who.init, self.key)))
        learn = self.config.learn
        planes = size_in_bytes(jax.eval_shape(self.who.encoder.planes, self.programs.updates.example.view))
        batch = learn.batch_size * planes
        larger = "learn.batch_size" if batch > learner else buffer
        other = (learner + batch, f"{larger}={getattr(learn, larger.removeprefix('learn.'))}")
        for setting, lanes, players in playing:
            if lanes:
                check(players, lanes, setting=setting, other=self._with_results(setting, other))

    def _with_results(self, setting: str, other: tuple[int, str]) -> tuple[int, str]:
        """Adds what a match keeps of its games to bytes and the setting that says how many; the larger is named."""
        games = getattr(self.config, setting, 0)  # of learn.lanes no results are kept
        results = evaluate.bytes_of_results(self.who.game, games, record=0)
        return other[0] + results, f"{setting}={games}" if results > other[0] else other[1]

    @abc.abstractmethod
    def finish(self, state: Any) -> dict[str, Any]:
        """Writes what remains when all is learnt; returns what result.json holds beside the settings."""


def samples_of(state: Any) -> int:
    """Gives the samples of a state's learner so far."""
    return int(state.learner.progress["samples"])


def plain(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Gives arrays of metrics as Python's numbers and lists."""
    return {name: value.tolist() for name, value in jax.device_get(dict(metrics)).items()}


def mesh_for(console: Console, **numbers: int) -> Mesh:
    """Makes a mesh of as many devices as there are and as divide all the numbers; with several processes of all devices.

    Args:
      console: told where that leaves devices idle.
      numbers: of what is split over the devices, by the names of their settings.
    """
    if processes.count() > 1:  # each has a share of everything
        return runtime.data_mesh()
    there = jax.device_count()
    count = next(n for n in range(there, 0, -1) if all(number % n == 0 for number in numbers.values()))
    if count < there:
        given = ", ".join(f"{name}={number}" for name, number in numbers.items() if number % there)
        console.print(
            f"works on {count} of {there} devices: {given} cannot be split over all",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
    return runtime.data_mesh(count)


def copy(params: Any) -> Any:
    """Copies parameters: a learner's own are given away with its next call."""
    return jax.tree.map(lambda leaf: leaf.copy(), params)
