"""Checkpoints of a whole training run, which survive whatever stops the run."""

from __future__ import annotations

import errno
import functools
import json
import math
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp

from jaxgames import processes
from training.storage import parts
from training.storage.files import check_shared, sync
from training.storage.leaves import (
    Leaf,
    describe,
    first_difference,
    from_host,
    host_shape,
    is_key,
    named_leaves,
    own_place,
    to_host,
)
from training.storage.record import (
    FORMAT,
    DamagedError,
    crc32,
    crc32_of,
    error_number,
    read_record,
    reading,
    write_record,
)

Meta = Mapping[str, str | int | float]

ARRAYS = "arrays"  # a folder of orbax
PARTS = "parts-{}.npz"  # in its place where several processes have written: one file of each
UNFINISHED = "unfinished-"  # before the name while it is written or removed
DAMAGED = "damaged-"
_FULL = (errno.ENOSPC, errno.EDQUOT)


def steps_in(folder: Path) -> list[int]:
    """Gives the steps of which there is a checkpoint in a folder, whole or damaged, in rising order; none where none is there."""
    found = folder.iterdir() if folder.is_dir() else ()
    return sorted(int(path.name) for path in found if re.fullmatch(r"0|[1-9][0-9]*", path.name))


class Checkpoints:
    """The checkpoints in one folder, each of them a tree of arrays at some step of training.

    A checkpoint is a folder that is written under another name and renamed when all of it is on the disk: it is whole or not
    there. Its record holds a checksum of itself and of every file, so that one which a failing disk has damaged is found out
    before anything is made of it, and the one before takes its place.

    Several processes save and restore together, in a folder that all of them see: each writes what its devices hold, and the
    first makes it one checkpoint when all is there. Another number of processes can restore it.

    Saving blocks, for about a second per 200 MB: when it returns, the checkpoint is there, and a failure is told at once.
    """

    def __init__(self, folder: str | os.PathLike[str], meta: Meta, *, keep: int = 2) -> None:
        """Opens the folder, makes it where it is missing, and removes what a killed run has left half-written.

        Args:
          folder: where the checkpoints are; of one run at a time.
          meta: what they are checkpoints of, such as {"kind": "follower", "game": "pommerman"}: stored with each of them, and
            compared when one is restored.
          keep: how many to keep, the newest; with one alone there is nothing to fall back on.

        Raises:
          OSError: the folder cannot be made or written, or is another one for some process.
          ValueError: `keep` is less than one.
        """
        if keep < 1:
            raise ValueError(f"keep={keep}: must be >= 1")
        self._folder, self._keep = Path(folder).absolute(), keep
        self._meta = dict(meta)
        self._current: int | None = None  # the step that this run has saved or restored last
        processes.agree(self._prepare)
        check_shared(self._folder)
        self._arrays = ocp.PyTreeCheckpointer()  # it compresses: tables and buffers are mostly empty

    def _prepare(self) -> None:
        """Makes the folder, writes in it, and clears it of what is unfinished."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._folder):
                pass
        except OSError as error:
            raise OSError(
                f"{self._folder}: cannot write checkpoints there ({error.strerror}); choose another output folder"
            ) from error
        self._remove(UNFINISHED)

    def __enter__(self) -> Checkpoints:
        return self

    def __exit__(self, *_: object) -> None:
        self._arrays.close()

    def steps(self) -> list[int]:
        """Returns the steps of which there is a checkpoint, whole or damaged, in rising order."""
        return steps_in(self._folder)

    def save(self, step: int, tree: Any) -> None:
        """Saves a tree; when this returns, the checkpoint is whole. Does nothing if this step was the last saved or restored.

        Args:
          step: larger than that of every checkpoint in the folder.
          tree: arrays of any shape and type, typed keys included, sharded over devices of this process or not.

        Raises:
          OSError: the disk is full or cannot be written; nothing of this checkpoint is left, the earlier ones are as they were.
          ValueError: the folder has a checkpoint of the same or a later step, of another run; or a leaf is no array.
        """
        if step == self._current:
            return
        leaves = named_leaves(tree)
        folder = self._folder / f"{UNFINISHED}{step}"
        processes.on_first(lambda: self._make_room(step))
        try:
            if processes.count() == 1:
                self._reported(step, lambda: self._write(folder, leaves))
            else:
                self._write_parts(step, folder, leaves)
            processes.on_first(lambda: self._reported(step, lambda: self._publish(step, folder)))
        except Exception as error:
            in_all = processes.count() == 1 or isinstance(error, (OSError, ValueError))  # so that none is writing any more
            if in_all and processes.leads():
                self._remove(UNFINISHED)
            raise
        self._current = step

    def _make_room(self, step: int) -> None:
        """Checks that a step may be saved, and removes what is of no use."""
        if later := [other for other in self.steps() if other >= step]:
            raise ValueError(
                f"{self._folder}: has a checkpoint of step {later[-1]}, so step {step} cannot be saved; go on with --resume, or "
                "choose another output folder"
            )
        self._remove(UNFINISHED)
        self._remove(DAMAGED)

    def _publish(self, step: int, folder: Path) -> None:
        """Gives a checkpoint that is all on the disk its name, and removes the oldest."""
        folder.rename(self._folder / str(step))
        sync(self._folder)
        for old in self.steps()[: -self._keep]:
            self._put_aside(old, UNFINISHED)
        self._remove(UNFINISHED)

    def _reported(self, step: int, do: Callable[[], None]) -> None:
        """Does a part of saving; where the disk fails, the error says so."""
        try:
            do()
        except Exception as error:
            number = error_number(error)
            if number is None:
                raise
            help_it = "free some space" if number in _FULL else "make it writable"
            raise OSError(
                f"{self._folder}: step {step} could not be saved ({os.strerror(number)}); the earlier checkpoints are whole: "
                f"{help_it}, then go on with --resume"
            ) from error

    def restore(self, template: Any, *, free: Callable[[str], bool] = lambda path: False) -> tuple[int, Any] | None:
        """Restores the newest whole checkpoint.

        Damaged ones that are newer give a warning each and are put aside as `damaged-STEP`, until the next one is saved.

        Args:
          template: a tree like the one saved, of arrays (which may have been donated) or `jax.ShapeDtypeStruct`; the arrays
            that are made are of the same kind and on the same devices.
          free: says of which leaves, by their path, the shape may differ. If one does, all of these are given as numpy, as saved.

        Returns:
          The step and the tree, equal bit for bit to what was saved; None where the folder has no checkpoint.

        Raises:
          ValueError: the checkpoint is of something else than `meta` says, or of a tree unlike the template; or there are
            checkpoints and none of them is whole. Nothing is changed then.
          OSError: a file cannot be read at the moment, as with too many open files; it may be whole, so nothing is changed.
        """
        like = named_leaves(template)
        damaged: dict[int, str] = {}
        for step in reversed(processes.on_first(self.steps)):  # a network disk may show another list elsewhere
            try:
                record = self._record_of(step)
                changed = self._check(step, record, describe(like), free)
                leaves = self._read_together(step, record, like, free if changed else lambda path: False)
            except DamagedError as error:
                damaged[step] = str(error)
                continue
            for other, reason in damaged.items():
                path = self._folder / str(other)
                warnings.warn(f"checkpoint {path} is damaged ({reason}): going on from step {step}", stacklevel=2)
                processes.on_first(functools.partial(self._put_aside, other, DAMAGED))
            self._current = step
            return step, jax.tree.unflatten(jax.tree.structure(template), leaves)
        if damaged:
            step, reason = next(iter(damaged.items()))
            raise ValueError(
                f"{self._folder}: all {len(damaged)} checkpoints are damaged (step {step}: {reason}); start again in another "
                "output folder"
            )
        return None

    def _write(self, folder: Path, leaves: Mapping[str, Any]) -> None:
        """Writes arrays and record; when this returns, all of it is on the disk."""
        values = {path: to_host(leaf) for path, leaf in leaves.items()}
        arrays = {str(number): array for number, array in enumerate(values.values()) if array.size}  # orbax refuses empty ones
        folder.mkdir()
        _find_room(folder, sum(array.nbytes + 4096 for array in arrays.values()) + 2**20)
        self._arrays.save(folder / ARRAYS, ocp.args.PyTreeSave(arrays))
        paths = [folder / ARRAYS, *sorted((folder / ARRAYS).rglob("*"))]
        record = {
            "format": FORMAT,
            "meta": self._meta,
            "leaves": [
                {"path": leaf.path, "shape": leaf.shape, "dtype": leaf.dtype, "crc32": crc32(values[leaf.path])}
                for leaf in describe(leaves)
            ],
            "files": {str(path.relative_to(folder)): crc32_of(path) for path in paths if path.is_file()},
        }
        self._write_record(folder, record, paths)

    def _write_record(self, folder: Path, record: dict[str, Any], paths: list[Path]) -> None:
        write_record(folder, record)
        for path in [*paths, folder]:
            sync(path)

    def _write_parts(self, step: int, folder: Path, leaves: Mapping[str, Any]) -> None:
        """Writes what `_write` does, each process its part of it."""
        own = folder / PARTS.format(processes.index())
        told = ""

        def write() -> None:
            nonlocal told
            written = parts.write(own, parts.own_parts(leaves))
            told = json.dumps({"name": own.name, "crc32": crc32_of(own), "parts": written})

        processes.on_first(lambda: self._reported(step, folder.mkdir))
        processes.agree(lambda: self._reported(step, write))
        found = [json.loads(text) for text in processes.texts(told)]
        record = {
            "format": FORMAT,
            "meta": self._meta,
            "leaves": [{"path": leaf.path, "shape": leaf.shape, "dtype": leaf.dtype} for leaf in describe(leaves)],
            "files": {one["name"]: one["crc32"] for one in found},
            "parts": {one["name"]: one["parts"] for one in found},
        }
        processes.on_first(lambda: self._reported(step, lambda: self._write_record(folder, record, [])))

    def _record_of(self, step: int) -> dict[str, Any]:
        """Reads a record and compares checksums, in the first process for all.

        Raises:
          DamagedError, OSError: as `read_record`.
        """

        def read() -> list[Any]:
            try:
                return [read_record(self._folder / str(step)), ""]
            except DamagedError as error:
                return [None, str(error)]

        record, damage = processes.on_first(read)
        if record is None:
            raise DamagedError(damage)
        return dict(record)

    def _check(self, step: int, record: dict[str, Any], expected: list[Leaf], free: Callable[[str], bool]) -> bool:
        """Raises a ValueError for a checkpoint of something else; says whether leaves differ that may."""
        path, saved = self._folder / str(step), record["meta"]
        if record["format"] != FORMAT:
            raise ValueError(
                f"checkpoint {path}: format {record['format']} there, {FORMAT} here: resume with the version of this project "
                "that wrote it"
            )
        for field in [*self._meta, *saved]:
            there, here = (repr(meta[field]) if field in meta else "nothing" for meta in (saved, self._meta))
            if there != here:
                raise ValueError(
                    f"checkpoint {path}: {field} is {there} there and {here} here; resume with the settings it was made with, or "
                    "choose another output folder"
                )
        leaves = [Leaf(leaf["path"], tuple(leaf["shape"]), leaf["dtype"]) for leaf in record["leaves"]]
        fixed, bound = ([leaf for leaf in some if not free(leaf.path)] for some in (leaves, expected))
        if difference := first_difference(fixed, bound) or (
            {leaf.path for leaf in leaves} != {leaf.path for leaf in expected} and first_difference(leaves, expected)
        ):
            raise ValueError(
                f"checkpoint {path}: {difference}; resume with the settings and the version of this project it was made with, "
                "or choose another output folder"
            )

        return first_difference(leaves, expected) is not None

    def _read_together(self, *arguments: Any) -> list[Any]:
        """Does what `_read_arrays` does; what is damaged for one process is for all."""

        def read() -> tuple[list[Any], str]:
            try:
                return self._read_arrays(*arguments), ""
            except DamagedError as error:
                return [], str(error)

        leaves, damage = processes.agree(read)
        if found := [text for text in processes.texts(damage) if text]:
            raise DamagedError(found[0])
        return leaves

    def _read_arrays(self, step: int, record: dict[str, Any], like: dict[str, Any], free: Callable[[str], bool]) -> list[Any]:
        """Reads the arrays, in the order of the template; those that are free stay as they are read."""
        saved = {leaf["path"]: jax.ShapeDtypeStruct(tuple(leaf["shape"]), like[leaf["path"]].dtype) for leaf in record["leaves"]}
        shapes = [host_shape(saved[leaf["path"]]) for leaf in record["leaves"]]
        if "parts" in record:
            pieces = {}
            for path, leaf in saved.items():
                place = own_place(leaf if free(path) else like[path])
                pieces[path] = parts.Piece.empty(place, host_shape(leaf)[len(leaf.shape) :], _host_dtype(leaf))
            parts.read(self._folder / str(step), record["parts"], pieces)
            return [
                pieces[path].values if free(path) else from_host(pieces[path].values, leaf, pieces[path].start)
                for path, leaf in like.items()
            ]
        names = [str(number) for number, shape in enumerate(shapes) if math.prod(shape)]
        as_numpy = {name: ocp.RestoreArgs(restore_type=np.ndarray) for name in names}
        with reading(self._folder / str(step), ARRAYS):
            read = self._arrays.restore(self._folder / str(step) / ARRAYS, ocp.args.PyTreeRestore(restore_args=as_numpy))
        values = {}
        for number, (leaf, shape) in enumerate(zip(record["leaves"], shapes, strict=True)):
            path = leaf["path"]
            values[path] = read[str(number)] if str(number) in names else np.empty(shape, _host_dtype(like[path]))
            if crc32(values[path]) != leaf["crc32"]:
                raise DamagedError(f"leaf {path} has another checksum")
        return [values[path] if free(path) else from_host(values[path], leaf) for path, leaf in like.items()]

    def _put_aside(self, step: int, prefix: str) -> None:
        """Renames a checkpoint, so that it counts no more."""
        aside = self._folder / f"{prefix}{step}"
        shutil.rmtree(aside, ignore_errors=True)
        (self._folder / str(step)).rename(aside)

    def _remove(self, prefix: str) -> None:
        for path in self._folder.glob(f"{prefix}*"):
            shutil.rmtree(path, ignore_errors=True)


def _host_dtype(leaf: Any) -> np.dtype:
    return np.dtype(np.uint32) if is_key(leaf) else np.dtype(leaf.dtype)


def _find_room(folder: Path, size: int) -> None:
    """Raises an OSError where the disk has no room for so many bytes: orbax would fail half-way, with pages of traces."""
    if not hasattr(os, "posix_fallocate"):  # macOS
        return
    room = folder / "room"
    with room.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, size)
    room.unlink()
