"""Positions in letters."""

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames import letters
from jaxgames.abilities import can_be_written
from jaxgames.clash.scene import Scene
from jaxgames.hero_academy import words
from tests.tug import Tug

MINI = "MCaaaDaaaaaaaa_aaaaaa_aaaaaaaaYaaaaN r 0"  # Stratego's letters, from a1 on


def start(game, *actions):
    state = jax.jit(game.init)(jax.random.key(0))
    for action in actions:
        state = jax.jit(game.step)(state, np.full(game.num_players, action, np.int32))
    return jax.device_get(state)


def test_a_board_has_names_and_may_be_slanted():
    assert letters.board([["a", "."], [".", "b"]], ["9", "10"], ["x", "yy"]) == "    x yy\n 9  a  .\n10  .  b\n"
    assert letters.board([["a"], ["b"]], ["1", "2"], ["x"], shift=1) == "  x\n 1 a\n  2 b\n"


def test_hero_academy_names_cells_as_words_do():
    """Also where there are more columns than letters."""
    game = jaxgames.make("hero_academy", "tiny")
    head, first, *_ = game.to_text(start(game)).splitlines()
    assert head.split() == ["a", "b", "c", "d", "e"] and first.split()[0] == "1"
    wide = jaxgames.make("hero_academy", board=("d" + "." * 27 + "D", "c" + "." * 27 + "C"))
    assert [words.cell_name(wide.config, cell) for cell in (0, 25, 26, 28, 29)] == ["a1", "z1", "aa1", "cc1", "a2"]


def test_hex_in_letters():
    game = jaxgames.make("hex", board_size=3)
    text = game.to_text(start(game, 4, 2))
    assert text == "  a b c\n 1 . . o\n  2 . x .\n   3 . . .\nx is to move\n"


@pytest.mark.parametrize(
    ("name", "lines", "told"),
    [
        ("hero_academy-tiny-v1", None, "first is to move"),
        pytest.param("stratego-barrage-v1", 12, "red is to move", marks=pytest.mark.slow),
        pytest.param("pommerman-ffa-v1", 13, "alive: 0 1 2 3", marks=pytest.mark.slow),
    ],
)
def test_games_in_letters(name, lines, told):
    game = jaxgames.make(name)
    text = game.to_text(start(game))
    assert text.endswith("\n") and told in text and lines in (None, text.count("\n"))


def test_stratego_in_letters():
    """Of the game on 6 x 6 cells: where what stands, and whose it is."""
    game = jaxgames.make("stratego", "mini", start=MINI)
    rows = game.to_text(start(game)).splitlines()
    assert rows[0].split() == list("abcdef") and rows[1].split() == ["6", "bF", ".", ".", ".", ".", "bB"]
    assert rows[6].split() == ["1", "rF", "rS", ".", ".", ".", "r2"] and rows[7] == "red is to move"


def test_clash_in_letters():
    """Where units and a spell of both stand, counted from blue's left corner, and what the letters are."""
    game = jaxgames.make("clash")
    scene = Scene(game.config)
    scene.put_unit(0, "Knight", 3_500, 14_500)
    scene.put_unit(1, "Giant", 3_500, 14_600)
    scene.cast(0, "fireball", 9_500, 20_500, ticks=12)
    lines = game.to_text(scene.state).splitlines()
    board = {int(line.split()[0]): line.split()[1:] for line in lines[1:33]}
    assert list(board) == list(range(31, -1, -1)) and {len(cells) for cells in board.values()} == {18}
    assert board[14][3] == "D" and board[20][9] == "*" and board[15][:6] == ["~", "~", ".", ".", ".", "~"]
    assert "D blue Knight, 1766 hit points, at 3, 14" in lines and "d red Giant, 4091 hit points, at 3, 14" in lines
    assert "* blue Fireball at 9, 20 in 1.2 s" in lines and lines[-1] == "0.0 s passed"
    assert lines[-3].startswith("blue: ") and lines[-2].startswith("red: ") and "; next " in lines[-2]


def test_not_every_game_is_written():
    assert can_be_written(jaxgames.make("hex")) and not can_be_written(Tug())
