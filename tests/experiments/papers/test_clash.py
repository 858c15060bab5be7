"""The page of planning in Clash: what is played, and what it shows."""

import itertools

import pytest

import jaxgames
from experiments.papers import clash, clash_players, clash_strategies, command
from experiments.papers.clash_matches import PAPER, SHORT, ClashPlan, Player
from experiments.papers.command import ResultsConfig
from jaxgames.clash.strategies import STRATEGIES
from tests.experiments.papers.made_up import page_of
from training.play import agents

FOUND = {"wins": 20, "draws": 4, "losses": 8, "games": 32, "mean_length": 90.0, "cpu_seconds": 100.0}
COUNTED = {
    "games": 4,
    "counts": {name: [0, 1, 2, 3] for name in STRATEGIES},
    "drawn": {"tank": {"battle": 2, "second": 31.5, "player": 1, "what": "Giant"}},
}
LEARNED = {
    "follower": {"episodes": 160, "steps": 16_000, "updates": 4_000, "seconds": 600.0},
    "q": {"samples": 400_000, "updates": 3_000, "seconds": 300.0},
}


def test_the_page(tmp_path):
    strategies = {one.name for one in clash_strategies.counts(ClashPlan(tmp_path))}
    page = page_of(clash.PAGE, tmp_path, lambda one: COUNTED if one.name in strategies else LEARNED.get(one.label, FOUND))
    assert "| Thompson sampling | UCB1 | 68.8 (" in page and "| FDTS – MCTS, random rollouts | 68.8 (" in page
    assert "| MCS – MCTS, no rollouts | – | 68.8 (" in page
    matches = [
        one for name, part in clash.PARTS.items() if name not in ("players", "strategies") for one in part(ClashPlan(tmp_path))
    ]
    assert page.count("20 – 4 – 8") == len(matches)
    # The oracle is named first in its pairs, so who meets it has won what it lost.
    assert "| oracle | 62.5 (45–77) | 62.5 (45–77) | 62.5 (45–77) | 62.5 (45–77) |  |" in page
    assert "| random |  | 25.0 (13–42) | 25.0 (13–42) | 25.0 (13–42) | 25.0 (13–42) |" in page
    assert "| follower | 160 battles, 16000 steps | 4000 | 10.0 |" in page and "| Q-MC | 400000 actions | 3000 | 5.0 |" in page
    assert page.count("1.50 ± 1.27, in 3 of 4") == len(STRATEGIES) * len(clash_strategies.PLAYERS)
    assert "| [a tank in front of shooters](clash_strategy_tank.svg) | red, Giant | 31.5 | 2 |" in page


@pytest.mark.parametrize("paper", [False, True])
def test_players_of_the_round_robin(tmp_path, paper):
    plan = ClashPlan(tmp_path, paper=paper, work=tmp_path)
    configs = {name: clash_players.config_of(plan, name) for name in clash_players.LEARNERS}
    game = jaxgames.make("clash", configs["q"].who.mode)
    assert configs["follower"].follower == configs["q"].who
    agents.make(configs["follower"].oracle.planner, game)
    # All decks are of the same cards, so networks find each card in the plane in which they have learnt it.
    other = jaxgames.make("clash", plan.sizes.with_decks(clash_players.DECKS["mixed"]))
    assert jaxgames.encoder_of(game).channels == jaxgames.encoder_of(other).channels


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
