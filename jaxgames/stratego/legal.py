"""Which moves are legal, as four sets: of each direction the cells in which a move in that direction may end.

In a cell no two moves in the same direction can end, because a piece that is nearer stands in the way of one that is farther. So
these sets are all moves: the piece that makes one is the nearest in the opposite direction.
"""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import sliced
from jaxgames.bitboard import DIRECTIONS, DOWN, LEFT, OPPOSITE, RIGHT, UP
from jaxgames.bits import WORD_BITS, Bits, select, union
from jaxgames.fusion import worked_out
from jaxgames.stratego import moves
from jaxgames.stratego.config import StrategoConfig
from jaxgames.stratego.constants import RED, SCOUT, TWICE_LEVEL
from jaxgames.stratego.moves import Move
from jaxgames.stratego.state import LastMove, State, seated

Sets = tuple[Bits, ...]  # by direction: UP towards row 0, DOWN, LEFT, RIGHT; or the digits of kinds


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Side:
    """What legal moves of one player depend on.

    Attributes:
      own, other: its pieces and the other's.
      kinds: digits of the kinds of its own pieces; elsewhere any.
      lakes: cells that nobody enters.
      recent: its last move.
    """

    own: Bits
    other: Bits
    kinds: Sets
    lakes: Bits
    recent: LastMove


def side_of(state: State, seat: Array) -> Side:
    """Gives the side of a seat (int [])."""
    first = seat == RED
    own, other = seated(first, state.pieces)
    return Side(own, other, state.kinds, state.lakes, select(first, *state.recent))


def of_kind(kinds: Sets, kind: int) -> Bits:
    """Gives the cells whose kind is this one (1 to 12)."""
    ones = [digit for number, digit in enumerate(kinds) if kind >> number & 1]
    zeros = [digit for number, digit in enumerate(kinds) if not kind >> number & 1]
    cells = functools.reduce(lambda a, b: a & b, ones)
    return cells - union(zeros) if zeros else cells


def movers(side: Side) -> Bits:
    """Gives the own pieces that are no flags (1) and no bombs (12)."""
    a, b, c, d = side.kinds
    flags, bombs = a - b - c - d, (c & d) - a - b
    return side.own - flags - bombs


def near_moves(config: StrategoConfig, side: Side) -> Sets:
    """Gives the moves by one cell, the two-square rule left aside."""
    grid = config.grid
    pieces, enterable = movers(side), grid.full - side.own - side.lakes
    return tuple(grid.shift(pieces, direction) & enterable for direction in DIRECTIONS)


def rays(config: StrategoConfig, scouts: Bits, free: Bits, direction: int) -> Bits:
    """Gives scouts and all that they see on free cells in a direction, by doubling the distance."""
    grid = config.grid
    reached, open_cells = scouts, free & grid.shift(grid.full, direction)
    longest = (config.rows if direction in (UP, DOWN) else config.columns) - 2
    step = 1
    while step <= longest:
        by = functools.partial(_slide, config, direction=direction, distance=step)
        reached = reached | (open_cells & by(reached))
        if 2 * step <= longest:
            open_cells = open_cells & by(open_cells)
        step *= 2
    return reached


def _slide(config: StrategoConfig, cells: Bits, direction: int, distance: int) -> Bits:
    grid = config.grid
    for _ in range(distance):
        cells = grid.slide(cells, direction)
    return cells


def legal_moves(config: StrategoConfig, side: Side) -> Sets:
    """Gives all legal moves of a side."""
    grid = config.grid
    taken = side.own | side.other | side.lakes
    free, enterable = grid.full - taken, grid.full - side.own - side.lakes
    pieces = movers(side)
    scouts = side.own & of_kind(side.kinds, SCOUT)
    found = []
    for direction in DIRECTIONS:
        reached = rays(config, scouts, free, direction)
        found.append(grid.shift(pieces | reached, direction) & enterable)
    if config.two_square:
        banned, heading = _banned(config, side)
        found = [cells - banned.when(heading == direction) for direction, cells in enumerate(found)]
    return tuple(found)


def _banned(config: StrategoConfig, side: Side) -> tuple[Bits, Array]:
    """Gives the cell to which the two-square rule forbids to go, if any, and in which direction that would be: int32 []."""
    recent, grid = side.recent, config.grid
    start, end = recent.start.astype(jnp.int32), recent.end.astype(jnp.int32)
    back = grid.one_hot(start) - side.other  # attacks are never forbidden
    forbidden = (recent.level == TWICE_LEVEL) & (grid.one_hot(end) & side.own).any()
    vertical = grid.column_of(start) == grid.column_of(end)
    heading = jnp.where(start < end, jnp.where(vertical, UP, LEFT), jnp.where(vertical, DOWN, RIGHT))
    return back.when(forbidden), heading


def can_move(config: StrategoConfig, side: Side) -> Array:
    """Says whether a side has a legal move: bool []. Whoever can go far can go one cell, but for the two-square rule."""
    near = near_moves(config, side)
    if not config.two_square:
        return union(near).any()
    grid = config.grid
    banned, heading = _banned(config, side)
    allowed = [cells - banned.when(heading == direction) for direction, cells in enumerate(near)]
    free, enterable = grid.full - side.own - side.other - side.lakes, grid.full - side.own - side.lakes
    scouts = side.own & of_kind(side.kinds, SCOUT)
    # A scout may go on beyond the one cell that is forbidden.
    beyond = [grid.shift(grid.shift(scouts, direction) & free, direction) & enterable for direction in DIRECTIONS]
    return union([*allowed, *beyond]).any()


def as_set(sets: Sets) -> Bits:
    """Gives all moves as one set: that of direction d which ends in cell c is number 32 * (words of a set) * d + c."""
    return Bits(tuple(word for cells in sets for word in cells.words))


def move_of(config: StrategoConfig, side: Side, number: Array) -> Move:
    """Gives the move with a number in `as_set` (int32 []): the nearest own piece behind its end is the one that moves."""
    grid = config.grid
    width = WORD_BITS * grid.num_words
    direction = sum(((number >= width * each).astype(jnp.int32) for each in (1, 2, 3)), jnp.int32(0))
    end = number - direction * width
    vertical, backwards = direction <= DOWN, (direction == UP) | (direction == LEFT)
    line = grid.column_of(end)
    words = column_words(config, line)
    candidates = [jnp.where(vertical, own & column, own) for own, column in zip(side.own.words, words, strict=True)]
    behind = Bits(tuple(candidates)) & select(backwards, above(config, end), below(config, end))
    return Move(jnp.where(backwards, behind.first(), behind.last()), end)


def column_words(config: StrategoConfig, column: Array) -> tuple[Array, ...]:
    """Gives the words of a column (int32 [])."""
    base = [int(word) for word in config.grid.column(0).words]
    shift = column.astype(jnp.uint32)
    words = []
    for number, word in enumerate(base):
        moved = jnp.uint32(word) << shift
        if number:
            moved = moved | ((jnp.uint32(base[number - 1]) >> 1) >> (31 - shift))
        words.append(moved)
    return tuple(words)


def below(config: StrategoConfig, cell: Array) -> Bits:
    """Gives the cells with lower numbers than `cell` (int32 [])."""
    words = []
    for number in range(config.grid.num_words):
        inside = jnp.clip(cell - WORD_BITS * number, 0, WORD_BITS)
        # In two shifts, as one by the length of a word is not defined.
        half = (inside >> 1).astype(jnp.uint32)
        rest = inside.astype(jnp.uint32) - half
        words.append(~((jnp.uint32(0xFFFFFFFF) << half) << rest))
    return Bits(tuple(words))


def above(config: StrategoConfig, cell: Array) -> Bits:
    """Gives the cells with higher numbers than `cell` (int32 [])."""
    return config.grid.full - below(config, cell + 1)


def is_legal(config: StrategoConfig, side: Side, move: Move) -> Array:
    """Says whether a move along a row or column of the board is legal: bool []. Cheaper than all legal moves."""
    grid = config.grid
    start, end = grid.one_hot(move.start), grid.one_hot(move.end)
    mobile = (start & movers(side)).any()
    enterable = ~end.overlaps(side.own | side.lakes)
    low, high = jnp.minimum(move.start, move.end), jnp.maximum(move.start, move.end)
    between = below(config, high) & above(config, low)
    vertical = high - low >= config.columns
    column = Bits(column_words(config, grid.column_of(move.start)))
    between = select(vertical, between & column, between)
    near = (high - low == 1) | (high - low == config.columns)
    scout = start.overlaps(of_kind(side.kinds, SCOUT))
    reaches = near | (scout & ~between.overlaps(side.own | side.other | side.lakes))
    legal = mobile & enterable & reaches
    if config.two_square:
        recent = side.recent
        again = (recent.level == TWICE_LEVEL) & (move.start == recent.end) & (move.end == recent.start)
        legal = legal & ~(again & ~end.overlaps(side.other))
    return legal


def legal_by_cells(config: StrategoConfig, side: Side, seat: Array) -> Array:
    """Gives the legal moves of a side by the cells where they start: bool [rows, columns, ways], its own back row first."""
    by_direction = [_by_distance(config, side, direction) for direction in DIRECTIONS]
    up, down, left, right = by_direction
    red = seat == RED
    back = [select(red, one, other) for one, other in zip(up, down, strict=True)]
    ahead = [select(red, one, other) for one, other in zip(down, up, strict=True)]
    sets = [*back[::-1], *ahead, *left[::-1], *right]
    found = sliced.weighted_sums(config.grid, [[(cells, 1)] for cells in sets]) != 0
    return jnp.where(red, found, found[::-1])


def _by_distance(config: StrategoConfig, side: Side, direction: int) -> list[Bits]:
    """Gives the pieces that may go in a direction by 1, 2, ... cells."""
    grid = config.grid
    free, enterable = grid.full - side.own - side.other - side.lakes, grid.full - side.own - side.lakes
    scouts, pieces = side.own & of_kind(side.kinds, SCOUT), movers(side)
    found = []
    ahead, way = enterable, grid.full  # of each cell: the one so far ahead, and whether all before it are free
    for distance in range(1, config.rows if direction in (UP, DOWN) else config.columns):
        ahead = grid.shift(ahead, OPPOSITE[direction])
        able = pieces if distance == 1 else scouts & way
        found.append(able & ahead)
        free = grid.shift(free, OPPOSITE[direction])
        way = way & free
    if config.two_square:
        banned, heading = _banned(config, side)
        recent = grid.one_hot(side.recent.end.astype(jnp.int32)).when(banned.any() & (heading == direction))
        apart = jnp.abs(side.recent.end.astype(jnp.int32) - side.recent.start)
        unit = config.columns if direction in (UP, DOWN) else 1
        found = [cells - recent.when(apart == unit * distance) for distance, cells in enumerate(found, 1)]
    return found


def legal_mask(config: StrategoConfig, side: Side, seat: Array) -> Array:
    """Gives the legal moves of a side by the numbers of actions: bool [num_moves]. Large: not for what has to be fast."""
    return jnp.swapaxes(legal_by_cells(config, side, seat), 0, 1).reshape(-1)


# Traced once per variant, however often a search asks.
@functools.partial(jax.jit, static_argnums=0)
def listed(config: StrategoConfig, side: Side, seat: Array) -> tuple[Array, Array]:
    """Lists the legal moves of a side.

    Returns:
      int32 [K] actions with K = `config.most_moves`, and bool [K], which of them are: the first ones. The others are no moves.
    """
    moves_words, own = as_set(legal_moves(config, side)).words, side.own.words
    row = worked_out(jnp.stack(jax.lax.optimization_barrier([*moves_words, *own, seat.astype(jnp.uint32)])))
    words = [row[number] for number in range(row.shape[0])]
    found, seat = Bits(tuple(words[: len(moves_words)])), words[-1]
    side = dataclasses.replace(side, own=Bits(tuple(words[len(moves_words) : -1])))
    count = found.count()
    number = jnp.arange(config.most_moves, dtype=jnp.int32)

    def one(rank: Array) -> Array:
        move = move_of(config, side, found.pick(rank))
        return moves.to_action(config, move, seat)

    actions = worked_out(jax.vmap(one)(jnp.minimum(number, jnp.maximum(count - 1, 0))))
    return jnp.where(number < count, actions, moves.num_moves(config)), number < count
