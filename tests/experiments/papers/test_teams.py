"""The page of matches between teams: what it shows, and what it needs."""

import pytest

from experiments.papers import teams
from experiments.papers.teams import MODES, OPPONENTS, PLAYERS, WEIGHTS, Pairing, TeamsPlan
from tests.experiments.papers.made_up import page_of

COUNT = {"games": 100, "wins": 60, "draws": 10, "losses": 30}
DOES = {"moves": {"stop": 0.25, "bomb": 0.05}, "cells_in_20": 7.5, "kills": 0.8, "mates": 0.02, "suicides": 0.1}


def result(one):
    return {"released": COUNT, "mean_length": 250.4, "behaviour": DOES} if isinstance(one.label, Pairing) else {}


def test_the_page(tmp_path):
    page = page_of(teams.PAGE, tmp_path, result)
    row = "| 60.0 (50–69) | 10.0 (6–17) | 30.0 (22–40) | 25.0 | 5.0 | 7.50 | 0.80 | 0.02 | 0.10 | 250 | 100 |"
    assert page.count(f"| TP-MCTS, no network, four replies | SimpleUnbiasedAgent {row}") == len(MODES)
    assert page.count(row) == len(MODES) * (len(PLAYERS) * len(OPPONENTS) - len(OPPONENTS))


def test_a_player_with_a_network_needs_the_network(tmp_path):
    taught = next(player for player in PLAYERS if WEIGHTS in player)
    with pytest.raises(ValueError, match=r"has no best\.npz; the part network trains it$"):
        teams.play(TeamsPlan(tmp_path, work=tmp_path), Pairing("team", taught, "simple"))
