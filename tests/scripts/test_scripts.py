"""Scripts and the command `jaxgames`, as they are started."""

import subprocess
import sys
from pathlib import Path

import jaxgames
from training.jobs.catalogue import JOBS
from training.jobs.command_line import main

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def start(folder, *arguments):
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_a_script_starts_as_a_file_from_anywhere(tmp_path):
    told = (2, "", "error: nothing.npz: cannot be read: No such file or directory\n")
    assert start(tmp_path, SCRIPTS / "replay.py", "pommerman", "nothing.npz") == told


def test_a_python_without_the_libraries_is_told_which_has_them(tmp_path):
    """As `python3 scripts/plan.py` is, where .venv is not active; -S leaves installed packages out."""
    told = "error: No module named 'jax': use .venv/bin/python, which `make env` makes, or pip install this project\n"
    for script in ("plan.py", "official_agent.py", "benchmark.py"):
        assert start(tmp_path, "-S", SCRIPTS / script, "--help") == (2, "", told)


def test_every_script_finds_what_it_needs(tmp_path):
    """Also those of the experiments, which are not installed."""
    code = "import runpy, sys; [runpy.run_path(path) for path in sys.argv[1:]]"
    assert start(tmp_path, "-c", code, *sorted(SCRIPTS.glob("*.py"))) == (0, "", "")


def test_every_job_is_there():
    for job in JOBS.values():
        module = __import__(job.module, fromlist=[job.run])
        assert callable(getattr(module, job.run)) and isinstance(getattr(module, job.config), type)


def test_the_command_lists_its_jobs_without_loading_jax(tmp_path):
    code = """import sys
from training.jobs.command_line import main
try:
    main()
finally:
    print("jax" in sys.modules)
"""
    returned, out, err = start(tmp_path, "-c", code, "--help")
    assert (returned, err) == (0, "") and out.endswith("False\n")
    assert [line.split()[0] for line in out.splitlines() if line.startswith("  ")] == list(JOBS)


def test_the_command_runs_a_job(monkeypatch, capsys):
    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["jaxgames", *arguments])
        try:
            main()
        except SystemExit as end:
            return end.code or 0, *capsys.readouterr()
        return 0, *capsys.readouterr()

    assert command("--version") == (0, f"{jaxgames.__version__}\n", "")
    assert command("win") == (2, "", f"error: job='win': must be one of {', '.join(JOBS)}\n")
    for name, job in (("replay", "replay"), ("plan", "match")):
        returned, out, err = command(name, "--help")
        assert (returned, err) == (0, "") and out.startswith(f"usage: jaxgames {job} ")
