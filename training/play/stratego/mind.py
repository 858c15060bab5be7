"""An agent of ours that knows a game by the lines of the protocol alone.

What a player knows is its view of the game, as the rules give it. It is kept by playing every move in some state that fits: what
a line tells of the other's piece (that it moves, how far, its rank in a battle) is put into the view first, then a state is
drawn, the move is played in it, and the view is taken again. Which state was drawn makes no difference to that view.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.agent import Agent
from jaxgames.bits import select
from jaxgames.stratego import Stratego, StrategoConfig, setup
from jaxgames.stratego.constants import RED
from jaxgames.stratego.hidden import hidden_pieces
from jaxgames.stratego.observation import Observation
from jaxgames.stratego.state import less_one, position_word
from training.play import agents
from training.play.stratego import protocol, referee
from training.play.stratego.player import Told
from training.play.stratego.protocol import Move

LOG = logging.getLogger(__name__)
_LAST_PLIES = 500  # before the limit of plies: the view stays there, as the protocol has limits of its own
_SETUPS, _SAMPLES, _MOVES = range(3)  # children of the key


class AgentMind:
    """A `Mind` made of an agent by its name."""

    def __init__(self, spec: str, mode: str, *, seed: int = 0) -> None:
        """Makes the agent; compiles nothing.

        Args:
          spec: as on command lines.
          mode: the variant that is expected. What is played is seen on the first board.
          seed: of everything.

        Raises:
          ValueError: there is no such agent or variant, or the agent would need to see what is hidden.
        """
        self._spec, self._key = spec, jax.random.key(seed)
        self._expected = _variant(mode)
        self._playing = _playing(spec, self._expected)
        self._colour, self._games, self._moves, self._prepared = 0, 0, 0, False
        self._view: Observation | None = None
        self._memory: Any = None

    @property
    def game(self) -> Stratego:
        """The variant that is played."""
        return self._playing.game

    def prepare(self) -> None:
        """Compiles what games of the expected variant need, the first time."""
        if self._prepared:
            return
        self._prepared = True
        playing, game = self._playing, self._playing.game
        kinds, owners = jax.device_get(_dealing(game)(self._key))
        lakes = np.isin(np.arange(len(kinds)), game.config.lakes)
        for colour in (0, 1):
            view, memory = playing.first(kinds, owners, lakes, np.int32(colour)), playing.agent.init(1)
            view = dataclasses.replace(view, to_move=jnp.bool_(True))
            for _ in range(2):  # the second time the memory is one that was compiled
                action, memory = playing.act(self._key, memory, view, np.int32(colour))
            told = (referee.move_of(game.config, int(action), colour), protocol.Outcome("OK"))
            jax.block_until_ready(playing.advance(self._key, view, *_facts(game, told, colour, colour)))

    def setup(self, colour: int) -> list[str]:
        """Draws a set-up of the expected variant as people do, or a uniform one."""
        key = jax.random.fold_in(jax.random.fold_in(self._key, _SETUPS), self._games)
        top = protocol.first_row(colour)
        return protocol.view(*_dealt(self._expected, key), colour)[top : top + protocol.HOME_ROWS]

    def begin(self, colour: int) -> None:
        """Begins a game."""
        self._colour, self._moves, self._view, self._memory = colour, 0, None, None
        self._games += 1

    def choose(self, rows: Sequence[str], told: Sequence[Told], wanted: Callable[[], bool]) -> Move | None:
        """Chooses a move; see `player.Mind`.

        Raises:
          ValueError: the board is not the one that the moves told of have led to, or fits no variant.
        """
        if self._view is None:
            self._first_view(rows, told)
        assert self._view is not None
        for each in told:
            self._view = self._after(each)
        self._view = dataclasses.replace(self._view, to_move=jnp.bool_(True))
        _compare(self.game.config, rows, self._view)
        return self._think() if wanted() else None

    def _think(self) -> Move:
        playing = self._playing
        self._moves += 1
        key = functools.reduce(jax.random.fold_in, (_MOVES, self._games, self._moves), self._key)
        if self._memory is None:
            self._memory = playing.agent.init(1)
        action, self._memory = playing.act(key, self._memory, self._view, np.int32(self._colour))
        return referee.move_of(playing.game.config, int(action), self._colour)

    def _after(self, told: Told) -> Observation:
        """The view after a move."""
        assert self._view is not None
        if told[1].word == "ILLEGAL":  # it was not made
            return dataclasses.replace(self._view, to_move=~jnp.asarray(self._view.to_move))
        mover = self._colour if bool(self._view.to_move) else 1 - self._colour
        key = functools.reduce(jax.random.fold_in, (_SAMPLES, self._games, int(self._view.ply)), self._key)
        view, fits = self._playing.advance(key, self._view, *_facts(self.game, told, mover, self._colour))
        if not fits:
            self._view = None
            raise ValueError(f"{told[0]} {told[1]}: no board fits this and what was told before")
        return view

    def _first_view(self, rows: Sequence[str], told: Sequence[Told]) -> None:
        """Makes the view of the start from the first board and the moves that were made before it."""
        before = _undone(rows, told, self._colour)
        game = _seen_variant(self._expected, before)
        if game != self._playing.game:
            LOG.warning("the board is of another variant than expected: %s", dict(Counter("".join(before))))
            self._playing = _playing(self._spec, game)
        kinds, owners = np.zeros(game.config.num_cells, np.uint8), np.full(game.config.num_cells, -1, np.int8)
        others = iter(np.repeat(np.arange(1, len(game.config.pieces) + 1), game.config.pieces).tolist())  # in any order
        for cell, rank in enumerate("".join(before)):
            if rank == protocol.ENEMY:
                kinds[cell], owners[cell] = next(others), 1 - self._colour
            elif rank not in (protocol.EMPTY, protocol.LAKE):
                kinds[cell], owners[cell] = protocol.RANKS.index(rank), self._colour
        lakes = np.array([rank == protocol.LAKE for rank in "".join(before)])
        self._view = self._playing.first(kinds, owners, lakes, np.int32(self._colour))


@dataclasses.dataclass(frozen=True)
class _Playing:
    """An agent in a variant, with what has to be compiled."""

    game: Stratego
    agent: Agent

    @functools.cached_property
    def first(self) -> Any:
        def first(kinds: Array, owners: Array, lakes: Array, colour: Array) -> Observation:
            config = self.game.config
            state = setup.start_state(config, kinds, owners)
            return self.game.observe(dataclasses.replace(state, lakes=setup.as_bits(config, lakes)), colour)

        return jax.jit(first)

    @functools.cached_property
    def advance(self) -> Any:
        config = dataclasses.replace(self.game.config, far_inference=True)  # what goes far can do so in the drawn state, too
        return jax.jit(functools.partial(advance, Stratego(config)))

    @functools.cached_property
    def act(self) -> Any:
        agent, game = self.agent, self.game

        def act(key: Array, memory: Any, view: Observation, colour: Array) -> tuple[Array, Any]:
            shown = game.sample_hidden(jax.random.fold_in(key, 1), view) if agent.sees_state else view
            one = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], (jax.random.fold_in(key, 0), shown, colour))
            actions, memory = agent.act(agent.params, one[0], memory, one[1], one[2], jnp.ones(1, bool))
            return actions[0], memory

        return jax.jit(act)


def advance(
    game: Stratego, key: Array, view: Observation, action: Array, cell: Array, kind: Array, far: Array
) -> tuple[Observation, Array]:
    """Adds a move to what a player knows.

    Args:
      game: the variant, with `far_inference`.
      key: of the state in which the move is played.
      view: what the player knew; it says who moves.
      action: int32 [], of the mover.
      cell: int32 [], where the other's piece was that the move or its battle tells something of; -1: there is none.
      kind: int32 [], its kind, 0 if that was not told.
      far: bool [], it has moved more than one cell.

    Returns:
      The view afterwards, and whether any board fits it: bool [].
    """
    config = game.config
    pieces = select(view.viewer == RED, (view.own, view.other), (view.other, view.own))
    before = position_word(pieces, view.kinds, view.hidden, view.moved)  # what is told changes no position of the past
    view = _told_of(game, view, cell, kind, far)
    fits = hidden_pieces(config, view).fits
    limit = jnp.int16(max(config.max_plies - _LAST_PLIES, 0))
    view = dataclasses.replace(view, ply=jnp.minimum(view.ply, limit))
    world = game.sample_hidden(key, view)
    both = jnp.where(jnp.arange(2) == world.player, action, game.pass_action)
    world = game.apply(world, both)
    # The protocol has ends of its own: while a player is asked, the game goes on, whatever the drawn state has come to.
    past = (before, *world.past[1:])[: len(world.past)]
    world = dataclasses.replace(world, past=past, terminated=jnp.bool_(False), winner=jnp.int8(-1), reward=jnp.int8(0))
    return game.observe(world, view.viewer), fits


def _told_of(game: Stratego, view: Observation, cell: Array, kind: Array, far: Array) -> Observation:
    """Puts into a view what is told of the other's piece in a cell: see `advance`."""
    grid = game.config.grid
    spot = grid.one_hot(jnp.maximum(cell, 0)).when(cell >= 0)
    by_other = ~view.to_move
    new = (kind > 0) & spot.overlaps(view.other & view.hidden)
    kinds: Any = tuple(digit | spot.when(new & ((kind >> place) & 1 != 0)) for place, digit in enumerate(view.kinds))
    own, other = view.unknown
    return dataclasses.replace(
        view,
        kinds=kinds,
        hidden=view.hidden - spot.when(new),
        moved=view.moved | spot.when(by_other),
        far=view.far | (spot & view.hidden).when(by_other & far & ~new),
        unknown=(own, less_one(other, jnp.maximum(kind, 1), new)),
    )


def _facts(game: Stratego, told: Told, mover: int, colour: int) -> tuple[np.generic, ...]:
    """What `advance` is told of a move: its action, and the cell, the kind and the far move of the other's piece in it."""
    move, outcome = told
    start, end = referee.cell_of(move.x, move.y), referee.cell_of(*move.target)
    fights = outcome.word in protocol.BATTLES
    if mover != colour:
        cell, rank = start, outcome.attacker
    else:
        cell, rank = (end if fights else -1), outcome.defender
    kind = protocol.RANKS.index(rank) if fights else 0
    action = referee.action_of(game.config, move, mover)
    return np.int32(action), np.int32(cell), np.int32(kind), np.bool_(move.distance > 1)


def _undone(rows: Sequence[str], told: Sequence[Told], colour: int) -> list[str]:
    """Takes back the move that red has made before blue's first board.

    Raises:
      ValueError: more moves were told than one before blue's board and none before red's.
    """
    if len(told) > colour:
        raise ValueError(f"{len(told)} moves before the first board: must be {colour}")
    cells = list("".join(rows))
    for move, outcome in told:
        if outcome.word == "ILLEGAL":
            continue
        start, end = referee.cell_of(move.x, move.y), referee.cell_of(*move.target)
        cells[start] = protocol.ENEMY
        cells[end] = outcome.defender or protocol.EMPTY
    return ["".join(cells[first : first + protocol.SIZE]) for first in range(0, len(cells), protocol.SIZE)]


def _seen_variant(expected: Stratego, rows: Sequence[str]) -> Stratego:
    """Gives the variant whose start a board shows: with the pieces that are there. Where the lakes are is part of its states.

    Raises:
      ValueError: the other has not as many pieces as the viewer, or there is no such variant.
    """
    cells = "".join(rows)
    counts = Counter(cells)
    pieces = tuple(counts[rank] for rank in protocol.RANKS[1:])
    if counts[protocol.ENEMY] != sum(pieces):
        raise ValueError(
            f"a first board with {sum(pieces)} own pieces and {counts[protocol.ENEMY]} of the other: must be as many"
        )
    return expected if pieces == expected.config.pieces else Stratego(dataclasses.replace(expected.config, pieces=pieces))


def _compare(config: StrategoConfig, rows: Sequence[str], view: Observation) -> None:
    """Checks that a board shows what the view knows.

    Raises:
      ValueError: it does not.
    """
    grid = config.grid
    own, other = (set(np.flatnonzero(grid.to_numpy(cells)).tolist()) for cells in (view.own, view.other))
    for cell, rank in enumerate("".join(rows)):
        known = protocol.ENEMY if cell in other else "own" if cell in own else protocol.EMPTY
        found = rank if rank == protocol.ENEMY else protocol.EMPTY if rank in protocol.EMPTY + protocol.LAKE else "own"
        if known != found:
            y, x = divmod(cell, protocol.SIZE)
            raise ValueError(f"the board shows {rank!r} at {x} {y}, which does not follow from the moves that were told")


def _variant(mode: str) -> Stratego:
    """Makes a variant without lakes that differ from game to game: those are seen on the board."""
    return Stratego(dataclasses.replace(referee.variant(mode).config, blocked_fields=0))


@functools.cache
def _playing(spec: str, game: Stratego) -> _Playing:
    """Makes an agent; equal ones share what is compiled."""
    agent = agents.make(spec, game)
    if agent.sees_state and agent.uses_hidden:
        raise ValueError(f"agent={spec!r}: sees what is hidden; take one that plays by what it knows, such as pc_pimc")
    return _Playing(game, agent)


@functools.cache
def _dealing(game: Stratego) -> Any:
    return jax.jit(functools.partial(setup.boards, game.config))


def _dealt(game: Stratego, key: Array) -> tuple[str, list[int]]:
    """Deals set-ups: the ranks and the owners of all cells; lakes are empty, as set-ups know none."""
    kinds, owners = jax.device_get(_dealing(game)(key))
    return "".join(np.array([*protocol.RANKS])[kinds]), owners.tolist()
