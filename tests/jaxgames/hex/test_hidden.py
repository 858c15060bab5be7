"""What a player knows holds nothing hidden, and worlds are drawn as they are said to be."""

import dataclasses
import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxgames.hex import Hex, HexConfig, hidden, interop, rules
from tests.jaxgames.hex.playing import at, joined, random_games

TINY, DRAWS, MANY = 1e-4, 5000, 4000


def ongoing(game, steps, count, seed=0, played=None):
    """States and information [G, 2] of games that are not over after so many of the attempts `played`, some of them twice."""
    states, infos, _ = jax.device_get(random_games(game, jax.random.split(jax.random.key(seed), count), played or steps))
    alive = np.resize(np.flatnonzero(~states.terminated[:, steps]), count)
    return (jax.tree.map(lambda leaf: leaf[alive, steps], tree) for tree in (states, infos))


@functools.partial(jax.jit, static_argnums=0)
def drawn_worlds(game, keys, infos):
    return jax.vmap(lambda key, info: hidden.sample(game.config, key, info))(keys, infos)


@functools.partial(jax.jit, static_argnums=0)
def seen(game, states, player):
    return jax.vmap(game.observe, (0, None))(states, player)


@pytest.mark.parametrize("rules_name", ["abrupt", "classical"])
def test_hidden_stones_change_nothing_that_a_player_knows(rules_name):
    # Two boards that the second player cannot tell apart.
    game = Hex(HexConfig(4, rules_name))

    @jax.jit
    def seen(first):
        state = rules.step(game.config, game.init(), first)
        info = game.update_information(game.init_information(1), game.observe(state, 1), game.pass_action)
        state = rules.step(game.config, state, jnp.int32(10))
        return game.update_information(info, game.observe(state, 1), jnp.int32(10))

    views = [jax.device_get(seen(np.int32(first))) for first in (0, 5)]
    assert all(jax.tree.leaves(jax.tree.map(lambda a, b: bool((a == b).all()), *views)))


@pytest.mark.parametrize("rules_name", [pytest.param("hex", marks=pytest.mark.slow), "abrupt", "classical"])
def test_worlds_have_as_many_attempts_as_a_player_has_made_and_the_other_has_had_turns(rules_name):
    game = Hex(HexConfig(5, rules_name))
    states, infos, _ = random_games(game, jax.random.split(jax.random.key(1), 64), 11)
    movers, running = np.asarray(states.player)[:, :-1], ~np.asarray(states.terminated)[:, :-1]
    for player in (0, 1):
        mine = jax.tree.map(lambda leaf, p=player: leaf[:, -1, p], infos)
        drawn = drawn_worlds(game, jax.random.split(jax.random.key(0), 64), mine).state
        tried = ((movers == player) & running).sum(1)
        assert np.array_equal(drawn.attempts, tried + np.asarray(mine.view.other_turns))
        assert mine.collisions.shape == (64, 26 if rules_name == "abrupt" else 1)


@functools.partial(jax.jit, static_argnums=0)
def _begun(game):
    return game.init_information(0)


def nothing_known(game):
    """What the first player knows before a game."""
    return jax.device_get(_begun(game))


def own_stones(game, views):
    return game.config.grid.to_numpy(views.own) != 0


@pytest.mark.parametrize("rules_name", ["abrupt", "classical"])
@pytest.mark.parametrize("steps", [6, 11])
def test_samples_fit_what_is_known(rules_name, steps):
    game = Hex(HexConfig(5, rules_name))
    states, infos = ongoing(game, steps, 64, played=11)
    for player in (0, 1):
        mine = jax.tree.map(lambda leaf, p=player: leaf[:, p], infos)
        drawn = jax.device_get(drawn_worlds(game, jax.random.split(jax.random.key(player), 64), mine))
        assert drawn.fits.all() and not drawn.removed.any()
        again, true = (jax.device_get(seen(game, tree, player)) for tree in (drawn.state, states))
        for name in ("own", "known", "to_move", "own_turns", "other_turns"):
            same = jax.tree.map(lambda a, b: bool((a == b).all()), getattr(again, name), getattr(true, name))
            assert all(jax.tree.leaves(same)), name
        # Stones that the other has run into are the player's own; where a hit costs the turn, as many as it has lost turns.
        met, stones = (game.config.grid.to_numpy(tree[1 - player]) != 0 for tree in (drawn.state.found, drawn.state.stones))
        lost = np.asarray(drawn.state.turns[1 - player]) - stones.reshape(64, -1).sum(-1)
        assert (met.reshape(64, -1).sum(-1) == lost).all() and not (met & ~own_stones(game, again)).any()
        if rules_name == "classical":
            counts = [game.config.grid.to_numpy(tree.stones[1 - player]).sum(-1) for tree in (drawn.state, states)]
            assert (counts[0] == counts[1]).all()
        # The kept sets of joined stones are those of a board built from scratch.
        one = at(drawn.state, 0)
        fresh = interop.from_board(game.config, interop.board(game.config, one), int(one.player))
        for name in ("near", "far"):
            same = jax.tree.map(
                lambda a, b: bool((np.asarray(a) == np.asarray(b)).all()), getattr(one, name), getattr(fresh, name)
            )
            assert all(jax.tree.leaves(same)), name


@pytest.mark.parametrize("seed, steps, player", [(0, 5, 0), (1, 6, 1), (2, 7, 0)])
def test_placements_are_even_among_the_unfinished_boards(seed, steps, player):
    game = Hex(HexConfig(3, "abrupt"))
    _, infos = ongoing(game, steps, MANY, seed, played=7)
    infos = at(infos, slice(64))
    mine = jax.tree.map(lambda leaf: leaf[:, player], infos)
    counts = np.asarray(_counts(game, mine))
    lane = int(np.argmax([(chance > 0).sum() for chance in counts]))  # the one with most doubt
    info, chance = at(mine, lane), counts[lane]
    drawn = _drawn(game, jax.random.split(jax.random.key(seed), DRAWS), info)
    boards = interop.board(game.config, drawn.state)
    sign = 1 if player == 0 else -1
    known = np.asarray(boards[0] == sign) * sign
    found = game.config.grid.to_numpy(info.view.known) != 0
    free = np.flatnonzero((known == 0) & ~found)
    expected = {}
    for number in np.flatnonzero(chance > 0):
        options = []
        for places in itertools.combinations(free, int(number)):
            board = np.where(found, -sign, known)
            board[list(places)] = -sign
            if not joined(board.reshape(3, 3), -sign):
                options.append(board.astype(np.int8).tobytes())
        assert options
        expected |= {board: chance[number] / len(options) for board in options}
    seen = dict.fromkeys(expected, 0)
    for board in boards.astype(np.int8):
        seen[board.tobytes()] += 1  # a board that is impossible raises
    assert len(expected) > 5
    assert _chisquare(np.array(list(seen.values())), np.array(list(expected.values()))) > TINY


def test_the_chances_of_lost_turns_after_two_of_them():
    # Of nine cells the other tries one, of which one is mine; then one of eight: two are mine, or one if it met the first.
    game = Hex(HexConfig(3, "abrupt"))

    @jax.jit
    def known(cells):
        def step(carry, cell):
            state, info = carry
            own = jnp.where(state.player == 0, cell, game.pass_action)
            state = rules.step(game.config, state, cell)
            return (state, game.update_information(info, game.observe(state, 0), own)), None

        return jax.lax.scan(step, (game.init(), game.init_information(0)), cells)[0][1].collisions

    expected = [8 / 9 * 6 / 8, 8 / 9 * 2 / 8 + 1 / 9 * 7 / 8, 1 / 9 * 1 / 8]
    np.testing.assert_allclose(known(np.array([0, 4, 1, 5])), [*expected, *[0] * 7], rtol=1e-5)


def test_the_number_of_hidden_stones_follows_the_recursion():
    # The other tries the cells empty in its view at random: the chance of each number of its lost turns, by brute force.
    game = Hex(HexConfig(3, "abrupt"))
    states, infos = ongoing(game, 6, MANY, played=7)
    mine, placed = (game.config.grid.to_numpy(stones).sum(-1) for stones in states.stones)
    lost = np.asarray(states.turns[1]) - placed
    told = np.asarray(infos.collisions)[:, 0]
    for stones in np.unique(mine):
        group = mine == stones
        if group.sum() > 300:
            # The recursion does not know that nobody has won yet, which favours fewer stones a little.
            assert abs(lost[group].mean() - (told[group] @ np.arange(told.shape[1])).mean()) < 0.15
    assert np.allclose(told.sum(1), 1, atol=1e-5)


@pytest.mark.slow
def test_the_rule_of_the_published_code_takes_as_many_as_the_player_has():
    game = Hex(HexConfig(5, "abrupt", count_rule="fork"))
    _states, infos = ongoing(game, 10, 8)
    info = at(infos, 0, 0)
    drawn = jax.jit(game.sample_hidden)(jax.random.key(0), info)
    stones = [game.config.grid.to_numpy(cells).sum() for cells in (drawn.stones[1], info.view.own, info.view.known)]
    assert stones[0] == max(stones[1:])
    with pytest.raises(ValueError, match="count_rule='x': must be one of dp, fork"):
        HexConfig(5, "abrupt", count_rule="x")


@pytest.mark.parametrize("own, turns, hidden_stones", [
    (15, 14, 10),  # all cells that are left
    (5, 4, 4),  # a stone for each turn
    (4, 14, 4),
])  # fmt: skip
def test_the_rule_of_the_published_code_leaves_cells_and_turns_for_all_stones(own, turns, hidden_stones):
    game = Hex(HexConfig(5, "abrupt", count_rule="fork"))
    info = nothing_known(game)
    # Two rows, a row that is left free, and another one: nothing joins black's edges.
    cells = [cell for cell in range(25) if cell // 5 not in (2, 4)][:own]
    stones = jax.tree.map(np.asarray, game.config.grid.constant(cells))
    view = dataclasses.replace(info.view, own=stones, own_turns=np.int16(own), other_turns=np.int16(turns))
    info = dataclasses.replace(info, view=view)
    chance = np.asarray(_counts(game, jax.tree.map(lambda leaf: leaf[None], info)))[0]
    assert np.flatnonzero(chance).tolist() == [hidden_stones] and chance.sum() == 1
    drawn = jax.device_get(_drawn(game, jax.random.split(jax.random.key(0), 8), info))
    there = game.config.grid.to_numpy(drawn.state.stones[1]).sum(-1)
    assert (there + drawn.removed == hidden_stones).all() and (there > 0).all()


def test_a_view_that_no_board_fits_is_told():
    game = Hex(HexConfig(3, "abrupt"))
    info = nothing_known(game)
    view = info.view
    impossible = jax.tree.map(np.asarray, game.config.grid.constant([0, 1, 2, 3]))
    view = type(view)(**{**vars(view), "known": impossible, "to_move": np.bool_(True)})
    drawn = _drawn(game, jax.random.split(jax.random.key(0), DRAWS), type(info)(**{**vars(info), "view": view}))
    assert not np.asarray(drawn.fits).any()


def test_no_world_is_drawn_in_which_known_and_hidden_stones_have_won():
    game = Hex(HexConfig(3, "abrupt"))
    info = nothing_known(game)
    own, known = (jax.tree.map(np.asarray, game.config.grid.constant(cells)) for cells in ((0, 8), (3, 4)))
    view = type(info.view)(**{**vars(info.view), "own": own, "known": known, "other_turns": np.int16(3)})
    drawn = _drawn(game, jax.random.split(jax.random.key(0), DRAWS), type(info)(**{**vars(info), "view": view}))
    there = game.config.grid.to_numpy(jax.device_get(drawn.state.stones[1])).reshape(DRAWS, 9).any(0)
    assert np.flatnonzero(there).tolist() == [1, 3, 4, 6, 7] and np.asarray(drawn.fits).all()  # neither 2 nor 5


def test_stones_are_taken_away_until_nobody_has_won():
    # Of the two cells that are left each one alone joins the known stones to a row of three.
    game = Hex(HexConfig(3, "abrupt"))
    info = nothing_known(game)
    own, known = (jax.tree.map(np.asarray, game.config.grid.constant(cells)) for cells in ((0, 1, 6, 7, 8), (3, 4)))
    view = type(info.view)(**{**vars(info.view), "own": own, "known": known, "other_turns": np.int16(4)})
    drawn = jax.device_get(_drawn(game, jax.random.split(jax.random.key(0), DRAWS), type(info)(**{**vars(info), "view": view})))
    assert (drawn.removed == 2).all() and not drawn.fits.any()  # no board drawn was unfinished
    assert (game.config.grid.to_numpy(drawn.state.stones[1]).reshape(DRAWS, 9) != 0).sum(-1).tolist() == [2] * DRAWS


@pytest.mark.slow
def test_without_hidden_stones_the_state_itself_comes_back():
    game = Hex(HexConfig(4))
    states, infos = ongoing(game, 5, 8)
    drawn = drawn_worlds(game, jax.random.split(jax.random.key(0), 8), jax.tree.map(lambda leaf: leaf[:, 0], infos))
    assert np.asarray(drawn.fits).all()
    for name in ("stones", "near", "far", "player", "turns"):
        same = jax.tree.map(lambda a, b: bool((np.asarray(a) == b).all()), getattr(drawn.state, name), getattr(states, name))
        assert all(jax.tree.leaves(same)), name


@pytest.mark.parametrize("cells", [(0, 1, 3, 4, 6), (0, 0)], ids=["a chain", "an illegal move"])
def test_of_a_finished_game_worlds_have_the_same_winner(cells):
    game = Hex(HexConfig(3))
    state, step = game.init(), jax.jit(functools.partial(rules.step, game.config))
    for cell in cells:
        state = step(state, jnp.int32(cell))
    assert state.terminated
    for seat in (0, 1):
        info = dataclasses.replace(nothing_known(game), view=game.observe(state, seat))
        drawn = _drawn(game, jax.random.split(jax.random.key(0), 4), info).state
        np.testing.assert_array_equal(jax.vmap(game.outcome)(drawn), [game.outcome(state)] * 4)


@functools.partial(jax.jit, static_argnums=0)
def _counts(game, infos):
    return jax.vmap(functools.partial(hidden.count_distribution, game.config))(infos)


@functools.partial(jax.jit, static_argnums=0)
def _drawn(game, keys, info):
    return jax.vmap(lambda key: hidden.sample(game.config, key, info))(keys)


def _chisquare(seen, chances):
    return stats.chisquare(seen, seen.sum() * chances.astype(float) / chances.astype(float).sum()).pvalue
