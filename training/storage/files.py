"""Writing files so that a reader never meets half of one."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TextIO

from jaxgames import processes

LOCK = ".lock"
_UNKNOWN = (errno.EINVAL, errno.ENOTSUP)  # what disks say that cannot wait for a folder
_TRIES = 100  # to make and lock a folder, which others may remove between the two
SECONDS_TO_SEE = 30  # within which a network disk must show what another process has written


@contextlib.contextmanager
def output_folder(folder: str | os.PathLike[str]) -> Iterator[Path | None]:
    """Makes a folder for results and keeps other processes out of it while the context lasts.

    A folder made here that is still empty at the end is removed, as when the program was stopped while it compiled.

    Args:
      folder: the folder; "": none.

    Returns:
      The folder; None for none.

    Raises:
      OSError: files cannot be written there, or another process is at work in it.
    """
    if folder == "":
        yield None
        return
    path = Path(folder)
    made = [each for each in (path, *path.parents) if not each.exists()]
    try:
        lock = processes.agree(lambda: _made_and_locked(path) if processes.leads() else None)
    except OSError as error:
        reason = f"cannot be made or written ({error.strerror})" if error.errno else str(error)
        raise OSError(f"output={str(folder)!r}: {reason}; give another folder") from error
    if lock is None:  # the first process holds it for all
        yield path
        return
    try:
        yield path
    finally:
        (path / LOCK).unlink(missing_ok=True)  # while it is held: whoever opened it before sees that it has another file
        lock.close()
        with contextlib.suppress(OSError):  # not empty
            for each in made:
                each.rmdir()


def _made_and_locked(path: Path) -> TextIO:
    for _ in range(_TRIES - 1):
        path.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # the process that had the folder has removed it meanwhile
            return _locked(path / LOCK)
    path.mkdir(parents=True, exist_ok=True)
    return _locked(path / LOCK)


def _locked(path: Path) -> TextIO:
    """Opens a file and locks it; the operating system gives the lock free when the process ends, however it does.

    Raises:
      OSError: the file cannot be written, or another process holds the lock.
    """
    while True:
        with contextlib.ExitStack() as opened:
            file = opened.enter_context(path.open("a+"))
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                raise OSError(f"in use by {file.read() or 'another process'}") from None
            except OSError:  # a network disk without locks
                opened.pop_all()
                return file
            try:
                same = os.stat(path).st_ino == os.fstat(file.fileno()).st_ino
            except FileNotFoundError:
                same = False
            if same:
                file.truncate(0)
                file.write(f"process {os.getpid()} on {socket.gethostname()}")
                file.flush()
                opened.pop_all()
                return file
        # the process that had it has removed it meanwhile


def check_shared(folder: Path) -> None:
    """Raises an OSError, in all processes, where one of them has another folder of this name; all must call."""
    if processes.count() == 1:
        return
    token = folder / processes.on_first(lambda: f".token-{uuid.uuid4().hex}")

    def see() -> None:
        deadline = time.monotonic() + SECONDS_TO_SEE
        while not token.exists():
            if time.monotonic() > deadline:
                who = f"process {processes.index()} on {socket.gethostname()}"
                raise OSError(f"{folder}: {who} does not see what process 0 writes there; give a folder that all share")
            time.sleep(0.05)
            os.listdir(folder)  # a network disk looks again

    processes.on_first(token.touch)
    try:
        processes.agree(see)
    finally:
        if processes.leads():
            token.unlink(missing_ok=True)


def sync(path: str | os.PathLike[str]) -> None:
    """Waits until a file, or the list of files of a folder, is on the disk; not where its kind of disk knows no such thing."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _UNKNOWN:
            raise
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def alone_in(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Waits until no other process is in a folder that came in this way, and keeps others out while the context lasts.

    It is for files which are read, changed and written whole by whoever adds to them. Nothing is left behind. Disks that cannot
    lock a folder, as those of a network, keep nobody out.

    Raises:
      OSError: there is no such folder.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Writes a file at once: whoever opens it, also after a crash, sees all of the old content or all of the new.

    Args:
      path: the file; its folder is made where it is missing.
      content: text, which is written as UTF-8, or bytes.

    Raises:
      OSError: the file cannot be written; the old content stays, and no other file is left behind.
    """
    write_together({path: content})


def write_together(contents: Mapping[str | os.PathLike[str], str | bytes]) -> None:
    """Writes several files as `write_atomically` does; the first appears when all of them are on the disk.

    Of several processes the first one writes, and all must call.

    Args:
      contents: by file.

    Raises:
      OSError: a file cannot be written; no other file is left behind.
    """
    processes.agree(lambda: write_alone(contents) if processes.leads() else None)


def write_alone(contents: Mapping[str | os.PathLike[str], str | bytes]) -> None:
    """Writes as `write_together` does, whichever process this is."""
    temporaries: dict[Path, Path] = {}
    try:
        for path, content in contents.items():
            target = Path(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary = temporaries[target] = target.with_name(f".{target.name[:80]}.{uuid.uuid4().hex}")
            with temporary.open("xb") as file:
                file.write(content.encode("utf-8") if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
        for target, temporary in temporaries.items():
            temporary.replace(target)
        for folder in {target.parent for target in temporaries}:
            sync(folder)  # else a crash may bring the old names back
    except BaseException:
        with contextlib.suppress(OSError):
            for temporary in temporaries.values():
                temporary.unlink(missing_ok=True)
        raise
