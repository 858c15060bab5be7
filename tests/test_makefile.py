"""What make would do, which is asked and not done: the environment is made once, and anew for another Python."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def fake_python(path, told):
    """A program that tells which Python it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{told}'\n")
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


def would_make(folder, *arguments, **variables):
    own = {name: value for name, value in os.environ.items() if name != "PYTHON" and not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(
        ["make", "--dry-run", "env", *arguments],
        cwd=folder,
        env={**own, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return "-m venv --clear" in done.stdout


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
