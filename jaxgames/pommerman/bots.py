"""Rule-based players of Pommerman, as agents; in radio mode all of them are silent.

They are given the State and look at what they need themselves. The SimpleAgents compute the observation of their seat and
decide by that alone, so they do not cheat; they can also be given anything that holds their observation. The careful agent
uses the mask of legal actions, which knows bombs in the fog: where there is fog it makes use of what is hidden.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import random_bits
from jaxgames.agent import Agent, memoryless
from jaxgames.bits import select
from jaxgames.packing import packed_flags
from jaxgames.pommerman import rules, simple_unbiased_agent, simple_unbiased_memory
from jaxgames.pommerman.config import PommermanConfig
from jaxgames.pommerman.constants import NUM_MESSAGES, NUM_MOVES
from jaxgames.pommerman.game import Pommerman
from jaxgames.pommerman.observation import Observation, choose_seat, observe
from jaxgames.pommerman.simple_agent import SimpleMemory, decide, draw_words, init_memory, pick_move, some_simple_moves
from jaxgames.pommerman.simple_unbiased_memory import UnbiasedMemory
from jaxgames.pommerman.state import State

Memory = TypeVar("Memory")


def simple_agent(game: Pommerman, observation_of: Callable[[Any], Observation] | None = None) -> Agent:
    """Makes the official SimpleAgent; see the module `simple_agent`. Its memory starts again with every episode.

    Args:
      game: the variant to play.
      observation_of: None: it is shown the State (`sees_state`), and uses its own seat's observation only. Otherwise it is shown
        its Information, and this function takes the latest observation out of it (for one lane; vmapped).
    """
    config = game.config

    def decide_one(key: Array, memory: SimpleMemory, observation: Observation) -> tuple[Array, SimpleMemory]:
        return decide(config, observation, memory, draw_words(random_bits.lane_key(key)))

    return _with_memory("simple", game, init_memory(), decide_one, observation_of, some_simple_moves)


def simple_unbiased(game: Pommerman, observation_of: Callable[[Any], Observation] | None = None) -> Agent:
    """Makes pomcpp2's SimpleUnbiasedAgent; see `simple_unbiased_agent`. After a reset it remembers nothing and draws new orders.

    Args:
      game: the variant to play.
      observation_of: as of `simple_agent`.
    """
    config = game.config

    def decide_one(key: Array, memory: UnbiasedMemory, observation: Observation) -> tuple[Array, UnbiasedMemory]:
        memory, chance = simple_unbiased_memory.draw_chance(config, memory, random_bits.lane_key(key))
        return simple_unbiased_agent.decide(config, observation, memory, chance)

    fresh = simple_unbiased_memory.init_memory(config)
    some = simple_unbiased_agent.some_unbiased_moves
    return _with_memory("simple_unbiased", game, fresh, decide_one, observation_of, some)


def _with_memory(
    name: str,
    game: Pommerman,
    fresh: Memory,
    decide_one: Callable[[Array, Memory, Observation], tuple[Array, Memory]],
    observation_of: Callable[[Any], Observation] | None,
    decide_some: Callable[..., tuple[Array, Memory]],
) -> Agent:
    """Makes an agent from a function (key, memory, observation) -> (move, memory) of one lane; `fresh` is its first memory.

    `decide_some(config, state, seats, memories, lane)` does the same for some seats of a state.
    """

    def init(batch_size: int) -> Memory:
        filled: Memory = jax.tree.map(lambda leaf: jnp.full((batch_size,), leaf), fresh)
        return filled

    def reset(memory: Memory, lanes: Array) -> Memory:
        return select(lanes, init(len(lanes)), memory)

    def act_one(key: Array, memory: Memory, view: Any, seat: Array, active: Array) -> tuple[Array, Memory]:
        observation = observe(game.config, view, seat) if observation_of is None else observation_of(view)
        move, after = decide_one(key, memory, observation)
        return _silent(game.config, move), select(active, after, memory)

    def act(params: Any, keys: Array, memory: Memory, views: Any, seats: Array, active: Array) -> tuple[Array, Memory]:
        del params
        return jax.vmap(act_one)(keys, memory, views, seats, active)

    def act_of_one(key: Array, memory: Memory, state: State, seats: Array, active: Array) -> tuple[Array, Memory]:
        moves, after = decide_some(game.config, state, seats, memory, random_bits.lane_key(key))
        kept: Memory = jax.tree.map(lambda new, old: jnp.where(active, new, old), after, memory)
        return _silent(game.config, moves), kept

    def act_seats(params: Any, keys: Array, memory: Memory, views: Any, seats: Array, active: Array) -> tuple[Array, Memory]:
        del params
        return jax.vmap(act_of_one)(keys, memory, views, seats, active)

    agent = Agent(name, init, reset, act, sees_state=observation_of is None, uses_hidden=False)
    return agent._replace(act_seats=act_seats) if observation_of is None else agent


def random_agent(game: Pommerman) -> Agent:
    """Makes an agent that plays each of the six moves with the same probability."""

    def choose(key: Array, state: State, seat: Array) -> Array:
        del state, seat
        return random_bits.below(random_bits.bits(random_bits.lane_key(key), 0), NUM_MOVES)

    return _without_memory("random", game, choose, uses_hidden=False)


def careful_agent(game: Pommerman) -> Agent:
    """Makes an agent that plays each move of the published planner's mask (`rules.legal_moves`) with the same probability."""

    def choose(key: Array, state: State, seat: Array) -> Array:
        masks = tuple(packed_flags(flags) for flags in rules.legal_moves(game.config, state))
        return pick_move(choose_seat(masks, seat), random_bits.bits(random_bits.lane_key(key), 0))

    return _without_memory("careful", game, choose, uses_hidden=game.config.view_radius is not None)


def _without_memory(name: str, game: Pommerman, choose: Callable[[Array, State, Array], Array], *, uses_hidden: bool) -> Agent:
    """Makes an agent from a function (key, state, seat) -> move of one lane; `uses_hidden`: see `Agent`."""

    def choose_all(params: None, keys: Array, views: State, seats: Array) -> Array:
        del params
        return _silent(game.config, jax.vmap(choose)(keys, views, seats))

    return memoryless(name, choose_all, sees_state=True, uses_hidden=uses_hidden)


def _silent(config: PommermanConfig, move: Array) -> Array:
    """Turns a move into an action without words."""
    return move * NUM_MESSAGES if config.has_messages else move
