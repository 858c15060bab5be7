"""PUCT: tree search with a network, or any function, that gives a policy and a value; for a batch of games at once.

One simulation walks down by the rule of choice, opens one node, and takes its value up again. Lanes whose walks have ended
wait for the longest; what a walk carries is one number per lane, and the trees are touched by reads and writes of single rows.
(Sources: Silver et al., AlphaZero; the preset `alphaze` is that of Bluml et al., AlphaZe**; `mctx` that of the library mctx.)
"""

from __future__ import annotations

import dataclasses
import math

import jax
import jax.numpy as jnp
from jax import Array

from jaxgames import checks
from jaxgames.game import Game
from search.dynamics import Dynamics, Evaluate, Outputs, arm_logits, dynamics_of
from search.planner import Plan, Planner, of_arm, of_seat, size_in_bytes
from search.puct import tree as puct_tree
from search.puct.action_selection import corrected_visits, draw_arm, plan_of_mover
from search.puct.tree import (
    ARM,
    CHILD,
    LEGAL,
    NEXT_ARM,
    NEXT_PRIOR,
    NO_ARM,
    OPENED,
    PLAYER,
    PRIOR,
    PROVEN,
    ROOT,
    TERMINAL,
    TOTAL,
    UNPROVEN,
    VISITS,
    NewNode,
    Tree,
    as_words,
)

_BLOCK = 32  # children looked at together
_LEVELS = 16  # of a path, to which a value goes back together
_LEAST_PRIOR = 1e-30
_MANY_ARMS = 512  # more than these are not all kept in every node, unless asked for
_CANDIDATES = 128
_NOISE, _CHOICE = 1 << 20, (1 << 20) + 1  # children of a lane's key, after those of simulations


@dataclasses.dataclass(frozen=True)
class Settings:
    """How a PUCT search runs; checked when made.

    Attributes:
      num_simulations: nodes opened, or final states met again, per plan.
      c_init, c_base: exploration constant c(N) = ln((N + c_base + 1) / c_base) + c_init.
      first_play_urgency: Q of an arm never tried, for the mover; None: the value of its node, as in mctx.
      normalize_q: Q is normalize_q to [0, 1] between the least and the greatest of the node, as in mctx.
      count_self: N counts the opening of the node itself, as in mctx.
      dirichlet_fraction, dirichlet_alpha: noise in the root's priors.
      temperature: of the final choice by visits; 0: the most visited arm.
      q_veto: swap the visits of the best and of the most visited arm if the best has a Q higher by more than this; None: never.
      q_weight: add (Q2 - Q1) * q_weight * n1 to the second most visited arm if its Q is higher.
      mcts_solver: prove wins and losses; take what is won, do not choose what is lost, and search nothing that is proven.
      reuse: keep the tree from move to move.
      max_candidates: arms kept per node, those of the highest priors; None: all, or 128 where there are more than 512.
    """

    num_simulations: int = 800
    c_init: float = 2.5
    c_base: float = 19652.0
    first_play_urgency: float | None = -1.0
    normalize_q: bool = False
    count_self: bool = False
    dirichlet_fraction: float = 0.0
    dirichlet_alpha: float = 0.3
    temperature: float = 0.0
    q_veto: float | None = None
    q_weight: float = 0.0
    mcts_solver: bool = False
    reuse: bool = False
    max_candidates: int | None = None

    def __post_init__(self) -> None:
        checks.at_least(1, self, "num_simulations", *(["max_candidates"] if self.max_candidates is not None else []))
        checks.below(checks.COUNTS, self, "num_simulations")
        checks.numbers(self, "c_init", "temperature", "q_weight", *(["q_veto"] if self.q_veto is not None else []))
        checks.numbers(self, "c_base", "dirichlet_alpha", positive=True)
        if self.first_play_urgency is not None and not math.isfinite(self.first_play_urgency):
            raise ValueError(f"first_play_urgency={self.first_play_urgency}: must be a finite number")
        checks.shares(self, "dirichlet_fraction")
        if self.reuse and self.dirichlet_fraction:
            raise ValueError(f"dirichlet_fraction={self.dirichlet_fraction}: must be 0 with reuse: a kept root has its priors")


ALPHAZE = Settings()
MCTX = Settings(c_init=1.25, first_play_urgency=None, normalize_q=True, count_self=True)


def puct(
    game: Game | Dynamics, evaluate: Evaluate, settings: Settings = ALPHAZE, *, outputs: Outputs | None = None, name: str = "PUCT"
) -> Planner:
    """Makes a planner for games in which one player moves at a time.

    Args:
      game: the game, or dynamics made of one.
      evaluate: `evaluate(params, states [B], seats int32 [B]) -> (logits float32 [B, A], value float32 [B])`, for the player who
        moves; logits of what is illegal are ignored.
      settings: of the search.
      outputs: which logit is that of an action, as `Encoder.outputs`; None: that of its number.
      name: for tables.

    Returns:
      A planner; plan columns of players who do not move show their pass.

    Raises:
      ValueError: all players of the game move at once.
    """
    game = dynamics_of(game)
    if game.at_once:
        raise ValueError(f"game={game.name!r}: all its players move at once; PUCT needs one who is to move")
    num_nodes = (2 if settings.reuse else 1) * (settings.num_simulations + 1)
    wanted = settings.max_candidates or (game.num_arms if game.num_arms <= _MANY_ARMS else _CANDIDATES)
    candidates = min(game.num_arms, wanted)
    search = _Search(game, evaluate, outputs, settings, candidates)

    def init(batch_size: int) -> Tree:
        children, keeps_actions = min(candidates, num_nodes - 1), candidates < game.num_arms
        return puct_tree.init(game.example, batch_size, num_nodes, candidates, children, keeps_actions=keeps_actions)

    def plan(params, keys: Array, memory: Tree, views, seats: Array, active: Array) -> tuple[Plan, Tree]:
        roots = game.root(params, keys, views, seats)
        return search.plan(params, keys, memory, roots, active & ~game.terminated(roots))

    size = size_in_bytes(jax.eval_shape(lambda: init(1)))
    metrics: dict[str, tuple[int, ...]] = {"depth": (), "nodes": ()}
    return Planner(name, init, puct_tree.reset, plan, memory_bytes=size, metrics=metrics, own_first=game.own_first)


@dataclasses.dataclass(frozen=True)
class _Search:
    game: Dynamics
    evaluate: Evaluate
    outputs: Outputs | None
    settings: Settings
    candidates: int

    def plan(self, params, keys: Array, tree: Tree, views, active: Array) -> tuple[Plan, Tree]:
        """Searches in all active lanes; the others take part without effect."""
        tree = self._roots(params, keys, tree, views, active)

        def simulate(number, carry):
            return self._simulate(params, jax.vmap(jax.random.fold_in, (0, None))(keys, number), active, *carry)

        start = (tree, jnp.zeros(active.shape[0], jnp.int32))
        tree, depth = jax.lax.fori_loop(0, self.settings.num_simulations, simulate, start)
        return self._conclude(keys, tree, views, depth), tree

    def _new_node(self, params, states, noise_keys: Array | None = None) -> NewNode:
        """Looks at states [B]; with keys [B], adds noise to the priors."""
        game = self.game
        player = jnp.maximum(game.to_play(states), 0).astype(jnp.int32)
        logits, value = game.evaluate(self.evaluate, params, states, player)
        arms, legal = (of_seat(rows, player) for rows in game.arms(states))
        outcome, over = of_seat(game.outcome(states), player), game.terminated(states)
        share = arm_logits(logits, arms, player, self.outputs)
        share = jax.nn.softmax(jnp.where(legal, share, jnp.finfo(jnp.float32).min), axis=-1)
        prior = jnp.where(legal, jnp.maximum(share, _LEAST_PRIOR), 0.0)  # never 0: that says illegal
        if noise_keys is not None:
            prior = self._with_noise(noise_keys, prior)
        actions = None
        if self.candidates < game.num_arms:
            prior, best = jax.lax.top_k(prior, self.candidates)
            actions = jnp.take_along_axis(arms, best, axis=1)
        return NewNode(
            state=states,
            key=game.state_key(states),
            player=player,
            value=jnp.where(over, outcome, value),
            terminal=over,
            prior=jnp.where(over[:, None], 0.0, prior),
            num_legal=legal.sum(-1, dtype=jnp.int32),
            actions=actions,
        )

    def _roots(self, params, keys: Array, tree: Tree, views, active: Array) -> Tree:
        """Retains what hangs below the present states, and opens those that are not known."""
        settings = self.settings
        new = self._new_node(params, views, keys if settings.dirichlet_fraction else None)
        known = jnp.full_like(new.player, -1)
        if settings.reuse:
            known = jnp.where(active, puct_tree.find(tree, new.key), -1)
            tree = puct_tree.retain_subtree(tree, known, settings.num_simulations + 1, active)
            known = jnp.where(tree.used[:, ROOT] | ~active, ROOT, -1)
        else:  # rows from before lie after `size` and are written before they are read
            tree = dataclasses.replace(tree, size=jnp.zeros(1, jnp.int32))
        fresh = known < 0
        # Row 0 of the lanes that begin again; the rows of the others are taken.
        tree = puct_tree.put_roots(tree, new, fresh)
        rows = jnp.where(fresh, tree.row(jnp.zeros_like(known)), tree.numbers.shape[0])
        return puct_tree.write(tree, rows, jnp.zeros_like(known), puct_tree.fresh_numbers(new))

    def _with_noise(self, keys: Array, prior: Array) -> Array:
        legal = prior > 0
        alpha = self.settings.dirichlet_alpha
        draws = jax.vmap(lambda key: jax.random.gamma(jax.random.fold_in(key, _NOISE), alpha, prior.shape[1:]))(keys)
        noise = jnp.where(legal, draws, 0.0)
        noise = noise / jnp.maximum(noise.sum(-1, keepdims=True), 1e-30)
        mixed = (1 - self.settings.dirichlet_fraction) * prior + self.settings.dirichlet_fraction * noise
        return jnp.where(legal, jnp.maximum(mixed, _LEAST_PRIOR), 0.0)

    def _choose(self, tree: Tree, node: Array) -> Array:
        """Chooses among the children of a node and its next arm: the place of a child, their number for the next arm."""
        settings = self.settings
        row = tree.row(node)
        opened, next_prior = tree.whole(row, OPENED), tree.real(row, NEXT_PRIOR)
        visits = tree.whole(row, VISITS).astype(jnp.float32)
        own = tree.real(row, TOTAL) / jnp.maximum(visits, 1)
        count = visits if settings.count_self else visits - 1
        rate = (jnp.log((count + settings.c_base + 1) / settings.c_base) + settings.c_init) * jnp.sqrt(count)
        needed = -(-jnp.max(opened) // _BLOCK)

        def read(index: Array) -> tuple[Array, Array, Array, Array]:
            place = index * _BLOCK + jnp.arange(_BLOCK)
            column = jnp.minimum(1 + place, tree.num_children)
            here = place < opened[:, None]
            count = tree.whole(row[:, None], VISITS, column).astype(jnp.float32)
            total = tree.real(row[:, None], TOTAL, column)
            return here, column, count, total / jnp.maximum(count, 1)

        low = high = own
        if settings.normalize_q:

            def bounds(index: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
                here, _, count, value = read(index)
                value = jnp.where(here & (count > 0), value, own[:, None])
                return jnp.minimum(carry[0], value.min(-1)), jnp.maximum(carry[1], value.max(-1))

            low, high = jax.lax.fori_loop(0, needed, bounds, (low, high))
        width = jnp.maximum(high - low, 1e-8)
        untried = (
            low
            if settings.normalize_q
            else own
            if settings.first_play_urgency is None
            else jnp.full_like(own, settings.first_play_urgency)
        )

        def scale(value: Array) -> Array:
            return (value - low[:, None]) / width[:, None] if settings.normalize_q else value

        def better(index: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
            best, place = carry
            here, column, count, value = read(index)
            value = scale(jnp.where(count > 0, value, untried[:, None]))
            score = value + rate[:, None] * tree.real(row[:, None], PRIOR, column) / (count + 1)
            if settings.mcts_solver:  # what is won is taken, what is lost avoided
                proven = tree.whole(row[:, None], PROVEN, column)
                score = jnp.where(proven == 1, 1e9, jnp.where(proven == -1, -1e9, score))
            score = jnp.where(here, score, -jnp.inf)
            most, spot = score.max(-1), score.argmax(-1).astype(jnp.int32)
            return jnp.maximum(best, most), jnp.where(most > best, index * _BLOCK + spot, place)

        best, place = jax.lax.fori_loop(0, needed, better, (jnp.full_like(own, -jnp.inf), jnp.zeros_like(node)))
        next_score = scale(untried[:, None])[:, 0] + rate * next_prior
        take_next = (tree.whole(row, NEXT_ARM) != NO_ARM) & (next_score > best)
        return jnp.where(take_next, opened, place)

    def _simulate(self, params, keys: Array, active: Array, tree: Tree, depth_sum: Array) -> tuple[Tree, Array]:
        """Walks down, opens a node, and takes its value up."""
        batch, limit = active.shape[0], -(-tree.num_nodes // _LEVELS) * _LEVELS
        lanes = jnp.arange(batch)

        def step(carry):
            level, going, node, depth, path = carry
            chosen = self._choose(tree, node)
            row = tree.row(node)
            opens = chosen >= tree.whole(row, OPENED)
            child = tree.whole(row, CHILD, jnp.minimum(1 + chosen, tree.num_children))
            # One word per step: the node and the place of its child; what lies beyond a lane's depth does not count.
            word = node * (tree.num_children + 1) + chosen
            path = jax.lax.dynamic_update_slice_in_dim(path, word[None], level, 0)
            ends = opens | (tree.of_node(child, TERMINAL) != 0)
            if self.settings.mcts_solver:  # nothing is to be learnt below what is certain
                ends = ends | (tree.whole(tree.row(child), PROVEN) != UNPROVEN)
            here = jnp.where(going & ~opens, child, node)
            return level + 1, going & ~ends, here, depth + going, path

        zero = jnp.zeros(batch, jnp.int32)
        root = tree.row(zero)
        going = active & ((tree.whole(root, OPENED) > 0) | (tree.whole(root, NEXT_ARM) != NO_ARM))
        start = (jnp.int32(0), going, zero, zero, jnp.zeros((limit, batch), jnp.int32))
        _, _, node, depth, path = jax.lax.while_loop(lambda carry: carry[1].any(), step, start)
        last, place = jnp.divmod(path[jnp.maximum(depth - 1, 0), lanes], tree.num_children + 1)
        opens = going & (place >= tree.whole(tree.row(last), OPENED))

        arm = jnp.maximum(tree.whole(tree.row(last), NEXT_ARM), 0)
        new = self._new_node(params, self._apply(params, keys, tree, last, arm))
        fresh = puct_tree.fresh_numbers(new)
        child = tree.size[0]
        proven = fresh[:, PROVEN].astype(jnp.int32)
        turned = tree.of_node(last, PLAYER) != new.player
        own, edge = puct_tree.opened_numbers(tree, last, child, _turned_proof(proven, turned))
        outside = tree.numbers.shape[0]
        rows = jnp.concatenate([jnp.where(opens, tree.row(last), outside)] * 2)
        rows = jnp.concatenate([rows, jnp.where(opens, tree.row(zero + child), outside)])
        tree = puct_tree.write(
            puct_tree.put(tree, new, last, opens, active if self.settings.reuse else None),
            rows,
            jnp.concatenate([zero, 1 + place, zero]),
            jnp.concatenate([own, edge, fresh]),
        )
        leaf = jnp.where(opens, child, node)
        known = tree.raw(node)
        if self.settings.mcts_solver:
            known = _certain_value(tree.whole(tree.row(node), PROVEN), known)
        value = jnp.where(opens, new.value, known)
        return self._back_up(tree, going, opens, leaf, value, depth, path), depth_sum + depth

    def _apply(self, params, keys: Array, tree: Tree, node: Array, arm: Array):
        """Plays a candidate of one node per lane."""
        game, states, player = self.game, tree.states(node), tree.of_node(node, PLAYER)
        actions = tree.actions(node) if tree.keeps_actions else of_seat(game.arms(states)[0], player)
        action = of_arm(actions, arm)[:, None]
        everyone = jnp.where(jnp.arange(game.num_players) == player[:, None], action, game.pass_action)
        return game.step(params, keys, states, everyone.astype(jnp.int32))

    def _back_up(self, tree: Tree, going: Array, opens: Array, leaf: Array, value: Array, depth: Array, path: Array) -> Tree:
        """Adds the value of the node `leaf` to all that lies on the way to it."""
        # A final state that was met again is counted too; a new one has been when it was opened.
        row, zero = tree.row(leaf), jnp.zeros_like(leaf)
        again = jnp.where(going & ~opens, row, tree.numbers.shape[0])
        tree = puct_tree.write(tree, again, zero, _added(tree, row, zero, value, None))
        back_up = self._back_up_proofs if self.settings.mcts_solver else self._back_up_levels
        return back_up(tree, going, leaf, value, depth, path)

    def _back_up_levels(self, tree: Tree, going: Array, leaf: Array, value: Array, depth: Array, path: Array) -> Tree:
        """Many levels at a time: nodes on a way differ, and a value is the same for all who have the player of the leaf."""
        batch = going.shape[0]
        lane = jnp.tile(jnp.arange(batch), _LEVELS)
        player, value = tree.of_node(leaf, PLAYER)[lane], value[lane]

        def levels(carry):
            first, tree = carry
            words = jax.lax.dynamic_slice_in_dim(path, first, _LEVELS, 0).reshape(-1)
            node, place = jnp.divmod(words, tree.num_children + 1)
            here = (going & (first + jnp.arange(_LEVELS)[:, None] < depth)).reshape(-1)
            turned = tree.fixed[lane, node, PLAYER].astype(jnp.int32) != player
            signed = jnp.where(turned, -value, value)
            row, zero = lane * tree.num_nodes + node, jnp.zeros_like(node)
            rows, columns = jnp.concatenate([row, row]), jnp.concatenate([zero, 1 + place])
            changed = _added(tree, rows, columns, jnp.concatenate([signed, signed]), None)
            rows = jnp.where(jnp.concatenate([here, here]), rows, tree.numbers.shape[0])
            return first + _LEVELS, puct_tree.write(tree, rows, columns, changed)

        deepest = depth.max()
        return jax.lax.while_loop(lambda carry: carry[0] < deepest, levels, (jnp.int32(0), tree))[1]

    def _back_up_proofs(self, tree: Tree, going: Array, leaf: Array, value: Array, depth: Array, path: Array) -> Tree:
        """Level by level, because what is certain of a node depends on what has just become certain below it."""

        def step(carry):
            level, below, value, tree = carry
            here = going & (level < depth)
            node, place = jnp.divmod(path[level], tree.num_children + 1)
            turned = tree.of_node(node, PLAYER) != tree.of_node(below, PLAYER)
            value = jnp.where(here & turned, -value, value)
            row, zero = tree.row(node), jnp.zeros_like(node)
            edge_proof = _turned_proof(tree.whole(tree.row(below), PROVEN), turned)
            own_proof = self._proof(tree, node, place, edge_proof)
            edge = _added(tree, row, 1 + place, value, edge_proof)
            value = jnp.where(here, _certain_value(own_proof, value), value)
            words = jnp.concatenate([_added(tree, row, zero, value, own_proof), edge])
            rows = jnp.where(here, row, tree.numbers.shape[0])
            tree = puct_tree.write(tree, jnp.concatenate([rows, rows]), jnp.concatenate([zero, 1 + place]), words)
            return level - 1, jnp.where(here, node, below), value, tree

        return jax.lax.while_loop(lambda carry: carry[0] >= 0, step, (depth.max() - 1, leaf, value, tree))[3]

    def _proof(self, tree: Tree, node: Array, place: Array, newest: Array) -> Array:
        """What is certain of a node for its mover: won if a child is, else the best of all once all are certain.

        `newest` is what is certain of the child in `place`, which the node may not know yet.
        """
        row = tree.row(node)
        number = jnp.arange(tree.num_children)
        opened = number < tree.whole(row, OPENED)[:, None]
        known = tree.whole(row[:, None], PROVEN, 1 + number)
        known = jnp.where(number == place[:, None], newest[:, None], known)
        certain = known != UNPROVEN
        best = jnp.where(opened & certain, known, -UNPROVEN).max(-1)
        complete = (opened.sum(-1) == tree.of_node(node, LEGAL)) & (~opened | certain).all(-1) & opened.any(-1)
        before = tree.whole(row, PROVEN)
        return jnp.where(before != UNPROVEN, before, jnp.where((best == 1) | complete, best, UNPROVEN))

    def _conclude(self, keys: Array, tree: Tree, views, depth: Array) -> Plan:
        settings, game = self.settings, self.game
        batch, count = keys.shape[0], tree.num_candidates
        player = jnp.maximum(game.to_play(views), 0)
        offered, legal = game.arms(views)
        root_node = jnp.zeros(batch, jnp.int32)
        if tree.keeps_actions:
            mine = (jnp.arange(game.num_players) == player[:, None])[:, :, None]
            offered = jnp.where(mine, tree.actions(root_node)[:, None], game.pass_action)
            legal = jnp.where(mine, (tree.prior(root_node) > 0)[:, None], jnp.arange(count) == 0)
        root = tree.row(root_node)
        column = 1 + jnp.arange(tree.num_children)
        opened = column <= tree.whole(root, OPENED)[:, None]
        arm = jnp.where(opened, tree.whole(root[:, None], ARM, column), count)
        tried = tree.whole(root[:, None], VISITS, column)
        rate = jnp.where(tried > 0, tree.real(root[:, None], TOTAL, column) / jnp.maximum(tried, 1), 0.0)

        def per_arm(numbers: Array, fill: float = 0) -> Array:
            # By comparing, not by writing: several writes side by side do not compile.
            here = arm[:, :, None] == jnp.arange(count)
            summed = jnp.where(here, numbers[:, :, None], 0).sum(1, dtype=numbers.dtype)
            return jnp.where(here.any(1), summed, fill).astype(numbers.dtype)

        visits, values = per_arm(tried), per_arm(rate, -1.0)
        own_legal = of_seat(legal, player)
        weight = corrected_visits(visits.astype(jnp.float32), values, settings.q_veto, settings.q_weight)
        if settings.mcts_solver:
            proven = jnp.where(opened, tree.whole(root[:, None], PROVEN, column), UNPROVEN)
            won, lost = (per_arm((proven == result).astype(jnp.float32)) for result in (1, -1))
            kept = jnp.where(lost > 0, 0.0, weight)
            weight = jnp.where(won.any(-1, keepdims=True), won, jnp.where(kept.any(-1, keepdims=True), kept, weight))
        weight = jnp.where(weight.any(-1, keepdims=True), weight, own_legal.astype(jnp.float32))
        policy = weight / weight.sum(-1, keepdims=True)
        draw_keys = jax.vmap(lambda key: jax.random.fold_in(key, _CHOICE))(keys)
        return plan_of_mover(
            game,
            player,
            draw_arm(draw_keys, policy, settings.temperature),
            arms=offered,
            legal=legal,
            action_weights=policy,
            qvalues=values,
            visit_counts=visits,
            root_value=tree.real(root, TOTAL) / jnp.maximum(tree.whole(root, VISITS), 1),
            metrics={"depth": depth, "nodes": tree.whole(root, VISITS)},
        )


def _added(tree: Tree, row: Array, column: Array, value: Array, proven: Array | None) -> Array:
    """Gives columns of numbers with one more visit of this value, uint32 [M, NUM_WORDS]; with a proof, that is noted too."""
    words = tree.numbers[row, :, column]
    visits, total = words[:, VISITS] + 1, as_words(puct_tree.as_real(words[:, TOTAL]) + value)
    number = jnp.arange(words.shape[1])
    words = jnp.where(number == VISITS, visits[:, None], jnp.where(number == TOTAL, total[:, None], words))
    return words if proven is None else jnp.where(number == PROVEN, as_words(proven)[:, None], words)


def _certain_value(proven: Array, value: Array) -> Array:
    """Gives what is certain of a node where something is, else `value`."""
    return jnp.where(proven != UNPROVEN, proven.astype(jnp.float32), value)


def _turned_proof(proven: Array, turned: Array) -> Array:
    """Turns what is certain for one player into what is for the other, where `turned`."""
    return jnp.where(turned & (proven != UNPROVEN), -proven, proven)
