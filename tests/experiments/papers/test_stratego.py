"""The page of Barrage: its rows, that no two of them share a file, and a match that is really played."""

import re
import sys
from dataclasses import replace

import pytest

import jaxgames
from experiments.papers import stratego_learning, stratego_round_robin, stratego_taught
from experiments.papers.measured import Runs
from experiments.papers.stratego import PAGE, Match, StrategoPlan, play
from experiments.papers.stratego_learning import KEPT, LONG, TAUGHT
from tests import tic_tac_toe
from tests.experiments.papers.made_up import page_of
from training.play import agents
from training.storage.provenance import CHECKOUT


def test_the_page(tmp_path):
    result = {"games": 64, "wins": 40, "draws": 8, "losses": 16, "cpu_seconds": 16.0, "moves": [1000, 1000], "mean_length": 31.6}
    ends = {name: {"wins": 30, "draws": 4, "losses": 30, "games": 64} for name in stratego_learning.OPPONENTS}
    learnt = {"epochs": {"0": ends, "10": ends | {"hunt": ends["hunt"] | {"wins": 40, "losses": 20}}}}
    played = (Match, stratego_taught.Contest)
    page = page_of(PAGE, tmp_path, lambda one: result if isinstance(one.label, played) else learnt)
    assert "| `network` | `random` | Barrage | 68.8 (57–78) | 40 – 8 – 16 | 32 | 16.0 |" in page
    assert "| `pc_pimc:num_worlds=3,num_simulations=100,guess=bundled` | `hunt` | ten blocked fields | " in page
    assert "num_worlds=20,num_simulations=15" in page, "20 worlds share 300 nodes"
    assert "| TSL + PC-PIMC | 164 k | 65.6 (" in page and "| PC-PIMC | 0 | 50.0 (" in page
    assert "| TSL + PC-PIMC, 20 times as long | 1.31 M | 65.6 (" in page, "its epochs are longer"
    assert "| `pc_pimc:num_worlds=3,num_simulations=100,weights=long` | `hunt` | Barrage | 68.8 (" in page
    assert "num_worlds=3,num_simulations=8333,prospects=0.5,guess=bundled,weights=long` | `hunt` |" in page, "25 000 nodes"
    assert "| probabilities | network | `hunt` | 68.8 (57–78) |" in page
    assert "| probabilities | PC-PIMC, 3 x 100 | the same, shown a world that fits | 68.8 (" in page
    assert "| network | `random` | 68.8 (57–78) | 40 – 8 – 16 | 32 | 16.0 |" in page, "full Stratego"
    assert "guess=usual,weights=none` | `hunt` | Stratego | 68.8 (57–78) |" in page, "full Stratego without a network"
    assert "| `network:weights=tsl` | `network:weights=plain` | Barrage | 68.8 (57–78) |" in page
    robin = [line for line in page.splitlines() if re.match(r"\| \d+ ", line)]
    assert len(robin) == len(stratego_round_robin.PLAYERS)
    # Each makes 68.75 % against all that stand before it in the list, so the last of the list is the first of the table.
    assert robin[0].startswith("| 1 ISMCTS | +") and " | 68.8 (65–72) |  | 69 | " in robin[0]
    assert robin[0].endswith(" | 69 | 16.0 | `ismcts:num_simulations=300,horizon=5,bandit=ucb,c=0.5` |"), "cost and settings"
    assert robin[-1].startswith(f"| {len(robin)} random | +0 ± 0 | 31.2 (28–35) | 31 | ") and robin[-1].endswith(
        " | 31 |  | – | `random` |"
    )
    assert "stratego_learning.svg" in {path.name for path in tmp_path.iterdir()}


def test_a_round_robin_that_is_not_over():
    """Who has not met random play has no row, and a pair that has not met has no number."""
    pairs = stratego_round_robin.PAIRS
    assert len(set(pairs)) == len(pairs)
    one = {"games": 2, "wins": 1, "draws": 0, "losses": 1, "cpu_seconds": 1.0, "moves": [10, 10]}
    assert stratego_round_robin.round_robin_table({}) == ""
    assert stratego_round_robin.round_robin_table(dict.fromkeys(pairs[1:], one)).count("`hunt`") == 0
    ismcts = stratego_round_robin.PLAYERS["ISMCTS"]
    some = {pair: one for pair in pairs if pair != (ismcts, "hunt")}
    table = stratego_round_robin.round_robin_table(some)
    assert table.count(" | – | ") == 3, "the pair twice, and what random play costs"
    whole = stratego_round_robin.round_robin_table(dict.fromkeys(pairs, one))
    assert whole.count("100.0") == len(stratego_round_robin.PLAYERS) - 1, "costs of all but the first"


def test_every_match_has_a_file_of_its_own(tmp_path):
    measurements = PAGE.measurements(StrategoPlan(tmp_path))
    by_name = {one.name: one.label for one in measurements}
    assert len(by_name) == len({(one.label, one.name.rpartition("games")[2]) for one in measurements})
    assert all("/" not in name and ":" not in name for name in by_name)
    games = {name.rpartition("games")[2] for name in by_name if "epochs" not in name and "learning" not in name}
    assert games == {"512", "256", "64", "32"}, "more depends on some pairs than on others"


@pytest.mark.parametrize(
    ("player", "with_file"),
    [
        ("network", "network:weights={taught}"),
        ("network:weights=long", "network:weights={long}"),
        ("pc_pimc:num_worlds=3,weights=long", "pc_pimc:num_worlds=3,weights={long}"),
        ("network:weights=plain", "network:weights={plain}"),
        ("pc_pimc:weights=tsl,prospects=1", "pc_pimc:weights={tsl},prospects=1"),
        ("pimc:num_worlds=3", "pimc:num_worlds=3,weights={taught}"),
        *((player, player) for player in ("pc_pimc:weights=none,rollout_steps=0", "ismcts:num_simulations=300", "hunt")),
    ],
)
def test_players_have_the_network_that_the_page_means(tmp_path, player, with_file):
    plan = StrategoPlan(tmp_path)
    meant = with_file.format(taught=TAUGHT, **{called: plan.kept_network(run) for called, run in KEPT.items()})
    assert plan.named(Match(player, "random")) == (meant, "random")


def test_the_package_has_the_network_of_the_long_run():
    kept = StrategoPlan(CHECKOUT / "docs/results").kept_network(LONG.name)
    assert (agents.TRAINED / "stratego_pc_pimc.npz").read_bytes() == kept.read_bytes() != TAUGHT.read_bytes()


def test_networks_with_which_rows_were_played_are_kept():
    plan = StrategoPlan(CHECKOUT / "docs/results")
    assert all(plan.kept_network(run).exists() for run in KEPT.values()) and TAUGHT.exists()


@pytest.mark.parametrize("strong", ["careful", pytest.param("hunt", marks=pytest.mark.slow)])
def test_a_match_is_told_from_the_first_player_s_side(strong, monkeypatch):
    """With the quick rules of another game, too."""
    mode = "mini:max_plies=60"
    if strong == "careful":
        monkeypatch.setattr(sys.modules["jaxgames.registration"], "_ADDED", {})
        jaxgames.register(tic_tac_toe.REGISTRATION)
        game, mode = jaxgames.make("tic_tac_toe"), "standard"
        monkeypatch.setattr(jaxgames, "make", lambda name, mode: game)
    found = play(Match("random", strong, mode), games=32, batch=32, names=("random", strong))
    assert found["wins"] + found["draws"] + found["losses"] == 32
    assert found["wins"] < found["losses"]
    assert found["moves"][0] > 0 and found["cpu_seconds"] >= 0


@pytest.mark.parametrize(("last", "epochs"), [(10, [0, 2, 4, 6, 8, 10]), (2, [0, 1, 2]), (1, [0, 1])])
def test_networks_are_looked_at_on_the_way(last, epochs):
    assert stratego_learning.chosen_epochs(last) == epochs


@pytest.mark.slow
def test_a_run_learns_and_its_networks_play(tmp_path):
    whole = stratego_learning.RUNS[1].config
    learn = replace(
        whole.learn, num_worlds=2, num_simulations=4, lanes=8, epoch_samples=128, epoch_updates=4, updates=4, batch_size=16
    )
    small = Runs("small", "small", replace(whole, learn=learn))
    plan = StrategoPlan(tmp_path, epochs=1, network_games=4, work=tmp_path / "work")
    result = stratego_learning.learn_and_keep(plan, small)
    assert list(result["epochs"]) == ["0", "1"] and result["searches_per_second"] is None, "it compiled"
    assert all(ends["games"] == 4 for by_opponent in result["epochs"].values() for ends in by_opponent.values())
    assert "start" not in result["settings"]
    assert plan.kept_network("small").read_bytes() == (tmp_path / "work" / "small" / "epoch-001.npz").read_bytes()


@pytest.mark.slow
def test_two_networks_are_taught_and_meet(tmp_path, monkeypatch):
    small = replace(stratego_taught.SHOWN, samples=256, epochs=1, lanes=8, steps=16, updates=4, batch_size=16)
    monkeypatch.setattr(stratego_taught, "SHOWN", small)
    plan = StrategoPlan(tmp_path, games=4, epochs=1, work=tmp_path / "work")
    meeting = next(contest for contest in stratego_taught.PLANES if contest.other and contest.player == stratego_taught.ALONE)
    result = stratego_taught.play(plan, meeting, games=4)
    assert result["wins"] + result["draws"] + result["losses"] == 4
    assert set(result["lessons"]) == {"beliefs", "worlds"}
    encoders = {name: lesson["settings"]["who"]["encoder"] for name, lesson in result["lessons"].items()}
    assert encoders == {"beliefs": "belief", "worlds": "alphaze"}
