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

from jaxgames import checks, shapes
from jaxgames.game import Game, HiddenGame
from search import arguments, puct
from search.dynamics import Evaluate, Outputs, answer, check_turns
from search.microbatch import equal_size, in_microbatches
from search.planner import Plan, Planner, ended, memoryless, of_seat, size_in_bytes
from search.puct.action_selection import plan_of_mover
from search.puct.answers import sound_values
from search.puct.worlds import Worlds, draw_worlds, played_in, together

_USUAL = Worlds()
_LOWEST = -1.0  # value of what cannot be done


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
        checks.flags(self, "split")
        if self.split and self.search.num_simulations < self.num_worlds:
            raise ValueError(
                f"split: num_simulations={self.search.num_simulations} must be at least num_worlds={self.num_worlds}"
            )


def determinized(game: HiddenGame, planner: Planner, worlds: Worlds = _USUAL, *, name: str = "") -> Planner:
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
    arguments.a_hidden_game(game)
    arguments.of_kind("settings", settings, Settings)
    simulations = settings.search.num_simulations // (settings.num_worlds if settings.split else 1)
    search = dataclasses.replace(settings.search, num_simulations=simulations, temperature=0.0, reuse=False)
    planner = puct.puct(played_in(game, settings), evaluate, search, outputs=outputs)
    label = {"policy": "PC-PIMC", "medoid": "PC-PIMC, medoid", "value": "PIMC"}[settings.combine]
    return determinized(game, planner, settings, name=name or label)


def pimc_value(game: HiddenGame, evaluate: Evaluate, settings: Worlds = _USUAL, *, name: str = "PIMC, no tree") -> Planner:
    """Makes a planner that looks one action ahead in every drawn world: the sum of the value after each action (Eq. 3).

    Args:
      game: a game in which something is hidden; views are its Information.
      evaluate: as for `puct.puct`; its logits do not matter.
      settings: of the worlds; `combine` may be left out, or be "value"; a `search` in them is ignored.
      name: for tables.

    Raises:
      ValueError: worlds are to be put together in another way, or simulations to be split among them.
    """
    arguments.a_hidden_game(game)
    arguments.of_kind("settings", settings, Worlds)
    if settings.combine not in (_USUAL.combine, "value"):
        raise ValueError(f"combine={settings.combine!r}: must be value, there are no policies without a tree")
    if isinstance(settings, Settings) and settings.split:
        raise ValueError("split=True: must be False, there are no simulations without a tree")
    planner = look_ahead(played_in(game, settings), evaluate)
    return determinized(game, planner, dataclasses.replace(settings, combine="value"), name=name)


def look_ahead(game: Game, evaluate: Evaluate) -> Planner:
    """Makes a planner that looks one action ahead: the value after each action is all that it knows.

    Args:
      game: one in which players take turns.
      evaluate: as for `puct.puct`; its logits do not matter.

    Raises:
      ValueError: all players of the game move at once, or more than two move in turn; or an argument is of another kind.
    """
    state = arguments.state_of(game)
    check_turns(game, "looking ahead")
    arguments.a_function("evaluate", evaluate, "from (params, states, seats) to logits and values")

    def plan(params: Any, keys: Array, memory: tuple, roots: Any, seats: Array, active: Array) -> tuple[Plan, tuple]:
        offered, legal = jax.vmap(game.search_arms)(roots)
        arms, possible = of_seat(offered, seats), of_seat(legal, seats)

        def after(arm: Array) -> Array:
            """The value of one arm in all lanes, float32 [B]."""
            everyone = jnp.arange(game.num_players) == seats[:, None]
            actions = jnp.where(everyone, arms[:, arm, None], game.pass_action)
            states = jax.vmap(game.step)(roots, actions, keys)
            movers = jnp.maximum(jax.vmap(game.to_play)(states), 0)
            value = sound_values(answer(evaluate, params, states, movers)[1])
            value = jnp.where(movers == seats, value, -value)
            outcome = of_seat(jax.vmap(game.outcome)(states), seats)
            return jnp.where(states.terminated, outcome, value)

        def note(arm: Array, values: Array) -> Array:
            return values.at[arm].set(after(arm))

        # The first of the arms are legal, in most games.
        number = jnp.where(possible & (active & ~roots.terminated)[:, None], jnp.arange(1, arms.shape[1] + 1), 0).max()
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
        return ended(found, roots.terminated, jax.vmap(game.outcome)(roots), game.pass_action), memory

    per_lane = 3 * size_in_bytes(state) + 8 * game.num_arms
    planner = memoryless("look-ahead", plan, search_bytes=lambda batch_size: batch_size * per_lane)
    return arguments.checked(planner, state, game.num_players)


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
    arguments.a_hidden_game(game)
    planner = puct.puct(game.open_game, evaluate, settings, outputs=outputs, name=name)

    def plan(params: Any, keys: Array, memory: Any, views: Any, seats: Array, active: Array) -> tuple[Plan, Any]:
        return planner.plan(params, keys, memory, jax.vmap(game.open_state)(views), seats, active)

    return arguments.checked(planner._replace(plan=plan), arguments.state_of(game), game.num_players)


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
            return together(game, worlds, planner, keys, seats, first, plans), memory

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
        uses_hidden=False,
        own_first=False,  # its plan is of the game's seats
        ready=None,
        search_bytes=None if inner_bytes is None else lambda batch_size: inner_bytes(lanes_of(batch_size)),
    )
    return arguments.checked(in_worlds, shapes.information_of(game), game.num_players)
