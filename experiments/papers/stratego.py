"""The results of AlphaZe** in Barrage (Bluml et al., section 4): matches of what `hunt` taught, and of what learnt on."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import jax

import jaxgames
from experiments.pages import markdown
from experiments.papers.measured import Measurement, Page, Plan, few_of, play_timed
from experiments.papers.stratego_learning import (
    BARRAGE,
    GAMES,
    KEPT,
    TAUGHT,
    learning,
    learning_figure,
    learning_table,
    long_run,
    longer_run,
)
from experiments.papers.stratego_round_robin import PAIRS, round_robin_table
from experiments.papers.stratego_taught import FULL, full, full_table, planes, planes_table
from experiments.papers.tables import cost_per_move, ends, for_file, points, with_interval
from training.play import agents, counting
from training.storage.provenance import CHECKOUT

SEED = 2022
EVEN = "pc_pimc:num_worlds={worlds},num_simulations={nodes}"
SEARCH = EVEN + ",guess=bundled"  # and worlds drawn by the one that guesses
USUAL = SEARCH.format(worlds=3, nodes=100)
PIMC = "pimc:num_worlds=3,num_simulations=100,guess=bundled"
TRUE = "true_sight:num_simulations=100"
TRUE_BY_HAND = "true_sight:num_simulations=400,prospects=1,weights=none"
PLAIN = "pc_pimc:num_worlds=3,num_simulations=100,weights=none,rollout_steps=0"  # a search that knows nothing but who has won
NO_NETWORK = "pimc:num_worlds=3,num_simulations=100,weights=none,rollout_steps=0"
AHEAD = "pimc_value:num_worlds={worlds},prospects=1,guess=usual,weights=none"  # one move, valued by hand
BY_HAND = AHEAD.format(worlds=60)
SEARCHED_FULL = "pc_pimc:num_worlds=3,num_simulations=100,prospects=1,guess=usual,weights=none"
SEARCHED = "pc_pimc:num_worlds=3,num_simulations=800,prospects=1,guess=usual"  # the network's priors, and values by hand
GUIDED = ("network", "pc_pimc", "pimc", "medoid", "true_sight")  # where nothing is said, by the network that `hunt` taught
LONG_NETWORK = "weights=long"  # that of the long run, which comes with the package
SELF_TAUGHT = f"pc_pimc:num_worlds=3,num_simulations=100,{LONG_NETWORK}"
SELF_TAUGHT_SMALL, SELF_TAUGHT_LARGE = (
    f"pc_pimc:num_worlds=3,num_simulations={nodes},prospects=0.5,guess=bundled,{LONG_NETWORK}" for nodes in (100, 800)
)
# The same, which learnt nothing of who is played: worlds as likely as people set up their pieces; and as the paper has it
SELF_TAUGHT_USUAL = SELF_TAUGHT_LARGE.replace("guess=bundled", "guess=usual")
SELF_TAUGHT_EVEN = f"pc_pimc:num_worlds=3,num_simulations=800,{LONG_NETWORK}"
# The budget of the paper's tournament, which three worlds share
SELF_TAUGHT_TOURNAMENT = SELF_TAUGHT_LARGE.replace("=800", f"={25_000 // 3}")
FLATTENED = ",prior_temperature=1.7"  # as the published program plays
AHEAD_TOO = ",ahead_worlds=60"  # one move, in sixty worlds, beside the search in three
NUMBERS_OF_WORLDS = (1, 3, 6, 10, 12, 20)
BUDGET = 300  # nodes of all worlds, where they share it
VARIANTS = {  # of Table 5
    "flags open": "barrage-open-flags:max_plies=400",
    "marshals open": "barrage-open-marshals:max_plies=400",
    "ten blocked fields": "barrage-blocked:max_plies=400",
}
BOTS = ("random", "hunt")


@dataclasses.dataclass(frozen=True)
class Match:
    """Two agents by name with their settings, who change sides from game to game."""

    first: str
    second: str
    mode: str = BARRAGE

    def name(self, games: int) -> str:
        """The name of the file for so many games."""
        return f"stratego-{for_file(self.mode, self.first, self.second)}-games{games}"


@dataclasses.dataclass(frozen=True)
class StrategoPlan(Plan):
    """How much to play.

    Attributes:
      games: of each pair that the figures of the page depend on; of the others a quarter.
      batch: games at a time.
      epochs: of learning, and rounds of teaching; 0: as many as planned.
      network_games: of each network that is looked at on the way, against each opponent.
      work: folder of the training runs.
    """

    games: int = 256
    batch: int = 64
    epochs: int = 0
    network_games: int = GAMES
    work: Path = Path("output/results/stratego")

    def matches(self, pairs: Iterable[Match], *, few: bool = False) -> list[Measurement]:
        """What is to be played; matches are the labels."""
        return self.matches_of(few_of(self.games) if few else self.games, pairs)

    def matches_of(self, games: int, pairs: Iterable[Match]) -> list[Measurement]:
        """What is to be played in so many games each."""
        return [Measurement(pair.name(games), partial(play, pair, games, self.batch, self.named(pair)), pair) for pair in pairs]

    def named(self, pair: Match) -> tuple[str, str]:
        """Gives the names of both, with the files of their networks."""
        return self._with_file(pair.first), self._with_file(pair.second)

    def _with_file(self, player: str) -> str:
        name, _, options = player.partition(":")
        if "weights=" in options:
            for called, run in KEPT.items():
                player = player.replace(f"weights={called}", f"weights={self.kept_network(run)}")
            return player
        return f"{player}{',' if options else ':'}weights={TAUGHT}" if name in GUIDED else player


def play(pair: Match, games: int, batch: int, names: tuple[str, str]) -> dict:
    """Plays a match; gives how games ended for the first, and its cost after everything was compiled.

    Args:
      pair: who.
      games: how many.
      batch: games at a time.
      names: of both, with the files of their networks.
    """
    game = jaxgames.make("stratego", pair.mode)
    players = [agents.make(name, game) for name in names]
    played, times = play_timed(game, players, SEED, games, batch_size=min(batch, games), seating="rotated")
    return {
        "match": {**dataclasses.asdict(pair), "seed": SEED, "batch": batch},
        "players": [name.replace(f"{CHECKOUT}/", "") for name in names],
        **dataclasses.asdict(counting.count(played)),
        "mean_length": round(float(played.lengths.mean()), 1),
        "moves": played.moves.tolist(),
        **times,
        "devices": jax.device_count(),
    }


def bots(plan: StrategoPlan) -> list[Measurement]:
    """The network alone and in searches against the bots, and the bots against each other."""
    small, large = {"worlds": 3, "nodes": 100}, {"worlds": 3, "nodes": 800}
    players = ("hunt", "network", USUAL, EVEN.format(**small))
    ours = plan.matches(Match(player, bot) for player in players for bot in BOTS if player != bot)
    others = [
        *(Match(player, bot) for player in (PIMC, EVEN.format(**large)) for bot in BOTS),
        Match(SEARCH.format(**large), "hunt"),
    ]
    return ours + plan.matches(others, few=True)


def methods(plan: StrategoPlan) -> list[Measurement]:
    """PC-PIMC against PIMC, against the network alone, and against searches without a network."""
    others = [Match(USUAL, other) for other in (PIMC, PLAIN, "ismcts:num_simulations=300,horizon=5,bandit=ucb,c=0.5")]
    self_taught = Match(SELF_TAUGHT, SELF_TAUGHT.replace("pc_pimc", "pimc"))
    return (
        plan.matches([Match(USUAL, "network")]) + plan.matches(others, few=True) + plan.matches_of(2 * plan.games, [self_taught])
    )


def guesses(plan: StrategoPlan) -> list[Measurement]:
    """Worlds drawn by a network's guess against worlds drawn evenly, and against the true one."""
    even = EVEN.format(worlds=3, nodes=100)
    usual = Match(f"{even},guess=usual", even)
    return plan.matches([Match(USUAL, even), usual, Match(TRUE, USUAL), Match(TRUE, "hunt"), Match(TRUE_BY_HAND, "hunt")])


def worlds(plan: StrategoPlan) -> list[Measurement]:
    """Numbers of worlds against the usual three: so many nodes each, and as many nodes in all."""
    each = (SEARCH.format(worlds=number, nodes=BUDGET // 3) for number in NUMBERS_OF_WORLDS)
    shared = (SEARCH.format(worlds=number, nodes=BUDGET // number) for number in NUMBERS_OF_WORLDS)
    return plan.matches((Match(player, "hunt") for player in dict.fromkeys((*shared, *each))), few=True)


def variants(plan: StrategoPlan) -> list[Measurement]:
    """The variants of Table 5, for which nobody was trained, and the player without a network in them."""
    met = (*((USUAL, bot) for bot in BOTS), (BY_HAND, "hunt"))
    return plan.matches((Match(*pair, mode) for mode in VARIANTS.values() for pair in met), few=True)


def by_hand(plan: StrategoPlan) -> list[Measurement]:
    """Values by hand, one move ahead and in the searches of the paper's size."""
    ours = plan.matches([*(Match(BY_HAND, bot) for bot in BOTS), Match(SEARCHED, "hunt")])
    return ours + plan.matches([Match(BY_HAND, NO_NETWORK), Match(SEARCHED, NO_NETWORK), Match(SEARCHED, "random")], few=True)


def full_by_hand(plan: StrategoPlan) -> list[Measurement]:
    """Values by hand in full Stratego: one move ahead, and in a search without a network."""
    many, few = (AHEAD.format(worlds=worlds) for worlds in (20, 3))
    met = (*((many, bot) for bot in BOTS), (few, "hunt"), (SEARCHED_FULL, "hunt"))
    return plan.matches((Match(*pair, FULL) for pair in met), few=True)


def round_robin(plan: StrategoPlan) -> list[Measurement]:
    """Everybody against everybody, with the network of the long run; an eighth of the games, as each meets many."""
    return plan.matches_of(max(2 * (plan.games // 16), 2), (Match(*pair) for pair in PAIRS))


def self_taught(plan: StrategoPlan) -> list[Measurement]:
    """The network of the long run in searches."""
    players = (SELF_TAUGHT, SELF_TAUGHT_LARGE, SELF_TAUGHT_USUAL, SELF_TAUGHT_EVEN, SELF_TAUGHT_SMALL + AHEAD_TOO)
    ours = [
        Match(f"{TRUE},{LONG_NETWORK}", "hunt"),
        *(Match(player, bot) for player in players for bot in BOTS),
        Match(SELF_TAUGHT_SMALL, "hunt"),
        *(Match(player + FLATTENED, "hunt") for player in (SELF_TAUGHT, SELF_TAUGHT_SMALL)),
        Match(SELF_TAUGHT_LARGE + AHEAD_TOO, "hunt"),
    ]
    return plan.matches(ours) + plan.matches([Match(SELF_TAUGHT_LARGE, NO_NETWORK)], few=True)


def nodes(plan: StrategoPlan) -> list[Measurement]:
    """Numbers of nodes: 300, 2400 and the tournament's 25 000 in three worlds, whose games are a quarter."""
    usual = plan.matches(Match(player, "hunt") for player in (SELF_TAUGHT_SMALL, SELF_TAUGHT_LARGE))
    return usual + plan.matches([Match(SELF_TAUGHT_TOURNAMENT, "hunt")], few=True)


def long(plan: StrategoPlan) -> list[Measurement]:
    """The long run, and what comes of it."""
    return [long_run(plan), *self_taught(plan)]


def learnt_more(plan: StrategoPlan) -> list[Measurement]:
    """The network that went on from that of the long run: in the searches in which that one was looked at, and against it."""
    later = {
        player: player.replace(LONG_NETWORK, "weights=more") for player in (SELF_TAUGHT, SELF_TAUGHT_SMALL, SELF_TAUGHT_USUAL)
    }
    ours = [Match(player, "hunt") for player in later.values()]
    return plan.matches(ours) + plan.matches_of(2 * plan.games, [Match(later[SELF_TAUGHT], SELF_TAUGHT)])


def more(plan: StrategoPlan) -> list[Measurement]:
    """The run that went on from the long one, and what comes of it."""
    return [longer_run(plan), *learnt_more(plan)]


def met(plan: StrategoPlan) -> list[Measurement]:
    """What both short runs came to, against each other: alone, and in searches."""
    players = ("network:weights={}", "pc_pimc:num_worlds=3,num_simulations=100,weights={}")
    return plan.matches(Match(player.format("tsl"), player.format("plain")) for player in players)


def learning_and_met(plan: StrategoPlan) -> list[Measurement]:
    """Both short runs, and what they came to."""
    return [*learning(plan), *met(plan)]


MATCHES = {
    "bots": bots,
    "hand": by_hand,
    "methods": methods,
    "guesses": guesses,
    "variants": variants,
    "worlds": worlds,
    "full_hand": full_by_hand,
    "nodes": nodes,
}
# Where the long run has not been made it takes half a day on a core, the one after it an hour or two: name the other parts, or
# give them a GPU.
PARTS = {
    **MATCHES,
    "round_robin": round_robin,
    "learning": learning_and_met,
    "long": long,
    "more": more,
    "planes": planes,
    "full": full,
}


def texts(plan: StrategoPlan) -> dict[str, str]:
    """Makes the tables of the page."""
    tables = {name: table(plan.found(part(plan))) for name, part in MATCHES.items()}
    taught = {"planes": planes_table(plan.found(planes(plan))), "full": full_table(plan.found(full(plan)))}
    everybody = {(pair.first, pair.second): result for pair, result in plan.found(round_robin(plan)).items()}
    taught |= {"round_robin": round_robin_table(everybody), "tsl": table(plan.found(met(plan)))}
    runs = plan.found([*learning(plan), long_run(plan), longer_run(plan)])
    searches = plan.found([*self_taught(plan), *learnt_more(plan)])
    return tables | taught | {"learning": learning_table(runs), "self_taught": table(searches)}


def figures(plan: StrategoPlan) -> dict[str, str]:
    """Makes the figure of the page, of the runs that began alike."""
    found = plan.found([*learning(plan), long_run(plan)])
    return {"stratego_learning": learning_figure(found)} if found else {}


def table(results: dict[Match, dict]) -> str:
    """Makes the table of matches."""
    titles = {mode: title for title, mode in VARIANTS.items()} | {BARRAGE: "Barrage", FULL: "Stratego"}
    rows = []
    for pair, result in results.items():
        shown = [f"`{pair.first}`", f"`{pair.second}`", titles[pair.mode], with_interval(*points(result)), ends(result)]
        rows.append([*shown, f"{result['mean_length']:.0f}", cost_per_move(result)])
    head = ["player", "against", "board", "points, %", "won – drawn – lost", "mean length", "CPU ms per move"]
    return markdown(head, rows)


PAGE = Page("stratego", StrategoPlan, PARTS, ("jaxgames/stratego", "search", "training"), texts, figures)
