"""Rule-based players of Hex and DarkHex, as agents."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import random_bits
from jaxgames.agent import Agent, memoryless
from jaxgames.bits import Bits
from jaxgames.hex.game import Hex
from jaxgames.hex.hidden import Information


def random_agent(game: Hex) -> Agent:
    """Makes an agent that tries each cell that is empty in its view with the same probability."""

    def choose(key: Array, info: Information) -> Array:
        cells: Bits = game.config.grid.full - info.view.own - info.view.known
        rank = random_bits.below(random_bits.bits(random_bits.lane_key(key), 0), jnp.maximum(cells.count(), 1))
        return cells.pick(rank.astype(jnp.int32)).astype(jnp.int32)

    return memoryless("random", lambda params, keys, views, seats: jax.vmap(choose)(keys, views))


def path_agent(game: Hex) -> Agent:
    """Makes an agent that plays where it needs the fewest stones to join its edges, and the other too.

    It counts, by the stones it knows, how many free cells lie on a shortest way through each cell for either side, and takes the
    cell with the smallest sum, the most central of several. It never looks further.
    """
    config = game.config
    size = config.board_size
    neighbours = config.grid.neighbour_table
    far = jnp.float32(1e4)
    offsets = np.abs(np.stack(np.divmod(np.arange(size * size), size)) - (size - 1) / 2).sum(0)
    eccentricity = (offsets / 1024).astype(np.float32)  # less than one stone

    def distances(free: Array, own: Array, player: int, near: bool) -> Array:
        """Stones needed to join each cell, itself included, to one of the player's edges: float32 [n * n]."""
        rows, columns = jnp.divmod(jnp.arange(size * size), size)
        line = rows if player == 0 else columns
        starts = line == (0 if near else size - 1)
        cost = jnp.where(own, 0.0, jnp.where(free, 1.0, far))
        begin = jnp.where(starts, cost, far)

        def relax(carry: tuple[Array, Array]) -> tuple[Array, Array]:
            best, _ = carry
            around = jnp.append(best, far)[neighbours].min(-1)
            better = jnp.minimum(best, around + cost)
            return better, (better < best).any()

        return jax.lax.while_loop(lambda carry: carry[1], relax, (begin, jnp.bool_(True)))[0]

    def choose(info: Information) -> Array:
        view = info.view
        own, known = (config.grid.to_bool(cells).reshape(-1) for cells in (view.own, view.known))
        free = ~own & ~known

        def through(player: int) -> Array:
            stones = jnp.where(view.player == player, own, known)
            return distances(free, stones, player, True) + distances(free, stones, player, False) - 1

        score = jnp.where(free, through(0) + through(1) + eccentricity, jnp.inf)
        return score.argmin().astype(jnp.int32)

    return memoryless("path", lambda params, keys, views, seats: jax.vmap(choose)(views), draws=False)
