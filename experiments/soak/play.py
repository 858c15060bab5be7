"""The compiled loop of a soak: agents play games in lanes, and every step is checked."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from experiments.soak.invariants import Rules, rules_of, slow_rules_of
from jaxgames.agent import Agent
from jaxgames.game import Game, is_hidden
from training.play.lanes import Lanes, Pool, fold

NOT_BROKEN = np.int32(2**31 - 1)

# In so many steps of all lanes slow rules are checked once, counted from each look; odd, so that all players have their turn.
_EVERY = 17
_EVERY_OF_GAMES = {"clash": 257}  # whose heuristic plays on


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Carry:
    """What goes from step to step; R rules.

    Attributes:
      lanes: the games at work.
      memory: of the agent, for all seats of all lanes.
      games: int32 [], games that are over since the last look.
      broken: int32 [R], steps in which each rule was broken since the last look.
      first: int32 [R], the lowest number of a game that has broken it; `NOT_BROKEN` if none has.
    """

    lanes: Lanes
    memory: Any
    games: Array
    broken: Array
    first: Array


@dataclasses.dataclass(frozen=True)
class Soak:
    """One agent has all seats; all fields are static. What happens in a game depends on the key and its number alone."""

    game: Game
    agent: Agent
    lanes: int

    @functools.cached_property
    def pool(self) -> Pool:
        """Where games come from."""
        return Pool(self.game, self.lanes, informed=is_hidden(self.game) and not self.agent.sees_state)

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The rules that are checked, R; those of each step come first."""
        state = jax.eval_shape(self.game.init, jax.random.key(0))
        each_step = jax.eval_shape(rules_of(self.game), state, state, jnp.int32(0))
        return *sorted(each_step), *sorted(jax.eval_shape(slow_rules_of(self.game), state))

    def start(self, key: Array, first: Array | int = 0) -> Carry:
        """Begins games, the lowest number of which is `first` (int32 [])."""
        none = jnp.zeros(len(self.names), jnp.int32)
        memory = self.agent.init(self.game.num_players * self.lanes)
        return Carry(self.pool.start(key, jnp.int32(0), first), memory, jnp.int32(0), none, jnp.full_like(none, NOT_BROKEN))

    def advance(self, key: Array, carry: Carry, steps: Array) -> Carry:
        """Plays so many steps in all lanes (int32 []), and checks them."""
        none = jnp.zeros(len(self.names), jnp.int32)
        carry = dataclasses.replace(carry, games=jnp.int32(0), broken=none)
        return jax.lax.fori_loop(0, steps, functools.partial(self._step, key), carry)

    def actions(self, key: Array, lanes: Lanes, memory: Any) -> tuple[Array, Any, Array]:
        """Asks the agent for all seats: actions int32 [L, P], its memory, and the keys of chance [L]."""
        players = self.game.num_players
        keys = self.pool.step_keys(key, lanes)
        seats = jnp.repeat(jnp.arange(players, dtype=jnp.int32)[:, None], self.lanes, axis=1)
        asked = self.pool.asked(lanes.states).T
        views = self.pool.views(lanes, self.agent.sees_state, seats)
        own_keys = jnp.concatenate([fold(keys, seat) for seat in range(players)])
        chosen, memory = self.agent.act(self.agent.params, own_keys, memory, views, seats.reshape(-1), asked.reshape(-1))
        actions = jnp.where(asked, chosen.reshape(seats.shape), self.game.pass_action).T
        return actions.astype(jnp.int32), memory, fold(keys, players)

    def _step(self, key: Array, number: Array, carry: Carry) -> Carry:
        before = carry.lanes
        actions, memory, chance = self.actions(key, before, carry.memory)
        lanes = self.pool.step(before, actions, chance)
        every = _EVERY_OF_GAMES.get(self.game.name, _EVERY)
        wrong = ~self._found(before, lanes.states, number % every == 0)
        first = jnp.where(wrong, before.number, NOT_BROKEN).min(1)
        ended = lanes.states.terminated
        lanes, fresh = self.pool.refill(key, lanes, ended)
        return Carry(
            lanes=lanes,
            memory=self.agent.reset(memory, jnp.tile(fresh, self.game.num_players)),
            games=carry.games + ended.sum(dtype=jnp.int32),
            broken=carry.broken + wrong.sum(1, dtype=jnp.int32),
            first=jnp.minimum(carry.first, first),
        )

    def _found(self, before: Lanes, after: Any, slow_too: Array | bool) -> Array:
        """Checks a step of all lanes: whether each rule holds, bool [R, L]; a slow rule that is not looked at does."""
        found = jax.vmap(rules_of(self.game))(before.states, after, before.clock)

        def look() -> Rules:
            return jax.vmap(slow_rules_of(self.game))(after)

        held = jax.tree.map(lambda shape: jnp.ones(shape.shape, bool), jax.eval_shape(look))
        found |= jax.lax.cond(slow_too, look, lambda: held)
        return jnp.stack([found[name] for name in self.names])

    def again(self, key: Array, number: int) -> tuple[Any, list[tuple[int, str]]]:
        """Plays one game again, alone.

        Returns:
          Its states, leaves [T + 1, ...], and the rules that were broken, with the steps after which they were. The slow ones are
          checked in each step here.
        """
        alone = dataclasses.replace(self, lanes=1)

        def begin() -> tuple[Lanes, Any]:
            lanes = dataclasses.replace(alone.pool.start(key, jnp.int32(number)), number=jnp.full(1, number, jnp.int32))
            return lanes, alone.agent.init(alone.game.num_players)

        def step(carry: tuple[Lanes, Any], _: None) -> tuple[tuple[Lanes, Any], tuple[Any, Array]]:
            before, memory = carry
            actions, memory, chance = alone.actions(key, before, memory)
            lanes = alone.pool.step(before, actions, chance)
            return (lanes, memory), (lanes.states, alone._found(before, lanes.states, True)[:, 0])

        def play() -> tuple[Any, Any, Any]:
            start = begin()
            _, (states, found) = jax.lax.scan(step, start, length=self.game.max_steps)
            return start[0].states, states, found

        start, states, found = jax.device_get(jax.jit(play)())
        films = jax.tree.map(lambda one, all_of_them: np.concatenate([one, all_of_them[:, 0]]), start, states)
        length = 1 + int(np.argmax(np.concatenate([states.terminated[:, 0], [True]])))
        steps = range(min(length, self.game.max_steps))
        told = [(step + 1, name) for step in steps for name, holds in zip(self.names, found[step], strict=True) if not holds]
        return jax.tree.map(lambda leaf: leaf[: length + 1], films), told
