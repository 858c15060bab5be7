"""Soaks: every step is checked, and a broken rule is told with the game in which it can be seen again."""

import dataclasses
import io
import json

import jax
import jax.numpy as jnp
import pytest
from rich.console import Console

import jaxgames
from experiments.soak import command, play
from experiments.soak.command import SoakConfig
from experiments.soak.invariants import rules_of
from experiments.soak.play import Soak
from jaxgames.stratego import Stratego, moves
from tests.jaxgames.stratego.playing import CONFIG, position
from tests.jaxgames.stratego.playing import play as play_moves
from training.play import agents

GAME = jaxgames.make("hex", "adh-3")
SMALL = {"game": "hex", "mode": "adh-3", "agent": "random", "lanes": 8, "share": 4e-6}
LONG = "nobody makes more than seven attempts"


def with_a_limit(game):
    """The rules, and one that long games break."""
    rules = rules_of(game)
    return lambda before, after, clock: rules(before, after, clock) | {LONG: after.attempts <= 7}


def ran(**settings):
    console = Console(file=io.StringIO(), width=200)
    try:
        return command.run(SoakConfig(**settings), console), console.file.getvalue()
    except ValueError as error:
        return str(error), console.file.getvalue()


def test_nothing_is_broken_and_a_soak_goes_on_with_new_games_and_keeps_other_rows(tmp_path):
    kept = {"game": "hex", "mode": "adh-3", "agent": "random", "lanes": 8, "seed": 7}
    (tmp_path / "soak.json").write_text(json.dumps([kept]))
    result, shown = ran(**SMALL, output=str(tmp_path))
    other, before = json.loads((tmp_path / "soak.json").read_text())
    assert result == {"rows": [before]} and before["faults"] == []
    assert before["steps"] >= 360 and before["games"] > 20 and before["rules"] > 14
    assert "hex adh-3, random: " in shown and " 0 faults" in shown
    ran(**SMALL | {"share": 8e-6}, output=str(tmp_path), resume=True)
    again, after = json.loads((tmp_path / "soak.json").read_text())
    assert again == other == kept
    assert after["steps"] >= 720 > before["steps"] and after["games"] > before["games"]
    assert after["next_game"] > before["next_game"] >= before["games"]


def test_rows_tell_of_all_commits_that_have_played_them(tmp_path, monkeypatch):
    about = {"device": "Toy", "platform": "cpu", "versions": {"jax": "0.10"}}
    played = []

    def soak(total, row, console):
        played.append(row["steps"])
        yield row | {"steps": int(row["steps"] + total)}

    monkeypatch.setattr(command, "_soak", soak)
    for commit, wanted in (
        ("abc", ["abc"]),
        ("abc", ["abc"]),
        ("def+changes", ["abc", "def+changes"]),
        ("abc", ["abc", "def+changes"]),
    ):
        monkeypatch.setattr(command.provenance, "describe", lambda device, commit=commit: about | {"commit": commit})
        ran(**SMALL | {"share": 1e-6}, output=str(tmp_path), resume=True)
        (row,) = json.loads((tmp_path / "soak.json").read_text())
        assert row["commits"] == wanted and "commit" not in row and about.items() <= row.items()
    ran(**SMALL | {"share": 1e-6}, output=str(tmp_path))
    assert json.loads((tmp_path / "soak.json").read_text())[0]["commits"] == ["abc"], "of a soak that begins anew"
    older = {name: value for name, value in row.items() if name not in (*about, "commits")}
    (tmp_path / "soak.json").write_text(json.dumps([older]))
    ran(**SMALL | {"share": 1e-6}, output=str(tmp_path), resume=True)
    assert json.loads((tmp_path / "soak.json").read_text())[0]["commits"] == [None, "abc"]
    assert played == [0, 100, 200, 300, 0, 400]


@pytest.mark.parametrize("text", ["[{", '{"rows": []}', '[{"game": "hex"}]'])
def test_a_file_of_something_else_is_told_in_one_line(text, tmp_path):
    (tmp_path / "soak.json").write_text(text)
    told = f"{tmp_path}/soak.json: torn, or no list of soaks; remove it, or give another folder"
    assert ran(**SMALL, output=str(tmp_path)) == (told, "") and (tmp_path / "soak.json").read_text() == text


def test_a_broken_rule_is_found_again_in_the_game_that_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(play, "rules_of", with_a_limit)
    soak = Soak(GAME, agents.make("random", GAME), 8)
    key = jax.random.key(0)
    carry = jax.jit(soak.advance)(key, jax.jit(soak.start)(key), jnp.int32(30))
    place = soak.names.index(LONG)
    assert int(carry.broken[place]) > 0 and int(carry.broken.sum()) == int(carry.broken[place])
    number = int(carry.first[place])
    states, told = soak.again(key, number)
    assert told[0] == (8, LONG) and int(states.attempts[8]) == 8
    for earlier in range(number):
        assert not soak.again(key, earlier)[1], "the first such game is told"
    result, shown = ran(**SMALL | {"share": 1e-7}, replay=number, output=str(tmp_path))
    assert result["broken"] == told and f"after step 8: {LONG}: broken" in shown
    assert (tmp_path / "soak.svg").read_text().startswith("<svg")


@pytest.mark.parametrize("mode", ["hex-3", "adh-3", "cdh-3"])
def test_who_is_said_to_have_won_must_have_joined_the_edges(mode):
    rule, game, key = "who has won has joined the edges", jaxgames.make("hex", mode), jax.random.key(0)
    state, step, found = game.init(key), jax.jit(game.step), jax.jit(rules_of(game))
    for cell in (0, 1, 3, 4, 6):  # the first player goes down the west side
        before, state = state, step(state, jnp.full(2, cell, jnp.int32), key)
        over = dataclasses.replace(state, last=jnp.int16(cell), terminated=jnp.bool_(True))
        claims = [found(before, dataclasses.replace(over, player=jnp.int8(seat)), jnp.int32(0)) for seat in range(2)]
        assert [bool(claim[rule]) for claim in claims] == [cell == 6, False]
        assert all(found(before, state, jnp.int32(0)).values())
    assert state.terminated


def without(state, name):
    """A position of Stratego with nothing in a cell."""
    spot = CONFIG.grid.one_hot(jnp.int32(moves.parse_cell(CONFIG, name)))
    return dataclasses.replace(
        state, pieces=tuple(cells - spot for cells in state.pieces), kinds=tuple(digit - spot for digit in state.kinds)
    )


def test_pieces_of_stratego_go_in_battle_alone_and_one_at_least_in_each():
    vanish, stay, rules = "pieces go only in battle", "a piece goes in each battle", jax.jit(rules_of(Stratego(CONFIG)))
    before = position("Yaaaa aaaaO aP_aa aJaaa MaaaC")

    def broken(after):
        found = rules(before, after, jnp.int32(0))
        return {rule for rule in (vanish, stay) if not found[rule]}

    walks, fights = play_moves(before, "b2c2"), play_moves(before, "b2b3")
    assert broken(walks) == broken(fights) == set()
    assert broken(without(walks, "c2")) == broken(without(walks, "b3")) == {vanish}, "who has moved, or another one"
    assert broken(without(fights, "e1")) == broken(without(fights, "e4")) == {vanish}, "who was not in the battle"
    assert broken(dataclasses.replace(fights, pieces=before.pieces)) == {stay}


@pytest.mark.slow
def test_what_takes_long_is_checked_in_some_steps_of_all_games(monkeypatch):
    monkeypatch.setattr(play, "slow_rules_of", lambda game: lambda after: {LONG: after.attempts < 0})
    soak = Soak(GAME, agents.make("random", GAME), 8)
    assert soak.names[-1] == LONG
    key = jax.random.key(0)
    carry = jax.jit(soak.advance)(key, jax.jit(soak.start)(key), jnp.int32(35))
    assert carry.broken.tolist() == [0] * (len(soak.names) - 1) + [3 * 8]  # in steps 0, 17 and 34
    _, told = soak.again(key, int(carry.first[-1]))
    assert [step for step, _ in told] == list(range(1, len(told) + 1)), "alone, in each step"


@pytest.mark.parametrize(
    ("asked", "planned"),
    [
        ({"game": "clash", "mode": "all"}, [("clash", "all", "random", 5e6, 128)]),
        ({"game": "clash", "mode": "toy", "lanes": 3}, [("clash", "toy", "random", 1e8, 3)]),
        ({"game": "hex", "agent": "path"}, [("hex", "adh", "path", 1e7, 480)]),
        ({"game": "hex", "mode": "hex-5", "agent": "path"}, [("hex", "hex-5", "path", 1e8, 128)]),
        ({}, list(command.PLANS)),
        ({"lanes": 7}, [(*plan[:4], 7) for plan in command.PLANS]),
    ],
)
def test_what_is_asked_for_is_played(asked, planned):
    assert command._plans(SoakConfig(**asked)) == planned


@pytest.mark.slow
@pytest.mark.parametrize(("game", "mode", "agent", "steps"), [plan[:4] for plan in command.PLANS])
def test_all_planned_games_keep_their_rules(game, mode, agent, steps, tmp_path):
    lanes, steps_of_a_lane = 32, 120
    result, _ = ran(game=game, mode=mode, agent=agent, share=lanes * steps_of_a_lane / steps, lanes=lanes, output=str(tmp_path))
    assert isinstance(result, dict), result
    assert result["rows"][0]["steps"] >= lanes * steps_of_a_lane


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"share": 0}, "share=0: must be"),
        ({"lanes": -1}, "lanes=-1: must be"),
        ({"replay": 3}, "replay=3: say which game"),
        ({"game": "hex", "replay": 99_999_999_999}, "replay=99999999999: must be < 2147483648"),
        ({"mode": "toy"}, "mode='toy': say of which game"),
        ({"agent": "path"}, "agent='path': say of which game"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        SoakConfig(**settings)
