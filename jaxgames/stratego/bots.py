"""Rule-based players of Stratego, as agents."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import random_bits
from jaxgames.agent import Agent, memoryless
from jaxgames.stratego import hidden, legal, moves
from jaxgames.stratego.config import StrategoConfig
from jaxgames.stratego.constants import BOMB, FLAG, IMMOBILE, KIND_BITS, MARSHAL, MINER, NUM_KINDS, SPY, WORTH
from jaxgames.stratego.game import Stratego
from jaxgames.stratego.observation import Observation

# What `hunt` goes by, in the worth of pieces.
_FLAG_WORTH = 60.0
_SECRET = 0.25  # of its worth that a piece loses by being seen
_NEWS = 2.5  # what it is worth to learn which piece a hidden one is; without it nobody begins the full game's battles
_NOISE = 0.3
_DECAY = 0.75  # of what a target promises, for each cell of the way
_PULL = 0.5  # of a promise that counts for going one cell nearer
_FEAR = 0.8  # of what would be lost by attacking the neighbours


def random_agent(game: Stratego) -> Agent:
    """Makes an agent that plays each of its legal moves with the same probability."""
    config = game.config

    def choose(key: Array, seen: Observation) -> Array:
        found = legal.as_set(legal.legal_moves(config, seen.side))
        rank = random_bits.below(random_bits.bits(random_bits.lane_key(key), 0), jnp.maximum(found.count(), 1))
        return moves.to_action(config, legal.move_of(config, seen.side, found.pick(rank)), seen.viewer)

    return memoryless("random", lambda params, keys, views, seats: jax.vmap(choose)(keys, views))


def hunt_agent(game: Stratego) -> Agent:
    """Makes an agent that hunts what its pieces can be expected to beat, and keeps them from what may beat them.

    It knows how likely each kind is in each hidden cell. A battle is worth what is won less what is lost, on average, and what is
    given away of the own piece, and to learn a hidden piece has a worth. Any other move is worth what it brings nearer. Each move
    is worth less by what a piece has to fear where it comes to stand, and more by what it had to fear where it stood: what it
    would lose, on average, if it attacked the neighbours that may move, at most its own worth. That is what they would take by
    attacking it, but for a marshal and a spy, neither of which fears the other. It never looks further, and decides between
    moves of nearly the same worth at random.
    """
    config = game.config
    gains = battle_gains()
    apart = _distances(config)
    decays = np.where(apart > 0, _DECAY**apart, 0.0).astype(np.float32)
    beside = (apart == 1).astype(np.float32)
    worth = np.append(0.0, WORTH[1:]).astype(np.float32)

    def choose(key: Array, seen: Observation) -> Array:
        grid = config.grid
        chances = beliefs(config, seen)
        kinds = own_kinds(config, seen)
        enemy, secret = (grid.to_bool(cells).reshape(-1) for cells in (seen.other, seen.hidden))
        expected = gains @ chances.T + _NEWS * (enemy & secret)  # [kind, cell]: what an attack there brings
        # What every cell promises to each kind, by the best target from there.
        promise = (jnp.maximum(expected, 0)[:, None, :] * decays).max(-1)
        mobile = jnp.where(np.isin(np.arange(1, NUM_KINDS + 1), IMMOBILE), 0.0, chances)
        losses = jnp.maximum(-gains, 0)[:, 1:] @ mobile[:, 1:].T  # [kind, cell]: what it loses by attacking there
        fear = _FEAR * jnp.minimum(losses @ beside, jnp.asarray(worth)[:, None])
        actions, fine = legal.listed(config, seen.side, seen.viewer)
        move, _ = moves.to_move(config, actions, seen.viewer)
        kind = kinds[move.start]
        battle = expected[kind, move.end] - _SECRET * jnp.where(secret[move.start], jnp.asarray(worth)[kind], 0.0)
        walk = _PULL * (promise[kind, move.end] - promise[kind, move.start])
        value = jnp.where(enemy[move.end], battle, walk) + fear[kind, move.start] - fear[kind, move.end]
        noise = random_bits.uniform(random_bits.bits(random_bits.lane_key(key), jnp.arange(actions.shape[0])))
        return actions[jnp.where(fine, value + _NOISE * noise, -jnp.inf).argmax()]

    return memoryless("hunt", lambda params, keys, views, seats: jax.vmap(choose)(keys, views))


def battle_gains() -> np.ndarray:
    """Gives what each kind wins by attacking each: float32 [13, 12], attackers from 0 (none), defenders from the flag on."""
    gains = np.zeros((NUM_KINDS + 1, NUM_KINDS), np.float32)
    for attacker in range(SPY, MARSHAL + 1):
        for defender in range(1, NUM_KINDS + 1):
            own, other = float(WORTH[attacker]), _FLAG_WORTH if defender == FLAG else float(WORTH[defender])
            if defender == BOMB:
                wins, loses = attacker == MINER, attacker != MINER
            else:
                wins = attacker >= defender or (attacker == SPY and defender == MARSHAL)
                loses = attacker <= defender and not (attacker == SPY and defender == MARSHAL)
            gains[attacker, defender - 1] = other * wins - own * loses
    return gains


def _distances(config: StrategoConfig) -> np.ndarray:
    """Steps between cells as if nothing stood in the way, int [cells, cells]."""
    row, column = np.divmod(np.arange(config.num_cells), config.columns)
    return np.abs(row[:, None] - row) + np.abs(column[:, None] - column)


def beliefs(config: StrategoConfig, seen: Observation) -> Array:
    """Gives how likely each kind of the other's pieces is in each cell, known ones included: float32 [cells, 12]."""
    known = [config.grid.to_bool(legal.of_kind(seen.kinds, kind) & seen.other).reshape(-1) for kind in range(1, NUM_KINDS + 1)]
    return hidden.marginals(config, seen) + jnp.stack(known, -1)


def own_kinds(config: StrategoConfig, seen: Observation) -> Array:
    """Gives the kinds of a viewer's own pieces, int32 [cells]; 0 elsewhere."""
    digits = [config.grid.to_bool(digit & seen.own).reshape(-1) for digit in seen.kinds]
    return sum((digits[number].astype(jnp.int32) << number for number in range(KIND_BITS)), jnp.int32(0))
