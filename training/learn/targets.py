"""What a policy is taught about actions: from the arms of a plan to weights per output of a network, kept small in samples.

And how far a network is from what it is taught.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from jaxgames.encoder import Encoder
from search.policy import DENSE_OUTPUTS, per_output
from training.learn.learner import Mean

KEPT = 64  # of more outputs, a sample keeps the best ones


class Best(NamedTuple):
    """Weights of the best outputs; all others have none.

    Attributes:
      outputs: int32 [KEPT].
      weights: float16 [KEPT], 0 where there are fewer.
    """

    outputs: Array
    weights: Array


@dataclasses.dataclass(frozen=True)
class Targets:
    """How targets are kept: one weight per output, or those of the best outputs where there are many.

    Attributes:
      encoder: numbers the outputs, A.
      dtype: of a weight per output.
    """

    encoder: Encoder
    dtype: Any = jnp.float16

    @property
    def is_dense(self) -> bool:
        return self.encoder.num_outputs <= DENSE_OUTPUTS

    def per_output(self, arms: Array, legal: Array, weights: Array, seat: Array) -> Array:
        """Adds up the weights of legal arms by their outputs, as `search.policy.per_output`."""
        return per_output(self.encoder, arms, legal, weights, seat)

    def pack(self, per_output: Array) -> Any:
        """Gives what a sample keeps of weights float32 [A]."""
        if self.is_dense:
            return per_output.astype(self.dtype)
        return self._best(jnp.arange(per_output.shape[0]), per_output)

    def pack_arms(self, arms: Array, legal: Array, weights: Array, seat: Array) -> Any:
        """Gives what a sample keeps of weights of arms, as `pack` of `per_output`; a plan's few arms stay few.

        Args:
          arms: int32 [K], actions.
          legal: bool [K].
          weights: float32 [K].
          seat: int32 [].
        """
        if self.is_dense or arms.shape[0] > DENSE_OUTPUTS:
            return self.pack(self.per_output(arms, legal, weights, seat))
        outputs = self.encoder.outputs(arms, seat)
        usable = legal & (outputs >= 0)
        # An arm that comes again counts where it came first.
        same = (outputs[:, None] == outputs) & usable
        number = jnp.arange(len(arms))
        first = usable & ~(same & (number < number[:, None])).any(1)
        summed = jnp.where(first, jnp.where(same, weights, 0.0).sum(1), 0.0)
        room = max(0, KEPT - len(arms))
        return self._best(jnp.pad(jnp.where(first, outputs, 0), (0, room)), jnp.pad(summed, (0, room)))

    def _best(self, outputs: Array, per_output: Array) -> Best:
        """Keeps the best of weights float32 [N] of outputs int32 [N], N at least `KEPT`."""
        weights, best = jax.lax.top_k(per_output, KEPT)
        outputs, total = outputs[best], per_output.sum()
        share = jnp.where(total > 0, weights * (total / jnp.maximum(weights.sum(), 1e-30)), 0.0)
        return Best(outputs.astype(jnp.int32), share.astype(jnp.float16))

    def unpack(self, kept: Any) -> Array:
        """Gives the weights float32 [A] of what a sample has kept."""
        if self.is_dense:
            return kept.astype(jnp.float32)
        zeros = jnp.zeros(self.encoder.num_outputs)
        return zeros.at[kept.outputs.astype(jnp.int32)].add(kept.weights.astype(jnp.float32))


def is_highest(scores: Array) -> Array:
    """Marks the first of the highest: [..., N] -> bool [..., N]."""
    return jnp.arange(scores.shape[-1]) == scores.argmax(-1, keepdims=True)


def policy_value_errors(logits: Array, values: Array, policy: Array, wanted: Array, over: Array) -> dict[str, Any]:
    """Compares what a network says with what it is taught.

    Args:
      logits: float32 [B, A], its policy.
      values: float32 [B].
      policy: float32 [B, A], the policy it is taught; sums to 1.
      wanted: number [B], the values it is taught.
      over: bool [B], the games that are over; the values of the others do not count.

    Returns:
      value_error (`Mean` square), and as float32 [] cross_entropy (mean, nats) and agreement (the share of samples in which the
      same output is the best).
    """
    return {
        "value_error": Mean(jnp.where(over, jnp.square(wanted - values), 0.0).sum(), over.sum()),
        "cross_entropy": optax.softmax_cross_entropy(logits, policy).mean(),
        "agreement": (is_highest(logits) & is_highest(policy)).any(-1).mean(),
    }
