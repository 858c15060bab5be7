"""What the pages share: measurements that are made once and kept as JSON files, and pages that are filled from them."""

from __future__ import annotations

import dataclasses
import functools
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax

from experiments.pages import fill, markdown
from jaxgames import checks, processes
from jaxgames.agent import Agent
from jaxgames.game import Game
from training.jobs.folder import check_settings
from training.play.evaluate import Games, Progress, play
from training.storage import provenance
from training.storage.files import write_alone, write_atomically
from training.storage.json_files import read_json
from training.storage.shards import Shard, made_from

ALL = Shard()
_printed = functools.partial(print, flush=True)  # in a pipe, too, at once
_FILES = ("output", "resume", "start")  # settings that say where a run is and what it began with


class Measurement(NamedTuple):
    """Something that is measured once.

    Attributes:
      name: of its file.
      measure: makes the result; gives None if it was asked to stop.
      label: what a page knows it by.
    """

    name: str
    measure: Callable[[], dict | None]
    label: Any = None


@dataclasses.dataclass(frozen=True)
class Plan:
    """How much to measure; pages add their sizes.

    Attributes:
      folder: where the page, its figures and the data go.
    """

    folder: Path

    def path(self, name: str) -> Path:
        """The file of a measurement."""
        return self.folder / "data" / f"{name}.json"

    def kept_network(self, name: str) -> Path:
        """Where a run's network is kept, so that who has a checkout can play with it, and need not train for it."""
        return self.folder / "weights" / f"{name}.npz"

    def read(self, name: str) -> dict | None:
        """Reads what was measured; None if nothing was."""
        path = self.path(name)
        return read_json(path, "measurement", then="remove it, and it is measured again") if path.exists() else None

    def found(self, measurements: Iterable[Measurement]) -> dict[Any, dict]:
        """Reads what has been measured, by label."""
        return {one.label: result for one in measurements if (result := self.read(one.name))}


@dataclasses.dataclass(frozen=True)
class Runs:
    """Training runs that differ in the seed alone.

    Attributes:
      name: for files.
      title: for tables.
      config: of all of them, but for the seed.
      seeds: how many.
    """

    name: str
    title: str
    config: Any
    seeds: int = 1


def trained(train: Callable[[Any], Any], config: Any) -> dict | None:
    """Trains, goes on with, or takes up a run that is over.

    Args:
      train: the job.
      config: its settings, of a run that resumes.

    Returns:
      What its `result.json` holds, with its settings but for the files that they name; None if asked to stop.

    Raises:
      ValueError: the run in the folder has other settings, which may be fewer rounds.
    """
    folder = Path(config.output)
    if processes.on_first((folder / "result.json").exists):
        check_settings(config, folder / "settings.json", free=_FILES)
    elif train(config) is None:
        return None
    result = read_json(folder / "result.json", "result of a run", {"settings": dict}, then="remove it, and the run goes on")
    return result | {"settings": {name: value for name, value in result["settings"].items() if name not in _FILES}}


def weights_of_finished(folder: Path, file: str = "best.npz") -> Path:
    """Gives a file of weights of a run that is over; until then what lies there is what it began with, or has come to so far.

    Raises:
      ValueError: the run is not over.
    """
    if not (folder / "result.json").exists():
        raise ValueError(
            f"run {folder}: is not over, so nobody can play with what it learns; "
            "the page trains it where the file of its result is not in data/ (a run that was made elsewhere: remove that file)"
        )
    return folder / file


def by_seed(groups: Iterable[Runs], name: str, train: Callable[[Runs, int], dict | None]) -> list[Measurement]:
    """Gives the runs of all groups, the first seed of each before the second of any; labels are (group, seed).

    Args:
      groups: what is trained.
      name: of files, with {name} and {seed} in it.
      train: `train(group, seed)` makes the result.
    """
    runs = [(group, seed) for group in groups for seed in range(group.seeds)]
    return [
        Measurement(name.format(name=group.name, seed=seed), functools.partial(train, group, seed), (group, seed))
        for group, seed in sorted(runs, key=lambda run: run[1])
    ]


def of_groups(found: Mapping[Any, dict], groups: Iterable[Runs]) -> dict[Runs, list[dict]]:
    """Gives the results of each group that has any, in order of their seeds, from those of `by_seed`."""
    results = {group: [one for (other, _), one in found.items() if other == group] for group in groups}
    return {group: seeds for group, seeds in results.items() if seeds}


SHARED = ("jaxgames/*.py", "training/play", "training/models", "training/trained")  # what results depend on everywhere


@dataclasses.dataclass(frozen=True)
class Page:
    """A page of results; its prose is in docs/results/NAME.md.

    Attributes:
      name: of the page.
      plan: a `Plan`.
      parts: `part(plan) -> measurements`, by name.
      sources: folders of the code on which results depend, beside what all of them depend on.
      texts: `texts(plan) -> {mark: Markdown}`, but for the mark "origins".
      figures: `figures(plan) -> {name: SVG}`.
    """

    name: str
    plan: type[Plan]
    parts: Mapping[str, Callable[[Any], list[Measurement]]]
    sources: tuple[str, ...]
    texts: Callable[[Any], dict[str, str]]
    figures: Callable[[Any], dict[str, str]]

    @property
    def code(self) -> tuple[str, ...]:
        """All that results depend on."""
        return (*SHARED, *self.sources)

    def measurements(self, plan: Plan, chosen: Sequence[str] = ()) -> list[Measurement]:
        """Gives what there is to measure, in the order of `chosen` parts; (): all. What several parts share comes once.

        Raises:
          ValueError: there is no such part.
        """
        for part in chosen:
            if part not in self.parts:
                raise ValueError(f"part={part!r}: {checks.one_of(part, self.parts)}")
        found: dict[str, Measurement] = {}
        for part in chosen or self.parts:
            for one in self.parts[part](plan):
                found.setdefault(one.name, one)
        return list(found.values())

    def make(self, plan: Plan, chosen: Sequence[str] = (), report: Callable[[str], None] = _printed, shard: Shard = ALL) -> None:
        """Measures what is missing, and writes the page after each measurement, so that a stopped run leaves a whole page.

        Args:
          plan: how much.
          chosen: which parts, in this order; (): all.
          report: told when a measurement begins and ends, and about results of other code.
          shard: which share of what is to be measured; others may write into the same folder.

        Raises:
          ValueError: there is no such part.
        """
        measurements = shard.of(self.measurements(plan, chosen))
        # Now, as what is imported stays as it is: while something is measured for hours, commits are made.
        made_by = {**provenance.describe(jax.devices()[0]), "sources": provenance.source_hash(self.code)}
        if warning := self._from_other_code(plan, made_by["sources"]):
            report(warning)
        self._write(plan)
        for number, (name, measure, _) in enumerate(measurements, 1):
            if processes.on_first(plan.path(name).exists):
                continue
            report(f"{name}: begins, {number} of {len(measurements)}")
            started = time.perf_counter()
            result = measure()
            if result is None:
                return
            result |= made_by
            write_atomically(plan.path(name), json.dumps(result, indent=1) + "\n")
            report(f"{name}: {time.perf_counter() - started:.0f} s")
            self._write(plan)

    def _write(self, plan: Plan) -> None:
        """Writes in the first process alone: others may not see yet, on a network disk, what it sees."""
        processes.on_first(lambda: made_from(plan.folder / "data", "*.json", lambda: self.write(plan)))

    def write(self, plan: Plan) -> None:
        """Writes the page and its figures from what has been measured; of several processes, one calls."""
        for name, svg in self.figures(plan).items():
            write_alone({plan.folder / f"{name}.svg": svg})
        found = [result for name in self._names(plan) if (result := plan.read(name))]
        file = f"{self.name}.md"
        fill(plan.folder / file, self.texts(plan) | {"origins": origins(found)}, provenance.CHECKOUT / "docs" / "results" / file)

    def _names(self, plan: Plan) -> list[str]:
        return [one.name for one in self.measurements(plan)]

    def _from_other_code(self, plan: Plan, present: str) -> str:
        """Says in one line which results were not made by the present code (a `source_hash`); "" if all were."""
        older = [name for name in self._names(plan) if (found := plan.read(name)) and found.get("sources") != present]
        if not older:
            return ""
        listed = ", ".join(older[:3]) + (f" and {len(older) - 3} more" if len(older) > 3 else "")
        return f"warning: made by other versions of {', '.join(self.code)}: {listed} (what is deleted is made again)"


def few_of(games: int) -> int:
    """Gives a quarter of a number of games, but an even number of them, as sides are changed from game to game."""
    return max(2 * (games // 8), 2)


def play_timed(game: Game, players: Sequence[Agent], seed: int, num_games: int, **how: Any) -> tuple[Games, dict[str, float]]:
    """Plays games, and times them after everything was compiled.

    Args:
      game: what is played.
      players: who plays, as for `evaluate.play`.
      seed: of all play.
      num_games: how many.
      **how: more arguments of `evaluate.play`.

    Returns:
      The games, and `seconds` by the clock and `cpu_seconds`.
    """
    compiled: list[tuple[float, float]] = []

    def report(progress: Progress) -> None:
        if not compiled:
            compiled.append((time.perf_counter(), time.process_time()))

    games = play(game, players, jax.random.key(seed), num_games, report=report, **how)
    wall, cpu = time.perf_counter() - compiled[0][0], time.process_time() - compiled[0][1]
    return games, {"seconds": round(wall, 1), "cpu_seconds": round(cpu, 1)}


def origins(results: Iterable[dict]) -> str:
    """Makes the table of commits and devices by which results were made; a star marks a commit that was taken from history."""
    counts = Counter(
        (
            (result.get("commit") or "no checkout") + "*" * ("commit_note" in result),
            result.get("device", "–"),
            result.get("versions", {}).get("jax", result.get("jax", "–")),
        )
        for result in results
    )
    return markdown(["commit", "device", "jax", "results"], [[*made, str(count)] for made, count in sorted(counts.items())])
