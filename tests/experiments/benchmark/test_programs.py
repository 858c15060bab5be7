"""What compiled programs launch, read from XLA's text."""

import jax
import jax.numpy as jnp
import numpy as np

from experiments.benchmark import programs
from experiments.benchmark.programs import Text, Work

# A loop of five rounds, in which there is a fusion that picks 8 of 1000 numbers, a copy, and a loop of unknown length.
MADE_UP = """
HloModule made_up

%picking (param_0: f32[1000], param_1: s32[8,1]) -> f32[8] {
  %param_0 = f32[1000]{0} parameter(0)
  %bitcast.1 = f32[10,100]{1,0} bitcast(%param_0)
  %param_1 = s32[8,1]{1,0} parameter(1)
  ROOT %gather.1 = f32[8]{0} gather(%bitcast.1, %param_1), offset_dims={}
}

%writing (param_0: f32[1000], param_1: f32[8]) -> f32[1000] {
  %param_0 = f32[1000]{0} parameter(0)
  %param_1 = f32[8]{0} parameter(1)
  %constant.9 = s32[] constant(0)
  ROOT %update = f32[1000]{0} dynamic-update-slice(%param_0, %param_1, %constant.9)
}

%inner_body (p: (s32[])) -> (s32[]) {
  %p = (s32[]) parameter(0)
  %g = s32[] get-tuple-element(%p), index=0
  %n = s32[] negate(%g)
  ROOT %t = (s32[]) tuple(%n)
}

%inner_condition (p: (s32[])) -> pred[] {
  %p = (s32[]) parameter(0)
  %g = s32[] get-tuple-element(%p), index=0
  ROOT %c = pred[] compare(%g, %g), direction=LT
}

%body (p: (f32[1000], s32[8,1])) -> (f32[1000], s32[8,1]) {
  %p = (f32[1000]{0}, s32[8,1]{1,0}) parameter(0)
  %a = f32[1000]{0} get-tuple-element(%p), index=0
  %b = s32[8,1]{1,0} get-tuple-element(%p), index=1
  %fusion.1 = f32[8]{0} fusion(%a, %b), kind=kLoop, calls=%picking
  %fusion.2 = f32[1000]{0} fusion(%a, %fusion.1), kind=kLoop, calls=%writing
  %copy.1 = f32[1000]{0} copy(%fusion.2)
  %start = (s32[]) tuple(%a)
  %while.1 = (s32[]) while(%start), condition=%inner_condition, body=%inner_body
  ROOT %t = (f32[1000]{0}, s32[8,1]{1,0}) tuple(%copy.1, %b)
}

%condition (p: (f32[1000], s32[8,1])) -> pred[] {
  ROOT %c = pred[] constant(true)
}

ENTRY %main (x: f32[1000], y: s32[8,1]) -> (f32[1000], s32[8,1]) {
  %x = f32[1000]{0} parameter(0)
  %y = s32[8,1]{1,0} parameter(1)
  %t = (f32[1000]{0}, s32[8,1]{1,0}) tuple(%x, %y)
  ROOT %while.2 = (f32[1000]{0}, s32[8,1]{1,0}) while(%t), condition=%condition, body=%body, TRIPS
}
""".replace("TRIPS", 'backend_config={"known_trip_count":{"n":"5"}}')


def test_kernels_and_bytes_are_counted_by_hand():
    text = Text(MADE_UP)
    work, rounds = text.main_loop()
    picked, indices, whole, small = 8 * 4, 8 * 4, 4000, 4
    inner = 2 * small + (2 * small + 1)  # a negation, and a comparison of a number with itself
    moved = (picked + indices + picked) + (8 * 4 + 8 * 4) + 2 * whole + inner
    assert rounds == 5 and work == Work(kernels=5, gathers=1, scatters=1, open_loops=1, bytes=moved)
    assert text.work(text.entry) == work.times(5)
    assert text.main_loop(5) == text.main_loop(77) == (work, 5)


def test_a_compiled_loop_is_found():
    def function(x):
        def body(x, _):
            return jnp.sort(x) + x[::-1], None

        return jax.lax.scan(body, x, length=7)[0]

    compiled = jax.jit(function).lower(np.arange(64, dtype=np.float32)).compile()
    found = programs.facts(compiled, 7)
    assert found["rounds"] == 7 and found["kernels"] >= 2 and found["open_loops"] == 0
    assert found["argument_bytes"] == 256 and found["bytes"] >= 512


def test_a_loop_of_which_nobody_knows_the_rounds_goes_round_as_often_as_is_told():
    unknown = Text(MADE_UP.replace('"known_trip_count":{"n":"5"}', ""))
    assert [unknown.main_loop(length)[1] for length in (None, 7)] == [1, 7]
    assert unknown.main_loop(7)[0] == Text(MADE_UP).main_loop()[0]
