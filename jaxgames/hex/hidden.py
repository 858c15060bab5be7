"""What a player of DarkHex can infer from all it has seen and done, and full states that fit it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import random_bits
from jaxgames.bits import Bits, select
from jaxgames.hex import setup
from jaxgames.hex.config import HexConfig
from jaxgames.hex.geometry import BLACK, WHITE
from jaxgames.hex.observation import Observation, observe
from jaxgames.hex.state import State
from jaxgames.random_bits import LaneKey

MAX_TRIES = 64  # boards drawn before stones are taken away
TRIES_PER_COUNT = 8  # boards drawn with one number of stones, before that is drawn again
# Children of the lane key.
_COUNT, _OTHER_VIEW, _REMOVAL, _PLACES = range(4)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Information:
    """What a player knows: the latest view, and in abrupt DarkHex how the other's turns may have ended.

    Attributes:
      view: the latest `Observation`.
      collisions: float32 [n * n + 1], abrupt DarkHex: the probability of each number of turns that the other has lost on this
        player's hidden stones, if it tries the cells that are empty in its view at random. Otherwise [1]: none is lost.
    """

    view: Observation
    collisions: Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Sample:
    """A drawn state.

    Attributes:
      state: it fits all that is known, if `fits`.
      fits: bool []; False where the view contradicts itself, no number of hidden stones is possible, or none of the boards drawn
        was unfinished.
      removed: int32 [], stones taken away again because the other would have won on every board drawn.
    """

    state: State
    fits: Array
    removed: Array


def init_information(config: HexConfig, player: Array) -> Information:
    """Gives what a player (int []) knows before the first move."""
    numbers = jnp.arange(config.num_cells + 1 if config.rules == "abrupt" else 1)
    return Information(view=observe(config, setup.init(config), player), collisions=(numbers == 0).astype(jnp.float32))


def update_information(config: HexConfig, info: Information, observation: Observation, own_action: Array) -> Information:
    """Adds one step of the game, whoever moved.

    Args:
      config: the variant.
      info: what the player knew.
      observation: its view after the step.
      own_action: int [], its own action in that step; not needed, as the view tells where it led.

    Returns:
      What it knows now. In abrupt DarkHex, a turn of the other was lost with a probability of (my stones it has not met) / (cells
      empty in its view), which advances `collisions` by one step of a recursion.
    """
    del own_action
    before, collisions = info.view, info.collisions
    if config.rules == "abrupt":
        other_moved = observation.other_turns > before.other_turns
        collisions = jnp.where(other_moved, _one_turn(config, collisions, before), collisions)
    return Information(view=observation, collisions=collisions)


def _one_turn(config: HexConfig, collisions: Array, view: Observation) -> Array:
    """The distribution of the other's lost turns after one more turn of its."""
    lost = jnp.arange(config.num_cells + 1)
    empty = config.num_cells - view.other_turns.astype(jnp.int32)
    chance = jnp.clip((view.own.count() - lost) / jnp.maximum(empty, 1), 0.0, 1.0).astype(jnp.float32)
    moved_on = collisions * chance
    return collisions - moved_on + jnp.concatenate([jnp.zeros(1, jnp.float32), moved_on[:-1]])


def sample(config: HexConfig, key: Array, info: Information) -> Sample:
    """Draws a state: first how many stones are hidden, then where, evenly among the boards on which nobody has won.

    If `TRIES_PER_COUNT` boards with one number of stones were all won, another number is drawn.

    Args:
      config: the variant.
      key: a random key.
      info: what the player knows; the game is not over.

    Returns:
      The sample. A view that no board fits gives `fits` False and a state with what is known and some stones or none.
    """
    grid, view = config.grid, info.view
    lane = random_bits.lane_key(key)
    candidates = grid.full - view.own - view.known
    draw_number, possible = _counts(config, random_bits.fold(lane, _COUNT), info)
    first = view.player == BLACK
    near_edge = select(first, grid.edges(WHITE)[0], grid.edges(BLACK)[0])
    far_edge = select(first, grid.edges(WHITE)[1], grid.edges(BLACK)[1])

    def wins(stones: Bits) -> Array:
        return grid.flood(stones & near_edge, stones).overlaps(far_edge)

    def again(carry: tuple[Bits, Array, Array]) -> Array:
        _, over, tries = carry
        return over & (tries < MAX_TRIES)

    def draw(carry: tuple[Bits, Array, Array]) -> tuple[Bits, Array, Array]:
        _, _, tries = carry
        placed = subset(random_bits.fold(lane, _PLACES + tries), candidates, draw_number(tries // TRIES_PER_COUNT))
        return placed, wins(placed | view.known), tries + 1

    placed, over, _ = jax.lax.while_loop(again, draw, (grid.empty_words(), jnp.bool_(True), jnp.int32(0)))

    def remove(carry: tuple[Bits, Array, Array]) -> tuple[Bits, Array, Array]:
        stones, _, removed = carry
        rank = random_bits.below(random_bits.bits(random_bits.fold(lane, _REMOVAL), removed), stones.count())
        fewer = stones - grid.one_hot(stones.pick(rank.astype(jnp.int32)))
        return fewer, wins(fewer | view.known), removed + 1

    unlucky = (placed, over, jnp.int32(0))
    placed, _, removed = jax.lax.while_loop(lambda carry: carry[1] & carry[0].any(), remove, unlucky)
    state = _state(config, random_bits.fold(lane, _OTHER_VIEW), info, view.known | placed)
    mine_joined = select(first, state.near[BLACK], state.near[WHITE]).overlaps(select(first, state.far[BLACK], state.far[WHITE]))
    return Sample(state, possible & ~over & ~mine_joined & ~view.own.overlaps(view.known), removed)


def subset(lane: LaneKey, cells: Bits, number: Array) -> Bits:
    """Draws `number` (int32 [], at most as many as there are) of the cells, every choice with the same probability."""
    none = jax.tree.map(jnp.zeros_like, cells)

    def one_more(carry: tuple[Bits, Bits, Array, Array]) -> tuple[Bits, Bits, Array, Array]:
        rest, chosen, count, left = carry
        rank = random_bits.below(random_bits.bits(lane, left), count).astype(jnp.int32)
        words = []
        below = jnp.int32(0)  # cells of the rest in the words before
        for word in rest.words:
            inside = jax.lax.population_count(word).astype(jnp.int32)
            here = (rank >= below) & (rank < below + inside)
            words.append(jnp.where(here, _bit(word, rank - below), jnp.uint32(0)))
            below = below + inside
        spot = Bits(tuple(words))
        return rest - spot, chosen | spot, count - 1, left - 1

    start = (cells, none, cells.count(), jnp.minimum(number, cells.count()))
    return jax.lax.while_loop(lambda carry: carry[3] > 0, one_more, start)[1]


def _bit(word: Array, rank: Array) -> Array:
    """Gives the set bit of `word` with `rank` set bits below it, as a word."""
    position, rest = jnp.zeros_like(word), rank
    for width in (16, 8, 4, 2, 1):
        low = (word >> position) & jnp.uint32((1 << width) - 1)
        inside = jax.lax.population_count(low).astype(jnp.int32)
        above = rest >= inside
        position = jnp.where(above, position + width, position)
        rest = jnp.where(above, rest - inside, rest)
    return jnp.uint32(1) << position


def count_distribution(config: HexConfig, info: Information) -> Array:
    """Gives the probabilities of the numbers of hidden stones: float32 [n * n + 1], zeros where no number is possible."""
    view = info.view
    known, mine = view.known.count(), view.own.count()
    room = config.num_cells - known - mine if config.is_dark else 0
    numbers = jnp.arange(config.num_cells + 1)
    unknown = view.other_turns.astype(jnp.int32) - known  # turns in which no known stone was placed
    if config.rules != "abrupt":
        chance = (numbers == unknown).astype(jnp.float32)
    elif config.count_rule == "dp":
        lost = unknown - numbers  # turns lost, if so many stones are hidden
        chance = jnp.where(lost >= 0, info.collisions[jnp.clip(lost, 0, config.num_cells)], 0.0)
    else:  # the published code's number may be less than is known, or more than there are cells or turns for
        chance = (numbers == jnp.clip(mine - known, 0, jnp.minimum(room, unknown))).astype(jnp.float32)
    chance = jnp.where(numbers <= room, chance, 0.0)
    return chance / jnp.maximum(chance.sum(), 1e-30)


def _counts(config: HexConfig, lane: LaneKey, info: Information) -> tuple[Callable[[Array], Array], Array]:
    """Gives a function that draws a number of hidden stones (int32 []) for each turn, and whether any is possible."""
    chance = count_distribution(config, info)
    total = jnp.cumsum(chance)
    # The last possible number, should rounding leave nothing above the noise.
    most = jnp.max(jnp.where(chance > 0, jnp.arange(len(chance)), 0))

    def draw(turn: Array) -> Array:
        noise = random_bits.uniform(random_bits.bits(lane, turn)) * total[-1]
        return jnp.minimum(jnp.argmax(total > noise), most).astype(jnp.int32)

    return draw, total[-1] > 0


def _state(config: HexConfig, lane: LaneKey, info: Information, others: Bits) -> State:
    """Builds the state in which the other player has these stones."""
    grid, view = config.grid, info.view
    first = view.player == BLACK
    stones = (select(first, view.own, others), select(first, others, view.own))
    # What the other has run into: as many of my stones as it has lost turns, any of them.
    lost = jnp.maximum(view.other_turns.astype(jnp.int32) - others.count(), 0) if config.rules == "abrupt" else jnp.int32(0)
    met = subset(lane, view.own, lost) if config.is_dark else grid.empty_words()
    known = view.known if config.is_dark else grid.empty_words()
    joined = [
        tuple(grid.flood(stones[player] & grid.edges(player)[edge], stones[player]) for player in (BLACK, WHITE))
        for edge in (0, 1)
    ]
    mover = jnp.where(view.to_move, view.player, 1 - view.player).astype(jnp.int8)
    # Of a finished game the viewer knows who won it: by its reward, or later by its own chain. The mover of ours has lost.
    chain = select(first, *(joined[0][player].overlaps(joined[1][player]) for player in (BLACK, WHITE)))
    loser = jnp.where((view.reward > 0) | chain, 1 - view.player, view.player).astype(jnp.int8)
    turns = (view.own_turns, view.other_turns)
    tried = view.own.count() + known.count()  # each of the own attempts has placed a stone or run into one
    return State(
        stones=stones,
        found=(select(first, known, met), select(first, met, known)),
        near=(joined[0][0], joined[0][1]),
        far=(joined[1][0], joined[1][1]),
        player=jnp.where(view.terminated, loser, mover),
        turns=(jnp.where(first, *turns), jnp.where(first, turns[1], turns[0])),
        attempts=(tried + view.other_turns).astype(jnp.int16),
        last=jnp.int16(-1),
        terminated=view.terminated,
        seat_rewards=(jnp.int8(0), jnp.int8(0)),
    )
