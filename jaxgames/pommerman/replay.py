"""Replays recorded games of the official environment, and its SimpleAgents' recorded decisions.

Every field of a file takes part: states, rewards, end and result of each step are computed again from the state before and
the actions; observations and messages from the states; the rest is checked for what it can be (see `recording`). What cannot be
noticed: an action with the same effect as the recorded one, in particular of a dead agent, and words of a dead agent.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.pommerman import recording, rules, simple_cases
from jaxgames.pommerman.arrays import STATE_FIELDS, from_arrays, impossible_facts, sort_bombs, to_arrays
from jaxgames.pommerman.config import PommermanConfig, preset
from jaxgames.pommerman.constants import Result
from jaxgames.pommerman.observation import Observation, observe
from jaxgames.pommerman.official_actions import join_words
from jaxgames.pommerman.official_observation import MESSAGE_FIELD, OBSERVATION_FIELDS, observations_to_arrays
from jaxgames.pommerman.recording import SENT_FIELD, config_of
from jaxgames.pommerman.state import State
from jaxgames.replay import Arrays, BadRecording, Findings, any_in_row

BATCH = 1024  # states per call, the last one padded: one compilation per variant
DRAWS = 200  # decisions of our SimpleAgent per recorded case

_BOMB_COLUMNS = ("row", "column", "owner", "life", "blast strength", "direction")
_AGENT_COLUMNS = ("row", "column", "alive", "ammo", "blast strength", "can_kick")


def replay(arrays: Arrays, findings: Findings) -> int:
    """Replays what one file holds.

    Args:
      arrays: all arrays of the file.
      findings: takes every difference.

    Returns:
      How many transitions, or decisions of SimpleAgents, have been checked.

    Raises:
      BadRecording: the arrays are no recording, or lack fields, or have another form.
    """
    known: tuple[str, ...]
    if recording.is_recording(arrays):
        known, check = recording.ALL_FIELDS, replay_games
    elif simple_cases.is_cases(arrays):
        known, check = tuple(simple_cases.SHAPES), replay_cases
    else:
        raise BadRecording(f"no Pommerman recording: has {', '.join(sorted(arrays)) or 'no arrays'}")
    unknown = sorted(set(arrays) - set(known))
    if unknown:
        findings.remarks.append(f"not checked, as unknown: {', '.join(unknown)}")
    return check(arrays, findings)


def replay_cases(arrays: Arrays, findings: Findings, draws: int = DRAWS) -> int:
    """Compares our SimpleAgent with recorded decisions; see `interop_simple`."""
    from jaxgames.pommerman.interop_simple import check_simple_cases  # slow to compile, needed only here

    simple_cases.check_form(arrays)
    sound = np.flatnonzero(simple_cases.check_consistency(arrays, findings))
    if len(sound):
        _, mismatches = check_simple_cases({name: array[sound] for name, array in arrays.items()}, draws=draws)
        for mismatch in mismatches:
            findings.add(f"case {sound[mismatch.index]}: {mismatch.field}: {mismatch.description}")
    return len(arrays["board"])


def replay_games(arrays: Arrays, findings: Findings) -> int:
    """Replays recorded games; returns the number of transitions."""
    mode = recording.mode_of(arrays)
    standard = preset(mode)
    usable = recording.check_layout(arrays, findings)
    recording.check_kinds(mode, arrays, usable, findings)
    recording.check_values(standard, arrays, findings)

    possible = np.ones(len(arrays["s_board"]), bool)
    spoken = np.zeros((len(possible), standard.num_players, 2), np.int8)
    for config, episodes in _by_config(mode, arrays, usable).items():
        rows = _Rows.of(arrays, episodes)
        for fact, wrong in impossible_facts(config, {name: arrays[name][rows.states] for name in STATE_FIELDS}):
            for state in rows.states[any_in_row(wrong)]:
                findings.add(f"state row {state}: impossible: {fact}")
                possible[state] = False
        _replay_transitions(config, arrays, rows.only(possible), spoken, findings)
    if mode in ("team", "radio"):
        _replay_observations(mode, arrays, usable, possible, spoken, findings)
    return len(arrays["a_action"])


def _by_config(mode: str, arrays: Arrays, usable: np.ndarray) -> dict[PommermanConfig, list[int]]:
    """Sorts the episodes that can be replayed by variant; those of no known one are played in the mode's standard one."""
    groups: dict[PommermanConfig, list[int]] = {}
    for episode in np.flatnonzero(usable):
        config = config_of(mode, int(arrays["ep_kind"][episode]), int(arrays["ep_max_blast"][episode]))
        groups.setdefault(config or preset(mode), []).append(int(episode))
    return groups


@dataclasses.dataclass(frozen=True)
class _Rows:
    """The rows of some episodes.

    Attributes:
      states: int [R], all their states.
      before, transitions, episodes: int [T], of every transition the state row before it, its own row, its episode.
    """

    states: np.ndarray
    before: np.ndarray
    transitions: np.ndarray
    episodes: np.ndarray

    @staticmethod
    def of(arrays: Arrays, episodes: list[int]) -> _Rows:
        length = arrays["ep_len"][episodes].astype(np.int64)
        state0, trans0 = (arrays[name][episodes].astype(np.int64) for name in ("ep_state0", "ep_trans0"))
        within = np.concatenate([np.arange(n) for n in length])
        before = np.repeat(state0, length) + within
        return _Rows(np.union1d(before, before + 1), before, np.repeat(trans0, length) + within, np.repeat(episodes, length))

    def only(self, possible: np.ndarray) -> _Rows:
        """Leaves out transitions that start in an impossible state."""
        kept = possible[self.before]
        return dataclasses.replace(
            self, before=self.before[kept], transitions=self.transitions[kept], episodes=self.episodes[kept]
        )


def _replay_transitions(config: PommermanConfig, arrays: Arrays, rows: _Rows, spoken: np.ndarray, findings: Findings) -> None:
    """Plays every transition from the recorded state before it; writes the messages sent into `spoken` [S, P, 2]."""
    sent = arrays.get(SENT_FIELD)
    for at in _chunks(len(rows.before)):
        before, transition, episode = rows.before[at], rows.transitions[at], rows.episodes[at]
        words = np.zeros((*before.shape, config.num_players, 2), np.int8) if sent is None else sent[transition]
        moves = np.clip(arrays["a_action"][transition], 0, None)
        state = from_arrays(config, {name: arrays[name][before] for name in STATE_FIELDS})
        after = step_batch(config, state, join_words(config, moves, words))
        name = functools.partial(_name_row, transition, before, episode, arrays["s_step"])
        expected = to_arrays(config, after)
        recorded = sort_bombs({field: arrays[field][before + 1] for field in STATE_FIELDS})
        for field in STATE_FIELDS:
            findings.compare(field, recorded[field], expected[field], name, _PLACES.get(field, _no_place))
        rewards = np.stack(after.seat_rewards, axis=-1)
        result = np.where(after.terminated, np.where(rewards.max(-1) > 0, Result.WIN, Result.TIE), Result.INCOMPLETE)
        for field, value in (("a_reward", rewards), ("a_done", after.terminated), ("a_result", result)):
            findings.compare(field, arrays[field][transition], np.asarray(value, np.int8), name, _PLACES.get(field, _no_place))
        if config.has_messages:
            spoken[before + 1] = np.array(after.messages).transpose(2, 0, 1)


def _replay_observations(
    mode: str, arrays: Arrays, usable: np.ndarray, possible: np.ndarray, spoken: np.ndarray, findings: Findings
) -> None:
    """Computes what every agent sees in every state."""
    for config, episodes in _by_config(mode, arrays, usable).items():
        states = _Rows.of(arrays, episodes).states
        states = states[possible[states]]
        for at in _chunks(len(states)):
            rows = states[at]
            state = from_arrays(config, {name: arrays[name][rows] for name in STATE_FIELDS})
            if config.has_messages:
                messages: Any = tuple((words[:, 0], words[:, 1]) for words in spoken[rows].swapaxes(0, 1))
                state = dataclasses.replace(state, messages=messages)
            fields = (*OBSERVATION_FIELDS, MESSAGE_FIELD) if config.has_messages else OBSERVATION_FIELDS
            for seat in range(config.num_players):
                expected = observations_to_arrays(config, observe_batch(config, state, seat))
                name = functools.partial(_name_view, rows, seat)
                for field in fields:
                    findings.compare(field, arrays[field][rows, seat], expected[field], name, _PLACES.get(field, _cell))


def _chunks(count: int) -> list[slice]:
    return [slice(start, start + BATCH) for start in range(0, count, BATCH)]


@functools.cache
def _compiled_step(config: PommermanConfig) -> Callable[..., State]:
    return jax.jit(jax.vmap(functools.partial(rules.step, config)))


@functools.cache
def _compiled_observe(config: PommermanConfig) -> Callable[..., Observation]:
    return jax.jit(jax.vmap(functools.partial(observe, config), in_axes=(0, None)))


def step_batch(config: PommermanConfig, state: State, actions: np.ndarray) -> State:
    """Plays one step of up to BATCH games, compiled once per variant whatever their number.

    Args:
      config: the variant.
      state: leaves [S], S <= BATCH.
      actions: int32 [S, P].

    Returns:
      leaves [S], numpy.
    """
    count = len(actions)
    after: State = _without_padding(_compiled_step(config)(*_with_padding((state, actions), count)), count)
    return after


def observe_batch(config: PommermanConfig, state: State, seat: int) -> Observation:
    """Gives what one seat sees in up to BATCH games, as `step_batch`. Leaves [S], numpy."""
    count = len(np.asarray(state.step_count))
    seen: Observation = _without_padding(_compiled_observe(config)(_with_padding(state, count), jnp.int32(seat)), count)
    return seen


def _with_padding(tree: Any, count: int) -> Any:
    def padded(leaf: Any) -> np.ndarray:
        array = np.asarray(leaf)
        return np.concatenate([array, np.broadcast_to(array[:1], (BATCH - count, *array.shape[1:]))])

    return jax.tree.map(padded, tree)


def _without_padding(tree: Any, count: int) -> Any:
    return jax.tree.map(lambda leaf: np.asarray(leaf)[:count], tree)


# --- rows and elements in words ----------------------------------------------------------------------------------------


def _name_row(transition: np.ndarray, before: np.ndarray, episode: np.ndarray, step: np.ndarray, row: int) -> str:
    states = f"state row {before[row]} (step {step[before[row]]}) to {before[row] + 1}"
    return f"transition row {transition[row]} (episode {episode[row]}), {states}"


def _name_view(states: np.ndarray, seat: int, row: int) -> str:
    return f"state row {states[row]}, agent {seat}"


def _no_place() -> str:
    return ""


def _cell(row: int, column: int) -> str:
    return f"of cell ({row}, {column})"


_PLACES: dict[str, Callable[..., str]] = {
    **dict.fromkeys(("s_board", "s_items", "s_flames"), _cell),
    "s_bombs": lambda slot, column: f"of bomb {slot} from the top left, {_BOMB_COLUMNS[column]}",
    "s_agents": lambda seat, column: f"of agent {seat}, {_AGENT_COLUMNS[column]}",
    "a_reward": lambda seat: f"of agent {seat}",
    MESSAGE_FIELD: lambda word: f"word {word}",
}
