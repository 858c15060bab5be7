"""Random games side by side with OpenSpiel: legal actions, tensors, texts, returns."""

import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest

import jaxgames
from jaxgames.hex import interop, rules

VERSIONS = {"hex": None, "adh": "adh", "cdh": "cdh"}


@pytest.mark.parametrize("mode", VERSIONS)
@pytest.mark.parametrize("size", [4, *(pytest.param(size, marks=pytest.mark.slow) for size in (3, 6))])
def test_a_game_is_the_same_in_everything(mode, size):
    game = jaxgames.make("hex", mode, board_size=size)
    if mode == "hex":
        other = pyspiel.load_game("hex", {"board_size": size}).new_initial_state()
    else:
        settings = {"board_size": size, "gameversion": mode, "obstype": "reveal-nothing"}
        other = pyspiel.load_game("dark_hex", settings).new_initial_state()
    import jax

    step = jax.jit(lambda state, cell: rules.step(game.config, state, cell))
    random, state = np.random.default_rng(size), game.init()
    tried = ([], [])
    while not other.is_terminal():
        player = other.current_player()
        assert int(state.player) == player and not bool(state.terminated)
        legal = np.flatnonzero(np.asarray(game.legal_actions(state))[player])
        assert legal.tolist() == other.legal_actions()
        for seat in (0, 1):
            ours = interop.observation_tensor(game.config, state, seat).reshape(-1)
            assert np.array_equal(ours, np.array(other.observation_tensor(seat), np.float32))
        if mode != "hex":
            for seat in (0, 1):
                assert interop.observation_string(game.config, state, seat) == other.observation_string(seat)
                text = interop.information_string(game.config, state, seat, np.array(tried[seat], int))
                assert text == other.information_state_string(seat)
        cell = int(random.choice(legal))
        tried[player].append(cell)
        other.apply_action(cell)
        state = step(state, jnp.int32(cell))
    assert bool(state.terminated)
    assert np.asarray(game.outcome(state)).tolist() == other.returns()
    assert np.asarray(state.rewards).tolist() == other.returns()
