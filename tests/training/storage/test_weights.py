import functools
import io
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from training.storage import weights
from training.storage.weights import load_weights, save_weights

META = {"game": "pommerman", "network": "paper", "layers": 2, "planes": [1, 2]}


class Network(nnx.Module):
    def __init__(self, features: int = 4):
        rngs = nnx.Rngs(0)
        linear = functools.partial(nnx.Linear, kernel_init=nnx.initializers.zeros, rngs=rngs)  # to draw takes long to compile
        self.layers = nnx.List([linear(3, features), linear(features, 2)])
        self.norm = nnx.LayerNorm(features, rngs=rngs)

    def __call__(self, x):
        return self.layers[1](self.norm(self.layers[0](x)))


def split(features: int = 4):
    return nnx.split(Network(features), nnx.Param)


def test_parameters_of_a_network_come_back_bit_for_bit(tmp_path):
    graphdef, params = split()
    params = jax.tree.map(
        lambda leaf: np.asarray(leaf) + np.linspace(0, 1, leaf.size, dtype=np.float32).reshape(leaf.shape), params
    )
    save_weights(tmp_path / "new" / "paper.npz", params, META)
    blank = jax.tree.map(np.zeros_like, params)
    loaded, meta = load_weights(tmp_path / "new" / "paper.npz", blank, {"game": "pommerman", "planes": [1, 2]})
    assert meta == META
    assert jax.tree.structure(loaded) == jax.tree.structure(params)
    jax.tree.map(np.testing.assert_array_equal, loaded, params)
    assert {leaf.dtype.name for leaf in jax.tree.leaves(loaded)} == {"float32"}
    apply = jax.jit(lambda params: nnx.merge(graphdef, params)(np.ones((5, 3), np.float32)))
    np.testing.assert_array_equal(apply(loaded), apply(params))
    shapes, _ = load_weights(tmp_path / "new" / "paper.npz", jax.eval_shape(lambda: params))
    jax.tree.map(np.testing.assert_array_equal, shapes, params)


def test_without_a_template_it_is_nested_dictionaries(tmp_path):
    params = {"dense": {"kernel": np.float32([[1, 2]]), "bias": np.float32([0])}, "file": np.float32(3)}
    save_weights(tmp_path / "w.npz", params, META)
    loaded, _ = load_weights(tmp_path / "w.npz")
    assert jax.tree.structure(loaded) == jax.tree.structure(params)
    jax.tree.map(np.testing.assert_array_equal, loaded, params)


def test_the_file_is_an_ordinary_archive_and_always_the_same(tmp_path):
    params = {"dense": {"kernel": np.float32([[1, 2]])}}
    for name in ("a.npz", "b.npz"):
        save_weights(tmp_path / name, params, META)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz", allow_pickle=False) as file:
        assert sorted(file.files) == ["description", "params/dense/kernel"]


def test_half_precision_halves_the_file(tmp_path):
    params = {"kernel": jax.random.normal(jax.random.key(0), (100, 100))}
    save_weights(tmp_path / "half.npz", params, META, half=True)
    save_weights(tmp_path / "full.npz", params, META)
    assert (tmp_path / "half.npz").stat().st_size < 0.6 * (tmp_path / "full.npz").stat().st_size
    loaded, _ = load_weights(tmp_path / "half.npz", params)
    assert loaded["kernel"].dtype == jnp.float32
    np.testing.assert_array_equal(loaded["kernel"], params["kernel"].astype(jnp.float16).astype(jnp.float32))


def test_the_types_are_those_of_the_template(tmp_path):
    params = {"kernel": jnp.arange(5, dtype=jnp.bfloat16)}
    save_weights(tmp_path / "w.npz", params, META)
    loaded, _ = load_weights(tmp_path / "w.npz", params)
    assert loaded["kernel"].dtype == jnp.bfloat16
    np.testing.assert_array_equal(loaded["kernel"], params["kernel"])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"steps": jnp.zeros(2, jnp.int32)}, "leaf steps is int32: parameters must be of floating point"),
        ({"key": jax.eval_shape(lambda: jax.random.key(0))}, "leaf key is key<fry>"),
        ({"kernel": jnp.float32(1e6)}, r"leaf kernel: has values of up to 1e\+06, too large for float16: store float32"),
    ],
)
def test_what_cannot_be_stored_is_an_error(tmp_path, params, message):
    with pytest.raises(ValueError, match=message):
        save_weights(tmp_path / "w.npz", params, META, half=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("expect", "message"),
    [
        ({"game": "clash"}, "game is 'pommerman' there and 'clash' is expected: give weights of that game"),
        ({"network": "paper", "layers": 3}, "layers is 2 there and 3 is expected"),
        ({"mode": "ffa"}, "mode is missing there and 'ffa' is expected"),
    ],
)
def test_another_meta_is_an_error(tmp_path, expect, message):
    save_weights(tmp_path / "w.npz", {"kernel": jnp.ones(2)}, META)
    with pytest.raises(ValueError, match=message) as raised:
        load_weights(tmp_path / "w.npz", expect=expect)
    assert str(tmp_path / "w.npz") in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ({"a": jnp.ones(2)}, r"leaf b is float32 \[3\] in the file, and none is expected: give weights of this network"),
        ({"a": jnp.ones(2), "b": jnp.ones(3), "c": jnp.ones(1)}, r"leaf c is not in the file, and float32 \[1\] is expected"),
        ({"a": jnp.ones(2), "b": jnp.ones((3, 1))}, r"leaf b is float32 \[3\] in the file, and float32 \[3, 1\] is expected"),
    ],
)
def test_another_network_is_an_error(tmp_path, template, message):
    save_weights(tmp_path / "w.npz", {"a": jnp.ones(2), "b": jnp.ones(3)}, META)
    with pytest.raises(ValueError, match=message) as raised:
        load_weights(tmp_path / "w.npz", template)
    assert "\n" not in str(raised.value)


def test_every_torn_file_is_an_error(tmp_path):
    path = tmp_path / "w.npz"
    save_weights(path, {"kernel": jax.random.normal(jax.random.key(0), (4, 4))}, META)
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match=r"w\.npz: is damaged or another kind of file: give a file of trained weights"):
            load_weights(path)


def test_a_changed_bit_never_gives_other_values(tmp_path):
    path, params = tmp_path / "w.npz", {"kernel": jax.random.normal(jax.random.key(0), (4, 4))}
    save_weights(path, params, META)
    content, refused = path.read_bytes(), 0
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        try:
            loaded, _ = load_weights(path, params)
        except ValueError:
            refused += 1
        else:  # in what an archive tells twice, or nobody reads
            np.testing.assert_array_equal(loaded["kernel"], params["kernel"])
    assert refused > len(content) / 2


def archive(**arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def described(**description) -> bytes:
    return archive(description=np.frombuffer(json.dumps(description).encode(), np.uint8), kernel=np.ones(2))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"text",
        b"\x80\x04K\x01.",  # a pickle
        archive(kernel=np.ones(2)),
        archive(description=np.ones(2)),
        archive(description=np.array([None])),  # numpy stores this as a pickle
        described(kind="other", meta={}),
        described(kind=weights.KIND),
        described(kind=weights.KIND, meta=[]),
    ],
)
def test_a_foreign_file_is_an_error(tmp_path, content):
    path = tmp_path / "w.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"w\.npz: is (damaged or )?another kind of file") as raised:
        load_weights(path)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_number_is_an_error(tmp_path, value):
    save_weights(tmp_path / "w.npz", {"dense": {"kernel": np.float32([[1, value]])}}, META)
    with pytest.raises(ValueError, match=r"leaf dense/kernel: 1 of 2 values are NaN or infinite, .* did not diverge"):
        load_weights(tmp_path / "w.npz")


def test_a_single_array_is_a_foreign_file(tmp_path):
    np.save(tmp_path / "w.npy", np.ones(2))
    with pytest.raises(ValueError, match=r"w\.npy: is damaged or another kind of file"):
        load_weights(tmp_path / "w.npy")


def test_a_missing_file_is_an_error(tmp_path):
    told = r"^weights .*/w\.npz: cannot be read \(No such file or directory\): give a file of trained weights, or the folder of a"
    with pytest.raises(OSError, match=told):
        load_weights(tmp_path / "w.npz")
