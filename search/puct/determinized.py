"""Search where something is hidden: worlds that fit what is known are drawn, and planned in as if all were seen.

Any planner of the open game will do. What is found is put together by action; all worlds of all lanes are one batch.
(Source: Bluml et al., AlphaZe**, Eq. 3 and 4, Algorithms 1 and 2.)
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import checks
from jaxgames.game import Game, HiddenGame
from search import arguments, puct
from search.dynamics import Evaluate, Outputs, check_turns
from search.microbatch import equal_size, in_microbatches
from search.planner import Plan, Planner, memoryless, of_seat, size_in_bytes
from search.puct.action_selection import draw_arm, plan_of_mover
from search.puct.tree import as_real, as_words

COMBINATIONS = ("policy", "medoid", "value")
TREES = ("open", "game")
MOST_COLUMNS = 512  # games with more actions have plans about those of the highest weights, as many as they have arms
_LOWEST = -1.0  # result of what was not tried or cannot be done


@dataclasses.dataclass(frozen=True)
class Worlds:
    """How worlds are drawn and put together; checked when made.

    Attributes:
      combine: policy (PC-PIMC: the mean of the worlds' action weights), medoid (the weights nearest to that mean in L1, as the
        published code) or value (PIMC: the sum of the worlds' results of each action).
      num_worlds: worlds per plan.
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
                raise ValueError(f"{name}={getattr(self, name)!r}: must be one of {', '.join(choices)}")
        checks.at_least(1, self, "num_worlds", "microbatch_size")
        checks.below(checks.COUNTS, self, "num_worlds")
        for name in ("value_temperature", "temperature"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name}={getattr(self, name)}: must be >= 0")
        if self.value_temperature and self.combine != "value":
            raise ValueError(f"value_temperature={self.value_temperature}: needs combine=value, not {self.combine!r}")


@dataclasses.dataclass(frozen=True)
class Settings(Worlds):
    """How PIMC and PC-PIMC search; checked when made.

    Attributes:
      split: the simulations are split among the worlds; else each of them gets all.
      search: of one world; its temperature and reuse do not matter.
    """

    split: bool = False
    search: puct.Settings = puct.ALPHAZE

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.split and self.search.num_simulations < self.num_worlds:
            raise ValueError(
                f"split: num_simulations={self.search.num_simulations} must be at least num_worlds={self.num_worlds}"
            )


def determinized(game: HiddenGame, planner: Planner, worlds: Worlds = Worlds(), *, name: str = "") -> Planner:
    """Makes a planner that lets another plan in every drawn world, and puts together what it finds.

    Args:
      game: a game in which something is hidden; views are its Information.
      planner: any planner that is shown states of `game.open_game` (of `game` itself with tree="game").
      worlds: how worlds are drawn and put together.
      name: for tables; "": that of the planner, in drawn worlds.

    Returns:
      A planner. Its memory is room for the planner's; nothing is kept from move to move, because the next worlds are others. The
      columns of a plan are all actions of the game, or where there are thousands those of the highest weights; visit counts and
      values are those of all worlds together.

    Raises:
      ValueError: the planner is not shown states; the game hides nothing; or an argument is of another kind.
    """
    arguments.a_hidden_game(game)
    arguments.of_kind("planner", planner, Planner)
    arguments.of_kind("worlds", worlds, Worlds)
    if not planner.sees_state:
        raise ValueError(f"planner={planner.name!r}: plays by what its seat knows; drawn worlds need one that is shown states")

    def plan_in_worlds(params: Any, keys: Array, memory: Any, roots: Any, seats: Array, active: Array) -> tuple[Plan, Any]:
        memory = planner.reset(memory, jnp.ones_like(active))
        return planner.plan(params, keys, memory, roots, seats, active)

    return _over_worlds(
        game,
        worlds,
        planner._replace(plan=plan_in_worlds, name=name or f"{planner.name} in {worlds.num_worlds} worlds"),
    )


def pimc_tree(
    game: HiddenGame,
    evaluate: Evaluate,
    settings: Settings = Settings(),
    *,
    outputs: Outputs | None = None,
    name: str = "",
) -> Planner:
    """Makes a planner that searches every drawn world with PUCT: PC-PIMC, or PIMC with combine="value".

    Args:
      game: a game in which something is hidden; views are its Information.
      evaluate: as for `puct.puct`, in the game that the tree plays.
      settings: see there.
      outputs: as for `puct.puct`.
      name: for tables; "": PC-PIMC or PIMC.
    """
    arguments.of_kind("settings", settings, Settings)
    simulations = settings.search.num_simulations // (settings.num_worlds if settings.split else 1)
    search = dataclasses.replace(settings.search, num_simulations=simulations, temperature=0.0, reuse=False)
    planner = puct.puct(_played(game, settings), evaluate, search, outputs=outputs)
    label = {"policy": "PC-PIMC", "medoid": "PC-PIMC, medoid", "value": "PIMC"}[settings.combine]
    return determinized(game, planner, settings, name=name or label)


def pimc_value(game: HiddenGame, evaluate: Evaluate, settings: Worlds = Settings(), *, name: str = "PIMC, no tree") -> Planner:
    """Makes a planner that looks one action ahead in every drawn world: the sum of the value after each action (Eq. 3).

    Args:
      game: a game in which something is hidden; views are its Information.
      evaluate: as for `puct.puct`; its logits do not matter.
      settings: of the worlds; combine is "value".
      name: for tables.
    """
    planner = look_ahead(_played(game, settings), evaluate)
    return determinized(game, planner, dataclasses.replace(settings, combine="value"), name=name)


def look_ahead(game: Game, evaluate: Evaluate) -> Planner:
    """Makes a planner that looks one action ahead: the value after each action is all that it knows.

    Args:
      game: one in which players take turns.
      evaluate: as for `puct.puct`; its logits do not matter.

    Raises:
      ValueError: all players of the game move at once, or more than two move in turn.
    """
    check_turns(game, "looking ahead")

    def plan(params: Any, keys: Array, memory: tuple, roots: Any, seats: Array, active: Array) -> tuple[Plan, tuple]:
        offered, legal = jax.vmap(game.search_arms)(roots)
        arms, possible = of_seat(offered, seats), of_seat(legal, seats)

        def after(arm: Array) -> Array:
            """The value of one arm in all lanes, float32 [B]."""
            everyone = jnp.arange(game.num_players) == seats[:, None]
            actions = jnp.where(everyone, arms[:, arm, None], game.pass_action)
            states = jax.vmap(game.step)(roots, actions, keys)
            movers = jnp.maximum(jax.vmap(game.to_play)(states), 0)
            _, value = evaluate(params, states, movers)
            value = jnp.where(movers == seats, value, -value)
            outcome = of_seat(jax.vmap(game.outcome)(states), seats)
            return jnp.where(states.terminated, outcome, value)

        def note(arm: Array, values: Array) -> Array:
            return values.at[arm].set(after(arm))

        # The first of the arms are legal, in most games.
        number = jnp.where(possible & active[:, None], jnp.arange(1, arms.shape[1] + 1), 0).max()
        values = jax.lax.fori_loop(0, number, note, jnp.full(arms.shape[::-1], _LOWEST)).T
        values = jnp.where(possible, values, _LOWEST)
        chosen = jnp.where(possible, values, -jnp.inf).argmax(-1)  # legal also where all arms lose
        best = jnp.arange(arms.shape[1]) == chosen[:, None]
        found = plan_of_mover(
            game,
            seats,
            chosen,
            arms=offered,
            legal=legal,
            action_weights=best.astype(jnp.float32),
            qvalues=values,
            visit_counts=possible.astype(jnp.int32),
            root_value=values.max(-1),
            metrics={},
        )
        return found, memory

    per_lane = 3 * size_in_bytes(jax.eval_shape(game.init, jax.random.key(0))) + 8 * game.num_arms
    planner = memoryless("look-ahead", plan, search_bytes=lambda batch_size: batch_size * per_lane)
    return arguments.checked(planner, arguments.state_of(game))


def true_sight(
    game: HiddenGame,
    evaluate: Evaluate,
    settings: puct.Settings = puct.ALPHAZE,
    *,
    outputs: Outputs | None = None,
    name: str = "TrueSight",
) -> Planner:
    """Makes a planner that searches the true world, as if it saw everything: for training data only (Algorithm 2).

    Args:
      game: a game in which something is hidden; views are its states.
      evaluate: as for `puct.puct`, in the open game.
      settings: of the search.
      outputs: as for `puct.puct`.
      name: for tables.
    """
    planner = puct.puct(game.open_game, evaluate, settings, outputs=outputs, name=name)

    def plan(params: Any, keys: Array, memory: Any, views: Any, seats: Array, active: Array) -> tuple[Plan, Any]:
        return planner.plan(params, keys, memory, jax.vmap(game.open_state)(views), seats, active)

    return arguments.checked(planner._replace(plan=plan), arguments.state_of(game))


def _played(game: HiddenGame, worlds: Worlds) -> Game:
    """The game that is played in the worlds."""
    return game.open_game if worlds.tree == "open" else game


def _over_worlds(game: HiddenGame, worlds: Worlds, planner: Planner) -> Planner:
    """Draws worlds, plans in all of them, and makes one plan of what was found."""
    count, size = worlds.num_worlds, worlds.microbatch_size

    def plan(params: Any, keys: Array, memory: Any, views: Any, seats: Array, active: Array) -> tuple[Plan, Any]:
        def think(keys: Array, memory: Any, part: tuple[Any, Array], active: Array) -> tuple[Plan, Any]:
            views, seats = part
            states = draw_worlds(game, keys, views, count)
            roots = jax.vmap(game.open_state)(states) if worlds.tree == "open" else states
            plan_keys = jax.vmap(lambda key: jax.random.split(jax.random.fold_in(key, 1), count))(keys).reshape(-1)
            owners, needed = (jnp.repeat(x, count) for x in (seats, active))
            plans, memory = planner.plan(params, plan_keys, memory, roots, owners, needed)
            first = jax.tree.map(lambda leaf: leaf.reshape(-1, count, *leaf.shape[1:])[:, 0], states)
            return _together(game, worlds, planner, keys, seats, first, plans), memory

        return in_microbatches(think, size, keys, memory, (views, seats), active)

    def lanes_of(batch_size: int) -> int:
        return count * equal_size(batch_size, size)

    inner_bytes = planner.search_bytes
    in_worlds = planner._replace(
        init=lambda batch_size: planner.init(lanes_of(batch_size)),
        reset=lambda memory, lanes: memory,  # every plan begins again
        plan=plan,
        memory_bytes=count * planner.memory_bytes,
        sees_state=False,
        uses_hidden=True,
        own_first=False,  # its plan is of the game's seats
        ready=None,
        search_bytes=None if inner_bytes is None else lambda batch_size: inner_bytes(lanes_of(batch_size)),
    )
    return arguments.checked(in_worlds, arguments.information_of(game))


def _together(game: HiddenGame, worlds: Worlds, planner: Planner, keys: Array, seats: Array, first: Any, plans: Plan) -> Plan:
    """Makes one plan of those of W worlds per lane [B * W], by action; `first` is the first of them, State [B]."""
    count = worlds.num_worlds
    owners = jnp.repeat(seats, count)

    def own(per_player: Array) -> Array:
        """Picks the seat's row: [B * W, P, ...] -> [B, W, ...]."""
        rows = per_player[:, 0] if planner.own_first else of_seat(per_player, owners)
        return rows.reshape(-1, count, *rows.shape[1:])

    columns, many = [own(x) for x in _columns(plans)], game.num_actions > MOST_COLUMNS
    if many:
        actions, legal = _actions_of(game, columns[0], columns[1])
        policies, results, tried = _by_column(actions, *columns)
    else:
        legal = of_seat(jax.vmap(game.legal_actions)(first), seats)
        actions = jnp.broadcast_to(jnp.arange(game.num_actions), legal.shape)
        policies, results, tried = _by_action(game.num_actions, *columns)
    action_weights = combine(worlds, policies, results, legal)
    qvalues, visits = results.mean(1), tried.sum(1)
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
        metrics={name: plans.metrics[name].reshape(-1, count, *shape).sum(1) for name, shape in planner.metrics.items()},
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
    actions: Array, arms: Array, legal: Array, weights: Array, qvalues: Array, visits: Array
) -> tuple[Array, Array, Array]:
    """Orders the columns [B, W, K] of worlds by actions int32 [B, C]: as `_by_action`, [B, W, C]; by comparing."""
    same = (jnp.where(legal, arms, -1)[:, :, None] == actions[:, None, :, None]) & legal[:, :, None]
    tried = same & (visits > 0)[:, :, None]
    return (
        jnp.where(same, weights[:, :, None], 0.0).sum(-1),
        jnp.where(tried, qvalues[:, :, None], _LOWEST).max(-1),
        jnp.where(tried, visits[:, :, None], 0).sum(-1, dtype=jnp.int32),
    )


def _by_action(
    num_actions: int, arms: Array, legal: Array, weights: Array, qvalues: Array, visits: Array
) -> tuple[Array, Array, Array]:
    """Orders columns by action: [B, W, K] each -> weights and results float32 [B, W, A], visits int32 [B, W, A].

    Results of what was not tried are the lowest. One scatter and one gather: several side by side do not compile.
    """
    batch, worlds, count = arms.shape
    lane, world = jnp.arange(batch)[:, None, None], jnp.arange(worlds)[:, None]
    place = jnp.where(legal, arms, num_actions)
    column = jnp.full((batch, worlds, num_actions), count).at[lane, world, place].set(jnp.arange(count), mode="drop")
    tried = legal & (visits > 0)
    parts = (weights, jnp.where(tried, qvalues, _LOWEST), jnp.where(tried, visits, 0))
    nothing = jnp.array([0.0, _LOWEST, 0.0])
    words = jnp.stack(jax.lax.optimization_barrier([as_words(part) for part in parts]), axis=-1)
    words = jnp.concatenate([words, jnp.broadcast_to(as_words(nothing), (batch, worlds, 1, len(parts)))], axis=2)
    found = words[lane, world, column]
    return as_real(found[..., 0]), as_real(found[..., 1]), found[..., 2].astype(jnp.int32)


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
            weights = jax.nn.softmax(scores / worlds.value_temperature, -1)
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
