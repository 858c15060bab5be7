"""Plays whole games between any agents, many at a time in one compiled loop, and counts how they end.

Exactly the asked number of games is played, each to its end: stopping at a time limit would favour short games. A lane whose
game is over takes the next one; one whose agents have to think waits until all have to (`Agent.ready`). Game `i` depends on
`fold_in(key, i)` alone, so neither the batch size nor the number of devices changes any game (but for the last digits of
networks).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh, PartitionSpec

from jaxgames import checks, processes, runtime
from jaxgames.agent import Agent
from jaxgames.game import Game
from search.arguments import told
from search.planner import Planner, as_agent
from training.play.game_loop import Loop, Match
from training.play.lanes import PLAY, START

STEPS_PER_CALL = 16
MOST = 2**15 - 1  # steps and actions, which are kept as int16
SEATINGS = ("drawn", "fixed", "rotated")
_NONE: Any = None


@dataclasses.dataclass(frozen=True)
class Games:
    """How games ended. N games, P agents; column `k` belongs to `agents[k]`, wherever it sat.

    Attributes:
      outcomes: int8 [N, P], +1 win, 0 draw, -1 loss.
      survived: bool [N, P], the agent was in play until the last step began.
      seats: int8 [N, P], where it sat.
      lengths: int32 [N], steps.
      moves: int [P], how often each agent was asked.
      actions: int16 [R, T, P] by seat, of the first R games, as far as recorded; -1 after the end.
      memories: the agents' memories at the end, by group of equal agents, leading axis devices x lanes.
      seating, start_of, common: as given to `play`.
      first: the number of the game in the first row, as given to `play`.
    """

    outcomes: np.ndarray
    survived: np.ndarray
    seats: np.ndarray
    lengths: np.ndarray
    moves: np.ndarray
    actions: np.ndarray
    memories: Any = None
    seating: str = "drawn"
    first: int = 0
    start_of: Callable[[Array, Array], Any] | None = None
    common: int = 1


@dataclasses.dataclass(frozen=True)
class Progress:
    """What a progress report is told: counts so far.

    Attributes:
      games: finished games.
      wins, draws, losses: of the first agent, by the released counting.
      moves: of the first agent.
      steps: that every lane has made; until the first game is over, how far all of them are.
    """

    games: int
    wins: int
    draws: int
    losses: int
    moves: int
    steps: int


@dataclasses.dataclass(frozen=True)
class Watched:
    """The recorded games as far as they have been played. R games, P agents.

    Attributes:
      actions: int16 [R, T, P] by seat; -1 where no step has been played.
      seats: int8 [R, P], of each agent; -1 where a game has not begun.
      first: the number of the game in the first row.
    """

    actions: np.ndarray
    seats: np.ndarray
    first: int = 0


def play(
    game: Game,
    agents: Sequence[Agent | Planner],
    key: Array,
    num_games: int,
    *,
    batch_size: int = 64,
    seating: str = "drawn",
    record: int = 0,
    mesh: Mesh | None = None,
    report: Callable[[Progress], None] | None = None,
    watch: Callable[[Watched], None] | None = None,
    start_of: Callable[[Array, Array], Any] | None = None,
    common: int = 1,
    first: int = 0,
) -> Games:
    """Plays games to their end.

    Args:
      game: the game.
      agents: one per player, agents or planners as they are; those that are the same object are asked together.
      key: a typed random key; game `i` uses `fold_in(key, i)`.
      num_games: how many.
      batch_size: lanes in all, split over the devices; fewer if there are fewer games.
      seating: drawn (for each game; teams stay together), fixed (agent `k` sits in seat `k`) or rotated (games P * i to
        P * i + P - 1 have one start state, and agents move on by a seat from each of them to the next).
      record: so many of the first games are recorded (`replay` turns them into states).
      mesh: one axis "data"; None: all devices.
      report: called when all is compiled, and then now and then with the counts so far.
      watch: called as `report` is, with the recorded games so far.
      start_of: `start_of(key, number) -> state` of game `number` (int32 []), hashable; None: what the game draws.
      common: so many games in a row are played with the same random numbers, so that they can be compared.
      first: the number of the first game. Games 0 to 99 and then 100 to 399 are the same as 0 to 399.

    Raises:
      ValueError: for what is no game, agent or key, a wrong number of agents, games or lanes, or a game with more steps or
        actions than can be kept.
    """
    _check_agents(agents, game)
    _check_key(key)
    num_games, batch_size = checks.count("num_games", num_games, 1), checks.count("batch_size", batch_size, 1)
    common, record, first = checks.count("common", common, 1), checks.count("record", record, 0), checks.count("first", first, 0)
    if game.max_steps > MOST or (record and game.num_actions > MOST + 1):
        has = f"max_steps={game.max_steps}" if game.max_steps > MOST else f"num_actions={game.num_actions}"
        raise ValueError(f"game={game.name!r}: has {has}, and games are kept with numbers up to {MOST}")
    if seating not in SEATINGS:
        raise ValueError(f"seating={seating!r}: {checks.one_of(seating, SEATINGS)}")
    mesh = mesh or runtime.data_mesh()
    num_devices = mesh.devices.size
    per_device = -(-num_games // num_devices)
    lanes = min(-(-batch_size // num_devices), per_device)
    recorded = min(-(-record // num_devices), per_device)
    groups = _group(agents)
    params = tuple(agent.params for agent, _ in groups)
    static = tuple((agent._replace(params=None), indices) for agent, indices in groups)
    loop = Loop(game, static, num_games, num_devices, per_device, lanes, recorded, seating, start_of, common, first)
    start, advance = _compiled(loop, mesh)
    carry = start(key)
    done, steps, made = -1, 0, 0  # the first call only compiles
    while done < num_games:
        carry, counts = advance(params, key, carry, np.int32(steps))
        made += steps
        steps = STEPS_PER_CALL
        done, wins, draws, moves = (int(x) for x in processes.fetch(counts).sum(0))
        if report:
            report(Progress(done, wins, draws, done - wins - draws, moves, made))
        if watch:
            watch(_watched(carry, loop, record))
    return _gather(carry, loop, record)


def _check_key(key: Any) -> None:
    kind = getattr(key, "dtype", None)
    if kind is None or not jnp.issubdtype(kind, jax.dtypes.prng_key) or key.shape:
        came = f"={told(key)}" if kind is None else f" of shape {list(key.shape)} and type {kind}"
        raise ValueError(f"key{came}: must be one typed random key, such as jax.random.key(0)")


def _check_agents(agents: Any, game: Any) -> None:
    """Raises unless there is an agent or a planner for each player of a game."""
    if not hasattr(game, "num_players"):
        raise ValueError(f"game={told(game)}: must be a game, as jaxgames.make gives it")
    if isinstance(agents, Agent | Planner | str):
        called = agents if isinstance(agents, str) else agents.name
        raise ValueError(f"agents={called!r}: must be a list, one for each of the {game.num_players} players")
    for agent in agents:
        if not isinstance(agent, Agent | Planner):
            raise ValueError(f"agent={told(agent)}: must be an agent or a planner, as agents.make(name, game) gives it")
    if len(agents) != game.num_players:
        raise ValueError(f"{len(agents)} agents: {game.name} has {game.num_players} players")


@functools.lru_cache(maxsize=8)
def _compiled(loop: Loop, mesh: Mesh) -> tuple[Callable, Callable]:
    """Jits a loop once per set of agents: evaluating new parameters of the same agent again and again compiles nothing."""
    spread, same = PartitionSpec("data"), PartitionSpec()
    start = jax.jit(jax.shard_map(loop.start, mesh=mesh, in_specs=same, out_specs=spread, check_vma=False))
    advance = jax.jit(
        jax.shard_map(loop.advance, mesh=mesh, in_specs=(same, same, spread, same), out_specs=(spread, spread), check_vma=False),
        donate_argnums=(2,),
    )
    return start, advance


def bytes_of_results(game: Game, num_games: int, record: int) -> int:
    """Gives the bytes that `play` takes up for what it returns, but for the memories."""
    return 2 * (num_games * (3 * game.num_players + 1) + record * game.max_steps * game.num_players)


def _group(agents: Sequence[Agent | Planner]) -> list[tuple[Agent, tuple[int, ...]]]:
    """Puts equal agents together, planners made into agents: [(agent, indices)]."""
    groups: dict[int, list[int]] = {}
    for index, agent in enumerate(agents):
        groups.setdefault(next((i for i in groups if agents[i] is agent), index), []).append(index)
    return [(_as_agent(agents[first]), tuple(indices)) for first, indices in groups.items()]


def _as_agent(player: Agent | Planner) -> Agent:
    if not isinstance(player, Planner):
        return player
    planner = player._replace(metrics=_NONE)
    try:
        hash(planner)
    except TypeError:  # of a function that is an object of one's own: it is compiled in each call
        return as_agent(player)
    return _agent_of(planner)


@functools.lru_cache(maxsize=8)
def _agent_of(planner: Planner) -> Agent:
    """Makes one agent of a planner, so that playing with it again compiles nothing; without metrics it can be looked up."""
    return as_agent(planner)


def _watched(carry: Match, loop: Loop, record: int) -> Watched:
    """Gives the recorded games so far: seats of those at work are in their lanes, of the others in the results."""
    games = _gather(carry, loop, record)
    seats = np.where(games.lengths[:, None] > 0, games.seats, -1)[: len(games.actions)]
    number, sitting = processes.fetch((carry.lanes.number, carry.seats))
    number = number - loop.first
    for lane in np.flatnonzero(number < len(seats)):
        seats[number[lane]] = sitting[lane]
    return Watched(games.actions, seats, loop.first)


def _gather(carry: Match, loop: Loop, record: int) -> Games:
    """Brings the devices' results into the order of the games: the i-th was number i // D on device i % D."""

    def in_order(results: np.ndarray, count: int) -> np.ndarray:
        array = results.reshape(loop.num_devices, -1, *results.shape[1:])
        return np.swapaxes(array, 0, 1).reshape(-1, *results.shape[1:])[:count]

    found, actions, moves = processes.fetch((carry.results, carry.actions, carry.moves))
    results = in_order(found, loop.num_games)
    players = moves.shape[1]
    actions = actions.reshape(-1, loop.game.max_steps, players)
    return Games(
        outcomes=results[:, :players].astype(np.int8),
        survived=results[:, players : 2 * players] != 0,
        seats=results[:, 2 * players : 3 * players].astype(np.int8),
        lengths=results[:, -1].astype(np.int32),
        moves=moves.sum(0),
        actions=in_order(actions, min(record, loop.num_games)),
        memories=carry.memories,
        seating=loop.seating,
        first=loop.first,
        start_of=loop.start_of,
        common=loop.common,
    )


def replay(game: Game, key: Array, index: int, games: Games):
    """Rebuilds the states of a recorded game.

    Args:
      game: as given to `play`.
      key: as given to `play`.
      index: which of the games that were played, below `record`.
      games: what `play` returned.

    Returns:
      State with leaves [length + 1]: the start and the state after every step.

    Raises:
      ValueError: the game was not recorded.
    """
    if not 0 <= index < len(games.actions):
        raise ValueError(f"index={index}: must be below the {len(games.actions)} recorded games")
    number = games.first + index
    start = number // game.num_players * game.num_players if games.seating == "rotated" else number
    first = (jax.random.fold_in(jax.random.fold_in(key, start), START),) if games.start_of is None else (key, jnp.int32(number))
    play_key = jax.random.fold_in(jax.random.fold_in(key, number // games.common), PLAY)
    xs = (jnp.arange(game.max_steps), jnp.asarray(games.actions[index]))
    hashable: Any = game  # a frozen config decides what is compiled
    state, after = jax.device_get(_replayer(hashable, games.start_of)(first, play_key, xs))
    length = int(games.lengths[index])
    return jax.tree.map(lambda first, rest: np.concatenate([first[None], rest[:length]]), state, after)


@functools.lru_cache(maxsize=8)
def _replayer(game: Any, start_of: Callable | None) -> Callable:
    """Jits the replay of a game once for all games."""

    def run(first: tuple[Any, ...], play_key: Array, xs: tuple[Array, Array]) -> tuple[Any, Any]:
        def step(state, number_and_actions):
            number, actions = number_and_actions
            step_key = jax.random.fold_in(jax.random.fold_in(play_key, number), game.num_players)
            after = game.step(state, actions.astype(jnp.int32), step_key)
            return after, after

        start = (start_of or game.init)(*first)
        return start, jax.lax.scan(step, start, xs)[1]

    return jax.jit(run)
