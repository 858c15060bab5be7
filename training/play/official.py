"""A player of ours in the official Pommerman environment: dictionaries in, moves out, and no error in the middle of a match."""

from __future__ import annotations

import dataclasses
import importlib
import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

import jaxgames
from jaxgames import checks, runtime
from jaxgames.abilities import teams_of
from jaxgames.agent import Agent
from jaxgames.game import Game
from jaxgames.pommerman.interop import observation_dict, observation_from_dict, to_official_actions
from search import believed
from training.play import agents

LOG = logging.getLogger(__name__)
_STOP = 0
_ALLOWED = 0.1  # seconds that the official environment gives for a move

DEFAULT_AGENT = "sp_mcts:num_simulations=250,values=prospects,replies=4"
"""It values positions by hand: the strongest against SimpleAgents that was measured (docs/results/opponent_models.md)."""


@dataclasses.dataclass(frozen=True)
class OfficialMatchConfig:
    """Plays one of our agents against the official SimpleAgents, in the official environment.

    Attributes:
      agent: as in all commands, one that plays by what it observes: sp_mcts, tp_mcts, modelled_fdts, follower.
      mode: ffa, team, radio or one_vs_one; in teams both seats of ours are this agent.
      games: how many; the seats change from game to game.
      seed: of our agent.
    """

    agent: str = DEFAULT_AGENT
    mode: str = "ffa"
    games: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        checks.at_least(1, self, "games")
        checks.seed(self)


def run(config: OfficialMatchConfig) -> None:
    """Plays the matches and prints each result and the slowest move.

    Raises:
      ValueError: the official environment is not installed, or the agent is none for it.
    """
    try:
        official, base = importlib.import_module("pommerman"), importlib.import_module("pommerman.agents")
    except ImportError:
        raise ValueError(
            "pommerman is not installed: this plays in the official environment, MultiAgentLearning/playground"
        ) from None
    logging.basicConfig(format="%(message)s")
    LOG.setLevel(logging.INFO)
    joined: Any = type("Ours", (OfficialAgent, base.BaseAgent), {})  # matches take agents of the official class alone
    teams = teams_of(jaxgames.make("pommerman", config.mode))
    ours = [joined(config.agent, config.mode, seed=config.seed + number) for number in range(len(own_seats(teams, 0)))]
    wins = 0
    for number in range(config.games):
        first = number % len(teams)
        seats = own_seats(teams, first)
        players = [base.SimpleAgent() for _ in teams]
        for agent, seat in zip(ours, seats, strict=True):
            players[seat] = agent
        environment = official.make(ours[0].game.config.name, players)
        seen, over, rewards, info = environment.reset(), False, [0] * len(teams), {}
        while not over:
            seen, rewards, over, info = environment.step(environment.act(seen))
        slowest = max(agent.slowest for agent in ours)
        wins += rewards[first] > 0
        told = (
            f"game {number}: seats {seats}, rewards {rewards}, {info.get('result')}; slowest move so far {1000 * slowest:.0f} ms"
        )
        print(told, flush=True)
        environment.close()
    print(f"{wins} of {config.games} games won")


def own_seats(teams: Sequence[int], first: int) -> tuple[int, ...]:
    """Gives the seats of the team of seat `first`, that one first."""
    turned = [(first + number) % len(teams) for number in range(len(teams))]
    return tuple(seat for seat in turned if teams[seat] == teams[first])


class OfficialAgent:
    """An agent with the methods of the official class, for one seat. It plays by what it is handed and nothing more.

    The official environment takes subclasses of its own class: `class Ours(OfficialAgent, pommerman.agents.BaseAgent)`.

    Attributes:
      slowest: seconds of the slowest move since the warm-up.
    """

    _character: Any  # of the official class: the piece on the board

    def __init__(self, spec: str = DEFAULT_AGENT, mode: str = "ffa", *, seed: int = 0) -> None:
        """Makes the agent and compiles it; the log tells when that begins and ends (INFO).

        Args:
          spec: an agent as on command lines, one that plays by what it observes: sp_mcts, tp_mcts, modelled_fdts, follower.
          mode: the variant that will be played.
          seed: of everything.

        Raises:
          ValueError: there is no such agent or variant, or the agent is shown the full state.
        """
        super().__init__()
        if not runtime.backend_is_running():
            runtime.prepare()
        self._pieces = self.__dict__.get("_character")  # the official class makes a piece of this class for each match
        self.game: Any = jaxgames.make("pommerman", mode)
        self.agent: Agent = agents.make(spec, self.game)
        if self.agent.sees_state:
            needs = "needs" if self.agent.uses_hidden else "plays by its view, but ours reads that, for speed, from"
            raise ValueError(f"agent={spec!r}: {needs} the full state; take one that is shown what it observes, such as sp_mcts")
        self._key, self._moves, self._memory = jax.random.key(seed), 0, self.agent.init(1)
        self._act, self._reset = jax.jit(self.agent.act), jax.jit(self.agent.reset)
        self.slowest, self._step, self._was_slow = 0.0, -1, False
        for note in agents.notes([spec], self.game):
            LOG.warning(note)
        begun = time.perf_counter()
        LOG.info("compiling %s: seconds where it was compiled before, else a minute or more", spec)
        self._warm_up(self.game)
        LOG.info("compiled %s after %.0f s", spec, time.perf_counter() - begun)

    def _warm_up(self, game: Game) -> None:
        state = game.init(self._key)
        seen: Any = game.observe(state, jnp.int32(0))
        for _ in range(2):  # the second time the memory is one that was compiled
            self._move(observation_dict(self.game.config, seen))
        self.episode_end(0)

    def init_agent(self, id: int, game_type: Any) -> None:
        """Begins a match; the seat is read from what is observed."""
        begin = getattr(super(), "init_agent", None)
        if begin is not None:
            self._character = self._pieces
            begin(id, game_type)
        self.episode_end(0)

    def act(self, obs: Mapping[str, Any], action_space: Any = None) -> int | list[int]:
        """Chooses a move: an int, in radio mode a list of a move and two words.

        Whatever goes wrong is logged, and the move is Stop, which is always legal; the agent remembers that it has stopped. The
        first move of a match that takes longer than 100 ms, which competitions allow, is logged as a warning.

        Args:
          obs: the official dictionary.
          action_space: not used.
        """
        del action_space
        begun = time.perf_counter()
        try:
            move = self._move(obs)
        except ValueError as error:
            LOG.error("no move was found, the agent stops for one step: %s", " ".join(str(error).split()))
            move = self._stop()
        except Exception:  # a match must go on, whatever has been handed in
            LOG.exception("no move was found, the agent stops for one step")
            move = self._stop()
        self._note_time(time.perf_counter() - begun)
        return move

    def _note_time(self, seconds: float) -> None:
        """Keeps the slowest move, and warns of the first one of a match that was too slow."""
        self.slowest = max(self.slowest, seconds)
        if seconds > _ALLOWED and not self._was_slow:
            self._was_slow = True
            took = f"{1000 * seconds:.0f} ms: must be at most {1000 * _ALLOWED:.0f}"
            LOG.warning("a move took %s; take fewer simulations. More slow moves of this match are not told", took)

    def _move(self, obs: Mapping[str, Any]) -> int | list[int]:
        observation = observation_from_dict(self.game.config, obs)
        if int(observation.step_count) <= self._step:  # the last match was broken off, of which nobody is told
            self.episode_end(0)
        self._step = int(observation.step_count)
        views = jax.tree.map(lambda leaf: leaf[None], observation)
        keys = jax.random.fold_in(self._key, self._moves)[None]
        seats, active = jnp.asarray(observation.seat)[None], jnp.ones(1, bool)
        actions, self._memory = self._act(self.agent.params, keys, self._memory, views, seats, active)
        self._moves += 1
        everyone = [int(actions[0])] * self.game.num_players
        return to_official_actions(self.game.config, everyone)[0]

    def _stop(self) -> int | list[int]:
        self._memory = believed.acted(self._memory, jnp.full(1, self.game.pass_action, jnp.int32))
        return [_STOP, 0, 0] if self.game.config.has_messages else _STOP

    def episode_end(self, reward: Any) -> None:
        """Forgets the match that is over."""
        del reward
        self._memory, self._step, self._was_slow = self._reset(self._memory, jnp.ones(1, bool)), -1, False

    def shutdown(self) -> None:
        """Nothing is left to be closed."""
