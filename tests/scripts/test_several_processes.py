"""The commands of jobs in two processes, as a user starts them: they end well, and one of both writes what one alone writes."""

import json

import pytest

from jaxgames import processes
from tests.processes import ends_of, start_python

pytestmark = pytest.mark.slow  # each process compiles

HEX = ("--who.game", "hex", "--who.mode", "hex-3", "--who.network", "tiny")
LANES = ("--learn.lanes", "4", "--learn.batch-size", "8")
GAMES = {
    "evaluate": ("--game", "hex", "--mode", "hex-3", "--agents", "random", "path", "--games", "9", "--batch", "3"),
    "plan": ("--game", "hex", "--mode", "hex-3", "--planner", "mcs:num_simulations=4", "--opponent", "path", "--games", "5"),
    "tournament": ("--game", "hex", "--mode", "hex-3", "--agents", "random", "path", "mcs:num_simulations=4", "--games", "4"),
}
LEARNERS = {
    "train_q": (*HEX, *LANES, "--samples", "64", "--evaluate-every", "64", "--learn.buffer-size", "64", "--learn.updates", "1"),
    "train_alphaze": (
        *("--who.mode", "adh-3", "--who.network", "tiny", *LANES, "--learn.num-worlds", "2", "--learn.num-simulations", "4"),
        *("--learn.steps", "4", "--learn.epoch-samples", "32", "--learn.buffer-size", "64", "--learn.epoch-updates", "2"),
        *("--learn.updates", "2", "--epochs", "1", "--gate-games", "2", "--rate-games", "2"),
    ),
    "train_expert": (
        *(*HEX, *LANES, "--who.encoder", "alphaze", "--learn.source", "demonstrations", "--learn.player", "path"),
        *("--learn.samples", "64", "--learn.updates", "2", "--learn.steps", "4", "--rounds", "1", "--rate-games", "4"),
    ),
    "train_follower": (
        *("--follower.game", "hex", "--follower.mode", "hex-3", "--follower.network", "tiny", *LANES, "--learn.episodes", "4"),
        *("--learn.steps", "4", "--learn.buffer-size", "64", "--oracle.num-simulations", "4", "--oracle.horizon", "2"),
        *("--evaluate-every", "4", "--evaluate-games", "2"),
    ),
    "train_guess": (
        *("--who.mode", "mini", "--who.network", "tiny", "--learn.player", "hunt", *LANES, "--samples", "64"),
        *("--learn.buffer-size", "64", "--learn.updates", "1", "--learn.steps", "4", "--rate-every", "64"),
    ),
}
LONGER = {
    "train_q": ("--samples", "128"),
    "train_alphaze": ("--epochs", "2"),
    "train_expert": ("--rounds", "2"),
    "train_follower": (),  # is as long as it was begun
    "train_guess": ("--samples", "128"),
}
FINAL = ("train_q", "train_alphaze", "train_follower")  # play games at the end


def run(script, flags, folder, count=2):
    """Runs a command in so many processes of one device each; gives its result."""
    port = processes.free_port()
    together = [() if count == 1 else ("--coordinator", f"localhost:{port}", "--num-processes", str(count))] * count
    numbers = [() if count == 1 else ("--process-id", str(number)) for number in range(count)]
    commands = [
        [f"scripts/{script}.py", *flags, "--output", str(folder), *where, *number]
        for where, number in zip(together, numbers, strict=True)
    ]
    ends = ends_of([start_python(command, {"JAX_NUM_CPU_DEVICES": "1"}) for command in commands], seconds=400)
    assert [code for code, _, _ in ends] == [0] * count, ends
    assert all(out == "" for _, out, _ in ends[1:]), "one process alone shows"
    return json.loads((folder / "result.json").read_text())


@pytest.mark.parametrize("script", GAMES)
def test_games_are_the_same(script, tmp_path):
    two, one = (run(script, GAMES[script], tmp_path / str(count), count) for count in (2, 1))
    for told in (two, one):
        for name in (
            "settings",
            "seconds",
            "compile_seconds",
            "moves_per_second",
            "device",
            "devices",
            "versions",
            "cpu_seconds",
        ):
            told.pop(name, None)
    assert two == one


@pytest.mark.parametrize("script", LEARNERS)
def test_learners_run_to_their_ends_and_are_made_longer_alone(script, tmp_path):
    flags = (*LEARNERS[script], *(("--final-games", "2") if script in FINAL else ()))
    both = run(script, flags, tmp_path / "run")
    assert all(number == number for number in both.values() if isinstance(number, float)), "no NaN"
    command = [f"scripts/{script}.py", "--output", str(tmp_path / "run"), "--resume", *LONGER[script]]
    ((code, _, error),) = ends_of([start_python(command)], seconds=400)
    assert code == 0, error
    longer = json.loads((tmp_path / "run" / "result.json").read_text())
    assert longer["updates"] > both["updates"] or not LONGER[script]
