"""The command of soaks: long runs of games in which every state is checked, and the memory of the process watched."""

from __future__ import annotations

import dataclasses
import json
import resource
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console

import jaxgames
from experiments.soak.play import NOT_BROKEN, Soak
from jaxgames import checks
from jaxgames.abilities import can_be_drawn
from training.play import agents
from training.storage import provenance
from training.storage.files import output_folder, write_atomically
from training.storage.json_files import read_rows

# Steps of each game in a whole soak, and who plays, with lanes.
PLANS: tuple[tuple[str, str, str, float, int], ...] = (
    ("pommerman", "ffa", "random", 8e8, 480),
    ("pommerman", "ffa", "simple", 2e8, 480),
    ("hex", "adh", "random", 9.9e8, 960),
    ("hex", "adh", "path", 1e7, 480),
    ("hero_academy", "standard", "random", 9e7, 480),
    ("hero_academy", "hidden", "best_rated", 1e7, 480),
    ("stratego", "stratego", "random", 9.8e7, 480),
    ("stratego", "barrage", "hunt", 2e6, 256),
    ("clash", "beginner", "random", 9.4e7, 128),
    ("clash", "all", "random", 5e6, 128),
    ("clash", "beginner", "counter", 1e6, 128),
)
_ROW = {"game": str, "mode": str, "agent": str}
_SECONDS_PER_LOOK = 20.0
_ROOM = 64 * 2**20  # bytes by which a process may grow after its first look


@dataclasses.dataclass(frozen=True)
class SoakConfig:
    """Plays games for long, checks every state inside the compiled loop, and watches the memory of the process.

    Attributes:
      game: which; "": all, as planned.
      mode, agent: variant, and who has all seats; "": as planned. For what is not planned: 10^8 steps, random play.
      share: of the planned steps; 1: 10^9 of Pommerman and Hex, 10^8 of the others.
      lanes: games at once; 0: as planned.
      seed: of everything.
      resume: go on with soaks that were stopped: with new games, and what was found before counts; else such a soak begins anew.
      replay: number of a game that is played again alone, told of and drawn; -1: none.
      output: folder for soak.json and pictures.
    """

    game: str = ""
    mode: str = ""
    agent: str = ""
    share: float = 1.0
    lanes: int = 0
    seed: int = 0
    resume: bool = False
    replay: int = -1
    output: str = "output/soak"

    def __post_init__(self) -> None:
        checks.seed(self)
        checks.numbers(self, "share", positive=True)
        checks.at_least(0, self, "lanes")
        checks.at_least(-1, self, "replay")
        checks.below(checks.COUNTS, self, "replay")
        if self.replay >= 0 and not self.game:
            raise ValueError(f"replay={self.replay}: say which game")
        for name, given in (("mode", self.mode), ("agent", self.agent)):
            if given and not self.game:
                raise ValueError(f"{name}={given!r}: say of which game")


def run(config: SoakConfig, console: Console | None = None) -> dict[str, Any]:
    """Soaks. soak.json is written at every look, and keeps the rows of other games, agents and seeds.

    Returns:
      The rows of these soaks.

    Raises:
      ValueError: a setting is not possible; or, after all is written, a rule was broken or the memory has grown.
      OSError: the folder cannot be written.
    """
    console = console or Console()
    plans = _plans(config)
    with output_folder(config.output) as folder:
        assert folder is not None
        if config.replay >= 0:
            return _replay(config, plans[0], folder, console)
        path = folder / "soak.json"
        kept = {_which(row): row for row in read_rows(path, "list of soaks", _ROW)} if path.exists() else {}
        made, about = [], provenance.describe(jax.devices()[0])
        for plan in plans:
            begun = _empty(config, plan)
            which = _which(begun)
            made.append(which)
            if config.resume:
                begun |= kept.get(which, {})
            for row in _soak(config.share * plan[3], _told_of(begun, about), console):
                kept[which] = row
                write_atomically(path, json.dumps(list(kept.values()), indent=1) + "\n")
    rows = [kept[which] for which in made if which in kept]
    faults = [fault for row in rows for fault in row["faults"]]
    if faults:
        raise ValueError("; ".join(faults))
    return {"rows": rows}


def _empty(config: SoakConfig, plan: tuple[str, str, str, float, int]) -> dict[str, Any]:
    """The row of a soak that has not begun."""
    game, mode, agent, _, lanes = plan
    told = {"game": game, "mode": mode, "agent": agent, "lanes": lanes, "seed": config.seed}
    return told | {"steps": 0, "games": 0, "next_game": 0, "rules": 0, "seconds": 0.0, "grown_bytes": 0, "faults": []}


def _told_of(row: dict[str, Any], about: Mapping[str, Any]) -> dict[str, Any]:
    """Adds to a row on what it goes on, and with which code: all commits that have played it, null where one is not known."""
    present = dict(about)
    commits = row.get("commits", [None] if row["steps"] else [])  # older files have none
    return row | {"commits": list(dict.fromkeys([*commits, present.pop("commit")]))} | present


def _which(row: dict[str, Any]) -> tuple[Any, ...]:
    """What tells soaks apart."""
    return tuple(row.get(name) for name in ("game", "mode", "agent", "lanes", "seed"))


def _plans(config: SoakConfig) -> list[tuple[str, str, str, float, int]]:
    """What is to be played."""
    if not config.game:
        return [(*plan[:4], config.lanes or plan[4]) for plan in PLANS]
    registration = jaxgames.registration(config.game)
    asked = (config.game, config.mode, config.agent)
    found = [plan for plan in PLANS if all(name in ("", planned) for name, planned in zip(asked, plan[:3], strict=True))]
    plans = found or [(config.game, config.mode or registration.defaults.mode, config.agent or "random", 1e8, 128)]
    return [(*plan[:4], config.lanes or plan[4]) for plan in plans]


def _soak(total: float, row: dict[str, Any], console: Console) -> Iterator[dict[str, Any]]:
    """Goes on with a soak up to so many steps; every few seconds looks at what was found, and gives the row as it is then."""
    name, mode, agent, lanes, seed, *_ = _which(row)
    game = jaxgames.make(name, mode)
    soak = Soak(game, agents.make(agent, game), lanes)
    key, chunk, level, looks = jax.random.key(seed), 8, 0, 0
    advance = jax.jit(soak.advance, donate_argnums=1)
    carry = jax.jit(soak.start)(key, jnp.int32(row["next_game"]))
    title = f"{name} {mode}, {agent}"
    while row["steps"] < total:
        started = time.monotonic()
        carry = advance(key, carry, jnp.int32(chunk))
        broken, first = np.asarray(carry.broken), np.asarray(carry.first)
        seconds, looks = time.monotonic() - started, looks + 1
        level = _memory() if looks == 2 else level  # when all is compiled
        grown = max(_memory() - level, 0) if level else 0
        faults = [
            f"{title}: {rule}: broken, first in game {number}: see it with --game {name} --mode {mode} --agent {agent} "
            f"--seed {seed} --replay {number}"
            for rule, number in zip(soak.names, first.tolist(), strict=True)
            if number != NOT_BROKEN
        ]
        if grown > _ROOM:
            faults.append(f"{title}: the process has grown by more than {_ROOM >> 20} MB")
        new = [fault for fault in faults if fault not in row["faults"]]
        row = row | {
            "steps": row["steps"] + chunk * lanes,
            "games": row["games"] + int(carry.games),
            "next_game": int(carry.lanes.next_number[0]),
            "rules": len(soak.names),
            "seconds": round(row["seconds"] + seconds, 1),
            "grown_bytes": max(row["grown_bytes"], grown),
            "faults": row["faults"] + new,
        }
        for fault in new:
            console.print(fault, style="red", markup=False, highlight=False)
        console.print(
            f"{title}: {row['steps']:.3g} of {total:.3g} steps, {row['games']} games, {int(broken.sum())} faults, "
            f"{_memory() >> 20} MB",
            markup=False,
            highlight=False,
        )
        yield row
        left = -(-int(total - row["steps"]) // lanes)
        chunk = max(1, min(int(chunk * min(_SECONDS_PER_LOOK / max(seconds, 1e-3), 8)), left))


def _replay(config: SoakConfig, plan: tuple[str, str, str, float, int], folder: Path, console: Console) -> dict[str, Any]:
    """Plays one game again, tells what was broken when, and draws the first such position."""
    name, mode, agent, _, lanes = plan
    game = jaxgames.make(name, mode)
    states, told = Soak(game, agents.make(agent, game), lanes).again(jax.random.key(config.seed), config.replay)
    for step, rule in told:
        console.print(f"after step {step}: {rule}: broken", markup=False, highlight=False)
    if can_be_drawn(game):
        step = told[0][0] if told else len(states.terminated) - 1
        state = jax.tree.map(lambda leaf: leaf[step], states)
        write_atomically(folder / "soak.svg", game.draw(state, caption=f"after step {step}"))
        console.print(f"the position after step {step} in {folder / 'soak.svg'}", markup=False, highlight=False)
    return {"broken": told}


def _memory() -> int:
    """Bytes that this process takes up now, where Linux tells, else the most so far."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
