"""Which of the others is a seat's rival: the one whose choices are searched too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.abilities import RivalryGame, has_prospects
from search.reductions import picked

Rival = Callable[[Any, Array], Array]  # (state, seat) -> the seat of its rival, -1 for none


def most_dangerous(game: RivalryGame) -> Rival:
    """Names the enemy whose next action can cost a seat most.

    For each action that is possible for an enemy, a step of the game is played in which all others pass, and the state after it
    is valued for the own seat, by the game's prospects if it has any, else by its heuristic. An enemy's danger is the value after
    its pass less the lowest value. The greatest danger counts, and between equal ones the closest enemy if it is among them, else
    the lowest seat. Chance is drawn the same way each time.

    That is E * K + 1 steps of the game in each new node of a search, for E enemies of a seat, out of the game or not, and K arms
    (19 in Pommerman's free-for-all, 13 in its team game); to name the closest enemy takes none.
    """
    value = game.prospects if has_prospects(game) else game.heuristic
    closest = game.closest_enemy
    everybody = np.arange(game.num_players, dtype=np.int32)
    with jax.ensure_compile_time_eval():
        against = np.asarray(game.are_enemies(jnp.asarray(everybody[:, None]), jnp.asarray(everybody)))
    # Of each seat, its enemies by their seats; where another has more of them, then some who are none.
    enemies = np.argsort(~against, axis=1, kind="stable")[:, : max(1, against.sum(1).max())].astype(np.int32)

    def rival(state: Any, seat: Array) -> Array:
        seats, others = jnp.arange(game.num_players), jnp.asarray(enemies)[seat]
        arms, possible = (picked(rows[None], others[None])[0] for rows in game.possible_arms(state))

        def value_after(other: Array, action: Array) -> Array:
            joint = jnp.where(seats == other, action, game.pass_action).astype(jnp.int32)
            after = value(game.step(state, joint, jax.random.key(0)))
            return jnp.where(seats == seat, after, 0.0).sum()

        def lowest(_: None, entry: tuple[Array, Array, Array]) -> tuple[None, Array]:
            other, actions, possible = entry
            values = jax.lax.map(lambda action: value_after(other, action), actions)
            return None, jnp.where(possible, values, jnp.inf).min()

        _, least = jax.lax.scan(lowest, None, (others, arms, possible))
        near, all_pass = closest(state, seat), value_after(seat, jnp.int32(game.pass_action))
        minded = picked(game.in_play(state)[None], others[None])[0] & game.are_enemies(seat, others)
        score = jnp.where(minded, all_pass - least, -jnp.inf)
        most = score.max()
        is_close = (score == most) & (others == near)
        found = jnp.where(is_close.any(), near, others[jnp.argmax(score)])
        return jnp.where(minded.any() & ~state.terminated, found, -1).astype(jnp.int32)

    return rival
