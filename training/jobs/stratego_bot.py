"""The command line of Stratego by the text protocol of strategoevaluator: one of our players, or a manager of matches."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Literal

from rich.console import Console

from jaxgames import checks
from jaxgames.registration import registration
from jaxgames.stratego import Stratego
from jaxgames.stratego.state import State
from training.play.stratego import match, partners, pipes, records, referee, starts
from training.play.stratego.games import Rules
from training.play.stratego.mind import AgentMind
from training.play.stratego.player import TextPlayer
from training.storage.files import output_folder, write_atomically
from training.storage.owner import check_owner

STRONGEST = "strongest"
MOST_TURNS = 15_000  # a game counts its plies to 30 000
_READ = {"player": ("mode", "seconds", "seed"), "draw": ()}  # what else is looked at where these are given


@dataclasses.dataclass(frozen=True)
class StrategoBotConfig:
    """Plays Stratego and Barrage by the text protocol of strategoevaluator.

    One of three: `--player` speaks the protocol on stdin and stdout; `--players` starts two players and manages their games;
    `--draw` draws a recorded game.

    Attributes:
      player: an agent of ours that plays by what it knows, such as random or pc_pimc:num_simulations=200; "strongest" is the one
        without a network that plays best here.
      players: two of them, or programs as program:COMMAND, such as program:./vixen.py or "program:python2 vixen.py".
      draw: the file of a recorded game; the picture is written beside it.
      mode: the variant.
      games: games to play; each start is played twice, with both colours.
      seconds: for each line that is waited for; who is late has lost. Of a player: what its manager allows.
      turns: a game is drawn when it has come to this turn.
      setups: own (as the players send them), dealt (what they send is read and left aside), or auto: own in the full game, else
        dealt.
      starts: a file of positions to begin with, one per line as FENfS, in place of dealt ones; "": none.
      pause: stop programs that are not on turn.
      seed: of set-ups and of our own agents.
      output: folder for result.json and the games; "": none.
    """

    JOB: ClassVar[str] = match.NAME

    player: str = ""
    players: tuple[str, ...] = ()
    draw: str = ""
    mode: str = "barrage"
    games: int = 2
    seconds: float = 10.0
    turns: int = 1000
    setups: Literal["auto", "own", "dealt"] = "auto"
    starts: str = ""
    pause: bool = True
    seed: int = 0
    output: str = "output/stratego_bot"

    def __post_init__(self) -> None:
        given = [f"--{name}" for name in ("player", "players", "draw") if getattr(self, name)]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            raise ValueError(f"{found} given: must be one of --player AGENT, --players FIRST SECOND, --draw FILE")
        for name in (name for name in _READ if getattr(self, name)):
            others = (field for field in dataclasses.fields(self) if field.name not in (name, *_READ[name]))
            unused = [field.name for field in others if getattr(self, field.name) != field.default]
            if unused:
                raise ValueError(f"{', '.join(unused)}: of no use with --{name}; leave out")
        if self.players and len(self.players) != 2:
            raise ValueError(f"players={' '.join(self.players)}: must be two")
        checks.at_least(1, self, "games", "turns")
        checks.below(MOST_TURNS + 1, self, "turns")
        checks.numbers(self, "seconds", positive=True)
        checks.seed(self)
        if self.starts and self.setups == "own":
            raise ValueError(f"starts={self.starts!r}: players do not set up their own pieces then; leave out setups=own")


def run(config: StrategoBotConfig) -> dict | None:
    """Does what is asked for.

    Returns:
      The result of a match; None otherwise.

    Raises:
      ValueError: for settings that are not possible, or the output folder holds a result of another job.
      OSError: a file cannot be read, or the output folder not written, or it is in use.
    """
    if config.player:
        _serve(config)
        return None
    if config.draw:
        _draw(config.draw)
        return None
    with output_folder(config.output) as folder:
        if folder:
            check_owner(config, folder)
        return _manage(config, folder, Console())


def _serve(config: StrategoBotConfig) -> None:
    """Speaks the protocol as one player. Its agent is compiled while it sends its set-up."""
    mind = AgentMind(_spec(config.player), config.mode, seed=config.seed)
    out = pipes.own_output()
    player = _player(mind, config, config.seed, spent=pipes.age())
    try:
        pipes.serve(player, 0, out)
    except ValueError:
        player.wait()  # what is still computed would outlive the interpreter, and crash
        raise
    if player.busy:
        os._exit(0)  # the same; a manager does not wait


def _player(mind: AgentMind, config: StrategoBotConfig, seed: int, spent: float = 0.0) -> TextPlayer:
    variant = mind.game.config
    counts, lakes = referee.counts_of(variant), referee.lakes_of(variant)
    return TextPlayer(mind, seconds=config.seconds, counts=counts, lakes=lakes, seed=seed, spent=spent)


def _spec(player: str) -> str:
    """Gives an agent by its name and settings, or a program."""
    return registration(Stratego.name).defaults.planner if player == STRONGEST else player


def _draw(path: str) -> None:
    picture = Path(path).with_suffix(".svg")
    try:
        text = records.draw(records.read(path))
    except ValueError as error:
        raise ValueError(f"draw={path!r}: {error}") from None
    write_atomically(picture, text)
    Console().print(f"{picture}", markup=False, soft_wrap=True)


def _manage(config: StrategoBotConfig, folder: Path | None, console: Console) -> dict:
    game = referee.variant(config.mode, 2 * config.turns)
    own = _own_setups(config, game)
    start: Callable[[int], State] | None = None
    if config.starts:
        start = starts.from_file(game, config.starts)
    elif not own:
        start = starts.dealt(game, config.seed)
    entrants = [_entrant(config, place) for place in range(2)]
    rules = Rules(
        seconds=config.seconds,
        turns=config.turns,
        counts=referee.counts_of(game.config) if own else None,
        lakes=referee.lakes_of(game.config),
        pause=config.pause,
    )
    for entrant in entrants:
        entrant.prepare()
    played = match.Match(entrants, game, config.mode, rules, start, config.games)
    return match.run(played, dataclasses.asdict(config), folder, console)


def _entrant(config: StrategoBotConfig, place: int) -> partners.Entrant:
    """Makes one of both players; equal agents differ by their seeds."""
    spec, seed = _spec(config.players[place]), config.seed + place

    def ours() -> partners.OwnEntrant:
        mind = AgentMind(spec, config.mode, seed=seed)
        return partners.OwnEntrant(spec, _player(mind, config, seed))

    return partners.entrant(spec, ours)


def _own_setups(config: StrategoBotConfig, game: Stratego) -> bool:
    """Says whether players set up their own pieces."""
    if config.setups == "own" and game.config.blocked_fields:
        raise ValueError(f"setups='own': lakes are drawn with the set-ups of mode={config.mode!r}; take setups=dealt")
    full = sum(game.config.pieces) == len(game.config.home_cells[0]) and not game.config.blocked_fields
    return not config.starts and (config.setups == "own" or (config.setups == "auto" and full))
