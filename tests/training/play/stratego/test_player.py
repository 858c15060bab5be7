"""A player behind the lines: what it answers when its mind is late, wrong, or breaks."""

import itertools
import logging
import os
import random
import threading
import time
from collections import Counter
from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from training.play.stratego import partners, pipes, player, protocol
from training.play.stratego.player import TextPlayer
from training.play.stratego.programs import Failure
from training.play.stratego.protocol import Move, Outcome

SETUP = ["F.........", "..........", "..........", "9........."]
ROWS = [*SETUP, "..++..++..", "..++..++..", "#.........", "..........", "..........", ".........#"]
FULL = dict(zip("Fs987654321B", (1, 1, 8, 5, 4, 4, 4, 3, 2, 1, 1, 6), strict=True))


class Mind:
    """Plays what it is told to play, when it is let."""

    def __init__(self, *moves):
        self.moves, self.asked, self.begun = list(moves), [], []
        self.prepared = False
        self.let, self.may_prepare = threading.Event(), threading.Event()
        self.let.set()
        self.may_prepare.set()

    def prepare(self):
        assert self.may_prepare.wait(30)
        self.prepared = True

    def begin(self, colour):
        self.begun.append(colour)

    def setup(self, colour):
        return SETUP if colour == 0 else SETUP[::-1]

    def choose(self, rows, told, wanted):
        assert self.let.wait(30)
        self.asked.append((rows, told, wanted()))
        move = self.moves.pop(0)
        if isinstance(move, Exception):
            raise move
        return move


class Clock:
    """Time, and a worker in the place of the player's: time passes only while somebody waits for the worker.

    That does the first `done` things at once, and then is busy for ever.
    """

    def __init__(self, monkeypatch, done=0):
        self.now, self.done = 0.0, done
        for module in (player, partners):
            monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(player, "concurrent", SimpleNamespace(futures=self))
        monkeypatch.setattr(player, "_Worker", lambda: self)

    def submit(self, work):
        if not self.done:
            return self
        self.done -= 1
        finished = Future()
        finished.set_result(work())
        return finished

    def result(self, seconds):
        self.now += seconds
        raise TimeoutError

    def wait(self, futures, seconds):
        assert futures == [self]
        self.now += seconds


def hear(subject, lines):
    return [answer for line in lines for answer in subject.hear(line)]


def test_it_answers_a_set_up_and_boards_and_hands_on_what_was_told():
    mind = Mind(Move(0, 3, "DOWN", 2), Move(0, 5, "RIGHT"))
    subject = TextPlayer(mind, counts=FULL, seconds=10)
    assert hear(subject, ["RED somebody 10 10"]) == SETUP and mind.begun == [0]
    assert hear(subject, ["START", *ROWS]) == ["0 3 DOWN 2"]
    after = [*ROWS[:3], "..........", ROWS[4], "9.++..++..", *ROWS[6:]]
    assert hear(subject, ["0 3 DOWN 2 OK", "9 9 UP OK", *after]) == ["0 5 RIGHT"]
    subject.wait()
    told = [(Move(0, 3, "DOWN", 2), Outcome("OK")), (Move(9, 9, "UP"), Outcome("OK"))]
    assert mind.asked == [(ROWS, [], True), (after, told, True)] and mind.prepared
    assert not subject.over and hear(subject, ["QUIT somebody RED VICTORY 3 1 2"]) == [] and subject.over
    assert (subject.moves, subject.replaced) == (2, 0)


def test_a_late_mind_is_not_waited_for_and_goes_on_with_what_was_played(caplog):
    mind = Mind(None, Move(0, 3, "RIGHT"))
    subject = TextPlayer(mind, counts=FULL, seconds=0.1)
    mind.let.clear()
    begun = time.monotonic()
    (answer,) = hear(subject, ROWS)
    assert time.monotonic() - begun < 1 and protocol.why_illegal(ROWS, protocol.read_move(answer)) == ""
    assert "no move was found within" in caplog.text and subject.replaced == 1 and subject.busy
    mind.let.set()
    subject.wait()
    assert mind.asked == [(ROWS, [], False)]
    assert hear(subject, [f"{answer} OK", *ROWS]) == ["0 3 RIGHT"]
    assert mind.asked[1] == (ROWS, [(protocol.read_move(answer), Outcome("OK"))], True)


@pytest.mark.parametrize(
    ("wrong", "logged"),
    [
        (Move(0, 0, "DOWN"), "the move 0 0 DOWN is not played: a flag does not move"),
        (ValueError("no board fits\nthis"), "no move was found, one is drawn: no board fits this"),
        (KeyError("a bug"), "KeyError: 'a bug'"),
    ],
)
def test_whatever_the_mind_does_the_move_is_legal(wrong, logged, caplog):
    subject = TextPlayer(Mind(wrong), counts=FULL, seconds=10)
    (answer,) = hear(subject, ROWS)
    assert protocol.why_illegal(ROWS, protocol.read_move(answer)) == "" and logged in caplog.text
    assert (subject.moves, subject.replaced) == (1, 1)


def test_a_move_that_is_drawn_attacks_nobody_and_ends_beside_nobody_if_it_can():
    rows = ["9.........", *[".........."] * 5, "#.........", *[".........."] * 3]
    drawn = {hear(TextPlayer(Mind(ValueError()), counts=FULL, seconds=10, seed=seed), rows)[0] for seed in range(20)}
    assert len(drawn) > 5 and not drawn & {"0 0 DOWN 5", "0 0 DOWN 6"}
    beside = ["9#........", "#.........", *[".........."] * 8]
    assert hear(TextPlayer(Mind(ValueError()), counts=FULL, seconds=10), beside)[0] in ("0 0 DOWN", "0 0 RIGHT")


def test_without_a_move_it_surrenders(caplog):
    rows = ["F.........", *[".........."] * 8, "#........."]
    assert hear(TextPlayer(Mind(None), counts=FULL, seconds=10), rows) == ["SURRENDER"]


def test_lines_that_are_none_are_left_out(caplog):
    subject = TextPlayer(Mind(Move(0, 3, "DOWN")), counts=FULL, seconds=10)
    with caplog.at_level(logging.WARNING):
        assert hear(subject, [*ROWS[:4], "\x00\x01", "x" * 3000, "0 3 DOWN SIDEWAYS", *ROWS]) == ["0 3 DOWN"]
    assert "a board of 4 rows" in caplog.text and caplog.text.count("is no line of the protocol") == 3
    assert max(map(len, caplog.messages)) < 200
    with pytest.raises(ValueError, match=r"^'BLUE x 12 10': the board must be 10 x 10$"):
        subject.hear("BLUE x 12 10")


def test_a_manager_that_has_waited_gets_a_plain_set_up(caplog):
    mind = Mind()
    subject = TextPlayer(mind, counts=FULL, seconds=10, spent=60)
    rows = hear(subject, ["BLUE x 10 10"])
    protocol.check_setup(rows, Counter("".join(rows)))
    assert "a plain one is sent" in caplog.text and "F" in rows[3] and "B" not in rows[0]
    assert hear(subject, ["BLUE x 10 10"]) == SETUP[::-1]  # it is not late for ever


def test_it_is_compiled_before_its_set_up_is_complete():
    """A manager waits for each row; for the first move it waits no longer."""
    mind = Mind()
    mind.may_prepare.clear()
    subject = TextPlayer(mind, counts=FULL, seconds=60)
    rows = subject.hear("RED x 10 10")
    assert not mind.prepared
    threading.Timer(0.2, mind.may_prepare.set).start()
    assert [(row, mind.prepared) for row in rows] == [(row, True) for row in SETUP]


@pytest.mark.parametrize("done", [0, 2])  # 2: the set-up is there, and the mind is never compiled
def test_no_row_of_a_set_up_is_late(done, monkeypatch):
    clock = Clock(monkeypatch, done)
    rows = TextPlayer(Mind(), counts=FULL, seconds=2).hear("RED x 10 10")
    found = [(row, clock.now) for row in rows]
    assert [seconds for _, seconds in found] == [1.5, 3.0, 4.5, 6.0]
    assert ([row for row, _ in found] == SETUP) == (done == 2)


def test_each_row_of_our_set_up_has_the_time_of_a_line_in_a_match(monkeypatch):
    """As when a move of the game before is still thought about."""
    clock = Clock(monkeypatch)
    partner = partners.OwnPartner("me", TextPlayer(Mind(), counts=FULL, seconds=2))
    partner.send("RED x 10 10", 2)
    rows = [partner.read_line(2) for _ in range(4)]
    protocol.check_setup(rows, FULL)
    assert clock.now == 6.0
    with pytest.raises(Failure, match=r"^no answer$"):
        partner.read_line(2)


def test_our_player_loses_by_a_line_that_is_late(monkeypatch):
    clock = Clock(monkeypatch)
    partner = partners.OwnPartner("me", TextPlayer(Mind(), counts=FULL, seconds=2))
    partner.send("RED x 10 10", 1)
    for seconds in (1.5, 3.0):  # one by what was waited for before the first row, and one by a row
        with pytest.raises(Failure, match=r"^no line within 1 s$"):
            partner.read_line(1)
        assert clock.now == seconds


def test_plain_set_ups_hold_all_pieces():
    barrage = {"F": 1, "B": 1, "s": 1, "9": 2, "8": 1, "1": 1, "2": 1}
    for colour, counts in itertools.product((0, 1), (FULL, barrage)):
        rows = player.plain_setup(random.Random(1), colour, counts)
        protocol.check_setup(rows, counts)
        assert "F" in rows[0 if colour == 0 else 3] and "B" not in rows[3 if colour == 0 else 0]


def test_plain_set_ups_keep_off_lakes():
    lakes = [(x, y) for y in (0, 9) for x in range(10)]  # the back rows, where the flag would stand
    for colour, counts in itertools.product((0, 1), ({"F": 1, "B": 1, "9": 28},)):
        rows = player.plain_setup(random.Random(1), colour, counts, lakes)
        protocol.check_setup(rows, counts, lakes=lakes, colour=colour)


def served(subject, sent):
    """What it answers on a pipe to bytes that come in small parts."""
    ours, theirs = os.pipe(), os.pipe()
    writer = threading.Thread(
        target=lambda: [os.write(ours[1], sent[i : i + 7]) for i in range(0, len(sent), 7)] and os.close(ours[1])
    )
    writer.start()
    try:
        pipes.serve(subject, ours[0], theirs[1])
    finally:
        os.close(theirs[1])
        with os.fdopen(theirs[0], "rb") as heard:
            answers = heard.read()
        with os.fdopen(ours[0], "rb") as rest:
            rest.read()
        writer.join()
    return answers.decode().splitlines()


def test_it_is_served_by_pipes_until_it_is_told_to_leave_or_nobody_is_there():
    lines = "\n".join(["RED x 10 10", "START", *ROWS, "0 3 DOWN OK", ""]).encode()
    for end in (b"", b"QUIT\n", b"QUIT x RED DRAW 1 1 1\nRED x 10 10\n", b"F..."):
        assert served(TextPlayer(Mind(Move(0, 3, "DOWN")), counts=FULL, seconds=10), lines + end) == [*SETUP, "0 3 DOWN"]


def test_a_line_of_a_megabyte_is_told_at_once():
    with pytest.raises(ValueError, match=r"^a line of more than 4096 bytes: is none of the protocol$"):
        served(TextPlayer(Mind(), counts=FULL, seconds=10), b"RED x 10 10\n" + b"9" * 2**20)


def test_the_age_of_this_process():
    assert 0 < pipes.age() < 24 * 3600
