"""The pieces whose instructions are counted: what the hot loops of games and planners are made of."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from experiments import named
from experiments.benchmark import hero_academy, hex
from experiments.benchmark.case import empty_tally
from experiments.benchmark.lanes import lane_keys, typed_keys
from experiments.benchmark.pommerman import ffa
from jaxgames import random_bits
from jaxgames.bits import union
from jaxgames.hero_academy import HeroAcademy, legal, ratings
from jaxgames.hex import Hex, HexConfig, rules
from jaxgames.hex.geometry import BLACK
from jaxgames.pommerman import explosions, movement
from jaxgames.pommerman.state import State
from search.bandit import bandits, table
from search.puct.walk import choose

SIZE = 11
PLAYERS, ARMS = 4, 6
ROWS = 4096
_ROW_STRIDE = 1237
SIMULATIONS = 100


class Work(NamedTuple):
    """What one round works on.

    Attributes:
      moving: leaves [B, ...]; its words uint32 are made to depend on the round before, so that nothing is worked out only once.
      fixed: whatever else is needed.
      number: of the round, int32 [].
    """

    moving: Any
    fixed: Any = ()
    number: Any = 0


@dataclasses.dataclass(frozen=True)
class Piece:
    """Something that is done for every lane of a batch.

    Attributes:
      name: "where/what".
      summary: one line for people.
      start: `start(keys) -> Work` for lanes with these keys (leaves [B]), as they are in the middle of games.
      run: `run(work) -> tree` of leaves [B, ...].
      batch: lanes for which instructions are counted.
    """

    name: str
    summary: str
    start: Callable[[Any], Work]
    run: Callable[[Work], Any]
    batch: int = 480


def _hex_states(keys: Any) -> Any:
    """Games of DarkHex after eighty random attempts."""
    game, batch = Hex(HexConfig(SIZE, "abrupt")), keys.first.shape[0]
    states = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (batch, *jnp.shape(leaf))), game.init())

    def attempt(number: Array, states: Any) -> Any:
        cells = jax.vmap(functools.partial(hex.random_cell, game.config))(states, random_bits.fold(keys, number))
        return jax.vmap(functools.partial(rules.step, game.config))(states, cells)

    return game, jax.lax.fori_loop(0, hex.HALF_GAME, attempt, states)


def _flood_start(keys: Any) -> Work:
    _, states = _hex_states(keys)
    return Work((states.near[BLACK], states.stones[BLACK]))


def _flood_pass(work: Work) -> Any:
    grid = HexConfig(SIZE, "abrupt").grid
    cells, inside = work.moving
    return cells | (grid.neighbours(cells) & inside)


def _hex_step(work: Work) -> Any:
    config = HexConfig(SIZE, "abrupt")
    states, cells = work.moving
    return jax.vmap(functools.partial(rules.step, config))(states, cells.astype(jnp.int32))


def _hex_step_start(keys: Any) -> Work:
    game, states = _hex_states(keys)
    cells = jax.vmap(functools.partial(hex.random_cell, game.config))(states, keys)
    return Work((states, cells.astype(jnp.uint32)))


def _hero_start(keys: Any) -> Work:
    game, numbers = HeroAcademy(), jnp.arange(keys.first.shape[0], dtype=jnp.int32)
    lanes, _ = hero_academy.advance(
        game, hero_academy.MID_GAME, hero_academy.begin(game, jax.random.key(0), numbers), empty_tally(len(numbers))
    )
    states = lanes.games[0]
    return Work((states, jax.vmap(functools.partial(legal.arm_set, game.config))(states)))


def _legal_set(work: Work) -> Any:
    return jax.vmap(functools.partial(legal.legal_set, HeroAcademy().config))(work.moving[0])


def _best_rated(work: Work) -> Any:
    return jax.vmap(functools.partial(ratings.best, HeroAcademy().config))(*work.moving)


def _table_start(keys: Any) -> Work:
    """A table per lane, half of it filled; of the keys that are looked up half are known."""
    batch = keys.first.shape[0]
    trees = jnp.arange(batch, dtype=jnp.int32)
    tables = table.init(batch, ROWS, PLAYERS * ARMS)

    def key_of(number: Array) -> Array:
        return jnp.stack([keys.first ^ number.astype(jnp.uint32), keys.second], axis=-1)

    def put(number: Array, tables: Any) -> Any:
        slot = table.find(tables, trees, key_of(number))
        words = jnp.broadcast_to(random_bits.bits(keys, 1)[:, None] & np.uint32(0x000F000F), (batch, PLAYERS * ARMS))
        return table.write(table.tick(tables, trees >= 0), slot, words, trees >= 0)

    tables = jax.lax.fori_loop(0, ROWS // 2, put, tables)
    return Work((keys.first, keys.second), (tables, trees))


def _look_up(work: Work) -> Any:
    """Another key in each round, so that rows are not where the round before has left them."""
    tables, trees = work.fixed
    first, second = work.moving
    number = (first.astype(jnp.int32) + work.number * _ROW_STRIDE) & (ROWS - 1)
    slot = table.find(tables, trees, jnp.stack([first ^ number.astype(jnp.uint32), second], axis=-1))
    return slot.row, table.read(tables, slot)


def _sample_start(keys: Any) -> Work:
    words = jnp.stack([random_bits.bits(keys, number) & np.uint32(0x001F001F) for number in range(PLAYERS * ARMS)], axis=-1)
    return Work((keys.first, keys.second, words))


def _thompson(work: Work) -> Any:
    first, second, words = work.moving
    scores = jax.vmap(lambda lane, words: bandits.thompson().scores(lane, words, ARMS))(random_bits.LaneKey(first, second), words)
    return bandits.choose(scores, jnp.ones(scores.shape, bool))


def _tree_start(keys: Any) -> Work:
    game = Hex(HexConfig(SIZE))
    planner = hex.searcher(game, SIMULATIONS)
    states = hex.positions(game, keys)
    batch = keys.first.shape[0]
    memory = planner.init(batch)
    typed = typed_keys(keys, jnp.int32(0))
    everyone = jnp.zeros(batch, jnp.int32), jnp.ones(batch, bool)
    _, tree = planner.plan(None, typed, memory, states, *everyone)
    return Work(jnp.zeros(batch, jnp.uint32), tree)


def _select(work: Work) -> Any:
    return choose(hex.searcher_settings(SIMULATIONS), work.fixed, work.moving.astype(jnp.int32))


def _pommerman_start(keys: Any) -> Work:
    game = ffa()
    states = jax.vmap(lambda lane: game.init(jax.random.wrap_key_data(jnp.stack(random_bits.fold(lane, 0)))))(keys)

    def moves(number: Array) -> Array:
        lane = random_bits.fold(keys, number)
        return jnp.stack([random_bits.below(random_bits.bits(lane, seat), 6) for seat in range(4)], -1).astype(jnp.int32)

    states = jax.lax.fori_loop(1, 40, lambda number, states: jax.vmap(game.step)(states, moves(number)), states)
    return Work((states, moves(jnp.int32(0)).astype(jnp.uint32)))


def _pommerman_step(work: Work) -> Any:
    states, moves = work.moving
    return jax.vmap(ffa().step)(states, moves.astype(jnp.int32))


def _blast_pass(work: Work) -> Any:
    """All bombs are due, so that none is left to be set off."""
    config = ffa().config

    def one(state: State) -> Any:
        bombs = state.bombs
        return explosions.explode(
            config.grid, bombs.cells, bombs.strength, bombs.cells, state.rigid, state.wood, config.max_blast_strength
        )

    return jax.vmap(one)(work.moving[0])


def _movement(work: Work) -> Any:
    grid = ffa().config.grid

    def one(state: State, moves: Array) -> Any:
        walls, burning = state.rigid | state.wood, union(state.flames[1:])
        visible = union(state.items) - state.wood - burning
        bombs, agents = movement.lay_bombs(grid, state.bombs, state.bombers, tuple(moves))
        walkers = movement.make_walkers(grid, agents, tuple(moves), walls)
        go, bombs = movement.resolve(grid, walkers, bombs, walls, visible)
        return movement.arrive(grid, agents, walkers, go), bombs

    states, moves = work.moving
    return jax.vmap(one)(states, moves.astype(jnp.int32))


PIECES = (
    Piece("hex/flood_pass", "DarkHex 11 x 11: a group grows by its neighbours once", _flood_start, _flood_pass),
    Piece("hex/step", "DarkHex 11 x 11: an attempt, with the flood of the group that it joins", _hex_step_start, _hex_step),
    Piece("hero_academy/legal_set", "all legal actions", _hero_start, _legal_set),
    Piece("hero_academy/ratings", "the best rated of the actions that planners look at", _hero_start, _best_rated),
    Piece("bandit/look_up", "find a state in the table of its game, and read its row", _table_start, _look_up),
    Piece("bandit/thompson", "draw a move for each of four players with six arms", _sample_start, _thompson),
    Piece("puct/select", "choose among the children of a root after 100 simulations", _tree_start, _select, batch=48),
    Piece("pommerman/step", "a step of four players", _pommerman_start, _pommerman_step),
    Piece("pommerman/blast_pass", "all bombs explode at once, none sets off another", _pommerman_start, _blast_pass),
    Piece("pommerman/movement", "bombs are laid, and everybody moves, with rolling bombs and kicks", _pommerman_start, _movement),
)


def find(name: str) -> Piece:
    """Gives a piece by its name.

    Raises:
      ValueError: there is none.
    """
    return named.find(PIECES, "piece", name)


def rounds(piece: Piece, length: int) -> Callable[[Work, Array], Array]:
    """Makes the program that is counted and timed: the piece again and again.

    Args:
      piece: what.
      length: rounds.

    Returns:
      `program(work, nothing) -> digests` uint32 [B]; `nothing` is 0, of which XLA knows nothing.
    """

    def program(work: Work, nothing: Array) -> Array:
        def once(digest: Array, number: Array) -> tuple[Array, None]:
            change = digest & nothing
            moving = jax.tree.map(functools.partial(_changed, change), work.moving)
            return change + digest_of(piece.run(work._replace(moving=moving, number=number))), None

        batch = jax.tree.leaves(work.moving)[0].shape[0]
        return jax.lax.scan(once, jnp.zeros(batch, jnp.uint32), jnp.arange(length))[0]

    program.__name__ = "piece_" + piece.name.replace("/", "_")
    return program


def _changed(change: Array, leaf: Array) -> Array:
    if leaf.dtype != jnp.uint32:
        return leaf
    return leaf ^ change.reshape(change.shape + (1,) * (leaf.ndim - 1))


def digest_of(tree: Any) -> Array:
    """One word per lane of all that was worked out, uint32 [B]."""
    total: Array | None = None
    for leaf in jax.tree.leaves(tree):
        for column in leaf.reshape(leaf.shape[0], -1).T:
            word = column.astype(jnp.uint32)
            total = word if total is None else total ^ word
    assert total is not None, "a piece works something out"
    return total


def start(piece: Piece, batch: int) -> Work:
    """Makes what a piece works on."""
    keys = lane_keys(jax.random.key(0), jnp.arange(batch, dtype=jnp.int32))
    work: Work = jax.block_until_ready(jax.jit(piece.start)(keys))
    return work
