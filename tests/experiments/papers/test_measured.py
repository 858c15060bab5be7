"""What all pages share: results that are made once and kept, pages that are filled from them, and where numbers come from."""

import contextlib
import dataclasses
import json
from pathlib import Path

import pytest

from experiments.pages import markdown
from experiments.papers.command import PAGES
from experiments.papers.measured import SHARED, Measurement, Page, Plan, origins, trained
from training.jobs.train_expert import TrainConfig
from training.storage import provenance
from training.storage.shards import Shard


@pytest.fixture
def page(tmp_path, monkeypatch):
    """A page of two numbers; `calls` tells which have been measured."""
    calls = []

    def measure(number):
        calls.append(number)
        return {"number": number}

    def part(number):
        return lambda plan: [Measurement(f"toy-{number}", lambda: measure(number), number)]

    def texts(plan):
        numbers = plan.found([*part(1)(plan), *part(2)(plan)])
        return {"numbers": markdown(["number"], [[str(one["number"])] for one in numbers.values()])}

    monkeypatch.setattr(provenance, "CHECKOUT", tmp_path)
    whole = (*SHARED, "jaxgames")
    monkeypatch.setattr(provenance, "source_hash", lambda sources: "now" if sources == whole else "other")
    template = tmp_path / "docs" / "results" / "toy.md"
    template.parent.mkdir(parents=True)
    template.write_text("# Toy\n\n<!-- table numbers -->\n<!-- /table -->\n\n<!-- table origins -->\n<!-- /table -->\n")
    toy = Page("toy", Plan, {"one": part(1), "two": part(2)}, ("jaxgames",), texts, lambda plan: {"toy": "<svg/>"})
    return toy, Plan(tmp_path / "new"), calls


def test_everything_is_measured_once_and_shown(page):
    toy, plan, calls = page
    said = []
    toy.make(plan, report=said.append)
    shown = (plan.folder / "toy.md").read_text()
    assert calls == [1, 2] and said[::2] == ["toy-1: begins, 1 of 2", "toy-2: begins, 2 of 2"]
    assert [line.split(":")[0] for line in said[1::2]] == ["toy-1", "toy-2"] and all(line.endswith(" s") for line in said[1::2])
    assert "| 1 |\n| 2 |" in shown and (plan.folder / "toy.svg").exists()
    kept = json.loads(plan.path("toy-1").read_text())
    assert kept["number"] == 1 and kept["sources"] == "now" and {"device", "versions", "commit"} <= set(kept)
    toy.make(plan, report=said.append)
    assert calls == [1, 2] and len(said) == 4 and (plan.folder / "toy.md").read_text() == shown


def test_parts_are_chosen_and_what_is_missing_is_shown_as_missing(page):
    toy, plan, calls = page
    toy.make(plan, ("two",), report=lambda line: None)
    assert calls == [2] and "| 2 |" in (plan.folder / "toy.md").read_text()
    toy.write(Plan(plan.folder / "empty"))
    assert "<!-- table numbers -->\n–\n" in (plan.folder / "empty" / "toy.md").read_text()
    with pytest.raises(ValueError, match="part='three': must be one of one, two"):
        toy.make(plan, ("three",))


def test_what_several_parts_share_is_measured_by_one_share_alone(page):
    toy, plan, calls = page

    def both(plan):
        return [*toy.parts["one"](plan), *toy.parts["two"](plan)]

    def three(plan):
        return [Measurement("toy-3", lambda: {"number": calls.append(3)})]

    several = dataclasses.replace(toy, parts={**toy.parts, "both": both, "three": three})
    assert [one.name for one in several.measurements(plan)] == ["toy-1", "toy-2", "toy-3"]
    assert [one.name for one in several.measurements(plan, ("both", "one"))] == ["toy-1", "toy-2"]
    for number, measured in ((1, [1, 3]), (2, [2])):
        calls.clear()
        apart = Plan(plan.folder / str(number))  # as if both began at the same time
        several.make(apart, report=lambda line: None, shard=Shard(number, 2))
        assert calls == measured


def test_results_name_the_code_with_which_they_began(page, monkeypatch):
    """Commits are made while something is measured; what has been imported stays as it is."""
    toy, plan, calls = page
    monkeypatch.setattr(provenance, "commit", lambda: f"commit {len(calls)}")
    monkeypatch.setattr(provenance, "source_hash", lambda sources: f"sources {len(calls)}")
    toy.make(plan, report=lambda line: None)
    kept = [json.loads(plan.path(f"toy-{number}").read_text()) for number in (1, 2)]
    assert [(one["commit"], one["sources"]) for one in kept] == [("commit 0", "sources 0")] * 2


def interrupted():
    raise KeyboardInterrupt


ENDS = [(lambda: None, contextlib.nullcontext()), (interrupted, pytest.raises(KeyboardInterrupt))]


@pytest.mark.parametrize(("stop", "ends"), ENDS)
def test_a_stopped_job_ends_and_loses_nothing(page, stop, ends):
    toy, plan, calls = page
    parts = {"one": toy.parts["one"], "stop": lambda plan: [Measurement("toy-stop", stop)], "two": toy.parts["two"]}
    with ends:
        dataclasses.replace(toy, parts=parts).make(plan, report=lambda line: None)
    assert calls == [1] and "| 1 |" in (plan.folder / "toy.md").read_text() and not plan.path("toy-stop").exists()


def test_results_of_other_code_are_told(page, monkeypatch):
    toy, plan, _ = page
    said = []
    toy.make(plan, report=lambda line: None)
    old = {"number": 7, "device": "old", "jax": "0.1", "commit": "abc", "commit_note": "from history"}
    plan.path("toy-2").write_text(json.dumps(old))
    toy.make(plan, report=said.append)
    assert said == [f"warning: made by other versions of {', '.join(SHARED)}, jaxgames: toy-2 (what is deleted is made again)"]
    assert "| abc* | old | 0.1 | 1 |" in (plan.folder / "toy.md").read_text()
    monkeypatch.setattr(provenance, "source_hash", lambda sources: "other")
    toy.make(plan, report=said.append)
    assert "toy-1, toy-2 (" in said[-1]


def test_origins_count_results():
    made = {"commit": "abc", "device": "x", "versions": {"jax": "1"}}
    assert origins([made, made, {"commit": None}]).splitlines()[2:] == ["| abc | x | 1 | 2 |", "| no checkout | – | – | 1 |"]


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_show_what_their_data_say(name, tmp_path):
    published = provenance.CHECKOUT / "docs" / "results"
    (tmp_path / "data").symlink_to(published / "data")
    page = dataclasses.replace(PAGES[name], figures=lambda plan: {})
    page.write(page.plan(tmp_path))
    assert (tmp_path / f"{name}.md").read_text() == (published / f"{name}.md").read_text()


@pytest.mark.parametrize("name", PAGES)
def test_names_of_measurements_differ_and_each_result_names_its_commit(name):
    page = PAGES[name]
    plan = page.plan(provenance.CHECKOUT / "docs" / "results")
    by_name = {one.name: one.label for one in page.measurements(plan)}
    assert len(by_name) > 10
    for result in filter(None, map(plan.read, by_name)):
        assert result["commit"]


def test_a_run_is_made_once_and_taken_up_with_the_same_settings_alone(tmp_path):
    config = TrainConfig(rounds=3, output=str(tmp_path / "run"), start="here.npz", resume=True)
    calls = []

    def train(config):
        calls.append(config)
        if len(calls) == 1:
            return None  # asked to stop
        folder, settings = Path(config.output), json.dumps(dataclasses.asdict(config))
        folder.mkdir()
        (folder / "settings.json").write_text(settings)
        (folder / "result.json").write_text(json.dumps({"wins": 0.5, "settings": json.loads(settings)}))
        return {"wins": 0.5}

    assert trained(train, config) is None
    found = trained(train, config)
    assert found["wins"] == 0.5 and found["settings"]["rounds"] == 3
    assert not {"output", "start", "resume"} & set(found["settings"])
    moved = dataclasses.replace(config, start="there.npz")
    assert trained(train, moved) == found and len(calls) == 2, "what is over is not begun again"
    with pytest.raises(ValueError, match=r"^rounds=4: the run in .*run has 3; give that, or choose another output$"):
        trained(train, dataclasses.replace(config, rounds=4))


@pytest.mark.parametrize("text", ["{", "[]", '{"settings": 3}', '{"wins": 0.5}'])
def test_a_result_that_is_none_is_told_in_one_line(text, tmp_path):
    (tmp_path / "result.json").write_text(text)
    with pytest.raises(ValueError, match=r"result\.json: torn, or no result of a run; remove it, and the run goes on$"):
        trained(lambda config: None, TrainConfig(output=str(tmp_path), resume=True))


def test_a_measurement_that_is_none_is_told_in_one_line(page):
    toy, plan, calls = page
    plan.path("toy-1").parent.mkdir(parents=True)
    plan.path("toy-1").write_text('{"number": ')
    with pytest.raises(ValueError, match=r"toy-1\.json: torn, or no measurement; remove it, and it is measured again$"):
        toy.make(plan, report=lambda line: None)
    assert calls == []
