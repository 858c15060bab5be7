"""What make would do, which is asked and not done: an environment is made once, anew for another Python, and only if needed."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def fake_python(path, told, works=True):
    """A program that tells which Python it is, and does whatever it is asked, or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{told}'\nexit {int(not works)}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def checkout(tmp_path):
    """A folder with an environment that is newer than what it is made of."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    fake_python(tmp_path / ".venv" / "bin" / "python", "/usr 3.11.7")
    (tmp_path / ".venv" / ".installed-test-viz").touch()
    return tmp_path


def would_run(folder, *arguments, **variables):
    own = {name: value for name, value in os.environ.items() if name != "PYTHON" and not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(
        ["make", "--dry-run", *arguments],
        cwd=folder,
        env={**own, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def would_make(folder, *arguments, **variables):
    return "-m venv --clear" in would_run(folder, "env", *arguments, **variables)


def test_an_environment_is_made_once(checkout):
    assert not would_make(checkout)
    (checkout / ".venv" / ".installed-test-viz").unlink()
    assert would_make(checkout)


def test_an_environment_is_made_anew_for_another_python_that_is_asked_for(checkout):
    same, other = (fake_python(checkout / name, told) for name, told in (("same", "/usr 3.11.7"), ("other", "/opt 3.12.1")))
    assert not would_make(checkout, f"PYTHON={same}")
    assert would_make(checkout, f"PYTHON={other}")
    assert would_make(checkout, f"PYTHON={checkout}/none"), "to tell that there is none"
    assert not would_make(checkout, PYTHON=str(other)), "only where it is asked for: variables stay for months"


def test_a_path_may_have_a_space_in_it(checkout):
    same, other = (
        fake_python(checkout / "my own" / name, told) for name, told in (("same", "/usr 3.11.7"), ("other", "/opt 3.12.1"))
    )
    assert not would_make(checkout, f"PYTHON={same}") and would_make(checkout, f"PYTHON={other}")
    shutil.rmtree(checkout / ".venv")
    equipped = fake_python(checkout / "my own" / "equipped", "")
    told = would_run(checkout, "drills", f"PYTHON={equipped}").strip()
    assert told.endswith(" scripts/drills.py") and shlex.split(told) == [str(equipped), "scripts/drills.py"]
    assert f"for python in '{other}'; do" in would_run(checkout, "env", PYTHON=str(other))


@pytest.mark.parametrize("gone", ["a link to nothing", "a program that fails"])
def test_an_environment_whose_python_is_gone_counts_as_none(checkout, gone):
    python = checkout / ".venv" / "bin" / "python"
    python.unlink()
    if gone == "a link to nothing":
        python.symlink_to(checkout / "none")
    else:
        fake_python(python, "", works=False)
    bare, equipped = fake_python(checkout / "bare", "", works=False), fake_python(checkout / "equipped", "")
    assert would_make(checkout) and would_make(checkout, f"PYTHON={equipped}")
    assert would_run(checkout, "soak", f"PYTHON={equipped}").strip() == f"{equipped} scripts/soak.py"
    told = would_run(checkout, "soak", f"PYTHON={bare}")
    assert "-m venv --clear" in told and ".venv/bin/python scripts/soak.py" in told


@pytest.mark.parametrize("job", ["accelerator", "growth", "soak", "drills"])
def test_long_jobs_need_no_environment_where_a_python_has_the_packages(checkout, job):
    assert f".venv/bin/python scripts/{job}.py" in would_run(checkout, job), "an environment goes first"
    shutil.rmtree(checkout / ".venv")
    bare, equipped = fake_python(checkout / "bare", "", works=False), fake_python(checkout / "equipped", "")
    told = would_run(checkout, job, f"CANDIDATES={bare} {equipped}")
    assert "-m venv" not in told and "pip install" not in told and told.strip().startswith(f"{equipped} scripts/{job}.py")
    told = would_run(checkout, job, f"PYTHON={bare}")
    assert "-m venv --clear" in told and f".venv/bin/python scripts/{job}.py" in told
    assert would_make(checkout, PYTHON=str(equipped)), "who asks for an environment gets one"


def test_a_python_that_lacks_a_package_is_passed_over(checkout):
    """The true one, without the folder of its packages."""
    shutil.rmtree(checkout / ".venv")
    path = checkout / "without"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    path.chmod(0o755)
    assert "-m venv --clear" in would_run(checkout, "soak", f"PYTHON={path}")
    assert would_run(checkout, "soak", f"CANDIDATES={path} {sys.executable}").strip() == f"{sys.executable} scripts/soak.py"
