"""Another program as a partner: started in a process group of its own, spoken to in lines with time limits, ended for certain.

Pipes are read by `os.read` alone, so nothing waits unseen in a buffer that `select` knows nothing of. Whatever a program does,
what is kept of it is bounded: the beginning of one line, and the last words that it wrote to stderr.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shlex
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from training.play.stratego import guard, protocol

GRACE = 1.0  # seconds that a program has to leave after QUIT, and again after SIGTERM
_CHUNK = 1 << 16
_LAST_WORDS = 300  # bytes of stderr


class Failure(Exception):
    """A player did not do its part: it was late, has ended, or sent what is no line."""


def command_of(text: str) -> tuple[str, ...]:
    """Splits a command line as a shell would, and checks that there is such a program.

    Raises:
      ValueError: it is empty or has an open quote, or there is no such program or it may not be run.
    """
    try:
        command = tuple(shlex.split(text))
    except ValueError as error:
        raise ValueError(f"program={text!r}: {error}".replace("No closing", "no closing")) from None
    if not command:
        raise ValueError("program='': must be a command, such as program:./bot or program:'python3 bot.py'")
    if shutil.which(command[0]) is None:
        why = "may not be run" if Path(command[0]).is_file() else "there is no such program"
        raise ValueError(f"program={command[0]!r}: {why}")
    return command


class Program:
    """A running program.

    Attributes:
      name: what it is called; one word.
      drawn_moves: None, as a program does not tell of them.
    """

    drawn_moves = None

    def __init__(self, command: Sequence[str], name: str, *, grace: float = GRACE) -> None:
        """Starts it.

        Args:
          command: the program and its arguments.
          name: what it is called.
          grace: seconds that it has to leave when it is asked to.

        Raises:
          ValueError: it cannot be started.
        """
        self.name, self._grace = name, grace
        self._mark = uuid.uuid4().hex
        environment = {**os.environ, guard.VARIABLE: self._mark}
        guard.watch(self._mark)
        try:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                process_group=0,
                env=environment,
            )
        except OSError as error:
            guard.release(self._mark)
            raise ValueError(f"program={command[0]!r}: cannot be started: {error.strerror}") from None
        self._group = self._process.pid
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._stdin, self._stdout, self._stderr = (
            pipe.fileno() for pipe in (self._process.stdin, self._process.stdout, self._process.stderr)
        )
        for pipe in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(pipe, False)
        self._heard, self._last_words, self._silent = b"", b"", False
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._stderr, selectors.EVENT_READ)

    def send(self, text: str, seconds: float) -> None:
        """Sends lines.

        Args:
          text: without the end of the last line.
          seconds: how long the program may take to make room for them.

        Raises:
          Failure: it does not read, or has ended.
        """
        rest = memoryview(f"{text}\n".encode())
        deadline = time.monotonic() + seconds
        while rest:
            try:
                rest = rest[os.write(self._stdin, rest) :]
            except BlockingIOError:
                if not self._wait(self._stdin, selectors.EVENT_WRITE, deadline):
                    raise Failure(f"did not read what it was sent within {seconds:g} s") from None
            except BrokenPipeError:
                raise Failure(self._how_it_ended("closed its input")) from None

    def read_line(self, seconds: float) -> str:
        """Waits for a line.

        Args:
          seconds: how long.

        Returns:
          It, without its end; what is no ASCII is replaced.

        Raises:
          Failure: none came in time, the program has ended or closed its output, or the line is too long.
        """
        deadline = time.monotonic() + seconds
        while True:
            line, end, rest = self._heard.partition(b"\n")
            if len(line) > protocol.LONGEST_LINE:
                raise Failure(f"sent a line of more than {protocol.LONGEST_LINE} bytes")
            if end:
                self._heard = rest
                return line.decode("ascii", "replace").rstrip("\r")
            if self._silent:
                raise Failure(self._how_it_ended("closed its output"))
            if not self._wait(self._stdout, selectors.EVENT_READ, deadline):
                if self._ended():  # and a child holds its output open
                    raise Failure(self._how_it_ended("closed its output"))
                begun = f" (it sent {protocol.shown(self._begun())})" if line else ""
                raise Failure(self._with_last_words(f"no line within {seconds:g} s{begun}"))
            try:
                heard = os.read(self._stdout, _CHUNK)
            except BlockingIOError:
                continue
            self._heard += heard
            self._silent = not heard

    def pause(self) -> None:
        """Stops the program and its children until `resume`, so that it does not think on its partner's time."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets them go on."""
        self._signal(signal.SIGCONT)

    def close(self, line: str = "") -> None:
        """Ends the program and all that it has started.

        It is told to leave, then its input is closed; after the grace it gets SIGTERM, and after another SIGKILL.

        Args:
          line: its last one, if it listens.
        """
        try:
            self.resume()
            with contextlib.suppress(OSError):
                if line:
                    os.write(self._stdin, f"{line}\n".encode())
            self._shut(self._process.stdin)
            if not self._leaves(listen=True):
                self._shut(self._process.stdout)
                self._signal(signal.SIGTERM)
                self._leaves(listen=False)
        finally:
            self._signal(signal.SIGKILL)  # the group, whose number is ours as long as its first process has not been waited for
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
                self._shut(pipe)
            self._selector.close()
            guard.release(self._mark)

    def _begun(self) -> str:
        return self._heard.decode("ascii", "replace")

    def _wait(self, pipe: int, event: int, deadline: float) -> bool:
        """Waits until a pipe is ready, and keeps stderr empty meanwhile. False: it was not in time."""
        self._selector.register(pipe, event)
        try:
            while True:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                ready = {key.fd for key, _ in self._selector.select(left)}
                if self._stderr in ready:
                    self._read_stderr()
                if pipe in ready:
                    return True
        finally:
            self._selector.unregister(pipe)

    def _read_stderr(self) -> None:
        try:
            heard = os.read(self._stderr, _CHUNK)
        except BlockingIOError:
            return
        self._last_words = (self._last_words + heard)[-_LAST_WORDS:]
        if not heard:
            self._selector.unregister(self._stderr)

    def _how_it_ended(self, otherwise: str) -> str:
        """Says how the program has ended; `otherwise` if it has not."""
        deadline = time.monotonic() + 0.2  # its pipes are closed a moment before it has ended
        while (status := self._ended()) is None and time.monotonic() < deadline:
            time.sleep(0.005)
        if self._stderr in self._selector.get_map():
            self._read_stderr()
        if status is None:
            told = otherwise
        elif status.si_code == os.CLD_EXITED:
            told = f"ended with exit code {status.si_status}"
        else:
            told = f"was killed by signal {status.si_status}"
        return self._with_last_words(told)

    def _with_last_words(self, told: str) -> str:
        """Adds the last line that the program wrote to stderr, if it wrote any."""
        words = self._last_words.decode("utf-8", "replace").strip().splitlines()
        return f"{told}: {protocol.shown(words[-1].strip(), 100)}" if words else told

    def _ended(self) -> os.waitid_result | None:
        """Tells how the first process has ended, None while it runs. Its number stays taken: nobody has waited for it."""
        return os.waitid(os.P_PID, self._group, os.WEXITED | os.WNOHANG | os.WNOWAIT)

    def _leaves(self, *, listen: bool) -> bool:
        """Waits until the program has ended, and takes what it still writes. False: it has not within the grace."""
        deadline = time.monotonic() + self._grace
        pause = 0.001
        while self._ended() is None:
            if time.monotonic() > deadline:
                return False
            for pipe in (self._stdout, self._stderr) if listen else (self._stderr,):
                with contextlib.suppress(BlockingIOError):
                    os.read(pipe, _CHUNK)
            time.sleep(pause)
            pause = min(2 * pause, 0.02)
        return True

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._group, number)

    def _shut(self, pipe: object) -> None:
        with contextlib.suppress(OSError):
            pipe.close()  # type: ignore[attr-defined]
