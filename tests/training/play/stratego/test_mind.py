"""What our player knows by lines alone: the same as the rules let it see, and no more."""

import dataclasses
import functools
import random

import jax
import numpy as np
import pytest

from jaxgames.stratego import interop, notation
from tests.training.play.stratego.plain_referee import PlainReferee
from training.play.stratego import mind, protocol, referee
from training.play.stratego.mind import AgentMind
from training.play.stratego.protocol import Move, Outcome


@functools.cache
def random_mind():
    return AgentMind("random", "barrage", seed=3)


@functools.cache
def observe():
    return jax.jit(random_mind().game.observe)


def start(number):
    game = random_mind().game
    return jax.device_get(jax.jit(game.init)(jax.random.key(number)))


def same(view, found):
    for (path, leaf), other in zip(jax.tree_util.tree_leaves_with_path(view), jax.tree.leaves(found), strict=True):
        np.testing.assert_array_equal(leaf, other, jax.tree_util.keystr(path))


def test_they_know_what_the_rules_let_them_see():
    """All moves are drawn; those of the minds are not played, as they have to live with what is told."""
    game, draw = random_mind().game, random.Random(24)
    moves, words = 0, set()
    for number in range(2):
        judge = referee.GameReferee(game.config, start(number))
        players = [AgentMind("random", "barrage", seed=colour) for colour in (0, 1)]
        told = [[], []]
        for colour, player in enumerate(players):
            player.begin(colour)
        while not judge.state.terminated and moves < 45 * (number + 1):
            colour, rows = judge.player, judge.view(judge.player)
            chosen = players[colour].choose(rows, told[colour], lambda: True)
            assert judge.why_illegal(chosen) == ""
            same(players[colour]._view, observe()(judge.state, np.int32(colour)))
            told[colour] = []
            options = protocol.legal_moves(rows)
            forward = [move for move in options if move.direction == ("DOWN", "UP")[colour] or move.distance > 1]
            move = draw.choice(forward or options)
            outcome = judge.play(move)
            for heard in told:
                heard.append((move, outcome))
            moves += 1
            words.add(outcome.word)
    assert moves > 60 and words >= {"OK", "KILLS", "DIES", "BOTHDIE"}


@pytest.mark.slow
def test_battles_and_legal_moves_are_those_of_a_plain_referee():
    """The rules of the project against a few lines of plain Python."""
    game, draw = random_mind().game, random.Random(5)
    words = set()
    for number in range(2):
        judge = referee.GameReferee(game.config, start(number))
        rows = [judge.view(0)[:4], judge.view(1)[6:]]
        plain = PlainReferee(rows)
        again = referee.GameReferee(game.config, referee.of_setups(game.config, rows))
        same(again.state, judge.state)
        while not judge.state.terminated and judge.state.ply < 80:
            assert [judge.view(player) for player in (0, 1)] == [plain.view(player) for player in (0, 1)]
            options = protocol.legal_moves(plain.view(plain.player))
            actions = sorted(referee.action_of(game.config, move, plain.player) for move in options)
            assert actions == interop.legal_list(game.config, judge.state)
            assert [
                referee.move_of(game.config, referee.action_of(game.config, m, plain.player), plain.player) for m in options
            ] == options
            forward = [move for move in options if move.direction == ("DOWN", "UP")[plain.player]]
            move = draw.choice(forward or options)
            assert judge.why_illegal(move) == "" == plain.why_illegal(move)
            outcome = judge.play(move)
            assert outcome == plain.play(move)
            words.add(outcome.word)
    assert words >= {"OK", "KILLS", "DIES"}


FIRST = {
    Outcome("ILLEGAL"): "#",
    Outcome("OK"): ".",
    Outcome("KILLS", "8", "9"): "9",
    Outcome("DIES", "8", "9"): "9",
    Outcome("BOTHDIE", "9", "9"): "9",
}


@pytest.mark.parametrize("outcome", list(FIRST), ids=lambda outcome: outcome.word)
def test_blue_takes_back_the_move_before_its_first_board(outcome):
    move = Move(0, 3, "DOWN", 3)
    after = {"OK": "#", "KILLS": "#", "DIES": "9", "BOTHDIE": ".", "ILLEGAL": "#"}[outcome.word]
    rows = [".........."] * 6 + [after + "........B"] + [".........."] * 3
    before = mind._undone(rows, [(move, outcome)], 1)
    assert before[3][0] == (".", "#")[outcome.word != "ILLEGAL"] and before[6][0] == FIRST[outcome]


def test_another_variant_than_expected_is_seen_on_the_first_board(caplog):
    game = random_mind().game
    config = dataclasses.replace(game.config, lakes=(*game.config.lakes, 44), pieces=(1, 1, 2, 1, 0, 0, 0, 0, 0, 1, 1, 0))
    text = "MCAAAAAAAAKAAAAAAAAAAAAAADAAAAAAEADAAALAAA___A__AAAA__AA__AAPAAAWAAOXAQPAAAYAAAAAAAAAAAAAAAAAAAAAAAA r 0"
    judge = referee.GameReferee(config, notation.read(config, text))
    player = AgentMind("random", "barrage")
    player.begin(0)
    with pytest.raises(ValueError, match="own pieces and"):
        player.choose([*judge.view(0)[:9], "#........."], [], lambda: True)
    assert player.choose(judge.view(0), [], lambda: False) is None
    assert player.game.config.pieces == config.pieces
    same(player._view.lakes, judge.state.lakes)
    assert "another variant than expected" in caplog.text


def test_what_does_not_follow_from_what_was_told_is_refused():
    player, judge = random_mind(), referee.GameReferee(random_mind().game.config, start(0))
    rows = judge.view(0)
    player.begin(0)
    player.choose(rows, [], lambda: True)
    moved = [row.replace("#", ".", 1) if "#" in row else row for row in rows]
    with pytest.raises(ValueError, match="which does not follow from the moves that were told"):
        player.choose(moved, [], lambda: True)
    own = protocol.legal_moves(rows)[0]
    impossible = next(move for move in protocol.legal_moves(judge.view(1)) if move.distance == 1)
    with pytest.raises(ValueError, match="no board fits this"):
        player.choose(rows, [(own, Outcome("OK")), (impossible, Outcome("DIES", "4", "1"))], lambda: True)


def test_a_move_that_was_not_made_is_left_out():
    """Managers may let an illegal move pass as a lost turn."""
    player, judge = random_mind(), referee.GameReferee(random_mind().game.config, start(1))
    player.begin(0)
    for _ in range(2):
        told = [(player.choose(judge.view(0), [], lambda: True), Outcome("ILLEGAL"))]
        assert player.choose(judge.view(0), [*told, (Move(0, 9, "DOWN"), Outcome("ILLEGAL"))], lambda: True) is not None
    assert player.choose(judge.view(0), [], lambda: False) is None


def test_players_that_see_what_is_hidden_and_unknown_ones_are_refused():
    with pytest.raises(ValueError, match=r"^agent='fdts': sees what is hidden"):
        AgentMind("fdts", "barrage")
    with pytest.raises(ValueError, match=r"^agent='nobody': must be one of random"):
        AgentMind("nobody", "barrage")
    with pytest.raises(ValueError, match=r"^mode='mini': has 6 x 6 cells; the protocol is for boards of 10 x 10"):
        AgentMind("random", "mini")
    with pytest.raises(ValueError, match=r"^mode='barrage-open-flags': begins with open pieces"):
        AgentMind("random", "barrage-open-flags")


def test_set_ups_are_those_of_the_variant():
    player = AgentMind("random", "barrage", seed=4)
    sent = []
    for _ in range(2):
        player.begin(1)
        sent.append(player.setup(1))
        protocol.check_setup(sent[-1], referee.counts_of(player.game.config))
    assert sent[0] != sent[1]


def test_set_ups_leave_lakes_empty():
    player = AgentMind("random", "barrage:lakes=30+42+43+69")
    config = player.game.config
    for colour in (0, 1):
        player.begin(colour)
        rows = player.setup(colour)
        protocol.check_setup(rows, referee.counts_of(config), lakes=referee.lakes_of(config), colour=colour)
