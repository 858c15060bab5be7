"""Plays small set-ups with known results: who beats whom, how far a lone unit comes, what a tower takes.

(A file is JSON with a list `interactions` of objects: id, kind, text, setup, expect, tolerance.) Kinds:

* arithmetic: follows from the table, see `arithmetic`.
* engine_duel: two cards, one per player, four tiles apart or so, towers at rest, until one side has no unit.
* engine_lone: one card of player 0, towers at work, until it is gone.
* engine: units and spells at given places.
* rule, property: checks without numbers, by their ids, see `properties`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from jaxgames import checks
from jaxgames.clash import arithmetic, properties
from jaxgames.clash.cards import Unit
from jaxgames.clash.constants import RIVER, TOWERS
from jaxgames.clash.json_file import read_json
from jaxgames.clash.properties import CONFIG
from jaxgames.clash.scene import Scene, absolute, film
from jaxgames.replay import BAD_FILE, NO_DIFFERENCE, SOME_DIFFERENCE

MOST_TICKS = 1_200
_DEPLOY_AT = (3_500, 14_500)
_CROSS_AT = (9_000, 13_500)


class CannotPlay(ValueError):
    """An interaction is not of a form that is known."""


def replay(paths: Sequence[str | Path], *, shown: int, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Plays files of interactions: a line for each, and last `N interactions, M outside tolerance`.

    Args:
      paths: JSON files.
      shown: of no meaning here: every interaction is told.
      out: for the report; None: the standard output.
      err: for files that cannot be read; None: the standard error.

    Returns:
      The exit code: 0 only if there are some and all are within tolerance; 2 if a file could not be read; otherwise 1.
    """
    del shown
    out, err = sys.stdout if out is None else out, sys.stderr if err is None else err
    count, outside, unread = 0, 0, 0
    for path in paths:
        try:
            interactions = read(path)
        except ValueError as error:
            unread += 1
            print(f"error: {path}: {error}", file=err)
            continue
        for interaction in interactions:
            wrong = check(interaction)
            print(f"{interaction['id']}: {'; '.join(wrong) or _all_right(interaction)}", file=out, flush=True)
            count, outside = count + 1, outside + bool(wrong)
    if unread < len(paths):
        print(f"{count} interactions, {outside} outside tolerance", file=out, flush=True)
    if unread:
        return BAD_FILE
    return NO_DIFFERENCE if count and not outside else SOME_DIFFERENCE


def read(path: str | Path) -> list[dict[str, Any]]:
    """Reads a file.

    Raises:
      ValueError: it holds no interactions; the first one that is not sound is named.
    """
    content = read_json(path)
    rows = content.get("interactions") if isinstance(content, dict) else None
    if not isinstance(rows, list):
        raise ValueError("must hold an object with a list 'interactions'")
    for number, row in enumerate(rows):
        for field, kind in (("id", str), ("kind", str), ("setup", dict), ("expect", dict)):
            if not isinstance(row, dict) or not isinstance(row.get(field), kind):
                raise ValueError(f"interaction {number}: {field} must be there, of type {kind.__name__}")
        tolerance = row.get("tolerance", 0)
        values = tolerance.values() if isinstance(tolerance, dict) else [tolerance]
        if not all(isinstance(value, (int, float, str)) for value in values):
            raise ValueError(f"interaction {row['id']}: tolerance={tolerance!r}: must be a number, or numbers by name")
    return rows


def check(interaction: Mapping[str, Any]) -> list[str]:
    """Plays one interaction; tells in words what lies outside its tolerance."""
    kinds = {
        "arithmetic": arithmetic.results,
        "engine_duel": _duel,
        "engine_lone": _lone,
        "engine": _engine,
        "rule": properties.results,
        "property": properties.results,
    }
    kind = interaction["kind"]
    if kind not in kinds:
        return [f"kind={kind!r}: {checks.one_of(kind, kinds)}"]
    try:
        return _differences(kinds[kind](interaction), interaction)
    except KeyError as error:
        return [f"cannot be played: {error} is missing"]
    except (ValueError, TypeError) as error:  # what is given in the place of a number may be anything
        return [f"cannot be played: {error}"]


def _differences(found: Mapping[str, Any], interaction: Mapping[str, Any]) -> list[str]:
    expect = interaction["expect"] or {"holds": True}
    wrong = []
    for name, should in expect.items():
        if name not in found:
            wrong.append(f"{name}: cannot be played, known are {', '.join(found)}")
        elif not _close(found[name], should, _tolerance(interaction, name)):
            wrong.append(f"{name}: {found[name]}, expected {should}")
    return wrong


def _all_right(interaction: Mapping[str, Any]) -> str:
    """Tells that all is within tolerance, and what the file expects without one."""
    free = [name for name in interaction["expect"] if _tolerance(interaction, name) is None]
    return f"within tolerance ({', '.join(free)}: without one, not compared)" if free else "within tolerance"


def _tolerance(interaction: Mapping[str, Any], name: str) -> tuple[float, bool] | None:
    """Gives how far a result may be off, and whether as a share of what is expected; None: not looked at."""
    given, kind = interaction.get("tolerance", 0), interaction["kind"]
    if not isinstance(given, dict):
        return float(given), False
    if name not in given:  # told by a part of its name, such as "pos" of a place
        parts = {"to": "pos", "hp": "hp", "tick": "tick", "x": "x", "damage": "damage"}
        last = name.rsplit("_", 1)[-1]
        short = parts.get(last, "")
        if short not in given:
            return None
        return float(given[short]), False
    value = given[name]
    if value == "exact":
        return 0.0, False
    if value == "one hit of the unit":
        return float(_unit_of(interaction["setup"]["card"]).damage), False
    return float(value), name == "ticks" and kind.startswith("engine_")


def _close(found: Any, should: Any, tolerance: tuple[float, bool] | None) -> bool:
    if tolerance is None:
        return True
    if isinstance(should, (list, tuple)):
        return len(found) == len(should) and all(_close(one, other, tolerance) for one, other in zip(found, should, strict=True))
    if isinstance(should, (str, bool)) or isinstance(found, (str, bool)):
        return bool(found == should)
    if found is None:
        return False
    width, share = tolerance
    return abs(found - should) <= (width * abs(should) if share else width) + 1e-9


def _unit_of(key: str) -> Unit:
    return CONFIG.table.unit(CONFIG.table.card(key).unit)


def _duel(interaction: Mapping[str, Any]) -> dict[str, Any]:
    """Two cards against each other, until one side has no unit."""
    given = interaction["setup"]
    scene, half = Scene(CONFIG), given["separation"] // 2
    y = given.get("y", 13_000)
    scene.put_card(0, given["first"], 9_000 - half, y)
    scene.put_card(1, given["second"], 9_000 + half, y)
    shown = film(CONFIG, scene.state, MOST_TICKS, towers_act=given.get("towers") != "inactive")
    left = shown.alive[:, :, TOWERS:].any(-1)
    over = np.flatnonzero(~left.all(-1))
    if not len(over):
        return {"winner": "none", "ticks": MOST_TICKS}
    end = int(over[0])
    winner = "first" if left[end, 0] else "second" if left[end, 1] else "draw"
    hp = shown.hp[end, :, TOWERS:][shown.alive[end, :, TOWERS:]].tolist()
    return {"winner": winner, "ticks": end, "survivors": hp, "hp_left_total": sum(hp)}


def _lone(interaction: Mapping[str, Any]) -> dict[str, Any]:
    """One card against towers, until it is gone."""
    given = interaction["setup"]
    scene = Scene(CONFIG)
    slots = scene.put_card(0, given["card"], *given.get("deploy_xy", _DEPLOY_AT))
    shown = film(CONFIG, scene.state, MOST_TICKS)
    gone = np.flatnonzero(~shown.alive[:, 0, TOWERS:].any(-1))
    end = int(gone[0]) if len(gone) else MOST_TICKS
    towers, own = shown.hp[: end + 1, 1, :TOWERS].astype(int), shown.hp[: end + 1, 0, slots].astype(int)
    return {
        "ticks": end,
        "tower_damage": int((towers[0] - towers[end]).sum()),
        "first_tower_hit_tick": _first((towers < towers[0]).any(-1)),
        "first_hit_taken_tick": _first((own < own[0]).any(-1)),
        "left": shown.hp[end, 0, TOWERS:][shown.alive[end, 0, TOWERS:]].tolist(),
        "towers_alive": int(shown.alive[end, 1, :TOWERS].sum()),
    }


def _first(happens: np.ndarray) -> int | None:
    found = np.flatnonzero(happens)
    return int(found[0]) if len(found) else None


def _engine(interaction: Mapping[str, Any]) -> dict[str, Any]:
    """Units and spells at places: by what is set up, and what is asked."""
    given, expect = interaction["setup"], interaction["expect"]
    placed = {key: given[key] for key in given if key in CONFIG.table.card_ids}
    spells = [key for key in placed if CONFIG.table.card(key).type == "spell"]
    if spells:
        return _spell_lands(placed, spells[0])
    buildings = [key for key in placed if CONFIG.table.card(key).type == "building"]
    troops = [key for key in placed if key not in buildings]
    if buildings and troops:
        return _pulled(placed, buildings[0], troops[0], towers_act=given.get("towers") != "inactive")
    if any(name.endswith("_cross_tick") for name in expect):
        return _crossing([name.removesuffix("_cross_tick") for name in expect if name.endswith("_cross_tick")], given)
    raise CannotPlay("a spell with units, a building with a troop, or *_cross_tick to be found, must be asked")


def _spell_lands(placed: Mapping[str, Sequence[int]], spell: str) -> dict[str, Any]:
    """A spell of the enemy on units that are kept from acting; the tick in which it lands, counted from its cast."""
    scene, slots = Scene(CONFIG), {}
    for key, (x, y) in placed.items():
        if key != spell:
            slots[key] = scene.put_card(0, key, x, y)[0]
    (x, y), card = placed[spell], CONFIG.table.card(spell)
    # It flies as far as if the owner's king stood on the units' side: the distance that the set-up tells.
    distance = math.isqrt((x - 9_000) ** 2 + (y - 3_000) ** 2)
    ticks = max(-(-distance // card.projectile_speed), 1) if card.projectile_speed else card.first_wave_ticks
    scene.cast(1, spell, x, y, ticks=ticks)
    shown = film(CONFIG, scene.state, ticks + 2, towers_act=False, units_act=False)
    found: dict[str, Any] = {}
    all_x, all_y = absolute(shown)
    hit = np.zeros(len(shown.hp), bool)
    for key, slot in slots.items():
        found[f"{key}_hp"] = int(shown.hp[-1, 0, slot])
        found[f"{key}_to"] = [int(all_x[-1, 0, slot]), int(all_y[-1, 0, slot])]
        hit |= shown.hp[:, 0, slot] < shown.hp[0, 0, slot]
    found["land_tick"] = _first(hit)
    return found


def _pulled(placed: Mapping[str, Sequence[int]], building: str, troop: str, *, towers_act: bool) -> dict[str, Any]:
    """A troop of player 0 and a building of player 1 that may draw it away from a tower."""
    scene = Scene(CONFIG)
    slot = scene.put_card(0, troop, *placed[troop])[0]
    other = scene.put_card(1, building, *placed[building])[0]
    shown = film(CONFIG, scene.state, MOST_TICKS, towers_act=towers_act)
    dead = _first(~shown.alive[:, 1, other])
    end = MOST_TICKS if dead is None else dead
    princesses = shown.hp[:, 1, : TOWERS - 1].astype(int)
    return {
        "target_switch_tick": _first(shown.target[:, 0, slot] == other),
        f"{building}_dead_tick": dead,
        "princess_damage": int((princesses[0] - princesses[end]).sum()),
    }


def _crossing(names: Sequence[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """When and where lone units of player 0 come over the river."""
    found: dict[str, Any] = {}
    for name in names:
        keys = [key for key in CONFIG.table.card_ids if name in (key, key.split("-")[-1]) and CONFIG.table.card(key).unit]
        if not keys:
            raise CannotPlay(f"{name!r} is no card")
        scene = Scene(CONFIG)
        slot = scene.put_card(0, keys[0], *given.get("deploy_xy", _CROSS_AT))[0]
        shown = film(CONFIG, scene.state, MOST_TICKS, towers_act=False)
        tick = _first(shown.y[:, 0, slot] >= RIVER[1])
        found[f"{name}_cross_tick"] = tick
        found[f"{name}_x"] = None if tick is None else int(shown.x[tick, 0, slot])
    return found
