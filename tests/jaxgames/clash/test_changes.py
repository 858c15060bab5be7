"""Changed cards beside the cards as they are."""

import dataclasses
import json

import numpy as np
import pytest

import jaxgames
from jaxgames.clash.card_file import standard_table
from jaxgames.clash.changes import read_change, read_rows, with_versions
from jaxgames.clash.config import BEGINNER_DECK

TABLE = standard_table()


def test_a_changed_number_makes_a_version_of_its_card():
    changed = with_versions(TABLE, [read_change(TABLE, "Knight.hp=2000"), read_change(TABLE, "arrows.cost=4")])
    assert changed.versions == {"knight": "knight*", "arrows": "arrows*"} and not changed.new
    assert changed.table.unit("Knight") == TABLE.unit("Knight") and changed.table.unit("Knight*").hp == 2000
    assert changed.table.card("knight*").unit == "Knight*" and changed.table.card("arrows*").cost == 4
    assert changed.deck(("knight", "giant", "arrows")) == ("knight*", "giant", "arrows*")


def test_what_brings_a_changed_unit_changes_too():
    changed = with_versions(TABLE, [read_change(TABLE, "Golemite.hp=1")])
    assert changed.versions == {"golem": "golem*"}
    golem = changed.table.unit("Golem*")
    assert golem.death_spawn == "Golemite*" and golem.hp == TABLE.unit("Golem").hp
    skeletons = with_versions(TABLE, [read_change(TABLE, "Skeleton.damage=1")]).versions
    assert {"skeletons", "skeleton-army", "tombstone", "witch"} <= skeletons.keys()


def test_networks_are_shown_a_changed_card_as_the_card():
    changed = with_versions(TABLE, [read_change(TABLE, "Knight.hp=2000")])
    pool = (*BEGINNER_DECK, "knight*")
    game = jaxgames.make("clash", table=changed.table, decks=((), ()), pool=pool)
    assert jaxgames.encoder_of(game).channels == jaxgames.encoder_of(jaxgames.make("clash")).channels
    both = jaxgames.make("clash", decks=(BEGINNER_DECK, BEGINNER_DECK[::-1]))
    assert jaxgames.encoder_of(both).channels == jaxgames.encoder_of(jaxgames.make("clash")).channels


def test_a_new_card(tmp_path):
    knight = json.loads(json.dumps(dataclasses.asdict(TABLE.unit("Knight")))) | {"name": "Page", "hp": 300}
    card = dataclasses.asdict(TABLE.card("knight")) | {"key": "page", "name": "Page", "unit": "Page", "cost": 1}
    path = tmp_path / "page.json"
    path.write_text(json.dumps({"units": [knight], "cards": [card]}))
    changed = with_versions(TABLE, read_rows(path), "knight")
    assert changed.new == ("page",) and not changed.versions and len(changed.table.cards) == len(TABLE.cards) + 1
    shown = np.array(changed.table.shown_cards)[changed.table.card_ids["page"]]
    assert shown == TABLE.card_ids["knight"] and changed.table.unit("Page").shown_as == "Knight"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Knight", "change='Knight': must be like Knight.hp=2000 or arrows.cost=4"),
        ("Page.hp=1", "change='Page.hp=1': 'Page' is no unit and no card; there are PrincessTower, "),
        ("Night.hp=1", r"change='Night.hp=1': 'Night' is no unit and no card; perhaps knight or Knight\?"),
        ("KNIGHT.hp=1", r"change='KNIGHT.hp=1': 'KNIGHT' is no unit and no card; perhaps Knight or knight\?"),
        ("Knight.hps=1", "change='Knight.hps=1': Knight has no number 'hps'; it has hp, damage, "),
        ("Knight.hp=many", "change='Knight.hp=many': 'many' must be a whole number"),
        ("Knight.hp=-5", r"unit 'Knight': hp=-5: must be an integer in 1..20000"),
        ("Knight.hp=2000000", r"unit 'Knight': hp=2000000: must be an integer in 1..20000"),
        ("Knight.flying=perhaps", "change='Knight.flying=perhaps': must be true or false"),
    ],
)
def test_changes_that_are_not_possible(text, message):
    with pytest.raises(ValueError, match=f"^{message}") as error:
        read_change(TABLE, text)
    assert "\n" not in str(error.value)


def test_a_row_with_a_slip_of_the_pen(tmp_path):
    path = tmp_path / "page.json"
    page = dataclasses.asdict(TABLE.unit("Knight")) | {"name": "Page", "colour": "blue"}
    path.write_text(json.dumps(page))
    assert read_rows(path)[0].name == "Page"
    page["splash_radus"] = page.pop("splash_radius")
    path.write_text(json.dumps(page))
    with pytest.raises(ValueError, match=f"{path}: unit 'Page': 'splash_radus' is no field; perhaps splash_radius\\?"):
        read_rows(path)


def test_rows_that_are_not_possible(tmp_path):
    with pytest.raises(ValueError, match="'PrincessTower': a crown tower belongs to no card, so it cannot be changed here"):
        with_versions(TABLE, [read_change(TABLE, "PrincessTower.hp=1")])
    with pytest.raises(ValueError, match="'Knight' is changed twice; put the changes into one row"):
        with_versions(TABLE, [read_change(TABLE, text) for text in ("Knight.hp=1", "Knight.damage=2")])
    path = tmp_path / "row.json"
    for content, message in (
        ('{"key": "page"', "not a JSON file, or torn"),
        ("[1]", "must hold an object: a unit, a card, or lists 'units' and 'cards'"),
        ('{"units": 3}', "'units' and 'cards' must be lists"),
        ('{"name": "Page", "hp": 3}', "unit 'Page': kind is missing"),
        ('{"key": "page", "name": "Page", "type": "spell", "cost": -3, "rarity": "Common", "waves": 1}', "card 'page': cost=-3"),
    ):
        path.write_text(content)
        with pytest.raises(ValueError, match=f"{path}: {message}"):
            read_rows(path)
    with pytest.raises(ValueError, match=r"nothing\.json: cannot be read: No such file"):
        read_rows(tmp_path / "nothing.json")
