"""A bot of one's own in matches and tournaments: in Hex it lays a straight chain across the middle of the board.

    python examples/own_bot.py --game-id hex-adh-5-v1 --opponents random path

Its function `make` can be named on command lines, too, wherever agents are:

    python scripts/tournament.py --game hex --mode adh-5 --agents random path python:examples/own_bot.py:make
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from rich.console import Console

import jaxgames
from jaxgames import runtime
from jaxgames.agent import Agent, memoryless


def make(game: Any) -> Agent:
    """Makes the bot for a variant of Hex or DarkHex: it sees what its player sees, and draws among cells that are as near."""
    if game.name != "hex":
        raise ValueError(f"game={game.name!r}: must be hex, whose sides a chain of stones joins")
    size = game.config.board_size
    rows, columns = np.abs(np.indices((size, size)) - size // 2).reshape(2, -1)  # how far from the middle

    def choose_one(key: jax.Array, info: Any, seat: jax.Array) -> jax.Array:
        free = game.config.grid.full - info.view.own - info.view.known
        far = jnp.where(seat == 0, columns, rows)  # the first player joins top and bottom, the second left and right
        rank = far + jax.random.uniform(key, far.shape)
        return jnp.argmin(jnp.where(game.config.grid.to_bool(free).reshape(-1), rank, jnp.inf)).astype(jnp.int32)

    def choose(params: Any, keys: jax.Array, views: Any, seats: jax.Array) -> jax.Array:
        """Chooses in all games at once: an action for each, int32 [B]."""
        del params
        return jax.vmap(choose_one)(keys, views, seats)

    return memoryless("straight", choose)


def main(game_id: str = "hex-adh-5-v1", opponents: tuple[str, ...] = ("random", "path"), games: int = 100) -> dict[str, float]:
    """Plays a round robin.

    Args:
      game_id: a variant of Hex, as `jaxgames games` lists them.
      opponents: by name, as on command lines.
      games: of each pair; even.

    Returns:
      The Elo of each player; that of the first opponent is 0.
    """
    runtime.prepare()
    from training.play import agents, tournament

    if not opponents:
        raise SystemExit("error: opponents: none, must be one or more")
    if games < 2 or games % 2:
        raise SystemExit(f"error: games={games}: must be even and at least 2, because seats are changed half-way")
    try:
        game = jaxgames.make(game_id)
        bot = make(game)
        players = {name: agents.make(name, game) for name in opponents} | {"straight": bot}
    except ValueError as error:
        raise SystemExit(f"error: {error}") from None
    table = tournament.round_robin(game, players, jax.random.key(0), games, report=print)
    Console().print(table.shown(title=game_id))
    return dict(zip(table.names, table.ratings.tolist(), strict=True))


if __name__ == "__main__":
    tyro.cli(main)
