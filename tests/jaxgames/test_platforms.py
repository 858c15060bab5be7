"""A way for each platform, and only what can run is traced."""

import jax
import jax.numpy as jnp

from jaxgames import platforms
from jaxgames.platforms import by_platform, for_all_platforms, only_cpus, repeated, while_any


def test_ways_of_unlike_shapes_are_those_of_accelerators_in_programs_for_all_platforms():
    assert only_cpus() == (jax.default_backend() == "cpu")
    with for_all_platforms():
        assert not only_cpus()


def _double(x):
    return by_platform(x, cpu=lambda x: x + x, default=lambda x: x * 2)


def test_straight_lines_and_loops_come_to_the_same(monkeypatch):
    cube = lambda x: repeated(3, lambda x: x * x + 1, x)  # noqa: E731
    assert cube(jnp.arange(3)).tolist() == [5, 26, 677]
    assert "while" in str(jax.make_jaxpr(cube)(1)) or "scan" in str(jax.make_jaxpr(cube)(1))
    monkeypatch.setattr(platforms, "by_platform", lambda *arguments, cpu, default: default(*arguments))
    assert cube(jnp.arange(3)).tolist() == [5, 26, 677]
    assert "while" not in str(jax.make_jaxpr(lambda x: cube(x))(1))


def test_a_process_without_accelerators_traces_one_way():
    x = jnp.arange(3)
    assert _double(x).tolist() == [0, 2, 4]
    text = str(jax.make_jaxpr(_double)(x))
    assert "add" in text and "mul" not in text


def test_programs_for_all_platforms_have_their_own_way_there():
    shape = jax.ShapeDtypeStruct((3,), jnp.int32)
    with for_all_platforms():
        traced = jax.jit(lambda x: _double(x)).trace(shape)
        here = jax.jit(lambda x: _double(x))(jnp.arange(3))
    texts = {name: traced.lower(lowering_platforms=(name,)).as_text() for name in ("cpu", "cuda", "tpu")}
    assert "stablehlo.add" in texts["cpu"] and "stablehlo.multiply" not in texts["cpu"]
    for name in ("cuda", "tpu"):
        assert "stablehlo.multiply" in texts[name] and "stablehlo.add" not in texts[name]
    assert here.tolist() == [0, 2, 4]
    assert "mul" not in str(jax.make_jaxpr(_double)(shape)), "it ends with the block"


def test_a_loop_ends_early_on_a_cpu_alone():
    def halved(number: jax.Array) -> jax.Array:
        return while_any(5, lambda number: number > 0, lambda _, number: number // 2, number)

    def seldom_long(number: jax.Array) -> jax.Array:
        return while_any(5, lambda number: number > 0, lambda _, number: number // 2, number, short=True)

    for number, left in ((3, 0), (100, 3)):
        assert jax.jit(halved)(number) == left
        with for_all_platforms():
            assert jax.jit(seldom_long)(number) == left
            assert jax.jit(lambda number: halved(number))(number) == left, "traced once more, in the other way"
    assert "while" in str(jax.make_jaxpr(halved)(3))
    with for_all_platforms():
        assert "scan" in str(jax.make_jaxpr(lambda number: halved(number))(3)) and "while" in str(jax.make_jaxpr(seldom_long)(3))
