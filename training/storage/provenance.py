"""On what, and with which code, something was measured."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
import platform
import re
import subprocess
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import jax

import jaxgames

CHECKOUT = Path(__file__).resolve().parents[2]
# Without docs/results/weights: results depend on what others have learnt before.
MADE_BY_MEASURING = (
    "benchmarks",
    "docs/results/data",
    "docs/results/*.md",
    "docs/results/*.svg",
    "docs/accelerators.md",
    "docs/benchmarks.md",
    "README.md",
)


def describe(device: jax.Device) -> dict[str, Any]:
    """Gives the part of a row that tells of the machine and the code: device, platform, versions, commit."""
    return _described(device.device_kind, device.platform)


def describe_cpu() -> dict[str, Any]:
    """Gives what `describe` does of the processor, for a process that must not start a backend as it has forks."""
    return _described("", "cpu")


def _described(device_kind: str, platform_name: str) -> dict[str, Any]:
    return {
        "device": cpu_name() if platform_name == "cpu" else device_kind,
        "platform": platform_name,
        "versions": {
            "python": platform.python_version(),
            **{package: metadata.version(package) for package in ("jax", "jaxlib")},
            "jaxgames": jaxgames.__version__,  # metadata are there only where it is installed
        },
        "commit": commit(),
    }


def cpu_name() -> str:
    """Gives the name of the processor's model; its kind where that is not known.

    A name such as "AMD EPYC" is that of several generations, and games run at half the speed where registers are half as wide:
    an x86 without AVX-512 is told apart.
    """
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, flags=re.MULTILINE)
    name = " ".join(found[1].split()) if found else platform.processor() or platform.machine()
    flags = re.search(r"^flags\s*:(.+)$", text, flags=re.MULTILINE)
    return f"{name}, no AVX-512" if flags and "avx512f" not in flags[1].split() else name


def slug(device: str) -> str:
    """Turns the name of a device into the name of a file: "AMD EPYC 7B13" into "amd-epyc-7b13"."""
    plain = re.sub(r"\((r|tm|c)\)", " ", device.lower())
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-") or "unknown"


def commit(folder: Path = CHECKOUT) -> str | None:
    """Names the code: as `git describe`, with "+changes" where files differ from it.

    Args:
      folder: the checkout. Files that measurements write (speeds, results, their pages) do not count as changes.

    Returns:
      Such as "v0.1.0-12-gb100b06+changes"; None where this is no checkout.
    """
    if not (folder / ".git").exists():
        return None
    name = _git(folder, "describe", "--tags", "--always")
    changes = _git(folder, "status", "--porcelain", "--", ".", *(f":(exclude){path}" for path in MADE_BY_MEASURING))
    if not name or changes is None:
        return None
    return name + ("+changes" if changes else "")


def _git(folder: Path, *arguments: str) -> str | None:
    """Asks git. Returns what it prints; None where it fails or is missing."""
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"}, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


_HASHED = ("*.py", "*.npz", "*.json")


@functools.cache
def source_hash(sources: tuple[str, ...], root: Path = CHECKOUT) -> str:
    """Gives 16 hexadecimal digits that change with code in some folders of a checkout, and with weights and tables beside it.

    Tables are those that rules read, such as `jaxgames/clash/data/cards.json`.

    Args:
      sources: folders with all that is in them, or patterns such as "jaxgames/*.py".
      root: the checkout.
    """
    found = {path for source in sources if "*" in source for path in root.glob(source)}
    found |= {path for source in sources if "*" not in source for kind in _HASHED for path in (root / source).rglob(kind)}
    digest = hashlib.sha256()
    for path in sorted(found):
        digest.update(f"{path.relative_to(root)}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def as_read(config: Any) -> dict[str, Any]:
    """Gives a config, a dataclass, as it would be read from a file of settings: lists in place of tuples."""
    settings: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(config)))
    return settings


def flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Gives nested dictionaries as one, with names such as "learn.lanes"."""
    result: dict[str, Any] = {}
    for name, value in tree.items():
        result |= flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {prefix + name: value}
    return result
