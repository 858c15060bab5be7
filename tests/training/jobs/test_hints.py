"""Hints: the picture, the numbers, what is refused; and one whole call, which is slow."""

import dataclasses
import xml.etree.ElementTree as ElementTree

import jax
import numpy as np
import pytest
from rich.console import Console

import jaxgames
from jaxgames.clash.scene import Scene
from jaxgames.clash.view_hints import draw_hints
from search.appraisal import Appraisal
from training.jobs import hints
from training.jobs.hints import HintsConfig

GAME = jaxgames.make("clash", "toy")
FOUND = Appraisal(
    np.array([0, 1, 1 + 576 + 200, 1 + 576 + 230], np.int32), np.array([0.5, 0.4, 0.9, 0.2], np.float32), np.array([9, 8, 7, 6])
)


def position():
    scene = Scene(GAME.config)
    scene.put_unit(1, "Giant", 9000, 12_000)
    return scene.state


def frames(picture):
    """Tiles with a frame: column and row from the left and from below."""
    boxes = ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}rect")
    framed = [box for box in boxes if (box.get("stroke"), box.get("stroke-width")) == ("#fff", "3")]
    return [(round((float(box.get("x")) - 16) / 20), 31 - round((float(box.get("y")) - 46) / 20)) for box in framed]


def test_the_best_tile_of_each_card_is_framed():
    state = position()
    open_tiles = np.ones((4, 576), bool)
    picture = draw_hints(GAME.config, state, 0, FOUND.actions, FOUND.values, open_tiles=open_tiles)
    assert frames(picture) == [(0, 0), (200 % 18, 200 // 18)]
    assert picture.count("fill-opacity='0.85'") == 3 and picture.count("fill-opacity='0.35'") == 2 * 576 - 3
    assert "waiting 50 %" in picture and "best 90 %" in picture and "Giant (5)" in picture
    turned = draw_hints(GAME.config, state, 1, FOUND.actions, FOUND.values)
    assert frames(turned) == [(17, 31), (17 - 200 % 18, 31 - 200 // 18)] and "fill-opacity='0.35'" not in turned
    with pytest.raises(ValueError, match="player=2: must be 0 or 1"):
        draw_hints(GAME.config, state, 2, [], [])
    with pytest.raises(ValueError, match="1 values: must be as many as the 2 actions"):
        draw_hints(GAME.config, state, 0, [0, 1], [0.5])


def test_values_by_card():
    told = hints.in_words(GAME, position(), 0, FOUND)
    assert told["waiting"] == 0.5 and [card["card"] for card in told["cards"]] == ["knight", "giant", "archers", "arrows"]
    giant = told["cards"][1]
    assert giant["best"] == pytest.approx(0.9) and giant["tile"] == [2, 11] and len(giant["tiles"]) == 2
    assert "best" not in told["cards"][2]


def test_saved_battles(tmp_path):
    path = tmp_path / "battle.npz"
    states = jax.tree.map(lambda leaf: np.stack([np.asarray(leaf)] * 3), position())
    content = hints.battle_bytes(states)
    path.write_bytes(content)
    again = hints.read_battle(str(path), GAME)
    assert all(np.array_equal(getattr(again, name), value) for name, value in vars(states).items())
    assert hints.moment(again, 1).tick.shape == ()
    with pytest.raises(ValueError, match=r"time=1\.5: must be at most 1, when the battle ends"):
        hints.moment(again, 1.5)
    with pytest.raises(ValueError, match=r"of another variant: alive is bool \[2, 9\]"):
        hints.read_battle(str(path), jaxgames.make("clash"))
    path.write_bytes(content[:500])
    with pytest.raises(ValueError, match=r"torn, or no battle \(\w+\)"):
        hints.read_battle(str(path), GAME)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"player": 2}, "player=2: must be 0 or 1"),
        ({"time": -1.0}, "time=-1.0: must be >= 0"),
        ({"searches": 0}, "searches=0: must be >= 1"),
        ({"output": ""}, "output='': must be a folder"),
        (
            {"battle": "x.npz", "agents": ("guard", "random")},
            "agents=guard random: nobody plays, as battle='x.npz' is read; leave",
        ),
    ],
)
def test_what_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        HintsConfig(**settings)


@pytest.mark.slow
def test_hints_of_a_battle(tmp_path):
    config = HintsConfig(
        "toy:positions=2",
        ("guard", "random"),
        time=2.0,
        searches=2,
        planner="mcs:horizon=2,num_simulations=36",
        output=str(tmp_path),
    )
    told = hints.run(config, Console(quiet=True))
    assert told["seconds"] == 2.0 and any("best" in card for card in told["cards"])
    again = hints.run(
        dataclasses.replace(config, agents=HintsConfig.agents, battle=str(tmp_path / "battle.npz")), Console(quiet=True)
    )
    assert again["cards"] == told["cards"] and (tmp_path / "hints.svg").read_text().startswith("<svg")
