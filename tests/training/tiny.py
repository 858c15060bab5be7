"""A game, a network and an oracle so small that a learner compiles in seconds, and what learners leave in their buffers."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames.encoder import Encoder
from jaxgames.hashing import hash_words
from search.planner import Plan, Planner
from training.models.networks import follower as networks
from training.models.networks.follower import NetworkConfig
from training.models.policy_value import PolicyValue


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class State:
    """One game: out_at int32 [4], word uint32 [], which hangs on all that was done; step_count int32 [], terminated bool []."""

    out_at: Array
    word: Array
    step_count: Array
    terminated: Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class View:
    """What a player sees: alive bool [], legal bool [6], and its word uint32 [], of which no two are alike."""

    alive: Array
    legal: Array
    word: Array


@dataclasses.dataclass(frozen=True)
class Dwindling:
    """Four players drop out at steps drawn at the start, until one is left; what each may do changes in every step."""

    name: str = "dwindling"
    num_players: int = 4
    num_actions: int = 6
    num_arms: int = 6
    pass_action: int = 0
    max_steps: int = 16

    def init(self, key: Array) -> State:
        out_at = jax.random.randint(key, (4,), 5, self.max_steps)
        return State(out_at, jax.random.bits(key, (), jnp.uint32), jnp.int32(0), jnp.bool_(False))

    def step(self, state: State, actions: Array, key: Array | None = None) -> State:
        del key
        count, done = state.step_count + 1, (actions * 6 ** np.arange(4)).sum().astype(jnp.uint32)
        after = State(state.out_at, hash_words((state.word, done))[0], count, (state.out_at > count).sum() <= 1)
        return jax.tree.map(lambda old, new: jnp.where(state.terminated, old, new), state, after)

    def to_play(self, state: State) -> Array:
        del state
        return jnp.int32(-1)

    def in_play(self, state: State) -> Array:
        return state.out_at > state.step_count

    def search_arms(self, state: State) -> tuple[Array, Array]:
        """All actions, the last one first: an arm means nothing of its own."""
        views = jax.vmap(lambda seat: self.observe(state, seat))(jnp.arange(4))
        return jnp.tile(jnp.arange(6)[::-1], (4, 1)), views.legal[:, ::-1]

    def keeps_going(self, actions: Array) -> Array:
        return actions == 5

    def observe(self, state: State, player: Array) -> View:
        """A player who is out may only pass."""
        word, alive = hash_words((state.word, player.astype(jnp.uint32)))[0], self.in_play(state)[player]
        drawn = ((word >> np.arange(6)) % 2 == 1) | (np.arange(6) == word // 64 % 6)
        return View(alive, jnp.where(alive, drawn, np.arange(6) == self.pass_action), word)


GAME = Dwindling()
ENCODER = Encoder(
    name="dwindling",
    shape=(1, 6, 2),
    channels=("legal", "drawn"),
    num_outputs=6,
    view=GAME.observe,
    planes=lambda view: jnp.stack([view.legal, (view.word >> (10 + np.arange(6))) % 2 == 1], -1).astype(jnp.float32)[None],
    legal=lambda view: view.legal,
    outputs=lambda actions, seat: actions,
    actions=lambda outputs, seat: outputs,
    num_symmetries=6,
    transform_planes=lambda planes, which: jnp.roll(planes, which, axis=1),
    transform_outputs=lambda per_output, which: jnp.roll(per_output, which),
    output_names=tuple("abcdef"),
    shows_observation=True,
)


def network() -> PolicyValue:
    """Two narrow convolutions and a value."""
    config = NetworkConfig(width=4, layers=2, value_head=True)
    return PolicyValue(GAME, ENCODER, networks.make(config, ENCODER.shape, ENCODER.num_outputs), {})


def drawn(init, seed: int = 0):
    """Parameters as large as in a fresh network, without biases, drawn by NumPy: to compile what draws them takes long."""
    random, shapes = np.random.default_rng(seed), jax.eval_shape(init, jax.random.key(0))

    def leaf(path, like):
        fresh = random.normal(0, np.prod(like.shape[:-1]) ** -0.5, like.shape) if like.ndim > 1 else np.zeros(like.shape)
        return (fresh + ("scale" in str(path[-1]))).astype(like.dtype)

    return jax.tree_util.tree_map_with_path(leaf, shapes)


def drawing_oracle(game=GAME) -> Planner:
    """Draws values 0.1 to 0.4, so that equal ones are common.

    They depend on the key and on how often it was asked in this episode, which is its memory.
    """

    def plan(params, keys, memory, views, seats, active):
        del params, seats
        arms, legal = jax.vmap(game.search_arms)(views)
        keys = jax.vmap(jax.random.fold_in)(keys, memory)
        drawn = jax.vmap(lambda key: jax.random.randint(key, legal.shape[1:], 1, 5))(keys)
        values = jnp.where(legal, drawn / 10, -1.0)
        best = values >= values.max(-1, keepdims=True)
        choice = jnp.argmax(best, -1)[..., None]
        chosen = Plan(
            actions=jnp.take_along_axis(arms, choice, -1)[..., 0],
            arms=arms,
            legal=legal,
            qvalues=values,
            visit_counts=legal.astype(jnp.int32),
            action_weights=best / best.sum(-1, keepdims=True),
            root_value=values.max(-1),
            metrics={},
        )
        return chosen, memory + active

    def reset(memory, lanes):
        return jnp.where(lanes, 0, memory)

    return Planner(
        "drawing", lambda size: jnp.zeros(size, jnp.int32), reset, plan, memory_bytes=4, metrics={}, value_range=(-1.0, 1.0)
    )


def rows_of(buffer) -> np.ndarray:
    """What a ring holds, while nothing has given way: device by device, in the order in which it came; uint32 [N, W]."""
    shares = np.split(np.asarray(buffer.rows), len(buffer.size))
    return np.concatenate([share[:size] for share, size in zip(shares, np.asarray(buffer.size), strict=True)])


def as_set(rows: np.ndarray) -> list[bytes]:
    """Rows without their order."""
    return sorted(row.tobytes() for row in rows)


def on_one_device(function):
    """Runs what programs run on each device of the axis "data", on one alone."""
    mapped = jax.jit(jax.vmap(function, axis_name="data"))

    def run(*args):
        found = jax.device_get(mapped(*jax.tree.map(lambda leaf: np.asarray(leaf)[None], args)))
        return jax.tree.map(lambda leaf: leaf[0], found)

    return run
