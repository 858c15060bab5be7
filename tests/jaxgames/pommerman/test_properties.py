"""What holds in every game: under random play, under mirroring, for every place in a batch, and after the end."""

import dataclasses

import jax
import numpy as np
import pytest

from jaxgames.pommerman import interop
from jaxgames.pommerman.config import preset
from jaxgames.pommerman.constants import MAX_AMMO
from jaxgames.pommerman.replay import step_batch
from tests.jaxgames.pommerman import recordings
from tests.jaxgames.pommerman.playing import ROWS, start_states
from tests.jaxgames.pommerman.positions import equal

FFA = preset("ffa")
GAMES, STEPS = 512, 50
# Few bombs, so that games last; moves otherwise evenly.
HABITS = np.array([0.1, 0.2, 0.2, 0.2, 0.2, 0.1])


def random_actions(seed, count=GAMES, seats=4):
    return np.random.default_rng(seed).choice(6, size=(count, seats), p=HABITS).astype(np.int32)


@pytest.fixture(scope="module")
def games():
    """States and actions of random play: (state before, arrays before, actions, state after, arrays after) per step.

    The games have ROWS different starts; those of the same start differ in their actions.
    """
    state = jax.tree.map(lambda leaf: leaf[np.arange(GAMES) % ROWS], start_states("ffa", ROWS, 7))
    arrays, steps = interop.to_arrays(FFA, state), []
    for step in range(STEPS):
        actions = random_actions(step)
        after = step_batch(FFA, state, actions)
        arrays_after = interop.to_arrays(FFA, after)
        steps.append((state, arrays, actions, after, arrays_after))
        state, arrays = after, arrays_after
    return steps


def test_every_state_is_possible(games):
    for *_, arrays in games:
        interop.check_arrays(FFA, arrays)


def test_a_state_holds_nothing_beyond_its_arrays(games):
    """No item is left under a wall, no number where there is no bomb: equal positions are equal bit for bit."""
    for *_, state, arrays in games[::7]:
        again = interop.from_arrays(FFA, arrays)
        again = dataclasses.replace(again, terminated=state.terminated, seat_rewards=state.seat_rewards)
        assert equal(again, state)


def test_many_games_end_and_many_go_on(games):
    ended = np.mean(games[-1][3].terminated)
    assert 0.1 < ended < 0.99


def test_walls_only_burn_and_the_dead_stay_dead(games):
    for _, before, _, _, after in games:
        assert np.array_equal(before["s_board"] == 1, after["s_board"] == 1)
        assert not ((after["s_board"] == 2) & (before["s_board"] != 2)).any()
        assert not (after["s_agents"][..., 2] > before["s_agents"][..., 2]).any()


def test_agents_move_by_one_cell_where_their_action_says(games):
    delta = np.array([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1], [0, 0]])
    for _, before, actions, _, after in games:
        moved = after["s_agents"][..., :2].astype(int) - before["s_agents"][..., :2]
        assert ((moved == 0).all(-1) | (moved == delta[actions]).all(-1)).all()


def test_bombs_in_hand_and_on_the_board_change_only_by_power_ups(games):
    """What an agent may lay and has laid stays the same, but for an extra bomb that it has walked onto."""
    lane = np.arange(GAMES)[:, None]
    for state, before, _, after_state, after in games:
        owned = [_bombs_owned(arrays) for arrays in (before, after)]
        burnt_out = np.where(before["s_flames"] == 1, before["s_items"], 0)  # revealed at the start of the step
        visible = np.where((before["s_board"] >= 6) & (before["s_board"] <= 8), before["s_board"], burnt_out)
        agents = after["s_agents"].astype(int)
        walked = (agents[..., :2] != before["s_agents"][..., :2]).any(-1)
        found = walked & (visible[lane, agents[..., 0], agents[..., 1]] == 6)
        expected = owned[0] + found
        running = ~state.terminated[:, None]
        assert (owned[1] == np.where(running, expected, owned[0]))[expected <= MAX_AMMO].all()
        assert not (after_state.terminated < state.terminated).any()


def _bombs_owned(arrays):
    listed = np.arange(32) < arrays["s_nbombs"][:, None]
    laid = [((arrays["s_bombs"][..., 2] == seat) & listed).sum(1) for seat in range(4)]
    return arrays["s_agents"][..., 3].astype(int) + np.stack(laid, axis=1)


def test_bombs_tick_and_keep_owner_and_strength(games):
    for state, before, _, _, after in games:
        lives = [sorted_bombs(arrays) for arrays in (before, after)]
        for lane in np.flatnonzero(~state.terminated)[:64]:
            expected = {(owner, life - 1, strength) for owner, life, strength in lives[0][lane] if life > 1}
            laid = {bomb for bomb in lives[1][lane] if bomb[1] == 9}
            assert set(lives[1][lane]) - laid <= expected


def sorted_bombs(arrays):
    return [
        sorted(map(tuple, bombs[:count, 2:5].tolist()))
        for bombs, count in zip(arrays["s_bombs"], arrays["s_nbombs"], strict=True)
    ]


def test_finished_games_absorb(games):
    state, _, _, after, _ = games[-1]
    ended = np.flatnonzero(state.terminated)
    silent = dataclasses.replace(state, seat_rewards=tuple(np.zeros_like(reward) for reward in state.seat_rewards))
    assert equal(jax.tree.map(lambda leaf: leaf[ended], after), jax.tree.map(lambda leaf: leaf[ended], silent))


def test_the_clock_runs_until_the_end(games):
    for state, _, _, after, _ in games:
        assert np.array_equal(after.step_count, state.step_count + ~state.terminated)


def test_the_last_step_pays_and_no_later_one(games):
    for state, _, _, after, _ in games:
        rewards = np.stack(after.seat_rewards, axis=1)
        ending = after.terminated & ~state.terminated
        assert (rewards[ending].any(axis=1)).all()
        assert not rewards[state.terminated].any()
        alive = np.stack([agent.alive for agent in after.bombers], axis=1)
        going = ~after.terminated
        assert np.array_equal(rewards[going], np.where(alive[going], 0, -1))


# --- batches -----------------------------------------------------------------------------------------------------------


def test_a_game_does_not_depend_on_its_place_in_a_batch():
    config, _, state = recordings.states("ffa_conflict", 200)
    actions = random_actions(1, 200)
    order = np.random.default_rng(2).permutation(200)
    straight = step_batch(config, state, actions)
    shuffled = step_batch(config, jax.tree.map(lambda leaf: leaf[order], state), actions[order])
    assert equal(jax.tree.map(lambda leaf: leaf[order], straight), shuffled)


# --- symmetry ----------------------------------------------------------------------------------------------------------

TRANSPOSED = np.array([0, 3, 4, 1, 2, 5])  # up becomes left, down becomes right
TURNED = np.array([0, 2, 1, 4, 3, 5])  # half a turn


def transposed(arrays):
    result = {name: np.swapaxes(arrays[name], 1, 2) for name in ("s_board", "s_items", "s_flames")}
    bombs, agents = arrays["s_bombs"].copy(), arrays["s_agents"][..., [1, 0, 2, 3, 4, 5]]
    bombs = bombs[..., [1, 0, 2, 3, 4, 5]]
    bombs[..., 5] = np.where(bombs[..., 5] >= 0, TRANSPOSED[bombs[..., 5]], -1)
    return {**arrays, **result, "s_bombs": bombs, "s_agents": agents}


def turned(arrays):
    result = {name: arrays[name][:, ::-1, ::-1] for name in ("s_board", "s_items", "s_flames")}
    bombs, agents = arrays["s_bombs"].copy(), arrays["s_agents"].copy()
    listed = bombs[..., :1] >= 0
    bombs[..., :2] = np.where(listed, 10 - bombs[..., :2], -1)
    bombs[..., 5] = np.where(listed[..., 0], TURNED[bombs[..., 5]], -1)
    agents[..., :2] = 10 - agents[..., :2]
    return {**arrays, **result, "s_bombs": bombs, "s_agents": agents}


SEATS = np.array([2, 0, 3, 1])  # seat i becomes seat SEATS[i]


def reseated(arrays):
    board, bombs, agents = (arrays[name].copy() for name in ("s_board", "s_bombs", "s_agents"))
    board = np.where(board >= 10, 10 + SEATS[np.maximum(board, 10) - 10], board).astype(board.dtype)
    bombs[..., 2] = np.where(bombs[..., 2] >= 0, SEATS[bombs[..., 2]], -1)
    agents[:, SEATS] = arrays["s_agents"]
    return {**arrays, "s_board": board, "s_bombs": bombs, "s_agents": agents}


@pytest.mark.parametrize("name", ["ffa_conflict", "ffa_kick", "ffa_random"])
@pytest.mark.parametrize("how", [transposed, turned, reseated])
def test_symmetry(name, how):
    """Playing a mirrored position with mirrored actions gives the mirrored result."""
    config, arrays, state = recordings.states(name, 300 if name == "ffa_conflict" else 120)
    actions = random_actions(5, len(arrays["s_board"]))
    mirrored = {transposed: TRANSPOSED[actions], turned: TURNED[actions], reseated: actions[:, np.argsort(SEATS)]}[how]
    straight = step_batch(config, state, actions)
    other = step_batch(config, interop.from_arrays(config, how(arrays)), mirrored)
    expected = interop.sort_bombs(how(interop.to_arrays(config, straight)))
    got = interop.to_arrays(config, other)
    for field in interop.STATE_FIELDS:
        assert np.array_equal(got[field], expected[field]), field
    rewards, turned_rewards = (np.stack(result.seat_rewards, axis=1) for result in (straight, other))
    assert np.array_equal(turned_rewards[:, SEATS] if how is reseated else turned_rewards, rewards)
