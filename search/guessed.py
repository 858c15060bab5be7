"""Worlds by how likely they are: drawn states are weighted by a guess of what is hidden in each place.

What fits what a player knows is one thing, what others are likely to hold is another: a piece that stays behind two others is
more often the flag. Some states are drawn as the game draws them, all as likely, and one of them is taken with a probability in
proportion to the product of the chances that the guess gives to what it holds in each place (sampling, importance resampling).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import checks
from jaxgames.abilities import has_secrets
from jaxgames.game import is_hidden
from search.changed_game import ChangedGame

LogProbs = Callable[[Any], Array]

CANDIDATES = 32  # states of which one is taken, if nobody says how many


class GuessedWorlds(ChangedGame):
    """A game whose `sample_hidden` draws by weight; all else is as in the game.

    What the guess holds (parameters of a network) is a constant of what is compiled with this game.
    """

    def __init__(self, game: Any, log_probs: LogProbs, candidates: int = CANDIDATES) -> None:
        """Binds a game and a guess.

        Args:
          game: one that tells what is hidden place by place (`jaxgames.abilities.SecretiveGame`).
          log_probs: `log_probs(info) -> float32 [H * W, K]`, for what a player knows: of each place the logarithms of the
            chances of all that may be hidden there. Places that hide nothing do not count.
          candidates: states of which one is taken; 1: as the game draws them.

        Raises:
          ValueError: the game does not tell what is hidden, or there is no number of candidates.
        """
        if not (is_hidden(game) and has_secrets(game)):
            raise ValueError(f"game={game.name!r}: does not tell what is hidden where, so nothing can be guessed")
        self.game, self._log_probs, self._candidates = game, log_probs, checks.count("candidates", candidates, 1)

    def sample_hidden(self, key: Array, info: Any) -> Any:
        """Draws a state that fits what a player knows, the likelier ones by the guess more often.

        Args:
          key: a random key.
          info: what a player knows.
        """
        draw_key, choice_key = jax.random.split(key)
        states = jax.vmap(self.game.sample_hidden, (0, None))(jax.random.split(draw_key, self._candidates), info)
        weights = log_weights(self.game, self._log_probs(info), states, info)
        taken = jnp.argmax(weights + jax.random.gumbel(choice_key, weights.shape))
        return jax.tree.map(lambda leaf: leaf[taken], states)


def log_weights(game: Any, log_probs: Array, states: Any, info: Any) -> Array:
    """Gives how likely states are by a guess.

    Args:
      game: tells what is hidden where.
      log_probs: float32 [H * W, K].
      states: State [M], all of which fit what a player knows.
      info: what it knows.

    Returns:
      float32 [M], logarithms, up to a constant.
    """
    hidden = jax.vmap(game.secrets, (0, None))(states, info)
    here = hidden[..., None] == jnp.arange(game.num_secrets, dtype=hidden.dtype)
    return jnp.where(here, log_probs, 0.0).sum((1, 2))
