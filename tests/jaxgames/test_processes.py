"""Several processes of one program, on CPU devices of this machine."""

import dataclasses
import hashlib
import json
import os
import re
import signal
import socket
import sys
import time

import pytest
from rich.console import Console

from jaxgames import processes
from jaxgames.processes import Processes
from tests import shared_work
from tests.processes import ends_of, prepared_environment, run_together, start_python
from tests.shared_games import games
from tests.training.jobs.toy import ToyConfig, ToyJob
from training.jobs import running
from training.learn.dealing import deal_rows, must_deal


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"coordinator": "node1"}, "coordinator='node1': must be HOST:PORT"),
        ({"coordinator": "node1:70000"}, "coordinator='node1:70000': the port must be in 1..65535"),
        ({"coordinator": "node1:0"}, "coordinator='node1:0': the port must be in 1..65535"),
        ({"coordinator": ":1234"}, "coordinator=':1234': must be HOST:PORT, auto or none"),
        ({"coordinator": "http://node1:7014"}, "coordinator='http://node1:7014': must be HOST:PORT, auto or none"),
        ({"coordinator": "::1:7014"}, "coordinator='::1:7014': must be HOST:PORT"),
        ({"coordinator": "node 1:7014"}, "coordinator='node 1:7014': must be HOST:PORT"),
        ({"coordinator": "node1:1234"}, "num_processes=0: must be >= 1"),
        (
            {"coordinator": "node1:1234", "num_processes": 2},
            "process_id: --process-id is missing, ",
        ),
        ({"coordinator": "node1:1234", "num_processes": 2, "process_id": 2}, "process_id=2: must be in 0..1"),
        ({"num_processes": 2}, "--coordinator HOST:PORT, which is missing"),
        ({"patience": 0}, "patience=0"),
    ],
)
def test_options_that_cannot_be(given, named):
    with pytest.raises(ValueError, match=re.escape(named)):
        Processes(**given)


@pytest.mark.parametrize("host", ["node1", "node-1.local", "my_host", "10.0.0.1", "[::1]", "[fe80::1%eth0]"])
def test_hosts(host):
    assert Processes(f"{host}:1234", 2, 1).coordinator == f"{host}:1234"


def test_one_process_asks_nobody():
    processes.start(Processes(processes.NONE))
    assert (processes.index(), processes.count(), processes.leads()) == (0, 1, True)
    assert processes.any_of(True) and processes.texts("a") == ["a"] and processes.on_first(lambda: 3) == 3
    with pytest.raises(KeyError):
        processes.agree(lambda: {}["a"])


@pytest.fixture(scope="module")
def met(tmp_path_factory):
    """What two processes found that only talk."""
    code = f"from tests.shared_work import meet\nmeet(together, {str(tmp_path_factory.mktemp('met'))!r})"
    both = run_together(code, 2, prepared_environment())
    assert [(code, error) for code, _, error in both] == [(0, "")] * 2
    return [json.loads(out) for _, out, _ in both]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """What two processes found, what one found that went on from their checkpoint, and the folder of it."""
    folder = tmp_path_factory.mktemp("shared")
    environment = prepared_environment()
    code = f"from tests.shared_work import main\nmain(together, 1, {str(folder)!r})"
    both = run_together(code, 2, environment)
    code = f"from tests.shared_work import alone\nalone(2, {str(folder)!r})"
    (end,) = ends_of([start_python(["-c", code], environment)])
    assert [code for code, _, _ in [*both, end]] == [0] * 3
    told = "stopping when this iteration is done and saved\n"  # by the one that is asked to stop
    assert [error for _, _, error in [*both, end]] == ["", told, ""]
    return [json.loads(out) for _, out, _ in both], json.loads(end[1]), folder


@pytest.mark.slow
def test_two_processes_are_as_one_with_two_devices(shared):
    (first, second), alone, _ = shared
    assert first == second
    assert first["devices"] == alone["devices"] == 2
    assert first["games"] == alone["games"] == games()  # here on one device
    assert (first["learner"]["went_on"], alone["learner"]["went_on"]) == (False, True)
    for name in ("half", "whole", "loss"):
        assert first["learner"][name] == alone["learner"][name]


def test_processes_talk(met):
    assert met[0]["devices"] == 2 and met[0]["talk"] == met[1]["talk"] == [
        ["", "a" * 100],
        True,
        False,
        [[0, 1, 2], [1, 2, 3]],
        {"from": 0},
        "OSError: full",
        "ValueError: no number",
        "lanes=3: must be a multiple of the 2 devices",
    ]


def test_all_read_one_checkpoint_in_one_folder(met):
    told = "/own-1: process 1 on HOST does not see what process 0 writes there; give a folder that all share"
    assert met[0]["disks"] == [told, 2, 2]


def test_of_a_checkpoint_that_one_process_cannot_write_nothing_is_left(met):
    told = "/full: step 2 could not be saved (No space left on device); the earlier checkpoints are whole: free some space, then "
    assert met[0]["full"] == met[1]["full"] == [f"{told}go on with --resume", ["1"], [1, 2]]


def test_each_restores_its_own_rows_alone(met):
    first, second = (found["spread"] for found in met)
    assert first == [
        [[], [[0, 2]], [[0, 2], [0, 3]], [[0, 4], [0, 3]], [[0, 2], [0, 3]]],
        [[0, 1], [3, 4]],
        [[0, 1, 2], [3, 4, 5]],
    ]
    assert second == [
        [[], [[2, 4]], [[2, 4], [0, 3]], [[0, 4], [0, 3]], [[2, 4], [0, 3]]],
        [[6, 7], [9, 10]],
        [[6, 7, 8], [9, 10, 11]],
    ]


def test_what_one_machine_has_is_shared(met):
    assert [found["here"] for found in met] == [2, 2]
    assert all(0.4 < found["free"] < 0.6 for found in met)
    assert "and 0.0 GB are free" in met[1]["refused"] and met[0]["refused"] == met[1]["refused"]


def test_threads_of_messages_do_not_push_in(met):
    assert [found["yields"] for found in met] == [True, True]


@pytest.mark.slow
def test_all_stop_together_and_go_on(shared, tmp_path):
    (first, second), _, _ = shared
    stopped, steps, _, params = first["stopped"]
    assert stopped is None and steps[-1] == 5 and second["stopped"] == first["stopped"]
    running.run(ToyJob(ToyConfig(output=str(tmp_path)), Console(quiet=True)))
    assert hashlib.sha256((tmp_path / "params").read_bytes()).hexdigest()[:16] == params


@pytest.mark.slow
def test_samples_of_two_devices_are_dealt_to_one(shared):
    saved, own = shared_work.dealt(str(shared[2]))
    assert must_deal(saved) and not must_deal(own)
    ring = deal_rows(saved.ring, 1, shared_work.ROWS)
    assert ring.size.tolist() == [shared_work.ROWS]
    assert sorted(map(bytes, ring.rows)) == sorted(map(bytes, saved.ring.rows))


@pytest.mark.slow
def test_four_processes_play_the_same_games():
    code = "from jaxgames import runtime\nruntime.prepare(cores=1)\nprocesses.start(together)\n"
    code += "from tests.shared_games import games\nprint(games())\nprocesses.end()"
    ends = run_together(code, 4, prepared_environment())
    assert [(code, out, error) for code, out, error in ends] == [(0, f"{games()}\n", "")] * 4


@dataclasses.dataclass(frozen=True)
class Nothing:
    """Does nothing.

    Attributes:
      seconds: how long.
      seed: of nothing.
    """

    seconds: float = 0
    seed: int = 0


COMMAND = """
import sys, time, jaxgames
jaxgames.__version__ = sys.argv.pop(1)
from tests.jaxgames.test_processes import Nothing
from training.jobs.command_line import run_main
run_main(lambda config: time.sleep(config.seconds), Nothing)
"""


def refusals(*flags, patience=60):
    """Starts a process with each of these flags, after a version; gives what they say, which is one line, as they end with 2."""
    address = f"--coordinator localhost:{processes.free_port()} --patience {patience}".split()
    started = [start_python(["-c", COMMAND, *one.split(), *address], prepared_environment()) for one in flags]
    ends = ends_of(started)
    assert all(code and out == "" and error.startswith("error: ") and error.count("\n") == 1 for code, out, error in ends), ends
    return [error for _, _, error in ends]


def test_a_port_that_a_lost_coordinator_had_is_free(monkeypatch):
    """While connections of it wait for their end; not while somebody listens."""
    monkeypatch.setattr(processes, "_present", processes._Present())
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as JAX's does
        server.bind(("", 0))
        server.listen()
        address = f"localhost:{server.getsockname()[1]}"
        with pytest.raises(OSError, match="is in use"):
            processes._claim_port(address)
        client = socket.create_connection(("localhost", server.getsockname()[1]))
        accepted, _ = server.accept()
        accepted.close()  # first, so that its end waits
        client.close()
    processes._claim_port(address)
    if processes._present.claim >= 0:
        os.close(processes._present.claim)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the port alone tells, and only once it is taken")
def test_two_coordinators_that_begin_at_once(monkeypatch):
    """Neither listens yet, so that both could take the port."""
    monkeypatch.setattr(processes, "_present", processes._Present())
    address = f"localhost:{processes.free_port()}"
    processes._claim_port(address)
    second = ["-c", f"from jaxgames import processes; processes._claim_port({address!r})"]
    (end,) = ends_of([start_python(second, prepared_environment())])
    assert end[0] == 1 and end[2].strip().endswith("is there a second process 0?")
    processes._claim_port(address)  # the same process may begin again
    os.close(processes._present.claim)


@pytest.mark.slow
def test_where_jax_finds_no_others():
    (end,) = ends_of([start_python(["-c", COMMAND, "1", "--coordinator", "auto"], prepared_environment())])
    assert end[0] == 2 and end[1] == "" and end[2].count("\n") == 1
    assert end[2].startswith("error: coordinator='auto': JAX cannot find the other processes (")
    assert "give --coordinator HOST:PORT with --num-processes and --process-id, or none" in end[2]


def test_a_coordinator_that_does_not_answer():
    (told,) = refusals("1 --num-processes 2 --process-id 1", patience=1)
    assert "has not answered within 1 s" in told


@pytest.mark.slow
def test_processes_that_do_not_belong_together():
    both = refusals("1 --num-processes 2 --process-id 0", "1 --num-processes 3 --process-id 1")
    assert all("num_processes=2" in told and "num_processes=3" in told for told in both)


@pytest.mark.slow
def test_other_settings_another_version_and_one_number_twice():
    both = refusals("1 --num-processes 2 --process-id 0", "2 --num-processes 2 --process-id 1")
    assert all("code=jaxgames 1 (" in told and "code=jaxgames 2 (" in told for told in both)
    both = refusals("1 --num-processes 2 --process-id 0 --seed 3", "1 --num-processes 2 --process-id 1")
    assert all("seed=3" in told and "seed=0" in told for told in both)
    flags = "1 --seconds 60 --num-processes 2 --process-id"
    told = refusals(f"{flags} 0", f"{flags} 1", f"{flags} 1", patience=8)
    assert sum("process_id=1: was given to two processes" in one for one in told) >= 2


ENDLESS = """
import os, time
from jaxgames import processes
from tests.jaxgames.test_processes import Nothing
from training.jobs.command_line import run_main

def main(_):
    os.write(1, b"started\\n")
    while True:
        time.sleep(0.1)
        processes.wait()

run_main(main, Nothing)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("victim", "how"), [(1, signal.SIGKILL), (0, signal.SIGKILL), (1, signal.SIGSTOP), (0, signal.SIGSTOP)])
def test_a_lost_process_ends_the_others(victim, how):
    flags = f"--coordinator localhost:{processes.free_port()} --num-processes 2 --process-id".split()
    started = [start_python(["-c", ENDLESS, *flags, str(me)], prepared_environment()) for me in (0, 1)]
    for process in started:
        assert process.stdout is not None and process.stdout.readline() == "started\n"
    begun = time.monotonic()
    os.kill(started[victim].pid, how)
    _, told = started[1 - victim].communicate(timeout=60)
    assert time.monotonic() - begun < 30
    os.kill(started[victim].pid, signal.SIGCONT)  # one that was stopped finds that the others have ended
    ((_, _, own),) = ends_of([started[victim]])
    assert told.startswith(f"error: process {victim} of 2") and told.count("\n") == 1
    assert own.startswith(f"error: process {victim} of 2 gave no sign of life") if how == signal.SIGSTOP else own == ""


FULL = ENDLESS.replace("time.sleep(0.1)", "time.sleep(0.1)\n        if processes.index() == 1: open('/nowhere/log')").replace(
    "from jaxgames", "import training.storage.files\nfrom jaxgames", 1
)


@pytest.mark.slow
def test_an_error_that_one_process_meets_alone():
    flags = f"--coordinator localhost:{processes.free_port()} --num-processes 2 --process-id".split()
    other, alone = ends_of([start_python(["-c", FULL, *flags, str(me)], prepared_environment()) for me in (0, 1)])
    assert alone[0] == 2 and alone[2] == "error: /nowhere/log: No such file or directory\n"
    assert other[0] != 0 and other[2].startswith("error: process 0 of 2 ends, ") and other[2].count("\n") == 1
