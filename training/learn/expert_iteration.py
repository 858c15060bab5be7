"""Learning from a search in which models play the others, and from games of rule-based players.

A network is taught what a search prefers in games against rule-based players, or, to begin with, what rule-based players do.
(Source: PommerLearn, Weil et al.)
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jax.sharding import Mesh

from jaxgames import checks
from jaxgames.abilities import can_talk
from jaxgames.agent import Agent
from jaxgames.game import Game, is_hidden
from jaxgames.registration import usual_opponent
from search.modelled import Models, modelled_puct
from search.planner import Plan, Planner
from search.puct.settings import Settings
from training.learn.collecting import no_progress, play_and_keep
from training.learn.learner import Learner, Programs, Updates, check_split, mean, turned
from training.learn.self_play import UNFINISHED, Sample, SelfPlay
from training.learn.targets import Targets, is_highest, policy_value_errors
from training.models.policy_value import PolicyValue
from training.play import agents
from training.play.lanes import Pool
from training.storage.named_files import FileName

SEARCH, DATA_SETS = "search", "data_sets"
SOURCES = ("demonstrations", SEARCH, DATA_SETS)


@dataclasses.dataclass(frozen=True)
class ExpertConfig:
    """How to play and learn; checked when made. The paper's numbers are in brackets where they are others.

    Attributes:
      source: demonstrations: rule-based players show all their moves; search: the network's own search plays one seat;
        data_sets: samples that have been written down, see `jaxgames write-data-sets`.
      data_sets: folders of data sets, or folders in which they lie; read in this order.
      player: the rule-based player of all (other) seats; "": the game's usual opponent.
      search: of the network's search [250 simulations].
      models: who plays the others in it.
      samples: per round.
      kept: the samples of so many of the newest rounds are learnt from.
      epochs: times that each round goes over what is kept.
      lanes: games at once, over all devices.
      steps: in all lanes per call of the playing program.
      updates: gradient steps per call of the learning program.
      batch_size: samples per gradient step, over all devices [128].
      learning_rate: of AdamW.
      weight_decay: of AdamW.
      value_weight: of the squared error of values; the policy's cross entropy has the rest of one.
      sharpening: share of the policy target that goes to its best action alone.
      discount: of results, per step before the player's last one.
      mixing: share of the search's own value in the target of values.
      symmetries: turn the board of each sample of a gradient step at random.
    """

    source: str = SEARCH
    data_sets: tuple[FileName, ...] = ()
    player: str = ""
    search: Settings = Settings(num_simulations=100, q_veto=0.4, q_weight=1.0, dirichlet_fraction=0.25, dirichlet_alpha=0.2)
    models: Models = Models(root="visible")
    samples: int = 100_000
    kept: int = 4
    epochs: int = 2
    lanes: int = 64
    steps: int = 16
    updates: int = 100
    batch_size: int = 256
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    value_weight: float = 0.1
    sharpening: float = 0.5
    discount: float = 1.0
    mixing: float = 0.0
    symmetries: bool = True

    def __post_init__(self) -> None:
        if self.source not in SOURCES:
            raise ValueError(f"source={self.source!r}: {checks.one_of(self.source, SOURCES)}")
        if (self.source == DATA_SETS) != bool(self.data_sets):
            if not self.data_sets:
                raise ValueError(f"source={DATA_SETS}: needs folders of data sets: give --learn.data-sets FOLDER ...")
            named = " ".join(self.data_sets)
            raise ValueError(f"data_sets={named}: are read with --learn.source {DATA_SETS} alone, and source={self.source}")
        checks.at_least(1, self, "samples", "kept", "epochs", "lanes", "steps", "updates", "batch_size")
        checks.below(checks.COUNTS, self, "steps", "updates")
        checks.numbers(self, "weight_decay")
        checks.numbers(self, "learning_rate", positive=True)
        if self.batch_size > self.buffer_size:
            raise ValueError(f"batch_size={self.batch_size}: must be at most samples={self.samples} x kept={self.kept}")
        checks.shares(self, "value_weight", "sharpening", "discount", "mixing")
        if self.mixing and self.source == "demonstrations":
            raise ValueError(f"mixing={self.mixing}: must be 0 with source=demonstrations, in which nothing is searched")

    @property
    def buffer_size(self) -> int:
        """Samples kept, over all devices."""
        return self.samples * self.kept

    def updates_after(self, rounds: int) -> int:
        """Gradient steps up to the end of so many rounds, in whole calls of the learning program."""
        held = sum(min(number, self.kept) for number in range(1, rounds + 1)) * self.samples
        calls = -(-held * self.epochs // (self.batch_size * self.updates))
        return calls * self.updates


class ExpertIteration:
    """The compiled programs; holds nothing that changes.

    Attributes:
      init: `init(key, params) -> Learner`; its progress counts `samples` and `games` that are over.
      play: `play(key, learner) -> (learner, metrics)`: games, of which samples are kept. The learner given is used up.
      learn: `learn(key, learner) -> (learner, metrics)`: gradient steps; the learner given is used up.
      deal: `deal(key, learner) -> learner`: of another number of devices, as it was saved; see `SelfPlay.dealt`.
    """

    def __init__(self, config: ExpertConfig, who: PolicyValue, mesh: Mesh) -> None:
        """Binds everything static.

        Args:
          config: how to play and learn.
          who: the network that learns.
          mesh: one axis "data".

        Raises:
          ValueError: numbers that cannot be split over the devices, samples that are too few, or players that there are not.
        """
        devices = check_split(mesh, config)
        self.config, self.who = config, who
        player = agents.make(config.player or usual_opponent(who.game), who.game)
        shows = config.source == "demonstrations"
        self.planner = shown_moves(player, who.game) if shows else make_search(who, config.models, config.search)
        remembers = shows or config.models.root in ("believed", "worst")
        lanes, capacity = config.lanes // devices, config.buffer_size // devices
        self.games = SelfPlay(
            Pool(who.game, lanes, devices, informed=is_hidden(who.game) and not player.sees_state),
            Targets(who.encoder),
            remembered=capacity + lanes * (who.game.max_steps + 3),
            partner=None if shows else player,
            remembers=self.planner if remembers else None,
        )
        step = config.lanes * self.games.seats_at_once
        if config.buffer_size < step:
            least, held = -(-step // config.kept), f"to hold the {step} samples of one step of lanes={config.lanes}"
            raise ValueError(f"samples={config.samples}: must be >= {least} with kept={config.kept}, {held}")
        self.updates = Updates(
            self._loss,
            optax.adamw(config.learning_rate, weight_decay=config.weight_decay),
            jax.eval_shape(self.games.example),
            config.batch_size,
            config.buffer_size,
            devices,
            who.encoder.num_symmetries if config.symmetries else 1,
        )
        programs = Programs(mesh)
        same, learner = programs.same, programs.learner
        self.init = programs.compile(self._init, (same, same), learner)
        self.deal = self.games.dealt(self.updates, programs)
        self.play = programs.compile(self._play, (same, learner), (learner, same))
        self.learn = programs.compile(self._learn, (same, learner), (learner, same))

    def _init(self, key: Array, params: Any) -> Learner:
        return self.updates.init(params, self.games.start(key, jax.lax.axis_index("data")), **no_progress())

    def _play(self, key: Array, learner: Learner) -> tuple[Learner, dict[str, Array]]:
        """Plays some steps in all lanes and keeps the samples."""
        named = bool(self.who.encoder.output_names)  # shares of Stratego's 3600 actions would be all that there is in a log

        def watch(sample: Sample, use: Array) -> dict[str, Array]:
            if not named:
                return {}
            policy = jax.vmap(self.games.targets.unpack)(sample.policy)
            return {"chosen": jnp.where(use[:, None], is_highest(policy), False).sum(0, dtype=jnp.int32)}

        learner, told, seen = play_and_keep(
            self.games, self.updates, self.planner, key, learner.params, learner, self.config.steps, watch
        )
        told |= {name: mean(seen[name], seen["games"]) for name in ("wins", "draws")}
        if named:
            told["action_shares"] = mean(seen["chosen"], seen["searches"])
        return learner, told

    def _learn(self, key: Array, learner: Learner) -> tuple[Learner, dict[str, Array]]:
        return self.updates.learn(key, learner, self.config.updates)

    def _loss(self, params: Any, batch: Sample, games: Any, which: Array) -> tuple[Array, dict[str, Any]]:
        results, left = self.games.outcomes_of(games, batch), self.games.steps_left(games, batch)
        return self.judge(params, batch, results, left, which)

    def judge(self, params: Any, batch: Sample, results: Array, left: Array, which: Array) -> tuple[Array, dict[str, Any]]:
        """The loss of the paper, for samples [B] whose games ended with `results` int8 [B], `left` steps later.

        Samples of games that are not over count for the policy alone.
        """
        policy = jax.vmap(self.games.targets.unpack)(batch.policy)
        samples = Samples(batch.view, policy, batch.value, results, left)
        return expert_loss(self.config, self.who, params, samples, which)


class Samples(NamedTuple):
    """What is learnt from N samples.

    Attributes:
      view: what a network is shown, leaves [N].
      policy: float32 [N, A], what it is taught about actions.
      value: float [N], the search's value.
      result: int8 [N], how the game ended for whose sample it is; `UNFINISHED` where it has not.
      left: int16 [N], steps to the end of that player's part in it, 1 in the last.
    """

    view: Any
    policy: Any
    value: Any
    result: Any
    left: Any


def expert_loss(
    config: ExpertConfig, who: PolicyValue, params: Any, samples: Samples, which: Array
) -> tuple[Array, dict[str, Any]]:
    """Gives the loss of the paper, and its parts; samples of games that are not over count for the policy alone.

    Args:
      config: how to learn.
      who: the network.
      params: its parameters.
      samples: a mini-batch.
      which: int32 [B], the symmetry in which to show each sample.
    """
    policy = sharpened(samples.policy, config.sharpening)
    planes, policy = turned(who.encoder, samples.view, policy, which if config.symmetries else None)
    logits, value = who.network.apply(params, planes)
    target = value_target(samples.result, samples.left, samples.value.astype(jnp.float32), config.discount, config.mixing)
    parts = policy_value_errors(logits, value, policy, target, samples.result != UNFINISHED)
    value_error = parts["value_error"].over_devices()
    return config.value_weight * value_error + (1 - config.value_weight) * parts["cross_entropy"], parts


def sharpened(policy: Array, share: float) -> Array:
    """Moves a share of a policy float32 [B, A] to its best action, the first of equals (the paper's modified target)."""
    return (1 - share) * policy + share * is_highest(policy) * policy.sum(-1, keepdims=True)


def value_target(results: Array, left: Array, searched: Array, discount: float, mixing: float) -> Array:
    """What values are taught: w q + (1 - w) (g^t z + (1 - g^t) q), and without mixing g^t z.

    Args:
      results: z, int8 [B].
      left: t + 1, int16 [B], steps to the end, 1 in a player's last sample, of which nothing is discounted, as in the paper's
        programs; below 1 where the game is not over, which counts as 1 to keep the gradient finite.
      searched: q, float32 [B], the search's value.
      discount: g.
      mixing: w.
    """
    weight = discount ** jnp.maximum(left - 1, 0).astype(jnp.float32)
    if not mixing:
        return weight * results
    return mixing * searched + (1 - mixing) * (weight * results + (1 - weight) * searched)


def make_search(who: PolicyValue, models: Models, search: Settings) -> Planner:
    """Makes the search of a network, with its parameters; other networks that are models are read from their files.

    Raises:
      ValueError, OSError: there is no such model, or its weights are of another game.
    """
    others = agents.models_by_text(dataclasses.asdict(models), who.game)
    return modelled_puct(who.game, who.evaluate, models, search, outputs=who.encoder.outputs, agents=others)


def shown_moves(player: Agent, game: Game) -> Planner:
    """Makes a planner that prefers what a player does, so that its moves can be learnt like a search; without its words."""

    def plan(params: Any, keys: Array, memory: Any, views: Any, seats: Array, active: Array) -> tuple[Plan, Any]:
        del params
        actions, memory = player.act(player.params, keys, memory, views, seats, active)
        if can_talk(game):
            actions = game.silent(actions)
        arms = actions[:, None, None].astype(jnp.int32)  # the one that it takes, which a search might leave out
        found = Plan(
            actions=arms[:, :, 0],
            arms=arms,
            legal=jnp.ones(arms.shape, bool),
            qvalues=jnp.zeros(arms.shape, jnp.float32),
            visit_counts=jnp.ones(arms.shape, jnp.int32),
            action_weights=jnp.ones(arms.shape, jnp.float32),
            root_value=jnp.zeros(arms.shape[:2], jnp.float32),
            metrics={},
        )
        return found, memory

    return Planner(
        player.name, player.init, player.reset, plan, memory_bytes=0, metrics={}, sees_state=player.sees_state, own_first=True
    )
