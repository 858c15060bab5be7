import dataclasses
import json

import pytest

from jaxgames.clash import card_file, levels, tables
from jaxgames.clash.card_file import standard_table
from jaxgames.clash.cards import Unit
from jaxgames.clash.config import ClashConfig

TABLE = standard_table()


@pytest.mark.parametrize(
    "card", [card for card in TABLE.cards if card.unit and card.count in tables.FORMATIONS], ids=lambda card: card.key
)
def test_formations_of_cards_are_those_of_children(card):
    radius = max(abs(number) for offset in card.offsets for number in offset)
    if radius in (550, 600, 700, 750, 1000, 1500):  # of swarms whose first unit stands on an axis
        assert card.offsets == tuple(tables._formation(card.count, radius))


def test_values_at_other_levels():
    assert levels.at_level(1766, "Common", 11) == 1766
    assert levels.at_level(1766, "Common", 10) == 690 * 233 // 100  # 690 at the first level
    assert levels.at_level(4091, "Rare", 14) == 1930 * 281 // 100
    with pytest.raises(ValueError, match="level=8: must be >= 9 for rarity Legendary"):
        levels.at_level(1766, "Legendary", 8)


def test_levels_hold_for_the_units_of_cards_too():
    knight = TABLE.unit("Knight")
    table = TABLE.with_rows(dataclasses.replace(knight, rarity="Legendary"))
    with pytest.raises(ValueError, match=r"level=6: must be 9\.\.14, as unit 'Knight' is Legendary"):
        ClashConfig(levels=(11, 6), table=table)
    brings = TABLE.with_rows(dataclasses.replace(TABLE.unit("Minion"), rarity="Legendary", name="Imp"), _leaving(knight, "Imp"))
    with pytest.raises(ValueError, match=r"level=8: must be 9\.\.14, as unit 'Imp' is Legendary"):
        ClashConfig(levels=(8, 11), table=brings)


def _leaving(unit, other):
    return dataclasses.replace(unit, death_spawn=other, death_spawn_count=1)


def test_units_that_are_not_in_play_have_the_numbers_of_their_first_level():
    row = TABLE.unit_ids["LavaHound"]
    assert TABLE.unit("LavaHound").rarity == "Legendary"
    low, first = (tables.unit_columns(ClashConfig(levels=(level, level))) for level in (6, 9))
    assert low.hp[0, row] == first.hp[0, row] < tables.unit_columns(ClashConfig()).hp[0, row]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hp": -1}, "unit 'Knight': hp=-1: must be an integer in 1..20000"),
        ({"hp": 10**9}, "hp=1000000000: must be"),
        ({"speed": 2.5}, "speed=2.5: must be an integer"),
        ({"flying": 1}, "flying=1: must be True or False"),
        ({"rarity": "Odd"}, "rarity='Odd': must be one of Common"),
        ({"mass": 0}, "mass=0: must be in 1"),
        ({"projectile_speed": 100}, "projectile_speed=100: a shot flies 31 ticks, must be at most two hit_ticks, 24"),
        (
            {"range": 12_000, "sight": 12_000, "projectile_speed": 110, "hit_ticks": 64},
            "projectile_speed=110: a shot flies up to 140 ticks, must be at most 127",  # at what leaves its reach meanwhile
        ),
        ({"spawn": "Bat"}, "spawn_count and spawn_period_ticks must be >= 1"),
    ],
)
def test_bad_units(change, message):
    with pytest.raises(ValueError, match="unit 'Knight'") as error:
        dataclasses.replace(TABLE.unit("Knight"), **change)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("key", "change", "message"),
    [
        ("knight", {"key": "knight+giant"}, "card 'knight+giant': key: must be a word without + or / or ,"),
        ("knight", {"key": "a/b"}, "card 'a/b': key: must be a word without"),
        ("knight", {"key": ""}, "card '': key: must be a word"),
        ("knight", {"cost": 0}, "cost=0: must be an integer in 1..10"),
        ("knight", {"offsets": ()}, "must have a unit and offsets"),
        ("knight", {"offsets": ((0,),)}, "must be pairs of integers"),
        ("knight", {"type": "trap"}, "type='trap': must be one of"),
        ("arrows", {"waves": 0}, "must have waves >= 1"),
        ("arrows", {"unit": "Knight"}, "must have neither unit nor offsets"),
    ],
)
def test_bad_cards(key, change, message):
    with pytest.raises(ValueError, match="card '") as error:
        dataclasses.replace(TABLE.card(key), **change)
    assert message in str(error.value)


def test_bad_files(tmp_path):
    path = tmp_path / "cards.json"
    with pytest.raises(ValueError, match="cannot be read"):
        card_file.read_table(path)
    content = card_file.STANDARD_FILE.read_text(encoding="utf-8")
    path.write_text(content[: len(content) // 2], encoding="utf-8")
    with pytest.raises(ValueError, match="not a JSON file, or torn"):
        card_file.read_table(path)
    rows = json.loads(content)
    del rows["units"][5]["radius"]
    path.write_text(json.dumps(rows), encoding="utf-8")
    with pytest.raises(ValueError, match="unit 'Minion': radius is missing"):
        card_file.read_table(path)


def test_every_unit_has_every_column():
    names = {field.name for field in dataclasses.fields(Unit)} - {"shown_as"}  # of changed versions alone
    rows = json.loads(card_file.STANDARD_FILE.read_text(encoding="utf-8"))["units"]
    assert all(names <= set(row) for row in rows)
