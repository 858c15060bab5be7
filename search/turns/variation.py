"""How turns are made out of others: played gene by gene, each legal where it stands.

A genome is the list of actions to the end of a turn, End Turn included, -1 after it.

(Source: Justesen et al., Playing Multi-Action Adversarial Games: Online Evolutionary Planning versus Tree Search, section V,
and the released program.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import random_bits
from jaxgames.bits import Bits
from jaxgames.game import Game
from jaxgames.lanes import where_lanes
from jaxgames.random_bits import LaneKey
from search.turns import game as sets
from search.turns.game import Moves, with_end

# Children of a genome's key by position, for the game's own chance, for a mutant and for its value; then counters.
_CHANCE = 1 << 20
_MUTATE = 1 << 21
_VALUE = 1 << 22
_MUTANT, _PLACE = 2, 3  # after those of its parents
_COIN, _DRAW = range(2)  # of the key of a position

# What is noted of genomes: arrays [G, ...] by name, "value" among them.
Notes = dict[str, Array]
# `fitness_fn(lanes, states, seats) -> Notes` of the states after turns, State [G], for the seats that played them.
FitnessFn = Callable[[LaneKey, Any, Array], Notes]
# `gene(moves, key, state, offered, given) -> action` of one genome at one position.
Gene = Callable[[Moves, LaneKey, Any, Bits, Any], Array]


def breed(
    game: Game,
    moves: Moves,
    fitness_fn: FitnessFn,
    mutation: float,
    keys: LaneKey,
    roots: Any,
    seats: Array,
    first: Array,
    second: Array,
    breeds: Array,
    per_game: int,
) -> tuple[Array, Notes]:
    """Makes a child of each pair of parents, or a random turn.

    Args:
      game: the game.
      moves: how it is played.
      fitness_fn: values the state after each.
      mutation: chance that a child has one gene drawn again.
      keys: uint32 [G] each.
      roots: State [B], where turns start; G = B * per_game.
      seats: int32 [B], whose turns they are.
      first: int32 [G, L], genomes of parents.
      second: int32 [G, L].
      breeds: bool [G], else the turn is random.
      per_game: children per game.

    Returns:
      Genomes int32 [G, L] and what `fitness_fn` notes of them.
    """
    games = jnp.arange(len(first), dtype=jnp.int32) // per_game
    states, mine = jax.tree.map(lambda leaf: jnp.repeat(leaf, per_game, axis=0), (roots, seats))
    given = _crossing(*(jnp.where(breeds[:, None], parent, -1) for parent in (first, second)))
    played = _play(game, moves, states, mine, keys, _crossed_gene, given)
    is_mutant = breeds & (random_bits.uniform(random_bits.bits(keys, _MUTANT)) < mutation)
    mutant_keys = random_bits.fold(keys, _MUTATE)
    portion = max(1, min(len(first), int(len(first) * mutation * 1.2)))

    def again(chosen: Array) -> tuple[Array, Any]:
        genomes = played[0][chosen]
        own, playing = (LaneKey(*(half[chosen] for half in each)) for each in (keys, mutant_keys))
        states, mine = jax.tree.map(lambda leaf: leaf[games[chosen]], (roots, seats))
        places = random_bits.below(random_bits.bits(own, _PLACE), (genomes >= 0).sum(1, dtype=jnp.int32))
        given = (genomes.T, jnp.arange(moves.turn_length)[:, None] - places)
        return _play(game, moves, states, mine, playing, _mutant_gene, given)

    # Turns are ended and valued when all have their genes: once to compile, and no turn that a mutant replaces.
    genomes, states = _for_some(again, is_mutant, portion, played)
    keys = LaneKey(*where_lanes(is_mutant, mutant_keys, keys))
    return _ended(moves, fitness_fn, mine, keys, genomes, states)


def replay(
    game: Game, moves: Moves, fitness_fn: FitnessFn, keys: LaneKey, states: Any, seats: Array, genomes: Array
) -> tuple[Array, Notes]:
    """Plays given turns from states that may be others than those they were made for: illegal genes are replaced.

    Args:
      game: the game.
      moves: how it is played.
      fitness_fn: values the state after each.
      keys: uint32 [G] each.
      states: State [G].
      seats: int32 [G].
      genomes: int32 [G, L].

    Returns:
      As `breed` does; of a state in which the seat is not to move, an empty genome.
    """
    played = _play(game, moves, states, seats, keys, _crossed_gene, _crossing(genomes, genomes))
    return _ended(moves, fitness_fn, seats, keys, *played)


def _for_some(make: Callable[[Array], Any], needed: Array, portion: int, old: Any) -> Any:
    """Replaces the rows [G] that need it by what `make` makes of their numbers (int32 [portion]), a portion at a time."""
    # By counting, which on a CPU is much faster than a sort.
    rank = jnp.cumsum(needed, dtype=jnp.int32) - 1
    total = rank[-1] + 1
    order = jnp.zeros(len(needed) + portion, jnp.int32)
    order = order.at[jnp.where(needed, rank, len(order))].set(jnp.arange(len(needed), dtype=jnp.int32), mode="drop")

    def one_portion(carry: tuple[Array, Any]) -> tuple[Array, Any]:
        done, rows = carry
        new = make(jax.lax.dynamic_slice_in_dim(order, done, portion))
        here = needed & (rank >= done) & (rank < done + portion)
        at = jnp.clip(rank - done, 0, portion - 1)
        return done + portion, where_lanes(here, jax.tree.map(lambda leaf: leaf[at], new), rows)

    return jax.lax.while_loop(lambda carry: carry[0] < total, one_portion, (jnp.int32(0), old))[1]


def _play(game: Game, moves: Moves, states: Any, seats: Array, keys: LaneKey, gene: Gene, given: Any) -> tuple[Array, Any]:
    """Plays turns whose genes are chosen as they go, up to their ends; `given`: arrays [L, G, ...], for `gene`."""

    def step(carry: tuple[Any, Array], now: tuple[Array, Any]) -> tuple[tuple[Any, Array], Array]:
        states, going = carry
        position, given = now

        def one(key: LaneKey, state: Any, given: Any) -> tuple[Any, Array]:
            action = gene(moves, random_bits.fold(key, position), state, moves.offered(state), given)
            return moves.act(state, action), action

        after, action = jax.vmap(one)(keys, states, given)
        acts = going & (action != moves.end_turn)
        states = where_lanes(acts, after, states)
        return (states, acts & unfinished(states)), jnp.where(going, action, -1)

    def unfinished(states: Any) -> Array:
        return ~states.terminated & (jax.vmap(game.to_play)(states) == seats)

    # The last gene can only be the end of the turn. Turns that end earlier wait for it too: it is played once, for all.
    last = moves.turn_length - 1
    given = jax.tree.map(lambda leaf: leaf[:last], given)
    (states, going), genomes = jax.lax.scan(step, (states, unfinished(states)), (jnp.arange(last), given))
    return jnp.concatenate([genomes, jnp.where(going, moves.end_turn, -1)[None]]).T, states


def _ended(moves: Moves, fitness_fn: FitnessFn, seats: Array, keys: LaneKey, genomes: Array, states: Any) -> tuple[Array, Notes]:
    """Plays the ends of turns, and notes what came of them: genomes int32 [G, L], and the states before their ends."""
    ends = genomes == moves.end_turn
    position = ends.argmax(1).astype(jnp.int32)
    states = with_end(moves, ends.any(1), random_bits.fold(keys, _CHANCE + position), states)
    return genomes, fitness_fn(random_bits.fold(keys, _VALUE), states, seats)


def _crossing(first: Array, second: Array) -> tuple[Array, Array, Array, Array]:
    """Gives both parents' genes at every place and at the next, int32 [L, G] each, from int32 [G, L]."""

    def later(genes: Array) -> Array:
        return jnp.concatenate([genes[1:], jnp.full_like(genes[:1], -1)])

    return first.T, second.T, later(first.T), later(second.T)


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
    """Draws the gene at one place again, and those after it that have become illegal."""
    old, distance = given
    others = sets.without(offered, old)
    drawn = sets.draw(others, random_bits.bits(key, _DRAW))
    drawn = jnp.where(others.any(), drawn, moves.end_turn)
    keeps = (distance < 0) | ((distance > 0) & sets.has(moves.legal(state), old))
    return jnp.where(keeps, old, drawn)
