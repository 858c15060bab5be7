"""Results that follow from the table alone: how many blows, how much damage, how many tiles, how long."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from jaxgames import checks
from jaxgames.clash import zones
from jaxgames.clash.card_file import standard_table
from jaxgames.clash.card_table import Table
from jaxgames.clash.cards import Card, Unit
from jaxgames.clash.constants import ELIXIR, MOST_ELIXIR, TICKS_PER_SECOND


def results(interaction: Mapping[str, Any]) -> dict[str, Any]:
    """Works out what is asked, by the set-up, the id (such as "knight_hits_giant") and the names of what is expected."""
    table, given, expect = standard_table(), interaction["setup"], interaction["expect"]
    found: dict[str, Any] = {}
    if "shots" in expect:
        found["shots"] = blows(table.units[0], _unit(table, given["unit"]))
    if "spell" in given:
        found |= _spell(table, table.card(given["spell"]), given, expect)
    pair = re.fullmatch(r"(.+)_hits_(.+)", interaction["id"]) or re.fullmatch(r"(.+)_pack_vs_(.+?)(?:_dps)?", interaction["id"])
    names = (given.get("attacker"), given.get("defender")) if "attacker" in given else pair and pair.groups()
    if names:
        found |= _contest(table, str(names[0]), str(names[1]), given)
    found |= _clock() | _tiles()
    found |= _crown_damage(table, expect) | _reaches(table, expect)
    return found


def blows(attacker: Unit, defender: Unit) -> int:
    """Gives how many blows kill.

    Raises:
      ValueError: they never do.
    """
    if not attacker.damage:
        raise ValueError(f"attacker={attacker.name!r}: does no damage, must be a unit that fights")
    return -(-(defender.hp + defender.shield) // attacker.damage)


def _unit(table: Table, name: Any) -> Unit:
    """Finds a unit by its name, in any spelling, or by the card that deploys it."""
    wanted = _plain(name) if isinstance(name, str) else ""
    if wanted in ("princess", "tower", "princesstower"):
        return table.units[0]
    for unit in table.units:
        if _plain(unit.name) == wanted:
            return unit
    for card in table.cards:
        if _plain(card.key) == wanted and card.unit:
            return table.unit(card.unit)
    raise ValueError(f"unit={name!r}: there is no such unit")


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _spell(table: Table, spell: Card, given: Mapping[str, Any], expect: Mapping[str, Any]) -> dict[str, Any]:
    total = spell.damage * spell.waves
    found: dict[str, Any] = {"total": total}
    for name in expect:
        for ending in ("_dead", "_hp_left"):
            if name.endswith(ending):
                hp = _unit(table, name.removesuffix(ending)).hp
                found[name] = hp <= total if ending == "_dead" else hp - total
    if "unit" in given:
        left = _unit(table, given["unit"]).hp - total
        found |= {"hp_left": left, "plus_tower_shots": -(-max(left, 0) // table.units[0].damage)}
    return found


def _contest(table: Table, attacker: str, defender: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Blows until one unit, or as many as its card has, have killed another, and the time from contact."""
    one, other = _unit(table, attacker), _unit(table, defender)
    hits = blows(one, other)
    cards = [card for card in table.cards if card.unit == one.name]
    volleys = -(-hits // checks.count("count", given.get("count", cards[0].count if cards else 1), 1))

    def seconds(number: int) -> float:
        return (one.windup_ticks + (number - 1) * one.hit_ticks) / TICKS_PER_SECOND

    return {"hits": hits, "volleys": volleys, "seconds": seconds(volleys), "seconds_from_contact": seconds(volleys)}


def _clock() -> dict[str, int]:
    half = MOST_ELIXIR * ELIXIR // 2
    return {"ticks_1x": half, "ticks_2x": half // 2}


def _tiles() -> dict[str, int]:
    count = zones.zones().sizes
    all_up = 31
    one_down, both_down = all_up & ~8, all_up & ~24
    return {
        "start": int(count[all_up]),
        "one": int(count[one_down]),
        "both": int(count[both_down]),
        "spell": int(count[zones.EVERYWHERE]),
    }


def _crown_damage(table: Table, expect: Mapping[str, Any]) -> dict[str, int]:
    found = {}
    for name in expect:
        key = name.removesuffix("_total")
        if key in table.card_ids and table.card(key).type == "spell":
            card = table.card(key)
            found[name] = card.damage * card.crown_damage_pct // 100 * (card.waves if name.endswith("_total") else 1)
    return found


def _reaches(table: Table, expect: Mapping[str, Any]) -> dict[str, int]:
    """Reach between centres of a unit against a tower, and of the tower against it."""
    names = [name.removesuffix("_reach") for name in expect if name.endswith("_reach")]
    tower = table.units[0]
    found: dict[str, int] = {}
    for name in names:
        if name != "tower":
            unit = _unit(table, name)
            found |= {f"{name}_reach": unit.range + unit.radius + tower.radius}
            found["tower_reach"] = tower.range + tower.radius + unit.radius
    return found
