"""Files that settings name, and what several processes tell where one has others."""

import dataclasses
import importlib
from pathlib import Path

import pytest

from search import presets
from tests.processes import prepared_environment, run_together
from training.play import agents, own_agents
from training.storage import named_files
from training.storage.named_files import FileName, digests


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "best.npz").write_bytes(b"weights")
    (tmp_path / "mine.py").write_text("")
    (tmp_path / "sets" / "data_0.zr").mkdir(parents=True)
    (tmp_path / "sets" / "data_0.zr" / "0.0").write_bytes(bytes(100_000))
    return tmp_path


@dataclasses.dataclass(frozen=True)
class Learning:
    """Settings within others."""

    start: FileName = ""
    data_sets: tuple[FileName, ...] = ()


@dataclasses.dataclass(frozen=True)
class Named:
    """Settings that name files."""

    agents: tuple[str, ...] = ("network:best.npz", "random")
    mode: str = ""
    learn: Learning = Learning()
    output: str = "run"
    folder: Path = Path("run")
    games: int = 3


def paths(config):
    """What is found in the files of settings, without the digests."""
    return {name: [*found] for name, found in digests(config).items()}


def test_files_are_found_in_settings(here):
    agents = ("network:run/best.npz", "pc_pimc:guess=run,candidates=32", "python:mine.py:make", "random")
    given = Named((*agents, "sp_mcts:weights=none,model=follower:run"), learn=Learning("missing.npz", ("sets", "run")))
    assert paths(given) == {"agents": ["run/best.npz", "run", "mine.py"], "learn.data_sets": ["sets/data_0.zr", "run"]}
    (here / "odd=name,12:30").write_bytes(b"weights")
    for text in ("network:odd=name,12:30", "follower:weights=odd=name,12:30"):
        assert paths(Named((text,))) == {"agents": ["odd=name,12:30"]}, "all after the colon is the file"
    (here / "run_12:30").write_bytes(b"weights")
    for setting in ("guide", "guess", "weights"):
        assert paths(Named((f"fdts:{setting}=run_12:30,horizon=3",))) == {"agents": ["run_12:30"]}
    assert paths(Named()) == paths(Named(("network:" + "x" * 5000,))) == {}
    assert paths(Named(learn=Learning("odd=name,of:weights"))) == {}
    (here / "odd=name,of:weights").write_text("")
    assert paths(Named(learn=Learning("odd=name,of:weights"))) == {"learn.start": ["odd=name,of:weights"]}


def test_texts_of_agents_are_read_as_they_are_where_these_are_made():
    assert set(named_files._NETWORKS) == set(agents.NETWORKS) and named_files._PROGRAM == own_agents.PYTHON
    read = {entry.network for entry in presets.PLANNERS if entry.network} | {"guess"}
    assert set(named_files._READ) == read


def test_files_that_have_the_name_of_something_else_do_not_count(here):
    """Such as a run that is called as the variant of its game, or as the network that plays."""
    for name in ("ffa", "random", "network", "model", "sp_mcts", "root", "make", "simple", "ucb", "true"):
        (here / name).write_text("")
    given = ("random", "sp_mcts:root=true,model=network:run", "sp_mcts:model=python:mine.py:make", "sp_mcts:model=simple")
    given += ("fdts:bandit=ucb,num_simulations=3",)
    assert paths(Named(given, mode="ffa")) == {"agents": ["run", "mine.py"]}


@pytest.mark.parametrize(
    ("job", "name", "text"),
    [
        ("train_follower", "oracle.planner", "fdts:guide=run"),
        ("train_follower", "oracle.guide", "run"),
        ("train_follower", "learn.opponent", "network:run"),
        ("train_q", "opponent", "network:weights=run"),
        ("train_guess", "learn.player", "network:run"),
        ("train_alphaze", "start", "run"),
        ("train_expert", "start", "run"),
        ("train_expert", "learn.models.model", "network:run"),
        ("train_expert", "learn.data_sets", ("run",)),
    ],
)
def test_files_of_training_jobs_are_found(job, name, text, here):
    def changed(config, first, *rest):
        if not rest:
            others = {"source": "data_sets"} if first == "data_sets" else {}
            return dataclasses.replace(config, **{first: text}, **others)
        return dataclasses.replace(config, **{first: changed(getattr(config, first), *rest)})

    config = importlib.import_module(f"training.jobs.{job}").TrainConfig()
    assert paths(config) == {} and paths(changed(config, *name.split("."))) == {name: ["run"]}


@pytest.mark.parametrize(("named", "changed"), [("run", "run/best.npz"), ("sets", "sets/data_0.zr/0.0"), ("mine.py", "mine.py")])
def test_other_contents_have_other_digests(named, changed, here):
    given = Named(learn=Learning(named))
    before = digests(given)
    assert before["learn.start"] == digests(Named(learn=Learning(data_sets=(named,))))["learn.data_sets"]
    (here / changed).write_bytes(b"something else")
    assert paths(given) == {name: [*found] for name, found in before.items()} and digests(given) != before


def test_a_data_set_that_is_added_changes_nothing_of_the_others(here):
    given = Named(learn=Learning(data_sets=("sets",)))
    before = digests(given)["learn.data_sets"]
    (here / "sets" / "data_1.zr").mkdir()
    (here / "sets" / "data_1.zr" / "0.0").write_bytes(b"more")
    after = digests(given)["learn.data_sets"]
    assert after.items() > before.items() and len(after) == 2
    (here / "sets" / "data_10.zr").mkdir()
    (here / "sets" / "data_10.zr" / "0.0").write_bytes(b"more")
    (here / "sets" / "data_9.zr").mkdir()
    (here / "sets" / "data_9.zr" / "0.0").write_bytes(b"more")
    numbers = [name.removeprefix("sets/data_").removesuffix(".zr") for name in digests(given)["learn.data_sets"]]
    assert numbers == ["0", "1", "9", "10"], "in the order in which they are read"


START = """
import os
from tests.training.storage.test_named_files import Named
from training.jobs import command_line
os.chdir(os.path.join(FOLDER, str(me)))
try:
    command_line._start_processes(together, Named())
except ValueError as error:
    os.write(1, str(error).encode())
processes.end(failed=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("theirs", [b"other", None])
def test_two_processes_with_other_files_of_one_name(theirs, tmp_path):
    for number, content in enumerate([b"weights", theirs]):
        (tmp_path / str(number)).mkdir()
        if content is not None:
            (tmp_path / str(number) / "best.npz").write_bytes(content)
    code = START.replace("FOLDER", repr(str(tmp_path)))
    ends = run_together(code, 2, prepared_environment())
    for number, (_, out, error) in enumerate(ends):
        assert f"process {1 - number} on " in out and "has file best.npz=" in out and out.endswith(": start all with the same")
        assert error == "" and ("=nothing" in out) == (theirs is None)
