"""The cells of PommerLearn's Tables 2 and 3: who plays whom with how many simulations, what the paper found, and the games."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

import jaxgames
from experiments.amounts import Amounts
from experiments.pages import NONE, markdown
from experiments.papers.cells import play_counted
from experiments.papers.figures import Line
from experiments.papers.tables import interval, rate
from training.play import agents

SEED = 2022  # of all games that are counted; networks learn, and are chosen, by others
PIECES = (100, 400)  # files of a cell end with these games, so that those of fewer games are part of those of more
SHORT_PIECES = (*PIECES, 600, 800)  # where games are slow: 600 at once would take three hours
WITHOUT, DRAWN = "none", "drawn"
UNBIASED, SIMPLE = "simple_unbiased", "simple"
OPPONENTS = {UNBIASED: "SimpleUnbiasedAgents", SIMPLE: "SimpleAgents"}
SIMULATIONS = (0, 50, 100, 250, 500, 1000)
PUBLISHED = 1000  # simulations of the paper's games against SimpleAgents, and after reinforcement
SEARCHES = {"sp_mcts": "SP", "tp_mcts": "TP"}
TITLES = {
    "sl": "SL",
    DRAWN: "drawn parameters",
    WITHOUT: "no network",
    "sl_again": "SL, second run",
    "srl": "SL, then RL",
    "srl_again": "SL, then RL, second run",
    "rl": "RL from zero",
    "rl_again": "RL from zero, second run",
}
"""Networks, by their names in files."""

AS_GIVEN, FLATTENED, NOISE, STARTS = "", "flattened", "noise", "starts"
PRIORS = {
    AS_GIVEN: ("as the network gives them", ",dirichlet_fraction=0.0"),
    FLATTENED: ("flattened", ",dirichlet_fraction=0.0,prior_temperature=1.7"),
    NOISE: ("noise at the root", ",dirichlet_fraction=0.25,dirichlet_alpha=0.2"),
    STARTS: ("noise, and random starts", ",dirichlet_fraction=0.25,dirichlet_alpha=0.2,random_starts=0.06"),
}
"""What a search makes of a network's priors: its title, and the settings. The paper's program has the last,
and the second where it is called from Python."""

# Wins and ties of the paper, in per cent, against three SimpleUnbiasedAgents: search, network, simulations.
TABLE2: Mapping[tuple[str, str, int], tuple[float, float]] = {
    (search, network, simulations): row
    for (search, network), rows in {
        ("sp_mcts", "sl"): ((38.6, 10.5), (61.4, 15.3), (68.0, 13.2), (76.8, 9.5), (79.1, 7.2), (78.8, 6.4)),
        ("tp_mcts", "sl"): ((37.7, 10.3), (49.4, 19.7), (61.5, 17.8), (79.6, 11.8), (87.8, 7.5), (90.1, 6.7)),
        ("sp_mcts", DRAWN): ((10.0, 5.9), (39.3, 17.4), (43.8, 16.8), (49.0, 13.6), (55.5, 11.4), (57.5, 10.4)),
        ("tp_mcts", DRAWN): ((9.5, 5.2), (13.1, 7.9), (16.2, 9.0), (16.7, 9.4), (20.9, 8.7), (24.6, 8.2)),
    }.items()
    for simulations, row in zip(SIMULATIONS, rows, strict=True)
}
REINFORCED: Mapping[str, float] = {"srl": 94.2, "rl": 81.5}
"""Wins of SP-MCTS with 1000 simulations after reinforcement, of which no ties are published."""
TABLE3: Mapping[tuple[str, str], tuple[float, float]] = {
    ("sp_mcts", "sl"): (78.2, 12.2),
    ("tp_mcts", "sl"): (66.0, 32.0),
    ("sp_mcts", "srl"): (65.2, 30.2),
    ("sp_mcts", "rl"): (74.4, 22.0),
}
"""Against three SimpleAgents in the official environment, 1000 simulations, 100 games of each of five networks."""


@dataclasses.dataclass(frozen=True)
class Cell:
    """What to play, with fair views.

    Attributes:
      search: sp_mcts or tp_mcts.
      network: by its name in files.
      simulations: per move; 0: the network alone.
      opponent: who plays the three others; in the search these are always SimpleUnbiasedAgents.
      games: how many.
      first: the number of the first one.
      priors: of `PRIORS`; "": there are none, too.
    """

    search: str
    network: str
    simulations: int
    opponent: str = UNBIASED
    games: int = PIECES[0]
    first: int = 0
    priors: str = AS_GIVEN

    @property
    def name(self) -> str:
        """The file's name."""
        player = f"{self.search}-{self.network}-n{self.simulations}" + (f"-{self.priors}" if self.priors else "")
        return f"pommerlearn-{self.opponent}-{player}-games{self.games}" + (f"-from{self.first}" if self.first else "")

    def pieces(self, games: int) -> list[Cell]:
        """Splits so many games into those of each file."""
        pieces = PIECES if self.simulations < max(SIMULATIONS) else SHORT_PIECES
        ends = [*(end for end in pieces if end < games), games]
        return [replace(self, games=end - first, first=first) for first, end in itertools.pairwise((0, *ends))]


def play(cell: Cell, weights: str, batch: int) -> dict:
    """Plays the games of a cell.

    Args:
      cell: what.
      weights: a file, or `WITHOUT`.
      batch: games at a time.
    """
    game = jaxgames.make("pommerman", "ffa")
    search = f"{cell.search}:weights={weights},num_simulations={cell.simulations},model={UNBIASED}"
    search += ",values=heuristic" if weights == WITHOUT else PRIORS[cell.priors][1]
    player = agents.make(search if cell.simulations else f"network:weights={weights}", game)
    other = agents.make(cell.opponent, game)
    _, counts = play_counted(game, [player, other, other, other], SEED, cell.games, batch, cell.first)
    return {"cell": dataclasses.asdict(cell), **counts}


@dataclasses.dataclass(frozen=True)
class Played(Amounts):
    """How the games of a cell ended.

    Attributes:
      games, wins: how many.
      draws: that the player lived to see.
      steps: of all games.
      moves: of the player.
      cpu_seconds: of the whole match.
    """

    games: int
    wins: int
    draws: int
    steps: int
    moves: int
    cpu_seconds: float


def whole(found: Mapping[Cell, dict]) -> dict[Cell, Played]:
    """Adds up the pieces of each cell, in the order of their first pieces; as keys cells have no games."""
    totals: dict[Cell, Played] = {}
    for piece, result in found.items():
        count, strict = result["released"], result["strict"]
        amounts = (sum(result["lengths"]), result["moves"][0], result["cpu_seconds"])
        played = Played(count["games"], count["wins"], strict["draws"], *amounts)
        cell = replace(piece, games=0, first=0)
        totals[cell] = totals[cell] + played if cell in totals else played
    return totals


def published(cell: Cell) -> str:
    """What the paper prints for a cell with as many simulations: wins and ties in per cent."""
    cell = replace(cell, network=cell.network.removesuffix("_again"))
    if cell.opponent == UNBIASED and cell.network in REINFORCED and (cell.search, cell.simulations) == ("sp_mcts", PUBLISHED):
        return f"{REINFORCED[cell.network]:.1f} / {NONE}"
    of_simple = TABLE3.get((cell.search, cell.network)) if cell.simulations == PUBLISHED else None
    row = of_simple if cell.opponent == SIMPLE else TABLE2.get((cell.search, cell.network, cell.simulations))
    return f"{row[0]:.1f} / {row[1]:.1f}" if row else NONE


def _head(paper: str = "paper") -> list[str]:
    """The columns of `_ends`, that of the paper with its title."""
    return ["wins, %", "draws alive, %", f"{paper}: wins / ties", "games", "steps"]


def _ends(played: Played, paper: str) -> list[str]:
    """How the games of a cell ended, beside what the paper prints."""
    rates = (interval(played.wins, played.games), interval(played.draws, played.games))
    return [*rates, paper, str(played.games), f"{played.steps / played.games:.0f}"]


def _place(cell: Cell) -> tuple:
    """By what rows of tables are sorted."""
    orders = [list(order) for order in (TITLES, OPPONENTS, PRIORS)]
    network, opponent, priors = map(list.index, orders, (cell.network, cell.opponent, cell.priors))
    return network, opponent, cell.simulations, cell.search, priors


def table(totals: Mapping[Cell, Played], opponent: str) -> str:
    """Makes the table of the cells against one kind of opponent: with noise where it was played, or else with priors as given.

    The paper played SimpleAgents with one number of simulations, which stands beside all of ours.
    """
    rows, simple = [], opponent == SIMPLE
    for cell, played in shown(totals, opponent):
        search = SEARCHES[cell.search] if cell.simulations else "network alone"
        priors = PRIORS[cell.priors][0] if cell.simulations and cell.network != WITHOUT else NONE
        cost = f"{1e3 * played.cpu_seconds / max(played.moves, 1):.1f}"
        ends = _ends(played, published(replace(cell, simulations=PUBLISHED) if simple else cell))
        rows.append([TITLES[cell.network], search, str(cell.simulations), priors, *ends, cost])
    head = _head(f"paper, {PUBLISHED} simulations") if simple else _head()
    return markdown(["network", "search", "simulations", "priors", *head, "CPU ms per move, opponents included"], rows)


def shown(totals: Mapping[Cell, Played], opponent: str) -> Iterator[tuple[Cell, Played]]:
    """Gives the cells against one kind of opponent as they are shown in order, one kind of priors of each."""
    for cell, played in sorted(totals.items(), key=lambda item: _place(item[0])):
        kinds = [kind for kind in (NOISE, AS_GIVEN) if replace(cell, priors=kind) in totals]
        if cell.opponent == opponent and cell.priors in kinds[:1]:
            yield cell, played


def win_lines(totals: Mapping[Cell, Played], search: str) -> list[Line]:
    """Gives wins over simulations against three SimpleUnbiasedAgents, a line per network."""
    lines: dict[str, list] = {}
    for cell, played in shown(totals, UNBIASED):
        if cell.search == search and cell.simulations:
            lines.setdefault(cell.network, []).append((cell.simulations, rate(played.wins, played.games)))
    return [(TITLES[network], line) for network, line in lines.items()]


def priors_table(totals: Mapping[Cell, Played]) -> str:
    """Makes the table of what searches make of priors: of all that was played with more than one kind of them."""
    kinds = Counter(replace(cell, priors=AS_GIVEN) for cell in totals)
    shown = [cell for cell in totals if kinds[replace(cell, priors=AS_GIVEN)] > 1]
    rows = []
    for cell in sorted(shown, key=_place):
        who = [TITLES[cell.network], OPPONENTS[cell.opponent], SEARCHES[cell.search], str(cell.simulations)]
        rows.append([*who, PRIORS[cell.priors][0], *_ends(totals[cell], published(cell))])
    return markdown(["network", "against three", "search", "simulations", "priors", *_head()], rows)
