"""Pictures are well-formed and show, attempt by attempt, the true board, what each player sees, and what failed."""

from __future__ import annotations

import re
import subprocess
import sys
from xml.etree import ElementTree

import jax
import numpy as np
import pytest

from jaxgames.hex import Hex, HexConfig, interop, rules, view
from jaxgames.hex.geometry import BLACK, WHITE
from tests.jaxgames.hex.playing import at, joined, play

SVG = "{http://www.w3.org/2000/svg}"
SIZE = 4
TOLERANCE = 0.06  # of coordinates, which are written with one digit


class Film:
    """A parsed picture: for each board the title, and what stands on it at a moment."""

    def __init__(self, svg: str) -> None:
        root = ElementTree.fromstring(svg)
        self.boards = [group for group in root.findall(f"{SVG}g") if group.get("transform")]
        self.titles = [board.findall(f"{SVG}text")[-1].text for board in self.boards]
        self.lines = [text.text for text in root.findall(f"{SVG}text")]

    def stones(self, place: int, second: float | None = None) -> np.ndarray:
        """Signs of the stones on a board, int8 [n * n]; None: all of them."""
        signs = np.zeros(SIZE * SIZE, np.int8)
        for group in self.boards[place].findall(f"{SVG}g"):
            circle = group.find(f"{SVG}circle")
            if circle is None:  # a number
                continue
            cell = cell_at(float(circle.get("cx")), float(circle.get("cy")))
            if shown(group, second):
                assert signs[cell] == 0
                signs[cell] = 1 if circle.get("fill") == view._COLOURS[BLACK] else -1
        return signs

    def numbers(self, place: int) -> dict[int, int]:
        """The number on each stone of a board, by cell."""
        texts = [group.find(f"{SVG}text") for group in self.boards[place].findall(f"{SVG}g")]
        return {cell_at(float(text.get("x")), float(text.get("y")) - 3.8): int(text.text) for text in texts if text is not None}

    def crosses(self, place: int, second: float) -> list[int]:
        """Cells that are marked as failed attempts."""
        paths = [path for path in self.boards[place].findall(f"{SVG}path") if shown(path, second)]
        corners = [[float(x) for x in re.findall(r"[\d.]+", path.get("d"))[:2]] for path in paths]
        return [cell_at(x + 7, y + 7) for x, y in corners]

    def chain(self) -> list[int]:
        """Cells that the line through the winner's stones joins."""
        lines = [line for line in self.boards[0].findall(f"{SVG}polyline") if line.get("stroke") == view._WON]
        points = [point.split(",") for line in lines for point in line.get("points").split()]
        return [cell_at(float(x), float(y)) for x, y in points]


def cell_at(x: float, y: float) -> int:
    """The cell with this centre."""
    row = (y - view.MARGIN - view.SIDE) / (1.5 * view.SIDE)
    column = (x - view.MARGIN) / (np.sqrt(3) * view.SIDE) - row / 2 - 0.5
    assert abs(row - round(row)) < TOLERANCE and abs(column - round(column)) < TOLERANCE
    return round(row) * SIZE + round(column)


def shown(element: ElementTree.Element, second: float | None) -> bool:
    """Whether a browser shows an element at a second of its first round; None: without animation."""
    animation = element.find(f"{SVG}animate")
    if second is None or animation is None:
        return element.get("opacity") != "0"
    values, times = ([float(part) for part in animation.get(name).split(";")] for name in ("values", "keyTimes"))
    share = second / float(animation.get("dur").removesuffix("s"))
    return [value for value, time in zip(values, times, strict=True) if time <= share][-1] > 0


def recorded(rules_name: str, seed: int):
    """The states of a finished random game, from the start to the end, and the cells that were tried."""
    game = Hex(HexConfig(SIZE, rules_name))
    tries = np.random.default_rng(seed).permuted(np.tile(np.arange(SIZE * SIZE), (2, 1)), axis=1).tolist()
    states, cells = play(game, []), []
    while not states[-1].terminated:
        cell = tries[int(states[-1].player)].pop()
        if game.config.is_dark or not interop.board(game.config, states[-1])[cell]:
            states += play(game, [cell], states[-1])[1:]
            cells.append(cell)
    return game.config, jax.tree.map(lambda *leaves: np.stack(leaves), *states), np.array(cells)


@pytest.mark.parametrize("rules_name, boards", [("hex", 1), ("abrupt", 3), pytest.param("classical", 3, marks=pytest.mark.slow)])
def test_a_film_shows_every_state_and_every_failed_attempt(rules_name, boards):
    config, states, cells = recorded(rules_name, 3)
    film, length = Film(view.animate(config, states)), len(cells)
    truth = interop.board(config, states)
    codes = [truth, *(np.sign(interop.view_codes(config, states, player)) for player in (BLACK, WHITE))]
    failed = [cell for attempt, cell in enumerate(cells) if truth[attempt, cell] != 0]
    assert len(film.boards) == boards and bool(failed) == config.is_dark
    for attempt in range(length + 1):
        second = attempt * view.SECONDS_PER_ATTEMPT + 0.01
        for place in range(boards):
            np.testing.assert_array_equal(film.stones(place, second), codes[place][attempt])
        fails = attempt > 0 and truth[attempt - 1, cells[attempt - 1]] != 0
        assert film.crosses(0, second) == ([cells[attempt - 1]] if fails else [])
        assert all(film.crosses(place, second) == [] for place in range(1, boards))
    for place in range(boards):  # programs that play no animation
        np.testing.assert_array_equal(film.stones(place), codes[place][-1])
    placed = {int(cell): attempt + 1 for attempt, cell in enumerate(cells) if truth[attempt, cell] == 0}
    assert film.numbers(0) == placed


@pytest.mark.parametrize("rules_name, seed", [("hex", 0), ("abrupt", 1), pytest.param("classical", 2, marks=pytest.mark.slow)])
def test_the_end_tells_who_has_won_and_by_which_stones(rules_name, seed):
    config, states, cells = recorded(rules_name, seed)
    film, last = Film(view.animate(config, states, names=("path", "random"))), at(states, -1)
    winner = BLACK if int(rules.winner(last)) == 1 else WHITE
    name = interop.cell_name(config, int(cells[-1]))
    assert film.lines[-1] == f"{('path', 'random')[winner]} wins at {name}, attempt {len(cells)}"
    chain = np.zeros(SIZE * SIZE, int)
    chain[film.chain()] = 1 if winner == BLACK else -1
    assert joined(chain.reshape(SIZE, SIZE), 1 if winner == BLACK else -1)
    assert not (chain - interop.board(config, last) * (chain != 0)).any()


def test_other_ends_are_told():
    game = Hex(HexConfig(SIZE))
    states = play(game, [0, 1, 1])  # the last cell is taken
    lost = jax.tree.map(lambda *leaves: np.stack(leaves), *states)
    assert Film(view.animate(game.config, lost)).lines[-1] == "white wins by an attempt that is not allowed, attempt 3"
    short = jax.tree.map(lambda leaf: leaf[:3], lost)
    film = Film(view.animate(game.config, short))
    assert film.lines[-1] == "2 attempts, the game is not over" and film.chain() == []
    with pytest.raises(ValueError, match="1 of them: must be at least 2"):
        view.animate(game.config, jax.tree.map(lambda leaf: leaf[:1], lost))


@pytest.mark.parametrize("rules_name", ["hex", "abrupt"])
def test_a_drawing_shows_its_state(rules_name):
    config, states, _cells = recorded(rules_name, 5)
    state = at(states, 7)
    film = Film(view.draw(config, state, caption="a < b"))
    codes = [interop.board(config, state)]
    codes += [np.sign(interop.view_codes(config, state, player)) for player in (BLACK, WHITE)] if config.is_dark else []
    assert len(film.boards) == len(codes)
    for place, signs in enumerate(codes):
        np.testing.assert_array_equal(film.stones(place), signs)
        assert film.numbers(place) == {}
    assert film.lines[-1] == "a < b"


@pytest.mark.parametrize("names, titles", [
    (("path", "path"), ["seen by black (path)", "seen by white (path)"]),
    (("a<b>&\"'", "é"), ["seen by black (a<b>&\"')", "seen by white (é)"]),
    (("black", "white"), ["seen by black", "seen by white"]),
    (("board", "x\x00\ny"), ["seen by black (board)", "seen by white (xy)"]),
])  # fmt: skip
def test_every_player_has_a_board_whatever_the_names(names, titles):
    config, states, _cells = recorded("abrupt", 3)
    for picture in (view.animate(config, states, names=names), view.draw(config, at(states, -1), names=names)):
        film = Film(picture)
        assert film.titles == ["board", *titles]
        for player in (BLACK, WHITE):
            seen = np.sign(interop.view_codes(config, at(states, -1), player))
            np.testing.assert_array_equal(film.stones(1 + player), seen)


def test_a_long_name_ends_where_its_board_does():
    config, states, _cells = recorded("abrupt", 3)
    long = "fdts:bandit=ucb,num_simulations=1000,horizon=20 (sees all)"
    titles = Film(view.draw(config, at(states, -1), names=(long, "path"))).titles
    assert titles[1].startswith("seen by black (fd") and titles[1].endswith("…") and titles[2] == "seen by white (path)"


@pytest.mark.parametrize("names", [["a"], "ab", ("a", "b", "c")])
def test_there_are_two_names(names):
    config, states, _cells = recorded("abrupt", 3)
    for draw in (lambda: view.animate(config, states, names=names), lambda: view.draw(config, at(states, 0), names=names)):
        with pytest.raises(ValueError, match=r"names=.*: must be 2 names"):
            draw()


@pytest.mark.parametrize("names", [("black", "white"), ("sp_mcts:values=prospects,replies=4", "a name as long as that one is")])
def test_words_have_room(names):
    caption = "a line below that is much longer than the board above it is wide, and goes on for a while"
    game = Hex(HexConfig(board_size=3))
    root = ElementTree.fromstring(game.draw(game.init(jax.random.key(0)), names=names, caption=caption))
    texts = root.findall(f"{SVG}text")
    assert [text.text for text in texts] == [f"{names[0]} joins top and bottom", f"{names[1]} joins left and right", caption]
    for text in texts:  # in fonts as wide as DejaVu Sans a letter of size 14 takes 8 on average
        assert float(text.get("x")) + 8 * len(text.text) <= float(root.get("width"))
    assert float(texts[0].get("x")) + 8 * len(texts[0].text) < float(texts[1].get("x"))


def test_the_game_draws_itself():
    config, states, _cells = recorded("abrupt", 3)
    game = Hex(config)
    assert game.draw(at(states, 4), names=("a", "b"), caption="c") == view.draw(
        config, at(states, 4), names=("a", "b"), caption="c"
    )
    assert game.animate(states, names=("a", "b")) == view.animate(config, states, names=("a", "b"))


def test_pictures_are_loaded_only_when_wanted():
    code = "import sys, jaxgames.hex; print([name for name in sys.modules if '.view' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
