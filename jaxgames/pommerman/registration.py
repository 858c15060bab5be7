"""What the rest of the program must know of Pommerman."""

from __future__ import annotations

from jaxgames.pommerman.bots import careful_agent, random_agent, simple_agent
from jaxgames.pommerman.config import PRESETS
from jaxgames.pommerman.encoder import ENCODERS
from jaxgames.pommerman.game import make
from jaxgames.registration import Defaults, Registration, bot

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
    agents=(bot("simple", simple_agent), bot("random", random_agent), bot("careful", careful_agent)),
    encoders=ENCODERS,
    replay="jaxgames.pommerman.replay:replay",
)
