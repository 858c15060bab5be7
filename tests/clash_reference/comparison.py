"""Both engines of Clash side by side: the same decks and actions, every field after every step, the first difference told.

`python -m tests.clash_reference.comparison --battles 1000` plays whole battles with all cards and prints how far they agree.
"""

from __future__ import annotations

import argparse
import dataclasses
import random
import sys
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jaxgames.clash import rules, setup, tick
from jaxgames.clash.config import ClashConfig
from jaxgames.clash.state import State
from tests.clash_reference.battle import WAIT, Battle, Settings
from tests.clash_reference.play import Snapshot, random_action, random_decks, snapshot
from tests.clash_reference.tables import CARDS, KING, MAX_ELIXIR, POSITIONS, UNITS, to_absolute

Actions = tuple[int, int]
SIDES = (0, 1)
ABSENT = "nothing"
STEPS_PER_MASK = 7  # all legal actions are compared that often: slow to work out
MOST_TOLD = 30  # of differences


def config_of(settings: Settings) -> ClashConfig:
    """The same settings for the engine of arrays; decks are drawn from all cards."""
    return ClashConfig(
        decks=((), ()),
        levels=settings.levels,
        start_elixir=settings.start_elixir,
        regular_ticks=settings.regular_ticks,
        overtime_ticks=settings.overtime_ticks,
        double_from_tick=settings.double_from_tick,
        triple_from_tick=settings.triple_from_tick,
        tiebreak="lowest_tower_hp" if settings.weakest_tower_loses else "draw",
        slots=settings.slots,
        spell_slots=settings.spell_slots,
    )


class Arrays:
    """The engine of arrays for one setting, on several battles at once."""

    def __init__(self, settings: Settings, optimized: bool = False):
        self.config = config_of(settings)
        options = {"xla_backend_optimization_level": 3} if optimized else None
        config = self.config

        def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
            return jax.jit(jax.vmap(function), compiler_options=options)

        self.start = compiled(lambda cards: setup.start(config, cards))
        self.step = compiled(lambda state, actions: rules.step(config, state, actions))
        self.legal_actions = compiled(lambda state: rules.legal_actions(config, state))
        self.tick = compiled(lambda state: tick.run(config, state, 1))


def facts_of(state: Any) -> Snapshot:
    """The facts of one battle of arrays (numpy) under the names of `play.snapshot`."""
    facts: Snapshot = {("battle", "tick"): int(state.tick)}
    facts[("battle", "winner")] = None if state.winner < 0 else int(state.winner)
    for seat in SIDES:
        facts |= _of_player(state, seat) | _of_units(state, seat) | _of_shots(state, seat) | _of_spells(state, seat)
    return facts


def _of_player(state: Any, seat: int) -> Snapshot:
    return {
        ("player", seat, "elixir"): int(state.elixir[seat]),
        ("player", seat, "hand"): [CARDS[card].key for card in state.hand[seat]],
        ("player", seat, "queue"): [CARDS[card].key for card in state.queue[seat]],
        ("player", seat, "saving_for"): None if state.saving[seat] < 0 else int(state.saving[seat]),
        ("player", seat, "past"): [tuple(entry) for entry in state.past[seat].tolist()],
    }


def _of_units(state: Any, seat: int) -> Snapshot:
    facts: Snapshot = {}
    for slot in np.flatnonzero(state.alive[seat]).tolist():
        target = int(state.target[seat, slot])
        values = {
            "name": UNITS[state.unit[seat, slot]].name,
            "position": to_absolute(seat, int(state.x[seat, slot]), int(state.y[seat, slot])),
            "target": None if target < 0 else (1 - seat, target),
            "parity": int(state.turn[seat, slot]),
            "hp": int(state.hp[seat, slot]),
            "shield": int(state.shield[seat, slot]),
            "cooldown": int(state.cooldown[seat, slot]),
            "deploy_left": int(state.deploying[seat, slot]),
            "age": int(state.age[seat, slot]),
            "stun": int(state.stun[seat, slot]),
            "slow_ticks": int(state.slow[seat, slot]),
            "slow_percent": int(state.slow_pct[seat, slot]),
            "awake": slot != KING or bool(state.king_awake[seat]),
        }
        facts |= {("unit", seat, slot, name): value for name, value in values.items()}
    return facts


def _of_shots(state: Any, seat: int) -> Snapshot:
    facts: Snapshot = {}
    for parity, slot in np.argwhere(state.shot_ticks[seat] > 0).tolist():
        target = int(state.shot_target[seat, parity, slot])
        place = slot, parity
        facts[("shot", seat, place, "name")] = UNITS[state.unit[seat, slot]].name
        facts[("shot", seat, place, "ticks")] = int(state.shot_ticks[seat, parity, slot])
        x, y = int(state.shot_x[seat, parity, slot]), int(state.shot_y[seat, parity, slot])
        facts[("shot", seat, place, "position")] = to_absolute(seat, x, y)
        facts[("shot", seat, place, "target")] = None if target < 0 else (1 - seat, target)
    return facts


def _of_spells(state: Any, seat: int) -> Snapshot:
    facts: Snapshot = {}
    for index in np.flatnonzero(state.spell_ticks[seat] > 0).tolist():
        row = int(state.spell[seat, index])
        position = to_absolute(seat, int(state.spell_x[seat, index]), int(state.spell_y[seat, index]))
        facts[("spell", seat, index, "what")] = CARDS[row].key if row < len(CARDS) else UNITS[row - len(CARDS)].name
        facts[("spell", seat, index, "position")] = position
        facts[("spell", seat, index, "ticks")] = int(state.spell_ticks[seat, index])
        facts[("spell", seat, index, "waves")] = int(state.spell_waves[seat, index])
    return facts


def differences(objects: Snapshot, arrays: Snapshot) -> list[str]:
    """Every fact that the two engines tell differently, one line each."""
    names = sorted({*objects, *arrays}, key=str)
    pairs = [(name, objects.get(name, ABSENT), arrays.get(name, ABSENT)) for name in names]
    return [f"{' '.join(map(str, name))}: objects {one}, arrays {other}" for name, one, other in pairs if one != other]


@dataclasses.dataclass
class Lane:
    """One of several battles that are played side by side."""

    seed: int
    draws: random.Random
    battle: Battle
    rich: bool  # full elixir before each step: many units, full slots
    recent: list[str] = dataclasses.field(default_factory=list)
    parted: FirstDifference | None = None

    @property
    def open(self) -> bool:
        return self.parted is None and not self.battle.done

    def choose(self, seat: int) -> int:
        """Mostly legal; now and then any number, which must be understood alike."""
        if self.draws.random() < 0.05:
            return self.draws.randrange(1 + 4 * POSITIONS)
        return random_action(self.draws, self.battle, seat)

    def describe(self, actions: Actions) -> str:
        told = []
        for player, action in zip(self.battle.players, actions, strict=True):
            if action == WAIT:
                told.append("waits")
                continue
            k, position = divmod(action - 1, POSITIONS)
            told.append(f"{player.hand[k].key} at column {position % 18}, row {position // 18}")
        return f"tick {self.battle.tick}: {told[0]} | {told[1]}"


class FirstDifference(AssertionError):
    """Where the engines part."""

    def __init__(self, lane: Lane, before: Snapshot, found: list[str]):
        """Tells the battle, its last actions, what differs, and who was involved before."""
        units = [
            f"  {name[1]}.{name[2]} {value} at {before[(*name[:3], 'position')]} hp {before[(*name[:3], 'hp')]}"
            for name, value in before.items()
            if name[0] == "unit" and name[-1] == "name"
        ]
        lines = [
            f"battle {lane.seed}: the engines differ after tick {lane.battle.tick}",
            *(f"  {step}" for step in lane.recent[-4:]),
            *(f"  {line}" for line in found[:MOST_TOLD]),
            "before:",
            *units,
        ]
        super().__init__("\n".join(lines))


def compare(settings: Settings, seeds: range, most_steps: int, engine: Arrays | None = None, ticks: int = 0) -> int:
    """Plays one battle per seed on both engines; every fact must be equal after every step, legal actions now and then.

    Args:
      settings: of all battles.
      seeds: decks and actions of each battle follow from its own.
      most_steps: at which to stop.
      engine: of arrays, if it has been compiled already.
      ticks: that many more, one at a time and compared after each, in which nobody plays a card.

    Returns:
      how many states were compared.

    Raises:
      ExceptionGroup: of one `FirstDifference` for each battle in which the engines part, with the tick and the fields.
    """
    engine = engine or Arrays(settings)
    lanes = [new_lane(settings, seed) for seed in seeds]
    cards = [[[card.id for card in (*player.hand, *player.queue)] for player in lane.battle.players] for lane in lanes]
    state = engine.start(np.array(cards, np.int8))
    compared = _check_all(lanes, [{} for _ in lanes], state)
    for number in range(most_steps):
        state = enrich(lanes, state)
        before = [snapshot(lane.battle) for lane in lanes]
        if number % STEPS_PER_MASK == 0:
            _check_legal(lanes, engine.legal_actions(state))
        actions = [(lane.choose(0), lane.choose(1)) if lane.open else (WAIT, WAIT) for lane in lanes]
        for lane, chosen in zip(lanes, actions, strict=True):
            lane.recent.append(lane.describe(chosen))
            if lane.open:
                lane.battle.step(chosen)
        state = engine.step(state, np.array(actions, np.int32))
        compared += _check_all(lanes, before, state)
        if not any(lane.open for lane in lanes):
            break
    compared += _play_on(lanes, engine, state, ticks)
    parted = [lane.parted for lane in lanes if lane.parted is not None]
    if parted:
        raise ExceptionGroup(f"{len(parted)} of {len(lanes)} battles", parted)
    return compared


def _play_on(lanes: list[Lane], engine: Arrays, state: State, ticks: int) -> int:
    """Nobody plays a card any more: tick by tick."""
    compared = 0
    for _ in range(ticks):
        before = [snapshot(lane.battle) for lane in lanes]
        for lane in lanes:
            lane.recent.append(f"tick {lane.battle.tick}: alone")
            if lane.open:
                lane.battle.run_tick()
        state = engine.tick(state)
        compared += _check_all(lanes, before, state)
    return compared


def new_lane(settings: Settings, seed: int) -> Lane:
    """A battle in which the seed decides the decks, and whether elixir is always full."""
    draws = random.Random(seed)
    return Lane(seed, draws, Battle(random_decks(draws), settings), rich=seed % 6 == 5)


def enrich(lanes: list[Lane], state: State) -> State:
    """Fills the elixir of those battles in which it is always full, on both engines."""
    elixir = np.array(state.elixir)
    for index, lane in enumerate(lanes):
        if lane.rich and lane.open:
            elixir[index] = MAX_ELIXIR
            for player in lane.battle.players:
                player.elixir = MAX_ELIXIR
    return dataclasses.replace(state, elixir=elixir)


def _check_all(lanes: list[Lane], before: list[Snapshot], state: State) -> int:
    whole = jax.tree.map(np.asarray, state)
    together = [index for index, lane in enumerate(lanes) if lane.parted is None]
    for index in together:
        lane = lanes[index]
        found = differences(snapshot(lane.battle), facts_of(jax.tree.map(lambda array, index=index: array[index], whole)))
        if found:
            lane.parted = FirstDifference(lane, before[index], found)
    return len(together)


def _check_legal(lanes: list[Lane], masks: jax.Array) -> None:
    for lane, mask in zip(lanes, np.asarray(masks), strict=True):
        for seat in SIDES:
            objects, arrays = set(lane.battle.legal_actions(seat)), set(np.flatnonzero(mask[seat]).tolist())
            if lane.open and objects != arrays:
                only = {"objects": sorted(objects - arrays)[:9], "arrays": sorted(arrays - objects)[:9]}
                told = [f"legal actions of player {seat}, only for {only}"]
                lane.parted = FirstDifference(lane, snapshot(lane.battle), told)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--battles", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first battle")
    parser.add_argument("--batch", type=int, default=50)
    options = parser.parse_args()
    settings = Settings()
    engine = Arrays(settings, optimized=True)
    compared = failed = 0
    for first in range(options.first, options.first + options.battles, options.batch):
        seeds = range(first, min(first + options.batch, options.first + options.battles))
        try:
            compared += compare(settings, seeds, 10**4, engine)
        except ExceptionGroup as group:
            failed += len(group.exceptions)
            print(*group.exceptions, sep="\n", flush=True)
        print(f"battles {seeds.start} to {seeds.stop - 1} done, {compared} states compared", flush=True)
    print(f"{options.battles} battles, {compared} states compared, {failed} battles with a difference")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
