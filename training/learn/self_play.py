"""Games that a searcher plays against itself to learn from, in lanes that never stop."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.abilities import can_talk, teams_of
from jaxgames.agent import Agent
from jaxgames.game import is_hidden
from jaxgames.turns import moves_at_once
from search.believed import acted
from search.planner import Plan, Planner, of_arm, of_asked, of_seat
from search.puct.action_selection import draw_arm
from training.learn.dealing import deal_results, deal_rows
from training.learn.learner import Learner, Programs, Updates
from training.learn.targets import Targets
from training.play.lanes import Lanes, Pool, fold
from training.play.partners import Partners

# Children of the key of a step.
_PLAN, _DRAW, _CHANCE, _WORLD, _PARTNERS = range(5)
UNFINISHED = 2  # outcome of a game that is still played
LONGEST = 2**13 - 1  # steps that a result counts, see `Games`


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Games:
    """Games at work on one device, and how the last ones have ended.

    Attributes:
      lanes: the games.
      results: int16 [G, P], how each of the last games of this device ended for each seat, at its local number modulo G: the
        outcome + 1, `UNFINISHED` + 1 while it is played, and four times the step after which the seat was out.
      out_at: int16 [L, P], steps that each seat has been in play.
      partners: memory of those who play along, if any do.
      memory: of the searcher, if it goes on from call to call.
    """

    lanes: Lanes
    results: Array
    out_at: Array
    partners: Any
    memory: Any


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Sample:
    """One search for one seat.

    Attributes:
      view: what a network is shown of the true state where the search saw it, else of one that fits what the seat knew.
      policy: the search's, by output, as `Targets.pack` keeps it.
      value: float16 [], the search's, of what was done: the mean result of that action alone.
      seat: int8 [], for whom.
      clock: int16 [], steps played before.
      number: int32 [], of the game.
    """

    view: Any
    policy: Any
    value: Array
    seat: Array
    clock: Array
    number: Array


class Decision(NamedTuple):
    """What is done in one step of all lanes.

    Attributes:
      plan: of the seats that learn, [rows]; its values are those of results, -1 for a loss and 1 for a win, with every search.
      sample: Sample [rows].
      active: bool [rows], those that count.
      actions: int32 [L, P], of everybody.
      learner: int32 [L], the first seat that learns.
      partners, memory: memories after it, of those who play along and of the planner.
      keys: of the lanes in this step, [L]; kept, as making them takes longer than a step of a game.
    """

    plan: Plan
    sample: Sample
    active: Array
    actions: Array
    learner: Array
    partners: Any
    memory: Any
    keys: Array


@dataclasses.dataclass(frozen=True)
class SelfPlay:
    """How games are played; all static. Every seat that acts in a step makes a search and a sample of its own.

    With partners only one seat learns, the number of the game modulo P: agents play all others, and a game ends for good where
    the learner is out and its result is known.

    Attributes:
      pool: where games come from.
      targets: how policies are kept.
      remembered: games of this device whose outcome is remembered, G.
      explore_steps: in so many first steps of a game the action is drawn by the search's policy; then it is the planner's choice.
      temperature: of that draw.
      partner: who plays the other seats; None: all seats learn.
      remembers: the searcher, if what it remembers of a game decides what it does: its memory goes on from call to call, and is
        saved. None: each call begins without one, and trees that save time are not saved.
    """

    pool: Pool
    targets: Targets
    remembered: int
    explore_steps: int = 0
    temperature: float = 1.0
    partner: Agent | None = None
    remembers: Planner | None = None

    def __post_init__(self) -> None:
        if self.pool.game.max_steps > LONGEST:
            raise ValueError(f"max_steps={self.pool.game.max_steps}: must be <= {LONGEST} in games that are learnt from")

    @property
    def seats_at_once(self) -> int:
        """S: seats that may learn in one step: all players; in a game of turns, or with partners, one."""
        alone = self.partner is not None or not moves_at_once(self.pool.game)
        return 1 if alone else self.pool.game.num_players

    @property
    def rows(self) -> int:
        """Searches per step of all lanes, S * L: those of the first seat to act come first."""
        return self.seats_at_once * self.pool.lanes

    def start(self, key: Array, device: Array, first: Array | int = 0) -> Games:
        """Begins games of a device; `first` is the lowest number of all devices, a multiple of their number."""
        lanes, players = self.pool.lanes, self.pool.game.num_players
        results = jnp.full((self.remembered, players), UNFINISHED + 1, jnp.int16)
        partners = () if self._partners is None else self._partners.init()
        memory = () if self.remembers is None else self.remembers.init(self.rows)
        return Games(self.pool.start(key, device, first), results, jnp.zeros((lanes, players), jnp.int16), partners, memory)

    def restart(self, key: Array, games: Games) -> Games:
        """Gives up the games of all lanes and begins the next ones; what the others ended with stays."""
        everywhere = jnp.ones(self.pool.lanes, bool)
        lanes, _ = self.pool.refill(key, games.lanes, everywhere)
        partners = self._reset_partners(games.partners, everywhere)
        results = games.results.at[self._place(lanes.number)].set(UNFINISHED + 1)
        memory = games.memory
        if self.remembers is not None:
            memory = self.remembers.reset(memory, jnp.ones(self.rows, bool))
        return Games(lanes, results, jnp.zeros_like(games.out_at), partners, memory)

    def dealt(self, updates: Updates, programs: Programs) -> Callable[[Array, Learner], Learner]:
        """Makes `deal(key, learner) -> learner`, for a learner of another number of devices: games and rings of numpy, as saved.

        Samples and results go where their games belong; the games that were at work are given up.
        """
        devices = self.pool.num_devices

        numbers = jax.jit(jax.vmap(lambda row: updates.packing.unpack(row).number))

        def owners(rows: np.ndarray) -> np.ndarray:
            return np.asarray(numbers(rows)) % devices

        def begin(key: Array, first: Array, learner: Learner) -> Learner:
            games = self.start(key, jax.lax.axis_index("data"), first)
            results = learner.games.at[self._place(games.lanes.number)].set(UNFINISHED + 1)
            return dataclasses.replace(learner, games=dataclasses.replace(games, results=results))

        compiled = programs.compile(begin, (programs.same, programs.same, programs.learner), programs.learner)

        def deal(key: Array, learner: Learner) -> Learner:
            next_numbers = learner.games.lanes.next_number
            results, first = deal_results(learner.games.results, next_numbers, devices, UNFINISHED + 1)
            ring = deal_rows(learner.ring, devices, updates.buffer_size // devices, owners)
            spread = programs.spread((ring, results))
            return compiled(key, np.int32(first), dataclasses.replace(learner, ring=spread[0], games=spread[1]))

        return deal

    def example(self) -> Sample:
        """Gives a sample of the right shapes."""
        encoder, seat = self.targets.encoder, jnp.int32(0)
        view = encoder.view(self.pool.game.init(jax.random.key(0)), seat)
        return Sample(
            view,
            self.targets.pack(jnp.zeros(encoder.num_outputs)),
            value=jnp.float16(0),
            seat=jnp.int8(0),
            clock=jnp.int16(0),
            number=jnp.int32(0),
        )

    def outcomes_of(self, games: Games, samples: Sample) -> Array:
        """How the games of samples [B] ended for their seats: int8 [B]; `UNFINISHED` where they have not."""
        return (self._results_of(games, samples) % 4 - 1).astype(jnp.int8)

    def steps_left(self, games: Games, samples: Sample) -> Array:
        """After how many more steps the seats of samples [B] were out or the game over: int16 [B]; any where it is not."""
        return self._results_of(games, samples) // 4 - samples.clock

    def _results_of(self, games: Games, samples: Sample) -> Array:
        seats = samples.seat.astype(jnp.int32)[:, None]
        return jnp.take_along_axis(games.results[self._place(samples.number)], seats, 1)[:, 0]

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
        found = self.decide(key, planner, params, memory, games)
        games, ended, counts = self.advance(key, games, found)
        memory = planner.reset(found.memory, jnp.tile(ended, self.seats_at_once))
        return games, memory, found.sample, found.active, counts | _watch(found.plan, found.active)

    def decide(self, key: Array, planner: Planner, params: Any, memory: Any, games: Games) -> Decision:
        """Searches in all lanes, and asks those who play along; arguments as for `step`."""
        pool, encoder, lanes = self.pool, self.targets.encoder, games.lanes
        keys = pool.step_keys(key, lanes)
        seats, active = self._acting(lanes)
        plan_keys, draw_keys, world_keys = (self._per_seat(fold(keys, child)) for child in (_PLAN, _DRAW, _WORLD))
        views, owners = pool.views(lanes, planner.sees_state, seats), seats.reshape(-1)
        plan, memory = planner.plan(params, plan_keys, memory, views, owners, active.reshape(-1))
        of_players = _of_players(plan, planner.value_range)
        own = jax.tree.map(lambda rows: of_asked(rows, owners, own_first=planner.own_first), of_players)
        if planner.sees_state or not is_hidden(pool.game):
            shown = pool.views(lanes, True, seats)
        else:
            shown = jax.vmap(pool.game.sample_hidden)(world_keys, views)
        clock = jnp.tile(lanes.clock, self.seats_at_once)
        chosen = self._choose(draw_keys, own, clock)
        sample = Sample(
            view=jax.vmap(encoder.view)(shown, owners),
            policy=jax.vmap(self.targets.pack_arms)(own.arms, own.legal, own.action_weights, owners),
            value=_value_of(own, chosen).astype(jnp.float16),
            seat=owners.astype(jnp.int8),
            clock=clock.astype(jnp.int16),
            number=jnp.tile(lanes.number, self.seats_at_once),
        )
        memory = acted(memory, chosen, active.reshape(-1))
        chosen = chosen.reshape(seats.shape)
        actions, partners = self._partners_move(keys, games)
        for seat, acts, action in zip(seats, active, chosen, strict=True):
            here = (jnp.arange(pool.game.num_players) == seat[:, None]) & acts[:, None]
            actions = jnp.where(here, action[:, None], actions)
        return Decision(own, sample, active.reshape(-1), actions, seats[0], partners, memory, keys)

    def advance(self, key: Array, games: Games, found: Decision) -> tuple[Games, Array, dict[str, Array]]:
        """Plays what was decided in all lanes: games, those that have ended (bool [L]), and counts to add up."""
        chance = fold(found.keys, _CHANCE)
        return self._advance(key, chance, games, found.partners, found.actions, found.learner)

    def _acting(self, lanes: Lanes) -> tuple[Array, Array]:
        """Seats that may act, and whether they do: int32 and bool [S, L]."""
        asked = self.pool.asked(lanes.states)
        if self._partners is not None:
            seats = self._partners.learner(lanes)[None]
        elif self.seats_at_once == 1:
            seats = jax.vmap(self.pool.game.to_play)(lanes.states).astype(jnp.int32)[None]
        else:
            seats = jnp.tile(jnp.arange(self.seats_at_once, dtype=jnp.int32)[:, None], (1, self.pool.lanes))
        return seats, jnp.stack([of_seat(asked, seat) for seat in seats])

    def _per_seat(self, keys: Array) -> Array:
        """Keys [S * L] of keys [L]."""
        if self.seats_at_once == 1:
            return keys
        seats = jnp.repeat(jnp.arange(self.seats_at_once), len(keys))
        return jax.vmap(jax.random.fold_in)(jnp.tile(keys, self.seats_at_once), seats)

    def _choose(self, keys: Array, plan: Plan, clock: Array) -> Array:
        """Gives actions int32 [B] by plans of one seat each at steps int32 [B]: in the first ones drawn, then the planner's.

        Games that are learnt from are silent: words, as those who believe each other add them, are taken away.
        """
        game = self.pool.game
        planned = game.silent(plan.actions) if can_talk(game) else plan.actions
        if not self.explore_steps:
            return planned
        drawn = of_arm(plan.arms, draw_arm(keys, plan.action_weights, max(self.temperature, 1e-6)))
        return jnp.where(clock < self.explore_steps, drawn, planned)

    @property
    def _partners(self) -> Partners | None:
        return None if self.partner is None else Partners(self.pool, self.partner)

    def _partners_move(self, keys: Array, games: Games) -> tuple[Array, Any]:
        """Actions of those who play along, int32 [L, P], the pass for all others; and their memory."""
        pool, players = self.pool, self.pool.game.num_players
        if self._partners is None:
            return jnp.full((pool.lanes, players), pool.game.pass_action, jnp.int32), games.partners
        return self._partners.move(fold(keys, _PARTNERS), games.lanes, games.partners)

    def _reset_partners(self, memory: Any, lanes: Array) -> Any:
        return memory if self._partners is None else self._partners.reset(memory, lanes)

    def _advance(
        self, key: Array, keys: Array, games: Games, partners: Any, actions: Array, learner: Array
    ) -> tuple[Games, Array, dict[str, Array]]:
        """Plays a step; `learner` int32 [L] is the seat that learns, where it is one."""
        before, game = games.lanes, self.pool.game
        lanes = self.pool.step(before, actions, keys)
        was_in, is_in = (jax.vmap(game.in_play)(states) for states in (before.states, lanes.states))
        out_at = jnp.where(was_in, lanes.clock[:, None], games.out_at).astype(jnp.int16)
        over = lanes.states.terminated
        # Who was out before the end has what it was worth then; a team ends as one.
        outcome, worth = jax.vmap(game.outcome)(lanes.states), jnp.sign(jax.vmap(game.heuristic)(lanes.states))
        in_teams = len(set(teams_of(game))) < game.num_players
        outcome = jnp.where((was_in | in_teams) & over[:, None], outcome, worth)
        ended = over
        if self.partner is not None:
            own_in, own_worth = (of_seat(rows[..., None], learner)[:, 0] for rows in (is_in, worth))
            ended = over | (~own_in & (own_worth != 0))
        watched = jnp.zeros_like(learner) if self.partner is None else learner
        own = of_seat(outcome[..., None], watched)[:, 0]
        counts = {
            "games": ended.sum(dtype=jnp.int32),
            "length": jnp.where(ended, lanes.clock, 0).sum(dtype=jnp.int32),
            "wins": (ended & (own > 0)).sum(dtype=jnp.int32),
            "draws": (ended & (own == 0)).sum(dtype=jnp.int32),
        }
        lanes, _ = self.pool.refill(key, lanes, ended)
        # Two writes as one: first how games ended, then that the next ones are not over.
        numbers = (before.number, lanes.number)
        place = jnp.concatenate([jnp.where(ended, self._place(number), self.remembered) for number in numbers])
        result = (outcome + 1).astype(jnp.int16) + 4 * out_at
        result = jnp.concatenate([result, jnp.full_like(result, UNFINISHED + 1)])
        results = games.results.at[place].set(result, mode="drop")
        out_at = jnp.where(ended[:, None], 0, out_at).astype(jnp.int16)
        return Games(lanes, results, out_at, self._reset_partners(partners, ended), games.memory), ended, counts

    def _place(self, number: Array) -> Array:
        """Where the outcome of a game is kept."""
        return number // self.pool.num_devices % self.remembered


def _of_players(plan: Plan, value_range: tuple[float, float]) -> Plan:
    """The plan without what belongs to no player, and values as results have them: -1 for a loss, 1 for a win."""
    lost, won = value_range

    def as_result(values: Array) -> Array:
        return values if (lost, won) == (-1, 1) else (values - lost) * (2 / (won - lost)) - 1

    return dataclasses.replace(
        plan, metrics={}, qvalues=as_result(plan.qvalues), root_value=as_result(plan.root_value)[..., None]
    )


def _value_of(plan: Plan, actions: Array) -> Array:
    """What plans of one seat each say of actions int32 [B]: float32 [B]; `root_value` where they have not tried it.

    A search by visits has the mean of all its simulations as `root_value`, also of those that began with something else.
    """
    tried = (plan.arms == actions[:, None]) & plan.legal & (plan.visit_counts > 0)
    return jnp.where(tried.any(-1), of_arm(plan.qvalues, jnp.argmax(tried, -1)), plan.root_value[:, 0])


def _watch(plan: Plan, active: Array) -> dict[str, Array]:
    """Counts of plans of one seat each: of those that count."""
    policy = plan.action_weights
    entropy = -jnp.where(active[:, None], policy * jnp.log(jnp.maximum(policy, 1e-30)), 0.0).sum()
    return {
        "entropy": entropy,
        "root_value": jnp.where(active, plan.root_value[:, 0], 0.0).sum(),
        "searches": active.sum(dtype=jnp.int32),
    }
