"""Replays recorded games of a reference implementation with ours and tells every difference.

A game takes part by a function `replay(arrays, findings) -> N`, named in its registration. It replays what the arrays of one
file hold, reports every difference to `findings`, and returns how many transitions (or decisions of a bot) it has checked. It
raises `BadRecording` where the arrays have not the form of a recording.
"""

from __future__ import annotations

import importlib
import sys
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

import numpy as np

from jaxgames import checks
from jaxgames.registration import registration

Arrays = dict[str, np.ndarray]

SHOWN_DIFFERENCES = 10
KINDS = {"i": "an integer type", "f": "a type of floats", "U": "text"}  # of arrays, by numpy's letters
NO_DIFFERENCE, SOME_DIFFERENCE, BAD_FILE = 0, 1, 2


class BadRecording(ValueError):
    """A file holds no recording of this game, or not all of one. The message does not repeat the file's name."""


def check_form(
    arrays: Mapping[str, np.ndarray],
    shapes: Mapping[str, tuple[str | int, ...]],
    first: Mapping[str, str],
    kinds: Mapping[str, str] | None = None,
) -> None:
    """Checks names, shapes and types of arrays.

    Args:
      arrays: those of a file; others than named are ignored.
      shapes: by name; a letter stands for the rows of the array that `first` names.
      first: array by letter.
      kinds: of arrays that do not hold whole numbers, f (floats) or U (text).

    Raises:
      BadRecording: names the first wrong field.
    """
    for name, form in shapes.items():
        for wanted in (name, *(first[letter] for letter in form if isinstance(letter, str))):
            if wanted not in arrays:
                raise BadRecording(f"{wanted}: missing")
        lengths = {letter: len(np.atleast_1d(arrays[first[letter]])) for letter in form if isinstance(letter, str)}
        if arrays[name].shape != tuple(lengths[part] if isinstance(part, str) else part for part in form):
            known = ", ".join(f"{letter}={length}" for letter, length in lengths.items())
            must = f"({', '.join(map(str, form))})" + (f" with {known}" if known else "")
            raise BadRecording(f"{name}: shape {arrays[name].shape}, must be {must}")
        kind = (kinds or {}).get(name, "i")
        if arrays[name].dtype.kind.replace("u", "i") != kind:
            raise BadRecording(f"{name}: dtype {arrays[name].dtype}, must be {KINDS[kind]}")


def check_offsets(arrays: Arrays, name: str, count: int, least: int = 0) -> np.ndarray:
    """Checks that offsets rise from 0 to `count`, by `least` rows at each step.

    Returns:
      The same, int64.

    Raises:
      BadRecording: they do not, or are no whole numbers.
    """
    offsets = arrays[name]
    if offsets.ndim != 1 or offsets.dtype.kind not in "iu" or len(offsets) < 2:
        raise BadRecording(f"{name}: must be whole numbers, more than one")
    offsets = offsets.astype(np.int64)  # unsigned differences would wrap
    if offsets[0] != 0 or offsets[-1] != count or (np.diff(offsets) < least).any():
        raise BadRecording(f"{name}: must rise from 0 to the {count} rows")
    return offsets


def row_name(offsets: np.ndarray, what: str, row: int) -> str:
    """Says which game a row belongs to, and which attempt, ply, ... of it, by the first rows of games."""
    game = int(np.searchsorted(offsets, row, side="right")) - 1
    return f"game {game}, {what} {row - offsets[game]}"


class Findings:
    """Collects what differs in one file.

    Attributes:
      count: how many differences there are; a field of one row counts once.
      lines: the first of them in words.
      remarks: what else should be known about the file.
    """

    def __init__(self, shown: int = SHOWN_DIFFERENCES) -> None:
        self.count = 0
        self.lines: list[str] = []
        self.remarks: list[str] = []
        self._shown = shown

    def add(self, text: str) -> None:
        """Adds one difference in words."""
        self.count += 1
        if len(self.lines) < self._shown:
            self.lines.append(text)

    def compare(
        self,
        field: str,
        recorded: np.ndarray,
        replayed: np.ndarray,
        rows: Callable[[int], str],
        places: Callable[..., str] = lambda *index: f"[{', '.join(map(str, index))}]" if index else "",
    ) -> None:
        """Compares one field of many rows, and adds a difference for every row that differs.

        Args:
          field: its name.
          recorded: [R, ...], as it stands in the file.
          replayed: [R, ...], as it ought to be.
          rows: tells in words which row it is.
          places: tells in words which element of a row it is, from its index.
        """
        differs = recorded != replayed
        wrong = np.flatnonzero(any_in_row(differs))
        for row in wrong[: max(self._shown - len(self.lines), 0)]:
            elements = np.argwhere(differs[row])
            first = tuple(int(i) for i in elements[0])
            more = f" and {len(elements) - 1} more" if len(elements) > 1 else ""
            place = (row, *first)
            values = f"recorded {recorded[place]}, expected {replayed[place]}{more}"
            self.lines.append(f"{rows(int(row))}: {' '.join([field, places(*first)]).strip()}: {values}")
        self.count += len(wrong)


def any_in_row(mask: np.ndarray) -> np.ndarray:
    """Says of every row of bool [R, ...] whether it has a True. Returns bool [R]."""
    return np.asarray(mask.any(axis=tuple(range(1, mask.ndim))))


def replay_files(
    game: str,
    paths: Sequence[str | Path],
    *,
    shown: int = SHOWN_DIFFERENCES,
    out: TextIO | None = None,
    err: TextIO | None = None,
) -> int:
    """Replays files and prints what differs, a line per file, and last `N transitions, M mismatches` over all files.

    A file that cannot be read as a recording is told in one line on `err`, and the others are replayed all the same; if none
    can be read, nothing else is printed.

    Args:
      game: the name of a game with recordings.
      paths: npz files, or what the game's registration reads instead.
      shown: how many differences to print per file.
      out: for the report; None: the standard output.
      err: for files that cannot be read; None: the standard error.

    Returns:
      The exit code: 0 only if there are transitions and none differs; 2 if a file could not be read; otherwise 1.

    Raises:
      ValueError: the game has no recordings, no file is named, or `shown` is negative.
    """
    entry = registration(game)
    place = entry.replay or entry.replay_files
    if not place:
        raise ValueError(f"game={game!r}: has no recordings to replay")
    if not paths:
        raise ValueError(f"no file named: give one or more {'.npz ' if entry.replay else ''}files")
    shown = checks.count("shown", shown, 0)
    out, err = sys.stdout if out is None else out, sys.stderr if err is None else err
    module, _, function = place.partition(":")
    replay: Callable[..., int] = getattr(importlib.import_module(module), function)
    if entry.replay_files:
        return replay(paths, shown=shown, out=out, err=err)

    transitions, mismatches, unread = 0, 0, 0
    for path in paths:
        findings = Findings(shown)
        try:
            count = replay(read_npz(path), findings)
        except BadRecording as error:
            unread += 1
            print(f"error: {path}: {error}", file=err)
            continue
        for line in findings.lines:
            print(f"  {line}", file=out)
        if findings.count > len(findings.lines) > 0:
            print(f"  ... and {findings.count - len(findings.lines)} more", file=out)
        remarks = f" ({'; '.join(findings.remarks)})" if findings.remarks else ""
        print(f"{path}: {count} transitions, {findings.count} mismatches{remarks}", file=out, flush=True)
        transitions, mismatches = transitions + count, mismatches + findings.count
    if unread < len(paths):
        print(f"{transitions} transitions, {mismatches} mismatches", file=out, flush=True)
    if unread:
        return BAD_FILE
    return NO_DIFFERENCE if transitions > 0 and mismatches == 0 else SOME_DIFFERENCE


class _Recorded(Arrays):
    """What a file holds: who asks for an array that it lacks is told so in one line."""

    def __missing__(self, name: str) -> np.ndarray:
        raise BadRecording(f"lacks {name}")


def read_npz(path: str | Path) -> Arrays:
    """Reads all arrays of a file.

    Raises:
      BadRecording: it is missing, torn, or no npz file; also later, where an array is asked for that it lacks.
    """
    try:
        # Named by a handle, because np.load leaves a file open that turns out to be torn.
        with open(path, "rb") as file:
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise BadRecording("a single array, must be an npz file")
            with archive:
                # A member that is no array comes as bytes: an array of a form that no field has.
                return _Recorded((name, np.asarray(archive[name])) for name in archive.files)
    except OSError as error:
        raise BadRecording(f"cannot be read: {error.strerror or error}") from None
    except (MemoryError, OverflowError):
        raise BadRecording("a torn npz file: an array larger than the memory") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, RuntimeError) as error:  # RuntimeError: encrypted
        raise BadRecording(f"a torn npz file: {error}") from None
    except BadRecording:
        raise
    except ValueError as error:
        if "pickle" in str(error):
            raise BadRecording("not an npz file of plain arrays") from None
        raise BadRecording(f"not a sound npz file: {error}") from None
