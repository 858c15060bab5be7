"""Agents of one's own on command lines: a function in a file of Python, python:FILE.py:FUNCTION."""

from __future__ import annotations

import functools
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from jaxgames.agent import Agent
from jaxgames.game import Game
from search.planner import Planner, as_agent

PYTHON = "python"
WHERE = f"{PYTHON}:FILE.py:FUNCTION"
FORM = f"{WHERE}, a function of a game that returns an agent or a planner"


def is_own(spec: str) -> bool:
    """Says whether a text names an agent of one's own."""
    return spec.partition(":")[0] == PYTHON


def make(spec: str, game: Game) -> Agent:
    """Makes the agent that a text names; arguments and errors as for `made`."""
    found = made(spec, game)
    return (as_agent(found) if isinstance(found, Planner) else found)._replace(name=spec)


def made(spec: str, game: Game) -> Agent | Planner:
    """Gives what the function that a text names returns for a game.

    The file is run once in a process, as when it is imported. Modules that merely lie beside it are not found: two bots that each
    have a `helper.py` would share one.

    Args:
      spec: python:FILE.py:FUNCTION, such as python:bots/greedy.py:make.
      game: what it will play; `FUNCTION(game)` returns an agent, such as `jaxgames.agent.memoryless` makes, or a planner.

    Raises:
      ValueError: there is no such function, or it gives something else. Errors in the file are its own.
      OSError: there is no such file.
    """
    path, name = _parts(spec)
    function = getattr(_module(path), name, None)
    if not callable(function):
        raise ValueError(f"agent={spec!r}: {path} has no function {name!r}; must be {FORM}")
    found: Any = function(game)
    if not isinstance(found, Agent | Planner):
        raise ValueError(f"agent={spec!r}: {name} returned a {type(found).__name__}; must be {FORM}")
    return found


def file_of(spec: str) -> Path:
    """Gives the file that an agent is in.

    Raises:
      ValueError: the text is not as it must be.
    """
    return _parts(spec)[0]


def _parts(spec: str) -> tuple[Path, str]:
    file, _, name = spec.partition(":")[2].rpartition(":")
    if not file.endswith(".py") or not name.isidentifier():
        raise ValueError(f"agent={spec!r}: must be {FORM}")
    return Path(file), name


def _module(path: Path) -> ModuleType:
    with path.open("rb"):  # whether it is there
        return _loaded(path.resolve())


@functools.cache
def _loaded(path: Path) -> ModuleType:
    name = f"own_agents_{path.stem}_{len(sys.modules)}"
    found = importlib.util.spec_from_file_location(name, path)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module  # dataclasses and pickle look there
    found.loader.exec_module(module)
    return module
