"""A way for each platform."""

import jax
import jax.numpy as jnp

from jaxgames.platforms import by_platform


def test_programs_have_their_own_way_on_each_platform():
    def double(x):
        return by_platform(x, cpu=lambda x: x + x, default=lambda x: x * 2)

    traced = jax.jit(double).trace(jax.ShapeDtypeStruct((3,), jnp.int32))
    texts = {name: traced.lower(lowering_platforms=(name,)).as_text() for name in ("cpu", "cuda", "tpu")}
    assert "stablehlo.add" in texts["cpu"] and "stablehlo.multiply" not in texts["cpu"]
    for name in ("cuda", "tpu"):
        assert "stablehlo.multiply" in texts[name] and "stablehlo.add" not in texts[name]
    assert double(jnp.arange(3)).tolist() == [0, 2, 4]
