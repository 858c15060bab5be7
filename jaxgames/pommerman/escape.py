"""Who can still get away: from the bombs that lie, and from those that others could lay now."""

from __future__ import annotations

from jax import Array

from jaxgames import sliced
from jaxgames.bitboard import DIRECTIONS
from jaxgames.bits import Bits, nth, stacked, union
from jaxgames.fusion import settled
from jaxgames.platforms import repeated
from jaxgames.pommerman import explosions
from jaxgames.pommerman.config import PommermanConfig
from jaxgames.pommerman.constants import START_BLAST_STRENGTH
from jaxgames.pommerman.state import State

STEPS = 8  # a bomb that is laid now leaves time for so many


def cornered(config: PommermanConfig, state: State) -> tuple[Array, Array]:
    """Says who has nowhere to go.

    A place to go is a cell that a bomber comes to in eight steps, not through walls, bombs or enemies, and that no bomb reaches.
    Flames, kicks and the moment at which a bomb goes off are not thought of.

    Args:
      config: the variant.
      state: one game.

    Returns:
      doomed: bool [P], the bombs that lie leave no such cell; False for the dead.
      threatened: bool [P], they leave one, and none would be left if each enemy that has a bomb laid it now.
    """
    grid, bombers, bombs = config.grid, state.bombers, state.bombs
    places = [grid.one_hot(bomber.cell).when(bomber.alive) for bomber in bombers]
    enemies = [config.enemies_of(seat) for seat in range(config.num_players)]
    open_cells = grid.full - state.rigid - state.wood
    leave = [_calm(grid.open_towards(open_cells, direction)) for direction in DIRECTIONS]
    # What is worked on side by side is stacked: the bombs that lie and one per bomber, then a way for each bomber.
    sources = []
    for value in range(START_BLAST_STRENGTH, config.max_blast_strength + 1):
        lying = sliced.equal(bombs.strength, value, bombs.cells)
        own = [
            place.when((bomber.ammo > 0) & (bomber.blast_strength == value))
            for place, bomber in zip(places, bombers, strict=True)
        ]
        sources.append(_calm(stacked([lying, *own])))
    blasts = _calm(explosions.all_rays(grid, union(sources), sources, leave))
    now, laid = nth(blasts, 0), [nth(blasts, 1 + seat) for seat in range(config.num_players)]
    ways = _calm(stacked([open_cells - bombs.cells - union(places[enemy] for enemy in of_seat) for of_seat in enemies]))
    here = _calm(stacked(places))
    reached = repeated(STEPS, lambda cells: cells | (grid.neighbours(cells) & ways), here)
    left = reached - stacked([now] * config.num_players)
    left_then = left - stacked([union(laid[enemy] for enemy in of_seat) for of_seat in enemies])
    doomed, threatened = settled([here.any() & ~left.any(), left.any() & ~left_then.any()])
    return doomed, threatened


def _calm(cells: Bits) -> Bits:
    """Works a set out once: what is read by all rays or in each round of a loop would else be made again each time."""
    return Bits(tuple(settled(cells.words)))
