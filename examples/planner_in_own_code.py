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
from jaxgames.registration import usual_opponent
from training.play import agents


def main(
    game_id: str = "pommerman-ffa-v1",
    planner_spec: str = "fdts:num_simulations=50",
    opponents: str = "",
    lanes: int = 16,
    steps: int = 400,
    seed: int = 0,
) -> dict[str, float]:
    """Plays, prints, and gives the share of games won, drawn and lost; who is out before the end has lost.

    Args:
      game_id: of `jaxgames games`.
      planner_spec: a planner that sees the state.
      opponents: an agent by name, as on command lines; none: the game's usual one.
      lanes: games at once.
      steps: moves in each lane.
      seed: of everything that is drawn.
    """
    runtime.prepare()
    try:
        game = jaxgames.make(game_id)
        planner, params = agents.make_planner(planner_spec, game)
        others = agents.make(opponents or usual_opponent(game), game)
        # With "next_step" the state still holds the finished game when its end is told.
        env = jaxgames.Environment(game, lanes, opponents=others, seat="rotating", autoreset="next_step")
    except ValueError as error:
        raise SystemExit(f"error: {error}") from None
    if not planner.sees_state:
        raise SystemExit(f"planner={planner_spec}: plays by what its seat knows; this loop hands it states")

    def move(carry: tuple[Any, Any], key: jax.Array) -> tuple[Any, Any]:
        state, memory = carry
        think, chance = jax.random.split(key)
        everywhere = jnp.arange(lanes)
        keys = jax.random.split(think, lanes)
        plan, memory = planner.plan(params, keys, memory, state.games, state.seats, ~state.over)
        column = jnp.zeros_like(state.seats) if planner.own_first else state.seats
        state, step = env.step(state, plan.actions[everywhere, column], chance)
        memory = planner.reset(memory, step.done)  # a new game begins there in the next step
        thought = {name: getattr(plan, name)[0, column[0]] for name in ("arms", "legal", "qvalues", "visit_counts")}
        outcome = jax.vmap(game.outcome)(state.games)[everywhere, state.seats]  # rewards may tell another one
        return (state, memory), (step.done, jnp.where(state.games.terminated, outcome, -1), thought)

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
