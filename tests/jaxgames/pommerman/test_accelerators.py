"""What accelerators work out another way than a CPU comes to the same bits."""

import dataclasses
import functools

import jax
import numpy as np
import pytest

from jaxgames import few_lanes, random_bits
from jaxgames.pommerman import explosions, make, rules, simple_agent, simple_seats, simple_unbiased_agent, simple_unbiased_memory
from jaxgames.pommerman.config import preset
from tests.jaxgames.pommerman import recordings
from tests.jaxgames.pommerman.playing import start_states

GAMES, STEPS = 32, 80
CONFIG = preset("ffa")
PLAYERS = {
    "simple": (simple_agent.all_simple_moves, simple_agent.init_memory),
    "simple_unbiased": (
        simple_unbiased_agent.all_unbiased_moves,
        functools.partial(simple_unbiased_memory.init_memory, CONFIG),
    ),
}


def _played(player: str, states):
    """Games of four rule-based players: the last states, and how many bombs rolled in all."""
    moves_of, init_memory = PLAYERS[player]

    def step(lane, carry, number):
        state, memories = carry
        moves, memories = moves_of(CONFIG, state, memories, random_bits.fold(lane, number))
        state = rules.step(CONFIG, state, jax.numpy.stack(moves))
        return (state, memories), sum(cells.count() for cells in state.bombs.moving)

    def play(state, number):
        lane = random_bits.lane_key(jax.random.fold_in(jax.random.key(3), number))
        start = state, (init_memory(),) * CONFIG.num_players
        (state, _), rolling = jax.lax.scan(functools.partial(step, lane), start, np.arange(STEPS))
        return state, rolling.sum()

    return jax.device_get(jax.jit(jax.vmap(play))(states, np.arange(GAMES)))


def test_legal_moves_are_the_same(monkeypatch):
    game, states = make("ffa"), recordings.states("ffa_simple", 64)[2]
    on_a_cpu = jax.jit(jax.vmap(game.legal_actions))(states)
    monkeypatch.setattr(rules, "by_platform", lambda *arguments, cpu, default: default(*arguments))
    np.testing.assert_array_equal(on_a_cpu, jax.jit(jax.vmap(game.legal_actions))(states))


@pytest.mark.slow  # to compile
@pytest.mark.parametrize("player", PLAYERS)
def test_games_are_the_same(player, monkeypatch):
    states = start_states("ffa", GAMES, seed=11)
    kickers = tuple(dataclasses.replace(man, can_kick=np.ones(GAMES, bool)) for man in states.bombers)
    states = dataclasses.replace(states, bombers=kickers)
    on_a_cpu, rolled = _played(player, states)
    for module in (few_lanes, explosions, simple_seats):
        monkeypatch.setattr(module, "by_platform", lambda *arguments, cpu, default: default(*arguments))
    elsewhere, _ = _played(player, states)
    for one, other in zip(jax.tree.leaves(on_a_cpu), jax.tree.leaves(elsewhere), strict=True):
        np.testing.assert_array_equal(one, other)
    left, drawn = (sum(np.bitwise_count(word).sum() for word in one.wood.words) for one in (on_a_cpu, states))
    assert left < 0.8 * drawn, "much was blasted"
    if player == "simple":  # the other seldom kicks one
        assert rolled.sum() > 0
