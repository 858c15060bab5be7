"""The interface that every game offers.

All methods work on one game and are meant for `jax.vmap`. Players move at once; a game of turns is the case in which all
players but one have a single legal action, `pass_action`.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Protocol, TypeGuard

import jax
import jax.numpy as jnp
from jax import Array


class Game(Protocol):
    """Rules as pure functions of arrays. Letters: P players, A actions, K arms of a bandit.

    A state has `terminated` (bool []) and `rewards` (float32 [P]), both written by `step`.
    """

    @property
    def name(self) -> str:
        """As in the game's registration."""
        ...

    @property
    def num_players(self) -> int:
        """P."""
        ...

    @property
    def num_actions(self) -> int:
        """A."""
        ...

    @property
    def num_arms(self) -> int:
        """K, of `search_arms`. An arm is any action: it has no meaning of its own from state to state."""
        ...

    @property
    def pass_action(self) -> int:
        """What players do who have nothing to choose."""
        ...

    @property
    def max_steps(self) -> int:
        """No game is longer."""
        ...

    @property
    def opening_steps(self) -> int:
        """So many first steps are the opening: games that are played to learn from should differ there."""
        ...

    def init(self, key: Array) -> Any:
        """Draws a start state."""
        ...

    def draw_chance(self, key: Array, state: Any, actions: Array) -> Any:
        """Draws what chance decides in this step."""
        ...

    def apply(self, state: Any, actions: Array, chance: Any) -> Any:
        """Plays one step with given draws: deterministic, so that recorded draws can be replayed."""
        ...

    def step(self, state: Any, actions: Array, key: Array) -> Any:
        """`apply` with fresh draws. actions int32 [P]. Finished games stay as they are."""
        ...

    def to_play(self, state: Any) -> Array:
        """int32 []: the player to move, -1 where all move at once."""
        ...

    def legal_actions(self, state: Any) -> Array:
        """bool [P, A]; at least one each."""
        ...

    def search_arms(self, state: Any) -> tuple[Array, Array]:
        """int32 [P, K] actions and bool [P, K]: what a bandit may choose among in this state."""
        ...

    def outcome(self, state: Any) -> Array:
        """float32 [P]: +1 win, 0 draw, -1 loss; 0 while the game runs."""
        ...

    def in_play(self, state: Any) -> Array:
        """bool [P]: who has not been eliminated; who is out is not asked for actions."""
        ...

    def heuristic(self, state: Any) -> Array:
        """float32 [P]: the handcrafted value that searches back up, also at the end."""
        ...

    def state_key(self, state: Any) -> Array:
        """uint32 [2]: the identity of a state in search tables."""
        ...

    def observe(self, state: Any, player: Array) -> Any:
        """A pytree of arrays: what this player sees now, and nothing more."""
        ...


class HiddenGame(Game, Protocol):
    """A game of which players do not see everything; letters as in `Game`."""

    @property
    def open_game(self) -> Game:
        """The same game with nothing hidden, as it is played in the tree of a search from a drawn state.

        A game that hides nothing is its own open game. One that does hide something and has no other form, because a state is
        played in the same way whoever sees it, is that too, and says `always_hidden = True`. So does a game that hides
        something and offers none of this.
        """
        ...

    def open_state(self, state: Any) -> Any:
        """The state of `open_game` that a state of this game is when everything is seen."""
        ...

    def init_information(self, player: Array, observation: Any = None) -> Any:
        """What a player (int32 []) knows before the first step, from its first view; None where the start is always the same."""
        ...

    def update_information(self, info: Any, observation: Any, own_action: Array) -> Any:
        """Adds to what a player knows its view after a step and its own action in it (int32 [])."""
        ...

    def sample_hidden(self, key: Array, info: Any) -> Any:
        """Draws a state that fits what a player knows."""
        ...


class GameBase:
    """What most games have in common, to be taken over by a frozen dataclass with a `config`.

    Nothing is left to chance, nobody is eliminated, and the config knows the longest game. `view` names a module with
    `draw(config, state, *, names, caption)` and `animate(config, states, actions, *, names)`, imported when it is needed.
    """

    config: Any
    view = ""

    @property
    def max_steps(self) -> int:
        """No game is longer."""
        return int(self.config.max_steps)

    def draw_chance(self, key: Array, state: Any, actions: Array) -> Any:
        """Nothing is drawn."""
        del key, state, actions
        return ()

    def step(self: Any, state: Any, actions: Array, key: Array | None = None) -> Any:
        """`apply` with fresh draws; the key is needed where something is drawn."""
        chance = () if key is None else self.draw_chance(key, state, actions)
        return self.apply(state, actions, chance)

    def in_play(self: Any, state: Any) -> Array:
        """Nobody is ever eliminated: bool [P]."""
        del state
        return jnp.ones(self.num_players, bool)

    def draw(self, state: Any, *, names: Sequence[str] = (), caption: str = "") -> str:
        """See `abilities.DrawnGame.draw`."""
        picture: str = self._view.draw(self.config, state, names=names, caption=caption)
        return picture

    def animate(self, states: Any, actions: Any = None, *, names: Sequence[str] = ()) -> str:
        """See `abilities.DrawnGame.animate`."""
        film: str = self._view.animate(self.config, states, actions, names=names)
        return film

    @property
    def _view(self: Any) -> Any:
        if not self.view:
            raise ValueError(f"game={self.name!r}: has no pictures")
        return importlib.import_module(self.view)


class ViewIsAll:
    """What games have in common in which a player's latest view holds all that it knows, whatever came before.

    Their open game has the same states. `start` says why no first view can be told beforehand, for messages.
    """

    start = "the start differs from game to game"

    def open_state(self, state: Any) -> Any:
        """The state itself; it goes on telling what would be hidden."""
        return state

    def init_information(self, player: Array, observation: Any = None) -> Any:
        """The first view.

        Raises:
          ValueError: there is none: it differs from game to game.
        """
        del player
        if observation is None:
            raise ValueError(f"observation=None: {self.start}, so give init_information the player's first observation")
        return observation

    def update_information(self, info: Any, observation: Any, own_action: Array) -> Any:
        """The latest view."""
        del info, own_action
        return observation


def offers(game: Any, protocol: type) -> bool:
    """Says whether a game has all that a protocol adds to `Game`."""
    return all(hasattr(game, name) for name in vars(protocol) if not name.startswith("_"))


def is_hidden(game: Game) -> TypeGuard[HiddenGame]:
    """Says whether players of a game do not see everything."""
    return offers(game, HiddenGame)


def hides_something(game: Game) -> TypeGuard[HiddenGame]:
    """Says whether a game that tells what players know has something that they do not see; some variants of it have not."""
    return is_hidden(game) and (game.open_game != game or getattr(game, "always_hidden", False))


def init_all_information(game: HiddenGame, states: Any) -> Any:
    """Gives what all players know before the first step: of start states [B], Information [B, P]."""

    def of_seat(state: Any, seat: Array) -> Any:
        return game.init_information(seat, game.observe(state, seat))

    return jax.vmap(jax.vmap(of_seat, (None, 0)), (0, None))(states, jnp.arange(game.num_players))


def update_all_information(game: HiddenGame, infos: Any, states: Any, actions: Array) -> Any:
    """Adds what all players have seen of a step.

    Args:
      game: the game.
      infos: Information [B, P].
      states: State [B], after the step.
      actions: int32 [B, P], those of the step.
    """

    def of_seat(info: Any, state: Any, seat: Array, action: Array) -> Any:
        return game.update_information(info, game.observe(state, seat), action)

    return jax.vmap(jax.vmap(of_seat, (0, None, 0, 0)), (0, 0, None, 0))(infos, states, jnp.arange(game.num_players), actions)
