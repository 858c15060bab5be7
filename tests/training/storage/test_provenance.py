"""On what, and with which code, something was measured."""

import subprocess
from pathlib import Path

import pytest

from tests.processes import output_of
from training.storage import provenance


def test_slugs():
    assert provenance.slug("Intel(R) Xeon(R) CPU @ 2.20GHz") == "intel-xeon-cpu-2-20ghz"
    assert provenance.slug("NVIDIA H200") == "nvidia-h200"
    assert provenance.slug("?") == "unknown"


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ("model name\t: AMD EPYC\nflags\t\t: fpu avx2 avx512f\n", "AMD EPYC"),
        ("model name\t: AMD EPYC\nflags\t\t: fpu avx2\n", "AMD EPYC, no AVX-512"),
        ("model name\t: Neoverse  N1\nFeatures\t: asimd\n", "Neoverse N1"),
    ],
)
def test_processors_of_one_name_and_two_speeds_are_told_apart(told, name, monkeypatch):
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: told)
    assert provenance.cpu_name() == name


def test_a_processor_is_described_without_a_backend():
    """As one would describe it: forks of a process that has started a backend may hang."""
    output_of(
        "import jax; from jax._src import xla_bridge; from training.storage import provenance; told = provenance.describe_cpu(); "
        "assert not xla_bridge._backends; assert told == provenance.describe(jax.devices('cpu')[0])"
    )


def test_the_commit_tells_of_changes(tmp_path):
    assert provenance.commit(tmp_path) is None
    git = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    (tmp_path / "a.py").write_text("1\n")
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *arguments], check=True)
    clean = provenance.commit(tmp_path)
    assert clean and not clean.endswith("+changes")
    for folder in ("benchmarks", "docs/results/data"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "test-cpu.json").write_text("[]")
    assert provenance.commit(tmp_path) == clean
    for page in ("docs/results/page.md", "docs/accelerators.md", "docs/benchmarks.md"):
        (tmp_path / page).write_text("")
        assert provenance.commit(tmp_path) == clean
    (tmp_path / "docs/results/weights").mkdir()
    (tmp_path / "docs/results/weights/network.npz").write_text("")  # others play with it
    assert provenance.commit(tmp_path) == f"{clean}+changes"
    (tmp_path / "docs/results/weights/network.npz").unlink()
    (tmp_path / "a.py").write_text("2\n")
    assert provenance.commit(tmp_path) == f"{clean}+changes"


def test_the_hash_of_the_sources_changes_with_them(tmp_path):
    (tmp_path / "search").mkdir()
    (tmp_path / "search" / "one.py").write_text("x = 1")
    provenance.source_hash.cache_clear()
    first = provenance.source_hash(("search",), tmp_path)
    (tmp_path / "search" / "one.py").write_text("x = 2")
    provenance.source_hash.cache_clear()
    second = provenance.source_hash(("search",), tmp_path)
    assert len(first) == 16 and second != first
    (tmp_path / "search" / "known.npz").write_bytes(b"weights")
    (tmp_path / "search" / "notes.md").write_text("no code")
    provenance.source_hash.cache_clear()
    third = provenance.source_hash(("search",), tmp_path)
    assert third != second and provenance.source_hash(("search/*.py",), tmp_path) == second
    (tmp_path / "search" / "cards.json").write_text("[]")
    provenance.source_hash.cache_clear()
    assert provenance.source_hash(("search",), tmp_path) not in (first, second, third)
