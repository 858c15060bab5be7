"""Positions and views as text: reading gives back what was written, and what is wrong is said in one line."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.stratego import Stratego, StrategoConfig, interop, moves, notation, refusals, rules
from tests.jaxgames.stratego.playing import CONFIG, P2SRO, at, play, position, random_game

BARRAGE = StrategoConfig(pieces=(1, 1, 2, 1, 0, 0, 0, 0, 0, 1, 1, 1))
FEN = "aBaaPaaaaaaaaaaaaaaaaLaEaaaaaMaaaKaaaaaaaC__aa__Qaaa__aa__aaaaNXaaaaaaaOaaaaaaaaDaaaWaaaaaaaaaYaaaaa b 41"


def differing(one, two):
    """Leaves in which two trees differ, but for what is not written."""
    pairs = zip(jax.tree_util.tree_leaves_with_path(one), jax.tree.leaves(two), strict=True)
    names = [jax.tree_util.keystr(path) for (path, leaf), other in pairs if not np.array_equal(leaf, other)]
    return [name for name in names if "past" not in name and "reward" not in name]


def test_reading_gives_back_what_was_written():
    game = Stratego(P2SRO)
    observe = jax.jit(game.observe)
    states = [*random_game(P2SRO, 60)[:-1], *random_game(P2SRO, 60, seed=1)[:-1]]
    for state in states[:: len(states) // 12]:
        text = notation.write(P2SRO, state)
        assert not differing(state, notation.read(P2SRO, text)) and notation.write(P2SRO, notation.read(P2SRO, text)) == text
        for seat in (0, 1):
            view = notation.write_view(P2SRO, state, seat, exact=True)
            assert not differing(jax.device_get(observe(state, jnp.int32(seat))), notation.read_view(P2SRO, view, seat))


def test_views_tell_what_has_moved():
    state = rules_step(position("YaaaO aaaaa aa_aa aaaaa MaaaC"), "e1e2")
    assert notation.write_view(CONFIG, state, 1) == "?aaaaaaaa!aa_aaaaaaaYaaaO b 1"
    assert notation.write_view(CONFIG, state, 1, yorktown=True).startswith("?aaaaaaaa?")
    assert notation.write_view(CONFIG, state, 0) == "MaaaaaaaaCaa_aaaaaaa?aaa? b 1"


@pytest.mark.parametrize("player", [2, -1, 0.5])
def test_views_are_of_the_two_players(player):
    state = position("YaaaO aaaaa aa_aa aaaaa MaaaC")
    for ask in (lambda: notation.write_view(CONFIG, state, player), lambda: notation.read_view(CONFIG, "M" + "a" * 24, player)):
        with pytest.raises(ValueError, match=r"player=|player of shape"):
            ask()


def test_boards_need_all_arrays():
    arrays = interop.to_arrays(CONFIG, position("YaaaO aaaaa aa_aa aaaaa MaaaC"))
    for name in ("piece", "owner", "visible", "moved", "player", "ply"):
        with pytest.raises(ValueError, match=f"^{name}: is missing"):
            interop.from_arrays(CONFIG, {key: array for key, array in arrays.items() if key != name})
    with pytest.raises(ValueError, match=r"visible of shape \(24,\): must be of \(25,\), as piece is"):
        interop.from_arrays(CONFIG, arrays | {"visible": arrays["visible"][1:]})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"recent": np.zeros(2, int)}, r"^recent of shape \(2,\): must be of \(2, 3\)"),
        (
            {"recent": np.array([[1, 300, 0], [-1, -1, 0]])},
            "^recent=.*: must be a start and an end, -1 or a cell, and a level in 0..3",
        ),
        ({"recent": np.array([[1, 2, 4], [-1, -1, 0]])}, "^recent=.*: must be a start and an end"),
        ({"last": np.array([300, 301])}, r"^last=\[300, 301\]: must be -1 or cells, in 0..24"),
        ({"last": np.array(3)}, r"^last of shape \(\): must be of \(2,\)"),
        ({"piece": np.zeros(25)}, "^piece: dtype float64, must be an integer type"),
        ({"ply": np.array(1.5)}, "^ply: dtype float64, must be an integer type"),
        ({"moved": np.ones(25, bool)}, "^moved on a1: marks a piece that does not move"),
    ],
)
def test_says_what_is_wrong_with_boards(changes, message):
    arrays = interop.to_arrays(CONFIG, position("KaaaM aaaaa aa_aa aaaaa YaaaO"))
    with pytest.raises(ValueError, match=message):
        interop.from_arrays(CONFIG, arrays | changes)


def test_one_wrong_board_of_many_is_named_by_its_value_alone():
    arrays = interop.to_arrays(CONFIG, position("KaaaM aaaaa aa_aa aaaaa YaaaO"))
    many = {name: np.stack([array] * 9) for name, array in arrays.items()}
    for name, wrong, message in (
        ("ply", -1, r"^ply=-1: must be in 0\.\.\d+$"),
        ("player", 2, r"^player=2: must be in 0\.\.1$"),
        ("last", 77, r"^last=\[77, 77\]: must be -1 or cells, in 0\.\.24$"),
        ("recent", 77, r"^recent=\[77, 77, 77\]: must be a start and an end, -1 or a cell, and a level in 0\.\.3$"),
    ):
        damaged = many[name].astype(np.int32)
        damaged[4] = wrong
        with pytest.raises(ValueError, match=message):
            interop.from_arrays(CONFIG, many | {name: damaged})


def test_there_are_no_more_pieces_of_a_kind_than_a_digit_can_tell():
    with pytest.raises(ValueError, match="36 pieces marshal of blue: must be at most 35"):
        notation.read(BARRAGE, "M" + "a" * 62 + "X" * 36 + "Y r 0")


def test_with_true_sight_a_view_is_the_position():
    config = dataclasses.replace(P2SRO, true_sight=True)
    observe = jax.jit(Stratego(config).observe)
    for state in random_game(config, 40)[10:-1:10]:
        for seat in (0, 1):
            view = notation.write_view(config, state, seat, exact=True)
            assert view == notation.write(config, state)
            assert not differing(jax.device_get(observe(state, jnp.int32(seat))), notation.read_view(config, view, seat))


def test_a_view_that_no_board_fits():
    """Red knows nothing of eight pieces, of which two are scouts."""
    view = "MBCDDEKL" + "a" * 84 + "!!!!????"
    notation.read_view(BARRAGE, view + " r 9 f" + "0" * 23 + "c0", 0)
    with pytest.raises(ValueError, match="no board fits: 3 hidden pieces have moved far, as scouts do, and 2 scouts"):
        notation.read_view(BARRAGE, view + " r 9 f" + "0" * 23 + "e0", 0)
    with pytest.raises(ValueError, match="no board fits: 8 hidden pieces, 2 of them flags and bombs, on 8 cells of which 1 have"):
        notation.read_view(BARRAGE, view.replace("????", "!!!?") + " r 9", 0)


def rules_step(state, text):
    action = moves.parse_move(CONFIG, text, int(state.player))
    return jax.device_get(rules.step(CONFIG, jax.tree.map(jnp.asarray, state), jnp.int32(action)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (FEN[1:], "99 letters, must be 100"),
        ("Z" + FEN[1:], "letter 'Z' on a1 must be one of"),
        ("é" + FEN[1:], "on a1 must be one of"),
        (FEN.replace(" b ", " g "), "player 'g' must be r or b"),
        (FEN.replace("41", "-1"), "number of moves '-1'"),
        (FEN.replace(" 41", ""), "must be letters, r or b, and the number"),
        (FEN.replace("41", "9999"), "ply=9999: must be in 0..3001"),
        ("M" + FEN[1:], "2 flags of red"),
        ("D" * 3 + FEN[3:], "red for up to"),
        (FEN + " m4" + "0" * 24, "b1: field m marks a piece that does not move"),
        (FEN + " m8" + "0" * 24, "a1: field m marks it, and no piece is there"),
        (FEN + " f000004" + "0" * 19, "b3: has moved far, as field f says, and not moved"),
        (FEN + " m000004" + "0" * 19 + " f000004" + "0" * 19, "b3: has moved far, as field f says, and is no scout"),
        (FEN + " u000000000000", "field u is of views"),
        (FEN + " x1", "must begin with m, f, t, l or u"),
        (FEN + " m12", "25 hexadecimal digits"),
        (FEN + " t1.2/3", "start.end.level of both"),
        (FEN + " l1.100", "must be start.end"),
        (FEN + " l1.2 l1.2", "field l is given 2 times, must be once"),
        (None, "fen=None: must be text"),
        ("?" + FEN[1:], "a1 is unknown: a view is no position"),
    ],
)
def test_says_what_is_wrong_with_a_text(text, message):
    with pytest.raises(ValueError, match=message) as error:
        notation.read(BARRAGE, text)
    assert "\n" not in str(error.value) and len(str(error.value)) < 200


def test_a_game_starts_where_it_is_told():
    config = StrategoConfig(pieces=BARRAGE.pieces, start=FEN)
    assert notation.write(config, at(Stratego(config).init(jax.random.key(0)))) == FEN
    for text, message in (
        (FEN.replace("M", "a"), "0 flags of red"),
        (FEN.replace("41", "3001"), "fewer than max_plies"),
        (FEN + " u000000000000", "field u is of views"),
        ("?" + FEN[1:], "a1 is unknown: a view is no position"),
    ):
        with pytest.raises(ValueError, match=message):
            StrategoConfig(pieces=BARRAGE.pieces, start=text)


def test_set_ups_are_read_from_the_back_row_on():
    pieces = "MBCDEFGKLa"
    state = interop.from_setups(CONFIG, pieces, pieces)
    assert notation.write(CONFIG, state) == "MBCDEFGKLaaa_aaRSWXaYNOPQ r 0"
    for wrong, message in (
        (pieces[:-1], "9 letters, must be 10"),
        (pieces.replace("M", "C"), "0 flag, must be 1"),
        (pieces.replace("a", "C"), "2 spy, must be 1"),
        (pieces.replace("a", "7"), "^set-up of blue: letter '7' on place 9 must be one of"),
        (pieces.replace("a", "?"), "^set-up of blue: letter '[?]' on place 9 must be one of"),
        (None, "^set-up of blue=None: must be text"),
    ):
        with pytest.raises(ValueError, match=message):
            interop.from_setups(CONFIG, pieces, wrong)


def test_moves_as_text():
    state = position("YaaaO aaaaa aa_aa aaaaa MaaaC")
    for move, message in (
        ("e1", "must be two cells"),
        ("e1z9", "cell='z9': must be in a1..e5"),
        ("e1d2", "along a row or a column"),
        ("a1a2", "a1a2: is not legal for red, a flag does not move"),
        (10**6, "must be an integer in 0.."),
    ):
        with pytest.raises(ValueError, match=message):
            interop.play(CONFIG, state, move)
    with pytest.raises(ValueError, match=r"cell='j10': must be in a1\.\.k10, where there is no column j"):
        interop.play(BARRAGE, jax.device_get(jax.jit(Stratego(BARRAGE).init)(jax.random.key(0))), "j10j9")


@pytest.mark.parametrize(
    ("move", "why"),
    [
        ("a1a2", "a flag does not move"),
        ("c1c2", "a bomb does not move"),
        ("a2a3", "no piece of its own is on a2"),
        ("a5a4", "no piece of its own is on a5"),
        ("b1c1", "a piece of its own is on c1"),
        ("b3c3", "c3 is a lake"),
        ("b3b5", "b4 is in the way"),
        ("b3e3", "c3 is in the way"),
        ("e1e3", "a spy goes one cell at a time"),
    ],
)
def test_why_moves_are_not_legal(move, why):
    state = position("YaaaO aOaaa aD_aa aaaaa MDBaC")
    with pytest.raises(ValueError, match=f"move='?{move}'?: is not legal for red, {why}$"):
        interop.play(CONFIG, state, move)


def test_the_third_way_to_and_fro_is_told():
    moves = ("e1e2", "e5e4", "e2e1", "e4e5", "e1e2", "e5e4")
    state = play(position("YaaaO aaaaa aa_aa aaaaa MaaaC", P2SRO), *moves, config=P2SRO)
    with pytest.raises(ValueError, match="move=e2e1: is not legal for red, it has gone to and fro between these cells too often"):
        interop.play(P2SRO, state, "e2e1")


def test_whatever_is_not_legal_has_a_reason():
    game = Stratego(P2SRO)
    for state in random_game(P2SRO, 40)[5:-1:11]:
        legal, board = interop.legal_list(P2SRO, state), interop.to_arrays(P2SRO, state)
        fro = "it has gone to and fro between these cells too often"  # what is left if nothing else is wrong
        reasons = [refusals.why_illegal(P2SRO, board, action, int(state.player)) for action in range(game.num_actions - 1)]
        fine = [action for action, reason in enumerate(reasons) if reason == fro]
        assert set(legal) <= set(fine) and len(fine) <= len(legal) + 1
