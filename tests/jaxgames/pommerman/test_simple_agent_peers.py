"""The SimpleAgent against others: recorded decisions, an oracle on random boards, whole games of the official ones."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxgames import random_bits
from jaxgames.pommerman import rules, setup
from jaxgames.pommerman.config import preset
from jaxgames.pommerman.constants import Cell
from jaxgames.pommerman.interop_simple import check_simple_cases, count_decisions, memory_from_arrays, observation_from_arrays
from jaxgames.pommerman.simple_agent import all_simple_moves, init_memory
from tests.jaxgames.pommerman import simple_reference
from tests.jaxgames.pommerman.playing import played_out
from tests.jaxgames.pommerman.positions import FFA
from tests.jaxgames.pommerman.simple_scenes import draw_cases, to_arrays
from tests.recordings import SAMPLES

SAMPLE = SAMPLES / "pommerman" / "simple_cases.npz"
PER_CASE = 200


@pytest.mark.slow
def test_decides_like_the_official_agent():
    number, mismatches = check_simple_cases(SAMPLE, draws=PER_CASE)
    assert number == 300
    assert mismatches == []


@pytest.mark.slow
def test_the_comparison_notices_differences():
    arrays = dict(np.load(SAMPLE))
    rows = arrays["source"] != 1
    arrays = {name: array[rows] for name, array in arrays.items()}
    board = arrays["board"].copy()
    board[board == Cell.WOOD] = Cell.RIGID
    _, mismatches = check_simple_cases({**arrays, "board": board}, draws=PER_CASE)
    assert {mismatch.field for mismatch in mismatches} >= {"move", "recent"}
    _, mismatches = check_simple_cases({**arrays, "prev_direction": np.zeros_like(arrays["prev_direction"])}, draws=PER_CASE)
    assert {mismatch.field for mismatch in mismatches} >= {"move", "previous"}


def test_the_comparison_rejects_incomplete_recordings():
    arrays = dict(np.load(SAMPLE))
    with pytest.raises(ValueError, match="recent: missing"):
        check_simple_cases({name: array for name, array in arrays.items() if name != "recent"})
    with pytest.raises(ValueError, match=r"ammo: shape \(10,\), must be \(N\) with N=300"):
        check_simple_cases({**arrays, "ammo": arrays["ammo"][:10]})
    with pytest.raises(ValueError, match="draws=0"):
        check_simple_cases(arrays, draws=0)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["ffa", *(pytest.param(mode, marks=pytest.mark.slow) for mode in ("team", "one_vs_one"))])
def test_decides_as_the_written_rules_say_on_random_boards(mode):
    config, draws = preset(mode), PER_CASE
    cases = draw_cases(config, 2000, seed=3)
    expected = [simple_reference.decide(case) for case in cases]
    arrays = to_arrays(cases)
    tried = count_decisions(config, observation_from_arrays(config, arrays), memory_from_arrays(config, arrays), draws, seed=0)
    ours = np.column_stack([tried.moves, tried.appended, tried.changed])
    wanted = np.array([[*outcome.moves, outcome.appended, outcome.changed] for outcome in expected])
    wanted = np.where(wanted < 1e-9, 0, np.where(wanted > 1 - 1e-9, 1, wanted))
    tail = np.minimum(stats.binom.cdf(ours, draws, wanted), stats.binom.sf(ours - 1, draws, wanted))
    assert np.argwhere(tail < 1e-8).tolist() == []
    clauses = {clause for outcome in expected for clause in outcome.clause.split("/")}
    assert clauses >= {"B", "B four", "B lost", "B walls", "C", "D", "E", "F", "no F", "G", "H"}


@pytest.mark.slow
def test_four_simple_agents_play_as_long_and_win_as_often_as_the_official_ones():
    def play(key):
        start_key, lane_key = jax.random.split(key)
        start, lane = setup.init(FFA, start_key), random_bits.lane_key(lane_key)
        state = played_out(FFA, all_simple_moves, start, (init_memory(),) * 4, lane)
        return state.step_count, jnp.stack(rules.winners(FFA, state))

    games = 1024
    steps, won = map(np.asarray, jax.jit(jax.vmap(play))(jax.random.split(jax.random.key(5), games)))
    # 2560 games of the official environment: 378 steps in the mean, with a deviation of about 230.
    assert abs(steps.mean() - 378) < 5 * 234 * np.sqrt(1 / games + 1 / 2560)
    official = [545, 426, 568, 413, 608]  # wins of the seats, draws
    ours = [*won.sum(0), games - won.any(1).sum()]
    assert stats.chi2_contingency([ours, official]).pvalue > 1e-4
