"""What the rest of the program must know of Clash."""

from __future__ import annotations

from jaxgames.clash.bots import guard_agent, random_agent
from jaxgames.clash.config import MODES
from jaxgames.clash.counter import counter_agent
from jaxgames.clash.encoder import ENCODERS
from jaxgames.clash.game import make
from jaxgames.registration import Defaults, Registration, bot

REGISTRATION = Registration(
    name="clash",
    make=make,
    variants=MODES,
    defaults=Defaults(
        mode="beginner",
        planner="fdts:horizon=10,grouped=1,num_simulations=128,rest_when_forced=1,table_bytes=4000000",  # quick, to be watched
        opponent="guard",
        agents=("guard", "random"),
        pairs_mode="beginner",
        tournament=("random", "guard"),
    ),
    agents=(bot("random", random_agent), bot("guard", guard_agent), bot("counter", counter_agent)),
    encoders=ENCODERS,
    replay_files="jaxgames.clash.interactions:replay",
    page="jaxgames.clash.page:Page",
)
