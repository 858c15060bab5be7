"""One attempt in Hex or DarkHex, and what may be tried."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
from jax import Array

from jaxgames.bits import Bits, select
from jaxgames.hex.config import HexConfig
from jaxgames.hex.geometry import BLACK, WHITE
from jaxgames.hex.state import State


def own_view(config: HexConfig, state: State, player: Array) -> tuple[Bits, Bits]:
    """Gives a player's own stones and those of the other that it knows (player: int [], may be traced)."""
    first = player == BLACK
    own = select(first, state.stones[BLACK], state.stones[WHITE])
    if config.is_dark:
        return own, select(first, state.found[BLACK], state.found[WHITE])
    return own, select(first, state.stones[WHITE], state.stones[BLACK])


def legal_cells(config: HexConfig, state: State) -> Bits:
    """Gives the cells that the player to move may try: those empty in its view; none after the end."""
    own, other = own_view(config, state, state.player)
    return (config.grid.full - own - other).when(~state.terminated)


def step(config: HexConfig, state: State, cell: Array) -> State:
    """Lets the player to move try a cell.

    Args:
      config: the variant.
      state: one game.
      cell: int []; one that may not be tried loses the game.

    Returns:
      The state after it; a finished game stays as it is, with rewards 0.
    """
    grid = config.grid
    first = state.player == BLACK
    spot = grid.one_hot(jnp.asarray(cell)) & legal_cells(config, state)
    legal = spot.any()
    own, other = select(first, state.stones, (state.stones[1], state.stones[0]))
    hit = spot & other
    stone = spot - other
    near, far = (select(first, *pair) for pair in (state.near, state.far))
    north, west = grid.edges(BLACK)[0], grid.edges(WHITE)[0]
    south, east = grid.edges(BLACK)[1], grid.edges(WHITE)[1]
    around = grid.neighbours(stone)
    joins_near = stone.overlaps(select(first, north, west)) | around.overlaps(near)
    joins_far = stone.overlaps(select(first, south, east)) | around.overlaps(far)
    won = joins_near & joins_far
    own = own | stone
    # The stone's group takes over the edge that it has just been joined to; the winning stone joins nothing.
    joined = (joins_near | joins_far) & ~won
    group = grid.flood(stone.when(joined), own - near - far)
    near, far = near | group.when(joins_near), far | group.when(joins_far)

    def both(pair: tuple[Bits, Bits], mine: Bits) -> tuple[Bits, Bits]:
        return select(first, mine, pair[0]), select(first, pair[1], mine)

    found = both(state.found, select(first, *state.found) | hit) if config.is_dark else state.found
    passes = stone.any() if config.rules == "classical" else jnp.bool_(True)
    over = won | ~legal
    reward = jnp.where(won, 1, jnp.where(legal, 0, -1)).astype(jnp.int8)
    turn = (passes | over).astype(jnp.int16)
    after = State(
        stones=both(state.stones, own),
        found=found,
        near=both(state.near, near),
        far=both(state.far, far),
        player=jnp.where(passes & ~over, 1 - state.player, state.player).astype(jnp.int8),
        turns=(state.turns[0] + jnp.where(first, turn, 0), state.turns[1] + jnp.where(first, 0, turn)),
        attempts=state.attempts + jnp.int16(1),
        last=jnp.where(won, jnp.asarray(cell), -1).astype(jnp.int16),
        terminated=over,
        seat_rewards=(jnp.where(first, reward, -reward), jnp.where(first, -reward, reward)),
    )
    rest = dataclasses.replace(state, seat_rewards=(jnp.int8(0), jnp.int8(0)))
    return select(state.terminated, rest, after)


def winner(state: State) -> Array:
    """Gives +1 where the first player has won, -1 the second, 0 while the game runs: int8 []."""
    mover_won = state.last >= 0
    sign = jnp.where((state.player == BLACK) == mover_won, 1, -1)
    return jnp.where(state.terminated, sign, 0).astype(jnp.int8)
