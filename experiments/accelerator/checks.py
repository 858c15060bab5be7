"""Checks of an accelerator against the CPU of the same machine: the same program on both, and in what the results differ.

The CPU does its part in two halves of the batch, so that on a machine with nothing but a CPU another program is compared too.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import jaxgames
from experiments.benchmark.lanes import CHECKSUM_FACTOR
from jaxgames.game import is_hidden
from search import presets
from training.models import policy_value
from training.models.policy_value import PolicyValueConfig
from training.play import agents

LANES = 64
STEPS = 96  # of random play
OPENING = 6  # random steps before planners are asked, where they see the state
# Of the largest number: of means that are rounded in another order, with sums in full float32, and as devices do sums.
ROUNDED, FULL, USUAL = 1e-6, 1e-4, 2e-2
SMALL = {"num_simulations": 16, "num_generations": 3, "num_evaluations": 64}  # the first of these that a planner has
ALSO_SMALL = {"num_worlds": 2, "horizon": 10, "population_size": 16}

# The networks that learners use.
NETWORKS = {
    "follower": PolicyValueConfig("pommerman", "ffa", network="paper"),
    "pommerlearn": PolicyValueConfig("pommerman", "ffa", "pommerlearn_centred", "pyramid"),
    "alphaze": PolicyValueConfig(),
    "arena": PolicyValueConfig("clash", "beginner", network="arena"),
}

Function = Callable[..., Any]


def check(name: str, device: jax.Device) -> list[dict[str, Any]]:
    """Makes one check.

    Args:
      name: "states GAME", "planner GAME NAME" or "network NAME".
      device: what is checked.

    Returns:
      Rows with `same`, and in words what is `compared` and what `differs`.
    """
    kind, *words = name.split()
    made: dict[str, Function] = {"states": check_states, "planner": check_planner, "network": check_network}
    rows: list[dict[str, Any]] = made[kind](*words, device=device)
    return rows


def cpu() -> jax.Device:
    """Gives the first CPU device of this process, which there is also beside an accelerator."""
    return jax.devices("cpu")[0]


def on(device: jax.Device, function: Function, *arguments: Any) -> Any:
    """Runs a function on a device. Gives its results as numpy arrays."""
    return jax.device_get(jax.jit(function)(*jax.device_put(arguments, device)))


def in_halves(function: Function, shared: Any, split: Any) -> Any:
    """Runs `function(shared, split)` on the CPU for each half of the leaves of `split`, [B, ...]. Gives what belongs together."""
    size = jax.tree.leaves(split)[0].shape[0] // 2
    halves = [jax.tree.map(lambda leaf, part=part: leaf[part], split) for part in (slice(size), slice(size, None))]
    done = [on(cpu(), function, shared, half) for half in halves]
    return jax.tree.map(lambda *parts: np.concatenate(parts), *done)


def at_once(*functions: Callable[[], Any]) -> list[Any]:
    """Runs functions in threads of their own, so that their programs are compiled side by side. Gives their results."""
    with ThreadPoolExecutor(len(functions)) as threads:
        return [future.result() for future in [threads.submit(function) for function in functions]]


def check_states(name: str, *, device: jax.Device, steps: int = STEPS, lanes: int = LANES) -> list[dict[str, Any]]:
    """Plays at random on both: all states of all games must be the same bits."""
    play = random_play(jaxgames.make(name), steps)
    key, numbers = jax.random.key(0), np.arange(lanes, dtype=np.int32)
    here, there = at_once(lambda: on(device, play, key, numbers), lambda: in_halves(play, key, numbers))
    words = differences(here[0], there[0])
    wrong = here[1] != there[1]
    if wrong.any():
        step = int(np.argmax(wrong.any(0)))
        words.insert(0, f"first after step {step + 1} of game {int(np.argmax(wrong[:, step]))}")
    checksum = int(np.bitwise_xor.reduce(here[1][:, -1]))
    return [_row(f"{lanes} random games, {steps} steps: every state, bit for bit", words, checksum=f"{checksum:08x}")]


def random_play(game: Any, steps: int) -> Function:
    """Makes `play(key, numbers) -> (states [B], digests uint32 [B, T])`: random legal actions, drawn without a float."""

    def one(key: Array, number: Array) -> tuple[Any, Array]:
        lane = jax.random.fold_in(key, number)

        def step(state: Any, clock: Array) -> tuple[Any, Array]:
            draw, chance = jax.random.split(jax.random.fold_in(lane, clock))
            legal = game.legal_actions(state)
            bits = jax.random.bits(draw, legal.shape, jnp.uint32) | np.uint32(1)
            state = game.step(state, jnp.argmax(jnp.where(legal, bits, 0), -1).astype(jnp.int32), chance)
            return state, digest(state)

        return jax.lax.scan(step, game.init(lane), jnp.arange(1, steps + 1))

    return jax.vmap(one, (None, 0))


def digest(tree: Any) -> Array:
    """One word of all bits of a tree, uint32 []."""
    word = jnp.uint32(0)
    for leaf in jax.tree.leaves(tree):
        bits = jax.lax.bitcast_convert_type(leaf, jnp.uint32) if leaf.dtype == jnp.float32 else leaf.astype(jnp.uint32)
        weights = 2 * np.arange(bits.size, dtype=np.uint32) + 1
        word = word * CHECKSUM_FACTOR + (bits.reshape(-1) * weights).sum(dtype=jnp.uint32)
    return word


def check_planner(game_name: str, name: str, *, device: jax.Device, lanes: int = LANES) -> list[dict[str, Any]]:
    """Plans on both, from states of random play on the CPU: actions and visits must be the same, values but for rounding.

    Networks do their sums in full float32 here: with fewer bits they are other networks, and now and then another action is best.
    """
    game = jaxgames.make(game_name)
    kinds = presets.planners_of(game)[name].kinds
    small = next(({option: number} for option, number in SMALL.items() if option in kinds), {})
    small |= {option: number for option, number in ALSO_SMALL.items() if option in kinds}
    spec = ",".join(f"{option}={number}" for option, number in small.items())
    planner, params = agents.make_planner(f"{name}:{spec}" if spec else name, game)
    key, numbers = jax.random.key(1), np.arange(lanes, dtype=np.int32)
    opening = OPENING if planner.sees_state or not is_hidden(game) else 0

    def begin(key: Array, numbers: Array) -> Any:
        states, _ = random_play(game, opening)(key, numbers)
        seats = jnp.maximum(jax.vmap(game.to_play)(states), 0).astype(jnp.int32)
        if planner.sees_state:
            return states, seats
        seen = jax.vmap(game.observe)(states, seats)
        return (jax.vmap(game.init_information)(seats, seen) if is_hidden(game) else seen), seats

    def plan(shared: Any, split: Any) -> Any:
        params, key = shared
        views, seats, numbers = split
        count = numbers.shape[0]
        keys = jax.vmap(jax.random.fold_in, (None, 0))(key, numbers)
        with jax.default_matmul_precision("highest"):  # here: each thread has its own
            found, _ = planner.plan(params, keys, planner.init(count), views, seats, jnp.ones(count, bool))
        return {field: getattr(found, field) for field in ("actions", "visit_counts", "qvalues", "root_value")}

    views, seats = on(cpu(), begin, key, numbers)
    shared, split = (params, key), (views, seats, numbers)
    here, there = at_once(lambda: on(device, plan, shared, split), lambda: in_halves(plan, shared, split))
    tolerance = ROUNDED if params is None else FULL
    words = differences(here, there, tolerance)
    return [_row(f"{lanes} plans ({spec or 'as they are'}): actions and visits, values within {tolerance:g}", words)]


def check_network(name: str, *, device: jax.Device, lanes: int = LANES) -> list[dict[str, Any]]:
    """Applies a network on both, and takes the gradient of its outputs' squares."""
    who = policy_value.make(NETWORKS[name])
    key, numbers = jax.random.key(2), np.arange(lanes, dtype=np.int32)

    def begin(key: Array, numbers: Array) -> Any:
        states, _ = random_play(who.game, OPENING)(key, numbers)
        seats = jnp.maximum(jax.vmap(who.game.to_play)(states), 0).astype(jnp.int32)
        return who.init(key), jax.vmap(who.encoder.view)(states, seats)

    def outputs(params: Any, views: Any) -> Any:
        return who.apply(params, views)

    def gradient(params: Any, views: Any) -> Any:
        return jax.grad(lambda params: sum((out**2).mean() for out in who.apply(params, views)))(params)

    params, views = on(cpu(), begin, key, numbers)
    rows = []
    for precision, tolerance in (("highest", FULL), ("default", USUAL)):
        with jax.default_matmul_precision(precision):
            words = differences(on(device, outputs, params, views), in_halves(outputs, params, views), tolerance)
            rows.append(_row(f"outputs for {lanes} views, precision {precision!r}, within {tolerance:g}", words))
    with jax.default_matmul_precision("highest"):
        words = differences(on(device, gradient, params, views), on(cpu(), gradient, params, views), 10 * FULL)
    return [*rows, _row(f"a gradient, precision 'highest', within {10 * FULL:g}", words)]


def differences(here: Any, there: Any, tolerance: float = 0.0) -> list[str]:
    """Says what differs between two trees of arrays.

    Args:
      here: a tree.
      there: the other, of the same structure.
      tolerance: of floats, as a share of the largest number of their array; 0: all must be the same bits.

    Returns:
      A text per array that differs; none if all are the same.
    """
    words = []
    for (path, one), other in zip(jax.tree_util.tree_leaves_with_path(here), jax.tree.leaves(there), strict=True):
        one, other = np.asarray(one), np.asarray(other)
        if one.tobytes() == other.tobytes():
            continue
        name = jax.tree_util.keystr(path, simple=True, separator=".") or "result"
        if not np.issubdtype(one.dtype, np.floating):
            words.append(f"{name}: {int((one != other).sum())} of {one.size}")
            continue
        both = np.isfinite(one) & np.isfinite(other)
        same_kind = np.array_equal(np.where(both, 0, one), np.where(both, 0, other), equal_nan=True)
        far = np.abs(np.where(both, one, 0) - np.where(both, other, 0))
        scale = max(float(np.abs(np.where(both, other, 0)).max()), 1e-30)
        if not same_kind or tolerance == 0 or far.max() > tolerance * scale:
            unlike = int((~((one == other) | (np.isnan(one) & np.isnan(other)))).sum())
            most = f"at most by {float(far.max()) / scale:.1g} of the largest" if same_kind else "not all of them numbers in both"
            words.append(f"{name}: {unlike} of {one.size}, {most}")
    return words


def _row(compared: str, words: list[str], **more: Any) -> dict[str, Any]:
    shown = "; ".join(words[:4]) + (f"; and {len(words) - 4} more" if len(words) > 4 else "")
    return {"compared": compared, "same": not words, "differs": shown, **more}
