"""What the rest of the program must know of Pommerman."""

from __future__ import annotations

from jaxgames.pommerman.bots import careful_agent, random_agent, simple_agent, simple_unbiased
from jaxgames.pommerman.config import PRESETS
from jaxgames.pommerman.encoder import ENCODERS
from jaxgames.pommerman.game import make
from jaxgames.registration import Defaults, Published, Registration, bot

# Wins, draws and losses in per cent against three rule-based agents, by the released counting (Boney et al., Tables II and III).
_TABLES = {
    "simple": (19.2, 23.4, 57.4),
    "mcs:bandit=ucb": (35.8, 41.0, 23.2),
    "mcs": (36.3, 37.5, 26.2),
    "mcts:bandit=ucb": (37.3, 32.4, 30.3),
    "mcts": (40.8, 36.1, 23.1),
    "mcts_no_rollout:bandit=ucb": (21.0, 17.7, 61.3),
    "mcts_no_rollout": (17.8, 14.2, 68.0),
    "fdts:bandit=ucb": (42.3, 32.5, 25.2),
    "fdts": (51.3, 29.0, 18.2),
    "follower": (23.3, 22.5, 54.2),
}
_OF_FDTS = (
    "The rules, engine and planner of the released code (a fast copy with an unlimited table) give 42.5 wins / 43.2 draws / 14.3 "
    "losses over 315 games: ours (40.2 / 47.2 / 12.5) reproduces the code (p = 0.52); the printed row is what the code does not "
    "give (p = 0.0007)."
)
_COMPARED = ("name", "weights", "bandit", "num_simulations", "horizon")

REGISTRATION = Registration(
    name="pommerman",
    make=make,
    variants=tuple(PRESETS),
    defaults=Defaults(
        mode="ffa",
        planner="fdts",
        opponent="simple",
        agents=("follower", "simple", "simple", "simple"),
        pairs_mode="one_vs_one",
        tournament=("random", "simple", "fdts"),
    ),
    agents=(
        bot("simple", simple_agent),
        bot("simple_unbiased", simple_unbiased),
        bot("random", random_agent),
        bot("careful", careful_agent),
    ),
    encoders=ENCODERS,
    replay="jaxgames.pommerman.replay:replay",
    page="jaxgames.pommerman.page:Page",
    published=tuple(
        Published(player, "simple", "ffa", shares, 400, _COMPARED, _OF_FDTS if player == "fdts" else "")
        for player, shares in _TABLES.items()
    ),
)
