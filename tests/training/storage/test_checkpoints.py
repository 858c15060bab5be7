import errno
import os
import random
import resource
import shutil
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
import pytest

from tests.processes import output_of
from training.storage import checkpoints
from training.storage.checkpoints import Checkpoints
from training.storage.record import RECORD

META = {"kind": "follower", "game": "pommerman", "version": 2, "rate": 0.1}


def small_tree(seed: int = 0) -> dict:
    """One of everything that training keeps."""
    draw = np.random.default_rng(seed)
    params = {"dense": {"kernel": jnp.asarray(draw.standard_normal((3, 4)), jnp.float32), "bias": jnp.zeros(4, jnp.bfloat16)}}
    return {
        "params": params,
        "optimizer": optax.adam(1e-3).init(params),
        "key": jax.random.key(seed),
        "lanes": [jax.random.split(jax.random.key(seed + 1), (2, 3)), jax.random.key(seed, impl="rbg")],
        "buffer": {
            "planes": jnp.asarray(draw.integers(0, 256, (50, 7, 7)), jnp.uint8),
            "words": jnp.asarray(draw.integers(0, 2**32, 50, dtype=np.uint32)),
            "labels": jnp.asarray(draw.integers(-128, 128, 50), jnp.int8),
            "alive": jnp.asarray(draw.integers(0, 2, (50, 4)), bool),
            "shares": jnp.asarray(draw.random((5, 6)), jnp.float16),
        },
        "odd": jnp.asarray([np.nan, -0.0, np.inf, 1e-45], jnp.float32),
        "empty": jnp.zeros((0, 3), jnp.int32),
        "count": jnp.int32(seed),
        "host": (np.arange(4, dtype=np.int64) << 40, np.float64(0.1)),
    }


def bits(leaf):
    values = checkpoints.to_host(leaf)
    return str(leaf.dtype), leaf.shape, values.tobytes()


def assert_same(tree, expected) -> None:
    """The same structure, types, shapes and bits."""
    assert jax.tree.structure(tree) == jax.tree.structure(expected)
    for leaf, other in zip(jax.tree.leaves(tree), jax.tree.leaves(expected), strict=True):
        assert isinstance(leaf, jax.Array) == isinstance(other, jax.Array)
        assert bits(leaf) == bits(other)


def two_checkpoints(folder: Path) -> None:
    with Checkpoints(folder, META) as saved:
        saved.save(10, small_tree(1))
        saved.save(20, small_tree(2))


# --- whole ones ------------------------------------------------------------------------------------------------------------


def test_a_tree_comes_back_bit_for_bit(tmp_path):
    tree = small_tree(3)
    with Checkpoints(tmp_path / "new" / "checkpoints", META) as saved:
        assert saved.restore(tree) is None and saved.steps() == []
        saved.save(7, tree)
    with Checkpoints(tmp_path / "new" / "checkpoints", META) as saved:
        step, restored = saved.restore(small_tree(4))
        _, shaped = saved.restore(jax.eval_shape(lambda: {**tree, "host": None}) | {"host": tree["host"]})
    assert step == 7
    assert_same(restored, tree)
    assert_same(shaped, tree)
    assert jax.random.bits(restored["lanes"][1]) == jax.random.bits(tree["lanes"][1])


def test_restored_arrays_are_as_free_as_the_template(tmp_path):
    device = jax.devices()[0]
    tree = {"free": jnp.ones(3), "bound": jax.device_put(jnp.ones(3), device), "key": jax.device_put(jax.random.key(0), device)}
    with Checkpoints(tmp_path, META) as saved:
        saved.save(0, tree)
        _, restored = saved.restore(tree)
    assert {name: leaf.committed for name, leaf in restored.items()} == {"free": False, "bound": True, "key": True}
    donated = jax.jit(lambda tree: tree, donate_argnums=0)(restored)
    with Checkpoints(tmp_path, META) as saved:
        assert_same(saved.restore(restored)[1], donated)


def test_the_newest_are_kept(tmp_path):
    with Checkpoints(tmp_path, META, keep=3) as saved:
        for step in range(5):
            saved.save(step, small_tree(step))
        assert saved.steps() == [2, 3, 4]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2", "3", "4"]
    with Checkpoints(tmp_path, META, keep=1) as saved:
        saved.save(5, small_tree(5))
        assert saved.steps() == [5]
        assert_same(saved.restore(small_tree())[1], small_tree(5))


def test_all_is_on_the_disk_before_a_checkpoint_has_its_name(tmp_path, monkeypatch):
    done, rename = [], Path.rename

    def renamed(path, target):
        done.append(Path(target))
        return rename(path, target)

    monkeypatch.setattr(checkpoints, "sync", lambda path: done.append(Path(path)))
    monkeypatch.setattr(Path, "rename", renamed)
    with Checkpoints(tmp_path, META) as saved:
        saved.save(1, small_tree())
    named = done.index(tmp_path / "1")
    written = {path.relative_to(tmp_path / "1") for path in (tmp_path / "1").rglob("*") if path.name != RECORD}
    assert {path.relative_to(tmp_path / "unfinished-1") for path in done[:named]} == {Path(), *written}
    assert done[named + 1 :] == [tmp_path]  # the name itself


def test_what_is_empty_takes_no_room(tmp_path):
    with Checkpoints(tmp_path, META) as saved:
        saved.save(1, {"buffer": np.zeros(10_000_000, np.uint8)})
    assert sum(path.stat().st_size for path in tmp_path.rglob("*")) < 200_000


def test_a_step_is_saved_once(tmp_path):
    two_checkpoints(tmp_path)
    with Checkpoints(tmp_path, META) as saved:
        for step in (15, 20):
            with pytest.raises(
                ValueError, match=f"has a checkpoint of step 20, so step {step} cannot be saved; go on with --res"
            ):
                saved.save(step, small_tree())
        saved.restore(small_tree())
        saved.save(20, small_tree())  # the state that was restored, when a run is stopped at once
        assert_same(saved.restore(small_tree())[1], small_tree(2))


@pytest.mark.slow  # to start a process that has two devices
def test_shards_come_back_to_their_devices(tmp_path):
    code = f"""
from jaxgames import runtime
runtime.prepare(cores=2)
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P
from training.storage.checkpoints import Checkpoints
from training.storage.record import RECORD
mesh = runtime.data_mesh()
split, everywhere = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())
def tree(seed):
    key = jax.random.key(seed)
    lanes = {{"board": jax.random.bits(key, (8, 5)), "keys": jax.random.split(key, 8)}}
    return {{"lanes": jax.device_put(lanes, split), "params": jax.device_put(jax.random.normal(key, (3,)), everywhere)}}
with Checkpoints({str(tmp_path)!r}, {{}}) as saved:
    saved.save(1, tree(1))
    shapes = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=leaf.sharding), tree(2))
    for template in (tree(2), shapes):
        _, restored = saved.restore(template)
        for leaf, expected in zip(jax.tree.leaves(restored), jax.tree.leaves(tree(1)), strict=True):
            assert leaf.sharding == expected.sharding and len(leaf.sharding.device_set) == 2
            assert [s.index for s in leaf.addressable_shards] == [s.index for s in expected.addressable_shards]
            data = [jax.random.key_data(a) if jnp.issubdtype(a.dtype, jax.dtypes.prng_key) else a for a in (leaf, expected)]
            for one, other in zip(*(d.addressable_shards for d in data), strict=True):
                assert one.device == other.device
                np.testing.assert_array_equal(one.data, other.data)
    print(len(jax.devices()))
"""
    assert output_of(code, {"JAX_PLATFORMS": "cpu"}) == "2"


# --- of something else -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        ({**META, "game": "clash"}, r"game is 'pommerman' there and 'clash' here; resume with the settings"),
        ({**META, "version": "2"}, r"version is 2 there and '2' here"),
        ({**META, "mode": "ffa"}, r"mode is nothing there and 'ffa' here"),
        ({"kind": "follower", "game": "pommerman", "version": 2}, r"rate is 0\.1 there and nothing here"),
    ],
)
def test_another_meta_is_an_error(tmp_path, meta, message):
    two_checkpoints(tmp_path)
    with Checkpoints(tmp_path, meta) as saved, pytest.raises(ValueError, match=message) as raised:
        saved.restore(small_tree())
    assert f"checkpoint {tmp_path / '20'}: " in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": jnp.zeros(2, jnp.int32)}, r"leaf count is int32 \[\] in the file, and int32 \[2\] is expected; resume"),
        ({"count": jnp.uint32(0)}, r"leaf count is int32 \[\] in the file, and uint32 \[\] is expected"),
        ({"key": jax.random.PRNGKey(0)}, r"leaf key is key<fry> \[\] in the file, and uint32 \[2\] is expected"),
        ({"more": jnp.ones(1)}, r"leaf more is not in the file, and float32 \[1\] is expected"),
        ({"buffer": {}}, r"leaf buffer/alive is bool \[50, 4\] in the file, and none is expected"),
    ],
)
def test_another_tree_is_an_error(tmp_path, change, message):
    two_checkpoints(tmp_path)
    with Checkpoints(tmp_path, META) as saved:
        with pytest.raises(ValueError, match=message) as raised:
            saved.restore(small_tree() | change)
        assert "\n" not in str(raised.value)
        assert_same(saved.restore(small_tree())[1], small_tree(2))


@pytest.mark.parametrize("tree", [{"count": 3}, {"a/b": jnp.ones(1), "a": {"b": jnp.ones(1)}}])
def test_what_cannot_be_saved_is_an_error(tmp_path, tree):
    with Checkpoints(tmp_path, META) as saved:
        with pytest.raises(ValueError, match=r"leaf count is a Python int: must be an array|leaf a/b: two leaves"):
            saved.save(0, tree)
        assert list(tmp_path.iterdir()) == []


def test_keep_is_checked(tmp_path):
    with pytest.raises(ValueError, match="keep=0: must be >= 1"):
        Checkpoints(tmp_path, META, keep=0)


# --- damaged ones ----------------------------------------------------------------------------------------------------------


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def assert_falls_back(folder: Path, template: dict, expected: dict) -> None:
    """From step 20 to step 10, with one warning; puts step 20 back."""
    with warnings.catch_warnings(record=True) as warned, Checkpoints(folder, META) as saved:
        warnings.simplefilter("always")
        step, tree = saved.restore(template)
        assert step == 10 and saved.steps() == [10]
    assert_same(tree, expected)
    (message,) = [str(warning.message) for warning in warned]
    assert message.startswith(f"checkpoint {folder / '20'} is damaged (")
    assert message.endswith("): going on from step 10") and "\n" not in message
    (folder / "damaged-20").rename(folder / "20")


def test_any_flipped_bit_falls_back(tmp_path, monkeypatch, capfd):
    """Wherever it is; orbax, which tells of a damaged file on pages, is not asked to read one."""

    def tree(seed: int) -> dict:
        draw = np.random.default_rng(seed)
        return {"key": jax.random.key(seed), "words": draw.integers(0, 256, 3000, dtype=np.uint8), "count": np.int32(seed)}

    with Checkpoints(tmp_path, META) as saved:
        saved.save(10, tree(1))
        saved.save(20, tree(2))
    read = {}

    def restore(self, directory, *arguments):
        assert Path(directory).parent.name == "10"
        if not read:
            read[0] = really_restore(self, directory, *arguments)
        return read[0]

    really_restore = ocp.Checkpointer.restore
    monkeypatch.setattr(ocp.Checkpointer, "restore", restore)
    draw = random.Random(0)
    for path in files_of(tmp_path / "20"):
        content = path.read_bytes()
        places = [draw.randrange(8 * len(content)) for _ in range(10)]
        if path.name == RECORD:
            places += range(0, 8 * len(content), 197)
        for place in places:
            flipped = bytearray(content)
            flipped[place // 8] ^= 1 << place % 8
            path.write_bytes(flipped)
            assert_falls_back(tmp_path, tree(0), tree(1))
        path.write_bytes(content)
    assert capfd.readouterr().err == ""
    monkeypatch.undo()
    with Checkpoints(tmp_path, META) as saved:
        step, restored = saved.restore(tree(0))
    assert step == 20
    assert_same(restored, tree(2))


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def lengthen(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")


SLOW = [pytest.param(damage, marks=pytest.mark.slow) for damage in (empty, lengthen)]


@pytest.mark.parametrize("damage", [truncate, *SLOW, Path.unlink, "no arrays", "empty folder"])
def test_a_damaged_checkpoint_falls_back_and_its_step_may_be_saved_again(tmp_path, damage, capfd):
    two_checkpoints(tmp_path / "whole")
    whole = tmp_path / "whole" / "20"
    names = [path.relative_to(whole) for path in files_of(whole)] if callable(damage) else [Path()]
    for name in names:
        folder = tmp_path / "copy"
        shutil.copytree(tmp_path / "whole", folder)
        if callable(damage):
            damage(folder / "20" / name)
        else:
            shutil.rmtree(folder / "20" / (checkpoints.ARRAYS if damage == "no arrays" else ""))
            (folder / "20").mkdir(exist_ok=True)
        assert_falls_back(folder, small_tree(), small_tree(1))
        if name == names[0]:
            with Checkpoints(folder, META) as saved:
                with pytest.warns(UserWarning, match="20 is damaged"):
                    saved.restore(small_tree())
                saved.save(20, small_tree(5))
                assert sorted(path.name for path in folder.iterdir()) == ["10", "20"]
                assert_same(saved.restore(small_tree())[1], small_tree(5))
        shutil.rmtree(folder)
    assert capfd.readouterr().err == ""


def test_values_that_orbax_reads_wrong_are_damaged(tmp_path, monkeypatch):
    two_checkpoints(tmp_path)
    monkeypatch.setattr(checkpoints, "crc32", lambda array: 0)
    with Checkpoints(tmp_path, META) as saved, pytest.raises(ValueError, match=r"step 20: leaf \S+ has another checksum"):
        saved.restore(small_tree())


def test_nothing_but_damaged_ones_is_an_error_and_they_stay(tmp_path):
    two_checkpoints(tmp_path)
    for step in ("10", "20"):
        (tmp_path / step / RECORD).unlink()
    for _ in range(2):
        with Checkpoints(tmp_path, META) as saved, pytest.raises(ValueError, match="all 2 checkpoints are damaged") as raised:
            saved.restore(small_tree())
        assert str(raised.value) == (
            f"{tmp_path}: all 2 checkpoints are damaged (step 20: record.json: No such file or directory); start again in "
            "another output folder"
        )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["10", "20"]


def test_another_format_is_an_error(tmp_path, monkeypatch):
    two_checkpoints(tmp_path)
    monkeypatch.setattr(checkpoints, "FORMAT", 1000)
    with Checkpoints(tmp_path, META) as saved, pytest.raises(ValueError, match=r"20: format \d there, 1000 here: resume with"):
        saved.restore(small_tree())


# --- disks -----------------------------------------------------------------------------------------------------------------


def test_a_folder_that_is_a_file_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"file: cannot write checkpoints there \(File exists\); choose another output folder"):
        Checkpoints(tmp_path / "file", META)


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path, monkeypatch):
    def refuse(**_):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(checkpoints.tempfile, "TemporaryFile", refuse)
    with pytest.raises(OSError, match=r"cannot write checkpoints there \(Read-only file system\)"):
        Checkpoints(tmp_path, META)


def refuse_to_save(error: Exception):
    """Gives a `save` that has written half when the disk is full."""

    def save(_, directory, *__):
        directory.mkdir()
        (directory / "values").write_bytes(b"half")
        raise error

    return save


FULL = (
    OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    ValueError("RESOURCE_EXHAUSTED: Failed to write 5 bytes to file 11: No space left on device [os_error_code='28']"),
)


@pytest.mark.parametrize("error", FULL)
def test_a_full_disk_is_an_error_and_the_earlier_ones_stay(tmp_path, monkeypatch, error):
    two_checkpoints(tmp_path)
    with Checkpoints(tmp_path, META) as saved:
        with monkeypatch.context() as patch:
            patch.setattr(ocp.Checkpointer, "save", refuse_to_save(error))
            with pytest.raises(OSError, match=r"step 30 could not be saved \(No space left on device\); the earlier") as raised:
                saved.save(30, small_tree(3))
        assert str(raised.value).endswith("free some space, then go on with --resume") and "\n" not in str(raised.value)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["10", "20"]
        assert_same(saved.restore(small_tree())[1], small_tree(2))
        saved.save(30, small_tree(3))
        assert_same(saved.restore(small_tree())[1], small_tree(3))


def test_too_little_room_is_found_before_orbax_writes(tmp_path, capfd):
    large = {"large": np.random.default_rng(0).integers(0, 256, 1_000_000, dtype=np.uint8)}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Checkpoints(tmp_path, META) as saved:
        saved.save(1, large)
        resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, limits[1]))
        try:
            with pytest.raises(OSError, match=r"step 2 could not be saved \(File too large\)"):
                saved.save(2, large)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert [path.name for path in tmp_path.iterdir()] == ["1"] and capfd.readouterr().err == ""
        saved.save(2, large)
        assert_same(saved.restore(large)[1], large)


def test_other_errors_are_not_hidden(tmp_path, monkeypatch):
    with Checkpoints(tmp_path, META) as saved:
        monkeypatch.setattr(ocp.Checkpointer, "save", refuse_to_save(TypeError("a bug")))
        with pytest.raises(TypeError, match="a bug"):
            saved.save(1, small_tree())
    assert list(tmp_path.iterdir()) == []
