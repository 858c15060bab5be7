"""The SimpleUnbiasedAgent: an oracle on random boards; hand-made boards for every clause; whole games."""

import collections
import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxgames import random_bits
from jaxgames.pommerman import orders, rules, setup
from jaxgames.pommerman.config import preset
from jaxgames.pommerman.interop_simple import observation_from_arrays
from jaxgames.pommerman.observation import observe
from jaxgames.pommerman.replay import observe_batch
from jaxgames.pommerman.simple_unbiased_agent import all_unbiased_moves, decide
from jaxgames.pommerman.simple_unbiased_memory import (
    MEMORY_LENGTH,
    NOWHERE,
    Chance,
    UnbiasedMemory,
    draw_chance,
    init_memory,
)
from tests.jaxgames.pommerman import simple_unbiased_reference as reference
from tests.jaxgames.pommerman.playing import played_out
from tests.jaxgames.pommerman.positions import PROTECTED, Man, equal, position
from tests.jaxgames.pommerman.simple_scenes import draw_cases, to_arrays

FFA, TEAM = preset("ffa"), preset("team")
STOP, UP, DOWN, LEFT, RIGHT, BOMB = range(6)
SIZE, BATCH = 11, 1024
SIGNS = {".": 0, "#": 1, "+": 2, "*": 4, "b": 6, "r": 7, "k": 8}
IDENTITY = tuple(range(SIZE))
FIRST, SECOND = 0, 1 << 31  # words for the choice of the first and the second of two; of the first and the third of four


@functools.cache
def decider(config):
    return jax.jit(jax.vmap(functools.partial(decide, config)))


def padded(cell):
    return NOWHERE if cell is None else (cell[0] + 1) * (SIZE + 2) + cell[1] + 1


def packed(rows):
    """Packs orders, one per case."""
    return tuple(np.asarray(word) for word in orders.pack(list(np.array(rows, np.uint32).T)))


def run(config, arrays, cases, words):
    """Lets ours decide: moves [N], memories."""
    memory = UnbiasedMemory(
        tuple(np.array([padded(case.queue[i]) for case in cases], np.uint8) for i in range(MEMORY_LENGTH)),
        np.array([case.count for case in cases], np.uint8),
        packed([case.seats for case in cases])[0].astype(np.uint16),
        packed([case.rows for case in cases]),
        packed([case.columns for case in cases]),
    )
    chance = Chance(packed([[move - UP for move in case.directions] for case in cases]), words.astype(np.uint32))
    observations = observation_from_arrays(config, arrays)
    rest = BATCH - len(cases)
    given = jax.tree.map(lambda leaf: np.concatenate([leaf, np.repeat(leaf[:1], rest, axis=0)]), (observations, memory, chance))
    return jax.tree.map(lambda leaf: np.asarray(leaf)[: len(cases)], decider(config)(*given)), given


def drawn(config, count, seed):
    """Random situations, orders, queues and draws: arrays, cases, words."""
    rng = np.random.default_rng(seed)
    scenes = draw_cases(config, count, seed)
    arrays = to_arrays(scenes)
    # Short lives are what matters.
    lives = np.minimum(rng.integers(1, 10, arrays["board"].shape), rng.integers(1, 10, arrays["board"].shape))
    arrays["bomb_life"] = np.where(arrays["bomb_blast_strength"] > 0, lives, 0).astype(np.uint8)
    words = rng.integers(0, 2**32, count, dtype=np.uint64)
    cases = []
    for i, scene in enumerate(scenes):
        row, column = scene.cell
        around = [(row + a, column + b) for a, b in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))]
        queue = tuple(around[n] if n < 5 else None for n in rng.integers(0, 6, MEMORY_LENGTH))
        if rng.random() < 0.3:
            queue = queue[:2] * 2
        cases.append(
            reference.Case(
                scene.board,
                scene.strength,
                arrays["bomb_life"][i],
                scene.cell,
                scene.ammo,
                tuple(code - 10 for code in scene.enemies),
                queue,
                int(rng.integers(0, MEMORY_LENGTH + 1)),
                *(tuple(rng.permutation(n).tolist()) for n in (config.num_players, SIZE, SIZE)),
                tuple((UP + rng.permutation(4)).tolist()),
                UP + (int(words[i]) * 4 >> 32),
                bool(words[i] >> 31),
            )
        )
    return arrays, cases, words


@pytest.mark.parametrize("mode", ["ffa", pytest.param("team", marks=pytest.mark.slow)])
def test_decides_as_written_on_random_boards(mode):
    config = preset(mode)
    arrays, cases, words = drawn(config, BATCH, seed=7)
    (moves, memories), _ = run(config, arrays, cases, words)
    wanted = [reference.decide(case) for case in cases]
    differing = [(i, w.clause, w.move, int(m)) for i, (w, m) in enumerate(zip(wanted, moves, strict=True)) if w.move != m]
    assert differing == []
    counts = np.minimum([case.count + 1 for case in cases], MEMORY_LENGTH)
    np.testing.assert_array_equal(memories.num_intended, counts)
    for i, (case, outcome) in enumerate(zip(cases, wanted, strict=True)):
        queue = list(case.queue)
        if case.count == MEMORY_LENGTH:
            queue = [*queue[1:], outcome.target]
        else:
            queue[case.count] = outcome.target
        assert [int(entry[i]) for entry in memories.intended] == [padded(cell) for cell in queue]
    clauses = collections.Counter(outcome.clause for outcome in wanted)
    assert set(clauses) == {"A", "B", "C stray", "C", "D", "E", "A/E", "F", "A/F", "F stop", "A/F stop"}


# --- hand-made positions -----------------------------------------------------------------------------------------------


def decision(
    drawing,
    *,
    bombs=(),
    queue=(),
    stale=None,
    ammo=1,
    seats=(0, 1, 2, 3),
    rows=IDENTITY,
    columns=IDENTITY,
    directions=(UP, DOWN, LEFT, RIGHT),
    word=FIRST,
):
    """What agent 0 does, and what it intends then; `bombs` are (cell, life, strength), everything not drawn is rigid."""
    board = np.full((SIZE, SIZE), 1, np.uint8)
    for row, line in enumerate(drawing.split()):
        for column, sign in enumerate(line):
            board[row, column] = 10 + int(sign) if sign.isdigit() else SIGNS[sign]
    strength, life = np.zeros_like(board), np.zeros_like(board)
    for cell, time, reach in bombs:
        board[cell] = 3 if board[cell] < 10 else board[cell]
        strength[cell], life[cell] = reach, time
    cell = tuple(int(v) for v in np.argwhere(board == 10)[0])
    arrays = {
        "board": board,
        "bomb_blast_strength": strength,
        "bomb_life": life,
        "bomb_moving_direction": np.zeros_like(board),
        "flame_life": np.where(board == 4, 2, 0),
        "position": np.array(cell),
        "ammo": np.array(ammo),
        "blast_strength": np.array(2),
        "can_kick": np.array(0),
    }
    entries = (*queue, *(stale,) * MEMORY_LENGTH)[:MEMORY_LENGTH]
    case = reference.Case(
        board, strength, life, cell, ammo, (1, 2, 3), entries, len(queue), seats, rows, columns, directions, 0, False
    )
    (moves, memories), _ = run(FFA, {name: array[None] for name, array in arrays.items()}, [case], np.array([word]))
    intended = [divmod(int(entry[0]), SIZE + 2) for entry in memories.intended][: int(memories.num_intended[0])]
    return int(moves[0]), [(row - 1, column - 1) for row, column in intended]


def move(*arguments, **settings):
    return decision(*arguments, **settings)[0]


def test_flees_to_the_first_safe_place_in_the_orders():
    # With 9 steps to go even the line of the bomb is safe enough.
    drawing = "..... ..0.. ....."
    fuse = [((1, 2), 9, 2)]
    assert move(drawing, bombs=fuse) == UP  # to (0, 0)
    assert move(drawing, bombs=fuse, rows=(2, *range(2), *range(3, 11))) == DOWN  # to (2, 0): down comes first
    late = (*range(2, 11), 0, 1)
    assert move(drawing, bombs=fuse, rows=(1, 0, *range(2, 11)), columns=late) == RIGHT  # to (1, 3)
    assert move(drawing, bombs=[((1, 2), 1, 2)], directions=(LEFT, RIGHT, UP, DOWN)) == STOP  # all first steps are hot


def test_a_column_out_of_range_ends_the_row():
    drawing = "...... ...0.. ......"
    bombs = [((1, 3), 2, 2)]  # within 2 steps: columns 1 to 4, rows 0 to 2
    inside = (1, 2, 3, 4)
    assert move(drawing, bombs=bombs, columns=(4, 3, 2, 1, 0, *range(5, 11))) == UP  # (0, 4)
    # Column 5 comes first, so that every row is left at once: the safe step is taken instead.
    broken = (5, *inside, 0, *range(6, 11))
    assert move(drawing, bombs=bombs, columns=broken, directions=(LEFT, RIGHT, UP, DOWN)) == LEFT
    assert move(drawing, bombs=bombs, columns=broken, directions=(RIGHT, LEFT, UP, DOWN)) == RIGHT


def test_the_last_row_and_column_in_range_are_not_looked_at():
    # A corridor down: the agent is in reach of a bomb of time 2; row 2 is two below, and out of range.
    assert move("0# .# .#", bombs=[((0, 0), 2, 2)], directions=(UP, LEFT, RIGHT, DOWN)) == DOWN  # (1, 0) is reached with time 2
    drawing = "0#. .#. ..."
    assert move(drawing, bombs=[((2, 0), 1, 3)], directions=(RIGHT, UP, LEFT, DOWN)) == STOP  # rows -1 and 0, columns likewise


def test_lays_a_bomb_next_to_an_enemy():
    assert decision("01 ..") == (BOMB, [(0, 0)])
    assert move("01 ..", ammo=0, queue=[(0, 0)] * 3) == DOWN
    assert move("0. .1", queue=[(0, 0), (0, 1), (1, 0)]) == DOWN


def test_strays_where_it_went_to_and_fro():
    corridor = "0..1"
    a, b, c = (0, 0), (0, 1), (0, 2)
    for word, stray in zip((0, 1 << 30, 2 << 30, 3 << 30), (UP, DOWN, LEFT, RIGHT), strict=True):
        assert move(corridor, word=word, queue=[a, b, a, b]) == stray
    assert decision(corridor, queue=[]) == (UP, [(-1, 0)])  # with none or one remembered, it is said to go to and fro
    assert decision(corridor, queue=[c]) == (UP, [c, (-1, 0)])
    assert move(corridor, queue=[a, b]) == RIGHT
    assert move(corridor, queue=[a, b], stale=a) == UP  # an entry that does not count is compared
    assert move(corridor, queue=[a, b, a]) == UP
    assert move(corridor, queue=[a, b, c]) == RIGHT
    assert move(corridor, queue=[a, b, a, c]) == RIGHT
    assert decision(corridor, queue=[a, b, c, c]) == (RIGHT, [b, c, c, (0, 1)])


CALM = [(9, 9), (8, 8), (7, 7)]


def test_goes_to_the_first_enemy_in_the_order_of_seats():
    assert move("1..0..2", queue=CALM, seats=(3, 1, 2, 0)) == LEFT
    assert move("1..0..2", queue=CALM, seats=(3, 2, 1, 0)) == RIGHT
    assert move("1.#0..2", queue=CALM, seats=(3, 1, 2, 0)) == RIGHT  # the other cannot be reached
    assert move("0+......... .......... .......... .......... .......... ..........1", queue=CALM) == BOMB  # 15 steps away


def test_of_equally_short_ways_down_goes_before_up_right_and_left():
    assert move("0. .1", queue=CALM) == DOWN
    assert move(".1. ..0", queue=CALM) == UP
    assert move("1.0 ...", queue=CALM) == LEFT


def test_does_not_step_into_reach_of_a_bomb_due_in_two_steps():
    drawing = "0..1 .... ...."
    for time, chosen in ((3, RIGHT), (2, DOWN), (1, DOWN)):
        assert move(drawing, bombs=[((2, 1), time, 3)], queue=CALM, directions=(DOWN, UP, LEFT, RIGHT)) == chosen


def test_lays_a_bomb_next_to_wood_after_the_chase():
    assert move("+0. ...") == BOMB
    assert move("+0..1", queue=CALM) == RIGHT
    assert move("+0. ..b", ammo=0) == DOWN  # without a bomb, the power-up


def test_fetches_the_nearest_power_up_over_a_safe_step():
    assert move("b.0k") == RIGHT
    assert move("b.0.k", columns=IDENTITY) == LEFT
    assert move("b.0.k", columns=(4, *range(4), *range(5, 11))) == RIGHT
    assert move("b.0k .... ....", bombs=[((2, 3), 1, 3)]) == LEFT  # not into the blast
    assert move("b.....0.", directions=(RIGHT, UP, DOWN, LEFT)) == RIGHT  # six columns away: a safe step


def test_the_safe_step_is_one_of_the_first_two():
    star = "... .0. ..."
    order = (LEFT, UP, RIGHT, DOWN)
    assert move(star, directions=order) == LEFT
    assert move(star, directions=order, word=SECOND) == UP
    assert move("0.#", word=SECOND) == RIGHT
    assert decision("0##") == (STOP, [(0, 0)])


def test_a_direction_just_taken_makes_way_for_its_successor_twice():
    star, order = "... .0. ...", (LEFT, UP, RIGHT, DOWN)
    left, up, right, down = (1, 0), (0, 1), (1, 2), (2, 1)
    # Left is taken out, and up, now first, is added at the end: up, right, down, up.
    assert [move(star, directions=order, queue=[left], word=w) for w in (FIRST, SECOND)] == [UP, RIGHT]
    # The same place is looked at again: up goes too, and right is added: right, down, up, right.
    assert [move(star, directions=order, queue=[left, up], word=w) for w in (FIRST, SECOND)] == [RIGHT, DOWN]
    # The last one is put back.
    assert [move(star, directions=order, queue=[down], word=w) for w in (FIRST, SECOND)] == [LEFT, UP]
    assert [move("0.", queue=[(0, 1)], word=w) for w in (FIRST, SECOND)] == [RIGHT, RIGHT]
    # All four: each goes once, and what is left is up, right, down, up.
    assert [move(star, directions=order, queue=[left, up, right, down], word=w) for w in (FIRST, SECOND)] == [UP, RIGHT]


# --- as a program ------------------------------------------------------------------------------------------------------


def test_a_decision_does_not_depend_on_its_neighbours():
    arrays, cases, words = drawn(FFA, 40, seed=8)
    (moves, memories), given = run(FFA, arrays, cases, words)
    turned = jax.tree.map(lambda leaf: np.roll(leaf, 17, axis=0)[::-1].copy(), given)
    again = jax.tree.map(lambda leaf: np.roll(np.asarray(leaf)[::-1], -17, axis=0)[:40], decider(FFA)(*turned))
    assert equal(again, (moves, memories))


drawing = jax.jit(jax.vmap(functools.partial(draw_chance, FFA)))


def fresh_memories():
    return jax.tree.map(lambda leaf: np.full(BATCH, leaf), init_memory(FFA))


def test_orders_are_drawn_once_and_kept():
    fold = jax.jit(random_bits.fold)
    lanes = fold(random_bits.LaneKey(np.uint32(3), np.uint32(4)), np.arange(BATCH))
    fresh = fresh_memories()
    memory, chance = drawing(fresh, lanes)
    again, other = drawing(memory, fold(lanes, 1))
    assert equal(again, memory) and not equal(other, chance)
    for order, count in ((memory.rows, SIZE), (memory.columns, SIZE), ((memory.seats,), 4), (chance.directions, 4)):
        entries = np.stack(orders.entries_of(order, count), axis=1)
        assert (np.sort(entries, axis=1) == np.arange(count)).all()
        assert min(stats.chisquare(np.bincount(column, minlength=count)).pvalue for column in entries.T) > 1e-4
    for one, two in zip(jax.tree.leaves(fresh), jax.tree.leaves(memory), strict=True):
        assert one.dtype == two.dtype


@pytest.mark.slow
def test_all_seats_decide_as_each_would_alone():
    for config in (FFA, TEAM):
        games = states_of_play(config, 64, 120)
        lanes = random_bits.fold(random_bits.LaneKey(np.uint32(9), np.uint32(10)), jnp.arange(64))
        memories = (init_memory(config),) * config.num_players

        def together(state, lane, config=config, memories=memories):
            moves, after = all_unbiased_moves(config, state, memories, lane)
            return jnp.stack(moves), jax.tree.map(lambda *leaves: jnp.stack(leaves), *after)

        def alone(state, lane, seat, config=config, memories=memories):
            memory, chance = draw_chance(config, memories[0], random_bits.fold(lane, seat))
            return decide(config, observe(config, state, seat), memory, chance)

        got = jax.jit(jax.vmap(together))(games, lanes)
        seats = jnp.arange(config.num_players)
        wanted = jax.jit(jax.vmap(jax.vmap(alone, in_axes=(None, None, 0)), in_axes=(0, 0, None)))(games, lanes, seats)
        assert equal(got, wanted)


def states_of_play(config, games, steps):
    def play(key):
        start_key, lane_key = jax.random.split(key)
        lane = random_bits.lane_key(lane_key)

        def step(carry, number):
            state, memories = carry
            moves, memories = all_unbiased_moves(config, state, memories, random_bits.fold(lane, number))
            return (rules.step(config, state, jnp.stack(moves)), memories), None

        start = (setup.init(config, start_key), (init_memory(config),) * config.num_players)
        return jax.lax.scan(step, start, jnp.arange(steps))[0][0]

    return jax.jit(jax.vmap(play))(jax.random.split(jax.random.key(6), games))


def test_an_item_under_another_bomber_is_not_looked_for_for_ever():
    """As on a board that is only believed: it is in reach, and no way leads onto it."""
    state = position("0.1", m0=Man(ammo=0))
    state = dataclasses.replace(
        state, items=(FFA.grid.from_numpy(np.arange(SIZE * SIZE).reshape(1, SIZE, SIZE) == 2), *state.items[1:])
    )
    lanes = random_bits.LaneKey(*(np.full(BATCH, word, np.uint32) for word in (1, 2)))
    seen = jax.tree.map(lambda leaf: np.repeat(leaf, BATCH, 0), observe_batch(FFA, state, 0))
    moves, _ = decider(FFA)(seen, *drawing(fresh_memories(), lanes))
    assert 0 <= int(moves[0]) <= BOMB


def boards_of_pomcpp2(games, seed):
    """Start states with walls anywhere but in the free corners, without symmetry, whatever they cut off."""
    rng = np.random.default_rng(seed)
    far = SIZE - 2
    fixed = [cell for row in (1, far) for column in range(4, SIZE - 4) for cell in ((row, column), (column, row))]
    taken = {*PROTECTED, *fixed, *FFA.corners}
    free = np.array([cell for cell in np.ndindex(SIZE, SIZE) if cell not in taken])
    rigid, wood = np.zeros((2, games, SIZE, SIZE), bool)
    wood[(slice(None), *np.transpose(fixed))] = True
    for game in range(games):
        cells = rng.permutation(free)
        rigid[(game, *cells[: FFA.num_rigid].T)] = True
        wood[(game, *cells[FFA.num_rigid : FFA.num_rigid + FFA.num_wood - len(fixed)].T)] = True
    return FFA.grid.from_numpy(rigid), FFA.grid.from_numpy(wood)


@pytest.mark.slow
def test_on_its_boards_four_of_them_play_as_in_pomcpp2():
    """On official boards games are a little longer, and the corners on the diagonal, which is free of walls, win more often."""

    def play(key, rigid, wood):
        item_key, lane_key = jax.random.split(key)
        start = setup.start_state(FFA, rigid, wood, setup.draw_items(FFA, item_key, wood))
        lane = random_bits.lane_key(lane_key)
        state = played_out(FFA, all_unbiased_moves, start, (init_memory(FFA),) * 4, lane)
        return state.step_count, jnp.stack(rules.winners(FFA, state)), state.alive

    games, theirs = 2048, 7825
    keys = jax.random.split(jax.random.key(5), games)
    steps, won, alive = map(np.asarray, jax.jit(jax.vmap(play))(keys, *boards_of_pomcpp2(games, seed=5)))
    assert abs(steps.mean() - 222) < 5 * steps.std() * np.sqrt(1 / games + 1 / theirs)
    ours = [*won.sum(0), (~alive.any(1)).sum(), (alive.sum(1) > 1).sum()]
    published = np.array([22.5, 23.0, 23.3, 23.3, 3.4, 4.5]) / 100 * theirs  # wins of the seats, all dead, unfinished
    assert stats.chi2_contingency([ours, published]).pvalue > 1e-4
