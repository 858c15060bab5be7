"""The round robin of Barrage: the bots, and every kind of planner of a hidden game, with 300 simulations where it searches."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from experiments.pages import NONE, markdown
from experiments.papers.tables import cost_per_move, points, with_interval
from training.play import elo
from training.play.cross_table import CrossTable, nobody_has_met, with_pair

_SHARED = "num_worlds=3,num_simulations=100"
_NETWORK = "weights=long"
_SHORT = "horizon=5,bandit=ucb,c=0.5"  # values of neighbours differ by hundredths, and random play beyond five moves is noise
_RANDOM = "random"
PLAYERS = {
    "random": _RANDOM,
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
    """Makes the cross-table of those who have met random play, the best first; "" where nobody has.

    Args:
      found: results of `PAIRS`, with `wins`, `draws`, `losses` and `games` of the first, `cpu_seconds` and `moves`.
    """
    specs = [spec for spec in PLAYERS.values() if spec == _RANDOM or (spec, _RANDOM) in found]
    if len(specs) < 2:
        return ""
    met = _cross_table(found, specs)
    ratings, errors = met.ratings, elo.standard_errors(met.points, met.games)
    order = np.argsort(-ratings, kind="stable").tolist()
    titles = {spec: title for title, spec in PLAYERS.items()}
    rows = []
    for rank, player in enumerate(order):
        drawn, played = int(met.draws[player].sum()), int(met.games[player].sum())
        won = int(met.points[player].sum() - drawn / 2)
        total = points({"wins": won, "draws": drawn, "games": played})
        against = (_share(met.points[player, other], met.games[player, other]) if other != player else "" for other in order)
        rating = f"{ratings[player]:+.0f} ± {1.96 * errors[player]:.0f}"
        spec = specs[player]
        rows.append([f"{rank + 1} {titles[spec]}", rating, with_interval(*total), *against, _cost(found, spec), f"`{spec}`"])
    columns = (str(rank + 1) for rank in range(len(order)))
    return markdown(["player", "Elo", "points, %", *columns, "CPU ms per move", "settings"], rows)


def _share(score: float, games: float) -> str:
    return f"{100 * score / games:.0f}" if games else NONE


def _cross_table(found: Mapping[tuple[str, str], dict], specs: Sequence[str]) -> CrossTable:
    """Puts together the games of these players; who had which seat is not known here, so `first_points` mean nothing."""
    table = nobody_has_met(tuple(specs))
    for (first, second), one in found.items():
        if first in specs and second in specs:
            result = np.repeat([1.0, 0.5, 0.0], [one["wins"], one["draws"], one["losses"]])
            table = with_pair(table, specs.index(first), specs.index(second), result)
    return table


def _cost(found: Mapping[tuple[str, str], dict], spec: str) -> str:
    """What a move of a player costs, by its match against random play, which takes next to nothing."""
    one = found.get((spec, _RANDOM))
    return cost_per_move(one) if one else NONE
