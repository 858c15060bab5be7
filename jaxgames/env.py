"""An environment to train in, made of any game: pure functions of arrays, batch-first, with automatic reset.

    env = Environment("pommerman", batch_size=1024, opponents="simple")
    state, step = env.reset(first_key)
    state, step = env.step(state, actions, next_key)    # actions int32 [B]; jit it, or call it in a scan

A lane plays one game after another. The learner has one seat and agents have the others; `MultiEnvironment` leaves all seats to
the caller. Every lane draws by a key of its own, so that what happens in it does not depend on its neighbours.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import checks, random_bits
from jaxgames.agent import Agent
from jaxgames.env_base import DISABLED, NEXT_STEP, SAME_STEP, Base, EnvState, TimeStep
from jaxgames.game import is_hidden
from jaxgames.lanes import where_lanes
from jaxgames.others import Group, groups_of
from jaxgames.random_bits import LaneKey

__all__ = ["DISABLED", "NEXT_STEP", "ROTATING", "SAME_STEP", "EnvState", "Environment", "TimeStep"]

ROTATING = "rotating"
_SEATS, _NEW_GAME, _AGAIN = 1, 2, 3  # children of a lane's key


@dataclasses.dataclass(frozen=True, eq=False)
class Environment(Base):
    """One learner against agents; arrays have a leading axis B, whatever is said of one lane.

    In games of turns a step goes on until it is the learner's turn again, or the game is over. Who is eliminated passes until the
    game has paid for it, mostly in the same step, and is done; with teammates it passes until the game is over.

    Attributes:
      game: what is played: a game, or an id or name as `jaxgames.make` takes it.
      batch_size: lanes, B.
      opponents: who has the other seats: agents, or names of the game's bots; one for all, or P - 1 in the order of seats after
        the learner's.
      seat: of the learner; or "rotating": the next one with each game of a lane, beginning with lane % P at every `reset`.
      observation: "arrays" (all that a seat observes, as few plain arrays), "planes" (of the encoder), or a function
        `see(state, seat) -> pytree` of one game.
      encoder: its name, with "planes"; None: the game's first.
      autoreset: "same_step", "next_step" or "disabled".
      max_episode_steps: an episode is truncated after so many steps; None: only the game's rules end it.
      pool_size: start states that are drawn once, for all games to come; 0: every game draws its own. None: 4096, and 0 where
        there are fewer than 64 lanes.

    Raises:
      ValueError: a setting out of range, or a game, variant, bot or encoder that does not exist.
    """

    opponents: Agent | str | Sequence[Agent | str] = "random"
    seat: Any = 0
    groups: tuple[Group, ...] = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        players = self.game.num_players
        seat = self.seat if isinstance(self.seat, str) else checks.as_integer(self.seat)
        if seat != ROTATING and seat not in range(players):
            raise ValueError(f"seat={self.seat!r}: must be in 0..{players - 1}, or {ROTATING}")
        object.__setattr__(self, "seat", seat)
        object.__setattr__(self, "groups", groups_of(self.game, self.opponents))

    @property
    def informed(self) -> bool:
        """Whether some opponent plays by what its seat has seen so far."""
        return is_hidden(self.game) and not all(group.agent.sees_state for group in self.groups)

    def reset(self, key: Array, first_seat: Array | int = 0) -> tuple[EnvState, TimeStep]:
        """Begins games in all lanes.

        Args:
          key: a typed key, a new one for every call.
          first_seat: int32 [], the learner's in lane 0, where seats rotate; the seats of the lanes after it follow.

        Returns:
          The state, and a time step without reward.
        """
        lanes, pool = self._begin(key)
        everywhere = jnp.ones(self.batch_size, bool)
        games = self.starts.take(pool, lanes, everywhere)
        first = (jnp.arange(self.batch_size, dtype=jnp.int32) + first_seat) % self.game.num_players
        state = EnvState(
            games=games,
            infos=self._infos(games) if self.informed else (),
            memories=tuple(group.init(self.batch_size) for group in self.groups),
            params=tuple(group.agent.params for group in self.groups),
            seats=first if self.seat == ROTATING else jnp.full(self.batch_size, self.seat, jnp.int32),
            legal=jnp.zeros((self.batch_size, self.game.num_actions), bool),
            over=~everywhere,
            length=jnp.zeros(self.batch_size, jnp.int32),
            returns=jnp.zeros(self.batch_size, jnp.float32),
            pending=jnp.zeros(self.batch_size, jnp.float32),
            pool=pool,
        )
        nothing = jnp.zeros(self.batch_size, jnp.float32)
        if self.takes_turns:
            nobody = jnp.zeros(self.batch_size, jnp.int32)
            state, before = self._until_own_turn(state, nobody, ~everywhere, random_bits.fold(lanes, _NEW_GAME))
            state = dataclasses.replace(state, pending=before)
        return self._told(state, state, nothing, ~everywhere, ~everywhere)

    def step(self, state: EnvState, actions: Array, key: Array) -> tuple[EnvState, TimeStep]:
        """Plays the learner's actions, and all that follows until it is asked again.

        Args:
          state: of `reset` or the last `step`.
          actions: int [B], numbered as the game does. What an illegal one does is told by the game, and that it was one by
            `TimeStep.illegal`; a number out of range counts as the pass.
          key: a typed key, a new one for every call.

        Returns:
          The state and what happened. With `autoreset="same_step"` games that are over have been followed by the next ones, which
          is what the observation shows; with "next_step" the next call begins them and ignores the actions of their lanes; with
          "disabled" they stay as they are.

        Raises:
          ValueError: actions are no integers [B], or state or key are none.
        """
        actions = self._checked(state, actions, (self.batch_size,))
        lanes = self._lanes(key)
        acts = ~state.over
        offered = self._offered(state.games, state.seats, actions)
        illegal = acts & ~(state.legal & (jnp.arange(self.game.num_actions) == offered[:, None])).any(1)
        if self.autoreset == NEXT_STEP:
            state = self._renewed(state, state.over, lanes)
        state = dataclasses.replace(state, length=state.length + acts)
        if not self.takes_turns:
            played, told = self._act(state, actions, acts, lanes)
            after = self._renewed(played, played.over, lanes) if self.autoreset == SAME_STEP else played
        elif self.autoreset != SAME_STEP:
            played, told = self._act(state, actions, acts, lanes)
            after = played
        else:
            after, played, told = self._act_and_go_on(state, actions, acts, lanes)
        after, step = self._told(after, played, *told)
        return after, step._replace(illegal=illegal)

    def _act(self, state: EnvState, actions: Array, acts: Array, keys: LaneKey) -> tuple[EnvState, tuple[Array, Array, Array]]:
        """Plays until the learner is asked again; gives its reward too, and whether its episode is terminated or truncated."""
        state, more = self._until_own_turn(state, actions, acts, keys)
        reward = jnp.where(acts, more + state.pending, 0.0)
        terminated, truncated = self._ends(state, acts)
        over = state.over | terminated | truncated
        pending = jnp.where(acts, 0.0, state.pending + more)
        state = dataclasses.replace(state, over=over, returns=state.returns + reward, pending=pending)
        return state, (reward, terminated, truncated)

    def _act_and_go_on(self, state: EnvState, actions: Array, acts: Array, keys: LaneKey) -> tuple[EnvState, EnvState, Any]:
        """Plays, then begins the next games up to the learner's turn: a loop of two rounds, so that agents compile once.

        Returns:
          The state to go on from, the one before new games, and what is told of it.
        """

        def play(number: Array, carry: tuple[Any, ...]) -> tuple[Any, ...]:
            now, played, told = carry
            first = number == 0
            now = self._renewed(now, now.over & ~first, keys)
            now, new = self._act(now, actions, acts & first, random_bits.fold(keys, _AGAIN + number))
            both = jax.tree.map(lambda a, b: jnp.where(first, a, b), (now, new), (played, told))
            return now, *both

        no = jnp.zeros_like(acts)
        after, played, told = jax.lax.fori_loop(0, 2, play, (state, state, (jnp.zeros(acts.shape, jnp.float32), no, no)))
        return after, played, told

    def _ends(self, state: EnvState, acts: Array) -> tuple[Array, Array]:
        """Says which lanes have come to an end by the rules, and which by the limit of steps: bool [B] each."""
        terminated = acts & self._done(state)
        return terminated, acts & ~terminated & (state.length >= self.limit)

    def _done(self, state: EnvState) -> Array:
        """bool [B]: the game is over for the learner."""
        return state.games.terminated | self._of_learner(self._eliminated(state.games), state.seats)

    def _of_learner(self, rows: Array, seats: Array) -> Array:
        """The learner's entry of [B, P]."""
        if self.seat != ROTATING:
            return rows[:, self.seat]
        here = jnp.arange(self.game.num_players) == seats[:, None]
        return (rows & here).any(1) if rows.dtype == bool else jnp.where(here, rows, 0).sum(1, dtype=rows.dtype)

    def _renewed(self, state: EnvState, lanes: Array, keys: LaneKey) -> EnvState:
        """Begins new games in some lanes, bool [B]."""
        games = where_lanes(lanes, self.starts.take(state.pool, keys, lanes), state.games)
        seats = state.seats
        if self.seat == ROTATING:
            seats = jnp.where(lanes, (seats + 1) % self.game.num_players, seats)
        return dataclasses.replace(
            state,
            games=games,
            infos=where_lanes(lanes, self._infos(games), state.infos) if self.informed else (),
            memories=tuple(group.reset(memory, lanes) for group, memory in zip(self.groups, state.memories, strict=True)),
            seats=seats,
            over=state.over & ~lanes,
            length=jnp.where(lanes, 0, state.length),
            returns=jnp.where(lanes, 0.0, state.returns),
            pending=jnp.where(lanes, 0.0, state.pending),
        )

    def _until_own_turn(self, state: EnvState, actions: Array, acts: Array, keys: LaneKey) -> tuple[EnvState, Array]:
        """Plays until the learner is asked, in the lanes where it acts now (bool [B]) and where others are to move.

        Returns:
          The state, and the learner's rewards float32 [B].
        """
        if not self.takes_turns:
            return self._once(state, actions, acts, acts, keys)

        def going(state: EnvState) -> Array:
            mover = jax.vmap(self.game.to_play)(state.games)
            return ~state.over & ~self._done(state) & (mover >= 0) & (mover != state.seats)

        def body(carry: tuple[Any, ...]) -> tuple[Any, ...]:
            state, reward, mine, goes, count = carry
            state, more = self._once(state, actions, mine, goes, random_bits.fold(keys, count))
            return state, reward + more, jnp.zeros_like(mine), going(state), count + 1

        acts = acts & ~self._done(state)  # who was out before its first turn is only told
        start = (state, jnp.zeros(self.batch_size, jnp.float32), acts, acts | going(state), jnp.int32(0))
        state, reward, *_ = jax.lax.while_loop(lambda carry: carry[3].any(), body, start)
        return state, reward

    def _once(self, state: EnvState, actions: Array, mine: Array, goes: Array, keys: LaneKey) -> tuple[EnvState, Array]:
        """Plays one step of the game in the lanes that go (bool [B]); the learner acts in those of `mine` (bool [B])."""
        game, players = self.game, self.game.num_players
        in_play, mover = jax.vmap(game.in_play)(state.games), jax.vmap(game.to_play)(state.games)[:, None]
        asked = in_play & ((mover < 0) | (mover == jnp.arange(players))) & goes[:, None]
        columns = jnp.arange(players)
        own = (columns == state.seats[:, None]) & (mine & self._of_learner(asked, state.seats))[:, None]
        joint = jnp.where(own, actions[:, None], game.pass_action)
        memories = []
        for group, params, memory in zip(self.groups, state.params, state.memories, strict=True):
            seats = jnp.stack([(state.seats + offset) % players for offset in group.offsets])
            active = jnp.stack([((columns == seat[:, None]) & asked).any(1) for seat in seats])
            lanes = random_bits.fold(keys, _SEATS)
            chosen, memory = group.act(game, params, memory, lanes, state.games, state.infos, seats, active)
            memories.append(memory)
            # After a barrier, or XLA draws again for each entry below.
            chosen = jax.lax.optimization_barrier(jnp.where(active, chosen, game.pass_action))
            for seat, action in zip(seats, chosen, strict=True):
                joint = jnp.where(columns == seat[:, None], action[:, None], joint)
        games, infos = self._played(state.games, state.infos, joint, goes, keys)
        reward = jnp.where(goes, self._of_learner(jax.vmap(lambda one: one.rewards)(games), state.seats), 0.0)
        return dataclasses.replace(state, games=games, infos=infos, memories=tuple(memories)), reward

    def _told(
        self, state: EnvState, played: EnvState, reward: Array, terminated: Array, truncated: Array
    ) -> tuple[EnvState, TimeStep]:
        """Puts together what the caller is told: of the state to go on from, and the one that was played."""
        state = dataclasses.replace(state, legal=self._legal(state.games, state.seats))
        observation = self._seen(state.games, state.seats)
        return state, TimeStep(
            observation=observation,
            legal=state.legal,
            reward=reward,
            terminated=terminated,
            truncated=truncated,
            final_observation=observation if self.autoreset != SAME_STEP else self._seen(played.games, played.seats),
            seat=state.seats,
            illegal=jnp.zeros_like(terminated),
            episode_length=played.length,
            episode_return=played.returns,
        )
