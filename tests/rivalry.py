"""A tug of war that tells searches against models all that they ask, and hides its mark from both players."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
from jax import Array

from tests.tug import State, Tug


@dataclasses.dataclass(frozen=True)
class Rivalry(Tug):
    """The game. Any action is possible; who is ahead is promised half a win.

    Players believe in a mark that follows from their own actions alone, in the worst case in the highest.
    """

    value_when_out = 0.0

    @property
    def endless(self) -> Rivalry:
        return dataclasses.replace(self, max_steps=1000)

    def possible_arms(self, state: State) -> tuple[Array, Array]:
        arms, legal = self.search_arms(state)
        return arms, jnp.ones_like(legal)

    def closest_enemy(self, state: State, seat: Array) -> Array:
        del state
        return 1 - seat

    def are_enemies(self, seat: Array, other: Array) -> Array:
        return seat != other

    def prospects(self, state: State) -> Array:
        return 2 * self.heuristic(state)

    def visible_state(self, state: State) -> State:
        return self._marked(state, 0)

    def observe(self, state: State, player: Array) -> State:  # type: ignore[override]
        """The state without its mark."""
        del player
        return self.visible_state(state)

    def init_belief(self, observation: State, *, worst_case: bool = False) -> State:
        return self._marked(observation, self.marks - 1 if worst_case else 0)

    def update_belief(self, belief: State, observation: State, own_action: Array, *, worst_case: bool = False) -> State:
        if worst_case:
            return self.init_belief(observation, worst_case=True)
        return self._marked(observation, (5 * belief.mark + 3 * own_action + 1) % self.marks)

    def believed_state(self, belief: State) -> State:
        return belief

    def _marked(self, state: State, mark: int | Array) -> State:
        return dataclasses.replace(state, mark=jnp.broadcast_to(jnp.asarray(mark, jnp.int32), jnp.shape(state.mark)))
