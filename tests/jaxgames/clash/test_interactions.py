import io
import json
from pathlib import Path

import jax
import pytest

from jaxgames import replay
from jaxgames.clash import interactions, properties

SHOTS = {"id": "shots", "kind": "arithmetic", "setup": {"unit": "Giant"}, "expect": {"shots": 38}, "tolerance": 0}


def played(path):
    out, err = io.StringIO(), io.StringIO()
    code = replay.replay_files("clash", [path], out=out, err=err)
    return code, out.getvalue().splitlines(), err.getvalue()


def test_a_line_for_each_interaction_and_one_for_all(tmp_path):
    path = tmp_path / "some.json"
    wrong = SHOTS | {"id": "wrong", "expect": {"shots": 37}}
    free = SHOTS | {"id": "free", "tolerance": {"hits": 1}}
    path.write_text(json.dumps({"interactions": [SHOTS, wrong, free]}), encoding="utf-8")
    code, lines, _ = played(path)
    assert code == 1
    assert lines == [
        "shots: within tolerance",
        "wrong: shots: 38, expected 37",
        "free: within tolerance (shots: without one, not compared)",
        "3 interactions, 1 outside tolerance",
    ]


def test_files_that_cannot_be_read(tmp_path):
    path = tmp_path / "torn.json"
    path.write_text('{"interactions": [', encoding="utf-8")
    code, lines, error = played(path)
    assert (code, lines) == (2, []) and "not a JSON file, or torn" in error
    path.write_text(json.dumps({"interactions": [{"id": "x", "kind": "arithmetic", "setup": {}}]}), encoding="utf-8")
    assert "interaction 0: expect must be there" in played(path)[2]


DUEL = {"first": "knight", "second": "giant", "separation": 4_000}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "dance"}, "kind='dance': must be one of"),
        ({"expect": {"colour": "red"}}, "colour: cannot be played"),
        ({"setup": {"unit": "Nobody"}}, "cannot be played: unit='Nobody'"),
        ({"setup": {"unit": 7}}, "cannot be played: unit=7: there is no such unit"),
        ({"expect": {"shots": {}}}, "cannot be played: unsupported operand"),
        ({"tolerance": "little"}, "cannot be played: could not convert string to float: 'little'"),
        ({"kind": "engine_duel", "setup": {"first": "knight", "second": "giant"}}, "cannot be played: 'separation' is missing"),
        ({"kind": "engine_duel", "setup": DUEL | {"separation": "far"}}, "cannot be played: unsupported operand"),
        ({"kind": "engine_duel", "setup": DUEL | {"first": ["knight"]}}, "cannot be played: card=['knight']: is no card"),
        ({"kind": "engine_lone", "setup": {"card": 5}}, "cannot be played: card=5: is no card"),
        ({"setup": {"unit": "Giant", "spell": 7}}, "cannot be played: card=7: is no card"),
        ({"id": "cannon_hits_tombstone", "setup": {"unit": "Giant", "count": 0}}, "cannot be played: count=0: must be >= 1"),
        ({"id": "tombstone_hits_knight"}, "cannot be played: attacker='Tombstone': does no damage"),
        ({"kind": "engine", "setup": {"fireball": [10**400, 9_000]}}, "cannot be played: position=(1000"),
        ({"kind": "engine_duel", "setup": DUEL | {"y": 99_000}}, "position=(7000, 99000): must be integers inside the arena"),
        ({"kind": "engine_lone", "setup": {"card": "knight", "deploy_xy": 7}}, "cannot be played: "),
    ],
)
def test_what_cannot_be_played_is_outside_tolerance(change, message):
    assert message in interactions.check(SHOTS | change)[0]


def test_a_spell_that_does_not_fly_lands_where_it_is_cast(monkeypatch):
    """However far from the king; nothing is played here, only the time until its first wave is looked at."""
    casts = []
    monkeypatch.setattr(interactions.Scene, "cast", lambda *given, ticks: casts.append(ticks))
    monkeypatch.setattr(
        interactions, "film", lambda config, state, num_ticks, **more: jax.tree.map(lambda leaf: leaf[None], state)
    )
    interactions.check(SHOTS | {"kind": "engine", "setup": {"zap": [9_000, 20_000]}, "expect": {"land_tick": 1}})
    assert casts == [properties.CONFIG.table.card("zap").first_wave_ticks]


@pytest.mark.slow
def test_all_that_come_with_the_rules():
    path = Path(__file__).parents[2] / "data" / "clash" / "interactions.json"
    code, lines, _ = played(path)
    assert code == 0, lines
    assert lines[-1] == "38 interactions, 0 outside tolerance"
