"""Lines of the protocol as they are read and written."""

import pytest

from training.play.stratego import protocol
from training.play.stratego.protocol import Move, Outcome

VIEW = [
    "F.........",
    "..........",
    "BB........",
    "9.1.......",
    "..++..++..",
    "..++..++..",
    "#.........",
    "..........",
    "..........",
    "..........",
]


@pytest.mark.parametrize("move", [Move(0, 3, "DOWN"), Move(9, 9, "LEFT", 7)])
def test_moves_and_what_came_of_them_are_read_as_they_are_written(move):
    assert protocol.read_move(str(move)) == move
    for outcome in (Outcome("OK"), Outcome("KILLS", "8", "B"), Outcome("BOTHDIE", "s", "s"), Outcome("VICTORY_FLAG")):
        assert protocol.read_told(f"{move} {outcome}") == (move, outcome)
    assert str(Move(0, 3, "DOWN")) == "0 3 DOWN" and Move(9, 9, "LEFT", 7).target == (2, 9)


@pytest.mark.parametrize(
    "text", ["", "NO_MOVE", "0 3", "0 3 down", "0 3 DOWN x", "0 3 DOWN 1 1", "a3 a4", "0 3 DOWN 1e3", "1" * 5000]
)
def test_what_is_no_move_is_told(text):
    with pytest.raises(ValueError, match=r"is no move such as '0 3 DOWN'") as error:
        protocol.read_move(text)
    assert len(str(error.value)) < 150
    assert protocol.read_told(text) is None and protocol.read_told(f"{text} OK") is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("0 3 DOWN", ""),
        ("0 3 DOWN 3", ""),
        ("0 3 DOWN 4", "something is in the way"),
        ("0 3 RIGHT", ""),
        ("0 3 RIGHT 2", "enters a cell with a piece of its own"),
        ("0 3 UP", "enters a cell with a piece of its own"),
        ("0 3 LEFT", "leaves the board"),
        ("0 3 DOWN 0", "0 cells: must be 1, or more for a scout"),
        ("2 3 DOWN", "enters a lake"),
        ("2 3 RIGHT 2", "2 cells: must be 1, or more for a scout"),
        ("2 3 UP -1", "-1 cells: must be 1, or more for a scout"),
        ("0 0 DOWN", "a flag does not move"),
        ("0 2 UP", "a bomb does not move"),
        ("0 6 UP", "no piece of its own at 0 6"),
        ("5 5 UP", "no piece of its own at 5 5"),
        ("2 4 UP", "no piece of its own at 2 4"),
        ("-1 3 DOWN", "leaves the board"),
        ("999999999 3 DOWN", "leaves the board"),
    ],
)
def test_why_a_move_is_illegal(text, why):
    move = protocol.read_move(text)
    assert protocol.why_illegal(VIEW, move) == why
    assert (move in protocol.legal_moves(VIEW)) == (not why)


def test_legal_moves():
    told = sorted(map(str, protocol.legal_moves(VIEW)))
    marshal = ["2 3 LEFT", "2 3 RIGHT", "2 3 UP"]
    assert told == sorted(["0 3 DOWN", "0 3 DOWN 2", "0 3 DOWN 3", "0 3 RIGHT", *marshal])


def test_headers():
    assert protocol.read_header(protocol.header(1, "python3 my bot.py")) == (1, "python3_my_bot.py")
    assert protocol.read_header("RED  10 10") is None and protocol.read_header("GREEN x 10 10") is None
    with pytest.raises(ValueError, match=r"^'RED x 8 8': the board must be 10 x 10$"):
        protocol.read_header("RED x 8 8")


COUNTS = {"F": 1, "9": 2}
GOOD = ["F.........", "..........", "..........", "........99"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (GOOD[:3], "set-up of 3 rows: must be 4"),
        (["F", *GOOD[1:]], r"row 1 of the set-up, 'F': must have 10 characters, not 1"),
        ([*GOOD[:3], ".......X99"], r"row 4 of the set-up, '.......X99': 'X' is no piece; these are Fs987654321B"),
        ([*GOOD[:3], "#.......99"], "'#' is no piece"),
        ([*GOOD[:3], ".........9"], "set-up with 1 of the piece 9: must be 2"),
        ([*GOOD[:3], "B.......99"], "set-up with 1 of the piece B: must be 0"),
        (["." * 10, *GOOD[1:]], "set-up with 0 of the piece F: must be 1"),
    ],
)
def test_a_wrong_set_up_is_told(rows, message):
    protocol.check_setup(GOOD, COUNTS)
    with pytest.raises(ValueError, match=message):
        protocol.check_setup(rows, COUNTS)


@pytest.mark.parametrize(("colour", "row"), [(0, 3), (1, 9)])
def test_nothing_is_set_up_on_a_lake(colour, row):
    with pytest.raises(ValueError, match=f"^set-up with the piece 9 at 8 {row}: must be empty, as a lake is there$"):
        protocol.check_setup(GOOD, COUNTS, lakes=((8, row), (4, 4)), colour=colour)
    protocol.check_setup(GOOD, COUNTS, lakes=((8, row), (4, 4)), colour=1 - colour)


def test_values_are_those_of_result_lines():
    assert [protocol.value(rank) for rank in "1239s"] == [10, 9, 8, 2, 1] and protocol.value("FB.") == 0
    assert (
        protocol.value("F" + "B" * 6 + "s" + "9" * 8 + "8" * 5 + "7777666655554443321")
        == 1 + 16 + 15 + 16 + 20 + 24 + 21 + 16 + 9 + 10
    )
