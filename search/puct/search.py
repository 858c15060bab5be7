"""PUCT: tree search with a network, or any function, that gives a policy and a value; for a batch of games at once.

One simulation walks down by the rule of choice, opens one node, and takes its value up again. Lanes whose walks have ended
wait for the longest; what a walk carries is one number per lane, and the trees are touched by reads and writes of single rows.
(Sources: Silver et al., AlphaZero; the settings `ALPHAZE` are of Bluml et al., AlphaZe**, and `MCTX` of the library mctx.)
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import random_bits
from jaxgames.bits import select
from jaxgames.fusion import boundary
from jaxgames.game import Game
from search import arguments
from search.dynamics import Dynamics, Evaluate, Outputs, arm_logits, check_turns, dynamics_of
from search.microbatch import thinking_in_parts
from search.planner import Plan, Planner, ended, of_arm, of_seat, size_in_bytes
from search.puct import tree as puct_tree
from search.puct.action_selection import corrected_visits, draw_arm, plan_of_mover, without_lost
from search.puct.answers import priors_of, sound_values, with_noise
from search.puct.back_up import back_up_all, certain_value
from search.puct.settings import ALPHAZE, Settings
from search.puct.tree import ARM, OPENED, PLAYER, PROVEN, ROOT, TOTAL, UNPROVEN, VISITS, NewNode, Tree
from search.puct.walk import Walk, take_off, walk_down

_MANY_ARMS = 512  # more than these are not all kept in every node, unless asked for
_CANDIDATES = 128
_NOISE, _CHOICE = 1 << 20, (1 << 20) + 1  # children of a lane's key, after those of simulations


def puct(
    game: Game | Dynamics, evaluate: Evaluate, settings: Settings = ALPHAZE, *, outputs: Outputs | None = None, name: str = "PUCT"
) -> Planner:
    """Makes a planner for games in which one player moves at a time.

    It searches the state itself: in a game that hides something it is an oracle, which cheats (tables mark it "sees all"), and
    the searches of `search.puct.determinized` are fair.

    Args:
      game: the game, or dynamics made of one.
      evaluate: `evaluate(params, states [B], seats int32 [B]) -> (logits float32 [B, A], value float32 [B])`, for the player who
        moves; logits of what is illegal are ignored. Logits [B, 1] stand for even priors. A value that is no number (NaN) counts
        as 0, and such a logit as the lowest; where all of a state are, priors are even.
      settings: of the search.
      outputs: which logit is that of an action, as `Encoder.outputs`; None: that of its number.
      name: for tables.

    Returns:
      A planner; plan columns of players who do not move show their pass. Metrics of a plan, int32 [B]: depth (the lengths of all
      its simulations), nodes (visits of the root, with reuse those of earlier plans too) and lost (simulations that counted for
      nothing).

    Raises:
      ValueError: all players of the game move at once, or more than two move in turn; roots of the dynamics are drawn again for
        every simulation; or an argument is of another kind.
    """
    game = dynamics_of(game)
    check_turns(game, "PUCT")
    if game.redrawn is not None:
        raise ValueError(f"game={game.name!r}: its roots are drawn again for every simulation; take a search by bandits")
    arguments.a_function("evaluate", evaluate, "from (params, states, seats) to logits and values")
    if outputs is not None:
        arguments.a_function("outputs", outputs, "from (actions, seat) to the numbers of their logits, such as encoder.outputs")
    arguments.of_kind("settings", settings, Settings)
    num_nodes = (2 if settings.reuse else 1) * settings.num_rows
    wanted = settings.max_candidates or (game.num_arms if game.num_arms <= _MANY_ARMS else _CANDIDATES)
    candidates = min(game.num_arms, wanted)
    keeps_actions = game.arms_listed or candidates < game.num_arms
    search = _Search(game, evaluate, outputs, settings, candidates, keeps_actions)

    def init(batch_size: int) -> Tree:
        children = min(candidates, num_nodes - 1)
        return puct_tree.init(
            game.example, batch_size, num_nodes, candidates, children, keeps_actions=keeps_actions, replies=settings.replies
        )

    def plan(params, keys: Array, memory: Tree, views, seats: Array, active: Array) -> tuple[Plan, Tree]:
        roots = game.root(params, keys, views, seats)
        over = game.terminated(roots)
        found, memory = search.plan(params, keys, memory, roots, active & ~over)
        return ended(found, over, game.outcome(roots), game.pass_action), memory

    size = size_in_bytes(jax.eval_shape(lambda: init(1)))
    metrics: dict[str, tuple[int, ...]] = {"depth": (), "nodes": (), "lost": ()}
    planner = Planner(name, init, puct_tree.reset, plan, memory_bytes=size, metrics=metrics, own_first=game.own_first)
    if settings.microbatch_size is not None:
        planner = thinking_in_parts(planner, settings.microbatch_size)
    return arguments.checked(planner, game.view, game.num_seats)


@dataclasses.dataclass(frozen=True)
class _Search:
    game: Dynamics
    evaluate: Evaluate
    outputs: Outputs | None
    settings: Settings
    candidates: int
    keeps_actions: bool

    @property
    def roots_in_loop(self) -> bool:
        """Whether the loop of simulations opens the roots too, so that what looks at new nodes is compiled once."""
        return self.settings.leaf_parallelism == 1 and not self.settings.reuse

    def plan(self, params, keys: Array, tree: Tree, views, active: Array) -> tuple[Plan, Tree]:
        """Searches in all active lanes; the others take part without effect."""
        if self.roots_in_loop:
            # Rows from before lie after `size` and are written before they are read.
            first, tree = -1, dataclasses.replace(tree, size=jnp.zeros(1, jnp.int32))
        else:
            first, tree = 0, self._roots(params, keys, tree, views, active)

        def simulate(number, carry):
            return self._simulate(params, number, keys, active, views, *carry)

        none = jnp.zeros(active.shape[0], jnp.int32)
        tree, depth, lost = jax.lax.fori_loop(first, self.settings.num_waves, simulate, (tree, none, none))
        return self._conclude(keys, tree, views, depth, lost), tree

    def _new_node(self, params, states, noise_keys: Array | None = None, noisy: Array | bool = True) -> NewNode:
        """Looks at states [B]; with keys [B], adds noise to the priors where they are `noisy` (bool [], of all lanes)."""
        game = self.game
        player = jnp.maximum(game.to_play(states), 0).astype(jnp.int32)
        logits, value, seats = game.evaluate(self.evaluate, params, states, player, outputs=self.outputs)
        arms, legal = (of_seat(rows, player) for rows in game.arms(states))
        outcome, over = of_seat(game.outcome(states), player), game.terminated(states)
        prior = priors_of(arm_logits(logits, arms, seats, self.outputs), legal, self.settings.prior_temperature)
        if noise_keys is not None:
            prior = jax.lax.cond(noisy, self._with_noise, lambda keys, prior: prior, noise_keys, prior)
        if self.candidates < game.num_arms:
            prior, best = jax.lax.top_k(prior, self.candidates)
            arms = jnp.take_along_axis(arms, best, axis=1)
        return NewNode(
            state=states,
            key=game.state_key(states),
            player=player,
            value=jnp.where(over, outcome, sound_values(value)),
            terminal=over,
            prior=jnp.where(over[:, None], 0.0, prior),
            num_legal=legal.sum(-1, dtype=jnp.int32),
            random=game.is_random(states),
            actions=arms if self.keeps_actions else None,
        )

    def _roots(self, params, keys: Array, tree: Tree, views, active: Array) -> Tree:
        """Retains what hangs below the present states, and opens those that are not known."""
        settings = self.settings
        new = self._new_node(params, views, keys if settings.dirichlet_fraction else None)
        known = jnp.full_like(new.player, -1)
        if settings.reuse:
            known = jnp.where(active, puct_tree.find(tree, new.key), -1)
            tree = puct_tree.retain_subtree(tree, known, settings.num_rows, active)
            known = jnp.where(tree.used[:, ROOT] | ~active, ROOT, -1)
        else:  # as in `plan`
            tree = dataclasses.replace(tree, size=jnp.zeros(1, jnp.int32))
        fresh = known < 0
        # Row 0 of the lanes that begin again; the rows of the others are taken.
        tree = puct_tree.put_roots(tree, new, fresh)
        rows = jnp.where(fresh, tree.row(jnp.zeros_like(known)), tree.numbers.shape[0])
        return puct_tree.write(tree, rows, jnp.zeros_like(known), puct_tree.fresh_numbers(tree, new))

    def _with_noise(self, keys: Array, prior: Array) -> Array:
        settings = self.settings
        keys = jax.vmap(lambda key: jax.random.fold_in(key, _NOISE))(keys)
        return with_noise(keys, prior, settings.dirichlet_fraction, settings.dirichlet_alpha)

    def _simulate(
        self, params, number: Array, keys: Array, active: Array, views, tree: Tree, depth_sum: Array, lost: Array
    ) -> tuple[Tree, Array, Array]:
        """Walks down, opens a node, and takes its value up; with leaf parallelism, as many walks at once as that says.

        Before the first simulation (number -1) nobody walks, and the roots are opened.
        """
        begins = number < 0
        settings, batch, wave = self.settings, active.shape[0], self.settings.leaf_parallelism
        first, child = tree.size[0], tree.size[0] + jnp.arange(wave, dtype=jnp.int32)

        def walk(tree: Tree, index: Array) -> tuple[Tree, Walk]:
            chance = jax.vmap(random_bits.lane_key)(keys) if settings.has_chance else None
            chance = chance and random_bits.fold(chance, number * wave + index)
            walks = active & ~begins & (number * wave + index < settings.num_simulations)
            found = walk_down(settings, tree, walks, chance, first)
            return take_off(settings, tree, found, first + index), found

        if wave == 1:
            tree, found = walk(tree, jnp.int32(0))
            walks = jax.tree.map(lambda leaf: leaf[None], found)
        else:
            tree, walks = jax.lax.scan(walk, tree, jnp.arange(wave, dtype=jnp.int32))
        # From here on rows are those of all walks, wave by wave: [W * B].
        node, opens, last = (rows.reshape(-1) for rows in (walks.node, walks.opens, walks.last))
        place, reply = walks.place.reshape(-1), walks.reply.reshape(-1)
        # Read from where it has just been written: so all that is read of the trees before comes before the new rows are put, and
        # XLA need not copy them.
        arm = tree.whole(tree.row(last), ARM, jnp.minimum(1 + place, tree.num_children))
        step_keys = jax.vmap(lambda index: jax.vmap(jax.random.fold_in, (0, None))(keys, number * wave + index))(jnp.arange(wave))
        if self.roots_in_loop:
            before = select(begins, views, tree.states(last))
            after = self._apply(params, step_keys.reshape(-1), tree, before, last, jnp.maximum(arm, 0), reply)
            noise_keys = keys if settings.dirichlet_fraction else None
            new = self._new_node(params, select(begins, views, after), noise_keys, begins)
            opens, last = opens | begins, jnp.where(begins, -1, last)
        else:
            before = tree.states(last)
            new = self._new_node(
                params, self._apply(params, step_keys.reshape(-1), tree, before, last, jnp.maximum(arm, 0), reply)
            )
        # All of it before the trees are written: an accelerator would else read the old rows later, and copy the trees for that.
        new = boundary(new)
        fresh = puct_tree.fresh_numbers(tree, new)
        children = jnp.repeat(child, batch)
        rows = jnp.where(opens, tree.row(children), tree.numbers.shape[0])
        lanes = active if settings.reuse else None
        tree = puct_tree.write(puct_tree.put(tree, new, last, opens, lanes), rows, jnp.zeros_like(children), fresh)
        known = tree.raw(node)
        if settings.mcts_solver:
            known = certain_value(tree.whole(tree.row(node), PROVEN), known)
        leaf, value = jnp.where(opens, children, node), jnp.where(opens, new.value, known)
        tree = back_up_all(settings, tree, walks, leaf.reshape(wave, batch), value.reshape(wave, batch))
        if wave > 1:  # a single walk meets no other
            lost = lost + (walks.started & ~walks.going).sum(0, dtype=jnp.int32)
        return tree, depth_sum + walks.depth.sum(0, dtype=jnp.int32), lost

    def _apply(self, params, keys: Array, tree: Tree, states, node: Array, arm: Array, reply: Array):
        """Plays a candidate of nodes [M] with these states, M a multiple of B."""
        game, player = self.game, tree.of_node(node, PLAYER)
        actions = tree.actions(node) if tree.keeps_actions else of_seat(game.arms(states)[0], player)
        action = of_arm(actions, arm)[:, None]
        everyone = jnp.where(jnp.arange(game.num_players) == player[:, None], action, game.pass_action)
        if self.settings.replies > 1:
            states = game.replied(states, reply)
        return game.step(params, keys, states, everyone.astype(jnp.int32))

    def _conclude(self, keys: Array, tree: Tree, views, depth: Array, lost: Array) -> Plan:
        settings, game = self.settings, self.game
        player = jnp.maximum(game.to_play(views), 0)
        offered, legal = game.arms(views)
        root_node = jnp.zeros(keys.shape[0], jnp.int32)
        if tree.keeps_actions:
            mine = (jnp.arange(game.num_players) == player[:, None])[:, :, None]
            offered = jnp.where(mine, tree.actions(root_node)[:, None], game.pass_action)
            legal = jnp.where(mine, (tree.prior(root_node) > 0)[:, None], jnp.arange(tree.num_candidates) == 0)
        root = tree.row(root_node)
        found = _arms_of(tree, root_node)
        counts, known = found.visits.astype(jnp.float32), found.values
        if settings.mcts_solver:  # what is lost is out before anything is corrected
            counts, known = without_lost(counts, known, found.lost, found.untried)
        weight = corrected_visits(counts, known, settings.q_veto, settings.q_weight)
        if settings.mcts_solver:
            weight = jnp.where(found.won.any(-1, keepdims=True), found.won.astype(jnp.float32), weight)
        weight = jnp.where(weight.any(-1, keepdims=True), weight, of_seat(legal, player).astype(jnp.float32))
        policy = weight / weight.sum(-1, keepdims=True)
        draw_keys = jax.vmap(lambda key: jax.random.fold_in(key, _CHOICE))(keys)
        return plan_of_mover(
            game,
            player,
            draw_arm(draw_keys, policy, settings.temperature),
            arms=offered,
            legal=legal,
            action_weights=policy,
            qvalues=found.values,
            visit_counts=found.visits,
            root_value=tree.real(root, TOTAL) / jnp.maximum(tree.whole(root, VISITS), 1),
            metrics={"depth": depth, "nodes": tree.whole(root, VISITS), "lost": lost},
        )


class _Arms(NamedTuple):
    """What was found of each arm of the roots; leaves [B, A].

    Attributes:
      visits: int32.
      values: float32, the mean for who moves; -1 where it was not tried.
      won, lost: bool, proven.
      untried: float32, the priors of arms that were not opened; 0 of others.
    """

    visits: Array
    values: Array
    won: Array
    lost: Array
    untried: Array


def _arms_of(tree: Tree, node: Array) -> _Arms:
    """Gathers by arm what lies in the rows of nodes int32 [B] by child, in the order in which these were opened."""
    root = tree.row(node)[:, None]
    column = 1 + jnp.arange(tree.num_children)
    opened = column <= tree.whole(root, OPENED)
    arm = jnp.where(opened, tree.whole(root, ARM, column), tree.num_candidates)
    visits = tree.whole(root, VISITS, column)
    rate = jnp.where(visits > 0, tree.real(root, TOTAL, column) / jnp.maximum(visits, 1), 0.0)
    proven = jnp.where(opened, tree.whole(root, PROVEN, column), UNPROVEN)
    # By comparing, not by writing: several writes side by side do not compile.
    here = arm[:, :, None] == jnp.arange(tree.num_candidates)

    def by_arm(numbers: Array, fill: float = 0) -> Array:
        summed = jnp.where(here, numbers[:, :, None], 0).sum(1, dtype=numbers.dtype)
        return jnp.where(here.any(1), summed, fill).astype(numbers.dtype)

    won, lost = ((here & (proven == result)[:, :, None]).any(1) for result in (1, -1))
    untried = jnp.where(here.any(1), 0.0, tree.prior(node))
    return _Arms(by_arm(visits), by_arm(rate, -1.0), won, lost, untried)
