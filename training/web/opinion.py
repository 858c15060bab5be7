"""What a planner thinks of the person's actions, from what the person's seat can know."""

from __future__ import annotations

import threading
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.abilities import keeps_beliefs
from jaxgames.game import Game, hides_something, is_hidden
from search.appraisal import Appraisal, appraisal_of
from training.play import agents, memory
from training.web.stepper import Moment

WORLDS = 4  # drawn where something is hidden, for planners that want a state


class Adviser:
    """A planner that is asked for opinions.

    Where the planner wants to see a state and the seat does not, it is shown states that fit what the seat knows, drawn at random
    or, where the game can tell one, believed.
    """

    def __init__(self, game: Game, spec: str) -> None:
        self.planner, self._params = agents.make_planner(spec, game)
        self.game, self.name = game, spec
        self._drawn = self.planner.sees_state and is_hidden(game) and hides_something(game)
        self._lanes = WORLDS if self._drawn else 1
        memory.check(game, [agents.make(spec, game)], self._lanes, what="the opinion")
        self._ask = jax.jit(self._plan)
        self._asking = threading.Lock()

    def ask(self, moment: Moment, seat: int, seed: int) -> Appraisal:
        """Gives the values of a seat's actions; see `search.appraisal`. One question at a time."""
        info = () if not is_hidden(self.game) else jax.tree.map(lambda leaf: leaf[seat], moment.infos)
        with self._asking:
            found = self._ask(self._params, jax.random.key(seed), moment.state, info, np.int32(seat))
            arms, legal, values, visits = jax.device_get(found)
            return appraisal_of(arms, legal, values, visits, self.planner.value_range)

    def _plan(self, params: Any, key: Array, state: Any, info: Any, seat: Array) -> tuple[Array, Array, Array, Array]:
        keys = jax.random.split(key, self._lanes + 1)
        views = self._views(state, info, seat, jax.random.split(keys[-1], self._lanes))
        seats, active = jnp.broadcast_to(seat, (self._lanes,)), jnp.ones(self._lanes, bool)
        start = self.planner.reset(self.planner.init(self._lanes), active)
        plan, _ = self.planner.plan(params, keys[:-1], start, views, seats, active)
        row = jnp.int32(0) if self.planner.own_first else seat
        return plan.arms[:, row], plan.legal[:, row], plan.qvalues[:, row], plan.visit_counts[:, row]

    def _views(self, state: Any, info: Any, seat: Array, keys: Array) -> Any:
        """What the planner is shown, with leading axis lanes."""
        game: Any = self.game
        if self._drawn:
            return jax.vmap(game.sample_hidden, (0, None))(keys, info)
        if self.planner.sees_state:
            one = game.believed_state(game.init_belief(game.observe(state, seat))) if keeps_beliefs(game) else state
        else:
            one = info if is_hidden(game) else game.observe(state, seat)
        return jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], one)
