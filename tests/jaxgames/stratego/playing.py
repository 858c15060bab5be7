"""Random games and positions for the tests of Stratego."""

from __future__ import annotations

import jax
import numpy as np

from jaxgames.stratego import StrategoConfig, interop, notation
from jaxgames.stratego.constants import LETTERS

# 5 x 5 cells with a lake in the middle, and every mobile piece that a clause of the rules names.
SMALL = {"rows": 5, "columns": 5, "home_rows": 2, "lakes": (12,), "setups": "uniform"}
PIECES = (1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1)
CONFIG = StrategoConfig(**SMALL, pieces=PIECES, max_plies=200)
P2SRO = StrategoConfig(**SMALL, pieces=PIECES, max_plies=200, two_square=True, scout_reveal=True, defence_moves=True)


def position(rows: str, config: StrategoConfig = CONFIG, turn: str = "r 0", more: str = ""):
    """Makes a state of rows of letters, Red's back row at the bottom, as in pictures."""
    letters = "".join(reversed(rows.split()))
    return notation.read(config, f"{letters} {turn} {more}".strip())


def play(state, *texts: str, config: StrategoConfig = CONFIG):
    """Plays moves such as a1a2."""
    for text in texts:
        state = interop.play(config, state, text)
    return state


def board(state, config: StrategoConfig = CONFIG) -> str:
    """The letters of a state as rows, as `position` takes them."""
    letters = notation.write(config, state).split()[0]
    rows = [letters[begin : begin + config.columns] for begin in range(0, config.num_cells, config.columns)]
    return " ".join(reversed(rows))


def random_game(config: StrategoConfig, steps: int, seed: int = 0) -> list:
    """States of a game by random moves, from its beginning to its end or for so many steps; nothing but steps is compiled."""
    draw = np.random.default_rng(seed)
    letters = [letter for letter, count in zip(LETTERS[0], config.pieces, strict=True) for _ in range(count)]
    letters += ["a"] * (config.home_rows * config.columns - len(letters))
    states = [interop.from_setups(config, *("".join(draw.permutation(letters)) for _ in range(2)))]
    while len(states) <= steps and not states[-1].terminated:
        states.append(interop.play(config, states[-1], int(draw.choice(interop.legal_list(config, states[-1])))))
    return states


def at(tree, *index):
    """Takes one element out of a batch, as numpy."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[index], tree)
