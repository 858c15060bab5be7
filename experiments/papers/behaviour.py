"""What an agent does in Pommerman: moves, visited cells, kills. A passive player is easy to miss in win rates alone."""

from __future__ import annotations

import numpy as np
from jax import Array

from experiments.papers.kills import killers
from jaxgames.abilities import teams_of
from jaxgames.pommerman import Pommerman
from jaxgames.pommerman.constants import NUM_MESSAGES, NUM_MOVES, Move
from training.play.evaluate import Games, replay

WINDOW = 20  # steps in which different cells are counted


def behaviour(game: Pommerman, key: Array, games: Games, agent: int = 0) -> dict:
    """Looks at one agent in the recorded games, as long as it lives.

    Args:
      game: as given to `evaluate.play`.
      key: as given to `evaluate.play`.
      games: what it returned, with recorded games.
      agent: number of the agent.

    Returns:
      `moves`: share of each move; `cells`: mean number of different cells visited per game; `cells_in_20`: in 20 steps in a row;
      `bombs`: mean number of bomb moves per game, some of them on a cell with a bomb, where none is laid; `kills`: enemies
      killed per game; `suicides`: share of games in which its own bomb killed it; `mates`: in games of teams, share in which it
      killed a teammate; `visits`: float [H][W], share of all steps spent in each cell, turned so that the agent begins at the
      top left; `games`: how many were looked at.
    """
    config, teams = game.config, teams_of(game)
    size = config.board_size
    moves, visits = np.zeros(NUM_MOVES, int), np.zeros((size, size), int)
    cells, in_window, bombs, kills, suicides, mates = [], list[int](), [], [], [], []
    for index in range(len(games.actions)):
        seat = int(games.seats[index, agent])
        states = replay(game, key, index, games)
        own = states.bombers[seat]
        alive = np.asarray(own.alive)[:-1]
        chosen = games.actions[index, : len(alive), seat][alive]
        if config.has_messages:
            chosen = chosen // NUM_MESSAGES
        moves += np.bincount(chosen, minlength=NUM_MOVES)
        cell = np.asarray(own.cell).astype(int)[:-1][alive]
        rows, columns = cell // size, cell % size
        top, left = config.corners[seat]
        rows = rows if top < size // 2 else size - 1 - rows
        columns = columns if left < size // 2 else size - 1 - columns
        np.add.at(visits, (rows, columns), 1)
        cells.append(len(set(cell.tolist())))
        in_window += [len(set(cell[first : first + WINDOW].tolist())) for first in range(max(len(cell) - WINDOW + 1, 0))]
        killed = killers(game, states)[seat]
        suicides.append(bool(killed[seat]))
        kills.append(sum(bool(killed[other]) for other, team in enumerate(teams) if team != teams[seat]))
        mates.append(any(killed[other] for other, team in enumerate(teams) if team == teams[seat] and other != seat))
        bombs.append(int((chosen == Move.BOMB).sum()))
    return {
        "games": len(cells),
        "moves": {move.name.lower(): round(float(count / moves.sum()), 4) for move, count in zip(Move, moves, strict=True)},
        "cells": round(float(np.mean(cells)), 2),
        "cells_in_20": round(float(np.mean(in_window)), 2) if in_window else None,
        "bombs": round(float(np.mean(bombs)), 2),
        "kills": round(float(np.mean(kills)), 3),
        "suicides": round(float(np.mean(suicides)), 3),
        **({"mates": round(float(np.mean(mates)), 3)} if len(set(teams)) < len(teams) else {}),
        "visits": np.round(visits / visits.sum(), 5).tolist(),
    }
