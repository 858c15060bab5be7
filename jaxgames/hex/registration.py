"""What the rest of the program must know of Hex and DarkHex."""

from __future__ import annotations

from jaxgames.hex.bots import path_agent, random_agent
from jaxgames.hex.config import MODES
from jaxgames.hex.encoder import ENCODERS
from jaxgames.hex.game import make
from jaxgames.registration import Defaults, Registration, bot

_PIMC = "pimc:num_simulations=100"

REGISTRATION = Registration(
    name="hex",
    make=make,
    variants=tuple(MODES),
    listed=(*MODES, "hex-5", "adh-5", "cdh-5"),
    defaults=Defaults(
        mode="adh-5",
        planner=f"pc_{_PIMC}",
        opponent="random",
        agents=(f"pc_{_PIMC}", "random"),
        pairs_mode="adh-5",
        tournament=("random", "path", _PIMC, f"pc_{_PIMC}"),
    ),
    agents=(bot("random", random_agent), bot("path", path_agent)),
    encoders=ENCODERS,
    replay="jaxgames.hex.replay:replay",
    page="jaxgames.hex.page:Page",
)
