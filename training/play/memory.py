"""Whether games between agents fit into memory, known before anything is compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax

from jaxgames import processes, runtime, shapes
from jaxgames.agent import Agent
from jaxgames.game import Game, init_all_information, is_hidden
from search.planner import size_in_bytes


def check(
    game: Game,
    agents: Sequence[Agent],
    lanes: int,
    *,
    other: tuple[int, str] = (0, ""),
    games: int | None = None,
    setting: str = "batch",
    what: str = "the match",
) -> None:
    """Raises a ValueError when games between agents cannot fit into memory; compiles nothing.

    The message begins with the setting that takes the most, or that must be smaller even where lanes are few. Of several
    processes all must call, and where games do not fit in one, all raise.

    Args:
      game: what they play.
      agents: who plays; those that are the same object are asked together.
      lanes: games at a time, over all devices, at most.
      other: bytes needed beside, and the setting that says how many, with its value.
      games: how many are played in all; fewer than lanes take the memory of so many, but a batch whose states alone do not fit is
        refused all the same. None: more.
      setting: the setting that says how many lanes, for the message.
      what: what needs the memory, for the message.
    """
    processes.agree(lambda: _check_here(game, agents, lanes, other, games, setting, what))


def _check_here(
    game: Game, agents: Sequence[Agent], lanes: int, other: tuple[int, str], games: int | None, setting: str, what: str
) -> None:
    """Does what `check` says for this process, with the same arguments."""
    free = runtime.free_memory()
    if free is None:
        return
    given = f"{setting}={lanes}"
    state = _bytes_of_game(game, informed=not all(agent.sees_state for agent in agents))
    if lanes * state > 0.9 * free * processes.count():
        told = f"the states of {what} need {lanes * state / 1e9:.1f} GB and {free / 1e9:.1f} GB are free"
        raise ValueError(f"{given}: {told}; take at most {setting}={int(0.8 * free * processes.count() / state)}")
    if games is not None and games < lanes:
        lanes, given = games, f"games={games}"
    groups = [(agent, sum(one is agent for one in agents)) for agent in {id(agent): agent for agent in agents}.values()]

    def needed(lanes: int) -> list[int]:
        """By group of equal agents, on one device; for the states last."""
        return [*(_bytes_of(agent.init, agent.search_bytes, count * lanes) for agent, count in groups), lanes * state]

    here = jax.local_device_count()
    devices, beside = here * processes.count(), other[0] // processes.count()
    total = here * sum(needed(-(-lanes // devices))) + beside
    if total <= 0.9 * free:
        return
    *by_agent, states = needed(1)
    lane = sum(by_agent) + states
    fits = int((0.8 * free - beside) / (here * lane)) * devices
    largest = max(by_agent, default=0)
    search = groups[by_agent.index(largest)][0].name if largest else ""
    takes_most = 2 * beside > total if fits >= 1 else beside > lane or not search
    if takes_most:
        head, advice = other[1] or given, "less" + (f", or at most {setting}={fits}" if fits >= 1 else "")
    elif fits >= 1:
        head, advice = given, f"at most {setting}={fits}" + (f" or a smaller search than {search}" if largest > states else "")
    else:
        head, advice = search, "a smaller search"
    raise ValueError(f"{head}: {what} needs {total / 1e9:.1f} GB and {free / 1e9:.1f} GB are free; take {advice}")


def _bytes_of_game(game: Game, *, informed: bool) -> int:
    """Gives the bytes of one game: its state, once for each player, and what players know where one plays by that."""
    states = shapes.batched(shapes.state_of(game), 1)
    size = game.num_players * size_in_bytes(states)
    if informed and is_hidden(game):
        size += size_in_bytes(jax.eval_shape(functools.partial(init_all_information, game), states))
    return size


@functools.lru_cache(maxsize=64)
def _bytes_of(init: Callable[[int], Any], search_bytes: Callable[[int], int] | None, lanes: int) -> int:
    """Gives the bytes that an agent keeps for so many lanes, and takes up while it thinks."""
    searched = search_bytes(lanes) if search_bytes else 0
    try:
        return searched + size_in_bytes(jax.eval_shape(lambda: init(lanes)))
    except ValueError:  # more lanes than a table has room for
        if lanes == 1:
            raise
        return searched + lanes * size_in_bytes(jax.eval_shape(lambda: init(1)))
