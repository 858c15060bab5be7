"""What a player believes to be the state, from its own observations alone: the root of a search that does not cheat.

A board in full view shows all but three things: what lies under wood, whose a bomb is, and what others have collected. Wood is
believed to hide nothing. Owners and collections are followed as in PommerLearn ("track stats"), or taken for the worst. What
lies in fog goes on by the rules as it was last seen, everybody there standing still.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import sliced
from jaxgames.bitboard import DIRECTIONS, OPPOSITE, Grid
from jaxgames.bits import Bits, select, union
from jaxgames.pommerman import rules, setup
from jaxgames.pommerman.config import PommermanConfig
from jaxgames.pommerman.constants import BOMB_LIFE, ITEM_DIGITS, MAX_AMMO, NUM_MESSAGES, Move
from jaxgames.pommerman.observation import Observation
from jaxgames.pommerman.state import Bomber, Bombs, State

_WORST_AMMO = 5  # bombs of an opponent of whom nothing is known


def init_belief(config: PommermanConfig, observation: Observation, *, worst_case: bool = False) -> State:
    """Gives what a player takes for the truth after the first observation of a game: a state that agrees with all that it shows.

    Args:
      config: the variant.
      observation: what the player sees.
      worst_case: take others for fully equipped, and forget what was seen of that; else follow what they collect.
    """
    nothing = jax.tree.map(jnp.asarray, config.grid.empty)
    start = setup.start_state(config, nothing, nothing, (nothing,) * ITEM_DIGITS)  # who is in fog is believed to be in its corner
    return _seen(config, start, start, observation, worst_case)


def update_belief(
    config: PommermanConfig, before: State, observation: Observation, own_action: Array, *, worst_case: bool = False
) -> State:
    """Adds the observation after a step.

    Args:
      config: the variant.
      before: what the player believed in before the step.
      observation: after it.
      own_action: int32 [], what the player did.
      worst_case: as in `init_belief`.
    """
    ahead = before
    if config.view_radius is not None:
        still = jnp.int32(Move.STOP) * (NUM_MESSAGES if config.has_messages else 1)
        actions = jnp.where(jnp.arange(config.num_players) == observation.seat, own_action, still)
        ahead = rules.transition(config, before, actions)
    return _seen(config, before, ahead, observation, worst_case)


def without_hidden(state: State) -> State:
    """Gives a state in which wood and flames hide no power-ups, and a cell has no older flame under a younger one."""
    first, second, newest = state.flames
    flames = (first - second - newest, second - newest, newest)
    return dataclasses.replace(state, items=sliced.keep(state.items, state.visible_items), flames=flames)


def _seen(config: PommermanConfig, before: State, ahead: State, observation: Observation, worst_case: bool) -> State:
    """Puts what is seen in the place of what was believed before the step; out of sight lies what the rules said was `ahead`."""
    view = observation.view

    def with_hidden(seen: tuple[Bits, ...], believed: tuple[Bits, ...]) -> tuple[Bits, ...]:
        return tuple(one | (other - view) for one, other in zip(seen, believed, strict=True))

    low, high = observation.flame_life  # life + 1 of the youngest flame
    flames = with_hidden((low - high, high - low, low & high), ahead.flames)
    rigid, wood = with_hidden((observation.rigid, observation.wood), (ahead.rigid, ahead.wood))
    visible = ahead.visible_items
    items = with_hidden(observation.items, sliced.keep(ahead.items, visible))
    # What there was to collect in the step: out of sight whoever stands still has it by now, and does not collect it again.
    lay = with_hidden(sliced.keep(before.items, before.visible_items & view), sliced.keep(ahead.items, visible))
    cells = _cells(config, before, observation, rigid | wood | union(flames))
    places = [config.grid.one_hot(cell).when(alive) for cell, alive in zip(cells, observation.alive, strict=True)]
    life = with_hidden(observation.bomb_life, ahead.bombs.life)
    strength = with_hidden(observation.bomb_strength, ahead.bombs.strength)
    moving = with_hidden(observation.bomb_moving, ahead.bombs.moving)
    owner = with_hidden(_owners(config, before, places, observation), ahead.bombs.owner)
    bombs = Bombs(life, strength, owner, moving)
    bombers = tuple(
        select(
            observation.seat == seat,
            observation.own,
            dataclasses.replace(
                _worst(config, known) if worst_case else _followed(config, before, bombs, seat, place, lay),
                cell=cell,
                alive=alive,
            ),
        )
        for seat, (known, place, cell, alive) in enumerate(zip(before.bombers, places, cells, observation.alive, strict=True))
    )
    return dataclasses.replace(
        before,
        rigid=rigid,
        wood=wood,
        items=items,
        flames=flames,
        bombs=bombs,
        bombers=bombers,
        messages=_messages(config, before, observation),
        step_count=observation.step_count,
        terminated=rules.is_over(config, bombers, observation.step_count),
        seat_rewards=rules.seat_rewards(config, bombers, observation.step_count),
        ring_falls=rules.ring_falls(config, observation.step_count),
    )


def _cells(config: PommermanConfig, before: State, observation: Observation, walls: Bits) -> tuple[Array, ...]:
    """Where everybody is: as seen, else as last seen; who is not there any more has gone to the nearest free cell in fog."""
    seen = observation.bomber_cells
    known = tuple(bomber.cell for bomber in before.bombers)
    if config.view_radius is not None:
        refuge = config.grid.full - observation.view - walls
        known = tuple(nearest(config.grid, cell, refuge) for cell in known)
    return tuple(jnp.where(cell >= 0, cell, other).astype(jnp.int8) for cell, other in zip(seen, known, strict=True))


def nearest(grid: Grid, cell: Array, refuge: Bits) -> Array:
    """The first of the cells of a set that are nearest to a cell, whatever lies between; the cell itself if the set is empty."""
    some = refuge.any()

    def misses(carry: Bits) -> Array:
        return some & ~carry.overlaps(refuge)

    reached = jax.lax.while_loop(misses, lambda cells: cells | grid.neighbours(cells), grid.one_hot(cell))
    return jnp.where(some, (reached & refuge).first(), cell).astype(jnp.int8)


def _owners(config: PommermanConfig, before: State, places: list[Bits], observation: Observation) -> tuple[Bits, ...]:
    """Whose the bombs in sight are: of old ones, as before; of new ones, who stands on them; of all others, an enemy's."""
    grid, known = config.grid, before.bombs
    life, moving = observation.bomb_life, observation.bomb_moving
    bombs = union(life)
    fresh = sliced.equal(life, BOMB_LIFE - 1, bombs)  # laid in this step
    stayed = (bombs - fresh - union(moving)) & known.cells
    owner = sliced.keep(known.owner, stayed)
    told = stayed
    for direction in DIRECTIONS:
        came = (moving[direction] & grid.shift(known.cells, direction)) - fresh
        owner = tuple(plane | (grid.shift(old, direction) & came) for plane, old in zip(owner, known.owner, strict=True))
        told = told | came
    for each, place in enumerate(places):
        laid = (bombs - told) & place
        owner, told = sliced.fill(owner, laid, each), told | laid
    enemy = (observation.seat + 1) % config.num_players
    return sliced.write(owner, bombs - told, enemy)


def _worst(config: PommermanConfig, known: Bomber) -> Bomber:
    """Somebody who has collected everything and has no bomb on the board."""
    return dataclasses.replace(
        known,
        ammo=jnp.int8(_WORST_AMMO),
        blast_strength=jnp.int8(config.max_blast_strength),
        can_kick=jnp.bool_(True),
    )


def _followed(config: PommermanConfig, before: State, bombs: Bombs, seat: int, place: Bits, lay: tuple[Bits, ...]) -> Bomber:
    """What a bomber has after a step, by what it was seen to do.

    It gets a power-up that lay where it stands; a bomb of its own tells its reach; a bomb that rolls out of the cell into which
    it has stepped was kicked; and what it may lay is what it could lay before, but for its bombs that lie about.
    """
    grid, known = config.grid, before.bombers[seat]
    low, high = (plane.overlaps(place) for plane in lay)
    mine = sliced.equal(bombs.owner, seat, bombs.cells)
    longest, _ = sliced.highest(bombs.strength, mine)
    strength = jnp.maximum(known.blast_strength + (high & ~low), longest)
    kicked = jnp.bool_(False)
    for direction in DIRECTIONS:
        source = grid.shift(bombs.moving[direction], OPPOSITE[direction])
        started = (source & before.bombs.cells) - before.bombs.moving[direction]
        kicked = kicked | place.overlaps(started)
    active = mine.count()
    capacity = known.ammo + sliced.equal(before.bombs.owner, seat, before.bombs.cells).count() + (low & ~high)
    return dataclasses.replace(
        known,
        ammo=jnp.clip(capacity - active, 0, MAX_AMMO).astype(jnp.int8),
        blast_strength=jnp.minimum(strength, config.max_blast_strength).astype(jnp.int8),
        can_kick=known.can_kick | (low & high) | kicked,
    )


def _messages(config: PommermanConfig, before: State, observation: Observation) -> tuple[tuple[Array, ...], ...]:
    """What the teammate said; the others are not heard."""
    if not config.has_messages:
        return before.messages
    teammate = config.teammate_of(observation.seat)
    heard = [teammate == seat for seat in range(config.num_players)]
    return tuple(tuple(jnp.where(here, word, jnp.int8(0)) for word in observation.message) for here in heard)
