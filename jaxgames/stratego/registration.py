"""What the rest of the program must know of Stratego and Barrage."""

from __future__ import annotations

from jaxgames.registration import Defaults, Registration, bot
from jaxgames.stratego.bots import hunt_agent, random_agent
from jaxgames.stratego.config import MODES
from jaxgames.stratego.encoder import ENCODERS
from jaxgames.stratego.game import make

_PIMC = "pimc:num_simulations=100,rollout_steps=0"  # games at random last for hundreds of moves
# One move ahead in many worlds, valued by hand.
_STRONGEST = "pimc_value:num_worlds=60,prospects=1,guess=usual,weights=none"

REGISTRATION = Registration(
    name="stratego",
    make=make,
    variants=tuple(MODES),
    defaults=Defaults(
        mode="barrage",
        planner=_STRONGEST,
        opponent="random",
        agents=(f"pc_{_PIMC}", "random"),
        pairs_mode="barrage",
        tournament=("random", "hunt", _PIMC, f"pc_{_PIMC}", _STRONGEST),
    ),
    agents=(bot("random", random_agent), bot("hunt", hunt_agent)),
    encoders=ENCODERS,
    replay="jaxgames.stratego.replay:replay",
    page="jaxgames.stratego.page:Page",
)
