"""The official JSON state, and the actions in official notation."""

import dataclasses
import json

import jax
import numpy as np
import pytest

from jaxgames.pommerman import interop
from jaxgames.pommerman.config import preset
from tests.jaxgames.pommerman import recordings
from tests.jaxgames.pommerman.positions import FFA, KICK, RIGHT, Bomb, Man, equal, look, play, position


def one(state, index=0):
    return jax.tree.map(lambda leaf: leaf[index], state)


START = position(
    "0+#\n.1k",
    bombs={(0, 0): Bomb(owner=0, life=3), (4, 5): Bomb(owner=3, life=7, strength=4, direction=RIGHT)},
    flames={(5, 5): [2, 0], (6, 5): [1]},
    hidden={(0, 1): KICK},
    step=17,
    m1=Man(ammo=4, strength=5, kick=True),
    m2=Man(cell=(7, 7)),
)
TEXT = interop.to_json(FFA, one(START), [5, 1, 0, 4])


def pieces():
    return {name: json.loads(value) for name, value in json.loads(TEXT).items()}


def text_of(changed):
    return json.dumps({name: json.dumps(value) for name, value in changed.items()})


# --- writing -----------------------------------------------------------------------------------------------------------


def test_the_official_form():
    outer = json.loads(TEXT)
    assert set(outer) == {"board_size", "step_count", "board", "agents", "bombs", "flames", "items", "intended_actions"}
    assert all(type(value) is str for value in outer.values()), "each value is a JSON text itself"
    inner = pieces()
    assert (inner["board_size"], inner["step_count"], inner["intended_actions"]) == (11, 17, [5, 1, 0, 4])
    assert inner["board"] == look(START).board.tolist()
    assert inner["agents"][1] == {
        "agent_id": 1,
        "is_alive": True,
        "position": [1, 1],
        "ammo": 4,
        "blast_strength": 5,
        "can_kick": True,
    }
    assert inner["agents"][2]["is_alive"] is False
    assert inner["bombs"] == [
        {"position": [0, 0], "bomber_id": 0, "life": 3, "blast_strength": 2, "moving_direction": None},
        {"position": [4, 5], "bomber_id": 3, "life": 7, "blast_strength": 4, "moving_direction": 4},
    ]
    flames = sorted((piece["position"], piece["life"]) for piece in inner["flames"])
    assert flames == [([5, 5], 0), ([5, 5], 2), ([6, 5], 1)]
    assert inner["items"] == [[[0, 1], KICK]]


@pytest.mark.slow
def test_radio_holds_the_last_messages():
    config = preset("radio")
    after = play(position("0.1.2", config=config), 9 * 3 + 4, 9 * 8 + 1, config=config)
    text = interop.to_json(config, one(after.state), [9 * 3 + 4, 81 * 2 + 5, 0, 0])
    inner = {name: json.loads(value) for name, value in json.loads(text).items()}
    assert inner["intended_actions"] == [[0, 3, 4], [2, 0, 5], [0, 0, 0], [0, 0, 0]]
    assert inner["_radio_from_agent"] == {"10": [3, 4], "11": [8, 1], "12": [0, 0], "13": [0, 0]}
    assert equal(interop.from_json(config, text).messages, one(after.state).messages)
    del inner["_radio_from_agent"]
    silent = interop.from_json(config, text_of(inner))
    assert [[int(word) for word in words] for words in silent.messages] == [[0, 0]] * 4


# --- there and back ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", recordings.GAMES)
def test_recorded_states_survive(name):
    config, _, state = recordings.states(name, 20)
    for index in range(20):
        before = one(state, index)
        after = interop.from_json(config, interop.to_json(config, before))
        assert equal(dataclasses.replace(after, terminated=before.terminated), before)


@pytest.mark.slow
def test_a_finished_game_is_read_as_finished():
    assert not interop.from_json(FFA, TEXT).terminated
    assert interop.from_json(FFA, interop.to_json(FFA, one(position("0")))).terminated
    assert interop.from_json(FFA, interop.to_json(FFA, one(position("0.1", step=800)))).terminated
    collapse = preset("ffa_collapse")
    crushed = play(position("0\n.\n..1", config=collapse, step=499), config=collapse)
    assert not interop.from_json(collapse, interop.to_json(collapse, one(crushed.state))).terminated, "it ends one step later"


def test_plain_values_and_bytes_are_read_too():
    inner = pieces()
    inner["board_size"] = "11"
    assert equal(interop.from_json(FFA, json.dumps(inner)), one(START))
    assert equal(interop.from_json(FFA, TEXT.encode()), one(START))
    inner["agents"].reverse()
    del inner["intended_actions"]
    assert equal(interop.from_json(FFA, json.dumps(inner)), one(START)), "agents are known by their id"


# --- what is wrong -----------------------------------------------------------------------------------------------------

PATHS = [
    (field, index, name)
    for field, names in (
        ("agents", ("agent_id", "is_alive", "position", "ammo", "blast_strength", "can_kick")),
        ("bombs", ("position", "bomber_id", "life", "blast_strength", "moving_direction")),
        ("flames", ("position", "life")),
    )
    for index in (0, 1)
    for name in names
]


def told(changed, config=FFA):
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the text is looked at by the caller)
        interop.from_json(config, text_of(changed) if isinstance(changed, dict) else changed)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("field", ["board_size", "step_count", "board", "agents", "bombs", "flames", "items"])
def test_missing_fields_are_named(field):
    inner = pieces()
    del inner[field]
    assert told(inner) == f"{field}: missing"


@pytest.mark.parametrize(("field", "index", "name"), PATHS)
def test_missing_parts_are_named(field, index, name):
    inner = pieces()
    del inner[field][index][name]
    assert told(inner) == f"{field}[{index}].{name}: missing"


@pytest.mark.parametrize(("field", "index", "name"), PATHS)
@pytest.mark.parametrize("value", [99, -1, "x", [1], {"a": 1}, 1.5])
def test_wrong_parts_are_named(field, index, name, value):
    inner = pieces()
    inner[field][index][name] = value
    assert told(inner).startswith(f"{field}[{index}].{name}: {json.dumps(value)}, must be ")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.update(colour=3), "colour: unknown field"),
        (lambda p: p["agents"][2].update(age=3), "agents[2].age: unknown field"),
        (lambda p: p.update(board_size=8), "board_size: 8, must be 11"),
        (lambda p: p.update(step_count=801), "step_count: 801, must be an integer in 0..800"),
        (lambda p: p.update(step_count=True), "step_count: true, must be an integer"),
        (lambda p: p["board"].pop(), "board: "),
        (lambda p: p["board"][3].pop(), "board[3]: "),
        (lambda p: p["board"][3].__setitem__(2, "wood"), 'board[3][2]: "wood", must be an integer'),
        (lambda p: p["board"][3].__setitem__(2, 5), "impossible state: a board code"),
        (lambda p: p["board"][3].__setitem__(2, 3), "impossible state: bombs and board code 3 do not agree"),
        (lambda p: p["agents"].pop(), "agents: ids [0, 1, 2], must be 0..3, each once"),
        (lambda p: p["agents"][3].update(agent_id=0), "agents: ids [0, 1, 2, 0]"),
        (lambda p: p["agents"][0].update(position=[0, 3]), "impossible state: living agents and the board do not agree"),
        (lambda p: p["bombs"].append(p["bombs"][0]), "impossible state: two bombs share a cell"),
        (lambda p: p.update(bombs=p["bombs"] * 20), "bombs: 40, must be at most 32"),
        (lambda p: p["flames"].append(p["flames"][0]), "flames[3]: the second of this life in cell [5, 5]"),
        (lambda p: p["items"].append([[0, 1], 6]), "items[1]: the second in cell [0, 1]"),
        (lambda p: p["items"].append([[3, 3], 6]), "impossible state: an item is hidden where"),
        (lambda p: p["items"].append([[3, 3], 9]), "items[1][1]: 9, must be an integer in 6..8"),
        (lambda p: p["items"].append([3, 3, 6]), "items[1]: [3, 3, 6], must be a list of 2"),
        (lambda p: p.update(items=None), "items: null, must be a list"),
        (lambda p: p["bombs"].__setitem__(0, 7), "bombs[0]: 7, must be an object"),
        (lambda p: p.update(intended_actions=[0, 0, 0, 6]), "intended_actions: move 6 of agent 3: must be an integer in 0..5"),
        (lambda p: p.update(intended_actions=[0, 0]), "intended_actions: 2 actions: must be 4"),
    ],
)
def test_wrong_values_are_named(change, message):
    inner = pieces()
    change(inner)
    assert told(inner).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the state is not JSON"),
        (TEXT[:200], "the state is not JSON"),
        ("[1, 2]", "the state is a JSON list, must be an object"),
        (TEXT.replace('"17"', '"17}"'), "step_count: not JSON"),
        ("[" * 100_000, "the state is not JSON"),
        (None, "the state is not JSON"),
    ],
)
def test_texts_that_are_no_state(text, message):
    assert told(text).startswith(message)


def test_a_state_of_another_variant_is_refused():
    assert told(TEXT, preset("one_vs_one")) == "board_size: 11, must be 8 in this variant"
    assert told(TEXT, preset("team")) == "agents[1].blast_strength: 5, must be an integer in 2..4"


# --- actions -----------------------------------------------------------------------------------------------------------


def test_actions_in_range_pass():
    checked = interop.check_actions(FFA, [[0, 5, 1, 2], [3, 4, 0, 0]])
    assert checked.dtype == np.int32
    assert checked.tolist() == [[0, 5, 1, 2], [3, 4, 0, 0]]
    assert interop.check_actions(preset("radio"), [485, 0, 0, 0]).tolist() == [485, 0, 0, 0]


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, 6, 0, 0], "action 6 of agent 1: must be in 0..5"),
        ([0, 0, 0, -1], "action -1 of agent 3: must be in 0..5"),
        ([[0, 0, 0, 0], [0, 0, 9, 0]], "action 9 of game 1, agent 2: must be in 0..5"),
        ([0, 0, 0], "one per seat"),
        (3, "one per seat"),
        ([0.0, 1.0, 0.0, 0.0], "must be integers"),
        (["up"] * 4, "must be integers"),
    ],
)
def test_actions_out_of_range_are_named(actions, message):
    with pytest.raises(ValueError, match=message):
        interop.check_actions(FFA, actions)


def test_official_actions():
    radio = preset("radio")
    official = [[1, 3, 4], [5, 8, 8], 2, [0, 0, 0]]
    joined = interop.from_official_actions(radio, official)
    assert joined.tolist() == [81 + 31, 5 * 81 + 80, 162, 0]
    assert interop.to_official_actions(radio, joined) == [[1, 3, 4], [5, 8, 8], [2, 0, 0], [0, 0, 0]]
    assert interop.from_official_actions(FFA, [1, 2, 3, 4]).tolist() == [1, 2, 3, 4]
    assert interop.to_official_actions(FFA, [1, 2, 3, 4]) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("mode", "actions", "message"),
    [
        ("ffa", [0, 0, [1, 2, 3], 0], "of agent 2: must be a move$"),
        ("ffa", [0, 6, 0, 0], "move 6 of agent 1: must be an integer in 0..5"),
        ("ffa", [0, 0, 0], "3 actions: must be 4"),
        ("ffa", None, "^actions=None: must be a list, one per seat"),
        ("ffa", [0, 1.5, 0, 0], "move 1.5 of agent 1"),
        ("ffa", [0, True, 0, 0], "move True of agent 1"),
        ("radio", [0, 0, 0, [1, 9, 0]], "word 9 of agent 3: must be an integer in 0..8"),
        ("radio", [0, 0, 0, [1, 2]], "of agent 3: must be a move, or a list of a move and two words"),
    ],
)
def test_wrong_official_actions_are_named(mode, actions, message):
    with pytest.raises(ValueError, match=message):
        interop.from_official_actions(preset(mode), actions)
