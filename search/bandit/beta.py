"""Draws from Beta distributions, the posterior of Thompson sampling: cheap, elementwise, without tables or rejection.

An arm with `wins` and `losses` counted in halves (an undecided simulation adds one to both) has the posterior
Beta(1 + wins / 2, 1 + losses / 2). A plan draws from it tens of thousands of times, so a draw costs two random words and
about a hundred operations that fuse with whatever produces the counts and consumes the draw:

* theta = A / (A + B) with independent gamma variates A, B of shapes a = 1 + wins / 2 and b = 1 + losses / 2;
* a gamma variate comes from a normal one by its quantile function, a polynomial for the eighth root (`gamma_from_normal`);
* two independent normal variates come from two words (Box-Muller);
* without wins or without losses the quantile function of the Beta itself is a power, and is used as it is.

So the result is exact up to rounding where wins = 0 or losses = 0. Elsewhere the distribution function of a gamma variate is
off by at most 7e-5, that of a Beta by at most 1e-4, and tail probabilities down to 1e-5 are right within half a percent.

On a CPU a draw takes 2 to 4 ns in a loop that LLVM vectorizes, and 30 ns in one that it does not. Draws fused with a gather
of the counts *and* a choice among the arms were never vectorized, whatever the layout. Keep such draws in a computation of
their own there, `jax.lax.cond(any_lane_active, draw, zeros, ...)`; XLA removes an `optimization_barrier` before it fuses.
"""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import random_bits

# Row k has the coefficients of v^k, from the power 0 of u up; see `gamma_from_normal`. Fitted by `fit_gamma_polynomial` in
# tests/search/bandit/test_beta.py, which is how to get other degrees; the first two coefficients are exact for large shapes.
GAMMA_POLYNOMIAL = (
    np.array(
        [
            1.00000000e00,
            1.25000000e-01,
            -1.30172856e-02,
            1.26646446e-03,
            2.84004071e-05,
            -8.74532274e-05,
            1.93331159e-05,
            1.73975053e-06,
            -7.56527838e-07,
            -2.13762162e-08,
            1.12491600e-08,
        ],
        np.float32,
    ),
    np.array(
        [
            -4.16315372e-02,
            1.16870801e-02,
            -2.03584751e-03,
            -3.62334616e-05,
            2.47658629e-04,
            -3.32120431e-05,
            -5.81173307e-06,
            1.23589064e-06,
            -1.47186152e-08,
        ],
        np.float32,
    ),
    np.array([-3.69651525e-03, 2.49058094e-03, 6.51411952e-04, -7.17367140e-04, -2.30876370e-05, 7.49374343e-06], np.float32),
    np.array([5.41772265e-04, -2.20234110e-03, 6.38418381e-05, 4.25674274e-04], np.float32),
)

# Taylor coefficients of sin(pi t) / t and cos(pi t) in t^2, enough for 1e-7 on |t| <= 1/2.
SINE = np.array([(-1) ** k * math.pi ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(6)], np.float32)
COSINE = np.array([(-1) ** k * math.pi ** (2 * k) / math.factorial(2 * k) for k in range(7)], np.float32)


def sample_beta(word1: Array, word2: Array, wins: Array, losses: Array) -> Array:
    """Draws from Beta(1 + wins / 2, 1 + losses / 2), elementwise.

    Numbers within 6e-8 of 1 round to 1; numbers near 0 are as fine, or finer where there are wins.

    Args:
      word1: uint32 [], 32 random bits (`random_bits.bits`).
      word2: uint32 [], another 32.
      wins: integer [] of any type, in [0, 65535]; twice the number of won simulations.
      losses: as `wins`. All four have one shape, or broadcast.

    Returns:
      float32 [] in [0, 1], the common shape.
    """
    a, b = _shape_parameter(wins), _shape_parameter(losses)
    exponential = -jnp.log(random_bits.uniform(word1))
    normal1, normal2 = normal_pair(exponential, word2)
    gamma1, gamma2 = gamma_from_normal(a, normal1), gamma_from_normal(b, normal2)
    # With a = 1 or b = 1 the other one is their product, and theta or 1 - theta is a power of a uniform variate.
    power = jnp.exp(-exponential / (a * b))
    theta = gamma1 / (gamma1 + gamma2)
    return jnp.where(wins == 0, 1 - power, jnp.where(losses == 0, power, theta))


def posterior_mean(wins: Array, losses: Array) -> Array:
    """Gives the mean of Beta(1 + wins / 2, 1 + losses / 2); counts in the same ratio to their sum give equal numbers.

    Args:
      wins: integer [] of any type, in [0, 65535]; twice the number of won simulations.
      losses: as `wins`.

    Returns:
      float32 [] in (0, 1); 1/2 for an arm that was never tried.
    """
    # A quotient of two integers below 2^24, so that the only rounding is that of the division.
    a, b = wins.astype(jnp.float32) + 2, losses.astype(jnp.float32) + 2
    return a / (a + b)


def normal_pair(exponential: Array, word: Array) -> tuple[Array, Array]:
    """Makes two independent standard normal variates (Box-Muller).

    Args:
      exponential: float32 [], an exponential variate with mean 1; half the squared length of the pair.
      word: uint32 [], 32 random bits for the direction.

    Returns:
      two float32 [].
    """
    # The direction is a half turn around the first axis, whose sign is the top bit: with so small a range the sine and cosine
    # are short polynomials, where the library functions took four fifths of the time of a draw (CPU).
    t = random_bits.uniform(word << 1) - np.float32(0.5)
    square = t * t
    cosine = _polynomial(COSINE, square)
    length = jnp.sqrt(2 * exponential)
    return length * jnp.where((word >> 31) != 0, -cosine, cosine), length * (t * _polynomial(SINE, square))


def gamma_from_normal(shape: Array, normal: Array) -> Array:
    """Turns a standard normal variate into a gamma variate with this shape and scale 1, monotonically.

    With v = 1 / shape and u = normal * sqrt(v), the quantile function divided by the shape is a power series in v whose
    coefficients are smooth functions of u alone (Temme's expansion of the incomplete gamma function). So one polynomial
    serves all shapes, and becomes exact for large ones. Its eighth root is nearer to a polynomial than the usual cube root,
    and stays positive.

    Args:
      shape: float32 [] in [1.5, 32769]; half a count less than 1.5 has too long a lower tail.
      normal: float32 [], |normal| <= 5.8, which holds for `normal_pair` on an exponential variate of 23 bits.

    Returns:
      float32 [].
    """
    # Not `rsqrt`: on CPUs that is an approximation which depends on how the loop was vectorized.
    v = 1 / shape
    u = normal * jnp.sqrt(v)
    root = _polynomial(GAMMA_POLYNOMIAL[-1], u)
    for row in GAMMA_POLYNOMIAL[-2::-1]:
        root = root * v + _polynomial(row, u)
    square = root * root
    fourth = square * square
    return shape * (fourth * fourth)


def _shape_parameter(count: Array) -> Array:
    return 1 + np.float32(0.5) * count.astype(jnp.float32)


def _polynomial(coefficients: np.ndarray, x: Array) -> Array:
    """Evaluates a polynomial, lowest power first, by Horner's rule: the products have one use each, so all contract alike."""
    value = coefficients[-1] * x + coefficients[-2]
    for coefficient in coefficients[-3::-1]:
        value = value * x + coefficient
    return value
