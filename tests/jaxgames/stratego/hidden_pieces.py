"""A position with hidden pieces, and all boards that it may be."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.stratego import Stratego, interop, notation
from tests.jaxgames.stratego.playing import CONFIG, position

# Blue's b5 and c5 have moved, c5 far; flag, bomb, spy, scout, miner and marshal are hidden, the general is known.
ROWS = "YXPON aaaaQ aa_aw aaaaa MCDEa"


def known(far_inference):
    """The rules, the position, and what Red knows of it."""
    config = dataclasses.replace(CONFIG, far_inference=far_inference)
    # Bits count from a1: b5 and c5 are cells 21 and 22.
    moved = np.zeros(config.num_cells, bool)
    moved[[21, 22]] = True
    far = np.zeros_like(moved)
    far[22] = True
    letters = notation.write(config, position(ROWS)).split()[0]
    arrays = interop.to_arrays(config, notation.read(config, f"{letters} r 8")) | {"moved": moved, "far": far}
    state = interop.from_arrays(config, arrays)
    return config, state, jax.jit(Stratego(config).observe)(state, jnp.int32(0))


def boards_that_fit(config, state):
    """All ways to give the hidden kinds to the cells, by brute force."""
    arrays = interop.to_arrays(config, state)
    cells = np.flatnonzero((arrays["owner"] == 1) & ~arrays["visible"])
    fitting = set()
    for kinds in itertools.permutations(arrays["piece"][cells].tolist()):
        fine = all(kind not in (1, 12) for cell, kind in zip(cells, kinds, strict=True) if arrays["moved"][cell])
        if config.far_inference:
            fine = fine and all(kind == 3 for cell, kind in zip(cells, kinds, strict=True) if arrays["far"][cell])
        if fine:
            fitting.add(kinds)
    return cells, sorted(fitting)
