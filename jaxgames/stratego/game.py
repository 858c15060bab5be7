"""Stratego as the common game interface asks (see `jaxgames.game.Game`)."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import checks
from jaxgames.game import GameBase, ViewIsAll
from jaxgames.specs import with_settings
from jaxgames.stratego import hidden, legal, material, moves, observation, prospects, rules, setup
from jaxgames.stratego.config import StrategoConfig, preset
from jaxgames.stratego.constants import NUM_KINDS
from jaxgames.stratego.observation import Observation
from jaxgames.stratego.state import State, state_key


@dataclasses.dataclass(frozen=True)
class Stratego(ViewIsAll, GameBase):
    """Stratego and Barrage. Actions are numbered as `moves` says; that of the player who is not to move is ignored.

    A move that is not legal, a pass by the player to move too, loses the game.

    Attributes:
      config: the variant.
    """

    config: StrategoConfig = StrategoConfig()
    name = "stratego"
    view = "jaxgames.stratego.view"
    num_players = 2
    start = "set-ups are drawn"

    @property
    def num_actions(self) -> int:
        return moves.num_moves(self.config) + 1

    @property
    def num_arms(self) -> int:
        return self.config.most_moves

    @property
    def pass_action(self) -> int:
        return moves.num_moves(self.config)

    @property
    def opening_steps(self) -> int:
        """A move for each piece of a side."""
        return self.config.num_pieces

    def init(self, key: Array) -> State:
        """Draws a start state; see `setup.init`."""
        return setup.init(self.config, key)

    def apply(self, state: State, actions: Array, chance: tuple[()] = ()) -> State:
        """Plays the move of the player to move; actions int32 [2]. See `rules.step`."""
        del chance
        actions = checks.actions(actions, 2, self.num_actions)
        return rules.step(self.config, state, jnp.where(state.player == 1, actions[1], actions[0]))

    def to_play(self, state: State) -> Array:
        """int32 []: the player to move."""
        return state.player.astype(jnp.int32)

    def legal_actions(self, state: State) -> Array:
        """Gives bool [2, A]; a player who is to move and cannot has the pass alone."""
        own = legal.legal_mask(self.config, legal.side_of(state, state.player), state.player)
        moves = (jnp.arange(2) == state.player) & ~state.terminated & own.any()
        return jnp.concatenate([own & moves[:, None], ~moves[:, None]], axis=1)

    def search_arms(self, state: State) -> tuple[Array, Array]:
        """Gives the legal moves of the player to move, by direction and by the cell where they end: int32 [2, K], bool [2, K]."""
        offered, fine = legal.listed(self.config, legal.side_of(state, state.player), state.player)
        moves = (jnp.arange(2)[:, None] == state.player) & ~state.terminated & fine[0]
        alone = jnp.arange(self.num_arms) == 0
        return jnp.where(moves, offered, self.pass_action).astype(jnp.int32), jnp.where(moves, fine, alone)

    def outcome(self, state: State) -> Array:
        """Gives +1 win, 0 draw, -1 loss; 0 while the game runs. Returns float32 [2]."""
        red = (state.winner == 0).astype(jnp.float32) - (state.winner == 1).astype(jnp.float32)
        return red * np.array([1, -1], np.float32)

    def heuristic(self, state: State) -> Array:
        """Gives the outcome, and before the end the balance of pieces, in -0.9..0.9: float32 [2]."""
        red = material.balance(self.config, state)
        return jnp.where(state.terminated, self.outcome(state), red * np.array([1, -1], np.float32))

    def prospects(self, state: State) -> Array:
        """Gives the outcome, and before the end what the position promises; see `prospects`. Returns float32 [2]."""
        return jnp.where(state.terminated, self.outcome(state), prospects.prospects(self.config, state))

    def state_key(self, state: State) -> Array:
        """Identifies a state for search tables, uint32 [2]."""
        return state_key(state)

    def observe(self, state: State, player: Array) -> Observation:
        """Gives what one player sees now; see `observation.observe`."""
        checks.seat(player, 2)
        return observation.observe(self.config, state, player)

    @property
    def open_game(self) -> Stratego:
        """The same game with all pieces seen by both."""
        return Stratego(dataclasses.replace(self.config, true_sight=True))

    def sample_hidden(self, key: Array, info: Observation) -> State:
        """Draws a full state that fits what a player knows, all as likely; see `hidden.sample`."""
        return hidden.sample(self.config, key, info)

    @property
    def num_secrets(self) -> int:
        """Kinds of pieces."""
        return NUM_KINDS

    def secrets(self, state: State, info: Observation) -> Array:
        """Gives the kinds of the pieces that are hidden from a player; see `hidden.secrets`."""
        return hidden.secrets(self.config, state, info)

    def usual_chances(self, info: Observation) -> Array:
        """Tells what is likely to be hidden where by how people set up their pieces; see `hidden.usual_chances`."""
        return hidden.usual_chances(self.config, info)

    def to_text(self, state: State) -> str:
        """Writes one position in letters; see `letters.to_text`."""
        from jaxgames.stratego import letters

        return letters.to_text(self.config, state)


def make(mode: str | None = None, **settings: Any) -> Stratego:
    """Makes the game from the name of a variant ("barrage" if None) and fields of its config that differ."""
    config = preset("barrage" if mode is None else mode)
    return Stratego(with_settings(config, settings))
