"""Agents of one's own, by the file that they are in."""

from pathlib import Path

import jax
import pytest

import jaxgames
from training.play import agents, evaluate, own_agents

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


def test_a_planner_and_modules_beside_the_file(tmp_path):
    (tmp_path / "beside_it.py").write_text("STEPS = 2\n")
    (tmp_path / "mine.py").write_text(
        "import search\nfrom beside_it import STEPS\n\ndef make(game):\n"
        "    return search.mcs(game, num_simulations=4, horizon=STEPS)\n"
    )
    agent = agents.make(f"python:{tmp_path}/mine.py:make", GAME)
    assert agent.name == f"python:{tmp_path}/mine.py:make" and agent.sees_state


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
