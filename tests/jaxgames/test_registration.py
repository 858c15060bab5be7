"""Games by name, with settings after the variant; and games of one's own."""

import dataclasses
import importlib
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

import jaxgames
from jaxgames.registration import Defaults, NoSettings, Registration, name_and_mode

GAMES = ("pommerman", "hex", "hero_academy", "clash", "stratego")
DRAW_NOTHING = {"hex": {"path"}, "hero_academy": {"best_rated"}, "clash": {"guard", "counter"}}


def test_the_games_that_come_with_the_package():
    assert jaxgames.game_names() == GAMES
    for name in GAMES:
        entry = jaxgames.registration(name)
        assert entry.name == jaxgames.make(name).name == name
        assert jaxgames.make(name) == jaxgames.make(name, entry.variants[0]), "the first variant is the standard one"
        for mode in (*entry.variants, entry.defaults.mode, entry.defaults.pairs_mode):
            if mode != "ap":  # is given with a number
                assert jaxgames.make(name, mode).name == name
        assert len(entry.defaults.agents) == jaxgames.make(name, entry.defaults.mode).num_players
        assert jaxgames.make(name, entry.defaults.pairs_mode).num_players == 2
        module, function = (entry.replay or entry.replay_files).split(":")
        assert callable(getattr(importlib.import_module(module), function))
        game = jaxgames.make(name, entry.defaults.mode)
        for agent in entry.agents:
            assert agent.build(game, agent.settings()).name == agent.name
        assert len({agent.name for agent in entry.agents}) == len(entry.agents)
        bots = [agent.build(game, agent.settings()) for agent in entry.agents]
        assert {bot.name for bot in bots if not bot.draws} == DRAW_NOTHING.get(name, set())


def test_encoders_by_name():
    game = jaxgames.make("pommerman")
    assert jaxgames.encoder_of(game).name == "paper"
    assert jaxgames.encoder_of(game, "extended") == jaxgames.encoder_of(jaxgames.make("pommerman"), "extended"), "made once"
    assert jaxgames.encoder_of(jaxgames.make("hex", "adh-5")).num_outputs == 25
    names = "paper, paper_zero_life, extended, extended_centred, pommerlearn"
    with pytest.raises(ValueError, match=rf"encoder='raw': must be one of {names}"):
        jaxgames.encoder_of(game, "raw")
    assert jaxgames.encoder_of(jaxgames.make("hero_academy")).shows_observation


@pytest.fixture
def own(monkeypatch):
    monkeypatch.setattr(importlib.import_module("jaxgames.registration"), "_ADDED", {})
    defaults = Defaults("hex-3", "mcs", "random", ("random", "random"), "hex-3", ("random",))
    return Registration("small_hex", lambda mode=None: jaxgames.make("hex", mode or "hex-3"), ("hex-3",), defaults)


@pytest.mark.parametrize("name", jaxgames.game_names())
def test_games_and_encoders_are_printed_in_a_few_lines(name):
    game = jaxgames.make(name)
    assert len(repr(game)) < 600
    assert repr(jaxgames.encoder_of(game)).startswith("Encoder('") and len(repr(jaxgames.encoder_of(game))) < 80


def test_what_was_perhaps_meant_is_said():
    with pytest.raises(ValueError, match=r"game='pomerman': must be one of .* \(perhaps pommerman\?\)"):
        jaxgames.make("pomerman")
    with pytest.raises(ValueError, match=r"mode='barage': must be one of .* \(perhaps barrage\?\)"):
        jaxgames.make("stratego", "barage")
    with pytest.raises(ValueError, match=r"maxsteps=3: no such setting; must be one of .* \(perhaps max_steps\?\)"):
        jaxgames.make("pommerman", maxsteps=3)
    with pytest.raises(ValueError, match=r"encoder='papper': must be one of .* \(perhaps paper\?\)"):
        jaxgames.encoder_of(jaxgames.make("pommerman"), "papper")


def test_a_game_without_an_encoder(own, monkeypatch):
    jaxgames.register(own)
    game = jaxgames.make("small_hex")
    monkeypatch.setattr(type(game), "name", "small_hex")
    with pytest.raises(ValueError, match=r"^game='small_hex': has no encoder"):
        jaxgames.encoder_of(game)


def test_a_game_of_ones_own(own):
    with pytest.raises(ValueError, match=r"game='small_hex': must be one of pommerman, hex, hero_academy, clash"):
        jaxgames.make("small_hex")
    jaxgames.register(own)
    jaxgames.register(own)  # as when a cell of a notebook runs again
    assert jaxgames.game_names() == (*GAMES, "small_hex")
    assert jaxgames.make("small_hex") == jaxgames.make("hex", "hex-3") and jaxgames.registration("small_hex") is own
    with pytest.raises(ValueError, match="name='small_hex': there is a game of this name"):
        jaxgames.register(dataclasses.replace(own, version=2))
    with pytest.raises(ValueError, match="name='hex': there is a game of this name"):
        jaxgames.register(dataclasses.replace(own, name="hex"))
    with pytest.raises(ValueError, match="name='my game': must be letters, digits and underscores"):
        jaxgames.register(dataclasses.replace(own, name="my game"))


def test_a_game_without_settings_is_given_none(own):
    message = "^mode='hex-3:a=1': game 'bare' has no settings, so nothing can stand after the colon$"
    for about in ({}, {"config": None}, {"config": NoSettings()}):
        game = SimpleNamespace(**about)
        entry = dataclasses.replace(own, name="bare", make=lambda mode=None, game=game: game)
        importlib.import_module("jaxgames.registration")._ADDED["bare"] = entry
        assert jaxgames.make("bare", "hex-3") is game
        with pytest.raises(ValueError, match=message):
            jaxgames.make("bare", "hex-3:a=1")


def test_variants_of_a_game_of_ones_own_are_checked(own):
    cannot = r"cannot be made: .*must be one of"
    for wrong, message in (
        ({"variants": ()}, "name='small_hex': has no variants; must have at least one$"),
        ({"defaults": dataclasses.replace(own.defaults, mode="duel")}, rf"name='small_hex': mode='duel' {cannot}"),
        ({"defaults": dataclasses.replace(own.defaults, pairs_mode="duel")}, rf"name='small_hex': pairs_mode='duel' {cannot}"),
        ({"listed": ("hex-5", "duel")}, rf"name='small_hex': listed='duel' {cannot}"),
        ({"make": lambda mode: SimpleNamespace(name="four")}, ".* makes a game of name .four., must be that or a known game"),
    ):
        with pytest.raises(ValueError, match=f"^{message}"):
            jaxgames.register(dataclasses.replace(own, **wrong))
    assert jaxgames.game_names() == GAMES


@pytest.mark.parametrize(("wrong", "told"), [
    ({"variants": ("hex-3")}, r"variants='hex-3', must be a tuple of words such as \('standard',\)"),
    ({"listed": "hex-3"}, r"listed='hex-3', must be a tuple of words such as \('standard',\)"),
    ({"variants": ("hex-3", "hex-3")}, "variants have 'hex-3', must be different words without a colon"),
    ({"variants": ("hex-3", "hex-3:rules=adh")}, "variants have 'hex-3:rules=adh', must be different words without a colon"),
    ({"listed": ("",)}, "listed have '', must be different words without a colon"),
    ({"version": -1}, "version=-1, must be a whole number >= 1"),
    ({"version": True}, "version=True, must be a whole number >= 1"),
    ({"make": lambda: None}, r".* cannot be made: .*too many positional arguments; must be make\(mode, \*\*settings\)"),
    ({"make": None}, r".* cannot be made: .* not a callable object; must be make\(mode, \*\*settings\)"),
])  # fmt: skip
def test_what_ids_and_games_cannot_be_made_of_is_refused(wrong, told, own):
    with pytest.raises(ValueError, match=f"^name='small_hex': {told}$") as error:
        jaxgames.register(dataclasses.replace(own, **wrong))
    assert "\n" not in str(error.value) and jaxgames.game_names() == GAMES


def test_a_game_is_no_registration():
    with pytest.raises(ValueError, match=r"^entry=Hex\(.*: must be a Registration$"):
        jaxgames.register(jaxgames.make("hex"))


def test_settings_of_a_game_that_takes_none_are_refused(own):
    jaxgames.register(own)
    told = "^board_size=4: game 'small_hex' takes no such settings "
    for mode, settings in (("hex-3", {"board_size": 4}), ("hex-3:board_size=4", {}), (None, {"board_size": 4})):
        with pytest.raises(ValueError, match=told):
            jaxgames.make("small_hex", mode, **settings)


def test_names_and_variants_are_texts():
    for name, mode, told in ((None, None, "name=None"), ("hex", 11, "mode=11")):
        with pytest.raises(ValueError, match=f"^{told}: must be text, as in jaxgames.make"):
            jaxgames.make(name, mode)


@pytest.mark.parametrize("name", GAMES)
def test_games_with_variants_like_these_can_be_registered(name, own):
    jaxgames.register(dataclasses.replace(jaxgames.registration(name), name=f"my_{name}"))
    assert f"my_{name}" in jaxgames.game_names()


@pytest.fixture
def installed(own, tmp_path, monkeypatch):
    """Installs a package whose entry points are given."""
    module = importlib.import_module("jaxgames.registration")

    def install(package="others", **entry_points):
        about = tmp_path / f"games_of_{package}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: games-of-{package}\nVersion: 1.0\n")
        lines = [f"{name} = {value}" for name, value in entry_points.items()]
        (about / "entry_points.txt").write_text("\n".join(["[jaxgames.games]", *lines]))
        monkeypatch.setattr(module, "ENTRY_POINTS", "jaxgames.games")
        monkeypatch.syspath_prepend(str(tmp_path))
        module._installed.cache_clear()

    yield install
    monkeypatch.undo()
    module._installed.cache_clear()


def test_a_game_of_an_installed_package_is_found(installed):
    installed(tic_tac_toe="tests.tic_tac_toe:REGISTRATION")
    assert jaxgames.game_names() == (*GAMES, "tic_tac_toe")
    assert jaxgames.make("tic_tac_toe").num_actions == 10
    assert jaxgames.game_names() == (*GAMES, "tic_tac_toe"), "named once, also after it is loaded"
    assert "tic_tac_toe-standard-v1" in [entry.id for entry in jaxgames.games()]


def test_an_installed_package_that_does_not_load_is_named(installed):
    wrong = "tests.tic_tac_toe:REGISTRATION"
    installed(lost="no_such_module:REGISTRATION", other=wrong, hex=wrong, **{"no-word": wrong})
    assert jaxgames.game_names() == (*GAMES, "lost", "other")
    lost = "game='lost': entry point 'no_such_module:REGISTRATION' does not load: ModuleNotFoundError: No module named"
    for name, message in (
        ("lost", lost),
        (
            "other",
            f"game='other': entry point '{wrong}' is the Registration of 'tic_tac_toe': the names must be the same",
        ),
    ):
        with pytest.raises(ValueError, match=f"^{message}"):
            jaxgames.make(name)
    assert jaxgames.make("hex").name == "hex", "names of this package stay its own"
    other = "the names must be the same$"
    with pytest.warns(UserWarning, match=f"^{lost}"), pytest.warns(UserWarning, match=other):
        assert {entry.name for entry in jaxgames.games()} == set(GAMES)
    with (
        pytest.warns(UserWarning, match=lost),
        pytest.warns(UserWarning, match=other),
        pytest.raises(ValueError, match=r"^id='hex-5': must be a name, a variant"),
    ):
        jaxgames.make("hex-5")


def test_a_name_that_an_installed_package_has_is_taken(installed, own):
    installed(tic_tac_toe="tests.tic_tac_toe:REGISTRATION")
    with pytest.raises(ValueError, match=r"^name='tic_tac_toe': there is a game of this name$"):
        jaxgames.register(dataclasses.replace(own, name="tic_tac_toe"))
    jaxgames.register(jaxgames.registration("tic_tac_toe"))  # itself


def test_two_packages_with_one_name_are_told(installed):
    installed("first", mine="one_module:REGISTRATION")
    installed("second", mine="other_module:REGISTRATION")
    with pytest.raises(ValueError, match=r"^game='mine': several packages bring it, by (one|other)_module:REGISTRATION and "):
        jaxgames.make("mine")


def test_importing_starts_no_backend_and_loads_no_game_and_games_load_no_pictures():
    code = (
        "import sys, jaxgames; from jax._src import xla_bridge; print(jaxgames.__version__, xla_bridge._backends, "
        "[name for name in sys.modules if name.startswith('jaxgames.hex')]); "
        "import jaxgames.hero_academy; print([name for name in sys.modules if '.view' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [jaxgames.__version__, "{}", "[]", "[]"]


def test_settings_behind_a_mode_are_those_by_keyword():
    text = "hidden:action_points=15,end_turn_early=1,draws=seeded"
    made = jaxgames.make("hero_academy", text)
    assert made == jaxgames.make("hero_academy", "hidden", action_points=15, end_turn_early=True, draws="seeded")
    assert jaxgames.make("hero_academy", "ap-3:turn_limit=7").config.turn_limit == 7
    assert jaxgames.make("pommerman", "ffa:max_steps=40") == jaxgames.make("pommerman", "ffa", max_steps=40)
    assert jaxgames.make("hero_academy", text, action_points=2).config.action_points == 2


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("hero_academy", {"deck": "3+3+3+3+1+2+2+3+2+3+3", "board": "d.S.P+c.A.C+P.S.D"}),
        ("stratego", {"lakes": "42+43"}),
        ("clash", {"decks": "/", "levels": "9+11"}),
    ],
)
def test_lists_are_given_as_text_in_python_too(name, settings):
    made = jaxgames.make(name, **settings)
    mode = jaxgames.registration(name).variants[0]
    assert made == jaxgames.make(name, f"{mode}:{','.join(map('='.join, settings.items()))}")


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("hero_academy", {"deck": "3+x"}, "deck='3+x': must be whole numbers with + between"),
        ("hero_academy", {"deck": "3+3"}, "deck: 2 kinds of cards, must be 11"),
        ("hero_academy", {"board": "d.S"}, "board: 3 x 1 squares, must be 2 to 31 a side, at most 64 in all"),
        ("hero_academy", {"board": "+".join(["." * 32] * 2)}, "board: 32 x 2 squares, must be 2 to 31 a side, at most 64 in all"),
        ("hero_academy", {"board": ""}, "board=(): must be rows of squares"),
        ("hero_academy", {"turn_limit": "5"}, "turn_limit='5': must be an integer"),
        ("clash", {"levels": "11"}, "levels='11': must be two whole numbers with + between"),
    ],
)
def test_text_that_is_no_list_is_refused_in_one_line(name, settings, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}") as error:
        jaxgames.make(name, **settings)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("standard:depth=3", "'depth=3' is none of action_points, first_action_points, turn_limit, draws, hidden_hands"),
        ("standard:board=1", "board: 1 x 1 squares, must be 2 to 31 a side"),
        ("standard:turn_limit", "turn_limit='' must be a whole number"),
        ("standard:turn_limit=5,turn_limit=6", "turn_limit is given twice"),
        ("standard:turn_limit=5,", "'' is none of action_points"),
        ("standard:turn_limit=long", "turn_limit='long' must be a whole number"),
        ("standard:hidden_hands=yes", "hidden_hands='yes' must be 0 or 1"),
        ("standard:action_points=0", "action_points=0: must be in 1..25"),
        ("standard:draws=marked", "draws='marked': must be one of seeded, random"),
        ("chess:turn_limit=5", "mode='chess': must be one of"),
    ],
)
def test_settings_behind_a_mode_that_cannot_be(mode, message):
    with pytest.raises(ValueError, match=message) as error:
        jaxgames.make("hero_academy", mode)
    assert "\n" not in str(error.value)


def test_an_id_beside_a_variant_is_told_from_an_unknown_game():
    with pytest.raises(ValueError, match=r"^mode='team': game='pommerman-ffa-v1' is an id, which names its variant"):
        jaxgames.make("pommerman-ffa-v1", "team")
    with pytest.raises(ValueError, match=r"^mode='adh-4': game='hex-adh-5-v1' is an id"):
        name_and_mode("hex-adh-5-v1", "adh-4")
    with pytest.raises(ValueError, match=r"^game='hero-academy': must be one of pommerman, "):
        jaxgames.make("hero-academy", "tiny")
    with pytest.raises(ValueError, match=r"^id='pommerman-ffa-v9': pommerman is at version 1"):
        jaxgames.make("pommerman-ffa-v9", "team")


def test_the_variant_is_no_setting_beside_itself():
    with pytest.raises(ValueError, match=r"'mode=team' is none of board_size, .*, such as board_size=3$"):
        jaxgames.make("pommerman", "ffa:mode=team")
