"""Feature planes against the official dictionaries, against what really burns, and against what must not enter them."""

import functools

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames import sliced
from jaxgames.pommerman import Pommerman, interop
from jaxgames.pommerman.config import PRESETS, preset
from jaxgames.pommerman.encoder import ENCODERS
from jaxgames.pommerman.replay import step_batch
from tests.jaxgames.pommerman import recordings
from tests.jaxgames.pommerman.playing import in_portions, random_games, search_arms
from tests.jaxgames.pommerman.positions import DOWN, LEFT, RIGHT, UP, Bomb, Man, position
from tests.jaxgames.pommerman.scrambling import scrambled

MODES = tuple(PRESETS)
FOGGED = tuple(mode for mode in MODES if preset(mode).view_radius is not None)
QUICK = ("ffa", "radio")
OPEN = tuple(mode for mode in MODES if mode not in FOGGED)
GAMES, EVERY, MOMENTS = 64, 4, 9
STATES, ROWS = GAMES * MOMENTS, 64  # of which so many are looked at per call
FFA = preset("ffa")
PAPER, EXTENDED = (ENCODERS[name](Pommerman(FFA)) for name in ("paper", "extended"))


def one(tree, *index):
    return jax.tree.map(lambda leaf: np.asarray(leaf)[index], tree)


@functools.cache
def played(mode):
    """States of random play by legal moves, leaves [STATES]; to save compiling, some modes take another's or recorded ones."""
    if mode in ("ffa_collapse", "radio"):
        return recordings.states(mode, STATES)[2]
    config = preset(mode)
    if mode in ("team_open", "team_collapse"):
        other = "ffa" if mode == "team_open" else "team"
        return interop.from_arrays(config, interop.to_arrays(preset(other), played(other)))
    states = random_games(mode, GAMES, EVERY * MOMENTS, seed=5)
    return jax.tree.map(lambda leaf: leaf[EVERY::EVERY].reshape(-1, *leaf.shape[2:]), states)


@functools.cache
def _look(mode):
    game = jaxgames.make("pommerman", mode)
    sets = [encoder for make in ENCODERS.values() if (encoder := make(game)).shows_observation]

    def look(state, seat):
        seen = game.observe(state, seat)
        return seen, {each.name: each.planes(seen) for each in sets}, sets[0].legal(seen)

    return jax.jit(jax.vmap(look, (0, None)))


def shown(mode, states, seat):
    """What a seat sees in some states, its planes by name, and the moves it knows to be legal; leaves [S]."""
    return in_portions(_look(mode), states, ROWS, np.int32(seat))


@functools.cache
def all_seats(mode):
    return [shown(mode, played(mode), seat) for seat in range(preset(mode).num_players)]


def of_position(state, seat=0, mode="ffa"):
    """All planes of one hand-made position."""
    return one(shown(mode, state, seat)[1], 0)


def plane(values, name, each=EXTENDED):
    return values[each.name][..., each.channels.index(name)]


# --- the paper's planes, from the official dictionaries ----------------------------------------------------------------


def paper_planes(seen):
    """The 14 planes by hand: loops over what the official environment hands out."""
    board = seen["board"]
    size = len(board)
    result = np.zeros((size, size, 14))
    for code in range(9):
        result[..., code] = board == code
    life = np.full((size, size), 99.0)
    for row, column in np.argwhere(seen["bomb_life"] > 0):
        own, arm = seen["bomb_life"][row, column], int(seen["bomb_blast_strength"][row, column])
        for away in range(-arm, arm + 1):
            for cell in ((row + away, column), (row, column + away)):
                if 0 <= cell[0] < size and 0 <= cell[1] < size:
                    life[cell] = min(life[cell], own)
    result[..., 9] = np.where(life == 99, 0, life / 10)
    result[..., 10], result[..., 11], result[..., 12] = seen["ammo"], seen["blast_strength"], seen["can_kick"]
    result[seen["position"]][13] = 10 + seen["seat"] in seen["alive"]
    return result


@pytest.mark.parametrize("mode", [m if m == "ffa" else pytest.param(m, marks=pytest.mark.slow) for m in MODES])
def test_paper_planes_are_those_of_the_official_dictionaries(mode):
    config = preset(mode)
    blasts = 0
    for seat, (seen, values, _) in enumerate(all_seats(mode)):
        for index in range(0, STATES, 12):
            expected = paper_planes(interop.observation_dict(config, one(seen, index)) | {"seat": seat})
            np.testing.assert_allclose(values["paper"][index], expected, rtol=1e-6)
            expected[..., 9] = 0
            np.testing.assert_array_equal(values["paper_zero_life"][index], expected)
        blasts += (values["paper"][..., 9] > 0).sum()
    assert blasts > 1000


def test_the_recorded_games_have_the_same_planes():
    """With bombs that roll and stop, and agents on bombs."""
    config, _, state = recordings.states("ffa_kick", 100)
    for seat in range(4):
        seen, values, _ = shown("ffa", state, seat)
        for index in range(seat, 100, 4):
            expected = paper_planes(interop.observation_dict(config, one(seen, index)) | {"seat": seat})
            np.testing.assert_allclose(values["paper"][index], expected, rtol=1e-6)


def test_a_blast_cross_by_hand():
    """Arms of `strength` cells, one more than burns; through walls; the sooner bomb counts, wherever it is in the list."""
    bombs = {(3, 3): Bomb(life=7, strength=2), (3, 5): Bomb(life=2, strength=3), (9, 0): Bomb(life=9, strength=10)}
    state = position("0......1 ......... ......... ....#....", bombs=bombs)
    life = of_position(state)["paper"][..., 9] * 10
    row, column = np.zeros(11), np.zeros(11)
    row[0], row[1], row[2:9], column[1:6] = 9, 7, 2, 7
    np.testing.assert_allclose(life[3], row, rtol=1e-6)
    column[3], column[9] = 2, 9
    np.testing.assert_allclose(life[:, 3], column, rtol=1e-6)
    np.testing.assert_allclose(life[:, 5], [2, 2, 2, 2, 2, 2, 2, 0, 0, 9, 0], rtol=1e-6)
    np.testing.assert_allclose(life[9], [9] * 11, rtol=1e-6)


def test_others_are_invisible_in_the_paper_planes_and_shown_in_the_extended_ones():
    for seat, (seen, values, _) in enumerate(all_seats("ffa")):
        for other in range(4):
            at = np.flatnonzero(seen.bomber_cells[other] >= 0)
            cells = np.divmod(seen.bomber_cells[other][at], 11)
            assert not values["paper"][at, *cells, :9].any()
            assert (values["paper"][at, *cells, 13] == (seat == other)).all()
            assert (plane(values, "enemies")[at, *cells] == (seat != other)).all()
        nothing = ~values["paper"][..., :9].any(-1)
        assert (nothing.sum((1, 2)) == np.sum([cell >= 0 for cell in seen.bomber_cells], axis=0)).all()
        assert (plane(values, "enemies").sum((1, 2)) <= nothing.sum((1, 2))).all()


# --- the extended planes -----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_extended_planes_are_those_of_the_official_dictionaries(mode):
    """All but the danger, which has tests of its own."""
    config = preset(mode)
    board_codes = {"passage": 0, "rigid": 1, "wood": 2, "flames": 4, "fog": 5, "extra bomb": 6, "range": 7, "kick": 8}
    for seat, (seen, values, _) in enumerate(all_seats(mode)):
        for index in range(0, STATES, 17):
            look = functools.partial(plane, one(values, index))
            official = interop.observation_dict(config, one(seen, index))
            board = official["board"]
            for name, code in board_codes.items():
                assert np.array_equal(look(name), board == code), name
            assert np.array_equal(look("bomb"), official["bomb_life"] > 0), "under agents too"
            np.testing.assert_allclose(look("own ammo"), official["ammo"] / 10, rtol=1e-6)
            np.testing.assert_allclose(look("own blast strength"), official["blast_strength"] / 10, rtol=1e-6)
            assert (look("own kick") == official["can_kick"]).all()
            assert np.array_equal(look("own position"), board == 10 + seat)
            np.testing.assert_allclose(look("bomb strength"), official["bomb_blast_strength"] / 10, rtol=1e-6)
            for number, name in enumerate(("bomb up", "bomb down", "bomb left", "bomb right"), start=1):
                assert np.array_equal(look(name), official["bomb_moving_direction"] == number)
            np.testing.assert_allclose(look("flame life"), official["flame_life"] / 3, rtol=1e-6)
            assert np.array_equal(look("enemies"), np.isin(board, official["enemies"]))
            assert np.array_equal(look("teammate"), board == official["teammate"])
            living = len(set(official["alive"]) & set(official["enemies"]))
            np.testing.assert_allclose(look("living enemies"), living / 3, rtol=1e-6)
            np.testing.assert_allclose(look("time"), official["step_count"] / config.max_steps, rtol=1e-6)


def test_rolling_bombs_have_a_direction():
    config, _, state = recordings.states("ffa_kick")
    moving = np.stack([interop.unpack(config.grid, cells) for cells in state.bombs.moving], axis=-1)
    first = EXTENDED.channels.index("bomb up")
    assert EXTENDED.channels[first : first + 4] == ("bomb up", "bomb down", "bomb left", "bomb right")
    assert (moving.sum((0, 1, 2)) > 0).all()
    assert np.array_equal(shown("ffa", state, 2)[1]["extended"][..., first : first + 4], moving)


def test_the_teammate_is_no_enemy():
    state = position("0.1.2.3", config=preset("radio"), m0=Man(ammo=1))
    for seat in range(4):
        values = of_position(state, seat, "radio")
        near = [other for other in range(4) if abs(other - seat) * 2 <= 4]
        enemies = {2 * other for other in near if other % 2 != seat % 2}
        assert set(np.flatnonzero(plane(values, "enemies")[0])) == enemies
        assert set(np.flatnonzero(plane(values, "teammate")[0])) == {2 * ((seat + 2) % 4)} & {2 * other for other in near}
        assert (plane(values, "living enemies") == np.float32(2 / 3)).all()


# --- danger ------------------------------------------------------------------------------------------------------------


def burning_time(values):
    """In how many steps each cell burns, 0 for never, from the plane."""
    danger = plane(values, "danger")
    return np.where(danger > 0, np.round(11 - 10 * danger), 0).astype(int)


def first_explosion(config, state):
    """Lets everybody stand still for 10 steps: the step of the first explosion, 0 if there is none, and the cells it reaches."""
    count = len(state.step_count)
    when, cells = np.zeros(count, int), np.zeros((count, config.board_size, config.board_size), bool)
    for step in range(1, 11):
        state = step_batch(config, state, np.zeros((count, config.num_players), np.int32))
        newest = interop.unpack(config.grid, state.flames[-1])
        now = (when == 0) & newest.any((1, 2))
        when[now], cells[now] = step, newest[now]
    return when, cells


@pytest.mark.parametrize("mode", ["ffa", pytest.param("one_vs_one", marks=pytest.mark.slow)])
@pytest.mark.parametrize("strongest", [None, 4, 10])
def test_danger_is_what_really_burns(mode, strongest):
    """In all states of random play in which the game goes on, with the bombs that were laid and with stronger ones."""
    config = preset(mode)
    states = one(played(mode), ~played(mode).terminated)
    if strongest:
        states = _with_stronger_bombs(config, states, strongest)
    values = shown(mode, states, 0)[1]
    when, cells = first_explosion(config, states)
    life = np.asarray(sliced.to_array(config.grid, states.bombs.life))
    there = life > 0
    time, some = burning_time(values), when > 0
    assert np.array_equal(when[some], np.where(there, life, 99).min((1, 2))[some])
    assert np.array_equal((time == when[:, None, None])[some], cells[some])
    assert some.sum() > 50
    # Some bombs went off before their time.
    chained = there & (life > when[:, None, None]) & cells
    assert (chained.any((1, 2)) & some).sum() >= (5 if strongest else 3)
    quiet = ~there.any((1, 2))
    assert not time[quiet].any() and quiet.any()


def _with_stronger_bombs(config, states, strongest):
    arrays = interop.to_arrays(config, states)
    listed = np.arange(interop.LEAST_LISTED_BOMBS) < arrays["s_nbombs"][:, None]
    drawn = np.random.default_rng(1).integers(2, strongest + 1, listed.shape)
    arrays["s_bombs"][..., 4] = np.where(listed, drawn, -1)
    return interop.from_arrays(config, arrays)


def test_danger_by_hand():
    bombs = {(0, 2): Bomb(life=5, strength=3), (0, 4): Bomb(life=9, strength=2), (5, 5): Bomb(life=3, strength=2)}
    drawing = "...#....01 ..+........ ........... ........... ......+++++ ......#...."
    time = burning_time(of_position(position(drawing, bombs=bombs)))
    # Walls end the blasts, rigid ones do not burn; the second bomb stands behind one and keeps its time.
    assert time[0].tolist() == [5, 5, 5, 0, 9, 9, 0, 0, 0, 0, 0]
    assert time[:, 2].tolist() == [5, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0], "wood burns, and nothing behind it"
    assert time[:, 4].tolist() == [9, 9, 0, 0, 0, 3, 0, 0, 0, 0, 0]
    assert time[4, 5] == 3 == time[6, 5]
    np.testing.assert_allclose(plane(of_position(position(drawing, bombs=bombs)), "danger")[5, 4], 0.8, rtol=1e-6)


def test_the_next_step_is_the_greatest_danger():
    values = of_position(position("0.....1", bombs={(5, 5): Bomb(life=1)}))
    danger = plane(values, "danger")
    assert danger[5, 5] == danger[4, 5] == danger[5, 4] == 1 == danger.max()
    assert (danger > 0).sum() == 5


def test_chains_of_three_bombs():
    bombs = {(2, 2): Bomb(life=2, strength=3), (2, 4): Bomb(life=8, strength=3), (4, 4): Bomb(life=5, strength=4)}
    state = position("0.........1", bombs=bombs)
    time = burning_time(of_position(state))
    when, cells = first_explosion(FFA, state)
    assert when.tolist() == [2] and np.array_equal(time == 2, cells[0])
    assert time[4, 7] == 2 == time[7, 4] and (time > 0).sum() == (time == 2).sum()


# --- nothing more ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["radio", *(pytest.param(mode, marks=pytest.mark.slow) for mode in ("team", "ffa"))])
def test_what_is_hidden_changes_no_plane(mode):
    config, states = preset(mode), played(mode)
    going = np.flatnonzero(~states.terminated)[::5]
    arrays = interop.to_arrays(config, one(states, going))
    rng = np.random.default_rng(3)
    for seat in range(4):
        changed = scrambled(config, arrays, seat, rng)
        assert all(not np.array_equal(changed[name], arrays[name]) for name in ("s_items", "s_agents", "s_bombs"))
        _, values, legal = shown(mode, interop.from_arrays(config, arrays), seat)
        _, other_values, other_legal = shown(mode, interop.from_arrays(config, changed), seat)
        for name, array in values.items():
            assert np.array_equal(array, other_values[name]), name
        assert np.array_equal(legal, other_legal)


@pytest.mark.parametrize("name", ["paper", "extended"])
def test_what_is_seen_does_change_the_planes(name):
    positions = [
        position("0.1", bombs={(3, 3): Bomb()}, m0=Man(ammo=1)),
        position("0.1", bombs={(3, 3): Bomb(life=8)}),
        position("0.1", bombs={(3, 3): Bomb(strength=3)}),
        position("0.1", bombs={(3, 4): Bomb()}),
        position("0.1", bombs={(3, 3): Bomb()}, m0=Man(ammo=2)),
        position("0.1", bombs={(3, 3): Bomb()}, m0=Man(strength=3)),
        position("0.1", bombs={(3, 3): Bomb()}, m0=Man(kick=True)),
        position("0..1", bombs={(3, 3): Bomb()}),
        position("0.1b", bombs={(3, 3): Bomb()}),
        position("0.1*", bombs={(3, 3): Bomb()}),
    ]
    if name == "extended":
        positions += [
            position("0.1", bombs={(3, 3): Bomb(direction=1)}),
            position("0.1", bombs={(3, 3): Bomb()}, step=1),
            position("0.1.2", bombs={(3, 3): Bomb()}),
        ]
    values = shown("ffa", jax.tree.map(lambda *leaves: np.concatenate(leaves), *positions), 0)[1][name]
    assert all(not np.array_equal(other, values[0]) for other in values[1:])


# --- legal moves as one player knows them ------------------------------------------------------------------------------


@functools.cache
def legal_moves(mode):
    game = jaxgames.make("pommerman", mode)
    arms, legal = search_arms(mode, played(mode))
    moves = np.asarray(ENCODERS["paper"](game).actions(np.arange(6), 0))
    assert np.array_equal(arms, np.broadcast_to(moves, arms.shape)) and arms.dtype == moves.dtype
    return legal


@pytest.mark.parametrize("mode", [m if m in QUICK else pytest.param(m, marks=pytest.mark.slow) for m in OPEN])
def test_without_fog_a_player_knows_its_legal_moves(mode):
    for seat, (_, _, known) in enumerate(all_seats(mode)):
        assert known.dtype == bool
        assert np.array_equal(known, legal_moves(mode)[:, seat])


@pytest.mark.parametrize("mode", [m if m in QUICK else pytest.param(m, marks=pytest.mark.slow) for m in FOGGED])
def test_in_fog_a_player_knows_of_no_fewer_moves(mode):
    """The mask is careful by a cell more than a bomb reaches, and a bomb at the rim of that cell may be out of view."""
    for seat, (_, _, known) in enumerate(all_seats(mode)):
        legal = legal_moves(mode)[:, seat]
        last_resort = (legal == [True, False, False, False, False, False]).all(1)
        assert (known[~last_resort] >= legal[~last_resort]).all() and known.any(1).all()
        assert (known != legal).any(1).mean() < 0.05


def test_a_bomb_out_of_view_is_not_known():
    """Five cells away, due, and strong enough to mark the cell on the way to it."""
    bombs = {(0, 5): Bomb(life=1, strength=4)}
    for mode, expected in (("radio", True), ("ffa", False)):
        config = preset(mode)
        _, _, known = shown(mode, position("0........1", bombs=bombs, config=config), 0)
        assert known[0].tolist() == [True, False, True, False, expected, True]


def test_known_moves_by_hand():
    drawing = "+0+......1 ..."
    known = shown("ffa", position(drawing), 0)[2][0]
    assert np.flatnonzero(known).tolist() == [0, DOWN, 5]
    known = shown("ffa", position(drawing, bombs={(0, 1): Bomb()}, m0=Man(ammo=0)), 0)[2][0]
    assert np.flatnonzero(known).tolist() == [DOWN], "not on a bomb"
    known = shown("ffa", position("#0+......1 .*.", bombs={(0, 1): Bomb()}, m0=Man(ammo=0)), 0)[2][0]
    assert np.flatnonzero(known).tolist() == [0], "nothing else is left"
    known = shown("ffa", position("..........1"), 0)[2][0]
    assert np.flatnonzero(known).tolist() == [0], "dead"
    known = shown("ffa", position("... .0. .........1"), 0)[2][0]
    assert np.flatnonzero(known).tolist() == [0, UP, DOWN, LEFT, RIGHT, 5]


# --- form --------------------------------------------------------------------------------------------------------------


def plain_and_centred(name, show):
    """Gives the plane of the own position, and of each view of a living player the planes and the same planes centred.

    `show(states)` gives both kinds of planes of the second player by name.
    """
    shown_planes = show(recordings.states("ffa_kick", 60)[2])
    plain, centred = (ENCODERS[each](Pommerman(FFA)) for each in (name, f"{name}_centred"))
    before, after = (np.asarray(shown_planes[each.name]) for each in (plain, centred))
    own = plain.channels.index("own position")
    assert centred.channels[own] == "on the board"
    alive = before[..., own].any((1, 2))
    assert alive.sum() > 30
    return own, list(zip(before[alive], after[alive], strict=True))


@pytest.mark.slow
def test_the_centred_planes_are_those_of_pommerlearn_moved():
    """Cells off the board are empty; who has left the view stands at its edge; the own plane shows the board."""
    sets = [ENCODERS[name](Pommerman(FFA)) for name in ("pommerlearn", "pommerlearn_centred")]
    both = jax.jit(jax.vmap(lambda state: {each.name: each.planes(each.view(state, 1)) for each in sets}))
    own, pairs = plain_and_centred("pommerlearn", both)
    left = 0
    for planes, moved in pairs:
        row, column = np.argwhere(planes[..., own])[0]
        wide = np.pad(planes, ((5, 5), (5, 5), (0, 0)))[row : row + 11, column : column + 11]
        on_board = np.pad(np.ones((11, 11)), 5)[row : row + 11, column : column + 11]
        np.testing.assert_array_equal(moved[..., own], on_board)
        np.testing.assert_array_equal(moved[..., :own], wide[..., :own])
        np.testing.assert_array_equal(moved[..., own + 4 :], planes[..., own + 4 :])
        for agent in range(own + 1, own + 4):
            places = np.clip(np.argwhere(planes[..., agent]) + 5 - [row, column], 0, 10)
            np.testing.assert_array_equal(np.argwhere(moved[..., agent]), places)
            left += len(places) > wide[..., agent].sum()
    assert left > 0


def test_the_extended_planes_can_be_centred():
    """All of them are moved; the own plane shows the board, which is empty around it."""
    own, pairs = plain_and_centred("extended", lambda states: shown("ffa", states, 1)[1])
    for planes, moved in pairs:
        row, column = np.argwhere(planes[..., own])[0]
        planes[..., own] = 1
        np.testing.assert_array_equal(moved, np.pad(planes, ((5, 5), (5, 5), (0, 0)))[row : row + 11, column : column + 11])


@pytest.mark.parametrize("mode", [m if m in QUICK else pytest.param(m, marks=pytest.mark.slow) for m in MODES])
def test_form(mode):
    config = preset(mode)
    for name, values in all_seats(mode)[0][1].items():
        each = ENCODERS[name](Pommerman(config))
        size = config.board_size
        assert values.shape == (STATES, size, size, len(each.channels)) and values.dtype == np.float32
        assert len(set(each.channels)) == len(each.channels)
        assert np.isfinite(values).all() and (values >= 0).all()
    assert (all_seats(mode)[0][1]["extended"] <= 1).all(), "the extended ones are scaled"
    assert len(PAPER.channels) == 14


def test_one_observation_equals_the_batch():
    seen, values, _ = all_seats("ffa")[1]
    alone = jax.jit(lambda view: {each.name: each.planes(view) for each in (PAPER, EXTENDED)})
    for index in range(0, STATES, 100):
        for name, planes in alone(one(seen, index)).items():
            np.testing.assert_array_equal(planes, values[name][index])
