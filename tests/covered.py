"""A game of covered cards, the smallest in which a network can learn what is hidden where.

Each of two players has four cards in a row, of three kinds: those at the ends are mostly of the first, the others of the second.
By turns they uncover a card of the other, and who uncovers one of the last kind ends the game.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.agent import Agent, memoryless
from jaxgames.encoder import Encoder
from jaxgames.game import ViewIsAll

KINDS, CARDS = 3, 4


class State(NamedTuple):
    """One game: kinds int8 [2, 4], covered bool [2, 4], step_count int32 [], terminated bool []."""

    kinds: Array
    covered: Array
    step_count: Array
    terminated: Array


class View(NamedTuple):
    """Whose it is, int32 [], and the cards of the other, int8 [4]; -1 where they are covered."""

    seat: Array
    cards: Array


@dataclasses.dataclass(frozen=True)
class Covered(ViewIsAll):
    """The game. Action `a` uncovers card `a`, and 4 passes."""

    name: str = "covered"
    num_players: int = 2
    num_actions: int = CARDS + 1
    num_arms: int = CARDS
    num_secrets: int = KINDS
    pass_action: int = CARDS
    max_steps: int = 8

    def init(self, key: Array) -> State:
        usual, drawn = np.array([0, 1, 1, 0]), jax.random.randint(key, (2, CARDS), 0, 10)
        kinds = jnp.where(drawn < 8, usual, jnp.where(drawn == 8, 1 - usual, KINDS - 1)).astype(jnp.int8)
        return State(kinds, jnp.ones((2, CARDS), bool), jnp.int32(0), jnp.bool_(False))

    def step(self, state: State, actions: Array, key: Array | None = None) -> State:
        del key
        mover = self.to_play(state)
        shown = (jnp.arange(2)[:, None] == 1 - mover) & (jnp.arange(CARDS) == actions[mover])
        count, ends = state.step_count + 1, (shown & (state.kinds == KINDS - 1)).any()
        after = State(state.kinds, state.covered & ~shown, count, ends | (count >= self.max_steps))
        return jax.tree.map(lambda old, new: jnp.where(state.terminated, old, new), state, after)

    def to_play(self, state: State) -> Array:
        return state.step_count % 2

    def in_play(self, state: State) -> Array:
        del state
        return jnp.ones(2, bool)

    def observe(self, state: State, player: Array) -> View:
        return View(player, jnp.where(state.covered, -1, state.kinds)[1 - player].astype(jnp.int8))

    def secrets(self, state: State, info: View) -> Array:
        return jnp.where(state.covered, state.kinds, -1)[1 - info.seat].astype(jnp.int8)


def encoder(game: Covered) -> Encoder:
    """A plane for each kind; a row may be turned round."""
    return Encoder(
        name="cards",
        shape=(1, CARDS, KINDS),
        channels=("first", "second", "last"),
        num_outputs=CARDS,
        view=game.observe,
        planes=lambda view: (view.cards[:, None] == np.arange(KINDS)).astype(jnp.float32)[None],
        legal=lambda view: view.cards < 0,
        outputs=lambda actions, seat: jnp.where(actions < CARDS, actions, -1),
        actions=lambda outputs, seat: outputs,
        num_symmetries=2,
        transform_planes=lambda planes, which: jnp.where(which == 1, planes[:, ::-1], planes),
        transform_outputs=lambda per_output, which: jnp.where(which == 1, per_output[::-1], per_output),
        shows_observation=True,
    )


def random_agent() -> Agent:
    """Uncovers any card, also one that lies open."""

    def act(params, keys, views, seats):
        del params, views, seats
        return jax.vmap(lambda key: jax.random.randint(key, (), 0, CARDS))(keys)

    return memoryless("random", act)
