"""Which battle: the table of cards, the decks, levels, the clock, and how many units there may be."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable
from typing import Any

from jaxgames import checks
from jaxgames.clash.card_file import standard_table
from jaxgames.clash.card_table import Table
from jaxgames.clash.cards import Card, Unit
from jaxgames.clash.constants import (
    DECK,
    ELIXIR,
    LEVEL,
    MOST_ELIXIR,
    MOST_LEVEL,
    NUM_TILES,
    OVERTIME_TICKS,
    REGULAR_TICKS,
    TICKS_PER_STEP,
    TOWERS,
)
from jaxgames.clash.levels import FIRST_LEVELS

BEGINNER_DECK = ("knight", "giant", "archers", "arrows", "minions", "fireball", "musketeer", "baby-dragon")
MODES = ("beginner", "all", "toy")
VALUES = ("play_on", "play_on_hp", "towers")
TIEBREAKS = ("draw", "lowest_tower_hp")
MOST_SLOTS, MOST_SPELLS = 64, 32
_RANGES = {
    "start_elixir": (0, MOST_ELIXIR),
    "regular_ticks": (TICKS_PER_STEP, 12_000),
    "overtime_ticks": (0, 12_000),
    "double_from_tick": (0, 30_000),
    "triple_from_tick": (0, 30_000),
    "slots": (TOWERS + 1, MOST_SLOTS),
    "spell_slots": (1, MOST_SPELLS),
    "positions": (1, NUM_TILES),
    "value_ticks": (1, 12_000),
}
_OPTIONAL = ("triple_from_tick",)


@dataclasses.dataclass(frozen=True)
class ClashConfig:
    """Settings of a battle; checked when made.

    Attributes:
      decks: of both players, keys of eight different cards each; () for a deck that is drawn from `pool` at the start.
      pool: keys of the cards of which such decks are drawn; () for all of the table.
      levels: of both players, of all their cards and towers.
      start_elixir: at the start.
      regular_ticks: ticks of 0.1 s before overtime.
      overtime_ticks: ticks of 0.1 s in which the first tower that falls decides.
      double_from_tick: elixir comes twice as fast from this tick on.
      triple_from_tick: three times as fast; None: never.
      tiebreak: of a battle with equal towers at the end of overtime: "draw", or "lowest_tower_hp" (whose weakest tower has
        fewer hit points loses).
      slots: places for units per player, of which three are towers; a card for which there are too few cannot be played.
      spell_slots: places for spells in flight per player.
      positions: for each card, among which `search_arms` offers.
      value: what `heuristic` goes by: "play_on" (who has more towers when all that is on the arena has been played out without
        further cards), "play_on_hp" (the same, and where these are equally many, of their hit points), or "towers" (who has
        more of them now).
      value_ticks: so many ticks are played on at most.
      shaping: weight of the difference of the towers' hit points in `heuristic`.
      table: units and cards.
    """

    decks: tuple[tuple[str, ...], ...] = (BEGINNER_DECK, BEGINNER_DECK)
    pool: tuple[str, ...] = ()
    levels: tuple[int, int] = (LEVEL, LEVEL)
    start_elixir: int = 5
    regular_ticks: int = REGULAR_TICKS
    overtime_ticks: int = OVERTIME_TICKS
    double_from_tick: int = 1_200
    triple_from_tick: int | None = None
    tiebreak: str = "draw"
    slots: int = 20
    spell_slots: int = 6
    positions: int = 64
    value: str = VALUES[0]
    value_ticks: int = 700
    shaping: float = 0.0
    table: Table = dataclasses.field(default_factory=standard_table)

    def __post_init__(self) -> None:
        for name, (low, high) in _RANGES.items():
            if name in _OPTIONAL and getattr(self, name) is None:
                continue
            number = checks.as_integer(getattr(self, name))
            if number is None or not low <= number <= high:
                other = " or None" if name in _OPTIONAL else ""
                raise ValueError(f"{name}={getattr(self, name)!r}: must be an integer in {low}..{high}{other}")
            object.__setattr__(self, name, number)
        if self.regular_ticks % TICKS_PER_STEP or self.overtime_ticks % TICKS_PER_STEP:
            given = f"regular_ticks={self.regular_ticks}, overtime_ticks={self.overtime_ticks}"
            raise ValueError(f"{given}: must be multiples of {TICKS_PER_STEP}")
        if self.tiebreak not in TIEBREAKS:
            raise ValueError(f"tiebreak={self.tiebreak!r}: {checks.one_of(self.tiebreak, TIEBREAKS)}")
        if self.value not in VALUES:
            raise ValueError(f"value={self.value!r}: {checks.one_of(self.value, VALUES)}")
        checks.shares(self, "shaping")
        object.__setattr__(self, "shaping", float(self.shaping))
        if not isinstance(self.table, Table):
            raise ValueError(f"table={self.table!r}: must be a Table, such as standard_table()")
        self._check_cards()
        self._check_levels()
        self._check_slots()

    def _check_levels(self) -> None:
        given: Any = self.levels
        levels = tuple(given) if isinstance(given, Iterable) else ()
        if len(levels) != 2:
            raise ValueError(f"levels={self.levels!r}: must be two, one per player")
        numbers = [_as_level(level) for level in levels]
        for number, cards in zip(numbers, self.cards_of, strict=True):
            rows: tuple[Card | Unit, ...] = (*cards, *self._units_with(cards))
            rarest = max(rows, key=lambda row: FIRST_LEVELS[row.rarity])
            if number < FIRST_LEVELS[rarest.rarity]:
                name = rarest.key if isinstance(rarest, Card) else f"unit {rarest.name!r}"
                bounds = f"{FIRST_LEVELS[rarest.rarity]}..{MOST_LEVEL}"
                raise ValueError(f"level={number}: must be {bounds}, as {name} is {rarest.rarity}")
        object.__setattr__(self, "levels", tuple(numbers))

    def _check_cards(self) -> None:
        given: Any = self.decks
        decks = given.split("/") if isinstance(given, str) else given
        rows = tuple(_words("decks", deck) for deck in decks) if isinstance(decks, Iterable) else ()
        if len(rows) != 2:
            raise ValueError(f"decks: {len(rows)}, must be two, one per player, such as (deck, deck) or knight+.../knight+...")
        pool = _words("pool", self.pool)
        for label, keys in (("deck of player 0", rows[0]), ("deck of player 1", rows[1]), ("pool", pool)):
            for key in keys:
                if key not in self.table.card_ids:
                    raise ValueError(f"{label}: {key!r} is no card; {self.table.meant(key)}")
                if keys.count(key) > 1:
                    raise ValueError(f"{label}: {key!r} is there twice, must be there once")
        for player, keys in enumerate(rows):
            if len(keys) not in (0, DECK):
                raise ValueError(f"deck of player {player}: {len(keys)} cards, must be {DECK}, or none for a drawn deck")
        if not all(rows) and len(pool or self.table.cards) < DECK:
            raise ValueError(f"pool: {len(pool or self.table.cards)} cards, must be at least {DECK}")
        object.__setattr__(self, "decks", rows)
        object.__setattr__(self, "pool", pool)

    def _check_slots(self) -> None:
        most = max((card for cards in self.cards_of for card in cards), key=lambda card: card.count)
        if self.slots < most.count + TOWERS:
            need = most.count + TOWERS
            raise ValueError(f"slots={self.slots}: {most.key} has {most.count} units, so must be at least {need}")

    @functools.cached_property
    def cards_of(self) -> tuple[tuple[Card, ...], tuple[Card, ...]]:
        """What may be in the deck of each player."""
        drawn = self.pool or tuple(card.key for card in self.table.cards)
        first, second = (tuple(self.table.card(key) for key in deck or drawn) for deck in self.decks)
        return first, second

    @functools.cached_property
    def units(self) -> tuple[Unit, ...]:
        """All units that may come, towers and what others leave or make too."""
        return self._units_with([card for cards in self.cards_of for card in cards])

    def _units_with(self, cards: Iterable[Card]) -> tuple[Unit, ...]:
        """The towers, what these cards bring, and what that leaves or makes."""
        table = self.table
        names = [unit.name for unit in table.units[:2]] + [name for card in cards for name in (card.unit, card.spawn) if name]
        for name in names:  # grows meanwhile
            unit = table.unit(name)
            names += [child for child in (unit.death_spawn, unit.spawn) if child and child not in names]
        return tuple(table.unit(name) for name in dict.fromkeys(names))

    @functools.cached_property
    def spells(self) -> tuple[Card, ...]:
        """All spells that may come."""
        cards = dict.fromkeys(card for cards in self.cards_of for card in cards)
        return tuple(card for card in cards if card.type == "spell")

    @functools.cached_property
    def deployers(self) -> dict[str, Card]:
        """The card by whose cost each unit is valued, by name: the first of the table of those that may come and deploy it."""
        may_come = {card.key for cards in self.cards_of for card in cards}
        found: dict[str, Card] = {}
        for card in self.table.cards:
            if card.key in may_come and card.unit:
                found.setdefault(card.unit, card)
        return found

    @property
    def last_tick(self) -> int:
        """No battle is longer."""
        return self.regular_ticks + self.overtime_ticks

    @property
    def max_steps(self) -> int:
        """The same in steps of agents."""
        return self.last_tick // TICKS_PER_STEP

    @property
    def start_units(self) -> int:
        """Elixir at the start, in the units of the state."""
        return self.start_elixir * ELIXIR


def _words(label: str, given: Any) -> tuple[str, ...]:
    """Makes a tuple of keys; they may be written with "+" between."""
    keys = tuple(given.split("+")) if isinstance(given, str) and given else given
    if not isinstance(keys, Iterable) or not all(isinstance(key, str) for key in keys):
        raise ValueError(f"{label}={given!r}: must be keys of cards, such as 'knight'")
    return tuple(keys)


def preset(mode: str) -> ClashConfig:
    """Gives a configuration by its short name.

    Args:
      mode: "beginner" (the beginners' deck on both sides), "all" (decks drawn from all cards), or "toy" (20 s, few slots).

    Raises:
      ValueError: for an unknown name.
    """
    if mode == "beginner":
        return ClashConfig()
    if mode == "all":
        return ClashConfig(decks=((), ()), slots=32, spell_slots=8, value_ticks=1_500)
    if mode == "toy":
        return ClashConfig(regular_ticks=100, overtime_ticks=100, slots=9, spell_slots=2, start_elixir=10, positions=4)
    raise ValueError(f"mode={mode!r}: {checks.one_of(mode, MODES)}")


def _as_level(given: Any) -> int:
    number = checks.as_integer(given)
    if number is None or not 1 <= number <= MOST_LEVEL:
        raise ValueError(f"level={given!r}: must be an integer in 1..{MOST_LEVEL}")
    return number
