"""The examples: each is one short file, and does what it says for a few steps."""

import functools
import importlib.util
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.registration import Defaults, Registration, bot
from tests.processes import run_python
from tests.tug import PULL, Tug, steady_player

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(path.stem for path in FOLDER.glob("*.py"))


def load(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_one_short_file_that_tells_how_it_is_run(name):
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 225
    assert f"python examples/{name}.py" in text.split('"""')[1] and 'if __name__ == "__main__":' in text


@pytest.mark.slow
def test_a_bot_evolves():
    told = load("evolve_bot").main(game="hex-hex-3-v1", population=8, games=8, generations=2)
    assert 0.2 < told["won"] <= 1 and np.isfinite(told["weights"]).all() and told["weights"].shape == (6,)


def test_a_game_of_one_s_own_keeps_the_contract():
    jaxgames.check_game(load("self_play_own_game").Drop(), num_games=4)


@pytest.mark.slow
def test_self_play_learns_from_nothing():
    told = load("self_play_own_game").main(lanes=128, rounds=150)
    assert told["after"] > max(told["before"] + 0.1, 0.8)


@pytest.mark.slow
def test_a_planner_plays_in_a_loop_of_one_s_own():
    told = load("planner_in_own_code").main("pommerman-one_vs_one-v1", "fdts:num_simulations=10,table_rows=1024", "random", 8, 60)
    assert told["games"] >= 4 and told["won"] > 0.5


class Sore(Tug):
    """One step that nobody wins, for which all get -1, as by the clock of Pommerman."""

    def apply(self, state, actions, chance):
        return replace(super().apply(state, actions, chance), rewards=jnp.full(2, -1.0))


def test_a_draw_is_told_as_one_whatever_it_pays(monkeypatch):
    monkeypatch.setattr(sys.modules["jaxgames.registration"], "_ADDED", {})
    defaults = Defaults("standard", "mcs", "pulls", ("mcs", "pulls"), "standard", ("mcs", "pulls"))
    pulls = bot("pulls", lambda game: steady_player(PULL))
    make = lambda mode=None: Sore(max_steps=1, name="sore")  # noqa: E731
    jaxgames.register(Registration("sore", make, ("standard",), defaults, (pulls,)))
    told = load("planner_in_own_code").main("sore-standard-v1", "mcs:num_simulations=2,horizon=1", lanes=2, steps=4)
    assert told == {"games": 4, "won": 0, "drawn": 1, "lost": 0}


@pytest.mark.parametrize(("example", "arguments", "told"), [
    ("planner_in_own_code", {"game_id": "hex-hex-3-v2"}, r"error: id='hex-hex-3-v2': hex is at version 1"),
    ("planner_in_own_code", {"planner_spec": "chess"}, r"error: planner='chess': must be one of"),
    ("planner_in_own_code", {"opponents": "chess"}, r"error: agent='chess': must be one of"),
    ("planner_in_own_code", {"game_id": "hex-adh-3-v1", "planner_spec": "pc_pimc:weights=none"}, r"plays by what its seat knows"),
    ("own_bot", {"games": 3}, r"error: games=3: must be even and at least 2"),
    ("own_bot", {"opponents": ()}, r"error: opponents: none, must be one or more"),
    ("own_bot", {"game_id": "pommerman-ffa-v1"}, r"error: game='pommerman': must be hex, whose sides a chain of stones joins"),
    ("own_bot", {"opponents": ("simple",)}, r"error: agent='simple': must be one of"),
])  # fmt: skip
def test_what_cannot_be_played_is_told_in_one_line(example, arguments, told):
    with pytest.raises(SystemExit, match=told) as stopped:
        load(example).main(**arguments)
    assert "\n" not in str(stopped.value)


@pytest.fixture(scope="module")
def ppo():
    """The example, and a network that it has drawn; what it draws by the same seed it draws once."""
    example = load("ppo_pommerman")
    example.draw = functools.cache(example.draw)
    return example, example.draw(1)


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_ppo_that_is_stopped_leaves_its_curve_and_a_network_that_plays(tmp_path, monkeypatch, capfd, ppo, how, code):
    """The update is made up: in the third one the signal comes."""
    (example, (graph, params)), updates = ppo, []

    def update(carry):
        updates.append(1)
        if len(updates) == 3:
            os.kill(os.getpid(), how)
        return carry, jnp.array([4, 1, 2])

    monkeypatch.setattr(example, "begin", lambda options: (update, (params,), graph))
    curve, network = tmp_path / "curve.csv", tmp_path / "network.npz"
    with pytest.raises(SystemExit) as stopped:
        example.main(example.Options(lanes=2, steps=5, out=str(curve), save=str(network)))
    assert stopped.value.code == code
    assert len(updates) == 3 and "stopping when this iteration is done and saved" in capfd.readouterr().err
    rows = np.genfromtxt(curve, delimiter=",", names=True)
    assert (rows["steps"], rows["won"], rows["lost"]) == (20, 0.25, 0.5)
    found = example.load(str(network))
    assert found.name == "ppo"
    for mine, theirs in zip(jax.tree.leaves(found.params), jax.tree.leaves(params), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.slow
def test_ppo_learns(tmp_path):
    """In a process of its own, as the older emitters of tests do not take this program."""
    curve = tmp_path / "curve.csv"
    flags = ["--updates", "60", "--every", "20", "--lanes", "256", "--out", str(curve)]
    done = run_python([str(FOLDER / "ppo_pommerman.py"), *flags], {"PYTHONPATH": str(FOLDER.parent)})
    assert done.returncode == 0, done.stderr
    rows = np.genfromtxt(curve, delimiter=",", names=True)
    assert rows["steps"].tolist() == [20 * 8192, 40 * 8192, 60 * 8192]
    assert (rows["won"] + rows["lost"] < 1.0001).all(), "more than all, by more than six digits round"
    assert rows["won"][-1] > rows["won"][0] + 0.05
