"""Our players in the official interface, driven by the dictionaries that the official environment would hand out."""

import functools
import logging
import sys
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.abilities import teams_of
from jaxgames.agent import memoryless
from jaxgames.pommerman.constants import GameType
from jaxgames.pommerman.interop import observation_dict, observation_from_dict
from search.believed import Memory
from tests.jaxgames.pommerman import recordings
from tests.jaxgames.pommerman.positions import position
from training.play import agents, official
from training.play.official import OfficialAgent, OfficialMatchConfig

SPEC = "counting"
RECORDINGS = {"ffa": "ffa_random", "team": "team", "radio": "radio"}  # by mode


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Games are recorded ones, what is seen of them is compiled as a whole, and an agent moves by the step that it observes."""
    kind, make, notes = type(jaxgames.make("pommerman")), agents.make, agents.notes
    counting = memoryless(SPEC, lambda params, keys, views, seats: (views.step_count + seats).astype(jnp.int32) % 6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agents, "make", lambda spec, game: counting if spec == SPEC else make(spec, game))
        patch.setattr(agents, "notes", lambda specs, game: [] if specs == [SPEC] else notes(specs, game))
        patch.setattr(kind, "init", lambda game, key: recorded(RECORDINGS[game.config.mode], 0))
        patch.setattr(kind, "observe", jax.jit(kind.observe, static_argnums=0))
        yield


def recorded(name, number):
    """A state of recorded games; the first is longer than any test plays."""
    return jax.tree.map(lambda leaf: leaf[number], recordings.states(name)[2])


@functools.cache
def compiled(mode="ffa"):
    """A game; `init`, `observe` and `step` of it, whose states are recorded, whatever is done."""
    game, name = jaxgames.make("pommerman", mode), RECORDINGS[mode]

    def step(state, actions):
        del actions
        return recorded(name, int(state.step_count) + 1)

    return game, lambda key: recorded(name, 0), game.observe, step


@pytest.fixture(scope="module")
def agent():
    return OfficialAgent(SPEC)


@pytest.fixture(scope="module")
def seen():
    """A dictionary from the start of a game, for seat 2."""
    game, init, observe, _ = compiled()
    return observation_dict(game.config, observe(init(jax.random.key(3)), np.int32(2)))


@pytest.mark.parametrize("mode", ["ffa", *(pytest.param(mode, marks=pytest.mark.slow) for mode in ("team", "radio"))])
def test_dictionaries_are_read_as_they_were_written(mode):
    game, init, observe, step = compiled(mode)
    state = init(jax.random.key(0))
    for number in range(11):
        seat = number % 4
        one = jax.device_get(observe(state, np.int32(seat)))
        again = observation_from_dict(game.config, observation_dict(game.config, one))
        for (path, leaf), found in zip(jax.tree_util.tree_leaves_with_path(one), jax.tree.leaves(again), strict=True):
            np.testing.assert_array_equal(found, leaf, jax.tree_util.keystr(path))
            assert found.dtype == leaf.dtype
        state = step(state, None)


@pytest.mark.parametrize("spec", [SPEC, pytest.param("follower", marks=pytest.mark.slow)])
def test_it_plays_an_episode_and_starts_again(spec, agent):
    game, init, observe, step = compiled()
    agent = agent if spec == SPEC else OfficialAgent(spec)
    assert agent.game == game
    moves = []
    for _ in range(2):
        state = init(jax.random.key(5))
        agent.init_agent(1, 0)
        for _ in range(12):
            move = agent.act(observation_dict(game.config, observe(state, np.int32(1))), None)
            assert type(move) is int and 0 <= move < 6
            moves.append(move)
            state = step(state, np.array([0, move, 0, 0], np.int32))
        agent.episode_end(-1)
    assert len(set(moves)) > 1


@pytest.mark.parametrize(("mode", "seats"), [("ffa", (3,)), ("team", (3, 1)), ("team_open", (3, 1)), ("one_vs_one", (1,))])
def test_all_seats_of_a_team_are_ours(mode, seats):
    teams = teams_of(jaxgames.make("pommerman", mode))
    assert official.own_seats(teams, len(teams) - 1) == seats


@pytest.mark.slow
def test_in_radio_games_it_may_talk():
    game = jaxgames.make("pommerman", "radio")
    near = position("... 0.. .1.", config=game.config)
    seen = observation_dict(game.config, jax.tree.map(lambda leaf: leaf[0], jax.vmap(game.observe)(near, np.zeros(1, np.int32))))
    for talks in ("false", "true"):
        agent = OfficialAgent(f"sp_mcts:weights=none,num_simulations=2,model=still,talks={talks}", mode="radio")
        move, *words = agent.act(seen)
        assert move in range(6) and words == ([1, 4] if talks == "true" else [0, 0])


def test_a_match_that_was_broken_off_is_forgotten(agent, monkeypatch):
    game, init, observe, step = compiled()
    states = [init(jax.random.key(5))]
    for _ in range(2):
        states.append(step(states[-1], np.zeros(4, np.int32)))
    first, second, third = (observation_dict(game.config, observe(state, np.int32(1))) for state in states)
    agent.episode_end(0)
    forgotten = []
    monkeypatch.setattr(agent, "_reset", lambda memory, lanes: forgotten.append(len(played)) or memory)
    for played in ([], [1], [1, 2], [1, 2, 3], [1, 2, 3, 4]):
        agent.act((first, second, third, first, third)[len(played)])
    assert forgotten == [3]


def with_cells(cells, **at):
    """A map with other numbers in some cells, `r1c2=3`."""
    changed = np.array(cells)
    for place, value in at.items():
        row, column = place[1:].split("c")
        changed[int(row), int(column)] = value
    return changed


def changed(seen, changes):
    """A dictionary with other values; functions are given what was there."""
    return {name: changes[name](seen[name]) if callable(changes.get(name)) else changes.get(name, seen[name]) for name in seen}


BAD = [
    ({"bomb_life": np.full((11, 11), 99.0)}, r"bomb_life at \(0, 0\) is 99\.0: must be an integer in 0\.\.10"),
    ({"board": np.zeros((3, 3))}, r"board of shape \(3, 3\): must be 11 x 11 numbers"),
    ({"board": np.full((11, 11), np.nan)}, r"board at \(0, 0\) is nan: must be an integer"),
    ({"board": [[0], [1, 2]]}, r"board=\[\[0\], \[1, 2\]\]: must be 11 x 11 numbers"),
    ({"ammo": -1}, r"ammo=-1: must be in 0\.\.10"),
    ({"ammo": "many"}, "ammo='many': must be a whole number"),
    ({"ammo": 1.7}, r"ammo=1\.7: must be a whole number"),
    ({"ammo": float("inf")}, "ammo=inf: must be a whole number"),
    ({"ammo": float("nan")}, "ammo=nan: must be a whole number"),
    ({"ammo": np.zeros((11, 11))}, "ammo=array.*: must be a whole number"),
    ({"blast_strength": 0}, r"blast_strength=0: must be in 2\.\.10"),
    ({"game_type": 2}, "game_type=2: is of mode team; must be 1, of ffa"),
    ({"game_type": GameType.RADIO}, "game_type=3: is of mode radio; must be 1, of ffa"),
    ({"game_type": 5}, r"game_type=5: must be in 1\.\.4"),
    ({"game_type": "FFA"}, "game_type='FFA': must be a whole number"),
    ({"can_kick": "no"}, "can_kick='no': must be True or False"),
    ({"can_kick": 2}, "can_kick=2: must be True or False"),
    ({"step_count": 900}, r"step_count=900: must be in 0\.\.800"),
    ({"position": (11, 0)}, r"position=\(11, 0\): must be two numbers in 0\.\.10"),
    ({"position": 3}, r"position=3: must be a list of two numbers in 0\.\.10"),
    ({"position": (1, 2, 3)}, r"position=\(1, 2, 3\): must be two numbers in 0\.\.10"),
    ({"position": (5, 5)}, r"position=\(5, 5\): must be where the board has the own piece, and it shows 12 at \(9, 9\)"),
    ({"board": lambda board: with_cells(board, r9c9=0)}, r"position=\(9, 9\): must be where .*, and it does not show 12"),
    ({"board": lambda board: with_cells(board, r0c0=13)}, r"board: shows agent 13 2 times, at \(0, 0\) first; must show it once"),
    ({"enemies": [10]}, "enemies and teammate .* must name all of 4 agents but one"),
    ({"enemies": None}, "enemies=None: must be a list of board codes in 9..13"),
    ({"enemies": [10, 11, 14]}, r"enemies=14: must be in 9\.\.13"),
    ({"teammate": "friend"}, "teammate='friend': must be a whole number"),
    ({"alive": 5}, "alive=5: must be a list of board codes in 10..13"),
    ({"alive": "all"}, "alive='all': must be a list of board codes"),
    ({"alive": [10, 11, 99]}, r"alive=99: must be in 10\.\.13"),
    ({"alive": [10, 11, None]}, "alive=None: must be a whole number"),
    ({"alive": []}, r"alive=\[\]: must hold 10, which the board shows at \(1, 1\)"),
    ({"bomb_life": lambda life: with_cells(life, r4c6=3)}, r"bomb_blast_strength at \(4, 6\) is 0\.?0?, and bomb_life is 3"),
    (
        {"bomb_moving_direction": lambda cells: with_cells(cells, r4c6=1)},
        r"bomb_moving_direction at \(4, 6\) is 1, and bomb",
    ),
]


@pytest.mark.parametrize(("changes", "message"), BAD, ids=[f"{next(iter(changes))}-{n}" for n, (changes, _) in enumerate(BAD)])
def test_a_broken_dictionary_is_told_in_one_line(seen, changes, message):
    with pytest.raises(ValueError, match=f"^{message}") as error:
        observation_from_dict(jaxgames.make("pommerman", "ffa").config, changed(seen, changes))
    assert "\n" not in str(error.value) and len(str(error.value)) < 200


def test_what_is_missing_is_named(seen):
    config = jaxgames.make("pommerman", "ffa").config
    with pytest.raises(ValueError, match=r"^observation=None: must be a dictionary"):
        observation_from_dict(config, None)
    for name in set(seen) - {"game_type", "game_env"}:
        with pytest.raises(ValueError, match=f"^observation: {name} is missing"):
            observation_from_dict(config, {key: value for key, value in seen.items() if key != name})
    of_team = {**seen, "game_type": GameType.RADIO, "teammate": 10, "enemies": [11, 13]}
    with pytest.raises(ValueError, match=r"^message=\(1,\): must be two integers"):
        observation_from_dict(jaxgames.make("pommerman", "radio").config, {**of_team, "message": [1]})


@pytest.mark.parametrize(("said", "heard"), [((8, 8), (8, 8)), ((9, 0), (0, 0)), ((3, -1), (0, 0)), ((10**9, 3), (0, 0))])
def test_words_that_a_teammate_cannot_mean_are_silence(seen, said, heard):
    of_team = {**seen, "game_type": GameType.RADIO, "teammate": 10, "enemies": [11, 13], "message": said}
    observation = observation_from_dict(jaxgames.make("pommerman", "radio").config, of_team)
    assert observation.message == heard


@pytest.mark.parametrize("obs", [None, {}, {"board": None}])
def test_an_error_is_one_line_and_answered_by_stop(agent, seen, obs, caplog):
    with caplog.at_level(logging.ERROR):
        assert agent.act(obs) == 0
    (record,) = caplog.records
    assert record.exc_info is None and "\n" not in record.getMessage()
    assert record.getMessage().startswith("no move was found, the agent stops for one step: ")
    assert agent.act(seen) in range(6), "it goes on"


def test_the_log_tells_when_it_is_compiled(caplog):
    with caplog.at_level(logging.INFO, logger=official.LOG.name):
        OfficialAgent(SPEC)
    first, last = caplog.messages
    assert first.startswith(f"compiling {SPEC}: ") and last.startswith(f"compiled {SPEC} after ")


def test_a_slow_move_is_told_once_in_a_match(agent, seen, monkeypatch, caplog):
    clock = types.SimpleNamespace(now=0.0)
    monkeypatch.setattr(official, "time", types.SimpleNamespace(perf_counter=lambda: clock.now))
    play = agent._act

    def slow(*arguments):
        clock.now += next(takes)
        return play(*arguments)

    takes = iter([0.099, 0.25, 0.3, 0.2, 0.05])
    monkeypatch.setattr(agent, "_act", slow)
    monkeypatch.setattr(agent, "slowest", 0.0)
    with caplog.at_level(logging.WARNING):
        agent.init_agent(2, 0)
        for step in range(3):
            assert agent.act(seen | {"step_count": step}) in range(6)
        first = caplog.messages[:]
        agent.episode_end(0)
        for step in range(2):
            agent.act(seen | {"step_count": step})
    rest = "; take fewer simulations. More slow moves of this match are not told"
    assert first == [f"a move took 250 ms: must be at most 100{rest}"]
    assert caplog.messages == [*first, f"a move took 200 ms: must be at most 100{rest}"], "the next match tells its own"
    assert agent.slowest == pytest.approx(0.3)


def test_other_errors_keep_their_traceback(agent, seen, monkeypatch, caplog):
    def fails(*arguments):
        raise ZeroDivisionError

    monkeypatch.setattr(agent, "_act", fails)
    with caplog.at_level(logging.ERROR):
        assert agent.act(seen) == 0
    assert caplog.records[0].exc_info[0] is ZeroDivisionError


def test_after_an_error_it_remembers_that_it_has_stopped(agent, monkeypatch):
    """The belief of a planner that is asked in every step goes on from what was done."""
    planned = Memory(planner=(), belief=(), begins=jnp.zeros(1, bool), actions=jnp.array([5]))
    monkeypatch.setattr(agent, "_memory", planned)
    agent.act(None)
    assert agent._memory.actions.tolist() == [0] and not agent._memory.begins.any()


def test_who_needs_the_state_is_refused():
    with pytest.raises(ValueError, match=r"^agent='fdts': needs the full state; take one that is shown what it observes"):
        OfficialAgent("fdts")
    with pytest.raises(
        ValueError, match=r"^agent='simple': plays by its view, but ours reads that, for speed, from the full state"
    ):
        OfficialAgent("simple")


def test_what_is_no_name_is_refused():
    with pytest.raises(ValueError, match=r"^agent=3: must be a text, such as 'simple'$"):
        OfficialAgent(3)


# --- a match in something that behaves as the official environment does -------------------------------------------------


class Bomber:
    """The piece of an agent, which the environment sets onto the board."""

    def __init__(self, agent_id, game_type):
        self.agent_id, self.game_type, self.is_alive = agent_id, game_type, False

    def reset(self):
        self.is_alive = True


class BaseAgent:
    """As the official one: what it does not have itself it takes from its piece, whose class it begins with."""

    def __init__(self, character=Bomber):
        self._character = character

    def __getattr__(self, name):
        return getattr(self._character, name)

    def init_agent(self, id_, game_type):
        self._character = self._character(id_, game_type)

    def episode_end(self, reward):
        pass

    def shutdown(self):
        pass


class SimpleAgent(BaseAgent):
    def act(self, obs, action_space):
        return (obs["step_count"] + self.agent_id) % 5


class Environment:
    """Our game with the official methods; a match is over after 8 steps."""

    action_space = "six moves"

    def __init__(self, agents):
        self.agents = agents
        for number, agent in enumerate(agents):
            assert isinstance(agent, BaseAgent)
            agent.init_agent(number, "FFA")

    def reset(self):
        for agent in self.agents:
            agent.reset()
        self.game, init, self.observe, self.step_game = compiled()
        self.state = init(jax.random.key(1))
        return self.seen()

    def seen(self):
        return [observation_dict(self.game.config, self.observe(self.state, np.int32(seat))) for seat in range(4)]

    def act(self, seen):
        return [agent.act(seen[agent.agent_id], self.action_space) if agent.is_alive else 0 for agent in self.agents]

    def step(self, actions):
        assert all(type(action) is int for action in actions)
        self.state = self.step_game(self.state, np.array(actions, np.int32))
        done = int(self.state.step_count) == 8
        rewards = [1, -1, -1, -1]
        for agent in self.agents if done else ():
            agent.episode_end(rewards[agent.agent_id])
        return self.seen(), rewards, done, {"result": "Result.Win"} if done else {}

    def close(self):
        for agent in self.agents:
            agent.shutdown()


def test_a_match_in_the_official_environment(monkeypatch, capsys):
    """The same agent begins every game again, in another seat; its moves are timed."""
    package, theirs = types.ModuleType("pommerman"), types.ModuleType("pommerman.agents")
    package.make = lambda name, players: Environment(players)
    theirs.BaseAgent, theirs.SimpleAgent = BaseAgent, SimpleAgent
    monkeypatch.setitem(sys.modules, "pommerman", package)
    monkeypatch.setitem(sys.modules, "pommerman.agents", theirs)
    official.run(OfficialMatchConfig(agent=SPEC, games=2))
    first, second, last = capsys.readouterr().out.splitlines()
    assert first.startswith("game 0: seats (0,), rewards [1, -1, -1, -1], Result.Win; slowest move so far ")
    assert second.startswith("game 1: seats (1,)") and not second.endswith(" 0 ms") and last == "1 of 2 games won"


def test_without_the_official_environment_it_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "pommerman", None)
    with pytest.raises(ValueError, match=r"^pommerman is not installed: this plays in the official environment, "):
        official.run(OfficialMatchConfig())


@pytest.mark.parametrize(("settings", "message"), [
    ({"games": 0}, "games=0: must be >= 1"),
    ({"seed": -1}, r"seed=-1: must be in 0\.\."),
])  # fmt: skip
def test_settings_of_matches_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        OfficialMatchConfig(**settings)
