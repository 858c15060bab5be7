"""The pictures of the games on their pages and in the README: films of short games, and single positions of long ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

import jaxgames
from jaxgames.hero_academy import view
from training.play import agents, evaluate

FOLDER = Path("docs/pictures")
GAMES = 8  # of which the first that suits is drawn


class Film(NamedTuple):
    """A game played by bots: its states, actions and players."""

    game: Any
    states: Any
    actions: np.ndarray
    names: list[str]


def draw_all() -> dict[Path, str]:
    """Plays the games and draws them: SVG by file."""
    return {FOLDER / f"{name}.svg": draw() for name, draw in PICTURES.items()}


def play(
    name: str, mode: str, players: tuple[str, ...], suits: Callable[[int, float], bool] = lambda length, outcome: True
) -> Film:
    """Plays some games and takes the first that suits, `suits(length, outcome of the first player)`; without one, the first."""
    game, key = jaxgames.make(name, mode), jax.random.key(0)
    made = {player: agents.make(player, game) for player in players}
    games = evaluate.play(game, [made[player] for player in players], key, GAMES, batch_size=GAMES, record=GAMES)
    found = [index for index in range(GAMES) if suits(int(games.lengths[index]), float(games.outcomes[index, 0]))]
    index = (found or [0])[0]
    states = jax.device_get(evaluate.replay(game, key, index, games))
    by_seat = [player for _, player in sorted(zip(games.seats[index].tolist(), players, strict=True))]
    return Film(game, states, games.actions[index][: int(games.lengths[index])], by_seat)


def _at(states: Any, step: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[step], states)


def dark_hex() -> str:
    """A game in which stones are run into."""
    film = play("hex", "adh-6", ("path", "random"), lambda length, outcome: length > 15)
    return film.game.animate(film.states, names=film.names)


def hero_academy() -> str:
    """A turn of the middle of a game, as arrows."""
    film = play("hero_academy", "standard", ("best_rated", "best_rated"))
    turns, players = np.asarray(film.states.turn), np.asarray(film.states.player)

    def kinds_of_targets(turn: int) -> int:
        steps = np.flatnonzero(turns[:-1] == turn)
        return len({int(film.actions[step, players[step]]) for step in steps})

    turn = max(range(8, 40), key=kinds_of_targets)
    steps = np.flatnonzero(turns[:-1] == turn)
    first, mover = int(steps[0]), int(players[steps[0]])
    played = [int(action) for action in film.actions[steps, mover]]
    return view.draw(film.game.config, _at(film.states, first), names=("blue", "red"), turn=played)


def clash() -> str:
    """The moment of a battle in which most units are on the arena."""
    film = play("clash", "beginner", ("counter", "counter"))
    step = int(np.asarray(film.states.alive).reshape(len(film.actions) + 1, -1).sum(1).argmax())
    return film.game.draw(_at(film.states, step))


def stratego() -> str:
    """A game of Barrage: the board, and what each side sees."""
    film = play("stratego", "barrage", ("hunt", "hunt"), lambda length, outcome: length > 20)
    return film.game.animate(film.states, film.actions, names=("red", "blue"))


PICTURES: Mapping[str, Callable[[], str]] = {
    "dark_hex": dark_hex,
    "hero_academy": hero_academy,
    "clash": clash,
    "stratego": stratego,
}
