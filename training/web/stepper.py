"""One game at a time, on the host: the compiled functions of a game, and of those who play it.

Random numbers are those of `training.play.evaluate`, so a game that was recorded there can be played again here, and the other
way round.
"""

from __future__ import annotations

import functools
import threading
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.agent import Agent
from jaxgames.game import Game, init_all_information, is_hidden, update_all_information
from training.play.lanes import PLAY, START

_KEPT = 8  # moments whose arrays stay on the device


class Moment(NamedTuple):
    """A state of one game with what must be known of it; all on the host.

    Attributes:
      state: State.
      infos: Information [P], in games whose players do not see everything; else ().
      legal: bool [P, A].
      asked: bool [P], who has to choose an action.
      outcome: float32 [P].
      over: whether the game has ended.
    """

    state: Any
    infos: Any
    legal: np.ndarray
    asked: np.ndarray
    outcome: np.ndarray
    over: bool


class Stepper:
    """Begins games and plays their steps.

    Attributes:
      game: the game.
      informed: whether `Moment.infos` are kept.
    """

    def __init__(self, game: Game) -> None:
        self.game, self.informed = game, is_hidden(game)
        self._begin, self._go = jax.jit(self._begun), jax.jit(self._gone)
        self._one = threading.Lock()  # so that nothing is compiled twice at once
        self._kept: dict[int, tuple[Moment, Any]] = {}

    def begin(self, seed: int, start: int = 0) -> Moment:
        """Gives the first moment of the game with this start state."""
        with self._one:
            return self._moment(self._begin(_root(seed), np.uint32(start)))

    def step(self, moment: Moment, actions: Any, seed: int, number: int, clock: int) -> Moment:
        """Plays a step.

        Args:
          moment: before it.
          actions: int [P].
          seed: of the root key.
          number: of the game.
          clock: steps played before.
        """
        given = np.asarray(actions, np.int32)
        with self._one:
            found = self._go(*self.on_device(moment), given, _root(seed), np.uint32(number), np.uint32(clock))
            return self._moment(found)

    def on_device(self, moment: Moment) -> tuple[Any, Any]:
        """Gives state and infos of a moment as they came from the device, where they are still there: to send them takes time."""
        kept, found = self._kept.get(id(moment), (None, None))
        return found if kept is moment and found is not None else (moment.state, moment.infos)

    def _moment(self, found: Any) -> Moment:
        state, infos, legal, asked, outcome, over = jax.device_get(found)
        moment = Moment(state, infos, legal, asked, outcome, bool(over))
        for old in list(self._kept)[: 1 - _KEPT]:
            self._kept.pop(old, None)
        self._kept[id(moment)] = moment, found[:2]
        return moment

    def _begun(self, key: Array, start: Array) -> Any:
        state = self.game.init(jax.random.fold_in(jax.random.fold_in(key, start), START))
        infos = _first(init_all_information(self.game, _batched(state))) if is_hidden(self.game) else ()
        return self._facts(state, infos)

    def _gone(self, state: Any, infos: Any, actions: Array, key: Array, number: Array, clock: Array) -> Any:
        chance = jax.random.fold_in(step_key(key, number, clock), self.game.num_players)
        state = self.game.step(state, actions, chance)
        if is_hidden(self.game):
            infos = _first(update_all_information(self.game, _batched(infos), _batched(state), actions[None]))
        return self._facts(state, infos)

    def _facts(self, state: Any, infos: Any) -> Any:
        mover, game = self.game.to_play(state), self.game
        asked = game.in_play(state) & ((mover < 0) | (mover == jnp.arange(game.num_players))) & ~state.terminated
        return state, infos, game.legal_actions(state), asked, game.outcome(state), state.terminated


class Mind:
    """An agent that plays one game; its memory is kept by whoever asks.

    Attributes:
      agent: the agent.
    """

    def __init__(self, game: Game, agent: Agent) -> None:
        self.game, self.agent, self._stepper = game, agent, stepper_of(game)
        self._ask = jax.jit(self._asked)

    def begin(self) -> Any:
        """Gives the memory with which a game begins."""
        return self.agent.reset(self.agent.init(1), jnp.ones(1, bool))

    def act(self, moment: Moment, memory: Any, seat: int, seed: int, number: int, clock: int) -> tuple[int, Any]:
        """Asks for an action of a seat, and gives it with the memory after it; see `Stepper.step`."""
        state, infos = self._stepper.on_device(moment)
        infos = () if self.agent.sees_state else infos
        numbers = (np.uint32(number), np.uint32(clock), np.int32(seat))
        action, memory = self._ask(self.agent.params, _root(seed), *numbers, memory, state, infos)
        return int(action), memory

    def _asked(
        self, params: Any, key: Array, number: Array, clock: Array, seat: Array, memory: Any, state: Any, infos: Any
    ) -> Any:
        keys = jax.random.fold_in(step_key(key, number, clock), seat)[None]
        if self.agent.sees_state:
            view = state
        else:
            view = jax.tree.map(lambda leaf: leaf[seat], infos) if is_hidden(self.game) else self.game.observe(state, seat)
        actions, memory = self.agent.act(params, keys, memory, _batched(view), seat[None], jnp.ones(1, bool))
        return actions[0], memory


def step_key(key: Array, number: Array, clock: Array) -> Array:
    """Gives the key of a step: by the root key, the number of the game and the steps before."""
    game = jax.random.fold_in(jax.random.fold_in(key, number), PLAY)
    return jax.random.fold_in(game, clock)


@functools.lru_cache(maxsize=8)
def _stepper_of(game: Any) -> Stepper:
    return Stepper(game)


def stepper_of(game: Game) -> Stepper:
    """Gives the stepper of a game, one for all who play it."""
    hashable: Any = game  # a frozen config decides what is compiled
    return _stepper_of(hashable)


@functools.lru_cache(maxsize=64)
def _root(seed: int) -> Array:
    return jax.random.key(seed)


def _batched(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf[None], tree)


def _first(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf[0], tree)
