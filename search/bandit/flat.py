"""Flat Monte Carlo search: bandits at the present state only, random play behind the first step, nothing remembered.

(Source: Boney et al., section III, "MCS"; 1.5 of our notes on the released code.)
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import random_bits
from jaxgames.game import Game
from jaxgames.random_bits import LaneKey
from search.bandit.bandits import Bandit
from search.bandit.tree_search import Settings, add_credit, chance_keys, choose_actions, conclude, count_by_tree, in_microbatches
from search.planner import Plan, Planner


def flat_search(game: Game, bandit: Bandit, settings: Settings, name: str, arms=None) -> Planner:
    """Makes a planner without a tree.

    Args:
      game: any game.
      bandit: the rule of choice in the present state.
      settings: `num_simulations`, `horizon`, `leaf_parallelism` and `microbatch_size` count.
      name: for tables.
      arms: `arms(state) -> (int32 [P, K], bool [P, K])` in place of the game's `search_arms`.
    """
    arms = arms or game.search_arms

    def plan(params, keys: Array, memory: Array, views, seats: Array, active: Array) -> tuple[Plan, Array]:
        del params, seats
        active, parts = active & ~views.terminated, settings.microbatch_size
        return in_microbatches(search, parts, keys, memory, views, active, lambda memory, _: memory, lambda memory, *_: memory)

    def search(keys: Array, memory: Array, views, active: Array) -> tuple[Plan, Array]:
        batch = keys.shape[0]
        lanes = jax.vmap(random_bits.lane_key)(keys)
        trees = jnp.repeat(jnp.arange(batch, dtype=jnp.int32), settings.leaf_parallelism)
        roots = jax.tree.map(lambda x: x[trees], views)
        running = active[trees]
        wave_number = jnp.tile(jnp.arange(settings.leaf_parallelism, dtype=jnp.int32), batch)
        walkers = random_bits.fold(LaneKey(lanes.first[trees], lanes.second[trees]), wave_number)

        def one_wave(number, carry):
            words, met = carry
            lane = random_bits.fold(walkers, number)

            def step(carry):
                depth, states, first, met = carry
                known = jnp.where((depth == 0) & running[:, None], words[trees], 0)
                step_lane = random_bits.fold(lane, depth)
                choice, actions = choose_actions(game, bandit, arms, step_lane, states, known)
                met = met.at[depth].set(running & ~states.terminated)
                states = jax.vmap(game.step)(states, actions, chance_keys(lane, depth))
                return depth + 1, states, jnp.where(depth == 0, choice, first), met

            first = jnp.zeros((trees.shape[0], game.num_players), jnp.int32)
            flags = jnp.zeros((settings.horizon, trees.shape[0]), bool)

            def unfinished(carry):
                depth, states, *_ = carry
                return (depth < settings.horizon) & (running & ~states.terminated).any()

            _, states, first, now = jax.lax.while_loop(unfinished, step, (jnp.int32(0), roots, first, flags))
            credit = jnp.where(running[:, None], bandit.credit(jax.vmap(game.heuristic)(states)), 0)
            for index in range(settings.leaf_parallelism):
                words = add_credit(
                    bandit, words, first[index :: settings.leaf_parallelism], credit[index :: settings.leaf_parallelism]
                )
            return words, met + count_by_tree(now, batch)

        words = jnp.zeros((batch, game.num_players * game.num_arms), jnp.uint32)
        met = jnp.zeros((batch, settings.horizon), jnp.int32)
        waves = settings.num_simulations // settings.leaf_parallelism
        words, met = jax.lax.fori_loop(0, waves, one_wave, (words, met))
        return conclude(game, bandit, arms, lanes, views, words, {"met": met}), memory

    return Planner(
        name,
        init=lambda batch_size: jnp.zeros((batch_size,), jnp.uint32),
        reset=lambda memory, lanes: memory,
        plan=plan,
        memory_bytes=4 * game.num_players * game.num_arms,
        metrics={"met": (settings.horizon,)},
    )
