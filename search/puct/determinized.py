"""Search where something is hidden: worlds that fit what is known are drawn and searched as if all were seen.

What the searches find is put together; all worlds of all lanes are one batch. (Source: Bluml et al., AlphaZe**, Eq. 3 and 4,
Algorithms 1 and 2.)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import checks
from jaxgames.game import HiddenGame
from search import puct
from search.planner import Plan, Planner, memoryless, of_seat, size_in_bytes
from search.puct.action_selection import draw_arm, plan_of_mover
from search.puct.search import Evaluate
from search.puct.tree import as_real, as_words

COMBINATIONS = ("policy", "medoid", "value")
TREES = ("open", "game")
_LOWEST = -1.0  # result of what was not tried or cannot be done


@dataclasses.dataclass(frozen=True)
class Settings:
    """How worlds are drawn, searched and put together; checked when made.

    Attributes:
      combine: policy (PC-PIMC: the mean of the worlds' policies), medoid (the policy nearest to that mean in L1, as the published
        code) or value (PIMC: the sum of the worlds' results of each action at the root).
      num_worlds: worlds per plan.
      split: the simulations are split among the worlds; else each of them gets all.
      tree: open (everything is seen in the tree) or game (the tree plays the game with what is hidden from each side).
      value_temperature: of the policy with combine="value", a softmax of the mean results; 0: all on the best.
      temperature: of the final choice; 0: the most likely action.
      search: of one world; its temperature and reuse do not matter.
      microbatch_size: so many lanes that need a plan are searched together.
    """

    combine: str = "policy"
    num_worlds: int = 12
    split: bool = False
    tree: str = "open"
    value_temperature: float = 0.0
    temperature: float = 0.0
    search: puct.Settings = puct.ALPHAZE
    microbatch_size: int = 32

    def __post_init__(self) -> None:
        for name, choices in (("combine", COMBINATIONS), ("tree", TREES)):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name}={getattr(self, name)!r}: must be one of {', '.join(choices)}")
        checks.at_least(1, self, "num_worlds", "microbatch_size")
        checks.below(checks.COUNTS, self, "num_worlds")
        for name in ("value_temperature", "temperature"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name}={getattr(self, name)}: must be >= 0")
        if self.split and self.search.num_simulations < self.num_worlds:
            raise ValueError(
                f"split: num_simulations={self.search.num_simulations} must be at least num_worlds={self.num_worlds}"
            )


def pimc_tree(game: HiddenGame, evaluate: Evaluate, settings: Settings = Settings(), *, name: str = "") -> Planner:
    """Makes a planner that searches every drawn world with PUCT: PC-PIMC, or PIMC with combine="value".

    Args:
      game: a game in which something is hidden; views are its Information.
      evaluate: as for `puct.puct`, in the game that the tree plays.
      settings: see there.
      name: for tables; "": PC-PIMC or PIMC.

    Returns:
      A planner. Its memory is room for the trees; nothing is kept from move to move. A plan's visits and values are those of all
      worlds together.
    """
    inside = game.open_game if settings.tree == "open" else game
    simulations = settings.search.num_simulations // (settings.num_worlds if settings.split else 1)
    search = dataclasses.replace(settings.search, num_simulations=simulations, temperature=0.0, reuse=False)
    planner = puct.puct(inside, evaluate, search)
    worlds = settings.num_worlds

    def search_some(params: Any, keys: Array, memory: Any, views: Any, seats: Array, active: Array) -> tuple[_Found, Any]:
        """Searches for the lanes of one portion."""
        states = draw_worlds(game, keys, views, worlds)
        roots = states if inside is game else jax.vmap(game.open_state)(states)
        search_keys = jax.vmap(lambda key: jax.random.split(jax.random.fold_in(key, 1), worlds))(keys).reshape(-1)
        owners, needed = (jnp.repeat(x, worlds) for x in (seats, active))
        plans, memory = planner.plan(params, search_keys, memory, roots, owners, needed)

        def own(per_player: Array) -> Array:
            """Picks the seat's row: [B * W, P, ...] -> [B, W, ...]."""
            rows = of_seat(per_player, owners)
            return rows.reshape(-1, worlds, *rows.shape[1:])

        visits = own(plans.visit_counts)
        results = jnp.where(visits > 0, own(plans.qvalues), _LOWEST)
        counts = [plans.metrics[name].reshape(-1, worlds).sum(1) for name in planner.metrics]
        arms, legal = _offers(game, states, seats, worlds)
        found = _Found(
            action_weights=combine(settings, own(plans.action_weights), results, legal),
            qvalues=results.mean(1),
            visit_counts=visits.sum(1),
            arms=arms,
            legal=legal.astype(jnp.int32),
            root_value=own(plans.root_value[..., None]).mean(1),
            metrics=jnp.stack(counts, -1),
        )
        return found, memory

    def plan(params: Any, keys: Array, memory: Any, views: Any, seats: Array, active: Array) -> tuple[Plan, Any]:
        found, memory = _in_portions(settings.microbatch_size, search_some, params, keys, memory, views, seats, active)
        return _as_plan(game, settings, keys, seats, found, tuple(planner.metrics)), memory

    label = name or {"policy": "PC-PIMC", "medoid": "PC-PIMC, medoid", "value": "PIMC"}[settings.combine]
    return Planner(
        label,
        lambda batch_size: planner.init(min(batch_size, settings.microbatch_size) * worlds),
        lambda memory, lanes: memory,  # a search without reuse begins anew anyhow
        plan,
        memory_bytes=worlds * planner.memory_bytes,
        metrics=planner.metrics,
        sees_state=False,
    )


def pimc_value(game: HiddenGame, evaluate: Evaluate, settings: Settings = Settings(), *, name: str = "PIMC, no tree") -> Planner:
    """Makes a planner that looks one action ahead in every drawn world: the sum of the value after each action (Eq. 3).

    Args:
      game: a game in which something is hidden; views are its Information.
      evaluate: as for `puct.puct`; its logits do not matter.
      settings: of these, num_worlds, tree, value_temperature, temperature and microbatch_size matter.
      name: for tables.
    """
    inside = game.open_game if settings.tree == "open" else game
    worlds = settings.num_worlds
    settings = dataclasses.replace(settings, combine="value")

    def look_ahead(params: Any, keys: Array, memory: Any, views: Any, seats: Array, active: Array) -> tuple[_Found, Any]:
        del active
        states = draw_worlds(game, keys, views, worlds)
        roots = states if inside is game else jax.vmap(game.open_state)(states)
        owners = jnp.repeat(seats, worlds)
        step_keys = jax.vmap(lambda key: jax.random.split(jax.random.fold_in(key, 1), worlds))(keys).reshape(-1)
        offered, possible = (of_seat(both, owners) for both in jax.vmap(inside.search_arms)(roots))

        def after(arm: Array) -> Array:
            """The value of one arm in all worlds, float32 [B * W]."""
            everyone = jnp.arange(game.num_players) == owners[:, None]
            actions = jnp.where(everyone, offered[:, arm, None], game.pass_action)
            states = jax.vmap(inside.step)(roots, actions, step_keys)
            movers = jnp.maximum(jax.vmap(inside.to_play)(states), 0)
            _, value = evaluate(params, states, movers)
            value = jnp.where(movers == owners, value, -value)
            outcome = of_seat(jax.vmap(inside.outcome)(states), owners)
            return jnp.where(states.terminated, outcome, value)

        found = jax.lax.map(after, jnp.arange(game.num_arms))
        results = jnp.where(possible, found.T, _LOWEST).reshape(-1, worlds, game.num_arms)
        arms, legal = _offers(game, states, seats, worlds)
        scores = jnp.where(legal, results.mean(1), _LOWEST)
        result = _Found(
            action_weights=combine(settings, jnp.zeros_like(results), results, legal),
            qvalues=scores,
            visit_counts=possible.reshape(results.shape).sum(1, dtype=jnp.int32),
            arms=arms,
            legal=legal.astype(jnp.int32),
            root_value=scores.max(-1, keepdims=True),
            metrics=jnp.zeros((seats.shape[0], 0), jnp.int32),
        )
        return result, memory

    def plan(params: Any, keys: Array, memory: Any, views: Any, seats: Array, active: Array) -> tuple[Plan, Any]:
        found, memory = _in_portions(settings.microbatch_size, look_ahead, params, keys, memory, views, seats, active)
        return _as_plan(game, settings, keys, seats, found, ()), memory

    state = jax.eval_shape(game.init, jax.random.key(0))
    per_world = 3 * size_in_bytes(state) + 8 * game.num_arms

    def search_bytes(batch_size: int) -> int:
        """Of the drawn worlds, their roots, what comes after one arm, and two tables of results."""
        return min(batch_size, settings.microbatch_size) * worlds * per_world

    return memoryless(name, plan, sees_state=False, search_bytes=search_bytes)


def true_sight(
    game: HiddenGame, evaluate: Evaluate, settings: puct.Settings = puct.ALPHAZE, *, name: str = "TrueSight"
) -> Planner:
    """Makes a planner that searches the true world, as if it saw everything: for training data only (Algorithm 2).

    Args:
      game: a game in which something is hidden; views are its states.
      evaluate: as for `puct.puct`, in the open game.
      settings: of the search.
      name: for tables.
    """
    planner = puct.puct(game.open_game, evaluate, settings, name=name)

    def plan(params: Any, keys: Array, memory: Any, views: Any, seats: Array, active: Array) -> tuple[Plan, Any]:
        return planner.plan(params, keys, memory, jax.vmap(game.open_state)(views), seats, active)

    return planner._replace(plan=plan)


class _Found(NamedTuple):
    """What searches found for the seat that was asked for, by lane.

    Attributes:
      action_weights: float32 [B, K], 0 for arms that are not legal.
      qvalues: float32 [B, K].
      visit_counts: int32 [B, K].
      arms: int32 [B, K].
      legal: int32 [B, K], 0 or 1.
      root_value: float32 [B, 1].
      metrics: int32 [B, M].
    """

    action_weights: Array
    qvalues: Array
    visit_counts: Array
    arms: Array
    legal: Array
    root_value: Array
    metrics: Array


def _in_portions(
    size: int, search: Callable, params: Any, keys: Array, memory: Any, views: Any, seats: Array, active: Array
) -> tuple[_Found, Any]:
    """Lets `search` work on `size` lanes at a time, those that are active and no others."""
    batch = seats.shape[0]
    size = min(size, batch)
    order = jnp.argsort(~active, stable=True)  # active lanes first
    needed = active.sum(dtype=jnp.int32)
    rounds = -(-batch // size)
    padded = jnp.pad(order, (0, rounds * size - batch))

    def portion(number: Array, memory: Any) -> tuple[_Found, Any]:
        lanes = jax.lax.dynamic_slice_in_dim(padded, number * size, size)
        use = number * size + jnp.arange(size) < needed
        return search(params, keys[lanes], memory, jax.tree.map(lambda leaf: leaf[lanes], views), seats[lanes], use)

    shapes = jax.eval_shape(lambda: portion(jnp.int32(0), memory)[0])
    widths = [leaf.shape[1] for leaf in shapes]
    places = [sum(widths[:number]) for number in range(1, len(widths))]

    def body(carry: tuple[Array, Array, Any]) -> tuple[Array, Array, Any]:
        number, words, memory = carry
        found, memory = portion(number, memory)
        row = jnp.concatenate([as_words(leaf) for leaf in found], axis=1)  # one array, one write
        return number + 1, jax.lax.dynamic_update_slice_in_dim(words, row, number * size, 0), memory

    start = (jnp.int32(0), jnp.zeros((rounds * size, sum(widths)), jnp.uint32), memory)
    _, words, memory = jax.lax.while_loop(lambda carry: carry[0] * size < needed, body, start)
    words = words[jnp.argsort(order)]
    parts = jnp.split(words, places, axis=1)
    whole = [leaf.dtype != jnp.float32 for leaf in shapes]
    return _Found(*(part.astype(jnp.int32) if w else as_real(part) for part, w in zip(parts, whole, strict=True))), memory


def draw_worlds(game: HiddenGame, keys: Array, views: Any, num_worlds: int) -> Any:
    """Draws worlds that fit what is known, lane by lane.

    Args:
      game: the game.
      keys: [B].
      views: Information [B].
      num_worlds: W.

    Returns:
      State [B * W]: the worlds of the first lane come first.
    """

    def of_lane(key: Array, view: Any) -> Any:
        return jax.vmap(lambda k: game.sample_hidden(k, view))(jax.random.split(jax.random.fold_in(key, 0), num_worlds))

    states = jax.vmap(of_lane)(keys, views)
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), states)


def combine(settings: Settings, policies: Array, results: Array, legal: Array) -> Array:
    """Puts the worlds together.

    Args:
      settings: how.
      policies: float32 [B, W, K].
      results: float32 [B, W, K], mean result of each action; the lowest for those not tried.
      legal: bool [B, K].

    Returns:
      float32 [B, K], a distribution over legal arms, also where all of them lose; zeros where there is none.
    """
    if settings.combine == "value":
        scores = jnp.where(legal, results.mean(1), -jnp.inf)
        if settings.value_temperature:
            weights = jax.nn.softmax(scores / settings.value_temperature, -1)
        else:
            weights = jax.nn.one_hot(scores.argmax(-1), scores.shape[-1])
    else:
        weights = policies.mean(1)
        if settings.combine == "medoid":
            distance = jnp.abs(policies - weights[:, None]).sum(-1)
            weights = jnp.take_along_axis(policies, distance.argmin(-1)[:, None, None], axis=1)[:, 0]
    weights = jnp.where(legal, weights, 0.0)
    total = weights.sum(-1, keepdims=True)
    # Worlds that are over, as those of a view that no board fits, have no policy.
    first = legal & (jnp.cumsum(legal, -1) == 1)
    return jnp.where(total > 0, weights / jnp.maximum(total, 1e-30), first)


def _offers(game: HiddenGame, states: Any, seats: Array, worlds: int) -> tuple[Array, Array]:
    """Arms int32 [B, K] and which of them are legal, bool [B, K]: in all worlds of a lane the same, so the first one tells."""
    first = jax.tree.map(lambda leaf: leaf.reshape(-1, worlds, *leaf.shape[1:])[:, 0], states)
    arms, legal = (of_seat(both, seats) for both in jax.vmap(game.search_arms)(first))
    return arms, legal


def _as_plan(game: HiddenGame, settings: Settings, keys: Array, seats: Array, found: _Found, metrics: tuple[str, ...]) -> Plan:
    """Makes the plan of the seats; the others pass."""
    nobody_asked = (found.action_weights == 0).all(-1, keepdims=True)
    policy = jnp.where(nobody_asked, jnp.arange(game.num_arms) == 0, found.action_weights)
    draw_keys = jax.vmap(lambda key: jax.random.fold_in(key, 2))(keys)
    mine = (jnp.arange(game.num_players) == seats[:, None])[:, :, None]
    return plan_of_mover(
        game,
        seats,
        draw_arm(draw_keys, policy, settings.temperature),
        arms=jnp.where(mine, found.arms[:, None], game.pass_action),
        legal=jnp.where(mine, found.legal[:, None] != 0, jnp.arange(game.num_arms) == 0),
        action_weights=policy,
        qvalues=found.qvalues,
        visit_counts=found.visit_counts,
        root_value=found.root_value[:, 0],
        metrics={name: found.metrics[:, number] for number, name in enumerate(metrics)},
    )
