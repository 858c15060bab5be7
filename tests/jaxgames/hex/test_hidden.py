"""What a player knows holds nothing hidden, and worlds are drawn as they are said to be."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxgames.hex import Hex, HexConfig, hidden, interop, rules
from tests.jaxgames.hex.playing import at, joined, random_games

TINY = 1e-4


def ongoing(game, steps, count, seed=0):
    """States and information [G, 2] of games that are not over after so many attempts."""
    states, infos, _ = random_games(game, jax.random.split(jax.random.key(seed), count), steps)
    states, infos = (jax.tree.map(lambda leaf: leaf[:, -1], tree) for tree in (states, infos))
    alive = ~np.asarray(states.terminated)
    return (jax.tree.map(lambda leaf: np.asarray(leaf)[alive], tree) for tree in (states, infos))


@pytest.mark.parametrize("rules_name", ["abrupt", "classical"])
def test_hidden_stones_change_nothing_that_a_player_knows(rules_name):
    # Two boards that the second player cannot tell apart.
    game = Hex(HexConfig(4, rules_name))
    views = []
    for first in (0, 5):
        state = rules.step(game.config, game.init(), jnp.int32(first))
        info = game.update_information(game.init_information(1), game.observe(state, 1), game.pass_action)
        state = rules.step(game.config, state, jnp.int32(10))
        views.append(game.update_information(info, game.observe(state, 1), jnp.int32(10)))
    assert all(jax.tree.leaves(jax.tree.map(lambda a, b: bool((a == b).all()), *views)))


def test_own_attempts_are_kept_in_order():
    game = Hex(HexConfig(4, "abrupt"))
    states, infos, cells = random_games(game, jax.random.split(jax.random.key(1), 4), 12)
    for lane in range(4):
        movers = np.asarray(states.player)[lane, :-1]
        running = ~np.asarray(states.terminated)[lane, :-1]
        for player in (0, 1):
            own = np.asarray(cells)[lane][(movers == player) & running]
            info = at(infos, lane, -1, player)
            assert info.attempts[: info.num_attempts].tolist() == own.tolist()
            assert (info.attempts[info.num_attempts :] == -1).all()


@pytest.mark.parametrize("rules_name", ["abrupt", "classical"])
@pytest.mark.parametrize("steps", [6, 11])
def test_samples_fit_what_is_known(rules_name, steps):
    game = Hex(HexConfig(5, rules_name))
    states, infos = ongoing(game, steps, 64)
    for player in (0, 1):
        mine = jax.tree.map(lambda leaf, p=player: jnp.asarray(leaf[:, p]), infos)
        keys = jax.random.split(jax.random.key(player), len(states.terminated))
        drawn = jax.jit(jax.vmap(lambda key, info: hidden.sample(game.config, key, info)))(keys, mine)
        assert np.asarray(drawn.fits).all() and not np.asarray(drawn.removed).any()
        again = jax.vmap(lambda state, p=player: game.observe(state, p))(drawn.state)
        true = jax.vmap(lambda state, p=player: game.observe(state, p))(jax.tree.map(jnp.asarray, states))
        for name in ("own", "known", "to_move", "own_turns", "other_turns"):
            same = jax.tree.map(lambda a, b: bool((a == b).all()), getattr(again, name), getattr(true, name))
            assert all(jax.tree.leaves(same)), name
        if rules_name == "classical":
            other = 1 - player
            counts = [
                jax.vmap(lambda s: s.count())(tree.stones[other]) for tree in (drawn.state, jax.tree.map(jnp.asarray, states))
            ]
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
    states, infos = ongoing(game, steps, 64, seed)
    counts = [
        np.asarray(hidden.count_distribution(game.config, at(infos, lane, player))) for lane in range(len(states.terminated))
    ]
    lane = int(np.argmax([(chance > 0).sum() for chance in counts]))  # the one with most doubt
    info, chance = jax.tree.map(jnp.asarray, at(infos, lane, player)), counts[lane]
    draws = 20_000
    drawn = jax.jit(jax.vmap(lambda key: hidden.sample(game.config, key, info)))(jax.random.split(jax.random.key(seed), draws))
    boards = interop.board(game.config, drawn.state)
    sign = 1 if player == 0 else -1
    known = np.asarray(boards[0] == sign) * sign
    found = np.asarray(game.config.grid.to_bool(info.view.known)).reshape(-1)
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


def test_the_number_of_hidden_stones_follows_the_recursion():
    # The other tries the cells empty in its view at random: the chance of each number of its lost turns, by brute force.
    game, steps, lanes = Hex(HexConfig(3, "abrupt")), 6, 4000
    states, infos = ongoing(game, steps, lanes)
    placed = np.asarray(jax.vmap(lambda s: s.count())(jax.tree.map(jnp.asarray, states.stones[1])))
    lost = np.asarray(states.turns[1]) - placed
    mine = np.asarray(jax.vmap(lambda s: s.count())(jax.tree.map(jnp.asarray, states.stones[0])))
    told = np.asarray(infos.collisions)[:, 0]
    for stones in np.unique(mine):
        group = mine == stones
        if group.sum() > 300:
            # The recursion does not know that nobody has won yet, which favours fewer stones a little.
            assert abs(lost[group].mean() - (told[group] @ np.arange(told.shape[1])).mean()) < 0.15
    assert np.allclose(told.sum(1), 1, atol=1e-5)


def test_the_rule_of_the_published_code_takes_as_many_as_the_player_has():
    game = Hex(HexConfig(5, "abrupt", count_rule="fork"))
    _states, infos = ongoing(game, 9, 8)
    info = jax.tree.map(jnp.asarray, at(infos, 0, 0))
    drawn = game.sample_hidden(jax.random.key(0), info)
    assert int(drawn.stones[1].count()) == max(int(info.view.own.count()), int(info.view.known.count()))
    with pytest.raises(ValueError, match="count_rule='x': must be one of dp, fork"):
        HexConfig(5, "abrupt", count_rule="x")


def test_a_view_that_no_board_fits_is_told():
    game = Hex(HexConfig(3, "abrupt"))
    info = game.init_information(0)
    view = info.view
    impossible = jax.tree.map(jnp.asarray, game.config.grid.constant([0, 1, 2, 3]))
    view = type(view)(**{**vars(view), "known": impossible, "to_move": jnp.bool_(True)})
    drawn = hidden.sample(game.config, jax.random.key(0), type(info)(**{**vars(info), "view": view}))
    assert not bool(drawn.fits)


def test_without_hidden_stones_the_state_itself_comes_back():
    game = Hex(HexConfig(4))
    states, infos = ongoing(game, 5, 8)
    drawn = jax.vmap(lambda key, info: hidden.sample(game.config, key, info))(
        jax.random.split(jax.random.key(0), len(states.terminated)), jax.tree.map(lambda leaf: jnp.asarray(leaf[:, 0]), infos)
    )
    assert np.asarray(drawn.fits).all()
    for name in ("stones", "near", "far", "player", "turns"):
        same = jax.tree.map(lambda a, b: bool((np.asarray(a) == b).all()), getattr(drawn.state, name), getattr(states, name))
        assert all(jax.tree.leaves(same)), name


def _chisquare(seen, chances):
    return stats.chisquare(seen, seen.sum() * chances.astype(float) / chances.astype(float).sum()).pvalue
