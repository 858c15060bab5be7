"""Agents of one's own, by the file that they are in."""

from pathlib import Path

import jax
import pytest

import jaxgames
from training.play import agents, evaluate, own_agents
from training.web.play import PlayConfig, make_desk
from training.web.saved import SavedGame

BOT = Path(__file__).parents[3] / "examples" / "own_bot.py"
GAME = jaxgames.make("hex", "adh-3")


def test_a_bot_of_one_s_own_plays():
    spec = f"python:{BOT}:make"
    bot = agents.make(spec, GAME)
    assert bot.name == spec and not bot.sees_state
    games = evaluate.play(GAME, [bot, agents.make("random", GAME)], jax.random.key(0), 64, seating="rotated")
    assert (games.outcomes[:, 0] > 0).mean() > 0.6, "the middle of the smallest board wins most games"


def test_it_is_a_file_that_is_read():
    """So that no page in a browser may run it, and a tournament knows when it has changed."""
    spec = f"python:{BOT}:make"
    assert (
        agents.reads_a_file(spec, GAME) and agents.settings_of(spec, GAME) == {"name": spec} and agents.notes([spec], GAME) == []
    )
    assert agents.digest(spec, GAME) == agents.digest(f"python:{BOT.parent}/../examples/own_bot.py:make", GAME) != ""


def test_a_planner_of_one_s_own(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import search\n\ndef make(game):\n    return search.mcs(game, num_simulations=4, horizon=2)\n"
    )
    spec = f"python:{tmp_path}/mine.py:make"
    agent = agents.make(spec, GAME)
    assert agent.name == spec and agent.sees_state
    planner, params = agents.make_planner(spec, GAME)
    assert planner.name == spec and params is None
    with pytest.raises(ValueError, match="is an agent, which plans nothing"):
        agents.make_planner(f"python:{BOT}:make", GAME)


def test_no_saved_game_has_a_program_run(tmp_path):
    """But for one that the page was started with; not as a model either."""
    (tmp_path / "evil.py").write_text("raise SystemExit('it was run')\n")
    for agent in (f"python:{tmp_path}/evil.py:make", f"sp_mcts:model=python:{tmp_path}/evil.py:make"):
        assert agents.runs_a_file(agent)
        saved = tmp_path / "game.json"
        saved.write_text(SavedGame("hex", "adh-3", 3, 0, 0, (agent, "you")).to_text())
        with pytest.raises(ValueError, match=r"is a program, which a saved game may not start; start the page with that agent"):
            make_desk(PlayConfig(load=str(saved)))
    assert not agents.runs_a_file("network:FILE") and not agents.runs_a_file("you")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("python:FILE:nothing", r"has no function 'nothing'; must be python:FILE\.py:FUNCTION"),
        ("python:FILE:NUMBER", r"has no function 'NUMBER'; must be"),
        ("python:FILE:wrong", r"wrong returned a int; must be python:FILE\.py:FUNCTION, a function of a game"),
        ("python:FILE", r"^agent='python:.*/bad\.py': must be python:FILE\.py:FUNCTION"),
        ("python:", r"^agent='python:': must be python:FILE\.py:FUNCTION"),
    ],
)
def test_what_is_no_bot_is_told(text, told, tmp_path):
    (tmp_path / "bad.py").write_text("NUMBER = 3\n\ndef wrong(game):\n    return 3\n")
    with pytest.raises(ValueError, match=told):
        agents.make(text.replace("FILE", str(tmp_path / "bad.py")), GAME)


def test_a_file_that_is_not_there_is_told():
    with pytest.raises(OSError, match=r"nowhere\.py"):
        own_agents.make("python:nowhere.py:make", GAME)
