"""The job that lists games and their variants."""

from __future__ import annotations

import dataclasses
import json

import jax
import tyro
from rich.console import Console
from rich.table import Table

import jaxgames
from jaxgames import runtime
from jaxgames.game import hides_something
from jaxgames.registration import variants_of
from jaxgames.turns import moves_at_once

_WIDE = 200  # however narrow the terminal is: ids are there to be copied


@dataclasses.dataclass(frozen=True)
class GamesConfig:
    """Lists all games and their variants, by the ids that `jaxgames.make` and the environments take."""

    game: tyro.conf.Positional[str] = ""
    """Of this game alone."""
    json: bool = False
    """Print one JSON line for each in place of a table."""


def rows(name: str = "") -> list[dict[str, object]]:
    """Describes each variant that `jaxgames.games` lists.

    Args:
      name: of one game; "": all.

    Raises:
      ValueError: there is no such game.
    """
    found = []
    for entry in variants_of(name) if name else jaxgames.games():
        game = jaxgames.make(entry.name, entry.mode)
        found.append(
            {
                "id": entry.id,
                "players": game.num_players,
                "actions": game.num_actions,
                "longest": game.max_steps,
                "moves": "at once" if moves_at_once(game) else "in turn",
                "hidden": bool(hides_something(game)) or getattr(getattr(game, "config", None), "view_radius", None) is not None,
            }
        )
    return found


def run(config: GamesConfig) -> None:
    """Prints the list."""
    if not runtime.backend_is_running():
        jax.config.update("jax_platforms", "cpu")  # no accelerator need be started for it
    found = rows(config.game)
    if config.json:
        for row in found:
            print(json.dumps(row))
        return
    table = Table(box=None)
    for title in ("id", "players", "actions", "longest game", "moves", "hidden"):
        table.add_column(title, justify="left" if title in ("id", "moves", "hidden") else "right")
    for row in found:
        table.add_row(*(("yes" if value else "no") if isinstance(value, bool) else str(value) for value in row.values()))
    Console(width=_WIDE).print(table)
