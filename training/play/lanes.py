"""The pool of games at work that evaluation, self-play and DAgger share: which game is in which lane, and what comes next.

Games are numbered from `first` on, and game `n` is played on device `(n - first) % D`. What is drawn in it depends on the root
key and `n` alone: neither the number of lanes nor that of devices changes any game.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.game import init_all_information, update_all_information
from jaxgames.lanes import where_lanes
from jaxgames.packing import packing_of
from search.planner import of_seat

_DRAWN_AT_ONCE = 16  # start states: as many as fill the registers of a CPU
START, PLAY = 0, 2  # children of a game's key: of its first state, and of its steps; users of the pool choose the others


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Lanes:
    """L games at work on one device.

    Attributes:
      states: State [L].
      infos: Information [L, P] by seat, where somebody plays by it; else ().
      number: int32 [L], which game; `num_games` or more where none is left to play.
      clock: int32 [L], steps played.
      next_number: int32 [1], the next game of this device to begin.
    """

    states: Any
    infos: Any
    number: Array
    clock: Array
    next_number: Array


@dataclasses.dataclass(frozen=True)
class Pool:
    """How games come and go; all static.

    Attributes:
      game: what is played.
      lanes: games at once, on this device.
      num_devices: D, which share the games.
      num_games: in all, a number or int32 [] where it is known when the program runs; None: they never end.
      informed: somebody plays by what its seat knows, in a game that hides something.
      play_key: child of a game's key from which those of its steps come.
      games_per_start: so many games in a row have one start state.
      start_of: `start_of(key, number) -> state`, with the root key, in place of what the game draws; None: that.
      common: so many games in a row are played with the same random numbers, so that they can be compared.
    """

    game: Any
    lanes: int
    num_devices: int = 1
    num_games: int | Array | None = None
    informed: bool = False
    play_key: int = 1
    games_per_start: int = 1
    start_of: Callable[[Array, Array], Any] | None = None
    common: int = 1

    def start(self, key: Array, device: Array, first: Array | int = 0) -> Lanes:
        """Begins games of a device; `first` is the lowest number of all devices."""
        device = device + first
        number = jnp.arange(self.lanes, dtype=jnp.int32) * self.num_devices + device
        states, infos = self._new_games(key, number)
        next_number = jnp.full(1, self.lanes * self.num_devices, jnp.int32) + device
        return Lanes(states, infos, number, jnp.zeros(self.lanes, jnp.int32), next_number)

    def busy(self, lanes: Lanes) -> Array:
        """bool [L]: lanes that play."""
        return self.exists(lanes.number)

    def exists(self, number: Array) -> Array:
        """bool [...]: there is a game of this number."""
        return jnp.ones(number.shape, bool) if self.num_games is None else number < self.num_games

    def step_keys(self, key: Array, lanes: Lanes) -> Array:
        """Keys [L] of this step: they depend on the game and its clock alone."""
        numbers = lanes.number // self.common
        games = jax.vmap(lambda n: jax.random.fold_in(jax.random.fold_in(key, n), self.play_key))(numbers)
        return jax.vmap(jax.random.fold_in)(games, lanes.clock)

    def asked(self, states: Any) -> Array:
        """bool [L, P]: who chooses an action in states [L]."""
        in_play, mover = jax.vmap(self.game.in_play)(states), jax.vmap(self.game.to_play)(states)[:, None]
        return in_play & ((mover < 0) | (mover == jnp.arange(self.game.num_players)))

    def views(self, lanes: Lanes, sees_state: bool, seats: Array) -> Any:
        """What M seats per lane (int32 [M, L]) are shown: states, what they know, or in open games what they see; [M * L]."""
        if self.informed and not sees_state:
            return jax.tree.map(lambda leaf: jnp.concatenate([of_seat(leaf, seat) for seat in seats]), lanes.infos)
        states = lanes.states
        if len(seats) > 1:
            states = jax.tree.map(lambda leaf: jnp.concatenate([leaf] * len(seats)), states)
        return states if sees_state else jax.vmap(self.game.observe)(states, seats.reshape(-1))

    def step(self, lanes: Lanes, actions: Array, chance_keys: Array, going: Array | None = None) -> Lanes:
        """Plays one step with actions int32 [L, P], in all lanes or those that go (bool [L])."""
        states = jax.vmap(self.game.step)(lanes.states, actions, chance_keys)
        if going is not None:
            states = where_lanes(going, states, lanes.states)
        infos = lanes.infos
        if self.informed:
            infos = update_all_information(self.game, infos, states, actions)
            infos = infos if going is None else where_lanes(going, infos, lanes.infos)
        clock = lanes.clock + (1 if going is None else going)
        return dataclasses.replace(lanes, states=states, infos=infos, clock=clock)

    def refill(self, key: Array, lanes: Lanes, ended: Array) -> tuple[Lanes, Array]:
        """Begins the next games in the lanes whose games have ended.

        Returns:
          The lanes, and bool [L], those in which a game begins.
        """
        place = jnp.cumsum(ended.astype(jnp.int32)) - 1
        number = jnp.where(ended, lanes.next_number + place * self.num_devices, lanes.number)
        fresh = ended & self.exists(number)

        def renew(current: tuple[Any, Any]) -> tuple[Any, Any]:
            new: tuple[Any, Any] = where_lanes(fresh, self._next_games(key, number, fresh), current)
            return new

        states, infos = jax.lax.cond(fresh.any(), renew, lambda current: current, (lanes.states, lanes.infos))
        lanes = Lanes(
            states=states,
            infos=infos,
            number=number,
            clock=jnp.where(fresh, 0, lanes.clock),
            next_number=lanes.next_number + ended.sum(dtype=jnp.int32) * self.num_devices,
        )
        return lanes, fresh

    def _next_games(self, key: Array, number: Array, fresh: Array) -> tuple[Any, Any]:
        """Gives start states where `fresh` (bool [L]), and anything elsewhere.

        Few games end at a time and start states are dear, so they are drawn for some lanes at a time. They are put into their
        lanes as rows of words: one write, where their leaves would be many.
        """
        lanes = len(number)
        if lanes <= _DRAWN_AT_ONCE:
            return self._new_games(key, number)
        packing = packing_of(jax.eval_shape(self._start, key, number[0]))
        order = jnp.pad(jnp.argsort(~fresh, stable=True), (0, _DRAWN_AT_ONCE))

        def draw(carry: tuple[Array, Array]) -> tuple[Array, Array]:
            done, rows = carry
            place = jax.lax.dynamic_slice_in_dim(order, done, _DRAWN_AT_ONCE)
            starts = jax.vmap(self._start, (None, 0))(key, number[place])
            wanted = done + jnp.arange(_DRAWN_AT_ONCE) < count
            rows = rows.at[jnp.where(wanted, place, lanes)].set(jax.vmap(packing.pack)(starts), mode="drop")
            return done + _DRAWN_AT_ONCE, rows

        count = fresh.sum(dtype=jnp.int32)
        rows = jnp.zeros((lanes, packing.num_words), jnp.uint32)
        _, rows = jax.lax.while_loop(lambda carry: carry[0] < count, draw, (jnp.int32(0), rows))
        return self._known(jax.vmap(packing.unpack)(rows))

    def _new_games(self, key: Array, number: Array) -> tuple[Any, Any]:
        """Gives start states and what is known of them."""
        return self._known(jax.vmap(self._start, (None, 0))(key, number))

    def _start(self, key: Array, number: Array) -> Any:
        """Draws the start state of game `number` (int32 [])."""
        if self.start_of is not None:
            return self.start_of(key, number)
        first = number // self.games_per_start * self.games_per_start
        return self.game.init(jax.random.fold_in(jax.random.fold_in(key, first), START))

    def _known(self, states: Any) -> tuple[Any, Any]:
        return states, init_all_information(self.game, states) if self.informed else ()


def fold(keys: Array, child: int) -> Array:
    """Gives a child of each of some keys [L]."""
    return jax.vmap(functools.partial(jax.random.fold_in, data=child))(keys)
