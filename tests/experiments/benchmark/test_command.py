"""The command line of the benchmarks, and the processes that it measures in."""

import json
import subprocess

import pytest

from experiments.benchmark import CASES, Request, command, records, table, worker
from experiments.benchmark.cases import names
from tests.experiments.benchmark.rows import made_up_row
from training.jobs.command_line import run_main


def leave(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        run_main(command.run, command.BenchmarkConfig, arguments)
    return stop.value.code or 0


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["pommerman/chess"], ["case='pommerman/chess'", *names()]),
        (["--cores", "100000"], ["cores=100000"]),
        (["--cores", "0"], ["cores=0: must be >= 1"]),
        (["--repeats", "2"], ["repeats=2: must be >= 5"]),
        (["--batch", "0"], ["batch=0: must be >= 1"]),
        (["--seed", "-1"], ["seed=-1: must be in 0..4294967295"]),
    ],
)
def test_bad_input_is_one_line(arguments, named, capsys):
    assert leave(*arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: ") and printed.err.count("\n") == 1
    assert [part for part in named if part not in printed.err] == []


def test_list(capsys):
    assert leave("--list") == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == names() == [case.name for case in CASES]
    assert len(set(names())) == len(CASES) == 40


def test_json_lines_are_alone_on_stdout_and_recorded(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(worker, "measure_apart", lambda request: made_up_row(request.case, request.cores))
    arguments = ["pommerman/random", "pommerman/careful", "--cores", "1", "--folder", str(tmp_path)]
    assert leave(*arguments, "--json") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["case"] for row in rows] == arguments[:2]
    assert records.read_all(tmp_path) == rows
    assert leave(*arguments, "--no-record") == 0
    assert "pommerman/careful" in capsys.readouterr().out
    assert records.read_all(tmp_path) == rows


def test_table_alone_measures_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(worker, "measure_apart", lambda request: pytest.fail(f"measured {request}"))
    page, readme = tmp_path / "page.md", tmp_path / "README.md"
    after = "<!-- table instructions -->\nof another command\n<!-- /table -->\n"
    page.write_text(f"before\n<!-- table figures -->\n<!-- /table -->\n{after}")
    readme.write_text("<!-- table speeds -->\n<!-- /table -->\n")
    row = made_up_row("pommerman/random")
    records.append(tmp_path / "rows", row)
    assert leave("--table", "--folder", str(tmp_path / "rows"), "--page", str(page), "--readme", str(readme)) == 0
    assert capsys.readouterr().out == f"{table.figures([row])}\n"
    assert page.read_text() == f"before\n<!-- table figures -->\n{table.figures([row])}\n<!-- /table -->\n{after}"
    assert readme.read_text() == f"<!-- table speeds -->\n{table.brief([row], table.README)}\n<!-- /table -->\n"


def test_tables_that_are_published_are_not_emptied(tmp_path, capsys, monkeypatch):
    marks = "<!-- table {0} -->\nkept\n<!-- /table -->\n"
    pages = {name: tmp_path / f"{name}.md" for name in ("page", "readme")}
    for (name, path), mark in zip(pages.items(), ("figures", "speeds"), strict=True):
        path.write_text(marks.format(mark))
        monkeypatch.setattr(command, name.upper(), path)
    (tmp_path / "empty").mkdir()
    both = [word for name, path in pages.items() for word in (f"--{name}", str(path))]
    other = [word for name in pages for word in (f"--{name}", str(tmp_path / "other.md"))]
    monkeypatch.setattr(command, "FOLDER", tmp_path / "none")
    for arguments, told in [
        (["--folder", str(tmp_path / "nosuch")], "would overwrite page.md of the checkout; give --page"),
        (["--folder", str(tmp_path / "nosuch"), *both], "would overwrite page.md of the checkout; give --page"),
        (["--folder", str(tmp_path / "nosuch"), *other[:2]], "would overwrite readme.md of the checkout; give --readme"),
        (["--folder", str(tmp_path / "nosuch"), *other], "there is no such folder"),
        (["--folder", str(tmp_path / "empty"), *other], "holds no rows"),
        ([], "there is no such folder"),
    ]:
        assert leave("--table", *arguments) == 2
        printed = capsys.readouterr().err
        assert printed.startswith("error: folder='") and printed.endswith(f": {told}\n") and printed.count("\n") == 1
    assert all("kept" in path.read_text() for path in pages.values())


def test_a_measurement_that_fails_does_not_stop_the_others(tmp_path, capsys, monkeypatch):
    def fail_once(request):
        if request.case == "pommerman/random":
            raise worker.MeasurementError("pommerman/random: died")
        return made_up_row(request.case)

    monkeypatch.setattr(worker, "measure_apart", fail_once)
    assert leave("pommerman/random", "pommerman/careful", "--cores", "1", "--json", "--folder", str(tmp_path)) == 1
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 1 and "pommerman/random: died" in printed.err


@pytest.mark.slow
def test_a_case_is_measured_in_a_process_of_its_own():
    row = worker.measure_apart(Request("pommerman/random", batch=1, repeats=5))
    records.check(row)
    assert (row["case"], row["cores"], row["devices"], row["batch"]) == ("pommerman/random", 1, 1, 1)


@pytest.mark.slow
def test_a_batch_that_does_not_fit_is_one_line(capfd):
    assert leave("pommerman/random", "--batch", "1000000000", "--cores", "1", "--no-record", "--json") == 1
    printed = capfd.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: pommerman/random on 1 core: batch=1000000000: ") and printed.err.count("\n") == 1


@pytest.mark.parametrize(("code", "printed"), [(1, ""), (0, ""), (-11, "half a line")])
def test_a_process_that_dies_is_an_error(monkeypatch, code, printed):
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, code, printed))
    with pytest.raises(worker.MeasurementError, match=f"a case on 1 core: the process that measured ended with {code}"):
        worker.measure_apart(Request("a case"))
