"""What JAX says when it gives up, in one line."""

import pytest

from jaxgames.last_words import FAREWELL, PULSE, Setting, told, verdict

FATAL = (
    "F1123 20:31:02.006624   23621 client.h:80] Terminating process because the JAX distributed service detected fatal errors. "
)


IN_VAIN = "DEADLINE_EXCEEDED: Deadline Exceeded\n\nRPC: /xla.coordination.CoordinationService/RegisterTask"


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (
            "UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):\n2\nThe tasks have crashed.",
            "error: process 2 of 3 has died or hangs",
        ),
        (
            "UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):\n1\nThe tasks have crashed.",
            "error: process 1 of 3 gave no sign of life for 10 s, and the others have ended",
        ),
        (
            "UNAVAILABLE: Received http2 header with status: 502",
            "error: coordinator='node1:12': another program answers there",
        ),
        ("UNAVAILABLE: Failed to send RPC to coordination service.", "error: process 0 of 3, the coordinator node1:12, has died"),
        (
            "DEADLINE_EXCEEDED: Deadline Exceeded\n\nRPC: /xla.coordination.CoordinationService/Heartbeat",
            "error: process 0 of 3, the coordinator node1:12, has died or hangs (no sign of life for 10 s): process 1 of",
        ),
        (IN_VAIN, "error: process 1 of 3: the coordinator node1:12 has not answered within 60 s, or "),
        ("something new", "error: process 1 of 3 ends, because another one did (something new)"),
    ],
)
def test_last_words_are_one_line(status, expected):
    lines = f"a warning\nE1123 20:31 1 coordination_service.cc:5] lost:\n1\n{FATAL}absl::Status: {status}\n\n*** Check:\n @ 0x\n"
    found = list(told(lines.splitlines(keepends=True), Setting("1", "3", "node1:12", "60", "10")))
    assert found[0] == "a warning\n" and len(found) == 2
    assert expected in found[1] and found[1].count("\n") == 1


@pytest.mark.parametrize(
    ("index", "address", "named", "not_named"),
    [
        ("0", "node1:12", ["not all of the 3 processes have come to the coordinator node1:12", "--num-processes"], ["taken"]),
        ("1", "node1:12", ["the coordinator node1:12 has not answered", "or number 1 is taken", "--num-processes"], []),
        ("0", "", ["not all of the 3 processes have come to the coordinator that JAX has found", "in one step or job"], ["--"]),
        ("1", "", ["the coordinator that JAX has found has not answered", "in one step or job"], ["--", "taken"]),
    ],
)
def test_who_waits_in_vain_says_for_whom(index, address, named, not_named):
    said = verdict(IN_VAIN, Setting(index, "3", address, "60", "10"))
    assert all(text in said for text in named) and not any(text in said for text in not_named)


def blame(*events):
    """What process 0 says that finds the others silent, after it ran or was stopped: pulses and the end, at these seconds."""
    times, last = iter(events), f"{FATAL}absl::Status: unhealthy (stopped sending heartbeats):\n"
    lines = [*[f"{PULSE}\n"] * (len(events) - 1), last, "1\n", f"{PULSE}\n", "The tasks\n", "*** Check:\n"]
    (said,) = told(lines, Setting("0", "2", "node1:12", "60", "10"), clock=lambda: next(times))
    return said


def test_who_was_stopped_does_not_blame_the_others():
    lost, stopped = "error: process 1 of 2 has died or hangs", "error: process 0 of 2 gave no sign of life"
    assert blame(5).startswith(lost)  # before its first sign of life
    assert blame(0, 1, 8).startswith(lost)  # not long enough for the others
    assert blame(0, 1, 2, 3).startswith(lost)
    assert blame(0, 1, 13).startswith(stopped)  # the end is told before its next sign of life
    assert blame(0, 1, 13, 14, 14).startswith(stopped)  # and after it
    assert blame(0, 13, *range(14, 30)).startswith(lost)  # long ago


UNHEALTHY = "UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):\n{}\nThe tasks have crashed."


@pytest.mark.parametrize(
    ("index", "status", "expected"),
    [
        ("0", UNHEALTHY.format(1), "process 0 of 3 gave no sign of life"),  # it judges by what it has not heard
        ("2", UNHEALTHY.format(1), "process 1 of 3 has died or hangs"),  # the coordinator says so
        ("1", "RPC: /xla.coordination.CoordinationService/Heartbeat DEADLINE_EXCEEDED", "process 1 of 3 gave no sign of life"),
        ("1", "UNAVAILABLE: Failed to send RPC", "process 1 of 3 gave no sign of life"),  # the coordinator has ended meanwhile
        ("1", "ABORTED: task 9 unexpectedly tried to connect", "process_id=9: was given to two processes"),
    ],
)
def test_who_stood_still_blames_itself_where_nothing_tells_of_others(index, status, expected):
    assert verdict(status, Setting(index, "3", "node1:12", "60", "10"), stood=True).startswith(expected)


def test_signs_of_life_are_not_shown():
    lines = [f"{PULSE}\n", f"half a line {PULSE}\n", "a line\n"]
    assert list(told(lines, Setting("1", "3", "node1:12", "60", "10"))) == ["half a line ", "a line\n"]


def test_after_the_farewell_nothing_is_told():
    assert list(told(["a\n", f"{FAREWELL}\n", f"{FATAL}absl::Status: x\n"], Setting("1", "3", "node1:12", "60", "10"))) == ["a\n"]
