"""The main job: agents against each other, shown live, with a table, a JSON result and one game as a picture."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import platform
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import jax
from jax import Array
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

import jaxgames
from jaxgames import checks, gif, processes
from jaxgames.abilities import DrawnGame, can_be_drawn, teams_of
from jaxgames.agent import Agent
from jaxgames.game import Game
from jaxgames.registration import Published, with_usual_mode
from training.play import agents, counting, evaluate, memory
from training.play.telling import counted, duration, now_and_then
from training.storage.files import output_folder, write_together
from training.storage.owner import JOB, RESULT, check_owner
from training.web import watching
from training.web.server import show_in_browser

RECORDED = 200  # games among which one is chosen as the picture


@dataclasses.dataclass(frozen=True)
class MatchConfig:
    """Plays a planner against opponents, each game to its end; who sits where is drawn for each game.

    In a game of teams these stay together: of four agents the first and the third are one. An agent is a name with settings of
    its own after a colon, such as fdts:bandit=ucb,num_simulations=50 or follower:FILE. A name or a setting that does not exist is
    answered with the list of those that do.

    Attributes:
      game: name of the game, such as hex, or an id as `jaxgames games` lists them.
      mode: its variant, such as adh-5 (abrupt DarkHex, 5 x 5 cells); "": the game's usual one.
      planner: who plays the first part; "": the game's usual planner.
      opponent: who plays all others, in a game of teams the other team; "": the game's usual opponent.
      agents: one per player, in place of a planner and its opponents.
      games: games to play.
      seed: of boards, seats and all play.
      batch: games at a time, over all devices.
      output: folder for result.json, game.svg, and game.json, which `jaxgames play` loads; "": none.
      gif: write game.gif too, for places that show no SVG (the extra viz); it takes a tenth of a second a step.
      watch: show the first games on a page in the browser while they are played; it stays until Ctrl-C.
      port: of that page; 0: any that is free.
    """

    JOB: ClassVar[str] = "match"  # of `jaxgames evaluate`, too

    game: str = "pommerman"
    mode: str = ""
    planner: str = ""
    opponent: str = ""
    agents: tuple[str, ...] = ()
    games: int = 100
    seed: int = 0
    batch: int = 128
    output: str = "output"
    gif: bool = False
    watch: bool = False
    port: int = 8765

    def __post_init__(self) -> None:
        name, mode = with_usual_mode(self.game, self.mode)
        object.__setattr__(self, "game", name)
        object.__setattr__(self, "mode", mode)
        if self.agents and (self.planner or self.opponent):
            raise ValueError(f"agents={' '.join(self.agents)}: takes the place of planner and opponent; leave these out")
        checks.at_least(1, self, "games", "batch")
        if self.gif and not self.output:
            raise ValueError("gif=True: must have an output folder")
        checks.port(self)
        checks.seed(self)

    def players(self, game: Game) -> tuple[str, ...]:
        """Gives who plays, one per player.

        Raises:
          ValueError: there are not as many agents as players.
        """
        usual = jaxgames.registration(self.game).defaults
        planner, opponent = self.planner or usual.planner, self.opponent or usual.opponent
        teams = teams_of(game)
        players = self.agents or tuple(planner if team == teams[0] else opponent for team in teams)
        if len(players) != game.num_players:
            raise ValueError(f"{len(players)} agents: {self.game} {self.mode} has {game.num_players} players")
        return players


@dataclasses.dataclass(frozen=True)
class EvaluateConfig(MatchConfig):
    """Plays any agents against each other, each game to its end; who sits where is drawn for each game.

    Agents are named one per player, such as --agents follower:FILE simple simple simple, or as for `jaxgames match`. Where
    nobody is named, neither agents nor a planner nor an opponent, the game's usual agents play, a trained one among them, if
    there are as many players.
    """


def run_agents(config: EvaluateConfig, console: Console | None = None) -> dict:
    """The same as `run`, but where nobody is named the game's usual agents play, if it has as many players."""
    usual = jaxgames.registration(config.game).defaults.agents
    is_named = config.agents or config.planner or config.opponent
    if not is_named and len(usual) == jaxgames.make(config.game, config.mode).num_players:
        config = dataclasses.replace(config, agents=usual)
    return run(config, console)


def run(config: MatchConfig, console: Console | None = None) -> dict:
    """Plays the match, shows it, and writes `result.json`, `game.json` and `game.svg` into the output folder, if there is one.

    The result is written before anything is drawn. Pictures of an earlier match in the folder are removed first; where drawing is
    interrupted, or the game cannot be drawn, there is none.

    Returns:
      What `result.json` holds.

    Raises:
      ValueError: for settings that are not possible, or the output folder holds a result of another job.
      OSError: weights cannot be read, or the output folder not written, or it is in use (found before anything is played).
    """
    console = console or Console()
    if config.watch and processes.count() > 1:
        raise ValueError("watch=True: games of several processes cannot be watched; leave it out")
    with contextlib.ExitStack() as pages:
        with output_folder(config.output) as folder:
            if folder:
                check_owner(config, folder)
            result = _play(config, folder, console, pages)
        if config.watch:
            console.print("the page stays until Ctrl-C", markup=False, soft_wrap=True)
            threading.Event().wait()
        return result


def _play(config: MatchConfig, folder: Path | None, console: Console, pages: contextlib.ExitStack) -> dict:
    game = jaxgames.make(config.game, config.mode)
    if config.gif:
        _check_gif(game)
    specs = config.players(game)
    made = {spec: agents.make(spec, game) for spec in specs}  # equal agents are one object: they are asked together
    players = [made[spec] for spec in specs]
    record = min(config.games, RECORDED) if folder or config.watch else 0
    results = (evaluate.bytes_of_results(game, config.games, record), f"games={config.games}")
    memory.check(game, players, config.batch, games=config.games, other=results)
    names = [agents.shown(player, game) for player in players]
    console.print(f"{_who_meets_whom(names, teams_of(game))}, {config.game} {config.mode}", markup=False, soft_wrap=True)
    for note in agents.notes(specs, game):
        console.print(note, markup=False, highlight=False, soft_wrap=True)

    watch = None
    if config.watch:
        watch, address = pages.enter_context(watching.watched(game, config.mode, specs, config.seed, config.port))
        console.print(f"games to be watched at {address}", markup=False, highlight=False, soft_wrap=True)
        show_in_browser(address)
    games, seconds, compile_seconds = _show(config, game, players, record, console, watch)
    result = {
        JOB: config.JOB,
        "settings": dataclasses.asdict(config),
        "agents": summarize(specs, games, teams_of(game)),
        "wins_by_seat": counting.count_by_seat(games).tolist(),
        "mean_length": float(games.lengths.mean()),
        "moves": int(games.moves[0]),
        "moves_per_second": float(games.moves[0] / max(seconds - compile_seconds, 1e-9)),
        "seconds": seconds,
        "compile_seconds": compile_seconds,
        "device": f"{jax.device_count()} x {jax.devices()[0].device_kind}",
        "versions": {"python": platform.python_version(), "jax": jax.__version__, "jaxgames": jaxgames.__version__},
    }
    table, notes = _table(config, game, result, dict(zip(specs, names, strict=True)))
    console.print(table)
    for note in notes:
        console.print(note, markup=False, highlight=False, soft_wrap=True)
    if folder:
        result["picture_of_game"] = kept_game(games)
        _write(config, folder, console, game, players, games, result)
    return result


def _who_meets_whom(names: Sequence[str], teams: Sequence[int]) -> str:
    """Tells of the players of the first team, and of all others; equal ones together."""
    ours = [name for name, team in zip(names, teams, strict=True) if team == teams[0]]
    first = " and ".join([names[0]] if len(ours) == 1 else [f"{number} x {name}" for name, number in Counter(ours).items()])
    others = [name for name, team in zip(names, teams, strict=True) if team != teams[0]]
    return f"{first} against {', '.join(f'{number} x {name}' for name, number in Counter(others).items())}"


def _write(
    config: MatchConfig,
    folder: Path,
    console: Console,
    game: Game,
    players: Sequence[Agent],
    games: evaluate.Games,
    result: dict[str, Any],
) -> None:
    """Writes the result, and one game as a saved one and as pictures, into the folder."""
    number = result["picture_of_game"]
    begun = watching.saved_game(game, config.mode, config.players(game), config.seed, number, games.seats[number])
    played = games.actions[number][: int(games.lengths[number])]
    saved = dataclasses.replace(begun, actions=tuple(map(tuple, played.tolist())))

    def remove_pictures() -> None:
        """Of a match that has been here before: beside the new result they would be of another game."""
        if processes.leads() and (folder / RESULT).exists():
            for name in ("game.svg", "game.gif"):
                (folder / name).unlink(missing_ok=True)

    processes.agree(remove_pictures)
    # Before anything is drawn, which may take minutes and be interrupted.
    write_together({folder / "game.json": saved.to_text(), folder / RESULT: json.dumps(result, indent=2) + "\n"})
    tell = functools.partial(console.print, markup=False, soft_wrap=True)
    tell(f"results in {folder / RESULT}")
    if not can_be_drawn(game):
        return
    tell(f"drawing game {number}, of {len(played)} steps" + (", as a GIF too" if config.gif else ""))
    names = [player.name for player in players]
    pictures = draw_game(game, jax.random.key(config.seed), games, number, names, also_gif=config.gif)
    write_together({folder / name: content for name, content in pictures.items()})
    also = f", and as a GIF: {folder / 'game.gif'}" if config.gif else ""
    tell(f"game {number} to watch in a browser: {folder / 'game.svg'}{also}")


def _check_gif(game: Game) -> None:
    try:
        gif.check_possible(game)
    except ImportError as error:
        raise ValueError(f"gif=True: {error}") from None


def _show(
    config: MatchConfig,
    game: Game,
    players: Sequence[Agent],
    record: int,
    console: Console,
    watch: Callable[[evaluate.Watched], None] | None = None,
) -> tuple[evaluate.Games, float, float]:
    """Plays under a bar. Returns the games, seconds in all, and those of them until everything was compiled."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    counts = (TextColumn("{task.fields[score]}"), TextColumn("{task.fields[speed]}"))
    started, compiled, has_ended = time.perf_counter(), 0.0, False
    latest = evaluate.Progress(0, 0, 0, 0, 0, 0)
    told = functools.partial(console.print, markup=False, highlight=False, soft_wrap=True)
    told("compiling: what was compiled before is kept, all else takes a while")

    def score() -> str:
        if latest.games:
            return f"win {latest.wins}  draw {latest.draws}  loss {latest.losses}"
        return f"no game is over yet, all are in step {latest.steps} of at most {game.max_steps}"

    def speed() -> str:
        rate = latest.moves / max(time.perf_counter() - compiled, 1e-9)
        return f"{rate:.{0 if rate >= 10 else 1}f} moves/s"

    def line() -> str:
        now = time.perf_counter()
        if not compiled:
            return f"compiling for {duration(now - started)}"
        over = f"{latest.games} of {counted(config.games, 'game')} over, " if latest.games else ""
        return f"playing for {duration(now - compiled)}: {over}{score()}, {speed()}"

    with Progress(*columns, *counts, TimeElapsedColumn(), TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task("compiling", total=config.games, score="", speed="")

        def report(progress: evaluate.Progress) -> None:
            nonlocal compiled, has_ended, latest
            now, latest = time.perf_counter(), progress
            if not compiled:
                compiled = now
                together = counted(min(config.batch, config.games), "game")
                told(f"compiled after {now - started:.0f} s; playing {together} at a time")
            if progress.games and not has_ended:
                has_ended = True
                told(f"the first games are over after {now - compiled:.0f} s: {score()}")
            bar.update(task, description="playing", completed=progress.games, score=score(), speed=speed())

        key, batch = jax.random.key(config.seed), config.batch
        try:
            with now_and_then(console, line):
                games = evaluate.play(
                    game, players, key, config.games, batch_size=batch, record=record, report=report, watch=watch
                )
        except KeyboardInterrupt:
            if latest.games:  # games that are short end first, so this is no result
                told(f"interrupted; of the {counted(latest.games, 'game')} that were over: {score()}")
            raise
    return games, time.perf_counter() - started, compiled - started


def summarize(specs: Sequence[str], games: evaluate.Games, teams: Sequence[int] | None = None) -> list[dict]:
    """Counts per agent, in the order given; equal agents are counted together, as `count_together` does, those of one team once.

    Args:
      specs: the agents.
      games: what they have played.
      teams: of the agents; None: each plays for itself.

    Returns:
      Dictionaries with name, how many `agents` are counted together, `released` and `strict`.
    """
    result = []
    teams = range(len(specs)) if teams is None else teams
    for name in dict.fromkeys(specs):
        seen = {team: i for i, (other, team) in reversed(list(enumerate(zip(specs, teams, strict=True)))) if other == name}
        equal = sorted(seen.values())
        counts = {rule: counting.count_together(games, equal, strict=rule == "strict") for rule in ("released", "strict")}
        result.append({"name": name, "agents": len(equal), **counts})
    return result


def kept_game(games: evaluate.Games) -> int:
    """Gives the number of the first recorded game that the first player won, or of the first game."""
    won = (games.outcomes[: len(games.actions), 0] > 0).nonzero()[0]
    return int(won[0]) if len(won) else 0


def draw_game(
    game: DrawnGame, key: Array, games: evaluate.Games, index: int, names: Sequence[str], *, also_gif: bool = False
) -> dict[str, str | bytes]:
    """Draws a recorded game as an animation, game.svg, and if wanted game.gif; the game must be one that can be drawn."""
    states = evaluate.replay(game, key, index, games)
    by_seat = [name for _, name in sorted(zip(games.seats[index], names, strict=True))]
    actions = games.actions[index][: int(games.lengths[index])]
    files: dict[str, str | bytes] = {"game.svg": game.animate(states, actions, names=by_seat)}
    return files | ({"game.gif": gif.to_gif(game, states, names=by_seat)} if also_gif else {})


def _table(config: MatchConfig, game: Game, result: dict, names: Mapping[str, str]) -> tuple[Table, list[str]]:
    """Makes the table, and what must be said of it."""
    differ = any(agent["released"] != agent["strict"] for agent in result["agents"])
    title = f"{config.game} {config.mode}, mean length {result['mean_length']:.0f} steps"
    kinds = ("counting",) if differ else ()
    table = Table("agent", *kinds, "win %", "draw %", "loss %", "games", title=escape(title))
    table.columns[0].overflow = "fold"
    notes = []
    for place, agent in enumerate(result["agents"]):
        for rule in ("released", "strict") if differ else ("released",):
            name = escape(names[agent["name"]]) if rule == "released" else ""
            told = [rule] if differ else []
            table.add_row(name, *told, *counting.in_percent(agent[rule]), str(agent[rule]["games"]))
        if place == 0:
            for row in _published(config, game):
                shares = [f"{share:.1f}" for share in row.shares]
                table.add_row("the paper", *(["released"] if differ else []), *shares, str(row.games))
                notes += [row.note] if row.note else []
    return table, notes


def _published(config: MatchConfig, game: Game) -> list[Published]:
    """Gives the rows that a paper prints for this match."""
    first, *others = (agents.settings_of(spec, game) for spec in config.players(game))

    def is_of(row: Published) -> bool:
        theirs, opponent = (agents.settings_of(spec, game) for spec in (row.player, row.opponent))
        same = all(first.get(name) == theirs.get(name) for name in row.compared)
        return config.mode == row.mode and same and all(other == opponent for other in others)

    return [row for row in jaxgames.registration(config.game).published if is_of(row)]
