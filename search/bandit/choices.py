"""What the bandits of all players do in a batch of states: choose, take credit, conclude."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import random_bits
from jaxgames.platforms import by_platform
from jaxgames.random_bits import LaneKey
from search.bandit import bandits
from search.bandit.bandits import Bandit
from search.dynamics import Dynamics
from search.planner import Plan

# Children of a lane key beside those numbered by depth or simulation.
_CHANCE = 1 << 20
_CONCLUSION = 1 << 21
_GROUPS = 1 << 23

_EVEN = bandits.uniform()


def choose_actions(
    game: Dynamics,
    bandit: Bandit,
    lanes: LaneKey,
    states,
    words: Array,
    groups: tuple[int, ...] = (),
    known: Array | bool = True,
) -> tuple[Array, Array]:
    """Lets every player's bandit choose in every lane.

    Args:
      game: what is walked in.
      bandit: the rule.
      lanes: leaves [L].
      states: nodes [L].
      words: uint32 [L, P * K], zeros for a state that is not known: then the choice is uniform.
      groups: of each arm: a group is chosen first, then an arm of it; (): arms are chosen by themselves.
      known: bool [], of all lanes; False: words are ignored and the choice is uniform, which is cheaper on a CPU.

    Returns:
      choice: int32 [L, P], index of the arm.
      actions: int32 [L, P].
    """
    offered, legal = game.arms(states)
    open_arms = legal
    if groups:
        among = np.arange(max(groups) + 1)[:, None] == np.array(groups)  # [G, K]
        summed = bandit.summed(words.reshape(legal.shape)[:, :, None], among)
        usable = (legal[:, :, None] & among).any(-1)
        of_groups, summed = random_bits.fold(lanes, _GROUPS), summed.reshape(len(summed), -1)
        scores = _scores(game, bandit, of_groups, states, summed, len(among), known)
        group = bandits.choose(scores.reshape(usable.shape), usable)
        open_arms = legal & (group[:, :, None] == np.array(groups))
    scores = _scores(game, bandit, lanes, states, words, game.num_arms, known)
    choice = bandits.choose(scores.reshape(legal.shape), open_arms)
    chosen = choice[:, :, None] == jnp.arange(game.num_arms)
    return choice, jnp.where(chosen, offered, 0).sum(-1, dtype=jnp.int32)


def _scores(game: Dynamics, bandit: Bandit, lanes: LaneKey, states, words: Array, num_arms: int, known: Array | bool) -> Array:
    """Scores of arms float32 [L, P * K] by their words, or where these do not matter by chance alone.

    As a branch of its own, the drawing is compiled by itself on a CPU; fused with what is around it, it is not vectorized and
    costs six times as much. Where words are known it is always taken, but for batches in which nobody is at play any more.
    """

    def by_words(lanes: LaneKey, words: Array) -> Array:
        return bandit.scores(lanes, words, num_arms)

    def by_chance(lanes: LaneKey, words: Array) -> Array:
        return _EVEN.scores(lanes, words, num_arms)

    def in_branches(lanes: LaneKey, words: Array) -> Array:
        scores: Array = jax.lax.cond(known & (~game.terminated(states)).any(), by_words, by_chance, lanes, words)
        return scores

    def at_once(lanes: LaneKey, words: Array) -> Array:  # an accelerator asks the host which branch it is
        scores = by_words(lanes, words)
        return scores if known is True else jnp.where(known, scores, by_chance(lanes, words))

    return by_platform(lanes.column(), words, cpu=in_branches, default=at_once)


def chance_keys(lanes: LaneKey, depth: Array) -> Array:
    """Makes keys [L] for the game's own chance, one per lane and depth."""
    return random_bits.typed_keys(random_bits.fold(lanes, depth + _CHANCE))


def with_prior(bandit: Bandit, words: Array, prior: Array) -> Array:
    """Adds a prior to statistics, both uint32 [B, P * K], but where these are so full that it might not fit."""
    return words + jnp.where(bandit.is_full(words), 0, prior)


def add_credit(bandit: Bandit, words: Array, choice: Array, credit: Array) -> Array:
    """Adds each player's credit (uint32 [B, P]) to the word of its chosen arm; if that is full then, halves all of the player."""
    per_arm = words.reshape(words.shape[0], choice.shape[1], -1)
    chosen = choice[:, :, None] == jnp.arange(per_arm.shape[2])
    per_arm = per_arm + jnp.where(chosen, credit[:, :, None], 0)
    full = bandit.is_full(per_arm)

    def halved(words: Array) -> Array:
        return jnp.where(full.any(-1, keepdims=True), bandit.halved(words), words)

    def in_a_branch(words: Array) -> Array:  # as hardly ever a word is full
        after: Array = jax.lax.cond(full.any(), halved, lambda words: words, words)
        return after

    per_arm = by_platform(per_arm, cpu=in_a_branch, default=halved)
    return per_arm.reshape(words.shape)


def conclude(
    game: Dynamics, bandit: Bandit, lanes: LaneKey, views, words: Array, metrics: dict, prior: Array | None = None
) -> Plan:
    """Turns the root statistics (uint32 [B, P * K]) of all lanes into a plan; a prior weighs on it, but was never tried."""
    offered, legal = game.arms(views)
    visits = bandit.visits(words.reshape(legal.shape))
    words = words if prior is None else with_prior(bandit, words, prior)
    words = words.reshape(legal.shape)
    policy = bandits.final_policy(bandit, words, legal)
    choice = bandits.final_choice(random_bits.fold(lanes, _CONCLUSION), policy)
    values = jnp.where(legal, bandit.values(words), -1.0)
    chosen = choice[:, :, None] == jnp.arange(game.num_arms)
    return Plan(
        actions=jnp.where(chosen, offered, 0).sum(-1, dtype=jnp.int32),
        arms=offered,
        legal=legal,
        qvalues=values,
        visit_counts=visits,
        action_weights=policy,
        root_value=jnp.where(chosen, values, 0.0).sum(-1),
        metrics=metrics,
    )
