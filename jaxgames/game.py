"""The interface that every game offers.

All methods work on one game and are meant for `jax.vmap`. Players move at once; a game of turns is the case in which all
players but one have a single legal action, `pass_action`.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Protocol, TypeGuard, cast

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
        played in the same way whoever sees it, is that too, and says `always_hidden = True`.
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


class DrawnGame(Game, Protocol):
    """A game that can be drawn. Pictures are standalone SVG as text."""

    def draw(self, state: Any, *, names: Sequence[str] = (), caption: str = "") -> str:
        """Draws one position, with a caption; names of the players, or none for the usual ones."""
        ...

    def animate(self, states: Any, actions: Any = None, *, names: Sequence[str] = ()) -> str:
        """Draws a game that plays in a browser.

        Args:
          states: leaves [T + 1]: the start and the state after every step.
          actions: int [T, P], of each step; None where they are not known.
          names: of the players, or none for the usual ones.
        """
        ...


class StallingGame(Game, Protocol):
    """A game in which nothing happens for long where nobody does certain things: learners may give up such games."""

    def keeps_going(self, actions: Array) -> Array:
        """bool [...]: the actions (int32 [...]) that keep the game going."""
        ...


class RivalryGame(Game, Protocol):
    """A game that tells searches against modelled opponents whom to mind, and which actions are possible."""

    @property
    def value_when_out(self) -> float:
        """What a game that goes on without them is worth to players who are out."""
        ...

    def possible_arms(self, state: Any) -> tuple[Array, Array]:
        """As `search_arms`, but without foresight: all actions that do something."""
        ...

    def closest_enemy(self, state: Any, seat: Array) -> Array:
        """int32 []: the seat of the enemy who is next to a seat (int32 []); -1 if there is none."""
        ...

    @property
    def endless(self) -> RivalryGame:
        """The same game without its time limit, which does not end the simulations of these searches."""
        ...

    def are_enemies(self, seat: Array, other: Array) -> Array:
        """Whether two seats (int32, of one shape or to be broadcast) play against each other: bool."""
        ...


class PromisingGame(Game, Protocol):
    """A game that values undecided positions by hand, for searches without a network."""

    def prospects(self, state: Any) -> Array:
        """float32 [P]: the `heuristic`, and where that leaves a player undecided, a hand-crafted evaluation, in -1..1."""
        ...


class GroupedGame(Game, Protocol):
    """A game whose arms come in groups, such as the places where one card may be played."""

    @property
    def arm_groups(self) -> tuple[int, ...]:
        """The group of each of the K arms of `search_arms`: 0, 1, ..."""
        ...


class BelievedGame(Game, Protocol):
    """A game whose players can tell the most likely state from what they observe, without drawing it."""

    def init_belief(self, observation: Any, *, worst_case: bool = False) -> Any:
        """What a player believes after its first observation; in the worst case, of what it cannot see of others the worst."""
        ...

    def update_belief(self, belief: Any, observation: Any, own_action: Array, *, worst_case: bool = False) -> Any:
        """The same after a step, from the observation after it and the own action in it (int32 [])."""
        ...

    def believed_state(self, belief: Any) -> Any:
        """The state that a player believes in."""
        ...

    def visible_state(self, state: Any) -> Any:
        """The state that all believe in who have followed a game in full view: without what nobody has seen."""
        ...


class TalkingGame(BelievedGame, Protocol):
    """A game in which actions carry words, and teammates have a language."""

    @property
    def has_words(self) -> bool:
        """Whether they do in this variant."""
        ...

    def tell(self, observation: Any, actions: Array) -> Array:
        """Actions (int32 [...]) with the words for what their player sees: int32 [...]."""
        ...

    def silent(self, actions: Array) -> Array:
        """Actions (int32 [...]) without words: int32 [...]."""
        ...

    def heed(self, before: Any, belief: Any, observation: Any) -> Any:
        """What a player believes after a step, observation and words of its teammate included.

        Args:
          before: what it believed before the step.
          belief: after it, as `update_belief` tells.
          observation: after it.
        """
        ...


class SecretiveGame(HiddenGame, Protocol):
    """A game that tells place by place what is hidden from a player, so that a network can learn to guess it.

    What a player knows is its latest view there (`ViewIsAll`), which tells whose it is.
    """

    @property
    def num_secrets(self) -> int:
        """K: what may be hidden in a place, such as kinds of pieces."""
        ...

    def secrets(self, state: Any, info: Any) -> Array:
        """What a state holds in each cell of the encoders' planes that hides something from who knows `info`.

        Returns:
          int8 [H * W], -1 in cells that hide nothing.
        """
        ...


class UsualGame(SecretiveGame, Protocol):
    """A game that knows what is usually hidden where, such as how people set up their pieces."""

    def usual_chances(self, info: Any) -> Array:
        """float32 [H * W, K]: of each place the logarithms of the chances of all that may be hidden there, up to a constant."""
        ...


class MaskedGame(Game, Protocol):
    """A game whose `legal_actions` know more than a player, and which tells what that can say for itself."""

    def legal_in_view(self, observation: Any) -> Array:
        """bool [A]: the legal actions of a player as far as it can tell by what it sees."""
        ...


class SynonymousGame(Game, Protocol):
    """A game in which one choice has many actions, of which `legal_actions` offers one."""

    def offered_action(self, state: Any, player: Array, action: Array) -> Array:
        """int32 []: the action in `legal_actions` for what an action (int32 []) of a player (int32 []) does; mostly itself."""
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
        """See `DrawnGame.draw`."""
        picture: str = importlib.import_module(self.view).draw(self.config, state, names=names, caption=caption)
        return picture

    def animate(self, states: Any, actions: Any = None, *, names: Sequence[str] = ()) -> str:
        """See `DrawnGame.animate`."""
        film: str = importlib.import_module(self.view).animate(self.config, states, actions, names=names)
        return film


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


def can_be_drawn(game: Game) -> TypeGuard[DrawnGame]:
    """Says whether there are pictures of a game."""
    return offers(game, DrawnGame) and getattr(game, "view", None) != ""


def can_stall(game: Game) -> TypeGuard[StallingGame]:
    """Says whether a game tells the actions that keep it going."""
    return offers(game, StallingGame)


def has_rivals(game: Game) -> TypeGuard[RivalryGame]:
    """Says whether a game tells who is next to whom."""
    return offers(game, RivalryGame)


def tells_legal_by_view(game: Game) -> TypeGuard[MaskedGame]:
    """Says whether a game tells what is legal by what a player sees."""
    return offers(game, MaskedGame)


def has_synonyms(game: Game) -> TypeGuard[SynonymousGame]:
    """Says whether some choices of a game have many actions, of which one is offered."""
    return offers(game, SynonymousGame)


def teams_of(game: Game) -> tuple[int, ...]:
    """Gives the team of each seat, by its lowest seat; where a game has no teams, each seat is one."""
    seats = range(game.num_players)
    if not has_rivals(game):
        return tuple(seats)
    with jax.ensure_compile_time_eval():
        return tuple(next(one for one in seats if not game.are_enemies(jnp.int32(one), jnp.int32(other))) for other in seats)


def has_prospects(game: Game) -> TypeGuard[PromisingGame]:
    """Says whether a game values undecided positions by hand."""
    return offers(game, PromisingGame)


def has_groups(game: Game) -> TypeGuard[GroupedGame]:
    """Says whether the arms of a game come in groups."""
    return offers(game, GroupedGame)


def has_secrets(game: Game) -> TypeGuard[SecretiveGame]:
    """Says whether a game tells what is hidden place by place."""
    return offers(game, SecretiveGame)


def keeps_beliefs(game: Game) -> TypeGuard[BelievedGame]:
    """Says whether players of a game can tell the most likely state."""
    return offers(game, BelievedGame)


def can_talk(game: Game) -> TypeGuard[TalkingGame]:
    """Says whether teammates have words for each other in this variant of a game."""
    return keeps_beliefs(game) and offers(game, TalkingGame) and cast(TalkingGame, game).has_words


def tells_usual(game: Game) -> TypeGuard[UsualGame]:
    """Says whether a game tells what is usually hidden where."""
    return offers(game, UsualGame)


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
