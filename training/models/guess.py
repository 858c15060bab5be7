"""A network that guesses what is hidden in each place, from what a player sees; see `search.guessed`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

import jax
from jax import Array

import jaxgames
from jaxgames.abilities import has_secrets
from jaxgames.encoder import Encoder
from jaxgames.game import is_hidden
from jaxgames.registration import named
from search.guessed import GuessedWorlds
from training.models.networks import presets
from training.models.networks.network import Network
from training.storage.weights import load_weights, weights_file

KIND, VERSION = "guess", 1  # of parameters: the version changes exactly when older ones do not fit any more


@dataclasses.dataclass(frozen=True)
class GuessConfig:
    """Which network, for which game.

    Attributes:
      game: name of the game, or an id as `jaxgames games` lists them.
      mode: its variant; "": the game's usual one.
      encoder: what it is shown: one that shows what a player observes.
      network: one with an output per cell: light, light_small (for searches on a CPU); tiny, small, medium, rise, rise_bf16
        (RISEv2-mobile).
    """

    game: str = "stratego"
    mode: str = ""
    encoder: str = "belief"
    network: str = "light"


class Guess(NamedTuple):
    """A network that guesses, without its parameters.

    Attributes:
      game: what is played.
      encoder: what the network is shown.
      network: what is computed; its values are not used.
      meta: what identifies its parameters in files.
    """

    game: Any
    encoder: Encoder
    network: Network
    meta: dict[str, str | int]

    def init(self, key: Array) -> Any:
        """Draws parameters."""
        return self.network.init(key)

    def log_probs(self, params: Any, planes: Array) -> Array:
        """Gives logarithms of chances float32 [B, H * W, K], place by place, for planes [B, H, W, C]."""
        logits, _ = self.network.apply(params, planes)
        return jax.nn.log_softmax(logits.reshape(len(planes), -1, self.game.num_secrets), axis=-1)

    def worlds(self, params: Any, candidates: int) -> GuessedWorlds:
        """Gives the game with worlds drawn by this guess; see `GuessedWorlds`."""

        def of_info(info: Any) -> Array:
            return self.log_probs(params, self.encoder.planes(info)[None])[0]

        return GuessedWorlds(self.game, of_info, candidates)


def make(config: GuessConfig) -> Guess:
    """Makes a network that guesses.

    Raises:
      ValueError: for a game, mode, encoder or network that does not exist or is none for this.
    """
    config = named(config)
    return _made(jaxgames.make(config.game, config.mode), config)


def _made(game: Any, config: GuessConfig) -> Guess:
    if not (is_hidden(game) and has_secrets(game)):
        raise ValueError(f"game={config.game!r}: does not tell what is hidden where, so nothing can be guessed")
    encoder = jaxgames.encoder_of(game, config.encoder)
    if not encoder.shows_observation:
        raise ValueError(f"encoder={config.encoder!r}: shows what is hidden; take one that shows what a player observes")
    if not encoder.turned_to_seat:
        raise ValueError(f"encoder={config.encoder!r}: shows boards from one side; what is hidden is told as each player sees it")
    height, width, _ = encoder.shape
    network = presets.by_name(config.network, encoder.shape, height * width * game.num_secrets, encoder.cards)
    return Guess(game, encoder, network, {"kind": KIND, **dataclasses.asdict(config), "version": VERSION})


def read(path: str | Path, game: Any) -> tuple[Guess, Any]:
    """Reads a network that guesses, and its parameters, from a weights file or the folder of a training run.

    Args:
      path: where.
      game: what it will guess in: maybe another variant than it was trained for.

    Raises:
      ValueError: the file is no such network for this game.
      OSError: it cannot be read.
    """
    path = weights_file(path)
    described = _described(path, game)
    who, theirs = _made(game, described), make(described)
    told = f"guess {path}: of mode {described.mode!r}"
    if theirs.encoder.shape != who.encoder.shape:
        seen, wanted = (" x ".join(map(str, one.encoder.shape)) for one in (theirs, who))
        raise ValueError(f"{told} with planes {seen}, and here they are {wanted}")
    if theirs.game.num_secrets != game.num_secrets:
        raise ValueError(f"{told} with {theirs.game.num_secrets} kinds of what is hidden, and here they are {game.num_secrets}")
    params, _ = load_weights(path, jax.eval_shape(who.init, jax.random.key(0)))
    return who, params


def fits(path: Path, game: Any) -> bool:
    """Says whether a weights file of this kind of game is of a network for this one: of the same planes, and as many arms.

    Raises:
      ValueError, OSError: as for `read`.
    """
    theirs = make(_described(path, game))
    encoder = jaxgames.encoder_of(game, theirs.encoder.name)
    return theirs.encoder.shape == encoder.shape and theirs.game.num_arms == game.num_arms


def _described(path: Path, game: Any) -> GuessConfig:
    """Gives the network that a file describes."""
    _, meta = load_weights(path, expect={"kind": KIND, "game": game.name, "version": VERSION})
    return GuessConfig(**{name: str(meta[name]) for name in ("game", "mode", "encoder", "network")})
