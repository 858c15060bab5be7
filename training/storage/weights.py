"""One small file of trained parameters, to be shared and put under version control."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from training.storage.arrays import as_npz
from training.storage.files import write_atomically
from training.storage.leaves import describe, first_difference, from_host, named_leaves

DESCRIPTION = "description"  # the array of JSON beside the parameters
PARAMS = "params/"  # before the path of each parameter
KIND = "jaxgames weights"


def save_weights(path: str | os.PathLike[str], params: Any, meta: Mapping[str, Any], *, half: bool = False) -> None:
    """Writes parameters and what they are into one file, at once: an ordinary `.npz`, one array per parameter.

    Args:
      path: the file; its folder is made where it is missing.
      params: any tree of floating-point arrays; stored as float32.
      meta: what they are, such as {"game": "pommerman", "network": "paper"}: anything that JSON holds.
      half: store float16, half as large: 3 digits remain.

    Raises:
      ValueError: a parameter is not of floating point, or too large for float16.
      OSError: the file cannot be written; what it held before stays.
    """
    description = json.dumps({"kind": KIND, "meta": dict(meta)})
    arrays: dict[str, Any] = {DESCRIPTION: np.frombuffer(description.encode(), np.uint8)}
    arrays |= {PARAMS + name: _as_stored(name, leaf, half) for name, leaf in named_leaves(params).items()}
    write_atomically(path, as_npz(arrays))


def weights_file(path: str | os.PathLike[str]) -> Path:
    """Gives the weights that a path means: a file, or the best of the training run in a folder.

    Raises:
      ValueError: it is a folder without weights.
    """
    path = Path(path)
    if not path.is_dir():
        return path
    best = path / "best.npz"
    if not best.exists():
        raise ValueError(
            f"weights={str(path)!r}: holds no best.npz; a training run writes it when it first rates what it has learnt"
        )
    return best


def content_of(path: Path) -> bytes:
    """Gives the bytes of a weights file.

    Raises:
      OSError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise OSError(
            f"weights {path}: cannot be read ({error.strerror}): give a file of trained weights, or the folder of a training run"
        ) from error


def load_weights(
    path: str | os.PathLike[str], template: Any = None, expect: Mapping[str, Any] | None = None
) -> tuple[Any, dict[str, Any]]:
    """Reads what `save_weights` has written.

    Args:
      path: the file.
      template: a tree like the one saved, of arrays or `jax.ShapeDtypeStruct`, whose types and devices the result takes; None:
        nested dictionaries of numpy float32.
      expect: fields that `meta` must have, with their values.

    Returns:
      The parameters and `meta`.

    Raises:
      ValueError: the file is foreign or torn, describes something else, holds other parameters than the template, or some that
        are no numbers.
      OSError: the file cannot be read.
    """
    stored, meta = _read(Path(path))
    for field, wanted in (expect or {}).items():
        if field not in meta or meta[field] != wanted:
            found = repr(meta[field]) if field in meta else "missing"
            raise ValueError(f"weights {path}: {field} is {found} there and {wanted!r} is expected: give weights of that {field}")
    if template is None:
        return _nested(stored), meta
    like = named_leaves(template)
    if difference := first_difference(describe(stored), describe(like), dtypes=False):
        raise ValueError(f"weights {path}: {difference}: give weights of this network")
    leaves = [from_host(stored[name].astype(leaf.dtype), leaf) for name, leaf in like.items()]
    return jax.tree.unflatten(jax.tree.structure(template), leaves), meta


def _as_stored(name: str, leaf: Any, half: bool) -> np.ndarray:
    """Gives a parameter the type in which it is stored."""
    if not jnp.issubdtype(leaf.dtype, jnp.floating):
        raise ValueError(f"leaf {name} is {leaf.dtype}: parameters must be of floating point")
    values = np.asarray(leaf).astype(np.float32)
    if not half:
        return values
    with np.errstate(over="ignore"):
        halved = values.astype(np.float16)
    if (np.isinf(halved) & np.isfinite(values)).any():
        raise ValueError(f"leaf {name}: has values of up to {np.abs(values).max():.3g}, too large for float16: store float32")
    return halved


def _read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Reads the parameters by path, as float32, and `meta`."""
    content = content_of(path)
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        description = json.loads(arrays.pop(DESCRIPTION).tobytes())
        meta = description["meta"]
        known = description["kind"] == KIND and isinstance(meta, dict)
    except Exception as error:  # the file is in memory: whatever the parsers complain of is in it
        raise ValueError(f"weights {path}: is damaged or another kind of file: give a file of trained weights") from error
    if not known:
        raise ValueError(f"weights {path}: is another kind of file: give a file of trained weights")
    stored = {name.removeprefix(PARAMS): array.astype(np.float32) for name, array in arrays.items()}
    for name, array in stored.items():
        if lost := array.size - np.count_nonzero(np.isfinite(array)):
            raise ValueError(
                f"weights {path}: leaf {name}: {lost} of {array.size} values are NaN or infinite, so no move would come of them: "
                "give weights of a training that did not diverge"
            )
    return stored, meta


def _nested(leaves: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Makes nested dictionaries of paths with slashes."""
    tree: dict[str, Any] = {}
    for path, leaf in leaves.items():
        *folders, name = path.split("/")
        branch = tree
        for folder in folders:
            branch = branch.setdefault(folder, {})
        branch[name] = leaf
    return tree
