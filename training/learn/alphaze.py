"""AlphaZe**: learning from the searches of one's own games, also where something is hidden.

Two compiled programs share a learner: one plays and stores, one makes gradient steps. (Source: Bluml et al., Algorithm 3, Eq. 5
and 6.)
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jax.sharding import Mesh

from jaxgames import checks
from jaxgames.game import Game, hides_something, is_hidden
from jaxgames.turns import moves_at_once
from search import puct
from search.dynamics import Evaluate
from search.planner import Planner
from search.puct import determinized
from search.puct.rollout import heuristic_values, with_prospects
from training.learn.collecting import no_progress, play_and_keep
from training.learn.learner import Learner, Programs, Updates, check_holds, check_split, mean, turned
from training.learn.self_play import UNFINISHED, Sample, SelfPlay
from training.learn.targets import Targets, policy_value_errors
from training.models.policy_value import PolicyValue
from training.play.lanes import Pool

METHODS = ("pc_pimc", "medoid", "pimc", "pimc_value")
OPTIMIZERS = ("adam", "sgd")


@dataclasses.dataclass(frozen=True)
class AlphazeConfig:
    """How to play and learn; checked when made. What the paper does on a cluster is in brackets.

    Attributes:
      method: of playing: determinizations (worlds that fit what is known) are drawn and searched, and put together by the mean
        of their policies (pc_pimc), the policy nearest to that mean (medoid) or the sum of their values (pimc); or only looked at
        one action ahead, by the sum of the values after it (pimc_value).
      true_sight_epochs: in all games of so many epochs, which come after pretrain_epochs, the search sees everything (TSL) [6 of
        10 in DarkHex 11 x 11]; heuristic_epochs count among them.
      pretrain_epochs: in the first so many epochs the open game is played instead (section 9.2).
      heuristic_epochs: in the first so many epochs the search sees everything and values states by the game's heuristic with even
        priors [0]: a network learns the first steps sooner from that than from itself.
      num_worlds: determinizations per search [12].
      num_simulations: per world [800].
      prospects: weight, 0 to 1, of the game's own heuristic value of undecided states (hand-crafted) in the search's values [0];
        the rest is the network's.
      first_play_urgency: Q of an action never tried, for the mover [-1]; None: the value of its node, so that few simulations too
        look beyond the actions that they try first.
      microbatch_size: games whose worlds are searched together; an accelerator wants all lanes at once.
      lanes: games at once, over all devices.
      steps: in all lanes per call of the playing program.
      epoch_samples: searches per epoch [409 600 in DarkHex].
      buffer_size: samples kept, over all devices; the oldest give way.
      epoch_updates: gradient steps per epoch.
      updates: gradient steps per call of the learning program.
      batch_size: samples per gradient step, over all devices [512].
      optimizer: adam or sgd (with Nesterov's momentum 0.9).
      learning_rate: the highest; in each epoch it rises for a quarter of the steps and falls along a cosine.
      value_weight: alpha of Eq. 5.
      weight_decay: c of Eq. 5.
      dirichlet_fraction: how much of the priors at the roots of self-play is noise.
      dirichlet_alpha: of that noise: the smaller, the fewer actions it favours.
      explore_moves: in so many first moves of each side the action is drawn by the policy; -1: in the opening, as the game says.
      temperature: of that draw.
      value_temperature: of the policy to be learnt with the methods pimc and pimc_value.
      symmetries: turn the board of each sample of a gradient step at random.
    """

    method: str = "pc_pimc"
    true_sight_epochs: int = 0
    pretrain_epochs: int = 0
    heuristic_epochs: int = 0
    num_worlds: int = 6
    num_simulations: int = 32
    prospects: float = 0.0
    first_play_urgency: float | None = puct.ALPHAZE.first_play_urgency
    microbatch_size: int = 32
    lanes: int = 128
    steps: int = 16
    epoch_samples: int = 16_384
    buffer_size: int = 65_536
    epoch_updates: int = 256
    updates: int = 64
    batch_size: int = 256
    optimizer: str = "adam"
    learning_rate: float = 2e-3
    value_weight: float = 0.5
    weight_decay: float = 1e-4
    dirichlet_fraction: float = 0.25
    dirichlet_alpha: float = 0.3
    explore_moves: int = -1
    temperature: float = 1.0
    value_temperature: float = 0.1
    symmetries: bool = True

    def __post_init__(self) -> None:
        for name, choices in (("method", METHODS), ("optimizer", OPTIMIZERS)):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name}={getattr(self, name)!r}: {checks.one_of(getattr(self, name), choices)}")
        counts = ("num_worlds", "num_simulations", "microbatch_size", "lanes", "steps", "epoch_samples")
        checks.at_least(1, self, *counts, "epoch_updates", "updates", "batch_size")
        checks.below(checks.COUNTS, self, "num_worlds", "steps", "epoch_updates", "updates")
        checks.at_least(0, self, "true_sight_epochs", "pretrain_epochs", "heuristic_epochs")
        checks.at_least(-1, self, "explore_moves")
        checks.numbers(self, "value_weight", "weight_decay", "temperature", "value_temperature")
        checks.numbers(self, "learning_rate", "dirichlet_alpha", positive=True)
        checks.shares(self, "dirichlet_fraction", "prospects")
        if self.first_play_urgency is not None:
            checks.finite("first_play_urgency", self.first_play_urgency)
        if self.heuristic_epochs and self.pretrain_epochs:
            raise ValueError(f"heuristic_epochs={self.heuristic_epochs}: must be 0 with pretrain_epochs={self.pretrain_epochs}")
        if 0 < self.true_sight_epochs <= self.heuristic_epochs:
            least = f"more than heuristic_epochs={self.heuristic_epochs}, which are among them"
            raise ValueError(f"true_sight_epochs={self.true_sight_epochs}: must be 0 or {least}")
        if self.buffer_size < max(self.batch_size, self.lanes):
            raise ValueError(
                f"buffer_size={self.buffer_size}: must be at least batch_size={self.batch_size} and lanes={self.lanes}"
            )
        if self.epoch_updates % self.updates:
            raise ValueError(f"epoch_updates={self.epoch_updates}: must be a multiple of updates={self.updates}")


def _search_settings(config: AlphazeConfig, noise: bool) -> puct.Settings:
    """How one world is searched, with noise at the root or without."""
    return dataclasses.replace(
        puct.ALPHAZE,
        num_simulations=config.num_simulations,
        first_play_urgency=config.first_play_urgency,
        dirichlet_fraction=config.dirichlet_fraction if noise else 0.0,
        dirichlet_alpha=config.dirichlet_alpha,
    )


def _values(config: AlphazeConfig, who: PolicyValue, game: Game) -> Evaluate:
    """What states of a game are worth to the search, and its priors."""
    return with_prospects(game, who.evaluate, config.prospects) if config.prospects else who.evaluate


def make_player(config: AlphazeConfig, who: PolicyValue, *, noise: bool = False, temperature: float = 0.0) -> Planner:
    """Makes the planner that a method plays with; params of its plans are those of the network.

    Args:
      config: the method and its budget; where nothing is hidden, all methods search the state itself.
      who: the network.
      noise: at the roots, for self-play.
      temperature: of the final choice.
    """
    search, outputs = _search_settings(config, noise), who.encoder.outputs
    if not hides_something(who.game):
        search = dataclasses.replace(search, temperature=temperature)
        return puct.puct(who.game, _values(config, who, who.game), search, outputs=outputs)
    evaluate = _values(config, who, who.game.open_game)
    combine = {"pc_pimc": "policy", "medoid": "medoid", "pimc": "value", "pimc_value": "value"}[config.method]
    explores = noise or temperature > 0
    settings = determinized.Settings(
        combine=combine,
        num_worlds=config.num_worlds,
        microbatch_size=config.microbatch_size,
        search=search,
        temperature=temperature,
        value_temperature=config.value_temperature if combine == "value" and explores else 0.0,
    )
    if config.method == "pimc_value":
        return determinized.pimc_value(who.game, evaluate, settings)
    return determinized.pimc_tree(who.game, evaluate, settings, outputs=outputs)


class Alphaze:
    """The compiled programs; holds nothing that changes.

    Attributes:
      init: `init(key, params) -> Learner`; its progress counts `samples`, searches so far, and `games` that are over.
      players: the planner by kind of games.
      play: by kind (fair, true_sight, heuristic, or open: the game with nothing hidden):
        `play(key, params, learner) -> (learner, metrics)`: games with the search of these parameters. The learner given is used
        up, the params are not.
      restart: `restart(key, learner) -> learner`: gives up all games and begins new ones, between kinds that play another game.
      learn: `learn(key, learner) -> (learner, metrics)`: gradient steps; the learner given is used up.
      deal: `deal(key, learner) -> learner`: of another number of devices, as it was saved; see `SelfPlay.dealt`.
    """

    def __init__(self, config: AlphazeConfig, who: PolicyValue, mesh: Mesh, player: Planner | None = None) -> None:
        """Binds everything static.

        Args:
          config: how to play and learn.
          who: the network that learns.
          mesh: one axis "data".
          player: who plays fair games with the network's parameters; None: that of the config's method. Games in which all move
            at once need one, such as FDTS that the network guides.

        Raises:
          ValueError: numbers that cannot be split over the devices, a buffer that is too small, or games that there are not.
        """
        devices = check_split(mesh, config)
        self.config, self.who = config, who
        hidden, at_once = hides_something(who.game), moves_at_once(who.game)
        if not hidden and config.pretrain_epochs + config.true_sight_epochs:
            raise ValueError(
                f"game={who.game.name!r}: hides nothing: leave out pretrain_epochs and true_sight_epochs; "
                "a run that was begun with them cannot go on, so choose another output"
            )
        if at_once and config.pretrain_epochs + config.true_sight_epochs + config.heuristic_epochs:
            raise ValueError(
                f"game={who.game.name!r}: all move at once, which searches of the full state cannot: "
                "leave out pretrain_epochs, true_sight_epochs and heuristic_epochs"
            )
        player = player or make_player(config, who, noise=True)
        informed = hidden or (is_hidden(who.game) and not player.sees_state)
        movers, longest = 1 if at_once else who.game.num_players, who.game.max_steps
        capacity, lanes = config.buffer_size // devices, config.lanes // devices
        self.games = SelfPlay(
            Pool(who.game, lanes, devices, informed=informed),
            Targets(who.encoder),
            # Steps of all lanes since the oldest game of the buffer began, as if each were a game; and what a restart adds.
            remembered=capacity + lanes * (longest + 3),
            explore_steps=who.game.opening_steps if config.explore_moves < 0 else min(movers * config.explore_moves, longest),
            temperature=config.temperature,
        )
        check_holds(config, config.lanes * self.games.seats_at_once)
        optimizer = optax.scale_by_adam() if config.optimizer == "adam" else optax.trace(0.9, nesterov=True)
        self.updates = Updates(
            self._loss,
            optax.chain(optimizer, optax.scale_by_learning_rate(self.rate)),
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
        ways = self._ways(player, hidden)
        self.players = {kind: planner for kind, (_, planner) in ways.items()}
        self.play: dict[str, Callable] = {
            kind: programs.compile(functools.partial(self._play, *way), (same, same, learner), (learner, same))
            for kind, way in ways.items()
        }
        self.restart = programs.compile(self._restart, (same, learner), learner)
        self.learn = programs.compile(self._learn, (same, learner), (learner, same))

    def _ways(self, player: Planner, hidden: bool) -> dict[str, tuple[SelfPlay, Planner]]:
        """How games of each kind are played, and by whom."""
        game, outputs = self.who.game, self.who.encoder.outputs
        ways, search = {"fair": (self.games, player)}, _search_settings(self.config, noise=True)
        if self.config.heuristic_epochs:
            # Nothing tells actions apart before they are tried, and then by small differences.
            by_hand = dataclasses.replace(search, first_play_urgency=None, normalize_q=True)
            make = determinized.true_sight if hidden else puct.puct
            ways["heuristic"] = self.games, make(game, heuristic_values(game.open_game if hidden else game), by_hand)
        if hidden and not moves_at_once(game):
            evaluate = _values(self.config, self.who, game.open_game)
            open_games = dataclasses.replace(self.games, pool=dataclasses.replace(self.games.pool, game=game.open_game))
            for kind, games in (("true_sight", self.games), ("open", open_games)):
                ways[kind] = games, determinized.true_sight(games.pool.game, evaluate, search, outputs=outputs)
        return ways

    def kind(self, epoch: int) -> str:
        """Says how games of an epoch (from 0) are played."""
        config = self.config
        if epoch < config.heuristic_epochs:
            return "heuristic"
        if epoch < config.pretrain_epochs:
            return "open"
        return "true_sight" if epoch < config.pretrain_epochs + config.true_sight_epochs else "fair"

    def kinds(self, epochs: int) -> list[str]:
        """Says how games of so many first epochs are played, each kind once."""
        config = self.config
        firsts = (0, config.heuristic_epochs, config.pretrain_epochs, config.pretrain_epochs + config.true_sight_epochs)
        return list(dict.fromkeys(self.kind(epoch) for epoch in sorted(firsts) if epoch < epochs))

    def rate(self, update: Array) -> Array:
        """The learning rate of a gradient step, a schedule of optax: up for a quarter of each epoch, then down along a cosine."""
        part = (update % self.config.epoch_updates + 0.5) / self.config.epoch_updates
        fall = 0.5 * (1 + jnp.cos(jnp.pi * (part - 0.25) / 0.75))
        return self.config.learning_rate * jnp.where(part < 0.25, part / 0.25, 0.01 + 0.99 * fall)

    def _init(self, key: Array, params: Any) -> Learner:
        return self.updates.init(params, self.games.start(key, jax.lax.axis_index("data")), **no_progress())

    def _restart(self, key: Array, learner: Learner) -> Learner:
        return dataclasses.replace(learner, games=self.games.restart(key, learner.games))

    def _play(
        self, how: SelfPlay, planner: Planner, key: Array, params: Any, learner: Learner
    ) -> tuple[Learner, dict[str, Array]]:
        """Plays some steps in all lanes and stores the searches."""
        learner, told, seen = play_and_keep(how, self.updates, planner, key, params, learner, self.config.steps)
        return learner, told | {"first_player_wins": mean(seen["wins"], seen["games"])}

    def _learn(self, key: Array, learner: Learner) -> tuple[Learner, dict[str, Array]]:
        return self.updates.learn(key, learner, self.config.updates)

    def _loss(self, params: Any, batch: Sample, games: Any, which: Array) -> tuple[Array, dict[str, Any]]:
        return self.judge(params, batch, self.games.outcomes_of(games, batch), which)

    def judge(self, params: Any, batch: Sample, results: Array, which: Array) -> tuple[Array, dict[str, Any]]:
        """Eq. 5, for samples [B] whose games ended with `results` int8 [B]; those not over count for the policy alone."""
        config = self.config
        policy = jax.vmap(self.games.targets.unpack)(batch.policy)
        planes, policy = turned(self.who.encoder, batch.view, policy, which if config.symmetries else None)
        logits, value = self.who.network.apply(params, planes)
        parts = policy_value_errors(logits, value, policy, results, results != UNFINISHED)
        decay = sum(jnp.square(leaf).sum() for leaf in jax.tree.leaves(params))
        value_error = parts["value_error"].over_devices()
        return config.value_weight * value_error + parts["cross_entropy"] + config.weight_decay * decay, parts
