"""What every game must keep to, for the games of this package."""

import pytest

import jaxgames

QUICK = (("hex", "adh-4"),)
SLOW = (
    *(("pommerman", mode) for mode in ("ffa", "ffa_collapse", "team", "radio", "one_vs_one")),
    *(("hex", mode) for mode in ("hex-5", "cdh-3", "adh")),
    *(("stratego", mode) for mode in ("mini", "mini:true_sight=1,blocked_fields=3", "barrage-p2sro")),
    *(("clash", mode) for mode in ("toy", "beginner:positions=8")),
    *(
        ("hero_academy", mode)
        for mode in ("standard", "tiny:hidden_hands=1,draws=random", "hidden", "small", "ap-1", "standard:end_turn_early=1")
    ),
)


@pytest.mark.parametrize(("name", "mode"), [*QUICK, *(pytest.param(*game, marks=pytest.mark.slow) for game in SLOW)])
def test_a_game_keeps_its_contract(name, mode):
    jaxgames.check_game(jaxgames.make(name, mode))
