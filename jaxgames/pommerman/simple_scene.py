"""What SimpleAgents take from the board, sorted for their questions; without fog it is the same for all agents."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import sliced
from jaxgames.bits import Bits, select, union
from jaxgames.pommerman import explosions
from jaxgames.pommerman.config import PommermanConfig
from jaxgames.pommerman.constants import START_BLAST_STRENGTH
from jaxgames.pommerman.observation import Observation, item_cells


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Scene:
    """The board as one or more SimpleAgents see it.

    Attributes:
      passages: board code 0.
      walkable: passages and power-ups: what everybody can cross.
      candidates: what the search looks at: everything in view but rigid walls and flames.
      wood: wood.
      items: extra bombs, ranges, kicks.
      agents: per seat the set of its cell, empty if dead or out of view.
      bombs: all bombs, also those under agents.
      strength: their blast strengths, 4 digits.
      at_least: at_least[d] are the bombs of strength d or more, d = 0 .. the maximum.
      unsafe: cells in the row or column of a bomb and not farther from it than its strength, walls or not.
    """

    passages: Bits
    walkable: Bits
    candidates: Bits
    wood: Bits
    items: tuple[Bits, ...]
    agents: tuple[Bits, ...]
    bombs: Bits
    strength: tuple[Bits, ...]
    at_least: tuple[Bits, ...]
    unsafe: Bits

    def strongest(self, bombs: Bits) -> Array:
        """Gives the largest strength among some bombs, int32 []; 0 for none."""
        value = jnp.int32(0)
        for digit in reversed(range(len(self.strength))):
            larger = bombs & self.strength[digit]
            some = larger.any()
            bombs = select(some, larger, bombs)
            value = value | (some.astype(jnp.int32) << digit)
        return value


def look(config: PommermanConfig, observation: Observation) -> Scene:
    """Sorts an observation."""
    grid = config.grid
    bombs = union(observation.bomb_strength)
    agents = tuple(grid.one_hot(cell) for cell in observation.bomber_cells)
    candidates = observation.view - observation.rigid - union(observation.flame_life)
    walkable = candidates - observation.wood - bombs - union(agents)
    at_least = [grid.empty]
    for value in range(config.max_blast_strength, START_BLAST_STRENGTH - 1, -1):
        at_least.insert(0, at_least[0] | sliced.equal(observation.bomb_strength, value, bombs))
    return Scene(
        passages=walkable - union(observation.items),
        walkable=walkable,
        candidates=candidates,
        wood=observation.wood,
        items=item_cells(observation),
        agents=agents,
        bombs=bombs,
        strength=observation.bomb_strength,
        at_least=(*(bombs,) * START_BLAST_STRENGTH, *at_least[:-1]),
        unsafe=explosions.may_be_hit(grid, bombs, observation.bomb_strength, config.max_blast_strength),
    )


def enemies_of(config: PommermanConfig, scene: Scene, seat: Array) -> tuple[Bits, ...]:
    """Gives per seat the set of its cell if it is an enemy of `seat` (int32 []) in view, else the empty set."""
    hostile = [(seat + other) & 1 if config.is_team else seat ^ other for other in range(config.num_players)]
    return tuple(agent.when(flag != 0) for agent, flag in zip(scene.agents, hostile, strict=True))
