"""A network for a game: it guides searches, and plays by itself (a follower)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import jaxgames
from jaxgames.abilities import teams_of
from jaxgames.agent import Agent, memoryless
from jaxgames.encoder import Encoder
from jaxgames.fusion import settled
from jaxgames.game import is_hidden
from jaxgames.platforms import by_platform
from jaxgames.registration import named
from search.planner import of_seat
from training.models.networks import presets
from training.models.networks.network import Network, in_parts
from training.storage.weights import load_weights, weights_file

KIND, VERSION = "policy_value", 1  # of parameters: the version changes exactly when older ones do not fit any more


@dataclasses.dataclass(frozen=True)
class PolicyValueConfig:
    """Which network, for which game.

    Attributes:
      game: name of the game, or an id as `jaxgames games` lists them.
      mode: its variant, such as adh-5 (abrupt DarkHex, 5 x 5 cells); "": the game's usual one.
      encoder: what it is shown, and what its outputs stand for; "": the first of the game's.
      network: paper (four convolutions), paper_value (the same with a value), compact (of half
        the width, for searches on a CPU), residual; for an output per cell: tiny, small,
        medium, rise, rise_bf16 (RISEv2-mobile); for few outputs: mobile_small, mobile (that of PommerLearn);
        pyramid, pyramid_small (for searches on a CPU, shown boards with the player in their middle);
        arena, arena_small, arena_paper (for games in which cards are played on a board); light, light_small (for
        games of pieces that move, such as Stratego, in searches on a CPU).
    """

    game: str = "hex"
    mode: str = ""
    encoder: str = ""
    network: str = "tiny"


class PolicyValue(NamedTuple):
    """A network for a game, without its parameters.

    Attributes:
      game: what is played.
      encoder: what the network is shown of it, and the actions that its outputs stand for.
      network: what is computed.
      meta: what identifies its parameters in files.
    """

    game: Any
    encoder: Encoder
    network: Network
    meta: dict[str, str | int]

    def init(self, key: Array) -> Any:
        """Draws parameters."""
        return self.network.init(key)

    def apply(self, params: Any, views: Any) -> tuple[Array, Array]:
        """Gives logits float32 [B, A], not masked, and values float32 [B] for views [B]."""

        def see(params: Any, views: Any) -> tuple[Array, Array]:
            planes = jax.vmap(self.encoder.planes)(views)
            # On a CPU they are made once, and not by each kernel that reads them.
            planes = by_platform(planes, cpu=lambda planes: settled([planes])[0], default=lambda planes: planes)
            return self.network.apply(params, planes)

        return in_parts(see, params, views)  # planes take up far more than views

    def policy(self, params: Any, views: Any) -> Array:
        """Gives log probabilities float32 [B, A] over the outputs that are legal as far as the player can tell."""
        logits, _ = self.apply(params, views)
        return masked_log_softmax(logits, jax.vmap(self.encoder.legal)(views))

    def evaluate(self, params: Any, states: Any, seats: Array) -> tuple[Array, Array]:
        """Gives a search the logits [B, A] and values [B] for states [B] and seats int32 [B], by what each seat is shown."""
        return self.apply(params, jax.vmap(self.encoder.view)(states, seats))

    def shown(self, states: Any, seats: Array) -> tuple[Any, Array]:
        """Gives what is shown of states [B] for seats int32 [B], and the outputs that are legal by the rules, bool [B, A]."""
        game, encoder = self.game, self.encoder

        def of_one(state: Any, seat: Array) -> tuple[Any, Array]:
            legal = of_seat(game.legal_actions(state)[None], seat[None])[0]
            return encoder.view(state, seat), legal[encoder.actions(jnp.arange(encoder.num_outputs), seat)]

        return jax.vmap(of_one)(states, seats)

    def drawn(self, keys: Array, infos: Any, seats: Array) -> tuple[Any, Array]:
        """Gives the same of states that are drawn to fit what seats know.

        What is legal there is so for the seat: the rules say more than what is shown of a drawn state alone.

        Args:
          keys: typed keys [B].
          infos: Information [B], what each seat knows.
          seats: int32 [B].
        """
        return self.shown(jax.vmap(self.game.sample_hidden)(keys, infos), seats)

    def check_values(self, given: str, use: str) -> None:
        """Refuses the network where its values are asked for and it has none.

        Args:
          given: how it was named, for the message: "weights=FILE".
          use: what needs its values.

        Raises:
          ValueError: it has no value head.
        """
        if not self.network.has_value:
            raise ValueError(f"{given}: its network {self.meta['network']!r} gives no values of states, which {use} needs")

    def agent(self, params: Any = None, *, name: str = "network", greedy: bool = True, grouped: bool = False) -> Agent:
        """Makes a player without search, who sees no more than its seat.

        Where something is hidden it draws a state that fits what it knows; else it is shown what it observes, or what the encoder
        shows of the state.

        Args:
          params: its parameters; `agent._replace(params=...)` changes them without compiling anything again.
          name: for tables.
          greedy: take the most likely action; else draw one.
          grouped: take the likeliest of the groups that the encoder tells first, such as a card, then of its outputs. For those
            who imitate a planner that tries a few random ones of many: each of these is less likely than what it always tries.
        """
        encoder = self.encoder
        hidden, observes = is_hidden(self.game), encoder.shows_observation

        def choose(params: Any, keys: Array, views: Any, seats: Array) -> Array:
            if hidden:
                seen, legal = self.drawn(keys, views, seats)
                scores = masked_log_softmax(self.apply(params, seen)[0], legal)
            else:
                scores = self.policy(params, views if observes else jax.vmap(encoder.view)(views, seats))
            if grouped and encoder.output_groups:
                scores = of_likeliest_group(scores, encoder.output_groups)
            if not greedy:
                noise = jax.vmap(lambda key: jax.random.gumbel(jax.random.fold_in(key, 1), scores.shape[1:]))
                scores = scores + noise(keys)  # the world was drawn with the keys themselves
            return jax.vmap(encoder.actions)(jnp.argmax(scores, -1), seats)

        sees_state, draws = not (hidden or observes), hidden or not greedy
        return memoryless(name, choose, sees_state=sees_state, params=params, uses_hidden=False, draws=draws)


def of_likeliest_group(scores: Array, groups: Sequence[int]) -> Array:
    """Keeps what is in the likeliest group.

    Args:
      scores: float32 [..., A], log probabilities.
      groups: of each, 0, 1, ...

    Returns:
      float32 [..., A], -inf outside of it.
    """
    group = np.array(groups)
    shares = jnp.exp(scores) @ jnp.asarray(np.eye(group.max() + 1, dtype=np.float32)[group])
    return jnp.where(group == jnp.argmax(shares, -1, keepdims=True), scores, -jnp.inf)


def masked_log_softmax(logits: Array, legal: Array) -> Array:
    """Gives log probabilities over legal columns; where none is legal or a logit is not a number, all on the first one.

    Args:
      logits: float32 [..., N].
      legal: bool [..., N].
    """
    first = jnp.arange(logits.shape[-1]) == 0
    usable = (jnp.isfinite(logits) | ~legal).all(-1, keepdims=True) & legal.any(-1, keepdims=True)
    legal = jnp.where(usable, legal, first)
    return jax.nn.log_softmax(jnp.where(legal, jnp.where(usable, logits, 0.0), -1e9), axis=-1)


def game_of(config: PolicyValueConfig) -> Any:
    """Makes the game of a network, without the network.

    Raises:
      ValueError: for a game or mode that does not exist.
    """
    config = named(config)
    return jaxgames.make(config.game, config.mode)


def make(config: PolicyValueConfig) -> PolicyValue:
    """Makes a network for a game; `init` gives parameters.

    Args:
      config: game, variant, encoder and network by their names.

    Raises:
      ValueError: for a game, mode, encoder or network that does not exist.
    """
    config, game = named(config), game_of(config)
    encoder = jaxgames.encoder_of(game, config.encoder or None)
    network = presets.by_name(config.network, encoder.shape, encoder.num_outputs, encoder.cards)
    meta = {"kind": KIND, **dataclasses.asdict(config), "encoder": encoder.name, "version": VERSION}
    return PolicyValue(game, encoder, network, meta)


def read(path: str | Path, game: Any) -> tuple[PolicyValue, Any]:
    """Reads a network and its parameters from a weights file or the folder of a training run (its best weights).

    Args:
      path: where.
      game: what it will play: another variant than it was trained for, if it is shown the same planes.

    Raises:
      ValueError: the file is no weights of a network for this game.
      OSError: it cannot be read.
    """
    path = weights_file(path)
    who, encoder = _described(path, game)
    _check_planes(path, who, encoder)
    if who.encoder.channels != encoder.channels:
        mine, other = next(pair for pair in zip(who.encoder.channels, encoder.channels, strict=True) if pair[0] != pair[1])
        raise ValueError(
            f"weights {path}: of mode {who.meta['mode']!r}, in which a plane shows {mine!r} that here shows {other!r}"
        )
    params, _ = load_weights(path, jax.eval_shape(who.init, jax.random.key(0)))
    return who._replace(game=game, encoder=encoder), params


def first_params(who: PolicyValue, path: str) -> Any:
    """Reads the parameters with which a network begins to learn, from a weights file or the folder of a training run.

    Args:
      who: the network; the weights may be of another variant of its game.
      path: where.

    Raises:
      ValueError: they are of another network.
      OSError: they cannot be read.
    """
    file = weights_file(path)
    shown = {name: who.meta[name] for name in ("kind", "game", "encoder", "network", "version")}
    _, meta = load_weights(file, expect=shown)
    if who.game.name in jaxgames.game_names():  # else nobody can make the game of the file, and ask for its planes
        _check_planes(file, _made_by(meta), who.encoder)
    params, _ = load_weights(file, jax.eval_shape(who.init, jax.random.key(0)))
    return params


def fits(path: Path, game: Any) -> bool:
    """Says whether a weights file of this kind of game is of a network for this one: of the same planes, outputs and teams.

    As many outputs, because the same planes may show games with other pieces, such as Barrage and Stratego.

    Raises:
      ValueError, OSError: as for `read`, but for other planes.
    """
    who, encoder = _described(path, game)
    same = _planes(who.encoder) == _planes(encoder) and who.encoder.channels == encoder.channels
    return same and who.game.num_arms == game.num_arms and teams_of(who.game) == teams_of(game)


def _described(path: Path, game: Any) -> tuple[PolicyValue, Encoder]:
    """Gives the network that a file describes, and its encoder for the game that is to be played."""
    _, meta = load_weights(path, expect={"kind": KIND, "game": game.name, "version": VERSION})
    who = _made_by(meta)
    return who, jaxgames.encoder_of(game, who.encoder.name)


def _made_by(meta: Mapping[str, Any]) -> PolicyValue:
    """Makes the network that a file's record names."""
    return make(PolicyValueConfig(**{name: str(meta.get(name, "")) for name in ("game", "mode", "encoder", "network")}))


def _check_planes(path: Path, who: PolicyValue, encoder: Encoder) -> None:
    """Raises where a file's network is shown other planes than an encoder makes, or has other outputs."""
    seen, wanted = _planes(who.encoder), _planes(encoder)
    if seen != wanted:
        told = f"weights {path}: of mode {who.meta['mode']!r}"
        if seen[:3] == wanted[:3]:
            raise ValueError(f"{told} with {seen[3]} outputs, and here they are {wanted[3]}")
        planes, others = (" x ".join(map(str, shape[:3])) for shape in (seen, wanted))
        raise ValueError(f"{told} with planes {planes}, and here they are {others}")


def _planes(encoder: Encoder) -> tuple[int, ...]:
    return (*encoder.shape, encoder.num_outputs)
