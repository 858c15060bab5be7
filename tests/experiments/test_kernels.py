"""Counting kernels: rows of cases, estimates, and what cannot be compiled for."""

import dataclasses

import jax
import pytest

from experiments import kept
from experiments.kernels import command, plans, targets
from experiments.kernels.command import KernelsConfig
from jaxgames import runtime
from tests.experiments.benchmark.rows import COUNTING, STEPS


@pytest.fixture(autouse=True)
def _keeps_what_is_compiled(monkeypatch):
    """The command forgets it after each case: here that would be all that the tests of the process have in common."""
    monkeypatch.setattr(jax, "clear_caches", lambda: None)


def test_a_case_is_compiled_and_counted():
    row = command.count(COUNTING, runtime.data_mesh(1), 32)
    assert row["failed"] == "" and row["case"] == COUNTING.name
    assert row["rounds"] == STEPS and row["kernels"] >= 1 and row["units_per_round"] == 32
    assert command.count(dataclasses.replace(COUNTING, measure=lambda *_: {}), runtime.data_mesh(1)) is None


def test_units_of_a_round():
    assert command._units_per_round(dataclasses.replace(COUNTING, unit="worlds"), 32, 64, told=False) == 32
    assert command._units_per_round(dataclasses.replace(COUNTING, unit="plans"), 32, 64, told=True) == 0.5
    assert command._units_per_round(dataclasses.replace(COUNTING, unit="plans"), 32, 1, told=False) is None, "it may be a part"


def test_a_case_that_fails_is_a_row():
    def broken(batch):
        raise RuntimeError("no\n  room")

    row = command.count(dataclasses.replace(COUNTING, program=broken), runtime.data_mesh(1))
    assert row["failed"] == "RuntimeError: no room"


def test_estimates_add_up():
    row = {"case": "a", "unit": "steps", "batch": 1000, "rounds": 7, "gathers": 1, "scatters": 0, "units_per_round": 1000.0}
    memory = row | {"kernels": 10, "open_loops": 1, "bytes": int(3.35e12 * 55e-6)}
    rate, limit = command.estimate(memory)
    assert rate == pytest.approx(1000 / 100e-6) and limit == "memory"
    assert command.estimate(memory | {"bytes": 0})[1] == "launches"
    assert command.table([memory]).splitlines()[-1] == "| `a` | 1000 | 7 | 10 | 1, 0 | 1 | 184 | memory | 10.0 M steps/s |"


def test_accelerators_keep_the_pass_that_cpus_leave_out(tmp_path, monkeypatch):
    monkeypatch.setattr(targets.jax.config, "update", lambda *_: None)
    monkeypatch.setenv("XLA_FLAGS", f"--a {runtime.DISABLED_PASSES_FLAG}={runtime.KERNEL_SPLITTING},{runtime.SHARING} --b")
    targets.prepare(targets.H100, None)
    assert f"--a {runtime.DISABLED_PASSES_FLAG}={runtime.KERNEL_SPLITTING} --b" in targets.os.environ["XLA_FLAGS"]


def test_without_the_packages_it_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1")
    with pytest.raises(ValueError, match="target='h100': needs the packages jax-cuda12-plugin and nvidia-cuda-nvcc-cu12"):
        targets.mesh_of(targets.H100, tmp_path)
    with pytest.raises(ValueError, match="target='b200': must be here or h100"):
        KernelsConfig(target="b200")


def test_a_named_case_that_is_not_one_program_is_told(capsys):
    assert command.run(KernelsConfig(cases=("hex/compile",))) == 1
    assert '"failed": "is not one program, so there is no round' in capsys.readouterr().out


@pytest.mark.slow  # to compile; how a case is counted is shown above
def test_a_planner_without_a_case_is_counted():
    case = plans.case("hex-hex-5-v1 mcs:num_simulations=6,horizon=3")
    row = command.count(case, runtime.data_mesh(1), 8)
    assert row["failed"] == "" and row["case"] == case.name and row["unit"] == "plans"
    assert row["rounds"] == 6 and row["kernels"] >= 1 and row["units_per_round"] == 8 / 6


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hex-adh-5-v1 ismcts:num_simulations=4", "hero_academy-tiny-v1 oep:num_generations=2"])
def test_planners_that_see_less_and_plan_turns_are_counted(name):
    assert command.count(plans.case(name), runtime.data_mesh(1), 8)["failed"] == ""


def test_many_lanes_are_planned_for_at_once():
    game = plans.jaxgames.make("hex", "hex-5")
    assert plans._wide(game, "mcs", 8) == "mcs"
    assert plans._wide(game, "mcs:num_simulations=6", 4096) == "mcs:num_simulations=6,microbatch_size=4096"
    assert plans._wide(game, "mcs:microbatch_size=2", 4096) == "mcs:microbatch_size=2"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("chess mcs", "game='chess': "),
        ("hex chess", "planner='chess': must be one of fdts, "),
        ("hex mcs:simulations=3", "simulations"),
    ],
)
def test_a_planner_that_there_is_not_is_one_line(name, told):
    with pytest.raises(ValueError, match=told) as raised:
        command.run(KernelsConfig(cases=(name,)))
    assert "\n" not in str(raised.value)


def test_rows_of_planners_stay_beside_those_of_cases(tmp_path, monkeypatch):
    filled = {}
    monkeypatch.setattr(command, "DATA", tmp_path)
    monkeypatch.setattr(command, "_fill", lambda mark, rows: filled.update({mark: [row["case"] for row in rows]}))
    monkeypatch.setattr(command, "count", lambda case, mesh, batch: {"case": case.name, "failed": ""})
    monkeypatch.setattr(targets, "prepare", lambda *_: None)
    monkeypatch.setattr(targets, "mesh_of", lambda *_: None)
    for names in (("hex mcs",), ("pommerman/random", "hex ismcts"), ("hex/dark_random",)):
        assert command.run(KernelsConfig(cases=names, target="h100", write=True)) == 0
    known = ["pommerman/random", "hex/dark_random", "hex mcs", "hex ismcts"]
    assert filled == {"kernels_h100": known} and list(kept.read(tmp_path / "kernels-h100.json", command._case)) == known


def test_only_what_the_page_has_a_table_of_is_written():
    with pytest.raises(ValueError, match=r"^write=True: accelerators\.md has a table of h100 alone; give --target h100$"):
        KernelsConfig(cases=("pommerman/random",), write=True)
    assert f"<!-- table kernels_{KernelsConfig(target='h100', write=True).target} -->" in command.PAGE.read_text()
