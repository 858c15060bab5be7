"""Games in which models play for others: what is left is a game of one, or of one and a rival.

(Source: SP-MCTS and TP-MCTS of PommerLearn, Weil et al.)
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import checks, random_bits, shapes
from jaxgames.abilities import has_rivals, teams_of
from jaxgames.agent import Agent
from jaxgames.game import Game, is_hidden
from jaxgames.lanes import where_lanes
from jaxgames.random_bits import LaneKey
from search import arguments
from search.dynamics import Dynamics, dynamics_of, has_chance
from search.planner import of_seat
from search.reductions import picked
from search.rivals import Rival

Arms = Callable[[Any], tuple[Array, Array]]  # as `Game.search_arms`

_CHANCE, _MODELS, _SEED, _REPLY = (1 << 20) + np.arange(4, dtype=np.uint32)  # children of a step's key, and what seeds are for
_NOT_CHOSEN = -1  # the own action, in nodes in which it is to be chosen


class ModelledNode(NamedTuple):
    """A state, and what is needed to go on from it. L lanes, P seats.

    Attributes:
      state: State [L].
      seat: int32 [L], who plans.
      memory: of the models, one of each, leaves [L, S, ...] for S seats in their order after the own.
      seed: uint32 [L], of what the models answer in this node; () where they answer again at each step.
      rival: int32 [L], the seat that chooses too; -1: none. () in a game of one.
      pending: int32 [L], what the own seat has chosen while its rival chooses. () where they do not choose in turn.
    """

    state: Any
    seat: Array
    memory: Any
    seed: Any
    rival: Any
    pending: Any


def single_player(
    game: Game, opponent: Agent, *, arms: Arms | None = None, shared_answers: bool = False, partner: Agent | None = None
) -> Dynamics:
    """Makes the dynamics in which the seat that plans chooses alone, and a model answers for all others at once.

    The parameters of a search are `{"own": ..., "opponents": ...}`: of the network that guides it, and of the model; None where
    neither has any. The models begin each search with empty memories; in a tree kept from move to move (PUCT with `reuse`) they
    go on with what they remember since the root at which it was begun. Two states with one key count as one, whatever the models
    remember. A player who is out has reached the end of its game, and is worth what the game says, or else its heuristic.

    Args:
      game: any game of two or more players.
      opponent: who plays the others: a bot, a network, or a planner as an agent. If it remembers something, that is one row per
        lane: so MCS will do, a search with a table or tree not. If it does not see the state, it is shown what its seat observes.
      arms: in place of the game's `search_arms`.
      shared_answers: models answer once per node, whatever the own action, as in PommerLearn; else at each step again, which is
        for searches that meet a state many times.
      partner: who plays the teammates, in a game of teams; its parameters are those of "partners", or else those of "opponents".
        None: the opponent does.

    Raises:
      ValueError: the opponent plays by information that is collected over a game, which a search does not carry along; its memory
        does not have one row per lane; or there is a partner in a game in which seats have no teammate.
    """
    return _Modelled(game, opponent, arms, shared_answers, partner=partner).dynamics()


def two_player(
    game: Game,
    opponent: Agent,
    rival: Rival,
    *,
    arms: Arms | None = None,
    shared_answers: bool = False,
    in_turn: bool = True,
    partner: Agent | None = None,
) -> Dynamics:
    """Makes the dynamics in which the seat that plans and a rival choose, and a model answers for all others.

    What one of the two wins the other loses. The rival is named again after every step of the game; where there is none, the
    own seat chooses alone.

    Args:
      game: as for `single_player`; so are opponent, arms and shared_answers.
      opponent: who plays all seats but those two.
      rival: `rival(state, seat) -> int32 []`, the seat that plays against a seat; -1: none.
      arms: in place of the game's `search_arms`.
      shared_answers: models answer once per node.
      in_turn: they choose one after the other, the rival knowing what the own seat has chosen, as in TP-MCTS; else at once, for
        searches of games of simultaneous moves.
      partner: as for `single_player`.
    """
    return _Modelled(game, opponent, arms, shared_answers, rival, in_turn, partner).dynamics()


def switching(first: Agent, second: Agent, after: int) -> Agent:
    """Makes a model that answers as one agent near the root of a search and as another below.

    Not for trees kept from move to move (PUCT with `reuse`): there steps count from the root at which the tree was begun, and
    soon the first is not asked any more.

    Args:
      first: asked for the first steps; `params` of the new agent are its own.
      second: asked from then on, with an empty memory at first, as it has not made the moves before; it has its own parameters.
      after: so many steps.

    Raises:
      ValueError: this is no number of steps, or one of the two sees the state and the other does not.
    """
    after = checks.count("after", after, 0)
    if first.sees_state != second.sees_state:
        raise ValueError(f"first={first.name!r}, second={second.name!r}: must both see the state, or both not")

    def init(batch_size: int) -> tuple[Array, Any, Any]:
        return jnp.zeros(batch_size, jnp.int32), first.init(batch_size), second.init(batch_size)

    def reset(memory: Any, lanes: Array) -> Any:
        count, one, other = memory
        return jnp.where(lanes, 0, count), first.reset(one, lanes), second.reset(other, lanes)

    def act(params: Any, keys: Array, memory: Any, views: Any, seats: Array, active: Array) -> tuple[Array, Any]:
        count, one, other = memory
        early = active & (count < after)

        def ask(one: Any) -> tuple[Array, Any]:
            actions, one = first.act(params, keys, one, views, seats, early)
            return actions.astype(jnp.int32), one

        # Where all are below the switch, the first is not asked at all.
        chosen, one = jax.lax.cond(early.any(), ask, lambda one: (jnp.zeros(len(seats), jnp.int32), one), one)
        later, other = second.act(second.params, keys, other, views, seats, active & ~early)
        return jnp.where(early, chosen, later), (count + active, one, other)

    name = f"{first.name}, {second.name} after {after} steps"
    agent = Agent(name, init, reset, act, first.sees_state, first.params)
    return agent._replace(uses_hidden=first.uses_hidden or second.uses_hidden, draws=first.draws or second.draws)


@dataclasses.dataclass(frozen=True)
class _Modelled:
    """A game whose other seats are played by a model."""

    game: Game
    opponent: Agent
    given_arms: Arms | None
    shared_answers: bool
    rival: Rival | None = None
    in_turn: bool = True
    partner: Agent | None = None

    def __post_init__(self) -> None:
        arguments.a_game(self.game)
        arguments.of_kind("opponent", self.opponent, Agent)
        for agent, _ in self.models:
            if is_hidden(self.game) and not agent.sees_state:
                raise ValueError(f"opponent={agent.name!r}: plays by what its seat has seen so far; take one that sees the state")
        if self.partner is not None and not self.models[-1][1]:
            mode = getattr(getattr(self.game, "config", None), "mode", "")
            raise ValueError(f"partner={self.partner.name!r}: there are no teams in {f'{self.game.name} {mode}'.strip()}")
        for role, (agent, _) in zip(("opponent", "partner"), self.models, strict=False):
            if not _has_row_per_lane(agent):
                raise ValueError(f"{role}={agent.name!r}: must have a memory of one row per lane, or none, to answer in a search")

    @functools.cached_property
    def models(self) -> tuple[tuple[Agent, tuple[int, ...]], ...]:
        """Who plays which of the others, these by how many seats they come after the own, less one."""
        everybody = tuple(range(self.others))
        if self.partner is None:
            return ((self.opponent, everybody),)
        teams, seats = teams_of(self.game), range(self.game.num_players)
        mates = tuple(
            place for place in everybody if all(teams[seat] == teams[(seat + 1 + place) % len(teams)] for seat in seats)
        )
        return (self.opponent, tuple(place for place in everybody if place not in mates)), (self.partner, mates)

    @functools.cached_property
    def plain(self) -> Dynamics:
        return dynamics_of(self.game, arms=self.given_arms)

    @property
    def others(self) -> int:
        return self.game.num_players - 1

    @property
    def has_plies(self) -> bool:
        return self.rival is not None and self.in_turn

    def dynamics(self) -> Dynamics:
        """What a search walks in."""
        alone = self.rival is None
        return Dynamics(
            name=f"{self.game.name} against {self.opponent.name}",
            num_players=1 if alone else 2,
            num_arms=self.plain.num_arms,
            pass_action=self.plain.pass_action,
            example=jax.eval_shape(self._example, shapes.batched(shapes.state_of(self.game), 1)),
            root=self.root,
            step=self.step,
            arms=self.arms,
            to_play=self.to_play,
            terminated=lambda nodes: ~self._own_undecided(nodes),
            undecided=lambda nodes: jnp.repeat(self._own_undecided(nodes)[:, None], 1 if alone else 2, axis=1),
            outcome=lambda nodes: jnp.where(self._own_undecided(nodes)[:, None], 0.0, self._both_signs(self._result(nodes))),
            heuristic=lambda nodes: self._both_signs(self._value(nodes)),
            state_key=self.state_key,
            own_params=lambda params: _parts_of(params)["own"],
            asked=self.asked,
            own_first=True,
            at_once=not alone and not self.in_turn,
            replied=self.replied,
            arm_groups=self.plain.arm_groups,
            follows_chance=self._follows_chance(),
            arms_listed=self.plain.arms_listed,
            view=self.plain.view,
            last_action=self.plain.last_action,
            num_seats=self.plain.num_seats,
        )

    def root(self, params: Any, keys: Array, states: Any, seats: Array) -> ModelledNode:
        _parts_of(params)
        memory = tuple(_by_lane(agent.init(len(seats) * len(places)), len(places)) for agent, places in self.models)
        return self._node(keys, states, seats, memory)

    def _node(self, keys: Array, states: Any, seats: Array, memory: Any) -> ModelledNode:
        """A node in which the own seat chooses."""
        seed = random_bits.bits(_lanes(keys), _SEED) if self.shared_answers else ()
        rival = jax.vmap(self.rival)(states, seats).astype(jnp.int32) if self.rival else ()
        pending = jnp.full_like(seats, _NOT_CHOSEN) if self.has_plies else ()
        return ModelledNode(states, seats, memory, seed, rival, pending)

    def step(self, params: Any, keys: Array, nodes: ModelledNode, actions: Array) -> ModelledNode:
        """Plays a step of the game, or keeps the own action until the rival has chosen; an end stays as it is.

        The game may go on where the own seat is out, and a lane must not be worth what others do while its neighbours walk on.
        """
        own = actions[:, 0]
        if self.has_plies:
            own = jnp.where(self._rivals_turn(nodes), nodes.pending, own)
        joint, memory = self._joint_actions(params, keys, nodes, own, actions[:, -1])
        chance = random_bits.typed_keys(random_bits.fold(_lanes(keys), _CHANCE))
        after = self._node(keys, self.plain.step(None, chance, nodes.state, joint), nodes.seat, memory)
        stays = ~self._own_undecided(nodes)
        if self.has_plies:
            stays, nodes = stays | ~self._steps(nodes), nodes._replace(pending=own)
        kept: ModelledNode = where_lanes(stays, nodes, after)
        return kept

    def _joint_actions(self, params: Any, keys: Array, nodes: ModelledNode, own: Array, of_rival: Array) -> tuple[Array, Any]:
        """Actions of all seats, int32 [L, P], and the memories after them: all other seats of all lanes are one batch."""
        players = self.game.num_players
        seats = (nodes.seat[:, None] + 1 + jnp.arange(self.others)) % players
        active = picked(self._asked_seats(nodes), seats)
        if self.shared_answers:
            keys = random_bits.typed_keys(LaneKey(nodes.seed, jnp.full_like(nodes.seed, _MODELS)))
        found, memories, params = [], [], _parts_of(params)
        of_models = (params["opponents"], params.get("partners", params["opponents"]))[: len(self.models)]
        for (agent, places), own_params, known in zip(self.models, of_models, nodes.memory, strict=True):
            here = np.array(places)
            chosen, after = self._answers(agent, own_params, keys, known, nodes.state, seats[:, here], active[:, here])
            found.append(chosen)
            memories.append(after)
        order = np.argsort([place for _, places in self.models for place in places])
        answers = jnp.where(active, jnp.concatenate(found, axis=1)[:, order], self.game.pass_action)
        if self.rival is not None:
            answers = jnp.where(active & (seats == nodes.rival[:, None]), of_rival[:, None], answers)
        # To the order of the seats: the own action first, then those of the seats after it.
        place = (jnp.arange(players) - nodes.seat[:, None]) % players
        return picked(jnp.concatenate([own[:, None], answers], axis=1), place).astype(jnp.int32), tuple(memories)

    def _answers(
        self, agent: Agent, params: Any, keys: Array, memory: Any, states: Any, seats: Array, active: Array
    ) -> tuple[Array, Any]:
        """Actions of a model int32 [L, S] for its seats, and its memories."""
        if agent.act_seats is not None:
            return agent.act_seats(params, keys, memory, states, seats, active)
        count = seats.shape[1]
        states = jax.tree.map(lambda leaf: jnp.repeat(leaf, count, axis=0), states)
        views = states if agent.sees_state else jax.vmap(self.game.observe)(states, _flat(seats))
        each = jax.vmap(lambda key, lane: jax.vmap(functools.partial(jax.random.fold_in, key))(lane))(keys, seats)
        chosen, memory = agent.act(params, _flat(each), _flat(memory), views, _flat(seats), _flat(active))
        return _by_lane(chosen, count), _by_lane(memory, count)

    def _asked_seats(self, nodes: ModelledNode) -> Array:
        """Who chooses in a step of the game: bool [L, P]."""
        to_play = self.plain.to_play(nodes.state)[:, None]
        return self.plain.undecided(nodes.state) & ((to_play < 0) | (to_play == jnp.arange(self.game.num_players)))

    def replied(self, nodes: ModelledNode, reply: Array) -> ModelledNode:
        """Lets models that answer once per node answer again; where they always do, there is nothing to change."""
        if not self.shared_answers:
            return nodes
        return nodes._replace(seed=random_bits.bits(LaneKey(nodes.seed, jnp.full_like(nodes.seed, _REPLY)), reply))

    def _follows_chance(self) -> Callable[[ModelledNode], Array] | None:
        """Which nodes' steps depend on chance: none if neither models nor the game draw, else those that complete a step."""
        if not (has_chance(self.game) or any(agent.draws for agent, _ in self.models)):
            return lambda nodes: jnp.zeros_like(nodes.seat, bool)
        return self._steps if self.has_plies else None

    def _steps(self, nodes: ModelledNode) -> Array:
        """Says where the next choice completes a step of the game, bool [L]; else it waits for that of the rival."""
        return (nodes.rival < 0) | self._rivals_turn(nodes)

    def _rivals_turn(self, nodes: ModelledNode) -> Array:
        return nodes.pending != _NOT_CHOSEN

    def arms(self, nodes: ModelledNode) -> tuple[Array, Array]:
        actions, legal = self.plain.arms(nodes.state)
        return self._chosen_rows(actions, nodes), self._chosen_rows(legal, nodes)

    def to_play(self, nodes: ModelledNode) -> Array:
        if self.has_plies:
            return self._rivals_turn(nodes).astype(jnp.int32)
        return jnp.full_like(nodes.seat, 0 if self.rival is None else -1)

    def asked(self, nodes: ModelledNode, players: Array) -> tuple[Any, Array]:
        if self.rival is None:
            return nodes.state, nodes.seat
        return nodes.state, jnp.where(players == 1, jnp.maximum(nodes.rival, 0), nodes.seat)

    def state_key(self, nodes: ModelledNode) -> Array:
        key = self.plain.state_key(nodes.state)
        if not self.has_plies:
            return key
        return key + (nodes.pending + 1).astype(jnp.uint32)[:, None] * jnp.uint32(0x9E3779B1)

    def _chosen_rows(self, rows: Array, nodes: ModelledNode) -> Array:
        """Rows of those who choose in the search: [L, P, ...] to [L, 1 or 2, ...]."""
        if self.rival is None:
            return picked(rows, nodes.seat[:, None])
        return picked(rows, jnp.stack([nodes.seat, jnp.maximum(nodes.rival, 0)], axis=1))

    def _own_undecided(self, nodes: ModelledNode) -> Array:
        return of_seat(self.plain.undecided(nodes.state)[..., None], nodes.seat)[:, 0]

    def _result(self, nodes: ModelledNode) -> Array:
        """What the end is worth to the own seat, float32 [L]."""
        return jnp.where(nodes.state.terminated, of_seat(self.plain.outcome(nodes.state), nodes.seat), self._value(nodes))

    def _value(self, nodes: ModelledNode) -> Array:
        """What the heuristic says to the own seat, or the game where that is out and others play on: float32 [L]."""
        value = of_seat(self.plain.heuristic(nodes.state), nodes.seat)
        if not has_rivals(self.game):
            return value
        return jnp.where(self._own_undecided(nodes) | nodes.state.terminated, value, self.game.value_when_out)

    def _both_signs(self, own: Array) -> Array:
        return own[:, None] if self.rival is None else jnp.stack([own, -own], axis=1)

    def _example(self, states: Any) -> Any:
        node = self.root(None, jax.random.split(jax.random.key(0), 1), states, jnp.zeros(1, jnp.int32))
        return jax.tree.map(lambda leaf: leaf[0], node)


def _parts_of(params: Any) -> Any:
    """Gives parameters by who uses them; None stands for those of players that need none."""
    if params is None:
        return {"own": None, "opponents": None}
    if not (isinstance(params, Mapping) and {"own", "opponents"} <= params.keys()):
        raise ValueError(f"params={arguments.told(params)}: must be {{'own': ..., 'opponents': ...}} or None")
    return params


def _has_row_per_lane(agent: Agent) -> bool:
    """Whether all that an agent remembers has the lanes as its first axis, so that a node can hold the memory of its lane."""
    one, two = (jax.tree.leaves(jax.eval_shape(functools.partial(agent.init, size))) for size in (1, 2))
    return [(2, *leaf.shape[1:]) for leaf in one] == [leaf.shape for leaf in two] and all(leaf.shape[:1] == (1,) for leaf in one)


def _lanes(keys: Array) -> LaneKey:
    """Reads keys [L], which are random words, as keys of cheap draws."""
    words = jax.random.key_data(keys)
    return LaneKey(words[:, 0], words[:, 1])


def _by_lane(tree: Any, seats: int) -> Any:
    return jax.tree.map(lambda leaf: leaf.reshape(-1, seats, *leaf.shape[1:]), tree)


def _flat(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), tree)
