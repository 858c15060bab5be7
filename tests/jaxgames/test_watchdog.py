"""Who is named when others wait."""

import pytest

from jaxgames import watchdog
from tests.processes import prepared_environment, run_together

LATE = """
import time
from jaxgames import runtime, watchdog
watchdog.SECONDS_TO_WAIT, watchdog._SECONDS_TO_SHOW = 3, 0.5
runtime.prepare(cores=1)
processes.start(together)
time.sleep(8 if me == LATE else 0)
processes.wait()
processes.end()
"""


@pytest.mark.slow
@pytest.mark.parametrize("late", [0, 1])
def test_who_does_not_come_is_named(late):
    ends = run_together(LATE.replace("LATE", str(late)), 2, prepared_environment())
    assert [code for code, _, _ in ends] == [0, 0]
    assert ends[late][2] == ""
    assert ends[1 - late][2] == f"waiting for process {late} of 2 for 3 s now: compiling, or stuck\n"


def test_one_of_those_who_wait_names_the_others():
    shown = [("jaxgames/waits/3", "7"), ("jaxgames/waits/1", "7"), ("jaxgames/waits/0", "6")]
    named = "waiting for processes 0, 2, 4 of 5 for 60 s now: compiling, or stuck"
    assert [watchdog.missing(shown, 7, index, 5) for index in (1, 3)] == [named, ""]
    assert watchdog.missing([("jaxgames/waits/0", "7"), ("jaxgames/waits/1", "8")], 7, 0, 2) == ""  # all are here


def test_common_calls_are_counted():
    calls = watchdog.CommonCalls()
    with pytest.raises(ValueError, match="lost"), calls.one():
        raise ValueError("lost")
    with calls.one():
        assert calls.at[0] == 2 and calls.at[1] is not None
    assert calls.at == (2, None)
