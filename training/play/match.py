"""The main job: one player against others, shown live, with a table, a JSON result and one game as a picture."""

from __future__ import annotations

import dataclasses
import json
import platform
import time
from importlib import metadata
from pathlib import Path

import jax
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

import jaxgames
from jaxgames import checks
from jaxgames.agent import Agent
from jaxgames.game import Game, can_be_drawn
from jaxgames.pommerman import Pommerman
from search import presets
from search.bandit import bandits
from training.play import agents, counting, evaluate, hero_agents, hex_agents, memory
from training.storage.files import output_folder, write_together

# Win, draw, loss in per cent over 400 games against three rule-based agents, by the released counting (Boney et al.).
PAPER = {
    ("simple", ""): (19.2, 23.4, 57.4),
    ("mcs", "ucb"): (35.8, 41.0, 23.2),
    ("mcs", "ts"): (36.3, 37.5, 26.2),
    ("mcts", "ucb"): (37.3, 32.4, 30.3),
    ("mcts", "ts"): (40.8, 36.1, 23.1),
    ("mcts_no_rollout", "ucb"): (21.0, 17.7, 61.3),
    ("mcts_no_rollout", "ts"): (17.8, 14.2, 68.0),
    ("fdts", "ucb"): (42.3, 32.5, 25.2),
    ("fdts", "ts"): (51.3, 29.0, 18.2),
    ("follower", ""): (23.3, 22.5, 54.2),
}
KNOWN = {
    "pommerman": (*presets.PLANNERS, *presets.EVOLUTIONS, "simple", "follower"),
    "hex": hex_agents.NAMES,
    "hero_academy": hero_agents.NAMES,
}
WITHOUT_SEARCH = ("simple", "follower")
WITHOUT_BANDITS = (*WITHOUT_SEARCH, *presets.EVOLUTIONS)
HERO_SEARCHES = [name for name in hero_agents.PLANNERS if name != "greedy_action"]  # those with a budget
# Flags that say how much a planner thinks and how; and all flags of a game's planners.
BUDGETS: dict[str, dict[str, tuple[str, ...]]] = {
    "pommerman": dict.fromkeys(presets.PLANNERS, ("bandit", "num_simulations", "horizon", "leaf_parallelism", "table_rows"))
    | dict.fromkeys(presets.EVOLUTIONS, ("num_simulations", "horizon")),
    "hex": dict.fromkeys(("pc_pimc", "medoid", "pimc"), ("num_simulations", "num_worlds"))
    | {"pimc_value": ("num_worlds",), "true_sight": ("num_simulations",)},
    "hero_academy": dict.fromkeys(HERO_SEARCHES, ("num_evaluations",)),
}
FLAGS = {
    game: [
        *dict.fromkeys(flag for flags in planners.values() for flag in flags),
        *(["weights"] if game != "hero_academy" else []),
    ]
    for game, planners in BUDGETS.items()
}
RECORDED = 200  # games among which one is chosen as the picture
PAPER_SETTINGS = {"game": "pommerman", "mode": "ffa", "num_simulations": 100, "horizon": 20}


@dataclasses.dataclass(frozen=True)
class MatchConfig:
    """Pits a player against rule-based agents, or others, each game to its end.

    Attributes:
      game: name of the game.
      mode: its variant; "": ffa in Pommerman, adh-5 (abrupt DarkHex, 5 x 5 cells) in Hex, standard in Hero Academy.
      planner: who plays the first part; "": fdts in Pommerman, pc_pimc in Hex, oep in Hero Academy. Pommerman: fdts, mcts,
        mcts_no_rollout, mcs, oep, rolling_horizon, follower (a trained network), or simple (one of the rule-based agents
        itself). Hex: pc_pimc, medoid, pimc, pimc_value, true_sight, network, path or random. Hero Academy: oep, oep_replies,
        rolling_horizon, mcts, mcts_non_exploring, mcts_bridge_burning, greedy_turn, greedy_action, best_rated or random.
        With settings of its own behind a colon, as scripts/evaluate.py takes it, such as oep:niches=1, the flags below do not
        hold for it.
      opponent: who plays the others, in the same way, with the planner's budget where no settings are given; "":
        simple in Pommerman, random in Hex, greedy_action in Hero Academy.
      bandit: Pommerman: how a planner chooses among arms: ts, ucb or uniform.
      num_simulations: Pommerman and Hex: simulations per move; in Hex per world.
      num_worlds: Hex: worlds that are drawn per move.
      num_evaluations: Hero Academy: turns that a planner values per turn (rolling_horizon: per action), or simulations of a tree.
      horizon: Pommerman: steps per simulation.
      games: games to play, each to its end.
      seed: of boards, seats and all play.
      batch: games at a time, over all devices.
      leaf_parallelism: Pommerman: simulations of one tree that run at once.
      table_rows: Pommerman: rows of the search table per game, a power of two.
      weights: of a network: a file, or the folder of a training run; "": the follower that comes with this package, and in Hex a
        search without network, which values boards by random play.
      output: folder for result.json and game.svg; "": none.
    """

    game: str = "pommerman"
    mode: str = ""
    planner: str = ""
    opponent: str = ""
    bandit: str = "ts"
    num_simulations: int = 100
    num_worlds: int = 12
    num_evaluations: int = hero_agents.NUM_EVALUATIONS
    horizon: int = 20
    games: int = 100
    seed: int = 0
    batch: int = 100
    leaf_parallelism: int = 1
    table_rows: int = 2**16
    weights: str = ""
    output: str = "output"

    def __post_init__(self) -> None:
        standard = agents.defaults_of(self.game)
        object.__setattr__(self, "mode", self.mode or standard.mode)
        object.__setattr__(self, "planner", self.planner or standard.planner)
        known = KNOWN[self.game]
        name, colon, _ = self.planner.partition(":")
        if name not in known:
            raise ValueError(f"planner={self.planner!r}: must be one of {', '.join(known)}")
        self._check_flags()
        if self.weights and colon:
            raise ValueError(f"weights={self.weights!r}: planner={self.planner!r} has settings of its own; name the file there")
        if self.weights and self.game == "pommerman" and self.planner != "follower":
            raise ValueError(f"weights={self.weights!r}: only planner=follower takes weights")
        if self.bandit not in bandits.BANDITS:
            raise ValueError(f"bandit={self.bandit!r}: must be one of {', '.join(bandits.BANDITS)}")
        checks.at_least(
            1,
            self,
            "num_simulations",
            "num_evaluations",
            "horizon",
            "num_worlds",
            "games",
            "batch",
            "leaf_parallelism",
            "table_rows",
        )
        checks.seed(self)
        if self.num_simulations % self.leaf_parallelism:
            raise ValueError(f"leaf_parallelism={self.leaf_parallelism}: must divide num_simulations={self.num_simulations}")

    def _check_flags(self) -> None:
        """Raises for a flag that has not its default and belongs to nobody who plays."""
        players = [self.planner, self.opponent or agents.DEFAULTS[self.game].opponent]
        taken = {flag for name in players for flag in BUDGETS[self.game].get(name, ())} | {"weights"} & set(FLAGS[self.game])
        for flag in dict.fromkeys(flag for flags in FLAGS.values() for flag in flags):
            value = getattr(self, flag)
            if value == getattr(type(self), flag) or flag in taken:
                continue
            if flag not in FLAGS[self.game]:
                known = ", ".join(FLAGS[self.game])
                raise ValueError(f"{flag}={value!r}: no planner of {self.game} takes it; they take {known}")
            nobody = f"{players[0]} does not take" if len(set(players)) == 1 else f"neither {' nor '.join(players)} takes"
            others = ", ".join(name for name, flags in BUDGETS[self.game].items() if flag in flags)
            raise ValueError(f"{flag}={value!r}: {nobody} it; it is for {others}")


def make_players(config: MatchConfig, game: Game) -> list[Agent]:
    """Gives the player and its opponents (in team modes the first of them is no opponent but sits anywhere).

    Raises:
      ValueError: there is no such player, or what they keep does not fit into memory.
    """
    spec, other_spec = _spec(config, config.planner, config.weights), config.opponent or agents.DEFAULTS[config.game].opponent
    name, other_name = _label(config, game), other_spec
    if ":" not in other_spec:
        other_spec = _spec(config, other_spec)
    first = agents.make(spec, game)
    # The same object where it plays on both sides: equal agents are asked together.
    other = first if spec == other_spec else agents.make(other_spec, game)
    players = [first, *[other] * (game.num_players - 1)]
    results = evaluate.bytes_of_results(game, config.games, min(config.games, RECORDED))
    memory.check(game, players, config.batch, games=config.games, other=(results, f"fewer games than {config.games}"))
    if spec == other_spec:
        return [first._replace(name=name)] * game.num_players
    name = spec if name == other_name else name
    return [first._replace(name=name), *[other._replace(name=other_name)] * (game.num_players - 1)]


def _label(config: MatchConfig, game: Game) -> str:
    """The player's name for tables."""
    if isinstance(game, Pommerman) and config.planner in BUDGETS["pommerman"]:
        return presets.by_name(game, config.planner, config.bandit).name
    return config.planner


def _spec(config: MatchConfig, name: str, weights: str = "") -> str:
    """Writes a name and the flags of the match that belong to it as `agents.make` takes them; with its own settings it stays."""
    settings = [f"{flag}={getattr(config, flag)}" for flag in BUDGETS[config.game].get(name, ())]
    if weights:
        settings = [weights if name == "follower" else f"weights={weights}", *settings]
    return f"{name}:{','.join(settings)}" if settings else name


def run(config: MatchConfig, console: Console | None = None) -> dict:
    """Plays the match, shows it, and writes `result.json` and `game.svg` into the output folder, if there is one.

    Returns:
      What `result.json` holds.

    Raises:
      ValueError: for settings that are not possible.
      OSError: the output folder cannot be written, or is in use (found before anything is played).
    """
    with output_folder(config.output) as output:
        return _play(config, output, console or Console())


def _play(config: MatchConfig, output: Path | None, console: Console) -> dict:
    game = jaxgames.make(config.game, config.mode)
    players = make_players(config, game)
    name, other = (agents.shown(player, game) for player in (players[0], players[-1]))
    console.print(f"{name} against {game.num_players - 1} x {other}, {config.game} {config.mode}", markup=False)
    key = jax.random.key(config.seed)
    started, compiled = time.perf_counter(), 0.0
    with _progress(console) as bar:
        task = bar.add_task("compiling", total=config.games, score="", speed="")

        def report(progress: evaluate.Progress) -> None:
            nonlocal compiled
            now = time.perf_counter()
            compiled = compiled or now
            bar.update(
                task,
                description="playing",
                completed=progress.games,
                score=f"win {progress.wins}  draw {progress.draws}  loss {progress.losses}",
                speed=f"{progress.moves / max(now - compiled, 1e-9):.0f} moves/s",
            )

        games = evaluate.play(
            game,
            players,
            key,
            config.games,
            batch_size=config.batch,
            record=min(config.games, RECORDED) if output else 0,
            report=report,
        )
    result = summarize(config, games, time.perf_counter() - started, compiled - started)
    console.print(_table(config, name, result))
    if output:
        picture, svg = draw_game(game, key, games, [p.name for p in players])
        write_together({output / "game.svg": svg, output / "result.json": json.dumps(result, indent=2) + "\n"})
        told = f"results in {output / 'result.json'}; game {picture} to watch in a browser: {output / 'game.svg'}"
        console.print(told, markup=False)
    return result


def summarize(config: MatchConfig, games: evaluate.Games, seconds: float, compile_seconds: float) -> dict:
    """Puts the results of a match into a dictionary for JSON; moves per second are those of playing, without compilation."""
    released, strict = counting.count(games), counting.count(games, strict=True)
    return {
        "settings": dataclasses.asdict(config),
        "games": released.games,
        "wins": released.wins,
        "draws": released.draws,
        "losses": released.losses,
        "released": released.as_dict(),
        "strict": strict.as_dict(),
        "wins_by_seat": counting.count_by_seat(games).tolist(),
        "mean_length": float(games.lengths.mean()),
        "moves": int(games.moves[0]),
        "moves_per_second": float(games.moves[0] / max(seconds - compile_seconds, 1e-9)),
        "seconds": seconds,
        "compile_seconds": compile_seconds,
        "device": f"{jax.device_count()} x {jax.devices()[0].device_kind}",
        "versions": {"python": platform.python_version(), "jax": jax.__version__, "jaxgames": metadata.version("jaxgames")},
    }


def save_picture(game: Game, key, games: evaluate.Games, names: list[str], path: Path) -> int:
    """Writes the picture of `draw_game` to a file. Returns the number of the game."""
    index, svg = draw_game(game, key, games, names)
    write_together({path: svg})
    return index


def draw_game(game: Game, key, games: evaluate.Games, names: list[str]) -> tuple[int, str]:
    """Draws the first recorded game that the first player won (or the first game) as an animation.

    Returns:
      The number of the game, and SVG.
    """
    won = (games.outcomes[: len(games.actions), 0] > 0).nonzero()[0]
    index = int(won[0]) if len(won) else 0
    states = evaluate.replay(game, key, index, games)
    by_seat = [""] * len(names)
    for name, seat in zip(names, games.seats[index], strict=True):
        by_seat[seat] = name
    if not can_be_drawn(game):
        raise ValueError(f"game={game.name!r}: no pictures of this game")
    return index, game.animate(states, games.actions[index][: int(games.lengths[index])], names=by_seat)


def _progress(console: Console) -> Progress:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[score]}"),
        TextColumn("{task.fields[speed]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console)


def _table(config: MatchConfig, name: str, result: dict) -> Table:
    table = Table("", "win %", "draw %", "loss %", "games", title=escape(f"{name} in {config.game} {config.mode}"))
    rules = [("released counting", "released"), ("strict counting", "strict")]
    if result["released"] == result["strict"]:
        rules = [("", "released")]
    for title, rule in rules:
        counts = result[rule]
        cells = []
        for what, interval in (("wins", "win_interval"), ("draws", "draw_interval"), ("losses", "loss_interval")):
            low, high = counts[interval]
            cells.append(f"{100 * counts[what] / counts['games']:.1f} ({100 * low:.1f} - {100 * high:.1f})")
        table.add_row(title, *cells, str(counts["games"]))
    if config.opponent not in ("", "simple"):
        return table
    paper = PAPER.get((config.planner, "" if config.planner in WITHOUT_BANDITS else config.bandit))
    if paper and all(getattr(config, field) == value for field, value in PAPER_SETTINGS.items()):
        table.add_row("paper, released counting", *(f"{value:.1f}" for value in paper), "400")
    return table
