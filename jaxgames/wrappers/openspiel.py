"""Our agents as bots of OpenSpiel, in the games that both have: Hex and DarkHex.

import pyspiel
from jaxgames.wrappers.openspiel import OpenSpielBot
game = pyspiel.load_game("dark_hex", {"board_size": 4, "gameversion": "adh", "obstype": "reveal-nothing"})
bot = OpenSpielBot(game, player_id=0, agent="path")
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from jaxgames import checks
from jaxgames.agent import Agent
from jaxgames.game import hides_something, update_all_information
from jaxgames.hex.game import Hex
from jaxgames.needed import needed
from jaxgames.others import bot_of

pyspiel = needed("pyspiel")

GAMES = ("hex", "dark_hex")


def game_of(game: Any) -> Hex:
    """Gives our form of a game of OpenSpiel.

    Raises:
      ValueError: it is neither Hex nor DarkHex, on a board that is not square, or tells players what ours does not.
    """
    if not isinstance(game, pyspiel.Game):
        raise ValueError(f"game={game!r}: must be a game of OpenSpiel, as pyspiel.load_game gives it")
    name, given = game.get_type().short_name, game.get_parameters()
    if name not in GAMES:
        raise ValueError(f"game={name!r}: {checks.one_of(name, GAMES)}")
    if given.get("swap"):
        raise ValueError("swap=True: must be False; there is no swap in our Hex")
    rows, columns = (given.get(key) or given.get("board_size", 11) for key in ("num_rows", "num_cols"))
    if rows != columns:
        raise ValueError(f"board of {columns} x {rows} cells: must be square")
    if name == "dark_hex" and given.get("obstype", "reveal-nothing") != "reveal-nothing":
        raise ValueError(f"obstype={given['obstype']!r}: must be reveal-nothing")
    mode = "hex" if name == "hex" else given.get("gameversion", "cdh")
    made: Any = jaxgames.make("hex", mode, board_size=rows)
    return made


class OpenSpielBot(pyspiel.Bot):  # type: ignore[name-defined]
    """An agent of ours at OpenSpiel's table. It is told the attempts made so far and sees of them what its seat may see.

    Args:
      game: of OpenSpiel, Hex or DarkHex.
      player_id: its seat, 0 or 1.
      agent: an Agent made for `game_of(game)`, or the name of a bot.
      seed: of what it draws.

    Raises:
      ValueError: there is no such seat or bot, the game is none that both have, or the agent would see what is hidden.
    """

    def __init__(self, game: Any, player_id: int, agent: Agent | str = "random", seed: int = 0) -> None:
        super().__init__()
        if checks.as_integer(player_id) not in (0, 1):
            raise ValueError(f"player_id={player_id!r}: must be 0 or 1")
        checks.seed_number(seed)
        self._game, self._seat, self._name = game_of(game), player_id, str(game)
        self._agent, self._root = bot_of(self._game, agent), jax.random.key(seed)
        if self._agent.sees_state and self._agent.uses_hidden and hides_something(self._game):
            raise ValueError(f"agent={self._agent.name!r}: sees what is hidden; take one that plays by what it knows")
        self._tell, self._choose = jax.jit(self._told), jax.jit(self._chosen)
        self._games = 0
        self.restart()

    def player_id(self) -> int:
        """Gives its seat."""
        return self._seat

    def restart(self) -> None:
        """Forgets the game."""
        state = self._game.init()
        self._states = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], state)
        seats = jnp.arange(2)
        self._infos = jax.tree.map(lambda leaf: leaf[None], jax.vmap(self._game.init_information)(seats))
        self._memory = self._agent.init(1)
        self._history: list[int] = []
        self._games += 1

    def restart_at(self, state: Any) -> None:
        """Forgets the game, and takes up one in which all this has been played.

        Raises:
          ValueError: the state is of another game or board.
        """
        self._check(state)
        self.restart()
        self._follow(state.history())

    def step(self, state: Any) -> int:
        """Gives the action for a state of OpenSpiel, in which it is this player's turn.

        Raises:
          ValueError: it is not, or it is a state of another game or board.
        """
        self._check(state)
        if state.is_terminal() or state.current_player() != self._seat:
            raise ValueError(f"current_player={state.current_player()}: must be {self._seat}, the bot's seat")
        self._follow(state.history())
        key = jax.random.fold_in(jax.random.fold_in(self._root, self._games), len(self._history))
        action, self._memory = self._choose(self._agent.params, key, self._memory, self._states, self._infos)
        return int(action)

    def inform_action(self, state: Any, player_id: int, action: int) -> None:
        """Nothing: the history of the next state says it."""
        del state, player_id, action

    def _check(self, state: Any) -> None:
        if str(state.get_game()) != self._name:
            raise ValueError(f"state of {state.get_game()}: must be of {self._name}, for which the bot was made")

    def _follow(self, history: list[int]) -> None:
        """Plays what has been played since the bot was asked last; a history of another game begins again."""
        if history[: len(self._history)] != self._history:
            self.restart()
        for cell in history[len(self._history) :]:
            self._states, self._infos = self._tell(self._states, self._infos, np.int32(cell))
        self._history = list(history)

    def _told(self, states: Any, infos: Any, cell: Any) -> tuple[Any, Any]:
        mover = jnp.arange(2) == states.player[0]
        actions = jnp.where(mover, cell, self._game.pass_action).astype(jnp.int32)[None]
        after = jax.vmap(self._game.step)(states, actions)
        return after, update_all_information(self._game, infos, after, actions)

    def _chosen(self, params: Any, key: Any, memory: Any, states: Any, infos: Any) -> tuple[Any, Any]:
        views = states if self._agent.sees_state else jax.tree.map(lambda leaf: leaf[:, self._seat], infos)
        seats = jnp.full(1, self._seat, jnp.int32)
        actions, memory = self._agent.act(params, key[None], memory, views, seats, jnp.ones(1, bool))
        return actions[0], memory
