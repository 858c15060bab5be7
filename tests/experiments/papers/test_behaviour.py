"""What players do: who killed whom, what is counted in games, and the report of a training run."""

import dataclasses
import json

import jax
import numpy as np
import pytest

import jaxgames
from experiments.papers import behaviour_page
from experiments.papers.behaviour import behaviour
from experiments.papers.behaviour_page import MOVES, BehaviourConfig, BehaviourPlan, Watched, logged, rounds_of
from experiments.papers.kills import killers
from jaxgames.pommerman.replay import step_batch
from tests.jaxgames.pommerman.positions import FFA, STOP, UP, Bomb, Man, look, position
from training.play import evaluate
from training.storage.logs import RunLog

GAME = jaxgames.make("pommerman", "ffa")
# The bomb at (2, 2) sets off the one at (2, 4), which alone reaches agent 1; a step later agent 2 walks into flames of both.
BOMBS = {(2, 2): Bomb(owner=0, life=1, strength=3), (2, 4): Bomb(owner=2, life=6, strength=2)}


def blasts(life):
    """The flames of both bombs."""
    return {cell: {life} for cell in [(0, 2), (1, 2), (1, 4), *((2, x) for x in range(6)), (3, 2), (3, 4), (4, 2)]}


OTHERS = {"m0": Man(ammo=2), "m1": Man(alive=False, cell=(2, 5)), "m3": Man(alive=False, cell=(4, 2))}
AT_HOME = "........... ........... ........... ...{}....... ........... ........... ..........0"
FILM = [
    position("........... ........... .....1..... ...2....... ..3........ ........... ..........0", bombs=BOMBS),
    position(AT_HOME.format(2), flames=blasts(2), step=1, m2=Man(ammo=2), **OTHERS),
    position(AT_HOME.format("."), flames=blasts(1), step=2, m2=Man(ammo=2, cell=(2, 3)), **OTHERS),
]


@pytest.fixture
def film():
    """States [3] and actions [2, 4] of a short game."""
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *FILM), np.array([[STOP] * 4, [STOP, STOP, UP, STOP]], np.int32)


@pytest.mark.slow  # to compile
def test_the_film_is_as_the_rules_say(film):
    for before, actions, after in zip(FILM[:-1], film[1], FILM[1:], strict=True):
        made, drawn = look(step_batch(FFA, before, actions[None])), look(after)
        assert (made.flames, made.bombs) == (drawn.flames, drawn.bombs)
        assert [man[-2:] for man in made.men] == [man[-2:] for man in drawn.men]


def test_kills_count_for_who_laid_the_bomb(film):
    states, _ = film
    assert [bool(bomber.alive[-1]) for bomber in states.bombers] == [True, False, False, False]
    found = {(int(killer), int(victim)) for killer, victim in np.argwhere(killers(GAME, states))}
    assert found == {(2, 1), (0, 3), (0, 2), (2, 2)}


def test_a_game_is_looked_at(film, monkeypatch):
    states, actions = film
    monkeypatch.setattr("experiments.papers.behaviour.replay", lambda game, key, index, games: states)
    none, seats = np.zeros((1, 4), np.int8), np.array([[2, 0, 1, 3]])
    games = evaluate.Games(none, none == 0, seats, np.array([2]), none, actions[None].astype(np.int16))
    found = behaviour(GAME, jax.random.key(0), games)
    assert found["moves"] == {"stop": 0.5, "up": 0.5, "down": 0, "left": 0, "right": 0, "bomb": 0}
    assert (found["kills"], found["suicides"], found["cells"], found["cells_in_20"]) == (1, 1, 1, None)
    visits = np.array(found["visits"])
    assert visits[7, 7] == visits.sum() == 1, "seat 2 begins at the bottom right, which is turned to the top left"


# --- the report --------------------------------------------------------------------------------------------------------


def result(who, stop, **changes):
    moves = dict.fromkeys(MOVES, (1 - stop) / 5) | {"stop": stop}
    count = {"games": 100, "wins": 60, "draws": 10, "losses": 30}
    found = {"games": 100, "moves": moves, "cells": 20.0, "cells_in_20": 8.5, "bombs": 6.0, "kills": 1.25, "suicides": 0.1}
    visits = np.full((11, 11), 1 / 121).tolist()
    return {"watched": who._asdict(), "weights": None, **found, "visits": visits, "released": count} | changes


def log_of(run):
    moves = dict.fromkeys(MOVES, 0.1) | {"stop": 0.5}
    rounds = [{"round": 1, "samples": 900, "games": 8, "wins": 0.25, "moves": moves}]
    return {"watched": Watched(run, 4, "", "", "")._asdict(), "weights": None, "log": rounds}


def test_the_report(tmp_path):
    networks = [Watched("ours", number, "sp_mcts", "simple_unbiased", "ffa") for number in (0, 4)]
    found = [result(who, stop) for who, stop in zip(networks, (0.1, 0.45), strict=True)]
    found += [result(Watched("", 0, "simple", "simple_unbiased", "ffa"), 0.2, cells_in_20=None), log_of("ours")]
    (tmp_path / "data").mkdir()
    for number, one in enumerate(found):
        (tmp_path / "data" / f"behaviour-{number}.json").write_text(json.dumps(one))
    behaviour_page.PAGE.write(BehaviourPlan(tmp_path))
    page = (tmp_path / "behaviour.md").read_text()
    assert "| ours | 0 → 4 | 10.0 → 45.0 | 8.50 → 8.50 | 6.00 → 6.00 | 1.25 → 1.25 |" in page
    assert "| ours, round 4 | sp_mcts, ffa, against simple_unbiased | 45.0 | 11.0 |" in page
    assert "| – | 20.00 | 6.00 | 1.25 | 0.10 | 60.0 (50–69) | 10.0 (6–17) | 100 |" in page
    assert "| ours | 1 | 50.0 | 10.0 | 10.0 | 10.0 | 10.0 | 10.0 | 25.0 | 8 | 900 |" in page
    for figure in ("visits", "moves", "rounds", "samples"):
        assert f"](behaviour_{figure}.svg)" in page and (tmp_path / f"behaviour_{figure}.svg").exists()


def test_a_report_of_nothing_is_a_whole_page(tmp_path):
    behaviour_page.PAGE.write(BehaviourPlan(tmp_path))
    assert "<!-- table players -->\n–\n" in (tmp_path / "behaviour.md").read_text()


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"watched": {"run": "one", "round": 3}}'])
def test_a_measurement_that_is_none_is_told_in_one_line(text, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "behaviour-toy.json").write_text(text)
    told = r"behaviour-toy\.json: torn, or no measurement of behaviour; remove it, and it is measured again$"
    with pytest.raises(ValueError, match=told):
        BehaviourPlan(tmp_path, BehaviourConfig()).results()


def test_rounds_of_a_run(tmp_path):
    for number in (0, 1, 5, 7):
        (tmp_path / f"round-{number:03d}.npz").touch()
    assert rounds_of(tmp_path, (0, 5, 50)) == [0, 5, 7]
    with pytest.raises(ValueError, match=r"^run .*: has no round-000\.npz and so on; give the folder of a train-expert run$"):
        rounds_of(tmp_path / "none", ())


def test_samples_are_read_from_the_log(tmp_path):
    with RunLog(tmp_path) as log:
        log.write(1, {"round": 0, "samples": 100, "action_shares": [1, 0, 0, 0, 0, 0], "games": 0, "wins": float("nan")})
        log.write(2, {"round": 0, "samples": 400, "action_shares": [0, 1, 0, 0, 0, 0], "games": 4, "wins": 0.5})
        log.write(3, {"round": 0, "loss": 1.0})
        log.write(4, {"round": 1, "samples": 500, "action_shares": [0, 0, 0, 0, 0, 1], "games": 0, "wins": 0.0})
    first, second = logged(tmp_path, Watched("ours", 2, "", "", ""))["log"]
    assert (first["round"], first["samples"], first["games"], first["wins"]) == (1, 400, 4, 0.5)
    assert first["moves"]["stop"] == 0.25 and first["moves"]["up"] == 0.75 and second["moves"]["bomb"] == 1
    assert second["wins"] is None


def test_other_weights_than_before_are_told(tmp_path):
    (tmp_path / "run").mkdir()
    weights = tmp_path / "run" / "round-000.npz"
    weights.write_bytes(b"one")
    plan = BehaviourPlan(tmp_path, BehaviourConfig(runs=(str(tmp_path / "run"),), agents=()))
    (one,) = behaviour_page.players(plan)
    plan.path(one.name).parent.mkdir()
    plan.path(one.name).write_text(json.dumps(result(one.label, 0.1)))
    with pytest.raises(ValueError, match=r"round-000\.npz: other weights than those of "):
        behaviour_page.players(plan)


@pytest.mark.parametrize(("settings", "message"), [
    ({"games": 0}, "games=0: must be >= 1"),
    ({"runs": ("a/run", "b/run")}, "runs=a/run b/run: folders must differ in their names"),
    ({"player": "sp_mcts:weights=x"}, "the weights are those of the runs"),
])  # fmt: skip
def test_settings_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        BehaviourConfig(**settings)


def test_what_was_watched_in_several_ways_is_told_apart(tmp_path):
    ways = (("network", "simple", 0.9), ("sp_mcts", "simple", 0.1), ("network", "simple_unbiased", 0.5))
    found = [result(Watched("ours", number, player, other, "ffa"), stop) for player, other, stop in ways for number in (0, 4)]
    (tmp_path / "data").mkdir()
    for number, one in enumerate(found):
        (tmp_path / "data" / f"behaviour-{number}.json").write_text(json.dumps(one))
    dataclasses.replace(behaviour_page.PAGE, figures=lambda plan: {}).write(BehaviourPlan(tmp_path))
    page = (tmp_path / "behaviour.md").read_text()
    for player, other, stop in ways:
        share = f"{100 * stop:.1f}"
        assert f"| ours ({player}, ffa, against {other}) | 0 → 4 | {share} → {share} |" in page
