"""Games in which something is hidden are evaluated: what agents are shown, and what goes with the game and the seat."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.agent import Agent
from jaxgames.hex.bots import random_agent
from jaxgames.packing import packing_of
from tests.training import match_on_devices
from training.play import evaluate

KEY = jax.random.key(3)
DARK = jaxgames.make("hex", "adh-3")
PACKING = packing_of(jax.eval_shape(lambda: DARK.init_information(jnp.int32(0))))


def remembering(name: str) -> Agent:
    """Tries any cell that it does not know to be taken. Its memory: how often it was asked, and what it was shown each time."""
    random = random_agent(DARK)

    def init(size):
        return jnp.zeros(size, jnp.int32), jnp.zeros((size, DARK.max_steps, PACKING.num_words), jnp.uint32)

    def act(params, keys, memory, views, seats, active):
        count, rows = memory
        here = (jnp.arange(DARK.max_steps) == count[:, None]) & active[:, None]
        rows = jnp.where(here[..., None], jax.vmap(PACKING.pack)(views)[:, None], rows)
        return random.act(None, keys, (), views, seats, active)[0], (count + active, rows)

    return Agent(name, init, lambda memory, lanes: memory, act)


@pytest.fixture(scope="module")
def hidden():
    """One game per lane, so that no memory is of two games."""
    agents = [remembering("one"), remembering("other")]
    return evaluate.play(DARK, agents, KEY, 6, batch_size=6, seating="rotated", record=6)


@functools.partial(jax.jit, static_argnums=0)
def informed(seat, info, state, action):
    return DARK.update_information(info, DARK.observe(state, jnp.int32(seat)), action)


@pytest.mark.slow  # to compile
def test_waiting_changes_nothing_that_is_hidden(hidden):
    agents = [remembering(name)._replace(ready=lambda memory, views: memory[0] % 2 == 1) for name in ("one", "other")]
    games = evaluate.play(DARK, agents, KEY, 6, batch_size=6, seating="rotated", record=6)
    assert match_on_devices.as_lists(games) == match_on_devices.as_lists(hidden)
    jax.tree.map(np.testing.assert_array_equal, games.memories, hidden.memories)


def test_agents_are_shown_what_their_seat_knows_and_only_the_player_to_move_is_asked(hidden):
    asked, unpack, init = np.zeros(2, int), jax.jit(PACKING.unpack), jax.jit(DARK.init_information)
    for index in range(6):
        states = jax.device_get(evaluate.replay(DARK, KEY, index, hidden))
        infos = [jax.device_get(init(np.int32(seat))) for seat in (0, 1)]
        counts = [0, 0]
        for step in range(hidden.lengths[index]):
            mover = int(states.player[step])
            agent = hidden.seats[index].tolist().index(mover)
            _, rows = hidden.memories[agent]
            shown = unpack(np.asarray(rows)[index, counts[agent]])
            # Chances (floats) were made by another program, which may round otherwise.
            jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-6), shown, infos[mover])
            actions = hidden.actions[index, step]
            assert actions[1 - mover] == DARK.pass_action != actions[mover]
            counts[agent] += 1
            after = jax.tree.map(lambda leaf, n=step: leaf[n + 1], states)
            infos = [jax.device_get(informed(seat, infos[seat], after, actions[seat])) for seat in (0, 1)]
        assert [int(hidden.memories[agent][0][index]) for agent in (0, 1)] == counts
        asked += counts
    np.testing.assert_array_equal(hidden.moves, asked)


def test_what_is_known_goes_with_the_game_and_the_seat(hidden):
    """The same games by one agent that is asked for both seats at once, in lanes that are refilled."""
    both = remembering("both")
    games = evaluate.play(DARK, [both, both], KEY, 6, batch_size=2, seating="rotated", record=6)
    for name in ("actions", "outcomes", "seats", "lengths", "moves"):
        np.testing.assert_array_equal(getattr(games, name), getattr(hidden, name), name)


def test_games_with_rotated_seats_replay_to_their_outcome(hidden):
    np.testing.assert_array_equal(hidden.seats, [[0, 1], [1, 0]] * 3)
    for index in range(6):
        states = evaluate.replay(DARK, KEY, index, hidden)
        np.testing.assert_array_equal(states.terminated, np.arange(len(states.terminated)) == hidden.lengths[index])
        winner = int(states.player[-1])
        assert hidden.outcomes[index].tolist() == [1 if seat == winner else -1 for seat in hidden.seats[index]]
