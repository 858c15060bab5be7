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
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import checks, random_bits
from jaxgames.game import Game
from jaxgames.lanes import where_lanes
from jaxgames.random_bits import LaneKey
from search import arguments
from search.bandit import bandits, table
from search.bandit.bandits import Bandit, rounding_noise
from search.bandit.guide import Guide
from search.bandit.table import Table
from search.dynamics import Dynamics, dynamics_of
from search.microbatch import Access, in_microbatches
from search.planner import Plan, Planner, of_seat

# Children of a lane key beside those numbered by depth or simulation.
_CHANCE = 1 << 20
_CONCLUSION = 1 << 21
_GROUPS = 1 << 23

_PLANS, _MOST_ROWS = 32, 2**16  # a table has room for the states of so many plans, but no more rows
_EVEN = bandits.uniform()
MICROBATCH_SIZE = 128  # on a CPU: half of it costs a full batch of Pommerman a tenth more, a quarter of it four tenths


@dataclasses.dataclass(frozen=True)
class Settings:
    """How a decoupled tree search runs; checked when made.

    Attributes:
      num_simulations: simulations per plan.
      simulations_per_arm: so many for each action that the player with most of them can choose among in the present state, but
        never more than `num_simulations`; 0: always all of these.
      rest_when_forced: do not think where the seat that is asked has a single legal action; only that action is then told.
        Not for learners that take the plans of all seats.
      grouped: choose a group of arms first, by what all of its arms have met, then one of them (a combinatorial bandit), in games
        that tell such groups: in Clash a card, then a position.
      horizon: steps per simulation.
      keep_all: keep every visited state (FDTS) or only one new one per simulation (MCTS).
      rollout: MCTS: play randomly from the new state to the horizon, else stop there.
      leaf_parallelism: so many simulations of one tree run at once on the same statistics; divides `num_simulations`.
      table_rows: rows of the table per game, a power of two; None: by `table_bytes`.
      table_bytes: as many rows as fit into so many bytes; None: room for all states of 32 plans, at most 2^16 rows.
      microbatch_size: at most so many of the lanes that need a plan are worked on together, then the next.
    """

    num_simulations: int = 100
    simulations_per_arm: int = 0
    rest_when_forced: bool = False
    grouped: bool = False
    horizon: int = 20
    keep_all: bool = True
    rollout: bool = True
    leaf_parallelism: int = 1
    table_rows: int | None = None
    table_bytes: int | None = None
    microbatch_size: int = MICROBATCH_SIZE

    def __post_init__(self) -> None:
        checks.at_least(1, self, "num_simulations", "horizon", "leaf_parallelism", "microbatch_size")
        checks.at_least(0, self, "simulations_per_arm")
        checks.below(checks.COUNTS, self, "num_simulations", "simulations_per_arm")
        if self.num_simulations % self.leaf_parallelism:
            raise ValueError(f"leaf_parallelism={self.leaf_parallelism}: must divide num_simulations={self.num_simulations}")
        if self.keep_all and not self.rollout:
            raise ValueError("rollout=False: needs keep_all=False (mcts); where all states are kept there is no rollout")
        if self.table_rows is not None:
            table.check_rows(self.table_rows)
            if self.table_bytes is not None:
                raise ValueError(f"table_bytes={self.table_bytes}: give table_rows={self.table_rows} or this, not both")

    def groups(self, game: Dynamics) -> tuple[int, ...]:
        """Gives the group of each arm; () where arms are chosen by themselves.

        Raises:
          ValueError: the game tells none.
        """
        if self.grouped and not game.arm_groups:
            raise ValueError(f"grouped=True: {game.name} has no groups of arms")
        return game.arm_groups if self.grouped else ()

    def waves(self, game: Dynamics, nodes: Any) -> Array:
        """Gives how often the simulations that run at once are run from each of the nodes [B], int32 [B]."""
        most = self.num_simulations // self.leaf_parallelism
        if not self.simulations_per_arm:
            return jnp.full_like(game.to_play(nodes), most, jnp.int32)
        _, legal = game.arms(nodes)
        wanted = legal.sum(-1, dtype=jnp.int32).max(-1) * min(self.simulations_per_arm, self.num_simulations)
        return jnp.minimum((wanted + self.leaf_parallelism - 1) // self.leaf_parallelism, most)

    def search(
        self,
        search: Callable,
        game: Dynamics,
        bandit: Bandit,
        keys: Array,
        memory: Any,
        roots: Any,
        seats: Array,
        active: Array,
        access: Access,
    ) -> tuple[Plan, Any]:
        """Thinks for the lanes that need it by `search`; see `in_microbatches`."""
        active = active & ~game.terminated(roots)
        load = self.waves(game, roots) if self.simulations_per_arm else None
        forced = active & False
        if self.rest_when_forced:
            _, legal = game.arms(roots)
            own = jnp.zeros_like(seats) if game.own_first else seats
            forced = active & (of_seat(legal, own).sum(-1) == 1)
        plan, memory = in_microbatches(search, self.microbatch_size, keys, memory, roots, active & ~forced, access, load)
        if self.rest_when_forced:
            words = jnp.zeros((len(seats), game.num_players * game.num_arms), jnp.uint32)
            told = conclude(game, bandit, jax.vmap(random_bits.lane_key)(keys), roots, words, plan.metrics)
            plan = where_lanes(forced, told, plan)
        return plan, memory

    def longest(self, waves: Array) -> Array | int:
        """Gives the most of `waves`, as a plain number where it is known while tracing."""
        return waves.max() if self.simulations_per_arm else self.num_simulations // self.leaf_parallelism

    def rows(self, num_words: int) -> int:
        """Gives the rows of a table of rows of so many words.

        Raises:
          ValueError: not even the smallest table fits into `table_bytes`.
        """
        if self.table_rows is not None:
            return self.table_rows
        if self.table_bytes is None:
            states = _PLANS * self.num_simulations * self.horizon
            return min(max(table.WAYS, 1 << (states - 1).bit_length()), _MOST_ROWS)
        least = table.WAYS * table.row_bytes(num_words)
        if self.table_bytes < least:
            raise ValueError(f"table_bytes={self.table_bytes}: must be >= {least}, the smallest table of this game")
        return table.WAYS << (self.table_bytes // least).bit_length() - 1


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
        return settings.search(search, game, bandit, keys, memory, roots, seats, active, table.ACCESS)

    def search_with(params, keys: Array, memory: Table, views, active: Array) -> tuple[Plan, Table]:
        batch = keys.shape[0]
        lanes = jax.vmap(random_bits.lane_key)(keys)
        trees = jnp.repeat(jnp.arange(batch, dtype=jnp.int32), settings.leaf_parallelism)
        roots = jax.tree.map(lambda x: x[trees], views)
        wave_number = jnp.tile(jnp.arange(settings.leaf_parallelism, dtype=jnp.int32), batch)
        walkers = random_bits.fold(LaneKey(lanes.first[trees], lanes.second[trees]), wave_number)
        waves = jnp.where(active, settings.waves(game, views), 0)
        prior = guide.prior_words(game, bandit, params, views) if guide else None
        root_prior = None if prior is None else prior[trees]

        def one_wave(number, carry):
            memory, met, known = carry
            lanes = random_bits.fold(walkers, number)
            goes_on = number < waves
            # Its own key: depths of steps are smaller.
            begin = game.redrawn(chance_keys(lanes, jnp.int32(settings.horizon)), roots) if game.redrawn else roots
            walk = _simulate(params, game, bandit, settings, lanes, memory, trees, begin, goes_on[trees], root_prior)
            value, noise = game.heuristic(walk.states), rounding_noise(lanes, game.num_players)
            if guide and guide.values:
                credit = bandit.soft_credit(guide.final_values(game, params, walk.states, value), noise)
            else:
                credit = bandit.credit(value, noise)
            memory = _keep(settings, bandit, memory, walk, credit, goes_on)
            return memory, met + count_by_tree(walk.met, batch), known + count_by_tree(walk.known, batch)

        zero = jnp.zeros((batch, settings.horizon), jnp.int32)
        memory, met, known = jax.lax.fori_loop(0, settings.longest(waves), one_wave, (memory, zero, zero))
        slot = table.find(memory, jnp.arange(batch, dtype=jnp.int32), game.state_key(views))
        metrics = {"met": met, "known": known, "evicted": memory.evicted, "stored": memory.stored}
        return conclude(game, bandit, lanes, views, table.read(memory, slot), metrics, prior), memory

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
    return arguments.checked(planner, game.view)


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

    def step(carry):
        depth, going, walk = carry
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
        return depth + 1, going, walk

    def unfinished(carry):
        depth, going, walk = carry
        return (depth < depths) & (going & ~game.terminated(walk.states)).any()

    return jax.lax.while_loop(unfinished, step, (jnp.int32(0), running, walk))[2]


def choose_actions(
    game: Dynamics,
    bandit: Bandit,
    lanes: LaneKey,
    states,
    words: Array,
    groups: tuple[int, ...] = (),
    known: Array | bool = True,
) -> tuple[Array, Array]:
    """Lets every player's bandit choose in every lane.

    Args:
      game: what is walked in.
      bandit: the rule.
      lanes: leaves [L].
      states: nodes [L].
      words: uint32 [L, P * K], zeros for a state that is not known: then the choice is uniform.
      groups: of each arm: a group is chosen first, then an arm of it; (): arms are chosen by themselves.
      known: bool [], of all lanes; False: words are ignored and the choice is uniform, which is cheaper to draw.

    Returns:
      choice: int32 [L, P], index of the arm.
      actions: int32 [L, P].
    """
    offered, legal = game.arms(states)
    open_arms = legal
    if groups:
        among = np.arange(max(groups) + 1)[:, None] == np.array(groups)  # [G, K]
        summed = bandit.summed(words.reshape(legal.shape)[:, :, None], among)
        usable = (legal[:, :, None] & among).any(-1)
        of_groups, summed = random_bits.fold(lanes, _GROUPS), summed.reshape(len(summed), -1)
        scores = _scores(game, bandit, of_groups, states, summed, len(among), known)
        group = bandits.choose(scores.reshape(usable.shape), usable)
        open_arms = legal & (group[:, :, None] == np.array(groups))
    scores = _scores(game, bandit, lanes, states, words, game.num_arms, known)
    choice = bandits.choose(scores.reshape(legal.shape), open_arms)
    chosen = choice[:, :, None] == jnp.arange(game.num_arms)
    return choice, jnp.where(chosen, offered, 0).sum(-1, dtype=jnp.int32)


def _scores(game: Dynamics, bandit: Bandit, lanes: LaneKey, states, words: Array, num_arms: int, known: Array | bool) -> Array:
    """Scores of arms float32 [L, P * K] by their words, or where these do not matter by chance alone.

    As a branch of its own, the drawing is compiled by itself; fused with what is around it, it is not vectorized on a CPU and
    costs six times as much. Where words are known it is always taken, but for batches in which nobody is at play any more.
    """
    return jax.lax.cond(
        known & (~game.terminated(states)).any(),
        lambda lanes, words: bandit.scores(lanes, words, num_arms),
        lambda lanes, words: _EVEN.scores(lanes, words, num_arms),
        LaneKey(lanes.first[:, None], lanes.second[:, None]),
        words,
    )


def chance_keys(lanes: LaneKey, depth: Array) -> Array:
    """Makes keys [L] for the game's own chance, one per lane and depth."""
    return jax.random.wrap_key_data(jnp.stack(random_bits.fold(lanes, depth + _CHANCE), axis=-1))


def count_by_tree(flags: Array, batch: int) -> Array:
    """Adds up flags of the lanes of each tree: bool [D, L] to int32 [B, D]."""
    return flags.reshape(flags.shape[0], batch, -1).sum(-1, dtype=jnp.int32).T


def _keep(settings: Settings, bandit: Bandit, memory: Table, walk: _Walk, credit: Array, active: Array) -> Table:
    """Gives each simulation's credit (uint32 [L, P]) to the states it kept, one simulation of a tree after another.

    A state met m times in one simulation gets m times the value, all for the arm chosen at its last visit: the published
    code remembers only that one.
    """
    depths, lanes, _ = walk.keys.shape
    batch = lanes // settings.leaf_parallelism
    trees = jnp.arange(batch, dtype=jnp.int32)
    same = (walk.keys[:, None] == walk.keys[None]).all(-1) & walk.kept[:, None] & walk.kept[None]
    later = jnp.arange(depths)[:, None] < jnp.arange(depths)[None]
    is_last = walk.kept & ~(same & later[..., None]).any(1)
    times = (same & walk.credited[None]).sum(1, dtype=jnp.uint32)
    reached = jnp.max(jnp.where(walk.kept.any(1), jnp.arange(1, depths + 1, dtype=jnp.int32), 0))  # nothing is kept beyond

    def write_one(index, memory):
        walk_of_tree, depth = index // reached, index % reached

        def pick(per_lane):
            return jax.lax.dynamic_index_in_dim(
                per_lane.reshape(batch, settings.leaf_parallelism, *per_lane.shape[1:]), walk_of_tree, 1, False
            )

        def at(path):
            return pick(jax.lax.dynamic_index_in_dim(path, depth, 0, False))

        slot = table.find(memory, trees, at(walk.keys))
        words = table.read(memory, slot)
        words = add_credit(bandit, words, at(walk.arms), pick(credit) * at(times)[:, None])
        return table.write(memory, slot, words, at(is_last))

    memory = jax.lax.fori_loop(0, reached * settings.leaf_parallelism, write_one, memory)
    return table.tick(memory, active)


def with_prior(bandit: Bandit, words: Array, prior: Array) -> Array:
    """Adds a prior to statistics, both uint32 [B, P * K], but where these are so full that it might not fit."""
    return words + jnp.where(bandit.is_full(words), 0, prior)


def add_credit(bandit: Bandit, words: Array, choice: Array, credit: Array) -> Array:
    """Adds each player's credit (uint32 [B, P]) to the word of its chosen arm; if that is full then, halves all of the player."""
    per_arm = words.reshape(words.shape[0], choice.shape[1], -1)
    chosen = choice[:, :, None] == jnp.arange(per_arm.shape[2])
    per_arm = per_arm + jnp.where(chosen, credit[:, :, None], 0)
    full = bandit.is_full(per_arm)
    # A branch, as hardly ever a word is full.
    per_arm = jax.lax.cond(
        full.any(),
        lambda words: jnp.where(full.any(-1, keepdims=True), bandit.halved(words), words),
        lambda words: words,
        per_arm,
    )
    return per_arm.reshape(words.shape)


def conclude(
    game: Dynamics, bandit: Bandit, lanes: LaneKey, views, words: Array, metrics: dict, prior: Array | None = None
) -> Plan:
    """Turns the root statistics (uint32 [B, P * K]) of all lanes into a plan; a prior weighs on it, but was never tried."""
    offered, legal = game.arms(views)
    visits = bandit.visits(words.reshape(legal.shape))
    words = words if prior is None else with_prior(bandit, words, prior)
    words = words.reshape(legal.shape)
    policy = bandits.final_policy(bandit, words, legal)
    choice = bandits.final_choice(random_bits.fold(lanes, _CONCLUSION), policy)
    values = jnp.where(legal, bandit.values(words), -1.0)
    chosen = choice[:, :, None] == jnp.arange(game.num_arms)
    return Plan(
        actions=jnp.where(chosen, offered, 0).sum(-1, dtype=jnp.int32),
        arms=offered,
        legal=legal,
        qvalues=values,
        visit_counts=visits,
        action_weights=policy,
        root_value=jnp.where(chosen, values, 0.0).sum(-1),
        metrics=metrics,
    )
