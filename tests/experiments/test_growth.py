"""How cost grows: points, tables and figures, of rows that nobody has measured."""

import dataclasses
import json
import time

import pytest

from experiments import caches
from experiments.benchmark import harness
from experiments.benchmark.case import Request
from experiments.growth import command, curves, learners, page, worker
from experiments.growth.command import GrowthConfig
from experiments.growth.curves import BATCH, CORES, DAGGER, LEARNERS, MEMORY, SELF_PLAY, SIMULATIONS, Point
from experiments.pages import NONE

LEVELS = {"L1": 32 * 1024, "L2": 2**20}
MARKS = ("where", "caches")


def timed(part, name, number, rate, argument_bytes=0, **more):
    program = {"argument_bytes": argument_bytes, "extra_bytes": 1024}
    return {"part": part, "name": name, "number": number, "per_cpu_second": rate, "program": program, **more}


ROWS = [
    timed(BATCH, "pommerman/random", 1, 50.0, 1024),
    timed(BATCH, "pommerman/random", 8, 200.0, 64 * 1024),
    timed(BATCH, "pommerman/random", 64, 100.0, 2**21),
    {"part": BATCH, "name": "pommerman/random", "number": 256, "failed": "too large"},
    {"part": CORES, "name": "hex/dark_random, devices", "number": 1, "per_wall_second": 1e6},
    {"part": CORES, "name": "hex/dark_random, devices", "number": 2, "per_wall_second": 1.9e6},
    {"part": CORES, "name": "hex/dark_random, processes", "number": 1, "per_wall_second": 1e6},
    {"part": CORES, "name": "hex/dark_random, processes", "number": 4, "per_wall_second": 2e6},
    {"part": LEARNERS, "name": DAGGER, "number": 1, "per_wall_second": 4.0},
    {"part": LEARNERS, "name": DAGGER, "number": 2, "per_wall_second": 3.8},
    timed(SIMULATIONS, "hex PUCT", 100, 500.0, 2048, lanes=2),
    {"part": MEMORY, "name": "hex PUCT", "number": 100, "bytes": 4096},
]


def test_tables_say_what_was_measured():
    found = page.tables(ROWS, LEVELS)
    assert found["batch"].splitlines()[2:] == [
        "| `pommerman/random` | 1 | 50.0 | 25 % | 2 KiB | L1 |",
        "| `pommerman/random` | 8 | 200 | 100 % | 65 KiB | L2 |",
        "| `pommerman/random` | 64 | 100 | 50 % | 2.05e+03 KiB | memory |",
        "| `pommerman/random` | 256 | too large | – | – | – |",
    ]
    assert found["cores"].splitlines()[3] == "| `hex/dark_random` | 2 devices | 1.90 M | 1.90 |"
    assert found["cores"].splitlines()[-1] == "| `hex/dark_random` | 4 processes | 2.00 M | 2.00 |"
    assert found["learners"].splitlines()[2:] == [f"| {DAGGER} | 1 | 4 | 1.00 |", f"| {DAGGER} | 2 | 3.8 | 0.95 |"]
    assert found["simulations"].splitlines()[-1] == "| hex PUCT | 100 | 2 | 20 | 1 KiB |"
    assert found["memory"].splitlines()[-1] == "| hex PUCT | 100 simulations | 4 KiB |"
    assert found["caches"] == "L1 32 KiB, L2 1024 KiB"
    figures = page.figures(ROWS)
    assert all(drawn.startswith("<?xml") and "<svg" in drawn for drawn in figures.values())
    for name in ("hex/dark_random, devices", "hex/dark_random, processes", DAGGER):
        assert f"<!-- {name} -->" in figures["growth_spread.svg"]


def test_a_ratio_of_different_commits_names_them():
    """So that nobody takes a change of the code for an effect of processes."""
    rows = [
        {"part": part, "name": name, "number": number, "per_wall_second": rate, "commit": commit}
        for part, name in ((LEARNERS, DAGGER), (CORES, "hex/dark_random, devices"))
        for number, rate, commit in ((1, 4.0, "abc"), (2, 3.8, "def"), (4, 2.0, "abc"), (8, 1.0, None))
    ]
    found = page.tables(rows, LEVELS)
    for table in ("learners", "cores"):
        ratios = [line.split(" | ")[-1] for line in found[table].splitlines()[2:]]
        assert ratios == ["1.00 |", "0.95 (commits def, abc) |", "0.50 |", f"0.25 (commits {NONE}, abc) |"]
    assert "<!-- (of different commits) -->" in page.figures(rows)["growth_spread.svg"]


def test_what_failed_is_told_and_measured_again():
    def fails(point):
        raise RuntimeError("no room\nat all")

    point = Point(LEARNERS, DAGGER, 2)
    failed = command._one(fails, point)
    assert failed == {"part": LEARNERS, "name": DAGGER, "number": 2, "failed": "no room at all"}
    rows = [failed | {"part": part, "name": name} for part, name in ((CORES, "a, devices"), (LEARNERS, DAGGER), (MEMORY, "b"))]
    found = page.tables(rows, LEVELS)
    assert all("no room at all" in found[table] for table in ("cores", "learners", "memory")) and page.figures(rows)


def test_rows_are_kept_and_only_what_is_missing_is_measured(tmp_path, monkeypatch):
    asked = []

    def apart(points, seconds):
        for point in points:
            asked.append(point)
            yield {"part": point.part, "name": point.name, "number": point.number, "bytes": 7}

    monkeypatch.setattr(worker, "apart", apart)
    monkeypatch.setattr(command, "figures", lambda rows: {"growth_batch.svg": "<svg/>"})
    monkeypatch.setattr(command, "_about", lambda: {"device": "Toy", "commit": "abc", "caches": LEVELS})
    data, text = tmp_path / "growth.json", tmp_path / "growth.md"
    marks = [f"<!-- table {name} -->\n<!-- /table -->" for name in page.tables([], {}) if name not in MARKS]
    text.write_text("\n".join([*marks, *(f"<!-- text {name} --><!-- /text -->" for name in MARKS)]))
    config = GrowthConfig(parts=(MEMORY,), data=data, page=text)
    assert command.run(config) == 0 and asked == curves.points(MEMORY)
    assert [row["bytes"] for row in json.loads(data.read_text())["rows"]] == [7] * len(asked)
    first, asked[:] = len(asked), []
    assert command.run(config) == 0 and asked == [] and first > 6
    assert "Toy" in text.read_text() and (tmp_path / "growth_batch.svg").exists()
    monkeypatch.setattr(command, "_about", lambda: {"device": "Other", "commit": None, "caches": LEVELS})
    with pytest.raises(ValueError, match=r"has curves of Toy, and this is Other: give another file"):
        command.run(dataclasses.replace(config, again=True))
    assert command.run(dataclasses.replace(config, again=True, data=tmp_path / "other.json")) == 0
    assert f"commits {NONE}" in text.read_text(), "where no code is named"
    with pytest.raises(ValueError, match="parts='depth': must be some of memory, batch, simulations, cores, learners"):
        GrowthConfig(parts=("depth",))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"versions": {"python": "3.11", "jax": "0.11"}}, "jax 0.10, and this is jax 0.11"),
        ({"versions": {"python": "3.12", "jax": "0.10"}}, "python 3.11, and this is python 3.12"),
        ({"caches": {"L1": 2**16}}, "L1 32 KiB, L2 1024 KiB, and this is L1 64 KiB"),
        ({"caches": {}}, "L1 32 KiB, L2 1024 KiB, and this is no known caches"),
    ],
)
def test_rows_of_other_versions_and_caches_are_not_told_as_those_of_this_machine(changed, told, tmp_path, monkeypatch):
    """A device of the same name may have other caches."""
    about = {"device": "Toy", "versions": {"python": "3.11", "jax": "0.10", "jaxgames": "0.1"}, "commit": "abc", "caches": LEVELS}
    data, text = tmp_path / "growth.json", tmp_path / "growth.md"
    row = {"part": MEMORY, "name": "hex PUCT", "number": 25, "bytes": 7, "commit": "abc"}
    data.write_text(json.dumps({"about": about, "rows": [row]}))
    before = data.read_text()
    measured = []
    monkeypatch.setattr(command, "_measured", lambda points, config: measured.append(points) or [])
    monkeypatch.setattr(command, "_fill", lambda kept, page: None)
    config = GrowthConfig(parts=(MEMORY,), data=data, page=text)
    monkeypatch.setattr(command, "_about", lambda: about | changed)
    with pytest.raises(ValueError, match=f"has curves of {told}: give another file, and another page$"):
        command.run(config)
    assert not measured and data.read_text() == before
    monkeypatch.setattr(command, "_about", lambda: about | {"versions": about["versions"] | {"jaxgames": "0.2"}, "commit": "def"})
    assert command.run(config) == 0 and measured, "of other code each row tells the commit"


def test_a_page_that_is_published_is_not_emptied(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "_about", lambda: {"device": "Toy", "commit": "abc", "caches": LEVELS})
    monkeypatch.setattr(command, "fill", lambda *_: pytest.fail("wrote the page"))
    monkeypatch.setattr(command, "PAGE", tmp_path / "growth.md")
    data = tmp_path / "none.json"
    for given in (None, tmp_path / "growth.md"):
        with pytest.raises(ValueError, match=rf"^data='{data}': would overwrite growth\.md of the checkout; give --page$"):
            GrowthConfig(parts=(), data=data, page=given)
    other = GrowthConfig(parts=(), data=data, page=tmp_path / "other.md")
    with pytest.raises(ValueError, match=rf"^data='{data}': there is no such file$"):
        command.run(other)
    data.write_text('{"about": {}, "rows": []}')
    with pytest.raises(ValueError, match=rf"^data='{data}': holds no curves$"):
        command.run(other)


@pytest.mark.parametrize("text", ["{", "[]", '{"about": {}}', '{"about": {}, "rows": [{"part": "memory"}]}'])
def test_a_file_of_something_else_is_told_in_one_line(text, tmp_path):
    data = tmp_path / "growth.json"
    data.write_text(text)
    with pytest.raises(ValueError, match=r"growth\.json: torn, or no file of growth curves; remove it, or give another file$"):
        command.run(GrowthConfig(parts=(), data=data, page=tmp_path / "growth.md"))


def test_learners_are_timed_when_all_is_compiled():
    log = [{"iteration": number, "seconds": seconds} for number, seconds in enumerate([90, 91, 92, 92.5, 93, 93.5, 99], 1)]
    assert learners.pace(log, 3, 6) == 3 / 1.5
    with pytest.raises(learners.RunFailedError, match="7 iterations: must be at least 9, to be timed from 3 to there"):
        learners.pace(log, 3, 9)
    assert set(learners.JOBS) == {point.name for point in curves.points(LEARNERS)} == {SELF_PLAY, DAGGER}


def test_learners_count_their_own_devices():
    """The process that measures has a device per core, and its flags are not those of processes with one core each."""
    environment = {"XLA_FLAGS": "--xla_a=1 --xla_force_host_platform_device_count=2 --xla_b=2", "PJRT_NPROC": "2", "HOME": "/"}
    assert learners._as_a_user(environment) == {"XLA_FLAGS": "--xla_a=1 --xla_b=2", "HOME": "/"}


def test_more_processes_than_cores_are_measured_and_more_devices_are_not(monkeypatch):
    monkeypatch.setattr(command.runtime, "usable_cores", lambda: 2)
    monkeypatch.setattr(worker, "on_cores", lambda point, seconds: {"name": point.name, "number": point.number})
    points = [Point(CORES, f"hex/dark_random, {kind}", number) for kind in ("devices", "processes") for number in (2, 4)]
    measured = [(row["name"].split(", ")[1], row["number"]) for row in command._measured(points, GrowthConfig())]
    assert measured == [("devices", 2), ("processes", 2), ("processes", 4)]


def test_processes_measure_at_the_same_time(monkeypatch):
    """None begins before all are there."""
    arrived, begun = [], []

    def measure_apart(request, core):
        time.sleep(0.2 * core)
        arrived.append(core)
        monkeypatch.setattr(harness.os, "getpid", lambda: f"process {core}")
        harness.meet(request)
        begun.append(len(arrived))
        return {"per_cpu_second": 1.0, "per_wall_second": 2.0}

    monkeypatch.setattr(worker.benchmark_worker, "measure_apart", measure_apart)
    monkeypatch.setattr(worker.runtime, "usable_cores", lambda: 2)
    row = worker.on_cores(Point(CORES, "hex/dark_random, processes", 2), 1.0)
    assert begun == [2, 2] and (row["per_cpu_second"], row["per_wall_second"]) == (1.0, 4.0)


def test_where_one_process_fails_the_others_do_not_wait_for_it(monkeypatch):
    def measure_apart(request, core):
        if core == 1:
            time.sleep(0.05)
            raise worker.benchmark_worker.MeasurementError("no room")
        harness.meet(request)

    monkeypatch.setattr(harness, "MOST_WAITING", 5)
    monkeypatch.setattr(worker.benchmark_worker, "measure_apart", measure_apart)
    monkeypatch.setattr(worker.runtime, "usable_cores", lambda: 2)
    begun = time.monotonic()
    with pytest.raises(worker.benchmark_worker.MeasurementError, match=r"^no room$"):
        worker.on_cores(Point(CORES, "hex/dark_random, processes", 2), 1.0)
    assert time.monotonic() - begun < 4


def test_the_rate_of_several_processes_is_the_work_of_all_over_the_cpu_seconds_of_all(monkeypatch):
    rates = iter([{"per_cpu_second": 8.0, "per_wall_second": 6.0}, {"per_cpu_second": 2.0, "per_wall_second": 1.0}])
    monkeypatch.setattr(worker.benchmark_worker, "measure_apart", lambda request, core: next(rates))
    row = worker.on_cores(Point(CORES, "hex/dark_random, processes", 2), 1.0)
    assert row["per_wall_second"] == 7.0
    assert row["per_cpu_second"] == pytest.approx(7 / (6 / 8 + 1 / 2)), "in a second: 6 in 3/4 of one, and 1 in a half"


def test_more_processes_than_cores_take_turns(monkeypatch):
    given = []
    rates = {"per_cpu_second": 1.0, "per_wall_second": 0.5}
    monkeypatch.setattr(worker.runtime, "usable_cores", lambda: 2)
    monkeypatch.setattr(worker.benchmark_worker, "measure_apart", lambda request, core: given.append(core) or rates)
    row = worker.on_cores(Point(CORES, "hex/dark_random, processes", 4), 1.0)
    assert sorted(given) == [0, 0, 1, 1] and row["per_wall_second"] == 2.0


def test_a_process_that_waits_in_vain_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(harness, "MOST_WAITING", 0.05)
    harness.meet(Request("hex/dark_random", meeting=str(tmp_path)))
    with pytest.raises(TimeoutError, match=r"^1 of 2 processes are ready after 0\.05 seconds$"):
        harness.meet(Request("hex/dark_random", meeting=str(tmp_path), processes=2))


def test_a_process_that_is_left_alone_says_so(tmp_path):
    """Also where as many are there as should be, the file that tells of the failure counted."""
    (tmp_path / harness.FAILED).touch()
    with pytest.raises(harness.LeftAloneError, match=r"^another process that measures at the same time has failed$"):
        harness.meet(Request("hex/dark_random", meeting=str(tmp_path), processes=2))


def test_caches_are_read(tmp_path):
    for number, (kind, level, size) in enumerate([("Data", 1, "48K"), ("Instruction", 1, "32K"), ("Unified", 2, "2M")]):
        folder = tmp_path / f"index{number}"
        folder.mkdir()
        for name, value in (("type", kind), ("level", level), ("size", size)):
            (folder / name).write_text(f"{value}\n")
    assert caches.read(tmp_path) == {"L1": 48 * 1024, "L2": 2 * 2**20}
    assert caches.read(tmp_path / "nothing") == {}


def test_trees_grow_with_simulations_and_rows():
    sizes = [curves.tree_bytes(Point(MEMORY, "Pommerman FDTS", rows)) for rows in (256, 1024)]
    assert sizes[1] == 4 * sizes[0]
    for number in (25, 400):
        node = 688 + 24 * min(number, 121)  # as the page says
        assert curves.tree_bytes(Point(MEMORY, "hex PUCT", number)) == (number + 1) * node + 4
