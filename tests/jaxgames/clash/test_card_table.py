"""The table of all units and cards."""

import dataclasses

import pytest

from jaxgames.clash import tables
from jaxgames.clash.card_file import standard_table
from jaxgames.clash.card_table import Table
from jaxgames.clash.cards import Card
from jaxgames.clash.config import ClashConfig

TABLE = standard_table()


def test_the_table_that_comes_with_the_game():
    assert (len(TABLE.units), len(TABLE.cards)) == (58, 63)
    knight = TABLE.unit("Knight")
    assert (knight.hp, knight.damage, knight.hit_ticks, knight.windup_ticks, knight.speed) == (1766, 202, 12, 5, 100)
    assert TABLE.card("archers").offsets == ((-550, 0), (550, 0))


def test_a_new_card_is_a_row():
    elder = dataclasses.replace(TABLE.unit("Knight"), name="Elder", hp=2000)
    table = TABLE.with_rows(elder, Card("Elders", "elders", "troop", 5, "Common", "Elder", ((-500, 0), (500, 0))))
    config = ClashConfig(table=table, decks=(("elders", *ClashConfig().decks[0][1:]),) * 2)
    assert config.units[2] is table.unit("Elder")
    assert tables.unit_columns(config).hp[0, table.unit_ids["Elder"]] == 2000
    assert tables.card_columns(config).count[table.card_ids["elders"]] == 2


def test_a_changed_row_takes_the_place_of_the_old_one():
    table = TABLE.with_rows(dataclasses.replace(TABLE.unit("Knight"), damage=300))
    assert table.unit_ids == TABLE.unit_ids
    assert table.unit("Knight").damage == 300
    assert table != TABLE


def test_rows_may_be_given_as_lists():
    table = Table(list(TABLE.units), list(TABLE.cards))
    assert table == TABLE and hash(table) == hash(TABLE)


def test_bad_tables():
    with pytest.raises(ValueError, match="unit='Nobody': there is no such unit"):
        TABLE.with_rows(Card("X", "x", "troop", 1, "Common", "Nobody", ((0, 0),)))
    with pytest.raises(ValueError, match="its unit is a troop"):
        TABLE.with_rows(Card("X", "x", "building", 1, "Common", "Knight", ((0, 0),)))
    with pytest.raises(ValueError, match="'Knight' is there twice"):
        Table((*TABLE.units[:3], TABLE.unit("Knight")), ())
    with pytest.raises(ValueError, match="units of type int: must be rows of type Unit alone"):
        Table(5, TABLE.cards)
    with pytest.raises(ValueError, match="cards of type tuple: must be rows of type Card alone"):
        Table(TABLE.units, TABLE.units)
    with pytest.raises(ValueError, match="row=5: must be a Unit or a Card"):
        TABLE.with_rows(5)
    with pytest.raises(ValueError, match=r"card=\['knight'\]: is no card; "):
        TABLE.card(["knight"])
    with pytest.raises(ValueError, match="unit=5: must be one of "):
        TABLE.unit(5)
    with pytest.raises(ValueError, match="a crown tower cannot be made"):
        TABLE.with_rows(Card("X", "x", "building", 1, "Common", "KingTower", ((0, 0),)))
