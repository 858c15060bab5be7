"""Turns that evolve against an evolving population of the opponent's replies.

Every generation the opponent's turns are bred against the best own turn, and all own turns are valued after the best of these
replies. The lowest value that a turn has met with counts, so that it has to stand against all replies found so far.

(Beyond Justesen et al., who name evolution on both sides as a way to look further ahead.)
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
from jaxgames.packing import Packing, packing_of
from jaxgames.random_bits import LaneKey
from search.arguments import settings_of, state_of
from search.planner import Planner
from search.turns import population
from search.turns.game import Moves, moves_of, value_for
from search.turns.planner import TurnPlan, TurnSearch, never, turn_planner
from search.turns.population import POPULATIONS_AT_ONCE
from search.turns.variation import FitnessFn, Notes, breed, replay

_REPLY, _AGAIN, _ANSWER = (1 << power for power in (20, 21, 22))  # children of a round's key

Found = tuple[Array, Notes]  # genomes, and what is noted of them


@dataclasses.dataclass(frozen=True)
class Settings:
    """How turns and replies evolve; checked when made.

    Attributes:
      num_generations: generations, the first of random turns.
      population: own turns.
      replies: turns of the opponent.
      judges: so many of the best replies are played after every own turn in each generation; the lowest value counts. What is
        drawn at the end of the own turn stays as it was drawn first, with hidden hands the opponent's too.
      trial: share of the rounds, the last ones, in which no more own turns are bred: those that are there have to stand.
      survivors: share of both that is kept from one generation to the next.
      mutation: chance that a child has one gene drawn again.
      microbatch_size: games that think together.
    """

    num_generations: int = 100
    population: int = 60
    replies: int = 12
    judges: int = 3
    trial: float = 0.25
    survivors: float = 0.5
    mutation: float = 0.1
    microbatch_size: int = POPULATIONS_AT_ONCE

    def __post_init__(self) -> None:
        checks.at_least(1, self, "num_generations")
        checks.below(checks.COUNTS, self, "num_generations")
        population.check_sizes(self, "population", "replies")
        population.check_lanes(self, self.population * self.replies)
        checks.at_least(0, self, "judges")
        if not 1 <= self.judges <= self.replies:
            raise ValueError(f"judges={self.judges}: must be in 1..{self.replies}, the number of replies")
        checks.shares(self, "mutation")
        checks.numbers(self, "trial")
        if self.trial >= 1:
            raise ValueError(f"trial={self.trial}: must be < 1")

    @property
    def num_children(self) -> int:
        return self.population - population.survivors_of(self.population, self.survivors)

    @property
    def random_rounds(self) -> int:
        """Rounds in which random turns are made, until there is a whole generation of both."""
        made = self.replies - population.survivors_of(self.replies, self.survivors)
        return max(-(-self.population // self.num_children), -(-self.replies // made))

    @property
    def rounds(self) -> int:
        """Rounds in all."""
        return self.random_rounds + self.num_generations - 1

    @property
    def growing_rounds(self) -> int:
        """Rounds before the trial."""
        return max(self.rounds - int(self.rounds * self.trial), self.random_rounds)

    @property
    def num_evaluations(self) -> int:
        """Turns played per plan: in each round all replies, and the best to every own turn; before the trial new own ones."""
        return self.rounds * (self.population * self.judges + self.replies) + self.growing_rounds * self.num_children


def coevolution(game: Game, settings: Settings | None = None) -> Planner:
    """Online evolutionary planning against evolving replies.

    Args:
      game: a game of turns for two (see `search.turns.game.moves_of`), of which the planner sees what the player to move knows.
      settings: None: 100 generations.

    Raises:
      ValueError: the game is not for two.
    """
    settings = settings_of(Settings, settings)
    moves = moves_of(game)
    return turn_planner(game, moves, "OEP + replies", coevolve(game, moves, settings), microbatch_size=settings.microbatch_size)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Coevolving:
    """Both populations on their way. B games, N own genomes, M replies, L genes.

    Attributes:
      lanes: uint32 [B] each, keys.
      roots: State [B], where the turns start.
      seats: int32 [B], whose they are.
      genomes: int32 [B, N, L].
      notes: "value", float32 [B, N], the lowest so far; "end", uint32 [B, N, F], the packed state after each.
      replies: int32 [B, M, L].
      reply_values: float32 [B, M], for the opponent, after the best own turn of their round.
      rounds: int32 [], how many there were (by a clock, their numbers leave gaps).
    """

    lanes: LaneKey
    roots: Any
    seats: Array
    genomes: Array
    notes: Notes
    replies: Array
    reply_values: Array
    rounds: Array


def coevolve(game: Game, moves: Moves, settings: Settings) -> TurnSearch:
    """Makes the search for a turn: a round is a generation of both populations.

    Args:
      game: the game.
      moves: how it is played.
      settings: see `Settings`.

    Raises:
      ValueError: the game is not for two.
    """
    if game.num_players != 2:
        raise ValueError(f"game={game.name!r}: has {game.num_players} players, and replies are those of one opponent")
    search = _Coevolution(game, moves, settings, packing_of(state_of(game)))
    return TurnSearch(search.start, search.generation, search.finish, never, settings.rounds)


@dataclasses.dataclass(frozen=True)
class _Coevolution:
    """The parts of a round; all fields are static. States are kept as `packing` says."""

    game: Game
    moves: Moves
    settings: Settings
    packing: Packing

    def start(self, lanes: LaneKey, states: Any, seats: Array, active: Array) -> Coevolving:
        """Both populations before there is anybody in them."""
        del active
        settings, length = self.settings, self.moves.turn_length
        shape = (len(seats), settings.population)
        worst = functools.partial(jnp.full, fill_value=-jnp.inf, dtype=jnp.float32)
        return Coevolving(
            lanes=lanes,
            roots=states,
            seats=seats,
            genomes=jnp.full((*shape, length), -1, jnp.int32),
            notes={"value": worst(shape), "end": jnp.zeros((*shape, self.packing.num_words), jnp.uint32)},
            replies=jnp.full((len(seats), settings.replies, length), -1, jnp.int32),
            reply_values=worst((len(seats), settings.replies)),
            rounds=jnp.int32(0),
        )

    def generation(self, number: Array, now: Coevolving) -> Coevolving:
        """The next generation of both."""
        lanes, breeds = random_bits.fold(now.lanes, number), now.rounds >= self.settings.random_rounds
        genomes, ends, values = self._own_turns(number, lanes, now, breeds)
        # Replies are bred against the best turn; in the first round there is none yet, and any will do.
        kept = population.survivors_of(self.settings.population, self.settings.survivors)
        facing = jax.vmap(self.packing.unpack)(jnp.where(now.rounds == 0, ends[:, kept], ends[:, 0]))
        replies, valued = self._replies_to(lanes, now, facing, breeds)
        judges = population.rows(replies, population.order_of(valued["value"])[:, : self.settings.judges])
        lowest = jnp.minimum(values, self._judged(lanes, ends, now.seats, judges))
        return dataclasses.replace(
            now,
            genomes=genomes,
            notes={"value": lowest, "end": ends},
            replies=replies,
            reply_values=valued["value"],
            rounds=now.rounds + 1,
        )

    def finish(self, now: Coevolving) -> TurnPlan:
        """The turn that stood best."""
        values = now.notes["value"]
        best, reply, lane = values.argmax(1), now.reply_values.argmax(1), jnp.arange(len(values))
        finite = jnp.where(values > -jnp.inf, values, jnp.inf)
        metrics = {"value_spread": values.max(1) - finite.min(1), "reply": now.replies[lane, reply]}
        return TurnPlan(now.genomes[lane, best], values[lane, best], metrics)

    def _own_turns(self, number: Array, lanes: LaneKey, now: Coevolving, breeds: Array) -> tuple[Array, Array, Array]:
        """Own turns int32 [B, N, L], the best first and behind them new ones, which are worth as much as can be.

        With them the packed state after each, uint32 [B, N, F], and the values, float32 [B, N].
        """
        size = self.settings.population
        kept = population.survivors_of(size, self.settings.survivors)
        genomes, notes = population.rows((now.genomes, now.notes), population.order_of(now.notes["value"]))
        # While turns are on trial none is bred: values of new ones are those of few replies, and too high.
        grows = number < self.settings.growing_rounds
        old = genomes[:, kept:], {"end": notes["end"][:, kept:], "value": notes["value"][:, kept:]}

        def grown(_: Found) -> Found:
            new, found = self._children(lanes, self._note_end, now.roots, now.seats, genomes[:, :kept], size - kept, breeds)
            return new, found | {"value": jnp.full_like(found["value"], jnp.inf)}

        new, found = jax.lax.cond(grows, grown, lambda old: old, old)
        ends, values = (notes[name].at[:, kept:].set(found[name]) for name in ("end", "value"))
        return genomes.at[:, kept:].set(new), ends, values

    def _replies_to(self, lanes: LaneKey, now: Coevolving, states: Any, breeds: Array) -> Found:
        """The next generation of replies, int32 [B, M, L], valued in the states [B]."""
        others, settings = 1 - now.seats, self.settings
        kept = population.survivors_of(settings.replies, settings.survivors)
        survivors = population.rows(now.replies, population.order_of(now.reply_values))[:, :kept]
        again, reply = random_bits.fold(lanes, _AGAIN), random_bits.fold(lanes, _REPLY)
        old = self._replayed(again, self._value, population.spread(states, kept), others, survivors)
        new = self._children(reply, self._value, states, others, survivors, settings.replies - kept, breeds)
        return jax.tree.map(lambda first, second: jnp.concatenate([first, second], 1), old, new)

    def _judged(self, lanes: LaneKey, ends: Array, seats: Array, judges: Array) -> Array:
        """The lowest value of each own turn after the replies int32 [B, J, L]: float32 [B, N]."""
        size, count = self.settings.population, self.settings.judges
        # Every own turn with every judge, the judges of one turn side by side.
        rows = jnp.repeat(ends.reshape(-1, self.packing.num_words), count, axis=0)
        states, turns = jax.vmap(self.packing.unpack)(rows), jnp.tile(judges, (1, size, 1))
        _, met = self._replayed(random_bits.fold(lanes, _ANSWER), self._value_of_other, states, 1 - seats, turns)
        return met["value"].reshape(-1, size, count).min(-1)

    def _children(
        self, lanes: LaneKey, fitness_fn: FitnessFn, states: Any, seats: Array, parents: Array, made: int, breeds: Array
    ) -> Found:
        """New turns from states [B], int32 [B, made, L], of sorted parents, int32 [B, K, L], with what `fitness_fn` notes."""
        keys = population.genome_keys(lanes, made)
        first, second = (
            population.rows(parents, population.by_game(parent, made)).reshape(-1, self.moves.turn_length)
            for parent in population.parents(keys, parents.shape[1])
        )
        # Of two alike comes nothing new: a random turn takes its place, or replies soon leave the same gap forever.
        wanted = breeds & (first != second).any(-1)
        mutation = self.settings.mutation
        found = breed(self.game, self.moves, fitness_fn, mutation, keys, states, seats, first, second, wanted, made)
        return population.by_game(found, made)

    def _replayed(self, lanes: LaneKey, fitness_fn: FitnessFn, states: Any, seats: Array, turns: Array) -> Found:
        """Turns int32 [B, K, L] from states [B * K], for seats [B], with what `fitness_fn` notes."""
        count = turns.shape[1]
        keys, mine = population.genome_keys(lanes, count), jnp.repeat(seats, count)
        turns = turns.reshape(-1, self.moves.turn_length)
        return population.by_game(replay(self.game, self.moves, fitness_fn, keys, states, mine, turns), count)

    def _note_end(self, lanes: LaneKey, states: Any, seats: Array) -> Notes:
        del lanes
        return {"end": jax.vmap(self.packing.pack)(states), "value": jnp.zeros(len(seats))}

    def _value(self, lanes: LaneKey, states: Any, seats: Array) -> Notes:
        del lanes
        return {"value": jax.vmap(functools.partial(value_for, self.game))(states, seats)}

    def _value_of_other(self, lanes: LaneKey, states: Any, seats: Array) -> Notes:
        return self._value(lanes, states, 1 - seats)
