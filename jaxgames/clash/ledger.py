"""Who did what in a battle: which card was played, and which hit points, units and towers it cost the other.

The books are kept beside the state, from the rules' own answers to who is hit by whom, so that battles are played as if nobody
counted. In each tick the hit points that a unit loses are shared among all blows, shots and waves of spells that land on it, by
their damage; so is its death. What comes of a card counts for it: its units, what these make or leave when they die, and their
bombs, whichever other cards bring such units too. Not counted: damage beyond the hit points that were there, what buildings
lose by age, units that die by their own blow, and all that stuns, slows, pushes and drawing fire are good for.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.clash import attacks, damage, rules, spawning, targeting
from jaxgames.clash.config import ClashConfig
from jaxgames.clash.constants import TICKS_PER_STEP, TOWERS
from jaxgames.clash.kinds import Kinds, look_up, places_of
from jaxgames.clash.state import State
from jaxgames.clash.tables import features
from jaxgames.clash.tick import Events, of_each, slowed, tick, where_something_comes, with_births


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
      origin: int32 [2, H + S, B], the card of which each slot's unit came, and then each spell; the number of cards for towers.
      ledger: so far.
    """

    states: State
    origin: Array
    ledger: Ledger


def open_books(config: ClashConfig, states: State) -> Books:
    """Begins to count for battles, leaves [..., B], with nothing on the arena but towers and spells of cards."""
    battles, cards = states.tick.shape[-1], len(config.table.cards)
    nothing = jnp.zeros((2, cards + 1, battles), jnp.float32)
    origin = [jnp.full((2, config.slots, battles), cards, jnp.int32), states.spell.astype(jnp.int32)]
    return Books(states, jnp.concatenate(origin, axis=1), Ledger(nothing.astype(jnp.int32), *[nothing] * 5))


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
    came = [deployed.alive & ~states.alive, (deployed.spell_ticks > 0) & (states.spell_ticks == 0)]
    origin = jnp.where(jnp.concatenate(came, axis=1), play.row[:, None], books.origin)
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
    if features(config).children or features(config).bombs:
        inherit = functools.partial(of_each(inherited), after, kinds, events, origin)
        origin = where_something_comes(kinds, events, inherit, lambda: origin)
    born, kinds = with_births(config, states, after, kinds, events, states.terminated)
    return born, kinds, origin, ledger


def inherited(after: State, kinds: Kinds, events: Events, origin: Array) -> Array:
    """Gives `origin` of one battle, int32 [2, H + S], after a tick: new units and bombs have that of their parents."""
    children, (bombs, owner) = spawning.whose_children(after, kinds, *events), spawning.whose_bombs(after, kinds, events.died)
    new = jnp.concatenate([children.new, bombs], axis=1)
    return jnp.where(new, origin[np.arange(2)[:, None], jnp.concatenate([children.parent, owner], axis=1)], origin)


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
    for hitters, cards in ((by_units, origin[:, : config.slots]), (by_spells, origin[:, config.slots :])):
        sums = jax.lax.fori_loop(0, hitters.end, functools.partial(share, hitters=hitters, cards=cards), sums)
    return Ledger(ledger.plays, *sums)


@functools.lru_cache(maxsize=64)
def worth_of_unit(config: ClashConfig) -> np.ndarray:
    """Gives what each unit has cost, float32 [U]: its share of `config.deployers`; 0 for others."""
    worth = np.zeros(len(config.table.units), np.float32)
    for name, card in config.deployers.items():
        worth[config.table.unit_ids[name]] = card.cost / card.count
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
