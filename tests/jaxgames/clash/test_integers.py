"""Whole-number division and roots at their edges, against Python's."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.clash import integers
from jaxgames.platforms import for_all_platforms

LIMIT = 2**24


def test_division_cuts_toward_zero_just_below_and_at_multiples():
    numbers = np.random.default_rng(0)
    drawn = [numbers.integers(1, LIMIT, 5000), (2 ** numbers.uniform(0, 24, 5000)).astype(int)]
    divisor = np.concatenate([np.arange(1, 3000), *drawn])
    multiple = numbers.integers(1, np.maximum((LIMIT - 1) // divisor, 1) + 1) * divisor
    number = np.concatenate([multiple - 1, multiple, np.full_like(multiple, LIMIT - 1)])
    number, divisor = np.concatenate([number, -number]).astype(np.int32), np.tile(divisor, 6).astype(np.int32)
    expected = np.sign(number) * (np.abs(number) // divisor)
    for function in (integers.divide, integers.short_divide):
        assert (jax.jit(function)(number, divisor) == expected).all()


def test_roots_at_and_just_below_squares():
    squares = np.arange(1, 46_000, dtype=np.int64) ** 2
    numbers = np.concatenate([squares - 1, squares, [0]]).astype(np.int32)
    expected = np.concatenate([np.arange(45_999), np.arange(1, 46_000), [0]])
    assert (jax.jit(integers.root)(numbers) == expected).all()
    small = numbers < LIMIT
    assert (jax.jit(integers.short_root)(numbers[small]) == expected[small]).all()


def test_quotients_below_the_limit_of_numbers_of_any_size():
    numbers = np.random.default_rng(1)
    quotient = (2 ** numbers.uniform(0, 22, 20_000)).astype(np.int64)
    divisor = numbers.integers(1, np.maximum((2**31 - 1) // (quotient + 1), 1) + 1)
    number = quotient * divisor - numbers.integers(0, 2, 20_000)
    assert (jax.jit(integers.divide)(number.astype(np.int32), divisor.astype(np.int32)) == number // divisor).all()


def test_a_program_for_a_gpu_corrects_what_a_cpu_need_not():
    number = jax.ShapeDtypeStruct((3,), jnp.int32)
    for function, arguments in ((integers.short_divide, (number, number)), (integers.short_root, (number,))):
        with for_all_platforms():
            traced = jax.jit(lambda *given, function=function: function(*given)).trace(*arguments)
        texts = {name: traced.lower(lowering_platforms=(name,)).as_text() for name in ("cpu", "cuda")}
        assert "stablehlo.compare" in texts["cuda"] and "stablehlo.compare" not in texts["cpu"]


def test_two_numbers_in_one():
    high, low = jnp.meshgrid(*[jnp.array([-32_767, -3_200, -1, 0, 1, 3_200, 32_767])] * 2)
    again = integers.unpacked(integers.packed(high, low))
    assert (again[0] == high).all() and (again[1] == low).all()
