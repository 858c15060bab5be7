"""Online evolutionary planning: a population of turns evolves, and the best is played.

Every generation the worst genomes give way to children of the others; all genomes of all games of a batch are bred together.
Beyond the paper there are ways to keep a population from looking alike: niches, restarts, islands.

(Source: Justesen et al., Playing Multi-Action Adversarial Games: Online Evolutionary Planning versus Tree Search, section V.)
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import checks, random_bits
from jaxgames.game import Game
from jaxgames.packing import packing_of
from jaxgames.random_bits import LaneKey
from search.arguments import settings_of, state_of
from search.planner import Planner
from search.turns import population
from search.turns.game import Moves, finish_turn, moves_of, value_for
from search.turns.planner import TurnPlan, TurnSearch, never, turn_planner
from search.turns.population import POPULATIONS_AT_ONCE
from search.turns.variation import Notes, breed

_ISLAND = 1 << 20  # children of a lane's key, beside those by round
_AGAIN = 1 << 21


@dataclasses.dataclass(frozen=True)
class Settings:
    """How turns evolve; checked when made.

    Attributes:
      num_generations: generations, the first of random turns.
      population: genomes.
      survivors: share of them that is kept from one generation to the next.
      mutation: chance that a child has one gene drawn again.
      rollouts: 0: the heuristic after the own turn is the value; else so many turns of the opponent are played after it as
        rollouts do, and the value is the mean after them. They are played again every generation, and the lowest mean counts.
        What is drawn at the end of the own turn stays as it was drawn first, with hidden hands the opponent's too.
      greediness: chance that a rollout takes the highest rated action.
      niches: only the best genome of all that lead to the same state may survive. With random draws at the end of a turn states
        differ by what was drawn.
      restart_after: after so many generations without a better turn the population begins again, and the best turn so far is put
        aside, to be played if nothing better is found; 0: never.
      islands: populations that evolve apart, as a batch axis; the best of them is played.
      migrate_every: rounds between two voyages, in which each island's best takes the place of the next one's last survivor (the
        released program sends the last but one, and lets islands grow).
      microbatch_size: games that think together.
    """

    num_generations: int = 200
    population: int = 100
    survivors: float = 0.5
    mutation: float = 0.1
    rollouts: int = 0
    greediness: float = 0.5
    niches: bool = False
    restart_after: int = 0
    islands: int = 1
    migrate_every: int = 10
    microbatch_size: int = POPULATIONS_AT_ONCE

    def __post_init__(self) -> None:
        checks.at_least(1, self, "num_generations", "islands", "migrate_every")
        checks.at_least(0, self, "rollouts", "restart_after")
        checks.below(checks.COUNTS, self, "num_generations", "migrate_every", "rollouts", "restart_after")
        population.check_sizes(self, "population")
        population.check_lanes(self, self.islands * self.population)
        checks.flags(self, "niches")
        checks.shares(self, "mutation", "greediness")
        if self.islands == 1 and self.migrate_every != Settings.migrate_every:
            raise ValueError(f"migrate_every={self.migrate_every}: needs islands > 1")
        if not self.rollouts and self.greediness != Settings.greediness:
            raise ValueError(f"greediness={self.greediness}: needs rollouts")

    @property
    def num_survivors(self) -> int:
        return population.survivors_of(self.population, self.survivors)

    @property
    def num_children(self) -> int:
        return self.population - self.num_survivors

    @property
    def random_rounds(self) -> int:
        """Rounds of random turns, `num_children` each, until the first generation is full."""
        return -(-self.population // self.num_children)

    @property
    def rounds(self) -> int:
        """Rounds in all."""
        return self.random_rounds + self.num_generations - 1

    @property
    def round_evaluations(self) -> int:
        """Turns evaluated in a round: with rollouts survivors too."""
        return self.islands * (self.population if self.rollouts else self.num_children)

    @property
    def num_evaluations(self) -> int:
        """Turns evaluated per plan."""
        return self.rounds * self.round_evaluations


def oep(game: Game, settings: Settings | None = None) -> Planner:
    """Online evolutionary planning with the game's heuristic after the own turn as fitness.

    Args:
      game: a game of turns (see `search.turns.game.moves_of`), of which the planner sees what the player to move knows.
      settings: None: those of the paper, with 200 generations.
    """
    return _planner(game, settings, "OEP", keeps_plan=True)


def rolling_horizon(game: Game, settings: Settings | None = None) -> Planner:
    """The same, but only the first action of the evolved turn is played: the rest of the turn is evolved again before each.

    Args:
      game: as for `oep`.
      settings: as for `oep`; they hold for each action, so that a turn costs several times as much.
    """
    return _planner(game, settings, "Rolling Horizon Evolution", keeps_plan=False)


def _planner(game: Game, given: Settings | None, name: str, keeps_plan: bool) -> Planner:
    settings, moves = settings_of(Settings, given), moves_of(game)
    search = evolution(game, moves, settings)
    return turn_planner(game, moves, name, search, microbatch_size=settings.microbatch_size, keeps_plan=keeps_plan)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Evolving:
    """Populations on their way. B games (times islands), N genomes each, L genes.

    Attributes:
      lanes: uint32 [B] each, keys.
      roots: State [B], where the turns start.
      seats: int32 [B], whose they are.
      genomes: int32 [B, N, L].
      notes: arrays [B, N, ...]: "value", float32; "outcome", uint32 [2], if noted; "end", the packed state, with rollouts.
      elite: int32 [B, L], the best turn before the last restart, of value `elite_value`, float32 [B].
      elite_value: see `elite`.
      reached: float32 [B], the highest value since the last restart.
      since: int32 [B], rounds without a higher one.
      breeds_from: int32 [B], the round in which random turns end.
      rounds: int32 [], how many there were (by a clock, their numbers leave gaps).
    """

    lanes: LaneKey
    roots: Any
    seats: Array
    genomes: Array
    notes: Notes
    elite: Array
    elite_value: Array
    reached: Array
    since: Array
    breeds_from: Array
    rounds: Array


def evolution(game: Game, moves: Moves, settings: Settings, *, notes_outcomes: bool = False) -> TurnSearch:
    """Makes the search for a turn: a round is a generation.

    Args:
      game: the game.
      moves: how it is played.
      settings: see `Settings`.
      notes_outcomes: note what each turn leads to also without niches, for those who count them.
    """
    size, kept, made = settings.population, settings.num_survivors, settings.num_children
    fitness_fn = functools.partial(_fitness, game, moves, settings, settings.niches or notes_outcomes)

    def start(lanes: LaneKey, states: Any, seats: Array, active: Array) -> Evolving:
        del active
        if settings.islands > 1:
            # Every island is a lane with a key of its own.
            lanes = population.genome_keys(random_bits.fold(lanes, _ISLAND), settings.islands)
            states, seats = population.spread((states, seats), settings.islands)
        batch = len(seats)
        shapes = jax.eval_shape(fitness_fn, lanes, states, seats)
        notes = {name: jnp.zeros((batch, size, *leaf.shape[1:]), leaf.dtype) for name, leaf in shapes.items()}
        return Evolving(
            lanes=lanes,
            roots=states,
            seats=seats,
            genomes=jnp.full((batch, size, moves.turn_length), -1, jnp.int32),
            notes=notes | {"value": jnp.full((batch, size), -jnp.inf, jnp.float32)},
            elite=jnp.full((batch, moves.turn_length), -1, jnp.int32),
            elite_value=jnp.full(batch, -jnp.inf),
            reached=jnp.full(batch, -jnp.inf),
            since=jnp.zeros(batch, jnp.int32),
            breeds_from=jnp.full(batch, settings.random_rounds, jnp.int32),
            rounds=jnp.int32(0),
        )

    def generation(number: Array, now: Evolving) -> Evolving:
        now = _sorted(settings, now)
        if settings.restart_after:
            now = _restarted(settings, now)
        if settings.islands > 1:
            now = _migrated(settings, now)
        if settings.rollouts:
            now = _evaluated_again(game, moves, settings, random_bits.fold(now.lanes, _AGAIN + number), now)
        keys = population.genome_keys(random_bits.fold(now.lanes, number), made)
        first, second = (
            population.rows(now.genomes, population.by_game(parent, made)).reshape(-1, moves.turn_length)
            for parent in population.parents(keys, kept)
        )
        # In the first rounds there are no parents yet, and turns are random.
        breeds = jnp.repeat(now.rounds >= now.breeds_from, made)
        found = breed(game, moves, fitness_fn, settings.mutation, keys, now.roots, now.seats, first, second, breeds, made)
        children, notes = population.by_game(found, made)
        return dataclasses.replace(
            now,
            genomes=now.genomes.at[:, kept:].set(children),
            notes={name: leaf.at[:, kept:].set(notes[name]) for name, leaf in now.notes.items()},
            rounds=now.rounds + 1,
        )

    def finish(now: Evolving) -> TurnPlan:
        values = now.notes["value"]
        best, lane = values.argmax(1), jnp.arange(len(values))
        keeps = values[lane, best] >= now.elite_value
        turns = jnp.where(keeps[:, None], now.genomes[lane, best], now.elite)
        highest = jnp.maximum(values.max(1), now.elite_value)
        apart = values.max(1) - jnp.where(values > -jnp.inf, values, jnp.inf).min(1)
        if settings.islands > 1:
            turns, highest, apart = population.by_game((turns, highest, apart), settings.islands)
            island, lane = highest.argmax(1), jnp.arange(len(highest))
            turns, highest, apart = turns[lane, island], highest[lane, island], apart[lane, island]
        return TurnPlan(turns, highest, {"value_spread": apart})

    return TurnSearch(start, generation, finish, never, settings.rounds)


def _fitness(
    game: Game, moves: Moves, settings: Settings, notes_outcomes: bool, lanes: LaneKey, states: Any, seats: Array
) -> Notes:
    """Notes the value of the states after turns, and what else is needed of them."""
    notes = {}
    if settings.rollouts:
        notes["end"] = jax.vmap(packing_of(state_of(game)).pack)(states)
        notes["value"] = _rollout_value(game, moves, settings, lanes, states, seats)
    else:
        notes["value"] = jax.vmap(functools.partial(value_for, game))(states, seats)
    if notes_outcomes:
        notes["outcome"] = jax.vmap(game.state_key)(states)
    return notes


def _rollout_value(game: Game, moves: Moves, settings: Settings, lanes: LaneKey, states: Any, seats: Array) -> Array:
    """The mean heuristic for the seat after so many turns of the other, float32 [G]."""

    def one(number: Array, total: Array) -> Array:
        ends = finish_turn(game, moves, settings.greediness, random_bits.fold(lanes, number), states)
        return total + jax.vmap(functools.partial(value_for, game))(ends, seats)

    return jax.lax.fori_loop(0, settings.rollouts, one, jnp.zeros(len(seats))) / settings.rollouts


def _sorted(settings: Settings, now: Evolving) -> Evolving:
    """Puts the best first."""
    notes = now.notes
    if settings.niches:
        notes = notes | {"value": population.deduplicate(notes["value"], notes["outcome"])}
    genomes, notes = population.rows((now.genomes, notes), population.order_of(notes["value"]))
    return dataclasses.replace(now, genomes=genomes, notes=notes)


def _restarted(settings: Settings, now: Evolving) -> Evolving:
    """Begins again where nothing better was found for long. Populations are sorted."""
    values = now.notes["value"]
    top = values[:, 0]
    settled = now.rounds > now.breeds_from
    since = jnp.where((top > now.reached) | ~settled, 0, now.since + 1)
    again = since >= settings.restart_after
    better = again & (top > now.elite_value)
    return dataclasses.replace(
        now,
        notes=now.notes | {"value": jnp.where(again[:, None], -jnp.inf, values)},
        elite=jnp.where(better[:, None], now.genomes[:, 0], now.elite),
        elite_value=jnp.where(better, top, now.elite_value),
        reached=jnp.where(again, -jnp.inf, jnp.maximum(top, now.reached)),
        since=jnp.where(again, 0, since),
        breeds_from=jnp.where(again, now.rounds + settings.random_rounds, now.breeds_from),
    )


def _migrated(settings: Settings, now: Evolving) -> Evolving:
    """Sends a copy of each island's best to the next island now and then, but not where one begins again. All are sorted."""
    last = settings.num_survivors - 1
    settled = now.rounds >= now.breeds_from
    sails = settled & _from_before(settled, settings.islands) & (now.rounds % settings.migrate_every == 0)

    def send(leaf: Array) -> Array:
        arrived = _from_before(leaf[:, 0], settings.islands)
        here = sails.reshape(-1, *[1] * (arrived.ndim - 1))
        return leaf.at[:, last].set(jnp.where(here, arrived, leaf[:, last]))

    genomes, notes = jax.tree.map(send, (now.genomes, now.notes))
    return dataclasses.replace(now, genomes=genomes, notes=notes)


def _from_before(rows: Array, islands: int) -> Array:
    """What each island's neighbour has: [B * islands, ...]."""
    return jnp.roll(population.by_game(rows, islands), 1, axis=1).reshape(rows.shape)


def _evaluated_again(game: Game, moves: Moves, settings: Settings, lanes: LaneKey, now: Evolving) -> Evolving:
    """Plays the rollouts of survivors again; the lowest value counts, so that luck does not last."""
    kept = settings.num_survivors
    unpack = packing_of(state_of(game)).unpack
    ends = now.notes["end"][:, :kept]
    states = jax.vmap(unpack)(ends.reshape(-1, ends.shape[-1]))
    keys, seats = population.genome_keys(lanes, kept), jnp.repeat(now.seats, kept)
    values = _rollout_value(game, moves, settings, keys, states, seats).reshape(-1, kept)
    lowest = now.notes["value"].at[:, :kept].min(values)
    return dataclasses.replace(now, notes=now.notes | {"value": lowest})
