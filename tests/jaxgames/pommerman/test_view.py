"""Every picture is well-formed and shows, state by state, what was recorded; films are read back as a browser plays them."""

from __future__ import annotations

import dataclasses
import itertools
import re
import subprocess
import sys
from xml.etree import ElementTree

import jax
import numpy as np
import pytest

from jaxgames.pommerman import Pommerman, interop, preset, view
from jaxgames.pommerman.constants import BOMB_LIFE, Cell
from jaxgames.pommerman.view_animation import game_result
from jaxgames.pommerman.view_parts import read
from jaxgames.pommerman.view_timeline import bomb_tracks
from tests.jaxgames.pommerman import recordings
from tests.jaxgames.pommerman.film import SVG, Film


@pytest.fixture(scope="module")
def ffa():
    return recordings.states("ffa_simple")[1]


def empty(states, *, size=11, agents=((1, 1), (9, 1), (9, 9), (1, 9)), first_step=0):
    """An open board on which nobody moves."""
    board = np.zeros((states, size, size), np.uint8)
    people = np.zeros((states, len(agents), 6), np.int8)
    for seat, (row, column) in enumerate(agents):
        board[:, row, column] = Cell.AGENT_0 + seat
        people[:, seat] = [row, column, 1, 1, 2, 0]
    return {
        "s_board": board,
        "s_items": np.zeros_like(board),
        "s_flames": np.zeros_like(board),
        "s_nbombs": np.zeros(states, np.uint8),
        "s_bombs": np.full((states, 32, 6), -1, np.int8),
        "s_agents": people,
        "s_step": np.arange(first_step, first_step + states, dtype=np.int16),
    }


@pytest.fixture(scope="module")
def duel():
    """On a small board two agents look on while a bomb rolls, explodes and burns."""
    arrays = empty(50, size=8, agents=((1, 1), (6, 6)))
    arrays["s_board"][:, 5, 1], arrays["s_board"][:, 1, 5], arrays["s_items"][:, 1, 5] = Cell.KICK, Cell.WOOD, Cell.INCREASE_RANGE
    for state in range(2, 11):
        arrays["s_bombs"][state, 0] = [3, min(state, 5), 0, BOMB_LIFE - 1 - (state - 2), 2, 4]
        arrays["s_nbombs"][state] = 1
        arrays["s_board"][state, 3, min(state, 5)] = Cell.BOMB
    for state, bits in {11: 0b100, 12: 0b010, 13: 0b001}.items():
        arrays["s_flames"][state, 3, 4:7], arrays["s_board"][state, 3, 4:7] = bits, Cell.FLAMES
    return arrays


def rolling():
    """A bomb of agent 0 rolls, one of agent 2 rests, in changing order; both are set off by nothing but time."""
    arrays = empty(14)
    for state in range(2, 11):
        life = BOMB_LIFE - 1 - (state - 2)
        rows = [[5, min(state, 8), 0, life, 2, 4], [7, 7, 2, life, 3, 0]]
        arrays["s_bombs"][state, :2] = rows if state % 2 else rows[::-1]
        arrays["s_nbombs"][state] = 2
    return arrays


def relit():
    """Flames over flames: a cell catches fire, catches fire again while it burns, and once more in the step after."""
    arrays = empty(12)
    for state, bits in {1: 0b100, 2: 0b010, 3: 0b101, 4: 0b110, 5: 0b011, 6: 0b001, 9: 0b100, 10: 0b010, 11: 0b001}.items():
        arrays["s_flames"][state, 5, 3:6] = bits
        arrays["s_board"][state, 5, 3:6] = Cell.FLAMES
    return arrays


def expected(arrays, state):
    board, items, bits = (arrays[name][state].astype(int) for name in ("s_board", "s_items", "s_flames"))
    agents, bombs = arrays["s_agents"][state], arrays["s_bombs"][state, : arrays["s_nbombs"][state]]
    alive = {seat: (int(a[0]), int(a[1])) for seat, a in enumerate(agents) if a[2]}
    return {
        "open": np.where(np.isin(board, [1, 2, 6, 7, 8]), board, 0),
        "hidden": np.where(bits == 0, items, 0),
        "flames": np.select([bits >= 4, bits >= 2, bits >= 1], [2, 1, 0], -1),
        "bombs": sorted(tuple(map(int, bomb[:4])) for bomb in bombs),
        "agents": alive,
        "crosses": sorted((int(a[0]), int(a[1])) for a in agents if not a[2]),
    }


def assert_shows(film, arrays, state, second):
    size, wanted = arrays["s_board"].shape[1], expected(arrays, state)
    np.testing.assert_array_equal(film.codes(second, size, hidden=False), wanted["open"])
    np.testing.assert_array_equal(film.codes(second, size, hidden=True), wanted["hidden"])
    np.testing.assert_array_equal(film.flames(second, size), wanted["flames"])
    assert film.bombs(second) == wanted["bombs"]
    assert film.agents(second) == wanted["agents"]
    assert film.crosses(second) == wanted["crosses"]
    digits = len(str(arrays["s_step"].max()))
    shown = [film.number(window, second) for window in film.windows]
    assert "".join(shown[:digits]) == str(arrays["s_step"][state])
    assert shown[digits:] == [str(number) for agent in arrays["s_agents"][state] for number in (agent[3], agent[4])]


@pytest.mark.parametrize("name", [*(pytest.param(name, marks=pytest.mark.slow) for name in ("ffa", "duel")), "rolling", "relit"])
def test_a_film_shows_every_recorded_state_and_loops(name, request):
    arrays = {"rolling": rolling, "relit": relit}[name]() if name in ("rolling", "relit") else request.getfixturevalue(name)
    film, states = Film(view.animate_recording(arrays, seconds_per_step=0.2, end_pause=1.5)), len(arrays["s_board"])
    assert film.seconds == pytest.approx((states - 1) * 0.2 + 1.5)
    assert {seconds for _, seconds, _ in film.rules.values()} == {film.seconds}
    for state in range(states):
        assert_shows(film, arrays, state, state * 0.2 + 0.005)
    assert_shows(film, arrays, states - 1, film.seconds - 0.005)
    assert_shows(film, arrays, 0, 3 * film.seconds + 0.005)


def test_the_games_hold_what_a_picture_must_show(ffa, duel):
    assert ffa["s_board"].shape[1:] == (11, 11) and duel["s_board"].shape[1:] == (8, 8)
    for arrays in (ffa, duel):
        assert arrays["s_nbombs"].any() and arrays["s_flames"].any() and arrays["s_items"].any()
        assert np.isin(arrays["s_board"], [6, 7, 8]).any()
        assert len(arrays["s_board"]) > 40


def test_a_viewer_without_animation_sees_the_first_state(ffa):
    film = Film(view.animate_recording(ffa))
    film.rules.clear()
    assert_shows(film, ffa, 0, 0.0)


def test_a_rolling_bomb_glides_from_cell_to_cell():
    film = Film(view.animate_recording(rolling(), seconds_per_step=1.0))
    group = next(g for g in film.board.findall(f"{SVG}g") if g.get("data-agent") is None)
    middle = [float(x) for x in re.findall(r"-?[\d.]+", film.value(group, "transform", 4.5))]
    assert middle == pytest.approx([4.5 * 40 + 20, 5 * 40 + 20], abs=0.01)


def test_bombs_are_followed_through_lists_of_any_order(ffa):
    assert [(track.owner, track.start, len(track.lives)) for track in bomb_tracks(read(rolling()))] == [(2, 2, 9), (0, 2, 9)]
    tracks = bomb_tracks(read(ffa))
    assert sum(len(track.lives) for track in tracks) == ffa["s_nbombs"].sum()
    laid = [life for state in range(len(ffa["s_board"])) for life in ffa["s_bombs"][state, : ffa["s_nbombs"][state], 3]]
    assert len(tracks) == laid.count(BOMB_LIFE - 1)


def test_one_element_per_agent_and_a_card_with_its_name(ffa, duel):
    for arrays, names in ((ffa, ["a", "b & c", "<d>", "e" * 60]), (duel, ["left", "right"])):
        film = Film(view.animate_recording(arrays, names=names))
        assert sorted(g.get("data-agent") for g in film.board.findall(f"{SVG}g[@data-agent]")) == [
            str(i) for i in range(len(names))
        ]
        tooltips = [title.text for title in film.root.findall(f"{SVG}g//{SVG}title")]
        assert tooltips == names


def test_films_are_compact(ffa):
    state_bytes = len(view.animate_recording(ffa)) / len(ffa["s_board"])
    assert state_bytes * 300 < 400_000
    assert len(view.animate_recording(empty(801))) < 100_000


def test_two_films_in_one_page_share_no_keyframes(ffa, duel):
    films = view.animate_recording(ffa), view.animate_recording(duel), view.animate_recording(ffa, captions={2: "so it goes"})
    names = [set(Film(film).rules) for film in films]
    assert all(names) and not any(one & other for one, other in itertools.combinations(names, 2))


def test_captions_are_shown_from_their_state_on():
    arrays = empty(10)

    def shown(captions, state):
        film = Film(view.animate_recording(arrays, captions=captions, seconds_per_step=0.1))
        lines = [text for text in film.root.findall(f"{SVG}text") if (text.text or "").startswith("line")]
        return [text.text for text in lines if film.visible(text, 0.1 * state + 0.01)]

    assert [shown({2: "line two", 5: "line five"}, state) for state in (0, 2, 4, 5, 9)] == [
        [],
        ["line two"],
        ["line two"],
        ["line five"],
        ["line five"],
    ]
    assert shown([f"line {state}" for state in range(10)], 7) == ["line 7"]


@pytest.mark.parametrize(
    "alive, last_step, teams, result",
    [
        ((0, 0, 1, 0), 50, False, "c wins"),
        ((0, 0, 0, 0), 50, False, "draw: nobody is left"),
        ((1, 0, 1, 0), 50, False, "the recording ends at step 50, 2 left"),
        ((1, 0, 1, 0), 800, False, "draw: step limit, 2 left"),
        ((1, 0, 0, 0), 50, True, "team A wins: a and c"),
        ((0, 1, 0, 1), 50, True, "team B wins: b and d"),
        ((1, 1, 0, 0), 800, True, "draw: step limit, 2 left"),
    ],
)
def test_the_result_tells_who_is_left(alive, last_step, teams, result):
    arrays = empty(2, first_step=last_step - 1)
    arrays["s_agents"][1, :, 2] = alive
    assert game_result(read(arrays), "abcd", teams=teams) == result
    assert result in view.animate_recording(arrays, names=list("abcd"), teams=teams)
    assert "agreed" in view.animate_recording(arrays, teams=teams, result="agreed")


def test_the_result_may_differ_from_who_is_left_and_from_the_usual_limit():
    arrays = empty(2, first_step=49)
    assert "draw: step limit, 4 left" in view.animate_recording(arrays, max_steps=50)
    arrays["s_agents"][1, :, 2] = 0  # a collapse came after the end
    assert "b wins" in view.animate_recording(arrays, names=list("abcd"), winners=[1])


def test_one_state_is_a_film_too():
    film = Film(view.animate_recording(empty(1)))
    assert_shows(film, empty(1), 0, 1.0)


@pytest.mark.parametrize("name", ["ffa", "duel"])
def test_a_drawing_shows_its_state(name, request):
    arrays = request.getfixturevalue(name)
    busy = int((arrays["s_nbombs"].astype(int) + (arrays["s_flames"] > 0).any((1, 2))).argmax())
    for state in (0, busy, len(arrays["s_board"]) - 1):
        film = Film(view.draw_recording(arrays, state, caption="a < b"))
        size, wanted = arrays["s_board"].shape[1], expected(arrays, state)
        np.testing.assert_array_equal(film.codes(0, size, hidden=False), wanted["open"])
        np.testing.assert_array_equal(film.codes(0, size, hidden=True), wanted["hidden"])
        np.testing.assert_array_equal(film.flames(0, size), wanted["flames"])
        assert film.bombs(0) == wanted["bombs"]
        assert film.agents(0) == wanted["agents"]
        assert film.crosses(0) == wanted["crosses"]
        assert f"step {state}" in [text.text for text in film.root.findall(f"{SVG}text")]


def test_more_bombs_than_the_official_variants_have_are_recorded_and_drawn():
    game = Pommerman(dataclasses.replace(preset("ffa"), num_items=36))
    arrays = empty(1)
    cells = [(row, column) for row in (3, 4, 5, 6) for column in range(10)]
    bombs = [(*cell, number // 10, BOMB_LIFE - 1, 2, 0) for number, cell in enumerate(cells)]
    arrays |= {"s_bombs": np.array([bombs], np.int8), "s_nbombs": np.array([len(bombs)], np.uint8)}
    arrays["s_board"][0, 3:7, :10] = Cell.BOMB
    states = interop.from_arrays(game.config, arrays)
    again = interop.to_arrays(game.config, states)
    assert all((again[name] == values).all() for name, values in arrays.items())
    state = jax.tree.map(lambda leaf: leaf[0], states)
    text = interop.to_json(game.config, state)
    assert interop.to_json(game.config, interop.from_json(game.config, text)) == text
    assert game.draw(state).count("</svg>") == 1


def test_words_of_any_kind_leave_the_document_well_formed():
    arrays = empty(3)
    words = "a<b>&\"\x00\n'é漢\ud800"
    for svg in (
        view.animate_recording(arrays, names=[words] * 4, captions=[words] * 3, title=words, result=words),
        view.draw_recording(arrays, 0, names=[words] * 4, title=words, caption=words),
    ):
        ElementTree.fromstring(svg.encode())


def spoilt(**changes):
    arrays = empty(5) | changes
    return {name: array for name, array in arrays.items() if array is not None}


def revived():
    arrays = empty(5)
    arrays["s_agents"][1, 3, 2] = 0
    return arrays


def crowded():
    arrays = empty(5)
    arrays["s_nbombs"][2] = 33
    return arrays


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: view.draw_recording(empty(5), 5), r"index=5: must be in 0\.\.4"),
        (lambda: view.draw_recording(empty(5), -1), r"index=-1: must be in 0\.\.4"),
        (lambda: view.draw_recording(spoilt(s_flames=None), 0), "s_flames: missing"),
        (lambda: view.animate_recording(spoilt(s_bombs=None)), "s_bombs: missing"),
        (lambda: view.animate_recording(spoilt(s_items=np.zeros((5, 8, 8), np.uint8))), r"s_items: shape \(5, 8, 8\)"),
        (lambda: view.animate_recording(spoilt(s_step=np.zeros(4, np.int16))), r"s_step: shape \(4,\)"),
        (lambda: view.animate_recording(spoilt(s_board=np.zeros((5, 11, 11)))), "s_board: dtype float64"),
        (lambda: view.animate_recording(spoilt(s_board=np.zeros((5, 11, 9), int))), "s_board: shape"),
        (lambda: view.animate_recording(spoilt(s_agents=np.zeros((5, 7, 6), int))), "s_agents: shape"),
        (lambda: view.animate_recording(crowded()), "s_nbombs: 33"),
        (lambda: view.animate_recording(empty(0)), "at least one state"),
        (lambda: view.animate_recording(revived()), "agent 3 comes back to life in state 2"),
        (lambda: view.animate_recording(empty(5), names=["a"]), "must be 4 names"),
        (lambda: view.animate_recording(empty(5), names="abcd"), "must be 4 names"),
        (lambda: view.animate_recording(empty(5), captions=["a"]), "must be 5, one per state"),
        (lambda: view.animate_recording(empty(5), captions={5: "a"}), r"captions: state 5 must be in 0\.\.4"),
        (lambda: view.animate_recording(empty(5), seconds_per_step=0), "seconds_per_step=0: must be"),
        (lambda: view.animate_recording(empty(5), end_pause=float("nan")), "end_pause=nan: must be"),
    ],
)
def test_bad_input_is_an_error_of_one_line(call, message):
    with pytest.raises(ValueError, match=message) as error:
        call()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("mode", ["one_vs_one", pytest.param("team", marks=pytest.mark.slow)])
def test_the_game_draws_itself(mode):
    game = Pommerman(preset(mode))
    start = jax.device_get(jax.jit(game.init)(jax.random.key(0)))
    end = dataclasses.replace(start, step_count=np.int16(9), terminated=np.bool_(True))
    dead = dataclasses.replace(start.bombers[1], alive=np.bool_(False))
    end = dataclasses.replace(end, bombers=(start.bombers[0], dead, *start.bombers[2:3], *(dead for _ in start.bombers[3:])))
    states, names = jax.tree.map(lambda *leaves: np.stack(leaves), start, end), list("abcd")[: game.num_players]
    arrays = interop.to_arrays(game.config, states)
    assert game.draw(end, names=names, caption="x") == view.draw_recording(arrays, 1, names=names, caption="x")
    film = game.animate(states, names=names)
    assert film == game.animate(states, np.zeros((1, game.num_players)), names=names)
    assert ("team A wins: a and c" if mode == "team" else "a wins") in film


def test_pictures_are_loaded_only_when_wanted():
    code = "import sys, jaxgames.pommerman; print([name for name in sys.modules if '.view' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
