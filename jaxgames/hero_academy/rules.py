"""One action, the end of a turn, and the end of the game.

(Source: Justesen et al., Playing Multi-Action Adversarial Games: Online Evolutionary Planning versus Tree Search, section III,
and the released program.)
"""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import random_bits
from jaxgames.bits import Bits, select
from jaxgames.fusion import boundary
from jaxgames.hero_academy import actions, cards, combat, draws, units
from jaxgames.hero_academy.actions import Action
from jaxgames.hero_academy.config import HeroAcademyConfig
from jaxgames.hero_academy.legal import Sides, legal_set
from jaxgames.hero_academy.state import Board, State, Unit

Pair = tuple[Array, Array]  # the first player's and the second's

NUM_DRAW_WORDS = 2 * cards.HAND_SIZE  # of who ends the turn, then of who begins


def draw_words(key: Array) -> Array:
    """Draws the random words that End Turn draws cards by, uint32 [12]."""
    lane = random_bits.lane_key(key)
    return random_bits.bits(lane, jnp.arange(NUM_DRAW_WORDS))


def is_legal(config: HeroAcademyConfig, state: State, action: Array) -> Array:
    """Says whether `step` takes an action (int32 []) for what it is: a legal one, or End Turn. Returns bool []."""
    is_end = action == actions.layout(config).end_turn
    return actions.has(legal_set(config, state), action) | (is_end & ~state.terminated)


def step(config: HeroAcademyConfig, state: State, action: Array, words: Array | None) -> State:
    """Plays an action; one that is neither legal nor End Turn loses the game.

    Args:
      config: the variant.
      state: one game.
      action: int32 [], see `actions`.
      words: uint32 [12] from `draw_words`; None by seeded draws.

    Returns:
      The state after it; a finished game stays as it is, with rewards 0.
    """
    legal = is_legal(config, state, action)
    after = advance(config, state, action, words)
    lost = finish(dataclasses.replace(state, terminated=jnp.bool_(True)), (1 - state.player).astype(jnp.int8))
    rest = dataclasses.replace(state, seat_rewards=(jnp.int8(0), jnp.int8(0)))
    return select(state.terminated, rest, select(legal, after, lost))


def advance(config: HeroAcademyConfig, state: State, action: Array, words: Array | None) -> State:
    """`step` without its checks: for an action (int32 []) known to be legal, or End Turn, in a game that goes on."""
    return _play(config, state, action, words, may_end=True)


def act(config: HeroAcademyConfig, state: State, action: Array) -> State:
    """`advance` for an action known not to be End Turn: without the drawing of cards, a sixth of all that a step works out."""
    return _play(config, state, action, None, may_end=False)


# Searches hold several copies of both: so they are traced once per variant, and not once per copy and search.
@functools.partial(jax.jit, static_argnums=0)
def end(config: HeroAcademyConfig, state: State, words: Array | None) -> State:
    """`advance` with End Turn: without all that units and cards do, which is most of what there is to compile of a step."""
    layout, sides = actions.layout(config), Sides(config, state)
    board = state.board.clear(sides.own & sides.fallen)
    hand, deck = sides.mine(state.hands), sides.mine(state.decks)
    after, flips = _conclude(config, state, sides, layout.parse(jnp.int32(layout.end_turn)), board, hand, deck)
    return _with_draws(after, sides.second, words, flips)


@functools.partial(jax.jit, static_argnums=0, static_argnames="may_end")
def _play(config: HeroAcademyConfig, state: State, action: Array, words: Array | None, *, may_end: bool) -> State:
    """Plays an action that is legal where it stands, or End Turn if that may be."""
    what = actions.layout(config).parse(action)
    if not may_end:
        what = what._replace(is_end=jnp.zeros_like(what.is_end))
    sides = Sides(config, state)
    board, removed = _act(config, state, sides, what)
    removed = removed | (sides.own & sides.fallen).when(what.is_end)
    board = board.clear(removed)
    hand, deck = _spend(state, sides, what)
    after, flips = _conclude(config, state, sides, what, board, hand, deck)
    return _with_draws(after, sides.second, words, flips) if may_end else after


def _act(config: HeroAcademyConfig, state: State, sides: Sides, what: Action) -> tuple[Board, Bits]:
    """Does to the board what an action does. Returns it, and what is to be removed from it."""
    grid, board = config.grid, state.board
    ninja = (sides.own_units & board.of_kind(units.NINJA)).first()
    here = jnp.where(what.is_trade, ninja, jnp.where(what.is_unit, what.cell, 0))
    places = config.deploy_cells
    square = jnp.int32(0)
    for number in range(places.shape[1]):
        mine = jnp.where(sides.second, int(places[1, number]), int(places[0, number]))
        square = jnp.where(what.place == number, mine, square)
    there = jnp.where(what.is_unit, here + what.down * grid.columns + what.right, jnp.where(what.is_deploy, square, what.cell))
    there = jnp.clip(there, 0, grid.num_cells - 1)
    here = jnp.clip(here, 0, grid.num_cells - 1)
    actor, target = board.read(here), board.read(there)

    stands = target.kind != units.EMPTY
    is_other = stands & (target.second != sides.second)
    is_crystal = target.kind == units.CRYSTAL
    attacks = what.is_unit & is_other & target.alive
    heals = what.is_unit & (actor.kind == units.CLERIC) & stands & ~is_other
    moves = what.is_unit & ~attacks & ~heals

    strength = combat.power(config, actor, here)
    bonus = combat.assault_bonus(config, sides)
    close = jnp.abs(what.right) + jnp.abs(what.down) == 1
    lost = combat.damage(config, strength, actor.kind, close, target, there) + jnp.where(is_crystal, bonus, 0)
    struck, falls = combat.hit(target, lost)
    falls = attacks & falls

    right, down = jnp.sign(what.right), jnp.sign(what.down)
    pushed_to = combat.knock_back_to(config, sides, board, there, right, down)
    pushes = attacks & (actor.kind == units.KNIGHT) & ~is_crystal & pushed_to.any()

    drinks, equips = what.is_card & (what.card == cards.POTION), what.is_card & (what.card > cards.POTION)
    item = jnp.int32(0)
    for card, number in cards.ITEM_OF_CARD.items():
        item = jnp.where(what.card == card, number, item)
    helped = _choose([(heals, combat.healed(target, strength)), (drinks, combat.potion(target))], combat.equipped(target, item))
    nothing = _nothing(target)
    at_target = _choose(
        [
            (moves | what.is_trade, actor),
            (attacks & (falls | pushes), nothing),
            (attacks, struck),
            (what.is_deploy, _recruit(what.card + 1, sides.second)),
        ],
        helped,
    )
    spent = actor._replace(items=actor.items & ~(1 << units.SCROLL))
    at_actor = _choose([(moves, nothing), (what.is_trade, target)], spent)
    # What all planes of the board depend on: a GPU would work it out again for most of them.
    at_actor, at_target, struck, strength, bonus = boundary((at_actor, at_target, struck, strength, bonus))
    pushed_to, pushes = boundary((pushed_to, pushes))
    acts = what.is_unit | what.is_trade
    board = board.write(grid.one_hot(here).when(acts), at_actor)
    board = board.write(grid.one_hot(there).when(acts | what.is_deploy | drinks | equips), at_target)
    board = board.write(pushed_to.when(pushes), struck)
    strikes = attacks & (actor.kind == units.WIZARD)
    start = (jnp.where(strikes, there, -1), right, down)
    board, shattered = combat.lightning(config, sides, board, start, strength, bonus)
    burns = what.is_card & (what.card == cards.INFERNO)
    board, burnt = combat.burn(config, sides, board, grid.one_hot(there).when(burns), bonus)
    return board, shattered | burnt


def _choose(cases: list[tuple[Array, Unit]], otherwise: Unit) -> Unit:
    """Gives the unit of the first case that holds."""
    for condition, unit in reversed(cases):
        otherwise = select(condition, unit, otherwise)
    return otherwise


def _nothing(like: Unit) -> Unit:
    return jax.tree.map(jnp.zeros_like, like)


def _recruit(kind: Array, second: Array) -> Unit:
    """A unit fresh from its card."""
    zero, no = jnp.zeros_like(kind), jnp.zeros_like(second)
    return Unit(kind, zero, combat.look_up(units.BASE_HIT_POINTS, kind), second, ~no, no)


def _spend(state: State, sides: Sides, what: Action) -> tuple[Array, Array]:
    """Takes the played card from the hand of the player to move, and puts a swapped one into the deck."""
    one = jnp.uint32(1) << (cards.FIELD_BITS * jnp.maximum(what.card, 0)).astype(jnp.uint32)
    one = jnp.where(what.card >= 0, one, jnp.uint32(0))
    hand, deck = sides.mine(state.hands), sides.mine(state.decks)
    return hand - one, deck + jnp.where(what.is_swap_card, one, jnp.uint32(0))


def _conclude(
    config: HeroAcademyConfig,
    state: State,
    sides: Sides,
    what: Action,
    board: Board,
    hand: Array,
    deck: Array,
) -> tuple[State, Array]:
    """Finds out whether the game is over; if the turn is, lets the other player move. Says, bool [], whether it does so."""
    second, is_end = sides.second, what.is_end
    hands = _both(second, state.hands, hand)
    decks = _both(second, state.decks, deck)
    crystals = board.crystals
    standing = board.occupied - crystals
    has_crystals = ((crystals - board.second).any(), crystals.overlaps(board.second))
    has_units = tuple(
        side.any() | (((cards_held | cards_left) & cards.UNIT_FIELDS) != 0)
        for side, cards_held, cards_left in zip((standing - board.second, standing & board.second), hands, decks, strict=True)
    )
    at_limit = state.turn >= config.turn_limit
    other_has_crystals = jnp.where(second, *has_crystals)
    over = ~other_has_crystals | (is_end & (~has_units[0] | ~has_units[1] | at_limit))
    is_out = [~(alive & units_left) for alive, units_left in zip(has_crystals, has_units, strict=True)]
    winner = jnp.where(at_limit | (is_out[0] == is_out[1]), -1, jnp.where(is_out[0], 1, 0)).astype(jnp.int8)

    flips = is_end & ~over
    after = State(
        board=board,
        hands=hands,
        decks=decks,
        seeds=state.seeds,
        player=jnp.where(flips, 1 - state.player, state.player).astype(jnp.int8),
        action_points=jnp.where(
            flips, config.action_points, jnp.where(is_end, state.action_points, state.action_points - 1)
        ).astype(jnp.int8),
        turn=(state.turn + flips).astype(jnp.int16),
        winner=state.winner,
        terminated=over,
        seat_rewards=(jnp.int8(0), jnp.int8(0)),
    )
    return finish(after, winner), flips


def _with_draws(state: State, second: Array, words: Array | None, going: Array) -> State:
    """Lets both players draw cards after a turn of the second player, or the first, if `going`."""
    half = cards.HAND_SIZE
    own_words, other_words = (None, None) if words is None else (words[:half], words[half:])
    piles = _draw_for(second, (state.hands, state.decks, state.seeds), own_words, going)
    # In play this hand is full already, or its deck empty; one that was taken away to hide it is not.
    hands, decks, seeds = _draw_for(~second, piles, other_words, going)
    return dataclasses.replace(state, hands=hands, decks=decks, seeds=seeds)


def _draw_for(second: Array, piles: tuple[Pair, Pair, Pair], words: Array | None, going: Array) -> tuple[Pair, Pair, Pair]:
    """Lets one player draw: the second or the first. piles: hands, decks and seeds of both."""
    hands, decks, seeds = piles
    hand, deck, seed = (jnp.where(second, pair[1], pair[0]) for pair in piles)
    hand, deck, seed = draws.draw(hand, deck, seed, words, going)
    return _both(second, hands, hand), _both(second, decks, deck), _both(second, seeds, seed)


def finish(state: State, winner: Array) -> State:
    """Writes down who has won, if the game is over.

    Args:
      state: with `terminated` set.
      winner: int8 [], 0, 1, or -1 for a draw.
    """
    won = jnp.where(state.terminated, winner, -1).astype(jnp.int8)
    reward = ((won == 0).astype(jnp.int8) - (won == 1).astype(jnp.int8)).astype(jnp.int8)
    return dataclasses.replace(state, winner=won, seat_rewards=(reward, -reward))


def _both(second: Array, pair: Pair, mine: Array) -> Pair:
    """Replaces the part of the player to move."""
    return jnp.where(second, pair[0], mine), jnp.where(second, mine, pair[1])
