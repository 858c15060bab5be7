"""What the environments share: settings, states, start states, what is seen and legal, and one step of the games."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import checks, random_bits
from jaxgames.abilities import has_synonyms, teams_of, tells_legal_by_view
from jaxgames.encoder import Encoder
from jaxgames.game import init_all_information, update_all_information
from jaxgames.lanes import where_lanes
from jaxgames.observing import PLANES, ArraySpec, Observer, observer_of
from jaxgames.random_bits import LaneKey
from jaxgames.registration import encoder_of, make, registered
from jaxgames.starts import Starts
from jaxgames.turns import moves_at_once

SAME_STEP, NEXT_STEP, DISABLED = AUTORESETS = ("same_step", "next_step", "disabled")
POOL_SIZE = 4096
_FEW_LANES = 64  # so few draw their own start states
_CHANCE, _POOL = 0, 3  # children of keys


class TimeStep(NamedTuple):
    """What a caller is told; leading axis B. In `MultiEnvironment` what is of a seat has a second axis P.

    Attributes:
      observation: what the learner sees now: of the next game where one is over and has been followed by it.
      legal: bool [B, A], what it may do now, as far as it can tell.
      reward: float32 [B], of this step.
      terminated: bool [B], with this step the game is over for the learner by its rules.
      truncated: bool [B], it was given up after `max_episode_steps`, so what was to come is worth something.
      final_observation: what the learner saw after its action, before any reset. Where it is not used, jit computes none.
      seat: int32 [B], the learner's in the game that goes on; in `MultiEnvironment` whose turn it is, -1: all choose.
      illegal: bool [B], the action was illegal; one that stands for the same as a legal one is not.
      episode_length: int32 [B], steps of this episode so far, with this one.
      episode_return: float32 [B], sum of their rewards.
    """

    observation: Any
    legal: Array
    reward: Array
    terminated: Array
    truncated: Array
    final_observation: Any
    seat: Array
    illegal: Array
    episode_length: Array
    episode_return: Array

    @property
    def done(self) -> Array:
        """bool [B]: the episode is over, whatever the reason."""
        return self.terminated | self.truncated


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class EnvState:
    """The games of B lanes.

    Attributes:
      games: State [B].
      infos: Information [B, P], where an agent plays by it; else ().
      memories: of the agents.
      params: of the agents, one entry per group of equal ones; may be replaced, such as by newer weights.
      seats: int32 [B], the learner's.
      legal: bool [B, A], or [B, P, A]: what may be done now.
      over: bool [B], the episode is over and no other has begun.
      length: int32 [B], of the episode.
      returns: float32 [B], or [B, P] by seat.
      pending: float32 [B], rewards that came before the learner's first turn; they are told with the next ones.
      pool: start states, see `Starts`.
    """

    games: Any
    infos: Any
    memories: tuple[Any, ...]
    params: tuple[Any, ...]
    seats: Array
    legal: Array
    over: Array
    length: Array
    returns: Array
    pending: Array
    pool: Array


@dataclasses.dataclass(frozen=True, eq=False)
class Base:
    """Settings of every environment; checked when made.

    Attributes:
      game: what is played: a game, or an id or name as `jaxgames.make` takes it.
      batch_size: lanes, B.
      observation: "arrays" (all that a seat observes, as few plain arrays), "planes" (of the encoder), or a function
        `see(state, seat) -> pytree` of one game.
      encoder: its name, with "planes"; None: the game's first.
      autoreset: "same_step", "next_step" or "disabled".
      max_episode_steps: an episode is truncated after so many steps; None: only the game's rules end it.
      pool_size: start states that are drawn once, for all games to come; 0: every game draws its own. None: 4096, and 0 where
        there are fewer than 64 lanes.
    """

    game: Any
    batch_size: int = 1
    observation: str | Callable[[Any, Array], Any] = "arrays"
    encoder: str | None = None
    autoreset: str = SAME_STEP
    max_episode_steps: int | None = None
    pool_size: int | None = None
    observer: Observer = dataclasses.field(init=False)
    starts: Starts = dataclasses.field(init=False)
    takes_turns: bool = dataclasses.field(init=False)
    has_teams: bool = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        if isinstance(self.game, str):
            object.__setattr__(self, "game", make(self.game))
        elif not hasattr(self.game, "num_actions"):
            raise ValueError(f"game={self.game!r}: must be a game, or an id or name as jaxgames.make takes it")
        elif isinstance(self.game, type):
            raise ValueError(f"game: the class {self.game.__name__}, must be a game, such as {self.game.__name__}()")
        for name, least in (("batch_size", 1), ("max_episode_steps", 1), ("pool_size", 0)):
            value = getattr(self, name)
            if value is None and name != "batch_size":
                continue
            number = checks.as_integer(value)
            if number is None or number < least:
                raise ValueError(f"{name}={value!r}: must be an integer >= {least}")
            if number >= checks.COUNTS:
                raise ValueError(f"{name}={value!r}: must be < {checks.COUNTS}")
            object.__setattr__(self, name, number)
        if self.autoreset not in AUTORESETS:
            raise ValueError(f"autoreset={self.autoreset!r}: {checks.one_of(self.autoreset, AUTORESETS)}")
        if self.encoder is not None and self.observation != PLANES:
            raise ValueError(f"encoder={self.encoder!r}: needs observation={PLANES!r}")
        size = self.pool_size if self.pool_size is not None else 0 if self.batch_size < _FEW_LANES else POOL_SIZE
        known = registered(self.game.name)
        has_planes = bool(self.encoder or (known and known.encoders))
        encoder: Encoder | None = encoder_of(self.game, self.encoder) if has_planes else None
        object.__setattr__(self, "observer", observer_of(self.game, self.observation, encoder))
        object.__setattr__(self, "starts", Starts(self.game, size))
        object.__setattr__(self, "takes_turns", not moves_at_once(self.game))
        object.__setattr__(self, "has_teams", len(set(teams_of(self.game))) < self.game.num_players)

    @property
    def observation_spec(self) -> Any:
        """The tree of one observation, of a lane or of a seat in it, with an `ArraySpec` for each array."""
        return self.observer.spec

    @property
    def action_spec(self) -> ArraySpec:
        """Of one action: an integer in 0..A-1."""
        return ArraySpec((), np.dtype(np.int32), 0, self.game.num_actions - 1)

    @property
    def limit(self) -> int:
        """Steps after which an episode is truncated."""
        return np.iinfo(np.int32).max if self.max_episode_steps is None else self.max_episode_steps

    def renew_pool(self, state: EnvState, key: Array) -> EnvState:
        """Draws the pool of start states again, such as between updates; games that have begun go on."""
        return dataclasses.replace(state, pool=self.starts.draw(key))

    def _begin(self, key: Array) -> tuple[LaneKey, Array]:
        """Gives the keys of lanes and a pool."""
        _check_key(key)
        lane_key, pool_key = jax.random.fold_in(key, 0), jax.random.fold_in(key, _POOL)
        return self._lanes(lane_key), self.starts.draw(pool_key)

    def _lanes(self, key: Array) -> LaneKey:
        """Keys of lanes, leaves [B]; that of lane i does not depend on B."""
        _check_key(key)
        return random_bits.fold(random_bits.lane_key(key), jnp.arange(self.batch_size))

    def _infos(self, games: Any) -> Any:
        return init_all_information(self.game, games)

    def _checked(self, state: Any, actions: Any, shape: tuple[int, ...]) -> Array:
        """Checks that a state is one, checks form and type of actions, and makes the pass of numbers out of range."""
        if not isinstance(state, EnvState):
            raise ValueError(
                f"state is a {type(state).__name__}: must be that of reset or the last step, as in step(state, actions, key)"
            )
        if not hasattr(actions, "dtype"):
            of_jax = any(isinstance(leaf, Array) for leaf in jax.tree.leaves(actions))
            try:
                actions = jnp.asarray(actions) if of_jax else np.asarray(actions)
            except (TypeError, ValueError):  # such as a dictionary by seat
                raise ValueError(f"actions are a {type(actions).__name__}: must be integers {list(shape)}") from None
        if actions.shape != shape or not jnp.issubdtype(actions.dtype, jnp.integer):
            raise ValueError(f"actions are {actions.dtype} {list(actions.shape)}: must be integers {list(shape)}")
        if actions.dtype.itemsize < 4:  # which could not tell the number of actions
            actions = actions.astype(np.int32)
        in_range = (actions >= 0) & (actions < self.game.num_actions)  # looked at before 64 bits become 32
        return jnp.where(in_range, jnp.asarray(actions).astype(jnp.int32), self.game.pass_action)

    def _played(self, games: Any, infos: Any, joint: Array, goes: Array, keys: LaneKey) -> tuple[Any, Any]:
        """Plays joint actions int32 [B, P] in the lanes that go, bool [B]."""
        after = jax.vmap(self.game.step)(games, joint, random_bits.typed_keys(random_bits.fold(keys, _CHANCE)))
        if jax.tree.leaves(infos):
            infos = where_lanes(goes, update_all_information(self.game, infos, after, joint), infos)
        return where_lanes(goes, after, games), infos

    def _offered(self, games: Any, seats: Array, actions: Array) -> Array:
        """int32 [B]: actions as `legal_actions` offers them."""
        return jax.vmap(self.game.offered_action)(games, seats, actions) if has_synonyms(self.game) else actions

    def _eliminated(self, games: Any) -> Array:
        """bool [B, P]: who is out for good: eliminated, and paid for it in the last step; nobody in a game of teams.

        Games may pay an elimination later than it happens, such as Pommerman one by a collapse.
        """
        if self.has_teams:
            return jnp.zeros((self.batch_size, self.game.num_players), bool)
        return ~jax.vmap(self.game.in_play)(games) & (jax.vmap(lambda one: one.rewards)(games) != 0)

    def _seen(self, games: Any, seats: Array) -> Any:
        return jax.vmap(self.observer.see)(games, seats)

    def _legal(self, games: Any, seats: Array) -> Array:
        """bool [B, A]: what seats int32 [B] may do, as far as they can tell."""
        game = self.game
        if tells_legal_by_view(game):
            return jax.vmap(lambda state, seat: game.legal_in_view(game.observe(state, seat)))(games, seats)
        legal = jax.vmap(game.legal_actions)(games)
        here = jnp.arange(game.num_players) == seats[:, None]
        return (legal & here[:, :, None]).any(1)


def _check_key(key: Any) -> None:
    """Raises unless this is one typed key, or one of the older kind, such as uint32 [2]."""
    if isinstance(key, jax.Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key) and key.ndim == 0:
        return
    form = f"{key.dtype} {list(key.shape)}" if isinstance(key, jax.Array) else f"a {type(key).__name__}"
    words = jax.eval_shape(lambda: jax.random.key_data(jax.random.key(0))).shape  # two, unless JAX makes other keys by default
    if form != f"uint32 {list(words)}":
        raise ValueError(f"key is {form}: must be one key, as jax.random.key(0), for all lanes")
