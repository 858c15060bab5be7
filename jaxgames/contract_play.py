"""The part of the checks for authors of games that plays: random games, and what must hold in every state of them."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.encoder import Encoder
from jaxgames.game import init_all_information, is_hidden, update_all_information

_ROUNDING = 1e-6  # of a value that is a sum
_SINGLE_STEPS = 8  # that are also played alone
_HIDDEN_STEPS = 64  # after which worlds are drawn, evenly spread over the games: a draw costs as much as many steps


def fault(method: str, came: Any, should: str) -> ValueError:
    """The error of one line that all checks raise."""
    return ValueError(f"{method}: {' '.join(str(came).split())}, must be {should}")


def called(method: str, should: str, call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Calls something of the game; an error of it is told in a line, with its traceback beneath."""
    try:
        return call(*arguments, **named)
    except Exception as error:
        raise fault(method, f"{type(error).__name__}: {str(error).partition(chr(10))[0]}", should) from error


def form_of(leaf: Any) -> str:
    """Dtype and shape in words."""
    return f"{leaf.dtype} {list(leaf.shape)}" if hasattr(leaf, "shape") else f"a {type(leaf).__name__}"


def check_form(method: str, came: Any, *should: str) -> None:
    """Checks an array, or a tuple of as many arrays as forms are given."""
    if len(should) > 1 and (not isinstance(came, tuple) or len(came) != len(should)):
        raise fault(method, f"a {type(came).__name__}", f"a tuple of {len(should)} arrays")
    for leaf, form in zip(came if len(should) > 1 else (came,), should, strict=True):
        if form_of(leaf) != form:
            raise fault(method, form_of(leaf), form)


@dataclasses.dataclass(frozen=True)
class Played:
    """Random games, as numpy; axes: step, game.

    Attributes:
      states: leaves [T, N, ...], before each step.
      actions: int32 [T, N, P].
      keys: [T, N], of the steps.
      seen: what the methods say of each state, by name; `after`: those after the step.
      infos: Information [T, N, P] of a hidden game, before each step; else ().
    """

    states: Any
    actions: np.ndarray
    keys: Array
    seen: dict[str, Any]
    infos: Any

    @property
    def running(self) -> np.ndarray:
        """bool [T, N], games that are not over before each step."""
        return np.asarray(~self.seen["terminated"])


def _look(game: Any, state: Any, key: Array) -> tuple[Array, dict[str, Any]]:
    """Random legal actions, and all that is asked of one state."""
    legal = game.legal_actions(state)
    draw_key, step_key = jax.random.split(key)
    actions = jnp.argmax(jnp.where(legal, jax.random.uniform(draw_key, legal.shape), -1.0), axis=-1).astype(jnp.int32)
    arms, legal_arms = game.search_arms(state)
    seen = {
        "legal_actions": legal,
        "arms": arms,
        "legal_arms": legal_arms,
        "to_play": game.to_play(state),
        "outcome": game.outcome(state),
        "in_play": game.in_play(state),
        "heuristic": game.heuristic(state),
        "state_key": game.state_key(state),
        "terminated": state.terminated,
        "rewards": state.rewards,
        "after": game.apply(state, actions, game.draw_chance(step_key, state, actions)),
    }
    return actions, seen


def play(game: Any, num_games: int, num_steps: int, seed: int) -> Played:
    """Plays legal actions at random."""
    keys = jax.random.split(jax.random.key(seed), (num_steps + 1, num_games))
    hides = is_hidden(game)

    def step(carry: tuple[Any, Any], keys: Array) -> tuple[tuple[Any, Any], tuple[Any, ...]]:
        states, infos = carry
        actions, seen = jax.vmap(lambda state, key: _look(game, state, key))(states, keys)
        after = update_all_information(game, infos, seen["after"], actions) if hides else ()
        return (seen["after"], after), (states, actions, seen, infos)

    def play(keys: Array) -> tuple[Any, ...]:
        states = jax.vmap(game.init)(keys[0])
        infos = init_all_information(game, states) if hides else ()
        return jax.lax.scan(step, (states, infos), keys[1:])[1]

    states, actions, seen, infos = jax.device_get(jax.jit(play)(keys))
    step_keys = jax.vmap(jax.vmap(lambda key: jax.random.split(key)[1]))(keys[1:])
    return Played(states, actions, step_keys, seen, infos)


def _require(method: str, fine: np.ndarray, should: str, values: Any = None) -> None:
    """Raises unless bool [T, N, ...] is True everywhere; tells the first place, and the value there."""
    places = np.argwhere(~fine)
    if len(places):
        words = [f"{word} {number}" for word, number in zip(("step", "game", "player", "arm"), places[0].tolist(), strict=False)]
        came = "not so" if values is None else np.asarray(values)[tuple(places[0])].tolist()
        raise fault(method, f"{came} ({', '.join(words)})", should)


def check_states(game: Any, played: Played) -> None:
    """Checks what the methods say of every state, what steps lead to, and how games end."""
    if not played.running[0].all():
        raise fault("init", "a game that is over", "a game that runs")
    _check_answers(game, played)
    _check_end(game, played)
    _check_single(game, played)


def _check_answers(game: Any, played: Played) -> None:
    seen, running = played.seen, played.running
    legal, mover = seen["legal_actions"], seen["to_play"]
    _require("legal_actions", legal.any(-1), "at least one for each player", legal.sum(-1))
    _require("to_play", (mover >= -1) & (mover < game.num_players), f"in -1..{game.num_players - 1}", mover)
    waits = (mover >= 0)[..., None] & (mover[..., None] != np.arange(game.num_players)) & running[..., None]
    only_pass = (legal == (np.arange(game.num_actions) == game.pass_action)).all(-1)
    _require("legal_actions", ~waits | only_pass, "the pass alone for who is not to move", legal.sum(-1))
    arms, legal_arms = seen["arms"], seen["legal_arms"]
    most = game.num_actions - 1
    _require("search_arms", ~legal_arms | ((arms >= 0) & (arms <= most)), f"in 0..{most}", arms)
    listed = np.take_along_axis(legal, np.clip(arms, 0, most), axis=-1)
    _require("search_arms", ~legal_arms | listed, "among legal_actions where it is a legal arm", arms)
    _require("search_arms", legal_arms.any(-1), "at least one legal arm for each player", legal_arms.sum(-1))
    named = np.sort(np.where(legal_arms, arms, -1 - np.arange(game.num_arms)), axis=-1)
    _require("search_arms", (np.diff(named, axis=-1) != 0).all(-1), "different actions", arms)
    heuristic, outcome = seen["heuristic"], seen["outcome"]
    _require("heuristic", np.isfinite(heuristic), "finite", heuristic)
    _require("rewards", np.isfinite(seen["rewards"]), "finite", seen["rewards"])
    _require("outcome", np.isin(outcome, (-1, 0, 1)), "+1 (win), 0 (draw) or -1 (loss)", outcome)
    _require("outcome", ~running[..., None] | (outcome == 0), "0 while the game runs", outcome)
    playing = seen["in_play"]
    _require("in_play", ~running | playing.any(-1), "at least one player while the game runs")
    comes_back = ~playing[:-1] & playing[1:] & running[1:, :, None]
    _require("in_play", ~comes_back, "False for good, once it is while the game runs", playing)
    if len(np.unique(seen["state_key"].reshape(-1, 2), axis=0)) == 1:
        raise fault("state_key", f"{seen['state_key'][0, 0].tolist()} for all states", "different for different states")


def _same_rows(first: Any, second: Any) -> np.ndarray:
    """Says where two trees of leaves [T, N, ...] are equal bit for bit: bool [T, N]."""
    leaves = zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True)
    rows = [_bits(one) == _bits(other) for one, other in leaves]
    return np.asarray(np.logical_and.reduce([row.all(tuple(range(2, row.ndim))) for row in rows]))


def _bits(leaf: Any) -> np.ndarray:
    leaf = np.asarray(leaf)
    return leaf.view(f"u{leaf.dtype.itemsize}") if np.issubdtype(leaf.dtype, np.floating) else leaf


def _check_end(game: Any, played: Played) -> None:
    seen, over = played.seen, ~played.running
    if len(over) > game.max_steps:
        late = over[: game.max_steps + 1] | (np.arange(game.max_steps + 1) < game.max_steps)[:, None]
        _require("terminated", late, f"True after max_steps={game.max_steps} steps")
    before, after = over[:-1], slice(1, None)  # of a step
    _require("terminated", ~before | over[after], "True for good")
    silent = seen["rewards"][after] == 0
    _require("rewards", ~before[..., None] | silent, "0 for a step after the end", seen["rewards"][after])
    for name in ("state_key", "outcome", "heuristic"):
        same = (seen[name][after] == seen[name][:-1]).all(-1)
        _require(name, ~before | same, "the same after a step on a finished game as before it")
    outcome, heuristic = seen["outcome"], seen["heuristic"]
    # What undecided ends are worth is the game's choice.
    agrees = (np.sign(heuristic) == outcome) & (np.abs(heuristic) <= 1 + _ROUNDING)
    _require("heuristic", (outcome == 0) | agrees, "of the sign of outcome, in -1..1, for who has won or lost", heuristic)
    # Rewards fall silent with the first step after the end; from then on nothing at all may change.
    ended_before = before[:-1] & over[1:-1]
    later = jax.tree.map(lambda leaf: leaf[1:-1], played.states)
    same = _same_rows(later, jax.tree.map(lambda leaf: leaf[2:], played.states))
    _require("step", ~ended_before | same, "without any effect on a finished game")


def _check_single(game: Any, played: Played) -> None:
    """Checks that `step` on one game alone gives what `apply` gave within the batch, bit for bit, and the same once more."""
    steps, games = played.actions.shape[:2]
    step = jax.jit(game.step)
    for number in range(_SINGLE_STEPS):
        place = (number * (steps - 1) // (_SINGLE_STEPS - 1), number % games)
        state, batched = (jax.tree.map(operator.itemgetter(place), tree) for tree in (played.states, played.seen["after"]))
        arguments = (state, jnp.asarray(played.actions[place]), played.keys[place])
        first, again = jax.device_get((step(*arguments), step(*arguments)))
        for other, should in (
            (again, "the same for the same key"),
            (batched, "that of apply with draw_chance, alone and in a batch"),
        ):
            lifted = (jax.tree.map(lambda leaf: np.asarray(leaf)[None, None], tree) for tree in (first, other))
            if not _same_rows(*lifted).all():
                raise fault("step", f"another result (step {place[0]}, game {place[1]})", should)


# --- encoders, hidden information, pictures -------------------------------------------------------------------------------


def check_encoder(game: Any, encoder: Encoder, played: Played) -> None:
    """Checks forms, that outputs and actions are inverse, and that symmetries move outputs about."""
    name, size = f"encoder {encoder.name}", encoder.num_outputs
    if len(encoder.channels) != encoder.shape[-1]:
        raise fault(f"{name}: channels", f"{len(encoder.channels)} for planes {encoder.shape}", "one per plane")
    every, numbers = jnp.arange(game.num_actions), jnp.arange(size)
    for seat in range(game.num_players):
        back = np.asarray(encoder.outputs(encoder.actions(numbers, jnp.int32(seat)), jnp.int32(seat)))
        if not np.array_equal(back, numbers):
            raise fault(f"{name}: outputs(actions(outputs, {seat}), {seat})", back.tolist(), "the outputs again")
        outputs = np.asarray(encoder.outputs(every, jnp.int32(seat)))
        again = np.asarray(encoder.actions(jnp.asarray(outputs), jnp.int32(seat)))
        for action in np.flatnonzero((outputs < -1) | (outputs >= size))[:1].tolist():
            raise fault(f"{name}: outputs({action}, {seat})", outputs[action], f"in -1..{size - 1}")
        for action in np.flatnonzero((outputs >= 0) & (again != every))[:1].tolist():
            raise fault(f"{name}: actions(outputs({action}, {seat}), {seat})", again[action], f"{action}")

    def look(state: Any, seat: Array) -> tuple[Array, Array]:
        view = encoder.view(state, seat)
        return encoder.planes(view), encoder.legal(view)

    seats = jnp.arange(game.num_players)
    states = jax.tree.map(lambda leaf: leaf[:: max(len(leaf) // 4, 1)].reshape(-1, *leaf.shape[2:]), played.states)
    planes, legal = jax.jit(jax.vmap(jax.vmap(look, (None, 0)), (0, None)))(states, seats)
    form = f"float32 {list(encoder.shape)}"
    check_form(f"{name}: planes", planes[0, 0], form)
    check_form(f"{name}: legal", legal[0, 0], f"bool [{size}]")
    if not np.isfinite(np.asarray(planes)).all():
        raise fault(f"{name}: planes", "a number that is not", "finite")
    least, most = float(planes.min()), float(planes.max())
    if not encoder.bounds[0] <= least <= most <= encoder.bounds[1]:
        raise fault(f"{name}: planes", f"numbers from {least} to {most}", f"inside its bounds {encoder.bounds}")
    one = planes[0, 0]
    for which in range(encoder.num_symmetries):
        turned = encoder.transform_planes(one, jnp.int32(which))
        order = np.asarray(encoder.transform_outputs(numbers, jnp.int32(which)))
        check_form(f"{name}: transform_planes", turned, form)
        if not np.array_equal(np.sort(order), numbers):
            raise fault(f"{name}: transform_outputs by {which}", order.tolist(), "the outputs in another order")
        if which == 0 and not (np.array_equal(turned, one) and np.array_equal(order, numbers)):
            raise fault(f"{name}: symmetry 0", "a change", "none")


def check_hidden(game: Any, played: Played) -> None:
    """Draws worlds for every player while the games run, and compares them with what the player knows; not in every state."""
    seats = jnp.arange(game.num_players)
    length = int(played.running.any(1).sum())
    steps = slice(0, length, max(-(-length // _HIDDEN_STEPS), 1))
    keys, states, infos = jax.tree.map(lambda leaf: leaf[steps], (played.keys, played.states, played.infos))

    def look(key: Array, state: Any, info: Any, seat: Array) -> tuple[Any, ...]:
        world = game.sample_hidden(key, info)
        return tuple(
            (each.terminated, game.to_play(each), game.legal_actions(each)[seat], game.observe(each, seat))
            for each in (world, state)
        )

    def at_step(given: tuple[Any, ...]) -> tuple[Any, ...]:
        keys, states, infos = given
        by_seat = jax.vmap(look, (None, None, 0, 0))
        return jax.vmap(by_seat, (0, 0, 0, None))(keys, states, infos, seats)

    worlds, truth = jax.device_get(jax.jit(lambda given: jax.lax.map(at_step, given))((keys, states, infos)))
    over = ~played.running[steps, :, None]
    shares = ("that runs as well", "with the same player to move", "in which the player has the same legal actions")
    for share, drawn, true in zip(shares, worlds, truth, strict=False):
        same = (drawn == true).reshape(*over.shape[:2], game.num_players, -1).all(-1)
        _require("sample_hidden", over | same, f"a state {share}")
    leaves = zip(jax.tree_util.tree_leaves_with_path(worlds[3]), jax.tree.leaves(truth[3]), strict=True)
    for (path, drawn), true in leaves:
        same = (_bits(drawn) == _bits(true)).reshape(*over.shape[:2], game.num_players, -1).all(-1)
        what = jax.tree_util.keystr(path)
        _require("sample_hidden", over | same, f"a state in which the player observes what it has observed, {what} too")


def check_pictures(game: Any, played: Played) -> None:
    """Draws the first game."""
    length = min(int(played.running[:, 0].sum()), len(played.actions) - 1)
    states = jax.tree.map(lambda leaf: leaf[: length + 1, 0], played.states)
    first = jax.tree.map(lambda leaf: leaf[0], states)
    actions, names = played.actions[:length, 0], [f"<{seat}&" for seat in range(game.num_players)]
    _check_svg(game, "draw", first)
    _check_svg(game, "draw", first, names=names, caption="<&")
    _check_svg(game, "animate", states, names=names)
    _check_svg(game, "animate", states, actions)
    for method, shown in (("draw", first), ("animate", states)):
        came = "no error"
        try:
            getattr(game, method)(shown, names=[*names, "one more"])
        except ValueError:
            continue
        except Exception as error:
            came = type(error).__name__
        raise fault(f"{method} with one name too many", came, "a ValueError; jaxgames.svg.names_of raises it")


def check_letters(game: Any, played: Played) -> None:
    """Writes the first and the last position of each game in letters."""
    last = np.minimum(played.running.sum(0), len(played.actions) - 1).astype(int)
    for number, step in [(number, step) for number, end in enumerate(last.tolist()) for step in (0, end)]:
        should = "text whose lines all end with a line break"
        text = called("to_text", should, game.to_text, jax.tree.map(operator.itemgetter((step, number)), played.states))
        if not isinstance(text, str) or not text.endswith("\n"):
            raise fault("to_text", repr(text)[:60], should)


def _check_svg(game: Any, method: str, *arguments: Any, **named: Any) -> None:
    should = "a standalone SVG as text"
    text = called(method, should, getattr(game, method), *arguments, **named)
    try:
        came = ElementTree.fromstring(text).tag if isinstance(text, str) else f"a {type(text).__name__}"
    except ElementTree.ParseError as error:
        came = f"not XML ({error})"
    if came != "{http://www.w3.org/2000/svg}svg":
        raise fault(method, came, should)
