"""A battle: clock, elixir, cards, what may be deployed where, agent steps, end, and the value by playing on."""

from __future__ import annotations

import dataclasses

from tests.clash_reference.objects import Area, Player, Spell, Unit
from tests.clash_reference.tables import (
    CARDS_BY_KEY,
    COLUMNS,
    DOUBLE_ELIXIR_FROM,
    FOOTPRINTS,
    HAND,
    KING,
    KING_TOWER,
    LEFT_TOWER,
    LEVEL,
    MAX_ELIXIR,
    NUM_TOWERS,
    OVERTIME_TICKS,
    POSITIONS,
    PRINCESS_TOWER,
    REGULAR_TICKS,
    RIGHT_TOWER,
    ROWS,
    TICKS_PER_STEP,
    TILE,
    TOWER_CENTRES,
    UNITS,
    UNITS_PER_ELIXIR,
    Card,
    distance,
    sign,
    to_absolute,
    travel_ticks,
    turn,
)
from tests.clash_reference.tick import Tick

WAIT = 0
DRAW = 2
OWN_ROWS, POCKET_ROWS = range(15), range(17, 21)
BACK_ROW_COLUMNS = range(6, 12)
POCKETS = {LEFT_TOWER: range(9, 18), RIGHT_TOWER: range(9)}  # columns opened by the fall of this enemy tower


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a battle may be played with."""

    levels: tuple[int, int] = (LEVEL, LEVEL)
    slots: int = 32
    spell_slots: int = 8
    start_elixir: int = 5
    regular_ticks: int = REGULAR_TICKS
    overtime_ticks: int = OVERTIME_TICKS
    double_from_tick: int = DOUBLE_ELIXIR_FROM
    triple_from_tick: int | None = None
    weakest_tower_loses: bool = False


def tile_centre(column: int, row: int) -> tuple[int, int]:
    return TILE * column + TILE // 2, TILE * row + TILE // 2


def spell_area(card: Card) -> Area:
    """What one wave of a spell does."""
    return Area(
        radius=card.radius,
        damage=card.damage,
        crown_damage_pct=card.crown_damage_pct,
        building_damage_pct=card.building_damage_pct,
        pushback=card.pushback,
        hits_air=card.hits_air,
        hits_ground=card.hits_ground,
        stun_ticks=card.stun_ticks,
        slow_pct=card.slow_pct,
        slow_ticks=card.slow_ticks,
    )


class Battle:
    """Two players, a clock and an outcome."""

    def __init__(self, decks: tuple[tuple[str, ...], tuple[str, ...]], settings: Settings | None = None):
        """Sets the towers up; the first four cards of a deck are its hand, the others its queue."""
        self.settings = settings = settings or Settings()
        cards = tuple(tuple(CARDS_BY_KEY[key] for key in deck) for deck in decks)
        elixir = settings.start_elixir * UNITS_PER_ELIXIR
        self.players = (
            Player(0, cards[0], settings.levels[0], settings.slots, settings.spell_slots, elixir),
            Player(1, cards[1], settings.levels[1], settings.slots, settings.spell_slots, elixir),
        )
        self.tick = 0
        self.winner: int | None = None  # a seat, or DRAW
        for player in self.players:
            for slot, (x, y) in enumerate(TOWER_CENTRES):
                kind = player.kinds[(KING_TOWER if slot == KING else PRINCESS_TOWER).id]
                tower = player.place(kind, slot, *to_absolute(player.seat, x, y), deploy_ticks=0)
                tower.awake = slot != KING

    @property
    def done(self) -> bool:
        return self.winner is not None

    @property
    def units(self) -> list[Unit]:
        """All that stands, towers too, in the order of slots."""
        return [unit for player in self.players for _, unit in sorted(player.units.items())]

    # Deployment

    def may_deploy_at(self, seat: int, card: Card, column: int, row: int) -> bool:
        """Whether a tile of the own frame is legal for a card."""
        if not (0 <= column < COLUMNS and 0 <= row < ROWS):
            return False
        if card.is_spell:
            return True
        if not (self._on_own_ground(seat, column, row) or self._in_pocket(seat, column, row)):
            return False
        return card.type != "building" or not self._touches_building(seat, card, column, row)

    def _on_own_ground(self, seat: int, column: int, row: int) -> bool:
        if row not in OWN_ROWS or (row == 0 and column not in BACK_ROW_COLUMNS):
            return False
        standing = self.players[seat].units
        return not any(slot in standing and column in columns and row in rows for slot, (columns, rows) in enumerate(FOOTPRINTS))

    def _in_pocket(self, seat: int, column: int, row: int) -> bool:
        standing = self.players[1 - seat].units
        return row in POCKET_ROWS and any(slot not in standing and column in columns for slot, columns in POCKETS.items())

    def _touches_building(self, seat: int, card: Card, column: int, row: int) -> bool:
        x, y = to_absolute(seat, *tile_centre(column, row))
        radius = UNITS[card.unit_id].radius
        return any(
            unit.type.is_building and (unit.x - x) ** 2 + (unit.y - y) ** 2 < (unit.type.radius + radius) ** 2
            for unit in self.units
        )

    def has_room(self, seat: int, card: Card) -> bool:
        """Whether there are slots for all that a card brings."""
        player = self.players[seat]
        if card.is_spell:
            return player.idle_spell_slot() is not None
        return len(player.free_slots()) >= len(card.offsets)

    def can_pay(self, seat: int, card: Card) -> bool:
        return self.players[seat].elixir >= card.cost * UNITS_PER_ELIXIR

    def legal_actions(self, seat: int) -> list[int]:
        """All legal actions, an unaffordable card with its first tile only."""
        return [WAIT] + [action for k in range(HAND) for action in self.legal_actions_of(seat, k)]

    def legal_actions_of(self, seat: int, k: int) -> list[int]:
        """Those with one card of the hand."""
        card, first = self.players[seat].hand[k], 1 + k * POSITIONS
        if self.done or self.players[seat].saving_for is not None:
            return []
        if not self.can_pay(seat, card):
            return [first]
        if not self.has_room(seat, card):
            return []
        tiles = [(column, row) for row in range(ROWS) for column in range(COLUMNS)]
        return [first + row * COLUMNS + column for column, row in tiles if self.may_deploy_at(seat, card, column, row)]

    def deploy(self, seat: int, card: Card, column: int, row: int) -> None:
        """Sets the units of a card down, or casts it; pays nothing."""
        player = self.players[seat]
        x, y = to_absolute(seat, *tile_centre(column, row))
        if card.is_spell:
            self.cast(seat, card, x, y)
            return
        kind = player.kinds[card.unit_id]
        for slot, offset in zip(player.free_slots(), card.offsets, strict=False):
            dx, dy = turn(seat, *offset)
            player.place(kind, slot, x + dx, y + dy, kind.deploy_ticks)

    def cast(self, seat: int, card: Card, x: int, y: int) -> None:
        """Sends a spell on its way to a position of the arena, from the own king."""
        ticks = card.first_wave_ticks
        if card.projectile_speed:
            king = self.players[seat].units[KING]
            ticks = travel_ticks(distance(king.x, king.y, x, y), card.projectile_speed)
        self.players[seat].cast(Spell(spell_area(card), x, y, ticks, card.waves, card))

    def judge(self, seat: int, action: int) -> tuple[int, int, int] | None:
        """What an action plays: place in the hand, column, row. None is to wait, or to begin to save for a card."""
        player = self.players[seat]
        if not 0 < action <= HAND * POSITIONS or player.saving_for is not None:
            return None
        k, position = divmod(action - 1, POSITIONS)
        row, column = divmod(position, COLUMNS)
        card = player.hand[k]
        if not self.can_pay(seat, card):
            player.saving_for = k
            return None
        legal = self.has_room(seat, card) and self.may_deploy_at(seat, card, column, row)
        return (k, column, row) if legal else None

    def play(self, seat: int, k: int, column: int, row: int) -> tuple[int, int, int]:
        """Pays for a card, plays it and takes the next; returns what is remembered: card, column, row."""
        player = self.players[seat]
        card = player.hand[k]
        player.elixir -= card.cost * UNITS_PER_ELIXIR
        player.hand[k] = player.queue.pop(0)
        player.queue.append(card)
        self.deploy(seat, card, column, row)
        return card.id, column, row

    # Time

    def step(self, actions: tuple[int, int]) -> None:
        """An agent step of half a second."""
        if self.done:
            return
        played = [self.judge(seat, action) for seat, action in enumerate(actions)]  # both on the state before either
        for player, play in zip(self.players, played, strict=True):
            player.past = [(-1, 0, 0) if play is None else self.play(player.seat, *play), *player.past[:-1]]
        for _ in range(TICKS_PER_STEP):
            self.run_tick()
        for player in self.players:
            if player.saving_for is not None and self.can_pay(player.seat, player.hand[player.saving_for]):
                player.saving_for = None

    def run_tick(self) -> None:
        """One tick; nothing once the battle is over."""
        if self.done:
            return
        for player in self.players:
            player.elixir = min(player.elixir + self._elixir_per_tick(), MAX_ELIXIR)
        Tick(self.players, self.tick).run()
        self.tick += 1
        self.winner = self._winner()

    def _elixir_per_tick(self) -> int:
        triple = self.settings.triple_from_tick
        if triple is not None and self.tick >= triple:
            return 3
        return 1 if self.tick < self.settings.double_from_tick else 2

    def _winner(self) -> int | None:
        settings = self.settings
        kings = [KING in player.units for player in self.players]
        if not all(kings):
            return DRAW if not any(kings) else kings.index(True)
        counts = [len(player.towers) for player in self.players]
        if self.tick >= settings.regular_ticks and counts[0] != counts[1]:
            return 0 if counts[0] > counts[1] else 1
        if self.tick < settings.regular_ticks + settings.overtime_ticks:
            return None
        weakest = [min(tower.hp for tower in player.towers) for player in self.players]
        if not settings.weakest_tower_loses or weakest[0] == weakest[1]:
            return DRAW
        return 0 if weakest[0] > weakest[1] else 1

    # Value

    def play_on(self, most_ticks: int) -> int:
        """Runs on without deployments until only towers are left; returns the sign of player 0's lead in towers."""
        for _ in range(most_ticks):
            if self.done or self._quiet():
                break
            self.run_tick()
        counts = [len(player.towers) if KING in player.units else 0 for player in self.players]
        return sign(counts[0] - counts[1])

    def _quiet(self) -> bool:
        return all(
            all(slot < NUM_TOWERS for slot in player.units)
            and not player.projectiles
            and all(spell is None for spell in player.spells)
            for player in self.players
        )
