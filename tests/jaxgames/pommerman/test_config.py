"""Constants, tables and presets against the written rules; configurations that cannot be."""

import dataclasses

import numpy as np
import pytest

import jaxgames
from jaxgames.pommerman import constants, setup
from jaxgames.pommerman.config import PRESETS, PommermanConfig, preset
from jaxgames.pommerman.constants import Cell, GameType, Move, Result
from jaxgames.pommerman.game import Pommerman, make
from tests.jaxgames.pommerman.positions import PROTECTED


def test_board_codes():
    codes = {
        "PASSAGE": 0,
        "RIGID": 1,
        "WOOD": 2,
        "BOMB": 3,
        "FLAMES": 4,
        "FOG": 5,
        "EXTRA_BOMB": 6,
        "INCREASE_RANGE": 7,
        "KICK": 8,
    }
    assert {cell.name: int(cell) for cell in Cell} == {**codes, "DUMMY": 9, "AGENT_0": 10}


def test_moves_results_and_game_types():
    assert [move.name for move in Move] == ["STOP", "UP", "DOWN", "LEFT", "RIGHT", "BOMB"]
    assert [int(move) for move in Move] == list(range(6))
    assert {result.name: int(result) for result in Result} == {"WIN": 0, "LOSS": 1, "TIE": 2, "INCOMPLETE": 3}
    assert {kind.name: int(kind) for kind in GameType} == {"FFA": 1, "TEAM": 2, "RADIO": 3, "ONE_VS_ONE": 4}


def test_numbers():
    assert (constants.START_AMMO, constants.START_BLAST_STRENGTH) == (1, 2)
    assert (constants.MAX_AMMO, constants.MAX_BLAST_STRENGTH) == (10, 10)
    assert (constants.BOMB_LIFE, constants.FLAME_LIFE) == (10, 2)
    assert (constants.MAX_STEPS, constants.VIEW_RADIUS) == (800, 4)
    assert (constants.NUM_WORDS, constants.WORDS_PER_MESSAGE, constants.NUM_MESSAGES) == (9, 2, 81)
    assert constants.MAX_UNREACHABLE_PASSAGES == 4


# Short name: official name, type, view radius, cap of the blast, steps of collapse.
VARIANTS = {
    "ffa": ("PommeFFACompetition-v0", GameType.FFA, None, 10, ()),
    "ffa_collapse": ("PommeFFA-v1", GameType.FFA, None, 10, (500, 575, 650, 725)),
    "team": ("PommeTeamCompetition-v0", GameType.TEAM, 4, 4, ()),
    "team_open": ("PommeTeam-v0", GameType.TEAM, None, 10, ()),
    "team_collapse": ("PommeTeamCompetition-v1", GameType.TEAM, 4, 4, (500, 575, 650, 725)),
    "radio": ("PommeRadioCompetition-v2", GameType.RADIO, 4, 4, ()),
    "one_vs_one": ("OneVsOne-v0", GameType.ONE_VS_ONE, None, 10, ()),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_variants(name):
    official, kind, radius, cap, collapses = VARIANTS[name]
    config = preset(name)
    assert preset(official) == config
    assert config.name == official
    assert (config.game_type, config.view_radius, config.max_blast_strength, config.collapse_steps) == (
        kind,
        radius,
        cap,
        collapses,
    )
    assert config.max_steps == 800
    if name == "one_vs_one":
        assert (config.board_size, config.num_rigid, config.num_wood, config.num_items) == (8, 16, 16, 10)
        assert config.corners == ((1, 1), (6, 6))
        assert config.num_players == 2
    else:
        assert (config.board_size, config.num_rigid, config.num_wood, config.num_items) == (11, 36, 36, 20)
        assert config.corners == ((1, 1), (9, 1), (9, 9), (1, 9))
        assert config.num_players == 4


def test_every_variant_is_listed():
    assert set(PRESETS) == set(VARIANTS)


@pytest.mark.parametrize(
    ("official", "short"),
    [
        ("PommeFFACompetitionFast-v0", "ffa"),
        ("PommeFFAFast-v0", "ffa"),
        ("PommeTeamCompetitionFast-v0", "team"),
        ("PommeTeamFast-v0", "team_open"),
        ("PommeRadio-v2", "radio"),
    ],
)
def test_official_names_that_share_a_variant(official, short):
    assert preset(official) == preset(short)


def test_wall_candidates_of_the_standard_board():
    upper, fixed_wood, corners = setup._plan(preset("ffa"))
    assert preset("ffa").num_wall_candidates == 80 == 2 * len(upper)
    assert fixed_wood == tuple(sorted([1 * 11 + i for i in (4, 5, 6)] + [9 * 11 + i for i in (4, 5, 6)]
                                      + [i * 11 + 1 for i in (4, 5, 6)] + [i * 11 + 9 for i in (4, 5, 6)]))  # fmt: skip
    assert corners == (12, 20, 100, 108)
    protected = {row * 11 + column for row, column in PROTECTED}
    assert not protected & set(upper)
    assert all(cell // 11 < cell % 11 for cell in upper)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("mode", "solo"),
        ("board_size", 7),
        ("board_size", 12),
        ("num_rigid", 35),
        ("num_rigid", -2),
        ("num_rigid", 80),
        ("num_wood", 10),
        ("num_wood", 37),
        ("num_items", -1),
        ("num_items", 37),
        ("max_steps", 0),
        ("max_steps", 40000),
        ("view_radius", 0),
        ("max_blast_strength", 1),
        ("max_blast_strength", 11),
        ("first_collapse", 0),
        ("first_collapse", 800),
        ("board_size", "a"),
        ("num_items", None),
        ("num_wood", 36.0),
        ("max_steps", True),
        ("view_radius", "far"),
        ("name", None),
    ],
)
def test_bad_settings_are_named(setting, value):
    with pytest.raises(ValueError, match=rf"{setting}={value!r}") as caught:
        PommermanConfig(**{setting: value})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("mode", "size", "most", "wood"),
    [("ffa", 11, 70, 12), ("ffa", 9, 48, 4), ("one_vs_one", 11, 48, 0), ("one_vs_one", 8, 34, 0)],
)
def test_boards_that_hardly_any_draw_connects_are_refused(mode, size, most, wood):
    settings = {"mode": mode, "board_size": size, "num_wood": wood, "num_items": 0}
    PommermanConfig(num_rigid=most, **settings)
    message = rf"^num_rigid={most + 2}: must be <= {most}, or hardly a board drawn has its passages connected$"
    with pytest.raises(ValueError, match=message):
        PommermanConfig(num_rigid=most + 2, **settings)


def test_numbers_of_numpy_are_numbers():
    config = make("ffa", board_size=np.int64(10), view_radius=np.int8(4)).config
    assert config == make("ffa", board_size=10, view_radius=4).config and type(config.board_size) is int


def test_unknown_names():
    with pytest.raises(ValueError, match=r"mode='chess': must be one of ffa"):
        preset("chess")
    with pytest.raises(ValueError, match=r"speed=3: no such setting"):
        make("ffa", speed=3)
    with pytest.raises(ValueError, match=r"game='chess': must be one of pommerman"):
        jaxgames.make("chess")


def test_making_a_game():
    game = jaxgames.make("pommerman", "team", num_items=4)
    assert game.config == dataclasses.replace(preset("team"), num_items=4, name=""), "no official configuration any more"
    assert make("team", num_items=20).config == preset("team")
    assert make("team", num_items=4, name="mine").config.name == "mine"
    assert (game.name, game.num_players, game.num_actions, game.num_arms, game.pass_action, game.max_steps) == (
        "pommerman",
        4,
        6,
        6,
        0,
        800,
    )
    assert jaxgames.make("pommerman").config == preset("ffa")
    assert make("radio").num_actions == 6 * 81
    assert hash(game) == hash(jaxgames.make("pommerman", "team", num_items=4))


def test_collapse_steps_follow_the_time_limit():
    config = PommermanConfig(max_steps=100, first_collapse=60)
    assert config.collapse_steps == (60, 70, 80, 90)
    assert np.all(np.diff(config.collapse_steps) > 0)
    assert isinstance(Pommerman(config), Pommerman)
