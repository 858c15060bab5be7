"""What the replays of both reference implementations share: playing recorded moves, and comparing legal moves."""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.replay import BadRecording, Findings, row_name
from jaxgames.stratego import interop, moves, rules
from jaxgames.stratego.config import StrategoConfig
from jaxgames.stratego.constants import BLUE, NUM_KINDS, RED
from jaxgames.stratego.state import State

ROWS_AT_ONCE = 1024  # whose legal moves or planes are worked out together


@dataclasses.dataclass(frozen=True)
class Played:
    """Recorded games as we play them.

    Attributes:
      config: the variant.
      states: one per row of the file, leaves [rows].
      starts, lasts: int [games], the first and the last row of each game.
    """

    config: StrategoConfig
    states: State
    starts: np.ndarray
    lasts: np.ndarray

    @property
    def count(self) -> int:
        """Moves."""
        return int((self.lasts - self.starts).sum())

    def name(self, row: int) -> str:
        """A row in words."""
        return row_name(self.starts, "ply", row)


def pieces_of(piece: np.ndarray, owner: np.ndarray) -> tuple[int, ...]:
    """Gives the pieces of the side that can have the most moves at the start of games: boards [games, cells]."""
    sides = [np.stack([((piece == kind) & (owner == seat)).sum(-1) for kind in range(1, NUM_KINDS + 1)]) for seat in (RED, BLUE)]
    counts = np.concatenate(sides, axis=1)
    return tuple(counts[:, int(np.argmax(StrategoConfig().moves_of(list(counts))))].tolist())


def play(config: StrategoConfig, starts: State, actions: np.ndarray, offsets: np.ndarray) -> Played:
    """Plays recorded games from their starts (leaves [games]) with actions int [rows]; that of a last row does not count."""
    lengths = np.diff(offsets)
    rows = np.arange(lengths.max()) < lengths[:, None]
    padded = np.full(rows.shape, -1, np.int32)
    padded[rows] = actions
    padded[np.arange(len(lengths)), lengths - 1] = -1
    states = jax.device_get(_play(config, starts, jnp.asarray(padded)))
    return Played(config, jax.tree.map(lambda leaf: leaf[rows], states), offsets[:-1], offsets[1:] - 1)


@functools.partial(jax.jit, static_argnums=0)
def _play(config: StrategoConfig, starts: State, actions: jax.Array) -> State:
    """States [games, T] before each of the actions [games, T]."""

    def one(states: State, chosen: jax.Array) -> tuple[State, State]:
        return jax.vmap(functools.partial(rules.step, config))(states, chosen), states

    states = jax.lax.scan(one, starts, actions.T)[1]
    return jax.tree.map(lambda leaf: jnp.swapaxes(leaf, 0, 1), states)


def compare_legal(played: Played, recorded: np.ndarray, offsets: np.ndarray, findings: Findings) -> None:
    """Compares the legal moves of all rows; recorded int [L], those of row i at offsets[i]:offsets[i + 1]."""
    most = moves.num_moves(played.config)
    if ((recorded < 0) | (recorded >= most)).any():
        raise BadRecording(f"legal: must be in 0..{most - 1}")
    count = len(offsets) - 1
    for begin in range(0, count, ROWS_AT_ONCE):
        end = min(begin + ROWS_AT_ONCE, count)
        ours = _legal(played.config, _padded(played.states, begin, end))[: end - begin]
        theirs = np.zeros_like(ours)
        inside = slice(int(offsets[begin]), int(offsets[end]))
        row = np.repeat(np.arange(end - begin), np.diff(offsets[begin : end + 1]))
        theirs[row, recorded[inside]] = True
        findings.compare("legal", theirs, ours, functools.partial(_row_name, played, begin))


def _row_name(played: Played, begin: int, number: int) -> str:
    return played.name(begin + number)


def _padded(states: State, begin: int, end: int) -> State:
    rows = np.minimum(np.arange(begin, begin + ROWS_AT_ONCE), end - 1)
    return jax.tree.map(lambda leaf: leaf[rows], states)


def _legal(config: StrategoConfig, states: State) -> np.ndarray:
    return np.asarray(_masks(config, states)) & ~np.asarray(states.terminated)[:, None]


@functools.partial(jax.jit, static_argnums=0)
def _masks(config: StrategoConfig, states: State) -> jax.Array:
    return jax.vmap(functools.partial(interop.mask, config))(states)
