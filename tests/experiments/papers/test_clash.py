"""The page of planning in Clash: what is played, and what it shows."""

import itertools

import pytest

import jaxgames
from experiments.papers import clash, command
from experiments.papers.clash import PAPER, SHORT, ClashPlan, Player
from experiments.papers.command import ResultsConfig
from tests.experiments.papers.made_up import page_of
from training.play import agents

FOUND = {"wins": 20, "draws": 4, "losses": 8, "games": 32, "mean_length": 90.0, "cpu_seconds": 100.0}


def test_the_page(tmp_path):
    page = page_of(clash.PAGE, tmp_path, lambda one: FOUND)
    assert "| Thompson sampling | UCB1 | 68.8 (" in page and "| FDTS – MCTS | 68.8 (" in page
    assert page.count("20 – 4 – 8") == sum(len(part(ClashPlan(tmp_path))) for part in clash.PARTS.values())


@pytest.mark.parametrize("sizes", [SHORT, PAPER])
def test_players_can_be_made(sizes):
    game = jaxgames.make("clash", sizes.mode)
    players = [Player(planner, bandit, horizon=5) for planner, bandit in itertools.product(clash.PLANNERS, clash.BANDITS)]
    for player in [*players, Player(bandit="ucb", c=0.5, horizon=5)]:
        settings = agents.settings_of(player.spec(sizes), game)
        assert settings["num_simulations"] == 4 * game.num_arms and settings["simulations_per_arm"] == 4
        agents.make(player.spec(sizes), game)


def test_the_papers_sizes_are_one_flag(tmp_path):
    names = [{one.name for one in clash.PAGE.measurements(ClashPlan(tmp_path, paper=paper))} for paper in (False, True)]
    assert not names[0] & names[1]
    with pytest.raises(ValueError, match="paper=True: would overwrite the page of the smaller sizes; give --folder"):
        ResultsConfig("clash", paper=True)
    with pytest.raises(ValueError, match="paper=True: the page pommerman has these sizes anyway, or none"):
        command.run(ResultsConfig("pommerman", paper=True, folder=tmp_path))
