"""On what, and with which code, something was measured."""

import subprocess

from training.storage import provenance


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


def test_the_hash_of_the_sources_changes_with_them(tmp_path):
    (tmp_path / "search").mkdir()
    (tmp_path / "search" / "one.py").write_text("x = 1")
    provenance.source_hash.cache_clear()
    first = provenance.source_hash(("search",), tmp_path)
    (tmp_path / "search" / "one.py").write_text("x = 2")
    provenance.source_hash.cache_clear()
    assert len(first) == 16 and provenance.source_hash(("search",), tmp_path) != first
