"""Who did what in a battle: which card was played, and which hit points, units and towers it cost the other.

The books are kept beside the state, from the rules' own answers to who is hit by whom, so that battles are played as if nobody
counted. In each tick the hit points that a unit loses are shared among all blows, shots and waves of spells that land on it, by
their damage; so is its death. What comes of a card counts for it: its units, what these make or leave when they die, and their
bombs. Not counted: damage beyond the hit points that were there, what buildings lose by age, units that die by their own blow,
and all that stuns, slows, pushes and drawing fire are good for.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.clash import attacks, damage, rules, targeting
from jaxgames.clash.config import ClashConfig
from jaxgames.clash.constants import TICKS_PER_STEP, TOWERS
from jaxgames.clash.kinds import Kinds, look_up, places_of
from jaxgames.clash.state import State
from jaxgames.clash.tables import features
from jaxgames.clash.tick import of_each, slowed, tick, with_births


class Ledger(NamedTuple):
    """What the cards of both players have done, [2, C + 1, B] each: cards as rows of the table, last the own towers.

    Attributes:
      plays: int32, how often it was played.
      to_towers: float32, hit points that it took from towers.
      to_units: float32, the same from troops and buildings.
      kills: float32, troops and buildings that it destroyed.
      worth: float32, what these had cost, in elixir: of a card of several units, each its share; of what no card deploys,
        nothing.
      towers: float32, towers that it destroyed.
    """

    plays: Array
    to_towers: Array
    to_units: Array
    kills: Array
    worth: Array
    towers: Array


class Books(NamedTuple):
    """Battles at work, with the battles as the last axis of every array.

    Attributes:
      states: leaves [..., B].
      origin: int32 [2, H, B], the card of which each slot's unit came; the number of cards for towers.
      ledger: so far.
    """

    states: State
    origin: Array
    ledger: Ledger


def open_books(config: ClashConfig, states: State) -> Books:
    """Begins to count for battles, leaves [..., B], with nothing on the arena but towers."""
    battles, cards = states.tick.shape[-1], len(config.table.cards)
    nothing = jnp.zeros((2, cards + 1, battles), jnp.float32)
    origin = jnp.full((2, config.slots, battles), cards, jnp.int32)
    return Books(states, origin, Ledger(nothing.astype(jnp.int32), *[nothing] * 5))


def step(config: ClashConfig, books: Books, actions: Array) -> Books:
    """Plays one step of agents as `rules.step` does, and counts.

    Args:
      config: the battle.
      books: before it.
      actions: int32 [2, B].
    """
    states, ledger, cards = books.states, books.ledger, len(config.table.cards)
    play = of_each(functools.partial(rules.read, config))(states, actions)
    deployed = of_each(functools.partial(rules.deploy, config))(states, play)
    played = play.plays[:, None] & (play.row[:, None] == np.arange(cards + 1)[:, None])
    origin = jnp.where(deployed.alive & ~states.alive, play.row[:, None], books.origin)
    ledger = ledger._replace(plays=ledger.plays + played)

    def body(number: Array, carry: tuple[State, Kinds, Array, Ledger]) -> tuple[State, Kinds, Array, Ledger]:
        del number
        return _tick(config, *carry)

    begun = (deployed, look_up(config, deployed), origin, ledger)
    after, _, origin, ledger = jax.lax.fori_loop(0, TICKS_PER_STEP, body, begun)
    return Books(of_each(functools.partial(rules.save_on, config))(after), origin, ledger)


def _tick(config: ClashConfig, states: State, kinds: Kinds, origin: Array, ledger: Ledger) -> tuple[State, Kinds, Array, Ledger]:
    after, events = tick(config, states, kinds)
    ledger = _book(config, states, kinds, events.died, origin, ledger)
    born, kinds = with_births(config, states, after, kinds, events, states.terminated)
    new = born.alive & ~after.alive & ~states.terminated
    origin = jnp.where(new, jnp.asarray(card_of_unit(config))[born.unit.astype(jnp.int32)], origin)
    return born, kinds, origin, ledger


def _book(config: ClashConfig, states: State, kinds: Kinds, died: Array, origin: Array, ledger: Ledger) -> Ledger:
    """Adds what happens in the next tick of battles."""
    need, units = features(config), kinds.units
    places = places_of(states.x, states.y)
    aim = targeting.choose(states, units, places)
    blow = attacks.strike(states, units, aim, slowed(states, units, need)[0])
    by_units = damage.hitting_units(states, units, places, aim, blow, attacks.fly(states, units, aim), need)
    by_spells = damage.hitting_spells(states, kinds, places)

    def add(number: Array, total: Array, hitters: damage.Hitters) -> Array:
        return total + hitters.hit(number)[1]

    total = jnp.zeros(states.alive.shape, jnp.int32)
    for hitters in (by_units, by_spells):
        total = jax.lax.fori_loop(0, hitters.end, functools.partial(add, hitters=hitters), total)
    there = states.alive & ~states.terminated
    left = jnp.where(states.shield > 0, states.shield, states.hp).astype(jnp.int32)
    lost = jnp.where(there, jnp.minimum(total, left), 0)
    tower = np.arange(states.alive.shape[1])[:, None] < TOWERS
    killed = died & there & (total > 0)
    worth = jnp.asarray(worth_of_unit(config))[states.unit.astype(jnp.int32)]
    # What all who hit a unit share, and the sum by which they share it.
    shared = jnp.stack([lost * tower, lost * ~tower, killed & ~tower, killed * worth, killed & tower]).astype(jnp.float32)
    shared = shared / jnp.maximum(total, 1)

    def share(number: Array, sums: tuple[Array, ...], hitters: damage.Hitters, cards: Array) -> tuple[Array, ...]:
        gained = (hitters.hit(number)[1] * shared).sum(2)[:, ::-1]  # of the hitters' side: [5, 2, B]
        card = jax.lax.dynamic_index_in_dim(cards, number, 1)  # [2, 1, B]
        mine = card == np.arange(len(config.table.cards) + 1)[:, None]
        return tuple(old + jnp.where(mine, new[:, None], 0) for old, new in zip(sums, gained, strict=True))

    sums: tuple[Array, ...] = ledger[1:]
    for hitters, cards in ((by_units, origin), (by_spells, _cards_of_spells(config, states))):
        sums = jax.lax.fori_loop(0, hitters.end, functools.partial(share, hitters=hitters, cards=cards), sums)
    return Ledger(ledger.plays, *sums)


def _cards_of_spells(config: ClashConfig, states: State) -> Array:
    """Gives the card of each slot for spells, int32 [2, S, B]: a bomb's is that of the unit which left it."""
    rows = np.concatenate([np.arange(len(config.table.cards)), card_of_unit(config)]).astype(np.int32)
    return jnp.asarray(rows)[states.spell.astype(jnp.int32)]


@functools.lru_cache(maxsize=64)
def card_of_unit(config: ClashConfig) -> np.ndarray:
    """Gives the card to which each unit of the table belongs, int32 [U]; the number of cards for towers and what cannot come.

    A unit that several cards bring belongs to one that deploys it, before one whose units make it or leave it; of equals to the
    first. That is asked only for units that no card has set down itself.
    """
    table = config.table
    found = np.full(len(table.units), len(table.cards), np.int32)
    cards = list(dict.fromkeys(card for cards in config.cards_of for card in cards))
    generation = [(card, {card.unit or card.spawn} - {""}) for card in cards]
    met: list[set[str]] = [set() for _ in cards]
    while any(names for _, names in generation):
        for card, names in generation:
            for unit in sorted(table.unit_ids[name] for name in names):
                if found[unit] == len(table.cards):
                    found[unit] = table.card_ids[card.key]
        for known, (_, names) in zip(met, generation, strict=True):
            known |= names
        generation = [
            (card, {child for name in names for child in (table.unit(name).spawn, table.unit(name).death_spawn)} - {""} - known)
            for known, (card, names) in zip(met, generation, strict=True)
        ]
    return found


@functools.lru_cache(maxsize=64)
def worth_of_unit(config: ClashConfig) -> np.ndarray:
    """Gives what each unit has cost, float32 [U]: its share of the card that deploys it; 0 for others."""
    table = config.table
    worth = np.zeros(len(table.units), np.float32)
    for card in dict.fromkeys(card for cards in config.cards_of for card in cards):
        if card.unit and not worth[table.unit_ids[card.unit]]:
            worth[table.unit_ids[card.unit]] = card.cost / card.count
    return worth


def of_battles(config: ClashConfig, states: State, actions: Array) -> tuple[Ledger, State]:
    """Plays recorded battles again and counts.

    Args:
      config: the battle.
      states: their starts, leaves [B, ...].
      actions: int [B, T, 2]; negative where a battle is over.

    Returns:
      Ledger with leaves [B, 2, C + 1], and the states at the end.
    """
    last_axis = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, -1), states)
    moves = jnp.transpose(actions.astype(jnp.int32), (1, 2, 0))

    def goes_on(carry: tuple[Array, Books]) -> Array:
        number, books = carry
        return (number < len(moves)) & ~books.states.terminated.all()

    def one(carry: tuple[Array, Books]) -> tuple[Array, Books]:
        number, books = carry
        return number + 1, step(config, books, jnp.maximum(moves[number], rules.WAIT))

    _, books = jax.lax.while_loop(goes_on, one, (jnp.int32(0), open_books(config, last_axis)))
    ledger, after = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, -1, 0), (books.ledger, books.states))
    return ledger, after
