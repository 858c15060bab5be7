"""One small match, on as many devices as are asked for, whose results are printed as JSON; for `test_evaluate.py`."""

import json

import jax
import numpy as np

from jaxgames import runtime
from search import as_agent, fdts
from tests.tug import Tug, random_player
from training.play import evaluate

GAME = Tug(marks=1000, slips=True)
NUM_GAMES = 21
LATER = 5  # no multiple of any number of devices


def play(batch_size: int, num_games: int = NUM_GAMES, *, as_it_is: bool = False, **settings) -> evaluate.Games:
    """A planner whose table is too small against random play."""
    planner = fdts(GAME, num_simulations=4, horizon=4, table_rows=8)
    agents = [planner if as_it_is else as_agent(planner), random_player()]
    return evaluate.play(GAME, agents, jax.random.key(3), num_games, batch_size=batch_size, record=num_games, **settings)


def play_later(batch_size: int) -> evaluate.Games:
    """The same match from some game on."""
    return play(batch_size, num_games=NUM_GAMES - LATER, first=LATER)


def as_lists(games: evaluate.Games) -> dict:
    """What must not depend on the number of devices."""
    names = ("outcomes", "survived", "seats", "lengths", "moves", "actions")
    return {name: np.asarray(getattr(games, name)).tolist() for name in names}


def main(devices: int) -> None:
    """Plays on so many devices, then fewer games than there are devices, and then those from some game on."""
    runtime.prepare(cores=devices)
    print(json.dumps([jax.device_count(), *map(as_lists, (play(8), play(8, num_games=3), play_later(8)))]))
