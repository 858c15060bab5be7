"""Games that a searcher plays against itself to learn from, in lanes that never stop."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.game import HiddenGame, init_all_information, update_all_information
from search.planner import Plan, Planner, of_arm, of_seat, where_lanes
from search.puct.action_selection import draw_arm

# Children of the key of a step.
_PLAN, _DRAW, _CHANCE, _WORLD = range(4)
UNFINISHED = 2  # outcome of a game that is still played


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Lanes:
    """L games at work on one device.

    Attributes:
      states: State [L].
      infos: Information [L, P].
      number: int32 [L], which game of this device.
      clock: int32 [L], steps played.
      next_number: int32 [1], the next game of this device to begin.
      outcomes: int8 [G, P], how each of the last games ended, at its number modulo G; `UNFINISHED` while it is played.
    """

    states: Any
    infos: Any
    number: Array
    clock: Array
    next_number: Array
    outcomes: Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Sample:
    """One search.

    Attributes:
      state: of the open game: the true one with TrueSight, else one that fits what the mover knew.
      policy: float16 [K], the search's, in the direction of the board.
      player: int8 [], who moved.
      number: int32 [], of the game.
    """

    state: Any
    policy: Array
    player: Array
    number: Array


@dataclasses.dataclass(frozen=True)
class SelfPlay:
    """How games are played; all static.

    Attributes:
      game: what.
      lanes: games at once, on this device.
      num_devices: which share the games: device `d` plays games d, d + num_devices, ...; a game depends on its number alone.
      remembered: games whose outcome is remembered, G.
      explore_steps: in so many first steps of a game (attempts of both sides) the action is drawn by the search's policy; then
        the best is taken.
      temperature: of that draw.
    """

    game: HiddenGame
    lanes: int
    remembered: int
    num_devices: int = 1
    explore_steps: int = 0
    temperature: float = 1.0

    def start(self, key: Array, device: Array) -> Lanes:
        """Begins the first games of a device."""
        number = jnp.arange(self.lanes, dtype=jnp.int32)
        states = self._boards(self._game_keys(key, device, number))
        return Lanes(
            states=states,
            infos=init_all_information(self.game, states),
            number=number,
            clock=jnp.zeros(self.lanes, jnp.int32),
            next_number=jnp.full(1, self.lanes, jnp.int32),
            outcomes=jnp.full((self.remembered, self.game.num_players), UNFINISHED, jnp.int8),
        )

    def restart(self, key: Array, device: Array, lanes: Lanes) -> Lanes:
        """Gives up the games of all lanes and begins the next ones; what the others ended with stays."""
        number = lanes.next_number + jnp.arange(self.lanes)
        states = self._boards(self._game_keys(key, device, number))
        return dataclasses.replace(
            lanes,
            states=states,
            infos=init_all_information(self.game, states),
            number=number,
            clock=jnp.zeros_like(lanes.clock),
            next_number=lanes.next_number + self.lanes,
            outcomes=lanes.outcomes.at[number % self.remembered].set(UNFINISHED),
        )

    def example(self) -> Sample:
        """Gives a sample of the right shapes."""
        state = self.game.init(jax.random.key(0))
        policy = jnp.zeros(self.game.num_arms, jnp.float16)
        return Sample(self.game.open_state(state), policy, jnp.int8(0), jnp.int32(0))

    def step(
        self, key: Array, device: Array, planner: Planner, params: Any, memory: Any, lanes: Lanes
    ) -> tuple[Lanes, Any, Sample, dict[str, Array]]:
        """Searches and plays one step in all lanes.

        Args:
          key: root of all randomness.
          device: int32 [], of which device these lanes are.
          planner: who searches: one that is shown the states, or what the mover knows.
          params: of the planner.
          memory: of the planner.
          lanes: the games.

        Returns:
          Lanes, memory, Sample [L], and counts to add up.
        """
        game = self.game
        keys = jax.vmap(lambda k, clock: jax.random.fold_in(jax.random.fold_in(k, 1), clock))(
            self._game_keys(key, device, lanes.number), lanes.clock
        )
        plan_keys, draw_keys, chance_keys, world_keys = (
            jax.vmap(lambda k, child=child: jax.random.fold_in(k, child))(keys) for child in (_PLAN, _DRAW, _CHANCE, _WORLD)
        )
        player = jax.vmap(game.to_play)(lanes.states)
        info = jax.tree.map(lambda leaf: of_seat(leaf, player), lanes.infos)
        views = lanes.states if planner.sees_state else info
        plan, memory = planner.plan(params, plan_keys, memory, views, player, jnp.ones(self.lanes, bool))
        shown = lanes.states if planner.sees_state else jax.vmap(game.sample_hidden)(world_keys, info)
        policy = of_seat(plan.action_weights, player)
        sample = Sample(jax.vmap(game.open_state)(shown), policy.astype(jnp.float16), player.astype(jnp.int8), lanes.number)
        arm = self._choose(draw_keys, policy, lanes.clock)
        arms = of_seat(plan.arms, player)
        action = of_arm(arms, arm)[:, None]
        seats = jnp.arange(game.num_players)
        actions = jnp.where(seats == player[:, None], action, game.pass_action)
        lanes, counts = self._advance(key, device, chance_keys, lanes, actions)
        return lanes, memory, sample, counts | self._watch(plan, policy, player)

    def _choose(self, keys: Array, policy: Array, clock: Array) -> Array:
        drawn = draw_arm(keys, policy, max(self.temperature, 1e-6))
        return jnp.where(clock < self.explore_steps, drawn, policy.argmax(-1))

    def _watch(self, plan: Plan, policy: Array, player: Array) -> dict[str, Array]:
        entropy = -(policy * jnp.log(jnp.maximum(policy, 1e-30))).sum()
        value = of_seat(plan.root_value, player)
        return {"entropy": entropy, "root_value": value.sum(), "searches": jnp.int32(self.lanes)}

    def _advance(self, key: Array, device: Array, keys: Array, lanes: Lanes, actions: Array) -> tuple[Lanes, dict[str, Array]]:
        game = self.game
        states = jax.vmap(game.step)(lanes.states, actions, keys)

        infos = update_all_information(game, lanes.infos, states, actions)
        ended = states.terminated
        outcome = jax.vmap(game.outcome)(states)
        number = lanes.next_number + jnp.cumsum(ended.astype(jnp.int32)) - 1
        number = jnp.where(ended, number, lanes.number)
        # Two writes as one: first how games ended, then that the next ones are not over.
        place = jnp.concatenate([jnp.where(ended, at % self.remembered, self.remembered) for at in (lanes.number, number)])
        result = jnp.concatenate([outcome.astype(jnp.int8), jnp.full_like(outcome, UNFINISHED, jnp.int8)])
        counts = {
            "games": ended.sum(dtype=jnp.int32),
            "length": jnp.where(ended, lanes.clock + 1, 0).sum(dtype=jnp.int32),
            "first_wins": (ended & (outcome[:, 0] > 0)).sum(dtype=jnp.int32),
        }

        fresh = self._boards(self._game_keys(key, device, number))
        lanes = Lanes(
            states=where_lanes(ended, fresh, states),
            infos=where_lanes(ended, init_all_information(self.game, fresh), infos),
            number=number,
            clock=jnp.where(ended, 0, lanes.clock + 1),
            next_number=lanes.next_number + ended.sum(dtype=jnp.int32),
            outcomes=lanes.outcomes.at[place].set(result, mode="drop"),
        )
        return lanes, counts

    def _game_keys(self, key: Array, device: Array, number: Array) -> Array:
        return jax.vmap(lambda n: jax.random.fold_in(key, n * self.num_devices + device))(number)

    def _boards(self, keys: Array) -> Any:
        return jax.vmap(lambda k: self.game.init(jax.random.fold_in(k, 0)))(keys)
