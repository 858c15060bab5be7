"""Bandits: how an arm is chosen, how a result is counted, which arm is best in the end.

The statistics of an arm are one uint32 word, so that a row of a search table is small; 0 means "never tried". A row holds
P players times K arms, flat.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import checks, random_bits
from jaxgames.random_bits import LaneKey
from search.bandit import beta
from search.reductions import first_highest

# Thompson sampling keeps two 16-bit half counts per word, UCB1 14 bits of visits and 18 of summed values.
_HALF_BITS = 16
_VISIT_BITS = 14
_VALUE_STEPS = 8  # UCB1 keeps values in steps of 1/8
# An arm gets at most so many credits at once: a state may be met in every step of a simulation.
MAX_CREDITS = 512
_TIE = 1e-5  # UCB1 scores no further apart are equal: float32 knows no better
_ROUNDING = 1 << 22  # child of a lane key


class Bandit(NamedTuple):
    """A rule for one player's choice among K arms.

    Attributes:
      name: for tables.
      scores: `scores(lane, words, num_arms) -> float32 [..., P * K]`, drawn with the lane key, of words uint32 [..., P * K]; the
        legal arm with the highest is tried. An illegal arm has never been tried.
      credit: `credit(value, noise) -> uint32`, what a simulation with this value (float32 in [-1, 1]) adds to the word of its
        arm; what lies between the units of a word is rounded by noise in [0, 1), see `rounding_noise`.
      soft_credit: `soft_credit(value, noise) -> uint32`, the same of a value that is an estimate: its mean is kept also where
        `credit` counts only signs.
      prior: `prior(policy, legal, weight) -> uint32 [..., K]`, words as if `weight` simulations, at most MAX_CREDITS, had been
        played by `policy` (float32 [..., K]), with results of 0; where wins are counted, as if so many had been won by it, and as
        many lost by what it leaves to the other arms. By a uniform policy all arms have the mean of an arm never tried. A single
        legal arm gets nothing.
      summed: `summed(words, among) -> uint32 [..., P, G]`, words of groups of arms, of words uint32 [..., P, 1, K] and those who
        belong to each, bool [G, K]. Where a sum does not fit, all groups of that player are scaled down alike.
      is_full: `is_full(words) -> bool`, MAX_CREDITS more might not fit.
      halved: `halved(words) -> uint32`, half as many visits of about the same mean; what all arms of a player in a state become
        when one of them is full, so that what comes later still counts.
      values: `values(words) -> float32`, mean result.
      visits: `visits(words) -> int32`.
      merit: `merit(words) -> float32`, what the final choice is highest in.
      value_range: of `values`, for what is lost and what is won.
    """

    name: str
    scores: Callable[[LaneKey, Array, int], Array]
    credit: Callable[[Array, Array], Array]
    soft_credit: Callable[[Array, Array], Array]
    prior: Callable[[Array, Array, float], Array]
    summed: Callable[[Array, Array], Array]
    is_full: Callable[[Array], Array]
    halved: Callable[[Array], Array]
    values: Callable[[Array], Array]
    visits: Callable[[Array], Array]
    merit: Callable[[Array], Array]
    value_range: tuple[float, float]


def thompson() -> Bandit:
    """Thompson sampling: Beta(1 + wins, 1 + losses), where only the sign of a value counts and 0 is half of each.

    The final choice has the highest posterior mean, so an arm never tried ties with one that only saw undecided ends.
    (Source: released code of Boney et al.)
    """

    def scores(lane: LaneKey, words: Array, num_arms: int) -> Array:
        del num_arms
        wins, losses = _halves(words)
        number = jnp.arange(words.shape[-1], dtype=jnp.int32) * 2
        return beta.sample_beta(random_bits.bits(lane, number), random_bits.bits(lane, number + 1), wins, losses)

    return _half_count_bandit("TS", scores)


def uniform() -> Bandit:
    """Uniform choice; the final choice has the highest posterior mean, as in `thompson`."""

    def scores(lane: LaneKey, words: Array, num_arms: int) -> Array:
        del num_arms
        return _noise(lane, words)

    return _half_count_bandit("uniform", scores)


def ucb1(c: float = 2.0) -> Bandit:
    """UCB1: mean + c * sqrt(ln(total visits) / visits), arms never tried first, ties at random; most visits in the end.

    Values are kept in steps of 1/8. What lies between two of them is rounded up or down by chance, so that means come out right.

    Args:
      c: weight of exploration, >= 0; the published planner's is 2.

    Raises:
      ValueError: a weight that is negative or no number.
    """
    checks.number("c", c)

    def scores(lane: LaneKey, words: Array, num_arms: int) -> Array:
        count = _parts(_VISIT_BITS, words)[1].astype(jnp.float32)

        def by_player(per_arm: Array) -> Array:
            return per_arm.reshape(*words.shape[:-1], -1, num_arms)

        total = jnp.repeat(by_player(count).sum(-1), num_arms, axis=-1)
        bonus = c * jnp.sqrt(jnp.log(jnp.maximum(total, 1.0)) / jnp.maximum(count, 1.0))
        score = jnp.where(count > 0, _mean(words) + bonus, -jnp.inf)
        best = jnp.repeat(by_player(score).max(-1), num_arms, axis=-1)
        # Noise breaks ties: among the arms never tried, else among the best.
        noise = _noise(lane, words)
        return jnp.where(count > 0, jnp.where(score >= best - _TIE, noise, -1.0), 1.0 + noise)

    def credit(value: Array, noise: Array) -> Array:
        steps = jnp.clip(_rounded((value + 1) * _VALUE_STEPS, noise), 0, 2 * _VALUE_STEPS).astype(jnp.uint32)
        return (steps << _VISIT_BITS) | 1

    def visits(words: Array) -> Array:
        return _parts(_VISIT_BITS, words)[1].astype(jnp.int32)

    def is_full(words: Array) -> Array:
        return visits(words) >= (1 << _VISIT_BITS) - MAX_CREDITS

    def halved(words: Array) -> Array:
        # Of an odd number a visit with the mean result is added first: no mean leaves its range, and a single visit remains one.
        summed, count = _parts(_VISIT_BITS, words)
        odd = count & 1
        mean = jnp.floor(summed.astype(jnp.float32) / jnp.maximum(count, 1).astype(jnp.float32)).astype(jnp.uint32)
        return (((summed + odd * mean) >> 1) << _VISIT_BITS) | ((count + odd) >> 1)

    def merit(words: Array) -> Array:
        return visits(words).astype(jnp.float32)

    def prior(policy: Array, legal: Array, weight: float) -> Array:
        nothing = jnp.zeros_like(policy)
        words = jnp.round(weight * policy).astype(jnp.uint32) * credit(nothing, nothing)
        return jnp.where(legal & (legal.sum(-1, keepdims=True) > 1), words, 0)

    return Bandit(
        "UCB",
        scores,
        credit,
        credit,
        prior,
        functools.partial(_summed, _VISIT_BITS),
        is_full,
        halved,
        values=_mean,
        visits=visits,
        merit=merit,
        value_range=(-1.0, 1.0),
    )


def counting_means(bandit: Bandit) -> Bandit:
    """Gives the bandit that counts how much values are, also by Thompson sampling, which else counts their signs."""
    return bandit._replace(credit=bandit.soft_credit)


BANDITS = {"ts": thompson, "ucb": ucb1, "uniform": uniform}


def by_name(name: str, c: float | None = None) -> Bandit:
    """Makes a bandit by its short name.

    Args:
      name: one of `BANDITS`.
      c: of UCB1, its weight of exploration; None: the published one.

    Raises:
      ValueError: for an unknown name, or a weight that is negative or of another bandit.
    """
    given: Any = name
    if not isinstance(given, str) or given not in BANDITS:
        told = "a Bandit" if isinstance(given, Bandit) else repr(given)
        raise ValueError(f"bandit={told}: must be one of {', '.join(BANDITS)}")
    if c is None:
        return BANDITS[name]()
    if name != "ucb":
        raise ValueError(f"c={c}: is of bandit='ucb', not of {name!r}")
    return ucb1(c)


def choose(scores: Array, legal: Array) -> Array:
    """Gives the legal arm with the highest score, the first of equal ones.

    Args:
      scores: float32 [..., K], above -1e30.
      legal: bool [..., K].

    Returns:
      int32 [...]; 0 where nothing is legal.
    """
    return first_highest(jnp.where(legal, scores, -1e30))[0]


def final_policy(bandit: Bandit, words: Array, legal: Array) -> Array:
    """Gives the distribution of the final choice: uniform over the legal arms of highest merit.

    Args:
      bandit: the rule.
      words: uint32 [..., K].
      legal: bool [..., K], at least one.

    Returns:
      float32 [..., K], sums to 1.
    """
    merit = jnp.where(legal, bandit.merit(words), -jnp.inf)
    best = merit >= merit.max(-1, keepdims=True)
    return best / best.sum(-1, keepdims=True)


def final_choice(lane: LaneKey, policy: Array) -> Array:
    """Draws an arm per player from `final_policy`.

    Args:
      lane: leaves [B].
      policy: float32 [B, P, K].

    Returns:
      int32 [B, P].
    """
    noise = _noise(lane.column(), policy.reshape(policy.shape[0], -1)).reshape(policy.shape)
    return choose(noise, policy > 0)


def rounding_noise(lanes: LaneKey, num_players: int) -> Array:
    """Draws float32 [L, P] in [0, 1): by it, values between the units of a credit are rounded up or down."""
    lanes = random_bits.fold(lanes, _ROUNDING)
    return random_bits.uniform(random_bits.bits(lanes.column(), jnp.arange(num_players, dtype=jnp.int32)))


def _half_count_bandit(name: str, scores: Callable[[LaneKey, Array, int], Array]) -> Bandit:
    """A bandit that counts wins and losses in halves and chooses the highest posterior mean in the end."""
    return Bandit(
        name,
        scores,
        _credit_sign,
        _soft_halves,
        _prior_halves,
        functools.partial(_summed, _HALF_BITS),
        _halves_full,
        _halves_halved,
        values=_posterior_mean,
        visits=_half_visits,
        merit=_posterior_mean,
        value_range=(0.0, 1.0),
    )


def _summed(bits: int, words: Array, among: Array) -> Array:
    """Adds up the upper and the lower counts of words, these of so many bits, by groups; as `Bandit.summed`."""
    upper, lower = (jnp.where(among, count, 0).sum(-1, dtype=jnp.uint32) for count in _parts(bits, words))
    too_much = jnp.maximum(upper >> (32 - bits), lower >> bits).max(-1, keepdims=True)
    shift = 32 - jax.lax.clz(too_much)
    return ((upper >> shift) << bits) | (lower >> shift)


def _parts(bits: int, words: Array) -> tuple[Array, Array]:
    """The upper and the lower counts of words, these of so many bits; uint32."""
    return words >> bits, words & np.uint32((1 << bits) - 1)


def _noise(lane: LaneKey, words: Array) -> Array:
    """One uniform number per element of the last axis."""
    return random_bits.uniform(random_bits.bits(lane, jnp.arange(words.shape[-1], dtype=jnp.int32)))


def _rounded(number: Array, noise: Array) -> Array:
    """Rounds a number of 0 or more up or down, by noise in [0, 1): on average it stays what it is, and whole ones stay always.

    Noise is added to the fraction alone: the highest of it, added to a whole number, is rounded to the next.
    """
    low = jnp.floor(number)
    return low + (number - low + noise >= 1)


def _halves(words: Array) -> tuple[Array, Array]:
    """Wins and losses in halves, int32."""
    wins, losses = _parts(_HALF_BITS, words)
    return wins.astype(jnp.int32), losses.astype(jnp.int32)


def _posterior_mean(words: Array) -> Array:
    return beta.posterior_mean(*_halves(words))


def _half_visits(words: Array) -> Array:
    wins, losses = _halves(words)
    return (wins + losses) // 2


def _credit_sign(value: Array, noise: Array) -> Array:
    del noise  # nothing is between the signs
    sign = jnp.sign(value).astype(jnp.int32)
    return ((1 + sign).astype(jnp.uint32) << _HALF_BITS) | (1 - sign).astype(jnp.uint32)


def _soft_halves(value: Array, noise: Array) -> Array:
    wins = jnp.clip(_rounded(1 + value, noise), 0, 2).astype(jnp.uint32)
    return (wins << _HALF_BITS) | (2 - wins)


def _prior_halves(policy: Array, legal: Array, weight: float) -> Array:
    """Wins by the policy, losses by what it leaves to the other arms."""
    others = jnp.maximum(legal.sum(-1, keepdims=True) - 1, 1)
    # Halves are rounded up, and what is a half but for float32 also: equal shares must not be rounded to different sides.
    wins, losses = (jnp.floor(2 * weight * share + 0.501).astype(jnp.uint32) for share in (policy, (1 - policy) / others))
    return jnp.where(legal & (legal.sum(-1, keepdims=True) > 1), (wins << _HALF_BITS) | losses, 0)


def _halves_full(words: Array) -> Array:
    wins, losses = _halves(words)
    return jnp.maximum(wins, losses) >= (1 << _HALF_BITS) - 2 * MAX_CREDITS


def _halves_halved(words: Array) -> Array:
    wins, losses = _parts(_HALF_BITS, words)
    return ((wins >> 1) << _HALF_BITS) | (losses >> 1)


def _mean(words: Array) -> Array:
    summed, count = (part.astype(jnp.float32) for part in _parts(_VISIT_BITS, words))
    return summed / (_VALUE_STEPS * jnp.maximum(count, 1.0)) - jnp.where(count > 0, 1.0, 0.0)
