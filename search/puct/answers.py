"""What a search makes of a network's answers: values, and priors of arms, at the roots with noise."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from search.puct.action_selection import COLDEST

_LEAST_PRIOR = 1e-30  # of a legal arm: 0 says illegal
_ILLEGAL, _HIGHEST = jnp.finfo(jnp.float32).min, jnp.finfo(jnp.float32).max
_LOWEST = _ILLEGAL / 2


def sound_values(values: Array) -> Array:
    """Gives values of which each is finite: of one that is no number 0, of an infinite one that of a win or a loss."""
    return jnp.nan_to_num(values, posinf=1.0, neginf=-1.0)


def priors_of(logits: Array, legal: Array, temperature: float = 1.0) -> Array:
    """Gives priors by a network's logits, which sum to 1.

    Args:
      logits: [B, K]. One that is no number counts as the lowest, and where those of all legal arms are, they are all alike.
      legal: bool [B, K].
      temperature: the greater, the flatter.

    Returns:
      float32 [B, K], positive where an arm is legal, else 0.
    """
    if temperature != 1:
        logits = logits / max(temperature, COLDEST)
    return jnp.where(legal, jnp.maximum(_softmax(logits, legal), _LEAST_PRIOR), 0.0)


def with_noise(keys: Array, prior: Array, fraction: float, alpha: float) -> Array:
    """Mixes priors with Dirichlet noise over the legal arms.

    Args:
      keys: [B].
      prior: float32 [B, K], 0 for illegal arms.
      fraction: of the noise.
      alpha: of each arm; the smaller, the fewer arms the noise favours.

    Returns:
      float32 [B, K], as `prior`.
    """
    legal = prior > 0
    # By logarithms: what a gamma of a small alpha gives is less than float32 can hold.
    draws = jax.vmap(lambda key: jax.random.loggamma(key, jnp.maximum(alpha, COLDEST), prior.shape[1:]))(keys)
    mixed = (1 - fraction) * prior + fraction * _softmax(draws, legal)
    return jnp.where(legal, jnp.maximum(mixed, _LEAST_PRIOR), 0.0)


def _softmax(scores: Array, legal: Array) -> Array:
    """The softmax over legal arms, float32 [B, K]; finite for any scores."""
    sound = jnp.where(scores > _LOWEST, jnp.minimum(scores, _HIGHEST), _LOWEST)
    return jax.nn.softmax(jnp.where(legal, sound, _ILLEGAL), axis=-1)
