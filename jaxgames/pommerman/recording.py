"""The files of recorded games: which arrays they have, and whether they agree with themselves.

With S states, T transitions and E episodes in a file:

    s_*           the states, see `arrays`
    a_action      int8 [T, P]      moves of all agents, whatever was drawn for dead ones
    a_reward      int8 [T, P]      rewards returned by the step
    a_done        uint8 [T]        done returned by the step
    a_result      int8 [T]         a `Result`
    ep_kind       uint8 [E]        an `EpisodeKind`
    ep_state0, ep_trans0, ep_len int32 [E]   first state row, first transition row, number of transitions (one less than states)
    ep_max_blast  int8 [E]         cap of the blast strength
    o_board, o_blast, o_life, o_dir, o_flame uint8 [S, P, N, N]   team and radio: what every agent sees
    o_message     int8 [S, P, 2]   radio: the words seen
    a_message     int8 [T, P, 2]   radio: the words sent
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping

import numpy as np

from jaxgames.pommerman.arrays import STATE_FIELDS, state_shapes
from jaxgames.pommerman.config import PommermanConfig, preset
from jaxgames.pommerman.constants import NUM_MOVES, NUM_WORDS, START_AMMO, START_BLAST_STRENGTH, Cell, Move
from jaxgames.pommerman.official_observation import MESSAGE_FIELD, OBSERVATION_FIELDS
from jaxgames.replay import Arrays, BadRecording, Findings, any_in_row, check_form

TRANSITION_FIELDS = ("a_action", "a_reward", "a_done", "a_result")
EPISODE_FIELDS = ("ep_kind", "ep_state0", "ep_trans0", "ep_len", "ep_max_blast")
SENT_FIELD = "a_message"
ALL_FIELDS = (*STATE_FIELDS, *TRANSITION_FIELDS, *EPISODE_FIELDS, *OBSERVATION_FIELDS, MESSAGE_FIELD, SENT_FIELD)


class EpisodeKind(enum.IntEnum):
    """Where the actions and the first state of an episode come from."""

    RANDOM = 0
    SIMPLE = 1
    KICK = 2
    CONFLICT = 3
    TEAM_SIMPLE = 4
    TEAM_RANDOM = 5
    RADIO_SIMPLE = 6
    RADIO_RANDOM = 7
    COLLAPSE = 8


TEAM_KINDS = (EpisodeKind.TEAM_SIMPLE, EpisodeKind.TEAM_RANDOM)
RADIO_KINDS = (EpisodeKind.RADIO_SIMPLE, EpisodeKind.RADIO_RANDOM)
SIMPLE_KINDS = (EpisodeKind.SIMPLE, EpisodeKind.TEAM_SIMPLE, EpisodeKind.RADIO_SIMPLE)
RANDOM_KINDS = (EpisodeKind.RANDOM, EpisodeKind.TEAM_RANDOM, EpisodeKind.RADIO_RANDOM)
GENERATED_KINDS = (*SIMPLE_KINDS, EpisodeKind.RANDOM)  # start on a board of the generator; some other random ones do not

# SimpleAgents nearly never walk against a wall and stop when dead; random agents do the one with at least every sixth move,
# the other with every sixth action. A claim is refuted where chance would need a miracle for it.
MOST_BUMPS_OF_SIMPLE, LEAST_BUMPS_OF_RANDOM, ENOUGH_MOVES = 0.1, 0.03, 20
CHANCE_OF_NO_BUMP, CHANCE_OF_STOP, MIRACLE = 0.85, 0.25, 1e-6
MOST_CONFLICT_STEPS = 5
LEAST_KICK_AMMO = 3


def is_recording(arrays: Mapping[str, np.ndarray]) -> bool:
    """Says whether the names are those of recorded games rather than of something else."""
    return any(name in arrays for name in ALL_FIELDS)


def mode_of(arrays: Mapping[str, np.ndarray]) -> str:
    """Derives the mode from what a file holds: "ffa", "team", "radio" or "one_vs_one".

    Raises:
      BadRecording: fields are missing, or have another form than they should.
    """
    for name in (*STATE_FIELDS, *TRANSITION_FIELDS, *EPISODE_FIELDS):
        _need(arrays, name)
    kinds = arrays["ep_kind"].ravel()
    kinds = kinds.astype(np.int64) if np.issubdtype(kinds.dtype, np.integer) else np.zeros(1, np.int64)
    usual = np.bincount(np.clip(kinds, 0, 99)).argmax() if len(kinds) else EpisodeKind.RANDOM
    more: tuple[str, ...]
    if SENT_FIELD in arrays or MESSAGE_FIELD in arrays or usual in RADIO_KINDS:
        mode, more = "radio", (*OBSERVATION_FIELDS, MESSAGE_FIELD, SENT_FIELD)
    elif usual in TEAM_KINDS or any(name in arrays for name in OBSERVATION_FIELDS):
        mode, more = "team", OBSERVATION_FIELDS
    else:
        agents = arrays["s_agents"].shape
        mode, more = "one_vs_one" if len(agents) == 3 and agents[1] == 2 else "ffa", ()
    for name in more:
        _need(arrays, name)
    config = preset(mode)
    board, seats = (config.board_size, config.board_size), config.num_players
    shapes: dict[str, tuple[str | int, ...]] = {name: ("S", *shape) for name, shape in state_shapes(config).items()}
    shapes |= dict.fromkeys(EPISODE_FIELDS, ("E",))
    shapes |= {"a_action": ("T", seats), "a_reward": ("T", seats), "a_done": ("T",), "a_result": ("T",)}
    shapes |= dict.fromkeys(OBSERVATION_FIELDS, ("S", seats, *board))
    shapes |= {MESSAGE_FIELD: ("S", seats, 2), SENT_FIELD: ("T", seats, 2)}
    given = {name: shape for name, shape in shapes.items() if name in arrays}
    check_form(arrays, given, {"S": "s_board", "T": "a_action", "E": "ep_len"})
    return mode


def _need(arrays: Mapping[str, np.ndarray], name: str) -> None:
    if name not in arrays:
        raise BadRecording(f"{name}: missing")


def config_of(mode: str, kind: int, max_blast: int) -> PommermanConfig | None:
    """Gives the official configuration of an episode; None where there is none with this cap."""
    collapses = kind == EpisodeKind.COLLAPSE
    names: dict[tuple[str, bool], tuple[str, ...]] = {
        ("ffa", False): ("ffa",),
        ("ffa", True): ("ffa_collapse",),
        ("team", False): ("team", "team_open"),
        ("team", True): ("team_collapse",),
        ("radio", False): ("radio",),
        ("one_vs_one", False): ("one_vs_one",),
    }
    for name in names.get((mode, collapses), ()):
        if preset(name).max_blast_strength == max_blast:
            return preset(name)
    return None


def kinds_of(mode: str) -> tuple[EpisodeKind, ...]:
    """Gives the kinds of episodes that a mode may have."""
    if mode == "radio":
        return RADIO_KINDS
    if mode == "team":
        return (*TEAM_KINDS, EpisodeKind.COLLAPSE)
    if mode == "one_vs_one":
        return EpisodeKind.RANDOM, EpisodeKind.SIMPLE
    return tuple(kind for kind in EpisodeKind if kind not in (*TEAM_KINDS, *RADIO_KINDS))


def check_layout(arrays: Arrays, findings: Findings) -> np.ndarray:
    """Checks that the episodes cover all states and transitions, one after another.

    Returns:
      bool [E], episodes whose rows exist, so that they can be replayed.
    """
    state0, trans0, length = (arrays[name].astype(np.int64) for name in ("ep_state0", "ep_trans0", "ep_len"))
    states, transitions = len(arrays["s_board"]), len(arrays["a_action"])
    for name, first, after, total in (
        ("ep_state0", state0, state0 + length + 1, states),
        ("ep_trans0", trans0, trans0 + length, transitions),
    ):
        expected = np.concatenate([[0], after])
        for episode in np.flatnonzero(np.append(first, total) != expected):
            what = f"episode {episode}: {name}" if episode < len(first) else f"all episodes: end of {name} + ep_len"
            found = first[episode] if episode < len(first) else total
            findings.add(f"{what}: recorded {found}, expected {expected[episode]}, where the one before ends")
    for episode in np.flatnonzero(length < 1):
        findings.add(f"episode {episode}: ep_len: recorded {length[episode]}, must be >= 1")
    fits = (state0 >= 0) & (state0 + length < states) & (trans0 >= 0) & (trans0 + length <= transitions)
    return fits & (length >= 1)


def check_values(config: PommermanConfig, arrays: Arrays, findings: Findings) -> None:
    """Checks the ranges of what was drawn, which replaying cannot: actions and words of the dead have no effect."""
    for name, count in (("a_action", NUM_MOVES), (SENT_FIELD, NUM_WORDS)):
        if name in arrays and (name == "a_action" or config.has_messages):
            values = arrays[name].astype(np.int64)
            wrong = (values < 0) | (values >= count)
            for row in np.flatnonzero(any_in_row(wrong)):
                agent, value = np.argwhere(wrong[row])[0][0], values[row][wrong[row]][0]
                findings.add(f"transition row {row}: {name} of agent {agent}: recorded {value}, must be in 0..{count - 1}")


def check_kinds(mode: str, arrays: Arrays, usable: np.ndarray, findings: Findings) -> None:
    """Checks that first state and actions of each episode are such as its kind and blast cap say."""
    kinds, caps = arrays["ep_kind"].astype(np.int64), arrays["ep_max_blast"].astype(np.int64)
    for episode, (kind, cap) in enumerate(zip(kinds, caps, strict=True)):
        if kind not in kinds_of(mode):
            known = ", ".join(str(int(k)) for k in kinds_of(mode))
            findings.add(f"episode {episode}: ep_kind: recorded {kind}, must be one of {known} in mode {mode}")
        elif config_of(mode, int(kind), int(cap)) is None:
            findings.add(f"episode {episode}: ep_max_blast: recorded {cap}, which no configuration of mode {mode} has")
        elif usable[episode]:
            for fact in _unlike_its_kind(preset(mode), arrays, episode, EpisodeKind(kind)):
                findings.add(f"episode {episode}: ep_kind: recorded {kind} ({EpisodeKind(kind).name.lower()}), but {fact}")


def _unlike_its_kind(config: PommermanConfig, arrays: Arrays, episode: int, kind: EpisodeKind) -> Iterator[str]:
    """Tells in words what an episode of this kind cannot be."""
    first, length = int(arrays["ep_state0"][episode]), int(arrays["ep_len"][episode])
    state = {name: arrays[name][first] for name in STATE_FIELDS}
    step, bombs, agents = int(state["s_step"]), int(state["s_nbombs"]), state["s_agents"].astype(np.int64)
    if kind == EpisodeKind.CONFLICT:
        if bombs == 0 or length > MOST_CONFLICT_STEPS:
            yield f"it has {bombs} bombs at its start and {length} steps"
        return
    if bombs or np.any(state["s_flames"]):
        yield f"it starts with {bombs} bombs and {np.count_nonzero(state['s_flames'])} cells on fire"
    if (step > 0) != (kind == EpisodeKind.COLLAPSE):
        yield f"it starts at step {step}"
    if kind == EpisodeKind.KICK and agents[:, 3].min() < LEAST_KICK_AMMO:
        yield f"an agent starts with ammo {agents[:, 3].min()}"
    if kind in GENERATED_KINDS and not is_start(config, state):
        yield "its first state is none of the board generator"
    moves, bumps, dead_turns, dead_acts = _habits(config, arrays, episode)
    if kind in SIMPLE_KINDS and dead_acts:
        yield f"dead agents act {dead_acts} times"
    if moves >= ENOUGH_MOVES and kind in SIMPLE_KINDS and bumps > MOST_BUMPS_OF_SIMPLE * moves:
        yield f"{bumps} of {moves} moves are against walls"
    tame = not dead_acts and bumps <= LEAST_BUMPS_OF_RANDOM * moves
    if kind in RANDOM_KINDS and tame and CHANCE_OF_NO_BUMP**moves * CHANCE_OF_STOP**dead_turns < MIRACLE:
        yield f"{bumps} of {moves} moves are against walls, and the dead never act in {dead_turns} turns"


def is_start(config: PommermanConfig, state: Mapping[str, np.ndarray]) -> bool:
    """Says whether one recorded state is a start state of the board generator, as far as it can be counted."""
    board = state["s_board"].astype(np.int64)
    wood, agents = board == Cell.WOOD, state["s_agents"].astype(np.int64)
    corners = [[row, column, 1, START_AMMO, START_BLAST_STRENGTH, 0] for row, column in config.corners]
    counts = np.array([np.count_nonzero(board == Cell.RIGID), np.count_nonzero(wood), np.count_nonzero(state["s_items"])])
    walls = np.where(board <= Cell.WOOD, board, 0)
    return bool(
        np.array_equal(counts, [config.num_rigid, config.num_wood, config.num_items])
        and np.array_equal(agents, corners)
        and np.array_equal(walls, walls.T)
        and np.all(wood | (state["s_items"] == 0))
    )


def _habits(config: PommermanConfig, arrays: Arrays, episode: int) -> tuple[int, int, int, int]:
    """Counts moves of the living, those against walls or over the border, actions of the dead, and those that are not stop."""
    first, start, length = (int(arrays[name][episode]) for name in ("ep_state0", "ep_trans0", "ep_len"))
    agents = arrays["s_agents"][first : first + length].astype(np.int64)
    actions = arrays["a_action"][start : start + length].astype(np.int64)
    alive = agents[..., 2] == 1
    moving = alive & (actions >= Move.UP) & (actions <= Move.RIGHT)
    walls = np.isin(arrays["s_board"][first : first + length], (Cell.RIGID, Cell.WOOD))
    padded = np.pad(walls, ((0, 0), (1, 1), (1, 1)), constant_values=True)
    row = agents[..., 0] + 1 - (actions == Move.UP) + (actions == Move.DOWN)
    column = agents[..., 1] + 1 - (actions == Move.LEFT) + (actions == Move.RIGHT)
    inside = (row >= 0) & (row <= config.board_size + 1) & (column >= 0) & (column <= config.board_size + 1)
    row, column = np.where(inside, row, 0), np.where(inside, column, 0)
    bumps = moving & padded[np.arange(length)[:, None], row, column]
    return int(moving.sum()), int(bumps.sum()), int((~alive).sum()), int((~alive & (actions != Move.STOP)).sum())
