"""What training jobs share: settings that must stay the same when a run goes on, and metrics as plain numbers."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import jax
from jax.sharding import Mesh

from jaxgames import runtime
from training.files import write_atomically

FREE = frozenset({"output", "resume", "keep", "checkpoint_every"})  # settings that may change when a run goes on


def write_settings(config: Any, path: Path) -> None:
    """Writes a config (a dataclass) as JSON."""
    write_atomically(path, json.dumps(dataclasses.asdict(config), indent=2) + "\n")


def check_settings(config: Any, path: Path, free: Collection[str] = FREE) -> None:
    """Compares a config with the one that a run was begun with.

    Args:
      config: a dataclass.
      path: what `write_settings` has written; nothing is compared if it is not there.
      free: fields that may differ.

    Raises:
      ValueError: another field differs, or the file is no config.
    """
    if not path.exists():
        return
    try:
        before = flat(json.loads(path.read_text()))
    except (ValueError, AttributeError) as error:
        raise ValueError(f"{path}: no settings ({error}); remove it to go on with the settings given") from None
    for name, value in flat(json.loads(json.dumps(dataclasses.asdict(config)))).items():
        found = before.get(name)
        if name not in free and found != value:
            raise ValueError(f"{name}={value!r}: the run in {path.parent} has {found!r}; give that, or choose another output")


def plain(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Gives arrays of metrics as Python's numbers and lists."""
    return {name: value.tolist() for name, value in jax.device_get(dict(metrics)).items()}


def mesh_for(*numbers: int) -> Mesh:
    """Makes a mesh of as many devices as there are and as divide all the numbers."""
    count = next(n for n in range(jax.device_count(), 0, -1) if all(number % n == 0 for number in numbers))
    return runtime.data_mesh(count)


def copy(params: Any) -> Any:
    """Copies parameters: a learner's own are given away with its next call."""
    return jax.tree.map(lambda leaf: leaf.copy(), params)


def flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Gives nested dictionaries as one, with names such as "learn.lanes"."""
    result: dict[str, Any] = {}
    for name, value in tree.items():
        result |= flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {prefix + name: value}
    return result
