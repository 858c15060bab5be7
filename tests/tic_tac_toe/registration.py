"""What the rest of the program must know."""

from __future__ import annotations

from typing import Any

from jaxgames.registration import AgentEntry, Defaults, Registration, bot
from tests.tic_tac_toe.bots import CarefulSettings, careful_agent, random_agent
from tests.tic_tac_toe.encoder import encoder
from tests.tic_tac_toe.game import TicTacToe


def make(mode: str | None = None, **settings: Any) -> TicTacToe:
    if mode not in (None, "standard") or settings:
        raise ValueError(f"mode={mode!r}: must be standard, without settings")
    return TicTacToe()


REGISTRATION = Registration(
    name="tic_tac_toe",
    make=make,
    variants=("standard",),
    defaults=Defaults("standard", "mcts", "random", ("careful", "random"), "standard", ("random", "careful")),
    agents=(bot("random", random_agent), AgentEntry("careful", CarefulSettings, careful_agent)),
    encoders={"cells": encoder},
    replay="tests.tic_tac_toe.replay:replay",
)
