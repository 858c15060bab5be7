"""What networks are shown of Stratego: boards from the side of the player, an output per move, and left for right.

`alphaze` shows a full board: the true one, or one that was drawn. `belief` shows what a player knows, with probabilities for
hidden pieces. `yorktown` shows the planes of the AlphaZe** paper's code, which are neither turned nor quite probabilities.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import sliced
from jaxgames.bits import Bits, select
from jaxgames.encoder import Encoder
from jaxgames.fusion import worked_out
from jaxgames.stratego import hidden, legal, moves
from jaxgames.stratego.config import StrategoConfig
from jaxgames.stratego.constants import BLUE, IMMOBILE, KIND_NAMES, NUM_KINDS, RED
from jaxgames.stratego.game import Stratego
from jaxgames.stratego.observation import Observation, observe
from jaxgames.stratego.state import position_word, seated

_ENDINGS = ("empty", "lake", "own hidden", "other hidden", "second player", "repetitions")
CHANNELS = (*(f"{side} {kind}" for kind in KIND_NAMES for side in ("own", "other")), *_ENDINGS)
YORKTOWN_CHANNELS = (
    *(f"{side} {kind}" for kind in KIND_NAMES for side in ("red", "blue")),
    *("blue hidden", "red hidden", "empty", "lake", "blue to move"),
)
_MOST_REPETITIONS = 2
_OTHERS = np.arange(2 * NUM_KINDS) % 2  # planes of the other side's pieces


@functools.cache
def alphaze(game: Stratego) -> Encoder:
    """Makes the encoder of full boards (AlphaZe**, Table 2) from the side of the player. A view observes everything."""
    open_config = dataclasses.replace(game.config, true_sight=True)
    return _encoder(game, "alphaze", functools.partial(observe, open_config), False)


@functools.cache
def belief(game: Stratego) -> Encoder:
    """Makes the encoder of what a player knows: hidden pieces are shown by how likely each kind is."""
    return _encoder(game, "belief", game.observe, True)


@functools.cache
def yorktown(game: Stratego) -> Encoder:
    """Makes the encoder of the published code: see `yorktown_planes`. Left for right is its only symmetry too."""
    config = game.config
    return _encoder(game, "yorktown", game.observe, True)._replace(
        shape=(config.rows, config.columns, len(YORKTOWN_CHANNELS)),
        channels=YORKTOWN_CHANNELS,
        planes=functools.partial(yorktown_planes, config),
    )


def _encoder(game: Stratego, name: str, view: Callable[[Any, Array], Observation], shows_observation: bool) -> Encoder:
    config = game.config
    size = moves.num_moves(config)
    order = mirrored_outputs(config)

    def outputs(actions: Array, seat: Array) -> Array:
        del seat
        actions = jnp.asarray(actions)
        inside = (actions >= 0) & (actions < size)
        return jnp.where(inside, by_cells(config, jnp.where(inside, actions, 0), config.rows, config.columns), -1).astype(
            jnp.int32
        )

    def actions(outputs: Array, seat: Array) -> Array:
        del seat
        outputs = jnp.asarray(outputs)
        inside = (outputs >= 0) & (outputs < size)
        found = by_cells(config, jnp.where(inside, outputs, 0), config.columns, config.rows)
        return jnp.where(inside, found, game.pass_action).astype(jnp.int32)

    def transform_planes(planes: Array, which: Array) -> Array:
        planes = worked_out(planes)  # else every plane is made again for each cell that may be shown on the other side
        return jnp.where(which == 1, planes[:, ::-1], planes)

    return Encoder(
        name=name,
        shape=(config.rows, config.columns, len(CHANNELS)),
        channels=CHANNELS,
        num_outputs=size,
        view=view,
        planes=functools.partial(planes_of, config, guesses=shows_observation),
        legal=lambda seen: legal.legal_by_cells(config, seen.side, seen.viewer).reshape(-1) & ~seen.terminated,
        outputs=outputs,
        actions=actions,
        num_symmetries=2,
        transform_planes=transform_planes,
        transform_outputs=lambda per_output, which: jnp.where(which == 1, per_output[order], per_output),
        shows_observation=shows_observation,
        bounds=(0, math.inf) if name == "yorktown" else (0, 1),
        turned_to_seat=name != "yorktown",
    )


def by_cells(config: StrategoConfig, numbers: Any, lines: int, others: int) -> Any:
    """Exchanges rows and columns in the numbers of moves, whose cells are numbered along `others` lines of `lines` cells.

    Actions go column by column, outputs row by row as planes do, for networks that give numbers for each cell.
    """
    ways = moves.num_ways(config)
    place = moves.divided(numbers, ways, moves.num_moves(config))
    line = moves.divided(place, lines, config.num_cells)
    return ((place - line * lines) * others + line) * ways + numbers - place * ways


def mirrored_outputs(config: StrategoConfig) -> np.ndarray:
    """Gives the output that becomes each output when left and right change places, int32 [num_moves]."""
    rows, columns, ways = config.rows, config.columns, moves.num_ways(config)
    place, way = np.divmod(np.arange(moves.num_moves(config)), ways)
    row, column = np.divmod(place, columns)
    side = way - 2 * (rows - 1)
    turned = np.where(side >= 0, 2 * (rows - 1) + 2 * (columns - 1) - 1 - side, way)
    return ((row * columns + columns - 1 - column) * ways + turned).astype(np.int32)


def planes_of(config: StrategoConfig, seen: Observation, *, guesses: bool = True) -> Array:
    """Gives the planes of what a viewer sees or knows: float32 [rows, columns, 30], by `CHANNELS`, its own back row first.

    Pieces of the other side that it does not know are shown by the probability of each kind, or not at all without `guesses`.
    Repetitions are how often the position has been there before, among those that are remembered, in halves, and at most twice.
    """
    grid, first = config.grid, seen.viewer == RED
    pieces = []
    for kind in range(1, NUM_KINDS + 1):
        known = legal.of_kind(seen.kinds, kind)
        pieces += [known & seen.own, known & seen.other]
    sets = (
        *pieces,
        grid.full - seen.own - seen.other - seen.lakes,
        seen.lakes,
        seen.own & seen.hidden,
        seen.other & seen.hidden,
    )
    planes = sliced.weighted_sums(grid, [*([(cells, 1)] for cells in sets), [], []])
    if guesses:
        chances = hidden.marginals(config, seen).reshape(config.rows, config.columns, NUM_KINDS)
        planes = planes + jnp.pad(jnp.repeat(chances, 2, axis=-1) * _OTHERS, ((0, 0), (0, 0), (0, len(_ENDINGS))))
    channel = np.arange(len(CHANNELS))
    second = jnp.where(first, 0.0, 1.0)
    numbers = jnp.where(channel == len(CHANNELS) - 1, repetitions(seen) / _MOST_REPETITIONS, second)
    everywhere = jnp.where(channel >= len(CHANNELS) - 2, numbers, 0.0)
    return jnp.where(first, planes, planes[::-1]) + everywhere


def repetitions(seen: Observation) -> Array:
    """Says how often the position has been there before, as far as is remembered, but at most twice: int32 []."""
    pieces = select(seen.viewer == RED, (seen.own, seen.other), (seen.other, seen.own))
    now = position_word(pieces, seen.kinds, seen.hidden, seen.moved)
    count = sum(((word == now).astype(jnp.int32) for word in seen.past), jnp.int32(0))
    return jnp.minimum(count, _MOST_REPETITIONS)


def yorktown_planes(config: StrategoConfig, seen: Observation) -> Array:
    """Gives the planes of the published code for a viewer: float32 [rows, columns, 29], Red's back row first for both players.

    For each kind Red's pieces and Blue's: 1 where the viewer knows one, and where it does not know, a number that stands for how
    likely it is: for flags and bombs their share of the hidden pieces that have not moved, for others of all hidden pieces (no
    probabilities, as they do not sum to 1). Then Blue's hidden pieces, Red's, empty cells, lakes, and 1 everywhere if Blue is to
    move.
    """
    grid, red = config.grid, seen.viewer == RED
    plain = hidden.hidden_pieces(dataclasses.replace(config, far_inference=False), seen)
    pieces: list[Bits] = []
    for kind in range(1, NUM_KINDS + 1):
        known = legal.of_kind(seen.kinds, kind)
        pieces += seated(red, (known & seen.own, known & seen.other))
    sides = seated(red, (seen.own, seen.other))
    empty = grid.full - seen.own - seen.other - seen.lakes
    sets = (*pieces, seen.hidden & sides[BLUE], seen.hidden & sides[RED], empty, seen.lakes)
    planes = sliced.weighted_sums(grid, [*([(cells, 1)] for cells in sets), []])
    cells, still = (jnp.maximum(each.count(), 1).astype(jnp.float32) for each in (plain.cells, plain.still))
    unknown, unmoved = grid.to_bool(plain.cells)[..., None], grid.to_bool(plain.still)[..., None]
    immobile = np.isin(np.arange(1, NUM_KINDS + 1), IMMOBILE)
    shares = jnp.stack(plain.counts) / jnp.where(immobile, still, cells)
    guesses = jnp.where(jnp.where(immobile, unmoved, unknown), shares, 0.0)
    of_other = (np.arange(2 * NUM_KINDS) % 2 == 0) ^ red  # planes of the side that is not the viewer's
    guesses = jnp.where(of_other, jnp.repeat(guesses, 2, axis=-1), 0.0)
    channel = np.arange(len(YORKTOWN_CHANNELS))
    blue_moves = jnp.where(seen.to_move, ~red, red)
    turn = jnp.where((channel == len(YORKTOWN_CHANNELS) - 1) & blue_moves, 1.0, 0.0)
    return planes + jnp.pad(guesses, ((0, 0), (0, 0), (0, len(channel) - 2 * NUM_KINDS))) + turn


ENCODERS: dict[str, Callable[[Stratego], Encoder]] = {"alphaze": alphaze, "belief": belief, "yorktown": yorktown}
