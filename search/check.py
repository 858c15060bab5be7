"""A check for authors of planners: what a lane gets depends on nothing but the lane."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import PartitionSpec

from jaxgames.game import Game, init_all_information, is_hidden, update_all_information
from jaxgames.lanes import where_lanes
from jaxgames.runtime import DATA_AXIS, data_mesh
from search.arguments import checked
from search.planner import Plan, Planner, of_asked


class _Asked(NamedTuple):
    """What a planner is asked; leaves [M, B]: move, lane.

    Attributes:
      keys: of the plans, uint32 [M, B, 2] as numbers.
      views: states, or what the seats know.
      seats: int32, for whom.
      active: bool, lanes that need a plan.
      begins: bool, lanes whose memory is reset before.
    """

    keys: Array
    views: Any
    seats: Array
    active: Array
    begins: Array


def check_planner(
    planner: Planner,
    game: Game,
    params: Any = None,
    *,
    lanes: Sequence[int] = (1, 7, 64),
    devices: Sequence[int] | None = None,
    moves: int = 4,
    seed: int = 0,
) -> None:
    """Checks that the plans of a lane are the same bits alone and among neighbours, on one device and on several.

    Games are played by the planner's own moves; now and then a lane rests, and now and then a new episode begins in one.

    Args:
      planner: the planner.
      game: what it plans for.
      params: of its network.
      lanes: sizes of batches; the largest is split over the devices, and the others are parts of it.
      devices: numbers of devices; None: those of 1, 2 and 4 that this process has.
      moves: plans per lane.
      seed: of the games.

    Raises:
      ValueError: the first difference: one line that names what differs, where, and both values; or plans or memories are of
        other shapes or types than `Planner` says, or the devices do not divide the largest batch.
    """
    planner = checked(planner, None, game.num_players)
    most = max(lanes)
    if devices is None:
        devices = [count for count in (1, 2, 4) if count <= len(jax.local_devices()) and most % count == 0]
    if odd := [count for count in devices if most % count]:
        raise ValueError(f"lanes={tuple(lanes)}: the largest must be a multiple of the devices, {odd[0]}")
    asked, plans = jax.device_get(jax.jit(functools.partial(_play, planner, game, most, moves))(jax.random.key(seed), params))
    run = functools.partial(_answer, planner)
    for count in sorted({*lanes} - {most}):
        compiled = jax.jit(run)
        for first in sorted({0, most // 3, most - count}):
            part = slice(first, first + count)
            found = compiled(params, jax.tree.map(lambda leaf, part=part: leaf[:, part], asked))
            _compare(planner, f"{count} instead of {most} lanes", plans, found, asked.active, first)
    spread = PartitionSpec(None, DATA_AXIS)
    for count in sorted({*devices} - {1}):
        mapped = jax.shard_map(run, mesh=data_mesh(count), in_specs=(PartitionSpec(), spread), out_specs=spread, check_vma=False)
        _compare(planner, f"{count} devices instead of 1", plans, jax.jit(mapped)(params, asked), asked.active, 0)


def _play(planner: Planner, game: Any, count: int, moves: int, key: Array, params: Any) -> tuple[_Asked, Plan]:
    """Plays, and gives what was asked and answered."""
    lanes = jnp.arange(count)

    def keys_of(use: int, move: Array | int = 0) -> Array:
        return jax.vmap(jax.random.fold_in, (None, 0))(jax.random.fold_in(jax.random.fold_in(key, use), move), lanes)

    informs = not planner.sees_state and is_hidden(game)  # else who does not see the state is shown what it observes

    def viewed(states: Any, infos: Any, seats: Array) -> Any:
        if informs:
            return jax.tree.map(lambda leaf: leaf[lanes, seats], infos)
        return states if planner.sees_state else jax.vmap(game.observe)(states, seats)

    def move(carry: Any, number: Array) -> tuple[Any, tuple[_Asked, Plan]]:
        states, infos, memory = carry
        to_play = jax.vmap(game.to_play)(states)
        seats = jnp.where(to_play >= 0, to_play, lanes % game.num_players)
        views = viewed(states, infos, seats)
        begins = (lanes + 2 * number) % 5 == 4
        keys = keys_of(0, number)
        asked = _Asked(jax.random.key_data(keys), views, seats, (lanes + number) % 4 != 3, begins)
        asked = asked._replace(active=asked.active & ~states.terminated)
        plan, memory = planner.plan(params, keys, planner.reset(memory, begins), views, seats, asked.active)
        own = of_asked(plan.actions, seats, own_first=planner.own_first)
        others = plan.actions if planner.sees_state and not planner.own_first else jnp.full_like(own, game.pass_action)[:, None]
        actions = jnp.where(jnp.arange(game.num_players) == seats[:, None], own[:, None], others)
        after = jax.vmap(game.step)(states, actions, keys_of(1, number))
        if informs:
            infos = where_lanes(asked.active, update_all_information(game, infos, after, actions), infos)
        return (where_lanes(asked.active, after, states), infos, memory), (asked, plan)

    states = jax.vmap(game.init)(keys_of(2))
    infos = init_all_information(game, states) if informs else ()
    return jax.lax.scan(move, (states, infos, planner.init(count)), jnp.arange(moves))[1]


def _answer(planner: Planner, params: Any, asked: _Asked) -> Plan:
    """Gives the plans of the same moves again; leaves [M, B]."""

    def move(memory: Any, asked: _Asked) -> tuple[Any, Plan]:
        memory = planner.reset(memory, asked.begins)
        plan, memory = planner.plan(params, jax.random.wrap_key_data(asked.keys), memory, asked.views, asked.seats, asked.active)
        return memory, plan

    return jax.lax.scan(move, planner.init(asked.seats.shape[1]), asked)[1]


def _compare(planner: Planner, what: str, plans: Plan, found: Plan, active: np.ndarray, first: int) -> None:
    """Raises at the first difference; `first` is the number of the first lane of `found`."""
    for (path, expected), came in zip(jax.tree_util.tree_leaves_with_path(plans), jax.tree.leaves(found), strict=True):
        came = np.asarray(came)
        expected = expected[:, first : first + came.shape[1]]
        same = (expected == came) | ((expected != expected) & (came != came))  # NaN is like NaN
        places = np.argwhere(~same & active[:, first : first + came.shape[1]].reshape(*came.shape[:2], *[1] * (came.ndim - 2)))
        if len(places):
            place = tuple(places[0])
            raise ValueError(
                f"{planner.name}: with {what}, plan{jax.tree_util.keystr(path)} of move {place[0]}, lane {first + place[1]}"
                f"{', entry ' + str(list(map(int, place[2:]))) if place[2:] else ''} is {came[place]}, must be {expected[place]}"
            )
