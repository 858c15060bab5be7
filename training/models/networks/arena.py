"""The network of a follower that plays cards on an arena: an encoder and a decoder of the board, and embeddings of cards.

What a card does somewhere is the product of what the decoder says of that cell and what the card asks for, so all places of the
hand share all that is learnt. (Source: Boney et al., section V; there the sizes are 32 and 128.)
"""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
from flax import nnx
from jax import Array

from jaxgames import checks
from jaxgames.encoder import CardPlanes
from training.models.networks.batch_last import Convolution, Dense, dense
from training.models.networks.network import Network, from_module


@dataclasses.dataclass(frozen=True)
class ArenaConfig:
    """Sizes of a network; checked when made.

    Attributes:
      embedding: features of a card, and of a cell of the whole board.
      middle: features of boards of half the size.
      inner: features of boards of a quarter of the size.
    """

    embedding: int = 32
    middle: int = 32
    inner: int = 64

    def __post_init__(self) -> None:
        checks.at_least(1, self, "embedding", "middle", "inner")


PRESETS = {
    "arena": ArenaConfig(),
    "arena_small": ArenaConfig(embedding=8, middle=8, inner=16),
    "arena_paper": ArenaConfig(middle=128, inner=128),
}


class _Arena(nnx.Module):
    """Arrays are [C, H, W, B]."""

    def __init__(self, config: ArenaConfig, shape: tuple[int, int, int], cards: CardPlanes, *, rngs: nnx.Rngs) -> None:
        size, middle, inner = config.embedding, config.middle, config.inner
        self.cards = cards
        plain = cards.hand + len(cards.everywhere)

        def layer(channels: int, features: int) -> Dense:
            return Dense(channels, features, bias=True, rngs=rngs)

        self.table = nnx.Param(nnx.initializers.normal(1.0)(rngs.params(), (cards.kinds, size), jnp.float32))
        self.objects = layer(cards.first + cards.hand, size)
        self.played = Dense(size, size, rngs=rngs)
        self.constants = layer((cards.hand + 1) * size + plain, size)
        self.down, self.down_again = layer(4 * size, middle), layer(4 * middle, inner)
        self.across = Convolution(middle, middle, bias=True, rngs=rngs)
        self.around = Convolution(inner, inner, bias=True, rngs=rngs)
        self.whole = layer(2 * inner + size, inner)
        self.back = Dense(inner, inner, rngs=rngs)
        self.up, self.up_again = layer(inner, 4 * middle), layer(middle, 4 * size)
        self.join = Convolution(middle, middle, bias=True, rngs=rngs)
        self.asks, self.asked = layer(size + 1 + inner, inner), layer(inner, size + 1)
        self.wait, self.value = layer(inner, 1), layer(inner, 1)
        self.value.kernel[...] = jnp.zeros_like(self.value.kernel[...])  # no opinion before it has learnt

    def __call__(self, planes: Array) -> tuple[Array, Array]:
        cards, boards = self.cards, jnp.moveaxis(planes, (3, 0), (0, 3))
        table = self.table[...]
        kinds, hand = cards.kinds, cards.hand
        here = boards[:, 0, 0]  # of planes that are the same everywhere
        shown = here[cards.first : cards.first + (hand + 1) * kinds].reshape(hand + 1, kinds, -1)
        embedded = jnp.stack([dense(each, table) for each in shown])  # [hand + 1, E, B]
        affordable = here[cards.affordable : cards.affordable + hand]
        everywhere = here[cards.everywhere.start : cards.everywhere.stop]
        constant = self.constants(jnp.concatenate([embedded.reshape(-1, planes.shape[0]), affordable, everywhere]))
        objects = jnp.concatenate([boards[: cards.first], boards[cards.legal : cards.legal + hand]])
        played = dense(boards[cards.played : cards.played + kinds], table @ self.played.kernel[...])
        board = nnx.relu(self.objects(objects) + played + constant[:, None, None])

        half = nnx.relu(self.down(_halved(board)))
        half = half + nnx.relu(self.across(half))
        inner = nnx.relu(self.down_again(_halved(half)))
        inner = inner + nnx.relu(self.around(inner))
        whole = nnx.relu(self.whole(jnp.concatenate([inner.mean((1, 2)), inner.max((1, 2)), constant])))
        inner = nnx.relu(inner + self.back(whole)[:, None, None])
        half = nnx.relu(half + _doubled(self.up(inner), half.shape))
        half = half + nnx.relu(self.join(half))
        board = nnx.relu(board + _doubled(self.up_again(half), board.shape))

        logits = [self.wait(whole)]
        for place in range(hand):
            asks = jnp.concatenate([embedded[place], affordable[place : place + 1], whole])
            asks = self.asked(nnx.relu(self.asks(asks)))
            on_cells = (board * asks[:-1, None, None]).sum(0) / asks.shape[0] ** 0.5  # [H, W, B]
            # Outputs run along the first axis of the board; the first one of a card that cannot be paid saves for it.
            on_cells = on_cells.swapaxes(0, 1).reshape(-1, planes.shape[0])
            first = (jnp.arange(on_cells.shape[0]) == 0)[:, None]
            logits.append(jnp.where(first & (affordable[place] == 0), asks[-1:], on_cells))
        return jnp.concatenate(logits).T, jnp.tanh(self.value(whole)[0])


def _halved(board: Array) -> Array:
    """Puts the features of each two by two cells together: [C, H, W, B] -> [4 C, H / 2, W / 2, B], rounded up."""
    channels, height, width, batch = board.shape
    board = jnp.pad(board, [(0, 0), (0, height % 2), (0, width % 2), (0, 0)])
    parts = [board[:, row::2, column::2] for row in range(2) for column in range(2)]
    return jnp.concatenate(parts).reshape(4 * channels, -(-height // 2), -(-width // 2), batch)


def _doubled(board: Array, shape: tuple[int, ...]) -> Array:
    """Takes features of cells apart: [4 C, H, W, B] -> [C, 2 H, 2 W, B], cut to a shape."""
    four, height, width, batch = board.shape
    board = board.reshape(2, 2, four // 4, height, width, batch).transpose(2, 3, 0, 4, 1, 5)
    return board.reshape(four // 4, 2 * height, 2 * width, batch)[:, : shape[1], : shape[2]]


def make(config: ArenaConfig, shape: tuple[int, int, int], num_outputs: int, cards: CardPlanes) -> Network:
    """Makes a network.

    Args:
      config: its sizes.
      shape: of the planes, (H, W, C).
      num_outputs: A: waiting, and for each card of the hand each cell, cells of one column together.
      cards: which planes show them.

    Raises:
      ValueError: outputs that are others.
    """
    if num_outputs != 1 + cards.hand * shape[0] * shape[1]:
        raise ValueError(f"outputs={num_outputs}: must be 1 + {cards.hand} x {shape[0]} x {shape[1]} for this network")
    return from_module(lambda key: _Arena(config, shape, cards, rngs=nnx.Rngs(key)))
