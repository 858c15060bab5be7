"""Pictures as pixels, and games as GIFs."""

import jax
import numpy as np
import pytest
from PIL import Image

import jaxgames
from jaxgames import gif, raster
from tests.tug import Tug

SQUARES = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 40 {high}'><rect width='20' height='{high}' fill='#ff0000'/></svg>"
)


@pytest.fixture(scope="module")
def played():
    """A game of two moves."""
    game = jaxgames.make("hex-hex-5-v1")
    states = [jax.jit(game.init)()]
    for action in (12, 3):
        states.append(jax.jit(game.step)(states[-1], np.array([action, action], np.int32)))
    return game, jax.tree.map(lambda *leaves: np.stack(leaves), *jax.device_get(states))


def test_a_picture_becomes_pixels():
    pixels = raster.to_array(SQUARES.format(high=20), width=80)
    assert pixels.shape == (40, 80, 3) and pixels.dtype == np.uint8
    assert (pixels[:, :39] == (255, 0, 0)).all() and (pixels[:, 41:] == 255).all()
    assert raster.to_array(SQUARES.format(high=21), width=40).shape == (22, 40, 3), "films have even heights"


@pytest.mark.parametrize("high", [5, 20, 60])
def test_pictures_fit_into_a_size(high):
    pixels = raster.to_array(SQUARES.format(high=high), size=(40, 80))
    rows, columns = np.nonzero((pixels == (255, 0, 0)).all(2))
    assert pixels.shape == (40, 80, 3) and len(rows)
    assert abs(rows.min() - (39 - rows.max())) <= 1, "in the middle"
    assert abs((np.ptp(columns) + 1) * 2 * high / 40 - (np.ptp(rows) + 1)) <= 2, "as wide as it is high"


def test_what_is_no_picture_is_told():
    with pytest.raises(ValueError, match="svg='hex': cannot be drawn: "):
        raster.to_array("hex")


def test_a_game_becomes_a_gif(played, tmp_path):
    game, states = played
    jaxgames.write_gif(tmp_path / "game.gif", game, states, names=("Ann", "Bob"), width=200, seconds=0.5)
    with Image.open(tmp_path / "game.gif") as film:
        assert film.n_frames == 3 and film.width == 200 and film.info["loop"] == 0
        durations, frames = [], []
        for index in range(3):
            film.seek(index)
            durations.append(film.info["duration"])
            frames.append(np.asarray(film.convert("RGB")).astype(int))
    assert durations == [500, 500, 3000]
    wanted = raster.to_array(game.draw(jax.tree.map(lambda leaf: leaf[1], states), names=("Ann", "Bob")), 200)
    assert (frames[1][0, 0] == 255).all() and np.abs(frames[1] - wanted).mean() < 1 < np.abs(frames[1] - frames[0]).max()
    assert [path.name for path in tmp_path.iterdir()] == ["game.gif"]


def test_of_a_long_game_not_all_is_shown(played, monkeypatch):
    monkeypatch.setattr(gif, "MOST_FRAMES", 2)
    game, states = played
    drawn = []

    class Watched:
        def draw(self, state, *, names):
            drawn.append(int(state.player))
            return game.draw(state, names=names)

    assert len(gif._images(Watched(), states, (), 100)) == 2
    assert len(drawn) == 2, "the first and the last"


def test_what_cannot_be_a_gif_is_told(played, monkeypatch, tmp_path):
    game, states = played
    for wrong, told in (
        ({"width": 0}, "width=0: must be >= 1"),
        ({"seconds": 0}, r"seconds=0: must be in 0\.02\.\.600"),
        ({"seconds": 900}, "seconds=900: must be"),
        ({"width": 100.5}, "width=100.5: must be a whole number"),
        ({"seconds": "1"}, "seconds='1': must be a number"),
    ):
        with pytest.raises(ValueError, match=told):
            jaxgames.write_gif(tmp_path / "game.gif", game, states, **wrong)
    with pytest.raises(ValueError, match="game='tug': has no pictures"):
        jaxgames.write_gif(tmp_path / "game.gif", Tug(), Tug().state(0))
    with pytest.raises(ValueError, match="states: "):
        jaxgames.write_gif(tmp_path / "game.gif", game, jax.tree.map(lambda leaf: leaf[0], states))
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        jaxgames.write_gif(tmp_path / "new" / "game.gif", game, states)
    monkeypatch.setattr(raster, "_LIBRARIES", ("no_such_library",))
    with pytest.raises(ImportError, match="no_such_library is not installed"):
        jaxgames.write_gif(tmp_path / "game.gif", game, states)
    assert not list(tmp_path.iterdir())
