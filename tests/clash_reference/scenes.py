"""Small battles made by hand: what the written interactions ask for, and the tools to set them up."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.clash_reference.battle import DRAW, Battle, Settings
from tests.clash_reference.objects import Unit
from tests.clash_reference.play import mirrored, random_action, random_decks, snapshot
from tests.clash_reference.tables import (
    BEGINNER_DECK,
    CARDS_BY_KEY,
    KING,
    LAST_TICK,
    LEFT_TOWER,
    MAX_ELIXIR,
    NORTH_BANK,
    REGULAR_TICKS,
    RIGHT_TOWER,
    UNITS,
    UNITS_BY_NAME,
    turn,
)

FOREVER = 10**6
MOST_TICKS = 1000


def empty(settings: Settings | None = None, towers: bool = True) -> Battle:
    """A battle in which nothing has happened; without `towers` they stand but never shoot."""
    battle = Battle((BEGINNER_DECK, BEGINNER_DECK), settings)
    if not towers:
        for tower in battle.units:
            tower.stun = FOREVER
    return battle


def place(battle: Battle, seat: int, name: str, x: int, y: int, held: bool = False) -> Unit:
    """Sets one unit down at a position of the arena; `held` keeps it in deployment for good."""
    kind, player = UNITS_BY_NAME[name], battle.players[seat]
    return player.place(kind, player.free_slots()[0], x, y, FOREVER if held else kind.deploy_ticks)


def place_card(battle: Battle, seat: int, key: str, x: int, y: int) -> list[Unit]:
    """Sets the units of a card down around a position of the arena."""
    card = CARDS_BY_KEY[key]
    offsets = [turn(seat, *offset) for offset in card.offsets]
    return [place(battle, seat, UNITS[card.unit_id].name, x + dx, y + dy) for dx, dy in offsets]


def troops(battle: Battle, seat: int) -> list[Unit]:
    return [unit for unit in battle.units if unit.player == seat and not unit.type.is_crown_tower]


def ready(unit: Unit) -> Unit:
    """Deployed, and loaded as far as one may be without a target."""
    unit.deploy_left, unit.cooldown = 0, unit.type.windup_ticks
    return unit


def run(battle: Battle, ticks: int) -> None:
    for _ in range(ticks):
        battle.run_tick()


def ticks_until(battle: Battle, happened: Callable[[], bool], most: int = MOST_TICKS) -> int:
    """Runs until something has happened; returns the ticks that it took, counted from now."""
    for tick in range(most + 1):
        if happened():
            return tick
        battle.run_tick()
    raise AssertionError(f"nothing happened in {most} ticks")


def duel(first: str, second: str, separation: int, y: int) -> dict[str, Any]:
    battle = empty(towers=False)
    place_card(battle, 0, first, 9000 - separation // 2, y)
    place_card(battle, 1, second, 9000 + separation // 2, y)
    ticks = ticks_until(battle, lambda: not (troops(battle, 0) and troops(battle, 1)))
    left = [unit.hp for seat in (0, 1) for unit in troops(battle, seat)]
    winners = [name for seat, name in enumerate(("first", "second")) if troops(battle, seat)]
    return {"winner": winners[0] if winners else "draw", "ticks": ticks, "survivors": left, "hp_left_total": sum(left)}


def lone(card: str, x: int, y: int) -> dict[str, Any]:
    battle = empty()
    mine = place_card(battle, 0, card, x, y)
    full, towers = sum(unit.hp for unit in mine), battle.players[1].towers
    whole = sum(tower.hp for tower in towers)
    tower_hit = hit_taken = ticks = 0
    while troops(battle, 0) and ticks < MOST_TICKS:
        battle.run_tick()
        ticks += 1
        if not tower_hit and sum(tower.hp for tower in towers) < whole:
            tower_hit = ticks
        if not hit_taken and sum(unit.hp for unit in mine) < full:
            hit_taken = ticks
    return {
        "ticks": ticks,
        "tower_damage": whole - sum(tower.hp for tower in towers),  # the last hit counts whole
        "first_tower_hit_tick": tower_hit,
        "first_hit_taken_tick": hit_taken,
        "left": [unit.hp for unit in troops(battle, 0)],
        "towers_alive": len(battle.players[1].towers),
    }


def hits_until_dead(battle: Battle, victim: Unit) -> tuple[int, int]:
    """Ticks in which a unit lost hitpoints until it died, and the ticks that all of it took."""
    hits = ticks = 0
    while victim.alive and ticks < MOST_TICKS:
        before = victim.hp
        battle.run_tick()
        ticks += 1
        hits += victim.hp < before
    return hits, ticks


def tower_shots(unit: str) -> dict[str, Any]:
    battle = empty()
    victim = place(battle, 1, unit, 3500, 11_000, held=True)
    return {"shots": hits_until_dead(battle, victim)[0]}


def cast_and_wait(battle: Battle, seat: int, key: str, x: int, y: int) -> int:
    """Casts a spell and runs until it is over; returns the tick in which it landed last."""
    battle.cast(seat, CARDS_BY_KEY[key], x, y)
    return ticks_until(battle, lambda: all(spell is None for spell in battle.players[seat].spells))


def arrows_vs_minion() -> dict[str, Any]:
    battle = empty(towers=False)
    names = ("Minion", "Archer", "Goblin", "Musketeer")
    units = [place(battle, 1, name, 6000 + 1500 * i, 12_000, held=True) for i, name in enumerate(names)]
    cast_and_wait(battle, 0, "arrows", 8000, 12_000)
    minion, archer, goblin, musketeer = units
    return {
        "total": musketeer.type.hp - musketeer.hp,
        "minion_dead": not minion.alive,
        "archer_dead": not archer.alive,
        "goblin_dead": not goblin.alive,
        "musketeer_hp_left": musketeer.hp,
    }


def fireball_vs_musketeer() -> dict[str, Any]:
    battle = empty(towers=False)
    musketeer = place(battle, 1, "Musketeer", 3500, 11_000, held=True)
    cast_and_wait(battle, 0, "fireball", 3500, 10_500)
    left = musketeer.hp
    battle.players[0].units[LEFT_TOWER].stun = 0
    return {"hp_left": left, "plus_tower_shots": hits_until_dead(battle, musketeer)[0]}


def spell_crown_damage() -> dict[str, Any]:
    battle = empty(towers=False)
    tower = battle.players[1].units[LEFT_TOWER]
    cast_and_wait(battle, 0, "fireball", tower.x, tower.y)
    fireball = tower.type.hp - tower.hp
    cast_and_wait(battle, 0, "arrows", tower.x, tower.y)
    return {"fireball": fireball, "arrows_total": tower.type.hp - tower.hp - fireball}


def siege(victim: Unit, battle: Battle, attackers: list[Unit]) -> tuple[int, float]:
    """Hits that a unit takes from ready attackers, and the seconds from contact to its death."""
    for unit in attackers:
        ready(unit)
    hits, ticks = hits_until_dead(battle, victim)
    return hits, ticks / 10


def knight_hits_giant() -> dict[str, Any]:
    battle = empty(towers=False)
    giant = place(battle, 1, "Giant", 9000, 12_000, held=True)
    hits, seconds = siege(giant, battle, [place(battle, 0, "Knight", 9000, 10_500)])
    return {"hits": hits, "seconds": seconds}


def minions_against_giant() -> dict[str, Any]:
    battle = empty(towers=False)
    giant = place(battle, 1, "Giant", 9000, 12_000, held=True)
    minions = place_card(battle, 0, "minions", 9000, 10_500)
    _, seconds = siege(giant, battle, minions)
    return {"volleys": max(minion.shots for minion in minions), "seconds": seconds}


def giant_hits_princess() -> dict[str, Any]:
    battle = empty(towers=False)
    hits, seconds = siege(battle.players[1].units[RIGHT_TOWER], battle, [place(battle, 0, "Giant", 3500, 22_800)])
    return {"hits": hits, "seconds_from_contact": seconds}


def elixir_full_time() -> dict[str, Any]:
    ticks = {}
    for name, start in (("ticks_1x", 0), ("ticks_2x", 1200)):
        battle = empty()
        battle.tick = start
        ticks[name] = ticks_until(battle, lambda battle=battle: battle.players[0].elixir == MAX_ELIXIR)
    return ticks


def deploy_tiles() -> dict[str, Any]:
    battle = empty()

    def count(card: str) -> int:
        tiles = [(column, row) for row in range(32) for column in range(18)]
        return sum(battle.may_deploy_at(0, CARDS_BY_KEY[card], *tile) for tile in tiles)

    counts = {"spell": count("fireball"), "start": count("knight")}
    for name, slot in (("one", LEFT_TOWER), ("both", RIGHT_TOWER)):
        battle.players[1].units[slot].hp = 0
        battle.run_tick()
        counts[name] = count("knight")
    return counts


def tower_outranges_musketeer() -> dict[str, Any]:
    battle = empty()
    tower = battle.players[0].units[LEFT_TOWER]
    reach = {}
    for name, of_tower in (("tower_reach", True), ("musketeer_reach", False)):
        lengths = range(12_000)
        one = place(battle, 1, "Musketeer", tower.x, tower.y)
        for length in lengths:
            one.y = tower.y + length
            if tower.reaches(one) if of_tower else one.reaches(tower):
                reach[name] = length
    return reach


def fireball_knockback() -> dict[str, Any]:
    battle = empty(towers=False)
    knight = place(battle, 1, "Knight", 9000, 13_000)
    giant = place(battle, 1, "Giant", 10_400, 13_000)
    ticks = cast_and_wait(battle, 0, "fireball", 9000, 12_000)
    return {
        "knight_to": [knight.x, knight.y],
        "giant_to": [giant.x, giant.y],
        "knight_hp": knight.hp,
        "giant_hp": giant.hp,
        "land_tick": ticks,
    }


def crossing() -> dict[str, Any]:
    result = {}
    for name, kind in (("knight", "Knight"), ("dragon", "BabyDragon")):
        battle = empty()
        unit = place(battle, 0, kind, 9000, 13_500)
        result[f"{name}_cross_tick"] = ticks_until(battle, lambda unit=unit: unit.y > NORTH_BANK)
        result[f"{name}_x"] = unit.x
    return result


def cannon_pulls_giant() -> dict[str, Any]:
    battle = empty(towers=False)
    giant, cannon = place(battle, 0, "Giant", 3500, 14_500), place(battle, 1, "Cannon", 9500, 20_500)
    seen = ticks_until(battle, lambda: giant.target is cannon)
    dead = seen + ticks_until(battle, lambda: not cannon.alive)
    towers = battle.players[1].towers
    return {
        "target_switch_tick": seen,
        "cannon_dead_tick": dead,
        "princess_damage": sum(tower.type.hp - tower.hp for tower in towers if tower.slot != KING),
    }


def sudden_death() -> dict[str, Any]:
    equal, unequal = empty(), empty()
    for battle in (equal, unequal):
        ticks_until(battle, lambda battle=battle: battle.tick == REGULAR_TICKS or battle.done, REGULAR_TICKS)
    goes_on = not equal.done
    unequal.players[1].units[LEFT_TOWER].hp = 0
    unequal.run_tick()
    ticks_until(equal, lambda: equal.done, LAST_TICK)
    return {
        "goes_on": goes_on,
        "first_tower_decides": unequal.winner == 0 and unequal.tick == REGULAR_TICKS + 1,
        "draw_at_the_end": equal.winner == DRAW and equal.tick == LAST_TICK,
    }


def projectile_fizzle() -> dict[str, Any]:
    """A shot at one who dies meanwhile harms nobody, also who takes its slot; a fireball of a dragon bursts where it was."""
    results = {}
    for name, shooter in (("single", "Archer"), ("splash", "BabyDragon")):
        battle = empty(towers=False)
        unit = place(battle, 0, shooter, 9000, 10_000)
        victim = place(battle, 1, "Skeleton", 9000, 13_000, held=True)
        unit.deploy_left = 0
        ticks_until(battle, lambda battle=battle: bool(battle.players[0].projectiles))
        unit.deploy_left = FOREVER
        victim.hp = 0
        battle.run_tick()
        heir = place(battle, 1, "Knight", 9000, 13_200, held=True)
        ticks_until(battle, lambda battle=battle: not battle.players[0].projectiles)
        lost = heir.type.hp - heir.hp
        results[name] = heir.slot == victim.slot and lost == (unit.type.damage if unit.type.splash_radius else 0)
    return results


def rotation_symmetry() -> dict[str, Any]:
    """Whole battles of all cards against the same with the players exchanged: how many fields differ, over all ticks."""
    differing = 0
    for seed in (0,):
        draws = random.Random(seed)
        decks = random_decks(draws)
        battle, turned = Battle(decks), Battle((decks[1], decks[0]))
        while not battle.done:
            actions = random_action(draws, battle, 0), random_action(draws, battle, 1)
            battle.step(actions)
            turned.step(actions[::-1])
            one, other = snapshot(battle), mirrored(snapshot(turned))
            differing += sum(one[key] != other[key] for key in one)
    return {"max_abs_diff": differing}


def order_independence() -> dict[str, Any]:
    """The same troops in other slots fare the same."""
    outcomes = []
    for order in ((0, 1, 2, 3), (3, 1, 0, 2)):
        battle = empty()
        where = (("Knight", 3200, 14_000), ("Archer", 4100, 13_000), ("Minion", 5200, 12_500), ("Giant", 2600, 11_000))
        mine = {where[i][0]: place(battle, 0, *where[i]) for i in order}
        theirs = [place(battle, 1, "Musketeer", 3300, 20_000), place(battle, 1, "Barbarian", 4900, 19_000)]
        for _ in range(300):
            battle.run_tick()
        everyone = [*(mine[name] for name, _, _ in where), *theirs, *battle.players[1].towers]
        outcomes.append([(unit.alive, unit.x, unit.y, unit.hp, unit.cooldown) for unit in everyone])
    return {"same": outcomes[0] == outcomes[1]}


SPECIAL: dict[str, Callable[[], dict[str, Any]]] = {
    "arrows_vs_minion": arrows_vs_minion,
    "fireball_vs_musketeer": fireball_vs_musketeer,
    "spell_crown_damage": spell_crown_damage,
    "knight_hits_giant": knight_hits_giant,
    "minion_pack_vs_giant_dps": minions_against_giant,
    "giant_hits_princess": giant_hits_princess,
    "elixir_full_time": elixir_full_time,
    "deploy_tiles": deploy_tiles,
    "tower_outranges_musketeer": tower_outranges_musketeer,
    "fireball_knockback": fireball_knockback,
    "crossing": crossing,
    "cannon_pulls_giant": cannon_pulls_giant,
    "sudden_death": sudden_death,
    "rotation_symmetry": rotation_symmetry,
    "projectile_fizzle": projectile_fizzle,
    "order_independence": order_independence,
}
