"""One hand-made position per clause of the contest over cells: S4 to S8 (swaps, bounces, kicks) and the quirks of movement."""

import functools

import jax
import numpy as np
import pytest

from jaxgames.bitboard import Grid
from jaxgames.pommerman import movement
from jaxgames.pommerman.movement import Tally
from jaxgames.pommerman.state import Bomber, Bombs
from jaxgames.unrolled import unrolled
from tests.jaxgames.pommerman.positions import DOWN, LEFT, RIGHT, STOP, UP, Bomb, Man, play, play_on, position

KICKER = Man(kick=True)


def cells(result, *seats):
    return [result.men[seat].cell for seat in seats]


# --- S4: swaps ---------------------------------------------------------------------------------------------------------


def test_two_agents_do_not_swap():
    assert cells(play(position("01"), RIGHT, LEFT), 0, 1) == [(0, 0), (0, 1)]


def test_two_bombs_do_not_swap_and_stop():
    start = position("0", bombs={(2, 2): Bomb(direction=RIGHT), (2, 3): Bomb(owner=1, direction=LEFT)})
    steps = play_on(start, (), ())
    assert steps[0].bombs == {(2, 2): Bomb(life=8), (2, 3): Bomb(owner=1, life=8)}
    assert steps[1].bombs == {(2, 2): Bomb(life=7), (2, 3): Bomb(owner=1, life=7)}


def test_an_agent_without_kick_does_not_swap_with_a_bomb():
    after = play(position("..0", bombs={(0, 3): Bomb(direction=LEFT)}), RIGHT)
    assert cells(after, 0) == [(0, 2)]
    assert after.bombs == {(0, 3): Bomb(life=8)}


def test_an_agent_that_would_swap_with_a_bomb_kicks_it_back():
    after = play(position("..0", m0=KICKER, bombs={(0, 3): Bomb(direction=LEFT)}), RIGHT)
    assert cells(after, 0) == [(0, 3)]
    assert after.bombs == {(0, 4): Bomb(life=8, direction=RIGHT)}


# --- S5: who bounces ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kick", [False, True])
def test_two_agents_that_want_one_cell_both_stay(kick):
    start = position("0.1", m0=Man(kick=kick), m1=Man(kick=kick))
    assert cells(play(start, RIGHT, LEFT), 0, 1) == [(0, 0), (0, 2)]


def test_an_agent_does_not_enter_the_cell_of_one_that_stays():
    assert cells(play(position("01"), RIGHT, STOP), 0, 1) == [(0, 0), (0, 1)]


def test_agents_follow_each_other():
    assert cells(play(position("0123"), RIGHT, RIGHT, RIGHT, RIGHT), 0, 1, 2, 3) == [(0, 1), (0, 2), (0, 3), (0, 4)]


def test_agents_may_go_round_in_a_circle():
    assert cells(play(position("01\n32"), RIGHT, DOWN, LEFT, UP), 0, 1, 2, 3) == [(0, 1), (1, 1), (1, 0), (0, 0)]


def test_a_queue_behind_a_bounced_agent_bounces():
    start = position("012.3")
    assert cells(play(start, RIGHT, RIGHT, RIGHT, LEFT), 0, 1, 2, 3) == [(0, 0), (0, 1), (0, 2), (0, 4)]


def test_a_queue_of_all_four_behind_a_bomb_stays():
    """Whoever is bounced last learns it from the one before."""
    start = position("0123", bombs={(0, 4): Bomb()})
    assert cells(play(start, RIGHT, RIGHT, RIGHT, RIGHT), 0, 1, 2, 3) == [(0, 0), (0, 1), (0, 2), (0, 3)]


def test_a_contested_cell_stays_blocked_for_all_comers():
    # Agents 0 and 1 want (1, 1); agent 2 wants it too, from below.
    assert cells(play(position("...\n0.1\n.2."), RIGHT, LEFT, UP), 0, 1, 2) == [(1, 0), (1, 2), (2, 1)]


def test_counters_do_not_go_down_when_somebody_bounces():
    # Agent 0 wants the cell of 1; 1 and 2 bounce off (0, 2); 3 wants the cell of 0, to which 0 is thrown back.
    start = position("01.2\n3...")
    assert cells(play(start, RIGHT, RIGHT, LEFT, UP), 0, 1, 2, 3) == [(0, 0), (0, 1), (0, 3), (1, 0)]


def test_two_bombs_that_want_one_cell_stay_and_stop_for_good():
    start = position("0", bombs={(2, 2): Bomb(direction=RIGHT), (2, 4): Bomb(owner=1, direction=LEFT)})
    steps = play_on(start, (), ())
    for step, life in zip(steps, (8, 7), strict=True):
        assert step.bombs == {(2, 2): Bomb(life=life), (2, 4): Bomb(owner=1, life=life)}


def test_a_bomb_does_not_roll_into_one_that_lies():
    start = position("0", bombs={(2, 2): Bomb(direction=RIGHT), (2, 3): Bomb(owner=1)})
    assert play(start).bombs == {(2, 2): Bomb(life=8), (2, 3): Bomb(owner=1, life=8)}


def test_bombs_roll_behind_each_other():
    start = position("0", bombs={(2, 2): Bomb(direction=RIGHT), (2, 3): Bomb(owner=1, direction=RIGHT)})
    assert set(play(start).bombs) == {(2, 3), (2, 4)}


def test_an_agent_does_not_enter_a_cell_that_two_bombs_want():
    start = position(
        "...\n...\n...\n..0", m0=KICKER, bombs={(2, 1): Bomb(direction=RIGHT), (2, 3): Bomb(owner=1, direction=LEFT)}
    )
    after = play(start, UP)
    assert cells(after, 0) == [(3, 2)]
    assert after.bombs == {(2, 1): Bomb(life=8), (2, 3): Bomb(owner=1, life=8)}


def test_a_bomb_does_not_enter_a_cell_that_two_agents_want():
    start = position("..0\n...\n..1", m0=KICKER, m1=KICKER, bombs={(1, 1): Bomb(direction=RIGHT)})
    after = play(start, DOWN, UP)
    assert cells(after, 0, 1) == [(0, 2), (2, 2)]
    assert after.bombs == {(1, 1): Bomb(life=8)}


# --- S6: kicks ---------------------------------------------------------------------------------------------------------


def test_a_bomb_that_rolls_against_a_standing_agent_stops_and_does_no_harm():
    steps = play_on(position("...0", m0=KICKER, bombs={(0, 2): Bomb(direction=RIGHT)}), (), ())
    assert [step.bombs for step in steps] == [{(0, 2): Bomb(life=8)}, {(0, 2): Bomb(life=7)}]
    assert steps[1].men[0].alive


def test_a_bomb_under_a_standing_agent_is_left_alone():
    after = play(position("0", m0=KICKER, bombs={(0, 0): Bomb()}))
    assert after.bombs == {(0, 0): Bomb(life=8)}


def test_an_agent_leaves_its_bomb_freely():
    after = play(position("0", bombs={(0, 0): Bomb()}), RIGHT)
    assert cells(after, 0) == [(0, 1)]
    assert after.bombs == {(0, 0): Bomb(life=8)}


def test_an_agent_without_kick_does_not_walk_onto_a_bomb():
    after = play(position("0", bombs={(0, 1): Bomb()}), RIGHT)
    assert cells(after, 0) == [(0, 0)]
    assert after.bombs == {(0, 1): Bomb(life=8)}


@pytest.mark.parametrize(
    ("move", "bomb", "target"), [(UP, (1, 2), (0, 2)), (DOWN, (3, 2), (4, 2)), (LEFT, (2, 1), (2, 0)), (RIGHT, (2, 3), (2, 4))]
)
def test_a_kick_moves_the_bomb_at_once_and_sets_it_rolling(move, bomb, target):
    after = play(position("...\n...\n..0", m0=KICKER, bombs={bomb: Bomb(owner=1)}), move)
    assert cells(after, 0) == [bomb]
    assert after.bombs == {target: Bomb(owner=1, life=8, direction=move)}
    assert after.board[bomb] == 10


@pytest.mark.parametrize("thing", ["#", "+", "b", "r", "k", "1"])
def test_a_kick_needs_a_free_cell_behind_the_bomb(thing):
    after = play(position(f"0.{thing}", m0=KICKER, bombs={(0, 1): Bomb()}), RIGHT)
    assert cells(after, 0) == [(0, 0)]
    assert after.bombs == {(0, 1): Bomb(life=8)}


def test_a_kick_over_the_border_fails():
    after = play(position(".0", m0=KICKER, bombs={(0, 0): Bomb()}), LEFT)
    assert cells(after, 0) == [(0, 1)]


def test_a_kick_against_another_bomb_fails():
    after = play(position("0", m0=KICKER, bombs={(0, 1): Bomb(), (0, 2): Bomb(owner=1)}), RIGHT)
    assert cells(after, 0) == [(0, 0)]
    assert set(after.bombs) == {(0, 1), (0, 2)}


def test_a_kick_against_a_bomb_that_rolls_there_fails_and_does_not_stop_that_bomb():
    start = position("0..\n...", m0=KICKER, bombs={(0, 1): Bomb(), (1, 2): Bomb(owner=1, direction=UP)})
    after = play(start, RIGHT)
    assert cells(after, 0) == [(0, 0)]
    assert after.bombs == {(0, 1): Bomb(life=8), (0, 2): Bomb(owner=1, life=8, direction=UP)}


def test_a_kick_into_a_cell_that_somebody_wants_fails():
    after = play(position("0..1", m0=KICKER, bombs={(0, 1): Bomb()}), RIGHT, LEFT)
    assert cells(after, 0, 1) == [(0, 0), (0, 2)]
    assert after.bombs == {(0, 1): Bomb(life=8)}


def test_a_rolling_bomb_is_kicked_on_from_where_it_meets_the_agent():
    after = play(position("...\n0..", m0=KICKER, bombs={(0, 1): Bomb(direction=DOWN)}), RIGHT)
    assert cells(after, 0) == [(1, 1)]
    assert after.bombs == {(1, 2): Bomb(life=8, direction=RIGHT)}


def test_an_agent_that_follows_a_rolling_bomb_does_not_kick_it():
    after = play(position("0", m0=KICKER, bombs={(0, 1): Bomb(direction=RIGHT)}), RIGHT)
    assert cells(after, 0) == [(0, 1)]
    assert after.bombs == {(0, 2): Bomb(life=8, direction=RIGHT)}


def test_the_boomerang():
    # The bomb rolls into the cell that the agent enters, is kicked on and lands where it was, with the new direction.
    after = play(position("0", m0=KICKER, bombs={(0, 2): Bomb(direction=LEFT)}), RIGHT)
    assert cells(after, 0) == [(0, 1)]
    assert after.bombs == {(0, 2): Bomb(life=8, direction=RIGHT)}


def test_agent_and_rolling_bomb_both_stay_out_of_the_cell_where_they_meet_without_a_kick():
    after = play(position("...\n0..", bombs={(0, 1): Bomb(direction=DOWN)}), RIGHT)
    assert cells(after, 0) == [(1, 0)]
    assert after.bombs == {(0, 1): Bomb(life=8)}
    after = play(position("...\n0.#", m0=KICKER, bombs={(0, 1): Bomb(direction=DOWN)}), RIGHT)
    assert cells(after, 0) == [(1, 0)]
    assert after.bombs == {(0, 1): Bomb(life=8)}


@pytest.mark.parametrize(("kick", "where"), [(False, (0, 0)), (True, (0, 1))])
def test_entering_the_cell_of_a_bomb_that_its_owner_leaves_needs_a_kick(kick, where):
    after = play(position("01", m0=Man(kick=kick), bombs={(0, 1): Bomb(owner=1)}), RIGHT, DOWN)
    assert cells(after, 0, 1) == [where, (1, 1)]
    assert after.bombs == ({(0, 2): Bomb(owner=1, life=8, direction=RIGHT)} if kick else {(0, 1): Bomb(owner=1, life=8)})


# --- S7: what a failed kick undoes -------------------------------------------------------------------------------------


def test_a_kick_is_undone_when_somebody_is_thrown_back_to_its_target():
    # 1 leaves (0, 2), the target, but cannot kick the bomb in its way and comes back.
    start = position("0.1", m0=KICKER, bombs={(0, 1): Bomb(), (0, 3): Bomb(owner=1)})
    after = play(start, RIGHT, RIGHT)
    assert cells(after, 0, 1) == [(0, 0), (0, 2)]
    assert after.bombs == {(0, 1): Bomb(life=8), (0, 3): Bomb(owner=1, life=8)}


def test_a_bomb_is_sent_back_when_an_agent_is_thrown_back_before_it():
    start = position("..0", bombs={(0, 1): Bomb(direction=RIGHT), (0, 3): Bomb(owner=1)})
    after = play(start, RIGHT)
    assert cells(after, 0) == [(0, 2)]
    assert after.bombs == {(0, 1): Bomb(life=8), (0, 3): Bomb(owner=1, life=8)}


def test_whoever_follows_a_bomb_that_is_sent_back_stays_even_if_it_can_kick():
    start = position("0..1", m0=KICKER, bombs={(0, 1): Bomb(direction=RIGHT)})
    assert cells(play(start, RIGHT), 0) == [(0, 1)], "the bomb has room"
    start = position("0.1", m0=KICKER, bombs={(0, 1): Bomb(direction=RIGHT)})
    after = play(start, RIGHT)
    assert cells(after, 0) == [(0, 0)]
    assert after.bombs == {(0, 1): Bomb(life=8)}


def test_two_kicks_of_one_target_undo_each_other():
    start = position("...\n0...1", m0=KICKER, m1=KICKER, bombs={(1, 1): Bomb(), (1, 3): Bomb(owner=1)})
    after = play(start, RIGHT, LEFT)
    assert cells(after, 0, 1) == [(1, 0), (1, 4)]
    assert after.bombs == {(1, 1): Bomb(life=8), (1, 3): Bomb(owner=1, life=8)}


def test_a_boomerang_fails_when_somebody_wants_the_cell_of_the_bomb():
    start = position("0..\n..1", m0=KICKER, bombs={(0, 2): Bomb(direction=LEFT)})
    after = play(start, RIGHT, UP)
    assert cells(after, 0, 1) == [(0, 0), (1, 2)]
    assert after.bombs == {(0, 2): Bomb(life=8)}


def test_a_boomerang_is_undone_by_another_kick_into_its_cell():
    start = position("0..\n...\n..1", m0=KICKER, m1=KICKER, bombs={(0, 2): Bomb(direction=LEFT), (1, 2): Bomb(owner=1)})
    after = play(start, RIGHT, UP)
    assert cells(after, 0, 1) == [(0, 0), (2, 2)]
    assert after.bombs == {(0, 2): Bomb(life=8), (1, 2): Bomb(owner=1, life=8)}


# --- several at once ---------------------------------------------------------------------------------------------------


def test_four_agents_kick_in_one_step():
    start = position(
        ".....\n..0..\n.....\n.....\n1......2\n.....\n.....\n..3",
        m0=KICKER,
        m1=KICKER,
        m2=KICKER,
        m3=KICKER,
        bombs={(2, 2): Bomb(), (4, 1): Bomb(owner=1), (4, 6): Bomb(owner=2), (6, 2): Bomb(owner=3)},
    )
    after = play(start, DOWN, RIGHT, LEFT, UP)
    assert after.bombs == {
        (3, 2): Bomb(life=8, direction=DOWN),
        (4, 2): Bomb(owner=1, life=8, direction=RIGHT),
        (4, 5): Bomb(owner=2, life=8, direction=LEFT),
        (5, 2): Bomb(owner=3, life=8, direction=UP),
    }


def test_tally_counts_up_to_many():
    grid = Grid(9, 5)
    masks = np.random.default_rng(5).random((6, 9, 5)) < 0.4

    @jax.jit
    def tallies():
        all_of_them = [Tally(grid.empty, grid.empty)]
        for mask in masks:
            all_of_them.append(all_of_them[-1].add(grid.constant(mask)))
        all_of_them.append(all_of_them[-1].clear(grid.constant(masks[2])))
        return [(grid.to_bool(tally.some), grid.to_bool(tally.many)) for tally in all_of_them[1:]]

    *told, cleared = jax.device_get(tallies())
    count = np.zeros((9, 5), int)
    for mask, (some, many) in zip(masks, told, strict=True):
        count = count + mask
        assert (some == (count >= 1)).all()
        assert (many == (count >= 2)).all()
    assert (cleared[0] == (count >= 1) & ~masks[2]).all()
    assert (cleared[1] == (count >= 2) & ~masks[2]).all()


# --- accelerators ------------------------------------------------------------------------------------------------------


def _crowd(grid, rng):
    """A crowded board: bombs that roll everywhere, four agents among them, walls; what `movement.resolve` is given."""
    place = rng.permutation(grid.num_cells)
    walls = np.isin(np.arange(grid.num_cells), place[:12])
    bombs = np.isin(np.arange(grid.num_cells), place[12 : 12 + rng.integers(1, 30)])
    number = {name: rng.integers(1, top, grid.num_cells) * bombs for name, top in (("life", 11), ("strength", 11), ("owner", 4))}
    way = rng.integers(0, 6, grid.num_cells)  # two of six rest

    def plane(cells):
        return grid.constant(cells.reshape(grid.rows, grid.columns))

    sizes = {"life": 4, "strength": 4, "owner": 2}
    digits = [tuple(plane(number[name] >> digit & 1 == 1) for digit in range(size)) for name, size in sizes.items()]
    moving = tuple(plane(bombs & (way == direction)) for direction in range(4))
    free = place[12 + 30 :]
    men = tuple(Bomber(np.int8(free[seat]), rng.random() < 0.9, np.int8(1), np.int8(2), rng.random() < 0.7) for seat in range(4))
    moves = tuple(np.int32(move) for move in rng.integers(0, 5, 4))
    return men, moves, plane(walls), Bombs(*digits, moving)


@pytest.mark.slow
def test_accelerators_settle_the_same():
    """They play the contest for all games, number by number (`unrolled`); a CPU for those that need it, in vectors."""
    grid, rng = Grid(11, 11), np.random.default_rng(7)
    crowds = [_crowd(grid, rng) for _ in range(400)]
    men, moves, walls, bombs = jax.tree.map(lambda *leaves: np.stack(leaves), *crowds)

    def settle(men, moves, walls, bombs):
        return movement.resolve(grid, movement.make_walkers(grid, men, moves, walls), bombs, walls, grid.empty)

    on_a_cpu = jax.jit(jax.vmap(settle))(men, moves, walls, bombs)
    walkers = jax.vmap(lambda *given: movement.make_walkers(grid, *given))(men, moves, walls)
    swapped = jax.vmap(movement._swapped)(walkers)
    nothing = jax.tree.map(lambda word: np.zeros(len(crowds), word.dtype), grid.empty)
    contest = unrolled(functools.partial(movement._contest_in_words, grid))
    go = tuple(np.zeros(len(crowds), bool) for _ in men)
    apart = jax.jit(contest)((walkers, swapped, walls, nothing), (go, bombs))
    for one, other in zip(jax.tree.leaves(apart), jax.tree.leaves(on_a_cpu), strict=True):
        np.testing.assert_array_equal(one, other)
    kicked = sum(np.bitwise_count(word).sum() for plane in on_a_cpu[1].moving for word in plane.words)
    assert kicked > 400  # many still roll
    assert not np.array_equal(np.stack(on_a_cpu[0]), np.stack([w.moving for w in walkers]))
