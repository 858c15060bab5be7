"""What an undecided position promises its players, by hand: for searches that have no network.

A living player's prospects lie between those of a lost and a won game, -1 and 1, whatever they add up to. They grow with the
enemies that are dead, cornered or in the line of a bomb, with what it has collected, with the wood that is gone and with the
nearness of an enemy to hunt; they shrink where it is cornered or in the line of a bomb itself.
"""

from __future__ import annotations

import dataclasses
import functools

import jax.numpy as jnp
from jax import Array

from jaxgames import sliced
from jaxgames.pommerman import explosions, rules
from jaxgames.pommerman.config import PommermanConfig
from jaxgames.pommerman.constants import START_AMMO, START_BLAST_STRENGTH
from jaxgames.pommerman.escape import cornered
from jaxgames.pommerman.modelling import distance
from jaxgames.pommerman.state import State

_MOST_BOMBS, _MOST_STRENGTH = 4, 6  # more of it is worth no more
_UNDECIDED = 0.99  # less than what is won and more than what is lost


@dataclasses.dataclass(frozen=True)
class Weights:
    """What counts how much.

    Attributes:
      kills: all enemies dead (the last one wins the game, and counts 1).
      gear: as many bombs and as much strength as counts, and the kick.
      wood: no wood left.
      near: an enemy in the next cell, against one in the opposite corner.
      duel: added to `near` when one enemy is left.
      in_line: a bomb in whose line one stands, walls or not; a third of it for each enemy who does.
      doomed: no place to go from the bombs that lie, see `escape.cornered`; with a third of `enemy_doomed` for each enemy.
      threatened: none if enemies laid a bomb now; with a third of `enemy_threatened` for each enemy.
    """

    kills: float = 0.4
    gear: float = 0.06
    wood: float = 0.06
    near: float = 0.1
    duel: float = 0.2
    in_line: float = 0.1
    doomed: float = 1.1
    enemy_doomed: float = 0.4
    threatened: float = 0.3
    enemy_threatened: float = 0.1


def prospects(config: PommermanConfig, state: State, weights: Weights = Weights()) -> Array:
    """Values a position for every seat, float32 [P]: the published value where that is not 0, else what is promised."""
    grid, bombers = config.grid, state.bombers
    places = [grid.one_hot(bomber.cell).when(bomber.alive) for bomber in bombers]
    lines = explosions.in_reach(grid, state.bombs.cells, state.bombs.strength, config.max_blast_strength)
    in_line = [place.overlaps(lines).astype(jnp.float32) for place in places]
    alive = [bomber.alive.astype(jnp.float32) for bomber in bombers]
    doomed, threatened = (flags.astype(jnp.float32) for flags in cornered(config, state))
    trapped = weights.enemy_doomed * doomed + weights.enemy_threatened * threatened
    cleared = 1 - state.wood.count().astype(jnp.float32) / max(config.num_wood, 1)
    values = []
    for seat, bomber in enumerate(bombers):
        others = config.enemies_of(seat)
        farthest = grid.rows + grid.columns
        nearest = jnp.int32(farthest)
        for other in others:
            nearest = jnp.minimum(nearest, jnp.where(bombers[other].alive, distance(grid, bomber, bombers[other]), farthest))
        laid = sliced.equal(state.bombs.owner, seat, state.bombs.cells).count()
        bombs = jnp.clip((bomber.ammo + laid - START_AMMO) / (_MOST_BOMBS - START_AMMO), 0, 1)
        strength = (bomber.blast_strength - START_BLAST_STRENGTH) / (_MOST_STRENGTH - START_BLAST_STRENGTH)
        gear = (bombs + jnp.clip(strength, 0, 1) + bomber.can_kick) / 3
        dead = sum(1 - alive[other] for other in others) / len(others)
        exposed = sum(in_line[other] for other in others) / 3
        hunt = weights.near + jnp.where(sum(alive[other] for other in others) == 1, weights.duel, 0)
        values.append(
            weights.kills * dead
            + weights.gear * gear
            + weights.wood * cleared
            + hunt * (1 - nearest / farthest)
            + weights.in_line * (exposed - in_line[seat])
            + sum(trapped[other] for other in others) / 3
            - weights.doomed * doomed[seat]
            - weights.threatened * threatened[seat]
        )
    official = [reward.astype(jnp.float32) for reward in rules.standing(config, state)]
    # By way of an array: a stack of deep expressions makes XLA compute all for each.
    promised = functools.reduce(jnp.add, (value * (jnp.arange(config.num_players) == seat) for seat, value in enumerate(values)))
    settled = functools.reduce(jnp.add, (value * (jnp.arange(config.num_players) == seat) for seat, value in enumerate(official)))
    return jnp.where(settled != 0, settled, jnp.clip(promised, -_UNDECIDED, _UNDECIDED)).astype(jnp.float32)
