"""Battles of Clash with and without a change of cards: the same shuffles, sides and random numbers in both arms, card by card.

A block is four battles of one shuffle of both sides' decks: without and with the change, each with the deck in question on
either side. Both versions of a card are rows of one table, so one compiled program plays both arms.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.agent import Agent
from jaxgames.clash import ledger, setup
from jaxgames.clash.config import ClashConfig
from jaxgames.clash.constants import DECK
from jaxgames.clash.game import Clash
from training.play import evaluate
from training.storage.arrays import as_npz, from_npz

ARMS, SIDES = 2, 2
BLOCK = ARMS * SIDES
COUNTS = ("plays", "to_towers", "to_units", "kills", "worth", "towers")  # of each card


@dataclasses.dataclass(frozen=True)
class Decks:
    """What is compared: keys of eight cards each.

    Attributes:
      before: the deck without the change.
      after: with it; a card in the same place is the same card, changed.
      against: decks that it meets, block by block in turn.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    against: tuple[tuple[str, ...], ...]

    @property
    def pool(self) -> tuple[str, ...]:
        """All cards of these decks."""
        return tuple(dict.fromkeys((*self.before, *self.after, *(key for deck in self.against for key in deck))))


@dataclasses.dataclass(frozen=True)
class Starts:
    """Start states by number: `number = 4 * block + 2 * arm + side`. The deck in question is on that side.

    Attributes:
      config: the battle.
      decks: what is compared.
    """

    config: ClashConfig
    decks: Decks

    def __call__(self, key: Array, number: Array) -> Any:
        """Gives the start of a battle, int32 []; `key` is that of the part."""
        ids = self.config.table.card_ids

        def rows(keys: Sequence[str]) -> np.ndarray:
            return np.array([ids[each] for each in keys], np.int8)

        block, arm, side = number // BLOCK, number // SIDES % ARMS, number % SIDES
        own = jnp.where(arm == 1, rows(self.decks.after), rows(self.decks.before))
        others = jnp.asarray(np.stack([rows(deck) for deck in self.decks.against]))
        decks = jnp.where((np.arange(2) == side)[:, None], own, others[block % len(self.decks.against)])
        keys = jax.random.split(jax.random.fold_in(jax.random.fold_in(key, block), _SHUFFLES))
        order = jnp.stack([jax.random.permutation(each, DECK) for each in keys])
        return setup.start(self.config, jnp.take_along_axis(decks, order, axis=1))


_SHUFFLES = 3  # child of a block's key; others are those of `training.play.game_loop`


@dataclasses.dataclass(frozen=True)
class Part:
    """What a number of blocks have given; K blocks, arms (without, with), sides of the deck in question.

    Attributes:
      points: float32 [K, 2, 2], of the deck in question: 1 won, 0.5 drawn, 0 lost.
      lengths: int32 [K, 2, 2], steps of half a second.
      counts: float32 [K, 2, 2, 2, C + 1, 6]: the deck in question and the other; card (last: the towers); `COUNTS`.
    """

    points: np.ndarray
    lengths: np.ndarray
    counts: np.ndarray

    def as_bytes(self) -> bytes:
        """Gives the part as the content of an npz file."""
        return as_npz(vars(self))


def read_part(content: bytes, num_blocks: int, num_cards: int) -> Part:
    """Reads what `Part.as_bytes` gave.

    Raises:
      ValueError: it is torn, or of another size.
    """
    shape = (num_blocks, ARMS, SIDES)
    shapes = {"points": shape, "lengths": shape, "counts": (*shape, 2, num_cards + 1, len(COUNTS))}
    found = from_npz(content, shapes, "part of a report")
    for name, wanted in shapes.items():
        if found[name].shape != wanted:
            raise ValueError(f"{name} of shape {found[name].shape}: must be {wanted}")
    return Part(**found)


def join(parts: Sequence[Part]) -> Part:
    """Puts parts together."""
    return Part(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in dataclasses.fields(Part)))


def play_part(
    game: Clash,
    decks: Decks,
    agents: Sequence[Agent],
    key: Array,
    num_blocks: int,
    *,
    batch_size: int,
    report: Callable[[evaluate.Progress], None] | None = None,
) -> Part:
    """Plays blocks, and counts what each card does.

    Args:
      game: in which all cards of all decks may come.
      decks: what is compared.
      agents: who plays the deck in question, and who plays the other; one object if both are the same.
      key: of the part.
      num_blocks: four battles each.
      batch_size: battles at a time.
      report: as for `evaluate.play`.
    """
    number, starts = BLOCK * num_blocks, Starts(game.config, decks)
    played = evaluate.play(
        game,
        agents,
        key,
        number,
        batch_size=batch_size,
        seating="rotated",
        record=number,
        report=report,
        start_of=starts,
        common=BLOCK,
    )
    counted, ends = _counter(starts)(key, jnp.asarray(played.actions))
    if not np.array_equal(np.asarray(ends), played.outcomes[np.arange(number), 0]):
        raise AssertionError("battles that are played again must end as they did")
    counts = np.stack([np.asarray(getattr(counted, name), np.float32) for name in COUNTS], -1)  # [N, 2, C + 1, 6]
    second = (np.arange(number) % SIDES == 1)[:, None, None, None]
    counts = np.where(second, counts[:, ::-1], counts)
    shape = (num_blocks, ARMS, SIDES)
    points = (1 + played.outcomes[:, 0].astype(np.float32)) / 2
    return Part(points.reshape(shape), played.lengths.reshape(shape), counts.reshape(*shape, *counts.shape[1:]))


@functools.lru_cache(maxsize=4)
def _counter(starts: Starts) -> Callable[[Array, Array], tuple[ledger.Ledger, Array]]:
    """Jits playing recorded battles again: what cards did, and int8 [N], how they ended for the deck in question."""
    game = Clash(starts.config)

    def count(key: Array, actions: Array) -> tuple[ledger.Ledger, Array]:
        number = jnp.arange(len(actions))
        states = jax.vmap(starts, (None, 0))(key, number)
        found, ends = ledger.of_battles(starts.config, states, actions)
        outcome = jnp.take_along_axis(jax.vmap(game.outcome)(ends), (number % SIDES)[:, None], axis=1)[:, 0]
        return found, outcome.astype(jnp.int8)

    return jax.jit(count)
