"""Games in which models play for the others: what is left is a game of one."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.agent import Agent
from jaxgames.game import Game, is_hidden
from search.dynamics import Dynamics, dynamics_of
from search.planner import of_seat

_CHANCE = 1 << 20  # child of a step's key, beside those of the seats


class ModelledNode(NamedTuple):
    """A state, and what is needed to go on from it. L lanes, P seats.

    Attributes:
      state: State [L].
      seat: int32 [L], who plans.
      memory: of the models, leaves [L, P - 1, ...], in the order of the seats after the own.
    """

    state: Any
    seat: Array
    memory: Any


def single_player(game: Game, opponent: Agent) -> Dynamics:
    """Makes the dynamics in which the seat that plans chooses alone, and a model answers for all others at once.

    The parameters of a search are `{"own": ..., "opponents": ...}`: of the network that guides it, and of the model. The
    models begin each search with empty memories. Two states with one key count as one, whatever the models remember. A player
    who is out has reached the end of its game, and is worth what the heuristic says.

    Args:
      game: any game of two or more players.
      opponent: who plays the others: a bot, a network, or a planner as an agent. If it does not see the state, it is shown what
        its seat observes.

    Raises:
      ValueError: the opponent plays by information that is collected over a game, which a search does not carry along.
    """
    if is_hidden(game) and not opponent.sees_state:
        raise ValueError(f"opponent={opponent.name!r}: plays by what its seat has seen so far; take one that sees the state")
    plain, others = dynamics_of(game), game.num_players - 1

    def own(rows: Array, nodes: ModelledNode) -> Array:
        return of_seat(rows, nodes.seat)[:, None]

    def flat(tree: Any) -> Any:
        return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), tree)

    def by_lane(tree: Any) -> Any:
        return jax.tree.map(lambda leaf: leaf.reshape(-1, others, *leaf.shape[1:]), tree)

    def root(params: Any, states: Any, seats: Array) -> ModelledNode:
        return ModelledNode(states, seats, by_lane(opponent.init(len(seats) * others)))

    def step(params: Any, keys: Array, nodes: ModelledNode, actions: Array) -> ModelledNode:
        """All other seats of all lanes are one batch for the model."""
        seats = (nodes.seat[:, None] + 1 + jnp.arange(others)) % game.num_players
        asked = plain.undecided(nodes.state)
        to_play = plain.to_play(nodes.state)[:, None]
        asked = asked & ((to_play < 0) | (to_play == jnp.arange(game.num_players)))
        active = jnp.take_along_axis(asked, seats, axis=1)
        states = jax.tree.map(lambda leaf: jnp.repeat(leaf, others, axis=0), nodes.state)
        views = states if opponent.sees_state else jax.vmap(game.observe)(states, flat(seats))
        each = jax.vmap(lambda key, lane: jax.vmap(functools.partial(jax.random.fold_in, key))(lane))(keys, seats)
        chosen, memory = opponent.act(params["opponents"], flat(each), flat(nodes.memory), views, flat(seats), flat(active))
        answers = jnp.where(active, by_lane(chosen), game.pass_action)
        # To the order of the seats: the own action first, then those of the seats after it.
        place = (jnp.arange(game.num_players) - nodes.seat[:, None]) % game.num_players
        joint = jnp.take_along_axis(jnp.concatenate([actions, answers], axis=1), place, axis=1).astype(jnp.int32)
        chance = jax.vmap(lambda key: jax.random.fold_in(key, _CHANCE))(keys)
        return ModelledNode(plain.step(None, chance, nodes.state, joint), nodes.seat, by_lane(memory))

    def arms(nodes: ModelledNode) -> tuple[Array, Array]:
        actions, legal = plain.arms(nodes.state)
        return own(actions, nodes), own(legal, nodes)

    def undecided(nodes: ModelledNode) -> Array:
        return own(plain.undecided(nodes.state), nodes)

    def outcome(nodes: ModelledNode) -> Array:
        over = nodes.state.terminated[:, None]
        result = jnp.where(over, own(plain.outcome(nodes.state), nodes), own(plain.heuristic(nodes.state), nodes))
        return jnp.where(undecided(nodes), 0.0, result)

    def example() -> Any:
        node = root(None, jax.vmap(game.init)(jax.random.split(jax.random.key(0), 1)), jnp.zeros(1, jnp.int32))
        return jax.tree.map(lambda leaf: leaf[0], node)

    return Dynamics(
        name=f"{game.name} against {opponent.name}",
        num_players=1,
        num_arms=plain.num_arms,
        pass_action=plain.pass_action,
        example=jax.eval_shape(example),
        root=root,
        step=step,
        arms=arms,
        to_play=lambda nodes: jnp.zeros_like(nodes.seat),
        terminated=lambda nodes: ~undecided(nodes)[:, 0],
        undecided=undecided,
        outcome=outcome,
        heuristic=lambda nodes: own(plain.heuristic(nodes.state), nodes),
        state_key=lambda nodes: plain.state_key(nodes.state),
        own_params=lambda params: params["own"],
        asked=lambda nodes, players: (nodes.state, nodes.seat),
        own_first=True,
    )
