"""What an agent sees: the official dictionaries, the recorded observations, and nothing that is hidden from it."""

import dataclasses

import jax
import numpy as np
import pytest

from jaxgames.pommerman import interop
from jaxgames.pommerman.config import preset
from jaxgames.pommerman.observation import item_cells
from jaxgames.pommerman.replay import observe_batch
from tests.jaxgames.pommerman import recordings
from tests.jaxgames.pommerman.positions import Bomb, Man, equal, position
from tests.jaxgames.pommerman.scrambling import scrambled

FOGGED = ("team", "radio")
FREE = ("ffa_conflict", "ffa_random")
KEYS = {
    *("alive", "board", "bomb_blast_strength", "bomb_life", "bomb_moving_direction", "flame_life", "game_type", "game_env"),
    *("position", "blast_strength", "can_kick", "teammate", "ammo", "enemies", "step_count"),
}


def one(tree, index=0):
    return jax.tree.map(lambda leaf: leaf[index], tree)


# --- against the recordings --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FOGGED)
def test_recorded_observations(name):
    config, arrays, state = recordings.states(name, 400)
    for seat in range(4):
        seen = interop.observations_to_arrays(config, observe_batch(config, state, seat))
        for field in ("o_board", "o_blast", "o_life", "o_dir", "o_flame"):
            assert np.array_equal(seen[field], arrays[field][:, seat]), field
            assert seen[field].dtype == arrays[field].dtype


@pytest.mark.parametrize("name", [*FOGGED, *FREE])
def test_dictionaries(name):
    config, arrays, state = recordings.states(name, 30)
    size = config.board_size
    for seat in range(4):
        observations = observe_batch(config, state, seat)
        maps = interop.observations_to_arrays(config, observations)
        for index in range(30):
            seen = interop.observation_dict(config, one(observations, index))
            assert set(seen) == (KEYS | {"message"} if name == "radio" else KEYS)
            assert seen["board"].dtype == np.uint8
            for key, field in (("board", "o_board"), ("bomb_blast_strength", "o_blast"), ("bomb_life", "o_life")):
                assert np.array_equal(seen[key], maps[field][index])
            for key, field in (("bomb_moving_direction", "o_dir"), ("flame_life", "o_flame")):
                assert np.array_equal(seen[key], maps[field][index])
                assert (seen[key].dtype, seen[key].shape) == (np.float64, (size, size))
            row, column, _, ammo, strength, kick = arrays["s_agents"][index, seat].tolist()
            assert (seen["position"], seen["ammo"], seen["blast_strength"]) == ((row, column), ammo, strength)
            assert seen["can_kick"] is bool(kick)
            assert seen["alive"] == [10 + i for i in range(4) if arrays["s_agents"][index, i, 2]]
            assert seen["step_count"] == arrays["s_step"][index]
            assert all(type(seen[key]) is int for key in ("ammo", "blast_strength", "step_count", "teammate", "game_type"))


def test_what_depends_on_the_variant():
    expected = {
        "ffa": (1, "pommerman.envs.v0:Pomme", [9] * 4, [[11, 12, 13], [10, 12, 13], [10, 11, 13], [10, 11, 12]]),
        "ffa_collapse": (1, "pommerman.envs.v1:Pomme", [9] * 4, [[11, 12, 13], [10, 12, 13], [10, 11, 13], [10, 11, 12]]),
        "team": (2, "pommerman.envs.v0:Pomme", [12, 13, 10, 11], [[11, 13, 9], [10, 12, 9], [11, 13, 9], [10, 12, 9]]),
        "radio": (3, "pommerman.envs.v2:Pomme", [12, 13, 10, 11], [[11, 13, 9], [10, 12, 9], [11, 13, 9], [10, 12, 9]]),
        "one_vs_one": (4, "pommerman.envs.v0:Pomme", [9] * 2, [[11], [10]]),
    }
    for mode, (kind, env, teammates, enemies) in expected.items():
        config = preset(mode)
        state = position("0.1", config=config)
        for seat in range(config.num_players):
            seen = interop.observation_dict(config, one(observe_batch(config, state, seat)))
            assert (seen["game_type"], seen["game_env"]) == (kind, env)
            assert (seen["teammate"], seen["enemies"]) == (teammates[seat], enemies[seat]), "never shortened by a death"


# --- fog ---------------------------------------------------------------------------------------------------------------


def test_the_view_is_a_square_of_radius_four():
    config, arrays, state = recordings.states("team", 120)
    rows, columns = np.indices((11, 11))
    for seat in range(4):
        view = interop.unpack(config.grid, observe_batch(config, state, seat).view)
        agents = arrays["s_agents"][:, seat].astype(int)
        away = np.maximum(abs(rows - agents[:, 0, None, None]), abs(columns - agents[:, 1, None, None]))
        assert np.array_equal(view, away <= 4), "also of dead agents, around the cell where they died"


def test_nothing_is_fogged_in_a_free_for_all():
    config, arrays, state = recordings.states("ffa_conflict", 100)
    seen = [interop.observations_to_arrays(config, observe_batch(config, state, seat)) for seat in range(4)]
    for maps in seen:
        assert np.array_equal(maps["o_board"], arrays["s_board"])
        assert all(np.array_equal(maps[field], seen[0][field]) for field in maps)


def test_bombs_under_agents_are_seen_in_the_maps():
    state = position("0.1", bombs={(0, 2): Bomb(owner=1, life=4, strength=3)})
    seen = interop.observation_dict(preset("ffa"), one(observe_batch(preset("ffa"), state, 0)))
    assert seen["board"][0, 2] == 11
    assert (seen["bomb_life"][0, 2], seen["bomb_blast_strength"][0, 2], seen["bomb_moving_direction"][0, 2]) == (4, 3, 0)


def test_the_youngest_flame_is_seen():
    flames = {(1, 0): [2], (1, 1): [1], (1, 2): [0], (1, 3): [2, 0], (1, 4): [1, 0], (1, 5): [2, 1], (1, 6): [2, 1, 0]}
    seen = interop.observation_dict(preset("ffa"), one(observe_batch(preset("ffa"), position("0.1", flames=flames), 0)))
    assert seen["flame_life"][1, :8].tolist() == [3, 2, 1, 3, 2, 3, 3, 0]


def test_power_ups_by_kind():
    state = position("0brk", hidden={(2, 2): 6}, flames={(2, 2): [1]})
    seen = observe_batch(preset("ffa"), state, 0)
    kinds = [np.argwhere(interop.unpack(preset("ffa").grid, cells)[0]).tolist() for cells in item_cells(seen)]
    assert kinds == [[[0, 1]], [[0, 2]], [[0, 3]]]


# --- messages ----------------------------------------------------------------------------------------------------------


def test_only_the_words_of_the_teammate_are_heard():
    config = preset("radio")
    state = position("0.1.2.3", config=config, messages=((1, 2), (3, 4), (5, 6), (7, 8)))
    heard = [interop.observation_dict(config, one(observe_batch(config, state, seat)))["message"] for seat in range(4)]
    assert heard == [(5, 6), (7, 8), (1, 2), (3, 4)]


# --- nothing more ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["team", "radio", "ffa_conflict", "ffa_random"])
def test_what_is_hidden_changes_no_observation(name):
    config, arrays, state = recordings.states(name, 150)
    rng = np.random.default_rng(8)
    for seat in range(4):
        changed = scrambled(config, arrays, seat, rng)
        other = interop.from_arrays(config, changed)
        different = {field for field in interop.STATE_FIELDS if not np.array_equal(changed[field], arrays[field])}
        assert {"s_items", "s_agents", "s_bombs"} <= different
        if config.has_messages:  # its own words, and those of the enemies
            words = tuple((np.full(150, 3, np.int8),) * 2 if i != (seat + 2) % 4 else state.messages[i] for i in range(4))
            other = dataclasses.replace(other, messages=words)
        other = dataclasses.replace(other, seat_rewards=(np.ones(150, np.int8),) * 4)
        assert equal(observe_batch(config, state, seat), observe_batch(config, other, seat))


def test_what_is_seen_does_change_the_observation():
    base = position("0.1", bombs={(3, 3): Bomb()}, m0=Man(ammo=1))
    seen = observe_batch(preset("ffa"), base, 0)
    for other in (
        position("0.1", bombs={(3, 3): Bomb(life=8)}),
        position("0.1", bombs={(3, 3): Bomb(strength=3)}),
        position("0.1", bombs={(3, 3): Bomb(direction=1)}),
        position("0.1", bombs={(3, 4): Bomb()}),
        position("0.1", bombs={(3, 3): Bomb()}, m0=Man(ammo=2)),
        position("0..1", bombs={(3, 3): Bomb()}),
        position("0.1.2", bombs={(3, 3): Bomb()}),
        position("0.1b", bombs={(3, 3): Bomb()}),
        position("0.1", bombs={(3, 3): Bomb()}, step=1),
    ):
        assert not equal(seen, observe_batch(preset("ffa"), other, 0))
