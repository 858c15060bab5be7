"""A planner in a loop of one's own: it plays many games at once, and tells what it thinks of its moves.

    python examples/planner_in_own_code.py --game-id pommerman-ffa-v1 --planner-spec fdts:num_simulations=50 --opponents simple

A planner is a few pure functions. It is asked with the full states of the games if it sees them (`sees_state`: then it knows more
than its seat does, where something is hidden), and remembers its trees from move to move, until a game ends.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tyro

import jaxgames
from jaxgames import runtime
from training.play import agents


def main(
    game_id: str = "pommerman-ffa-v1",
    planner_spec: str = "fdts:num_simulations=50",
    opponents: str = "simple",
    lanes: int = 16,
    steps: int = 400,
    seed: int = 0,
) -> dict[str, float]:
    """Plays, prints, and gives the share of games won, drawn and lost.

    Args:
      game_id: of `jaxgames games`.
      planner_spec: a planner that sees the state.
      opponents: a bot of the game.
      lanes: games at once.
      steps: moves in each lane.
      seed: of everything that is drawn.
    """
    runtime.prepare()
    game = jaxgames.make(game_id)
    env = jaxgames.Environment(game, lanes, opponents=opponents, seat="rotating")
    planner, params = agents.make_planner(planner_spec, game)
    if not planner.sees_state:
        raise SystemExit(f"planner={planner_spec}: plays by what its seat knows; this loop hands it states")

    def move(carry: tuple[Any, Any], key: jax.Array) -> tuple[Any, Any]:
        state, memory = carry
        think, chance = jax.random.split(key)
        everywhere = jnp.arange(lanes)
        plan, memory = planner.plan(
            params, jax.random.split(think, lanes), memory, state.games, state.seats, jnp.ones(lanes, bool)
        )
        column = jnp.zeros_like(state.seats) if planner.own_first else state.seats
        state, step = env.step(state, plan.actions[everywhere, column], chance)
        memory = planner.reset(memory, step.done)  # a new game has begun there
        thought = {name: getattr(plan, name)[0, column[0]] for name in ("arms", "legal", "qvalues", "visit_counts")}
        return (state, memory), (step.done, game_result(step), thought)

    def game_result(step: jaxgames.env.TimeStep) -> jax.Array:
        """1, 0 or -1 at the end of a game."""
        return jnp.where(step.done, jnp.sign(step.reward), 0)

    move_once = jax.jit(move, donate_argnums=0)
    state, _ = jax.jit(env.reset)(jax.random.key(seed))
    carry, results = (state, planner.init(lanes)), []
    for number in range(steps):
        carry, (done, result, thought) = move_once(carry, jax.random.fold_in(jax.random.key(seed + 1), number))
        results += [int(one) for one in np.asarray(result)[np.asarray(done)]]
        if number % 50 == 0:
            legal = np.asarray(thought["legal"])
            shown = zip(*(np.asarray(thought[name])[legal] for name in ("arms", "qvalues", "visit_counts")), strict=True)
            told = "  ".join(f"{arm}: {value:+.2f} ({visits})" for arm, value, visits in list(shown)[:8])
            print(f"move {number:4}, lane 0, action: value (visits)  {told}")
    games = max(len(results), 1)
    shares = {"games": len(results)} | {
        name: results.count(sign) / games for name, sign in (("won", 1), ("drawn", 0), ("lost", -1))
    }
    print(f"{len(results)} games: won {shares['won']:.2f}, drawn {shares['drawn']:.2f}, lost {shares['lost']:.2f}")
    return shares


if __name__ == "__main__":
    tyro.cli(main)
