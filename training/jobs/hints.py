"""Hints: what an oracle thinks of each card of a hand and of each tile, at a moment of a battle of Clash, as a picture."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.console import Console

import jaxgames
from jaxgames import checks, shapes
from jaxgames.clash import rules
from jaxgames.clash.constants import COLUMNS, HAND, NUM_TILES, TICKS_PER_SECOND, TICKS_PER_STEP
from jaxgames.clash.game import Clash
from jaxgames.clash.rules import WAIT
from jaxgames.clash.state import State
from jaxgames.clash.view_hints import draw_hints
from search.appraisal import Appraisal, appraise
from training.play import agents, evaluate
from training.storage.arrays import as_npz, from_npz
from training.storage.files import output_folder, write_together

_PLAY, _SEARCH = range(2)  # children of the key
_STEPS_PER_SECOND = TICKS_PER_SECOND // TICKS_PER_STEP
PLANNER = "fdts:horizon=20,simulations_per_arm=4,num_simulations=1028,table_bytes=16000000"


@dataclasses.dataclass(frozen=True)
class HintsConfig:
    """Draws what the cards of a hand are worth, and where: hints.svg, with the numbers in hints.json.

    The battle is played by two agents, or read from the battle.npz that such a call has left.

    Attributes:
      mode: variant and settings of the battle; what is worth something is told by its value and shaping.
      agents: who plays it, where it is played.
      battle: a battle.npz of the same variant; "": it is played.
      time: the moment, in seconds of the battle.
      player: whose hand, 0 (blue) or 1 (red).
      planner: who is asked, a planner that sees the state; "": FDTS with four simulations for each tile.
      searches: so many searches whose values are averaged.
      seed: of the battle and the searches.
      output: folder for the files.
    """

    mode: str = "beginner:shaping=0.5"
    agents: tuple[str, str] = ("counter", "counter")
    battle: str = ""
    time: float = 30.0
    player: int = 0
    planner: str = ""
    searches: int = 4
    seed: int = 0
    output: str = "output/hints"

    def __post_init__(self) -> None:
        checks.at_least(1, self, "searches")
        checks.seed(self)
        if self.player not in (0, 1):
            raise ValueError(f"player={self.player}: must be 0 or 1")
        if self.battle and self.agents != HintsConfig.agents:
            raise ValueError(f"agents={' '.join(self.agents)}: nobody plays, as battle={self.battle!r} is read; leave them out")
        checks.numbers(self, "time")
        checks.folder(self)


def run(config: HintsConfig, console: Console | None = None) -> dict:
    """Plays or reads the battle, asks the planner, and writes the files.

    Returns:
      What hints.json holds.

    Raises:
      ValueError: a setting is not possible, the file is no such battle, or there is nothing to choose at that moment.
      OSError: a file cannot be read, or the folder not written.
    """
    console = console or Console()
    game = jaxgames.make("clash", config.mode)
    assert isinstance(game, Clash)
    planner, params = agents.make_planner(config.planner or PLANNER, game)
    if not planner.sees_state:
        raise ValueError(f"planner={config.planner!r}: sees only what a seat knows; values of a state need one that sees it")
    key = jax.random.key(config.seed)
    with output_folder(config.output) as folder:
        assert folder is not None
        states = read_battle(config.battle, game) if config.battle else _play(config, game, jax.random.fold_in(key, _PLAY))
        state = moment(states, config.time)
        legal = _legal(game, state, config)
        console.print(f"asking {planner.name}", markup=False, highlight=False, soft_wrap=True)
        found = appraise(planner, params, jax.random.fold_in(key, _SEARCH), state, config.player, searches=config.searches)
        result = {"settings": dataclasses.asdict(config), **in_words(game, state, config.player, found)}
        open_tiles = legal[1:].reshape(HAND, NUM_TILES)
        picture = draw_hints(
            game.config, state, config.player, found.actions.tolist(), found.values.tolist(), open_tiles=open_tiles
        )
        written: dict[Any, str | bytes] = {
            folder / "hints.svg": picture,
            folder / "hints.json": json.dumps(result, indent=1) + "\n",
        }
        if not config.battle:
            written[folder / "battle.npz"] = battle_bytes(states)
        write_together(written)
        for line in _told(result):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        console.print(f"the picture {folder / 'hints.svg'}", markup=False, highlight=False, soft_wrap=True)
    return result


def _play(config: HintsConfig, game: Clash, key: jax.Array) -> State:
    made = {spec: agents.make(spec, game) for spec in config.agents}
    players = [made[spec] for spec in config.agents]
    played = evaluate.play(game, players, key, 1, batch_size=1, seating="fixed", record=1)
    states: State = evaluate.replay(game, key, 0, played)
    return states


def battle_bytes(states: State) -> bytes:
    """Gives a battle, leaves [T + 1, ...], as the content of an npz file."""
    return as_npz(vars(states))


def read_battle(path: str, game: Clash) -> State:
    """Reads what `battle_bytes` gave.

    Raises:
      ValueError: the file is torn, or of another variant.
      OSError: it cannot be read.
    """
    content = Path(path).read_bytes()
    state = shapes.state_of(game)
    try:
        arrays = from_npz(content, vars(state), "battle")
    except ValueError as error:
        raise ValueError(f"battle={path!r}: {error}") from None
    for name, shape in vars(state).items():
        found = arrays[name]
        if found.ndim != 1 + len(shape.shape) or found.shape[1:] != shape.shape or found.dtype != shape.dtype or not len(found):
            raise ValueError(f"battle={path!r}: of another variant: {name} is {found.dtype} {list(found.shape[1:])}")
    for name, rows in (("unit", len(game.config.table.units)), ("hand", len(game.config.table.cards))):
        if (arrays[name] < 0).any() or (arrays[name] >= rows).any():
            raise ValueError(f"battle={path!r}: of another table: {name} is not below {rows}")
    return State(**arrays)


def moment(states: State, seconds: float) -> State:
    """Gives the state of a battle at a time.

    Raises:
      ValueError: it is over by then.
    """
    step = round(seconds * _STEPS_PER_SECOND)
    last = len(np.asarray(states.tick)) - 1
    if step > last:
        raise ValueError(f"time={seconds:g}: must be at most {last / _STEPS_PER_SECOND:g}, when the battle ends")
    return jax.tree.map(lambda leaf: np.asarray(leaf)[step], states)


def _legal(game: Clash, state: State, config: HintsConfig) -> np.ndarray:
    """Gives the legal actions of the player, bool [A].

    Raises:
      ValueError: only waiting is.
    """
    legal: np.ndarray = np.asarray(jax.jit(rules.legal_actions, static_argnums=0)(game.config, state))[config.player]
    if not legal[1:].any():
        why = "the battle is over" if bool(state.terminated) else f"player {config.player} saves for a card and can only wait"
        raise ValueError(f"time={config.time:g}: {why}; give another time")
    return legal


def in_words(game: Clash, state: State, player: int, found: Appraisal) -> dict:
    """Gives an appraisal by card: the value of waiting, and of each card its best value, where, and all of its tiles."""
    cards: list[dict] = []
    for place in range(HAND):
        mine = (found.actions > WAIT) & ((found.actions - 1) // NUM_TILES == place)
        tiles, values = (found.actions[mine] - 1) % NUM_TILES, found.values[mine]
        card = game.config.table.cards[int(state.hand[player, place])]
        told = {"card": card.key, "cost": card.cost, "tried": int(found.visits[mine].sum())}
        if len(values):
            best = int(values.argmax())
            told |= {"best": round(float(values[best]), 4), "tile": [int(tiles[best] % COLUMNS), int(tiles[best] // COLUMNS)]}
        told["tiles"] = [
            [int(tile % COLUMNS), int(tile // COLUMNS), round(float(one), 4)] for tile, one in zip(tiles, values, strict=True)
        ]
        cards.append(told)
    waiting = found.values[found.actions == WAIT]
    return {
        "seconds": int(state.tick) / TICKS_PER_SECOND,
        "waiting": round(float(waiting[0]), 4) if len(waiting) else None,
        "cards": cards,
    }


def _told(result: dict) -> list[str]:
    waiting = result["waiting"]
    lines = [f"waiting: {100 * waiting:.0f} %"] if waiting is not None else []
    for card in result["cards"]:
        where = f" at column {card['tile'][0]}, row {card['tile'][1]}" if "best" in card else ""
        lines.append(f"{card['card']}: " + (f"{100 * card['best']:.0f} %{where}" if "best" in card else "not tried"))
    return lines
