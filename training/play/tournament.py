"""Round robins between agents in games of two: points, intervals, Elo, and a cross-table."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import jax
import numpy as np
from jax import Array
from rich.console import Console
from rich.table import Table

import jaxgames
from jaxgames import checks, processes
from jaxgames.agent import Agent
from jaxgames.game import Game
from jaxgames.registration import name_and_mode
from training.play import agents, evaluate, memory
from training.play.cross_table import NUMBERS, CrossTable, joined, nobody_has_met, with_pair
from training.play.telling import counted, duration, now_and_then
from training.storage import provenance
from training.storage.files import alone_in, check_shared, output_folder, write_alone, write_atomically, write_together
from training.storage.owner import JOB, RESULT, check_owner, other_owner
from training.storage.shards import made_from, shard_of

BATCH = 128
PAIRS = "pairs"  # folder of what shards have played, a file for each pair
_FREE = ("output", "batch", "shard")  # settings that change no game


@dataclasses.dataclass(frozen=True)
class TournamentConfig:
    """Lets agents of a game of two meet, each pair equally often in both seats, and rates them.

    Attributes:
      agents: two or more with spaces between them, such as random path network:weights=FILE; settings follow a colon. The Elo of
        the first is 0. Where none is named, those that the game names: random, path and two searches without network in Hex.
      game: name of the game, or an id as `jaxgames games` lists them.
      mode: its variant; "": the game's usual one for two players, as one_vs_one in Pommerman.
      games: of each pair; even.
      seed: of all play.
      batch: games at a time, over all devices.
      output: folder for result.json, which is written after each pair, and cross_table.svg; "": none. What a tournament with the
        same settings, networks and code has left there is not played again.
      shard: plays only share I of N of the pairs, as 2/4; several may write into one folder, and the last one makes the table.
    """

    JOB: ClassVar[str] = "tournament"

    agents: tuple[str, ...] = ()
    game: str = "hex"
    mode: str = ""
    games: int = 100
    seed: int = 0
    batch: int = BATCH
    output: str = ""
    shard: str = ""

    def __post_init__(self) -> None:
        if self.shard and not self.output:
            raise ValueError(f"shard={self.shard!r}: needs an output folder, the same for all shards")
        shard_of(self.shard)
        name, mode = name_and_mode(self.game, self.mode)
        standard = jaxgames.registration(name).defaults
        object.__setattr__(self, "game", name)
        object.__setattr__(self, "mode", mode or standard.pairs_mode)
        object.__setattr__(self, "agents", self.agents or standard.tournament)
        if len(set(self.agents)) != len(self.agents) or len(self.agents) < 2:
            raise ValueError(f"agents={' '.join(self.agents)}: must be two or more with spaces between them, each named once")
        checks.at_least(2, self, "games")
        checks.at_least(1, self, "batch")
        if self.games % 2:
            raise ValueError(f"games={self.games}: must be even, because seats are changed half-way")
        checks.seed(self)


def run(config: TournamentConfig, console: Console | None = None) -> dict:
    """Plays, shows the cross-table, and writes result.json and cross_table.svg if there is an output folder.

    Returns:
      What result.json holds.

    Raises:
      ValueError: for agents or settings that are not possible, or another tournament, or a result of another job,
        lies in the output folder.
      OSError: weights cannot be read, or the output folder not written, or it is in use.
    """
    console = console or Console()
    try:
        if config.shard:  # others are at work in the folder
            with output_folder(Path(config.output) / PAIRS / config.shard.replace("/", "-of-")):
                check_owner(config, Path(config.output))
                return _play_shard(config, Path(config.output), console)
        with output_folder(config.output) as folder:
            if folder:
                check_owner(config, folder)
            return _play(config, folder, console)
    except KeyboardInterrupt:
        if config.output:
            _tell(console, f"stopped; pairs that are over, if any, are in {config.output}, and the same command goes on")
        raise


def _prepared(config: TournamentConfig, console: Console) -> tuple[Game, dict[str, Agent], dict[str, Any]]:
    """Makes the game and the players, and what a result begins with."""
    game = jaxgames.make(config.game, config.mode)
    players = {spec: agents.make(spec, game) for spec in config.agents}
    head = {
        JOB: config.JOB,
        "settings": dataclasses.asdict(config),
        "networks": {spec: agents.digest(spec, game) for spec in config.agents},
        "code": provenance.source_hash(("jaxgames", "search", "training")),
    }
    for pair in itertools.combinations(players.values(), 2):
        memory.check(game, pair, config.batch, games=config.games)
    for note in agents.notes(config.agents, game):
        _tell(console, note)
    return game, players, head


def _play_shard(config: TournamentConfig, folder: Path, console: Console) -> dict:
    """Plays a share of the pairs, a file for each, and makes the table of all that are there."""
    game, players, head = _prepared(config, console)
    key, names = jax.random.key(config.seed), tuple(players)
    earlier = _found(folder, head)[0]
    started = time.perf_counter()
    own = list(shard_of(config.shard).of(list(itertools.combinations(range(len(names)), 2))))
    for number, (row, column) in enumerate(own):
        path = folder / PAIRS / f"{row}-{column}.json"
        table = earlier if earlier.games[row, column] else _read_earlier(path, head)[0]
        if table is None:
            nobody, told = nobody_has_met(names), f"playing: {number} of {counted(len(own), 'pair')} over"
            with now_and_then(console, functools.partial(str, told)):
                pair = _pair(game, players, key, row, column, config.games, config.batch)
            table = with_pair(nobody, row, column, pair)
            seconds, started = time.perf_counter() - started, time.perf_counter()
            write_atomically(path, json.dumps({**head, "seconds": seconds, **table.as_dict()}, indent=2) + "\n")
        _tell(console, _told(table, row, column))
    result: dict[str, Any] = {}

    def make() -> None:
        if other := other_owner(config, folder / RESULT):  # written while the pairs were played
            raise ValueError(
                f"{folder / RESULT}: of {other} by now; move it away, and the same command makes the table of the pairs"
            )
        with alone_in(folder):
            table, seconds = _found(folder, head)
            result.update({**head, "seconds": seconds, **table.as_dict()})
            write_atomically(folder / RESULT, json.dumps(result, indent=2) + "\n")
        if table.is_complete:
            _write_all(folder, result, table, console)

    made_from(folder / PAIRS, "*.json", make)
    table = CrossTable(names, *(np.array(result[name]) for name in NUMBERS))
    met, number = int((table.games > 0).sum()) // 2, len(names) * (len(names) - 1) // 2
    if table.is_complete:
        console.print(_shown(table, config, game, players))
    others = "" if table.is_complete else "; other shards play the rest"
    _tell(console, f"{met} of {counted(number, 'pair')} are in {folder}{others}")
    return result


def _play(config: TournamentConfig, folder: Path | None, console: Console) -> dict:
    game, players, head = _prepared(config, console)
    earlier, before = _earlier(folder, head) if folder else (None, 0.0)
    if earlier and earlier.games.any():
        _tell(console, f"taken from {folder}: {counted(int((earlier.games > 0).sum()) // 2, 'pair')}")
    started = time.perf_counter()

    def result_of(table: CrossTable) -> dict[str, Any]:
        return {**head, "seconds": before + time.perf_counter() - started, **table.as_dict()}

    def save(table: CrossTable) -> None:
        def write(folder: Path) -> None:
            with alone_in(folder):
                meanwhile = _read_earlier(folder / RESULT, head)[0]  # shards may have written it, too
                result = result_of(joined(table, meanwhile) if meanwhile else table)
                write_alone({folder / RESULT: json.dumps(result, indent=2) + "\n"})

        if folder:
            processes.on_first(functools.partial(write, folder))

    told: list[str] = []

    def report(line: str) -> None:
        told.append(line)
        _tell(console, line)

    def so_far() -> str:
        pairs = len(players) * (len(players) - 1) // 2
        return f"playing for {duration(time.perf_counter() - started)}: {len(told)} of {counted(pairs, 'pair')} over"

    with console.status("playing"), now_and_then(console, so_far):
        table = round_robin(
            game,
            players,
            jax.random.key(config.seed),
            config.games,
            batch_size=config.batch,
            report=report,
            earlier=earlier,
            save=save,
        )
    result = result_of(table)
    console.print(_shown(table, config, game, players))
    if folder:
        _write_all(folder, result, table, console)
        _tell(console, f"results in {folder}")
    return result


def _shown(table: CrossTable, config: TournamentConfig, game: Game, players: Mapping[str, Agent]) -> Table:
    labels = {name: agents.shown(agent, game) for name, agent in players.items()}
    return table.shown(labels, title=f"{config.game} {config.mode}")


def _tell(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def _write_all(folder: Path, result: Mapping[str, Any], table: CrossTable, console: Console) -> None:
    """Writes result.json and cross_table.svg."""
    written: dict[str | os.PathLike[str], str | bytes] = {folder / RESULT: json.dumps(result, indent=2) + "\n"}
    try:
        from training.jobs.figures import cross_table_figure

        written[folder / "cross_table.svg"] = cross_table_figure(table)
    except ImportError:
        console.print("no picture: pip install '.[viz]' in a checkout", markup=False, highlight=False, soft_wrap=True)
    write_together(written)


def _earlier(folder: Path, head: Mapping[str, Any]) -> tuple[CrossTable, float]:
    """What `_found` finds in a folder that all processes share, as the first one reads it."""
    check_shared(folder)

    def read() -> tuple[list[Any], float]:
        table, seconds = _found(folder, head)
        return [getattr(table, name).tolist() for name in NUMBERS], seconds

    numbers, seconds = processes.on_first(read)
    return CrossTable(tuple(head["networks"]), *map(np.array, numbers)), seconds


def _found(folder: Path, head: Mapping[str, Any]) -> tuple[CrossTable, float]:
    """Reads the pairs that are there, those of result.json and what shards have played beside it, and the seconds they took.

    Raises:
      ValueError: as `_read_earlier`.
    """
    table, seconds = _read_earlier(folder / RESULT, head)
    table = table or nobody_has_met(tuple(head["networks"]))
    for path in sorted((folder / PAIRS).glob("*.json")):
        piece, more = _read_earlier(path, head)
        if piece and (piece.games > table.games).any():
            table, seconds = joined(table, piece), seconds + more
    return table, seconds


def _read_earlier(path: Path, head: Mapping[str, Any]) -> tuple[CrossTable | None, float]:
    """Reads the pairs that an earlier call has played, and the seconds that it took.

    Raises:
      ValueError: they were played with other settings, networks or code, or no tournament has written the file.
    """
    if not path.exists():
        return None, 0.0
    try:
        found, wanted = json.loads(path.read_text()), json.loads(json.dumps(head))
        table = CrossTable(tuple(found["names"]), *(np.array(found[name]) for name in NUMBERS))
        settings, seconds = found["settings"], float(found["seconds"])
        others = [name for name, value in wanted["settings"].items() if settings.get(name) != value and name not in _FREE]
        also = [name for name in ("networks", "code") if found.get(name) != wanted[name]]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        told = f"{path}: torn, or of no tournament ({type(error).__name__}); give another folder, or remove it"
        raise ValueError(told) from None
    folder = wanted["settings"]["output"]
    if others:
        given, before = (_as_given(each.get(others[0])) for each in (wanted["settings"], settings))
        raise ValueError(f"{others[0]}={given}: the tournament in {folder} has {before}; give that, or another folder")
    if also:
        raise ValueError(f"output={folder!r}: holds a tournament with other {' and '.join(also)}; give another folder")
    return table, seconds


def _as_given(value: Any) -> str:
    """Gives the value of a setting as it stands on the command line; of one that is missing, "nothing"."""
    if value is None:
        return "nothing"
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def play_pair(game: Game, pair: Sequence[Agent], key: Array, num_games: int, *, batch_size: int = BATCH) -> np.ndarray:
    """Plays games between two agents, half of them with seats changed, from the same start states.

    Args:
      game: of two players.
      pair: the agents.
      key: a random key.
      num_games: even.
      batch_size: games at a time.

    Returns:
      float [num_games], points of the first agent (1, 0.5 or 0); the first half in the first seat.

    Raises:
      ValueError: the game has not two players, or the number of games is not possible.
    """
    if game.num_players != 2:
        raise ValueError(f"game={game.name!r}: has {game.num_players} players; a round robin needs a game of two")
    if num_games < 2 or num_games % 2:
        raise ValueError(f"num_games={num_games}: must be even and at least 2, because seats are changed half-way")
    played = evaluate.play(game, pair, key, num_games, batch_size=batch_size, seating="rotated")
    points = (1 + played.outcomes[:, 0]) / 2
    return np.concatenate([points[played.seats[:, 0] == seat] for seat in (0, 1)])


def round_robin(
    game: Game,
    players: Mapping[str, Agent],
    key: Array,
    num_games: int,
    *,
    batch_size: int = BATCH,
    report: Callable[[str], None] | None = None,
    earlier: CrossTable | None = None,
    save: Callable[[CrossTable], None] | None = None,
) -> CrossTable:
    """Lets everybody meet everybody.

    Args:
      game: of two players.
      players: by name; the first one's Elo is 0.
      key: a random key; pair (i, j) uses `fold_in(fold_in(key, i), j)`.
      num_games: of each pair; even.
      batch_size: games at a time.
      report: told about each pair.
      earlier: what an earlier call with the same arguments has saved; its pairs are not played again.
      save: given the table so far after each pair that is played.

    Raises:
      ValueError: no players by name, fewer than two, other ones than earlier, or what `play_pair` refuses.
    """
    if not isinstance(players, Mapping):
        raise ValueError(f"players: a {type(players).__name__}, must be agents by their names, such as {{'first': agent}}")
    names = tuple(players)
    number = len(names)
    if number < 2:
        raise ValueError(f"{number} players: a tournament needs at least two")
    if earlier and earlier.names != names:
        raise ValueError(f"earlier={', '.join(earlier.names)}: must be the same players, {', '.join(names)}")
    table = earlier or nobody_has_met(names)
    for row, column in itertools.combinations(range(number), 2):
        if not table.games[row, column]:
            table = with_pair(table, row, column, _pair(game, players, key, row, column, num_games, batch_size))
            if save:
                save(table)
        if report:
            report(_told(table, row, column))
    return table


def _pair(
    game: Game, players: Mapping[str, Agent], key: Array, row: int, column: int, num_games: int, batch_size: int
) -> np.ndarray:
    """Plays the games of two of the players, by their numbers."""
    everybody = list(players.values())
    pair_key = jax.random.fold_in(jax.random.fold_in(key, row), column)
    return play_pair(game, (everybody[row], everybody[column]), pair_key, num_games, batch_size=batch_size)


def _told(table: CrossTable, row: int, column: int) -> str:
    return f"{table.names[row]} - {table.names[column]}: {table.points[row, column]:g} - {table.points[column, row]:g}"
