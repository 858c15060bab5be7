"""What every game must keep to, as checks for authors of games: the methods' shapes, and random games played to their end."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import checks
from jaxgames.abilities import can_be_drawn, can_be_written
from jaxgames.contract_play import (
    called,
    check_encoder,
    check_form,
    check_hidden,
    check_letters,
    check_pictures,
    check_states,
    fault,
    form_of,
    play,
)
from jaxgames.encoder import Encoder
from jaxgames.game import Game, HiddenGame, is_hidden
from jaxgames.registration import registered

_MOST_STEPS = 1000
_NUMBERS = {"num_players": 1, "num_actions": 1, "num_arms": 1, "pass_action": 0, "max_steps": 1, "opening_steps": 0}


def check_game(
    game: Game, *, num_games: int = 8, num_steps: int | None = None, seed: int = 0, encoders: Sequence[Encoder] | None = None
) -> None:
    """Runs the checks that every game must pass: for authors of games, and in the tests of each.

    First the shapes and dtypes of what all methods give are looked at without running anything, then random legal games are
    played and every state of them is looked at; then encoders, hidden information, pictures and letters, where the game has them.

    Args:
      game: the game.
      num_games: how many games.
      num_steps: of each, 2 or more; None: as many as the longest game has and a few more, but not more than 1000.
      seed: of the games.
      encoders: that belong to it; None: those of its registration, if it has one.

    Raises:
      ValueError: the first thing that is not as it must be: one line that names the method, what came, and what should come.
    """
    for name, value, least in (("num_games", num_games, 1), ("num_steps", num_steps, 2)):
        if value is not None and (checks.as_integer(value) is None or value < least):
            raise ValueError(f"{name}={value!r}: must be a whole number >= {least}")
    checks.seed_number(seed)
    given: Any = encoders
    if given is not None and not (isinstance(given, Sequence) and all(isinstance(one, Encoder) for one in given)):
        raise fault("encoders", repr(given), "a list of encoders")
    _check_members(game)
    _check_numbers(game)
    _check_shapes(game)
    steps = min(game.max_steps + 2, _MOST_STEPS) if num_steps is None else num_steps
    played = play(game, num_games, steps, seed)
    check_states(game, played)
    if encoders is None:
        known = registered(game.name)
        makers = known.encoders if known else {}
        encoders = [called(f"encoder {name}", f"one of {game.name}", make, game) for name, make in makers.items()]
    for encoder in encoders:
        check_encoder(game, encoder, played)
    if is_hidden(game):
        check_hidden(game, played)
    if can_be_drawn(game):
        check_pictures(game, played)
    if can_be_written(game):
        check_letters(game, played)


def _check_members(game: Any, what: str = "game") -> None:
    if isinstance(game, type):
        raise fault(what, f"the class {game.__name__}", f"a game, such as {game.__name__}()")
    members = {name: isinstance(member, property) for name, member in vars(Game).items() if not name.startswith("_")}
    missing = [name for name in members if not hasattr(game, name)]
    if missing:
        told = ", ".join(f"{name} (a {'number or word' if members[name] else 'method'})" for name in missing)
        raise fault(what, f"{type(game).__name__} without {told}", "one with all that every game has")
    for name, is_value in members.items():
        if not is_value and not callable(getattr(game, name)):
            raise fault(name, repr(getattr(game, name)), "a method")


def _check_numbers(game: Any) -> None:
    if not isinstance(game.name, str) or not game.name.isidentifier():
        raise fault("name", repr(game.name), "a word of letters, digits and underscores")
    for name, least in _NUMBERS.items():
        value = getattr(game, name)
        if type(value) is not int or value < least:
            raise fault(name, repr(value), f"an int >= {least}")
    if game.pass_action >= game.num_actions:
        raise fault("pass_action", game.pass_action, f"an action, in 0..{game.num_actions - 1}")
    twin, should = copy.copy(game), "hashable and equal where the config is, as a frozen dataclass"
    try:
        hash(game)
    except TypeError as error:
        raise fault("__hash__", error, should) from None
    if twin != game or hash(twin) != hash(game):
        raise fault("__eq__" if twin != game else "__hash__", "another one for a copy of the game", should)


def _check_same(method: str, came: Any, should: Any, as_in: str) -> None:
    """Checks that two trees have the same structure, shapes and dtypes."""
    first, second = (jax.tree_util.tree_leaves_with_path(tree) for tree in (came, should))
    if str(jax.tree.structure(came)) != str(jax.tree.structure(should)):
        raise fault(method, f"a tree of {len(first)} leaves", f"of one structure with {as_in}, which has {len(second)}")
    for (path, leaf), (_, other) in zip(first, second, strict=True):
        if form_of(leaf) != form_of(other):
            raise fault(method, f"leaf {jax.tree_util.keystr(path)} is {form_of(leaf)}", f"{form_of(other)} as in {as_in}")
    _check_leaves(method, came)


def _check_leaves(method: str, tree: Any) -> None:
    """Checks that leaves are numbers of a dtype of their own."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        name = f"{method}: leaf {jax.tree_util.keystr(path)}"
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            raise fault(name, "a random key", "numbers: chance enters by the key of step")
        if leaf.weak_type:
            raise fault(name, f"{form_of(leaf)} of weak type", "of a dtype of its own, such as jnp.int32(0)")


def _traced(game: Any, method: str, *arguments: Any) -> Any:
    """The form of what a method gives."""
    form = ", ".join(list(inspect.signature(getattr(HiddenGame, method)).parameters)[1:])
    return called(method, f"a tree of arrays, from {method}({form})", jax.eval_shape, getattr(game, method), *arguments)


def _check_shapes(game: Any) -> None:
    players, arms = game.num_players, game.num_arms
    key, seat = jax.eval_shape(lambda: jax.random.key(0)), jax.ShapeDtypeStruct((), jnp.int32)
    actions = jax.ShapeDtypeStruct((players,), jnp.int32)
    state = _traced(game, "init", key)
    _check_leaves("init", state)
    should = "a state with terminated and rewards, such as a dataclass"
    terminated, rewards = called("init", should, jax.eval_shape, lambda state: (state.terminated, state.rewards), state)
    forms: dict[str, tuple[str, ...]] = {
        "to_play": ("int32 []",),
        "legal_actions": (f"bool [{players}, {game.num_actions}]",),
        "search_arms": (f"int32 [{players}, {arms}]", f"bool [{players}, {arms}]"),
        "outcome": (f"float32 [{players}]",),
        "in_play": (f"bool [{players}]",),
        "heuristic": (f"float32 [{players}]",),
        "state_key": ("uint32 [2]",),
    }
    for method, form in forms.items():
        check_form(method, _traced(game, method, state), *form)
    check_form("terminated", terminated, "bool []")
    check_form("rewards", rewards, f"float32 [{players}]")
    _check_leaves("observe", _traced(game, "observe", state, seat))
    _check_same("step", _traced(game, "step", state, actions, key), state, "init")
    chance = _traced(game, "draw_chance", key, state, actions)
    _check_same("apply", _traced(game, "apply", state, actions, chance), state, "init")
    try:
        passes = np.full(players, game.pass_action)
        after = jax.eval_shape(lambda state, key: game.step(state, passes, key), state, key)
    except Exception as error:
        should = "no error, as with a JAX array; jaxgames.checks.actions makes one"
        raise fault("step with actions of numpy", type(error).__name__, should) from error
    _check_same("step with actions of numpy", after, state, "init")
    of_jax = (jnp.zeros(players), jnp.int32(0), jnp.zeros(players + 1, jnp.int32))
    for given in (*of_jax, np.full(players, -1), np.full(players, game.num_actions)):
        _check_refused(game, state, given, key)
    if is_hidden(game):
        _check_hidden_shapes(game, state, key, seat)


def _check_refused(game: Any, state: Any, actions: Any, key: Any) -> None:
    try:
        jax.eval_shape(lambda state, key: game.step(state, actions, key), state, key)
    except (ValueError, TypeError, AssertionError):
        return
    except Exception as error:
        came = type(error).__name__
    else:
        came = "no error"
    told = f"{actions.tolist()} of numpy" if isinstance(actions, np.ndarray) else form_of(actions)
    raise fault(f"step with actions {told}", came, "refused by a ValueError or TypeError; jaxgames.checks.actions does that")


def _check_hidden_shapes(game: Any, state: Any, key: Any, seat: Any) -> None:
    observation = _traced(game, "observe", state, seat)
    info = _traced(game, "init_information", seat, observation)
    _check_leaves("init_information", info)
    after = _traced(game, "update_information", info, observation, seat)
    _check_same("update_information", after, info, "init_information")
    _check_same("sample_hidden", _traced(game, "sample_hidden", key, info), state, "init")
    _check_members(game.open_game, "open_game")
    _check_same("open_state", _traced(game, "open_state", state), _traced(game.open_game, "init", key), "open_game.init")
    for name in ("num_players", "num_actions", "num_arms", "pass_action"):
        came, should = getattr(game.open_game, name), getattr(game, name)
        if came != should:
            raise fault(f"open_game.{name}", came, f"{should} as in the game")
