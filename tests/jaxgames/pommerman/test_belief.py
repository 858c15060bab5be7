"""What a player believes: in full view the truth but for what is hidden, in fog whatever it sees.

All four players of recorded games are followed at once.
"""

import dataclasses
import functools

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames.pommerman import belief, interop
from jaxgames.pommerman.constants import NUM_MESSAGES
from jaxgames.pommerman.replay import observe_batch
from tests.jaxgames.pommerman import recordings
from tests.jaxgames.pommerman.positions import DOWN, FFA, RANGE, RIGHT, STOP, TEAM, Bomb, Man, look, position

SMALL_GAME = jaxgames.make("pommerman", "radio", board_size=8, view_radius=2, num_rigid=16, num_wood=16, num_items=10)
SMALL = SMALL_GAME.config


@functools.cache
def programs(game):
    """For the beliefs of four players at once."""
    return jax.jit(jax.vmap(game.init_belief)), jax.jit(jax.vmap(game.update_belief))


def views_of(config, states):
    """What all players see, leaves [T, P]."""
    by_seat = [observe_batch(config, states, seat) for seat in range(4)]
    return jax.tree.map(lambda *leaves: np.stack(leaves, 1), *by_seat)


def taken(tree, row):
    """A row of leaves [T, P]."""
    return jax.tree.map(lambda leaf: leaf[row], tree)


def of_player(beliefs, seat):
    """What one of four players of the small game believes, taken apart."""
    return look(jax.tree.map(lambda leaf: leaf[seat : seat + 1], jax.device_get(beliefs)), SMALL)


@functools.cache
def followed(name, equipped=True):
    """States [T], and beliefs and views [T, P] of the players of the recorded games, all games one after the other.

    `equipped`: what all have at the start of a game is known, where nothing is in fog; recorded games may begin with equipment.
    """
    config = recordings.config_of(name)
    arrays = recordings.sample(name)
    states = interop.from_arrays(config, {field: arrays[field] for field in interop.STATE_FIELDS})
    after = np.concatenate(
        [first + 1 + np.arange(length) for first, length in zip(arrays["ep_state0"], arrays["ep_len"], strict=True)]
    )
    done, rewards = np.zeros(len(arrays["s_board"]), bool), np.zeros((len(arrays["s_board"]), 4), np.int8)
    done[after], rewards[after] = arrays["a_done"], arrays["a_reward"]
    states = dataclasses.replace(states, terminated=done, seat_rewards=tuple(rewards.T))
    views = views_of(config, states)
    begin, update = programs(jaxgames.make("pommerman", config.mode))
    beliefs = []
    for first, action, length in zip(arrays["ep_state0"], arrays["ep_trans0"], arrays["ep_len"], strict=True):
        now = begin(taken(views, first))
        if equipped and config.view_radius is None:
            started = jax.tree.map(lambda leaf, row=first: np.repeat(leaf[None, row], 4, 0), states)
            now = dataclasses.replace(now, bombers=started.bombers)
        beliefs.append(now)
        for step in range(length):
            now = update(now, taken(views, first + step + 1), np.maximum(arrays["a_action"][action + step], 0).astype(np.int32))
            beliefs.append(now)
    return states, jax.tree.map(lambda *leaves: np.stack(leaves), *jax.device_get(beliefs)), views


def assert_same(found, expected, relevant):
    """Two pytrees with leaves [T, P] are the same where it matters: `relevant(name of the leaf)`, bool [T, P]."""
    for (path, one), other in zip(jax.tree_util.tree_leaves_with_path(found), jax.tree.leaves(expected), strict=True):
        name = jax.tree_util.keystr(path)
        rows = relevant(name)
        np.testing.assert_array_equal(np.asarray(one)[rows], np.asarray(other)[rows], name)


@pytest.mark.parametrize("name", ["ffa_simple", "ffa_kick"])
def test_in_full_view_only_what_is_hidden_is_not_known(name):
    states, believed, _ = followed(name)
    truth = jax.tree.map(lambda leaf: np.repeat(leaf[:, None], 4, 1), jax.jit(jax.vmap(belief.without_hidden))(states))

    def relevant(leaf):
        rows = np.ones_like(truth.terminated) if "terminated" in leaf else ~truth.terminated
        if "bombers" in leaf and "alive" not in leaf:  # of the dead nothing matters
            rows = rows & truth.bombers[int(leaf.split("[")[1].split("]")[0])].alive
        return rows

    assert_same(believed, truth, relevant)
    assert any(word.any() for plane in believed.bombs.owner for word in plane.words)
    if name == "ffa_simple":
        assert max(int(bomber.ammo.max()) for bomber in believed.bombers) > 1, "somebody has collected a bomb"


def test_what_others_can_do_is_found_out_by_what_they_do():
    states, believed, _ = followed("ffa_kick", equipped=False)
    found = {"can_kick": 0, "blast_strength": 0}
    for seat, (bomber, true) in enumerate(zip(believed.bombers, states.bombers, strict=True)):
        others = true.alive[:, None] & ~states.terminated[:, None] & (np.arange(4) != seat)
        for name in found:
            one, truth = getattr(bomber, name), getattr(true, name)[:, None]
            assert (one <= truth)[others].all(), name
            found[name] += (one == truth)[others & (truth > (2 if name == "blast_strength" else 0))].sum()
    assert min(found.values()) > 20


def test_in_the_worst_case_all_others_are_fully_equipped():
    view = taken(views_of(FFA, position("0.1.2.3")), (0, 1))
    believed = jax.jit(functools.partial(belief.init_belief, FFA, worst_case=True))(view)
    found = [(int(one.ammo), int(one.blast_strength), bool(one.can_kick)) for one in believed.bombers]
    assert found == [(1, 2, False) if seat == 1 else (5, 10, True) for seat in range(4)]


@pytest.mark.slow
def test_in_fog_the_believed_state_looks_like_what_is_seen():
    states, believed, seen = followed("team")
    by_seat = [observe_batch(TEAM, taken(believed, (slice(None), seat)), seat) for seat in range(4)]
    shown = jax.tree.map(lambda *leaves: np.stack(leaves, 1), *by_seat)
    alive = ~states.terminated[:, None] & np.stack([bomber.alive for bomber in states.bombers], 1)
    assert_same(shown, seen, lambda leaf: alive)


@pytest.mark.slow
def test_bombs_go_on_in_fog():
    states, believed, seen = followed("team")
    grid = recordings.config_of("team").grid
    first = np.diff(states.step_count, prepend=1000) < 0
    seconds = []
    for seat in range(4):
        of_seat, view = jax.tree.map(lambda leaf, seat=seat: leaf[:, seat], (believed.bombs, seen.view))
        life, hidden = interop.unpack_number(grid, of_seat.life), ~interop.unpack(grid, view)
        rolls = sum(interop.unpack(grid, plane) for plane in of_seat.moving) > 0
        stays = hidden[1:] & hidden[:-1] & (life[:-1] > 0) & ~rolls[:-1] & ~first[1:, None, None]
        later, before = life[1:][stays], life[:-1][stays]
        assert ((later == before - 1) | (later == 0)).all()
        seconds.extend(later)
    assert np.count_nonzero(seconds) > 50


def test_only_the_teammate_is_believed_to_have_said_something():
    said = np.arange(1, 9, dtype=np.int8).reshape(4, 2)
    state = position("0.1.2.3", config=SMALL, messages=said)
    heard = programs(SMALL_GAME)[0](taken(views_of(SMALL, state), 0)).messages
    for seat, words in enumerate(np.moveaxis(np.array(heard), -1, 0)):
        np.testing.assert_array_equal(words, np.where(np.arange(4)[:, None] == (seat + 2) % 4, said, 0))


def test_a_bomb_that_nobody_was_seen_to_lay_is_an_enemys():
    state = position("0.1 2.3 ...", bombs={(2, 1): Bomb(owner=2, life=5)}, config=SMALL)
    believed = programs(SMALL_GAME)[0](taken(views_of(SMALL, state), 0))
    for seat in range(4):
        assert of_player(believed, seat).bombs[2, 1] == Bomb(owner=(seat + 1) % 4, life=5)


def test_what_goes_on_in_fog_is_followed_as_it_happens():
    """A bomb that explodes there is one that its owner may lay again, and one that rolls there stays its owner's."""
    rows = ["........"] * 8
    for seat, (row, column) in enumerate(((0, 0), (7, 7), (4, 7), (7, 4))):
        rows[row] = rows[row][:column] + str(seat) + rows[row][column + 1 :]
    bombs = {(6, 1): Bomb(owner=1, life=2), (5, 3): Bomb(owner=2, direction=RIGHT)}
    state = position(" ".join(rows), bombs=bombs, config=SMALL, m1=Man(ammo=0), m2=Man(ammo=0))
    believed = jax.tree.map(lambda leaf: leaf.repeat(4, 0), state)
    for step, rests in enumerate(({(6, 1): Bomb(owner=1, life=1)}, {}, {}), start=1):
        views = views_of(SMALL, position(" ".join(rows), step=step, config=SMALL))  # as the first player sees it
        believed = programs(SMALL_GAME)[1](believed, taken(views, 0), np.zeros(4, np.int32))
        found = of_player(believed, 0)
        assert found.bombs == {(5, 3 + step): Bomb(owner=2, life=9 - step, direction=RIGHT), **rests}
        assert found.men == [
            Man(cell=(0, 0)),
            Man(ammo=0 if rests else 1, cell=(7, 7)),
            Man(ammo=0, cell=(4, 7)),
            Man(cell=(7, 4)),
        ]


def believed_by_first(*drawings, action=STOP):
    """What the first player believes after it has been shown two positions of a radio game."""
    begin, update = programs(SMALL_GAME)
    views = [taken(views_of(SMALL, position(drawing, config=SMALL)), 0) for drawing in drawings]
    return of_player(update(begin(views[0]), views[1], np.full(4, action * NUM_MESSAGES, np.int32)), 0)


def test_a_power_up_that_is_out_of_sight_is_not_forgotten():
    shown = [". .r " + ". " * (rows - 2) + ".0" for rows in (3, 4)]
    assert believed_by_first(*shown, action=DOWN).board[1, 1] == RANGE


def test_who_is_out_of_sight_is_believed_in_the_nearest_free_cell():
    """The edge of the board is out of sight, and a wall along it."""
    wall = [[*".......#"]] * 6 + [[*"........"]] * 2
    drawings = []
    for column, seen in ((5, True), (4, False)):
        rows = [row.copy() for row in wall]
        rows[3][column] = "0"
        rows[3 if seen else 7][6 if seen else 0] = "1"
        drawings.append(" ".join("".join(row) for row in rows))
    assert believed_by_first(*drawings).men[1].cell == (0, 6)
