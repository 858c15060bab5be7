"""Lines now and then where no terminal shows a bar."""

import io
import threading
import time

import pytest
from rich.console import Console

from training.play.telling import counted, duration, now_and_then


def console(terminal: bool = False) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, _environ={"TERM": "xterm"})


def wait_for(lines: int, where: Console) -> None:
    until = time.monotonic() + 20
    while where.file.getvalue().count("\n") < lines and time.monotonic() < until:
        time.sleep(0.005)


def threads() -> int:
    return sum(thread.name == "now and then" for thread in threading.enumerate())


def test_a_line_comes_now_and_then_and_nothing_is_left():
    plain, words = console(), iter(["one [/a]", "", "two", *["more"] * 10**6])

    def interrupted():
        with now_and_then(plain, lambda: next(words), seconds=0.001):
            assert threads() == 1
            wait_for(3, plain)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert threads() == 0
    assert plain.file.getvalue().splitlines()[:3] == ["one [/a]", "two", "more"]


def test_on_a_terminal_there_is_none():
    with now_and_then(console(terminal=True), lambda: pytest.fail("asked"), seconds=0.001):
        assert threads() == 0


def test_a_reader_that_has_gone_ends_nothing():
    plain, asked = console(), threading.Event()
    plain.file.close()
    with now_and_then(plain, lambda: asked.set() or "line", seconds=0.001):
        assert asked.wait(20)
        asked.clear()
        assert asked.wait(20), "it goes on"


def test_durations_and_counts():
    assert [duration(seconds) for seconds in (0.4, 59.6, 3661)] == ["0:00:00", "0:01:00", "1:01:01"]
    assert [counted(number, "game") for number in (0, 1, 2)] == ["0 games", "1 game", "2 games"]
