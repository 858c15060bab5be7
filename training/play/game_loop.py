"""The compiled loop that plays whole games in lanes: who is asked, and what is recorded.

Lanes whose agents know what to do go on while those that have to think wait, so that searches work on full batches.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.abilities import teams_of
from jaxgames.agent import Agent, check_actions
from jaxgames.game import Game, is_hidden
from jaxgames.lanes import where_lanes
from search.planner import of_seat
from training.play.lanes import PLAY, Lanes, Pool, fold

_SEATS = 1  # child of a game's key


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Match:
    """The loop's carry on one device: B lanes, G games of this device.

    Attributes:
      lanes: the games at work.
      seats: int32 [B, P], the seat of each agent.
      memories: per group of agents.
      results: int16 [G, 3 P + 1]: outcomes, survived and seats by agent, then the length; one array, written at once, because
        scatters of different rank side by side crash the compiler's multi-output fusion.
      actions: int16 [R * T, P].
      moves: int32 [1, P].
    """

    lanes: Lanes
    seats: Array
    memories: tuple
    results: Array
    actions: Array
    moves: Array


@dataclasses.dataclass(frozen=True)
class Loop:
    """The compiled loop of one device; all fields are static. Games `first` to `first + num_games - 1` are played."""

    game: Game
    groups: tuple[tuple[Agent, tuple[int, ...]], ...]
    num_games: int
    num_devices: int
    per_device: int
    lanes: int
    recorded: int
    seating: str
    start_of: Callable[[Array, Array], Any] | None = None
    common: int = 1
    first: int = 0

    @functools.cached_property
    def pool(self) -> Pool:
        """Where games come from."""
        players = self.game.num_players
        return Pool(
            self.game,
            self.lanes,
            self.num_devices,
            self.first + self.num_games,
            informed=is_hidden(self.game) and not all(agent.sees_state for agent, _ in self.groups),
            play_key=PLAY,
            games_per_start=players if self.seating == "rotated" else 1,
            start_of=self.start_of,
            common=self.common,
        )

    def start(self, key: Array) -> Match:
        """Begins the first games."""
        lanes = self.pool.start(key, jax.lax.axis_index("data"), self.first)
        players = self.game.num_players
        return Match(
            lanes=lanes,
            seats=self._seats(key, lanes.number),
            memories=tuple(agent.init(len(indices) * self.lanes) for agent, indices in self.groups),
            results=jnp.zeros((self.per_device, 3 * players + 1), jnp.int16),
            actions=jnp.full((self.recorded * self.game.max_steps, players), -1, jnp.int16),
            moves=jnp.zeros((1, players), jnp.int32),
        )

    def advance(self, params: tuple, key: Array, match: Match, steps: Array) -> tuple[Match, Array]:
        """Goes through the loop so often (int32 []); a lane that waits stands still.

        Returns:
          The match, and int32 [1, 4]: games, wins, draws, moves of the first agent.
        """

        def unfinished(carry):
            step, match = carry
            return (step < steps) & self.pool.busy(match.lanes).any()

        def body(carry):
            return carry[0] + 1, self._step(params, key, carry[1])

        _, match = jax.lax.while_loop(unfinished, body, (jnp.int32(0), match))
        over = match.results[:, -1] > 0
        won = (match.results[:, 0] > 0) & over
        draw = (match.results[:, : self.game.num_players] == 0).all(1) & over
        return match, jnp.stack([over.sum(), won.sum(), draw.sum(), match.moves[0, 0]])[None]

    def _seats(self, key: Array, number: Array) -> Array:
        """The seats of the agents in games int32 [B]: int32 [B, P]."""
        players = self.game.num_players
        seats = jnp.tile(jnp.arange(players, dtype=jnp.int32), (self.lanes, 1))
        if self.seating == "drawn":
            keys = jax.vmap(lambda n: jax.random.fold_in(jax.random.fold_in(key, n), _SEATS))(number)
            if len(set(teams_of(self.game))) == players:
                seats = jax.vmap(lambda k: jax.random.permutation(k, players))(keys).astype(jnp.int32)
            else:
                turns = jnp.asarray(turns_of(teams_of(self.game)), jnp.int32)
                seats = (seats + jax.vmap(lambda k: jax.random.choice(k, turns))(keys)[:, None]) % players
        elif self.seating == "rotated":
            seats = (seats + number[:, None]) % players
        return seats

    def _step(self, params: tuple, key: Array, match: Match) -> Match:
        game, players, lanes = self.game, self.game.num_players, match.lanes
        in_play, asked = jax.vmap(game.in_play)(lanes.states), self.pool.asked(lanes.states)
        going = self._lanes_to_step(match, self.pool.busy(lanes), asked)
        step_keys = self.pool.step_keys(key, lanes)
        actions = jnp.full((self.lanes, players), game.pass_action, jnp.int32)
        memories, moves, rows = [], match.moves, jnp.arange(self.lanes)
        for param, (agent, indices), memory in zip(params, self.groups, match.memories, strict=True):
            seats, active = self._members(indices, match, going, asked)
            keys = jnp.concatenate([fold(step_keys, index) for index in indices])
            views = self.pool.views(lanes, agent.sees_state, seats)
            chosen, memory = _ask(agent, param, keys, memory, views, seats, active)
            memories.append(memory)
            for position, index in enumerate(indices):
                action = jnp.where(active[position], chosen[position], game.pass_action)
                actions = actions.at[rows, seats[position]].set(action)
                moves = moves.at[0, index].add(active[position].sum(dtype=jnp.int32))
        before = lanes
        lanes = self.pool.step(lanes, actions, fold(step_keys, players), going if self._waits else None)
        finished = going & lanes.states.terminated
        by_agent = functools.partial(jnp.take_along_axis, indices=match.seats, axis=1)
        outcome = by_agent(jax.vmap(game.outcome)(lanes.states))
        parts = (outcome, by_agent(in_play), match.seats, before.clock[:, None] + 1)
        result = jnp.concatenate([part.astype(jnp.int16) for part in parts], axis=1)
        number = (before.number - self.first) // self.num_devices
        row = jnp.where(going & (number < self.recorded), number * game.max_steps + before.clock, len(match.actions))
        match = Match(
            lanes=lanes,
            seats=match.seats,
            memories=tuple(memories),
            results=match.results.at[jnp.where(finished, number, self.per_device)].set(result, mode="drop"),
            actions=match.actions.at[row].set(actions.astype(jnp.int16), mode="drop") if self.recorded else match.actions,
            moves=moves,
        )
        return jax.lax.cond(finished.any(), functools.partial(self._refill, key), lambda match, _: match, match, finished)

    @property
    def _waits(self) -> bool:
        """Whether some lanes stand still in some steps."""
        return any(agent.ready is not None for agent, _ in self.groups)

    def _lanes_to_step(self, match: Match, busy: Array, asked: Array) -> Array:
        """Lanes that take this step, bool [B], of those that have a game.

        A search costs the same however many of its lanes need it. So those in which everybody knows what to do go on alone,
        until all have to think.
        """
        if not self._waits:
            return busy
        ready = busy
        for (agent, indices), memory in zip(self.groups, match.memories, strict=True):
            if agent.ready is not None:
                seats, active = self._members(indices, match, busy, asked)
                is_ready = agent.ready(memory, self.pool.views(match.lanes, agent.sees_state, seats))
                ready = ready & (~active | is_ready.reshape(active.shape)).all(0)
        return jnp.where(ready.any(), ready, busy)

    def _members(self, indices: tuple[int, ...], match: Match, going: Array, asked: Array) -> tuple[Array, Array]:
        """Seats of a group and who of it has to act: int32 and bool [members, B]."""
        seats = jnp.stack([match.seats[:, index] for index in indices])
        return seats, jnp.stack([going & of_seat(asked, seat) for seat in seats])

    def _refill(self, key: Array, match: Match, finished: Array) -> Match:
        """Gives the lanes that have finished the next games."""
        lanes, fresh = self.pool.refill(key, match.lanes, finished)
        memories = [
            agent.reset(memory, jnp.tile(fresh, len(indices)))
            for (agent, indices), memory in zip(self.groups, match.memories, strict=True)
        ]
        seats = where_lanes(fresh, self._seats(key, lanes.number), match.seats)
        return dataclasses.replace(match, lanes=lanes, seats=seats, memories=tuple(memories))


def turns_of(teams: tuple[int, ...]) -> list[int]:
    """By how many seats everybody may move on so that those who are a team stay one."""
    seats = range(len(teams))

    def kept(turn: int) -> bool:
        moved = [teams[(seat + turn) % len(teams)] for seat in seats]
        return all((teams[one] == teams[other]) == (moved[one] == moved[other]) for one in seats for other in seats)

    return [turn for turn in seats if kept(turn)]


def _ask(agent: Agent, params: Any, keys: Array, memory: Any, views: Any, seats: Array, active: Array) -> tuple[Array, Any]:
    """Asks a group of equal agents, if anybody is to act: actions int32 [members, B], and the memory."""

    def act(_: Array, carry: tuple[Array, Any]) -> tuple[Array, Any]:
        chosen, memory = agent.act(params, keys, carry[1], views, seats.reshape(-1), active.reshape(-1))
        check_actions(agent.name, chosen, seats.size)
        return chosen.reshape(seats.shape).astype(jnp.int32), memory

    # A loop of one round makes this a computation of its own: XLA's multi-output fusion would join what groups do alike, and
    # fails at search trees. A branch would copy them.
    return jax.lax.fori_loop(0, active.any().astype(jnp.int32), act, (jnp.zeros(seats.shape, jnp.int32), memory))
