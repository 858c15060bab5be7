"""Full states that fit what a player knows, all of them as likely, and how likely each kind is in each cell.

Which kinds the other's hidden pieces have is known, but not where: all begin with the same pieces, and what is captured is seen.
Pieces that have moved are no flags and no bombs, and with `far_inference` those that have moved far are scouts. All ways to give
the kinds to the cells that keep to this are as likely: flags and bombs go where nothing has moved, then all else goes to what is
left, each time to a cell drawn evenly.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import random_bits
from jaxgames.bits import Bits, select, union
from jaxgames.stratego import dealing
from jaxgames.stratego.config import StrategoConfig
from jaxgames.stratego.constants import BOMB, FLAG, IMMOBILE, KIND_BITS, NUM_KINDS, RED, SCOUT
from jaxgames.stratego.legal import Sets
from jaxgames.stratego.observation import Observation
from jaxgames.stratego.state import State, count_of, seated

_ORDER = (FLAG, BOMB, *(kind for kind in range(1, NUM_KINDS + 1) if kind not in (*IMMOBILE, SCOUT)), SCOUT)


class Hidden(NamedTuple):
    """What a player does not know.

    Attributes:
      cells: the other's pieces of which it does not know the kind; known scouts are none of them.
      still: those that have not moved.
      scouts: pieces known to be scouts because they have moved far.
      counts: int32 [] by kind, from 1 on: how many there are in `cells`.
      fits: bool [], whether there is a way to give the kinds to the cells.
    """

    cells: Bits
    still: Bits
    scouts: Bits
    counts: tuple[Array, ...]
    fits: Array


def hidden_pieces(config: StrategoConfig, seen: Observation) -> Hidden:
    """Gives what is hidden from a viewer."""
    cells = seen.other - union(seen.kinds)
    counts = [jnp.where(cells.any(), count_of(seen.unknown[1], kind), 0) for kind in range(1, NUM_KINDS + 1)]
    scouts = config.grid.empty
    if config.far_inference:
        scouts = cells & seen.far
        cells = cells - scouts
        counts[SCOUT - 1] = counts[SCOUT - 1] - scouts.count()
    still = cells - seen.moved
    fixed = counts[FLAG - 1] + counts[BOMB - 1]
    fits = (sum(counts) == cells.count()) & (fixed <= still.count()) & (counts[SCOUT - 1] >= 0)
    return Hidden(cells, still, scouts, tuple(counts), fits)


def marginals(config: StrategoConfig, seen: Observation) -> Array:
    """Gives how likely each kind is in each of the other's hidden cells.

    Returns:
      float32 [cells, 12], kinds from 1 on: rows of hidden pieces sum to 1, all others are 0.
    """
    hidden, grid = hidden_pieces(config, seen), config.grid
    counts = jnp.stack(hidden.counts).astype(jnp.float32)
    immobile = np.isin(np.arange(1, NUM_KINDS + 1), IMMOBILE)
    fixed = jnp.where(immobile, counts, 0).sum()
    others = jnp.maximum(counts.sum() - fixed, 1)
    still = jnp.maximum(hidden.still.count(), 1).astype(jnp.float32)
    share_fixed = fixed / still
    of_moved = jnp.where(immobile, 0.0, counts / others)
    of_still = jnp.where(immobile, counts / still, counts / others * (1 - share_fixed))
    cells, unmoved, scouts = (grid.to_bool(each).reshape(-1, 1) for each in (hidden.cells, hidden.still, hidden.scouts))
    known = (np.arange(1, NUM_KINDS + 1) == SCOUT).astype(np.float32)
    return jnp.where(scouts, known, jnp.where(unmoved, of_still, jnp.where(cells, of_moved, 0.0)))


def secrets(config: StrategoConfig, state: State, seen: Observation) -> Array:
    """Gives the kinds that a state gives to the pieces of which a viewer knows no more than that they are there.

    Args:
      config: the variant.
      state: one that fits what the viewer knows.
      seen: what it knows.

    Returns:
      int8 [rows * columns]: kinds from 0 on, -1 in all other cells; the viewer's own back row first, as in its planes.
    """
    hidden, grid = hidden_pieces(config, seen), config.grid
    kinds = sum(grid.to_bool(digit).astype(jnp.int8) << place for place, digit in enumerate(state.kinds))
    found = jnp.where(grid.to_bool(hidden.cells | hidden.scouts), kinds, 0) - 1
    return jnp.where(seen.viewer == RED, found, found[::-1]).astype(jnp.int8).reshape(-1)


def usual_chances(config: StrategoConfig, seen: Observation) -> Array:
    """Tells which kinds are likely in the other's hidden cells by how people set up their pieces.

    Only pieces that have not moved stand where they were set up; of the others all kinds that fit are as likely.

    Returns:
      float32 [rows * columns, 12], logarithms up to a constant; the viewer's own back row first, as in `secrets`.
    """
    grid = config.grid
    usual = np.zeros((config.rows, config.columns, NUM_KINDS), np.float32)
    if config.setups == "human":
        counts = dealing.frequencies(dealing.table_of(config))[..., 1:] + 1.0
        usual[: -config.home_rows - 1 : -1] = np.log(counts / counts.mean((0, 1)))
    still = grid.to_bool(hidden_pieces(config, seen).still)
    still = jnp.where(seen.viewer == RED, still, still[::-1]).reshape(-1, 1)
    return jnp.where(still, usual.reshape(-1, NUM_KINDS), 0.0)


# Traced once per variant, however often a search asks.
@functools.partial(jax.jit, static_argnums=0)
def sample(config: StrategoConfig, key: Array, seen: Observation) -> State:
    """Draws a state that fits what a player knows; every such state is as likely.

    Args:
      config: the variant.
      key: a random key.
      seen: what the player knows. If no board fits it (`hidden_pieces` says so), some hidden pieces are left out.
    """
    hidden = hidden_pieces(config, seen)
    drawn = _place(config, random_bits.lane_key(key), hidden)
    scout = [hidden.scouts.when(jnp.bool_(SCOUT >> number & 1)) for number in range(len(drawn))]
    kinds = tuple(known | new | far for known, new, far in zip(seen.kinds, drawn, scout, strict=True))
    return state_of(seen, kinds)


def _place(config: StrategoConfig, lane: random_bits.LaneKey, hidden: Hidden) -> Sets:
    """Draws a cell for one hidden piece after another; scouts, which come last, take what is left."""
    grid = config.grid
    ends, total = [], jnp.int32(0)  # how many pieces there are of the kinds up to each, in the order of drawing
    for kind in _ORDER[:-1]:
        total = total + hidden.counts[kind - 1]
        ends.append(total)

    def one_more(carry: tuple[Array, Bits, Bits, Sets]) -> tuple[Array, Bits, Bits, Sets]:
        number, cells, still, kinds = carry
        kind = jnp.int32(0)
        for each, begin, end in zip(_ORDER, [jnp.int32(0), *ends], ends, strict=False):
            kind = jnp.where((number >= begin) & (number < end), each, kind)
        free = select(number < ends[1], still, cells)  # flags and bombs stand still
        rank = random_bits.below(random_bits.bits(lane, number), free.count())
        spot = grid.one_hot(free.pick(rank)) & free
        digits = tuple(digit | spot.when((kind >> place) & 1 != 0) for place, digit in enumerate(kinds))
        return number + 1, cells - spot, still - spot, digits

    nothing = grid.empty_words()
    carry: tuple[Array, Bits, Bits, Sets] = (jnp.int32(0), hidden.cells, hidden.still, (nothing,) * KIND_BITS)
    _, rest, _, kinds = jax.lax.while_loop(lambda carry: carry[0] < total, one_more, carry)
    return tuple(digit | rest.when(jnp.bool_(SCOUT >> place & 1)) for place, digit in enumerate(kinds))


def state_of(seen: Observation, kinds: Sets) -> State:
    """Builds the state in which the pieces are of these kinds."""
    first = seen.viewer == RED
    mover = jnp.where(seen.to_move, seen.viewer, 1 - seen.viewer).astype(jnp.int8)
    return State(
        pieces=seated(first, (seen.own, seen.other)),
        kinds=kinds,
        lakes=seen.lakes,
        hidden=seen.hidden,
        moved=seen.moved,
        far=seen.far,
        unknown=seated(first, seen.unknown),
        recent=seated(first, seen.recent),
        last=seen.last,
        past=seen.past,
        player=mover,
        ply=seen.ply,
        winner=seen.winner,
        terminated=seen.terminated,
        reward=jnp.where(first, seen.reward, -seen.reward).astype(jnp.int8),
    )
