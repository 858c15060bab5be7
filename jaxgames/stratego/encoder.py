"""What networks are shown of Stratego."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.bitboard import select
from jaxgames.encoder import stack_planes
from jaxgames.stratego import hidden, legal
from jaxgames.stratego.config import StrategoConfig
from jaxgames.stratego.constants import BLUE, IMMOBILE, NUM_KINDS, RED
from jaxgames.stratego.observation import Observation


def yorktown_planes(config: StrategoConfig, seen: Observation) -> Array:
    """Gives the planes of the published code for a viewer: float32 [rows, columns, 29], Red's back row first for both players.

    For each kind Red's pieces and Blue's: 1 where the viewer knows one, and where it does not know, a number that stands for how
    likely it is: for flags and bombs their share of the hidden pieces that have not moved, for others of all hidden pieces (no
    probabilities, as they do not sum to 1). Then Blue's hidden pieces, Red's, empty cells, lakes, and 1 everywhere if Blue is to move.
    """
    grid, red = config.grid, seen.viewer == RED
    plain = hidden.hidden_pieces(_without_inference(config), seen)
    cells, still = (jnp.maximum(each.count(), 1).astype(jnp.float32) for each in (plain.cells, plain.still))
    unknown, unmoved = grid.to_bool(plain.cells), grid.to_bool(plain.still)
    planes = []
    for kind in range(1, NUM_KINDS + 1):
        known = legal.of_kind(seen.kinds, kind)
        count = plain.counts[kind - 1].astype(jnp.float32)
        guess = jnp.where(unmoved, count / still, 0) if kind in IMMOBILE else jnp.where(unknown, count / cells, 0)
        mine = grid.to_bool(known & seen.own).astype(jnp.float32)
        others = grid.to_bool(known & seen.other).astype(jnp.float32) + guess
        planes += [jnp.where(red, mine, others), jnp.where(red, others, mine)]
    pieces = select(red, (seen.own, seen.other), (seen.other, seen.own))
    empty = grid.full - pieces[RED] - pieces[BLUE] - seen.lakes
    sets = (seen.hidden & pieces[BLUE], seen.hidden & pieces[RED], empty, seen.lakes)
    blue_moves = jnp.where(seen.to_move, ~red, red)
    turn = jnp.broadcast_to(blue_moves, (config.rows, config.columns))
    return stack_planes([*planes, *(grid.to_bool(each) for each in sets), turn])


def _without_inference(config: StrategoConfig) -> StrategoConfig:
    import dataclasses

    return dataclasses.replace(config, far_inference=False)


__all__ = ["np", "yorktown_planes"]
