"""Greedy planners of turns: the best next action, and the best turn by going through all of them.

(Source: Justesen et al., section IV, and the released program.)
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import checks, random_bits
from jaxgames.bits import Bits
from jaxgames.game import Game
from jaxgames.lanes import where_lanes
from jaxgames.packing import Packing, packing_of
from jaxgames.random_bits import LaneKey
from search.arguments import checked, settings_of, state_of
from search.planner import Plan, Planner, ended, memoryless, of_arm
from search.turns.game import Moves, moves_of, value_for, without
from search.turns.planner import MICROBATCH_SIZE, TurnPlan, TurnSearch, plan_of_action, turn_planner

_AT_ONCE = 16  # actions of a state that are tried together
_WAYS = 4
_MOST_ROWS = 2**18  # of a table whose size is not given; 8 bytes each


def greedy_action(game: Game) -> Planner:
    """Plays the action after which the heuristic is highest; of equals any.

    Args:
      game: a game of turns (see `search.turns.game.moves_of`), of which the planner sees what the player to move knows.
    """
    moves = moves_of(game)

    def plan(params: Any, keys: Array, memory: tuple, views: Any, seats: Array, active: Array) -> tuple[Plan, tuple]:
        del params, seats
        over, outcome = views.terminated, jax.vmap(game.outcome)(views)
        views = jax.vmap(moves.known)(views)
        to_play = jax.vmap(game.to_play)(views)
        action, value = best_action(game, moves, jax.vmap(random_bits.lane_key)(keys), views, to_play, active & ~over)
        return ended(plan_of_action(game, to_play, action, value, {}), over, outcome, game.pass_action), memory

    return checked(memoryless("Greedy Action", plan, uses_hidden=False), state_of(game), game.num_players)


def best_action(game: Game, moves: Moves, lanes: LaneKey, states: Any, seats: Array, active: Array) -> tuple[Array, Array]:
    """Tries all actions that are worth a look.

    Args:
      game: the game.
      moves: how it is played.
      lanes: uint32 [B] each, keys.
      states: State [B].
      seats: int32 [B], for whom.
      active: bool [B], lanes to look at.

    Returns:
      The best action, int32 [B], and the heuristic after it, float32 [B]; End Turn and 0 where none was tried.
    """
    batch = len(seats)
    offered = jax.vmap(moves.offered)(states)
    counts = jnp.where(active, jax.vmap(Bits.count)(offered), 0)
    # One lane for each of the actions that are tried together.
    spread = jax.tree.map(lambda leaf: jnp.repeat(leaf, _AT_ONCE, axis=0), (lanes, offered, states, seats, counts))
    place = jnp.tile(jnp.arange(_AT_ONCE), batch)

    def try_one(rank: Array, lane: LaneKey, offered: Bits, state: Any, seat: Array, count: Array) -> tuple[Array, Array, Array]:
        action = offered.pick(jnp.minimum(rank, jnp.maximum(count - 1, 0)))
        # After a barrier, or the compiler works the state out once per use in its value.
        after = jax.lax.optimization_barrier(moves.advance(state, action, random_bits.fold(lane, rank)))
        value = jnp.where(rank < count, value_for(game, after, seat), -jnp.inf)
        return value, (random_bits.bits(lane, rank) >> 1).astype(jnp.int32), action

    def try_some(carry: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        start, best, noise, action = carry
        tried = jax.vmap(try_one)(start + place, *spread)
        values, words, actions = (part.reshape(batch, _AT_ONCE) for part in tried)
        # Over all at once: a chain of comparisons would be worked out once per use of every link.
        top = values.max(1)
        words = jnp.where(values == top[:, None], words, -1)
        better = (top > best) | ((top == best) & (words.max(1) > noise))
        chosen = of_arm(actions, words.argmax(1).astype(jnp.int32))
        best, noise = jnp.where(better, top, best), jnp.where(better, words.max(1), noise)
        return start + _AT_ONCE, best, noise, jnp.where(better, chosen, action)

    nothing = jnp.full(batch, -jnp.inf), jnp.full(batch, -1, jnp.int32), jnp.full(batch, moves.end_turn, jnp.int32)
    start = (jnp.int32(0), *nothing)
    _, best, _, action = jax.lax.while_loop(lambda carry: (carry[0] < counts).any(), try_some, start)
    return action, jnp.where(best > -jnp.inf, best, 0.0)


@dataclasses.dataclass(frozen=True)
class Settings:
    """How Greedy Turn goes through turns; checked when made.

    Attributes:
      num_evaluations: turns that are valued, at most.
      table_rows: states of the turn that are remembered, so as not to look at them again; a power of two, or 0: at least twice
        the number of evaluations, but 2^18 at most.
      microbatch_size: games that think together.
    """

    num_evaluations: int = 5000
    table_rows: int = 0
    microbatch_size: int = MICROBATCH_SIZE

    def __post_init__(self) -> None:
        checks.at_least(1, self, "num_evaluations", "microbatch_size")
        checks.below(checks.COUNTS, self, "num_evaluations")
        checks.at_least(0, self, "table_rows")
        checks.below(checks.COUNTS, self, "table_rows")
        if self.table_rows and (self.table_rows < _WAYS or self.table_rows & (self.table_rows - 1)):
            raise ValueError(f"table_rows={self.table_rows}: must be 0 or a power of two, at least {_WAYS}")

    @property
    def num_buckets(self) -> int:
        rows = self.table_rows or min(1 << (2 * self.num_evaluations - 1).bit_length(), _MOST_ROWS)
        return max(rows // _WAYS, 1)


def greedy_turn(game: Game, settings: Settings | None = None) -> Planner:
    """Goes through turns depth first, in the game's order of actions, and plays the best one that it has come to.

    Args:
      game: a game of turns (see `search.turns.game.moves_of`), of which the planner sees what the player to move knows.
      settings: None: 5000 evaluations.
    """
    settings = settings_of(Settings, settings)
    moves = moves_of(game)
    return turn_planner(game, moves, "Greedy Turn", best_turn(game, moves, settings), microbatch_size=settings.microbatch_size)


class _Walk(NamedTuple):
    """The way through the turns. B lanes, L actions deep.

    Attributes:
      seats: int32 [B], who is to move.
      depth: int32 [B], of the state in hand; -1 when all is done.
      frames: uint32 [B, L, F], the states on the way and what is still to be tried in them.
      taken: int32 [B, L], the actions on the way.
      best: int32 [B, L], the best turn, and `value`: float32 [B].
      value: see `best`.
      evaluations: int32 [B].
      seen: uint32 [B, H, 8], keys of states.
    """

    seats: Array
    depth: Array
    frames: Array
    taken: Array
    best: Array
    value: Array
    evaluations: Array
    seen: Array


def best_turn(game: Game, moves: Moves, settings: Settings) -> TurnSearch:
    """Makes the search that goes through turns: a round is an action tried, or a step back where none is left.

    A state that was met before is neither entered nor valued again. A state from which nothing but End Turn is left is valued
    like the end of a turn (the released program finds no turn there).

    Args:
      game: the game.
      moves: how it is played.
      settings: see `Settings`.
    """
    search = _Walker(game, moves, settings, packing_of(state_of(game)))
    # Every evaluation takes a few rounds, so it is `done` that ends the search.
    return TurnSearch(search.start, search.step, search.finish, lambda walk: ~search.going(walk).any(), 2**30)


class _Tried(NamedTuple):
    """An action of every lane, and what comes of it. Lanes in which nothing is left to try end their turn, which nobody heeds.

    Attributes:
      action: int32 [B].
      left: [B], what was to be tried, it among them.
      tries: bool [B], whether anything was.
      before, after: State [B].
      offered: [B], what may come next.
      leaf: bool [B], whether the turn ends there, or nothing but End Turn is left.
      ends: bool [B], whether the turn is over.
      value: float32 [B], of the state after it.
    """

    action: Array
    left: Bits
    tries: Array
    before: Any
    after: Any
    offered: Bits
    leaf: Array
    ends: Array
    value: Array


@dataclasses.dataclass(frozen=True)
class _Walker:
    """The parts of a walk through turns; all fields are static. States are kept as `packing` says."""

    game: Game
    moves: Moves
    settings: Settings
    packing: Packing

    def start(self, lanes: LaneKey, states: Any, seats: Array, active: Array) -> _Walk:
        """Stands at the beginning of the turns."""
        del lanes
        batch, length = len(seats), self.moves.turn_length
        first = _frame(self.packing, states, jax.vmap(self.moves.offered)(states))
        return _Walk(
            seats=seats,
            depth=jnp.where(active, 0, -1),
            frames=jnp.zeros((batch, length, first.shape[1]), jnp.uint32).at[:, 0].set(first),
            taken=jnp.full((batch, length), -1, jnp.int32),
            best=jnp.full((batch, length), -1, jnp.int32).at[:, 0].set(self.moves.end_turn),
            value=jnp.full(batch, -jnp.inf),
            evaluations=jnp.zeros(batch, jnp.int32),
            seen=jnp.zeros((batch, self.settings.num_buckets, 2 * _WAYS), jnp.uint32),
        )

    def going(self, walk: _Walk) -> Array:
        """Says which lanes have not come to their end: bool [B]."""
        return (walk.depth >= 0) & (walk.evaluations < self.settings.num_evaluations)

    def step(self, number: Array, walk: _Walk) -> _Walk:
        """Tries the next action of the state in hand, or goes back."""
        del number
        on, batch, length = self.going(walk), len(walk.seats), self.moves.turn_length
        lane, depth = jnp.arange(batch), jnp.maximum(walk.depth, 0)
        tried = self._try(walk, on, walk.frames[lane, depth])
        taken, whole = self._turns(walk, depth, tried)

        keys = jax.vmap(self.game.state_key)(tried.after)
        bucket = (keys[:, 0] & jnp.uint32(self.settings.num_buckets - 1)).astype(jnp.int32)
        held = walk.seen[lane, bucket].reshape(batch, _WAYS, 2)
        new = tried.tries & ~(held == keys[:, None]).all(-1).any(1)
        leaf, enters = new & tried.leaf, new & ~tried.leaf
        better = leaf & (tried.value >= walk.value)  # of equals the later one wins
        moved = jnp.concatenate([keys[:, None], held[:, :-1]], 1).reshape(batch, -1)  # the oldest drops out
        rest = _frame(self.packing, tried.before, jax.vmap(without)(tried.left, tried.action))
        child = _frame(self.packing, tried.after, tried.offered)
        rest, child, moved, found = jax.lax.optimization_barrier((rest, child, moved, (taken, whole, tried.value)))
        taken, whole, value = found
        at = jnp.concatenate([jnp.where(tried.tries, depth, length), jnp.where(enters, depth + 1, length)])
        frames = walk.frames.at[jnp.concatenate([lane, lane]), at].set(jnp.concatenate([rest, child]), mode="drop")
        row = jnp.where(enters | leaf, bucket, self.settings.num_buckets)
        return _Walk(
            seats=walk.seats,
            depth=jnp.where(enters, depth + 1, jnp.where(on & ~tried.tries, walk.depth - 1, walk.depth)),
            frames=frames,
            taken=taken,
            best=jnp.where(better[:, None], whole, walk.best),
            value=jnp.where(better, value, walk.value),
            evaluations=walk.evaluations + leaf,
            seen=walk.seen.at[lane, row].set(moved, mode="drop"),
        )

    def finish(self, walk: _Walk) -> TurnPlan:
        """The best turn of those that were valued."""
        return TurnPlan(walk.best, walk.value, {"evaluations": walk.evaluations, "exhaustive": walk.depth < 0})

    def _try(self, walk: _Walk, on: Array, row: Array) -> _Tried:
        """Takes the first action that is left in the states of the rows uint32 [B, F]."""
        moves, nobody = self.moves, LaneKey(jnp.uint32(0), jnp.uint32(0))
        states = jax.vmap(self.packing.unpack)(row)
        left = Bits(tuple(row[:, self.packing.num_words :].T))
        tries = on & jax.vmap(Bits.any)(left)
        action = jax.vmap(moves.first_listed)(states, left)
        action = jnp.where(tries, action, moves.end_turn).astype(jnp.int32)
        after = jax.vmap(lambda state, chosen: moves.advance(state, chosen, nobody))(states, action)
        offered = jax.vmap(moves.offered)(after)
        ends = (action == moves.end_turn) | after.terminated | (jax.vmap(self.game.to_play)(after) != walk.seats)
        only_end = jax.vmap(Bits.count)(offered) == jax.vmap(lambda cells: cells.has(jnp.int32(moves.end_turn)))(offered)
        # Turns are valued before they end, as where all points are spent: what an end with points left removes does not count.
        valued = where_lanes(action == moves.end_turn, states, after)
        value = jax.vmap(lambda state, seat: value_for(self.game, state, seat))(valued, walk.seats)
        return _Tried(
            action=action,
            left=left,
            tries=tries,
            before=states,
            after=after,
            offered=offered,
            leaf=ends | only_end,
            ends=ends,
            value=value,
        )

    def _turns(self, walk: _Walk, depth: Array, tried: _Tried) -> tuple[Array, Array]:
        """The actions so far with the one that was tried, and the same as a whole turn: int32 [B, L] each."""
        place = jnp.arange(self.moves.turn_length)
        forgotten = jnp.where(place > depth[:, None], -1, walk.taken)
        with_it = jnp.where(place == depth[:, None], tried.action[:, None], forgotten)
        taken = jnp.where(tried.tries[:, None], with_it, walk.taken)
        ended = jnp.where(tried.ends[:, None], -1, self.moves.end_turn)
        return taken, jnp.where(place == depth[:, None] + 1, ended, taken)


def _frame(packing: Packing, states: Any, untried: Bits) -> Array:
    """A state and what is to be tried in it as a row, uint32 [B, F]."""
    words = jax.lax.optimization_barrier(untried.words)
    return jnp.concatenate([jax.vmap(packing.pack)(states), jnp.stack(words, -1)], -1)
