"""Random battles, and states written out plainly so that they can be compared."""

from __future__ import annotations

import random
from typing import Any

from tests.clash_reference.battle import WAIT, Battle
from tests.clash_reference.tables import CARDS, COLUMNS, HAND, HEIGHT, POSITIONS, ROWS, WIDTH

DECK = 8
TRIES = 30  # of which nearly always one is legal
UNIT_FIELDS = ("hp", "shield", "cooldown", "deploy_left", "age", "stun", "slow_ticks", "slow_percent", "awake")
Snapshot = dict[tuple[Any, ...], Any]


def random_decks(draws: random.Random) -> tuple[tuple[str, ...], tuple[str, ...]]:
    keys = [card.key for card in CARDS]
    return tuple(draws.sample(keys, DECK)), tuple(draws.sample(keys, DECK))


def random_action(draws: random.Random, battle: Battle, seat: int) -> int:
    """Waits now and then; else one card of the hand, each alike, on a legal tile, each alike (all but rarely)."""
    k = draws.randrange(HAND + 1)
    if k == HAND:
        return WAIT
    card = battle.players[seat].hand[k]
    for _ in range(TRIES):
        row, column = draws.randrange(ROWS), draws.randrange(COLUMNS)
        if battle.may_deploy_at(seat, card, column, row):
            return 1 + k * POSITIONS + row * COLUMNS + column
    return WAIT


def snapshot(battle: Battle) -> Snapshot:
    """Every fact of a state by name: (what, seat, slot, field)."""
    facts: Snapshot = {("battle", "tick"): battle.tick, ("battle", "winner"): battle.winner}
    for player in battle.players:
        seat = player.seat
        facts[("player", seat, "elixir")] = player.elixir
        facts[("player", seat, "hand")] = [card.key for card in player.hand]
        facts[("player", seat, "queue")] = [card.key for card in player.queue]
        facts[("player", seat, "saving_for")] = player.saving_for
        facts[("player", seat, "past")] = list(player.past)
        for slot, unit in player.units.items():
            facts[("unit", seat, slot, "name")] = unit.type.name
            facts[("unit", seat, slot, "position")] = (unit.x, unit.y)
            target = unit.target
            facts[("unit", seat, slot, "target")] = None if target is None else (target.player, target.slot)
            facts[("unit", seat, slot, "parity")] = unit.shots % 2
            for field in UNIT_FIELDS:
                facts[("unit", seat, slot, field)] = getattr(unit, field)
        for place, shot in player.projectiles.items():
            facts[("shot", seat, place, "ticks")] = shot.ticks
            facts[("shot", seat, place, "name")] = shot.type.name
            facts[("shot", seat, place, "position")] = (shot.x, shot.y)
            aim = (shot.target.player, shot.target.slot) if shot.target.alive else None
            facts[("shot", seat, place, "target")] = aim
        for index, spell in enumerate(player.spells):
            if spell is not None:
                what = spell.card.key if spell.card is not None else spell.corpse and spell.corpse.name
                facts[("spell", seat, index, "what")] = what
                facts[("spell", seat, index, "position")] = (spell.x, spell.y)
                facts[("spell", seat, index, "ticks")] = spell.ticks
                facts[("spell", seat, index, "waves")] = spell.waves
    return facts


def mirrored(facts: Snapshot) -> Snapshot:
    """The same state with the players exchanged and the arena turned by half."""

    def value(name: Any, fact: Any) -> Any:
        if fact is None:
            return None
        if name == "position":
            return WIDTH - fact[0], HEIGHT - fact[1]
        if name == "target":
            return 1 - fact[0], fact[1]
        if name == "winner":
            return {0: 1, 1: 0}.get(fact, fact)
        return fact

    return {(key[0], 1 - key[1], *key[2:]) if len(key) > 2 else key: value(key[-1], fact) for key, fact in facts.items()}
