"""Who may move: whether all players of a game choose at once, found by tracing the game; no state of it is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import Literal, primitives

from jaxgames import shapes
from jaxgames.game import Game


def moves_at_once(game: Game) -> bool:
    """Says whether all players of a game choose at once in every state: whether `to_play` is below 0 whatever the state."""
    traced = jax.make_jaxpr(game.to_play)(shapes.state_of(game))
    with jax.ensure_compile_time_eval():
        (player,) = _certain_results(traced, [None] * len(traced.in_avals))
    return player is not None and int(player) < 0


def _certain_results(traced: Any, inputs: list[Any]) -> list[Any]:
    """Works out the results that do not depend on inputs which are None; None for those that may.

    Where the choice is between equal values, what it goes by does not matter.
    """
    found = dict(zip(traced.jaxpr.constvars, traced.consts, strict=True)) | dict(zip(traced.jaxpr.invars, inputs, strict=True))

    def read(atoms: Sequence[Any]) -> list[Any]:
        return [atom.val if isinstance(atom, Literal) else found[atom] for atom in atoms]

    for line in traced.jaxpr.eqns:
        values = read(line.invars)
        if line.primitive is primitives.jit_p:
            results = _certain_results(line.params["jaxpr"], values)
        elif all(value is not None for value in values):
            result = line.primitive.bind(*values, **line.params)
            results = result if line.primitive.multiple_results else [result]
        elif line.primitive is primitives.select_n_p:
            results = [_common(values[1:])]
        elif line.primitive is primitives.cond_p:
            branches = [_certain_results(branch, values[1:]) for branch in line.params["branches"]]
            results = [_common(each) for each in zip(*branches, strict=True)]
        else:
            results = [None] * len(line.outvars)
        found |= dict(zip(line.outvars, results, strict=True))
    return read(traced.jaxpr.outvars)


def _common(values: Sequence[Any]) -> Any:
    """Gives the value that all of these are; None where they differ, or one of them is not known."""
    first = values[0]
    same = first is not None and all(value is not None and np.array_equal(first, value) for value in values)
    return first if same else None
