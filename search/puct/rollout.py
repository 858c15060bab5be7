"""Values without a network: by playing on at random, or by the game's own heuristic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import checks, random_bits
from jaxgames.abilities import has_prospects
from jaxgames.game import Game
from jaxgames.random_bits import LaneKey
from search import arguments
from search.dynamics import Evaluate
from search.planner import of_arm


def random_rollouts(game: Game, num_rollouts: int = 1, rollout_steps: int | None = None) -> Evaluate:
    """Makes an `evaluate` function: even priors, and the mean result of games finished with random legal moves.

    Args:
      game: one in which players take turns.
      num_rollouts: games per state.
      rollout_steps: games that are not over after so many moves are worth the heuristic; None: all are played to their end.

    Returns:
      `evaluate(params, states, seats)`; params: a seed (uint32 []) or None. What is drawn depends on it and the state alone.

    Raises:
      ValueError: `num_rollouts` is no whole number, or below 1; or `rollout_steps`, or below 0. What it gives raises one where
        params are neither a seed nor None, such as those of a network.
    """
    check_rollouts(num_rollouts, rollout_steps)

    def play_on(state: Any, seat: Array, seed: Array) -> Array:
        """The result of one game for the seat, float32 []."""
        lane = random_bits.fold(random_bits.lane_key(random_bits.typed_keys(LaneKey(*game.state_key(state)))), seed)

        def step(carry: tuple[Any, Array]) -> tuple[Any, Array]:
            state, clock = carry
            here = random_bits.fold(lane, clock)
            arms, legal = game.search_arms(state)
            player = jnp.maximum(game.to_play(state), 0)
            own_arms, own_legal = arms[player], legal[player]
            rank = random_bits.below_many(random_bits.bits(here, 0), jnp.maximum(own_legal.sum(), 1))
            arm = jnp.argmax(jnp.cumsum(own_legal) > rank)
            actions = jnp.where(jnp.arange(game.num_players) == player, own_arms[arm], game.pass_action)
            chance = random_bits.typed_keys(random_bits.fold(here, 0))
            return game.step(state, actions, chance), clock + 1

        def goes_on(carry: tuple[Any, Array]) -> Array:
            state, clock = carry
            return ~state.terminated if rollout_steps is None else ~state.terminated & (clock < rollout_steps)

        if rollout_steps != 0:
            state, _ = jax.lax.while_loop(goes_on, step, (state, jnp.int32(0)))
        if rollout_steps is None:
            return game.outcome(state)[seat]
        return jnp.where(state.terminated, game.outcome(state), game.heuristic(state))[seat]

    def evaluate(params: Any, states: Any, seats: Array) -> tuple[Array, Array]:
        seed = jnp.uint32(0) if params is None else _seed(params)
        seeds = seed * jnp.uint32(num_rollouts) + jnp.arange(num_rollouts, dtype=jnp.uint32)
        values = jax.vmap(lambda s: jax.vmap(lambda state, seat: play_on(state, seat, s))(states, seats))(seeds)
        return jnp.zeros((seats.shape[0], 1)), values.mean(0)

    return evaluate


def _seed(params: Any) -> Array:
    """The seed of games at random, uint32 []; raises where it is none, such as the parameters of a network."""
    if hasattr(params, "dtype"):
        is_seed = params.shape == () and jnp.issubdtype(params.dtype, jnp.integer)
    else:
        is_seed = checks.as_integer(params) is not None
    if not is_seed:
        raise ValueError(f"params={arguments.told(params)}: must be a seed (uint32 []) or None; games at random give the values")
    return jnp.asarray(params).astype(jnp.uint32)


def check_rollouts(num_rollouts: int, rollout_steps: int | None) -> None:
    """Raises unless games can be played at random so often, and so far; arguments as for `random_rollouts`."""
    for name, given, low, beside in (("num_rollouts", num_rollouts, 1, ""), ("rollout_steps", rollout_steps, 0, ", or None")):
        if given is None and beside:
            continue
        number = checks.as_integer(given)
        if number is None:
            raise ValueError(f"{name}={given!r}: must be a whole number{beside}")
        if number < low:
            raise ValueError(f"{name}={given}: must be >= {low}{beside}")
        if number >= checks.COUNTS:
            raise ValueError(f"{name}={given}: must be < {checks.COUNTS}{beside}")


def heuristic_values(game: Game) -> Evaluate:
    """Makes an `evaluate` function with even priors and the game's heuristic."""
    return _without_policy(game, game.heuristic)


def promised_values(game: Game) -> Evaluate:
    """Makes an `evaluate` function with even priors, and what the game says that positions promise.

    Raises:
      ValueError: the game says nothing of that.
    """
    if not has_prospects(game):
        raise ValueError(f"game={game.name!r}: does not say what its positions promise; take its heuristic")
    return _without_policy(game, game.prospects)


def with_prospects(game: Game, evaluate: Evaluate, share: float) -> Evaluate:
    """Makes an `evaluate` function with the priors of another, and values that are in part what the game says to be promised.

    Args:
      game: one that says so.
      evaluate: gives the priors, and the rest of the values.
      share: of the promises in a value; 1: nothing else counts.

    Raises:
      ValueError: the game says nothing of that.
    """
    if not has_prospects(game):
        raise ValueError(f"prospects={share}: game={game.name!r} does not say what its positions promise; must be 0")
    promised = promised_values(game)

    def mixed(params: Any, states: Any, seats: Array) -> tuple[Array, Array]:
        logits, value = evaluate(params, states, seats)
        _, promise = promised(params, states, seats)
        return logits, promise if share == 1 else (1 - share) * value + share * promise

    return mixed


def _without_policy(game: Game, value: Callable[[Any], Array]) -> Evaluate:
    def evaluate(params: Any, states: Any, seats: Array) -> tuple[Array, Array]:
        del params
        return jnp.zeros((seats.shape[0], 1)), of_arm(jax.vmap(value)(states), seats)

    return evaluate
