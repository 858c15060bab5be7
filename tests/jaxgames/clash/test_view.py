"""Pictures of battles."""

from __future__ import annotations

import dataclasses

from jaxgames.clash import letters, view
from jaxgames.clash.card_file import standard_table
from jaxgames.clash.config import ClashConfig
from jaxgames.clash.scene import Scene


def test_no_two_units_bear_the_same_letters():
    units = standard_table().units
    letters = {view.letters_of(unit) for unit in units}
    assert len(letters) == len(units) and max(map(len, letters)) <= 8


def test_hit_points_and_shield_are_added_without_overflow():
    table = standard_table()
    config = ClashConfig(table=table.with_rows(dataclasses.replace(table.unit("Knight"), hp=20_000, shield=20_000)))
    scene = Scene(config)
    scene.put_unit(0, "Knight", 9000, 9000)
    assert "Knight, 40000 hit points" in letters.to_text(config, scene.state)


def test_a_changed_unit_keeps_its_star_and_a_unit_of_any_name_has_letters():
    knight = next(unit for unit in standard_table().units if unit.name == "Knight")
    names = {"Knight*": "Knight*", "MiniPekka*": "MPe*", "page": "page", "my_unit": "my_u", "Golemite": "Gole"}
    assert {name: view.letters_of(dataclasses.replace(knight, name=name)) for name in names} == names
