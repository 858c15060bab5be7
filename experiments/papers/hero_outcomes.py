"""What planners of turns look at in a turn of Hero Academy: unique states after it, and how deep trees go (section VII-A)."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from jaxgames import random_bits
from jaxgames.hero_academy import HeroAcademy
from search.turns import evolution, greedy
from search.turns import mcts as turn_mcts
from search.turns.game import moves_of
from search.turns.population import generations_for

TREES = {
    "mcts": turn_mcts.Settings(),
    "mcts_non_exploring": turn_mcts.NON_EXPLORING,
    "mcts_bridge_burning": turn_mcts.BRIDGE_BURNING,
}


def outcomes(num_evaluations: int, seed: int, games: int = 32) -> dict:
    """Counts what planners look at in a turn.

    Args:
      num_evaluations: that a turn has.
      seed: of everything.
      games: positions, each at the start of a turn some way into a game in which actions are chosen as rollouts do.
    """
    game = jaxgames.make("hero_academy", "standard")
    assert isinstance(game, HeroAcademy)
    moves = moves_of(game)
    keys, more_keys = jax.random.split(jax.random.key(seed), (2, games))
    states = jax.jit(jax.vmap(lambda key, turns: _some_turns(game, key, turns)))(keys, 6 + jnp.arange(games) % 20)
    going = np.flatnonzero(~np.asarray(states.terminated))
    states = jax.tree.map(lambda leaf: leaf[going], states)
    lanes, seats = jax.vmap(random_bits.lane_key)(more_keys[going]), jax.vmap(game.to_play)(states)
    result: dict = {"evaluations": num_evaluations, "positions": len(going), "players": {}}
    walk = greedy.best_turn(game, moves, greedy.Settings(num_evaluations=num_evaluations))
    turn = jax.jit(walk.run)(lanes, states, seats)
    result["players"]["greedy_turn"] = {"outcomes": _spread(turn.metrics["evaluations"])}
    for name, settings in TREES.items():
        search = turn_mcts.tree_search(game, moves, dataclasses.replace(settings, num_simulations=num_evaluations))
        turn = jax.jit(search.run)(lanes, states, seats)
        result["players"][name] = {
            "outcomes": _spread(turn.metrics["outcomes"]),
            "depth": _spread(turn.metrics["depth"]),
            "nodes": _spread(turn.metrics["nodes"]),
        }
    evolving = generations_for(num_evaluations, evolution.Settings())
    result["players"]["oep"] = {"outcomes": _spread(_evolved_outcomes(game, evolving, lanes, states, seats))}
    return result


def _some_turns(game: HeroAcademy, key: jax.Array, turns: jax.Array):
    """A state at the start of a turn, so many turns into a game in which actions are chosen as rollouts do."""
    deal, play = jax.random.split(key)
    lane = random_bits.lane_key(play)

    def step(carry):
        number, state = carry
        action = game.rollout_action(state, random_bits.fold(lane, number), 0.5)
        return number + 1, game.advance(state, action, None)

    def unfinished(carry):
        return (carry[1].turn < turns) & ~carry[1].terminated

    return jax.lax.while_loop(unfinished, step, (jnp.int32(0), game.init(deal)))[1]


def _evolved_outcomes(game: HeroAcademy, settings: evolution.Settings, lanes, states, seats) -> np.ndarray:
    """How many different states the turns lead to that OEP makes, per position."""
    noted = evolution.evolution(game, moves_of(game), settings, notes_outcomes=True)
    carry = jax.jit(noted.start)(lanes, states, seats, jnp.ones(len(seats), bool))
    one = jax.jit(noted.round)
    seen: list[set] = [set() for _ in range(len(seats))]
    for number in range(noted.rounds):
        carry = one(jnp.int32(number), carry)
        keys = np.asarray(carry.notes["outcome"])[:, settings.num_survivors :].astype(np.uint64)
        for lane, words in enumerate(keys[..., 0] << np.uint64(32) | keys[..., 1]):
            seen[lane].update(words.tolist())
    return np.array([len(some) for some in seen])


def _spread(values) -> dict[str, float]:
    """Mean, median and largest."""
    array = np.asarray(values)
    return {"mean": float(array.mean()), "median": float(np.median(array)), "most": float(array.max())}
