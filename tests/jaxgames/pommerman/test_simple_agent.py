"""The SimpleAgent: hand-made boards for every clause; recorded decisions; an oracle on random boards; whole games."""

import collections
import functools
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxgames import random_bits
from jaxgames.pommerman import bots, rules, setup
from jaxgames.pommerman.arrays import STATE_FIELDS, from_arrays
from jaxgames.pommerman.config import preset
from jaxgames.pommerman.constants import Cell, Move
from jaxgames.pommerman.interop_simple import (
    check_simple_cases,
    count_decisions,
    memory_from_arrays,
    observation_from_arrays,
)
from jaxgames.pommerman.observation import observe
from jaxgames.pommerman.simple_agent import (
    MEMORY_LENGTH,
    NOWHERE,
    SimpleMemory,
    all_simple_moves,
    decide,
    draw_words,
    init_memory,
    pick_move,
    some_simple_moves,
)
from tests.jaxgames.pommerman import playing, simple_reference
from tests.jaxgames.pommerman.playing import played_out
from tests.jaxgames.pommerman.positions import BOMB, DOWN, LEFT, RIGHT, STOP, UP, Bomb, Man, equal, position
from tests.jaxgames.pommerman.simple_scenes import draw_cases, to_arrays

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "tests" / "data" / "pommerman" / "simple_cases.npz"
FFA, TEAM = preset("ffa"), preset("team")
DRAWS, PER_CASE = 64, 200


class Choices(NamedTuple):
    """What came out of 64 decisions."""

    moves: set[int]
    memories: set[tuple[tuple[tuple[int, int], ...], int]]  # recent cells, the oldest first; direction of the last chase
    share: dict[int, float]


@functools.cache
def draws_of_all():
    return jax.random.split(jax.random.key(1234), DRAWS)


def choices(drawing, *, seat=0, recent=(), previous=0, config=FFA, **things) -> Choices:
    """Lets one agent decide 64 times; cells in the drawing as in `positions`, everything not drawn is rigid."""
    rows = [line.ljust(config.board_size, "#") for line in drawing.split()]
    rows += ["#" * config.board_size] * (config.board_size - len(rows))
    agent, act = playing.acting(bots.simple_agent, config.mode)
    states = jax.tree.map(lambda leaf: np.repeat(leaf, DRAWS, 0), position("\n".join(rows), config=config, **things))
    cells = [row * config.board_size + column for row, column in reversed(recent)]
    cells += [NOWHERE] * (MEMORY_LENGTH - len(cells))
    memory = SimpleMemory(tuple(np.full(DRAWS, cell, np.int8) for cell in cells), np.full(DRAWS, previous, np.int8))
    seats, everywhere = np.full(DRAWS, seat, np.int32), np.ones(DRAWS, bool)
    moves, after = jax.device_get(act(agent.params, draws_of_all(), memory, states, seats, everywhere))
    memories = set()
    for i in range(DRAWS):
        listed = [int(cell[i]) for cell in after.recent if cell[i] != NOWHERE]
        memories.add((tuple(divmod(cell, config.board_size) for cell in reversed(listed)), int(after.previous[i])))
    counted = collections.Counter(moves.tolist())
    return Choices(set(counted), memories, {move: n / DRAWS for move, n in counted.items()})


UNCHANGED = {((), 0)}


# --- A and B: bombs in line --------------------------------------------------------------------------------------------


def test_flees_across_the_line_of_a_bomb():
    result = choices("..... ..0.. .....", bombs={(1, 4): Bomb()})
    assert result.moves == {UP, DOWN, LEFT}
    assert result.memories == UNCHANGED


def test_a_bomb_as_far_as_its_strength_is_dangerous_although_its_blast_is_shorter():
    drawing = "....... 0...... ......."
    assert choices(drawing, bombs={(1, 3): Bomb(strength=3)}).moves == {UP, DOWN}
    assert choices(drawing, bombs={(1, 4): Bomb(strength=3)}).memories == {(((1, 0),), 0)}  # it wanders


def test_distance_to_a_bomb_is_the_length_of_the_way_not_of_the_line():
    drawing = "..... 0#... ....."
    assert RIGHT not in choices(drawing, bombs={(1, 2): Bomb(strength=4)}).moves
    assert choices(drawing, bombs={(1, 2): Bomb(strength=4)}).memories == UNCHANGED
    assert choices(drawing, bombs={(1, 2): Bomb(strength=3)}).memories == {(((1, 0),), 0)}


def test_a_bomb_that_cannot_be_reached_is_no_danger():
    assert choices("..### 0#... ..###", bombs={(1, 2): Bomb(strength=9)}).memories == {(((1, 0),), 0)}


@pytest.mark.parametrize("row, sees", [(0, False), (1, True)])
def test_the_search_leaves_out_row_ten_from_row_zero(row, sees):
    rows = [".."] * 11
    rows[row] = "0."
    result = choices("\n".join(rows), bombs={(10, 0): Bomb(strength=10)})
    assert (result.memories == UNCHANGED) == sees


@pytest.mark.parametrize("column, sees", [(0, False), (1, True)])
def test_the_search_leaves_out_column_ten_from_column_zero(column, sees):
    first = "." * column + "0" + "." * (10 - column)
    result = choices(f"{first} {'.' * 11}", bombs={(0, 10): Bomb(strength=10)})
    assert (result.memories == UNCHANGED) == sees


def test_without_a_safe_way_it_runs_along_unsafe_lines_even_into_walls():
    assert choices("0.# .## ###", bombs={(0, 1): Bomb(), (1, 0): Bomb()}).moves == {RIGHT, DOWN}
    # Up and down are walls, left is off the board: what is left is the way of the bomb itself.
    assert choices("### 0.. ###", bombs={(1, 2): Bomb()}).moves == {RIGHT}


def test_on_a_bomb_right_comes_first():
    result = choices("..... ..0.. .....", bombs={(1, 2): Bomb()})
    assert result.moves == {RIGHT}
    assert result.memories == UNCHANGED


OPEN = "....... ....... ...0... ....... ......."


@pytest.mark.parametrize(
    "others, move",
    [
        ([(2, 1)], LEFT),
        ([(0, 3)], UP),
        ([(0, 3), (2, 1)], UP),
        ([(4, 3)], RIGHT),
        ([(2, 5), (4, 3)], RIGHT),
    ],
)
def test_on_a_bomb_directions_of_earlier_bombs_come_before_right(others, move):
    assert choices(OPEN, bombs={cell: Bomb() for cell in [*others, (2, 3)]}).moves == {move}


def test_between_four_bombs_up_comes_first():
    assert choices(OPEN, bombs=dict.fromkeys([(0, 3), (2, 1), (2, 5), (4, 3)], Bomb())).moves == {UP}


def test_on_a_bomb_a_dead_end_is_passed_over():
    assert choices("....### .##.... .##0.#. ####.## ....#..", bombs={(2, 3): Bomb()}).moves == {RIGHT}
    assert choices("....### .##.... ...0.## ####### #######", bombs={(2, 3): Bomb()}).moves == {RIGHT}
    assert choices("....### .##.### ...0.## ####### #######", bombs={(2, 3): Bomb()}).moves == {LEFT}
    assert choices("....### .##.### ###0.## ####### #######", bombs={(2, 3): Bomb()}).moves == {UP}
    assert choices("####### ####### ###0.## ####### #######", bombs={(2, 3): Bomb()}).moves == {STOP}


@pytest.mark.parametrize("strength", [2, 3, 5])
@pytest.mark.parametrize("extra", [0, 1])
def test_a_straight_corridor_is_a_way_out_if_it_is_longer_than_the_blast(strength, extra):
    # From the next cell there are `strength` or `strength + 1` further cells.
    result = choices("0" + "." * (1 + strength + extra), bombs={(0, 0): Bomb(strength=strength)})
    assert result.moves == {RIGHT if extra else STOP}


def test_a_way_out_along_the_side_of_the_next_cell_counts_too():
    # Right of the agent a corridor goes down, straight: only its length helps.
    assert choices("0. #. #. #.", bombs={(0, 0): Bomb(strength=2)}).moves == {RIGHT}
    assert choices("0. #. #.", bombs={(0, 0): Bomb(strength=2)}).moves == {STOP}


@pytest.mark.slow
def test_a_blast_longer_than_the_board_reaches_all_of_a_straight_corridor():
    small = preset("one_vs_one")
    drawing = "######## ######## ##..#### ##0..... ######## ######## ######## #######1"
    # Above the agent is a corner of two cells; to the right a corridor, whose cells are no way out of that corner.
    assert choices(drawing, config=small, bombs={(3, 2): Bomb(strength=9)}).moves == {RIGHT}
    drawing = "######## ######## ##.##### ##0..... ######## ######## ######## #######1"
    assert choices(drawing, config=small, bombs={(3, 2): Bomb(strength=9)}).moves == {STOP}


def test_enemies_are_no_way_out():
    assert choices("0.1.. #####", bombs={(0, 0): Bomb()}).moves == {STOP}


@pytest.mark.slow
def test_team_mates_are_a_way_out():
    assert choices("0.2.. #####", bombs={(0, 0): Bomb()}, config=TEAM).moves == {RIGHT}


@pytest.mark.slow
def test_bombs_in_fog_are_not_known():
    drawing = "." * 9
    assert choices(f"0{drawing} {drawing}", bombs={(0, 4): Bomb(strength=4)}, config=TEAM).moves == {DOWN}
    memories = choices(f"0{drawing} {drawing}", bombs={(0, 5): Bomb(strength=4)}, config=TEAM).memories
    assert memories == {(((0, 0),), 0)}


# --- C and F: bombs ----------------------------------------------------------------------------------------------------


def test_bombs_an_enemy_next_to_it():
    result = choices("01 ..")
    assert result.moves == {BOMB}
    assert result.memories == UNCHANGED


def test_without_ammo_it_walks_into_the_enemy():
    result = choices("01 ..", m0=Man(ammo=0))
    assert result.moves == {RIGHT}
    assert result.memories == {((), RIGHT)}


def test_lays_no_bomb_without_a_passage_off_its_lines():
    assert choices("01 .#").moves == {RIGHT}
    assert choices("+0. ##.").moves == {BOMB}
    assert choices("+0. ###").moves == {STOP}


@pytest.mark.parametrize("strength", [2, 3])
@pytest.mark.parametrize("extra", [0, 1])
def test_a_passage_on_its_line_must_be_farther_than_its_own_blast(strength, extra):
    result = choices("+0" + "." * (strength + extra), m0=Man(strength=strength))
    assert result.moves == {BOMB if extra else STOP}


def test_power_ups_are_crossed_but_are_no_passage_to_flee_to():
    assert choices("+0...b #####b #####b", m0=Man(strength=3)).moves == {STOP}
    assert choices("+0...b #####b #####.", m0=Man(strength=3)).moves == {BOMB}


def test_a_passage_beyond_ten_steps_is_found_too():
    # The only passage off the lines is 13 steps away, mostly over power-ups, but less than 10 rows and columns together.
    drawing = "+0...### ####b### ####bb## #####b## ##bbbb## ##b##### ##.#####"
    assert choices(drawing, m0=Man(strength=4)).moves == {BOMB}
    assert choices(drawing.replace("##.#####", "##b#####"), m0=Man(strength=4)).moves == {STOP}


def test_a_passage_ten_rows_and_columns_away_is_not_searched():
    rows = ["+0...####", "####b####", "####b####", "####b####", "####b####", "####b####", "####b####", "####bbbbb"]
    drawing = " ".join([*rows, "########."])  # (8, 8) is 15 steps away from (0, 1) along any way
    assert choices(drawing, m0=Man(strength=4)).moves == {STOP}


@pytest.mark.slow
def test_a_team_looks_beyond_its_blast_cap_too():
    drawing = "+0..# ###b# ###b# ###b# ###.#"
    assert choices(drawing, config=TEAM, m0=Man(strength=4)).moves == {BOMB}
    assert choices(drawing.replace("###.#", "###b#"), config=TEAM, m0=Man(strength=4)).moves == {STOP}


def test_with_wood_next_to_it_and_no_bomb_to_lay_it_stops():
    assert choices("+0. ...", m0=Man(ammo=0)).moves == {STOP}
    assert choices("+0. ...", m0=Man(ammo=0)).memories == UNCHANGED


# --- D: the chase ------------------------------------------------------------------------------------------------------


def test_chases_an_enemy_within_three_steps():
    assert choices("0..1").moves == {RIGHT}
    assert choices("0..1").memories == {((), RIGHT)}
    assert choices("0...1").memories == {(((0, 0),), 0)}
    assert choices("0#.1 ....").moves == {DOWN}  # five steps away: it wanders


def test_equally_short_ways_are_equally_likely():
    result = choices("0.. ..1")
    assert result.moves == {RIGHT, DOWN}
    # Three steps: of the three ways two begin with a step to the right, but the coins are thrown cell by cell from the end.
    assert result.share[DOWN] == pytest.approx(0.25, abs=0.2)
    assert choices("0. .1", m0=Man(ammo=0)).share[DOWN] == pytest.approx(0.5, abs=0.2)


def test_repeats_the_direction_of_its_last_chase_only_half_of_the_time():
    result = choices("0..1 ....", previous=RIGHT)
    assert result.moves == {RIGHT, DOWN}  # otherwise it wanders; both is right or down
    assert result.memories == {((), RIGHT), (((0, 0),), RIGHT)}
    assert choices("0..1 ....", previous=DOWN).memories == {((), RIGHT)}


def test_of_enemies_equally_near_the_last_seat_is_chased():
    assert choices("1..0..2", seat=0).moves == {RIGHT}
    assert choices("2..0..1", seat=0).moves == {LEFT}
    assert choices("2.0..3", seat=0).moves == {LEFT}


@pytest.mark.slow
def test_a_team_mate_is_not_chased():
    assert choices("0..2", config=TEAM).memories == {(((0, 0),), 0)}
    assert choices("0.2. .1..", config=TEAM, m0=Man(ammo=0)).memories <= {((), RIGHT), ((), DOWN)}


# --- E: power-ups ------------------------------------------------------------------------------------------------------


def test_fetches_the_nearest_power_up_within_two_steps():
    assert choices("b.0k").moves == {RIGHT}
    assert choices("b.0..k").moves == {LEFT}
    assert choices("b..0..").memories == {(((0, 3),), 0)}
    assert choices("b.0").memories == UNCHANGED


def test_of_power_ups_equally_near_kick_goes_before_range_and_range_before_an_extra_bomb():
    assert choices("k0b").moves == {LEFT}
    assert choices("r0b").moves == {LEFT}
    assert choices("r0k").moves == {RIGHT}


def test_of_equal_power_ups_the_last_on_the_board_is_fetched():
    assert choices("b0b").moves == {RIGHT}
    assert choices(".b. b0b .b.").moves == {DOWN}
    assert choices("..b.. ..... b.0.b").moves == {RIGHT}


def test_fetches_power_ups_without_looking_for_bombs():
    # The bomb is in line with the power-up, not with the agent.
    assert choices("..... 0b... .....", bombs={(2, 1): Bomb()}).moves == {RIGHT}


# --- G and H: wood, wandering ------------------------------------------------------------------------------------------


def test_goes_to_wood_within_two_steps():
    assert choices("0.+").moves == {RIGHT}
    assert choices("0.+").memories == UNCHANGED
    assert choices("+.0.+").moves == {RIGHT}  # the last one
    assert choices("0..+").memories == {(((0, 0),), 0)}


def test_does_not_go_to_wood_into_the_line_of_a_bomb():
    result = choices("....... 0.+.... ....... .......", bombs={(3, 1): Bomb(strength=2)})
    assert result.memories == {(((1, 0),), 0)}
    assert RIGHT not in result.moves


def test_wanders_to_cells_that_are_open_and_out_of_line_of_bombs():
    assert choices("... .0. #.#").moves == {UP, DOWN, LEFT, RIGHT}
    result = choices("...... .0.... ...... ...... ......", bombs={(3, 2): Bomb(strength=2)})
    assert result.moves == {UP, DOWN, LEFT}


def test_stops_where_everything_else_is_unsafe():
    result = choices("0.##. ###..", bombs={(1, 4): Bomb(strength=3)})
    assert result.moves == {RIGHT}
    result = choices("0.### ##### #.###", bombs={(2, 1): Bomb(strength=2)})
    assert result.moves == {STOP}
    assert result.memories == {(((0, 0),), 0)}


def test_avoids_recent_cells_unless_there_are_no_others():
    assert choices("... .0.", recent=((0, 1), (1, 0))).moves == {RIGHT}
    assert choices("... .0.", recent=((0, 1), (1, 0), (1, 2), (1, 1))).moves == {UP, LEFT, RIGHT}
    # Its own cell is not recent: then to stop is the only way left.
    assert choices("... .0.", recent=((0, 1), (1, 0), (1, 2))).moves == {STOP}


def test_remembers_six_cells():
    cells = tuple((2, column) for column in range(6))
    assert choices("... .0.", recent=cells[:5]).memories == {((*cells[:5], (1, 1)), 0)}
    assert choices("... .0.", recent=cells).memories == {((*cells[1:], (1, 1)), 0)}


@pytest.mark.parametrize(
    "drawing, move",
    [
        ("b01 ...", BOMB),  # the enemy beside it before all
        ("1..0b", LEFT),  # the chase before power-ups
        ("1..0+ .....", LEFT),  # and before wood
        ("k.0.+", LEFT),  # power-ups before wood
        ("k.0+. .....", LEFT),
        ("+.0+. .....", BOMB),  # wood beside it before other wood
    ],
)
def test_clauses_go_before_later_ones(drawing, move):
    assert choices(drawing).moves == {move}


# --- against recordings and an oracle ----------------------------------------------------------------------------------


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


# --- as a program ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sample():
    arrays = dict(np.load(SAMPLE))
    rows = np.flatnonzero(arrays["source"] != 1)[:64]
    arrays = {name: array[rows] for name, array in arrays.items()}
    return jax.tree.map(jnp.asarray, (observation_from_arrays(FFA, arrays), memory_from_arrays(FFA, arrays)))


@pytest.mark.slow
def test_a_decision_does_not_depend_on_its_neighbours(sample):
    observation, memory = sample
    lanes = random_bits.fold(random_bits.LaneKey(jnp.uint32(3), jnp.uint32(4)), jnp.arange(64))

    def one(observation, memory, lane):
        return decide(FFA, observation, memory, draw_words(lane))

    everybody = jax.tree.map(np.asarray, (observation, memory, lanes))
    decide_all = jax.jit(jax.vmap(one))
    together = jax.tree.map(np.asarray, decide_all(*everybody))
    for i in range(0, 64, 7):
        alone = decide_all(*jax.tree.map(lambda leaf, i=i: np.repeat(leaf[i : i + 1], 64, axis=0), everybody))
        assert equal(alone, jax.tree.map(lambda leaf, i=i: np.repeat(leaf[i : i + 1], 64, axis=0), together))


@pytest.mark.slow
def test_types_stay_as_they_were(sample):
    observation, memory = jax.tree.map(lambda leaf: leaf[0], sample)
    move, after = decide(FFA, observation, memory, draw_words(random_bits.LaneKey(jnp.uint32(3), jnp.uint32(4))))
    assert move.dtype == jnp.int32 and not move.weak_type
    for leaf, fresh in zip(jax.tree.leaves(after), jax.tree.leaves(init_memory()), strict=True):
        assert leaf.dtype == fresh.dtype == jnp.int8 and not leaf.weak_type


@pytest.mark.slow
@pytest.mark.parametrize("mode, recording", [("ffa", "ffa_simple"), ("radio", "radio")])
def test_all_seats_decide_as_each_would_alone(mode, recording):
    config = preset(mode)
    arrays = dict(np.load(SAMPLE.with_name(f"{recording}.npz")))
    states = jax.tree.map(jnp.asarray, from_arrays(config, {name: arrays[name][:200] for name in STATE_FIELDS}))
    lanes = random_bits.fold(random_bits.LaneKey(jnp.uint32(9), jnp.uint32(10)), jnp.arange(len(states.step_count)))
    seats = jnp.arange(config.num_players)
    memory = SimpleMemory(tuple(jnp.int8(cell) for cell in (12, 23, 13, -1, -1, -1)), jnp.int8(RIGHT))

    def together(state, lane):
        return _stacked(all_simple_moves(config, state, (memory,) * config.num_players, lane))

    def alone(state, lane, seat):
        return decide(config, observe(config, state, seat), memory, draw_words(lane, seat))

    def two(state, lane):
        memories = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), memory)
        return some_simple_moves(config, state, jnp.array([3, 1]), memories, lane)

    got = jax.jit(jax.vmap(together))(states, lanes)
    wanted = jax.jit(jax.vmap(jax.vmap(alone, in_axes=(None, None, 0)), in_axes=(0, 0, None)))(states, lanes, seats)
    assert equal(got, wanted)
    assert equal(jax.jit(jax.vmap(two))(states, lanes), jax.tree.map(lambda leaf: leaf[:, [3, 1]], got))


def _stacked(decided):
    moves, memories = decided
    return jnp.stack(moves), jax.tree.map(lambda *leaves: jnp.stack(leaves), *memories)


def test_pick_move_is_uniform():
    pick = jax.jit(jax.vmap(pick_move, (None, 0)))
    words = np.asarray(jax.jit(random_bits.bits)(random_bits.LaneKey(np.uint32(1), np.uint32(2)), np.arange(6000)))
    for mask in (0b1, 0b10100, 0b11111, 0b111111, 0b100010):
        picked = np.asarray(pick(np.uint32(mask), words))
        moves = [move for move in range(len(Move)) if mask >> move & 1]
        counted = np.bincount(picked, minlength=len(Move))
        assert counted[moves].sum() == len(words)
        assert stats.chisquare(counted[moves]).pvalue > 1e-4 or len(moves) == 1
    assert (np.asarray(pick(np.uint32(0), words)) == STOP).all()


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
