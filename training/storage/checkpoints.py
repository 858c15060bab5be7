"""Checkpoints of a whole training run, which survive whatever stops the run."""

from __future__ import annotations

import contextlib
import errno
import logging
import math
import os
import re
import shutil
import sys
import tempfile
import time
import warnings
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp

from training.storage.leaves import Leaf, describe, first_difference, from_host, host_shape, is_key, named_leaves, to_host

Meta = Mapping[str, str | int | float]

FORMAT = 1  # of what stands beside the arrays; a change makes older checkpoints unreadable
UNFINISHED = ".orbax-checkpoint-tmp"  # orbax writes here, and renames when all is written
DAMAGED = "damaged-"
SECONDS_TO_END = 0.2  # for reads and writes that are under way when one of them fails


class Checkpoints:
    """The checkpoints in one folder, each of them a tree of arrays at some step of training.

    A checkpoint counts once it is whole: it is written beside the others and then renamed. Its arrays carry checksums, so that
    one which a failing disk or a crash of the machine has damaged is found out, and the one before takes its place.

    Saving blocks, for less than a second per 200 MB: when it returns, the checkpoint is there, and a failure is told at once.
    """

    def __init__(self, folder: str | os.PathLike[str], meta: Meta, *, keep: int = 2) -> None:
        """Opens the folder, makes it where it is missing, and removes what a killed run has left half-written.

        Args:
          folder: where the checkpoints are; of one run at a time.
          meta: what they are checkpoints of, such as {"kind": "follower", "game": "pommerman"}: stored with each of them, and
            compared when one is restored.
          keep: how many to keep, the newest; with one alone there is nothing to fall back on.

        Raises:
          OSError: the folder cannot be made or written.
          ValueError: `keep` is less than one.
        """
        if keep < 1:
            raise ValueError(f"keep={keep}: must be >= 1")
        self._folder = Path(folder).absolute()
        self._meta = dict(meta)
        self._current: int | None = None  # the step that this run has saved or restored last
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._folder):
                pass
        except OSError as error:
            raise OSError(
                f"{self._folder}: cannot write checkpoints there ({error.strerror}); choose another output folder"
            ) from error
        self._remove_unfinished()
        # No compression: it halves the speed, and what is large (network, buffer of bits, tables) hardly shrinks. One OCDBT
        # database for all arrays: a file per array, hundreds of them, is slower as soon as the disk is busy.
        arrays = ocp.PyTreeCheckpointHandler(use_ocdbt=True, use_compression=False)
        with _quiet_orbax():
            self._manager = ocp.CheckpointManager(
                self._folder,
                options=ocp.CheckpointManagerOptions(max_to_keep=keep, enable_async_checkpointing=False),
                item_handlers={"arrays": arrays, "record": ocp.JsonCheckpointHandler()},
            )

    def __enter__(self) -> Checkpoints:
        return self

    def __exit__(self, *_: object) -> None:
        self._manager.close()

    def steps(self) -> list[int]:
        """Returns the steps of which there is a checkpoint, whole or damaged, in rising order."""
        return sorted(self._manager.all_steps())

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
        if later := [other for other in self.steps() if other >= step]:
            raise ValueError(
                f"{self._folder}: has a checkpoint of step {later[-1]}, so step {step} cannot be saved; go on with --resume, or "
                "choose another output folder"
            )
        leaves = named_leaves(tree)
        values = {path: to_host(leaf) for path, leaf in leaves.items()}
        record = {
            "format": FORMAT,
            "meta": self._meta,
            "leaves": [
                {"path": leaf.path, "shape": leaf.shape, "dtype": leaf.dtype, "crc32": _crc32(values[leaf.path])}
                for leaf in describe(leaves)
            ],
        }
        arrays = {str(number): array for number, array in enumerate(values.values()) if array.size}  # orbax refuses empty ones
        self._remove_unfinished()
        self._remove_damaged()
        self._check_space(step, sum(array.nbytes for array in arrays.values()))
        contents = ocp.args.Composite(arrays=ocp.args.PyTreeSave(arrays), record=ocp.args.JsonSave(record))
        try:
            with _quiet_orbax():
                self._manager.save(step, args=contents, force=True)  # else orbax decides by itself whether to save
        except Exception as error:
            self._remove_unfinished()
            reason = _failure_of_disk(error)
            if reason is None:
                raise
            raise self._not_saved(step, reason) from error
        self._current = step

    def restore(self, template: Any) -> tuple[int, Any] | None:
        """Restores the newest whole checkpoint.

        Damaged ones that are newer give a warning each and are put aside as `damaged-STEP`, until the next one is saved.

        Args:
          template: a tree like the one saved, of arrays (which may have been donated) or `jax.ShapeDtypeStruct`; the arrays
            that are made are of the same kind and on the same devices.

        Returns:
          The step and the tree, equal bit for bit to what was saved; None where the folder has no checkpoint.

        Raises:
          ValueError: the checkpoint is of something else than `meta` says, or of a tree unlike the template; or there are
            checkpoints and none of them is whole. Nothing is changed then.
        """
        like = named_leaves(template)
        damaged: dict[int, str] = {}
        for step in reversed(self.steps()):
            try:
                record = self._read_record(step)
                self._check(step, record, describe(like))
                leaves = self._read_arrays(step, record, like)
            except _DamagedError as error:
                damaged[step] = str(error)
                continue
            for other, reason in damaged.items():
                path = self._folder / str(other)
                warnings.warn(f"checkpoint {path} is damaged ({reason}): going on from step {step}", stacklevel=2)
                self._put_aside(path)
            self._current = step
            return step, jax.tree.unflatten(jax.tree.structure(template), leaves)
        if damaged:
            step, reason = next(iter(damaged.items()))
            raise ValueError(
                f"{self._folder}: all {len(damaged)} checkpoints are damaged (step {step}: {reason}); start again in another "
                "output folder"
            )
        return None

    def _read_record(self, step: int) -> dict[str, Any]:
        """Reads what stands beside the arrays."""
        try:
            with _quiet_orbax():
                record = self._manager.restore(step, args=ocp.args.Composite(record=ocp.args.JsonRestore())).record
            version = record["format"]
        except Exception as error:  # whatever orbax and its parsers make of a broken file
            raise _DamagedError(f"no record: {_short(error)}") from error
        if version != FORMAT:
            raise ValueError(
                f"checkpoint {self._folder / str(step)}: format {version} there, {FORMAT} here: resume with the version of "
                "this project that wrote it"
            )
        return record

    def _check(self, step: int, record: dict[str, Any], expected: list[Leaf]) -> None:
        """Raises a ValueError for a checkpoint of something else."""
        path, saved = self._folder / str(step), record["meta"]
        for field in [*self._meta, *saved]:
            there, here = (repr(meta[field]) if field in meta else "nothing" for meta in (saved, self._meta))
            if there != here:
                raise ValueError(
                    f"checkpoint {path}: {field} is {there} there and {here} here; resume with the settings it was made with, or "
                    "choose another output folder"
                )
        leaves = [Leaf(leaf["path"], tuple(leaf["shape"]), leaf["dtype"]) for leaf in record["leaves"]]
        if difference := first_difference(leaves, expected):
            raise ValueError(
                f"checkpoint {path}: {difference}; resume with the settings it was made with, or choose another output folder"
            )

    def _read_arrays(self, step: int, record: dict[str, Any], like: dict[str, Any]) -> list[Any]:
        """Reads the arrays, in the order of the template, and compares their checksums."""
        shapes = [host_shape(like[leaf["path"]]) for leaf in record["leaves"]]
        names = [str(number) for number, shape in enumerate(shapes) if math.prod(shape)]
        values: dict[str, np.ndarray] = {}
        try:
            with _quiet_orbax():
                arguments = {name: ocp.RestoreArgs(restore_type=np.ndarray) for name in names}
                arrays = ocp.args.PyTreeRestore(restore_args=arguments)
                read = self._manager.restore(step, args=ocp.args.Composite(arrays=arrays)).arrays
            for number, (leaf, shape) in enumerate(zip(record["leaves"], shapes, strict=True)):
                path = leaf["path"]
                values[path] = read[str(number)] if str(number) in names else np.empty(shape, _host_dtype(like[path]))
                if _crc32(values[path]) != leaf["crc32"]:
                    raise _DamagedError(f"leaf {path} has another checksum")
        except (_DamagedError, MemoryError):
            raise
        except Exception as error:  # whatever orbax and its parsers make of a broken file
            raise _DamagedError(_short(error)) from error
        return [from_host(values[path], leaf) for path, leaf in like.items()]

    def _check_space(self, step: int, needed: int) -> None:
        """Raises an OSError where the disk has no room, which costs nothing, while a write that fails half-way does."""
        usage = shutil.disk_usage(self._folder)
        if usage.total and usage.free < needed:  # some network disks tell nothing
            raise self._not_saved(step, f"{needed / 1e6:.0f} MB are needed and {usage.free / 1e6:.0f} MB free")

    def _not_saved(self, step: int, reason: str) -> OSError:
        return OSError(
            f"{self._folder}: step {step} could not be saved ({reason}); the earlier checkpoints are whole: free some space, "
            "then go on with --resume"
        )

    def _put_aside(self, path: Path) -> None:
        """Renames a damaged checkpoint, so that its step may be saved again."""
        aside = path.with_name(DAMAGED + path.name)
        shutil.rmtree(aside, ignore_errors=True)
        path.rename(aside)
        with _quiet_orbax():
            self._manager.reload()

    def _remove_damaged(self) -> None:
        for path in self._folder.glob(f"{DAMAGED}*"):
            shutil.rmtree(path, ignore_errors=True)

    def _remove_unfinished(self) -> None:
        for path in self._folder.glob(f"*{UNFINISHED}*"):
            shutil.rmtree(path, ignore_errors=True)


class _DamagedError(Exception):
    """A checkpoint is not what was saved."""


def _host_dtype(leaf: Any) -> np.dtype:
    return np.dtype(np.uint32) if is_key(leaf) else np.dtype(leaf.dtype)


def _crc32(array: np.ndarray) -> int:
    """Returns the checksum of an array's bytes."""
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


@contextlib.contextmanager
def _quiet_orbax() -> Iterator[None]:
    """Keeps orbax from showing pages of traces for an error that is told here in one line, and waits for what it leaves undone.

    When one array cannot be read or written, orbax gives up at once, while its storage library is still busy with the others:
    it would write into a folder that has been removed, and complain that nobody listens.
    """
    logger, hook = logging.getLogger("absl"), sys.unraisablehook
    level = logger.level

    def without_closed_loops(unraisable: sys.UnraisableHookArgs) -> None:
        if not (isinstance(unraisable.exc_value, RuntimeError) and str(unraisable.exc_value) == "Event loop is closed"):
            hook(unraisable)

    logger.setLevel(logging.CRITICAL)
    sys.unraisablehook = without_closed_loops
    try:
        yield
    except Exception:
        time.sleep(SECONDS_TO_END)
        raise
    finally:
        sys.unraisablehook = hook
        logger.setLevel(level)


def _failure_of_disk(error: BaseException | None) -> str | None:
    """Returns in words why the operating system could not write; None where the cause is another.

    Orbax hands on two kinds of errors: those of Python, and those of its storage library, whose text ends in such as
    "No space left on device [os_error_code='28']".
    """
    while error is not None:
        if isinstance(error, OSError) and error.errno is not None:
            return os.strerror(error.errno)
        if found := re.search(r"os_error_code='(\d+)'", str(error)):
            return os.strerror(int(found[1]))
        if os.strerror(errno.ENOSPC) in str(error):
            return os.strerror(errno.ENOSPC)
        error = error.__cause__ or error.__context__
    return None


def _short(error: BaseException) -> str:
    """Returns an error's text on one line of bounded length."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 160 else f"{text[:157]}..."
