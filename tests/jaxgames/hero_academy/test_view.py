"""Every picture is well-formed; arrows go from and to the right cells, and no number covers another."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import random
import re
from pathlib import Path
from xml.etree import ElementTree

import jax
import numpy as np
import pytest

from jaxgames.hero_academy import interop, shapes, view
from jaxgames.hero_academy.cards import CARD_NAMES
from tests.jaxgames.hero_academy.positions import GAME, LAYOUT, act, cell, play, position

SAMPLES = Path(__file__).resolve().parents[2] / "data" / "hero_academy"
SVG = "{http://www.w3.org/2000/svg}"
KNIGHT, NINJA, POTION, SCROLL = (CARD_NAMES.index(name) for name in ("knight", "ninja", "potion", "scroll"))


@functools.cache
def recorded(name="games_deterministic"):
    """States and actions of a game."""
    with np.load(SAMPLES / f"{name}.npz") as file:
        rows = slice(*file["game_offset"][:2])
        arrays, flat = {field: file[field][rows] for field in interop.FIELDS}, file["action"][rows][:-1].astype(int)
    states = jax.device_get(interop.from_arrays(GAME.config, arrays))
    return states, interop.from_flat(GAME.config, jax.tree.map(lambda leaf: leaf[:-1], states), flat)


def arrows(root):
    """The arrows of a picture or a frame: numbers -> ((x, y), (x, y))."""
    found = {}
    for path in root.iter(f"{SVG}path"):
        if path.get("data-actions"):
            x, y, to_x, to_y = map(float, re.findall(r"-?[\d.]+", path.get("d")))
            found[path.get("data-actions")] = (x, y), (to_x, to_y)
    return found


def place(point):
    """The cell (x, y) of a point, or the player whose hand it is at."""
    x, y = ((number - first) / view.CELL for number, first in zip(point, (view.MARGIN + view.SIDE, view.TOP), strict=True))
    if not 0 <= x < 9:
        return "first hand" if x < 0 else "second hand"
    return int(x), int(y)


def drawn(state, turn, **settings):
    """Arrows of a turn by cells, and the words below."""
    root = ElementTree.fromstring(view.draw(GAME.config, state, turn=turn, **settings))
    ends = {numbers: (place(start), place(end)) for numbers, (start, end) in arrows(root).items()}
    return ends, [text.text or "" for text in root.iter(f"{SVG}text")][-2 - len(ends) :]


def boxes(root):
    found = []
    for label in root.iter(f"{SVG}g"):
        if label.get("data-label"):
            rect = label.find(f"{SVG}rect")
            left, top, wide, high = (float(rect.get(name)) for name in ("x", "y", "width", "height"))
            assert label.find(f"{SVG}text").text == label.get("data-label")
            found.append((left, top, left + wide, top + high))
    return found


def assert_apart(root):
    for one, other in itertools.combinations(boxes(root), 2):
        apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
        assert apart, (one, other)


HANDS = {"hand": ("knight", "ninja", "potion", "inferno", "scroll"), "other_hand": ("knight", "potion")}


@pytest.mark.parametrize(
    ("action", "ends"),
    [
        (act((2, 3), (4, 3)), ((2, 3), (4, 3))),
        (act((2, 3), (1, 2)), ((2, 3), (1, 2))),
        (LAYOUT.trade_with(cell(2, 3)), ((4, 1), (2, 3))),
        (LAYOUT.deploy(KNIGHT, 0), ("first hand", (0, 0))),
        (LAYOUT.deploy(NINJA, 1), ("first hand", (0, 4))),
        (play("potion", (2, 3)), ("first hand", (2, 3))),
        (play("inferno", (8, 4)), ("first hand", (8, 4))),
    ],
)
def test_an_arrow_goes_from_the_unit_or_the_hand_to_the_target(action, ends):
    state = position({(2, 3): ("K", 500, 0), (4, 1): "N", (6, 3): "k", (5, 3): "n"}, **HANDS)
    assert drawn(state, [action])[0] == {"1": ends}


def test_the_second_players_arrows_start_at_its_own_hand_and_ninja():
    state = position({(2, 3): "N", (6, 3): ("k", 500, 0), (5, 1): "n"}, player=1, **HANDS)
    turn = [LAYOUT.deploy(KNIGHT, 1), LAYOUT.trade_with(cell(6, 3)), play("potion", (5, 1))]
    assert drawn(state, turn)[0] == {"1": ("second hand", (8, 4)), "2": ((5, 1), (6, 3)), "3": ("second hand", (5, 1))}


@pytest.mark.parametrize(
    ("before", "start"),
    [
        ([], (4, 1)),
        ([act((4, 1), (4, 3))], (4, 3)),  # it moves
        ([act((4, 1), (5, 1))], (4, 1)),  # it attacks
        ([act((4, 1), (5, 1)), act((4, 1), (5, 1)), act((4, 1), (5, 1))], (5, 1)),  # and stomps what it has knocked down
        ([LAYOUT.trade_with(cell(2, 3))], (2, 3)),
    ],
)
def test_the_ninja_changes_places_from_where_it_stands_by_then(before, start):
    state = position({(2, 3): "K", (4, 1): "N", (7, 4): "K", (5, 1): "w"})
    ends, _ = drawn(state, [*before, LAYOUT.trade_with(cell(7, 4))])
    assert ends[str(len(before) + 1)] == (start, (7, 4))


def test_a_ninja_that_has_just_come_in_changes_places_too():
    state = position({(7, 2): "K"}, hand=("ninja",))
    ends, _ = drawn(state, [LAYOUT.deploy(NINJA, 1), LAYOUT.trade_with(cell(7, 2))])
    assert ends["2"] == ((0, 4), (7, 2))


def test_actions_with_the_same_ends_share_an_arrow_and_there_and_back_are_two():
    state = position({(2, 3): "A", (5, 3): "w", (3, 1): "K", (4, 1): ("k", 0, 0)}, **HANDS)
    hit, there, back = act((2, 3), (5, 3)), act((3, 1), (4, 1)), act((4, 1), (3, 1))
    root = ElementTree.fromstring(view.draw(GAME.config, state, turn=[hit, there, hit, back, hit, -1, -1]))
    assert set(arrows(root)) == {"1 3 5", "2", "4"}
    (start, end), (start_back, end_back) = arrows(root)["2"], arrows(root)["4"]
    assert abs(start[1] - end_back[1]) > 5 and abs(end[1] - start_back[1]) > 5
    assert_apart(root)


def test_swaps_and_an_early_end_are_told_below():
    state = position({(2, 3): "K"}, hand=("potion", "potion", "scroll"))
    swap, move = LAYOUT.swap_card(POTION), act((2, 3), (3, 3))
    ends, words = drawn(state, [swap, move, swap, LAYOUT.swap_card(SCROLL), LAYOUT.end_turn], caption="a < b")
    assert list(ends) == ["2"]
    assert words[:2] == ["2", "a < b   (turn 5, first to move, 5 action points left)"]
    assert words[2] == "1 3: swap potion, 4: swap scroll, 5: end turn early"
    _, words = drawn(state, [move, act((3, 3), (2, 3)), move, act((3, 3), (2, 3)), move, LAYOUT.end_turn])
    assert words[-1] == ""


def of_both(states, played):
    """The actions of both players, int [T, 2]: who does not move passes."""
    movers = np.asarray(states.player)[: len(played), None]
    return np.where(np.arange(2) == movers, np.asarray(played)[:, None], GAME.pass_action)


@pytest.mark.parametrize("name", ["games_deterministic", "games_stochastic"])
def test_a_game_is_drawn_turn_by_turn_with_all_its_numbers_apart(name):
    states, played = recorded(name)
    root = ElementTree.fromstring(GAME.animate(states, of_both(states, played), names=("left", "right")))
    frames = [group for group in root.findall(f"{SVG}g") if group.find(f"{SVG}animate") is not None]
    turns = np.asarray(states.turn)
    assert len(frames) == turns.max() + 1
    shared = 0
    for turn, frame in enumerate(frames[:-1], 1):
        assert_apart(frame)
        steps = int((turns[:-1] == turn).sum())
        told = [text.text for text in frame.findall(f"{SVG}text")][-1] or ""
        labels = [label.get("data-label") for label in frame.iter(f"{SVG}g") if label.get("data-label")]
        shared += sum(" " in label for label in labels)
        numbers = [int(number) for number in re.findall(r"\d+", " ".join([*labels, told]))]
        ends = int(played[np.flatnonzero(turns[:-1] == turn)[-1]]) == LAYOUT.end_turn and "end" not in told
        assert sorted(numbers) == list(range(1, steps + 1 - ends))
    assert shared > 0
    how = frames[-1].findall(f"{SVG}text")[-2].text
    assert how == ("left wins" if int(states.winner[-1]) == 0 else "right wins")


@pytest.mark.parametrize("winner", [-1, 0, 1])
def test_a_position_says_whose_turn_it_is_and_the_last_one_who_has_won(winner):
    def caption(state):
        return [text.text for text in ElementTree.fromstring(view.draw(GAME.config, state)).iter(f"{SVG}text")][-2]

    state = position({(2, 3): "K"}, player=1, points=1, turn=6)
    assert caption(state) == "turn 6, second to move, 1 action point left"
    over = dataclasses.replace(state, terminated=np.bool_(True), winner=np.int8(winner))
    assert caption(over) == ("a draw", "first wins", "second wins")[winner + 1]


def test_hit_points_stand_beside_their_bars_and_equipment_has_letters():
    things = {(2, 3): ("K", 730, 15), (4, 3): ("w", 0, 0)}
    texts = [text.text for text in ElementTree.fromstring(view.draw(GAME.config, position(things))).iter(f"{SVG}text")]
    assert {"730", "0", "4500"} < set(texts) and len(set(shapes.ITEM_LETTERS)) == 4
    assert all(texts.count(letter) == 2 for letter in shapes.ITEM_LETTERS), "of the knight and of the legend"


def test_numbers_are_apart_in_a_turn_of_many_actions():
    spots = [(4, 2), (3, 2), (5, 2), (4, 3)]
    state = position({(4, 2): "K", (3, 2): "A", (5, 2): "C"}, points=25, hand=("scroll", "scroll", "runemetal"))
    turn, free, draws = [], spots[3], random.Random(0)
    for _ in range(22):  # any of them goes to the free spot
        start = draws.choice([spot for spot in spots if spot != free])
        turn, free = [*turn, act(start, free)], start
    turn += [play("scroll" if spot != spots[0] else "runemetal", spot) for spot in spots if spot != free]
    assert len(set(turn)) > 12
    assert_apart(ElementTree.fromstring(view.draw(GAME.config, state, turn=turn)))


def test_words_of_any_kind_leave_the_document_well_formed():
    words = "a<b>&\"\x00\n'é漢\ud800"
    states, played = recorded()
    for svg in (
        view.draw(GAME.config, position({}), names=(words, words), caption=words),
        GAME.animate(jax.tree.map(lambda leaf: leaf[:5], states), of_both(states, played[:4]), names=(words, words)),
    ):
        texts = [text.text or "" for text in ElementTree.fromstring(svg.encode()).iter(f"{SVG}text")]
        assert sum("a<b>&\"'é漢" in text for text in texts) >= 3


NEVER = (
    -2,
    10**6,
    LAYOUT.pass_action,
    cell(8, 4) + 1,
    LAYOUT.unit(0, cell(8, 0)),
    LAYOUT.deploy(KNIGHT, 2),
    LAYOUT.trade_with(cell(4, 1)),
)


@pytest.mark.parametrize(
    "action", NEVER
)  # also a cell after the last, over the upper edge, a third deploy square, and the ninja with itself
def test_what_the_player_to_move_can_never_do_is_refused(action):
    state = position({(2, 3): "K", (4, 1): "N"})
    for turn in ([action], [act((2, 3), (3, 3)), action]):
        with pytest.raises(ValueError, match=f"action={action}: the player to move can never do this") as error:
            view.draw(GAME.config, state, turn=turn)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("turn", "message"),
    [
        ([act((2, 3), (1, 1))], "number 1 of the turn, is not legal there"),  # too far
        ([act((2, 3), (3, 3)), act((2, 3), (3, 3))], "number 2 of the turn, is not legal there"),  # it is there already
        ([LAYOUT.end_turn, act((2, 3), (3, 3))], "number 2 of the turn, which has ended before"),
    ],
)
def test_what_is_not_legal_where_it_is_played_is_refused(turn, message):
    with pytest.raises(ValueError, match=f"^action={turn[-1]}: {message}$"):
        view.draw(GAME.config, position({(2, 3): "K", (4, 1): "N"}), turn=turn)


def test_other_bad_input_is_an_error_of_one_line():
    states, played = recorded()
    with pytest.raises(ValueError, match="player 1 has no ninja that could change places"):
        view.draw(GAME.config, position({(2, 3): "K", (5, 3): "n"}), turn=[LAYOUT.trade_with(cell(2, 3))])
    with pytest.raises(ValueError, match=r"actions: shape \(3, 2\), must be \(\d+, 2\) for"):
        GAME.animate(states, of_both(states, played[:3]))
    with pytest.raises(ValueError, match="1 of them: must be at least 2"):
        GAME.animate(jax.tree.map(lambda leaf: leaf[:1], states))
    for names in (("a",), "ab"):
        with pytest.raises(ValueError, match="must be 2 names"):
            view.draw(GAME.config, position({}), names=names)
        with pytest.raises(ValueError, match="must be 2 names"):
            GAME.animate(states, of_both(states, played), names=names)


def test_a_game_without_its_actions_is_drawn_without_arrows():
    states, _ = recorded()
    root = ElementTree.fromstring(GAME.animate(states))
    assert not arrows(root) and len(root.findall(f"{SVG}g")) == int(np.asarray(states.turn).max()) + 1
