"""What teammates tell each other in radio games, and what they make of it."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.pommerman import radio
from jaxgames.pommerman.config import preset
from jaxgames.pommerman.constants import NUM_MESSAGES, NUM_WORDS, Move
from jaxgames.pommerman.replay import step_batch
from search.believed import believed
from search.modelled import Models
from search.planner import Plan, memoryless
from search.presets import by_name
from tests.jaxgames.pommerman.positions import Bomb, position
from tests.rivalry import Rivalry
from tests.tug import states_of
from training.learn.expert_iteration import shown_moves
from training.play.agents import Agent

RADIO = preset("radio")
GAME = jaxgames.make("pommerman", "radio")
FIRST, OTHER = 1, 3  # the enemies of seats 0 and 2
SILENCE = (0, 0)


def board(wall=(), wood=(), **seats):
    """A drawing of agents s0=(row, column) and so on."""
    rows = [["."] * 11 for _ in range(11)]
    for sign, cells in (("#", wall), ("+", wood)):
        for row, column in cells:
            rows[row][column] = sign
    for name, (row, column) in seats.items():
        rows[row][column] = name[1]
    return " ".join("".join(row) for row in rows)


FAR = board(s0=(0, 0), s1=(5, 9), s2=(9, 9), s3=(9, 0))


@functools.cache
def programs():
    tells = jax.vmap(lambda state, seat, action: radio.tell(RADIO, GAME.observe(state, seat), action))
    begins = jax.vmap(lambda state, seat: GAME.init_belief(GAME.observe(state, seat)))
    heeds = jax.vmap(lambda before, belief, state, seat: GAME.heed(before, belief, GAME.observe(state, seat)))
    return jax.jit(tells), jax.jit(begins), jax.jit(heeds)


def cell_of(belief, seat):
    return divmod(int(belief.bombers[seat].cell[0]), 11)


def words_for(row, column):
    """The words that number a cell, and the cells that they number."""
    path = [(r, c) for r in range(11) for c in (range(11) if r % 2 == 0 else range(10, -1, -1))]
    number = path.index((row, column)) // 2
    return divmod(1 + number, 8), set(path[2 * number : 2 * number + 2])


def said_by(drawing, seat=2, *, step=0, action=0):
    """The move and the two words of an action with what its player tells."""
    said = int(programs()[0](position(drawing, config=RADIO, step=step), np.full(1, seat), np.full(1, action))[0])
    return said // NUM_MESSAGES, (said % NUM_MESSAGES // NUM_WORDS, said % NUM_WORDS)


def heeded(drawing, words, *, enemy=FIRST, step=1, before=None):
    """Where the player of seat 0 believes an enemy to be, before and after it heeds words of seat 2."""
    _, begins, heeds = programs()
    state = position(drawing, config=RADIO, step=step, messages=[SILENCE, (5, 5), words, (6, 6)])
    seat = np.zeros(1, int)
    belief = begins(state, seat)
    earlier = belief if before is None else begins(position(before, config=RADIO, step=step - 1), seat)
    after = heeds(earlier, belief, state, seat)
    for one, other in zip(jax.tree.leaves(belief), jax.tree.leaves(after), strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
    return cell_of(belief, enemy), cell_of(after, enemy)


@pytest.mark.parametrize("row", range(11))
def test_an_enemy_that_one_sees_is_believed_next_to_it_at_most(row):
    for column in range(4, 11):
        mate = (min(max(row, 4), 6), column + 1 if column < 10 else 9)
        drawing = board(s0=(10 if row < 5 else 0, 0), s1=(row, column), s2=mate)
        _, words = said_by(drawing)
        assert words == words_for(row, column)[0]
        _, found = heeded(drawing, words)
        assert abs(found[0] - row) + abs(found[1] - column) <= 1


def test_enemies_are_told_of_by_turns_and_only_when_seen():
    drawing = board(s0=(0, 0), s1=(8, 8), s2=(9, 9), s3=(9, 8))
    first, other = ((0, words_for(*cell)[0]) for cell in ((8, 8), (9, 8)))
    assert [said_by(drawing, step=step) for step in (0, 1, 4, 5)] == [first, other, first, other]
    assert said_by(drawing, seat=0) == (0, SILENCE)  # out of view
    assert said_by(board(s0=(0, 0), s1=(8, 8), s3=(9, 8)), seat=2) == (0, SILENCE)  # the dead say nothing
    assert said_by(board(s0=(8, 8), s1=(9, 9), s2=(0, 0)), seat=1) == first  # seats 1 and 3 tell of 0 and 2


def test_the_only_enemy_left_is_told_of_in_every_step():
    lower, upper = board(s0=(0, 0), s1=(8, 8), s2=(9, 9)), board(s0=(0, 0), s2=(9, 9), s3=(8, 8))
    words, pair = words_for(8, 8)
    assert [said_by(drawing, step=step) for drawing in (lower, upper) for step in (0, 1)] == [(0, words)] * 4
    assert [heeded(lower, words, step=step)[1] in pair for step in (1, 2)] == [True, True]
    assert [heeded(upper, words, step=step, enemy=OTHER)[1] in pair for step in (1, 2)] == [True, True]


def test_an_enemy_that_died_in_the_step_still_decides_of_whom_was_spoken():
    words, pair = words_for(8, 8)
    now, before = board(s0=(0, 0), s2=(9, 9), s3=(9, 0)), board(s0=(0, 0), s1=(8, 8), s2=(9, 9), s3=(9, 0))
    old, new = heeded(now, words, step=1, enemy=OTHER, before=before)  # of seat 1, which is dead now
    assert old == new
    assert heeded(now, words, step=2, enemy=OTHER, before=before)[1] in pair


def test_the_move_stays_and_other_words_are_replaced():
    drawing = board(s0=(0, 0), s1=(8, 8), s2=(9, 9))
    for move in Move:
        assert said_by(drawing, action=move * NUM_MESSAGES + 80) == (move, words_for(8, 8)[0])


def test_words_of_no_cell_and_of_who_is_seen_are_passed_over():
    for beyond in (SILENCE, (7, 6), (8, 0), (0, 8), (-1, 3), (1, -1)):
        old, new = heeded(FAR, beyond)
        assert old == new
    words, pair = words_for(7, 7)
    old, new = heeded(FAR, words)
    assert new in pair and old not in pair
    old, new = heeded(FAR, words, step=2)  # said in step 1, which is the other enemy's
    assert old == new and heeded(FAR, words, step=2, enemy=OTHER)[1] in pair
    assert heeded(board(s0=(0, 0), s1=(2, 2), s2=(9, 9)), words) == ((2, 2), (2, 2))  # seen where it is


def test_an_enemy_that_has_left_the_cell_in_view_is_just_out_of_it():
    """The teammate saw it in (2, 4), which is free to see now: it is in the nearest cell of fog."""
    words, pair = words_for(2, 4)
    assert pair == {(2, 4), (2, 5)}
    _, new = heeded(board(s0=(0, 1), s1=(2, 6), s2=(6, 6)), words)  # seat 0 sees columns 0 to 5
    assert new == (2, 6)


def test_an_enemy_is_put_neither_into_walls_nor_into_flames_and_wood_there_is_gone():
    words, pair = words_for(7, 7)
    one, other = sorted(pair)
    _, begins, heeds = programs()
    seat = np.zeros(1, int)
    told = position(FAR, config=RADIO, step=1, messages=[SILENCE, SILENCE, words, SILENCE])
    looked = begins(told, seat)
    for cell, left in ((one, other), (other, one)):
        for drawing, more in ((board(wall=[cell]), {}), (board(), {"flames": {cell: {2}}})):
            known = position(drawing, config=RADIO, **more)
            belief = dataclasses.replace(looked, rigid=known.rigid, flames=known.flames)
            assert cell_of(heeds(looked, belief, told, seat), FIRST) == left
    wooden = position(board(wood=pair), config=RADIO)
    belief = heeds(looked, dataclasses.replace(looked, wood=wooden.wood), told, seat)
    found = cell_of(belief, FIRST)
    assert found in pair
    assert int(belief.wood.count()[0]) == 1 and not bool(belief.wood.has(jnp.int32(found[0] * 11 + found[1]))[0])


@pytest.mark.slow
def test_words_are_heard_after_the_step_in_which_they_are_said():
    """Through the game's own step; who dies in it is still heard, and silent afterwards."""
    tells, begins, _ = programs()
    bomb = {(9, 10): Bomb(owner=3, life=1, strength=2)}
    start = position(board(s0=(0, 0), s1=(7, 7), s2=(9, 9), s3=(0, 10)), config=RADIO, step=0, bombs=bomb)
    update = jax.jit(jax.vmap(lambda belief, state, seat: GAME.update_belief(belief, GAME.observe(state, seat), jnp.int32(0))))
    heeds, seat = programs()[2], np.zeros(1, int)
    beliefs, states, told = [begins(start, seat)], [start], []
    for _ in range(2):
        actions = np.zeros((1, 4), np.int32)
        actions[0, 2] = tells(states[-1], np.full(1, 2), np.zeros(1, int))[0]
        told.append(int(actions[0, 2]))
        states.append(step_batch(RADIO, states[-1], actions))
        after = update(beliefs[-1], states[-1], seat)
        beliefs.append(heeds(beliefs[-1], after, states[-1], seat))
    assert told[0] > 0 and told[1] == 0 and not states[1].bombers[2].alive[0]
    assert cell_of(beliefs[0], FIRST) == (9, 1) and cell_of(beliefs[1], FIRST) in words_for(7, 7)[1]
    assert cell_of(beliefs[2], FIRST) == cell_of(beliefs[1], FIRST)


def stander(own_first):
    """A planner that never moves; it plans for the own seat alone, or for all."""

    def plan(params, keys, memory, states, seats, active):
        arms, legal = jax.vmap(GAME.search_arms)(states)
        if own_first:
            arms, legal = arms[:, :2], legal[:, :2]
        rows = jnp.zeros(arms.shape)
        return Plan(arms[..., Move.STOP], arms, legal, rows, rows.astype(int), rows, rows[..., 0], {}), memory

    return memoryless("stander", plan, own_first=own_first)


@pytest.mark.slow
@pytest.mark.parametrize("own_first", [True, False])
def test_a_planner_talks_and_heeds_where_it_is_told_to(own_first):
    """In three lanes: seat 0, which is told of seat 1 and tells of seat 3; seat 2; and seat 0, not asked again."""
    drawing = board(s0=(0, 0), s1=(7, 7), s2=(9, 9), s3=(2, 2))
    words, pair = words_for(7, 7)
    seats, keys = np.array([0, 2, 0]), jax.random.split(jax.random.key(0), 3)
    looks = []
    for step in (0, 1):
        state = position(drawing, config=RADIO, step=step, messages=[SILENCE, SILENCE, words, SILENCE])
        states = jax.tree.map(lambda leaf: np.repeat(leaf, 3, 0), state)
        looks.append((jax.vmap(GAME.observe)(states, seats), programs()[0](states, seats, np.zeros(3, int))))
    for talks in (False, True):
        planner = believed(GAME, stander(own_first), talks=talks)
        memory, run = planner.init(3), jax.jit(planner.plan)
        told = []
        for (views, said), asked in zip(looks, ([True] * 3, [True, True, False]), strict=True):
            found, memory = run(None, keys, memory, views, seats, np.array(asked))
            own = np.asarray(found.actions)[np.arange(3), 0 if own_first else seats]
            told.append((own == np.asarray(said) * talks)[asked].all())
            assert np.count_nonzero(found.actions) == np.count_nonzero(own) and not (found.arms % NUM_MESSAGES).any()
        assert told == [True, True]
        assert memory.actions.tolist() == (np.where(asked, said, looks[0][1]) * talks).tolist()
        heard = [divmod(int(memory.belief.bombers[FIRST].cell[lane]), 11) in pair for lane in (0, 2)]
        assert heard == [talks, False]
        begun = planner.reset(memory, np.array([True, False, False]))
        _, memory = run(None, keys, begun, views, seats, np.ones(3, bool))
        heard = [divmod(int(memory.belief.bombers[FIRST].cell[lane]), 11) in pair for lane in (0, 2)]
        assert heard == [False, talks]  # the words at the start of an episode are of the one before


@dataclasses.dataclass(frozen=True)
class Whispers(Rivalry):
    """A word is ten times the step, added to an action; who heeds one adds a hundred to the mark believed before."""

    has_words = True

    def tell(self, observation, actions):
        return actions + 10 * observation.step_count

    def silent(self, actions):
        return actions % 10

    def heed(self, before, belief, observation):
        return dataclasses.replace(belief, mark=before.mark + 100)


@pytest.mark.parametrize("own_first", [True, False])
def test_words_go_with_the_own_action_and_are_heeded_where_a_planner_talks(own_first):
    """It believes in a mark, and plays it; two lanes, of which one begins again before the last step."""
    game, seats = Whispers(marks=64), np.array([0, 1])

    def plan(params, keys, memory, views, seats, active):
        columns = 1 if own_first else 2
        rows = jnp.zeros((len(seats), columns, 1))
        marks = jnp.broadcast_to(views.mark[:, None], rows.shape[:2])
        return Plan(marks, rows.astype(int), rows > -1, rows, rows.astype(int), rows, rows[..., 0], {}), memory

    for talks, expected in ((False, [[0, 0], [1, 1], [0, 9]]), (True, [[10, 10], [120, 120], [30, 230]])):
        planner = believed(game, memoryless("teller", plan, own_first=own_first), talks=talks)
        memory, run = planner.init(2), jax.jit(planner.plan)
        for number, played in enumerate(expected, start=1):
            views = states_of(game, [0, 0], number)
            memory = planner.reset(memory, np.array([number == 3, False]))
            found, memory = run(None, jax.random.split(jax.random.key(0), 2), memory, views, seats, np.ones(2, bool))
            columns = np.zeros(2, int) if own_first else seats
            assert np.asarray(found.actions)[[0, 1], columns].tolist() == memory.actions.tolist() == played
            if talks and not own_first:
                assert (np.asarray(found.actions)[[0, 1], 1 - seats] == np.array(played) - 10 * number).all(), "others are silent"


def test_shown_moves_are_without_words():
    def act(params, keys, memory, views, seats, active):
        return jnp.full(len(seats), Move.BOMB * NUM_MESSAGES + 17), memory

    player = Agent("talker", lambda count: (), lambda memory, lanes: memory, act)
    found, _ = shown_moves(player, GAME).plan(None, None, (), None, jnp.zeros(2, int), None)
    assert found.arms.tolist() == [[[Move.BOMB * NUM_MESSAGES]]] * 2


def test_where_nobody_can_talk():
    with pytest.raises(ValueError, match="talks=True: actions of game='pommerman' carry no words in this variant"):
        by_name(jaxgames.make("pommerman", "team"), "sp_mcts", talks=True, num_simulations=2)
    with pytest.raises(ValueError, match="talks=True: needs root=believed or worst, not 'true', which has nothing to be told"):
        Models(root="true", talks=True)
