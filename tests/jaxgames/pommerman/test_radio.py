"""What teammates tell each other in radio games, and what they make of it."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.pommerman import radio
from jaxgames.pommerman.config import preset
from jaxgames.pommerman.constants import NUM_MESSAGES, NUM_WORDS, Move
from search.believed import believed
from search.modelled import Models
from search.planner import Plan, memoryless
from search.presets import by_name
from tests.jaxgames.pommerman.positions import position

RADIO = preset("radio")
GAME = jaxgames.make("pommerman", "radio")
FIRST, OTHER = 1, 3  # the enemies of seats 0 and 2


def board(**seats):
    """A drawing of agents s0=(row, column) and so on, with walls `wall=[cells]`."""
    rows = [["."] * 11 for _ in range(11)]
    for row, column in seats.pop("wall", ()):
        rows[row][column] = "#"
    for name, (row, column) in seats.items():
        rows[row][column] = name[1]
    return " ".join("".join(row) for row in rows)


@functools.cache
def programs():
    tells = jax.vmap(lambda state, seat, action: radio.tell(RADIO, GAME.observe(state, seat), action))
    begins = jax.vmap(lambda state, seat: GAME.init_belief(GAME.observe(state, seat)))
    heeds = jax.vmap(lambda belief, state, seat: GAME.heed(belief, GAME.observe(state, seat)))
    return jax.jit(tells), jax.jit(begins), jax.jit(heeds)


def words_of(drawing, seat=2, *, step=0, action=0):
    """The move and the two words of an action with what its player tells."""
    said = int(programs()[0](position(drawing, config=RADIO, step=step), np.full(1, seat), np.full(1, action))[0])
    return said // NUM_MESSAGES, said % NUM_MESSAGES // NUM_WORDS, said % NUM_WORDS


def enemy_after(drawing, words, *, enemy=FIRST, step=1):
    """Where the player of seat 0 believes an enemy to be before and after it heeds words of seat 2."""
    _, begins, heeds = programs()
    state = position(drawing, config=RADIO, step=step, messages=[(0, 0), (5, 5), words, (6, 6)])
    seat = np.zeros(1, int)
    before = begins(state, seat)
    after = heeds(before, state, seat)
    for one, other in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
    return tuple(divmod(int(belief.bombers[enemy].cell[0]), 11) for belief in (before, after))


@pytest.mark.parametrize("row", range(11))
def test_an_enemy_that_one_sees_is_where_the_other_believes_it(row):
    for column in range(4, 11):
        cell = (row, column)
        mate = (min(max(row, 4), 6), column + 1 if column < 10 else 9)
        drawing = board(s0=(10 if row < 5 else 0, 0), s1=cell, s2=mate)
        _, first, second = words_of(drawing)
        _, found = enemy_after(drawing, (first, second))
        assert found[0] * 11 + found[1] in {2 * ((row * 11 + column) // 2), 2 * ((row * 11 + column) // 2) + 1}


def test_enemies_are_told_of_by_turns_and_only_when_seen():
    drawing = board(s0=(0, 0), s1=(8, 8), s2=(9, 9), s3=(9, 8))
    first, other = words_of(drawing, step=0), words_of(drawing, step=1)
    assert first == (0, *divmod(1 + (8 * 11 + 8) // 2, 8)) and other == (0, *divmod(1 + (9 * 11 + 8) // 2, 8))
    assert words_of(drawing, step=4) == first and words_of(drawing, step=5) == other
    assert words_of(drawing, seat=0) == (0, 0, 0)  # out of view
    assert words_of(board(s0=(0, 0), s2=(9, 9), s3=(9, 8))) == (0, 0, 0)  # dead
    assert words_of(board(s0=(0, 0), s1=(8, 8), s3=(9, 8)), seat=2) == (0, 0, 0)  # the dead say nothing
    assert words_of(board(s0=(8, 8), s1=(9, 9), s2=(0, 0)), seat=1) == first  # seats 1 and 3 tell of 0 and 2


def test_the_move_stays_and_other_words_are_replaced():
    drawing = board(s0=(0, 0), s1=(8, 8), s2=(9, 9))
    for move in Move:
        assert words_of(drawing, action=move * NUM_MESSAGES + 80) == (move, *words_of(drawing)[1:])


def test_words_are_believed_where_they_can_be_true():
    words, pair = divmod(1 + (7 * 11 + 7) // 2, 8), {(7, 7), (7, 8)}
    far = board(s0=(0, 0), s1=(5, 9), s2=(9, 9), s3=(9, 0))
    before, after = enemy_after(far, words)
    assert after in pair and before not in pair
    before, after = enemy_after(far, (0, 0))
    assert after == before  # silence
    before, after = enemy_after(far, divmod(1 + 13 // 2, 8))
    assert after == before  # a cell in full view, where it is not
    for beyond in ((7, 6), (8, 0), (0, 8), (-1, 3)):
        before, after = enemy_after(far, beyond)
        assert after == before
    before, after = enemy_after(far, words, step=2)  # said in step 1, which is the other enemy's
    assert after == before
    before, after = enemy_after(far, words, step=2, enemy=OTHER)
    assert after in pair
    near = board(s0=(0, 0), s1=(2, 2), s2=(9, 9))
    assert enemy_after(near, words) == ((2, 2), (2, 2))  # who is seen is where it is seen
    dead = board(s0=(0, 0), s2=(9, 9), s3=(9, 0))
    before, after = enemy_after(dead, words)
    assert after == before


def stander(own_first):
    """A planner that never moves."""

    def plan(params, keys, memory, states, seats, active):
        arms, legal = jax.vmap(GAME.search_arms)(states)
        rows = jnp.zeros(arms.shape)
        return Plan(arms[..., Move.STOP], arms, legal, rows, rows.astype(int), rows, rows[..., 0], {}), memory

    return memoryless("stander", plan, own_first=own_first)


def test_a_planner_talks_and_heeds_where_it_is_told_to():
    """Seat 0 is told of seat 1 and would tell of seat 3; what it says goes with each of its arms."""
    drawing = board(s0=(0, 0), s1=(7, 7), s2=(9, 9), s3=(2, 2))
    states = [position(drawing, config=RADIO, step=step, messages=[(0, 0), (0, 0), (5, 3), (0, 0)]) for step in (0, 1)]
    seat, keys, ones = np.zeros(1, np.int32), jax.random.split(jax.random.key(0), 1), np.ones(1, bool)
    views = [jax.vmap(GAME.observe)(state, seat) for state in states]
    said = programs()[0](states[1], seat, np.zeros(1, int))[0]
    assert said > 0
    for talks in (False, True):
        planner = believed(GAME, stander(own_first=False), talks=talks)
        memory, run = planner.init(1), jax.jit(planner.plan)
        for view in views:
            found, memory = run(None, keys, memory, view, seat, ones)
        words = int(said) if talks else 0
        assert found.actions.tolist() == [[words, 0, 0, 0]] and memory.actions.tolist() == [words]
        assert (found.arms[0, 0] % NUM_MESSAGES == words).all() and (found.arms[0, 1:] % NUM_MESSAGES == 0).all()
        heard = int(memory.belief.bombers[FIRST].cell[0])
        assert (heard in (7 * 11 + 7, 7 * 11 + 8)) == talks


def test_where_nobody_can_talk():
    for mode in ("ffa", "team"):
        with pytest.raises(ValueError, match="talks=True: actions of game='pommerman' carry no words in this variant"):
            by_name(jaxgames.make("pommerman", mode), "sp_mcts", talks=True, num_simulations=2)
    with pytest.raises(ValueError, match="talks=True: needs root=believed or worst, not 'true', which has nothing to be told"):
        Models(root="true", talks=True)
