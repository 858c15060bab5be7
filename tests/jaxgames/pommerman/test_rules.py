"""One hand-made position per clause of the written rules: S1 to S3 (flames, wishes) and S9 to S12 (items, explosions)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.pommerman.config import preset
from jaxgames.pommerman.game import Pommerman
from tests.jaxgames.pommerman.positions import (
    BOMB,
    DOWN,
    EXTRA,
    KICK,
    LEFT,
    RANGE,
    RIGHT,
    STOP,
    UP,
    Bomb,
    Man,
    equal,
    look,
    play,
    play_on,
    position,
)

# --- S1: flames age ----------------------------------------------------------------------------------------------------


def test_flames_burn_for_three_boards_and_leave_a_passage():
    steps = play_on(position("0.*"), (), (), ())
    assert [step.flames.get((0, 2)) for step in steps] == [{1}, {0}, None]
    assert [step.board[0, 2] for step in steps] == [4, 4, 0]


def test_a_hidden_item_appears_when_its_flame_dies():
    after = play(position("0.", flames={(0, 2): [0]}, hidden={(0, 2): RANGE}))
    assert after.board[0, 2] == RANGE
    assert after.hidden == {}


def test_a_hidden_item_stays_hidden_under_a_living_flame():
    after = play(position("0.", flames={(0, 2): [1]}, hidden={(0, 2): RANGE}))
    assert after.board[0, 2] == 4
    assert after.hidden == {(0, 2): RANGE}


def test_an_item_is_lost_when_an_older_flame_dies_under_a_younger_one():
    steps = play_on(position("0.", flames={(0, 2): [0, 1]}, hidden={(0, 2): KICK}), (), ())
    assert steps[0].hidden == {}
    assert steps[0].flames == {(0, 2): {0}}
    assert steps[1].board[0, 2] == 0


def test_a_cell_is_free_as_soon_as_its_flame_dies():
    after = play(position("0.", flames={(0, 1): [0]}, hidden={(0, 1): EXTRA}), RIGHT)
    assert after.men[0].cell == (0, 1)
    assert after.men[0].alive
    assert after.men[0].ammo == 2


def test_walking_into_a_living_flame_kills():
    after = play(position("01", flames={(1, 0): [1]}), DOWN)
    assert not after.men[0].alive
    assert after.men[0].cell == (1, 0)
    assert after.board[1, 0] == 4
    assert after.board[0, 0] == 0


# --- S2: agents choose -------------------------------------------------------------------------------------------------


def test_laying_a_bomb():
    after = play(position("..\n.0", m0=Man(ammo=3, strength=5)), BOMB)
    assert after.bombs == {(1, 1): Bomb(owner=0, life=9, strength=5)}
    assert after.men[0].ammo == 2
    assert after.men[0].cell == (1, 1)
    assert after.board[1, 1] == 10, "the agent hides its bomb"


def test_every_seat_lays_bombs_of_its_own():
    after = play(position("0.1.2.3"), BOMB, BOMB, BOMB, BOMB)
    assert after.bombs == {(0, 2 * seat): Bomb(owner=seat) for seat in range(4)}


def test_without_ammo_no_bomb_is_laid():
    after = play(position("0", m0=Man(ammo=0)), BOMB)
    assert after.bombs == {}
    assert after.men[0].ammo == 0


def test_on_a_bomb_no_other_is_laid():
    after = play(position("0", bombs={(0, 0): Bomb(owner=1, life=5)}), BOMB)
    assert after.bombs == {(0, 0): Bomb(owner=1, life=4)}
    assert after.men[0].ammo == 1


@pytest.mark.parametrize(("move", "cell"), [(UP, (0, 1)), (DOWN, (2, 1)), (LEFT, (1, 0)), (RIGHT, (1, 2)), (STOP, (1, 1))])
def test_moves(move, cell):
    after = play(position("...\n.0."), move)
    assert after.men[0].cell == cell
    assert after.board[cell] == 10
    assert np.count_nonzero(after.board) == 1


@pytest.mark.parametrize("wall", ["#", "+"])
@pytest.mark.parametrize("move", [UP, DOWN, LEFT, RIGHT])
def test_walls_stop_agents(wall, move):
    start = position(f".{wall}.\n{wall}0{wall}\n.{wall}.")
    assert play(start, move).men[0].cell == (1, 1)


@pytest.mark.parametrize(("corner", "moves"), [((0, 0), (UP, LEFT)), ((10, 10), (DOWN, RIGHT)), ((0, 10), (UP, RIGHT))])
def test_the_border_stops_agents(corner, moves):
    lines = [["."] * 11 for _ in range(11)]
    lines[corner[0]][corner[1]] = "0"
    start = position("\n".join(map("".join, lines)))
    for move in moves:
        assert play(start, move).men[0].cell == corner


@pytest.mark.parametrize("action", [-1, 6, 100, -(2**31)])
def test_an_action_out_of_range_counts_as_stop(action):
    start = position(".0.1")
    assert equal(play(start, action, LEFT).state, play(start, STOP, LEFT).state)


def test_dead_agents_do_nothing():
    start = position("0.1", m2=Man(cell=(5, 5), ammo=3))
    assert equal(play(start, STOP, STOP, BOMB).state, play(start, STOP, STOP, STOP).state)
    assert equal(play(start, STOP, STOP, LEFT).state, play(start, STOP, STOP, STOP).state)


# --- S3: bombs choose --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("direction", "cell"), [(UP, (1, 2)), (DOWN, (3, 2)), (LEFT, (2, 1)), (RIGHT, (2, 3))])
def test_a_rolling_bomb_rolls_on(direction, cell):
    after = play(position("0", bombs={(2, 2): Bomb(direction=direction)}))
    assert after.bombs == {cell: Bomb(life=8, direction=direction)}
    assert after.board[cell] == 3


@pytest.mark.parametrize("thing", "#+brk")
def test_walls_and_power_ups_stop_a_rolling_bomb_for_good(thing):
    steps = play_on(position(f"0..\n..{thing}", bombs={(1, 1): Bomb(direction=RIGHT)}), (), ())
    assert steps[0].bombs == {(1, 1): Bomb(life=8)}
    assert steps[1].bombs == {(1, 1): Bomb(life=7)}


def test_the_border_stops_a_rolling_bomb():
    assert play(position(".0", bombs={(3, 0): Bomb(direction=LEFT)})).bombs == {(3, 0): Bomb(life=8)}


def test_flames_do_not_stop_a_rolling_bomb_but_set_it_off():
    after = play(position("0\n...*", bombs={(1, 2): Bomb(direction=RIGHT)}))
    assert after.bombs == {}
    assert after.flames[1, 3] == {1, 2}
    assert after.flames[1, 4] == {2}


def test_an_agent_that_walks_away_does_not_stop_a_bomb_behind_it():
    after = play(position("..\n..0.", bombs={(1, 1): Bomb(direction=RIGHT)}), RIGHT)
    assert after.bombs == {(1, 2): Bomb(life=8, direction=RIGHT)}
    assert after.men[0].cell == (1, 3)


# --- S9: power-ups -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sign", "before", "after"),
    [
        ("b", Man(ammo=2), Man(ammo=3)),
        ("b", Man(ammo=10), Man(ammo=10)),
        ("r", Man(strength=2), Man(strength=3)),
        ("r", Man(strength=10), Man(strength=10)),
        ("k", Man(kick=False), Man(kick=True)),
        ("k", Man(kick=True), Man(kick=True)),
    ],
)
def test_power_ups_are_taken_at_once(sign, before, after):
    result = play(position(f"0{sign}1", m0=before), RIGHT)
    assert result.men[0] == after._replace(cell=(0, 1))
    assert result.board[0, 1] == 10
    assert result.men[1] == Man(cell=(0, 2))


@pytest.mark.parametrize(("mode", "cap"), [("ffa", 10), pytest.param("team", 4, marks=pytest.mark.slow)])
def test_the_cap_of_the_blast_strength_is_the_view_radius_in_fogged_variants(mode, cap):
    config = preset(mode)
    result = play(position("0r", m0=Man(strength=cap), config=config), RIGHT, config=config)
    assert result.men[0] == Man(strength=cap, cell=(0, 1))


def test_an_agent_that_dies_on_a_power_up_still_gets_it():
    result = play(position("0r\n.+", bombs={(0, 2): Bomb(owner=1, life=1)}), RIGHT)
    assert result.men[0] == Man(strength=3, alive=False, cell=(0, 1))


def test_bombs_keep_the_strength_they_were_laid_with():
    result = play(position("0r", bombs={(0, 0): Bomb()}), RIGHT)
    assert result.bombs[0, 0].strength == 2
    assert result.men[0].strength == 3


# --- S10: bombs tick ---------------------------------------------------------------------------------------------------


def test_a_bomb_explodes_in_the_ninth_step_after_the_one_it_was_laid_in():
    steps = play_on(position("0....1"), (BOMB,), (DOWN,), (DOWN,), *[()] * 8)
    assert [step.bombs[0, 0].life for step in steps[:9]] == list(range(9, 0, -1))
    assert steps[9].bombs == {}
    assert steps[9].flames == {(0, 0): {2}, (0, 1): {2}, (1, 0): {2}}
    assert steps[9].men[0].ammo == 1


def test_a_kicked_bomb_explodes_in_old_flames():
    after = play(position("0.*", m0=Man(kick=True), bombs={(0, 1): Bomb()}), RIGHT)
    assert after.bombs == {}
    assert after.flames[0, 2] == {1, 2}
    assert not after.men[0].alive
    assert after.men[0].cell == (0, 1)


# --- S11: explosions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strength", [2, 3, 4, 7, 10])
def test_a_blast_reaches_one_cell_less_than_its_strength(strength):
    after = play(position("0", bombs={(5, 5): Bomb(life=1, strength=strength)}))
    reach = min(strength - 1, 5)
    cells = {(5 + d, 5) for d in range(-reach, reach + 1)} | {(5, 5 + d) for d in range(-reach, reach + 1)}
    assert set(after.flames) == cells


def test_rigid_walls_stop_a_blast_before_them_and_wood_after():
    start = position(".....\n0....\n++..#\n.....\n...#.", bombs={(2, 3): Bomb(life=1, strength=4)})
    after = play(start)
    assert set(after.flames) == {(2, 3), (2, 2), (2, 1), (1, 3), (0, 3), (3, 3)}
    assert after.board[2, :5].tolist() == [2, 4, 4, 4, 1], "the nearer wood burns"
    assert after.board[4, 3] == 1


def test_nothing_else_stops_a_blast():
    start = position(".0\n.b1*", bombs={(1, 0): Bomb(life=1, strength=7), (1, 4): Bomb(owner=1)})
    after = play(start)
    assert {(1, column) for column in range(7)} <= set(after.flames)
    assert after.bombs == {}, "the bomb on the way is set off too"


def test_a_chain_of_bombs_explodes_in_one_step():
    start = position("0", bombs={(2, 2): Bomb(life=1), (2, 3): Bomb(), (3, 3): Bomb(owner=1), (4, 3): Bomb(owner=2, strength=3)})
    after = play(start)
    assert after.bombs == {}
    assert (6, 3) in after.flames
    assert [man.ammo for man in after.men] == [3, 2, 2, 1]


def test_two_bombs_of_one_step_do_not_burn_through_the_same_wood():
    start = position("0\n...+.", bombs={(1, 1): Bomb(life=1, strength=4), (1, 2): Bomb(owner=1, strength=10)})
    after = play(start)
    assert after.board[1, 3] == 4
    assert after.board[1, 4] == 0


def test_dead_owners_get_their_ammo_back():
    after = play(position("0", bombs={(5, 5): Bomb(owner=2, life=1)}, m2=Man(ammo=0, cell=(9, 9))))
    assert after.men[2] == Man(ammo=1, alive=False, cell=(9, 9))


def test_ammo_given_back_above_ten_is_lost():
    start = position("0", bombs={(5, 5): Bomb(life=1), (7, 7): Bomb(life=1)}, m0=Man(ammo=9))
    assert play(start).men[0].ammo == 10


# --- S12: the board ----------------------------------------------------------------------------------------------------


def test_a_new_flame_joins_an_older_one_in_its_cell():
    after = play(position("0", flames={(5, 6): [2]}, bombs={(5, 5): Bomb(life=1)}))
    assert after.flames[5, 6] == {1, 2}
    assert after.flames[5, 5] == {2}


def test_visible_power_ups_burn_and_hidden_ones_stay_hidden():
    steps = play_on(position("0\n.k.+", hidden={(1, 3): RANGE}, bombs={(1, 2): Bomb(life=1)}), (), (), (), ())
    assert steps[0].hidden == {(1, 3): RANGE}
    assert steps[-1].board[1, 1] == 0
    assert steps[-1].board[1, 3] == RANGE


def test_a_blast_destroys_an_item_revealed_in_the_same_step():
    start = position("0", flames={(5, 6): [0]}, hidden={(5, 6): EXTRA}, bombs={(5, 5): Bomb(life=1, strength=4)})
    after = play(start)
    assert after.hidden == {}
    assert after.flames[5, 6] == {2}
    assert (5, 7) in after.flames, "and goes through its cell"


def test_an_agent_in_the_blast_dies_and_keeps_its_numbers():
    after = play(position("0.1", m0=Man(ammo=0, strength=5, kick=True), bombs={(1, 0): Bomb(owner=1, life=1)}))
    assert after.men[0] == Man(ammo=0, strength=5, kick=True, alive=False, cell=(0, 0))
    assert after.board[0, 0] == 4
    assert after.men[1].alive


def test_an_agent_that_walks_out_of_the_blast_lives():
    after = play(position("..1\n0", bombs={(1, 0): Bomb(life=1)}), DOWN)
    assert not after.men[0].alive, "one step along the ray is not enough"
    assert play(position("..1\n.0", bombs={(1, 0): Bomb(life=1)}), UP).men[0].alive


def test_variants_without_collapse_never_collapse():
    assert not (play(position("0...1", step=499)).board == 1).any()


def test_step_count_goes_up():
    assert int(play(position("0.1", step=7)).state.step_count[0]) == 8


def test_a_position_survives_being_looked_at():
    start = position("0#b\n+*1", hidden={(1, 0): KICK}, bombs={(3, 3): Bomb(owner=1, life=4, strength=6, direction=DOWN)}, step=3)
    seen = look(start)
    assert seen.bombs == {(3, 3): Bomb(1, 4, 6, DOWN)}
    assert seen.hidden == {(1, 0): KICK}
    assert seen.board[:2, :3].tolist() == [[10, 1, 6], [2, 4, 11]]


# --- wrong calls -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("actions", "told"),
    [
        (jnp.array([4, 2]), r"actions of shape \(2,\) and type int32: must be integers of shape \(4,\)"),
        (jnp.zeros((2, 4), jnp.int32), r"actions of shape \(2, 4\)"),
        (jnp.int32(1), r"actions of shape \(\)"),
        (jnp.array([0.0, 1.0, 2.0, 3.9]), "type float32"),
        (jnp.zeros(4, bool), "type bool"),
        (np.array([0, 1, 2, 6]), r"action 6 of player 3: must be in 0\.\.5"),
        ([0, 0, -1, 0], r"action -1 of player 2: must be in 0\.\.5"),
    ],
)
def test_wrong_actions_are_told_while_tracing(actions, told):
    game, state = Pommerman(), jax.tree.map(lambda leaf: leaf[0], position("0.1.2"))
    for function in (game.step, game.apply):
        with pytest.raises(ValueError, match=told) as caught:
            jax.eval_shape(lambda state, function=function: function(state, actions), state)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("player", [4, -1, np.int64(7), 1.5, np.arange(2), True])
def test_wrong_seats_are_told_while_tracing(player):
    state = jax.tree.map(lambda leaf: leaf[0], position("0.1.2"))
    with pytest.raises(ValueError, match="player"):
        jax.eval_shape(lambda state: Pommerman().observe(state, player), state)


def test_a_traced_seat_out_of_range_counts_as_seat_0():
    game, state = Pommerman(), jax.tree.map(lambda leaf: leaf[0], position("0.1.2"))
    seen = jax.jit(jax.vmap(game.observe, in_axes=(None, 0)))(state, jnp.array([0, 4, -1]))
    first = jax.tree.map(lambda leaf: leaf[:1], seen)
    assert all(equal(jax.tree.map(lambda leaf, i=i: leaf[i : i + 1], seen), first) for i in (1, 2))
