"""Whose a folder of results is: a result and settings tell the job that wrote them, and no other job writes beside them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxgames import processes

RESULT, SETTINGS = "result.json", "settings.json"
JOB = "job"  # under which both tell it
FILES = "files"  # under which settings tell what was in the files that they name
GO_ON = "remove it to go on with the settings given"  # what to do about settings that cannot be read
_UNKNOWN = "another program"

# Earlier versions did not tell the job: the first one here of which the settings have all these names is the owner.
_EARLIER: Mapping[str, frozenset[str]] = {
    "train-follower": frozenset({"follower", "oracle"}),
    "train-guess": frozenset({"who", "rate_every"}),
    "train-alphaze": frozenset({"who", "epochs"}),
    "train-expert": frozenset({"who", "rounds"}),
    "train-q": frozenset({"who", "samples"}),
    "write-data-sets": frozenset({"data_sets", "samples"}),
    "stratego-bot": frozenset({"players", "setups"}),
    "match": frozenset({"planner", "opponent", "games"}),
    "tournament": frozenset({"agents", "games"}),
}


def check_owner(config: Any, folder: Path) -> None:
    """Checks that no other job has left a result or settings in a folder: they would be lost, or taken for those of this job.

    All processes must call; the first one looks.

    Args:
      config: a dataclass whose `JOB` names the job.
      folder: where it is about to write; it need not exist.

    Raises:
      ValueError: they are of another job, or of none.
    """

    def check() -> None:
        for name in (RESULT, SETTINGS) if processes.leads() else ():
            if other := other_owner(config, folder / name):
                told = f"holds the {name} of {other}; give another folder, or move away what lies there"
                raise ValueError(f"output={str(folder)!r}: {told}")

    processes.agree(check)


def other_owner(config: Any, path: Path) -> str:
    """Gives the job that has written a result or settings, in words; "": this job, or there is nothing that could be lost.

    Args:
      config: of this job.
      path: of the file, which may be missing, torn or empty.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError, RecursionError):
        return ""
    if not isinstance(found, dict) or not found:
        return ""
    settings = found if path.name == SETTINGS else found.get("settings")
    if job := found.get(JOB):
        owner = str(job)
    elif isinstance(settings, dict):
        owner = _of_earlier_version(config, settings)
    else:
        owner = config.JOB if "settings" in found else _UNKNOWN
    return "" if owner == config.JOB else owner


def _of_earlier_version(config: Any, settings: Mapping[str, Any]) -> str:
    """Gives the job that has such settings; what no job is known by is of this one if it has all of them."""
    names = set(settings)
    for job, needed in _EARLIER.items():
        if needed <= names:
            return job
    return str(config.JOB) if names <= {field.name for field in dataclasses.fields(config)} else _UNKNOWN
