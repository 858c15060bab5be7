"""Online evolutionary planning: a population of turns evolves, and the best is played.

A genome is the list of actions to the end of the turn, End Turn included; it is legal by construction. Every generation the worst
give way to children of the others. All genomes of all games of a batch are bred together, position by position.

(Source: Justesen et al., Playing Multi-Action Adversarial Games: Online Evolutionary Planning versus Tree Search, section V.)
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import checks, random_bits
from jaxgames.bitboard import Bits
from jaxgames.game import Game
from jaxgames.random_bits import LaneKey
from search import moves as sets
from search.moves import Moves, moves_of, value_for
from search.planner import Planner, where_lanes
from search.turns import LANES_AT_ONCE, TurnPlan, turn_planner

# Of a genome's key in one generation: children by position, for the game's own chance, and for a mutant; then counters.
_CHANCE = 1 << 20
_MUTATE = 1 << 21
_FIRST_PARENT, _SECOND_PARENT, _MUTANT, _PLACE = range(4)
_COIN, _DRAW = range(2)  # of the key of a position


@dataclasses.dataclass(frozen=True)
class Settings:
    """How turns evolve; checked when made.

    Attributes:
      num_generations: generations, the first of random turns.
      population: genomes.
      survivors: share of them that is kept from one generation to the next.
      mutation: chance that a child has one gene drawn anew.
      lanes_at_once: games that think together.
    """

    num_generations: int = 200
    population: int = 100
    survivors: float = 0.5
    mutation: float = 0.1
    lanes_at_once: int = LANES_AT_ONCE

    def __post_init__(self) -> None:
        checks.at_least(1, self, "num_generations", "lanes_at_once")
        if self.population < 4:
            raise ValueError(f"population={self.population}: must be >= 4, for two parents and as many children")
        if not 2 <= self.num_survivors < self.population:
            raise ValueError(f"survivors={self.survivors}: must leave 2 to {self.population - 1} of {self.population} genomes")
        if not 0 <= self.mutation <= 1:
            raise ValueError(f"mutation={self.mutation}: must be in 0..1")

    @property
    def num_survivors(self) -> int:
        return int(self.population * self.survivors)

    @property
    def num_children(self) -> int:
        return self.population - self.num_survivors

    @property
    def random_rounds(self) -> int:
        """Rounds in which so many random turns are made as children later, until the first generation is full."""
        return -(-self.population // self.num_children)

    @property
    def rounds(self) -> int:
        """Rounds in all."""
        return self.random_rounds + self.num_generations - 1

    @property
    def num_evaluations(self) -> int:
        """Genomes made and evaluated per turn."""
        return self.rounds * self.num_children


def generations_for(evaluations: int, settings: Settings) -> Settings:
    """Gives the settings with as many generations as so many evaluations allow, at least one.

    Raises:
      ValueError: there are none.
    """
    if evaluations < 1:
        raise ValueError(f"evaluations={evaluations}: must be >= 1")
    more = evaluations // settings.num_children - settings.random_rounds
    return dataclasses.replace(settings, num_generations=1 + max(more, 0))


def oep(game: Game, settings: Settings | None = None) -> Planner:
    """Online evolutionary planning with the game's heuristic after the own turn as fitness.

    Args:
      game: a game of turns (see `moves.moves_of`), of which the planner sees the full state.
      settings: None: those of the paper, with 200 generations.
    """
    return _planner(game, settings or Settings(), "OEP", keeps_plan=True)


def rolling_horizon(game: Game, settings: Settings | None = None) -> Planner:
    """The same, but only the first action of the evolved turn is played: the rest of the turn is evolved anew before each.

    Args:
      game: as for `oep`.
      settings: as for `oep`; they hold for each action.
    """
    return _planner(game, settings or Settings(), "Rolling Horizon Evolution", keeps_plan=False)


def _planner(game: Game, settings: Settings, name: str, keeps_plan: bool) -> Planner:
    moves = moves_of(game)

    def search(params: Any, lanes: LaneKey, states: Any, seats: Array, active: Array) -> TurnPlan:
        del params, active
        return evolve(game, moves, settings, lanes, states, seats)

    return turn_planner(game, moves, name, search, lanes_at_once=settings.lanes_at_once, keeps_plan=keeps_plan)


def evolve(game: Game, moves: Moves, settings: Settings, lanes: LaneKey, roots: Any, seats: Array) -> TurnPlan:
    """Evolves turns from many states at once.

    Args:
      game: the game.
      moves: how it is played.
      settings: see `Settings`.
      lanes: uint32 [B] each, keys.
      roots: State [B], at any point of a turn.
      seats: int32 [B], who is to move, for whom turns are valued.
    """
    kept, made = settings.num_survivors, settings.num_children
    batch = len(seats)
    many_roots, many_seats = _spread(roots, made), _spread(seats, made)
    start = (
        jnp.full((batch, settings.population, moves.turn_length), -1, jnp.int32),
        jnp.full((batch, settings.population), -jnp.inf, jnp.float32),
    )

    def generation(number: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        genomes, values = _sorted(*carry)
        keys = _genome_keys(random_bits.fold(lanes, number), made)
        parents = [_by_game(parent, made) for parent in _parents(keys, kept)]
        # In the first rounds there are no parents yet, and turns are random.
        breeds = number >= settings.random_rounds
        given = _crossing(*(jnp.where(breeds, _rows(genomes, parent), -1).reshape(-1, moves.turn_length) for parent in parents))
        children, child_values = _play(game, moves, many_roots, many_seats, keys, _crossed_gene, given)
        children, child_values = _mutated(game, moves, settings, keys, roots, seats, children, child_values, breeds)
        genomes = genomes.at[:, kept:].set(_by_game(children, made))
        return genomes, values.at[:, kept:].set(_by_game(child_values, made))

    genomes, values = jax.lax.fori_loop(0, settings.rounds, generation, start)
    best = values.argmax(1)
    lane = jnp.arange(len(best))
    spread = values.max(1) - values.min(1)
    return TurnPlan(genomes[lane, best], values[lane, best], {"value_spread": spread})


# --- genomes, one per lane ----------------------------------------------------------------------------------------------

Gene = Callable[[Moves, LaneKey, Any, Bits, Any], Array]


def _play(game: Game, moves: Moves, states: Any, seats: Array, keys: LaneKey, gene: Gene, given: Any) -> tuple[Array, Array]:
    """Plays turns whose genes are chosen as they go.

    Args:
      game: the game.
      moves: how it is played.
      states: State [G], where they start.
      seats: int32 [G].
      keys: uint32 [G] each.
      gene: `gene(moves, key, state, offered, given) -> action` of one genome at one position.
      given: what it is given, arrays [L, G, ...].

    Returns:
      Genomes int32 [G, L], -1 behind End Turn, and their values float32 [G].
    """

    def step(carry: tuple[Any, Array], now: tuple[Array, Any]) -> tuple[tuple[Any, Array], Array]:
        states, going = carry
        position, given = now

        def one(key: LaneKey, state: Any, seat: Array, given: Any) -> tuple[Any, Array, Array]:
            action = gene(moves, random_bits.fold(key, position), state, moves.offered(state), given)
            after = moves.advance(state, action, random_bits.fold(key, _CHANCE + position))
            return after, action, (game.to_play(after) == seat) & ~after.terminated

        after, action, on = jax.vmap(one)(keys, states, seats, given)
        return (where_lanes(going, after, states), going & on), jnp.where(going, action, -1)

    running = ~states.terminated & (jax.vmap(game.to_play)(states) == seats)
    (states, _), genomes = jax.lax.scan(step, (states, running), (jnp.arange(moves.turn_length), given))
    values = jax.vmap(functools.partial(value_for, game))(states, seats)
    return genomes.T, values


def _crossing(first: Array, second: Array) -> tuple[Array, Array, Array, Array]:
    """Gives both parents' genes at every place and at the next, int32 [L, G] each, from int32 [G, L]."""

    def behind(genes: Array) -> Array:
        return jnp.concatenate([genes[1:], jnp.full_like(genes[:1], -1)])

    return first.T, second.T, behind(first.T), behind(second.T)


def _crossed_gene(moves: Moves, key: LaneKey, state: Any, offered: Bits, given: tuple[Array, ...]) -> Array:
    """Takes the gene of one parent by a coin, else of the other, else one of the next place, else draws one."""
    del moves, state
    first, second, behind_first, behind_second = given
    coin = (random_bits.bits(key, _COIN) >> 31) != 0
    heads, tails = jnp.where(coin, first, second), jnp.where(coin, second, first)
    gene = sets.draw(offered, random_bits.bits(key, _DRAW))
    for candidate in (behind_second, behind_first, tails, heads):
        gene = jnp.where(sets.has(offered, candidate), candidate, gene)
    return gene


def _mutant_gene(moves: Moves, key: LaneKey, state: Any, offered: Bits, given: tuple[Array, Array]) -> Array:
    """Draws the gene at one place anew, and those behind it that have become illegal."""
    old, distance = given
    others = sets.without(offered, jnp.maximum(old, 0))
    drawn = sets.draw(others, random_bits.bits(key, _DRAW))
    drawn = jnp.where(others.any(), drawn, moves.end_turn)
    keeps = (distance < 0) | ((distance > 0) & sets.has(moves.legal(state), old))
    return jnp.where(keeps, old, drawn)


def _mutated(
    game: Game,
    moves: Moves,
    settings: Settings,
    keys: LaneKey,
    roots: Any,
    seats: Array,
    genomes: Array,
    values: Array,
    breeds: Array,
) -> tuple[Array, Array]:
    """Mutates some of the children, if they are bred at all (bool []); those alone are played again, a portion at a time."""
    count = len(values)
    is_mutant = breeds & (random_bits.uniform(random_bits.bits(keys, _MUTANT)) < settings.mutation)
    length = (genomes >= 0).sum(1, dtype=jnp.int32)
    places = random_bits.below(random_bits.bits(keys, _PLACE), length)
    portion = max(1, min(count, int(count * settings.mutation * 1.2)))
    order = jnp.argsort(~is_mutant, stable=True).astype(jnp.int32)
    rank = jnp.argsort(order).astype(jnp.int32)
    order = jnp.concatenate([order, jnp.broadcast_to(order[:1], (portion,))])
    total = is_mutant.sum(dtype=jnp.int32)
    games = jnp.arange(count, dtype=jnp.int32) // settings.num_children

    def one_portion(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        done, genomes, values = carry
        chosen = jax.lax.dynamic_slice_in_dim(order, done, portion)
        of_game = games[chosen]
        states, mine = jax.tree.map(lambda leaf: leaf[of_game], (roots, seats))
        own_keys = random_bits.fold(LaneKey(*(half[chosen] for half in keys)), _MUTATE)
        given = (genomes[chosen].T, jnp.arange(moves.turn_length)[:, None] - places[chosen])
        new, new_values = _play(game, moves, states, mine, own_keys, _mutant_gene, given)
        here = is_mutant & (rank >= done) & (rank < done + portion)
        at = jnp.clip(rank - done, 0, portion - 1)
        return done + portion, jnp.where(here[:, None], new[at], genomes), jnp.where(here, new_values[at], values)

    _, genomes, values = jax.lax.while_loop(lambda carry: carry[0] < total, one_portion, (jnp.int32(0), genomes, values))
    return genomes, values


# --- populations --------------------------------------------------------------------------------------------------------


def _genome_keys(lanes: LaneKey, count: int) -> LaneKey:
    """Gives each genome of each game a key: uint32 [B * count] each."""
    keys = random_bits.fold(LaneKey(lanes.first[:, None], lanes.second[:, None]), jnp.arange(count))
    return LaneKey(keys.first.reshape(-1), keys.second.reshape(-1))


def _spread(tree: Any, count: int) -> Any:
    """Repeats every game for each of its genomes: [B, ...] -> [B * count, ...]."""
    return jax.tree.map(lambda leaf: jnp.repeat(leaf, count, axis=0), tree)


def _by_game(rows: Array, count: int) -> Array:
    """[B * count, ...] -> [B, count, ...]."""
    return rows.reshape(-1, count, *rows.shape[1:])


def _sorted(genomes: Array, values: Array) -> tuple[Array, Array]:
    """Sorts every population, the best first, equals in their order: by counting, which on a CPU is much faster than a sort."""
    ahead = values[:, None, :] > values[:, :, None]
    number = jnp.arange(values.shape[1])
    ahead = ahead | ((values[:, None, :] == values[:, :, None]) & (number[None, :] < number[:, None]))
    rank = ahead.sum(-1, dtype=jnp.int32)
    lane = jnp.arange(len(values))[:, None]
    order = jnp.zeros_like(rank).at[lane, rank].set(jnp.broadcast_to(number.astype(jnp.int32), rank.shape))
    return _rows(genomes, order), jnp.take_along_axis(values, order, axis=1)


def _rows(genomes: Array, index: Array) -> Array:
    """Picks genomes: [B, N, L], int32 [B, C] -> [B, C, L]."""
    return jnp.take_along_axis(genomes, index[:, :, None], axis=1)


def _parents(keys: LaneKey, survivors: int) -> tuple[Array, Array]:
    """Draws two different survivors for each child, int32 [G] each."""
    first = random_bits.below(random_bits.bits(keys, _FIRST_PARENT), survivors)
    other = random_bits.below(random_bits.bits(keys, _SECOND_PARENT), survivors - 1)
    return first, jnp.where(other >= first, other + 1, other)
