import hashlib
import io
import os
import signal
import sys
import threading
import time

import pytest
from rich.console import Console

from training.jobs.display import Display
from training.jobs.stopping import FIRST, INTERRUPT_AGAIN, SECOND, StopRequest


@pytest.fixture(autouse=True)
def not_ignored():
    """A shell starts programs in the background with the interrupt ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_a_request(number):
    before = signal.getsignal(number)
    with StopRequest() as stop:
        assert not stop.requested
        os.kill(os.getpid(), number)
        assert stop.requested
    assert signal.getsignal(number) is before


def test_a_second_interrupt_stops_at_once():
    with StopRequest() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.requested
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)  # as before


class Told(io.StringIO):
    """Notes, for each line, whether the handler had been called by then."""

    def __init__(self, stop):
        super().__init__()
        self.stop, self.handled = stop, []

    def write(self, text):
        self.handled.append(self.stop.requested)
        return super().write(text)


def test_a_signal_is_told_while_python_does_not_run(monkeypatch):
    """As while XLA compiles: the handler is called after that."""
    with StopRequest() as stop:
        told = Told(stop)
        monkeypatch.setattr(sys, "stderr", told)
        sender = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        sender.start()
        hashlib.pbkdf2_hmac("sha256", b"", b"", 1_500_000)
        assert stop.requested
    assert told.handled == [False] and told.getvalue() == f"{FIRST}{INTERRUPT_AGAIN}\n"


def test_what_each_signal_does_is_told_once(capsys):
    before = signal.set_wakeup_fd(-1)
    with StopRequest():
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT):
            os.kill(os.getpid(), number)
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
    assert capsys.readouterr().err.splitlines() == [FIRST, FIRST + INTERRUPT_AGAIN, SECOND]
    assert signal.set_wakeup_fd(before) == -1


def test_a_live_display_prints_what_is_told_above_itself():
    console = Console(file=io.StringIO(), force_terminal=True, width=60, legacy_windows=False, _environ={"TERM": "xterm"})
    with StopRequest(), Display("x", 10, console=console) as display:
        display.update(1, {"loss": 1.0})
        os.kill(os.getpid(), signal.SIGTERM)
        end = time.monotonic() + 10
        while FIRST not in console.file.getvalue() and time.monotonic() < end:
            time.sleep(0.01)
    lines = console.file.getvalue().split(FIRST)[1].splitlines()
    assert lines[0] == "" and lines[1].startswith("\u256d")  # the panel begins anew below it


def test_handlers_come_back_after_an_error():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with pytest.raises(RuntimeError), StopRequest():
        raise RuntimeError
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_other_threads_get_no_signals():
    seen = []

    def work() -> None:
        with StopRequest() as stop:
            seen.append(stop.requested)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [False]
