"""Pommerman as the common game interface asks (see `jaxgames.game.Game`)."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import checks
from jaxgames.game import GameBase
from jaxgames.pommerman import belief as beliefs
from jaxgames.pommerman import modelling, prospects, radio, rules, setup
from jaxgames.pommerman.config import LONGEST, PommermanConfig, preset
from jaxgames.pommerman.constants import NUM_MESSAGES, NUM_MOVES, Move
from jaxgames.pommerman.observation import Observation, observe
from jaxgames.pommerman.state import State, state_key
from jaxgames.specs import with_settings


@dataclasses.dataclass(frozen=True)
class Pommerman(GameBase):
    """Pommerman: up to four agents lay bombs on a board of walls; the last one alive wins.

    All players act at once. An action is a `Move`; in radio mode `move * 81 + 9 * first_word + second_word`.
    A number out of range counts as stop. Steps are deterministic once the board is drawn.

    Attributes:
      config: the variant.
    """

    config: PommermanConfig = PommermanConfig()
    name = "pommerman"
    view = "jaxgames.pommerman.view"
    always_hidden = True  # what lies under wood, whose bombs are, and what others carry

    @property
    def num_players(self) -> int:
        """Seats: two or four."""
        return self.config.num_players

    @property
    def num_actions(self) -> int:
        """Six moves; in radio mode times 81 messages."""
        return rules.num_actions(self.config)

    @property
    def num_arms(self) -> int:
        """K of `search_arms`: the six moves, silent in radio mode."""
        return NUM_MOVES

    @property
    def pass_action(self) -> int:
        """The silent stop."""
        return 0

    @property
    def opening_steps(self) -> int:
        """About the steps until the first wood has been blasted and the agents can leave their corners."""
        return min(30, self.max_steps)

    def init(self, key: Array) -> State:
        """Draws a start state; agent `i` stands in corner `i`."""
        return setup.init(self.config, key)

    def apply(self, state: State, actions: Any, chance: tuple[()] = ()) -> State:
        """Plays one step of one game.

        Args:
          state: one game.
          actions: int32 [P]. A number out of range counts as stop in a JAX array.
          chance: not used.

        Returns:
          The state after it; a finished game stays as it is, with rewards 0.

        Raises:
          ValueError: actions are no integers, not one per seat, or known (no JAX array) and out of range.
        """
        del chance
        return rules.step(self.config, state, checks.actions(actions, self.num_players, self.num_actions))

    def to_play(self, state: State) -> Array:
        """All move at once: int32 [], -1."""
        del state
        return jnp.int32(-1)

    def keeps_going(self, actions: Array) -> Array:
        """Says which actions (int32 [...]) lay a bomb: without bombs nothing is blasted and nobody dies. Returns bool [...]."""
        return actions // (NUM_MESSAGES if self.config.has_messages else 1) == Move.BOMB

    def legal_actions(self, state: State) -> Array:
        """Gives the actions that make sense: the mask of the published planner, with every message in radio mode.

        No move is forbidden by the rules; the mask leaves out steps into walls, bombs, flames and imminent blasts.

        Returns:
          bool [P, A]; the dead may only stop.
        """
        moves = self._legal_moves(state)
        if not self.config.has_messages:
            return moves
        silent = jnp.arange(NUM_MESSAGES) == 0
        said = state.alive[:, None, None] | silent
        return (moves[:, :, None] & said).reshape(self.num_players, self.num_actions)

    def legal_in_view(self, observation: Observation) -> Array:
        """Gives the mask of `legal_actions` as far as one player can tell by what it sees. Returns bool [A]."""
        moves = rules.as_array(rules.observed_moves(self.config, observation))
        if not self.config.has_messages:
            return moves
        said = observation.own.alive | (jnp.arange(NUM_MESSAGES) == 0)
        return (moves[:, None] & said).reshape(self.num_actions)

    def search_arms(self, state: State) -> tuple[Array, Array]:
        """Gives the arms of a bandit per player: the six moves, silent in radio mode.

        Returns:
          arms: int32 [P, 6], actions.
          legal: bool [P, 6].
        """
        moves = np.arange(NUM_MOVES, dtype=np.int32) * (NUM_MESSAGES if self.config.has_messages else 1)
        return jnp.tile(jnp.asarray(moves), (self.num_players, 1)), self._legal_moves(state)

    def _legal_moves(self, state: State) -> Array:
        moves = [legal for moves in rules.legal_moves(self.config, state) for legal in moves]
        return rules.as_array(moves).reshape(self.num_players, NUM_MOVES)

    def outcome(self, state: State) -> Array:
        """Gives +1 win, 0 draw, -1 loss; 0 while the game runs. Returns float32 [P]."""
        won = jnp.stack(rules.winners(self.config, state))
        return jnp.where(won, 1.0, jnp.where(won.any(), -1.0, 0.0)).astype(jnp.float32)

    def in_play(self, state: State) -> Array:
        """Says which players are still alive. Returns bool [P]."""
        return state.alive

    def heuristic(self, state: State) -> Array:
        """Gives the value of a position in the planners of Boney et al.: the official rewards, also before the end.

        Free-for-all: +1 for the only survivor, -1 for the dead, 0 for the living while the game runs; -1 for all at the
        time limit. Returns float32 [P].
        """
        return jnp.stack(rules.standing(self.config, state)).astype(jnp.float32)

    def state_key(self, state: State) -> Array:
        """Identifies a state for search tables, uint32 [2]; see `state.state_key` for what it leaves out."""
        return state_key(state, include_rigid=bool(self.config.collapse_steps))

    @property
    def value_when_out(self) -> float:
        """A loss; half of it where a teammate may win for both (PommerLearn)."""
        return -0.5 if self.config.is_team else -1.0

    def possible_arms(self, state: State) -> tuple[Array, Array]:
        """Gives the arms of `search_arms`, legal where the move leads somewhere, whatever burns there later (PommerLearn)."""
        arms, _ = self.search_arms(state)
        return arms, modelling.possible_moves(self.config, state)

    def closest_enemy(self, state: State, seat: Array) -> Array:
        """Gives the seat of the closest living enemy of a seat (int32 []), -1 if there is none."""
        return modelling.closest_enemy(self.config, state, seat)

    @property
    def endless(self) -> Pommerman:
        """The same game without its time limit; itself, where the board collapses by then."""
        if self.config.first_collapse is not None:
            return self
        return Pommerman(dataclasses.replace(self.config, max_steps=LONGEST, name=""))

    def are_enemies(self, seat: Array, other: Array) -> Array:
        """Says whether two seats (int32) play against each other. Returns bool."""
        return self.config.are_enemies(seat, other)

    def prospects(self, state: State) -> Array:
        """Gives the heuristic, and for the living what an undecided position promises; see `prospects`. Returns float32 [P]."""
        return prospects.prospects(self.config, state)

    def init_belief(self, observation: Observation, *, worst_case: bool = False) -> State:
        """Gives what a player takes for the truth after its first observation; see `belief`."""
        return beliefs.init_belief(self.config, observation, worst_case=worst_case)

    def update_belief(self, belief: State, observation: Observation, own_action: Array, *, worst_case: bool = False) -> State:
        """Adds the observation after a step in which the player did `own_action` (int32 [])."""
        return beliefs.update_belief(self.config, belief, observation, own_action, worst_case=worst_case)

    def believed_state(self, belief: State) -> State:
        """Gives the state that a player believes in: beliefs are states."""
        return belief

    @property
    def has_words(self) -> bool:
        """Whether actions carry words."""
        return self.config.has_messages

    def tell(self, observation: Observation, actions: Array) -> Array:
        """Adds words to actions (int32 [...]): where their player sees one of the enemies; see `radio`. Returns int32 [...]."""
        return radio.tell(self.config, observation, actions)

    def silent(self, actions: Array) -> Array:
        """Takes the words from actions (int32 [...]). Returns int32 [...]."""
        return radio.silent(actions)

    def heed(self, before: State, belief: State, observation: Observation) -> State:
        """Puts an enemy out of view where the teammate says that it is; see `radio`."""
        return radio.heed(self.config, before, belief, observation)

    def visible_state(self, state: State) -> State:
        """Gives the state with nothing hidden under wood or flames.

        Raises:
          ValueError: players do not see the whole board.
        """
        if self.config.view_radius is not None:
            raise ValueError(f"view_radius={self.config.view_radius}: only a board in full view is seen by all alike")
        return beliefs.without_hidden(state)

    def observe(self, state: State, player: Array) -> Observation:
        """Gives what one player (int []) sees now; see `observation.observe`."""
        return observe(self.config, state, player)

    def to_text(self, state: State) -> str:
        """Writes one position in letters; see `letters.to_text`."""
        from jaxgames.pommerman import letters

        return letters.to_text(self.config, state)


def make(mode: str | None = None, **settings: Any) -> Pommerman:
    """Makes the game from the name of a variant ("ffa" if None) and fields of its config that differ.

    What differs from an official configuration no longer has its name.
    """
    config = preset("ffa" if mode is None else mode)
    changed = with_settings(config, settings)
    return Pommerman(changed if changed == config or "name" in settings else dataclasses.replace(changed, name=""))
