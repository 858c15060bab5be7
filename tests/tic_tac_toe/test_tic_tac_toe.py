"""A game of a page, registered in one line: what a game of one's own can do from then on."""

import dataclasses
import sys

import jax
import numpy as np
import pytest
from rich.console import Console

import jaxgames
from jaxgames import replay
from tests.tic_tac_toe import REGISTRATION
from tests.tic_tac_toe.game import State
from training.jobs import train_alphaze
from training.jobs.train_alphaze import TrainConfig
from training.learn.alphaze import AlphazeConfig
from training.models.policy_value import PolicyValueConfig
from training.play import agents, evaluate
from training.storage.logs import read_log


@pytest.fixture
def game(monkeypatch):
    monkeypatch.setattr(sys.modules["jaxgames.registration"], "_ADDED", {})
    jaxgames.register(REGISTRATION)
    return jaxgames.make("tic_tac_toe")


def agent(game, name, **settings):
    entry = next(entry for entry in REGISTRATION.agents if entry.name == name)
    return entry.build(game, entry.settings(**settings))


@pytest.mark.slow
def test_it_keeps_the_contract(game):
    jaxgames.check_game(game)
    assert jaxgames.encoder_of(game) == jaxgames.encoder_of(game, "cells")


@pytest.mark.slow  # tests/training/web/test_session.py has a quick one, in which the careful player wins
def test_its_agents_play(game):
    players = [agent(game, "careful"), agent(game, "random")]
    games = evaluate.play(game, players, jax.random.key(0), 64, record=1)
    assert games.outcomes[:, 0].mean() > 0.5
    states = evaluate.replay(game, jax.random.key(0), 0, games)
    assert "careful" in game.animate(states, games.actions[0], names=["careful", "random"])


def test_a_film_shows_every_board_and_the_names(game):
    boards = np.zeros((3, 9), np.int8)
    boards[1:, 4], boards[2, 0] = 1, -1
    states = State(boards, np.array([0, 1, 0], np.int8), np.zeros(3, bool), np.zeros((3, 2), np.float32))
    film = game.animate(states, names=["careful", "random"])
    assert "careful - random" in film
    assert (film.count("<g>"), film.count(">x<"), film.count(">o<")) == (3, 2, 1)


@pytest.mark.slow
def test_its_agents_have_settings(game):
    hasty = evaluate.play(game, [agent(game, "careful", blocks=False), agent(game, "careful")], jax.random.key(0), 4)
    assert (hasty.outcomes[:, 0] <= 0).all(), "who never looks at the other's lines does not win"


def test_its_recordings_are_replayed(game, tmp_path, capsys):
    cells = np.array([[4, 0, 8, 2, 1, 7, 3, 5, 6], [0, 3, 1, 4, 2, -1, -1, -1, -1]])
    boards = np.array([[-1, 1, -1, 1, 1, -1, 1, -1, 1], [1, 1, 1, -1, -1, 0, 0, 0, 0]])
    np.savez(tmp_path / "sound.npz", cells=cells, boards=boards)
    np.savez(tmp_path / "wrong.npz", cells=cells, boards=-boards)
    assert replay.replay_files("tic_tac_toe", [tmp_path / "sound.npz"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "14 transitions, 0 mismatches"
    assert replay.replay_files("tic_tac_toe", [tmp_path / "wrong.npz"]) == 1


def test_without_recordings_there_is_nothing_to_replay(game, monkeypatch):
    monkeypatch.setattr(sys.modules["jaxgames.registration"], "_ADDED", {})
    jaxgames.register(dataclasses.replace(REGISTRATION, replay=""))
    with pytest.raises(ValueError, match="game='tic_tac_toe': has no recordings to replay"):
        replay.replay_files("tic_tac_toe", ["x.npz"])


@pytest.mark.slow
def test_a_network_learns_it_by_the_same_job_as_other_games(game, tmp_path):
    config = TrainConfig(
        who=PolicyValueConfig("tic_tac_toe", "standard", network="tiny"),
        learn=AlphazeConfig(
            num_simulations=16,
            lanes=32,
            steps=16,
            epoch_samples=1024,
            buffer_size=2048,
            epoch_updates=64,
            updates=64,
            batch_size=64,
            learning_rate=0.01,
        ),
        epochs=2,
        gate_games=8,
        rate_games=64,
        final_games=0,
        checkpoint_every=1000,
        output=str(tmp_path / "run"),
    )
    train_alphaze.run(config, Console(quiet=True))
    scores = [row["score_against_random"] for row in read_log(tmp_path / "run" / "log.jsonl") if "score_against_random" in row]
    assert len(scores) == 2 and scores[-1] > 0.6, scores
    player = agents.make(f"network:weights={tmp_path / 'run'}", game)
    games = evaluate.play(game, [player, agents.make("careful:blocks=0", game)], jax.random.key(0), 4)
    assert games.outcomes.shape == (4, 2)
