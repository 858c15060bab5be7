"""Replays games of yorktown, the environment of the AlphaZe** paper."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.replay import Arrays, BadRecording, Findings, check_form, check_offsets
from jaxgames.stratego import interop, notation, replaying
from jaxgames.stratego.config import StrategoConfig
from jaxgames.stratego.constants import BLUE, RED
from jaxgames.stratego.encoder import yorktown_planes
from jaxgames.stratego.observation import observe
from jaxgames.stratego.replaying import Played
from jaxgames.stratego.state import State

_CELLS = 100
_PACKED = -(-_CELLS // 8)
_DIGITS = 7
_SAMPLED = 97  # every so many rows stand as text in a file
_SHAPES: dict[str, tuple[str | int, ...]] = {
    "piece": ("T", _CELLS),
    "owner": ("T", _CELLS),
    "visible": ("T", _PACKED),
    "moved": ("T", _PACKED),
    "move_number": ("T",),
    "to_play": ("T",),
    "action": ("T",),
    "uci": ("T",),
    "legal": ("L",),
    "returns": ("G", 2),
    "terminal": ("G",),
    "start_fen": ("G",),
    "sample_fen": ("S",),
    "sample_info0": ("S",),
    "sample_info1": ("S",),
    "tensor_row": ("K",),
    "tensor": ("K", 2, 29, 10, 10),
}
_FIRST = {"T": "piece", "L": "legal", "G": "start_fen", "S": "sample_fen", "K": "tensor_row"}
_KINDS = {"uci": "U", "returns": "f", "tensor": "f"} | {name: "U" for name in _SHAPES if "fen" in name or "info" in name}


def replay(arrays: Arrays, findings: Findings) -> int:
    """Replays a file; see `jaxgames.stratego.replay.replay`."""
    check_form(arrays, _SHAPES, _FIRST, _KINDS)
    offsets = check_offsets(arrays, "offsets", len(arrays["piece"]), least=1)
    if len(arrays["start_fen"]) != len(offsets) - 1:
        raise BadRecording(f"start_fen: {len(arrays['start_fen'])}, must be {len(offsets) - 1}, one per game")
    begin = offsets[:-1]
    config = StrategoConfig(pieces=replaying.pieces_of(arrays["piece"][begin], arrays["owner"][begin]))
    boards = {name: arrays[name] for name in ("piece", "owner")}
    boards |= {name: np.unpackbits(arrays[name], axis=1)[:, :_CELLS] for name in ("visible", "moved")}
    boards |= {"player": arrays["to_play"], "ply": arrays["move_number"]}
    starts = interop.from_arrays(config, {name: array[begin] for name, array in boards.items()})
    played = replaying.play(config, starts, arrays["action"], offsets)
    _compare_rows(played, arrays, boards, findings)
    _compare_texts(played, arrays, findings)
    legal_offsets = check_offsets(arrays, "legal_offsets", len(arrays["legal"]))
    if len(legal_offsets) != len(arrays["piece"]) + 1:
        raise BadRecording(f"legal_offsets: {len(legal_offsets)}, must be one more than the {len(arrays['piece'])} rows")
    replaying.compare_legal(played, arrays["legal"].astype(np.int64), legal_offsets, findings)
    _compare_tensors(played, arrays, findings)
    return played.count


def _compare_rows(played: Played, arrays: Arrays, boards: Arrays, findings: Findings) -> None:
    ours = interop.to_arrays(played.config, played.states)
    for name, recorded in boards.items():
        findings.compare(name, recorded, ours[name].astype(recorded.dtype), played.name)
    states = played.states
    ended = np.zeros(len(arrays["piece"]), arrays["terminal"].dtype)
    ended[played.lasts] = arrays["terminal"]
    findings.compare("terminal", ended, np.asarray(states.terminated).astype(ended.dtype), played.name)
    winner = ours["winner"][played.lasts]
    returns = np.stack([(winner == seat).astype(np.float32) - (winner == 1 - seat) for seat in (RED, BLUE)], -1)
    findings.compare("returns", arrays["returns"], returns, lambda game: f"game {game}, end")


def _compare_texts(played: Played, arrays: Arrays, findings: Findings) -> None:
    config, states = played.config, played.states
    rows = np.ones(len(arrays["piece"]), bool)
    rows[played.lasts] = False
    texts = np.array(
        [
            interop.move_name(config, int(action), int(seat)) if playing else ""
            for action, seat, playing in zip(arrays["action"], states.player, rows, strict=True)
        ]
    )
    findings.compare("uci", arrays["uci"], texts, played.name)
    _compare_starts(played, arrays, findings)
    places = np.arange(0, len(rows), _SAMPLED)
    if len(places) != len(arrays["sample_fen"]):
        raise BadRecording(f"sample_fen: {len(arrays['sample_fen'])}, must be {len(places)}, of every {_SAMPLED}th row")
    one = [_row(states, row) for row in places.tolist()]

    def name(number: int) -> str:
        return played.name(int(places[number]))

    findings.compare(
        "sample_fen", arrays["sample_fen"], np.array([notation.write(config, each, exact=False) for each in one]), name
    )
    for seat in (RED, BLUE):
        views = [notation.write_view(config, each, seat, yorktown=True) for each in one]
        findings.compare(f"sample_info{seat}", arrays[f"sample_info{seat}"], np.array(views), name)


def _compare_starts(played: Played, arrays: Arrays, findings: Findings) -> None:
    """A start as text is the first row; read and written again it is the same."""
    written, again = [], []
    for text, row in zip(arrays["start_fen"].tolist(), played.starts.tolist(), strict=True):
        written.append(notation.write(played.config, _row(played.states, row), exact=False))
        try:
            again.append(notation.write(played.config, notation.read(played.config, text), exact=False))
        except ValueError as error:
            again.append(str(error))
    for texts in (written, again):
        findings.compare("start_fen", arrays["start_fen"], np.array(texts), lambda game: f"game {game}, start")


def _row(states: State, row: int) -> State:
    return jax.tree.map(lambda leaf: leaf[row], states)


def _compare_tensors(played: Played, arrays: Arrays, findings: Findings) -> None:
    rows = arrays["tensor_row"]
    if ((rows < 0) | (rows >= len(arrays["piece"]))).any():
        raise BadRecording(f"tensor_row: must be in 0..{len(arrays['piece']) - 1}")
    if not len(rows):
        return
    planes = _planes(played.config, jax.tree.map(lambda leaf: leaf[rows], played.states))
    ours = np.moveaxis(np.asarray(planes), -1, 2)
    # Recorded tensors hold as many digits as were printed.
    values, place = np.unique(ours, return_inverse=True)
    printed = np.array([float(f"{value:.{_DIGITS}g}") for value in values], np.float32)[place].reshape(ours.shape)
    ours = np.where(arrays["tensor"] == printed, printed, ours)
    findings.compare("tensor", arrays["tensor"], ours, lambda number: played.name(int(rows[number])))


@functools.partial(jax.jit, static_argnums=0)
def _planes(config: StrategoConfig, states: State) -> jax.Array:
    def one(state: State, seat: jax.Array) -> jax.Array:
        return yorktown_planes(config, observe(config, state, seat))

    return jax.vmap(jax.vmap(one, (None, 0)), (0, None))(states, jnp.arange(2))
