"""Replays games of OpenSpiel's Hex and DarkHex."""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.hex import interop, rules, setup
from jaxgames.hex.config import HexConfig
from jaxgames.hex.state import State
from jaxgames.replay import KINDS, Arrays, BadRecording, Findings, check_offsets, row_name

_COMMON = ("offsets", "player", "action", "legal", "board", "placed", "returns", "final_board")
_HEX = ("cells", "final_cells")
_DARK = ("view0", "view1", "final_view0", "final_view1")
_TEXTS = ("final_obs_str0", "final_obs_str1", "final_info_str0", "final_info_str1")


def replay(arrays: Arrays, findings: Findings) -> int:
    """Replays what one file holds; every field takes part.

    Args:
      arrays: all arrays of the file.
      findings: takes every difference.

    Returns:
      How many attempts have been checked.

    Raises:
      BadRecording: the arrays are no recording of this game.
    """
    config, lengths = _check(arrays)
    games, longest = len(lengths), int(lengths.max())
    rows = np.arange(longest) < lengths[:, None]
    actions = np.full((games, longest), -1, np.int32)
    actions[rows] = arrays["action"]
    states = jax.device_get(_play(config, jnp.asarray(actions)))
    before = jax.tree.map(lambda leaf: leaf[:, :-1][rows], states)
    last = jax.tree.map(lambda leaf: leaf[np.arange(games), lengths], states)
    _compare_rows(config, arrays, before, findings)
    _compare_ends(config, arrays, last, findings)
    return len(arrays["action"])


@functools.partial(jax.jit, static_argnums=0)
def _play(config: HexConfig, actions: jax.Array) -> State:
    """States [G, T + 1] of games with these actions [G, T]; the end is repeated."""

    def one_game(cells: jax.Array) -> State:
        start = setup.init(config)

        def attempt(state: State, cell: jax.Array) -> tuple[State, State]:
            after = rules.step(config, state, cell)
            return after, after

        _, rest = jax.lax.scan(attempt, start, cells)
        return jax.tree.map(lambda first, others: jnp.concatenate([first[None], others]), start, rest)

    return jax.vmap(one_game)(actions)


@functools.partial(jax.jit, static_argnums=0)
def _legal(config: HexConfig, states: State) -> jax.Array:
    return jax.vmap(lambda state: config.grid.to_bool(rules.legal_cells(config, state)).reshape(-1))(states)


_winners = jax.jit(jax.vmap(rules.winner))


def _check(arrays: Arrays) -> tuple[HexConfig, np.ndarray]:
    """Checks the form, and finds out size and rules."""
    lacking = [name for name in _COMMON if name not in arrays]
    if lacking:
        raise BadRecording(f"no recording of Hex: lacks {', '.join(lacking)}")
    dark = "view0" in arrays
    lacking = [name for name in (_DARK + _TEXTS if dark else _HEX) if name not in arrays]
    if lacking:
        raise BadRecording(f"lacks {', '.join(lacking)}")
    board = arrays["board"]
    size = math.isqrt(board.shape[1]) if board.ndim == 2 else 0
    if size * size != (board.shape[1] if board.ndim == 2 else -1) or not 2 <= size <= 19:
        raise BadRecording(f"board: shape {board.shape} is none of rows x cells of a square board")
    count, cells = len(board), size * size
    offsets = check_offsets(arrays, "offsets", count, least=1)
    games = len(offsets) - 1
    shapes: dict[str, tuple[int, ...]] = {"player": (count,), "action": (count,), "placed": (count,)}
    shapes |= {"legal": (count, -(-cells // 8)), "board": (count, cells), "returns": (games, 2), "final_board": (games, cells)}
    if dark:
        shapes |= {name: (games if name.startswith("final") else count, cells) for name in _DARK}
        shapes |= dict.fromkeys(_TEXTS, (games,))
    else:
        shapes |= {"cells": (count, cells), "final_cells": (games, cells)}
    for name, shape in shapes.items():
        array = arrays[name]
        kind = "U" if name in _TEXTS else "f" if name == "returns" else "i"
        if array.shape != shape or array.dtype.kind.replace("u", "i") != kind:
            raise BadRecording(f"{name}: {array.dtype} of shape {array.shape}, must be {KINDS[kind]}, of shape {shape}")
    return HexConfig(size, _rules_of(arrays) if dark else "hex"), np.diff(offsets)


def _rules_of(arrays: Arrays) -> str:
    """Abrupt or classical: who moves after an attempt that failed (if none did, both are the same)."""
    inside = np.ones(len(arrays["player"]), bool)
    inside[arrays["offsets"][1:] - 1] = False
    failed = np.flatnonzero(inside & (arrays["placed"] == 0))
    again = arrays["player"][failed] == arrays["player"][failed + 1]
    return "classical" if again.size and again.mean() > 0.5 else "abrupt"


def _compare_rows(config: HexConfig, arrays: Arrays, before: State, findings: Findings) -> None:
    name_row = functools.partial(row_name, arrays["offsets"], "attempt")
    legal = np.asarray(_legal(config, before))
    board = interop.board(config, before)
    cells = np.clip(arrays["action"], 0, config.num_cells - 1)
    expected = {
        "player": np.asarray(before.player),
        "legal": np.packbits(legal, axis=1),
        "board": board,
        "placed": (board[np.arange(len(board)), cells] == 0).astype(np.int8),
    }
    if config.is_dark:
        expected |= {f"view{player}": interop.view_codes(config, before, player) for player in (0, 1)}
    else:
        expected["cells"] = interop.joined_codes(config, before)
    for name, values in expected.items():
        findings.compare(name, arrays[name], values, name_row)
    tried = legal[np.arange(len(board)), cells] & (arrays["action"] == cells)
    findings.compare("action (legal)", np.ones_like(tried), tried, name_row)


def _compare_ends(config: HexConfig, arrays: Arrays, last: State, findings: Findings) -> None:
    def game_name(game: int) -> str:
        return f"game {game}, end"

    won = np.asarray(_winners(last)).astype(np.float32)
    expected = {"returns": np.stack([won, -won], -1), "final_board": interop.board(config, last)}
    if config.is_dark:
        expected |= {f"final_view{player}": interop.view_codes(config, last, player) for player in (0, 1)}
        games = range(len(won))
        for player in (0, 1):
            ends = [jax.tree.map(lambda leaf, g=game: leaf[g], last) for game in games]
            expected[f"final_obs_str{player}"] = np.array([interop.observation_string(config, end, player) for end in ends])
            texts = []
            for game, end in zip(games, ends, strict=True):
                rows = slice(arrays["offsets"][game], arrays["offsets"][game + 1])
                own = arrays["action"][rows][arrays["player"][rows] == player]
                texts.append(interop.information_string(config, end, player, own))
            expected[f"final_info_str{player}"] = np.array(texts)
    else:
        expected["final_cells"] = interop.joined_codes(config, last)
    for name, values in expected.items():
        findings.compare(name, arrays[name], values, game_name)
