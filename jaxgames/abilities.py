"""What games may offer besides their rules, for those who can use it: a protocol each, and a question whether a game has it.

Planners, learners and pages ask; a game that does not offer a thing is played without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeGuard, cast

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames.game import Game, GameBase, HiddenGame, offers


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


def can_be_drawn(game: Game) -> TypeGuard[DrawnGame]:
    """Says whether there are pictures of a game."""
    kind = type(game)
    by_view = any(getattr(kind, name, None) is getattr(GameBase, name) for name in ("draw", "animate"))  # by its module
    return offers(game, DrawnGame) and not (by_view and getattr(game, "view", "") == "")


class WrittenGame(Game, Protocol):
    """A game whose positions can be written in letters, for terminals."""

    def to_text(self, state: Any) -> str:
        """Writes the board of one position as lines of text, with what is hidden from some; numpy leaves without batch axis."""
        ...


def can_be_written(game: Game) -> TypeGuard[WrittenGame]:
    """Says whether positions of a game can be written in letters."""
    return offers(game, WrittenGame)


class StallingGame(Game, Protocol):
    """A game in which nothing happens for long where nobody does certain things: learners may give up such games."""

    def keeps_going(self, actions: Array) -> Array:
        """bool [...]: the actions (int32 [...]) that keep the game going."""
        ...


def can_stall(game: Game) -> TypeGuard[StallingGame]:
    """Says whether a game tells the actions that keep it going."""
    return offers(game, StallingGame)


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


def has_rivals(game: Game) -> TypeGuard[RivalryGame]:
    """Says whether a game tells who is next to whom."""
    return offers(game, RivalryGame)


def teams_of(game: Game) -> tuple[int, ...]:
    """Gives the team of each seat, by its lowest seat; where a game has no teams, each seat is one."""
    seats = range(game.num_players)
    if not has_rivals(game):
        return tuple(seats)
    with jax.ensure_compile_time_eval():
        return tuple(next(one for one in seats if not game.are_enemies(jnp.int32(one), jnp.int32(other))) for other in seats)


class PromisingGame(Game, Protocol):
    """A game that values undecided positions by hand, for searches without a network."""

    def prospects(self, state: Any) -> Array:
        """float32 [P]: the `heuristic`, and where that leaves a player undecided, a hand-crafted evaluation, in -1..1."""
        ...


def has_prospects(game: Game) -> TypeGuard[PromisingGame]:
    """Says whether a game values undecided positions by hand."""
    return offers(game, PromisingGame)


class GroupedGame(Game, Protocol):
    """A game whose arms come in groups, such as the places where one card may be played."""

    @property
    def arm_groups(self) -> tuple[int, ...]:
        """The group of each of the K arms of `search_arms`: 0, 1, ..."""
        ...


def has_groups(game: Game) -> TypeGuard[GroupedGame]:
    """Says whether the arms of a game come in groups."""
    return offers(game, GroupedGame)


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


def keeps_beliefs(game: Game) -> TypeGuard[BelievedGame]:
    """Says whether players of a game can tell the most likely state."""
    return offers(game, BelievedGame)


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


def can_talk(game: Game) -> TypeGuard[TalkingGame]:
    """Says whether teammates have words for each other in this variant of a game."""
    return keeps_beliefs(game) and offers(game, TalkingGame) and cast(TalkingGame, game).has_words


class SecretiveGame(HiddenGame, Protocol):
    """A game that tells place by place what is hidden from a player, so that a network can learn to guess it.

    What a player knows is its latest view there (`game.ViewIsAll`), which tells whose it is.
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


def has_secrets(game: Game) -> TypeGuard[SecretiveGame]:
    """Says whether a game tells what is hidden place by place."""
    return offers(game, SecretiveGame)


class UsualGame(SecretiveGame, Protocol):
    """A game that knows what is usually hidden where, such as how people set up their pieces."""

    def usual_chances(self, info: Any) -> Array:
        """float32 [H * W, K]: of each place the logarithms of the chances of all that may be hidden there, up to a constant."""
        ...


def tells_usual(game: Game) -> TypeGuard[UsualGame]:
    """Says whether a game tells what is usually hidden where."""
    return offers(game, UsualGame)


class MaskedGame(Game, Protocol):
    """A game whose `legal_actions` know more than a player, and which tells what that can say for itself."""

    def legal_in_view(self, observation: Any) -> Array:
        """bool [A]: the legal actions of a player as far as it can tell by what it sees."""
        ...


def tells_legal_by_view(game: Game) -> TypeGuard[MaskedGame]:
    """Says whether a game tells what is legal by what a player sees."""
    return offers(game, MaskedGame)


class SynonymousGame(Game, Protocol):
    """A game in which one choice has many actions, of which `legal_actions` offers one."""

    def offered_action(self, state: Any, player: Array, action: Array) -> Array:
        """int32 []: the action in `legal_actions` for what an action (int32 []) of a player (int32 []) does; mostly itself."""
        ...


def has_synonyms(game: Game) -> TypeGuard[SynonymousGame]:
    """Says whether some choices of a game have many actions, of which one is offered."""
    return offers(game, SynonymousGame)
