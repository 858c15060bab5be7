"""Learning to play by imitating an oracle: one compiled program that plays, plans, stores and learns.

DAgger: the network plays all seats and the oracle labels every state it meets. Cloning: the oracle plays. (Source: Boney et
al., Algorithm 1 and section IV.)
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from jax.sharding import Mesh

from jaxgames import checks
from jaxgames.game import hides_something, is_hidden
from search.planner import Plan, Planner
from training.learn.dealing import deal_rows, first_not_begun
from training.learn.episodes import DRAW, STOP_RULES, WORLD, EpisodeRules, Episodes
from training.learn.learner import Learner, Programs, Updates, check_holds, check_split, mean, turned
from training.learn.replay_buffer import Ring
from training.learn.targets import Targets, is_highest
from training.models.policy_value import PolicyValue, masked_log_softmax
from training.play import agents
from training.play.lanes import Lanes, Pool, fold

METHODS = ("dagger", "cloning")
TARGETS = ("best", "first_best", "values")


@dataclasses.dataclass(frozen=True)
class DaggerConfig:
    """How a network learns from an oracle; checked when made. The defaults are the paper's where it names a number.

    Attributes:
      method: who plays the episodes: dagger (the network itself) or cloning (the oracle).
      opponent: a rule-based player of all seats but one, those whom the network will meet; the oracle labels their views too.
        "": who plays the learner's seat (the network, or with cloning the oracle) plays all.
      episodes: how many.
      lanes: episodes at once, over all devices.
      steps: steps in all lanes per iteration.
      updates_per_step: gradient steps per step of one episode.
      batch_size: samples per gradient step, over all devices.
      learning_rate: of Adam.
      final_rate: the learning rate falls in a line with the episodes that are over, to this part of itself; 1: it stays.
      buffer_size: samples kept, over all devices; the oldest give way.
      target: what is imitated: best (the oracle's weights of arms: evenly its best ones, or its visits if it counts these),
        first_best (the first of its best arms, as the released code) or values (a softmax of its posterior means).
      temperature: of that softmax, of values between 0 (lost) and 1 (won): others are put there first.
      advantage_weight: weigh samples by how much the choice matters (the oracle's best value less the mean over legal arms, both
        between 0 and 1), with this much added to the weight of all; 0: all weigh the same, as in the paper.
      averaging: the parameters that are evaluated and kept are a running mean with this decay per gradient step; 0: the last
        ones, as in the paper.
      value_weight: of the squared error of the value, if the network has one.
      symmetries: turn and mirror the board of each sample of a gradient step at random.
      stop_rule: end an episode when the oracle's choices stand still: unchanged (none has changed within 10 steps), released
        (their sum equals that of 10 steps ago, which the released code computes) or off (never).
      stop_when_quiet: end an episode after more steps than this in which nobody has kept it going (in Pommerman: laid a bomb);
        0: never.
    """

    method: str = "dagger"
    opponent: str = ""
    episodes: int = 500
    lanes: int = 64
    steps: int = 8
    updates_per_step: float = 1.0
    batch_size: int = 32
    learning_rate: float = 1e-3
    final_rate: float = 1.0
    buffer_size: int = 100_000
    target: str = "best"
    temperature: float = 0.05
    advantage_weight: float = 0.0
    averaging: float = 0.0
    value_weight: float = 0.5
    symmetries: bool = False
    stop_rule: str = "unchanged"
    stop_when_quiet: int = 40

    def __post_init__(self) -> None:
        for name, choices in (("method", METHODS), ("target", TARGETS), ("stop_rule", STOP_RULES)):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name}={getattr(self, name)!r}: {checks.one_of(getattr(self, name), choices)}")
        checks.at_least(1, self, "episodes", "lanes", "steps", "batch_size")
        checks.below(checks.COUNTS, self, "steps")
        checks.numbers(self, "updates_per_step", "value_weight", "advantage_weight", "stop_when_quiet")
        checks.shares(self, "final_rate")
        if not 0 <= checks.real("averaging", self.averaging) < 1:
            raise ValueError(f"averaging={self.averaging}: must be at least 0 and below 1")
        checks.numbers(self, "learning_rate", "temperature", positive=True)
        if self.buffer_size < self.batch_size:
            raise ValueError(f"buffer_size={self.buffer_size}: must be at least batch_size={self.batch_size}")


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Sample:
    """One labelled view.

    Attributes:
      view: what the player was shown; where the encoder would show what is hidden, of a state drawn to fit what the player knew.
      target: the distribution over outputs to imitate, as `Targets.pack` keeps it.
      value: float32 [], the oracle's, as a chance to win.
      weight: float32 [], how much the choice matters: the oracle's best value less the mean over legal arms, as chances to win.
    """

    view: Any
    target: Any
    value: Array
    weight: Array


class Dagger:
    """The compiled program; holds nothing that changes.

    Attributes:
      init: `init(key, params) -> Learner`; its progress counts `steps` of all episodes, `episodes` that are over, and `owed`, the
        part of a gradient step not yet made; episodes are played up to the number `last`.
      deal: `deal(key, learner) -> learner`: of another number of devices, as it was saved.
      iterate: `iterate(key, oracle_params, learner) -> (learner, metrics)`; the learner given is used up.
    """

    def __init__(self, config: DaggerConfig, who: PolicyValue, oracle: Planner, mesh: Mesh) -> None:
        """Binds everything static.

        Args:
          config: how to learn.
          who: the network that learns.
          oracle: who labels; where all players move at once, a planner for all seats.
          mesh: one axis "data".

        Raises:
          ValueError: numbers that cannot be split over the devices.
        """
        devices, players = check_split(mesh, config), who.game.num_players
        if config.episodes < devices:
            raise ValueError(f"episodes={config.episodes}: must be at least the {devices} devices")
        check_holds(config, config.lanes * players)
        self.config, self.who = config, who
        self.lost, won = oracle.value_range
        self.width = won - self.lost
        self.targets = Targets(who.encoder, jnp.float32)
        opponent = agents.make(config.opponent, who.game) if config.opponent else None
        # Where the encoder would show what is hidden, the follower is shown states drawn to fit what its seat knows.
        self.draws = hides_something(who.game) and not who.encoder.shows_observation
        all_see = all(one.sees_state for one in (oracle, opponent) if one is not None)
        informed = self.draws or (is_hidden(who.game) and not all_see)
        pool = Pool(who.game, config.lanes // devices, devices, config.episodes, informed)
        self.rules = EpisodeRules(pool, oracle, config.stop_rule, config.stop_when_quiet, opponent)
        self.updates = Updates(
            self._loss,
            optax.adam(config.learning_rate),
            jax.eval_shape(self._example, jax.random.key(0)),
            config.batch_size,
            config.buffer_size,
            devices,
            who.encoder.num_symmetries if config.symmetries else 1,
            config.averaging,
        )
        programs = Programs(mesh)
        same, learner = programs.same, programs.learner
        self.init = programs.compile(self.local_init, (same, same), learner)
        self._begin = programs.compile(self._begin_at, (same, same, learner), learner)
        self.programs = programs
        self.iterate = programs.compile(self.local_iterate, (same, same, learner), (learner, same))

    def _example(self, key: Array) -> Sample:
        who = self.who
        target = self.targets.pack(jnp.zeros(who.encoder.num_outputs))
        return Sample(who.encoder.view(who.game.init(key), jnp.int32(0)), target, jnp.float32(0), jnp.float32(0))

    def local_init(self, key: Array, params: Any) -> Learner:
        """`init` on one device of the axis "data"."""
        progress = {
            "owed": jnp.float32(0),
            **dict.fromkeys(("steps", "episodes"), jnp.int32(0)),
            "last": jnp.int32(self.config.episodes),
        }
        return self.updates.init(params, self.rules.start(key, jax.lax.axis_index("data")), **progress)

    def deal(self, key: Array, learner: Learner) -> Learner:
        """Takes up a learner of another number of devices, its games and rings of numpy, as saved.

        The episodes that were at work are given up, and as many begin that nobody has played.
        """
        devices = self.rules.pool.num_devices
        ring = deal_rows(learner.ring, devices, self.config.buffer_size // devices)
        first = first_not_begun(learner.games.lanes.next_number, devices)
        return self._begin(key, np.int32(first), dataclasses.replace(learner, ring=self.programs.spread(ring), games=()))

    def _begin_at(self, key: Array, first: Array, learner: Learner) -> Learner:
        progress = learner.progress | {"last": first + self.config.episodes - learner.progress["episodes"]}
        rules = self._rules_until(progress["last"])
        return dataclasses.replace(learner, games=rules.start(key, jax.lax.axis_index("data"), first), progress=progress)

    def _rules_until(self, last: Array) -> EpisodeRules:
        """The rules where there are episodes up to a number, int32 []."""
        return dataclasses.replace(self.rules, pool=dataclasses.replace(self.rules.pool, num_games=last))

    def local_iterate(self, key: Array, oracle_params: Any, learner: Learner) -> tuple[Learner, dict[str, Array]]:
        """`iterate` on one device of the axis "data"."""
        rules = self._rules_until(learner.progress["last"])

        def one_step(_, carry):
            episodes, ring, seen = carry
            episodes, ring, more = self._play(rules, key, learner.params, oracle_params, episodes, ring)
            return episodes, ring, jax.tree.map(jnp.add, seen, more)

        shapes = jax.eval_shape(lambda: self._play(rules, key, learner.params, oracle_params, learner.games, learner.ring)[2])
        nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
        episodes, ring, seen = jax.lax.fori_loop(0, self.config.steps, one_step, (learner.games, learner.ring, nothing))
        seen = jax.lax.psum(seen, "data")
        owed = learner.progress["owed"] + self.config.updates_per_step * seen["steps"]
        number = jnp.floor(owed).astype(jnp.int32)
        ended = learner.progress["episodes"] + seen["ended"]
        progress = {"owed": owed - number, "steps": learner.progress["steps"] + seen["steps"], "episodes": ended}
        learner = dataclasses.replace(learner, games=episodes, ring=ring, progress=learner.progress | progress)
        passed = jnp.minimum(ended / self.config.episodes, 1.0)
        learner, told = self.updates.learn(key, learner, number, 1 + (self.config.final_rate - 1) * passed)
        return learner, told | self._metrics(seen, learner)

    def _play(self, rules: EpisodeRules, key: Array, params: Any, oracle_params: Any, episodes: Episodes, ring: Ring):
        """One step in all lanes of a device: look, plan, store, act. Returns also counts to add up."""
        encoder, pool = self.who.encoder, rules.pool
        states, rows = episodes.lanes.states, (pool.lanes, pool.game.num_players)
        keys = pool.step_keys(key, episodes.lanes)
        plan, episodes = rules.label(oracle_params, keys, episodes)
        seats = jnp.arange(rows[1])
        views, log_policy = self._look(params, fold(keys, WORLD), episodes.lanes)
        log_policy = log_policy.reshape(*rows, -1)
        noise = jax.vmap(lambda k: jax.random.gumbel(k, log_policy.shape[1:]))(fold(keys, DRAW))
        drawn = jax.vmap(encoder.actions, (-1, 0), -1)(jnp.argmax(log_policy + noise, -1), seats)
        choosing = pool.asked(states) & pool.busy(episodes.lanes)[:, None]
        actions = plan.actions if self.config.method == "cloning" else drawn
        actions, episodes = rules.among_others(keys, episodes, actions)
        actions = jnp.where(choosing, actions, pool.game.pass_action)

        weights = self._weights(plan)
        target, best = (self._per_output(plan, each) for each in (weights, plan.action_weights))
        chances = (plan.root_value - self.lost) / self.width
        labels = (jax.vmap(jax.vmap(self.targets.pack))(target), chances, self._advantage(plan))
        ring = self.updates.store(ring, Sample(views, *_in_rows(labels)), choosing.reshape(-1))
        favourite, choice = (is_highest(scores) for scores in (log_policy, plan.action_weights))
        busy = pool.busy(episodes.lanes)
        episodes, ended = rules.advance(key, keys, episodes, actions, jnp.where(choice, plan.arms, 0).sum(-1))
        agrees = (favourite & (best > 0) & (best >= best.max(-1, keepdims=True))).any(-1)
        entropy = -(jnp.exp(log_policy) * log_policy).sum(-1)
        counts = {
            "steps": busy.sum(dtype=jnp.int32),
            "ended": ended.sum(dtype=jnp.int32),
            "samples": choosing.sum(dtype=jnp.int32),
            "agreed": (agrees & choosing).sum(dtype=jnp.int32),
            "entropy": jnp.where(choosing, entropy, 0.0).sum(),
        }
        if encoder.output_names:
            played = jax.vmap(encoder.outputs, (-1, 0), -1)(actions, seats)[..., None] == jnp.arange(encoder.num_outputs)
            counts["outputs"] = (played & choosing[..., None]).sum((0, 1), dtype=jnp.int32)
            counts["oracle_outputs"] = jnp.where(choosing[..., None], best, 0.0).sum((0, 1))
        return episodes, ring, counts

    def _look(self, params: Any, keys: Array, lanes: Lanes) -> tuple[Any, Array]:
        """Gives what all seats are shown, [L * P], and what the network would do, float32 [L * P, A] log probabilities.

        The keys [L] draw what they do not know.
        """
        who, seats = self.who, jnp.arange(self.rules.pool.game.num_players)
        if not self.draws:
            views = _in_rows(jax.vmap(lambda state: jax.vmap(lambda seat: who.encoder.view(state, seat))(seats))(lanes.states))
            return views, who.policy(params, views)
        each = jax.vmap(lambda key: jax.vmap(lambda seat: jax.random.fold_in(key, seat))(seats))(keys)
        views, legal = who.drawn(each.reshape(-1), _in_rows(lanes.infos), jnp.tile(seats, len(keys)))
        return views, masked_log_softmax(who.apply(params, views)[0], legal)

    def _weights(self, plan: Plan) -> Array:
        """What is imitated of a plan, by arm: float32 [L, P, K]."""
        if self.config.target == "best":
            return plan.action_weights
        if self.config.target == "first_best":
            return jax.nn.one_hot(jnp.argmax(plan.action_weights, -1), plan.action_weights.shape[-1])
        return jnp.exp(masked_log_softmax(plan.qvalues / (self.width * self.config.temperature), plan.legal))

    def _advantage(self, plan: Plan) -> Array:
        """Best value less the mean over legal arms, as chances to win: float32 [L, P]."""
        legal, values = plan.legal, plan.qvalues
        average = jnp.where(legal, values, 0.0).sum(-1) / jnp.maximum(legal.sum(-1), 1)
        return jnp.where(legal.any(-1), jnp.where(legal, values, -jnp.inf).max(-1) - average, 0.0) / self.width

    def _per_output(self, plan: Plan, weights: Array) -> Array:
        """Weights by arm as weights by output: float32 [L, P, A]."""
        seats = jnp.arange(weights.shape[1])
        of_lane = jax.vmap(self.targets.per_output)
        return jax.vmap(of_lane, (0, 0, 0, None))(plan.arms, plan.legal, weights, seats)

    def _loss(self, params: Any, batch: Sample, games: Any, which: Array) -> tuple[Array, dict[str, Array]]:
        del games
        encoder, config = self.who.encoder, self.config
        target = jax.vmap(self.targets.unpack)(batch.target)
        planes, target = turned(encoder, batch.view, target, which if config.symmetries else None)
        logits, value = self.who.network.apply(params, planes)
        entropies = optax.softmax_cross_entropy(logits, target)
        if config.advantage_weight:
            weight = batch.weight + config.advantage_weight
            entropies = entropies * weight / jax.lax.pmean(weight.mean(), "data")
        entropy = entropies.mean()
        error = jnp.square(value - (2 * batch.value - 1)).mean()  # the network's value lies in [-1, 1]
        return entropy + config.value_weight * error, {"cross_entropy": entropy}

    def _metrics(self, seen: dict[str, Array], learner: Learner) -> dict[str, Array]:
        samples = seen["samples"]
        shares = {name: mean(seen[name], samples) for name in ("entropy", "outputs", "oracle_outputs") if name in seen}
        return shares | {
            "agreement": mean(seen["agreed"], samples),
            "episodes": learner.progress["episodes"],
            "steps": learner.progress["steps"],
            "new_steps": seen["steps"],
            "new_samples": seen["samples"],
            "buffer": jax.lax.psum(learner.ring.size[0], "data"),
        }


def _in_rows(tree: Any) -> Any:
    """Makes one axis of the first two of all leaves."""
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), tree)
