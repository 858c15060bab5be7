"""The environment of which the caller has all seats: for self-play, and for learners who train each other."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.abilities import tells_legal_by_view
from jaxgames.env_base import NEXT_STEP, SAME_STEP, Base, EnvState, TimeStep
from jaxgames.lanes import where_lanes


@dataclasses.dataclass(frozen=True, eq=False)
class MultiEnvironment(Base):
    """All seats at once; what is of a seat has axes [B, P], and a step is one step of the game.

    Who is not asked passes (`game.pass_action`, the only legal action). Who is eliminated is terminated once the game has paid
    for it, mostly in the same step, and gets no more rewards, unless it has teammates; the episode of a lane is over when all
    its seats are done.

    Attributes:
      game: what is played: a game, or an id or name as `jaxgames.make` takes it.
      batch_size: lanes, B.
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

    def reset(self, key: Array) -> tuple[EnvState, TimeStep]:
        """Begins games in all lanes.

        Args:
          key: a typed key, a new one for every call.

        Returns:
          The state, and a time step without rewards.
        """
        lanes, pool = self._begin(key)
        batch, players = self.batch_size, self.game.num_players
        games = self.starts.take(pool, lanes, jnp.ones(batch, bool))
        state = EnvState(
            games=games,
            infos=(),
            memories=(),
            params=(),
            seats=jnp.zeros(batch, jnp.int32),
            legal=jnp.zeros((batch, players, self.game.num_actions), bool),
            over=jnp.zeros((batch, players), bool),
            length=jnp.zeros(batch, jnp.int32),
            returns=jnp.zeros((batch, players), jnp.float32),
            pending=jnp.zeros(batch, jnp.float32),
            pool=pool,
        )
        nothing = jnp.zeros((batch, players), bool)
        return self._told(state, state, jnp.zeros((batch, players), jnp.float32), nothing, nothing)

    def step(self, state: EnvState, actions: Array, key: Array) -> tuple[EnvState, TimeStep]:
        """Plays the actions of all seats.

        Args:
          state: of `reset` or the last `step`.
          actions: int [B, P]; as of `Environment.step`.
          key: a typed key, a new one for every call.

        Returns:
          The state and what happened, by seat; resets as of `Environment.step`.

        Raises:
          ValueError: actions are no integers [B, P], or state or key are none.
        """
        actions = self._checked(state, actions, (self.batch_size, self.game.num_players))
        lanes = self._lanes(key)
        goes, done = ~state.over.all(1), state.over
        seats = jnp.arange(self.game.num_players, dtype=jnp.int32)
        named = jax.vmap(self._offered, (None, 0, 1), 1)(state.games, jnp.broadcast_to(seats[:, None], actions.T.shape), actions)
        offered = (state.legal & (jnp.arange(self.game.num_actions) == named[..., None])).any(-1)
        games, _ = self._played(state.games, (), actions, goes, lanes)
        reward = jnp.where(goes[:, None] & ~done, jax.vmap(lambda one: one.rewards)(games), 0.0)
        length = state.length + goes
        # Whoever is done stays so: a game may pay for an elimination once.
        out = (games.terminated[:, None] | self._eliminated(games) | done) & goes[:, None]
        truncated = (goes & (length >= self.limit))[:, None] & ~out & ~done
        played = dataclasses.replace(
            state, games=games, over=done | out | truncated, length=length, returns=state.returns + reward
        )
        after = played
        if self.autoreset == SAME_STEP:
            after = self._renewed(played, played.over.all(1), lanes)
        elif self.autoreset == NEXT_STEP:
            after = played = self._renewed(played, ~goes, lanes)  # a lane whose game begins tells of that game
        after, step = self._told(after, played, reward, out, truncated)
        return after, step._replace(illegal=goes[:, None] & ~done & ~offered)

    def _renewed(self, state: EnvState, lanes: Array, keys: Any) -> EnvState:
        """Begins new games in some lanes, bool [B]."""
        return dataclasses.replace(
            state,
            games=where_lanes(lanes, self.starts.take(state.pool, keys, lanes), state.games),
            over=state.over & ~lanes[:, None],
            length=jnp.where(lanes, 0, state.length),
            returns=jnp.where(lanes[:, None], 0.0, state.returns),
        )

    def _told(
        self, state: EnvState, played: EnvState, reward: Array, terminated: Array, truncated: Array
    ) -> tuple[EnvState, TimeStep]:
        """Puts together what the caller is told: of the state to go on from, and the one that was played."""
        state = dataclasses.replace(state, legal=self._legal_of_all(state.games))
        observation = self._seen_by_all(state.games)
        return state, TimeStep(
            observation=observation,
            legal=state.legal,
            reward=reward,
            terminated=terminated,
            truncated=truncated,
            final_observation=observation if self.autoreset != SAME_STEP else self._seen_by_all(played.games),
            seat=jax.vmap(self.game.to_play)(state.games),
            illegal=jnp.zeros_like(terminated),
            episode_length=played.length,
            episode_return=played.returns,
        )

    def _seen_by_all(self, games: Any) -> Any:
        seats = jnp.arange(self.game.num_players)
        return jax.vmap(lambda state: jax.vmap(self.observer.see, (None, 0))(state, seats))(games)

    def _legal_of_all(self, games: Any) -> Array:
        seats = jnp.arange(self.game.num_players, dtype=jnp.int32)
        each = jax.vmap(lambda seat: self._legal(games, jnp.full(self.batch_size, seat)), out_axes=1)
        legal: Array = each(seats) if tells_legal_by_view(self.game) else jax.vmap(self.game.legal_actions)(games)
        return legal
