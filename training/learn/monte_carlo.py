"""Q-MC: learning what actions are worth from how games ended, without a model and without search.

A network plays all seats of its own games and now and then acts at random. What an action is worth is taught by the outcome of
the game in which it was done (a Monte Carlo return): the network's value of the state and the action's logit together. What
follows from the state, nearly all, is so taught by every sample; an action of thousands is seldom taken. (Source: Boney et al.,
section VI, there the baseline without a model.)
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jax.sharding import Mesh

from jaxgames import checks
from jaxgames.game import is_hidden
from search.planner import Plan, Planner, memoryless
from training.learn.collecting import no_progress, play_and_keep
from training.learn.learner import Learner, Mean, Programs, Updates, check_holds, check_split, mean, turned
from training.learn.self_play import UNFINISHED, Sample, SelfPlay
from training.learn.targets import Targets
from training.models.policy_value import PolicyValue, masked_log_softmax
from training.play.lanes import Pool


@dataclasses.dataclass(frozen=True)
class MonteCarloConfig:
    """How to play and learn; checked when made.

    Attributes:
      epsilon: share of actions that are drawn evenly from the legal ones.
      discount: of an outcome, per step before the end.
      lanes: games at once, over all devices.
      steps: in all lanes per iteration.
      updates: gradient steps per iteration.
      batch_size: samples per gradient step, over all devices; those of games that are not over do not count.
      buffer_size: samples kept, over all devices; the oldest give way.
      learning_rate: of Adam.
      averaging: the parameters to evaluate and keep are a running mean with this decay per gradient step; 0: the last ones.
      symmetries: turn and mirror the boards of each gradient step at random.
    """

    epsilon: float = 0.1
    discount: float = 1.0
    lanes: int = 64
    steps: int = 16
    updates: int = 16
    batch_size: int = 64
    buffer_size: int = 100_000
    learning_rate: float = 3e-4
    averaging: float = 0.0
    symmetries: bool = False

    def __post_init__(self) -> None:
        checks.at_least(1, self, "lanes", "steps", "updates", "batch_size")
        checks.below(checks.COUNTS, self, "steps", "updates")
        checks.shares(self, "epsilon", "discount")
        checks.numbers(self, "learning_rate", positive=True)
        if not 0 <= checks.real("averaging", self.averaging) < 1:
            raise ValueError(f"averaging={self.averaging}: must be at least 0 and below 1")
        if self.buffer_size < self.batch_size:
            raise ValueError(f"buffer_size={self.buffer_size}: must be at least batch_size={self.batch_size}")


class MonteCarlo:
    """The compiled program; holds nothing that changes.

    Attributes:
      init: `init(key, params) -> Learner`; its progress counts `samples`, actions so far, and `games` that are over.
      iterate: `iterate(key, learner) -> (learner, metrics)`; the learner given is used up.
      deal: `deal(key, learner) -> learner`: of another number of devices, as it was saved; see `SelfPlay.dealt`.
    """

    def __init__(self, config: MonteCarloConfig, who: PolicyValue, mesh: Mesh) -> None:
        """Binds everything static.

        Args:
          config: how to play and learn.
          who: the network, whose value and logits together become values of actions.
          mesh: one axis "data".

        Raises:
          ValueError: numbers that cannot be split over the devices.
        """
        devices, game = check_split(mesh, config), who.game
        check_holds(config, config.lanes * game.num_players)
        self.config, self.who = config, who
        self.player = explorer(who, config.epsilon)
        lanes = config.lanes // devices
        self.games = SelfPlay(
            Pool(game, lanes, devices, informed=not self.player.sees_state),
            Targets(who.encoder),
            # Steps of all lanes since the oldest game of the buffer began, as if each were a game.
            remembered=config.buffer_size // devices + lanes * (game.max_steps + 1),
        )
        self.updates = Updates(
            self._loss,
            optax.adam(config.learning_rate),
            jax.eval_shape(self.games.example),
            config.batch_size,
            config.buffer_size,
            devices,
            who.encoder.num_symmetries if config.symmetries else 1,
            config.averaging,
        )
        programs = Programs(mesh)
        same, learner = programs.same, programs.learner
        self.init = programs.compile(self._init, (same, same), learner)
        self.deal = self.games.dealt(self.updates, programs)
        self.iterate = programs.compile(self._iterate, (same, learner), (learner, same))

    def _init(self, key: Array, params: Any) -> Learner:
        return self.updates.init(params, self.games.start(key, jax.lax.axis_index("data")), **no_progress())

    def _iterate(self, key: Array, learner: Learner) -> tuple[Learner, dict[str, Array]]:
        params = learner.params
        learner, told, seen = play_and_keep(self.games, self.updates, self.player, key, params, learner, self.config.steps)
        learner, learnt = self.updates.learn(key, learner, self.config.updates)
        played = {name: told[name] for name in ("samples", "games", "mean_length")}
        return learner, played | learnt | {"value": told["root_value"], "first_player_wins": mean(seen["wins"], seen["games"])}

    def _loss(self, params: Any, batch: Sample, games: Any, which: Array) -> tuple[Array, dict[str, Any]]:
        results = self.games.outcomes_of(games, batch)
        taken = jax.vmap(self.games.targets.unpack)(batch.policy)
        planes, taken = turned(self.who.encoder, batch.view, taken, which if self.config.symmetries else None)
        logits, value = self.who.network.apply(params, planes)
        left = self.games.steps_left(games, batch).astype(jnp.float32)
        target = results * self.config.discount ** jnp.maximum(left - 1, 0)
        over = results != UNFINISHED
        error = jnp.square((logits * taken).sum(-1) + value - target)
        found = Mean(jnp.where(over, error, 0.0).sum(), over.sum())
        return found.over_devices(), {"loss": found, "finished": over.mean()}


def explorer(who: PolicyValue, epsilon: float) -> Planner:
    """Makes a planner that does what a network values most, and a share of the time any legal action.

    It sees no more than its seat: where the network is not shown what is observed, a state is drawn that fits what it knows.

    Args:
      who: the network; its parameters are those of the plans.
      epsilon: that share.
    """
    encoder = who.encoder
    draws = is_hidden(who.game) and not encoder.shows_observation

    def choose(key: Array, legal: Array, seat: Array, logits: Array) -> tuple[Array, Array]:
        best = jnp.argmax(masked_log_softmax(logits, legal))
        when, what = jax.random.split(key)
        any_one = jnp.argmax(jnp.where(legal, jax.random.uniform(what, legal.shape), -1.0))
        output = jnp.where(jax.random.uniform(when) < epsilon, any_one, best)
        return encoder.actions(output, seat).astype(jnp.int32), logits[output]

    def plan(params: Any, keys: Array, memory: Any, views: Any, seats: Array, active: Array) -> tuple[Plan, Any]:
        del active
        keys, world = jax.vmap(jax.random.split, out_axes=1)(keys)
        seen, legal = who.drawn(world, views, seats) if draws else who.shown(views, seats)
        logits, value = who.apply(params, seen)
        actions, more = jax.vmap(choose)(keys, legal, seats, logits)
        values = jnp.clip(value + more, -1.0, 1.0)
        one = jnp.ones((*actions.shape, 1, 1), jnp.float32)
        found = Plan(
            actions=actions[:, None],
            arms=actions[:, None, None],
            legal=one > 0,
            qvalues=values[:, None, None],
            visit_counts=one.astype(jnp.int32),
            action_weights=one,
            root_value=values[:, None],
            metrics={},
        )
        return found, memory

    return memoryless("Q-MC", plan, sees_state=not draws, own_first=True)
