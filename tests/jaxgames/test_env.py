"""The environments: what is told, resets, ends, seats, turns, and that lanes do not depend on each other."""

import dataclasses
import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import jaxgames
from jaxgames import Environment, MultiEnvironment, random_bits
from jaxgames.agent import memoryless
from jaxgames.observing import ArraySpec
from jaxgames.starts import Starts
from tests.fading import LEAVE, STAY, Fading, Pushing
from tests.paid import Paid
from tests.tic_tac_toe import TicTacToe
from tests.tug import PULL, REST, SHOUT, Tug, steady_player

KEY = jax.random.key(0)
CRY = 3  # another word for SHOUT


@functools.cache
def compiled(env):
    return jax.jit(env.reset), jax.jit(env.step)


def played(env, actions, key=KEY):
    """Plays lists of actions in all lanes; gives all time steps and the last state, as numpy arrays."""
    reset, step = compiled(env)
    state, told = reset(key)
    steps = [told]
    for number, action in enumerate(actions):
        state, told = step(state, jnp.asarray(action, jnp.int32), jax.random.fold_in(key, number))
        steps.append(told)
    return jax.device_get(steps), state


@dataclasses.dataclass(frozen=True)
class Offering(Tug):
    """A game in which an action that is never offered stands for another one."""

    num_actions: int = 4

    def legal_actions(self, state):
        return jnp.pad(super().legal_actions(state), ((0, 0), (0, 1)))

    def offered_action(self, state, player, action):
        return jnp.where(action == CRY, SHOUT, action)


@functools.cache
def tug(autoreset="same_step", **settings):
    """Against somebody who only rests; three pulls at most win."""
    return Environment(Offering(max_steps=6), 8, opponents=steady_player(REST), autoreset=autoreset, **settings)


def test_observations_and_actions_are_as_the_specs_say():
    env = Environment("hex-adh-5-v1", 2)
    spec = env.observation_spec
    assert spec["cells"] == ArraySpec((2, 5, 5), np.dtype(np.uint8), 0, 1, ("own", "known"))
    names = ("player", "to_move", "own_turns", "other_turns", "terminated", "reward")
    assert spec["numbers"].names == names and spec["numbers"].shape == (6,)
    assert env.action_spec == ArraySpec((), np.dtype(np.int32), 0, 25)
    _, told = jax.eval_shape(env.reset, KEY)
    assert {name: (leaf.shape, leaf.dtype) for name, leaf in told.observation.items()} == {
        name: ((2, *each.shape), each.dtype) for name, each in spec.items()
    }
    assert told.legal.shape == (2, 26)
    planes = Environment("clash-toy-v1", 2, observation="planes")
    encoder = jaxgames.encoder_of(planes.game)
    assert planes.observation_spec.shape == encoder.shape and planes.observation_spec.names == encoder.channels
    assert (planes.observation_spec.low, planes.observation_spec.high) == encoder.bounds == (0, np.inf)


def test_arrays_show_what_is_observed():
    game = jaxgames.make("hex-adh-3-v1")
    env = MultiEnvironment(game, 1, autoreset="disabled")
    (_, told), _ = played(env, [[[4, 9]]])

    @jax.jit
    def views():
        state = game.step(game.init(), np.array([4, 9], np.int32))
        return [game.observe(state, seat) for seat in range(2)]

    for seat, seen in enumerate(jax.device_get(views())):
        sets = np.stack([np.asarray(game.config.grid.to_numpy(cells)).reshape(3, 3) for cells in (seen.own, seen.known)])
        assert (told.observation["cells"][0, seat] == sets).all()
        numbers = [seen.player, seen.to_move, seen.own_turns, seen.other_turns, seen.terminated, seen.reward]
        assert told.observation["numbers"][0, seat].tolist() == [int(number) for number in numbers]


def test_a_finished_game_is_followed_by_the_next_in_the_same_step():
    pulls = [np.full(8, PULL)] * 6
    steps, _ = played(tug(), pulls)
    ended = 0
    for before, now in itertools.pairwise(steps):
        final = now.final_observation["numbers"][:, 0]
        assert (final == before.observation["numbers"][:, 0] + 1).all(), "the token after the pull, before any reset"
        assert (now.terminated == (final == 2)).all() and not now.truncated.any()
        assert (now.reward == now.terminated).all() and (now.episode_return == now.reward).all()
        begun = now.observation["numbers"][:, 0]
        assert (begun[~now.done] == final[~now.done]).all() and (np.abs(begun[now.done]) <= 1).all()
        assert (now.episode_length[~now.done] > 0).all()
        ended += now.done.sum()
    assert ended >= 8


def test_the_next_step_begins_the_next_game_where_that_is_asked_for():
    pulls = [np.full(8, PULL)] * 6
    same, _ = played(tug(), pulls[:1])
    steps, _ = played(tug("next_step"), pulls)
    assert (steps[1].terminated == same[1].terminated).all() and (steps[1].reward == same[1].reward).all()
    assert (steps[1].observation["numbers"] == same[1].final_observation["numbers"]).all()
    for before, now in itertools.pairwise(steps):
        new = before.done
        assert not now.done[new].any() and (now.reward[new] == 0).all() and (now.episode_length[new] == 0).all()
        assert not now.illegal[new].any(), "the action of such a lane is ignored"
        assert (np.abs(now.observation["numbers"][new, 0]) <= 1).all()
        assert (now.observation["numbers"][~new, 0] == before.observation["numbers"][~new, 0] + 1).all()
    assert any(step.done.any() for step in steps)


def test_at_a_table_too_the_step_that_begins_a_game_counts_from_its_start():
    env = MultiEnvironment(Offering(), 2, autoreset="next_step", max_episode_steps=2)
    pull, rest = np.array([[PULL, REST]] * 2), np.full((2, 2), REST)
    steps, _ = played(env, [pull, rest, rest, rest])
    assert [step.episode_length.tolist() for step in steps] == [[0, 0], [1, 1], [2, 2], [0, 0], [1, 1]]
    assert not steps[3].episode_return.any() and not steps[3].reward.any()


def test_without_resets_a_finished_game_stays():
    steps, state = played(tug("disabled"), [np.full(8, PULL)] * 5)
    total = sum(step.reward for step in steps)
    assert (total == 1).all() and (steps[-1].reward == 0).all() and not steps[-1].done.any()
    assert (sum(step.terminated for step in steps) == 1).all()
    assert np.asarray(state.over).all() and (steps[-1].observation["numbers"][:, 0] == 2).all()


def test_what_is_given_up_is_truncated_and_what_is_over_is_terminated():
    env = tug(max_episode_steps=2)
    steps, _ = played(env, [np.full(8, REST)] * 2)
    assert not steps[1].done.any() and steps[2].truncated.all() and not steps[2].terminated.any()
    assert (steps[2].final_observation["numbers"] == steps[0].observation["numbers"]).all()
    assert (steps[2].episode_length == 2).all()
    steps, _ = played(env, [np.full(8, PULL)] * 2)
    assert (steps[2].terminated | (steps[1].terminated)).any()
    assert not (steps[2].terminated & steps[2].truncated).any(), "who wins in the last step has won"
    limit, _ = played(tug(), [np.full(8, REST)] * 6)
    assert limit[6].terminated.all() and not limit[6].truncated.any(), "the game's own limit is a rule of the game"


def test_lanes_do_not_depend_on_how_many_there_are():
    actions = np.random.default_rng(0).integers(0, 3, (6, 8))
    rows = {}
    for batch in (3, 8):
        env = Environment(Tug(slips=True), batch, opponents="random", pool_size=16)
        steps, state = played(env, actions[:, :batch])
        rows[batch] = jax.tree.map(lambda leaf: np.asarray(leaf)[:3], (steps, state.games))
    assert all((a == b).all() for a, b in zip(*map(jax.tree.leaves, rows.values()), strict=True))


def test_rows_of_a_large_pool_are_all_drawn():
    """More than 2^16 of them; a lane whose state tells its row has drawn from every eighth of the pool as often."""
    starts, lanes = Starts(Tug(max_steps=1), 100_000), jax.vmap(random_bits.lane_key)(jax.random.split(KEY, 40_000))
    rows = jnp.arange(starts.size, dtype=jnp.uint32)[:, None]
    tokens = np.asarray(jax.jit(starts.take)(rows, lanes, jnp.ones(40_000, bool)).token)
    counts = np.histogram(tokens, 8, (0, starts.size))[0]
    assert stats.chisquare(counts).pvalue > 1e-3


def test_without_a_pool_nothing_is_drawn_where_no_game_begins():
    lanes, draws = jax.vmap(random_bits.lane_key)(jax.random.split(KEY, 4)), []

    class Counted(Tug):
        def init(self, key):
            state = super().init(key)
            jax.debug.callback(lambda token: draws.append(int(token)), state.token)
            return state

    starts = Starts(Counted(), 0)
    rows = starts.draw(KEY)
    take = jax.jit(starts.take)
    jax.block_until_ready(take(rows, lanes, jnp.zeros(4, bool)))
    jax.effects_barrier()
    assert draws == []
    states = take(rows, lanes, jnp.arange(4) == 2)
    jax.effects_barrier()
    assert sorted(draws) == sorted(states.token.tolist()) and len(draws) == 4


@pytest.mark.slow
def test_start_states_of_a_pool_are_drawn_fairly():
    env = Environment(Tug(max_steps=1), 64, opponents=steady_player(REST), pool_size=256)
    reset, step = compiled(env)
    state, told = reset(KEY)
    pool = np.asarray(state.pool)
    assert pool.shape == (256, 1), "of the state only the token is drawn"
    tokens = []
    for number in range(40):
        state, told = step(state, jnp.full(64, REST), jax.random.fold_in(KEY, number))
        tokens.append(np.asarray(told.observation["numbers"][:, 0]))
    counts = np.array([(np.concatenate(tokens) == token).sum() for token in (-1, 0, 1)])
    values, shares = np.unique(pool.view(np.int32), return_counts=True)
    assert values.tolist() == [-1, 0, 1]
    expected = 64 * 40 * shares / 256
    assert ((counts - expected) ** 2 / expected).sum() < 13.8, "chi-square, 2 degrees of freedom, one in a thousand"
    other = env.renew_pool(state, jax.random.key(7))
    assert (np.asarray(other.pool) != pool).any() and jax.tree.all(jax.tree.map(lambda a, b: a is b, other.games, state.games))


def test_seats_rotate_from_game_to_game():
    env = Environment(Tug(max_steps=2), 4, opponents=steady_player(REST), seat="rotating")
    steps, _ = played(env, [np.full(4, REST)] * 4)
    assert [step.seat.tolist() for step in steps] == [[0, 1, 0, 1]] * 2 + [[1, 0, 1, 0]] * 2 + [[0, 1, 0, 1]]
    winners, _ = played(env, [np.full(4, PULL)] * 2)
    assert (sum(step.reward for step in winners) >= 0).all(), "both seats pull to their own side"


def first_free(name="first free"):
    """Takes the first free cell, by what it sees."""

    def choose(params, keys, views, seats):
        board, _ = views
        return jnp.where(board == 0, jnp.arange(9), 9).min(1).astype(jnp.int32)

    return memoryless(name, choose)


def test_in_a_game_of_turns_a_step_lasts_until_the_learner_is_asked_again():
    game = TicTacToe()
    env = Environment(game, 2, opponents=first_free(), seat="rotating")
    reset, step = compiled(env)
    state, told = reset(KEY)
    assert told.seat.tolist() == [0, 1]
    assert np.asarray(told.observation["0"]).tolist() == [[0] * 9, [-1, *[0] * 8]], "who is second finds a move made"
    # The other takes 0, 1, 2 from above, so 6, 7, 8 wins for the first player and comes too late for the second.
    results = []
    for number, cell in enumerate((6, 7, 8)):
        assert np.asarray(told.legal)[:, cell].all() and not np.asarray(told.legal)[:, 9].any()
        state, told = step(state, jnp.full(2, cell), jax.random.fold_in(KEY, number))
        results.append((told.reward.tolist(), told.terminated.tolist()))
    assert results[0] == ([0, 0], [False, False])
    assert results[1] == ([0, -1], [False, True]), "the answer of the other ended the game of lane 1"
    assert results[2][0][0] == 1 and results[2][1] == [True, False]
    assert np.asarray(told.final_observation["0"])[0].tolist() == [-1, -1, 0, 0, 0, 0, 1, 1, 1]
    assert told.seat.tolist() == [1, 0], "in the next game the seats are changed"
    assert np.asarray(told.observation["0"])[0].tolist() == [-1, *[0] * 8], "and the other has begun it"


def test_what_is_paid_before_the_first_turn_is_told_with_the_first_reward():
    env = Environment(Paid(), 1, opponents=first_free(), seat=1)
    steps, _ = played(env, [[8], [7], [6], [5]])  # the other wins in its third move
    assert [step.reward.item() for step in steps] == [0, 0.75, -0.5, 0.75, -0.5], "in the next game too"
    assert [step.episode_return.item() for step in steps[1:]] == [0.75, 0.25, 0.75, 0.25]


@pytest.mark.slow  # to compile
def test_who_plays_by_information_is_told_what_its_seat_saw():
    env = Environment("hex-adh-3-v1", 16, opponents="random")
    assert env.informed
    reset, step = compiled(env)
    state, told = reset(KEY)
    lost_by_others = 0
    for number in range(12):
        actions = np.asarray(told.legal).argmax(1)
        state, told = step(state, jnp.asarray(actions), jax.random.fold_in(KEY, number))
        assert not np.asarray(told.illegal).any()
        final = told.final_observation
        stones = np.asarray(final["cells"])[:, 0].sum((1, 2))
        lost_by_others += (np.asarray(told.terminated & (told.reward > 0)) & (stones < 3)).sum()
    assert lost_by_others == 0, "nobody wins on three rows with fewer stones, unless the other does what is illegal"


def test_illegal_actions_are_told_and_do_what_the_game_says():
    env = tug("disabled")
    reset, step = compiled(env)
    state, told = reset(jax.random.key(3))
    apart = np.asarray(told.observation["numbers"][:, 0]) != 0
    assert apart.any() and not apart.all()
    _, after = step(state, jnp.full(8, SHOUT), KEY)
    assert (np.asarray(after.illegal) == apart).all()
    assert (np.asarray(after.observation["numbers"]) == np.asarray(told.observation["numbers"])).all(), "it counts as REST"
    for small in (np.int8, np.uint8):
        _, short = step(state, jnp.full(8, SHOUT, small), KEY)
        assert (np.asarray(short.illegal) == apart).all()
    outside = (jnp.full(8, 99), np.full(8, 2**32 + SHOUT), [-1] * 8)
    # Not given to the compiled function, at the door of which JAX makes 32 bits of 64 itself.
    for illegal in jax.jit(lambda state: [env.step(state, actions, KEY)[1].illegal for actions in outside])(state):
        assert (np.asarray(illegal) == ~np.asarray(told.legal)[:, REST]).all(), "out of range is the pass"
    _, after = step(state, jnp.full(8, CRY), KEY)
    assert (np.asarray(after.illegal) == apart).all()


def test_who_is_eliminated_is_done_and_rewarded_once():
    env = Environment(Fading(), 1, opponents=[steady_player(STAY), steady_player(STAY)], autoreset="disabled", seat=1)
    steps, _ = played(env, [[STAY], [LEAVE], [STAY]])
    assert [step.reward.tolist() for step in steps[1:]] == [[0], [-1], [0]]
    assert [step.terminated.tolist() for step in steps[1:]] == [[False], [True], [False]]
    table, rest = MultiEnvironment(Fading(), 3, autoreset="disabled", max_episode_steps=2), [STAY] * 3
    steps, _ = played(table, [[[STAY, LEAVE, STAY], rest, [STAY, LEAVE, STAY]], [[LEAVE, STAY, STAY], rest, rest]])
    assert steps[1].terminated.tolist() == [[False, True, False], [False] * 3, [False, True, False]]
    assert steps[1].reward.tolist() == [[0, -1, 0], [0, 0, 0], [0, -1, 0]] and not steps[1].truncated.any()
    assert steps[2].reward.tolist() == [[-1, 0, 1], [0, 0, 0], [0, 0, 0]], "the one who left is not punished twice"
    assert steps[2].terminated[0].all() and not steps[2].terminated[1].any()
    assert steps[2].truncated.tolist() == [[False] * 3, [True] * 3, [True, False, True]], "nothing is given up of who is out"


def test_who_is_eliminated_is_done_once_the_game_has_paid_for_it():
    game, rest = Fading(late=True), [steady_player(STAY)] * 2
    steps, _ = played(Environment(game, 1, opponents=rest, autoreset="disabled"), [[LEAVE], [LEAVE], [STAY]])
    assert [step.reward.item() for step in steps[1:]] == [0, -1, 0]
    assert [step.terminated.item() for step in steps[1:]] == [False, True, False]
    assert steps[1].legal.tolist() == [[True, False]] and steps[2].illegal.all(), "it can only pass until then"
    table = MultiEnvironment(game, 1, autoreset="disabled")
    steps, _ = played(table, [[[LEAVE, STAY, STAY]], [[STAY] * 3], [[STAY] * 3], [[STAY, LEAVE, STAY]]])
    assert [step.reward[0].tolist() for step in steps[1:]] == [[0, 0, 0], [-1, 0, 0], [0, 0, 0], [0, -1, 1]]
    out = [True, False, False]
    assert [step.terminated[0].tolist() for step in steps[1:]] == [[False] * 3, out, out, [True] * 3], "who is done stays so"


@pytest.mark.parametrize("late", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_who_is_thrown_out_before_its_first_turn_is_paid_once(late):
    pushes, stays = steady_player(LEAVE), steady_player(STAY)
    env = Environment(Pushing(late=late), 1, opponents=[stays, pushes], seat=1, autoreset="disabled")
    steps, _ = played(env, [[STAY], [STAY]])
    assert [(step.reward.item(), step.terminated.item()) for step in steps] == [(0, False), (-1, True), (0, False)]


@pytest.mark.slow  # to compile
def test_a_death_by_collapse_is_paid():
    game = jaxgames.make("pommerman", "ffa_collapse", max_steps=12, first_collapse=2)  # the corners collapse at step 4
    _, second, *_ = game.config.collapse_steps
    waits = np.full((second + 1, 1), game.pass_action)
    steps, _ = played(Environment(game, 1, opponents=steady_player(game.pass_action), autoreset="disabled"), waits)
    assert [step.reward.item() for step in steps] == [0] * (second + 1) + [-1]
    assert [step.terminated.item() for step in steps] == [False] * (second + 1) + [True]
    steps, _ = played(MultiEnvironment(game, 1, autoreset="disabled"), np.broadcast_to(waits[..., None], (second + 1, 1, 4)))
    assert (sum(step.reward for step in steps) == -1).all() and steps[-1].terminated.all()


def test_all_seats_at_once():
    env = MultiEnvironment(Offering(), 8, max_episode_steps=5)
    steps, _ = played(env, [np.tile([PULL, REST], (8, 1))] * 5)
    assert steps[0].observation["numbers"].shape == (8, 2, 1) and steps[0].legal.shape == (8, 2, 4)
    assert (steps[0].observation["numbers"][:, 0] == -steps[0].observation["numbers"][:, 1]).all(), "each from its own side"
    ended = np.stack([step.done.all(1) for step in steps])
    rewards = np.stack([step.reward for step in steps])
    assert ended.any(0).all() and (rewards[ended] == [1, -1]).all() and (rewards[~ended] == 0).all()
    assert (steps[0].seat == -1).all()
    (*_, told), _ = played(env, [[[REST, REST]] * 8] * 5)
    assert told.truncated.all() and not told.terminated.any()
    (start, told), _ = played(env, [[[CRY, CRY]] * 8])
    assert (told.illegal == ~start.legal[:, :, SHOUT]).all() and told.illegal.any() and not told.illegal.all()
