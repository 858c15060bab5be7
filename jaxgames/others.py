"""The agents who have the other seats of an environment: who they are, and what they choose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import random_bits
from jaxgames.agent import Agent, check_actions, memoryless
from jaxgames.game import Game
from jaxgames.random_bits import LaneKey
from jaxgames.registration import RANDOM, AgentEntry, bot, registered


class Group(NamedTuple):
    """Seats that one agent has.

    Attributes:
      agent: who.
      offsets: of its seats from the learner's, M numbers in 1..P-1.
    """

    agent: Agent
    offsets: tuple[int, ...]

    @property
    def at_once(self) -> bool:
        """Whether all its seats are asked together."""
        return len(self.offsets) > 1 and self.agent.act_seats is not None and self.agent.sees_state

    def init(self, batch: int) -> Any:
        """Gives the memory of B games: leaves [M * B, ...], or [B, M, ...] where seats are asked together."""
        memory = self.agent.init(batch * len(self.offsets))
        return _split(memory, batch) if self.at_once else memory

    def reset(self, memory: Any, lanes: Array) -> Any:
        """Begins new games in some lanes, bool [B]."""
        members, batch = len(self.offsets), len(lanes)
        if self.at_once:
            flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), memory)
            return _split(self.agent.reset(flat, jnp.repeat(lanes, members)), batch)
        return self.agent.reset(memory, jnp.tile(lanes, members))

    def act(
        self, game: Game, params: Any, memory: Any, lanes: LaneKey, states: Any, infos: Any, seats: Array, asked: Array
    ) -> tuple[Array, Any]:
        """Asks the agent for all its seats.

        Args:
          game: the game.
          params: of the agent.
          memory: see `init`.
          lanes: keys of this step, leaves [B].
          states: State [B].
          infos: Information [B, P], or () if nobody needs it.
          seats: int32 [M, B].
          asked: bool [M, B], who has to choose.

        Returns:
          Actions int32 [M, B], any where not asked, and the memory.

        Raises:
          ValueError: the agent chose no integers, or not one for each of its games.
        """
        agent, (members, batch) = self.agent, seats.shape
        if self.at_once:

            def ask(memory: Any) -> tuple[Array, Any]:
                actions, memory = agent.act_seats(params, random_bits.typed_keys(lanes), memory, states, seats.T, asked.T)  # type: ignore[misc]
                check_actions(agent.name, actions, batch, members)
                return actions.T.astype(jnp.int32), memory

        else:
            keys = jax.tree.map(
                lambda *parts: jnp.concatenate(parts), *(random_bits.fold(lanes, index) for index in self.offsets)
            )

            def ask(memory: Any) -> tuple[Array, Any]:
                views = self._views(game, states, infos, seats)
                actions, memory = agent.act(
                    params, random_bits.typed_keys(keys), memory, views, seats.reshape(-1), asked.reshape(-1)
                )
                check_actions(agent.name, actions, members * batch)
                return actions.astype(jnp.int32).reshape(members, batch), memory

        if not jax.tree.leaves(memory):
            return ask(memory)
        # A loop of one round makes this a computation of its own, which XLA's multi-output fusion leaves alone.
        return jax.lax.fori_loop(
            0, asked.any().astype(jnp.int32), lambda _, carry: ask(carry[1]), (jnp.zeros((members, batch), jnp.int32), memory)
        )

    def _views(self, game: Game, states: Any, infos: Any, seats: Array) -> Any:
        """What the seats are shown, leaves [M * B, ...]: states, what they know, or what they see."""
        members, batch = seats.shape
        if self.agent.sees_state or not jax.tree.leaves(infos):
            many = jax.tree.map(lambda leaf: jnp.concatenate([leaf] * members), states)
            return many if self.agent.sees_state else jax.vmap(game.observe)(many, seats.reshape(-1))
        lanes = jnp.arange(batch)
        return jax.tree.map(lambda leaf: jnp.concatenate([leaf[lanes, seat] for seat in seats]), infos)


def groups_of(game: Game, opponents: Agent | str | Sequence[Agent | str]) -> tuple[Group, ...]:
    """Gives the others' seats to agents.

    Args:
      game: the game.
      opponents: one for all, or P - 1 in the order of seats after the learner's; agents, or names of the game's bots.

    Raises:
      ValueError: there is no such bot, or not one agent for each seat.
    """
    count = game.num_players - 1
    is_one = isinstance(opponents, Agent | str) or _is_planner(opponents)
    if not is_one and not isinstance(opponents, Iterable):
        raise ValueError(f"opponents={opponents!r}: must be an Agent or the name of a bot, or {count} of them")
    listed: list[Any] = [opponents] * count if is_one else list(opponents)
    if len(listed) != count:
        raise ValueError(f"opponents: {len(listed)} given, must be one for all, or {count} in the order of seats")
    made: list[tuple[Any, Agent]] = []
    for one in listed:
        if not any(one is other for other, _ in made):
            made.append((one, bot_of(game, one)))
    agents = [next(agent for other, agent in made if other is one) for one in listed]
    distinct = [agent for index, agent in enumerate(agents) if not any(agent is before for before in agents[:index])]
    return tuple(Group(one, tuple(index + 1 for index, agent in enumerate(agents) if agent is one)) for one in distinct)


def bot_of(game: Game, who: Any) -> Agent:
    """Gives an agent, or makes a bot of a game by its name; "random" is known in every game.

    Raises:
      ValueError: the game has no such bot.
    """
    if isinstance(who, Agent):
        return who
    if _is_planner(who):
        raise ValueError(f"opponent={who.name!r}: is a planner, must be an Agent, which search.as_agent(planner) makes of it")
    entries = bots_of(game)
    if isinstance(who, str) and who in entries:
        entry = entries[who]
        return entry.build(game, entry.settings())
    raise ValueError(
        f"opponent={who!r}: must be one of {', '.join(entries)}, or an Agent, such as training.play.agents.make makes by name"
    )


def _is_planner(who: Any) -> bool:
    """Says whether somebody is one of `search`, which this package does not know."""
    return hasattr(who, "plan") and hasattr(who, "name")


def bots_of(game: Game) -> dict[str, AgentEntry]:
    """Gives the bots of a game by name: those of its registration, if it is in one, and `random`, which every game has."""
    known = registered(game.name)
    entries = {entry.name: entry for entry in known.agents} if known else {}
    entries.setdefault(RANDOM, bot(RANDOM, random_legal))
    return entries


def random_legal(game: Game) -> Agent:
    """Makes an agent that plays each legal action with the same probability."""

    def choose(key: Array, state: Any, seat: Array) -> Array:
        here = jnp.arange(game.num_players)[:, None] == seat
        legal = (game.legal_actions(state) & here).any(0)
        rank = random_bits.below_many(random_bits.bits(random_bits.lane_key(key), 0), legal.sum(dtype=jnp.int32))
        return jnp.argmax(jnp.cumsum(legal.astype(jnp.int32)) > rank).astype(jnp.int32)

    return memoryless(
        RANDOM, lambda params, keys, views, seats: jax.vmap(choose)(keys, views, seats), sees_state=True, uses_hidden=False
    )


def _split(memory: Any, batch: int) -> Any:
    return jax.tree.map(lambda leaf: leaf.reshape(batch, -1, *leaf.shape[1:]), memory)
