"""Set-ups, variants, rule-based players and pictures."""

import dataclasses
import functools
from xml.etree import ElementTree

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.stratego import Stratego, StrategoConfig, bots, dealing, interop, land, moves
from jaxgames.stratego.constants import BOMB, FLAG, GENERAL, MARSHAL, SPY
from tests.emitters import NEWER_EMITTERS
from tests.jaxgames.stratego.playing import CONFIG, position, random_game

STRATEGO = jaxgames.make("stratego", "stratego").config


def deals(config, number, seat=0):
    keys = jax.random.split(jax.random.key(1), number)
    return np.asarray(jax.jit(jax.vmap(lambda key: dealing.deal(config, key, seat)))(keys)).reshape(number, 4, 10)


def beside_flag(kinds):
    """Bombs next to the flag of each set-up."""
    padded = np.pad(kinds, ((0, 0), (1, 1), (1, 1)))
    game, row, column = np.nonzero(padded == FLAG)
    return sum(
        (padded[game, row + down, column + right] == BOMB).astype(int) for down, right in ((1, 0), (-1, 0), (0, 1), (0, -1))
    )


def test_people_s_set_ups():
    """Bombs by the flag, the spy by the general, and the rows of the flag: as often as was measured of the written generator."""
    kinds = deals(STRATEGO, 1000)
    assert all((kinds == kind + 1).sum() == 1000 * count for kind, count in enumerate(STRATEGO.pieces))
    shares = np.bincount(beside_flag(kinds), minlength=5) / 1000
    assert np.abs(shares - [0.19, 0.29, 0.19, 0.29, 0.03]).max() < 0.05
    places = {kind: np.argwhere(kinds == kind)[:, 1:] for kind in (SPY, GENERAL, FLAG, MARSHAL)}
    near = np.abs(places[SPY] - places[GENERAL]).max(1) <= 2
    assert near.mean() == pytest.approx(0.74, abs=0.05)
    assert (places[FLAG][:, 0] == 0).mean() == pytest.approx(0.88, abs=0.04)
    front = kinds[:, 3][:, [0, 1, 4, 5, 8, 9]]
    assert ((front != FLAG) & (front != BOMB)).sum(1).min() >= 2


def test_where_there_is_no_general_the_spy_goes_by_its_own_places(monkeypatch):
    pieces = tuple(0 if kind == GENERAL else count for kind, count in enumerate(STRATEGO.pieces, 1))
    config = StrategoConfig(pieces=pieces)
    kinds = deals(config, 64)
    monkeypatch.setattr(dealing, "_NEAR_GENERAL", 100.0)
    np.testing.assert_array_equal(deals(config, 64), kinds)


@pytest.mark.parametrize("mobile, fine", [(0, False), (1, False), (2, True), (6, True)])
def test_two_pieces_that_move_must_face_no_lake(mobile, fine):
    kinds = np.full((4, 10), MARSHAL, np.uint8)  # those that face lakes do not count
    kinds[3, [0, 1, 4, 5, 8, 9]] = [MARSHAL] * mobile + [FLAG, BOMB, BOMB, BOMB, BOMB, BOMB][mobile:]
    assert bool(dealing._has_front(STRATEGO, kinds, np.array(STRATEGO.lakes))) == fine


@pytest.mark.slow
def test_people_s_set_ups_of_barrage():
    config = jaxgames.make("stratego", "barrage").config
    kinds = deals(config, 4000, seat=1)
    assert (kinds == 0).sum() == 4000 * 32
    assert np.bincount(beside_flag(kinds))[1] / 4000 == pytest.approx(0.52, abs=0.03)
    row = np.argwhere(kinds == FLAG)[:, 1]
    assert np.abs(np.bincount(row) / 4000 - [0.633, 0.177, 0.090, 0.101]).max() < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["barrage", "stratego"])
def test_people_s_set_ups_leave_lakes_in_home_rows_free(mode):
    config = jaxgames.make("stratego", mode).config
    fewer = [min(count, 3) for count in config.pieces]
    config = dataclasses.replace(config, lakes=(*config.lakes, 8, 9, 90, 91, 92), pieces=tuple(fewer))
    states = jax.jit(jax.vmap(Stratego(config).init))(jax.random.split(jax.random.key(0), 64))
    arrays = interop.to_arrays(config, jax.device_get(states))
    assert all(((arrays["owner"] == seat).sum(-1) == sum(fewer)).all() for seat in (0, 1))
    assert (arrays["piece"][:, [8, 9, 90, 91, 92]] == -1).all()


@functools.cache
def with_more_lakes():
    """States and arrays of set-ups that are drawn evenly, with flags and marshals open and three more lakes."""
    game = Stratego(dataclasses.replace(CONFIG, open_pieces=("flag", "marshal"), blocked_fields=3))
    states = jax.device_get(jax.jit(jax.vmap(game.init))(jax.random.split(jax.random.key(0), 900)))
    return states, interop.to_arrays(game.config, states)


def test_evenly_drawn_set_ups_and_open_pieces():
    _, arrays = with_more_lakes()
    assert (arrays["visible"] == np.isin(arrays["piece"], (-1, 0, FLAG, MARSHAL))).all()
    red_flag = np.argwhere((arrays["piece"] == FLAG) & (arrays["owner"] == 0))[:, 1]
    assert np.abs(np.bincount(red_flag, minlength=25)[:10] - 90).max() < 45 and red_flag.max() < 10


def test_blocked_fields_leave_everybody_reachable():
    states, arrays = with_more_lakes()
    lakes = arrays["piece"] < 0
    assert (lakes.sum(1) == 4).all() and lakes[:, 12].all() and len(np.unique(lakes, axis=0)) > 5
    for dry, owner in zip(~lakes[:64], arrays["owner"], strict=False):
        assert np.isin(np.flatnonzero(dry & (owner < 2)), reached(dry.reshape(5, 5))).all()
    assert not states.terminated.any()


@pytest.mark.slow  # to compile
def test_as_many_fields_are_blocked_where_two_cells_drew_the_same():
    game = jaxgames.make("stratego", "barrage-blocked")
    seeds = np.array([0, 319520, 558362, 641533, 701824, 779141])
    states = jax.device_get(jax.jit(jax.vmap(lambda seed: game.init(jax.random.key(seed))))(seeds))
    assert (game.config.grid.to_numpy(states.lakes).sum(-1) == 18).all()


@pytest.mark.slow  # to compile
def test_blocked_fields_of_a_full_board_leave_a_game_however_many_draws_it_takes():
    """Ten of twelve fields: one draw in a dozen is fair."""
    game = jaxgames.make("stratego", "stratego-blocked")
    states = jax.device_get(jax.jit(jax.vmap(game.init))(jax.random.split(jax.random.key(0), 1024)))
    assert not states.terminated.any()
    lakes = game.config.grid.to_numpy(states.lakes).reshape(1024, -1)
    assert (lakes.sum(1) == 18).all()
    for dry in ~lakes:
        land_cells = set(np.flatnonzero(dry).tolist())
        assert {*range(40), *range(60, 100)} <= land.reached(10, land_cells, 0)


@pytest.mark.slow  # to compile
def test_where_no_lakes_leave_a_game_others_set_up():
    """Of flag, two bombs and a scout in a row of six, beside a single free row, most set-ups can be shut in."""
    config = StrategoConfig(
        rows=3, columns=6, home_rows=1, lakes=(), pieces=(1, 0, 1, *(0,) * 8, 2), setups="uniform", blocked_fields=3
    )
    states = jax.device_get(jax.jit(jax.vmap(Stratego(config).init))(jax.random.split(jax.random.key(0), 256)))
    assert not states.terminated.any()


@pytest.mark.parametrize(("kept", "winner"), [((), -1), ((0,), 0), ((1,), 1)])
def test_who_has_won_where_flags_are_gone(kept, winner):
    arrays = interop.to_arrays(CONFIG, position("YaaaO aaaaa aa_aa aaaaa MaaaC"))
    gone = (arrays["piece"] == FLAG) & ~np.isin(arrays["owner"], kept)
    changes = {"piece": np.where(gone, 0, arrays["piece"]), "owner": np.where(gone, interop.NOBODY, arrays["owner"])}
    after = interop.from_arrays(CONFIG, arrays | changes | {"visible": arrays["visible"] | gone})
    assert bool(after.terminated) and int(after.winner) == winner


def test_land_is_reached_by_steps():
    board = ["..#.", ".#..", "...."]
    dry = {4 * row + column for row, line in enumerate(board) for column, cell in enumerate(line) if cell == "."}
    assert land.reached(4, dry, 0) == dry
    assert land.reached(4, dry - {9}, 0) == {0, 1, 4, 8}
    assert land.is_joined(4, dry, ((0, 1), (10, 11))) and not land.is_joined(4, dry - {9}, ((0, 1), (10, 11)))
    assert land.is_fair(4, dry, [[0, 1], [11, 10]], 1) and not land.is_fair(4, dry - {9}, [[0, 1], [11, 10]], 1)
    assert not land.is_fair(4, dry - {4, 8}, [[1, 0], [11, 10]], 1)


def reached(dry):
    """Cells that can be reached from the first piece's cell, by brute force."""
    todo = [int(np.flatnonzero(dry)[0])]
    for cell in todo:
        row, column = divmod(cell, 5)
        for r, c in ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
            if 0 <= r < 5 and 0 <= c < 5 and dry[r, c] and 5 * r + c not in todo:
                todo.append(5 * r + c)
    return todo


@functools.cache
def choosing(make, number):
    """What an agent plays, number times with different keys."""
    game = Stratego(CONFIG)
    agent = make(game)

    def act(state, keys):
        seen = game.observe(state, state.player), state.player.astype(jnp.int32)
        infos, seats = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (number, *leaf.shape)), seen)
        return agent.act(None, keys, agent.init(number), infos, seats, jnp.ones(number, bool))[0]

    compiled = jax.jit(act, compiler_options=NEWER_EMITTERS)
    return lambda state: np.asarray(compiled(state, jax.random.split(jax.random.key(0), number)))


def test_the_random_player_plays_every_move_as_often():
    state = position("YaaaO aaaaa Da_aa aaEaa MBaaC")
    actions = choosing(bots.random_agent, 2000)(state)
    legal = interop.legal_list(CONFIG, state)
    counts = np.array([(actions == action).sum() for action in legal])
    assert counts.sum() == 2000
    expected = 2000 / len(legal)
    assert ((counts - expected) ** 2 / expected).sum() < len(legal) + 4 * np.sqrt(2 * len(legal))


def test_the_hunter_takes_what_it_can_and_does_not_hit_what_it_cannot():
    attack = moves.parse_move(CONFIG, "a2a3", 0)
    for enemy, share in (("q", 1), ("n", 0), ("t", 0)):
        state = position(f"YaaaO aaaaa {enemy}a_aa Faaaa MaaaC")
        assert (choosing(bots.hunt_agent, 16)(state) == attack).mean() == share


def test_pictures_show_each_player_what_it_sees():
    game = Stratego(CONFIG)
    picture = game.draw(position("YaaaO aaaaa aa_aa aaaaa MaaaC"), names=("Ann & Co", "<Bob>"), caption="so & so")
    assert "Ann &amp; Co" in picture and "so &amp; so" in picture
    texts = [element.text for element in ElementTree.fromstring(picture).iter() if element.text]
    # On the true board two flags and two spies; each player sees its own and two backs.
    assert texts.count("F") == 4 and texts.count("S") == 4 and texts.count("?") == 4


def test_a_film_shows_battles():
    game = Stratego(CONFIG)
    states = jax.tree.map(lambda *leaves: np.stack(leaves), *random_game(CONFIG, 120))
    film = game.animate(states, names=("one", "two"))
    ElementTree.fromstring(film)
    fewer = (interop.to_arrays(CONFIG, states)["owner"] < 2).sum(-1)
    assert film.count(" attacks ") == (np.diff(fewer) < 0).sum() > 0
    with pytest.raises(ValueError, match="1 of them: must be at least 2"):
        game.animate(jax.tree.map(lambda leaf: leaf[:1], states))
    nothing_moves = jax.tree.map(lambda leaf: leaf[[0, 0]], states)
    ElementTree.fromstring(game.animate(nothing_moves))
