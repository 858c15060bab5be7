"""Search among what players know: one tree for all the worlds that may be, in which a node is what the player to move sees.

Each simulation begins in a world of its own, drawn from what the planning seat knows. What is learnt in one world counts in all
others in which the same is seen, so the search cannot plan on seeing what will stay hidden (strategy fusion), as it does where
each world has its own tree. The other's nodes are told apart by what it sees, its own hidden pieces too; so legal moves follow
from the node, and no bandit meets arms that come and go. (Source: Cowling et al., Information Set Monte Carlo Tree Search; named
as future work by Bluml et al., AlphaZe**.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import shapes
from jaxgames.game import HiddenGame
from jaxgames.hashing import hash_words
from jaxgames.packing import packing_of
from search import arguments
from search.dynamics import Dynamics, dynamics_of
from search.planner import Planner


class Node(NamedTuple):
    """A state of a drawn world.

    Attributes:
      state: of the game.
      info: what the planning seat knew at the root.
    """

    state: Any
    info: Any


def among_information_sets(game: HiddenGame, make: Callable[[Dynamics], Planner]) -> Planner:
    """Makes a planner that is shown what its seat knows and searches among information sets.

    Args:
      game: one in which players take turns and something is hidden. What a player observes must tell its legal moves.
      make: `make(dynamics) -> Planner`, a search by bandits over these.

    Returns:
      The planner; its table lives through the episode, for what was learnt of an information set stays true.
    """
    arguments.a_hidden_game(game)
    dynamics = information_sets(game)
    planner = make(dynamics)
    named = planner._replace(name=f"{planner.name}, information sets", sees_state=False, uses_hidden=False)
    return arguments.checked(named, dynamics.view, game.num_players)


def information_sets(game: HiddenGame) -> Dynamics:
    """Gives dynamics whose roots are drawn again for every simulation, and whose nodes are known by what their movers see."""
    plain = dynamics_of(game)
    packing = packing_of(shapes.observation_of(game))

    def root(params: Any, keys: Array, views: Any, seats: Array) -> Node:
        del params, seats
        return redrawn(keys, Node(None, views))

    def redrawn(keys: Array, nodes: Node) -> Node:
        return Node(jax.vmap(game.sample_hidden)(keys, nodes.info), nodes.info)

    def key_of(state: Any) -> Array:
        mover = jnp.maximum(game.to_play(state), 0).astype(jnp.int32)
        words = packing.pack(game.observe(state, mover))
        return hash_words([*(words[number] for number in range(packing.num_words)), mover.astype(jnp.uint32)])

    def of_state(function: Callable) -> Callable:
        return lambda nodes: function(nodes.state)

    known = shapes.information_of(game)
    return plain._replace(
        example=Node(plain.example, known),
        root=root,
        step=lambda params, keys, nodes, actions: nodes._replace(state=plain.step(params, keys, nodes.state, actions)),
        arms=of_state(plain.arms),
        to_play=of_state(plain.to_play),
        terminated=of_state(plain.terminated),
        undecided=of_state(plain.undecided),
        outcome=of_state(plain.outcome),
        heuristic=of_state(plain.heuristic),
        state_key=of_state(jax.vmap(key_of)),
        asked=lambda nodes, players: (nodes.state, players),
        redrawn=redrawn,
        view=known,
    )
