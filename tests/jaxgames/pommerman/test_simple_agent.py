"""The SimpleAgent on hand-made boards, for every clause."""

import pytest

from jaxgames.pommerman.config import preset
from tests.jaxgames.pommerman.positions import BOMB, DOWN, LEFT, RIGHT, STOP, TEAM, UP, Bomb, Man
from tests.jaxgames.pommerman.simple_choices import choices

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
