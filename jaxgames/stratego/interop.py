"""States as plain arrays, and back; on the host."""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np

from jaxgames import checks
from jaxgames.stratego import moves, refusals, rules
from jaxgames.stratego.config import StrategoConfig
from jaxgames.stratego.constants import (
    BLUE,
    BOMB,
    FLAG,
    KIND_BITS,
    KIND_NAMES,
    LAKE,
    MOST_OF_A_KIND,
    NUM_KINDS,
    PLAYERS,
    RED,
    TWICE_LEVEL,
)
from jaxgames.stratego.legal import legal_mask, side_of
from jaxgames.stratego.state import LastMove, State, packed_counts

NOBODY = 2  # the owner of cells without a piece
_NUM_LEVELS = TWICE_LEVEL + 1  # of what the two-square rule remembers


def to_arrays(config: StrategoConfig, states: State) -> dict[str, np.ndarray]:
    """Gives boards as arrays (after the batch axes of the states).

    Returns:
      piece: int8 [cells], the kind; 0 empty, -1 lake.
      owner: int8 [cells], 0 Red, 1 Blue, 2 nobody.
      visible, moved, far: bool [cells]; cells without a piece are visible.
      recent: int8 [2, 3], of each player start, end and level of what the two-square rule remembers.
      last: int8 [2], the cells of the last move; -1 before.
      player, ply, winner: as in the state.
    """
    grid = config.grid
    red, blue, lakes, hidden, moved, far = (
        grid.to_numpy(cells) > 0 for cells in (*states.pieces, states.lakes, states.hidden, states.moved, states.far)
    )
    digits = [grid.to_numpy(digit).astype(np.int8) << number for number, digit in enumerate(states.kinds)]
    kinds = functools.reduce(np.bitwise_or, digits)
    recent = [[np.asarray(part) for part in (one.start, one.end, one.level)] for one in states.recent]
    return {
        "piece": np.where(lakes, LAKE, kinds).astype(np.int8),
        "owner": np.where(red, RED, np.where(blue, BLUE, NOBODY)).astype(np.int8),
        "visible": ~hidden,
        "moved": moved,
        "far": far,
        "recent": np.moveaxis(np.array(recent, np.int8), (0, 1), (-2, -1)),
        "last": np.stack([np.asarray(cell) for cell in states.last], -1),
        "player": np.asarray(states.player),
        "ply": np.asarray(states.ply),
        "winner": np.asarray(states.winner),
    }


def from_arrays(config: StrategoConfig, arrays: dict[str, np.ndarray]) -> State:
    """Makes states out of boards as `to_arrays` gives them; `far`, `recent` and `last` may be missing, `winner` is not needed.

    Whether a game is over is told by its board: a flag is gone, the player to move has no move, or there are too many plies.

    Raises:
      ValueError: an array is missing or has another shape, or a board is none of this variant.
    """
    boards = {name: np.asarray(array) for name, array in arrays.items()}
    check_boards(config, boards)
    piece, owner = boards["piece"], boards["owner"]
    batch = piece.shape[:-1]
    nothing = np.zeros(piece.shape, bool)
    here = piece > 0
    hidden = here & ~boards["visible"].astype(bool)
    recent: Any = boards.get("recent", np.broadcast_to(np.array([-1, -1, 0], np.int8), (*batch, 2, 3))).astype(np.int8)
    last = boards.get("last", np.full((*batch, 2), -1, np.int8)).astype(np.int8)
    kinds: Any = np.where(here, piece, 0)
    counts = [
        (((hidden & (owner == seat))[..., None]) & (kinds[..., None] == np.arange(1, NUM_KINDS + 1))).sum(-2)
        for seat in (RED, BLUE)
    ]

    def bits(mask: np.ndarray) -> Any:
        return config.grid.from_numpy(mask.reshape(*batch, config.rows, config.columns))

    fields: dict[str, Any] = {
        "pieces": (bits(here & (owner == RED)), bits(here & (owner == BLUE))),
        "kinds": tuple(bits((kinds >> number) & 1 != 0) for number in range(KIND_BITS)),
        "lakes": bits(piece == LAKE),
        "hidden": bits(hidden),
        "moved": bits(here & boards["moved"].astype(bool)),
        "far": bits(hidden & boards.get("far", nothing).astype(bool)),
        "unknown": tuple(packed_counts(each) for each in counts),
        "recent": tuple(LastMove(*(recent[..., seat, part] for part in range(3))) for seat in (RED, BLUE)),
        "last": (last[..., 0], last[..., 1]),
        "past": (np.zeros(batch, np.uint32),) * config.remembered,
        "player": boards["player"].astype(np.int8).reshape(batch),
        "ply": boards["ply"].astype(np.int16).reshape(batch),
        "winner": np.full(batch, -1, np.int8),
        "terminated": np.zeros(batch, bool),
        "reward": np.zeros(batch, np.int8),
    }
    states = State(**fields)
    count = int(np.prod(batch, dtype=int))
    flat = jax.tree.map(lambda leaf: leaf.reshape(count, *leaf.shape[len(batch) :]), states)
    done: Any = jax.device_get(_settled(config, flat))
    return jax.tree.map(lambda leaf: leaf.reshape(batch + leaf.shape[1:]), done)


@functools.partial(jax.jit, static_argnums=0)
def _settled(config: StrategoConfig, states: State) -> State:
    return jax.vmap(functools.partial(rules.settled, config))(states)


def check_boards(config: StrategoConfig, boards: dict[str, np.ndarray]) -> None:
    """Raises a ValueError unless these are boards of this variant."""
    for name in ("piece", "owner", "visible", "moved", "player", "ply"):
        if name not in boards:
            raise ValueError(f"{name}: is missing")
    _check_forms(config, boards)
    piece, owner = boards["piece"], boards["owner"]
    wrong = np.flatnonzero((piece < LAKE) | (piece > NUM_KINDS))
    if wrong.size:
        raise ValueError(f"piece={piece.flat[wrong[0]]}: must be in {LAKE}..{NUM_KINDS}")
    wrong = np.flatnonzero(np.where(piece > 0, (owner != RED) & (owner != BLUE), owner != NOBODY))
    if wrong.size:
        name = moves.cell_name(config, int(wrong[0]) % config.num_cells)
        raise ValueError(f"owner={owner.flat[wrong[0]]} on {name}: must be 0 or 1 where a piece is, else 2")
    wrong = np.flatnonzero((boards["moved"] != 0) & (piece > 0) & stays(config, piece))
    if wrong.size:
        raise ValueError(
            f"moved on {moves.cell_name(config, int(wrong[0]) % config.num_cells)}: marks a piece that does not move"
        )
    for seat in (RED, BLUE):
        counts = [((piece == kind) & (owner == seat)).sum(-1) for kind in range(1, NUM_KINDS + 1)]
        if (flags := int(counts[0].max(initial=0))) > 1:
            raise ValueError(f"{flags} flags of {PLAYERS[seat]}: must be at most 1")
        for name, count in zip(KIND_NAMES, counts, strict=True):
            if (most := int(count.max(initial=0))) > MOST_OF_A_KIND:
                raise ValueError(f"{most} pieces {name} of {PLAYERS[seat]}: must be at most {MOST_OF_A_KIND}")
        if (most := int(np.max(config.moves_of(counts), initial=0))) > config.most_moves:
            whose = f"pieces of {PLAYERS[seat]} for up to {most} moves"
            raise ValueError(f"{whose}: must be for at most {config.most_moves}, as those of the variant are")
    for name, high in (("player", BLUE), ("ply", config.max_plies)):
        wrong = np.flatnonzero((boards[name] < 0) | (boards[name] > high))
        if wrong.size:
            raise ValueError(f"{name}={boards[name].flat[wrong[0]]}: must be in 0..{high}")


def _check_forms(config: StrategoConfig, boards: dict[str, np.ndarray]) -> None:
    """Raises unless arrays have the shapes and types of `to_arrays`, and what is remembered of moves names cells."""
    piece, owner = boards["piece"], boards["owner"]
    if piece.shape[-1:] != (config.num_cells,) or owner.shape != piece.shape:
        raise ValueError(f"piece and owner of shapes {piece.shape} and {owner.shape}: must end in {config.num_cells} cells")
    batch = piece.shape[:-1]
    shapes = dict.fromkeys(("piece", "owner", "visible", "moved", "far"), piece.shape)
    shapes |= {"recent": (*batch, 2, 3), "last": (*batch, 2), "player": batch, "ply": batch}
    for name, shape in shapes.items():
        if name in boards and boards[name].shape != shape:
            raise ValueError(f"{name} of shape {boards[name].shape}: must be of {shape}, as piece is of {piece.shape}")
        if name in boards and boards[name].dtype.kind not in "biu":
            raise ValueError(f"{name}: dtype {boards[name].dtype}, must be an integer type, or bool")
    if "recent" in boards:
        recent, ends = boards["recent"], (config.num_cells, config.num_cells, _NUM_LEVELS)
        for *where, _ in np.argwhere((recent < (-1, -1, 0)) | (recent >= ends))[:1]:
            must = f"a start and an end, -1 or a cell, and a level in 0..{_NUM_LEVELS - 1}"
            raise ValueError(f"recent={recent[tuple(where)].tolist()}: must be {must}")
    if "last" in boards:
        last = boards["last"]
        for *where, _ in np.argwhere((last < -1) | (last >= config.num_cells))[:1]:
            raise ValueError(f"last={last[tuple(where)].tolist()}: must be -1 or cells, in 0..{config.num_cells - 1}")


def stays(config: StrategoConfig, piece: np.ndarray) -> np.ndarray:
    """Says which kinds never count as moved; a bomb that beats its attacker may. bool, as `piece`."""
    return (piece == FLAG) | (piece == BOMB) & (not config.defence_moves)


def from_setups(config: StrategoConfig, red: str, blue: str) -> State:
    """Makes the start state of two set-ups.

    Args:
      config: the variant.
      red: a StraDoS2 letter (of either side, upper or lower case) for every cell of the home rows, lakes too: row by row from its
        back row on, each from column a on.
      blue: likewise, from Blue's own back row on.

    Raises:
      ValueError: a set-up has another length, an unknown letter, or other pieces than the variant.
    """
    from jaxgames.stratego import notation  # needs this module

    piece = np.zeros((config.rows, config.columns), np.int8)
    owner = np.full_like(piece, NOBODY)
    for seat, text in ((RED, red), (BLUE, blue)):
        rows = notation.setup_kinds(config, text, seat).reshape(config.home_rows, config.columns)
        home = slice(0, config.home_rows) if seat == RED else slice(None, -config.home_rows - 1, -1)
        piece[home] = rows
        owner[home] = np.where(rows > 0, seat, NOBODY)
    piece.reshape(-1)[list(config.lakes)] = LAKE
    shown = [KIND_NAMES.index(name) + 1 for name in config.open_pieces]
    cells = {"piece": piece.reshape(-1), "owner": owner.reshape(-1)}
    rest = {"visible": (cells["piece"] <= 0) | np.isin(cells["piece"], shown), "moved": np.zeros(config.num_cells, bool)}
    return from_arrays(config, cells | rest | {"player": np.int8(RED), "ply": np.int16(0)})


def play(config: StrategoConfig, state: State, move: int | str) -> State:
    """Plays a move, an action or text such as a4a5, after checking that it is legal (one game).

    Raises:
      ValueError: there is no such move, it is not legal, or the game is over.
    """
    seat = int(state.player)
    action = moves.parse_move(config, move, seat) if isinstance(move, str) else checks.as_integer(move)
    if action is None or not 0 <= action < moves.num_moves(config):
        raise ValueError(f"action={move!r}: must be an integer in 0..{moves.num_moves(config) - 1}, or a move such as a4a5")
    if bool(state.terminated):
        raise ValueError(f"action={action}: the game is over")
    if action not in legal_list(config, state):
        why = refusals.why_illegal(config, to_arrays(config, state), action, seat)
        raise ValueError(f"move={move_name(config, action, seat)}: is not legal for {PLAYERS[seat]}, {why}")
    after: State = jax.device_get(_step(config, state, action))
    return after


def move_name(config: StrategoConfig, action: int, seat: int) -> str:
    """Gives a move as text, also one that leads off the board, or is no number of a move."""
    known = 0 <= action < moves.num_moves(config) and moves.table(config, seat).inside[action]
    return moves.move_text(config, action, seat) if known else f"number {action}"


def legal_list(config: StrategoConfig, state: State) -> list[int]:
    """Gives the legal moves of the player to move, in the order of their numbers (one game); none after the end."""
    if bool(state.terminated):
        return []
    return np.flatnonzero(np.asarray(_mask(config, state))).tolist()


def mask(config: StrategoConfig, state: State) -> Any:
    """Gives the legal moves of the player to move by number, whether the game is over or not: bool [num_moves]."""
    return legal_mask(config, side_of(state, state.player), state.player)


@functools.partial(jax.jit, static_argnums=0)
def _step(config: StrategoConfig, state: State, action: Any) -> State:
    return rules.step(config, state, action)


@functools.partial(jax.jit, static_argnums=0)
def _mask(config: StrategoConfig, state: State) -> Any:
    return mask(config, state)
