"""Worlds that fit what a player knows: how they are drawn, and how what was found in each becomes one plan."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import checks
from jaxgames.game import Game, HiddenGame
from search.planner import Plan, Planner, of_asked, of_seat
from search.puct.action_selection import COLDEST, draw_arm, plan_of_mover
from search.puct.tree import as_real, as_words

COMBINATIONS = ("policy", "medoid", "value")
TREES = ("open", "game")
MOST_COLUMNS = 512  # games with more actions have plans about those of the highest weights, as many as they have arms


@dataclasses.dataclass(frozen=True)
class Worlds:
    """How worlds are drawn and put together; checked when made.

    Attributes:
      combine: policy (PC-PIMC: the mean of the worlds' action weights), medoid (the weights nearest to that mean in L1, as the
        published code) or value (PIMC: the sum of the worlds' results of each action).
      num_worlds: determinizations per plan: full states ("worlds"), drawn so that they fit what the player knows.
      tree: open (everything is seen in the worlds) or game (they are played with what is hidden from each side).
      value_temperature: where worlds are put together by value (PIMC), the weights of actions are a softmax of their mean results
        at this temperature; 0: all on the best.
      temperature: of the final choice; 0: the most likely action.
      microbatch_size: so many lanes that need a plan are searched together.
    """

    combine: str = "policy"
    num_worlds: int = 12
    tree: str = "open"
    value_temperature: float = 0.0
    temperature: float = 0.0
    microbatch_size: int = 32

    def __post_init__(self) -> None:
        for name, choices in (("combine", COMBINATIONS), ("tree", TREES)):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name}={getattr(self, name)!r}: {checks.one_of(getattr(self, name), choices)}")
        checks.at_least(1, self, "num_worlds", "microbatch_size")
        checks.below(checks.COUNTS, self, "num_worlds")
        checks.numbers(self, "value_temperature", "temperature")
        if self.value_temperature and self.combine != "value":
            raise ValueError(f"value_temperature={self.value_temperature}: needs combine=value, not {self.combine!r}")


def played_in(game: HiddenGame, worlds: Worlds) -> Game:
    """Gives the game that is played in the worlds."""
    return game.open_game if worlds.tree == "open" else game


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


def together(game: HiddenGame, worlds: Worlds, planner: Planner, keys: Array, seats: Array, first: Any, plans: Plan) -> Plan:
    """Makes one plan of those of W worlds per lane [B * W], by action; `first` is the first of them, State [B]."""
    count = worlds.num_worlds
    owners = jnp.repeat(seats, count)

    def own(per_player: Array) -> Array:
        """Picks the seat's row: [B * W, P, ...] -> [B, W, ...]."""
        rows = of_asked(per_player, owners, own_first=planner.own_first)
        return rows.reshape(-1, count, *rows.shape[1:])

    columns, many = [own(x) for x in _columns(plans)], game.num_actions > MOST_COLUMNS
    if many:
        actions, legal = _actions_of(game, columns[0], columns[1])
        policies, results, tried = _by_column(planner.value_range[0], actions, *columns)
    else:
        legal = of_seat(jax.vmap(game.legal_actions)(first), seats)
        actions = jnp.broadcast_to(jnp.arange(game.num_actions), legal.shape)
        policies, results, tried = _by_action(planner.value_range[0], game.num_actions, *columns)
    action_weights = combine(worlds, policies, results, legal)
    qvalues, visits = results.mean(1), tried.sum(1, dtype=jnp.int32)
    if many:  # only as many columns as a plan may have
        action_weights, best = jax.lax.top_k(action_weights, min(actions.shape[1], game.num_arms, MOST_COLUMNS))
        actions, legal, qvalues, visits = (jnp.take_along_axis(x, best, 1) for x in (actions, legal, qvalues, visits))
        actions = jnp.where(legal, actions, game.pass_action)
    nobody_asked = (action_weights == 0).all(-1, keepdims=True)
    passes = (actions == game.pass_action) & (jnp.cumsum(actions == game.pass_action, -1) == 1)
    action_weights = jnp.where(nobody_asked, passes, action_weights)
    draw_keys = jax.vmap(lambda key: jax.random.fold_in(key, 2))(keys)
    mine = (jnp.arange(game.num_players) == seats[:, None])[:, :, None]
    return plan_of_mover(
        game,
        seats,
        draw_arm(draw_keys, action_weights, worlds.temperature),
        arms=jnp.where(mine, actions[:, None], game.pass_action),
        legal=jnp.where(mine, legal[:, None], jnp.arange(actions.shape[1]) == 0),
        action_weights=action_weights,
        qvalues=qvalues,
        visit_counts=visits,
        root_value=own(plans.root_value[..., None])[..., 0].mean(1),
        metrics={
            name: plans.metrics[name].reshape(-1, count, *shape).sum(1, dtype=jnp.int32)
            for name, shape in planner.metrics.items()
        },
        value_range=planner.value_range,
    )


def _columns(plans: Plan) -> tuple[Array, ...]:
    return plans.arms, plans.legal, plans.action_weights, plans.qvalues, plans.visit_counts


def _actions_of(game: HiddenGame, arms: Array, legal: Array) -> tuple[Array, Array]:
    """Gives the actions that a plan may be about, each once: those of the plans of all worlds, which fit what the seat knows.

    Args:
      game: with more actions than are looked at one by one.
      arms: int32 [B, W, K], of the plans.
      legal: bool [B, W, K], which of them are actions.

    Returns:
      int32 [B, C] in ascending order, and bool [B, C], which are any; the others are no actions.
    """
    nothing = game.num_actions
    every = jnp.sort(jnp.where(legal, arms, nothing).reshape(arms.shape[0], -1), axis=1)
    again = jnp.concatenate([jnp.zeros_like(every[:, :1], bool), every[:, 1:] == every[:, :-1]], axis=1)
    room = min(every.shape[1], max(game.num_arms, MOST_COLUMNS))
    actions = jnp.sort(jnp.where(again, nothing, every), axis=1)[:, :room]
    return actions, actions < nothing


def _by_column(
    lowest: float, actions: Array, arms: Array, legal: Array, weights: Array, qvalues: Array, visits: Array
) -> tuple[Array, Array, Array]:
    """Orders the columns [B, W, K] of worlds by actions int32 [B, C]: as `_by_action`, [B, W, C]; by comparing."""
    same = (jnp.where(legal, arms, -1)[:, :, None] == actions[:, None, :, None]) & legal[:, :, None]
    tried = same & (visits > 0)[:, :, None]
    return (
        jnp.where(same, weights[:, :, None], 0.0).sum(-1),
        jnp.where(tried, qvalues[:, :, None], lowest).max(-1),
        jnp.where(tried, visits[:, :, None], 0).sum(-1, dtype=jnp.int32),
    )


def _by_action(
    lowest: float, num_actions: int, arms: Array, legal: Array, weights: Array, qvalues: Array, visits: Array
) -> tuple[Array, Array, Array]:
    """Orders columns by action: [B, W, K] each -> weights and results float32 [B, W, A], visits int32 [B, W, A].

    Results of what was not tried, or cannot be done, are the lowest, those of a loss. One scatter and one gather: several side by
    side do not compile.
    """
    batch, worlds, count = arms.shape
    lane, world = jnp.arange(batch)[:, None, None], jnp.arange(worlds)[:, None]
    place = jnp.where(legal, arms, num_actions)
    column = jnp.full((batch, worlds, num_actions), count).at[lane, world, place].set(jnp.arange(count), mode="drop")
    tried = legal & (visits > 0)
    parts = (weights, jnp.where(tried, qvalues, lowest), jnp.where(tried, visits, 0))
    nothing = jnp.array([0.0, lowest, 0.0])
    words = jnp.stack(jax.lax.optimization_barrier([as_words(part) for part in parts]), axis=-1)
    words = jnp.concatenate([words, jnp.broadcast_to(as_words(nothing), (batch, worlds, 1, len(parts)))], axis=2)
    found = words[lane, world, column]
    return as_real(found[..., 0]), as_real(found[..., 1]), found[..., 2].astype(jnp.int32)


def combine(worlds: Worlds, policies: Array, results: Array, legal: Array) -> Array:
    """Puts the worlds together.

    Args:
      worlds: how.
      policies: float32 [B, W, A].
      results: float32 [B, W, A], mean result of each action; the lowest for those not tried.
      legal: bool [B, A].

    Returns:
      float32 [B, A], a distribution over legal actions, also where all of them lose; zeros where there is none.
    """
    if worlds.combine == "value":
        scores = jnp.where(legal, results.mean(1), -jnp.inf)
        if worlds.value_temperature:
            weights = jax.nn.softmax((scores - scores.max(-1, keepdims=True)) / max(worlds.value_temperature, COLDEST), -1)
        else:
            weights = jax.nn.one_hot(scores.argmax(-1), scores.shape[-1])
    else:
        weights = policies.mean(1)
        if worlds.combine == "medoid":
            distance = jnp.abs(policies - weights[:, None]).sum(-1)
            weights = jnp.take_along_axis(policies, distance.argmin(-1)[:, None, None], axis=1)[:, 0]
    weights = jnp.where(legal, weights, 0.0)
    total = weights.sum(-1, keepdims=True)
    # Worlds that are over, as those of a view that no board fits, have no policy.
    first = legal & (jnp.cumsum(legal, -1) == 1)
    return jnp.where(total > 0, weights / jnp.maximum(total, 1e-30), first)
