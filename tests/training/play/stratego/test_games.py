"""Games between programs, good and bad ones, by the lines of the protocol: how they end, and that nothing is left of them."""

import functools
import time
from collections import Counter

import pytest

from tests.training.play.stratego.partner import SETUP
from tests.training.play.stratego.plain_referee import PlainReferee
from tests.training.play.stratego.started_partners import all_gone, program
from training.play.stratego import games, protocol
from training.play.stratego.games import BLUE, BOTH, NOBODY, RED, Rules

COUNTS = Counter("".join(SETUP))


def play(red, blue, rules, start=PlainReferee):
    partners = []
    try:
        partners += [program(*red.split()), program(*blue.split())]
        played = games.play(partners, start, rules)
    finally:
        for partner in partners:
            partner.close("QUIT")
    assert all_gone()
    return played


OWN = Rules(seconds=5.0, turns=1000, counts=COUNTS)


def test_a_game_is_played_to_its_end():
    played = play("play_well 1", "play_well 2", OWN)
    assert (played.ending.word, played.setups) == ("VICTORY", (tuple(SETUP), tuple(SETUP[::-1])))
    assert played.turn == (len(played.moves) + 1) // 2 and played.ending.winner == played.ending.colour
    assert played.result == " ".join(
        [("play_well RED", "play_well BLUE")[played.ending.colour], "VICTORY", str(played.turn), *map(str, played.values)]
    )
    log = played.log().splitlines()
    assert log[:2] == ["play_well RED SETUP", SETUP[0]] and log[5:7] == ["play_well BLUE SETUP", SETUP[3]]
    assert (
        log[10].startswith("1 RED: ")
        and log[11].startswith("1 BLU: ")
        and log[10].split(" ", 2)[2] == (f"{played.texts[0]} {played.moves[0][1]}")
    )
    assert log[-1] == played.result and len(log) == 10 + len(played.moves) + 2
    words = {outcome.word for _, outcome in played.moves}
    assert words == {"OK", "KILLS", "DIES", "BOTHDIE"} and played.ending.reason == "the other has no piece left that moves"


def test_the_same_game_again_and_the_other_colours():
    few = Rules(seconds=5.0, turns=20, counts=COUNTS)
    first, again = play("play_well 1", "play_well 2", few), play("play_well 1", "play_well 2", few)
    assert first.moves == again.moves and len(first.moves) == 2 * 19
    assert (first.ending.word, first.turn, first.ending.winner) == ("DRAW_DEFAULT", 20, NOBODY)
    assert play("play_well 2", "play_well 1", few).moves != first.moves


QUICK = Rules(seconds=1.0, turns=100, counts=COUNTS)
BAD = [
    ("die", "BAD_SETUP", "ended with exit code 3"),
    ("forget_a_piece", "BAD_SETUP", "set-up with 5 of the piece B: must be 6"),
    ("leave_child", "BAD_SETUP", "no line within 1 s"),
    ("hang_in_game", "ILLEGAL", "no line within 1 s"),
    ("die_in_game", "ILLEGAL", "ended with exit code 7: 'out of ideas'"),
    ("be_killed_in_game", "ILLEGAL", "was killed by signal 9"),
    ("flood", "ILLEGAL", "sent a line of more than 4096 bytes"),
    ("garble", "ILLEGAL", "is no move such as '0 3 DOWN'"),
    ("say_half", "ILLEGAL", "no line within 1 s (it sent '0 3 DO')"),
    ("close_output", "ILLEGAL", "closed its output"),
    ("ignore_signals", "ILLEGAL", "no line within 1 s"),
    ("surrender", "SURRENDER", "surrendered"),
    ("move_a_bomb", "ILLEGAL", "the move 4 0 DOWN: a bomb does not move"),
]


@pytest.mark.parametrize(("behaviour", "word", "reason"), BAD, ids=[behaviour for behaviour, _, _ in BAD])
def test_a_bad_program_loses_and_is_gone(behaviour, word, reason):
    begun = time.monotonic()
    played = play(behaviour, "play_well", QUICK)
    assert (played.ending.word, played.ending.colour, played.ending.winner) == (word, RED, BLUE)
    assert reason in played.ending.reason and "\n" not in played.ending.reason and len(played.ending.reason) < 200
    assert played.result.startswith(f"{behaviour} RED {word} {played.turn} ")
    assert (played.turn == 0) == (word == "BAD_SETUP")
    assert time.monotonic() - begun < 8


def test_two_bad_set_ups_are_nobodys_win():
    played = play("forget_a_piece", "die", QUICK)
    assert played.ending[:3] == ("BAD_SETUP", BOTH, NOBODY) and played.result == "neither BOTH BAD_SETUP 0 0 0"
    assert played.log().splitlines()[:4] == [
        "forget_a_piece RED SETUP",
        "INVALID!",
        "die BLUE SETUP",
        "INVALID!",
    ]


def test_lines_said_before_they_are_asked_for_wait_for_their_turn():
    played = play("play_well", "flood_lines", QUICK)
    assert played.ending.word == "ILLEGAL" and "no piece of its own at 0 3" in played.ending.reason


def test_a_program_may_complain_without_end():
    assert play("complain", "play_well", Rules(seconds=5.0, turns=6, counts=COUNTS)).ending.word == "DRAW_DEFAULT"


def dealt(red, blue, setups):
    """A start with few pieces, by cell."""
    del setups
    referee = PlainReferee([["." * 10] * 4] * 2)
    for owner, pieces in enumerate((red, blue)):
        for (x, y), rank in pieces.items():
            referee.board[10 * y + x], referee.owners[10 * y + x] = rank, owner
    return referee


DEALT = Rules(seconds=5.0, turns=10)
ENDS = {
    "the last piece that moves is taken": (
        {(0, 0): "F", (0, 3): "1"},
        {(9, 9): "F", (0, 4): "2", (1, 9): "B"},
        ("VICTORY", RED, RED, 1),
    ),
    "both last pieces are gone": ({(0, 0): "F", (0, 3): "1"}, {(9, 9): "F", (0, 4): "1"}, ("DRAW", RED, NOBODY, 1)),
    "it runs into a bomb": (
        {(0, 0): "F", (0, 3): "1"},
        {(9, 9): "F", (0, 4): "B", (9, 8): "2"},
        ("VICTORY", BLUE, BLUE, 1),
    ),
    "the flag is taken": ({(0, 0): "F", (0, 3): "9"}, {(0, 4): "F", (9, 8): "2"}, ("VICTORY", RED, RED, 1)),
    "a blocked side must answer all the same": (
        {(0, 0): "F", (0, 3): "1", (0, 2): "F", (1, 3): "F", (0, 4): "F"},
        {(9, 9): "F", (9, 8): "2"},
        ("SURRENDER", RED, BLUE, 1),
    ),
}


class Forced:
    """A partner without a process: plays its only move forwards, with set-ups that nobody reads; surrenders without a move."""

    drawn_moves = 0

    def __init__(self, name):
        self.name, self.heard = name, []

    def send(self, text, seconds):
        self.heard += text.split("\n")

    def read_line(self, seconds):
        rows = self.heard[-10:]
        if len(rows) < 10 or " " in "".join(rows):
            return "nonsense"
        forward = [move for move in protocol.legal_moves(rows) if move.direction == "DOWN"]
        return str(forward[0]) if forward else protocol.SURRENDER

    def pause(self):
        pass

    resume = pause


@pytest.mark.parametrize("case", list(ENDS))
def test_how_games_end(case):
    red, blue, (word, colour, winner, turn) = ENDS[case]
    partners = (Forced("one"), Forced("two"))
    played = games.play(partners, functools.partial(dealt, red, blue), DEALT)
    assert (*played.ending[:3], played.turn) == (word, colour, winner, turn)
    assert partners[0].heard[:2] == ["RED two 10 10", "START"] and partners[1].heard[0] == "BLUE one 10 10"
    assert played.setups[0] == tuple(dealt(red, blue, ()).view(RED)[:4])


def test_what_a_partner_is_told():
    red = {(0, 0): "F", (0, 3): "9", (5, 3): "1"}
    blue = {(9, 9): "F", (0, 5): "9", (5, 8): "2"}
    partners = (Forced("one"), Forced("two"))
    games.play(partners, functools.partial(dealt, red, blue), Rules(turns=2))
    empty, lakes = "." * 10, "..++..++.."
    first = ["F.........", empty, empty, "9....1....", lakes, "#.++..++..", empty, empty, ".....#....", ".........#"]
    assert partners[0].heard == ["RED two 10 10", "START", *first, "0 3 DOWN OK", "0 5 DOWN OK"]
    then = ["#.........", empty, empty, ".....#....", "#.++..++..", "9.++..++..", empty, empty, ".....2....", ".........F"]
    assert partners[1].heard == ["BLUE one 10 10", "0 3 DOWN OK", *then, "0 5 DOWN OK"]
