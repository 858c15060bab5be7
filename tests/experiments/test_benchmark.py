import dataclasses
import functools
import json
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from experiments.benchmark import CASES, Request, command, find, harness, hex, measure, records, table, worker
from experiments.benchmark.cases import names
from experiments.benchmark.pommerman import CAREFUL, RANDOM, SIMPLE, join_moves, lane_keys, play
from experiments.benchmark.pommerman_search import fdts_match, step_and_planner
from experiments.benchmark.pommerman_starts import Fresh, Pool, start_from
from jaxgames import random_bits
from jaxgames.pommerman import PRESETS, Pommerman, rules, setup
from jaxgames.random_bits import LaneKey
from tests.processes import output_of
from training.jobs.command_line import run_main
from training.storage import provenance

CONFIG = PRESETS["ffa"]
GAME = Pommerman(CONFIG)
STEPS, LANES = 16, 6
POLICIES = {"random": RANDOM, "careful": CAREFUL, "simple_agents": SIMPLE}


def small_case(name: str):
    """Gives a case of steps with few steps and a small pool."""
    source = Fresh(CONFIG, block=4) if name == "random_fresh" else Pool(CONFIG, size=8)
    program = functools.partial(play, POLICIES.get(name, RANDOM), source, STEPS, GAME)
    return dataclasses.replace(find(f"pommerman/{name}"), measure=harness.throughput(program))


def small_match():
    program = functools.partial(fdts_match, num_simulations=4, horizon=3, table_rows=64, warm_up=2, calls=2, pool_size=8)
    return dataclasses.replace(find("pommerman/fdts"), measure=harness.throughput(program))


@functools.cache
def row_of(name: str, seed: int = 0) -> dict:
    return measure(small_case(name), Request(f"pommerman/{name}", batch=LANES, repeats=5, seed=seed))


def made_up_row(case: str, cores: int = 1, **fields) -> dict:
    """Gives a complete row without measuring."""
    return {
        "case": case,
        "unit": find(case).unit,
        "per_cpu_second": 1.0,
        "per_wall_second": 1.0,
        "cores": cores,
        "devices": cores,
        "batch": 256 * cores,
        "compile_seconds": 3.14,
        "mean_episode_length": None,
        "resets": 0,
        "checksum": "00000000",
        "repeats": {"number": 5},
        "settings": {},
        "details": {},
        "device": "Test CPU",
        "platform": "cpu",
        "versions": {"jax": "1.2.3"},
        "commit": "abc1234",
        "date": "2030-01-02T03:04:05+00:00",
        **fields,
    }


# --- what a row holds ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["random", *(pytest.param(name, marks=pytest.mark.slow) for name in ("random_fresh", "careful"))]
)
def test_a_row_has_every_field(name):
    row = row_of(name)
    records.check(row)
    assert list(json.loads(json.dumps(row))) == list(row)
    assert set(row) == set(records.SCHEMA)
    assert (row["case"], row["unit"], row["cores"], row["devices"], row["batch"]) == (f"pommerman/{name}", "steps", 1, 1, LANES)
    assert row["per_cpu_second"] > 0 and row["per_wall_second"] > 0 and row["compile_seconds"] > 0
    assert row["repeats"]["number"] == 5
    assert row["repeats"]["per_cpu_second"]["best"] >= row["repeats"]["per_cpu_second"]["median"] == row["per_cpu_second"]
    assert row["settings"]["steps_per_repeat"] == STEPS and row["settings"]["seed"] == 0
    assert set(row["versions"]) == {"python", "jax", "jaxlib", "jaxgames"}
    assert len(row["checksum"]) == 8


def test_random_games_are_short():
    row = row_of("random")
    assert 5 * STEPS * LANES / 40 < row["resets"] < 5 * STEPS * LANES / 10
    assert 10 < row["mean_episode_length"] < 40


@pytest.mark.slow
def test_the_checksum_depends_on_the_seed_and_the_work_alone():
    again = measure(small_case("random"), Request("pommerman/random", batch=LANES, repeats=5))
    assert again["checksum"] == row_of("random")["checksum"]
    assert len({row_of("random", seed=1)["checksum"], row_of("careful")["checksum"], again["checksum"]}) == 3


@pytest.mark.slow
def test_the_checksum_does_not_depend_on_the_number_of_devices():
    code = f"""
from jaxgames import runtime
runtime.prepare(cores=2)
from tests.training.test_benchmark import *
print(measure(small_case("random"), Request("pommerman/random", batch={LANES // 2}, repeats=5))["checksum"])
"""
    assert output_of(code, {"JAX_PLATFORMS": "cpu"}) == row_of("random")["checksum"]


@pytest.mark.slow
def test_simple_agents_play():
    row = row_of("simple_agents")
    records.check(row)
    assert row["resets"] == 0  # nobody dies within 96 steps on these boards


@pytest.mark.slow
def test_a_row_of_plans():
    rows = [measure(small_match(), Request("pommerman/fdts", batch=4, repeats=5)) for _ in range(2)]
    records.check(rows[0])
    assert rows[0]["checksum"] == rows[1]["checksum"]
    assert rows[0]["unit"] == "plans" and rows[0]["mean_episode_length"] is None
    assert rows[0]["settings"] | {"num_simulations": 4, "horizon": 3, "table_rows": 64, "seed": 0} == rows[0]["settings"]
    assert 0 < rows[0]["details"]["alive"] <= 1 and rows[0]["details"]["tree_rows"] > 0
    assert rows[0]["details"]["step_count"] == 2 + 5 * 2


@pytest.mark.slow
def test_only_plans_of_living_planners_count():
    lanes = 16
    program = fdts_match(lanes, num_simulations=2, horizon=1, table_rows=64, pool_size=8)
    match, tally = program.start(jax.random.key(0), jnp.arange(lanes)), harness.empty_tally(lanes)
    plan, step = jax.jit(program.timed), jax.jit(program.between)
    asked, played = np.zeros(lanes, int), np.zeros(lanes, int)
    for _ in range(120):
        alive = np.asarray(match.states.alive)[np.arange(lanes), np.asarray(match.seats)]
        asked += alive
        match, tally = step(*plan(match, tally))
        new = np.asarray(match.states.step_count) == 0
        played += new
        assert np.asarray(match.states.alive)[new].all()
    assert 0 < asked.sum() < 120 * lanes and played.sum() > 0
    np.testing.assert_array_equal(tally.units, asked)
    np.testing.assert_array_equal(tally.episodes, played)


def test_a_compilation_counts_seconds():
    functions = {"step": (lambda x: x + 1, (jnp.zeros(2),)), "planner": (lambda x: x * 2, (jnp.zeros(2),))}
    case = dataclasses.replace(find("pommerman/compile"), measure=harness.compilation(lambda batch: functions))
    row = measure(case, Request(case.name, batch=3, repeats=5))
    records.check(row)
    assert row["per_cpu_second"] is row["per_wall_second"] is None
    assert row["compile_seconds"] == row["details"]["step_seconds"] > 0
    assert row["details"]["planner_seconds"] == row["repeats"]["planner_wall"]["median"] >= row["repeats"]["planner_wall"]["best"]
    assert row["repeats"]["step_cpu"]["median"] > 0


def test_step_and_planner_fit_their_shapes():
    functions = step_and_planner(3, plan_batch=2, num_simulations=2, horizon=2, table_rows=64)
    states = jax.eval_shape(functions["step"][0], *functions["step"][1])
    plan, _ = jax.eval_shape(functions["planner"][0], *functions["planner"][1])
    assert states.terminated.shape == (3,)
    assert plan.actions.shape == (2, 4)


def search_beside_mctx(values: str, num_simulations: int = 4) -> dict:
    """Measures a small search, on a board that ten stones cannot join."""
    name = {"hash": "hex/puct_100", "constant": "hex/puct_100_constant"}[values]
    case = dataclasses.replace(find(name), measure=hex.beside_mctx(num_simulations, size=7, values=values))
    return measure(case, Request(name, batch=2, repeats=5))


@pytest.mark.parametrize("values, other", [("hash", 0), ("hash", 1), pytest.param("constant", 1, marks=pytest.mark.slow)])
def test_a_search_that_differs_from_mctx_is_an_error_unless_ties_are_broken_by_noise(monkeypatch, values, other):
    program = hex.searches(2, num_simulations=4, size=7, values=values)
    visits = (hex._digests(program, 0, 2) + np.array([0, other], np.uint32)).tolist()
    found = json.dumps({"cpu_seconds": 1.0, "compile_seconds": 1.0, "visits": visits})
    monkeypatch.setattr(hex.subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 0, found))
    if values == "hash" and other:
        with pytest.raises(RuntimeError, match=r"lanes_with_the_same_visits=0\.5: must be 1"):
            search_beside_mctx(values)
    else:
        row = search_beside_mctx(values)
        records.check(row)
        assert row["details"]["lanes_with_the_same_visits"] == (0.5 if other else 1)


@pytest.mark.slow
@pytest.mark.parametrize("values", ["hash", "constant"])
def test_a_search_is_compared_with_mctx(values):
    row = search_beside_mctx(values, num_simulations=30)
    records.check(row)
    assert row["settings"]["values"] == values and row["details"]["times_mctx"] > 0
    assert values == "constant" or row["details"]["lanes_with_the_same_visits"] == 1


# --- the games that are measured ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_loop_plays_the_game():
    program = play(RANDOM, Pool(CONFIG, size=3), 40, GAME, LANES)
    key = jax.random.key(5)
    lanes = program.start(key, jnp.arange(LANES))
    after, tally = jax.jit(program.timed)(lanes, harness.empty_tally(LANES))

    step = jax.jit(jax.vmap(functools.partial(rules.step, CONFIG)))
    states, episodes, lengths = lanes.states, np.zeros(LANES, int), np.zeros(LANES, int)
    for clock in range(1, 41):
        keys = random_bits.fold(lanes.keys, clock)
        moves = jnp.stack([random_bits.below(random_bits.bits(keys, seat), 6) for seat in range(4)], axis=-1)
        states = step(states, moves)
        over = np.asarray(states.terminated)
        episodes, lengths = episodes + over, lengths + over * np.asarray(states.step_count)
        fresh, _ = Pool(CONFIG, size=3).take(lanes.source, keys, jnp.asarray(over))
        states = jax.tree.map(lambda new, old, over=over: jnp.where(over, new, old), fresh, states)
    assert episodes.sum() > 3
    np.testing.assert_array_equal(tally.episodes, episodes)
    np.testing.assert_array_equal(tally.lengths, lengths)
    np.testing.assert_array_equal(tally.units, np.full(LANES, 40))
    jax.tree.map(np.testing.assert_array_equal, after.states, states)


def test_moves_pass_through_a_word():
    moves = np.random.default_rng(0).integers(0, 6, (4, 100), dtype=np.int32)
    np.testing.assert_array_equal(join_moves(tuple(jnp.asarray(move) for move in moves)), moves.T)


def test_the_pool_is_drawn_from_fairly():
    pool, lanes = Pool(CONFIG, size=5), 4096
    boards = pool.init(jax.random.key(0), jnp.arange(lanes))
    states, _ = pool.take(boards, lane_keys(jax.random.key(1), jnp.arange(lanes)), jnp.ones(lanes, bool))
    rows = np.stack([*states.rigid.words, *states.wood.words], axis=-1)
    _, counts = np.unique(rows, axis=0, return_counts=True)
    assert len(counts) == 5
    assert scipy.stats.chisquare(counts).pvalue > 1e-3


def test_start_states_are_those_of_their_boards():
    state = setup.init(CONFIG, jax.random.key(2))
    boards = Pool(CONFIG, size=1).init(jax.random.key(3), jnp.arange(1))
    drawn = setup.init(CONFIG, jax.random.split(jax.random.key(3), 1)[0])
    jax.tree.map(np.testing.assert_array_equal, start_from(CONFIG, boards[0]), drawn)
    assert jax.tree.structure(drawn) == jax.tree.structure(state)


def test_fresh_boards_are_never_given_twice():
    source, lanes = Fresh(CONFIG, block=4), 7
    stack = source.init(jax.random.key(0), jnp.arange(lanes))
    take, seen = jax.jit(source.take), []
    wanted = np.random.default_rng(0).random((12, lanes)) < 0.4
    wanted[3], wanted[4] = False, True
    unused = LaneKey(jnp.zeros(lanes, jnp.uint32), jnp.zeros(lanes, jnp.uint32))
    for mask in wanted:
        states, stack = take(stack, unused, jnp.asarray(mask))
        assert 0 <= int(stack.left) < lanes + 4
        words = np.stack([*states.rigid.words, *states.wood.words, *(w for p in states.items for w in p.words)], axis=-1)
        seen += [tuple(row) for row in words[mask]]
        for lane in np.flatnonzero(mask):
            state = jax.tree.map(lambda leaf, lane=lane: leaf[lane], states)
            assert (int(state.rigid.count()), int(state.wood.count())) == (CONFIG.num_rigid, CONFIG.num_wood)
    assert len(set(seen)) == len(seen) == wanted.sum()
    assert int(stack.block) <= wanted.sum() / 4 / 0.5


# --- files, table, command line --------------------------------------------------------------------------------------------


def test_rows_are_appended(tmp_path):
    rows = [made_up_row("pommerman/random", per_cpu_second=float(i)) for i in range(3)]
    paths = {records.append(tmp_path / "new", row) for row in rows}
    assert paths == {tmp_path / "new" / "test-cpu.json"}
    assert records.read(paths.pop()) == rows == records.read_all(tmp_path / "new")
    assert records.newest(rows) == rows[-1:]


@pytest.mark.parametrize("content", ["", "[", "{}", "[1]", '[{"case": "pommerman/random"}]', b"\xff"])
def test_a_foreign_file_is_an_error_and_stays(tmp_path, content):
    path = tmp_path / "test-cpu.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"test-cpu\.json"):
        records.append(tmp_path, made_up_row("pommerman/random"))
    assert path.read_bytes() == before


@pytest.mark.parametrize(("field", "value"), [("cores", "1"), ("checksum", 7), ("device", None)])
def test_a_bad_row_is_an_error(tmp_path, field, value):
    with pytest.raises(ValueError, match=field):
        records.append(tmp_path, made_up_row("pommerman/random", **{field: value}))
    row = made_up_row("pommerman/random")
    del row[field]
    with pytest.raises(ValueError, match=f"without '{field}'"):
        records.append(tmp_path, row)
    assert list(tmp_path.iterdir()) == []


def test_the_table_shows_the_newest_rows():
    rows = [
        made_up_row("pommerman/fdts", per_cpu_second=640.0, batch=64),
        made_up_row("pommerman/random", per_cpu_second=1.0, per_wall_second=1.0),
        made_up_row("pommerman/random", per_cpu_second=5.58e6, per_wall_second=5.5e6),
        made_up_row("pommerman/random", 2, per_wall_second=10.45e6, date="2030-02-02T03:04:05+00:00", commit="new"),
        made_up_row("pommerman/compile", details={"step_seconds": 2.04, "planner_seconds": 5.25}),
        made_up_row("pommerman/random", device="Test GPU", platform="gpu", per_cpu_second=None, per_wall_second=4.56e8),
    ]
    text = table.markdown(rows)
    lines = text.splitlines()
    assert lines[0] == "**Test CPU, 2 cores, jax 1.2.3, 2030-01-02 to 2030-02-02**"
    assert lines[2] == "| work | peer | reach | ours, one core | all cores, wall | speed-up | batch | compile | commit |"
    random, fdts, compiling = lines[4:7]
    assert random.startswith("| `pommerman/random`: ")
    assert random.endswith("| 5.58 M/s | 10.4 M/s | 1.90x | 256 | 3.1 s | abc1234, new |")
    assert fdts.endswith("| 3 ms, aim 1.5 ms | 1.56 ms | – | – | 64 | 3.1 s | abc1234 |")
    assert compiling.endswith("| step 2.0 s, planner 5.2 s | – | – | 256 | – | abc1234 |")
    assert lines[8] == "**Test GPU, 1 core, jax 1.2.3, 2030-01-02**"
    assert lines[12].endswith("| – | 456 M/s | – | 256 | 3.1 s | abc1234 |")


@pytest.mark.parametrize(
    ("number", "text"),
    [(276, "276"), (5.0, "5.00"), (999.7, "1.00 k"), (12345, "12.3 k"), (2e6, "2.00 M"), (9.996e6, "10.0 M"), (1.43e9, "1.43 G")],
)
def test_short_numbers(number, text):
    assert table.short(number) == text


def test_refresh_replaces_only_what_is_between_the_marks(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"# Title\n\n{table.BEGIN}\nold\n{table.END}\nrest\n")
    for text in ("new", "newer"):
        table.refresh(readme, text)
        assert readme.read_text() == f"# Title\n\n{table.BEGIN}\n{text}\n{table.END}\nrest\n"


@pytest.mark.parametrize("content", ["", table.BEGIN, f"{table.END}{table.BEGIN}", f"{table.BEGIN}{table.BEGIN}{table.END}"])
def test_a_readme_without_a_place_is_an_error(tmp_path, content):
    readme = tmp_path / "README.md"
    readme.write_text(content)
    with pytest.raises(ValueError, match=r"README\.md: must have one line"):
        table.refresh(readme, "new")
    assert readme.read_text() == content


def test_slugs():
    assert provenance.slug("Intel(R) Xeon(R) CPU @ 2.20GHz") == "intel-xeon-cpu-2-20ghz"
    assert provenance.slug("NVIDIA H200") == "nvidia-h200"
    assert provenance.slug("?") == "unknown"


def test_the_commit_tells_of_changes(tmp_path):
    assert provenance.commit(tmp_path) is None
    git = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    (tmp_path / "a.py").write_text("1\n")
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *arguments], check=True)
    clean = provenance.commit(tmp_path)
    assert clean and not clean.endswith("+changes")
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "test-cpu.json").write_text("[]")
    assert provenance.commit(tmp_path) == clean
    (tmp_path / "a.py").write_text("2\n")
    assert provenance.commit(tmp_path) == f"{clean}+changes"


def leave(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        run_main(command.run, command.BenchmarkConfig, arguments)
    return stop.value.code or 0


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["pommerman/chess"], ["case='pommerman/chess'", *names()]),
        (["--cores", "100000"], ["cores=100000"]),
        (["--cores", "0"], ["cores=0: must be >= 1"]),
        (["--repeats", "2"], ["repeats=2: must be >= 5"]),
        (["--batch", "0"], ["batch=0: must be >= 1"]),
        (["--seed", "-1"], ["seed=-1: must be in 0..4294967295"]),
    ],
)
def test_bad_input_is_one_line(arguments, named, capsys):
    assert leave(*arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: ") and printed.err.count("\n") == 1
    assert [part for part in named if part not in printed.err] == []


def test_list(capsys):
    assert leave("--list") == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == names() == [case.name for case in CASES]


def test_json_lines_are_alone_on_stdout_and_recorded(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(worker, "measure_apart", lambda request: made_up_row(request.case, request.cores))
    arguments = ["pommerman/random", "pommerman/careful", "--cores", "1", "--folder", str(tmp_path)]
    assert leave(*arguments, "--json") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["case"] for row in rows] == arguments[:2]
    assert records.read_all(tmp_path) == rows
    assert leave(*arguments, "--no-record") == 0
    assert "pommerman/careful" in capsys.readouterr().out
    assert records.read_all(tmp_path) == rows


def test_table_alone_measures_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(worker, "measure_apart", lambda request: pytest.fail(f"measured {request}"))
    readme = tmp_path / "README.md"
    readme.write_text(f"{table.BEGIN}\n{table.END}\n")
    row = made_up_row("pommerman/random")
    records.append(tmp_path / "rows", row)
    assert leave("--table", "--folder", str(tmp_path / "rows"), "--readme", str(readme)) == 0
    assert capsys.readouterr().out == f"{table.markdown([row])}\n"
    assert table.markdown([row]) in readme.read_text()


def test_a_measurement_that_fails_does_not_stop_the_others(tmp_path, capsys, monkeypatch):
    def fail_once(request):
        if request.case == "pommerman/random":
            raise worker.MeasurementError("pommerman/random: died")
        return made_up_row(request.case)

    monkeypatch.setattr(worker, "measure_apart", fail_once)
    assert leave("pommerman/random", "pommerman/careful", "--cores", "1", "--json", "--folder", str(tmp_path)) == 1
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 1 and "pommerman/random: died" in printed.err


@pytest.mark.slow
def test_a_case_is_measured_in_a_process_of_its_own():
    row = worker.measure_apart(Request("pommerman/random", batch=1, repeats=5))
    records.check(row)
    assert (row["case"], row["cores"], row["devices"], row["batch"]) == ("pommerman/random", 1, 1, 1)


@pytest.mark.parametrize("case", ["random", "fdts"])
def test_a_batch_that_does_not_fit_is_one_line(case, capfd):
    assert leave(f"pommerman/{case}", "--batch", "1000000000", "--cores", "1", "--no-record", "--json") == 1
    printed = capfd.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"error: pommerman/{case} on 1 core: batch=1000000000: ") and printed.err.count("\n") == 1


def test_a_process_that_dies_is_an_error(capfd):
    with pytest.raises(worker.MeasurementError, match="no such case on 1 core"):
        worker.measure_apart(Request("no such case"))
    assert "must be one of pommerman/random" in capfd.readouterr().err
