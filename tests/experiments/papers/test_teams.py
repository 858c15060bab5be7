"""The page of matches between teams: what it shows, and what it needs."""

import dataclasses

import chex
import jax
import numpy as np
import pytest

import jaxgames
from experiments.papers import teams
from experiments.papers.hearsay import cells_off
from experiments.papers.teams import OPPONENTS, PLAYERS, WEIGHTS, Pairing, TeamsPlan
from jaxgames.pommerman.constants import NUM_MESSAGES, NUM_WORDS, Move
from tests.experiments.papers.made_up import page_of
from training.play.evaluate import Games

COUNT = {"games": 100, "wins": 60, "draws": 10, "losses": 30}
DOES = {"moves": {"stop": 0.25, "bomb": 0.05}, "cells_in_20": 7.5, "kills": 0.8, "mates": 0.02, "suicides": 0.1}


def result(one):
    return (
        {"released": COUNT, "mean_length": 250.4, "behaviour": DOES, "cells_off": 2.5} if isinstance(one.label, Pairing) else {}
    )


def test_the_page(tmp_path):
    page = page_of(teams.PAGE, tmp_path, result)
    row = "| 60.0 (50–69) | 10.0 (6–17) | 30.0 (22–40) | 25.0 | 5.0 | 7.50 | 0.80 | 0.02 | 0.10 | 2.5 | 250 | 100 |"
    assert page.count(f"| TP-MCTS, no network, four replies | SimpleUnbiasedAgent {row}") == 1
    assert page.count(row) == len(PLAYERS) * len(OPPONENTS) - len(OPPONENTS), "nobody meets themselves"
    assert page.count("that talks") == 4


@pytest.mark.slow  # to compile
def test_without_a_word_radio_changes_nothing():
    """So games of those that are silent are played once."""
    games = [jaxgames.make("pommerman", mode) for mode in ("team", "radio")]
    keys = jax.random.split(jax.random.key(0), 8)
    states = [jax.vmap(game.init)(keys) for game in games]
    views = [jax.jit(jax.vmap(game.observe, (0, None))) for game in games]
    steps = [jax.jit(jax.vmap(game.step)) for game in games]
    for number in range(30):
        moves = jax.random.randint(jax.random.key(number), (8, 4), 0, len(Move))
        states = [step(state, moves * words, keys) for step, state, words in zip(steps, states, (1, NUM_MESSAGES), strict=True)]
        seen = [view(state, 1) for view, state in zip(views, states, strict=True)]
        chex.assert_trees_all_equal(dataclasses.replace(states[1], messages=()), states[0])
        chex.assert_trees_all_equal(dataclasses.replace(seen[1], message=()), seen[0])


@pytest.mark.slow  # to compile
def test_how_far_off_an_enemy_in_fog_is_believed():
    """All begin in their corners, out of view; an enemy goes a step away, which the teammate, so it says, has seen."""
    game, steps, key = jaxgames.make("pommerman", "radio"), 6, jax.random.key(0)
    actions = np.zeros((1, game.max_steps, 4), np.int16)
    actions[0, 0, 1] = Move.UP * NUM_MESSAGES
    actions[0, 2, 2] = 5 * NUM_WORDS + 5  # of seat 1 in step 2: cells (8, 0) and (8, 1)
    seats, lengths = np.arange(4, dtype=np.int8)[None], np.full(1, steps)
    games = Games(np.zeros((1, 4), np.int8), np.ones((1, 4), bool), seats, lengths, np.full(4, steps), actions)
    assert [cells_off(game, key, games, heeds=heeds) for heeds in (False, True)] == [0.5, 0.17]


def test_a_player_with_a_network_needs_the_network(tmp_path):
    taught = next(player for player in PLAYERS if WEIGHTS in player)
    with pytest.raises(ValueError, match="is not over, so nobody can play with what it learns"):
        teams.play(TeamsPlan(tmp_path, work=tmp_path), Pairing("team", taught, "simple"))
