"""Start states for games that follow each other in many lanes: a pool drawn once, of which every new game gets a fair draw."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import random_bits, shapes
from jaxgames.dependence import depends_on_inputs
from jaxgames.game import Game
from jaxgames.packing import Packing, packing_of
from jaxgames.random_bits import LaneKey

_DRAWN_AT_ONCE = 256


@dataclasses.dataclass(frozen=True)
class Starts:
    """The start states of a game: what is drawn in them is kept as rows of words, all else is the same in each.

    A game takes one of the rows, each with the same probability, whatever other lanes do. With no rows each game draws its own
    start state, which costs as much as a draw for every lane whenever a game ends in one of them.

    Attributes:
      game: the game.
      size: rows N; 0: none.
    """

    game: Game
    size: int

    def draw(self, key: Array) -> Array:
        """Draws the pool: uint32 [N, W]; W is 0 where all start states are the same."""
        packing, which = self._drawn_leaves
        if not self.size or not any(which):
            return jnp.zeros((self.size, 0), jnp.uint32)

        def row(key: Array) -> Array:
            leaves = jax.tree.leaves(self.game.init(key))
            return packing.pack([leaf for leaf, drawn in zip(leaves, which, strict=True) if drawn])

        return jax.lax.map(row, jax.random.split(key, self.size), batch_size=min(self.size, _DRAWN_AT_ONCE))

    def take(self, rows: Array, lanes: LaneKey, wanted: Array) -> Any:
        """Gives a start state to each lane that wants one.

        Args:
          rows: of `draw`.
          lanes: keys, leaves [B].
          wanted: bool [B].

        Returns:
          State [B]; where none is wanted, any, also one that no game has.
        """
        packing, which = self._drawn_leaves
        init = jax.vmap(self.game.init)
        if any(which) and not self.size:
            batch = shapes.batched(shapes.state_of(self.game), len(lanes.first))
            nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), batch)
            return jax.lax.cond(wanted.any(), init, lambda keys: nothing, random_bits.typed_keys(lanes))
        same = init(random_bits.typed_keys(jax.tree.map(jnp.zeros_like, lanes)))
        if not any(which):
            return same
        index = random_bits.below_many(random_bits.bits(lanes, 0), self.size)
        drawn = iter(jax.vmap(packing.unpack)(rows[index]))
        leaves = [next(drawn) if varies else leaf for leaf, varies in zip(jax.tree.leaves(same), which, strict=True)]
        return jax.tree.unflatten(jax.tree.structure(same), leaves)

    @functools.cached_property
    def _drawn_leaves(self) -> tuple[Packing, list[bool]]:
        """Says which leaves of a start state are drawn, and how a list of these is packed."""
        key = jax.eval_shape(lambda: jax.random.key(0))
        which = depends_on_inputs(self.game.init, key)
        leaves = jax.tree.leaves(shapes.state_of(self.game))
        return packing_of([leaf for leaf, drawn in zip(leaves, which, strict=True) if drawn]), which
