"""The list of games, and their ids."""

import json

import pytest

import jaxgames
from jaxgames.registration import read_id
from training.jobs import list_games
from training.jobs.list_games import GamesConfig
from training.play.match import MatchConfig
from training.play.tournament import TournamentConfig
from training.web.play import PlayConfig


def test_every_game_and_variant_has_an_id_and_can_be_made():
    assert {entry.name for entry in jaxgames.games()} == set(jaxgames.game_names())
    for entry in jaxgames.games():
        assert read_id(entry.id) == (entry.name, entry.mode)
        assert jaxgames.make(entry.id) == jaxgames.make(entry.name, entry.mode)


def test_a_row_of_the_list():
    about = {"id": "hex-adh-5-v1", "players": 2, "actions": 26, "longest": 49, "moves": "in turn", "hidden": True}
    assert about in list_games.rows("hex")


@pytest.mark.slow  # to trace
def test_every_game_and_variant_is_listed():
    rows = list_games.rows()
    assert [row["id"] for row in rows] == [entry.id for entry in jaxgames.games()]
    by_id = {row["id"]: row for row in rows}
    assert by_id["pommerman-ffa-v1"]["moves"] == "at once" and not by_id["pommerman-ffa-v1"]["hidden"]
    assert by_id["pommerman-team-v1"]["hidden"] and by_id["clash-toy-v1"]["hidden"]


def test_the_command_prints_them(capsys):
    list_games.run(GamesConfig("hex", json=True))
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows == list_games.rows("hex") and len(rows) == 6
    list_games.run(GamesConfig("hex"))
    printed = capsys.readouterr().out
    assert "hex-cdh-5-v1" in printed and "in turn" in printed
    with pytest.raises(ValueError, match="game='chess'"):
        list_games.run(GamesConfig("chess"))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("hex-adh-5", "id='hex-adh-5': must be a name, a variant and a version, such as hex-adh-5-v1"),
        ("hex-adh-5-v2", "hex is at version 1, so hex-adh-5-v1 is what there is"),
        ("chess-big-v1", "game='chess'"),
        ("hex-big-v1", "mode='big'"),
    ],
)
def test_ids_that_do_not_exist_are_told(name, told):
    with pytest.raises(ValueError, match=told):
        jaxgames.make(name)


def test_a_variant_that_is_not_listed_has_an_id_too():
    assert jaxgames.make("hex-adh-4-v1") == jaxgames.make("hex", "adh-4")


def test_jobs_take_ids_too():
    for kind in (MatchConfig, PlayConfig, TournamentConfig):
        config = kind(game="hex-adh-4-v1")
        assert (config.game, config.mode) == ("hex", "adh-4")
    with pytest.raises(ValueError, match="such as hex-adh-v1"):
        MatchConfig(game="hex-adh")
