"""Checkpoints: trees come back bit for bit, the newest are kept, and those of something else are refused."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.processes import output_of
from tests.training.storage.small_checkpoints import META, assert_same, small_tree, two_checkpoints
from training.storage import checkpoints
from training.storage.checkpoints import Checkpoints
from training.storage.record import RECORD

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
