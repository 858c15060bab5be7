"""Games by name, with settings behind the variant."""

import pytest

import jaxgames


def test_settings_behind_a_mode_are_those_by_keyword():
    text = "hidden:action_points=15,end_turn_early=1,draws=seeded"
    made = jaxgames.make("hero_academy", text)
    assert made == jaxgames.make("hero_academy", "hidden", action_points=15, end_turn_early=True, draws="seeded")
    assert jaxgames.make("hero_academy", "ap-3:turn_limit=7").config.turn_limit == 7
    assert jaxgames.make("pommerman", "ffa:max_steps=40") == jaxgames.make("pommerman", "ffa", max_steps=40)
    assert jaxgames.make("hero_academy", text, action_points=2).config.action_points == 2


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("standard:depth=3", "'depth=3' is none of action_points, first_action_points, turn_limit, draws, hidden_hands"),
        ("standard:board=1", "'board=1' is none of"),
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
