"""One cell of a results table: a player with settings, a number of games, and how they ended, kept in a JSON file."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import jax
import numpy as np

import jaxgames
from experiments.papers.tables import markdown
from search import presets
from search.planner import as_agent
from training.play import counting, evaluate
from training.play.match import MatchConfig, make_players
from training.storage import provenance
from training.storage.files import write_atomically

SOURCES = ("jaxgames/pommerman", "search")

# What is measured: its name, and how.
Measurements = list[tuple[str, Callable[[], dict | None]]]


@dataclasses.dataclass(frozen=True)
class Cell:
    """What to play.

    Attributes:
      planner, bandit, num_simulations, horizon, table_rows: as in `match.MatchConfig`.
      games: how many.
      seed: of everything.
    """

    planner: str
    bandit: str = "ts"
    num_simulations: int = 100
    horizon: int = 20
    games: int = 200
    seed: int = 2021
    table_rows: int = 2**16

    @property
    def name(self) -> str:
        """The file's name: no two different cells share one."""
        parts = [self.planner]
        if self.planner != "simple":
            parts += [] if self.planner in presets.EVOLUTIONS else [self.bandit]
            parts += [f"n{self.num_simulations}", f"k{self.horizon}"]
        if self.table_rows != Cell.table_rows:
            parts.append(f"rows{self.table_rows}")
        return "-".join([*parts, f"games{self.games}", f"seed{self.seed}"])


def result_of(cell: Cell, folder: Path, batch: int = 256) -> dict:
    """Plays a cell, or reads what was played before.

    Args:
      cell: what to play.
      folder: where `<name>.json` lies or goes.
      batch: games at a time.

    Returns:
      Counts by both rules, wins by seat, lengths, time, the share of known states by depth, and where it comes from (`origin`).
    """
    return made_once(cell.name, folder, lambda: play_cell(cell, batch))


def stored(name: str, folder: Path) -> dict | None:
    """Reads what was kept under a name; None if nothing was."""
    path = folder / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def made_once(name: str, folder: Path, measure: Callable[[], dict]) -> dict:
    """Gives what was kept under a name, or measures it and keeps it with its origin."""
    result = stored(name, folder)
    if result is None:
        result = {**measure(), **origin()}
        store(name, folder, result)
    return result


def store(name: str, folder: Path, result: dict) -> None:
    """Keeps a result under a name."""
    write_atomically(folder / f"{name}.json", json.dumps(result, indent=1) + "\n")


class HasData(Protocol):
    """A plan of what to measure."""

    @property
    def data(self) -> Path: ...


AnyPlan = TypeVar("AnyPlan", bound=HasData)


def make_page(
    parts: Mapping[str, Callable[[AnyPlan], Measurements]],
    sources: tuple[str, ...],
    plan: AnyPlan,
    write_page: Callable[[AnyPlan], None],
    chosen: Sequence[str] = (),
    report: Callable[[str], None] = print,
) -> None:
    """Makes what is missing of a page, and writes the page after each measurement.

    Args:
      parts: what there is to measure, by name.
      sources: folders of the code on which results depend.
      plan: what to do; `<name>.json` lies or goes into its folder `data`.
      write_page: writes it from that folder.
      chosen: which parts, in this order; (): all.
      report: told about each measurement.

    Raises:
      ValueError: there is no such part.
    """
    for part in chosen or parts:
        if part not in parts:
            raise ValueError(f"part={part!r}: must be one of {', '.join(parts)}")
        for name, measure in parts[part](plan):
            if stored(name, plan.data) is None:
                started = time.perf_counter()
                result = measure()
                if result is None:
                    return  # asked to stop
                store(name, plan.data, {**result, **origin(sources)})
                report(f"{name}: {time.perf_counter() - started:.0f} s")
                write_page(plan)
    write_page(plan)


def origin(sources: tuple[str, ...] = SOURCES) -> dict:
    """Tells on what and with which code a result is made: device, versions, commit, and a hash of rules and planners."""
    return {**provenance.describe(jax.devices()[0]), "sources": provenance.source_hash(sources)}


def origins(results: Iterable[dict]) -> str:
    """Makes the part of a page that lists by which commits and on which devices its numbers were made.

    Args:
      results: as kept.
    """
    counts: dict[tuple[str, str, str], int] = {}
    for result in results:
        versions = result.get("versions", {})
        code = result.get("commit") or ("not recorded (older)" if "sources" not in result else "no checkout")
        made = (code, result.get("device", "–"), versions.get("jax", result.get("jax", "–")))
        counts[made] = counts.get(made, 0) + 1
    rows = [[*made, str(count)] for made, count in sorted(counts.items())]
    return f"## Where the numbers come from\n\n{markdown(['commit', 'device', 'jax', 'cells'], rows)}" if rows else ""


def from_other_code(results: Mapping[str, dict]) -> str:
    """Says in one line which results were not made by the present rules and planners; "" if all were.

    Args:
      results: by name, as kept.
    """
    older = [name for name, result in results.items() if result.get("sources") != provenance.source_hash(SOURCES)]
    if not older:
        return ""
    listed = ", ".join(older[:3]) + (f" and {len(older) - 3} more" if len(older) > 3 else "")
    return f"warning: made by other versions of {', '.join(SOURCES)}: {listed} (what is deleted is made again)"


def play_cell(cell: Cell, batch: int) -> dict:
    """Plays one cell against three rule-based agents."""
    game = jaxgames.make("pommerman", "ffa")
    settings = dataclasses.asdict(cell)
    config = MatchConfig(**settings, batch=batch)
    players = make_players(config, game)
    bytes_per_lane = 0
    if cell.planner != "simple":
        options = {name: settings[name] for name in ("num_simulations", "horizon", "table_rows")}
        planner = presets.by_name(game, cell.planner, cell.bandit, **options)
        bytes_per_lane = planner.memory_bytes
        players[0] = as_agent(planner, keep_metrics=True)
    started, cpu = time.perf_counter(), time.process_time()
    games = evaluate.play(game, players, jax.random.key(cell.seed), cell.games, batch_size=batch)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu
    result = {
        "cell": settings,
        "released": counting.count(games).as_dict(),
        "strict": counting.count(games, strict=True).as_dict(),
        "wins_by_seat": counting.count_by_seat(games).tolist(),
        "draws": int((games.outcomes == 0).all(1).sum()),
        "lengths": games.lengths.tolist(),
        "moves": games.moves.tolist(),
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu_seconds, 1),
        "memory_bytes_per_game": bytes_per_lane,
        "devices": jax.device_count(),
    }
    if cell.planner != "simple":
        result["metrics"] = {name: np.asarray(value).sum(0).tolist() for name, value in games.memories[0][1].items()}
    return result
