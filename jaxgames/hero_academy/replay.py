"""Replays recordings of Hero Academy with ours: states, legal sets, ratings, heuristics, pruning, deals."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.hero_academy import actions, cards, draws, evaluation, interop, ratings, rules
from jaxgames.hero_academy.config import HeroAcademyConfig
from jaxgames.hero_academy.game import HeroAcademy
from jaxgames.hero_academy.state import State
from jaxgames.replay import Arrays, BadRecording, Findings, row_name

_LOOKED_AT = ("heur", "legal_offset", "legal_index", "legal_rating", "n_pruned")
_GAMES = ("action", "draw_offset", "draw_player", "draw_card", "game_offset", "game_result")
_DEALS = ("deal_seed", "deal_offset", "deal_player", "deal_card")
_STEPS = ("t_source", "t_action", "t_draw_offset", "t_draw_player", "t_draw_card")
_ROWS_AT_ONCE = 4096
_CONFIG = HeroAcademyConfig(inferno_slip=True)


@dataclasses.dataclass(frozen=True)
class _Transitions:
    """Steps of a file: rows before, what was done, cards drawn, and what came out."""

    source: np.ndarray
    action: np.ndarray
    draw_offset: np.ndarray
    draw_player: np.ndarray
    draw_card: np.ndarray
    after: Arrays


def replay(arrays: Arrays, findings: Findings) -> int:
    """Replays one file: games with seeded or random draws, or single steps from made-up positions.

    Returns:
      The number of transitions.

    Raises:
      BadRecording: the arrays are no recording of Hero Academy.
    """
    is_games = "game_offset" in arrays
    lacking = [name for name in (*interop.FIELDS, *_LOOKED_AT, *(_GAMES if is_games else _STEPS)) if name not in arrays]
    if lacking:
        raise BadRecording(f"no recording of Hero Academy: lacks {', '.join(lacking)}")
    try:
        return _replay(arrays, findings, is_games)
    except BadRecording:
        raise
    except (ValueError, IndexError) as error:
        raise BadRecording(f"no sound recording: {error}") from None


def _replay(arrays: Arrays, findings: Findings, is_games: bool) -> int:
    states = interop.from_arrays(_CONFIG, arrays)
    _check_looked_at(arrays)
    transitions = _of_games(arrays) if is_games else _of_steps(arrays)
    masks = _compare_states(arrays, states, findings)
    seeded = True
    if is_games:
        seeded = _is_seeded(arrays)
        _compare_deals(arrays, findings, seeded)
    _compare_transitions(arrays, states, _legal_ones(arrays, transitions, masks, findings), findings, seeded)
    return len(transitions.source)


def _check_looked_at(arrays: Arrays) -> None:
    """Checks the form of what is recorded of every state besides its fields."""
    count = len(arrays["player"])
    if not count:
        raise BadRecording("player: no states, must be at least one")
    interop.check_form("heur", arrays["heur"], (count, 2))
    interop.check_form("n_pruned", arrays["n_pruned"], (count,))
    total = _check_offsets("legal_offset", arrays["legal_offset"], count)
    for name in ("legal_index", "legal_rating"):
        interop.check_form(name, arrays[name], (total,))
    interop.check_range("legal_index", arrays["legal_index"], 0, interop.num_flat(_CONFIG) - 1)


def _check_offsets(name: str, offsets: np.ndarray, count: int, least: int = 0) -> int:
    """Checks the first row of each of so many, and where the last one ends, at least so far apart. Returns where that is."""
    interop.check_form(name, offsets, (count + 1,))
    if offsets[0] != 0 or (np.diff(offsets.astype(np.int64)) < least).any():
        raise BadRecording(f"{name}: must rise from 0, by at least {least} per row")
    return int(offsets[-1])


def _check_cards(names: tuple[str, str, str], arrays: Arrays, count: int) -> None:
    """Checks cards in a row: offsets, players and kinds."""
    offset, player, card = names
    total = _check_offsets(offset, arrays[offset], count)
    for name, least, most in ((player, 1, 2), (card, 0, cards.NUM_CARDS - 1)):
        interop.check_form(name, arrays[name], (total,))
        interop.check_range(name, arrays[name], least, most)


def _is_seeded(arrays: Arrays) -> bool:
    """Whether deck seeds change within games."""
    inside = np.ones(len(arrays["player"]), bool)
    inside[arrays["game_offset"][:-1]] = False
    before = np.flatnonzero(inside) - 1
    return bool((arrays["deck_seed"][before] != arrays["deck_seed"][before + 1]).any())


def _of_games(arrays: Arrays) -> _Transitions:
    offsets, count = arrays["game_offset"], len(arrays["player"])
    if _check_offsets("game_offset", offsets, len(np.atleast_1d(arrays["game_result"])), least=1) != count:
        raise BadRecording(f"game_offset: {offsets[-1]} at its end, must be the number of states, {count}")
    interop.check_form("action", arrays["action"], (count,))
    _check_cards(("draw_offset", "draw_player", "draw_card"), arrays, count)
    inside = np.ones(count, bool)
    inside[offsets[1:] - 1] = False
    source = np.flatnonzero(inside)
    draw_offset = np.stack([arrays["draw_offset"][source], arrays["draw_offset"][source + 1]], 1)
    after = {name: arrays[name][source + 1] for name in interop.FIELDS}
    return _Transitions(source, arrays["action"][source], draw_offset, arrays["draw_player"], arrays["draw_card"], after)


def _of_steps(arrays: Arrays) -> _Transitions:
    lacking = [name for name in interop.FIELDS if f"t_next_{name}" not in arrays]
    if lacking:
        raise BadRecording(f"lacks {', '.join(f't_next_{name}' for name in lacking)}")
    count = len(np.atleast_1d(arrays["t_source"]))
    for name in ("t_source", "t_action"):
        interop.check_form(name, arrays[name], (count,))
    interop.check_range("t_source", arrays["t_source"], 0, len(arrays["player"]) - 1)
    _check_cards(("t_draw_offset", "t_draw_player", "t_draw_card"), arrays, count)
    after = {name: arrays[f"t_next_{name}"] for name in interop.FIELDS}
    for name, values in after.items():
        interop.check_form(f"t_next_{name}", values, (count, *arrays[name].shape[1:]))
    offsets = arrays["t_draw_offset"]
    draw_offset = np.stack([offsets[:-1], offsets[1:]], 1)
    drawn = arrays["t_draw_player"], arrays["t_draw_card"]
    return _Transitions(arrays["t_source"], arrays["t_action"], draw_offset, *drawn, after)


def _legal_ones(arrays: Arrays, steps: _Transitions, masks: np.ndarray, findings: Findings) -> _Transitions:
    """Tells of actions that are not legal, and gives the steps without them; masks are the legal ones, bool [N, F]."""
    name = _row_name(arrays)
    over, end_turn = arrays["terminal"] != 0, interop.num_flat(_CONFIG) - 1
    action = steps.action.astype(np.int64)
    inside = (action >= 0) & (action <= end_turn)
    legal = inside & (masks[steps.source, np.where(inside, action, 0)] | (action == end_turn)) & ~over[steps.source]
    for row in np.flatnonzero(~legal):
        why = "comes after the end" if over[steps.source[row]] else "is not legal"
        findings.add(f"{name(int(steps.source[row]))}: action {action[row]} {why}")
    if "game_offset" in arrays:
        last = arrays["game_offset"][1:] - 1
        for row in last[arrays["action"][last] != -1]:
            findings.add(f"{name(int(row))}: action {arrays['action'][row]} comes after the end, must be -1")
    rows = {field: getattr(steps, field)[legal] for field in ("source", "action", "draw_offset")}
    return dataclasses.replace(steps, **rows, after={field: values[legal] for field, values in steps.after.items()})


def _in_portions(function: Callable, *trees: Any) -> Any:
    """Maps a function of one row over many, so many at a time that all calls have the same shape. Returns numpy arrays."""
    count = len(jax.tree.leaves(trees)[0])
    mapped = _compiled(function)
    results = []
    for start in range(0, count, _ROWS_AT_ONCE):
        rows = np.minimum(np.arange(start, start + _ROWS_AT_ONCE), count - 1)
        results.append(jax.device_get(mapped(*jax.tree.map(lambda leaf, rows=rows: leaf[rows], trees))))
    return jax.tree.map(lambda *parts: np.concatenate(parts)[:count], *results)


@functools.cache
def _compiled(function: Callable) -> Callable:
    return jax.jit(jax.vmap(function))


def _look(state: State) -> tuple[Any, ...]:
    game = HeroAcademy(_CONFIG)
    words = jnp.stack(game.legal_set(state).words)
    pruned = game.legal_set(state, pruned=True)
    # Where pruning leaves nothing the reference has an empty list, and we have End Turn.
    ends = actions.has(pruned, jnp.int32(game.layout.end_turn)) & (state.action_points > 0)
    return words, pruned.count() - ends, jnp.stack(evaluation.points(_CONFIG, state))


def _rate(state: State, action: Any) -> Any:
    return ratings.rating(_CONFIG, state, action)


def _compare_states(arrays: Arrays, states: State, findings: Findings) -> np.ndarray:
    """Legal sets, ratings, heuristics, and what is left by pruning. Returns the legal flat numbers, bool [N, F]."""
    words, pruned, points = _in_portions(_look, states)
    bits = ((words[..., None] >> np.arange(32, dtype=np.uint32)) & 1).reshape(len(words), -1) != 0
    masks = interop.flat_masks(_CONFIG, states, bits)
    count, offsets = len(masks), arrays["legal_offset"]
    recorded = np.zeros_like(masks)
    rows = np.repeat(np.arange(count), np.diff(offsets))
    recorded[rows, arrays["legal_index"]] = True
    running = arrays["terminal"] == 0
    nothing = running & (np.diff(offsets) == 0)  # then the reference ends the turn
    recorded[nothing, -1] = True
    name = _row_name(arrays)
    findings.compare("legal", recorded, masks, name)
    findings.compare("heuristic", arrays["heur"], points, name)
    known = arrays["n_pruned"] >= 0
    findings.compare("n_pruned", arrays["n_pruned"], np.where(known, pruned, -1), name)
    legal = masks[rows, arrays["legal_index"]]
    rows = rows[legal]
    if len(rows):
        of_row = jax.tree.map(lambda leaf: leaf[rows], states)
        ours = interop.from_flat(_CONFIG, of_row, arrays["legal_index"][legal].astype(int))
        rated = _in_portions(_rate, of_row, ours)
        findings.compare("rating", arrays["legal_rating"][legal], rated, lambda row: name(int(rows[row])))
    return masks


def _row_name(arrays: Arrays) -> Callable[[int], str]:
    if "game_offset" not in arrays:
        return lambda row: f"position {row}"
    return functools.partial(row_name, arrays["game_offset"], "state")


def _compare_transitions(arrays: Arrays, states: State, steps: _Transitions, findings: Findings, seeded: bool) -> None:
    if not len(steps.source):
        return
    before = jax.tree.map(lambda leaf: leaf[steps.source], states)
    ours = interop.from_flat(_CONFIG, before, steps.action.astype(int))
    words = None if seeded else _words(arrays, steps)
    if words is None:
        after = _in_portions(_seeded_step, before, ours)
    else:
        after = _in_portions(_random_step, before, ours, words)
    of_source = _row_name(arrays)

    def name(row: int) -> str:
        return f"{of_source(int(steps.source[row]))}, after action {steps.action[row]}"

    for field, values in interop.to_arrays(_CONFIG, after).items():
        findings.compare(field, steps.after[field], values, name)


def _seeded_step(state: State, action: Any) -> State:
    return rules.step(_CONFIG, state, action, None)


def _random_step(state: State, action: Any, words: Any) -> State:
    return rules.step(dataclasses.replace(_CONFIG, draws="random"), state, action, words)


def _words(arrays: Arrays, steps: _Transitions) -> np.ndarray:
    """The random words by which the recorded cards are drawn, uint32 [R, 12]."""
    words = np.zeros((len(steps.source), rules.NUM_DRAW_WORDS), np.uint32)
    for row in np.flatnonzero(steps.draw_offset[:, 0] < steps.draw_offset[:, 1]):
        drawn = slice(*steps.draw_offset[row])
        players, kinds = steps.draw_player[drawn], steps.draw_card[drawn]
        source = steps.source[row]
        for player in (1, 2):
            start = 0 if player == arrays["player"][source] else cards.HAND_SIZE
            mine = kinds[players == player]
            try:
                words[row, start : start + cards.HAND_SIZE] = interop.draw_words(arrays["deck"][source, player - 1], mine)
            except ValueError as error:
                raise BadRecording(f"{_row_name(arrays)(int(source))}, player {player}: {error}") from None
    return words


def _compare_deals(arrays: Arrays, findings: Findings, seeded: bool) -> None:
    """First hands: from the seeds before the deal, or the last six of all cards that were dealt."""
    lacking = [name for name in _DEALS if name not in arrays]
    if lacking:
        raise BadRecording(f"lacks {', '.join(lacking)}")
    first = arrays["game_offset"][:-1]
    hands = arrays["hand"][first]
    interop.check_form("deal_seed", arrays["deal_seed"], (len(first), 2))
    _check_cards(("deal_offset", "deal_player", "deal_card"), arrays, len(first))
    if seeded:
        interop.check_range("deal_seed", arrays["deal_seed"], 0, cards.NUM_SEEDS - 1)
        table, seeds = draws.seeded_hands(_CONFIG.deck)
        dealt = interop.counts_of(table[arrays["deal_seed"]])
        findings.compare("deck_seed (deal)", arrays["deck_seed"][first], seeds[arrays["deal_seed"]], lambda row: f"game {row}")
    else:
        dealt = np.zeros_like(hands)
        for game in range(len(first)):
            rows = slice(arrays["deal_offset"][game], arrays["deal_offset"][game + 1])
            players, kinds = arrays["deal_player"][rows], arrays["deal_card"][rows]
            for player in (0, 1):
                mine = kinds[players == player + 1]
                if not len(mine) or len(mine) % cards.HAND_SIZE:
                    valid = f"must be {cards.HAND_SIZE} or a multiple"
                    raise BadRecording(f"game {game}: {len(mine)} cards are dealt to player {player + 1}, {valid}")
                mine = mine.reshape(-1, cards.HAND_SIZE)
                fits = (mine < cards.NUM_UNIT_CARDS).sum(1) == cards.FIRST_UNITS
                if fits.argmax() == len(mine) - 1 and fits[-1]:  # the first one that fits is kept
                    dealt[game, player] = np.bincount(mine[-1], minlength=cards.NUM_CARDS)
    findings.compare("hand (deal)", hands, dealt, lambda row: f"game {row}")
