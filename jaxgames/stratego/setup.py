"""The start of a game: a position that is given, or set-ups that are drawn for both sides alike."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxgames.bits import WORD_BITS, Bits
from jaxgames.stratego import dealing, rules
from jaxgames.stratego.config import StrategoConfig
from jaxgames.stratego.constants import BLUE, KIND_BITS, KIND_NAMES, NOTHING, NUM_KINDS, RED
from jaxgames.stratego.state import LastMove, State, packed_counts

_BLOCKED_KEY, _AGAIN_KEY = 2, 3  # of a game's key: after those of the two set-ups; the next ones are of other set-ups
_DRAWS_OF_LAKES, _DRAWS_OF_SET_UPS = 64, 128  # at most; settings are checked to have a fair one among 250 draws of both


def init(config: StrategoConfig, key: Array) -> State:
    """Gives a start state: the position that the config names, or one with drawn set-ups. Red is to move.

    A side that cannot move when it is its turn has lost, also at the start.
    """
    if config.start:
        from jaxgames.stratego import notation  # needs this module

        return jax.tree.map(jnp.asarray, notation.read(dataclasses.replace(config, start=""), config.start))
    if config.blocked_fields:
        return rules.settled(config, _fair_start(config, key))
    return rules.settled(config, start_state(config, *boards(config, key)))


def boards(config: StrategoConfig, key: Array) -> tuple[Array, Array]:
    """Draws where the pieces of both sides stand: kinds uint8 [cells], owners int8 [cells] (-1: nobody)."""
    kinds = jnp.zeros(config.num_cells, jnp.uint8)
    owners = jnp.full(config.num_cells, -1, jnp.int8)
    for seat in (RED, BLUE):
        dealt = dealing.deal(config, jax.random.fold_in(key, seat), seat)
        home = np.array(config.home_cells[seat])
        kinds = kinds.at[home].set(dealt)
        owners = owners.at[home].set(jnp.where(dealt > 0, seat, -1).astype(jnp.int8))
    return kinds, owners


def as_bits(config: StrategoConfig, mask: Array) -> Bits:
    """Makes a set of bool [cells]."""
    padded = jnp.zeros(config.grid.num_words * WORD_BITS, bool).at[: config.num_cells].set(mask)
    words = (padded.reshape(-1, WORD_BITS).astype(jnp.uint32) << np.arange(WORD_BITS, dtype=np.uint32)).sum(-1, dtype=jnp.uint32)
    return Bits(tuple(words[number] for number in range(config.grid.num_words)))


def start_state(config: StrategoConfig, kinds: ArrayLike, owners: ArrayLike) -> State:
    """Gives the state in which nobody has moved yet; see `boards` for its arguments. Whether it is over is not looked at."""
    kinds, owners = jnp.asarray(kinds), jnp.asarray(owners)
    open_kinds = [KIND_NAMES.index(name) + 1 for name in config.open_pieces]
    hidden = (kinds != NOTHING) & ~jnp.isin(kinds, jnp.array(open_kinds, jnp.uint8))
    digits = tuple(as_bits(config, (kinds >> number) & 1 != 0) for number in range(KIND_BITS))
    of_kind = hidden[:, None] & (kinds[:, None] == np.arange(1, NUM_KINDS + 1))
    red, blue = (packed_counts((of_kind & (owners == seat)[:, None]).sum(0)) for seat in (RED, BLUE))
    nothing = config.grid.empty_words()
    return State(
        pieces=(as_bits(config, owners == RED), as_bits(config, owners == BLUE)),
        kinds=digits,
        lakes=jax.tree.map(jnp.asarray, config.grid.constant(config.lakes)),
        hidden=as_bits(config, hidden),
        moved=nothing,
        far=nothing,
        unknown=(red, blue),
        recent=(no_move(), no_move()),
        last=(jnp.int8(-1), jnp.int8(-1)),
        past=(jnp.uint32(0),) * config.remembered,
        player=jnp.int8(RED),
        ply=jnp.int16(0),
        winner=jnp.int8(-1),
        terminated=jnp.bool_(False),
        reward=jnp.int8(0),
    )


def no_move() -> LastMove:
    """What is remembered before the first move."""
    return LastMove(jnp.int8(-1), jnp.int8(-1), jnp.int8(0))


def _fair_start(config: StrategoConfig, key: Array) -> State:
    """Draws set-ups and lakes so that all pieces can be reached and both sides can move: other set-ups where no lakes do.

    If there is no such start among all that are drawn, the last one.
    """

    def draw(carry: tuple[State, Array, Array]) -> tuple[State, Array, Array]:
        number = carry[2]
        other = jax.random.key_data(jax.random.fold_in(key, _AGAIN_KEY + number))
        words = jnp.where(number == 0, jax.random.key_data(key), other)
        here = jax.random.wrap_key_data(words, impl=jax.random.key_impl(key))
        state, fair = _with_lakes(config, jax.random.fold_in(here, _BLOCKED_KEY), start_state(config, *boards(config, here)))
        return state, fair, number + 1

    def again(carry: tuple[State, Array, Array]) -> Array:
        return ~carry[1] & (carry[2] < _DRAWS_OF_SET_UPS)

    kinds, owners = jnp.zeros(config.num_cells, jnp.uint8), jnp.full(config.num_cells, -1, jnp.int8)
    nothing = start_state(config, kinds, owners)
    state, _, _ = jax.lax.while_loop(again, draw, (nothing, jnp.bool_(False), jnp.int32(0)))
    return state


def _with_lakes(config: StrategoConfig, key: Array, state: State) -> tuple[State, Array]:
    """Adds lakes on empty cells, and says whether all pieces can be reached and both sides can move: bool []."""
    grid = config.grid
    taken = state.pieces[RED] | state.pieces[BLUE]
    empty = grid.to_bool(grid.full - taken - state.lakes).reshape(-1)

    def draw(carry: tuple[Bits, Array, Array]) -> tuple[Bits, Array, Array]:
        _, _, tries = carry
        rank = jnp.where(empty, jax.random.uniform(jax.random.fold_in(key, tries), empty.shape), 2.0)
        places = jnp.argsort(rank)[: config.blocked_fields]  # so many, though two cells may have drawn the same
        blocked = as_bits(config, (np.arange(config.num_cells) == places[:, None]).any(0))
        lakes = state.lakes | blocked
        return lakes, _is_fair(config, dataclasses.replace(state, lakes=lakes)), tries + 1

    def again(carry: tuple[Bits, Array, Array]) -> Array:
        return ~carry[1] & (carry[2] < _DRAWS_OF_LAKES)

    lakes, fair, _ = jax.lax.while_loop(again, draw, (state.lakes, jnp.bool_(False), jnp.int32(0)))
    return dataclasses.replace(state, lakes=lakes), fair


def _is_fair(config: StrategoConfig, state: State) -> Array:
    """Says whether all pieces are in one part of the land, and both sides can move: bool []."""
    grid = config.grid
    taken = state.pieces[RED] | state.pieces[BLUE]
    reached = grid.flood(grid.one_hot(taken.first()), grid.full - state.lakes)
    stuck = [rules.settled(config, dataclasses.replace(state, player=jnp.int8(seat))).terminated for seat in (RED, BLUE)]
    return ~(taken - reached).any() & ~stuck[RED] & ~stuck[BLUE]
