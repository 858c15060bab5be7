"""Who moves where: wishes, bounces, rolling bombs and kicks (clauses S2 to S9 of the rules).

Most games have no bomb in motion at most times. Then only agents can collide, and a few truth values settle who
bounces (`_agents_alone`). Where a bomb rolls or may be kicked, the full contest over cells is played out
(`_contest`). Of 512 games few need it in a step, so a batch puts those together (`change_few`).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import sliced
from jaxgames.bitboard import DIRECTIONS, DOWN, OPPOSITE, RIGHT, Grid
from jaxgames.bits import Bits, nth, select, stacked, union
from jaxgames.few_lanes import change_few
from jaxgames.pommerman.constants import BOMB_LIFE, Move
from jaxgames.pommerman.state import Bomber, Bombs


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Walker:
    """What one living agent is about to do; a dead one is nowhere and wants nothing.

    Attributes:
      own: set of its cell.
      want: set of the cell it wants, `own` if it stays.
      steps: bool [] per direction, whether it steps there; none where it stays.
      can_kick: bool [].
    """

    own: Bits
    want: Bits
    steps: tuple[Array, ...]
    can_kick: Array

    @property
    def moving(self) -> Array:
        """bool [], whether it steps at all."""
        return self.steps[0] | self.steps[1] | self.steps[2] | self.steps[3]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Tally:
    """How many things stand in each cell, counted up to "two or more", which is all that collisions need.

    Attributes:
      some: cells with at least one.
      many: cells with at least two.
    """

    some: Bits
    many: Bits

    def add(self, cells: Bits) -> Tally:
        """Counts one more in each of `cells`."""
        return Tally(self.some | cells, self.many | (self.some & cells))

    def clear(self, cells: Bits) -> Tally:
        """Sets the count of `cells` to zero."""
        return Tally(self.some - cells, self.many - cells)


def lay_bombs(grid: Grid, bombs: Bombs, agents: tuple[Bomber, ...], moves: tuple[Array, ...]) -> tuple[Bombs, tuple[Bomber, ...]]:
    """Lays the bombs that are asked for and possible: ammo left, and no bomb in the cell yet (first half of S2).

    Args:
      grid: the board.
      bombs: the bombs so far.
      agents: all agents.
      moves: int32 [] per seat.

    Returns:
      bombs and agents after it.
    """
    cells, left = bombs.cells, []
    life, strength, owner = bombs.life, bombs.strength, bombs.owner
    for seat, (agent, move) in enumerate(zip(agents, moves, strict=True)):
        here = grid.one_hot(agent.cell)
        laid = (move == Move.BOMB) & agent.alive & (agent.ammo > 0) & ~cells.overlaps(here)
        here = here.when(laid)
        cells = cells | here
        life, owner = sliced.fill(life, here, BOMB_LIFE), sliced.fill(owner, here, seat)
        strength = sliced.write(strength, here, agent.blast_strength)
        left.append(dataclasses.replace(agent, ammo=agent.ammo - laid.astype(jnp.int8)))
    return Bombs(life, strength, owner, bombs.moving), tuple(left)


def make_walkers(grid: Grid, agents: tuple[Bomber, ...], moves: tuple[Array, ...], walls: Bits) -> tuple[Walker, ...]:
    """Turns moves (int32 [] each) into wishes: a step off the board or into a wall becomes staying (second half of S2)."""
    walkers = []
    enter = [grid.shift(grid.full - walls, OPPOSITE[direction]) for direction in DIRECTIONS]
    for agent, move in zip(agents, moves, strict=True):
        own = grid.one_hot(agent.cell).when(agent.alive)
        steps = tuple((move == Move.UP + direction) & own.overlaps(enter[direction]) for direction in DIRECTIONS)
        moved = union(grid.slide(own, direction).when(steps[direction]) for direction in DIRECTIONS)
        stays = ~(steps[0] | steps[1] | steps[2] | steps[3])
        walkers.append(Walker(own, moved | own.when(stays), steps, agent.can_kick))
    return tuple(walkers)


def resolve(grid: Grid, walkers: tuple[Walker, ...], bombs: Bombs, walls: Bits, items: Bits) -> tuple[tuple[Array, ...], Bombs]:
    """Settles all wishes of agents and bombs (S3 to S8).

    Args:
      grid: the board.
      walkers: the agents' wishes.
      bombs: all bombs, with the ones laid in this step.
      walls: rigid and wooden cells.
      items: visible power-ups, which stop a rolling bomb.

    Returns:
      go: bool [] per seat, the agent reaches the cell it wants.
      bombs: the bombs where they are now, with their directions.
    """
    swapped = _swapped(walkers)
    cells = bombs.cells
    go = _agents_alone(walkers, swapped, cells)
    meets = [w.moving & w.can_kick & w.want.overlaps(cells) for w in walkers]
    needed = union(bombs.moving).any()
    for meeting in meets:
        needed = needed | meeting

    contest = functools.partial(_contest_in_words, grid)
    return change_few(contest, needed, (walkers, swapped, walls, items), (go, bombs))


def _swapped(walkers: tuple[Walker, ...]) -> tuple[Array, ...]:
    """S4 for agents: two that want each other's cells both stay."""
    result = []
    for i, walker in enumerate(walkers):
        swapped = jnp.bool_(False)
        for j, other in enumerate(walkers):
            if i != j:
                swapped = swapped | (walker.want.overlaps(other.own) & other.want.overlaps(walker.own))
        result.append(swapped & walker.moving)
    return tuple(result)


def _agents_alone(walkers: tuple[Walker, ...], swapped: tuple[Array, ...], bombs: Bits) -> tuple[Array, ...]:
    """Says which agents reach their cells where bombs rest and nobody can kick the one it meets.

    Bouncing is a least fixed point: who wants a cell that another wants, holds, or bounces back to, bounces.
    """
    count = len(walkers)
    moving = [w.moving & ~s for w, s in zip(walkers, swapped, strict=True)]
    target = [select(m, w.want, w.own) for w, m in zip(walkers, moving, strict=True)]
    clash = {(i, j): target[i].overlaps(target[j]) for i in range(count) for j in range(i + 1, count)}
    bounced = []
    for i in range(count):
        hit = target[i].overlaps(bombs)
        for j in range(count):
            if i != j:
                hit = hit | clash[min(i, j), max(i, j)]
        bounced.append(moving[i] & hit)
    others = [(i, j) for i in range(count) for j in range(count) if i != j]
    follows = {(i, j): moving[i] & target[i].overlaps(walkers[j].own) for i, j in others}
    for _ in range(count - 1):  # the longest queue of agents that bounce one after another
        spread = []
        for i in range(count):
            hit = bounced[i]
            for j in range(count):
                if i != j:
                    hit = hit | (bounced[j] & follows[i, j])
            spread.append(hit)
        bounced = spread
    return tuple(m & ~b for m, b in zip(moving, bounced, strict=True))


# --- the contest: code that is seldom run, so it is kept short for the compiler; leaves of agents have an axis [P] in front.


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class _Contest:
    """The contest over cells while it runs.

    Attributes:
      go: bool [P], the agent still wants to leave its cell.
      rolling: per direction the cells of bombs that still want to leave theirs by themselves.
      kicks: bool [P], its kick still stands.
      agents, bombs: how many want, or bounced back to, each cell; never counted down but where a kick frees a cell.
      changed: bool [], somebody bounced in the last round.
    """

    go: Array
    rolling: tuple[Bits, ...]
    kicks: Array
    agents: Tally
    bombs: Tally
    changed: Array


def _stack(per_agent: tuple[Any, ...]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *per_agent)


def _merge(sets: Bits) -> Bits:
    """The union of sets with words [P]."""
    return Bits(tuple(jnp.bitwise_or.reduce(word) for word in sets.words))


def _add_each(tally: Tally, sets: Bits) -> Tally:
    """Counts one more in each of the sets with words [P], which may overlap."""
    for index in range(sets.words[0].shape[0]):
        tally = tally.add(nth(sets, index))
    return tally


@functools.partial(jax.jit, static_argnums=0)  # else it is traced in every program for every way of `change_few`
def _contest_in_words(grid: Grid, given: Any, before: tuple[tuple[Array, ...], Bombs]) -> tuple[tuple[Array, ...], Bombs]:
    """`_contest` as `change_few` asks for it: leaves without axes."""
    walkers, swapped, walls, items = given
    go, moved = _contest(grid, _stack(walkers), _stack(swapped), before[1], walls, items)
    return tuple(go[seat] for seat in range(len(walkers))), moved


def _contest(grid: Grid, walkers: Walker, swapped: Array, bombs: Bombs, walls: Bits, items: Bits) -> tuple[Array, Bombs]:
    """Plays S3 to S8 in full."""
    contest = _start(grid, walkers, swapped, bombs, walls, items)
    contest = _until_settled(contest, lambda c: _first_closure(grid, walkers, c))
    contest, sources, targets = _kick(grid, walkers, contest, bombs.cells, walls, items)
    contest = _until_settled(contest, lambda c: _second_closure(grid, walkers, sources, targets, c))
    return contest.go, _carry_bombs(grid, walkers, bombs, contest, sources, targets)


def _until_settled(contest: _Contest, one_round: Callable[[_Contest], _Contest]) -> _Contest:
    contest = dataclasses.replace(contest, changed=jnp.bool_(True))
    return jax.lax.while_loop(lambda c: c.changed, one_round, contest)


def _start(grid: Grid, walkers: Walker, swapped: Array, bombs: Bombs, walls: Bits, items: Bits) -> _Contest:
    """S3 and S4: what rolling bombs want, and swaps over one border."""
    free = grid.full - walls - items
    rolling = [bombs.moving[d] & grid.shift(free, OPPOSITE[d]) for d in DIRECTIONS]
    for d in DIRECTIONS:  # a bomb that would swap with an agent stays; the agent goes on
        rolling[OPPOSITE[d]] = rolling[OPPOSITE[d]] - _merge(walkers.want.when(walkers.steps[d]))
    for d in (DOWN, RIGHT):  # two bombs that would swap both stay
        meets = rolling[d] & grid.shift(rolling[OPPOSITE[d]], OPPOSITE[d])
        rolling[d] = rolling[d] - meets
        rolling[OPPOSITE[d]] = rolling[OPPOSITE[d]] - grid.slide(meets, d)

    go = walkers.moving & ~swapped
    agents = _add_each(Tally(grid.empty, grid.empty), select(go, walkers.want, walkers.own))
    wanted = Tally(bombs.cells - union(rolling), grid.empty)
    for d in DIRECTIONS:
        wanted = wanted.add(grid.slide(rolling[d], d))
    return _Contest(go, tuple(rolling), jnp.zeros_like(go), agents, wanted, jnp.bool_(True))


def _first_closure(grid: Grid, walkers: Walker, contest: _Contest) -> _Contest:
    """S5, one parallel round: who wants a cell that two agents or two bombs count for bounces."""
    crowded = contest.agents.many | contest.bombs.many
    bounces = contest.go & walkers.want.overlaps(crowded)
    agents = contest.agents.add(_merge(walkers.own.when(bounces)))
    bounced = [contest.rolling[d] & grid.shift(crowded, OPPOSITE[d]) for d in DIRECTIONS]
    back = union(bounced)
    rolling = tuple(r - b for r, b in zip(contest.rolling, bounced, strict=True))
    changed = bounces.any() | back.any()
    return _Contest(contest.go & ~bounces, rolling, contest.kicks, agents, contest.bombs.add(back), changed)


def _kick(grid: Grid, walkers: Walker, contest: _Contest, cells: Bits, walls: Bits, items: Bits) -> tuple[_Contest, Bits, Bits]:
    """S6: every agent that meets a bomb kicks it, or both stay. All decide on what stood before the kicks.

    Returns:
      contest: after the kicks.
      sources, targets: words [P], the cell a bomb is kicked from and to (empty: no kick).
    """
    resting = cells - union(contest.rolling)
    blocked = contest.agents.some | contest.bombs.some | walls | items
    cell = select(contest.go, walkers.want, walkers.own)
    arriving = [contest.rolling[d] & grid.shift(cell, OPPOSITE[d]) for d in DIRECTIONS]
    lying = resting & cell
    met = union(arriving) | lying
    beyond = union(grid.shift(cell, d).when(walkers.steps[d]) for d in DIRECTIONS) - blocked
    kicks = contest.go & met.any() & walkers.can_kick & beyond.any()
    fails = contest.go & met.any() & ~kicks
    # A bomb that rolls into a standing agent, or one that cannot be kicked, goes back to its own cell.
    sent_back = _merge(union(arriving).when(~kicks) | lying.when(fails))
    rolling = tuple(r - _merge(a) for r, a in zip(contest.rolling, arriving, strict=True))
    agents = contest.agents.add(_merge(walkers.own.when(fails)))
    sources, targets = met.when(kicks), beyond.when(kicks)
    bombs = _add_each(contest.bombs.clear(_merge(cell.when(kicks))).add(sent_back), targets)
    return _Contest(contest.go & ~fails, rolling, kicks, agents, bombs, jnp.bool_(True)), sources, targets


def _second_closure(grid: Grid, walkers: Walker, sources: Bits, targets: Bits, contest: _Contest) -> _Contest:
    """S7, one parallel round: now even one bomb stops an agent, and one agent stops a bomb. A kick fails as a whole."""
    stops_agents = contest.agents.many | contest.bombs.some
    stops_bombs = contest.bombs.many | contest.agents.some
    bounces = contest.go & walkers.want.overlaps(stops_agents)
    bounces = bounces | (contest.kicks & targets.overlaps(stops_bombs))
    agents = contest.agents.add(_merge(walkers.own.when(bounces)))
    bounced = [contest.rolling[d] & grid.shift(stops_bombs, OPPOSITE[d]) for d in DIRECTIONS]
    rolling = tuple(r - b for r, b in zip(contest.rolling, bounced, strict=True))
    back = _merge(sources.when(bounces & contest.kicks)) | union(bounced)
    changed = bounces.any() | back.any()
    return _Contest(contest.go & ~bounces, rolling, contest.kicks & ~bounces, agents, contest.bombs.add(back), changed)


def _carry_bombs(grid: Grid, walkers: Walker, bombs: Bombs, contest: _Contest, sources: Bits, targets: Bits) -> Bombs:
    """S8: bombs go where they may, with all their numbers; a bomb that stayed has stopped for good."""
    sources, targets = sources.when(contest.kicks), targets.when(contest.kicks)
    resting = bombs.cells - union(contest.rolling) - _merge(sources)

    # All digits of all numbers travel together, as words [digits]: the same code for one digit after another would be most
    # of what a step takes to compile.
    planes = (*bombs.life, *bombs.strength, *bombs.owner)
    digits = stacked(planes)
    moved = (digits & resting) | union(grid.slide(digits & contest.rolling[d], d) for d in DIRECTIONS)
    for seat in range(walkers.can_kick.shape[0]):
        source, target = (nth(sets, seat) for sets in (sources, targets))
        moved = moved | target.when(digits.overlaps(source))
    split = tuple(nth(moved, index) for index in range(len(planes)))

    moving = (grid.slide(contest.rolling[d], d) | _merge(targets.when(walkers.steps[d])) for d in DIRECTIONS)
    first, second = len(bombs.life), len(bombs.life) + len(bombs.strength)
    return Bombs(split[:first], split[first:second], split[second:], tuple(moving))


def arrive(
    grid: Grid, agents: tuple[Bomber, ...], walkers: tuple[Walker, ...], go: tuple[Array, ...]
) -> tuple[tuple[Bomber, ...], tuple[Bits, ...]]:
    """S9 without its power-ups: puts the agents into their new cells.

    Returns:
      agents: with new cells.
      places: per seat the set of that cell, empty for the dead.
    """
    delta = (-grid.columns, grid.columns, -1, 1)
    moved, places = [], []
    for agent, walker, goes in zip(agents, walkers, go, strict=True):
        step = sum(jnp.where(walker.steps[d], jnp.int8(delta[d]), jnp.int8(0)) for d in DIRECTIONS)
        moved.append(dataclasses.replace(agent, cell=agent.cell + jnp.where(goes, step, jnp.int8(0))))
        places.append(select(goes, walker.want, walker.own))
    return tuple(moved), tuple(places)
