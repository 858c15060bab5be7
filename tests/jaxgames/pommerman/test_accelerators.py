"""What accelerators work out another way than a CPU comes to the same bits."""

import dataclasses
import functools

import jax
import numpy as np
import pytest

from jaxgames import few_lanes, platforms, random_bits
from jaxgames.bits import Bits
from jaxgames.pommerman import (
    explosions,
    make,
    rules,
    simple_agent,
    simple_search,
    simple_seats,
    simple_unbiased_agent,
    simple_unbiased_memory,
)
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


def _way_of_accelerators(*arguments, cpu, default):
    return default(*arguments)


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
    monkeypatch.setattr(rules, "by_platform", _way_of_accelerators)
    np.testing.assert_array_equal(on_a_cpu, jax.jit(jax.vmap(game.legal_actions))(states))


def test_searches_for_what_is_near_are_the_same(monkeypatch):
    random, words = np.random.default_rng(5), CONFIG.grid.num_words
    sets = random.integers(0, 2**32, (3, words, GAMES), dtype=np.uint32) & np.array(CONFIG.grid.full.words)[:, None]
    cells = random.integers(0, CONFIG.grid.num_cells, GAMES)

    def search(cell, walls, wanted, more):
        own, free = CONFIG.grid.one_hot(cell), CONFIG.grid.full - (Bits(tuple(walls)) & Bits(tuple(more)))
        found = simple_search.levels(CONFIG.grid, own, free | own, free, 3)
        return found, simple_search.any_beyond(CONFIG.grid, own, free | own, free, Bits(tuple(wanted)), 3, cell > 40)

    on_a_cpu = jax.jit(jax.vmap(search))(cells, *(part.T for part in sets))
    for module in (platforms, simple_search):
        monkeypatch.setattr(module, "by_platform", _way_of_accelerators)
    elsewhere = jax.jit(jax.vmap(lambda *arguments: search(*arguments)))(cells, *(part.T for part in sets))
    jax.tree.map(np.testing.assert_array_equal, on_a_cpu, elsewhere)
    assert 0 < on_a_cpu[1].sum() < GAMES


@pytest.mark.slow  # to compile
@pytest.mark.parametrize("player", PLAYERS)
def test_games_are_the_same(player, monkeypatch):
    states = start_states("ffa", GAMES, seed=11)
    kickers = tuple(dataclasses.replace(man, can_kick=np.ones(GAMES, bool)) for man in states.bombers)
    states = dataclasses.replace(states, bombers=kickers)
    on_a_cpu, rolled = _played(player, states)
    for module in (few_lanes, explosions, platforms, simple_search, simple_seats):
        monkeypatch.setattr(module, "by_platform", _way_of_accelerators)
    elsewhere, _ = _played(player, states)
    for one, other in zip(jax.tree.leaves(on_a_cpu), jax.tree.leaves(elsewhere), strict=True):
        np.testing.assert_array_equal(one, other)
    left, drawn = (sum(np.bitwise_count(word).sum() for word in one.wood.words) for one in (on_a_cpu, states))
    assert left < 0.8 * drawn, "much was blasted"
    if player == "simple":  # the other seldom kicks one
        assert rolled.sum() > 0
