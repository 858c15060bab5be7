"""Strategies counted in battles of the oracle, beside those of bots, each with the battle around it as an animation."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np

import jaxgames
from experiments.pages import markdown
from experiments.papers.clash_matches import ClashPlan, oracle
from experiments.papers.measured import Measurement
from jaxgames.clash import strategies
from jaxgames.clash.game import Clash
from jaxgames.clash.state import State
from jaxgames.clash.strategies import STRATEGIES, Moment
from training.play import agents, evaluate
from training.storage.files import write_atomically

SEED = 7
TITLES = {
    "tank": "a tank in front of shooters",
    "counter": "countering",
    "hedge": "hedging",
    "kite": "kiting",
    "race": "racing",
}
PLAYERS = {"oracle": "oracle", "counter": "bot", "random": "random"}
_BEFORE, _AFTER = 10, 24  # steps of the battle that are shown around a moment


def counts(plan: ClashPlan) -> list[Measurement]:
    """Battles of the oracle, the bot and random play, each against itself."""
    name = f"clash-{plan.sizes.name}-strategies"
    return [
        Measurement(f"{name}-{player}-games{plan.strategy_games}", partial(_count, plan, player), player) for player in PLAYERS
    ]


def _count(plan: ClashPlan, player: str) -> dict:
    """Plays battles and counts; draws the oracle's."""
    mode = plan.sizes.with_decks()
    game = jaxgames.make("clash", mode)
    assert isinstance(game, Clash)
    who = agents.make(oracle(plan.sizes) if player == "oracle" else player, game)
    key, number = jax.random.key(SEED), plan.strategy_games
    played = evaluate.play(game, [who, who], key, number, batch_size=plan.batch, seating="fixed", record=number)
    found: list[dict[str, list[Moment]]] = []
    drawn: dict[str, dict] = {}
    for index in range(number):
        states = evaluate.replay(game, key, index, played)
        found.append(strategies.find(game.config, states))
        for name, moments in found[-1].items():
            if player == "oracle" and moments and name not in drawn:
                drawn[name] = {
                    "battle": index,
                    "second": moments[0].step / 2,
                    "player": moments[0].player,
                    "what": moments[0].what,
                }
                write_atomically(plan.folder / f"{picture(name)}.svg", draw(game, states, moments[0]))
    return {
        "player": who.name,
        "mode": mode,
        "games": number,
        "mean_length": round(float(played.lengths.mean()), 1),
        "counts": {name: [len(one[name]) for one in found] for name in STRATEGIES},
        "drawn": drawn,
    }


def picture(name: str) -> str:
    """The name of the animation of a strategy."""
    return f"clash_strategy_{name}"


def draw(game: Clash, states: State, moment: Moment) -> str:
    """Draws the battle around a moment as an animation."""
    last = len(np.asarray(states.tick)) - 1
    part = slice(max(moment.step - _BEFORE, 0), min(moment.step + _AFTER, last) + 1)
    shown = jax.tree.map(lambda leaf: np.asarray(leaf)[part], states)
    return game.animate(shown)


def texts(plan: ClashPlan) -> dict[str, str]:
    """Makes the tables."""
    found = plan.found(counts(plan))
    rows = [
        [TITLES[name], *(_per_battle(found[player]["counts"][name]) if player in found else "–" for player in PLAYERS)]
        for name in STRATEGIES
    ]
    drawn = found.get("oracle", {}).get("drawn", {})
    colours = ("blue", "red")
    shown = [
        [
            f"[{TITLES[name]}]({picture(name)}.svg)",
            f"{colours[one['player']]}, {one['what']}" if name != "race" else "both",
            f"{one['second']:g}",
            str(one["battle"]),
        ]
        for name, one in drawn.items()
    ]
    heads = [title + (f", {found[player]['games']} battles" if player in found else "") for player, title in PLAYERS.items()]
    return {
        "strategies": markdown(["per battle", *heads], rows),
        "animations": markdown(["to watch", "who", "at second", "of battle"], shown),
    }


def _per_battle(numbers: list[int]) -> str:
    """Gives the mean of counts with its 95 % interval (normal), and in how many battles there are any."""
    values = np.array(numbers, float)
    error = 1.96 * values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.inf
    return f"{values.mean():.2f} ± {error:.2f}, in {int((values > 0).sum())} of {len(values)}"
