"""What a search walks in: the game itself, or a game made of it in which models play for some of its players.

All functions are batch-first and take the parameters of the models that play, so that a neural opponent runs as one batch over
all lanes, and new weights compile nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.abilities import has_groups
from jaxgames.game import Game
from jaxgames.turns import moves_at_once
from search import arguments

Evaluate = Callable[[Any, Any, Array], tuple[Array, Array]]  # (params, states, seats) -> (logits [L, A] or [L, 1], value [L])
Outputs = Callable[[Array, Array], Array]  # (actions [...], seat []) -> the number of each action's logit


class Dynamics(NamedTuple):
    """What a search walks in. L lanes, P players of the search, K arms; nodes are any tree with leading axis L.

    Attributes:
      name: for messages.
      num_players: P.
      num_arms: K.
      pass_action: of players who do not choose.
      example: the shapes of one node, without leading axis.
      root: `root(params, keys, views, seats) -> nodes`, of what a planner is shown, for the seats int32 [L] that plan; keys [L].
        Who replaces it says in `view` what it is given.
      step: `step(params, keys, nodes, actions) -> nodes`; keys [L], actions int32 [L, P].
      arms: `arms(nodes) -> (int32 [L, P, K], bool [L, P, K])`: actions and which of them are legal.
      to_play: `to_play(nodes) -> int32 [L]`, who chooses; -1: all at once.
      terminated: `terminated(nodes) -> bool [L]`.
      undecided: `undecided(nodes) -> bool [L, P]`, players whose result is open.
      outcome: `outcome(nodes) -> float32 [L, P]`, +1 win, 0 draw, -1 loss; 0 before the end.
      heuristic: `heuristic(nodes) -> float32 [L, P]`, the handcrafted value.
      state_key: `state_key(nodes) -> uint32 [L, 2]`.
      own_params: `own_params(params) -> params` of the network that guides the search.
      asked: `asked(nodes, players) -> (states, seats)`: what that network is asked about, for players int32 [L], and for which
        seats of the game.
      own_first: the first player is the seat that plans, whichever it is; else players are the seats of the game.
      at_once: whether all players choose at once in every node.
      replied: `replied(nodes, reply) -> nodes`, in which models draw their answers again, other ones for each reply (int32 [L]).
      arm_groups: the group of each arm, 0, 1, ...; (): the game tells none.
      follows_chance: `follows_chance(nodes) -> bool [L]`, whether a step depends on chance; None: it may in all of them.
      redrawn: `redrawn(keys, roots) -> nodes`, with which simulations by bandits begin instead of their roots; None: with these.
      arms_listed: there are more actions than arms, and listing those of a state is work that is better done once per node.
      view: the shapes of what `root` is given for one lane; None: anything.
      last_action: the largest number of an action that is more than a pass; -1: not told.
      num_seats: of the game, any of which may plan; None: not told.
    """

    name: str
    num_players: int
    num_arms: int
    pass_action: int
    example: Any
    root: Callable[[Any, Array, Any, Array], Any]
    step: Callable[[Any, Array, Any, Array], Any]
    arms: Callable[[Any], tuple[Array, Array]]
    to_play: Callable[[Any], Array]
    terminated: Callable[[Any], Array]
    undecided: Callable[[Any], Array]
    outcome: Callable[[Any], Array]
    heuristic: Callable[[Any], Array]
    state_key: Callable[[Any], Array]
    own_params: Callable[[Any], Any] = lambda params: params
    asked: Callable[[Any, Array], tuple[Any, Array]] = lambda nodes, players: (nodes, players)
    own_first: bool = False
    at_once: bool = False
    replied: Callable[[Any, Array], Any] = lambda nodes, reply: nodes
    arm_groups: tuple[int, ...] = ()
    follows_chance: Callable[[Any], Array] | None = None
    redrawn: Callable[[Array, Any], Any] | None = None
    arms_listed: bool = False
    view: Any = None
    last_action: int = -1
    num_seats: int | None = None

    def is_random(self, nodes: Any) -> Array:
        """Says in which nodes [L] a step may depend on chance, bool [L]."""
        return self.follows_chance(nodes) if self.follows_chance else jnp.ones_like(self.terminated(nodes))

    def evaluate(
        self, evaluate: Evaluate, params: Any, nodes: Any, players: Array, *, outputs: Outputs | None
    ) -> tuple[Array, Array, Array]:
        """Asks a network about nodes [L] for players int32 [L].

        Args:
          evaluate: the network.
          params: of the search.
          nodes: any.
          players: int32 [L].
          outputs: the logit of each action; None: that of its number.

        Returns:
          Logits float32 [L, A], or [L, 1] where all arms are alike, values float32 [L], and the seats int32 [L] of the game whose
          these are, by which outputs are numbered.

        Raises:
          ValueError: the network gives other shapes, or too few logits for the numbers of actions.
        """
        states, seats = self.asked(nodes, players)
        logits, values = answer(evaluate, self.own_params(params), states, seats)
        count = logits.shape[1]
        if outputs is None and 1 < count <= self.last_action:
            least = self.last_action + 1
            raise ValueError(f"evaluate gave {count} logits: must be at least {least}, one per action number; or give outputs=")
        return logits, values, seats


def answer(evaluate: Evaluate, params: Any, states: Any, seats: Array) -> tuple[Array, Array]:
    """Asks a network, and checks the shapes of what it says.

    Args:
      evaluate: the network.
      params: its parameters.
      states: what it is shown, leaves [L, ...].
      seats: int32 [L], for whom.

    Returns:
      Logits float32 [L, A], or [L, 1] where all arms are alike, and values float32 [L].

    Raises:
      ValueError: these have other shapes.
    """
    found, lanes = evaluate(params, states, seats), seats.shape[0]
    shapes = [jnp.shape(leaf) for leaf in jax.tree.leaves(found)]
    if not (len(shapes) == 2 and len(shapes[0]) == 2 and shapes[0][0] == lanes and shapes[0][1] and shapes[1] == (lanes,)):
        given = ", ".join(str(list(shape)) for shape in shapes)
        raise ValueError(f"evaluate gave arrays of shape {given}: must be logits [{lanes}, A] and values [{lanes}]")
    return found


def dynamics_of(game: Game | Dynamics, *, key: Callable | None = None, arms: Callable | None = None) -> Dynamics:
    """Gives the plain dynamics of a game, in which nodes are its states; of dynamics, themselves.

    Args:
      game: a game, or dynamics made of one.
      key: `key(state) -> uint32 [2]` in place of the game's `state_key`.
      arms: `arms(state) -> (int32 [P, K], bool [P, K])` in place of the game's `search_arms`.

    Raises:
      ValueError: this is no game; or a key or arms are given for dynamics, which have their own.
    """
    if isinstance(game, Dynamics):
        for name, given in (("key", key), ("arms", arms)):
            if given is not None:
                raise ValueError(f"{name}: stands in for a game's own; of the dynamics of {game.name!r} replace a field")
        return game
    state = arguments.state_of(game)
    return Dynamics(
        name=game.name,
        num_players=game.num_players,
        num_arms=game.num_arms,
        pass_action=game.pass_action,
        example=state,
        root=lambda params, keys, views, seats: views,
        step=lambda params, keys, states, actions: jax.vmap(game.step)(states, actions, keys),
        arms=jax.vmap(arms or game.search_arms),
        to_play=jax.vmap(game.to_play),
        terminated=lambda states: states.terminated,
        undecided=lambda states: jax.vmap(game.in_play)(states) & ~states.terminated[:, None],
        outcome=jax.vmap(game.outcome),
        heuristic=jax.vmap(game.heuristic),
        state_key=jax.vmap(key or game.state_key),
        at_once=moves_at_once(game),
        arm_groups=game.arm_groups if arms is None and has_groups(game) else (),
        arms_listed=game.num_arms + 1 < game.num_actions,  # where all but the pass are arms, there is nothing to list
        follows_chance=None if has_chance(game) else lambda states: jnp.zeros_like(states.terminated),
        view=state,
        num_seats=game.num_players,
        last_action=game.num_actions - (2 if game.pass_action == game.num_actions - 1 else 1),
    )


def has_chance(game: Game) -> bool:
    """Says whether a game draws something in its steps; one without `draw_chance` may."""
    if not hasattr(game, "draw_chance"):
        return True
    key, actions = jax.eval_shape(lambda: jax.random.key(0)), jax.ShapeDtypeStruct((game.num_players,), jnp.int32)
    return bool(jax.tree.leaves(jax.eval_shape(game.draw_chance, key, arguments.state_of(game), actions)))


def check_turns(game: Game | Dynamics, use: str) -> None:
    """Refuses games for a search in which what is good for one player is as bad for the other.

    Args:
      game: the game, or dynamics made of one, whose players are those who choose.
      use: the search, for the message.

    Raises:
      ValueError: all players choose at once, or more than two choose.
    """
    if game.at_once if isinstance(game, Dynamics) else moves_at_once(game):
        raise ValueError(f"game={game.name!r}: all its players move at once; {use} needs one who is to move")
    if game.num_players > 2:
        raise ValueError(f"game={game.name!r}: {game.num_players} players move in turn; {use} is for two against each other")


def arm_logits(logits: Array, actions: Array, seats: Array, outputs: Outputs | None) -> Array:
    """Gathers the logits of arms.

    Args:
      logits: float32 [L, A], per output of a network.
      actions: int32 [L, K], the arms.
      seats: int32 [L], whose: seats of the game, not players of a search.
      outputs: the output of each action, as `Encoder.outputs`; None: its own number.

    Returns:
      float32 [L, K]; of an arm that has no output, any. One logit [L, 1] is that of all arms.
    """
    number = actions if outputs is None else jax.vmap(outputs)(actions, seats)
    return jnp.take_along_axis(logits, jnp.clip(number, 0, logits.shape[1] - 1), axis=1)
