"""Positions as text: StraDoS2 letters in FENfS (AlphaZe**, section 7).

`<a letter per cell> <r or b> <moves so far>`, cells row by row from Red's back row on. Upper case: hidden from the other player.
In a player's view `?` is a hidden piece that has not moved and `!` one that has; where players see everything (`true_sight`) a
view is the position. What these do not say may follow in fields of a letter each, so that reading gives back what was written:

    m, f: pieces that have moved, that have moved far: bits of all cells as hexadecimal digits, the first cell first
    t: what the two-square rule remembers of both players, as start.end.level
    l: the last move, as start.end
    u: in views, how many hidden pieces of each kind the other has, as digits to the base of 36

Earlier positions, which count as repetitions, are not written, nor that somebody has lost by an illegal move, nor the reward of
the last step: who has won is told by the board.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import checks
from jaxgames.stratego import interop, moves
from jaxgames.stratego.config import StrategoConfig
from jaxgames.stratego.constants import (
    BLUE,
    EMPTY_LETTER,
    FLAG,
    KIND_NAMES,
    LAKE,
    LAKE_LETTER,
    LETTERS,
    MOVED_LETTER,
    NUM_KINDS,
    PLAYERS,
    RED,
    SCOUT,
    UNMOVED_LETTER,
)
from jaxgames.stratego.hidden import hidden_pieces
from jaxgames.stratego.observation import Observation, observe
from jaxgames.stratego.state import State, count_of

_TURN_LETTERS = "rb"
_UNKNOWN = NUM_KINDS + 1
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_KNOWN = f"{LETTERS[0]}{LETTERS[1]}{EMPTY_LETTER.upper()}, {LAKE_LETTER}"


def write(config: StrategoConfig, state: State, *, exact: bool = True) -> str:
    """Gives a position (one game); `exact`: with all fields that are needed to read it back, else the first three alone."""
    arrays = interop.to_arrays(config, state)
    letters = _letters(arrays["piece"], arrays["owner"], arrays["visible"])
    fields = [letters, _TURN_LETTERS[int(arrays["player"])], str(int(arrays["ply"]))]
    return " ".join(fields + (_more_fields(arrays) if exact else []))


def write_view(config: StrategoConfig, state: State, player: int, *, exact: bool = False, yorktown: bool = False) -> str:
    """Gives a position as a player (0 or 1) sees it (one game).

    Args:
      config: the variant.
      state: one game.
      player: whose view.
      exact: with all fields that `read_view` needs to give back what the player knows.
      yorktown: hidden pieces are `?` whether they have moved or not, as the published code writes them.

    Raises:
      ValueError: there is no such player.
    """
    checks.seat(np.asarray(player), len(PLAYERS))
    if config.true_sight:
        return write(config, state, exact=exact)
    arrays = interop.to_arrays(config, state)
    others = (arrays["owner"] == 1 - player) & ~arrays["visible"]
    letters = list(_letters(arrays["piece"], arrays["owner"], arrays["visible"]))
    for cell in np.flatnonzero(others):
        letters[cell] = MOVED_LETTER if arrays["moved"][cell] and not yorktown else UNMOVED_LETTER
    fields = ["".join(letters), _TURN_LETTERS[int(arrays["player"])], str(int(arrays["ply"]))]
    if exact:
        hidden = [int(count_of(state.unknown[1 - player], kind)) for kind in range(1, NUM_KINDS + 1)]
        fields += [*_more_fields(arrays), "u" + "".join(_DIGITS[count] for count in hidden)]
    return " ".join(fields)


def _letters(piece: np.ndarray, owner: np.ndarray, visible: np.ndarray) -> str:
    letters = []
    for kind, seat, shown in zip(piece.tolist(), owner.tolist(), visible.tolist(), strict=True):
        if kind <= 0:
            letters.append(LAKE_LETTER if kind < 0 else EMPTY_LETTER)
        else:
            letter = LETTERS[seat][kind - 1]
            letters.append(letter.lower() if shown else letter)
    return "".join(letters)


def _more_fields(arrays: dict[str, np.ndarray]) -> list[str]:
    fields = [sign + _hex(arrays[name]) for sign, name in (("m", "moved"), ("f", "far")) if arrays[name].any()]
    if arrays["recent"][:, 2].any():
        fields.append("t" + "/".join(".".join(str(number) for number in one) for one in arrays["recent"].tolist()))
    if arrays["last"][0] >= 0:
        fields.append("l" + ".".join(str(number) for number in arrays["last"].tolist()))
    return fields


def _hex(mask: np.ndarray) -> str:
    digits = np.packbits(mask.astype(np.uint8))
    return digits.tobytes().hex()[: -(-len(mask) // 4)]


def _from_hex(config: StrategoConfig, text: str, given: str) -> np.ndarray:
    length = -(-config.num_cells // 4)
    try:
        bits = np.unpackbits(np.frombuffer(bytes.fromhex(text + "0" * (len(text) % 2)), np.uint8))
    except ValueError:
        bits = np.zeros(0, np.uint8)
    if len(text) != length or bits[config.num_cells :].any():
        raise ValueError(f"fen: field {given[:40]!r} must have {length} hexadecimal digits for {config.num_cells} cells")
    return bits[: config.num_cells] != 0


def read(config: StrategoConfig, text: str) -> State:
    """Reads a position; leaves are numpy.

    A side may have other pieces than those of the variant, as long as they cannot have more moves than `config.most_moves`; what
    values positions by hand counts other kinds only in a game that starts with them (`config.start`).

    Raises:
      ValueError: says what is wrong: another number of letters, an unknown one, two flags, a flag that has moved.
    """
    return interop.from_arrays(config, _parse_position(config, text))


def _parse_position(config: StrategoConfig, text: str) -> dict[str, Any]:
    arrays = _parse(config, text)
    if "unknown" in arrays:
        raise ValueError("fen: field u is of views: a position tells what stands where")
    hidden = np.flatnonzero(arrays["piece"] == _UNKNOWN)
    if hidden.size:
        raise ValueError(f"fen: {moves.cell_name(config, int(hidden[0]))} is unknown: a view is no position")
    return arrays


def check(config: StrategoConfig, text: str) -> None:
    """Raises a ValueError unless this is a position with one flag per side and plies left."""
    arrays = _parse_position(config, text)
    for seat in (RED, BLUE):
        flags = int(((arrays["piece"] == FLAG) & (arrays["owner"] == seat)).sum())
        if flags != 1:
            raise ValueError(f"fen: {flags} flags of {PLAYERS[seat]}: must be one")
    if int(arrays["ply"]) >= config.max_plies:
        raise ValueError(f"fen: {int(arrays['ply'])} moves: must be fewer than max_plies={config.max_plies}")
    interop.check_boards(config, arrays)


def read_view(config: StrategoConfig, text: str, player: int) -> Observation:
    """Reads what a player (0 or 1) sees; leaves are numpy.

    Without the field of unknown pieces nothing may have been captured that would leave it open which pieces are hidden.

    Raises:
      ValueError: it is no view of this player, or no board fits it.
    """
    checks.seat(np.asarray(player), len(PLAYERS))
    if config.true_sight:
        return _seen(config, read(config, text), player)
    arrays = _parse(config, text)
    unknown, piece, owner = arrays["piece"] == _UNKNOWN, arrays["piece"], arrays["owner"]
    wrong = np.flatnonzero((owner == 1 - player) & (piece > 0) & ~arrays["visible"] & ~unknown)
    if wrong.size:
        name = moves.cell_name(config, int(wrong[0]))
        raise ValueError(f"fen: {name} is hidden and yet known to {PLAYERS[player]}: must be ? or !")
    counts = _unknown_counts(config, arrays, player)
    moved = arrays["moved"] & unknown
    number, still = int(unknown.sum()), int((unknown & ~moved).sum())
    fixed = counts[0] + counts[-1]
    if sum(counts) != number or fixed > still:
        found = f"{sum(counts)} hidden pieces, {fixed} of them flags and bombs"
        raise ValueError(f"no board fits: {found}, on {number} cells of which {still} have not moved")
    # Any kinds do, as they are not shown: those that cannot have moved come first, on cells that have not.
    cells = [*np.flatnonzero(unknown & ~moved), *np.flatnonzero(moved)]
    kinds = [kind for kind in (1, NUM_KINDS, *range(2, NUM_KINDS)) for _ in range(counts[kind - 1])]
    filled, owners = piece.copy(), owner.copy()
    filled[cells], owners[cells] = kinds, 1 - player
    state = interop.from_arrays(config, arrays | {"piece": filled, "owner": owners})
    seen = _seen(config, state, player)
    if not hidden_pieces(config, seen).fits:
        far = int((arrays["far"] & unknown).sum())
        raise ValueError(
            f"no board fits: {far} hidden pieces have moved far, as scouts do, and {counts[SCOUT - 1]} scouts are hidden"
        )
    return seen


def _seen(config: StrategoConfig, state: State, player: int) -> Observation:
    seen: Observation = jax.device_get(observe(config, jax.tree.map(jnp.asarray, state), jnp.int32(player)))
    return seen


def _unknown_counts(config: StrategoConfig, arrays: dict[str, Any], player: int) -> list[int]:
    if "unknown" in arrays:
        return list(arrays["unknown"])
    seen = (arrays["owner"] == 1 - player) & (arrays["piece"] > 0) & (arrays["piece"] != _UNKNOWN)
    left = [count - int((seen & (arrays["piece"] == kind)).sum()) for kind, count in enumerate(config.pieces, 1)]
    number = int((arrays["piece"] == _UNKNOWN).sum())
    if sum(left) != number or min(left) < 0:
        raise ValueError(
            f"no board fits: {number} hidden pieces, {sum(left)} not seen; what was captured must be told by field u"
        )
    return left


def _parse(config: StrategoConfig, text: str) -> dict[str, Any]:
    """Takes a text apart into arrays as `interop.from_arrays` takes them; hidden pieces of views have a kind of their own."""
    _is_text("fen", text)
    fields = text.split()
    if len(fields) < 3:
        raise ValueError(f"fen={text[:120]!r}: must be letters, r or b, and the number of moves")
    letters, turn, number, *more = fields
    if len(letters) != config.num_cells:
        raise ValueError(f"fen: {len(letters)} letters, must be {config.num_cells}")
    if turn not in tuple(_TURN_LETTERS):
        raise ValueError(f"fen: player {turn[:20]!r} must be r or b")
    if not (number.isascii() and number.isdecimal() and len(number) < 6):
        raise ValueError(f"fen: number of moves {number[:20]!r} must be a whole number")
    piece, owner = (np.zeros(config.num_cells, np.int8) for _ in range(2))
    visible, moved = np.ones(config.num_cells, bool), np.zeros(config.num_cells, bool)
    for cell, letter in enumerate(letters):
        meant = _read_letter(letter)
        if meant is None:
            raise ValueError(f"fen: letter {letter!r} on {moves.cell_name(config, cell)} must be one of {_KNOWN}, ? or !")
        piece[cell], owner[cell] = meant
        visible[cell] = piece[cell] <= 0 or letter.islower()
        moved[cell] = letter == MOVED_LETTER
    arrays: dict[str, Any] = {
        "piece": piece,
        "owner": owner,
        "visible": visible,
        "moved": moved,
        "far": np.zeros_like(moved),
        "player": np.int8(_TURN_LETTERS.index(turn)),
        "ply": np.int32(number),
    }
    arrays |= _read_more(config, arrays, more)
    _check_marks(config, arrays)
    return arrays


def _is_text(name: str, given: Any) -> None:
    if not isinstance(given, str):
        raise ValueError(f"{name}={given!r}: must be text")


def _check_marks(config: StrategoConfig, arrays: dict[str, Any]) -> None:
    """Checks which pieces are said to have moved, and to have moved far."""
    piece, moved, far = (arrays[name] for name in ("piece", "moved", "far"))
    for wrong, why in (
        (moved & (piece <= 0), "field m marks it, and no piece is there"),
        (moved & interop.stays(config, piece), "field m marks a piece that does not move"),
        (far & ~moved, "has moved far, as field f says, and not moved"),
        (far & (piece != SCOUT) & (piece != _UNKNOWN), "has moved far, as field f says, and is no scout"),
    ):
        if wrong.any():
            raise ValueError(f"fen: {moves.cell_name(config, int(np.flatnonzero(wrong)[0]))}: {why}")


def _read_letter(letter: str) -> tuple[int, int] | None:
    """Gives kind and owner; None: the letter means nothing."""
    if letter == LAKE_LETTER:
        return LAKE, interop.NOBODY
    if letter in (EMPTY_LETTER, EMPTY_LETTER.upper()):
        return 0, interop.NOBODY
    if letter in (UNMOVED_LETTER, MOVED_LETTER):
        return _UNKNOWN, interop.NOBODY
    for seat, known in enumerate(LETTERS):
        if letter.isascii() and letter.upper() in known:
            return known.index(letter.upper()) + 1, seat
    return None


def _read_more(config: StrategoConfig, arrays: dict[str, Any], fields: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    signs = [field[0] for field in fields]
    for field in fields:
        sign, rest = field[0], field[1:]
        if sign in "mftlu" and signs.count(sign) > 1:
            raise ValueError(f"fen: field {sign} is given {signs.count(sign)} times, must be once")
        if sign in "mf":
            mask = _from_hex(config, rest, field)
            if sign == "m":
                found["moved"] = mask | arrays["moved"]
            else:
                found["far"] = mask
        elif sign == "t":
            found["recent"] = _read_recent(config, field)
        elif sign == "l":
            found["last"] = _read_last(config, field)
        elif sign == "u":
            if len(rest) != NUM_KINDS or any(digit not in _DIGITS for digit in rest):
                raise ValueError(f"fen: field {field[:40]!r} must have {NUM_KINDS} digits, of {', '.join(KIND_NAMES)}")
            found["unknown"] = [_DIGITS.index(digit) for digit in rest]
        else:
            raise ValueError(f"fen: field {field[:40]!r} must begin with m, f, t, l or u")
    return found


def _read_recent(config: StrategoConfig, field: str) -> np.ndarray:
    try:
        recent = np.array([[int(number) for number in one.split(".")] for one in field[1:].split("/")], np.int8)
        fine = recent.shape == (2, 3) and recent.min() >= -1 and recent[:, :2].max() < config.num_cells
    except (ValueError, OverflowError):
        fine = False
    if not fine or recent[:, 2].max() > 3 or recent[:, 2].min() < 0:
        raise ValueError(f"fen: field {field[:40]!r} must be start.end.level of both players, such as t4.14.2/-1.-1.0")
    return recent


def _read_last(config: StrategoConfig, field: str) -> np.ndarray:
    cells = field[1:].split(".")
    if len(cells) != 2 or not all(cell.isdecimal() and len(cell) < 3 and int(cell) < config.num_cells for cell in cells):
        raise ValueError(f"fen: field {field[:40]!r} must be start.end, such as l4.14")
    return np.array([int(cell) for cell in cells], np.int8)


def setup_kinds(config: StrategoConfig, text: str, seat: int) -> np.ndarray:
    """Reads a set-up: kinds, int8 [home rows * columns]; see `interop.from_setups`.

    Raises:
      ValueError: another length, an unknown letter, a piece on a lake, or other pieces than those of the variant.
    """
    _is_text(f"set-up of {PLAYERS[seat]}", text)
    size = config.home_rows * config.columns
    if len(text) != size:
        raise ValueError(f"set-up of {PLAYERS[seat]}: {len(text)} letters, must be {size}")
    kinds = np.zeros(size, np.int8)
    for place, letter in enumerate(text):
        meant = _read_letter(letter)
        if meant is None or meant[0] == _UNKNOWN:
            raise ValueError(f"set-up of {PLAYERS[seat]}: letter {letter!r} on place {place} must be one of {_KNOWN}")
        kinds[place] = max(meant[0], 0)
        row, column = divmod(place, config.columns)
        cell = (config.rows - 1 - row if seat == BLUE else row) * config.columns + column
        if kinds[place] and cell in config.lakes:
            raise ValueError(f"set-up of {PLAYERS[seat]}: {letter!r} cannot stand on {moves.cell_name(config, cell)}")
    for kind, count in enumerate(config.pieces, 1):
        if (kinds == kind).sum() != count:
            raise ValueError(f"set-up of {PLAYERS[seat]}: {(kinds == kind).sum()} {KIND_NAMES[kind - 1]}, must be {count}")
    return kinds
