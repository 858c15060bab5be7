"""The job `jaxgames play`: a page on this machine where a person plays against agents."""

from __future__ import annotations

import dataclasses
import threading
from pathlib import Path
from typing import Annotated

from rich.console import Console
from tyro.conf import Positional, arg

import jaxgames
from jaxgames import checks
from jaxgames.registration import with_usual_mode
from training.play.agents import make_planner, runs_a_file
from training.web.cast import Cast, seated
from training.web.desk import Desk
from training.web.saved import read
from training.web.server import is_loopback, serving, show_in_browser

PORT = 8765
USUAL = "hex"  # the game where none is named


@dataclasses.dataclass(frozen=True)
class PlayConfig:
    """Opens a page in the browser on which you play a game against agents, or watch them. Ctrl-C ends it.

    Attributes:
      game: name of the game, such as hex, or an id as `jaxgames games` lists them; "": hex, or that of the saved game.
      mode: its variant, such as adh-5; "": the game's usual one.
      agents: who plays beside you: one for each other seat, or one for all of them; with one for every seat, agents alone play,
        or you where "you" stands. Left out: the game's usual opponents.
      seat: yours, counted from 0.
      planner: who is asked for opinions; "": the game's usual planner.
      load: a saved game to go on with, in place of a game, mode, agents and seat; "": none.
      seed: of the first game; the next ones count up from it.
      pace: seconds between moves of agents in games of turns, so that each is seen.
      host: address to listen at; 127.0.0.1: only this machine can reach it.
      port: its port; 0: any that is free.
      open: open the page in the browser.
    """

    game: Annotated[Positional[str], arg(metavar="[GAME]")] = ""
    mode: str = ""
    agents: tuple[str, ...] = ()
    seat: int = 0
    planner: str = ""
    load: str = ""
    seed: int = 0
    pace: float = 0.35
    host: str = "127.0.0.1"
    port: int = PORT
    open: bool = True

    def __post_init__(self) -> None:
        given = [name for name in ("game", "mode", "agents", "seat") if getattr(self, name)]
        if self.load and not Path(self.load).is_file():
            raise ValueError(f"load={self.load!r}: there is no such file; give a game that the page has saved")
        if self.load and given:
            raise ValueError(f"load={self.load!r}: the saved game says who plays what; leave out {', '.join(given)}")
        if not self.load:
            name, mode = with_usual_mode(self.game or USUAL, self.mode)
            object.__setattr__(self, "game", name)
            object.__setattr__(self, "mode", mode)
        checks.seed(self)
        checks.port(self)
        if not self.host.strip():
            raise ValueError(f"host={self.host!r}: must be an address, as 127.0.0.1, or 0.0.0.0 for all of this machine's")
        if not 0 <= self.pace <= 60:
            raise ValueError(f"pace={self.pace}: must be in 0..60")


def run(config: PlayConfig, console: Console | None = None) -> None:
    """Serves the page until it is interrupted.

    Raises:
      ValueError: a setting is not possible, or the saved game is none.
      OSError: the port is in use, or a file cannot be read.
    """
    console = console or Console()
    desk = make_desk(config)
    with serving(desk, config.host, config.port) as address:
        console.print(f"{desk.title} at {address} (Ctrl-C ends it)", markup=False, highlight=False, soft_wrap=True)
        if not is_loopback(config.host):
            console.print("everybody who reaches this address can play, and load games", markup=False, soft_wrap=True)
        if config.open:
            show_in_browser(address)
        threading.Event().wait()


def make_desk(config: PlayConfig) -> Desk:
    """Makes what is served, with a first session for whoever comes first; see `run`."""
    saved = None
    if config.load:
        text = Path(config.load).read_text(encoding="utf-8", errors="replace")
        try:
            saved, game = read(text)
        except ValueError as error:
            raise ValueError(f"load={config.load!r}: {error}") from error
        for spec in filter(runs_a_file, saved.agents):  # whoever wrote the file might have it run anything
            told = f"load={config.load!r}: its agent {spec!r} is a program, which a saved game may not start"
            raise ValueError(f"{told}; start the page with that agent, and load the game there")
        cast = Cast(game, saved.mode, saved.agents)
    else:
        game = jaxgames.make(config.game, config.mode)
        cast = Cast(game, config.mode, seated(game, config.agents, config.seat))
    if config.planner:
        make_planner(config.planner, game)  # what it does not have is told now
    desk = Desk(cast, config.seed, planner=config.planner, pace=config.pace)
    desk.prepare(saved)
    return desk
