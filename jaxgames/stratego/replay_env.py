"""Replays games of stratego_env, the environment of Pipeline-PSRO."""

from __future__ import annotations

import numpy as np

from jaxgames.replay import Arrays, BadRecording, Findings, check_form, check_offsets
from jaxgames.stratego import interop, moves, replaying
from jaxgames.stratego.config import StrategoConfig
from jaxgames.stratego.constants import BLUE, BOARD_SIDE, LAKE, LAKES, NUM_KINDS, RED
from jaxgames.stratego.replaying import Played

_CELLS = BOARD_SIDE * BOARD_SIDE
_MAPS = ("p1", "p2", "po1", "po2", "rm1", "rm2", "st1", "st2")
_SHAPES: dict[str, tuple[str | int, ...]] = {
    **dict.fromkeys(_MAPS, ("T", BOARD_SIDE, BOARD_SIDE)),
    **dict.fromkeys(("player", "turn", "over", "winner", "invalid", "action"), ("T",)),
    "legal": ("L",),
    "result": ("G", 2),
    "captured_counts": ("G", 2, NUM_KINDS),
    "max_turns": (),
}
_FIRST = {"T": "p1", "L": "legal", "G": "result"}
_UNKNOWN = 13
_KIND = np.array([0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 12])  # of their codes
_CODE = np.argsort(_KIND)  # and back
_WAYS = 37  # of a cell: nine in each direction, and one that does nothing
_REST = 36  # the only move of who has none
_DOWN_RIGHT = ((1, 0), (-1, 0), (0, 1), (0, -1))
_SEAT_SIGNS = (1, -1)


def replay(arrays: Arrays, findings: Findings) -> int:
    """Replays a file; see `jaxgames.stratego.replay.replay`."""
    check_form(arrays, _SHAPES, _FIRST)
    count = len(arrays["p1"])
    offsets = check_offsets(arrays, "offsets", count, least=1)
    for name in ("p1", "p2", "po1", "po2"):
        if ((arrays[name] < 0) | (arrays[name] > (_UNKNOWN if name.startswith("po") else NUM_KINDS))).any():
            raise BadRecording(f"{name}: must be codes of pieces")
    if len(arrays["result"]) != len(offsets) - 1:
        raise BadRecording(f"result: {len(arrays['result'])}, must be {len(offsets) - 1}, one per game")
    boards = _boards(arrays)
    begin = offsets[:-1]
    config = StrategoConfig(
        pieces=replaying.pieces_of(boards["piece"][begin], boards["owner"][begin]),
        two_square=True,
        scout_reveal=True,
        defence_moves=True,
        max_plies=int(arrays["max_turns"]),
    )
    starts = interop.from_arrays(config, {name: array[begin] for name, array in boards.items()})
    seats = (arrays["player"] < 0).astype(np.int64)
    actions = _canonical(config, arrays["action"], seats)
    played = replaying.play(config, starts, actions, offsets)
    _compare_rows(played, arrays, findings)
    _compare_ends(played, arrays, findings)
    _compare_legal(played, arrays, seats, findings)
    return played.count


def _boards(arrays: Arrays) -> dict[str, np.ndarray]:
    """Their arrays as ours."""
    own = [arrays[name].reshape(-1, _CELLS) for name in ("p1", "p2")]
    shown = [arrays[name].reshape(-1, _CELLS) for name in ("po1", "po2")]
    still = [arrays[name].reshape(-1, _CELLS) for name in ("st1", "st2")]
    piece = _KIND[own[0]] + _KIND[own[1]]
    piece[:, list(LAKES)] = LAKE
    owner = np.where(own[0] > 0, RED, np.where(own[1] > 0, BLUE, interop.NOBODY))
    visible = (shown[0] != _UNKNOWN) & (shown[1] != _UNKNOWN)
    moved = (piece > 0) & (still[0] + still[1] == 0)
    return {
        "piece": piece,
        "owner": owner,
        "visible": visible,
        "moved": moved,
        "recent": np.stack([_recent_of(arrays[name].reshape(-1, _CELLS)) for name in ("rm1", "rm2")], 1),
        "player": (arrays["player"] < 0).astype(np.int8),
        "ply": arrays["turn"],
    }


def _canonical(config: StrategoConfig, spatial: np.ndarray, seats: np.ndarray) -> np.ndarray:
    """Our numbers of their moves (int [N]) by the seats that make them; -1 for what is no move along the board."""
    row, rest = np.divmod(spatial.astype(np.int64), BOARD_SIDE * _WAYS)
    column, way = np.divmod(rest, _WAYS)
    direction, distance = np.divmod(way, BOARD_SIDE - 1)
    steps = np.array([*_DOWN_RIGHT, (0, 0)])[direction] * (distance + 1)[:, None]
    ends = np.stack([row, column], 1) + steps
    fine = (spatial >= 0) & (way != _REST) & (row < BOARD_SIDE) & ((ends >= 0) & (ends < BOARD_SIDE)).all(1)
    number = np.full((2, _CELLS, _CELLS), -1, np.int64)
    for seat in (RED, BLUE):
        table = moves.table(config, seat)
        inside = np.flatnonzero(table.inside)
        number[seat, table.start[inside], table.end[inside]] = inside
    start, end = row * BOARD_SIDE + column, ends[:, 0] * BOARD_SIDE + ends[:, 1]
    return np.where(fine, number[seats, np.where(fine, start, 0), np.where(fine, end, 0)], -1)


def _compare_rows(played: Played, arrays: Arrays, findings: Findings) -> None:
    ours = interop.to_arrays(played.config, played.states)
    for seat, number in ((RED, 1), (BLUE, 2)):
        mine = ours["owner"] == seat
        codes = np.where(mine, _CODE[np.maximum(ours["piece"], 0)], 0)
        expected = {
            f"p{number}": codes,
            f"po{number}": np.where(mine & ~ours["visible"], _UNKNOWN, codes),
            f"st{number}": mine & ~ours["moved"],
            f"rm{number}": _recent_map(ours["recent"][:, seat]),
        }
        for name, board in expected.items():
            shown = board.astype(np.int8).reshape(-1, BOARD_SIDE, BOARD_SIDE)
            findings.compare(name, arrays[name], shown, played.name)
    states = played.states
    over = np.asarray(states.terminated)
    expected = {
        "player": np.array(_SEAT_SIGNS)[ours["player"]],
        "turn": ours["ply"],
        "over": over,
        "winner": np.where(ours["winner"] < 0, 0, 1 - 2 * ours["winner"]),
        "invalid": over & (ours["winner"] < 0),
    }
    for name, numbers in expected.items():
        findings.compare(name, arrays[name], numbers.astype(arrays[name].dtype), played.name)


def _recent_of(maps: np.ndarray) -> np.ndarray:
    """Start, end and level of a player's last move, int8 [rows, 3], of their map [rows, cells]; see `_recent_map`."""
    start, end = maps == 1, maps < 0
    cells = [np.where(marked.any(1), marked.argmax(1), -1) for marked in (start, end)]
    return np.stack([*cells, -maps.min(1, initial=0)], 1).astype(np.int8)


def _recent_map(recent: np.ndarray) -> np.ndarray:
    """The map of a player's last move, int [rows, cells], of int [rows, 3]."""
    start, end, level = (recent[:, part, None].astype(np.int64) for part in range(3))
    cells = np.arange(_CELLS)
    return np.where(level > 0, (cells == start) - level * (cells == end), 0)


def _compare_ends(played: Played, arrays: Arrays, findings: Findings) -> None:
    ours = interop.to_arrays(played.config, played.states)

    def counts(rows: np.ndarray) -> np.ndarray:
        boards, owner = ours["piece"][rows], ours["owner"][rows]
        per_kind = [[((boards == kind) & (owner == seat)).sum(-1) for kind in _KIND[1:]] for seat in (RED, BLUE)]
        return np.moveaxis(np.array(per_kind), -1, 0)

    captured = counts(played.starts) - counts(played.lasts)
    winner = ours["winner"][played.lasts]
    over = np.asarray(played.states.terminated)[played.lasts]
    result = np.stack([np.where(winner < 0, 0, 1 - 2 * winner), over & (winner < 0)], -1)
    for name, numbers in (("captured_counts", captured), ("result", result)):
        findings.compare(name, arrays[name], numbers.astype(arrays[name].dtype), lambda game: f"game {game}, end")


def _compare_legal(played: Played, arrays: Arrays, seats: np.ndarray, findings: Findings) -> None:
    offsets = check_offsets(arrays, "legal_offsets", len(arrays["legal"]))
    count = len(arrays["p1"])
    if len(offsets) != count + 1:
        raise BadRecording(f"legal_offsets: {len(offsets)}, must be one more than the {count} rows")
    row = np.repeat(np.arange(count), np.diff(offsets))
    listed = arrays["legal"]
    rests = listed == _REST
    numbers = _canonical(played.config, listed, seats[row])
    if (numbers[~rests] < 0).any():
        raise BadRecording(f"legal: {listed[~rests][numbers[~rests] < 0][0]} leads off the board")
    kept = np.bincount(row[~rests], minlength=count)
    replaying.compare_legal(played, numbers[~rests], np.concatenate([[0], np.cumsum(kept)]), findings)
