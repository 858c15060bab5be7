"""Hero Academy as the common game interface asks (see `jaxgames.game.Game`)."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import checks
from jaxgames.bits import WORD_BITS, Bits
from jaxgames.game import GameBase, ViewIsAll
from jaxgames.hero_academy import actions, evaluation, hidden, observation, order, policies, ratings, rules, setup, units
from jaxgames.hero_academy.actions import Layout
from jaxgames.hero_academy.config import HeroAcademyConfig, preset
from jaxgames.hero_academy.legal import arm_set, legal_set
from jaxgames.hero_academy.observation import Observation
from jaxgames.hero_academy.state import State, state_key
from jaxgames.random_bits import LaneKey
from jaxgames.specs import with_settings

NUM_ARMS = 64


@dataclasses.dataclass(frozen=True)
class HeroAcademy(ViewIsAll, GameBase):
    """Hero Academy. Actions are numbered as `actions` says; that of the player who is not to move is ignored.

    An action that is neither legal nor End Turn, a pass by the player to move too, loses the game.

    Attributes:
      config: the variant.
    """

    config: HeroAcademyConfig = HeroAcademyConfig()
    name = "hero_academy"
    view = "jaxgames.hero_academy.view"
    num_players = 2
    start = "hands are dealt"

    @property
    def layout(self) -> Layout:
        return actions.layout(self.config)

    @property
    def num_actions(self) -> int:
        return self.layout.num_actions

    @property
    def num_arms(self) -> int:
        return NUM_ARMS

    @property
    def pass_action(self) -> int:
        return self.layout.pass_action

    @property
    def opening_steps(self) -> int:
        """Two turns of each player."""
        return self.config.first_action_points + 3 * self.config.action_points + 4

    def init(self, key: Array) -> State:
        """Deals first hands; see `setup.init`."""
        return setup.init(self.config, key)

    def draw_chance(self, key: Array, state: State, actions: Array) -> Array | tuple[()]:
        """Draws the words by which End Turn draws cards, uint32 [12]; nothing by seeded draws."""
        del state, actions
        return () if self.config.draws == "seeded" else rules.draw_words(key)

    def apply(self, state: State, actions: Array, chance: Array | tuple[()] = ()) -> State:
        """Plays the action of the player to move; actions int32 [2]. See `rules.step`.

        Raises:
          ValueError: the actions are none, or nothing was drawn for random draws.
        """
        actions = checks.actions(actions, 2, self.num_actions)
        words = None if isinstance(chance, tuple) else chance
        self._check_drawn(words)
        return rules.step(self.config, state, jnp.where(state.player == 1, actions[1], actions[0]), words)

    def advance(self, state: State, action: Array, key: Array | None) -> State:
        """`step` without its checks, for planners: an action known to be legal or End Turn (int32 []), a game that goes on."""
        return rules.advance(self.config, state, action, self._drawn(key))

    def play_end_turn(self, state: State, key: Array | None) -> State:
        """`advance` with End Turn, which is less to compile."""
        return rules.end(self.config, state, self._drawn(key))

    def _drawn(self, key: Array | None) -> Array | None:
        words = None if self.config.draws == "seeded" or key is None else rules.draw_words(key)
        self._check_drawn(words)
        return words

    def _check_drawn(self, words: Array | None) -> None:
        """Raises where cards come by chance, and nothing was drawn: they would all come by the seed 0."""
        if words is None and self.config.draws == "random":
            raise ValueError("key=None: with draws='random' cards come by chance, so give a key, as in step(state, actions, key)")

    def act(self, state: State, action: Array) -> State:
        """`advance` for an action known not to be End Turn (int32 [])."""
        return rules.act(self.config, state, action)

    def legal_set(self, state: State, *, pruned: bool = False) -> Bits:
        """Gives the legal actions of the player to move as a set of numbers; see `legal.legal_set`."""
        return legal_set(self.config, state, pruned=pruned)

    @property
    def end_turn(self) -> int:
        """The action that ends a turn."""
        return self.layout.end_turn

    @property
    def turn_length(self) -> int:
        """Actions of a turn, its end included, at most."""
        return max(self.config.action_points, self.config.first_action_points) + 1

    def best_rated(self, state: State, among: Bits) -> Array:
        """Gives the highest rated of a set of legal actions; see `ratings.best`."""
        return ratings.best(self.config, state, among)

    def first_listed(self, state: State, among: Bits) -> Array:
        """Gives the first of a set of legal actions in the released program's order; see `order.first_listed`."""
        return order.first_listed(self.config, state, among)

    def rollout_action(self, state: State, lane: LaneKey, greediness: float) -> Array:
        """Chooses an action as rollouts do; see `policies.rollout_action`."""
        return policies.rollout_action(self.config, state, lane, greediness)

    def position_key(self, state: State) -> Array:
        """`state_key` without the action points and the turn, uint32 [2]: the same where an action has been undone."""
        still = dataclasses.replace(state, action_points=jnp.zeros_like(state.action_points), turn=jnp.zeros_like(state.turn))
        return state_key(still, self.config.num_cells)

    def to_play(self, state: State) -> Array:
        """int32 []: the player to move."""
        return state.player.astype(jnp.int32)

    def legal_actions(self, state: State) -> Array:
        """Gives bool [2, A]."""
        words = jnp.stack(self.legal_set(state).words)
        own = ((words[:, None] >> np.arange(WORD_BITS, dtype=np.uint32)) & 1).reshape(-1) != 0
        passes = jnp.arange(self.num_actions) == self.pass_action
        moves = (jnp.arange(2)[:, None] == state.player) & ~state.terminated
        return jnp.where(moves, own, passes)

    def search_arms(self, state: State) -> tuple[Array, Array]:
        """Gives up to 64 of the actions that planners look at, evenly spread over their numbers: int32 [2, K], bool [2, K]."""
        legal = arm_set(self.config, state)
        count = legal.count()
        number = jnp.arange(NUM_ARMS, dtype=jnp.int32)
        rank = jnp.where(count > NUM_ARMS, (number * count) // NUM_ARMS, number)
        arms = jax.vmap(legal.pick)(jnp.minimum(rank, jnp.maximum(count - 1, 0)))
        moves = (jnp.arange(2)[:, None] == state.player) & ~state.terminated
        offered = jnp.where(moves & (number < count), arms, self.pass_action)
        return offered.astype(jnp.int32), jnp.where(moves, number < count, number == 0)

    def outcome(self, state: State) -> Array:
        """Gives +1 win, 0 draw, -1 loss; 0 while the game runs. Returns float32 [2]."""
        first = (state.winner == 0).astype(jnp.float32) - (state.winner == 1).astype(jnp.float32)
        return first * np.array([1, -1], np.float32)

    def heuristic(self, state: State) -> Array:
        """Gives the heuristic of `evaluation.points` as a share of that of a won game: float32 [2]."""
        first, second = evaluation.points(self.config, state)
        # No stack: the compiler would work out all that it depends on once per use, which takes minutes for one step.
        points = jnp.where(np.arange(2) == 0, first, second)
        return points.astype(jnp.float32) / units.WIN_VALUE

    def state_key(self, state: State) -> Array:
        """Identifies a state for search tables, uint32 [2]."""
        return state_key(state, self.config.num_cells)

    def observe(self, state: State, player: Array) -> Observation:
        """Gives what one player sees now; see `observation.observe`."""
        checks.seat(player, 2)
        return observation.observe(self.config, state, player)

    def known_state(self, state: State) -> State:
        """Gives the state as the player to move knows it; see `hidden.known_state`."""
        return hidden.known_state(self.config, state)

    @property
    def open_game(self) -> HeroAcademy:
        """The same game with open hands."""
        return HeroAcademy(dataclasses.replace(self.config, hidden_hands=False))

    def sample_hidden(self, key: Array, info: Observation) -> State:
        """Draws a full state that fits what a player knows; see `hidden.sample`."""
        return hidden.sample(self.config, key, info)

    def to_text(self, state: State) -> str:
        """Writes one position in letters; see `letters.to_text`."""
        from jaxgames.hero_academy import letters

        return letters.to_text(self.config, state)


def make(mode: str | None = None, **settings: Any) -> HeroAcademy:
    """Makes the game from the name of a variant ("standard" if None) and fields of its config that differ."""
    config = preset("standard" if mode is None else mode)
    return HeroAcademy(with_settings(config, settings))
