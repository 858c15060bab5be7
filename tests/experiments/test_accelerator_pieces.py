"""What an accelerator is measured with: pieces that are planned, what differs, tables, and learners for a moment."""

from types import SimpleNamespace

import jax
import numpy as np
import pytest

from experiments.accelerator import checks, learners, pieces, record
from experiments.accelerator.command import AcceleratorConfig
from experiments.accelerator.pieces import CHECKS, CORE, LEARNERS, SPEEDS, Piece
from experiments.benchmark import cases
from training.jobs import running, train_expert
from training.jobs.catalogue import JOBS


def test_all_cases_games_and_learners_are_planned_the_telling_ones_first():
    plan = pieces.plan()
    assert {piece.name for piece in plan[SPEEDS]} == set(cases.names()) >= set(pieces.TELLING)
    assert [piece.name for piece in plan[SPEEDS][: len(pieces.TELLING)]] == list(pieces.TELLING)
    assert len(plan[SPEEDS]) == 3 * len(cases.CASES) == len(set(plan[SPEEDS]))
    assert [piece.name for piece in plan[CORE]] == list(pieces.TELLING)
    assert [piece.size for piece in pieces.plan("speeds:hex/puct_800", (2, 1))[SPEEDS]] == [2, 1]
    assert [piece.name for piece in plan[LEARNERS]] == list(learners.LEARNERS)
    assert pieces.plan("speeds:hex/puct_800")[CHECKS] == [] and len(pieces.plan("hex/puct_800")[SPEEDS]) == 3
    several = pieces.plan("clash/random$", (1, 4), 4)
    assert [piece.devices for piece in several[SPEEDS]] == [4, 4] and [piece.devices for piece in several[CORE]] == [1]
    assert [piece.title for piece in several[SPEEDS]] == [
        "clash/random on 4 devices",
        "clash/random, 4 times the usual batch on 4 devices",
    ]
    with pytest.raises(ValueError, match="only='nothing': names nothing"):
        pieces.plan("nothing")
    with pytest.raises(ValueError, match=r"only='[(]': no regular expression"):
        AcceleratorConfig(only="(")
    for sizes in ((), (1, 0), (1, 1), (float("nan"),), (1, float("inf"))):
        with pytest.raises(ValueError, match=r"sizes=.*: must be different numbers above 0"):
            AcceleratorConfig(sizes=sizes)
    with pytest.raises(ValueError, match="workers=-1"):
        AcceleratorConfig(workers=-1)


def test_what_differs_is_told():
    one = {"a": np.arange(4), "b": np.float32([1, 2, np.nan, np.inf])}
    assert checks.differences(one, one) == []
    other = {"a": np.array([0, 1, 5, 3]), "b": np.float32([1, 2.002, np.nan, np.inf])}
    assert checks.differences(one, other) == ["a: 1 of 4", "b: 1 of 4, at most by 0.001 of the largest"]
    assert checks.differences(one, other | {"a": one["a"]}, 2e-3) == []
    assert checks.differences(one, one | {"b": np.float32([1, 2, 3, np.inf])}, 0.5) != []
    strange, numbers = {"b": np.float32([1, np.nan, np.inf])}, np.float32([1.0001, np.nan, np.inf])
    assert checks.differences(strange, {"b": numbers}, 1e-3) == []
    for other in ([1, np.inf, np.inf], [1, np.nan, -np.inf], [1, np.nan, np.nan]):
        assert checks.differences(strange, {"b": np.float32(other)}, 1e-3) != [], other


@pytest.mark.slow  # to compile
def test_random_play_is_compared(monkeypatch):
    monkeypatch.setattr(checks.jaxgames, "make", lambda given, make=checks.jaxgames.make: make("hex", "hex-3"))
    (row,) = checks.check("states hex", jax.devices()[0])
    assert row["same"] and row["differs"] == "" and len(row["checksum"]) == 8


def test_the_first_state_that_differs_is_told(monkeypatch):
    states, digests = {"a": np.arange(8)}, np.arange(48, dtype=np.uint32).reshape(8, 6)
    broken, played = digests.copy(), []
    broken[3, 4:] += 1
    monkeypatch.setattr(checks, "in_halves", lambda *_: (states, played[-1]))
    monkeypatch.setattr(checks, "on", lambda *_: (states, digests))
    for found, told in ((digests, ""), (broken, "first after step 5 of game 3")):
        played.append(found)
        (row,) = checks.check("states hex", jax.devices()[0])
        assert row["same"] == (not told) and row["differs"] == told and len(row["checksum"]) == 8


def test_what_is_kept_becomes_tables(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "".join(f"<!-- table accelerator_{name} -->\n<!-- /table -->\n" for name in ("speeds", "checks", "trainings"))
    )
    program = {"kernels": 7, "open_loops": 1, "argument_bytes": 2**20, "extra_bytes": 2**20}
    speed = {"per_wall_second": 300.0, "unit": "steps", "batch": 8, "compile_seconds": 2.0, "commit": "abc", "program": program}
    first = [
        {**Piece(SPEEDS, "hex/dark_random").as_dict(), "failed": "", **speed},
        {**Piece(CHECKS, "states hex").as_dict(), "failed": "", "compared": "all", "same": False, "differs": "legs"},
        {**Piece(CHECKS, "states hex").as_dict(), "failed": "", "compared": "some", "same": True, "differs": ""},
        {**Piece(SPEEDS, "pommerman/ppo").as_dict(), "failed": "", **speed, "program": None},
        {**Piece(SPEEDS, "clash/random").as_dict(), "failed": "TooLarge"},
    ]
    record.record({"device": "Toy 3000", "commit": "abc"}, first, tmp_path, page)
    assert "| states hex | some | yes |" in page.read_text() and "`pommerman/ppo` | 8 | 300 steps/s | – | – |" in page.read_text()
    assert "| Toy 3000 | `hex/dark_random` | 8 | 300 steps/s | – | 7+ | 2 s | 2 MiB | abc |" in page.read_text()
    assert "| Toy 3000 | states hex | all | **no** | legs | abc |" in page.read_text() and "clash" not in page.read_text()
    assert "<!-- table accelerator_trainings -->\n–\n" in page.read_text()
    later = [
        {**Piece(CORE, "hex/dark_random").as_dict(), "failed": "", "per_cpu_second": 3.0},
        {**Piece(CHECKS, "states hex").as_dict(), "failed": "", "compared": "all", "same": True, "differs": ""},
    ]
    training = {"iterations": 3, "first_seconds": 1.0, "later_seconds": 0.5, "losses": [2.0, 1.0]}
    later.append({**Piece(LEARNERS, "guess").as_dict(), "failed": "", **training})
    record.record({"device": "Toy 3000"}, later, tmp_path, page)
    assert "| Toy 3000 | guess | 3 | 1.0 s | 0.5 s | 2, 1 | – |" in page.read_text()
    assert "300 steps/s | 100 |" in page.read_text() and "| all | yes | – | – |" in page.read_text()
    assert "| states hex | some |" not in page.read_text(), "all that was known of a check gives way to what is new"


def test_rows_of_one_device_and_of_several_stand_side_by_side(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "".join(f"<!-- table accelerator_{name} -->\n<!-- /table -->\n" for name in ("speeds", "checks", "trainings"))
    )
    row = {"failed": "", "unit": "steps", "batch": 8, "compile_seconds": 2.0, "commit": "abc"}
    for devices, rate in ((1, 100.0), (4, 300.0), (1, 200.0)):
        rows = [Piece(SPEEDS, "hex/dark_random", devices=devices).as_dict() | row | {"per_wall_second": rate}]
        record.record({"device": "Toy 3000"}, rows, tmp_path, page)
    training = {"iterations": 3, "first_seconds": 1.0, "later_seconds": 0.5, "losses": [2.0, 1.0], "devices": 8}
    record.record({"device": "Toy 3000"}, [{**Piece(LEARNERS, "q").as_dict(), "failed": "", **training}], tmp_path, page)
    assert [line.split(" | ")[:4] for line in page.read_text().splitlines() if "hex/dark_random" in line] == [
        ["| Toy 3000", "`hex/dark_random`", "8", "200 steps/s"],
        ["| 4 x Toy 3000", "`hex/dark_random`", "8", "300 steps/s"],
    ]
    assert "| 8 x Toy 3000 | q | 3 |" in page.read_text()


def test_the_tables_of_the_page_are_those_of_what_is_kept(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(record.PAGE.read_text())
    record.make_tables(page=page)
    assert page.read_text() == record.PAGE.read_text()


def test_networks_of_planners_are_compared_in_full_precision(monkeypatch):
    seen = []

    def plan(params, keys, memory, views, seats, active):
        seen.append(jax.config.jax_default_matmul_precision)
        zeros = jax.numpy.zeros((seats.shape[0], 1))
        return SimpleNamespace(actions=zeros, visit_counts=zeros, qvalues=zeros, root_value=zeros), memory

    planner = SimpleNamespace(sees_state=True, init=lambda batch: (), plan=plan)
    monkeypatch.setattr(checks.jaxgames, "make", lambda given, make=checks.jaxgames.make: make("hex", "hex-3"))
    monkeypatch.setattr(checks.agents, "make_planner", lambda spec, game: (planner, {"weights": 1.0}))
    (row,) = checks.check("planner hex puct", jax.devices()[0])
    assert row["same"] and "values within 0.0001" in row["compared"] and set(seen) == {"highest"}


def test_each_job_that_trains_has_its_learner():
    """And the expert one in both ways in which it plays."""
    jobs = {module.partition("train_")[2] for module in (run.__module__ for run, _ in learners.LEARNERS.values())}
    assert jobs == {name.removeprefix("train-").replace("-", "_") for name in JOBS if name.startswith("train-")}
    sources = {config.learn.source for run, config in learners.LEARNERS.values() if run is train_expert.run}
    assert sources == {"demonstrations", "search"}


@pytest.mark.slow
def test_learners_have_as_much_to_do_as_jobs_can_count(monkeypatch):
    totals = []
    monkeypatch.setattr(running, "run", lambda job: totals.append(job.total))
    for run, config in learners.LEARNERS.values():
        run(config)
    assert len(totals) == len(learners.LEARNERS) and all(10**8 < total <= running.MOST for total in totals)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["alphaze", "q", "guess", "reinforcement"])
def test_learners_learn_for_a_moment(name, tmp_path):
    (row,) = learners.train(name, 1.0, tmp_path)
    assert row["iterations"] >= 1 and row["first_seconds"] > 0
