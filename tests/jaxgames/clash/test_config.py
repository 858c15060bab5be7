import re

import numpy as np
import pytest

import jaxgames
from jaxgames.clash.config import BEGINNER_DECK, ClashConfig, preset

SEVEN, TWICE = BEGINNER_DECK[:7], (*BEGINNER_DECK[:7], "knight")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"decks": (SEVEN, BEGINNER_DECK)}, "deck of player 0: 7 cards, must be 8"),
        ({"decks": (BEGINNER_DECK, TWICE)}, "deck of player 1: 'knight' is there twice"),
        ({"decks": (BEGINNER_DECK,)}, "decks: 1, must be two"),
        ({"decks": (BEGINNER_DECK, (*SEVEN, "dragon"))}, "deck of player 1: 'dragon' is no card; perhaps baby-dragon?"),
        ({"decks": (BEGINNER_DECK, (*SEVEN, "page"))}, "deck of player 1: 'page' is no card; there are knight, giant"),
        ({"decks": ((), ()), "pool": ("knight",)}, "pool: 1 cards, must be at least 8"),
        ({"levels": (11, 15)}, "level=15: must be an integer in 1..14"),
        ({"levels": (5, 11)}, "level=5: must be 6..14, as baby-dragon is Epic"),
        ({"levels": (11,)}, "must be two, one per player"),
        ({"decks": (BEGINNER_DECK, (*SEVEN, "skeleton-army"))}, "slots=17: skeleton-army has 15 units, so must be at least 18"),
        ({"slots": 3}, "slots=3: must be an integer in 4..64"),
        ({"slots": 4}, "slots=4: minions has 3 units, so must be at least 6"),
        ({"levels": (2, 2)}, "level=2: must be 6..14, as baby-dragon is Epic"),
        ({"spell_slots": 0}, "spell_slots=0: must be"),
        ({"start_elixir": 11}, "start_elixir=11: must be an integer in 0..10"),
        ({"tiebreak": "coin"}, "tiebreak='coin': must be one of draw, lowest_tower_hp"),
        ({"overtime_ticks": 7}, "must be multiples of 5"),
        ({"shaping": 2.0}, "shaping=2.0: must be in 0..1"),
        ({"shaping": "much"}, "shaping='much': must be a number"),
        ({"triple_from_tick": -5}, "triple_from_tick=-5: must be an integer in 0..30000 or None"),
        ({"triple_from_tick": 40_000}, "triple_from_tick=40000: must be an integer in 0..30000 or None"),
        ({"triple_from_tick": True}, "triple_from_tick=True: must be an integer in 0..30000 or None"),
        ({"double_from_tick": None}, "double_from_tick=None: must be an integer in 0..30000"),
        ({"positions": 0}, "positions=0: must be"),
        ({"value": "hope"}, "value='hope': must be one of play_on, play_on_hp, towers"),
        ({"value_ticks": 0}, "value_ticks=0: must be"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        ClashConfig(**({"slots": 17} | settings))
    assert "\n" not in str(error.value)


def test_units_that_may_come_are_those_of_the_decks_and_what_they_leave():
    config = ClashConfig(decks=((*SEVEN, "night-witch"), BEGINNER_DECK))
    assert [unit.name for unit in config.units].count("Bat") == 1
    assert len(config.units) == 2 + 6 + 2  # towers; six troops of both; Night Witch and Bat
    assert {card.key for card in config.spells} == {"arrows", "fireball"}


def test_numbers_of_numpy_become_those_of_python():
    config = ClashConfig(levels=(np.int64(11), np.int64(9)), shaping=np.float32(0.5), slots=np.int8(20))
    assert config == ClashConfig(levels=(11, 9), shaping=0.5)
    assert [type(number) for number in (*config.levels, config.shaping, config.slots)] == [int, int, float, int]


def test_decks_may_be_written_in_words():
    words = "+".join(BEGINNER_DECK)
    assert ClashConfig(decks=(words, words)) == ClashConfig(decks=f"{words}/{words}") == ClashConfig()
    with pytest.raises(ValueError, match="decks: 1, must be two, one per player, such as"):
        ClashConfig(decks=words)


def test_units_that_are_not_there_are_told():
    with pytest.raises(ValueError, match="unit='Nope': must be one of "):
        ClashConfig().table.unit("Nope")


def test_decks_on_command_lines():
    words = "+".join(BEGINNER_DECK)
    config = jaxgames.make("clash", f"beginner:decks={words}/,pool={words}+zap,levels=9+11").config
    assert config.decks == (BEGINNER_DECK, ()) and config.pool == (*BEGINNER_DECK, "zap") and config.levels == (9, 11)
    for mode, message in (
        (f"beginner:decks={'+'.join(SEVEN)}/{words}", "deck of player 0: 7 cards, must be 8"),
        (f"beginner:decks={words}/{'+'.join(TWICE)}", "deck of player 1: 'knight' is there twice"),
        (f"beginner:decks={words}", "decks: 1, must be two"),
        ("all:pool=dragon", "pool: 'dragon' is no card; perhaps baby-dragon?"),
        ("all:levels=11+x", "levels='11+x' must be two whole numbers with + between"),
        ("all:levels=11+15", "level=15: must be an integer in 1..14"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)) as error:
            jaxgames.make("clash", mode)
        assert "\n" not in str(error.value)


def test_presets():
    assert jaxgames.make("clash").config == ClashConfig() == preset("beginner")
    assert jaxgames.make("clash", "all:slots=40").config.slots == 40
    with pytest.raises(ValueError, match="mode='none': must be one of beginner, all, toy"):
        preset("none")
