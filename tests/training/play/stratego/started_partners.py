"""Partners as processes of their own: how they are started, and which are still there."""

import os
import sys
import time
from pathlib import Path

from training.play.stratego.programs import Program

PARTNER = str(Path(__file__).with_name("partner.py"))
TAG = f"tag-{os.getpid()}"  # tells our programs from those of other tests


def command(behaviour, *arguments):
    """How a partner is started that does so."""
    return [sys.executable, "-I", "-S", PARTNER, behaviour, TAG, *arguments]


def program(behaviour, *arguments, grace=0.2):
    return Program(command(behaviour, *arguments), behaviour, grace=grace)


def processes():
    """What the processes do that run a partner, or a child of one."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode().split("\0")
        except OSError:
            continue
        if TAG in words:
            found.append(words[words.index(TAG) - 1])
    return found


def all_gone():
    """Waits until no process of ours is left; those that were killed take a moment."""
    deadline = time.monotonic() + 2
    while processes() and time.monotonic() < deadline:
        time.sleep(0.01)
    return processes() == []
