"""Games that a searcher plays against itself to learn from, in lanes that never stop."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.game import is_hidden
from search.dynamics import moves_at_once
from search.planner import Plan, Planner, of_arm, of_seat
from search.puct.action_selection import draw_arm
from training.learn.targets import Targets, is_highest
from training.play.lanes import Lanes, Pool, fold

# Children of the key of a step.
_PLAN, _DRAW, _CHANCE, _WORLD = range(4)
UNFINISHED = 2  # outcome of a game that is still played


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Games:
    """Games at work on one device, and how the last ones have ended.

    Attributes:
      lanes: the games.
      outcomes: int8 [G, P], how each of the last games of this device ended, at its local number modulo G; `UNFINISHED` while it
        is played.
    """

    lanes: Lanes
    outcomes: Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Sample:
    """One search for one seat.

    Attributes:
      view: what a network is shown of the true state where the search saw it, else of one that fits what the seat knew.
      policy: the search's, by output, as `Targets.pack` keeps it.
      seat: int8 [], for whom.
      number: int32 [], of the game.
    """

    view: Any
    policy: Any
    seat: Array
    number: Array


@dataclasses.dataclass(frozen=True)
class SelfPlay:
    """How games are played; all static. Every seat that acts in a step makes a search and a sample of its own.

    Attributes:
      pool: where games come from.
      targets: how policies are kept.
      remembered: games of this device whose outcome is remembered, G.
      explore_steps: in so many first steps of a game the action is drawn by the search's policy; then the best is taken.
      temperature: of that draw.
    """

    pool: Pool
    targets: Targets
    remembered: int
    explore_steps: int = 0
    temperature: float = 1.0

    @property
    def seats_at_once(self) -> int:
        """S: seats that may act in one step: all players, or in a game of turns one."""
        return self.pool.game.num_players if moves_at_once(self.pool.game) else 1

    @property
    def rows(self) -> int:
        """Searches per step of all lanes, S * L: those of the first seat to act come first."""
        return self.seats_at_once * self.pool.lanes

    def start(self, key: Array, device: Array) -> Games:
        """Begins the first games of a device."""
        outcomes = jnp.full((self.remembered, self.pool.game.num_players), UNFINISHED, jnp.int8)
        return Games(self.pool.start(key, device), outcomes)

    def restart(self, key: Array, games: Games) -> Games:
        """Gives up the games of all lanes and begins the next ones; what the others ended with stays."""
        lanes, _ = self.pool.refill(key, games.lanes, jnp.ones(self.pool.lanes, bool))
        return Games(lanes, games.outcomes.at[self._place(lanes.number)].set(UNFINISHED))

    def example(self) -> Sample:
        """Gives a sample of the right shapes."""
        encoder, seat = self.targets.encoder, jnp.int32(0)
        view = encoder.view(self.pool.game.init(jax.random.key(0)), seat)
        return Sample(view, self.targets.pack(jnp.zeros(encoder.num_outputs)), jnp.int8(0), jnp.int32(0))

    def outcomes_of(self, games: Games, samples: Sample) -> Array:
        """How the games of samples [B] ended for their seats: int8 [B]."""
        seats = samples.seat.astype(jnp.int32)[:, None]
        return jnp.take_along_axis(games.outcomes[self._place(samples.number)], seats, 1)[:, 0]

    def step(
        self, key: Array, planner: Planner, params: Any, memory: Any, games: Games
    ) -> tuple[Games, Any, Sample, Array, dict[str, Array]]:
        """Searches and plays one step in all lanes.

        Args:
          key: root of all randomness.
          planner: who searches: one that is shown the states, or what each seat knows.
          params: of the planner.
          memory: of the planner, for `rows` lanes.
          games: at work.

        Returns:
          Games, memory, Sample [rows], those that count (bool [rows]), and counts to add up.
        """
        pool, encoder, lanes = self.pool, self.targets.encoder, games.lanes
        keys = pool.step_keys(key, lanes)
        seats, active = self._acting(lanes)
        plan_keys, draw_keys, world_keys = (self._per_seat(fold(keys, child)) for child in (_PLAN, _DRAW, _WORLD))
        views, owners = pool.views(lanes, planner.sees_state, seats), seats.reshape(-1)
        plan, memory = planner.plan(params, plan_keys, memory, views, owners, active.reshape(-1))
        own = jax.tree.map(lambda rows: rows[:, 0] if planner.own_first else of_seat(rows, owners), _of_players(plan))
        if planner.sees_state or not is_hidden(pool.game):
            shown = pool.views(lanes, True, seats)
        else:
            shown = jax.vmap(pool.game.sample_hidden)(world_keys, views)
        per_output = jax.vmap(self.targets.per_output)(own.arms, own.legal, own.action_weights, owners)
        sample = Sample(
            view=jax.vmap(encoder.view)(shown, owners),
            policy=jax.vmap(self.targets.pack)(per_output),
            seat=owners.astype(jnp.int8),
            number=jnp.tile(lanes.number, self.seats_at_once),
        )
        clock = jnp.tile(lanes.clock, self.seats_at_once)
        chosen = self._choose(draw_keys, own.arms, own.action_weights, clock).reshape(seats.shape)
        actions = jnp.full((pool.lanes, pool.game.num_players), pool.game.pass_action, jnp.int32)
        for seat, acts, action in zip(seats, active, chosen, strict=True):
            here = (jnp.arange(pool.game.num_players) == seat[:, None]) & acts[:, None]
            actions = jnp.where(here, action[:, None], actions)
        games, ended, counts = self._advance(key, fold(keys, _CHANCE), games, actions)
        memory = planner.reset(memory, jnp.tile(ended, self.seats_at_once))
        return games, memory, sample, active.reshape(-1), counts | _watch(own, active.reshape(-1))

    def _acting(self, lanes: Lanes) -> tuple[Array, Array]:
        """Seats that may act, and whether they do: int32 and bool [S, L]."""
        asked = self.pool.asked(lanes.states)
        if self.seats_at_once == 1:
            seats = jax.vmap(self.pool.game.to_play)(lanes.states).astype(jnp.int32)[None]
        else:
            seats = jnp.tile(jnp.arange(self.seats_at_once, dtype=jnp.int32)[:, None], (1, self.pool.lanes))
        return seats, jnp.stack([of_seat(asked, seat) for seat in seats])

    def _per_seat(self, keys: Array) -> Array:
        """Keys [S * L] of keys [L]."""
        if self.seats_at_once == 1:
            return keys
        return jnp.concatenate([fold(keys, seat) for seat in range(self.seats_at_once)])

    def _choose(self, keys: Array, arms: Array, policy: Array, clock: Array) -> Array:
        """Chooses among arms int32 [B, K] by a policy float32 [B, K] at steps int32 [B]: actions int32 [B]."""
        drawn = of_arm(arms, draw_arm(keys, policy, max(self.temperature, 1e-6)))
        return jnp.where(clock < self.explore_steps, drawn, jnp.where(is_highest(policy), arms, 0).sum(-1))

    def _advance(self, key: Array, keys: Array, games: Games, actions: Array) -> tuple[Games, Array, dict[str, Array]]:
        before = games.lanes
        lanes = self.pool.step(before, actions, keys)
        ended = lanes.states.terminated
        outcome = jax.vmap(self.pool.game.outcome)(lanes.states)
        counts = {
            "games": ended.sum(dtype=jnp.int32),
            "length": jnp.where(ended, lanes.clock, 0).sum(dtype=jnp.int32),
            "first_wins": (ended & (outcome[:, 0] > 0)).sum(dtype=jnp.int32),
        }
        lanes, _ = self.pool.refill(key, lanes, ended)
        # Two writes as one: first how games ended, then that the next ones are not over.
        numbers = (before.number, lanes.number)
        place = jnp.concatenate([jnp.where(ended, self._place(number), self.remembered) for number in numbers])
        result = jnp.concatenate([outcome.astype(jnp.int8), jnp.full_like(outcome, UNFINISHED, jnp.int8)])
        return Games(lanes, games.outcomes.at[place].set(result, mode="drop")), ended, counts

    def _place(self, number: Array) -> Array:
        """Where the outcome of a game is kept."""
        return number // self.pool.num_devices % self.remembered


def _of_players(plan: Plan) -> Plan:
    """The plan without what belongs to no player."""
    return dataclasses.replace(plan, metrics={}, root_value=plan.root_value[..., None])


def _watch(plan: Plan, active: Array) -> dict[str, Array]:
    """Counts of plans of one seat each: of those that count."""
    policy = plan.action_weights
    entropy = -jnp.where(active[:, None], policy * jnp.log(jnp.maximum(policy, 1e-30)), 0.0).sum()
    return {
        "entropy": entropy,
        "root_value": jnp.where(active, plan.root_value[:, 0], 0.0).sum(),
        "searches": active.sum(dtype=jnp.int32),
    }
