"""Pictures of battles."""

from __future__ import annotations

import dataclasses

from jaxgames.clash import view
from jaxgames.clash.card_file import standard_table


def test_no_two_units_bear_the_same_letters():
    units = standard_table().units
    letters = {view.letters_of(unit) for unit in units}
    assert len(letters) == len(units) and max(map(len, letters)) <= 8


def test_a_changed_unit_keeps_its_star_and_a_unit_of_any_name_has_letters():
    knight = next(unit for unit in standard_table().units if unit.name == "Knight")
    names = {"Knight*": "Knight*", "MiniPekka*": "MPe*", "page": "page", "my_unit": "my_u", "Golemite": "Gole"}
    assert {name: view.letters_of(dataclasses.replace(knight, name=name)) for name in names} == names
