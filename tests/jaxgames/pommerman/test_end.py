"""The end of the game, rewards, results, messages and the collapsing board: sections 5 to 7 of the written rules.

Also replays the recorded games of radio and of the collapsing board, because their programs are compiled here anyway.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.pommerman import interop, rules
from jaxgames.pommerman.arrays import unpack
from jaxgames.pommerman.config import preset
from jaxgames.pommerman.game import Pommerman
from jaxgames.pommerman.replay import observe_batch, replay
from jaxgames.pommerman.state import Bomber
from tests.jaxgames.pommerman import recordings
from tests.jaxgames.pommerman.damage import damaged, faults, small
from tests.jaxgames.pommerman.positions import BOMB, EXTRA, LEFT, RIGHT, STOP, Bomb, Man, equal, look, play, play_on, position
from tests.recordings import replayed

LATE = 800
COLLAPSE = preset("ffa_collapse")


def end_of(mode, alive, step=100):
    """Gives (done, rewards) of a position in which only the seats in `alive` live."""
    config = preset(mode)
    numbers = (jnp.int8(1), jnp.int8(2), jnp.bool_(False))
    agents = tuple(Bomber(jnp.int8(0), jnp.bool_(seat in alive), *numbers) for seat in range(config.num_players))
    over = rules.is_over(config, agents, jnp.int16(step))
    return bool(over), [int(reward) for reward in rules.seat_rewards(config, agents, jnp.int16(step))]


@jax.jit
def _judged(state):
    return jax.vmap(lambda one: (Pommerman(COLLAPSE).outcome(one), Pommerman(COLLAPSE).heuristic(one)))(state)


def judged(state):
    """The outcome of a position with leaves [1], and what it is worth."""
    return tuple(np.asarray(values)[0].tolist() for values in _judged(state))


# --- free for all ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alive", "step", "done", "rewards"),
    [
        ({0, 1, 2, 3}, 100, False, [0, 0, 0, 0]),
        ({0, 2, 3}, 100, False, [0, -1, 0, 0]),  # the dead are paid -1 at every step
        ({1, 3}, 100, False, [-1, 0, -1, 0]),
        ({2}, 100, True, [-1, -1, 1, -1]),
        (set(), 100, True, [-1, -1, -1, -1]),
        ({0, 1, 2, 3}, LATE - 1, False, [0, 0, 0, 0]),
        ({0, 1, 2, 3}, LATE, True, [-1, -1, -1, -1]),
        ({0, 1}, LATE, True, [-1, -1, -1, -1]),
        ({1}, LATE, True, [-1, 1, -1, -1]),  # the last survivor still wins
        (set(), LATE, True, [-1, -1, -1, -1]),
    ],
)
def test_free_for_all(alive, step, done, rewards):
    assert end_of("ffa", alive, step) == (done, rewards)


def test_the_dead_of_a_free_for_all_are_paid_at_every_step():
    bomb = {(1, 0): Bomb(owner=1, life=1)}
    start = position("0..1", config=COLLAPSE, m0=Man(ammo=0), bombs=bomb, m2=Man(cell=(5, 5)))
    assert [step.rewards for step in play_on(start, (), (), config=COLLAPSE)] == [(-1, 1, -1, -1)] * 2
    steps = play_on(position("0.1.2", config=COLLAPSE, bombs=bomb), (), (), config=COLLAPSE)
    assert [step.rewards for step in steps] == [(-1, 0, 0, -1)] * 2
    assert not steps[0].done


# --- teams -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["team", "radio", "team_open", "team_collapse"])
@pytest.mark.parametrize(
    ("alive", "step", "done", "rewards"),
    [
        ({0, 1, 2, 3}, 100, False, [0, 0, 0, 0]),
        ({0, 1}, 100, False, [0, 0, 0, 0]),  # nobody is paid while both teams live
        ({1, 2, 3}, 100, False, [0, 0, 0, 0]),
        ({0, 2}, 100, True, [1, -1, 1, -1]),
        ({0}, 100, True, [1, -1, 1, -1]),  # a dead member of the winning team wins too
        ({3}, 100, True, [-1, 1, -1, 1]),
        ({1, 3}, 100, True, [-1, 1, -1, 1]),
        (set(), 100, True, [-1, -1, -1, -1]),
        ({0, 1, 2, 3}, LATE, True, [-1, -1, -1, -1]),
        ({0, 1}, LATE, True, [-1, -1, -1, -1]),
        ({0}, LATE, True, [1, -1, 1, -1]),
        ({1, 3}, LATE, True, [-1, 1, -1, 1]),
    ],
)
def test_teams(mode, alive, step, done, rewards):
    assert end_of(mode, alive, step) == (done, rewards)


# --- one against one ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alive", "step", "done", "rewards"),
    [
        ({0, 1}, 100, False, [0, 0]),
        ({0}, 100, True, [1, -1]),
        ({1}, 100, True, [-1, 1]),
        (set(), 100, True, [0, 0]),  # both die in one step before the time limit
        ({0, 1}, LATE, True, [-1, -1]),
        (set(), LATE, True, [-1, -1]),
        ({1}, LATE, True, [-1, 1]),
    ],
)
def test_one_against_one(alive, step, done, rewards):
    assert end_of("one_vs_one", alive, step) == (done, rewards)


@pytest.mark.slow
def test_a_step_of_one_against_one():
    config = preset("one_vs_one")
    after = play(position("0\n.\n.1", config=config, bombs={(7, 7): Bomb(owner=1)}), RIGHT, LEFT, config=config)
    assert [man.cell for man in after.men] == [(0, 1), (2, 0)]
    assert after.bombs == {(7, 7): Bomb(owner=1, life=8)}
    assert after.rewards == (0, 0)
    both = play(position("01", config=config, bombs={(1, 0): Bomb(life=1, strength=3), (0, 2): Bomb()}), config=config)
    assert (both.done, both.rewards) == (True, (-1, 1))


# --- after the end -----------------------------------------------------------------------------------------------------


SLOW = [pytest.param(mode, marks=pytest.mark.slow) for mode in ("ffa", "team", "one_vs_one")]


@pytest.mark.parametrize("mode", ["ffa_collapse", *SLOW])
def test_a_finished_game_stays_as_it_is_and_pays_nothing(mode):
    config = preset(mode)
    bombs = {(5, 5): Bomb(life=3, direction=LEFT), (1, 0): Bomb(owner=1, life=1)}
    end = play(position("0..1", config=config, bombs=bombs, step=30), config=config)
    assert end.done
    later = play(end.state, BOMB, RIGHT, config=config)
    assert later.rewards == (0,) * config.num_players
    assert later.done
    assert int(later.state.step_count[0]) == 31
    assert end.bombs == later.bombs == {(5, 4): Bomb(life=2, direction=LEFT)}
    assert equal(play(later.state, LEFT, LEFT, config=config).state, later.state)


def test_outcome_and_heuristic():
    running, ended, tied, dead = (
        judged(play(position(drawing, config=COLLAPSE, **things), config=COLLAPSE).state)
        for drawing, things in (
            ("0.1.2", {"bombs": {(1, 0): Bomb(life=1)}}),
            ("0.1", {"bombs": {(1, 0): Bomb(life=1)}}),
            ("0.1", {"step": LATE - 1}),
            ("0.1", {"bombs": {(0, 1): Bomb(life=1)}}),
        )
    )
    assert running == ([0] * 4, [-1, 0, 0, -1])
    assert ended == ([-1, 1, -1, -1],) * 2
    assert tied == dead == ([0] * 4, [-1] * 4)


# --- messages ----------------------------------------------------------------------------------------------------------


def test_messages_are_heard_from_the_living_and_the_dying_only():
    config = preset("radio")
    start = position("0.1.2", config=config, bombs={(1, 0): Bomb(owner=1, life=1)}, m3=Man(cell=(9, 9)))
    after = play(start, 9 * 3 + 4, 9 * 8 + 0, 81 * LEFT + 9 * 1 + 2, 9 * 5 + 5, config=config)
    assert [[int(word[0]) for word in words] for words in after.state.messages] == [[3, 4], [8, 0], [1, 2], [0, 0]]
    assert not after.men[0].alive, "it was still heard"
    assert after.men[2].cell == (0, 3)
    silent = play(after.state, 9 * 3 + 4, 81 * 6, -1, config=config)
    assert [[int(word[0]) for word in words] for words in silent.state.messages] == [[0, 0]] * 4


def test_the_cap_of_the_blast_strength_is_the_view_radius_in_radio_games():
    config = preset("radio")
    result = play(position("0r", m0=Man(strength=4), config=config), RIGHT * 81, config=config)
    assert result.men[0] == Man(strength=4, cell=(0, 1))


def test_other_modes_have_no_messages():
    assert play(position("0.1", config=COLLAPSE), config=COLLAPSE).state.messages == ()


# --- the collapsing board ----------------------------------------------------------------------------------------------

RINGS = np.minimum.reduce([*np.indices((11, 11)), *(10 - np.indices((11, 11)))])


@pytest.mark.parametrize(("step", "ring"), [(500, 0), (575, 1), (650, 2), (725, 3)])
def test_rings_turn_into_rigid_walls(step, ring):
    start = position("......\n......\n......\n......\n.....0\n....1", config=COLLAPSE, step=step - 1)
    assert ((play(start, config=COLLAPSE).board == 1) == (ring == RINGS)).all()


@pytest.mark.parametrize("step", [499, 501, 574, 576, 649, 724, 726, 799])
def test_nothing_collapses_at_other_times(step):
    start = position("0...1", config=COLLAPSE, step=step - 1)
    assert not (play(start, config=COLLAPSE).board == 1).any()


def test_what_a_collapse_does_to_a_ring():
    start = position(
        "0+#b.*\n.\n....1",
        config=COLLAPSE,
        step=499,
        hidden={(0, 1): EXTRA, (2, 0): EXTRA},
        flames={(2, 0): [2]},
        bombs={(0, 9): Bomb(owner=0, life=5), (10, 4): Bomb(owner=3, life=5), (5, 5): Bomb(owner=1, life=5)},
        m0=Man(ammo=2),
        m3=Man(ammo=10, cell=(9, 9)),
    )
    after = play(start, STOP, LEFT, config=COLLAPSE)
    assert (after.board[RINGS == 0] == 1).all()
    assert after.hidden == {}
    assert after.flames == {}
    assert after.bombs == {(5, 5): Bomb(owner=1, life=4)}
    assert after.men[0] == Man(ammo=3, alive=False, cell=(0, 0)), "its bomb vanished without exploding"
    assert after.men[3].ammo == 10
    assert after.men[1] == Man(cell=(2, 3))
    saved = interop.from_arrays(COLLAPSE, interop.to_arrays(COLLAPSE, after.state))
    assert not any(unpack(COLLAPSE.grid, plane)[0, RINGS == 0].any() for plane in saved.items), "nothing is left under the walls"
    for following in (play(after.state, config=COLLAPSE), play(saved, config=COLLAPSE)):
        assert (following.board[RINGS == 0] == 1).all() and following.men[0] == after.men[0]
        assert following.bombs == {(5, 5): Bomb(owner=1, life=3)} and following.men[3].ammo == 10


def test_a_death_by_collapse_counts_from_the_next_step_on():
    steps = play_on(position("0\n.\n..1", config=COLLAPSE, step=499), (), (), config=COLLAPSE)
    assert not steps[0].men[0].alive
    assert (steps[0].done, steps[0].rewards) == (False, (0, 0, -1, -1))
    assert (steps[1].done, steps[1].rewards) == (True, (-1, 1, -1, -1))


def test_a_collapse_is_seen_one_step_late():
    """Its walls, and that bombers and bombs are gone."""
    start = position("0..b\n.\n..1", config=COLLAPSE, step=498, bombs={(0, 8): Bomb(life=7)})
    steps = play_on(start, (), (), (), config=COLLAPSE)
    seen = [_seen_by_the_second(step.state) for step in steps]
    for before, dictionary in zip((499, 500, 501), seen, strict=True):
        assert dictionary["step_count"] == before
        ring = dictionary["board"][RINGS == 0]
        assert (ring == 1).all() == (before == 501) and (10 in ring) == (3 in ring) == (6 in ring) == (before < 501)
        assert dictionary["alive"] == ([11] if before == 501 else [10, 11])
        assert (dictionary["bomb_life"] > 0).any() == (before < 501)
    assert [step.men[0].alive for step in steps] == [True, False, False], "what is saved has it at once"


def _seen_by_the_second(state):
    return interop.observation_dict(COLLAPSE, jax.tree.map(lambda leaf: leaf[0], observe_batch(COLLAPSE, state, 1)))


def test_a_winner_crushed_by_the_collapse_has_won():
    """Bomber 1 dies on its bomb in the step that ends the game, and agent 0 under the walls that come after the end."""
    rows = ["0"] + ["."] * 8 + [".1"]
    end = play(position("\n".join(rows), bombs={(9, 1): Bomb(owner=1, life=1)}, step=499, config=COLLAPSE), config=COLLAPSE)
    assert (end.done, end.rewards) == (True, (1, -1, -1, -1))
    assert not end.men[0].alive
    later = play(end.state, config=COLLAPSE)
    assert later.rewards == (0, 0, 0, 0)
    for result in (end, later):
        assert judged(result.state) == ([1, -1, -1, -1],) * 2


def test_a_drawing_with_a_dead_agent_is_a_possible_state():
    assert look(position("0", m1=Man(cell=(4, 4)))).men[1] == Man(alive=False, cell=(4, 4))


# --- recorded games of these variants ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ffa_collapse", "radio"])
def test_recorded_games(name):
    count, findings = replayed(replay, recordings.sample(name))
    assert count == len(recordings.sample(name)["a_action"]) and findings.count == 0, findings.lines


def test_words_of_the_living_are_noticed():
    arrays = small("radio")
    first = np.concatenate([np.arange(a, a + n) for a, n in zip(arrays["ep_state0"], arrays["ep_len"], strict=True)])
    living = np.argwhere(arrays["s_agents"][first][..., 2] == 1)
    for row, seat in living[:: len(living) // 4]:
        change = 1 if arrays["a_message"][row, seat, 1] < 8 else -1
        assert faults(damaged(arrays, "a_message", (row, seat, 1), change)) > 0
    assert faults(damaged(arrays, "a_message", (3, 2, 0), 9)) > 0
