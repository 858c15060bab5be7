"""The page of searches against models: its tables, what a run's log says of its rounds, and which round is taken."""

import dataclasses
import json
import shutil
from pathlib import Path

import pytest

from experiments.papers import pommerlearn, pommerlearn_cells
from experiments.papers.pommerlearn import PAGE, RL, SL, SRL, PommerlearnPlan
from experiments.papers.pommerlearn_cells import Cell
from tests.experiments.papers.made_up import page_of
from training.play import agents
from training.storage.provenance import CHECKOUT

COUNT = {"games": 100, "wins": 61, "draws": 15, "losses": 24}
PLAYED = {"round": 0, "games": 4, "wins": 0.5, "draws": 0.25, "action_shares": [0.4, 0.1, 0.1, 0.1, 0.1, 0.2]}
LEARNT = {"round": 0, "agreement": 0.5, "value_error": 0.8, "cross_entropy": 1.0}
LOG = [
    PLAYED,
    PLAYED | {"games": 12, "action_shares": [0.2, 0.2, 0.2, 0.2, 0.1, 0.1]},
    LEARNT | {"agreement": 0.4},
    LEARNT | {"round": 1, "wins_alone": 0.25},
    PLAYED | {"round": 1, "wins": 0.75},
    LEARNT | {"round": 2, "wins_alone": 0.5},
]


FEWER = "| 61.0 (51–70) | 10.0 (6–17) |"  # of 100 games


def result(one):
    if one.label in pommerlearn.RUNS.values():
        rounds = pommerlearn.rounds_of(LOG)
        return {"rounds": rounds, "chosen": 1, "samples": 40_000, "seconds": 600.0, "settings": {}}
    return {"released": COUNT, "strict": COUNT | {"draws": 10}, "lengths": [250] * 100, "moves": [400, 0], "cpu_seconds": 2.0}


def test_the_page(tmp_path):
    page = page_of(PAGE, tmp_path, result)
    assert "| SL | 2 | 40 000 | 50.0 | 0.800 | 25.0 | 1 | 10 |" in page, (
        "of the round that made the network, which is not the last"
    )
    assert "| SL, then RL | 0 | 16 | 50.0 | 25.0 | 30 | 15 | 25 |" in page and "| SL | 0 | 16 |" not in page
    ours = "| 61.0 (54–67) | 10.0 (7–15) |"
    noise = f"noise at the root {ours}"
    assert f"| SL | SP | 250 | {noise} 76.8 / 9.5 | 200 | 250 | 5.0 |" in page
    assert f"| SL | TP | 250 | {noise} 79.6 / 11.8 | 200 |" in page
    assert f"| drawn parameters | TP | 50 | {noise} 13.1 / 7.9 |" in page
    assert f"| drawn parameters | network alone | 0 | – {ours} 10.0 / 5.9 |" in page
    assert f"| no network | TP | 50 | – {ours} – |" in page
    unbiased, simple = "| SL | SimpleUnbiasedAgents | TP | 250 |", "| SL | SimpleAgents | TP | 250 |"
    others = ("as the network gives them", "flattened", "noise, and random starts")
    for priors, games in (*((priors, 100) for priors in others), ("noise at the root", 200)):
        assert f"{unbiased} {priors} {ours if games == 200 else FEWER} 79.6 / 11.8 | {games} | 250 |" in page
    assert page.count(unbiased) == 4 and page.count(simple) == 2
    assert page.count("| SL | TP | 250 |") == 2, "one row in Table 2 and one in Table 3, whatever was tried with priors"
    assert f"| SL | network alone | 0 | – {ours} 38.6 / 10.5 |" in page
    assert f"| SL, then RL | SP | 250 | {noise} – |" in page.split("## Against three SimpleAgents")[0]
    assert f"| SL, then RL | SP | 250 | {noise} 65.2 / 30.2 |" in page.split("## Against three SimpleAgents")[1]
    assert f"| SL, second run | SP | 250 | {noise} 76.8 / 9.5 | 200 |" in page
    assert f"| SL, then RL, second run | SP | 1000 | {noise} 94.2 / – | 200 |" in page
    assert "| SL, then RL, second run | 0 | 16 |" in page and "| SL, second run | 0 | 16 |" not in page


def test_where_nothing_was_played_with_noise_the_tables_have_priors_as_given():
    given = Cell("sp_mcts", "rl", 50, games=0)
    played = pommerlearn_cells.Played(100, 61, 10, 25_000, 400, 2.0)
    row = "| RL from zero | SP | 50 | as the network gives them | 61.0"
    assert row in pommerlearn_cells.table({given: played}, given.opponent)
    noisy = dataclasses.replace(given, priors=pommerlearn_cells.NOISE)
    assert row not in pommerlearn_cells.table({given: played, noisy: played}, given.opponent)
    flattened = dataclasses.replace(given, priors=pommerlearn_cells.FLATTENED)
    assert "RL from zero" not in pommerlearn_cells.table({flattened: played}, given.opponent)


def test_rounds_of_a_log():
    first, second = pommerlearn.rounds_of(LOG)
    assert (first["games"], first["wins"], first["draws"]) == (16, 8, 4)
    assert first["action_shares"] == pytest.approx([0.3, 0.15, 0.15, 0.15, 0.1, 0.15])
    assert (first["agreement"], first["wins_alone"], second["wins_alone"]) == (0.5, 0.25, 0.5), "the last of the round"
    assert (second["games"], second["wins"]) == (4, 3)


def test_what_was_not_measured_adds_nothing_to_a_round():
    quiet = [PLAYED | {"games": 0, "wins": None, "draws": None}, LEARNT | {"value_error": None}]
    first, *_ = pommerlearn.rounds_of([*LOG[:3], *quiet, *LOG[3:]])
    assert (first["games"], first["wins"], first["draws"], first["value_error"]) == (16, 8, 4, 0.8)


def test_the_best_round_is_told_by_its_neighbours_too():
    def rounds(*shares):
        return [{"games": 10, "wins": 10 * share} for share in shares]

    assert pommerlearn.chosen_round(rounds(0.9, 0.1, 0.8, 0.8, 0.7, 0.2)) == 3
    assert pommerlearn.chosen_round(rounds(0.1, 0.2, 0.6)) == 2 and pommerlearn.chosen_round(rounds(0.5)) == 0


def test_weights_are_those_of_the_round_that_is_taken(tmp_path):
    plan = PommerlearnPlan(tmp_path, work=tmp_path / "work")
    folder = plan.output(SRL)
    for run in (SL, SRL):
        with pytest.raises(ValueError, match="is not over, so nobody can play with what it learns"):
            pommerlearn.weights_of(plan, run)
        plan.output(run).mkdir(parents=True)
        (plan.output(run) / "result.json").write_text("{}")
    assert pommerlearn.weights_of(plan, SL) == Path(plan.work, SL.name, "best.npz")
    log = [*LOG, PLAYED | {"round": 2, "wins": 1.0}, LEARNT | {"round": 3, "wins_alone": 0.5}]
    (folder / "log.jsonl").write_text("".join(json.dumps({"iteration": 1} | record) + "\n" for record in log))
    assert pommerlearn.weights_of(plan, SRL) == folder / "round-002.npz"
    config = pommerlearn.config_of(plan, SRL)
    assert config.start == str(plan.output(SL) / "best.npz") and config.resume and config.output == str(folder)
    assert pommerlearn.config_of(plan, RL).start == ""


def test_the_network_of_a_run_is_kept_beside_the_results(tmp_path, monkeypatch):
    plan = PommerlearnPlan(tmp_path / "results", work=tmp_path / "work")
    kept = plan.folder / "weights" / f"{SRL.name}.npz"

    def train(job, config):
        folder = Path(config.output)
        folder.mkdir(parents=True)
        (folder / "result.json").write_text("{}")
        (folder / "log.jsonl").write_text("".join(json.dumps({"iteration": 1} | record) + "\n" for record in LOG))
        for number in range(2):
            (folder / f"round-{number:03d}.npz").write_text(f"network {number}")
        return {"samples": 1}

    shown = plan.folder / "weights" / f"{SL.name}.npz"
    shown.parent.mkdir(parents=True)
    shown.write_text("where it begins")
    monkeypatch.setattr(pommerlearn, "trained", train)
    ((_, measure, _),) = pommerlearn.train_searched(plan)
    chosen = measure()["chosen"]
    assert kept.read_text() == f"network {chosen}" and pommerlearn.weights_of(plan, SRL) == kept
    shutil.rmtree(plan.work)
    assert pommerlearn.weights_of(plan, SRL) == kept, "no run is needed"


def test_the_package_has_the_network_of_the_first_demonstrations():
    kept = PommerlearnPlan(CHECKOUT / "docs/results").kept_network(SL.name)
    assert (agents.TRAINED / "pommerman_sp_mcts.npz").read_bytes() == kept.read_bytes()


def test_cells_have_files_of_their_own(tmp_path):
    plan = PommerlearnPlan(tmp_path, games=7)
    names = [one.name for one in PAGE.measurements(plan)]
    assert len(set(names)) == len(names)
    noisy = Cell("tp_mcts", "sl", 50, games=7, priors=pommerlearn_cells.NOISE)
    assert noisy.name == "pommerlearn-simple_unbiased-tp_mcts-sl-n50-noise-games7" in names
    assert Cell("tp_mcts", "sl", 50).name == "pommerlearn-simple_unbiased-tp_mcts-sl-n50-games100" in names


def test_a_cell_is_split_into_files(tmp_path):
    cell = Cell("tp_mcts", "sl", 50)
    assert [(piece.first, piece.games) for piece in cell.pieces(60)] == [(0, 60)]
    first, rest = cell.pieces(400)
    assert ((first.first, first.games), (rest.first, rest.games)) == ((0, 100), (100, 300))
    assert first.name == "pommerlearn-simple_unbiased-tp_mcts-sl-n50-games100"
    assert rest.name == "pommerlearn-simple_unbiased-tp_mcts-sl-n50-games300-from100"
    firsts = [one.label.first for one in PAGE.measurements(PommerlearnPlan(tmp_path), ("table2",))]
    assert firsts == sorted(firsts) and set(firsts) == {0, 100}, "all cells of a part have some games before any has all"
    played = {"released": COUNT, "strict": COUNT | {"draws": 10}, "lengths": [250] * 100, "moves": [400, 0], "cpu_seconds": 2.0}
    fewer = played | {"released": {"games": 2, "wins": 1}, "strict": {"draws": 1}, "lengths": [6, 8]}
    found = pommerlearn_cells.whole({first: played, rest: fewer})
    assert found == {Cell("tp_mcts", "sl", 50, games=0): pommerlearn_cells.Played(102, 62, 11, 25_014, 800, 4.0)}
    assert [(piece.first, piece.games) for piece in cell.pieces(1000)] == [(0, 100), (100, 300), (400, 600)]
    slow = Cell("tp_mcts", "sl", 1000).pieces(1000)
    assert [(piece.first, piece.games) for piece in slow] == [(0, 100), (100, 300), (400, 200), (600, 200), (800, 200)]


@pytest.mark.slow
@pytest.mark.parametrize("network", [pommerlearn.WITHOUT, pommerlearn.DRAWN])
def test_a_cell_is_played(network, tmp_path):
    cell = Cell("sp_mcts", network, 2, games=2)
    played = pommerlearn.play_cell(PommerlearnPlan(tmp_path, work=tmp_path / "work", batch=2), cell)
    assert played["released"]["games"] == 2 == len(played["lengths"]) and played["moves"][0] > 0


def test_published_results_stand_beside_as_many_simulations():
    for simulations, told in ((50, "–"), (1000, "78.2 / 12.2")):
        assert pommerlearn_cells.published(Cell("sp_mcts", "sl", simulations, pommerlearn_cells.SIMPLE)) == told
    cell = Cell("sp_mcts", "sl", 50, pommerlearn_cells.SIMPLE, games=0)
    played = {cell: pommerlearn_cells.Played(100, 61, 10, 25_000, 400, 2.0)}
    table = pommerlearn_cells.table(played, pommerlearn_cells.SIMPLE)
    assert "| paper, 1000 simulations: wins / ties |" in table and "| 78.2 / 12.2 |" in table
