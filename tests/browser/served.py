"""Pages that jobs serve, and how they tell that they await a click."""

import os
import re
import subprocess
import sys
from contextlib import contextmanager

from tests.processes import ROOT, is_kept

AWAITS = "!!document.querySelector('.next, #buttons button:enabled')"


@contextmanager
def served(*arguments):
    """Runs `jaxgames play`, and gives its address and its process."""
    with running("play", *arguments, "--no-open", "--pace", "0") as found:
        yield found


@contextmanager
def running(*arguments):
    """Runs a job that serves a page, and gives its address and its process."""
    kept = {name: value for name, value in os.environ.items() if is_kept(name)} | {"PYTHONUNBUFFERED": "1"}
    code = "import sys; sys.argv[0] = 'jaxgames'; from training.jobs.command_line import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments, "--port", "0"],
        cwd=ROOT,
        env=kept,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        told = ""
        while not (address := re.search(r"http://\S+", told)):
            line = process.stdout.readline()
            assert line, f"it has ended: {told}"
            told += line
        yield address[0], process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
