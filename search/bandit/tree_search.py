"""Tree search for simultaneous moves: in every state each player has a bandit of its own ("decoupled").

One simulation starts at the present state, lets the bandits choose for all players at once, and ends at a fixed depth or at
the end of the game. The value of its last state is credited to the visited states that are kept. The planners differ in
which these are:

* FDTS (fixed-depth tree search): all of them;
* MCTS: up to the first one that was not known, which is opened and gets nothing yet. From there uniformly random play to the
  fixed depth, or no further play at all.

(Source: Boney et al., Learning to Play Imperfect-Information Games by Imitating an Oracle Planner, Listing 1.)
"""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import random_bits
from jaxgames.game import Game
from jaxgames.lanes import where_lanes
from jaxgames.platforms import only_cpus, while_any
from jaxgames.random_bits import LaneKey
from search import arguments
from search.bandit import bandits, table
from search.bandit.bandits import Bandit, rounding_noise
from search.bandit.choices import add_credit, chance_keys, choose_actions, conclude, with_prior
from search.bandit.guide import Guide
from search.bandit.settings import Settings
from search.bandit.table import Table
from search.bandit.waves import Waves, think
from search.dynamics import Dynamics, dynamics_of
from search.planner import Plan, Planner


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class _Walk:
    """Simulations on their way. L lanes, D depths.

    Attributes:
      states: State [L]; at the end, those that are valued.
      inside: bool [L], all states so far were kept.
      keys: uint32 [D, L, 2], states met.
      arms: int32 [D, L, P], arms chosen in them.
      kept: bool [D, L], states to keep.
      credited: bool [D, L], states whose chosen arms get the value.
      met, known: bool [D, L], states met before the end of the game, and those already in the table.
    """

    states: object
    inside: Array
    keys: Array
    arms: Array
    kept: Array
    credited: Array
    met: Array
    known: Array


def decoupled_search(game: Game | Dynamics, bandit: Bandit, settings: Settings, name: str, guide: Guide | None = None) -> Planner:
    """Makes a planner.

    Args:
      game: any game, all players of which plan for themselves with the full state; or dynamics made of one.
      bandit: the rule of choice.
      settings: sizes and variant.
      name: for tables.
      guide: a network that weighs on the choices in the present state and values the last ones; its parameters are the
        planner's. None: no network.

    Raises:
      ValueError: the horizon is longer than a row counts, or the table does not fit its bytes.
    """
    if settings.horizon > bandits.MAX_CREDITS:
        raise ValueError(f"horizon={settings.horizon}: must be in 1..{bandits.MAX_CREDITS}")
    if guide is not None:
        arguments.of_kind("guide", guide, Guide)
    game = dynamics_of(game)
    num_words = game.num_players * game.num_arms
    rows = settings.rows(num_words)
    settings.groups(game)

    def init(batch_size: int) -> Table:
        return table.init(batch_size, rows, num_words)

    def plan(params, keys: Array, memory: Table, views, seats: Array, active: Array) -> tuple[Plan, Table]:
        roots = game.root(params, keys, views, seats)
        search = functools.partial(search_with, params)
        return think(search, settings, game, bandit, keys, memory, roots, seats, active, table.ACCESS)

    def search_with(params, keys: Array, memory: Table, views, active: Array) -> tuple[Plan, Table]:
        waves = Waves.of(game, settings, keys, views, active)
        trees = waves.trees
        prior = guide.prior_words(game, bandit, params, views) if guide else None
        root_prior = None if prior is None else prior[trees]
        everyone, root_keys = jnp.arange(len(keys), dtype=jnp.int32), game.state_key(views)
        memory = table.hold(memory, table.find(memory, everyone, root_keys), waves.counts > 0)

        def one_wave(number, carry):
            memory, met, known = carry
            lanes, starts, running = waves.wave(number)
            walk = _simulate(params, game, bandit, settings, lanes, memory, trees, starts, running, root_prior)
            value, noise = game.heuristic(walk.states), rounding_noise(lanes, game.num_players)
            if guide and guide.values:
                credit = bandit.soft_credit(guide.final_values(game, params, walk.states, value), noise)
            else:
                credit = bandit.credit(value, noise)
            memory = _keep(settings, bandit, memory, walk, credit, number < waves.counts, root_keys)
            return memory, met + waves.count_by_tree(walk.met), known + waves.count_by_tree(walk.known)

        zero = jnp.zeros((len(keys), settings.horizon), jnp.int32)
        memory, met, known = jax.lax.fori_loop(0, waves.most, one_wave, (memory, zero, zero))
        slot = table.find(memory, everyone, root_keys)
        words, memory = table.read(memory, slot), table.release(memory, slot, waves.counts > 0)
        metrics = {"met": met, "known": known, "evicted": memory.evicted, "stored": memory.stored}
        return conclude(game, bandit, waves.lanes, views, words, metrics, prior), memory

    planner = Planner(
        name,
        init,
        table.reset,
        plan,
        memory_bytes=rows * table.row_bytes(num_words),
        metrics={"met": (settings.horizon,), "known": (settings.horizon,)},
        own_first=game.own_first,
        value_range=bandit.value_range,
    )
    return arguments.checked(planner, game.view, game.num_seats)


def _simulate(
    params, game: Dynamics, bandit, settings: Settings, lanes: LaneKey, memory: Table, trees, roots, running, root_prior
) -> _Walk:
    """Runs one simulation per lane without touching the tables."""
    depths, count, players = settings.horizon, trees.shape[0], game.num_players
    flags = jnp.zeros((depths, count), bool)
    walk = _Walk(
        states=roots,
        inside=running,
        keys=jnp.zeros((depths, count, 2), jnp.uint32),
        arms=jnp.zeros((depths, count, players), jnp.int32),
        kept=flags,
        credited=flags,
        met=flags,
        known=flags,
    )
    stops = not settings.keep_all and not settings.rollout
    root_keys = game.state_key(roots)  # the root is in the tree also before it has a row in the table

    def step(depth, carry):
        going, walk = carry
        keys = game.state_key(walk.states)
        slot = table.find(memory, trees, keys)
        met = going & ~game.terminated(walk.states)
        inside = walk.inside & met
        is_root = (keys == root_keys).all(-1)
        credited = inside if settings.keep_all else inside & (slot.found | is_root)
        words = jnp.where(credited[:, None], table.read(memory, slot), 0)
        if root_prior is not None:
            words = with_prior(bandit, words, jnp.where(is_root[:, None], root_prior, 0))
        choice, actions = choose_actions(game, bandit, random_bits.fold(lanes, depth), walk.states, words, settings.groups(game))
        states = game.step(params, chance_keys(lanes, depth), walk.states, actions)
        if stops:  # the value of a new state counts, so the lane stays in it
            going = going & ~(met & ~credited)
            states = where_lanes(going, states, walk.states)
        walk = _Walk(
            states=states,
            inside=credited,
            keys=walk.keys.at[depth].set(keys),
            arms=walk.arms.at[depth].set(choice),
            kept=walk.kept.at[depth].set(inside),
            credited=walk.credited.at[depth].set(credited),
            met=walk.met.at[depth].set(met),
            known=walk.known.at[depth].set(met & slot.found),
        )
        return going, walk

    def unfinished(carry):
        going, walk = carry
        return (going & ~game.terminated(walk.states)).any()

    return while_any(depths, unfinished, step, (running, walk), short=stops)[1]


def _keep(
    settings: Settings, bandit: Bandit, memory: Table, walk: _Walk, credit: Array, active: Array, root_keys: Array
) -> Table:
    """Gives each simulation's credit (uint32 [L, P]) to the states it kept, one simulation of a tree after another.

    A state met m times in one simulation gets m times the value, all for the arm chosen at its last visit: the published
    code remembers only that one. Rows of the roots, whose keys are uint32 [B, 2], are held: all simulations of a wave have the
    same time, and one that comes back to its root writes its row after others.
    """
    depths, lanes, _ = walk.keys.shape
    batch = lanes // settings.leaf_parallelism
    trees = jnp.arange(batch, dtype=jnp.int32)
    same = (walk.keys[:, None] == walk.keys[None]).all(-1) & walk.kept[:, None] & walk.kept[None]
    later = jnp.arange(depths)[:, None] < jnp.arange(depths)[None]
    is_last = walk.kept & ~(same & later[..., None]).any(1)
    times = (same & walk.credited[None]).sum(1, dtype=jnp.uint32)
    reached: Array | int = depths
    if only_cpus():  # nothing is kept beyond; accelerators have to know the length of a loop
        reached = jnp.max(jnp.where(walk.kept.any(1), jnp.arange(1, depths + 1, dtype=jnp.int32), 0))

    def write_one(index, memory):
        walk_of_tree, depth = index // reached, index % reached

        def pick(per_lane):
            return jax.lax.dynamic_index_in_dim(
                per_lane.reshape(batch, settings.leaf_parallelism, *per_lane.shape[1:]), walk_of_tree, 1, False
            )

        def at(path):
            return pick(jax.lax.dynamic_index_in_dim(path, depth, 0, False))

        keys = at(walk.keys)
        slot = table.find(memory, trees, keys)
        words = table.read(memory, slot)
        words = add_credit(bandit, words, at(walk.arms), pick(credit) * at(times)[:, None])
        return table.write(memory, slot, words, at(is_last), (keys == root_keys).all(-1))

    memory = jax.lax.fori_loop(0, reached * settings.leaf_parallelism, write_one, memory)
    return table.tick(memory, active)
