"""What the rest of the program must know of Hero Academy."""

from __future__ import annotations

from jaxgames.hero_academy.bots import best_rated_agent, random_agent
from jaxgames.hero_academy.config import MODES
from jaxgames.hero_academy.encoder import ENCODERS
from jaxgames.hero_academy.game import make
from jaxgames.registration import Defaults, Registration, bot

REGISTRATION = Registration(
    name="hero_academy",
    make=make,
    variants=MODES,
    listed=(*MODES[:-1], "ap-15"),
    defaults=Defaults(
        mode="standard",
        planner="oep",
        opponent="greedy_action",
        agents=("oep", "greedy_action"),
        pairs_mode="standard",
        tournament=("random", "greedy_action", "oep"),
    ),
    agents=(bot("random", random_agent), bot("best_rated", best_rated_agent)),
    encoders=ENCODERS,
    replay="jaxgames.hero_academy.replay:replay",
    page="jaxgames.hero_academy.page:Page",
)
