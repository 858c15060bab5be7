import contextlib
import io

import pytest
from rich.console import Console

from training.jobs import display as display_module
from training.jobs.display import BLOCKS, Display

SHARES = {"stop": 0.5, "up": 0.25, "bomb": 0.001, "down": 0.0}


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def shown(console: Console) -> str:
    return console.file.getvalue()


@pytest.fixture
def terminal():
    return Console(
        file=io.StringIO(), force_terminal=True, width=100, color_system=None, legacy_windows=False, _environ={"TERM": "xterm"}
    )


@pytest.fixture
def plain():
    return Console(file=io.StringIO(), force_terminal=False, width=40)


def test_without_a_terminal_there_is_a_line_now_and_then(plain):
    clock = Clock()
    with Display("follower [ffa]", 10, unit="episodes", console=plain, plain_seconds=30, clock=clock) as display:
        for done in range(1, 9):
            clock.now += 10
            display.update(done, {"loss": 0.123456, "episodes/s": 12345.6, "score": "[5 %]"}, SHARES)
    lines = shown(plain).splitlines()
    assert [line.split(" episodes")[0] for line in lines] == [f"follower [ffa]: {done}/10" for done in (1, 4, 7, 8)]
    assert lines[1] == (
        "follower [ffa]: 4/10 episodes, 0:00:40 passed, 0:01:00 left | loss 0.1235 | episodes/s 12346 | score [5 %] | "
        "stop 50% up 25% bomb 0% down 0%"
    )


def test_the_last_line_is_not_printed_twice(plain):
    with Display("x", 10, console=plain, clock=Clock()) as display:
        display.update(1, {"loss": 1})
    assert shown(plain).count("\n") == 1


def test_the_last_line_has_the_last_values(plain):
    """Also where no further unit was done, as while gradient steps follow games."""
    with Display("x", 10, console=plain, clock=Clock()) as display:
        for loss in (3, 2, 1):
            display.update(10, {"loss": loss})
    assert [line[-6:] for line in shown(plain).splitlines()] == ["loss 3", "loss 1"]


def test_without_a_terminal_it_says_that_it_goes_on_where_nothing_else_was_printed_lately(plain, monkeypatch):
    clock, texts = Clock(), []
    lines = lambda console, text: texts.append(text) or contextlib.nullcontext()  # noqa: E731
    monkeypatch.setattr(display_module, "now_and_then", lines)
    with Display("x", 10, console=plain, clock=clock) as display:
        display.doing("compiling, then playing")
        assert texts[0]() == ""
        clock.now += 40
        assert texts[0]() == "x: 0/10 iterations, 0:00:40 passed, ? left, compiling, then playing"
        display.update(1, {"loss": 1})
        assert texts[0]() == ""


def test_what_is_being_done_is_shown(plain, terminal):
    for console in (plain, terminal):
        with Display("x", 10, console=console, clock=Clock()) as display:
            display.doing("compiling, then playing", line=True)
            display.doing("playing")
            display.update(5, {"loss": 1})
            display.doing("learning")
    assert shown(plain).splitlines() == [
        "x: compiling, then playing",
        "x: 5/10 iterations, 0:00:00 passed, ? left, playing | loss 1",
    ]
    assert "? left, learning" in shown(terminal) and "x: compiling" not in shown(terminal)


def test_time_left_is_unknown_when_all_units_are_done_and_work_is_left(plain):
    clock = Clock()
    with Display("x", 10, console=plain, plain_seconds=0, clock=clock) as display:
        for done, is_over in ((3, False), (5, False), (10, False), (10, True)):
            clock.now += 10
            display.update(done, {}, is_over=is_over)
    left = [line.split(", ")[2] for line in shown(plain).splitlines()]
    assert left == ["? left", "0:00:25 left", "? left", "0:00:00 left"]


def test_time_left_is_unknown_while_something_is_compiled_or_takes_longer_than_expected():
    clock, texts = Clock(), []
    with Display("x", 10, clock=clock) as display:
        for done in (2, 4):
            clock.now += 10
            display.update(done, {})
        for text, passed in (("learning", 10), ("compiling, then rating", 0), ("rating", 0), ("rating", 30)):
            clock.now += passed
            display.doing(text)
            texts.append(display._progress().split(", ")[2])
    assert texts == ["0:00:20 left", "? left", "0:00:20 left", "? left"]


def test_time_left_leaves_out_what_came_before_the_first_update(plain):
    clock = Clock()
    with Display("x", 100, start=40, console=plain, plain_seconds=0, clock=clock) as display:
        clock.now += 500  # compiling
        display.update(41, {})
        clock.now += 10
        display.update(51, {})
        clock.now += 10
        display.update(100, {})
        display.update(101, {})
    left = [line.split(", ")[2].rstrip(" left") for line in shown(plain).splitlines()]
    assert left == ["?", "0:00:49", "0:00:00", "0:00:00"]


def test_time_left_is_unknown_before_anything_is_done(plain):
    with Display("x", 100, start=40, console=plain, clock=Clock()) as display:
        display.update(40, {"loss": 1})
    assert ", ? left" in shown(plain)


def test_the_panel_shows_everything(terminal):
    with Display("follower [ffa]", 10, unit="episodes", console=terminal, clock=Clock()) as display:
        display.update(5, {"loss": 0.5, "agreement": "43 %", "entropy": 1.0, "episodes": 12800}, SHARES)
        display.note("checkpoint [5] saved")
    last = shown(terminal)[shown(terminal).rindex("╭") :]
    for part in ("follower [ffa]", "5/10 episodes", "loss  0.5", "agreement  43 %", "episodes  12800", "stop █ 50%", "up ▄ 25%"):
        assert part in last
    assert f"bomb {BLOCKS[1]} 0%" in last and f"down {BLOCKS[0]} 0%" in last
    assert "checkpoint [5] saved\n" in shown(terminal)


@pytest.mark.parametrize(
    "shares", [{}, None, {"a": float("nan"), "b": 1.0}, {"a": 1.0, "b": float("nan")}, {"a": 0.0}, {"a": 2.0}]
)
def test_odd_distributions_and_values_are_shown(terminal, plain, shares):
    for console in (terminal, plain):
        with Display("x", 0, console=console, clock=Clock()) as display:
            display.update(0, {"loss": float("nan"), "": ""}, shares)
        assert "nan" in shown(console)


def test_the_panel_ends_with_an_error(terminal):
    def fail() -> None:
        with Display("x", 10, console=terminal, clock=Clock()) as display:
            display.update(1, {"loss": 1.0})
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert shown(terminal).endswith("\x1b[?25h")  # the cursor is back
