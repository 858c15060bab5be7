"""Networks by name, for any shape of planes and number of outputs."""

from __future__ import annotations

from typing import Any

from jaxgames import checks
from jaxgames.encoder import CardPlanes
from training.models.networks import arena, follower, light, mobile, pyramid, rise
from training.models.networks.network import Network

PRESETS: dict[str, Any] = {
    **follower.PRESETS,
    **rise.PRESETS,
    **light.PRESETS,
    **mobile.PRESETS,
    **pyramid.PRESETS,
    **arena.PRESETS,
}


def by_name(name: str, shape: tuple[int, int, int], num_outputs: int, cards: CardPlanes | None = None) -> Network:
    """Makes a network by the name of its preset.

    Args:
      name: one of `PRESETS`.
      shape: of the planes, (H, W, C).
      num_outputs: A.
      cards: which planes show cards, if there are any.

    Raises:
      ValueError: for an unknown name, or outputs that the network does not fit.
    """
    if name not in PRESETS:
        raise ValueError(f"network={name!r}: {checks.one_of(name, PRESETS)}")
    config = PRESETS[name]
    if isinstance(config, follower.NetworkConfig):
        return follower.make(config, shape, num_outputs)
    if isinstance(config, arena.ArenaConfig):
        if cards is None:
            raise ValueError(f"network={name!r}: is for games in which cards are played on a board")
        return arena.make(config, shape, num_outputs, cards)
    if isinstance(config, mobile.MobileConfig):
        return mobile.make(config, shape, num_outputs)
    if isinstance(config, pyramid.PyramidConfig):
        return pyramid.make(config, shape, num_outputs)
    if num_outputs % (shape[0] * shape[1]):
        raise ValueError(
            f"network={name!r}: gives the same number of outputs for each of {shape[0]} x {shape[1]} cells, and there are "
            f"{num_outputs}: take one of {', '.join((*follower.PRESETS, *mobile.PRESETS, *pyramid.PRESETS))}"
        )
    if isinstance(config, light.LightConfig):
        return light.make(config, shape, num_outputs)
    return rise.make(config, shape, num_outputs)
