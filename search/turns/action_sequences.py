"""Evolving strings of actions: each player's against those of all the others.

That suits games of simultaneous moves; where one moves at a time, strings also have a gene for each step in which their player
waits. Every player has a population of strings of arms. In a simulation all play one string each, drawn against each other again
in every generation, and each is credited with its player's value of the last state; the mean counts. The better half survives and
breeds. An arm that is not legal where it comes gives way to the next one that is.

(Source: the planners of Justesen et al., for games in which nobody waits for a turn; strings evolve as in Rolling Horizon
Evolution, and a population that is moved on by a step is its shift buffer.)
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import checks, random_bits
from jaxgames.game import Game
from jaxgames.lanes import where_lanes
from jaxgames.random_bits import LaneKey
from search.arguments import checked, settings_of, state_of
from search.bandit.choices import chance_keys
from search.bandit.settings import MICROBATCH_SIZE
from search.microbatch import PER_LANE, in_microbatches
from search.planner import Plan, Planner, ended
from search.turns import population

# Children of a lane's key by generation; beside them those of the first strings and of the way that the best lead along (games'
# own chance has its own). Then children of a generation's key, and counters of a child's.
_FIRST, _KEPT = 1 << 22, 1 << 23
_PARTNERS, _BREED, _PLAY = range(3)
_COIN, _MUTATION, _GENE = 1 << 10, 1 << 11, 1 << 12  # counters, by gene


@dataclasses.dataclass(frozen=True)
class Settings:
    """How strings evolve; checked when made.

    Attributes:
      num_simulations: simulations per plan; as many generations as they are enough for, at least one.
      horizon: actions in a string, fewer than 1024.
      population: strings of each player.
      survivors: share of them that is kept from one generation to the next.
      mutation: chance of each gene of a child to be drawn again.
      microbatch_size: at most so many of the lanes that need a plan are worked on together, then the next.
    """

    num_simulations: int = 100
    horizon: int = 20
    population: int = 10
    survivors: float = 0.5
    mutation: float = 0.1
    microbatch_size: int = MICROBATCH_SIZE

    def __post_init__(self) -> None:
        checks.at_least(1, self, "num_simulations", "horizon")
        checks.below(checks.COUNTS, self, "num_simulations")
        checks.below(_COIN, self, "horizon")  # each gene has its counters
        population.check_sizes(self, "population")
        population.check_lanes(self, self.population * self.horizon)
        if self.num_simulations < self.population:
            raise ValueError(f"num_simulations={self.num_simulations}: must be at least population={self.population}")
        checks.shares(self, "mutation")

    @property
    def num_survivors(self) -> int:
        return population.survivors_of(self.population, self.survivors)

    @property
    def num_generations(self) -> int:
        return self.num_simulations // self.population


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Strings:
    """Populations. B games, P players, N strings each, L arms.

    Attributes:
      genomes: int32 [B, P, N, L].
      totals: float32 [B, P, N], sum of the values met.
      visits: int32 [B, P, N], how many.
    """

    genomes: Array
    totals: Array
    visits: Array

    def means(self) -> Array:
        """float32 [B, P, N]; -inf where nothing was met."""
        return jnp.where(self.visits > 0, self.totals / jnp.maximum(self.visits, 1), -jnp.inf)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Kept:
    """What OEP plays. All with leading axis B.

    Attributes:
      arms: int32 [B, P, L], the best string of each player.
      keys: uint32 [B, L, 2], the state before each step if all play them.
      value: float32 [B, P], what they are worth.
      next: int32 [B], which step is next.
    """

    arms: Array
    keys: Array
    value: Array
    next: Array


def rolling_horizon_strings(game: Game, settings: Settings | None = None) -> Planner:
    """Rolling Horizon Evolution: the first action is played, and the population goes on from the next state, a step shorter.

    Args:
      game: any game; all its players plan for themselves, with the full state.
      settings: None: 100 simulations of 20 steps.
    """
    view, settings = state_of(game), settings_of(Settings, settings)
    shape = (game.num_players, settings.population, settings.horizon)

    def init(batch_size: int) -> Array:
        return jnp.full((batch_size, *shape), -1, jnp.int16)

    def plan(params: Any, keys: Array, memory: Array, views: Any, seats: Array, active: Array) -> tuple[Plan, Array]:
        del params, seats

        def search(keys: Array, before: Array, views: Any, active: Array) -> tuple[Plan, Array]:
            lanes = jax.vmap(random_bits.lane_key)(keys)
            found = _evolve(game, settings, lanes, views, before.astype(jnp.int32))
            shifted = jnp.concatenate([found.genomes[..., 1:], jnp.full_like(found.genomes[..., :1], -1)], -1)
            return _plan(game, views, found), jnp.where(active[:, None, None, None], shifted.astype(jnp.int16), before)

        active = active & ~views.terminated
        found, memory = in_microbatches(search, settings.microbatch_size, keys, memory, views, active, PER_LANE)
        return ended(found, views.terminated, jax.vmap(game.outcome)(views), game.pass_action), memory

    def reset(memory: Array, lanes: Array) -> Array:
        return jnp.where(lanes[:, None, None, None], jnp.int16(-1), memory)

    size = game.num_players * settings.population * settings.horizon
    planner = Planner("Rolling Horizon Evolution", init, reset, plan, memory_bytes=2 * size, metrics={})
    return checked(planner, view, game.num_players)


def oep_strings(game: Game, settings: Settings | None = None) -> Planner:
    """Online evolutionary planning: the whole string is played, and evolved again only where the game took another way.

    Args:
      game: any game; all its players plan for themselves, with the full state.
      settings: None: 100 simulations of 20 steps.
    """
    view, settings = state_of(game), settings_of(Settings, settings)
    players, length = game.num_players, settings.horizon

    def init(batch_size: int) -> Kept:
        return Kept(
            arms=jnp.zeros((batch_size, players, length), jnp.int32),
            keys=jnp.zeros((batch_size, length, 2), jnp.uint32),
            value=jnp.zeros((batch_size, players), jnp.float32),
            next=jnp.full(batch_size, length, jnp.int32),
        )

    def reset(memory: Kept, lanes: Array) -> Kept:
        return dataclasses.replace(memory, next=jnp.where(lanes, length, memory.next))

    def plan(params: Any, keys: Array, memory: Kept, views: Any, seats: Array, active: Array) -> tuple[Plan, Kept]:
        del params, seats
        active = active & ~views.terminated
        lane, place = jnp.arange(len(keys)), jnp.minimum(memory.next, length - 1)
        fits = (memory.next < length) & (memory.keys[lane, place] == jax.vmap(game.state_key)(views)).all(-1)

        def search(keys: Array, nothing: tuple, views: Any, active: Array) -> tuple[tuple[Plan, Kept], tuple]:
            del nothing, active
            lanes = jax.vmap(random_bits.lane_key)(keys)
            found = _evolve(game, settings, lanes, views, jnp.full((len(keys), *_shape(game, settings)), -1))
            return (_plan(game, views, found), _kept(game, random_bits.fold(lanes, _KEPT), views, found)), ()

        needed = active & ~fits
        (fresh, new), _ = in_microbatches(search, settings.microbatch_size, keys, (), views, needed)
        memory = where_lanes(needed, new, memory)
        place = jnp.where(needed, 0, memory.next)
        planned = where_lanes(needed, fresh, _played(game, views, memory, place))
        planned = ended(planned, views.terminated, jax.vmap(game.outcome)(views), game.pass_action)
        return planned, dataclasses.replace(memory, next=jnp.where(active, place + 1, memory.next))

    planner = Planner("OEP", init, reset, plan, memory_bytes=4 * (length * (players + 2) + players + 1), metrics={})
    return checked(planner, view, game.num_players)


def _shape(game: Game, settings: Settings) -> tuple[int, int, int]:
    return game.num_players, settings.population, settings.horizon


def _evolve(game: Game, settings: Settings, lanes: LaneKey, roots: Any, before: Array) -> Strings:
    """Evolves strings from states [B]; begins with `before`, int32 [B, P, N, L], whose genes -1 are drawn."""
    batch, shape = len(before), _shape(game, settings)
    drawn = _random_arms(random_bits.fold(lanes, _FIRST), game.num_arms, shape)
    none = jnp.zeros((batch, *shape[:2]))
    start = Strings(jnp.where(before < 0, drawn, before), none, none.astype(jnp.int32))

    def generation(number: Array, now: Strings) -> Strings:
        own = random_bits.fold(lanes, number)
        bred = _bred(game, settings, random_bits.fold(own, _BREED), now)
        now = jax.tree.map(lambda new, old: jnp.where(number > 0, new, old), bred, now)
        values = _met(game, own, roots, now.genomes)
        return dataclasses.replace(now, totals=now.totals + values, visits=now.visits + 1)

    return jax.lax.fori_loop(0, settings.num_generations, generation, start)


def _random_arms(lanes: LaneKey, num_arms: int, shape: tuple[int, ...]) -> Array:
    """Draws arms, int32 [B, *shape]."""
    size = functools.reduce(lambda product, length: product * length, shape, 1)
    words = random_bits.bits(lanes.column(), jnp.arange(size))
    return random_bits.below(words, num_arms).astype(jnp.int32).reshape(-1, *shape)


def _bred(game: Game, settings: Settings, lanes: LaneKey, now: Strings) -> Strings:
    """Puts the best first, and children of the survivors in the place of the others."""
    batch, (players, size, length) = len(now.totals), _shape(game, settings)
    kept, made = settings.num_survivors, size - settings.num_survivors
    # Each population is a row of its own.
    flat = jax.tree.map(lambda leaf: leaf.reshape(batch * players, *leaf.shape[2:]), now)
    flat = population.rows(flat, population.order_of(flat.means()))
    keys = population.genome_keys(population.genome_keys(lanes, players), made)
    first, second = (population.rows(flat.genomes, population.by_game(p, made)) for p in population.parents(keys, kept))
    each = LaneKey(*(population.by_game(half, made) for half in keys)).column()
    gene = jnp.arange(length)
    coin = (random_bits.bits(each, _COIN + gene) >> 31) != 0
    mutates = random_bits.uniform(random_bits.bits(each, _MUTATION + gene)) < settings.mutation
    drawn = random_bits.below(random_bits.bits(each, _GENE + gene), game.num_arms).astype(jnp.int32)
    children = jnp.where(mutates, drawn, jnp.where(coin, first, second))
    flat = Strings(
        genomes=flat.genomes.at[:, kept:].set(children),
        totals=flat.totals.at[:, kept:].set(0),
        visits=flat.visits.at[:, kept:].set(0),
    )
    return jax.tree.map(lambda leaf: leaf.reshape(batch, players, *leaf.shape[1:]), flat)


def _met(game: Game, lanes: LaneKey, roots: Any, genomes: Array) -> Array:
    """Lets every string play once, against strings of the others. Returns what each is worth, float32 [B, P, N]."""
    batch, players, size, length = genomes.shape
    number = jnp.arange(size)
    words = random_bits.bits(random_bits.fold(lanes, _PARTNERS).column(), jnp.arange(players))
    turn = random_bits.below_many(words, size)[..., None]
    chosen = jnp.take_along_axis(genomes, ((number + turn) % size)[..., None], axis=2)
    strings = jnp.transpose(chosen, (3, 0, 2, 1)).reshape(length, batch * size, players)
    keys = population.genome_keys(random_bits.fold(lanes, _PLAY), size)
    states = population.spread(roots, size)

    def step(carry: tuple[Array, Any]) -> tuple[Array, Any]:
        depth, states = carry
        _, actions = _chosen(game, states, strings[depth])
        return depth + 1, jax.vmap(game.step)(states, actions, chance_keys(keys, depth))

    def unfinished(carry: tuple[Array, Any]) -> Array:
        return (carry[0] < length) & (~carry[1].terminated).any()

    _, states = jax.lax.while_loop(unfinished, step, (jnp.int32(0), states))
    values = jax.vmap(game.heuristic)(states).reshape(batch, size, players)
    back = ((number - turn) % size).astype(jnp.int32)
    return jnp.take_along_axis(jnp.swapaxes(values, 1, 2), back, axis=2)


def _chosen(game: Game, states: Any, wanted: Array) -> tuple[Array, Array]:
    """Takes the arms that are wanted, or the next legal ones: arms and actions, int32 [G, P]."""
    offered, legal = jax.vmap(game.search_arms)(states)
    arm = _legal_arm(legal, wanted)
    here = jnp.arange(legal.shape[-1]) == arm[..., None]
    return arm, jnp.where(here, offered, 0).sum(-1, dtype=jnp.int32)


def _legal_arm(legal: Array, wanted: Array) -> Array:
    """An arm, or the next that is legal (the first after the last): bool [..., K], int32 [...] -> int32 [...]."""
    count = legal.shape[-1]
    further = jnp.where(legal, (jnp.arange(count) - wanted[..., None]) % count, count)
    return further.argmin(-1).astype(jnp.int32)


def _best(found: Strings) -> tuple[Array, Array]:
    """The best string of each player, int32 [B, P, L], and its value, float32 [B, P]."""
    means = found.means()
    best = means.argmax(-1)[..., None, None]
    return jnp.take_along_axis(found.genomes, best, axis=2)[:, :, 0], means.max(-1)


def _plan(game: Game, views: Any, found: Strings) -> Plan:
    """The first arm of the best strings; arms are worth what the best string is that begins with them.

    They are visited as often as all the strings of the last generation that begin with them.
    """
    offered, legal = jax.vmap(game.search_arms)(views)
    begins = _legal_arm(legal[:, :, None], found.genomes[..., 0])[..., None] == jnp.arange(legal.shape[-1])
    values = jnp.where(begins, found.means()[..., None], -1.0).max(2)
    visits = jnp.where(begins, found.visits[..., None], 0).sum(2, dtype=jnp.int32)
    strings, value = _best(found)
    arm, actions = _chosen(game, views, strings[:, :, 0])
    taken = jnp.arange(legal.shape[-1]) == arm[..., None]
    return Plan(actions, offered, legal, values, visits, taken.astype(jnp.float32), value, {})


def _kept(game: Game, lanes: LaneKey, views: Any, found: Strings) -> Kept:
    """The best strings, and the states that they lead through if all keep to them."""
    strings, value = _best(found)

    def step(states: Any, now: tuple[Array, Array]) -> tuple[Any, Array]:
        depth, wanted = now
        _, actions = _chosen(game, states, wanted)
        return jax.vmap(game.step)(states, actions, chance_keys(lanes, depth)), jax.vmap(game.state_key)(states)

    _, keys = jax.lax.scan(step, views, (jnp.arange(strings.shape[-1]), jnp.moveaxis(strings, -1, 0)))
    return Kept(strings, jnp.moveaxis(keys, 0, 1), value, jnp.zeros(len(value), jnp.int32))


def _played(game: Game, views: Any, memory: Kept, place: Array) -> Plan:
    """The next step of a plan that is kept."""
    offered, legal = jax.vmap(game.search_arms)(views)
    here = jnp.arange(memory.arms.shape[-1]) == place[:, None, None]
    arm, actions = _chosen(game, views, jnp.where(here, memory.arms, 0).sum(-1))
    taken = jnp.arange(offered.shape[-1]) == arm[..., None]
    values = jnp.where(taken, memory.value[..., None], -1.0)
    return Plan(actions, offered, legal, values, taken.astype(jnp.int32), taken.astype(jnp.float32), memory.value, {})
