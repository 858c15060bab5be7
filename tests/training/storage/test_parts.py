"""What each of several processes writes of a checkpoint, and reads again."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from training.storage import parts
from training.storage.record import DamagedError


def whole_piece(leaf):
    return parts.Piece.empty([[0, size] for size in leaf.shape], (), leaf.dtype)


def test_the_part_of_a_process_is_on_the_disk_when_it_is_written(tmp_path, monkeypatch):
    path, whole = tmp_path / "own.npz", []
    monkeypatch.setattr(os, "fsync", lambda descriptor: whole.append(os.fstat(descriptor).st_size))
    leaves = {"a": np.arange(6).reshape(2, 3), "b": np.zeros((0, 3)), "c": np.float32(2), "d": jnp.arange(3, dtype=jnp.bfloat16)}
    written = parts.write(path, parts.own_parts(leaves))
    assert whole == [path.stat().st_size]
    found = {name: whole_piece(leaf) for name, leaf in leaves.items()}
    parts.read(tmp_path, {path.name: written}, found)
    jax.tree.map(np.testing.assert_array_equal, {name: piece.values for name, piece in found.items()}, leaves)


@pytest.mark.parametrize("share", [0, 0.5, 0.95])
def test_a_part_that_another_machine_sees_cut_off_is_damaged(tmp_path, share):
    rows, path = np.random.default_rng(0).integers(0, 99, (40, 30)), tmp_path / "own.npz"
    written = parts.write(path, [("a", [[0, 40], [0, 30]], rows)])
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(DamagedError, match=r"^own\.npz: "):
        parts.read(tmp_path, {"own.npz": written}, {"a": whole_piece(rows)})


def test_parts_of_a_leaf_that_nobody_has_written_are_missed(tmp_path):
    rows = np.arange(12).reshape(4, 3)
    written = parts.write(tmp_path / "own.npz", [("a", [[1, 3], [0, 3]], rows[1:3]), ("b", [[0, 4], [0, 3]], rows)])
    with pytest.raises(ValueError, match=r"^leaf a has parts that are missing$"):
        parts.read(tmp_path, {"own.npz": written}, {"a": whole_piece(rows), "b": whole_piece(rows)})


def test_a_process_reads_its_own_rows_alone(tmp_path):
    """Rows that two processes have written go to three: each opens the files that have some of them, and no other."""
    rows = np.arange(18, dtype=np.uint32).reshape(6, 3)
    files = {
        name: parts.write(tmp_path / name, [("a", [[first, last]], rows[first:last])])
        for name, first, last in (("one.npz", 0, 3), ("two.npz", 3, 6))
    }
    for first, opened in ((0, {"one.npz"}), (2, {"one.npz", "two.npz"}), (4, {"two.npz"})):
        piece = parts.Piece.empty([[first, first + 2]], (3,), rows.dtype)
        parts.read(tmp_path, {name: files[name] for name in opened}, {"a": piece})
        np.testing.assert_array_equal(piece.values, rows[first : first + 2])
    (tmp_path / "one.npz").unlink()
    parts.read(tmp_path, files, {"a": parts.Piece.empty([[4, 6]], (3,), rows.dtype)})
    with pytest.raises(DamagedError, match=r"^one\.npz: No such file or directory$"):
        parts.read(tmp_path, files, {"a": parts.Piece.empty([[2, 4]], (3,), rows.dtype)})
    (tmp_path / "one.npz").symlink_to(tmp_path / "one.npz")
    with pytest.raises(OSError, match=r"one\.npz cannot be read at the moment \(Too many levels of symbolic links\)"):
        parts.read(tmp_path, files, {"a": parts.Piece.empty([[2, 4]], (3,), rows.dtype)})
    torn = {"two.npz": [("a", [[3, 5]])]}
    with pytest.raises(ValueError, match=r"^leaf a has a part of another shape$"):
        parts.read(tmp_path, torn, {"a": parts.Piece.empty([[3, 5]], (3,), rows.dtype)})
