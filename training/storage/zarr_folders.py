"""Folders of arrays in the zarr format, written at once (version 2) and checked when opened (2 or 3).

zarr comes with the extra `zarr`.
"""

from __future__ import annotations

import itertools
import math
import re
import shutil
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from training.storage.files import sync

CHUNK = 1000  # rows of each file
SUFFIX = ".zr"  # of data sets, as PommerLearn calls them
_MARKS = (".zgroup", "zarr.json")  # one of them is in each
_UNFINISHED = re.compile(rf"\..+{re.escape(SUFFIX)}\.[0-9a-f]{{32}}")
_COMPLETE = "AllFilesWritten"  # an attribute: a file that is missing was lost


class Form(NamedTuple):
    """What an array must be.

    Attributes:
      dtype: of its entries.
      shape: but for the number of rows.
      may_be_sparse: files that would hold nothing but the fill value may have been left out, as z5 and zarr's own default do; not
        where `write` has written the folder. Else a file that is missing is one that was lost.
    """

    dtype: str
    shape: tuple[int, ...] = ()
    may_be_sparse: bool = False


def inside(folder: Path) -> list[Path]:
    """Gives the data sets in a folder, in order of their numbers: data_9.zr before data_10.zr."""
    return sorted(folder.glob(f"*{SUFFIX}"), key=lambda each: (len(each.name), each.name))


def is_group(folder: Path) -> bool:
    """Says whether a folder is one of zarr, whatever it is called."""
    return any((folder / mark).exists() for mark in _MARKS)


def check_installed() -> None:
    """Raises a ValueError where zarr is not installed."""
    _zarr()


def _zarr() -> Any:
    try:
        import zarr
    except ImportError:
        raise ValueError("zarr is not installed, and data sets need it: pip install '.[zarr]' in a checkout") from None
    return zarr


def write(
    folder: Path,
    forms: Mapping[str, Form],
    rows: int,
    read: Callable[[int, int], Mapping[str, np.ndarray]],
    attributes: Mapping[str, Any],
) -> None:
    """Writes arrays into a folder, which appears when all of it is there and on the disk.

    Args:
      folder: is not there yet.
      forms: of the arrays by name.
      rows: how many each has.
      read: `read(start, stop)` gives the rows of all arrays.
      attributes: what JSON can hold.

    Raises:
      ValueError: zarr is not installed.
      OSError: the folder cannot be written; nothing is left behind.
    """
    zarr = _zarr()
    import numcodecs

    packed = numcodecs.Blosc(cname="lz4", clevel=5, shuffle=numcodecs.Blosc.SHUFFLE)
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")  # as `remove_unfinished` looks for
    try:
        group = zarr.open_group(temporary, mode="w-", zarr_format=2)
        arrays = {
            name: group.create_array(
                name,
                shape=(rows, *form.shape),
                chunks=(CHUNK, *form.shape),
                dtype=form.dtype,
                compressors=packed,
                fill_value=0,
                config={"write_empty_chunks": True},
            )
            for name, form in forms.items()
        }
        for start in range(0, rows, CHUNK):
            stop = min(start + CHUNK, rows)
            for name, values in read(start, stop).items():
                arrays[name][start:stop] = values
        group.attrs.update({**attributes, _COMPLETE: True})
        for path in (*temporary.rglob("*"), temporary):
            sync(path)
        temporary.rename(folder)
        sync(folder.parent)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def remove_unfinished(folder: Path) -> None:
    """Removes what `write` has left in a folder where the process was killed; nobody else may be writing there."""
    for path in folder.glob(".*"):
        if _UNFINISHED.fullmatch(path.name):
            shutil.rmtree(path, ignore_errors=True)


class Folder:
    """Arrays that were opened, of which all that is needed is there.

    Attributes:
      path: as given.
      attributes: as written.
      lengths: rows by array.
    """

    def __init__(self, path: Path, forms: Mapping[str, Form]) -> None:
        """Opens a folder.

        Args:
          path: where.
          forms: of the arrays it must have; others do not matter.

        Raises:
          ValueError: zarr is not installed, or it is no such folder: names what is wrong.
        """
        zarr = _zarr()
        self.path, self._forms = path, forms
        if not path.is_dir():
            raise self.error("there is no such folder")
        try:
            group = zarr.open_group(path, mode="r")
            self.attributes = dict(group.attrs)
            self._arrays = {name: group[name] for name in forms if name in group}
        except Exception as error:  # whatever the library finds wrong with the files
            raise self.error(f"is no zarr group ({_first_line(error)})") from error
        for name, form in forms.items():
            self._check_form(name, form)
        self.lengths = {name: int(array.shape[0]) for name, array in self._arrays.items()}
        if len(set(self.lengths.values())) > 1:
            told = ", ".join(f"{name} {length}" for name, length in self.lengths.items())
            raise self.error(f"arrays have different numbers of rows: {told}")

    def error(self, told: str) -> ValueError:
        """Makes an error that names the folder."""
        return ValueError(f"data set {self.path}: {told}")

    def _check_form(self, name: str, form: Form) -> None:
        array = self._arrays.get(name)
        if array is None:
            raise self.error(f"the array {name} is missing")
        shape, dtype = getattr(array, "shape", ()), getattr(array, "dtype", None)
        if shape[1:] != form.shape or not shape or dtype != np.dtype(form.dtype):
            wanted = ", ".join(["rows", *map(str, form.shape)])
            raise self.error(f"{name} is {dtype} of shape {tuple(shape)}: must be {form.dtype} of shape ({wanted})")
        if min(array.chunks) < 1:
            raise self.error(f"{name} has chunks={list(array.chunks)}: must be >= 1 each")

    def check_chunks(self, rows: int) -> None:
        """Raises a ValueError where a file of the first rows is missing that must be there, or something else has its name."""
        for name, array in self._arrays.items():
            may_be_missing = self._forms[name].may_be_sparse and not self.attributes.get(_COMPLETE)
            parts = array.shards or array.chunks  # what a file holds: in version 3 it may be many chunks
            others = (range(math.ceil(size / part)) for size, part in zip(array.shape[1:], parts[1:], strict=True))
            beside = list(itertools.product(*others))
            # Rows are counted one by one: damaged files may tell of more than a list could hold, and the first is missing.
            for first in range(-(-rows // parts[0])):
                for rest in beside:
                    key = array.metadata.encode_chunk_key((first, *rest))
                    path = self.path / name / key
                    if not (path.is_file() or (may_be_missing and not path.exists())):
                        raise self.error(f"is torn: {name}/{key} is {'no file' if path.exists() else 'missing'}")

    def read(self, start: int, stop: int) -> dict[str, np.ndarray]:
        """Gives rows of all arrays.

        Raises:
          ValueError: a file is damaged.
        """
        found = {}
        for name, array in self._arrays.items():
            try:
                found[name] = np.asarray(array[start:stop])
            except Exception as error:  # of the codec, which tells its own errors for torn files
                raise self.error(f"is torn: {name}, rows {start} to {stop - 1} ({_first_line(error)})") from error
        return found


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:120]
