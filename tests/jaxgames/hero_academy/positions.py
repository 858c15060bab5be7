"""Positions made by hand, one game at a time, and what becomes of them."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.hero_academy import HeroAcademy, HeroAcademyConfig, interop, units
from jaxgames.hero_academy.cards import CARD_NAMES

GAME = HeroAcademy(HeroAcademyConfig())
LAYOUT = GAME.layout
KINDS = {"K": units.KNIGHT, "A": units.ARCHER, "C": units.CLERIC, "W": units.WIZARD, "N": units.NINJA, "X": units.CRYSTAL}
STEP = jax.jit(lambda state, action: GAME.apply(state, jnp.full(2, action), ()))
LEGAL = jax.jit(GAME.legal_actions)


def cell(x, y):
    return y * 9 + x


def position(things, *, player=0, points=5, turn=5, hand=(), other_hand=(), deck=("knight", "potion"), crystals=True):
    """Makes a state: things is {(x, y): "K"} with small letters for the second player, or ("K", hit points, items)."""
    shape = (1, 5, 9)
    arrays = {name: np.zeros(shape, int) for name in ("unit_class", "unit_owner", "unit_hp", "unit_equip")}
    if crystals:
        things = {(0, 2): "X", (8, 2): "x", **things}
    for (x, y), thing in things.items():
        letter, hit_points, items = thing if isinstance(thing, tuple) else (thing, None, 0)
        kind = KINDS[letter.upper()]
        most = int(units.most_hit_points(np.array(kind), np.array(items)))
        arrays["unit_class"][0, y, x] = kind
        arrays["unit_owner"][0, y, x] = 1 if letter.isupper() else 2
        arrays["unit_hp"][0, y, x] = most if hit_points is None else hit_points
        arrays["unit_equip"][0, y, x] = items
    cards = np.zeros((1, 2, 11), int)
    decks = np.zeros((1, 2, 11), int)
    for seat, held in enumerate((hand, other_hand)):
        for name in held:
            cards[0, seat, CARD_NAMES.index(name)] += 1
        for name in deck:
            decks[0, seat, CARD_NAMES.index(name)] += 1
    arrays |= {"hand": cards, "deck": decks, "deck_seed": np.full((1, 2), 5), "player": np.array([player + 1])}
    arrays |= {"turn": np.array([turn]), "ap": np.array([points]), "terminal": np.array([0]), "winner": np.array([-1])}
    return jax.tree.map(lambda leaf: leaf[0], interop.from_arrays(GAME.config, arrays))


@functools.cache
def offset(right, down):
    from jaxgames.hero_academy.actions import OFFSETS

    return OFFSETS.index((right, down))


def act(start, end):
    """The action of a unit at (x, y) on (x, y)."""
    return LAYOUT.unit(offset(end[0] - start[0], end[1] - start[1]), cell(*start))


def play(card, at):
    return LAYOUT.play(CARD_NAMES.index(card), cell(*at))


def legal(state):
    return set(np.flatnonzero(np.asarray(LEGAL(state))[int(state.player)]).tolist())


def after(state, *actions):
    for action in actions:
        assert action in legal(state) or action == LAYOUT.end_turn
        state = STEP(state, jnp.int32(action))
    return state


def board(state):
    """The arrays of one state."""
    return {name: rows[0] for name, rows in interop.to_arrays(GAME.config, jax.tree.map(lambda leaf: leaf[None], state)).items()}


def hit_points(state, x, y):
    return int(board(state)["unit_hp"][y, x])


def kind(state, x, y):
    return int(board(state)["unit_class"][y, x])
