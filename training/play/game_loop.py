"""The compiled loop that plays whole games in lanes: who is asked, what is recorded, and which game comes next.

Lanes whose agents know what to do go on while those that have to think wait, so that searches work on full batches.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.agent import Agent
from jaxgames.game import Game, init_all_information, is_hidden, update_all_information
from search.planner import of_seat, where_lanes


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Lanes:
    """The loop's carry on one device: B lanes, G games of this device.

    Attributes:
      states, seats: what each lane plays: State [B], int32 [B, P], the seat of each agent.
      number: int32 [B], local number of the game; G where there is none left to play.
      clock: int32 [B], steps played.
      keys: [B], keys of the games.
      infos: Information [B, P] by seat, where the game has it and somebody plays by it; else ().
      memories: per group of agents.
      next_number: int32 [], the next game to start.
      results: int16 [G, 3 P + 1]: outcomes, survived and seats by agent, then the length; one array, written at once, because
        scatters of different rank side by side crash the compiler's multi-output fusion.
      actions: int16 [R * T, P].
      moves: int32 [P].
    """

    states: Any
    seats: Array
    number: Array
    clock: Array
    keys: Array
    infos: Any
    memories: tuple
    next_number: Array
    results: Array
    actions: Array
    moves: Array


@dataclasses.dataclass(frozen=True)
class Loop:
    """The compiled loop of one device; all fields are static."""

    game: Game
    groups: tuple[tuple[Agent, tuple[int, ...]], ...]
    num_games: int
    num_devices: int
    per_device: int
    lanes: int
    recorded: int
    seating: str

    def start(self, key: Array) -> Lanes:
        number = jnp.arange(self.lanes, dtype=jnp.int32)
        states, seats, keys = self._new_games(key, number)
        players, games = self.game.num_players, self.per_device
        memories = tuple(agent.init(len(indices) * self.lanes) for agent, indices in self.groups)
        return Lanes(
            states=states,
            seats=seats,
            number=jnp.where(self._exists(number), number, games),
            clock=jnp.zeros_like(number),
            keys=keys,
            infos=self._new_infos(states),
            memories=memories,
            next_number=jnp.full((1,), self.lanes, jnp.int32),
            results=jnp.zeros((games, 3 * players + 1), jnp.int16),
            actions=jnp.full((self.recorded * self.game.max_steps, players), -1, jnp.int16),
            moves=jnp.zeros((1, players), jnp.int32),
        )

    def advance(self, params: tuple, key: Array, lanes: Lanes, steps: Array) -> tuple[Lanes, Array]:
        """Goes through the loop so often (int32 []); a lane that waits stands still.

        Returns:
          The lanes, and int32 [1, 4]: games, wins, draws, moves of the first agent.
        """

        def unfinished(carry):
            step, lanes = carry
            return (step < steps) & (lanes.number < self.per_device).any()

        def body(carry):
            return carry[0] + 1, self._step(params, key, carry[1])

        _, lanes = jax.lax.while_loop(unfinished, body, (jnp.int32(0), lanes))
        over = lanes.results[:, -1] > 0
        won = (lanes.results[:, 0] > 0) & over
        draw = (lanes.results[:, : self.game.num_players] == 0).all(1) & over
        return lanes, jnp.stack([over.sum(), won.sum(), draw.sum(), lanes.moves[0, 0]])[None]

    def _exists(self, number: Array) -> Array:
        """bool: this device has a game with this local number."""
        index = number * self.num_devices + jax.lax.axis_index("data")
        return (number < self.per_device) & (index < self.num_games)

    def _new_games(self, key: Array, number: Array) -> tuple[Any, Array, Array]:
        """Draws start state, seats and key of games by local number."""
        index = number * self.num_devices + jax.lax.axis_index("data")
        keys = jax.vmap(functools.partial(jax.random.fold_in, key))(index)
        init_keys, seat_keys, play_keys = (jax.vmap(functools.partial(jax.random.fold_in, data=i))(keys) for i in range(3))
        players = self.game.num_players
        seats = jnp.tile(jnp.arange(players, dtype=jnp.int32), (self.lanes, 1))
        if self.seating == "drawn":
            seats = jax.vmap(lambda k: jax.random.permutation(k, players))(seat_keys).astype(jnp.int32)
        elif self.seating == "rotated":
            seats = (seats + index[:, None]) % players
            start = index // players * players  # the first game with this start state
            init_keys = jax.vmap(lambda i: jax.random.fold_in(jax.random.fold_in(key, i), 0))(start)
        return jax.vmap(self.game.init)(init_keys), seats, play_keys

    @property
    def _informed(self) -> bool:
        return is_hidden(self.game) and not all(agent.sees_state for agent, _ in self.groups)

    @property
    def _hidden_game(self) -> Any:
        return self.game

    def _new_infos(self, states: Any) -> Any:
        """What is known before the first step: Information [B, P], or ()."""
        return init_all_information(self._hidden_game, states) if self._informed else ()

    def _inform(self, infos: Any, states: Any, actions: Array) -> Any:
        """Adds what everybody has seen of a step."""
        return update_all_information(self._hidden_game, infos, states, actions) if self._informed else ()

    def _views(self, agent: Agent, lanes: Lanes, states: Any, seats: Array) -> Any:
        """What the members of a group are shown; states and seats [members * B]."""
        if agent.sees_state:
            return states
        if not self._informed:
            return jax.vmap(self.game.observe)(states, seats)
        members = seats.reshape(-1, self.lanes)
        return jax.tree.map(lambda leaf: jnp.concatenate([of_seat(leaf, seat) for seat in members]), lanes.infos)

    def _step(self, params: tuple, key: Array, lanes: Lanes) -> Lanes:
        game, players = self.game, self.game.num_players
        in_play = jax.vmap(game.in_play)(lanes.states)
        mover = jax.vmap(game.to_play)(lanes.states)[:, None]
        asked = in_play & ((mover < 0) | (mover == jnp.arange(players)))
        going = self._lanes_to_step(lanes, lanes.number < self.per_device, asked)
        step_keys = jax.vmap(jax.random.fold_in)(lanes.keys, lanes.clock)
        actions = jnp.full((self.lanes, players), game.pass_action, jnp.int32)
        memories, moves, rows = [], lanes.moves, jnp.arange(self.lanes)
        for param, (agent, indices), memory in zip(params, self.groups, lanes.memories, strict=True):
            chosen, active, memory = self._ask(param, agent, indices, memory, lanes, step_keys, going, asked)
            # One group after the other: XLA's multi-output fusion would join what they do alike, and fails at search trees.
            chosen, memory, states, step_keys = jax.lax.optimization_barrier((chosen, memory, lanes.states, step_keys))
            lanes = dataclasses.replace(lanes, states=states)
            memories.append(memory)
            for position, index in enumerate(indices):
                seat = lanes.seats[:, index]
                action = jnp.where(active[position], chosen[position], game.pass_action)
                actions = actions.at[rows, seat].set(action)
                moves = moves.at[0, index].add(active[position].sum(dtype=jnp.int32))
        chance_keys = jax.vmap(functools.partial(jax.random.fold_in, data=players))(step_keys)
        states = self._where(going, jax.vmap(game.step)(lanes.states, actions, chance_keys), lanes.states)
        finished = going & states.terminated
        by_agent = functools.partial(jnp.take_along_axis, indices=lanes.seats, axis=1)
        outcome = by_agent(jax.vmap(game.outcome)(states))
        parts = (outcome, by_agent(in_play), lanes.seats, lanes.clock[:, None] + 1)
        result = jnp.concatenate([part.astype(jnp.int16) for part in parts], axis=1)
        slot = jnp.where(finished, lanes.number, self.per_device)
        row = jnp.where(going & (lanes.number < self.recorded), lanes.number * game.max_steps + lanes.clock, len(lanes.actions))
        lanes = dataclasses.replace(
            lanes,
            states=states,
            clock=lanes.clock + going,
            infos=self._where(going, self._inform(lanes.infos, states, actions), lanes.infos),
            memories=tuple(memories),
            results=lanes.results.at[slot].set(result, mode="drop"),
            actions=lanes.actions.at[row].set(actions.astype(jnp.int16), mode="drop") if self.recorded else lanes.actions,
            moves=moves,
        )
        return jax.lax.cond(finished.any(), functools.partial(self._refill, key), lambda lanes, _: lanes, lanes, finished)

    @property
    def _waits(self) -> bool:
        """Whether some lanes stand still in some steps."""
        return any(agent.ready is not None for agent, _ in self.groups)

    def _where(self, lanes: Array, new: Any, old: Any) -> Any:
        """The new tree in the lanes that go."""
        return where_lanes(lanes, new, old) if self._waits else new

    def _lanes_to_step(self, lanes: Lanes, busy: Array, asked: Array) -> Array:
        """Lanes that take this step, bool [B], of those that have a game.

        A search costs the same however many of its lanes need it. So those in which everybody knows what to do go on alone,
        until all have to think.
        """
        if not self._waits:
            return busy
        ready = busy
        for (agent, indices), memory in zip(self.groups, lanes.memories, strict=True):
            if agent.ready is not None:
                states, seats, active = self._members(indices, lanes, busy, asked)
                is_ready = ~active | agent.ready(memory, self._views(agent, lanes, states, seats))
                ready = ready & is_ready.reshape(len(indices), -1).all(0)
        return jnp.where(ready.any(), ready, busy)

    def _members(self, indices: tuple[int, ...], lanes: Lanes, going: Array, asked: Array) -> tuple[Any, Array, Array]:
        """States, seats and who has to act, of a group: [members * B]."""
        seats = jnp.concatenate([lanes.seats[:, index] for index in indices])
        states = lanes.states
        if len(indices) > 1:
            states = jax.tree.map(lambda x: jnp.concatenate([x] * len(indices)), states)
        needed = of_seat(jnp.concatenate([asked] * len(indices)), seats)
        return states, seats, jnp.concatenate([going] * len(indices)) & needed

    def _ask(self, params, agent: Agent, indices: tuple[int, ...], memory, lanes: Lanes, step_keys, going: Array, asked: Array):
        """Asks one group of equal agents. Returns actions and active, both [members, B], and the memory."""
        states, seats, active = self._members(indices, lanes, going, asked)
        keys = jnp.concatenate([jax.vmap(functools.partial(jax.random.fold_in, data=i))(step_keys) for i in indices])
        views = self._views(agent, lanes, states, seats)
        chosen, memory = agent.act(params, keys, memory, views, seats, active)
        return chosen.reshape(len(indices), -1), active.reshape(len(indices), -1), memory

    def _refill(self, key: Array, lanes: Lanes, finished: Array) -> Lanes:
        """Gives the lanes that have finished the next games."""
        number = lanes.next_number[0] + jnp.cumsum(finished.astype(jnp.int32)) - 1
        number = jnp.where(finished, jnp.where(self._exists(number), number, self.per_device), lanes.number)
        fresh = finished & (number < self.per_device)
        states, seats, keys = self._new_games(key, jnp.minimum(number, self.per_device))

        memories = []
        for (agent, indices), memory in zip(self.groups, lanes.memories, strict=True):
            memories.append(agent.reset(memory, jnp.tile(fresh, len(indices))))
        return dataclasses.replace(
            lanes,
            states=where_lanes(fresh, states, lanes.states),
            seats=where_lanes(fresh, seats, lanes.seats),
            number=number,
            clock=jnp.where(fresh, 0, lanes.clock),
            keys=jnp.where(fresh, keys, lanes.keys),
            infos=where_lanes(fresh, self._new_infos(states), lanes.infos),
            memories=tuple(memories),
            next_number=lanes.next_number + finished.sum(dtype=jnp.int32),
        )
