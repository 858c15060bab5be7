"""What an undecided position promises its players, by hand: for searches, beside a network's values or in place of them.

Each side has its pieces, worth more while the other has not seen them, and what they may take: of pieces of each kind a share of
the best that they can beat, smaller with every move of the way there. Ways lead around lakes and around what stands still. A lead
counts against all that is left, so exchanges are good for who is ahead. And who can reach the other's flag first, before anybody
who could stop it, has as good as won. Nothing depends on who knows what, but that secrets are worth something: searches in drawn
worlds take the mean over what may be.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.bitboard import DIRECTIONS
from jaxgames.bits import Bits, union
from jaxgames.stratego import legal
from jaxgames.stratego.config import StrategoConfig
from jaxgames.stratego.constants import BLUE, BOMB, FLAG, IMMOBILE, LETTERS, MARSHAL, MINER, RED, SCOUT, SPY, WORTH
from jaxgames.stratego.state import State

_UNDECIDED = 0.98  # less than what is won
_NEVER = 1000.0  # moves
_FAR = 3  # moves, after which scouts have been everywhere


@dataclasses.dataclass(frozen=True)
class Weights:
    """What counts how much; points are those of `constants.WORTH`, by which a marshal has 16.

    Attributes:
      secret: of a piece's worth, lost when it has been seen.
      idle: of its worth that a spy keeps when the other's marshal is gone, and a miner when its bombs are.
      flag: points that the other's flag promises.
      promise: of what a piece may take.
      fleeing: of that, where what may be taken can run away.
      decay: of it, for every further move of the way.
      steps: no way is longer.
      now: of the best that can be taken at once by who is to move.
      even: points that are added to what both sides have.
      slope: how fast a lead becomes a win.
      race: how certain the win is of who gets to the other's flag first.
      haste: of that, for every move that it takes.
    """

    secret: float = 0.2
    idle: float = 0.3
    flag: float = 20.0
    promise: float = 0.2
    fleeing: float = 0.6
    decay: float = 0.8
    steps: int = 12
    now: float = 0.6
    even: float = 12.0
    slope: float = 3.0
    race: float = 0.7
    haste: float = 0.95


class _Pieces(NamedTuple):
    """All pieces by side and kind: N kinds, of which M move.

    Attributes:
      kinds: N of them.
      movers: places of the M of them that move.
      sides: [2, 1], the cells of each side.
      cells: [2, N].
      number: int32 [2, N].
    """

    kinds: list[int]
    movers: np.ndarray
    sides: Bits
    cells: Bits
    number: Array

    def of(self, *kinds: int) -> Bits:
        """The cells of some kinds, [2, 1]."""
        places = [self.kinds.index(kind) for kind in kinds]
        return union([Bits(tuple(word[:, place : place + 1] for word in self.cells.words)) for place in places])


class _Ways(NamedTuple):
    """How far it is, for the pieces of each side by kind.

    Attributes:
      near: float32 [2, M, N], shares of what the other's pieces promise, by the moves to the nearest.
      at_once: float32 [2, M, N], 1 where one move takes it.
      to_flag: float32 [2, M], moves to the other's flag; more than `Weights.steps`: none.
      home: float32 [2, M], moves to the own flag.
    """

    near: Array
    at_once: Array
    to_flag: Array
    home: Array


def prospects(config: StrategoConfig, state: State, weights: Weights = Weights()) -> Array:
    """Values an undecided position for Red and for Blue, float32 [2] in -1..1; one is less the other.

    Pieces count of the kinds that the variant or its `start` has.
    """
    pieces = _pieces(config, state)
    worth = _worth(weights, pieces)
    seen = pieces.number - (pieces.cells & state.hidden).count()
    material = (worth * (pieces.number - weights.secret * seen)).sum(-1)
    ways = _ways(config, state, weights, pieces)
    movers = [pieces.kinds[place] for place in pieces.movers]
    takes = np.array([[_beats(mover, kind) for kind in pieces.kinds] for mover in movers], np.float32)
    gains = worth[::-1, None, :] * takes + weights.flag * (np.array(pieces.kinds) == FLAG)
    flees = np.where(np.isin(pieces.kinds, IMMOBILE), 1.0, weights.fleeing).astype(np.float32)
    moves = jnp.arange(2) == state.player
    promise = (gains * ways.near * flees).max(-1).sum(-1)
    now = jnp.where(moves, (gains * ways.at_once).max((1, 2)), 0.0)
    points = material + weights.promise * promise + weights.now * now
    lead = jnp.tanh(weights.slope * (points[RED] - points[BLUE]) / (material.sum() + weights.even))

    stops = np.array([[_beats(other, mover) or other == mover for other in movers] for mover in movers])
    guards = jnp.where(stops, ways.home[::-1, None, :], _NEVER).min(-1)  # moves of the first who could stop each
    runs = (ways.to_flag <= weights.steps) & (guards > ways.to_flag + moves[::-1, None])
    time = jnp.where(runs, ways.to_flag, _NEVER).min(-1) + jnp.where(moves, 0.0, 0.5)
    first = jnp.sign(time[BLUE] - time[RED])
    certain = jnp.where(time.min() < _NEVER, weights.race * weights.haste ** time.min(), 0.0)
    return _UNDECIDED * (lead + certain * (first - lead)) * np.array([1, -1], np.float32)


def _pieces(config: StrategoConfig, state: State) -> _Pieces:
    kinds = _kinds(config)
    sides = Bits(tuple(jnp.stack(words)[:, None] for words in zip(*(each.words for each in state.pieces), strict=True)))
    by_kind = [legal.of_kind(state.kinds, kind).words for kind in kinds]
    cells = Bits(tuple(jnp.stack(words) for words in zip(*by_kind, strict=True))) & sides
    movers = np.array([place for place, kind in enumerate(kinds) if kind not in IMMOBILE])
    return _Pieces(kinds, movers, sides, cells, cells.count())


def _kinds(config: StrategoConfig) -> list[int]:
    """Kinds that can stand on the board: those of the variant, and what a given start has besides."""
    letters = "".join(config.start.upper().split()[:1])
    given = [any(of_side[kind - 1] in letters for of_side in LETTERS) for kind in range(1, len(config.pieces) + 1)]
    return [kind for kind, count in enumerate(config.pieces, 1) if count or given[kind - 1]]


def _ways(config: StrategoConfig, state: State, weights: Weights, pieces: _Pieces) -> _Ways:
    """Lets all pieces go wherever they can, move by move."""
    grid = config.grid
    other = _mapped(lambda word: word[::-1], pieces.sides)
    barred = pieces.of(*(kind for kind in IMMOBILE if kind in pieces.kinds)) | state.lakes
    free = grid.full - pieces.sides - other - state.lakes
    gate = grid.neighbours(pieces.of(FLAG))
    aims = _mapped(lambda word: word[::-1, None, :], pieces.cells)
    scouts = np.array(pieces.kinds)[pieces.movers] == SCOUT
    shares = weights.decay ** np.arange(weights.steps, dtype=np.float32)
    shares[:-1] -= shares[1:]  # who is near is so in all later moves too

    def advance(far: bool, carry: tuple[Bits, Array, Array], share: Array) -> tuple[tuple[Bits, Array, Array], Array]:
        """Everybody goes on by one move; scouts may go far."""
        reached, near, home = carry
        here = reached - other
        grown = grid.neighbours(here)
        if far and scouts.any():
            lines = [grid.shift(legal.rays(config, here.when(scouts), free, way), way) for way in DIRECTIONS]
            grown = union([grown, *lines])
        reached = reached | (grown - barred)
        hits = _mapped(lambda word: word[:, :, None], reached).overlaps(aims).astype(jnp.float32)
        return (reached, near + share * hits, home + ~reached.overlaps(gate)), hits

    reached = _mapped(lambda word: word[:, pieces.movers], pieces.cells)
    begin = (reached, jnp.zeros((2, len(pieces.movers), len(pieces.kinds))), 2.0 - reached.overlaps(gate))
    carry, first = jax.lax.scan(functools.partial(advance, True), begin, shares[:_FAR])
    (_, near, home), later = jax.lax.scan(functools.partial(advance, False), carry, shares[_FAR:])
    flag = pieces.kinds.index(FLAG)
    to_flag = 1 + weights.steps - first[..., flag].sum(0) - later[..., flag].sum(0)
    return _Ways(near, first[0], to_flag, home)


def _worth(weights: Weights, pieces: _Pieces) -> Array:
    """Points of a piece of each kind of both sides, float32 [2, N]."""
    kinds = pieces.kinds
    worth = jnp.broadcast_to(WORTH[kinds].astype(np.float32), pieces.number.shape)
    for kind, prey in ((SPY, MARSHAL), (MINER, BOMB)):
        if kind in kinds and prey in kinds:
            gone = pieces.number[::-1, kinds.index(prey)] == 0
            worth = jnp.where((np.array(kinds) == kind) & gone[:, None], weights.idle * worth, worth)
    return worth


def _beats(attacker: int, defender: int) -> bool:
    """Says whether an attack takes a piece and does not cost the attacker."""
    if defender == BOMB:
        return attacker == MINER
    return attacker > defender or (attacker == SPY and defender == MARSHAL)


def _mapped(function: Callable[[Array], Array], cells: Bits) -> Bits:
    """Applies a function to all words of a set."""
    return Bits(tuple(map(function, cells.words)))
