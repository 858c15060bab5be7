"""Rows in files, and the table that is made from them."""

import pytest

from experiments.benchmark import CASES, records, table
from tests.experiments.benchmark.rows import made_up_row


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
        made_up_row("hex/puct_100", per_cpu_second=640.0, details={"mctx_cpu_seconds_per_batch": 1.381, "times_mctx": 12.1}),
        made_up_row("pommerman/random", device="Test GPU", platform="gpu", per_cpu_second=None, per_wall_second=4.56e8),
    ]
    lines = table.figures(rows).splitlines()
    assert lines[0] == "**Test CPU, 2 cores, jax 1.2.3, 2030-01-02 to 2030-02-02**"
    assert lines[2] == "| work | peer | reach | ours, one core | all cores, wall | speed-up | batch | compile | commit |"
    random, fdts, compiling, searching = lines[4:8]
    assert random.startswith("| `pommerman/random`: ")
    assert random.endswith("| 5.58 M/s | 10.4 M/s | 1.90x | 256 | 3.1 s | abc1234, new |")
    assert fdts.endswith("| 3 ms, aim 1.5 ms | 1.56 ms | – | – | 64 | 3.1 s | abc1234 |")
    assert compiling.endswith("| step 2.0 s, planner 5.2 s | – | – | 256 | – | abc1234 |")
    assert "| 12.1x mctx (1.38 s) |" in searching
    assert lines[9] == "**Test GPU, 1 core, jax 1.2.3, 2030-01-02**"
    assert lines[13].endswith("| – | 456 M/s | – | 256 | 3.1 s | abc1234 |")


def test_what_was_measured_elsewhere_says_so():
    for peer in (peer for case in CASES for peer in case.peers):
        assert "{" in peer or peer.endswith("*") or ("x pomcpp2" in peer and "Intel Xeon" in peer)


@pytest.mark.parametrize(
    ("number", "text"),
    [(276, "276"), (5.0, "5.00"), (999.7, "1.00 k"), (12345, "12.3 k"), (2e6, "2.00 M"), (9.996e6, "10.0 M"), (1.43e9, "1.43 G")],
)
def test_short_numbers(number, text):
    assert table.short(number) == text
