"""`check_game`: a sound game passes, and each fault is found and named."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.contract_play import check_encoder, check_hidden, check_letters, check_pictures, check_states, play
from jaxgames.hex import Hex, HexConfig
from tests.tic_tac_toe import TicTacToe
from tests.tic_tac_toe.encoder import encoder
from tests.tic_tac_toe.game import State
from tests.tug import Tug

GAME = TicTacToe()
ENCODER = encoder(GAME)


def test_a_sound_game_passes():
    jaxgames.check_game(GAME, num_games=6, encoders=[ENCODER])


def told_of(call, *arguments, **settings):
    """The message with which a check fails: one line."""
    with pytest.raises(ValueError, match=r"\w+: ") as error:
        call(*arguments, **settings)
    assert "\n" not in str(error.value)
    return str(error.value)


FORMS = {
    "init: leaf .player: int32 [] of weak type, must be of a dtype": ("init", lambda x, *_: replace(x, player=jnp.asarray(0))),
    "heuristic: float32 [], must be float32 [2]": ("heuristic", lambda x, s: x[0]),
    "heuristic: int32 [2], must be float32 [2]": ("heuristic", lambda x, s: x.astype(jnp.int32)),
    "state_key: uint32 [], must be uint32 [2]": ("state_key", lambda x, s: x[0]),
    "state_key: int32 [2], must be uint32 [2]": ("state_key", lambda x, s: x.astype(jnp.int32)),
    "search_arms: int32 [2, 8], must be int32 [2, 9]": ("search_arms", lambda x, s: (x[0][:, :8], x[1][:, :8])),
    "search_arms: a ShapeDtypeStruct, must be a tuple of 2 arrays": ("search_arms", lambda x, s: x[0]),
    "search_arms: float32 [2, 9], must be bool [2, 9]": ("search_arms", lambda x, s: (x[0], x[1].astype(jnp.float32))),
    "legal_actions: bool [2, 9], must be bool [2, 10]": ("legal_actions", lambda x, s: x[:, :9]),
    "to_play: int8 [], must be int32 []": ("to_play", lambda x, s: x.astype(jnp.int8)),
    "outcome: float32 [2, 1], must be float32 [2]": ("outcome", lambda x, s: x[:, None]),
    "in_play: int32 [2], must be bool [2]": ("in_play", lambda x, s: x.astype(jnp.int32)),
    "step: leaf .board is int32 [9], must be int8 [9]": ("step", lambda x, *_: replace(x, board=x.board + jnp.int32(0))),
    "step: a tree of 3 leaves, must be of one structure": ("apply", lambda x, *_: (x.board, x.player, x.rewards)),
}  # fmt: skip


@pytest.mark.parametrize(
    ("game", "told"),
    [
        (3, "game: int without name (a number or word), num_players (a number or word), "),
        (TicTacToe, "game: the class TicTacToe, must be a game, such as TicTacToe()"),
        (Tug(), "game: Tug without opening_steps (a number or word), must be one with all that every game has"),
        (type("Broken", (TicTacToe,), {"in_play": True})(), "in_play: True, must be a method"),
        (type("Broken", (TicTacToe,), {"observe": lambda *_: "a board"})(), ", must be a tree of arrays"),
    ],
)
def test_what_is_no_game_is_told(game, told):
    assert told in told_of(jaxgames.check_game, game)


@pytest.mark.parametrize(("method", "wrong", "told"), [
    ("init", lambda self: GAME.init(None), "takes 1 positional argument but 2 were given, must be a tree of arrays, from init(k"),
    ("outcome", lambda self, state: {}["a"], "outcome: KeyError: 'a', must be a tree of arrays, from outcome(state)"),
    ("init", lambda self, key: vars(GAME.init(key)), "init: AttributeError: 'dict' object has no attribute 'terminated', must"),
])  # fmt: skip
def test_a_method_that_fails_is_named(method, wrong, told):
    assert told in told_of(jaxgames.check_game, type("Broken", (TicTacToe,), {method: wrong})())


@pytest.mark.parametrize("hides", [False, True])
def test_a_game_that_is_over_at_its_start_is_told(hides):
    def init(self, key=None):
        return replace(base.init(self, key), terminated=jnp.bool_(True))

    base, settings = (Hex, (HexConfig(3, "abrupt"),)) if hides else (TicTacToe, ())
    told = told_of(jaxgames.check_game, type("Over", (base,), {"init": init})(*settings), num_games=1, num_steps=2, encoders=())
    assert told == "init: a game that is over, must be a game that runs"


@pytest.mark.parametrize("method", ["__eq__", "__hash__"])
def test_a_game_is_known_by_its_config(method):
    members = {"__hash__": object.__hash__, method: getattr(object, method)}
    told = told_of(jaxgames.check_game, type("Broken", (TicTacToe,), members)())
    assert told.startswith(f"{method}: another one for a copy of the game, must be hashable and equal where the config is")


def test_a_game_of_the_name_of_another_is_told():
    told = told_of(jaxgames.check_game, replace(GAME, name="hex"), num_games=1, num_steps=2)
    assert told.startswith("encoder alphaze: AttributeError: ") and told.endswith(", must be one of hex")


@pytest.mark.parametrize("encoders", [3, [3], ENCODER])
def test_what_is_no_list_of_encoders_is_told(encoders):
    assert told_of(jaxgames.check_game, GAME, encoders=encoders).endswith(", must be a list of encoders")


@pytest.mark.parametrize("told", FORMS)
def test_a_wrong_form_is_named(told):
    method, change = FORMS[told]

    def changed(self, *arguments):
        return change(getattr(TicTacToe, method)(self, *arguments), *arguments)

    assert told in told_of(jaxgames.check_game, type("Broken", (TicTacToe,), {method: changed})())


@pytest.fixture(scope="module")
def played():
    return play(GAME, num_games=6, num_steps=11, seed=0)


def spoilt(played, **changes):
    """The same games with something else said of them: by the name of a method a function of what it said."""
    return replace(played, seen=played.seen | {name: change(played.seen[name]) for name, change in changes.items()})


def at(*place, to):
    """Changes one number."""

    def change(values):
        values = values.copy()
        values[place] = to
        return values

    return change


def in_all(tree):
    return jax.tree.map(np.zeros_like, tree)


ANSWERS = {
    "to_play: 2 (step 3, game 1), must be in -1..1": {"to_play": at(3, 1, to=2)},
    "legal_actions: 0 (step 2, game 4, player 1), must be at least one for each player": {"legal_actions": at(2, 4, 1, to=False)},
    "legal_actions: 9 (step 0, game 0, player 0), must be the pass alone for who is not to move": {"to_play": lambda x: 1 - x},
    "search_arms: 3 (step 2, game 5, player 1, arm 3), must be among legal_actions": {"legal_arms": at(2, 5, 1, 3, to=True)},
    "search_arms: 12 (step 0, game 0, player 0, arm 4), must be in 0..9": {"arms": at(0, 0, 0, 4, to=12)},
    "(step 0, game 0, player 0), must be different actions": {"arms": at(0, 0, 0, 5, to=4)},
    "search_arms: 0 (step 1, game 0, player 0), must be at least one legal arm": {"legal_arms": at(1, 0, 0, to=False)},
    "heuristic: nan (step 4, game 0, player 1), must be finite": {"heuristic": at(4, 0, 1, to=np.nan)},
    "rewards: inf (step 4, game 0, player 1), must be finite": {"rewards": at(4, 0, 1, to=np.inf)},
    "outcome: 0.5 (step 0, game 0, player 0), must be +1 (win)": {"outcome": at(0, 0, 0, to=0.5)},
    "outcome: 1.0 (step 0, game 3, player 0), must be 0 while the game runs": {"outcome": at(0, 3, 0, to=1)},
    "in_play: not so (step 1, game 2), must be at least one": {"in_play": at(1, 2, to=False)},
    "in_play: False (step 1, game 2, player 0), must be False for good": {"in_play": at(1, 2, 0, to=False)},
    "state_key: [0, 0] for all states, must be different": {"state_key": in_all},
    "(step 9, game 1), must be True after max_steps=9": {"terminated": at(9, 1, to=False), "outcome": np.zeros_like},
    "terminated: not so (step 1, game 0), must be True for good": {"terminated": at(1, 0, to=True)},
    "rewards: 1.0 (step 9, game 0, player 1), must be 0 for a step after the end": {"rewards": at(10, 0, 1, to=1)},
    "heuristic: not so (step 9, game 0), must be the same after a step": {"heuristic": at(10, 0, 1, to=0.5)},
    "must be of the sign of outcome, in -1..1, for who has won or lost": {"heuristic": lambda x: -x},
    "heuristic: 5.0 (step ": {"heuristic": lambda x: 5 * x},
    "state_key: not so (step 9, game 0), must be the same after a step": {"state_key": at(10, 0, 1, to=7)},
    "step: another result (step 0, game 0), must be that of apply with draw_chance": {"after": in_all},
}  # fmt: skip


@pytest.mark.parametrize("told", ANSWERS)
def test_a_wrong_answer_is_named(told, played):
    assert told in told_of(check_states, GAME, spoilt(played, **ANSWERS[told]))


def test_a_finished_game_that_changes_is_found(played):
    states = replace(played.states, board=at(10, 0, 3, to=7)(played.states.board))
    told = told_of(check_states, GAME, replace(played, states=states))
    assert told == "step: not so (step 8, game 0), must be without any effect on a finished game"


@pytest.mark.parametrize(("drawn", "told"), [
    (b"<svg/>", "draw: a bytes, must be a standalone SVG as text"),
    ("<", "draw: not XML (unclosed token: line 1, column 0), must be"),
    ("<svg></svg>", "draw: svg, must be a standalone SVG as text"),
    ("<svg xmlns='http://www.w3.org/2000/svg'/>", "draw with one name too many: no error, must be a ValueError"),
])  # fmt: skip
def test_a_bad_picture_is_named(drawn, told, played):
    game = type("Drawn", (TicTacToe,), {"draw": lambda self, state, *, names=(), caption="": drawn})()
    assert told in told_of(check_pictures, game, played)


@pytest.mark.parametrize("method", ["draw", "animate", "to_text"])
def test_a_picture_that_fails_is_named(method, played):
    def fails(self, *_, **settings):
        return {}["stone"]

    check = check_letters if method == "to_text" else check_pictures
    told = told_of(check, type("Drawn", (TicTacToe,), {method: fails})(), played)
    assert told.startswith(f"{method}: KeyError: 'stone', must be ")


@pytest.mark.parametrize(
    ("written", "told"), [(None, "to_text: None, must be text"), (". . x", "to_text: '. . x', must be text")]
)
def test_bad_letters_are_named(written, told, played):
    game = type("Written", (TicTacToe,), {"to_text": lambda self, state: written})()
    assert told in told_of(check_letters, game, played)


@pytest.mark.parametrize(("field", "value", "told"), [
    ("num_arms", np.int32(9), "num_arms: np.int32(9), must be an int >= 1"),
    ("num_players", 2.0, "num_players: 2.0, must be an int >= 1"),
    ("max_steps", 0, "max_steps: 0, must be an int >= 1"),
    ("pass_action", 10, "pass_action: 10, must be an action, in 0..9"),
    ("name", "", "name: '', must be a word"),
    ("name", "tic-tac-toe", "name: 'tic-tac-toe', must be a word of letters, digits and underscores"),
    ("config", [], "__hash__: unhashable type: 'list', must be hashable"),
])  # fmt: skip
def test_a_wrong_number_is_named(field, value, told):
    assert told in told_of(jaxgames.check_game, replace(GAME, **{field: value}))


@pytest.mark.parametrize(
    ("name", "value", "least"), [("num_games", 0, 1), ("num_games", 1.5, 1), ("num_steps", 0, 2), ("num_steps", 1, 2)]
)
def test_nothing_is_not_played(name, value, least):
    assert told_of(jaxgames.check_game, GAME, **{name: value}) == f"{name}={value}: must be a whole number >= {least}"


@pytest.mark.slow
def test_two_steps_of_one_game_are_enough():
    jaxgames.check_game(GAME, num_games=1, num_steps=2, encoders=())


def test_floats_and_scalars_must_be_refused(monkeypatch):
    for given in (jnp.zeros(2), jnp.int32(1), jnp.zeros(3, int), [0.0, 1.0], jnp.zeros(2, bool)):
        with pytest.raises(ValueError, match=r"^actions of shape .* must be integers of shape \(2,\), one per player(\n|$)"):
            jax.eval_shape(lambda given=given: GAME.step(GAME.init(jax.random.key(0)), given))
    should = r"must be refused by a ValueError or TypeError; jaxgames.checks.actions does that"
    monkeypatch.setattr("jaxgames.checks.actions", lambda given, *numbers: jnp.asarray(given))
    with pytest.raises(ValueError, match=rf"step with actions float32 \[2\]: no error, {should}"):
        jaxgames.check_game(GAME)

    def apply(self, state, actions, chance=()):
        return TicTacToe.apply(
            self, state, [jnp.asarray(actions)][0 if jnp.issubdtype(actions.dtype, jnp.integer) else 1], chance
        )

    with pytest.raises(ValueError, match=rf"step with actions float32 \[2\]: IndexError, {should}"):
        jaxgames.check_game(type("Careless", (TicTacToe,), {"apply": apply})())


@pytest.mark.parametrize("wrong", [-1, 10])
def test_known_actions_out_of_range_must_be_refused(wrong):
    def apply(self, state, actions, chance=()):
        if not isinstance(actions, jax.Array):
            actions = np.where(actions == wrong, 0, actions)
        return TicTacToe.apply(self, state, actions, chance)

    told = told_of(jaxgames.check_game, type("Careless", (TicTacToe,), {"apply": apply})())
    assert told.startswith(f"step with actions [{wrong}, {wrong}] of numpy: no error, must be refused by a ValueError")


def test_actions_of_numpy_must_be_played():
    def apply(self, state, actions, chance=()):
        cell = actions[state.player.astype(jnp.int32)]
        return TicTacToe.apply(self, state, jnp.full(2, cell), chance)

    told = told_of(jaxgames.check_game, type("Broken", (TicTacToe,), {"apply": apply})())
    assert told.startswith("step with actions of numpy: TracerArrayConversionError, must be no error, as with a JAX array")


def test_a_key_in_the_state_is_found():
    def init(self, key):
        return {"key": key, "state": TicTacToe.init(self, key)}

    with pytest.raises(ValueError, match=r"init: leaf \['key'\]: a random key, must be numbers"):
        jaxgames.check_game(type("Keyed", (TicTacToe,), {"init": init})())


@pytest.mark.parametrize(("changes", "told"), [
    ({"channels": ("own",)}, "encoder cells: channels: 1 for planes (3, 3, 3), must be one per plane"),
    ({"outputs": lambda actions, seat: actions}, "encoder cells: outputs(9, 0): 9, must be in -1..8"),
    ({"outputs": lambda actions, seat: 8 - actions}, "encoder cells: outputs(actions(outputs, 0), 0)"),
    ({"outputs": lambda actions, seat: actions % 9}, "encoder cells: actions(outputs(9, 0), 0): 0, must be 9"),
    ({"planes": lambda view: jnp.zeros((3, 3, 2))}, "encoder cells: planes: float32 [3, 3, 2], must be float32 [3, 3, 3]"),
    ({"planes": lambda view: jnp.full((3, 3, 3), jnp.nan)}, "encoder cells: planes: a number that is not, must be finite"),
    ({"bounds": (0.5, 1)}, "encoder cells: planes: numbers from 0.0 to 1.0, must be inside its bounds (0.5, 1)"),
    ({"legal": lambda view: jnp.ones(10, bool)}, "encoder cells: legal: bool [10], must be bool [9]"),
    ({"transform_outputs": lambda x, which: x * 0}, "encoder cells: transform_outputs by 0: [0, 0"),
    ({"transform_outputs": lambda x, which: x[::-1]}, "encoder cells: symmetry 0: a change, must be none"),
    ({"transform_planes": lambda x, which: x[:2]}, "encoder cells: transform_planes: float32 [2, 3, 3], must be float32 [3"),
])  # fmt: skip
def test_a_fault_of_an_encoder_is_named(changes, told, played):
    assert told in told_of(check_encoder, GAME, ENCODER._replace(**changes), played)


class Peeking(TicTacToe):
    """Knows what it sees last, and draws worlds in which the marks are exchanged."""

    open_game = open_state = None

    def init_information(self, player, observation=None):
        return self.observe(self.init(None), player)

    def update_information(self, info, observation, own_action):
        return observation

    def sample_hidden(self, key, info):
        board, own_turn = info
        mover = (board != 0).sum() % 2
        sign = jnp.where(own_turn == (mover == 0), -1, 1)
        return State(sign.astype(jnp.int8) * board, mover.astype(jnp.int8), jnp.bool_(False), jnp.zeros(2, jnp.float32))


class Forgetful(Hex):
    """Draws worlds in which nobody has found anything."""

    def sample_hidden(self, key, info):
        world = super().sample_hidden(key, info)
        return replace(world, found=jax.tree.map(jnp.zeros_like, world.found))


class Growing(Hex):
    """Adds to the information in a way that changes its form."""

    def update_information(self, info, observation, own_action):
        return replace(super().update_information(info, observation, own_action), collisions=jnp.zeros(3))


def test_a_world_that_does_not_fit_is_found():
    game = Peeking()
    told = told_of(check_hidden, game, play(game, num_games=2, num_steps=4, seed=0))
    assert "must be a state in which the player observes what it has observed" in told


class Closed(Hex):
    """Hides something, and has no open game."""

    open_game = None


@pytest.mark.parametrize(("game", "told"), [
    (Closed, "open_game: NoneType without name (a number or word), "),
    pytest.param(Forgetful, "must be a state in which the player has the same legal actions", marks=pytest.mark.slow),
    (Growing, "update_information: leaf .collisions is float32 [3], must be float32 [10] as in init_information"),
])  # fmt: skip
def test_a_fault_of_a_hidden_game_is_named(game, told):
    assert told in told_of(jaxgames.check_game, game(HexConfig(3, "abrupt")), encoders=())
