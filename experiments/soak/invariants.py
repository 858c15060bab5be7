"""What holds of every step of a game, written so that it can be checked inside a compiled loop.

A rule tells its name and whether it holds, bool [], for one step of one game: of the states before and after. Rules of all games
come first, those of one game are found by its name. What takes longer than to play, such as the list of all actions, is apart, so
that it can be checked in some steps alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import sliced
from jaxgames.bitboard import Grid
from jaxgames.bits import Bits, select, union
from jaxgames.clash import constants as clash
from jaxgames.game import Game
from jaxgames.hero_academy import cards
from jaxgames.hex.geometry import BLACK, WHITE, HexGrid
from jaxgames.pommerman.constants import BOMB_LIFE, MAX_AMMO, MAX_BLAST_STRENGTH
from jaxgames.stratego import material
from jaxgames.stratego.constants import BLUE, NUM_KINDS, RED
from jaxgames.stratego.legal import of_kind
from jaxgames.stratego.state import count_of

Rules = dict[str, Array]


def rules_of(game: Game) -> Callable[[Any, Any, Array], Rules]:
    """Gives the rules of each step: `rules(before, after, clock) -> {name: bool []}`, clock int32 []: the steps played before."""
    own = _OF_GAMES.get(game.name)

    def rules(before: Any, after: Any, clock: Array) -> Rules:
        return _of_any(game, before, after, clock) | (own(game, before, after) if own else {})

    return rules


def slow_rules_of(game: Game) -> Callable[[Any], Rules]:
    """Gives the rules of lists of actions and of values: `rules(after) -> {name: bool []}`."""

    def rules(after: Any) -> Rules:
        legal, heuristic = game.legal_actions(after), game.heuristic(after)
        arms, offered = game.search_arms(after)
        known = jnp.take_along_axis(legal, arms.astype(jnp.int32), axis=1)
        return {
            "everybody has a legal action": legal.any(-1).all(),
            "everybody has an arm": offered.any(-1).all(),
            "arms are legal": (known | ~offered).all() | after.terminated,
            "the heuristic is in -1..1": (jnp.abs(heuristic) <= 1).all(),
        }

    return rules


def _of_any(game: Game, before: Any, after: Any, clock: Array) -> Rules:
    outcome = game.outcome(after)
    goes_on = ~after.terminated
    return {
        "rewards are numbers": jnp.isfinite(after.rewards).all(),
        "an outcome is told at the end alone": goes_on | (jnp.abs(outcome) <= 1).all(),
        "nothing is decided before the end": after.terminated | (outcome == 0).all(),
        "no game is longer than the longest": (clock + 1 < game.max_steps) | after.terminated,
        "what is over is not played": ~before.terminated,
    }


def _all(facts: Iterable[Array]) -> Array:
    return functools.reduce(jnp.logical_and, facts)


def _any(facts: Iterable[Array]) -> Array:
    return functools.reduce(jnp.logical_or, facts)


def _inside(cells: Bits, larger: Bits) -> Array:
    return ~(cells - larger).any()


def _on_board(grid: Grid, sets: Any) -> Array:
    """No bit is set beyond the last cell."""
    return _all(_inside(cells, grid.full) for cells in sets)


def _pommerman(game: Any, before: Any, after: Any) -> Rules:
    grid, collapses = game.config.grid, game.config.first_collapse is not None
    bombs, burning, walls = after.bombs, after.burning, after.rigid | after.wood
    living = union([grid.one_hot(bomber.cell.astype(jnp.int32)).when(bomber.alive) for bomber in after.bombers])
    rolling, shown = union(bombs.moving), after.visible_items
    both_ways = [one & other for number, one in enumerate(bombs.moving) for other in bombs.moving[number + 1 :]]
    too_old = union([sliced.equal(bombs.life, life, bombs.cells) for life in range(BOMB_LIFE + 1, 16)])
    sets = (after.rigid, after.wood, *after.items, *after.flames, *bombs.life, *bombs.strength)
    return {
        "bits are on the board": _on_board(grid, sets),
        "the living are in different cells": living.count() == after.alive.sum(),
        "walls are empty": ~(walls & (living | bombs.cells | burning)).any() | collapses,
        "a wall is rigid or wooden": ~(after.rigid & after.wood).any(),
        "walls only burn": _inside(after.wood, before.wood) & (_inside(after.rigid, before.rigid) | collapses),
        "the dead stay dead": (before.alive | ~after.alive).all(),
        "nobody lives in flames": ~(living & burning).any(),
        "no bomb lies in flames": ~(bombs.cells & burning).any(),
        "a bomb rolls one way": ~union(both_ways).any() & _inside(rolling, bombs.cells),
        "a bomb under somebody rests": ~(rolling & living).any(),
        "items in the open lie under nobody": ~(shown & (living | bombs.cells)).any(),
        "ammunition is in its range": _all((one.ammo >= 0) & (one.ammo <= MAX_AMMO) for one in after.bombers),
        "blasts are in their range": _all(
            (one.blast_strength >= 2) & (one.blast_strength <= MAX_BLAST_STRENGTH) for one in after.bombers
        ),
        "no bomb lives too long": ~too_old.any(),
        "bombs are strong": _inside(bombs.cells, union(bombs.strength)) & _inside(union(bombs.strength), bombs.cells),
    }


def _hex(game: Any, before: Any, after: Any) -> Rules:
    grid, (first, second) = game.config.grid, after.stones
    groups = list(zip(after.near, after.far, after.stones, strict=True))
    return {
        "bits are on the board": _on_board(grid, [*after.stones, *after.found, *after.near, *after.far]),
        "a cell has one stone": ~first.overlaps(second),
        "stones stay": _inside(before.stones[0], first) & _inside(before.stones[1], second),
        "what was found is there": _inside(after.found[0], second) & _inside(after.found[1], first),
        "only stones are joined": _all(_inside(near | far, stones) for near, far, stones in groups),
        "a stone a turn at most": _all(
            stones.count() <= turns + after.terminated for stones, turns in zip(after.stones, after.turns, strict=True)
        ),
        "players take turns": jnp.abs(after.turns[0] - after.turns[1]) <= 1,
        "who joins the edges has won": ~_any(near.overlaps(far) for near, far, _ in groups) | after.terminated,
        "who has won has joined the edges": ~after.terminated | _joins(grid, after, game.outcome(after)[0] > 0),
    }


def _joins(grid: HexGrid, state: Any, first: Array) -> Array:
    """Whether stones join the edges, of the first player or else of the second: found anew, whatever the state keeps of it.

    It is looked at where a game is over, as a flood of nothing is soon done. Who has won has joined the edges, as agents of soaks
    play legal actions: nobody loses by an impossible one.
    """
    stones = select(first, *state.stones)
    start, end = (select(first, *pair) for pair in zip(grid.edges(BLACK), grid.edges(WHITE), strict=True))
    return grid.flood((stones & start).when(state.terminated), stones).overlaps(end)


def _cards_in(words: Array) -> Array:
    counts = [(words >> (cards.FIELD_BITS * card)) & ((1 << cards.FIELD_BITS) - 1) for card in range(cards.NUM_CARDS)]
    return jnp.stack(counts).sum(0, dtype=jnp.int32)


def _hero_academy(game: Any, before: Any, after: Any) -> Rules:
    config, board = game.config, after.board
    hands = [_cards_in(hand) for hand in after.hands]
    here, there = (
        _cards_in(state.hands[0]) + _cards_in(state.hands[1]) + _cards_in(state.decks[0]) + _cards_in(state.decks[1])
        for state in (before, after)
    )
    most = max(config.action_points, config.first_action_points)
    return {
        "bits are on the board": _on_board(
            config.grid, [*board.kinds, board.second, board.alive, *board.items, *board.hit_points]
        ),
        "only what stands somewhere is anything": _inside(
            union([board.second, board.alive, board.hurt, *board.items, *board.hit_points]), board.occupied
        ),
        "who lives has hit points": ~(board.alive ^ union(board.hit_points)).any(),
        "no new crystals": _inside(board.crystals, before.board.crystals),
        "hands are not too large": (hands[0] <= cards.HAND_SIZE) & (hands[1] <= cards.HAND_SIZE),
        "cards only go": there <= here,
        "action points are in their range": (after.action_points >= 0) & (after.action_points <= most),
        "turns go on": (after.turn == before.turn) | (after.turn == before.turn + 1),
        "a winner ends the game": (after.winner < 0) | after.terminated,
    }


def _clash(game: Any, before: Any, after: Any) -> Rules:
    alive, troops = after.alive, np.arange(after.alive.shape[-1]) >= clash.TOWERS
    deck, deck_before = (
        jnp.sort(jnp.concatenate([state.hand, state.queue], axis=1).astype(jnp.int32), axis=1) for state in (after, before)
    )
    return {
        "who lives has hit points": (~alive | (after.hp > 0)).all(),
        "nobody leaves the arena": (
            ~alive | ((after.x >= 0) & (after.x <= clash.WIDTH) & (after.y >= 0) & (after.y <= clash.HEIGHT))
        ).all(),
        "elixir is in its range": ((after.elixir >= 0) & (after.elixir <= clash.ELIXIR * clash.MOST_ELIXIR)).all(),
        "a deck keeps its cards": (deck == deck_before).all(),
        "towers do not rise again": (before.alive | ~alive | troops).all(),
        "towers do not heal": (~alive | troops | (after.hp <= before.hp)).all(),
        "targets are slots": ((after.target >= -1) & (after.target < alive.shape[-1])).all(),
        "clocks are not negative": _all((leaf >= 0).all() for leaf in (after.cooldown, after.deploying, after.age, after.stun)),
        "ticks go on": (after.tick > before.tick),
        "rows are of the table": ((after.unit >= 0) & (after.unit < len(game.config.table.units))).all(),
    }


def _stratego(game: Any, before: Any, after: Any) -> Rules:
    grid, (red, blue) = game.config.grid, after.pieces
    both, occupied = red | blue, union(after.kinds)
    gone = [there.count() - here.count() for there, here in zip(before.pieces, after.pieces, strict=True)]
    start, end = (grid.one_hot(cell) for cell in after.last)
    fights = select(before.player == RED, before.pieces[BLUE], before.pieces[RED]).overlaps(end)
    others_stay = _all(_inside(there - start - end, here) for there, here in zip(before.pieces, after.pieces, strict=True))
    unknown = [
        count_of(after.unknown[side], kind) == (of_kind(after.kinds, kind) & after.hidden & after.pieces[side]).count()
        for side in range(2)
        for kind in range(1, NUM_KINDS + 1)
    ]
    return {
        "bits are on the board": _on_board(grid, [red, blue, *after.kinds, after.lakes, after.hidden, after.moved, after.far]),
        "a cell has one piece": ~red.overlaps(blue),
        "pieces have kinds": ~(both ^ occupied).any(),
        "lakes are empty": ~both.overlaps(after.lakes) & ~(after.lakes ^ before.lakes).any(),
        "only pieces are hidden or have moved": _inside(after.hidden | after.moved, both),
        "who went far has moved": _inside(after.far, after.hidden & after.moved),
        "no new pieces": _all(count >= 0 for count in gone),
        "pieces go only in battle": _all(count <= fights for count in gone) & others_stay,
        "a piece goes in each battle": gone[0] + gone[1] >= fights,
        "hidden pieces are counted": jnp.stack(unknown).all(),
        "moves go on": after.ply == before.ply + 1,
        "the balance is a number": jnp.isfinite(material.balance(game.config, after)),
    }


_OF_GAMES: dict[str, Callable[[Any, Any, Any], Rules]] = {
    "pommerman": _pommerman,
    "hex": _hex,
    "hero_academy": _hero_academy,
    "clash": _clash,
    "stratego": _stratego,
}
