"""Hex and DarkHex as the common game interface asks (see `jaxgames.game.Game`)."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import checks
from jaxgames.game import GameBase
from jaxgames.hex import hidden, observation, rules, setup
from jaxgames.hex.config import HexConfig, preset
from jaxgames.hex.hidden import Information
from jaxgames.hex.observation import Observation
from jaxgames.hex.state import State, state_key
from jaxgames.specs import with_settings


@dataclasses.dataclass(frozen=True)
class Hex(GameBase):
    """Hex and DarkHex. Action `row * n + column` is a cell, action `n * n` passes, which is all that the other player can do.

    A cell that is not empty in the mover's view, or a pass by the mover, loses the game. What the other player gives is ignored.

    Attributes:
      config: the variant.
    """

    config: HexConfig = HexConfig()
    name = "hex"
    view = "jaxgames.hex.view"
    num_players = 2

    @property
    def num_actions(self) -> int:
        return self.config.num_cells + 1

    @property
    def num_arms(self) -> int:
        return self.config.num_cells

    @property
    def pass_action(self) -> int:
        return self.config.num_cells

    @property
    def opening_steps(self) -> int:
        """A sixth of the cells for each player."""
        return 2 * max(self.config.num_cells // 6, 1)

    def init(self, key: Array | None = None) -> State:
        """Gives the empty board; nothing is drawn."""
        del key
        return setup.init(self.config)

    def apply(self, state: State, actions: Array, chance: tuple[()] = ()) -> State:
        """Plays one attempt; see `rules.step`."""
        del chance
        actions = checks.actions(actions, 2, self.num_actions)
        return rules.step(self.config, state, actions[state.player.astype(jnp.int32)])

    def to_play(self, state: State) -> Array:
        """int32 []: the player to move."""
        return state.player.astype(jnp.int32)

    def legal_actions(self, state: State) -> Array:
        """Gives bool [2, n * n + 1]."""
        cells = self.config.grid.to_bool(rules.legal_cells(self.config, state)).reshape(-1)
        passes = jnp.arange(self.num_actions) == self.pass_action
        own = jnp.where(state.terminated, passes, jnp.append(cells, False))
        moves = jnp.arange(2)[:, None] == state.player
        return jnp.where(moves, own, passes)

    def search_arms(self, state: State) -> tuple[Array, Array]:
        """Gives every cell to the player to move, and the pass alone to the other: int32 [2, n * n], bool [2, n * n]."""
        legal = self.legal_actions(state)
        passes = legal[:, -1:]
        number = np.arange(self.num_arms, dtype=np.int32)
        arms = jnp.where(passes & (number == 0), self.pass_action, number)
        return arms.astype(jnp.int32), jnp.where(passes, number == 0, legal[:, :-1])

    def outcome(self, state: State) -> Array:
        """Gives +1 win, -1 loss; 0 while the game runs. Returns float32 [2]."""
        won = rules.winner(state).astype(jnp.float32)
        return won * np.array([1, -1], np.float32)

    def heuristic(self, state: State) -> Array:
        """The outcome: float32 [2]."""
        return self.outcome(state)

    def state_key(self, state: State) -> Array:
        """Identifies a state for search tables, uint32 [2]."""
        return state_key(state)

    def observe(self, state: State, player: Array) -> Observation:
        """Gives what one player sees now; see `observation.observe`."""
        checks.seat(player, 2)
        return observation.observe(self.config, state, player)

    @property
    def open_game(self) -> Hex:
        """Hex on the same board."""
        return Hex(dataclasses.replace(self.config, rules="hex"))

    def open_state(self, state: State) -> State:
        """The same stones with everything seen, as many turns as there are stones."""
        nothing = jax.tree.map(jnp.zeros_like, state.found)
        black, white = (stones.count().astype(jnp.int16) for stones in state.stones)
        return dataclasses.replace(state, found=nothing, turns=(black, white), attempts=black + white)

    def init_information(self, player: Array, observation: Observation | None = None) -> Information:
        """Gives what a player knows before the first move, when all boards are empty."""
        del observation
        return hidden.init_information(self.config, player)

    def update_information(self, info: Information, observation: Observation, own_action: Array) -> Information:
        """Adds what a player has seen and done; see `hidden.update_information`."""
        return hidden.update_information(self.config, info, observation, own_action)

    def sample_hidden(self, key: Array, info: Information) -> State:
        """Draws a full state that fits what a player knows; see `hidden.sample`."""
        return hidden.sample(self.config, key, info).state

    def to_text(self, state: State) -> str:
        """Writes one position in letters; see `letters.to_text`."""
        from jaxgames.hex import letters

        return letters.to_text(self.config, state)


def make(mode: str | None = None, **settings: Any) -> Hex:
    """Makes the game from the name of a variant ("hex" if None; adh, cdh) and fields of its config that differ."""
    config = preset("hex" if mode is None else mode)
    return Hex(with_settings(config, settings))
