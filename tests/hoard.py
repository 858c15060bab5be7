"""A game of turns that is small enough to go through: two players take things from a table, several in a turn.

Each of the things has a worth, and they come in pairs that are worth `PAIR` more together. A player takes up to `points` things
in a turn, in any order, and may end the turn earlier; the game is over after `turns` turns or when nothing is left. An action is
the number of a thing; the next number ends the turn.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import random_bits
from jaxgames.bits import Bits
from jaxgames.hashing import hash_words
from jaxgames.random_bits import LaneKey

PAIR = 10


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class State:
    """One game: worths int32 [N], owner int32 [N] (-1: on the table), player, action_points, turn int32 [], and the ends."""

    worths: Array
    owner: Array
    player: Array
    action_points: Array
    turn: Array
    terminated: Array
    rewards: Array


@dataclasses.dataclass(frozen=True)
class Hoard:
    """The game."""

    things: int = 8
    points: int = 3
    turns: int = 4
    ends_early: bool = False  # whether ending a turn with points left is worth a look
    puts_back: bool = False  # whether who names an own thing puts it back on the table
    name: str = "hoard"
    num_players: int = 2

    @property
    def end_turn(self) -> int:
        return self.things

    @property
    def turn_length(self) -> int:
        return self.points + 1

    @property
    def num_actions(self) -> int:
        return self.things + 1

    @property
    def num_arms(self) -> int:
        return self.things + 1

    @property
    def pass_action(self) -> int:
        return self.end_turn

    @property
    def max_steps(self) -> int:
        return self.turns * self.turn_length

    def init(self, key: Array) -> State:
        number = (jnp.int32(x) for x in (0, self.points, 0))
        worths = jax.random.randint(key, (self.things,), 1, 10)
        return State(worths, jnp.full(self.things, -1), *number, jnp.bool_(False), jnp.zeros(2))

    def draw_chance(self, key: Array, state: State, actions: Array) -> tuple:
        del key, state, actions
        return ()

    def apply(self, state: State, actions: Array, chance: tuple) -> State:
        del chance
        return self.advance(state, actions[state.player], None)

    def step(self, state: State, actions: Array, key: Array) -> State:
        return self.apply(state, actions, self.draw_chance(key, state, actions))

    def advance(self, state: State, action: Array, key: Array | None) -> State:
        del key
        ends = action == self.end_turn
        chosen = (jnp.arange(self.things) == action) & self._open(state)
        after = dataclasses.replace(
            state,
            owner=jnp.where(chosen, jnp.where(state.owner < 0, state.player, -1), state.owner),
            action_points=jnp.where(ends, self.points, state.action_points - chosen.any()),
            player=jnp.where(ends, 1 - state.player, state.player),
            turn=state.turn + ends,
        )
        over = (after.turn >= self.turns) | (after.owner >= 0).all()
        after = dataclasses.replace(after, terminated=over)
        after = dataclasses.replace(after, rewards=self.outcome(after))
        return jax.tree.map(lambda old, new: jnp.where(state.terminated, old, new), state, after)

    def act(self, state: State, action: Array) -> State:
        return self.advance(state, action, None)

    def _open(self, state: State) -> Array:
        """Which things the player may name."""
        return ((state.owner < 0) | (self.puts_back & (state.owner == state.player))) & (state.action_points > 0)

    def to_play(self, state: State) -> Array:
        return state.player

    def legal_set(self, state: State, *, pruned: bool = False) -> Bits:
        free = self._open(state)
        flags = jnp.concatenate([free, jnp.full(1, self.ends_early or not pruned) | ~free.any()])
        return Bits((jnp.where(flags, jnp.uint32(1) << np.arange(self.things + 1, dtype=np.uint32), 0).sum(dtype=jnp.uint32),))

    def legal_actions(self, state: State) -> Array:
        own = jax.vmap(self.legal_set(state).has)(jnp.arange(self.num_actions))
        return jnp.where(jnp.arange(2)[:, None] == state.player, own, jnp.arange(self.num_actions) == self.pass_action)

    def search_arms(self, state: State) -> tuple[Array, Array]:
        return jnp.broadcast_to(jnp.arange(self.num_actions), (2, self.num_actions)), self.legal_actions(state)

    def best_rated(self, state: State, among: Bits) -> Array:
        """The thing that is worth most, or to end the turn where all are worth less than nothing; the first of equals."""
        wanted = jax.vmap(among.has)(jnp.arange(self.num_actions))
        return jnp.where(wanted, jnp.append(state.worths, 0), -1000).argmax().astype(jnp.int32)

    def first_listed(self, state: State, among: Bits) -> Array:
        del state
        return among.first()

    def rollout_action(self, state: State, lane: LaneKey, greediness: float) -> Array:
        offered = self.legal_set(state, pruned=True)
        drawn = offered.pick(random_bits.below(random_bits.bits(lane, 0), offered.count()))
        greedy = random_bits.uniform(random_bits.bits(lane, 1)) < greediness
        return jnp.where(greedy, self.best_rated(state, offered), drawn)

    def outcome(self, state: State) -> Array:
        return jnp.where(state.terminated, jnp.sign(self.heuristic(state)), 0.0)

    def in_play(self, state: State) -> Array:
        del state
        return jnp.ones(2, bool)

    def heuristic(self, state: State) -> Array:
        """How much more one has than the other, in hundredths."""
        mine, theirs = ((state.owner == player) * state.worths for player in range(2))
        pairs = [(state.owner.reshape(-1, 2) == player).all(1).sum() for player in range(2)]
        ahead = ((mine - theirs).sum() + PAIR * (pairs[0] - pairs[1])) / 100
        return jnp.stack([ahead, -ahead]).astype(jnp.float32)

    def state_key(self, state: State) -> Array:
        return self._key(state, state.action_points + 16 * state.turn)

    def known_state(self, state: State) -> State:
        """Nothing is hidden."""
        return state

    def position_key(self, state: State) -> Array:
        return self._key(state, jnp.int32(0))

    def _key(self, state: State, more: Array) -> Array:
        owners = ((state.owner + 1) << (2 * np.arange(self.things))).sum()
        return hash_words(tuple(x.astype(jnp.uint32) for x in (owners, more, state.player)))

    def observe(self, state: State, player: Array) -> State:
        del player
        return state
