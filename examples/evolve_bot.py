"""Evolving a bot's numbers: a rule with six weights learns Hex by the cross-entropy method, in one compiled generation.

    python examples/evolve_bot.py

The bot gives every free cell a score, the weighted sum of what is around it, and plays the best one. A population of weights
plays many games each, all of them lanes of one environment; the best give the mean and the spread of the next generation.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tyro

import jaxgames
from jaxgames import runtime

WHAT = ("own neighbours", "other's neighbours", "own bridges", "other's bridges", "near the middle", "on the way across")
NEIGHBOURS = ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0))
BRIDGES = ((-2, 1), (-1, 2), (1, 1), (2, -1), (1, -2), (-1, -1))


def around(cells: jax.Array, offsets: tuple[tuple[int, int], ...]) -> jax.Array:
    """Counts for each cell of float32 [B, N, N] how many of the cells at these offsets are set."""
    padded, size = jnp.pad(cells, ((0, 0), (2, 2), (2, 2))), cells.shape[1]
    shifted = [padded[:, 2 + row : 2 + row + size, 2 + column : 2 + column + size] for row, column in offsets]
    return jnp.stack(shifted).sum(0)


def features(observation: dict[str, jax.Array]) -> jax.Array:
    """What the weights are of: float32 [B, N * N, 6]; the second player sees rows as columns, so both join top and bottom."""
    cells = observation["cells"].astype(jnp.float32)
    second = observation["numbers"][:, 0] == 1
    cells = jnp.where(second[:, None, None, None], jnp.swapaxes(cells, 2, 3), cells)
    own, other, size = cells[:, 0], cells[:, 1], cells.shape[2]
    away = np.abs(np.arange(size) - (size - 1) / 2) / size
    middle = jnp.broadcast_to(-(away[:, None] + away[None, :]), own.shape)
    rows = own.any(2, keepdims=True)  # rows in which there is a stone already help less
    across = jnp.broadcast_to(1.0 - rows, own.shape)
    shown = [around(own, NEIGHBOURS), around(other, NEIGHBOURS), around(own, BRIDGES), around(other, BRIDGES), middle, across]
    shown = [jnp.where(second[:, None, None], jnp.swapaxes(each, 1, 2), each) for each in shown]
    return jnp.stack([each.reshape(len(own), -1) for each in shown], axis=-1)


def main(
    game: str = "hex-hex-5-v1",
    opponents: str = "random",
    population: int = 32,
    games: int = 16,
    generations: int = 20,
    seed: int = 0,
) -> dict[str, Any]:
    """Evolves and prints; gives the share of games that the last generation won on average, and the weights.

    Args:
      game: a Hex in which all is seen.
      opponents: a bot of the game.
      population: how many sets of weights.
      games: at once, of each.
      generations: how many.
      seed: of everything that is drawn.
    """
    runtime.prepare()
    lanes = population * games
    env = jaxgames.Environment(game, lanes, opponents=opponents, seat="rotating")
    longest = env.game.max_steps // 2 + 1  # steps of the learner in which every lane ends at least one game
    elite = max(population // 4, 2)

    def play(weights: jax.Array, key: jax.Array) -> jax.Array:
        """Gives the share of games that each of the population [G, 6] wins."""
        of_lane = jnp.repeat(weights, games, axis=0)

        def step(carry: Any, key: jax.Array) -> tuple[Any, Any]:
            state, now = carry
            scores = (features(now.observation) * of_lane[:, None]).sum(-1)
            among_equals, chance = jax.random.split(key)
            noise = 1e-3 * jax.random.uniform(among_equals, scores.shape)
            actions = jnp.where(now.legal[:, :-1], scores + noise, -jnp.inf).argmax(1)
            state, after = env.step(state, actions, chance)
            return (state, after), (after.done, after.reward > 0)

        begin, play_on = jax.random.split(key)
        _, (done, won) = jax.lax.scan(step, env.reset(begin), jax.random.split(play_on, 2 * longest))
        count, wins = done.sum(0).reshape(-1, games).sum(1), (done & won).sum(0).reshape(-1, games).sum(1)
        return wins / jnp.maximum(count, 1)

    @jax.jit
    def generation(mean: jax.Array, spread: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        draw, games = jax.random.split(key)
        weights = mean + spread * jax.random.normal(draw, (population, len(WHAT)))
        weights = weights.at[0].set(mean)
        shares = play(weights, games)
        best = weights[jnp.argsort(-shares)[:elite]]
        return best.mean(0), best.std(0) + 0.05, shares

    mean, spread, shares = jnp.zeros(len(WHAT)), jnp.ones(len(WHAT)), jnp.zeros(1)
    for number in range(generations):
        mean, spread, shares = generation(mean, spread, jax.random.fold_in(jax.random.key(seed), number))
        print(f"generation {number:3}: won on average {float(shares.mean()):.2f}, the best {float(shares.max()):.2f}")
    for name, weight in zip(WHAT, np.asarray(mean), strict=True):
        print(f"  {name:20} {weight:+.2f}")
    return {"won": float(shares.mean()), "weights": np.asarray(mean)}


if __name__ == "__main__":
    tyro.cli(main)
