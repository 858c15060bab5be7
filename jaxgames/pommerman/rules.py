"""One step of Pommerman, in the order of the official environment; legal moves; end of the game and its rewards."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import checks, sliced
from jaxgames.bitboard import DIRECTIONS, OPPOSITE, Grid
from jaxgames.bits import Bits, select, union
from jaxgames.fusion import settled
from jaxgames.packing import packed_flags
from jaxgames.platforms import by_platform
from jaxgames.pommerman import explosions, movement
from jaxgames.pommerman.config import PommermanConfig
from jaxgames.pommerman.constants import MAX_AMMO, NUM_MESSAGES, NUM_MOVES, NUM_WORDS, Move
from jaxgames.pommerman.observation import Observation
from jaxgames.pommerman.state import Bomber, Bombs, State


def num_actions(config: PommermanConfig) -> int:
    """Six moves; in radio mode times 81 messages."""
    return NUM_MOVES * (NUM_MESSAGES if config.has_messages else 1)


def split_actions(config: PommermanConfig, actions: Array) -> tuple[tuple[Array, ...], tuple[tuple[Array, ...], ...]]:
    """Takes actions apart.

    Args:
      config: the variant.
      actions: int32 [P]; in radio mode `move * 81 + 9 * first_word + second_word`. Out of range counts as a silent stop.

    Returns:
      moves: int32 [] per seat.
      messages: per seat two words int8 []; () outside radio mode.

    Raises:
      ValueError: the actions are no integers, or not one per seat.
    """
    actions = checks.actions(actions, config.num_players)
    moves, messages = [], []
    for seat in range(config.num_players):
        action = actions[seat]
        action = jnp.where((action >= 0) & (action < num_actions(config)), action, int(Move.STOP))
        if config.has_messages:
            words = action % NUM_MESSAGES
            messages.append(((words // NUM_WORDS).astype(jnp.int8), (words % NUM_WORDS).astype(jnp.int8)))
            action = action // NUM_MESSAGES
        moves.append(action)
    return tuple(moves), tuple(messages)


def as_array(flags: Sequence[Array]) -> Array:
    """Stacks bool [] flags to bool [N] by way of one word: a stack of deep expressions makes XLA compute all for each.

    On a CPU the word is settled before anybody reads it: within a reduction over flags it would be worked out game by game.
    """
    word = by_platform(packed_flags(flags), cpu=lambda word: settled([word])[0], default=lambda word: word)
    return ((word >> np.arange(len(flags), dtype=np.uint32)) & 1) != 0


def step(config: PommermanConfig, state: State, actions: Array) -> State:
    """Plays one step of one game; a finished game stays as it is, with rewards 0.

    Args:
      config: the variant.
      state: one game, no batch axis.
      actions: int32 [P]; out of range counts as stop, the actions of dead agents are ignored.

    Returns:
      The state after the step.
    """
    after = transition(config, state, actions)
    silent = dataclasses.replace(state, seat_rewards=tuple(jnp.zeros_like(r) for r in state.seat_rewards))
    return select(state.terminated, silent, after)


def transition(config: PommermanConfig, state: State, actions: Array) -> State:
    """`step` (actions int32 [P]) without the rule that a finished game stays as it is: the official environment goes on."""
    grid, state = config.grid, collapse(config, state)
    moves, messages = split_actions(config, actions)

    # S1: flames age. A hidden item is lost where an older flame dies under a younger one.
    dying, *younger = state.flames
    burning = union(younger)
    items = sliced.drop(state.items, dying & burning)
    walls = state.rigid | state.wood
    visible = union(items) - state.wood - burning

    # S2 to S9: bombs are laid, everybody moves, power-ups are taken.
    bombs, agents = movement.lay_bombs(grid, state.bombs, state.bombers, moves)
    walkers = movement.make_walkers(grid, agents, moves, walls)
    go, bombs = movement.resolve(grid, walkers, bombs, walls, visible)
    agents, places = movement.arrive(grid, agents, walkers, go)
    agents = tuple(_pick_up(config, agent, place & visible, items) for agent, place in zip(agents, places, strict=True))
    taken = union(places) & visible
    items, visible = sliced.drop(items, taken), visible - taken

    # S10 to S12: bombs tick and explode, flames spread, walls and open power-ups burn, agents die.
    life, due = explosions.tick(bombs, burning)
    exploded, blast = explosions.explode(
        grid, bombs.cells, bombs.strength, due, state.rigid, state.wood, config.max_blast_strength
    )
    agents = tuple(_refund(agent, sliced.equal(bombs.owner, seat, exploded)) for seat, agent in enumerate(agents))
    bombs = _drop_bombs(dataclasses.replace(bombs, life=life), exploded)
    burning = burning | blast
    agents = tuple(
        dataclasses.replace(agent, alive=agent.alive & ~place.overlaps(burning))
        for agent, place in zip(agents, places, strict=True)
    )

    # S13: the clock, the end, the rewards.
    step_count = state.step_count + jnp.int16(1)
    return State(
        rigid=state.rigid,
        wood=state.wood - blast,
        items=sliced.drop(items, blast & visible),
        flames=(*younger, blast),
        bombs=bombs,
        bombers=agents,
        messages=_heard(state.bombers, messages),
        step_count=step_count,
        terminated=is_over(config, agents, step_count),
        seat_rewards=seat_rewards(config, agents, step_count),
        ring_falls=ring_falls(config, step_count),
    )


def _pick_up(config: PommermanConfig, agent: Bomber, found: Bits, items: tuple[Bits, ...]) -> Bomber:
    low, high = (plane.overlaps(found) for plane in items)
    return dataclasses.replace(
        agent,
        ammo=jnp.minimum(agent.ammo + (low & ~high).astype(jnp.int8), jnp.int8(MAX_AMMO)),
        blast_strength=jnp.where(
            high & ~low,
            jnp.minimum(agent.blast_strength + jnp.int8(1), jnp.int8(config.max_blast_strength)),
            agent.blast_strength,
        ),
        can_kick=agent.can_kick | (low & high),
    )


def _refund(agent: Bomber, exploded: Bits) -> Bomber:
    """Gives ammo back for every bomb that is gone, to dead owners too."""
    ammo = agent.ammo.astype(jnp.int32) + exploded.count()
    return dataclasses.replace(agent, ammo=jnp.minimum(ammo, MAX_AMMO).astype(jnp.int8))


def _drop_bombs(bombs: Bombs, gone: Bits) -> Bombs:
    return Bombs(
        life=sliced.drop(bombs.life, gone),
        strength=sliced.drop(bombs.strength, gone),
        owner=sliced.drop(bombs.owner, gone),
        moving=sliced.drop(bombs.moving, gone),
    )


def _heard(speakers: tuple[Bomber, ...], messages: tuple[tuple[Array, ...], ...]) -> tuple[tuple[Array, ...], ...]:
    """The dead are silent; an agent that dies in this step is still heard."""
    return tuple(
        tuple(jnp.where(speaker.alive, word, jnp.int8(0)) for word in words)
        for speaker, words in zip(speakers, messages, strict=False)
    )


def is_over(config: PommermanConfig, agents: tuple[Bomber, ...], step_count: Array) -> Array:
    """Says whether the game has ended. Returns bool []."""
    alive = [agent.alive for agent in agents]
    over = (_count(alive) <= 1) | (step_count >= config.max_steps)
    if config.is_team:
        over = over | ~(alive[0] | alive[2]) | ~(alive[1] | alive[3])
    return over


def seat_rewards(config: PommermanConfig, agents: tuple[Bomber, ...], step_count: Array) -> tuple[Array, ...]:
    """Gives the official rewards of a position, int8 [] per seat; a function of who lives and of the clock."""
    alive = [agent.alive for agent in agents]
    late = step_count >= config.max_steps
    minus, none, plus = jnp.int8(-1), jnp.int8(0), jnp.int8(1)
    if config.is_team:
        even, odd = alive[0] | alive[2], alive[1] | alive[3]
        tie = late | ~(even | odd)
        first = jnp.where(even & ~odd, plus, jnp.where(odd & ~even, minus, jnp.where(tie, minus, none)))
        second = jnp.where(odd & ~even, plus, jnp.where(even & ~odd, minus, jnp.where(tie, minus, none)))
        return (first, second, first, second)
    single = _count(alive) == 1
    # A dead agent of a running free-for-all is paid -1 at every step; one-against-one pays nothing until the end.
    lost = minus if config.num_players > 2 else none
    return tuple(
        jnp.where(single, jnp.where(lives, plus, minus), jnp.where(late, minus, jnp.where(lives, none, lost))) for lives in alive
    )


def _count(flags: list[Array]) -> Array:
    return functools.reduce(operator.add, (flag.astype(jnp.int8) for flag in flags))


def winners(config: PommermanConfig, state: State) -> tuple[Array, ...]:
    """Says per seat (bool []) whether it has won a finished game; all False in a tie and while the game runs."""
    return tuple(state.terminated & (reward > 0) for reward in standing(config, state))


def standing(config: PommermanConfig, state: State) -> tuple[Array, ...]:
    """Gives the rewards of the position, int8 [] per seat: in a finished game those that ended it."""
    return seat_rewards(config, state.bombers, state.step_count)


def collapse(config: PommermanConfig, state: State) -> State:
    """Turns a ring of the board into rigid walls when its time has come.

    Officially it comes last in a step, when its observations, end and rewards are settled: nobody sees it, and no death by it
    counts, before the next step. So a step begins with it here, and a state is what is seen.
    """
    if isinstance(state.ring_falls, tuple):
        return state
    grid = config.grid
    ring = grid.empty
    for index, when in enumerate(config.collapse_steps):
        ring = ring | _ring(grid, index).when(state.ring_falls & (state.step_count == when))
    crushed = state.bombs.cells & ring
    agents = []
    for seat, agent in enumerate(state.bombers):
        alive = agent.alive & ~ring.has(agent.cell)
        agents.append(_refund(dataclasses.replace(agent, alive=alive), sliced.equal(state.bombs.owner, seat, crushed)))
    return dataclasses.replace(
        state,
        rigid=state.rigid | ring,
        wood=state.wood - ring,
        items=sliced.drop(state.items, ring),
        flames=sliced.drop(state.flames, ring),
        bombs=_drop_bombs(state.bombs, ring),
        bombers=tuple(agents),
        ring_falls=jnp.zeros_like(state.ring_falls),
    )


def ring_falls(config: PommermanConfig, step_count: Array) -> Array | tuple[()]:
    """Says whether a ring falls after a step (int16 []), as in `State`."""
    return (step_count == np.array(config.collapse_steps, np.int16)).any() if config.collapse_steps else ()


def _ring(grid: Grid, index: int) -> Bits:
    row, column = np.indices((grid.rows, grid.columns))
    distance = np.minimum(np.minimum(row, column), np.minimum(grid.rows - 1 - row, grid.columns - 1 - column))
    return grid.constant(distance == index)


def legal_moves(config: PommermanConfig, state: State) -> tuple[tuple[Array, ...], ...]:
    """Gives the published planner's mask: moves that are possible and not into an imminent blast.

    A cell is marked when it holds a bomb, or lies in the row or column of a bomb that explodes in the next step, up to its
    strength (one cell more than it reaches), walls or not. Stop is legal in an unmarked cell; a step, into an unmarked
    cell without wall, bomb or flames; a bomb, while ammo is left. Nothing left, or dead: stop alone.

    Returns:
      Per seat six bool [], in the order of `Move`. (Source: released code of Boney et al.)
    """
    walls = state.rigid | state.wood | state.burning
    return _moves_of(config, state.bombers, state.bombs.life, state.bombs.strength, walls)


def observed_moves(config: PommermanConfig, observation: Observation) -> tuple[Array, ...]:
    """Gives the mask of `legal_moves` as far as one agent can know it: by what it sees.

    Returns:
      Six bool [], in the order of `Move`.
    """
    walls = observation.rigid | observation.wood | union(observation.flame_life)
    return _moves_of(config, (observation.own,), observation.bomb_life, observation.bomb_strength, walls)[0]


def _moves_of(
    config: PommermanConfig, agents: tuple[Bomber, ...], life: tuple[Bits, ...], strength: tuple[Bits, ...], walls: Bits
) -> tuple[tuple[Array, ...], ...]:
    grid = config.grid
    bombs = union(life)
    imminent = sliced.equal(life, 1, bombs)
    marked = explosions.may_be_hit(grid, imminent, strength, config.max_blast_strength) | bombs
    free = grid.full - marked
    enter = [grid.shift(free - walls, OPPOSITE[direction]) for direction in DIRECTIONS]
    result = []
    for agent in agents:
        own = grid.one_hot(agent.cell).when(agent.alive)
        bomb = agent.alive & (agent.ammo > 0)
        steps = [own.overlaps(cells) for cells in enter]
        anything = steps[0] | steps[1] | steps[2] | steps[3] | bomb
        result.append((own.overlaps(free) | ~anything, *steps, bomb))
    return tuple(result)
