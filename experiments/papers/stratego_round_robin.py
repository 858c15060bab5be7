"""The round robin of Barrage: every kind of planner that plays a hidden game, with as many simulations each, and the bots."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from experiments.pages import NONE, markdown
from experiments.papers.tables import points, with_interval
from training.play import elo

_SHARED = "num_worlds=3,num_simulations=100"
_NETWORK = "weights=long"
_SHORT = "horizon=5,bandit=ucb,c=0.5"  # values by hand differ by little, and what is beyond is chance
PLAYERS = {
    "random": "random",
    "hunt": "hunt",
    "network alone": f"network:{_NETWORK}",
    "one move ahead, by hand": "pimc_value:num_worlds=60,prospects=1,guess=usual,weights=none",
    "PC-PIMC": f"pc_pimc:{_SHARED},{_NETWORK}",
    "PIMC": f"pimc:{_SHARED},{_NETWORK}",
    "PC-PIMC, half by hand, and ahead": f"pc_pimc:{_SHARED},prospects=0.5,guess=usual,ahead_worlds=30,{_NETWORK}",
    "FDTS in worlds": f"determinized_fdts:{_SHARED},{_SHORT}",
    "OEP in worlds": f"determinized_oep:{_SHARED},horizon=4",
    "ISMCTS": f"ismcts:num_simulations=300,{_SHORT}",
}
PAIRS = tuple((later, earlier) for earlier, later in itertools.combinations(PLAYERS.values(), 2))


def round_robin_table(found: Mapping[tuple[str, str], dict]) -> str:
    """Makes the cross-table, the best first; "" until everybody has met everybody.

    Args:
      found: results of `PAIRS`, with `wins`, `draws`, `losses` and `games` of the first, `cpu_seconds` and `moves`.
    """
    if set(found) != set(PAIRS):
        return ""
    number = len(PLAYERS)
    scores, games, draws = (np.zeros((number, number)) for _ in range(3))
    place = {player: index for index, player in enumerate(PLAYERS.values())}
    for (first, second), one in found.items():
        row, column = place[first], place[second]
        won = one["wins"] + one["draws"] / 2
        scores[row, column], scores[column, row] = won, one["games"] - won
        games[row, column] = games[column, row] = one["games"]
        draws[row, column] = draws[column, row] = one["draws"]
    ratings, errors = elo.fit(scores, games), elo.standard_errors(scores, games)
    order = np.argsort(-ratings, kind="stable")
    titles = list(PLAYERS)
    rows = []
    for rank, player in enumerate(order):
        drawn, played = int(draws[player].sum()), int(games[player].sum())
        won = int(scores[player].sum() - drawn / 2)
        total = points({"wins": won, "draws": drawn, "games": played})
        against = (f"{100 * scores[player, other] / games[player, other]:.0f}" if other != player else "" for other in order)
        rating = f"{ratings[player]:+.0f} ± {1.96 * errors[player]:.0f}"
        rows.append([f"{rank + 1} {titles[player]}", rating, with_interval(*total), *against, _cost(found, player)])
    columns = (str(rank + 1) for rank in range(number))
    return markdown(["player", "Elo", "points, %", *columns, "CPU ms per move"], rows)


def _cost(found: Mapping[tuple[str, str], dict], player: int) -> str:
    """What a move of a player costs, by its match against the first, who takes next to nothing."""
    if player == 0:
        return NONE
    one = found[PAIRS[player - 1]]
    return f"{1e3 * one['cpu_seconds'] / one['moves'][0]:.1f}"
