"""Flat Monte Carlo search: bandits at the present state only, random play after the first step, nothing remembered.

(Source: Boney et al., section III, "MCS".)
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import random_bits
from jaxgames.game import Game
from jaxgames.platforms import while_any
from search import arguments
from search.bandit.bandits import Bandit, rounding_noise
from search.bandit.choices import add_credit, chance_keys, choose_actions, conclude
from search.bandit.settings import Settings
from search.bandit.waves import Waves, think
from search.dynamics import Dynamics, dynamics_of
from search.microbatch import SCRATCH
from search.planner import Plan, Planner, memoryless


def flat_search(game: Game | Dynamics, bandit: Bandit, settings: Settings, name: str) -> Planner:
    """Makes a planner without a tree.

    Args:
      game: any game, or dynamics made of one.
      bandit: the rule of choice in the present state.
      settings: all count but those of the table and the tree.
      name: for tables.

    Raises:
      ValueError: a size of a table is given.
    """
    for size in ("table_rows", "table_bytes"):
        if getattr(settings, size) is not None:
            raise ValueError(f"{size}={getattr(settings, size)}: must be left out, a flat search has no table")
    game = dynamics_of(game)
    groups = settings.groups(game)

    def plan(params, keys: Array, memory: tuple, views, seats: Array, active: Array) -> tuple[Plan, tuple]:
        roots = game.root(params, keys, views, seats)
        search = functools.partial(search_with, params)
        return think(search, settings, game, bandit, keys, memory, roots, seats, active, SCRATCH)

    def search_with(params, keys: Array, memory: tuple, views, active: Array) -> tuple[Plan, tuple]:
        waves = Waves.of(game, settings, keys, views, active)
        trees = waves.trees

        def one_wave(number, carry):
            words, met = carry
            lanes, starts, running = waves.wave(number)

            def step(depth, carry):
                states, first, met = carry
                step_lane = random_bits.fold(lanes, depth)
                choice, actions = choose_actions(game, bandit, step_lane, states, words[trees], groups, known=depth == 0)
                met = met.at[depth].set(running & ~game.terminated(states))
                states = game.step(params, chance_keys(lanes, depth), states, actions)
                return states, jnp.where(depth == 0, choice, first), met

            first = jnp.zeros((trees.shape[0], game.num_players), jnp.int32)
            flags = jnp.zeros((settings.horizon, trees.shape[0]), bool)

            def unfinished(carry):
                return (running & ~game.terminated(carry[0])).any()

            states, first, now = while_any(settings.horizon, unfinished, step, (starts, first, flags))
            credit = bandit.credit(game.heuristic(states), rounding_noise(lanes, game.num_players))
            credit = jnp.where(running[:, None], credit, 0)
            for index in range(settings.leaf_parallelism):
                words = add_credit(
                    bandit, words, first[index :: settings.leaf_parallelism], credit[index :: settings.leaf_parallelism]
                )
            return words, met + waves.count_by_tree(now)

        words = jnp.zeros((len(keys), game.num_players * game.num_arms), jnp.uint32)
        met = jnp.zeros((len(keys), settings.horizon), jnp.int32)
        words, met = jax.lax.fori_loop(0, waves.most, one_wave, (words, met))
        return conclude(game, bandit, waves.lanes, views, words, {"met": met}), memory

    planner = memoryless(
        name, plan, metrics={"met": (settings.horizon,)}, own_first=game.own_first, value_range=bandit.value_range
    )
    return arguments.checked(planner, game.view, game.num_seats)
