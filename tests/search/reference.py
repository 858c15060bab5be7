"""The planners once more: slow, plain Python, a dictionary from state key to bandits, after section 1.5 of our notes on the
released code. Nothing is shared with `search` but the random numbers: the scores of the arms are drawn by the same function
with the same keys, so that every choice, and with them all statistics, must be equal.

Different from the released code, on purpose: a state is stored when a choice is made in it (the last state of a simulation is
not, it would only hold zeros), MCTS does not go deeper than the horizon, and several simulations may run at once, none of
which sees what the others find.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import random_bits
from jaxgames.random_bits import LaneKey
from search import presets
from search.bandit import bandits, choices


class Look(NamedTuple):
    """A state, and what can be said about it."""

    state: Any
    key: tuple[int, int]
    arms: np.ndarray
    legal: np.ndarray
    value: np.ndarray
    terminated: bool


class Walk(NamedTuple):
    """One simulation: what it met, known ones among them, where its bandits chose what, and what came out."""

    met: np.ndarray
    known: np.ndarray
    path: list[tuple[tuple[int, int], list[int]]]
    opened: list[tuple[int, int]]
    value: np.ndarray


@dataclasses.dataclass
class Arms:
    """One player's bandit in one state. Thompson sampling reads wins and losses, UCB1 total and visits."""

    count: int

    def __post_init__(self):
        self.wins, self.losses = [1.0] * self.count, [1.0] * self.count
        self.total, self.visits = [0.0] * self.count, [0] * self.count
        self.last = 0

    def update(self, value: float) -> None:
        arm = self.last
        self.wins[arm] += 1.0 if value > 0 else 0.0 if value < 0 else 0.5
        self.losses[arm] += 0.0 if value > 0 else 1.0 if value < 0 else 0.5
        self.total[arm] += value
        self.visits[arm] += 1

    def words(self, bandit: str) -> list[int]:
        """As `search.bandits` stores them: what the scores are drawn from."""
        if bandit == "UCB":
            return [(round(8 * (t + n)) << 14) | n for t, n in zip(self.total, self.visits, strict=True)]
        return [(round(2 * (w - 1)) << 16) | round(2 * (x - 1)) for w, x in zip(self.wins, self.losses, strict=True)]

    def values(self, bandit: str) -> list[float]:
        if bandit == "UCB":
            return [t / max(n, 1) for t, n in zip(self.total, self.visits, strict=True)]
        return [w / (w + x) for w, x in zip(self.wins, self.losses, strict=True)]

    def best(self, bandit: str, legal: np.ndarray) -> np.ndarray:
        """The arms among which the final choice draws, bool [K]."""
        merit = np.array(self.visits if bandit == "UCB" else self.values(bandit), np.float64)
        merit[~legal] = -1
        return merit >= merit.max() - 1e-9


class Reference:
    """A planner for one lane."""

    def __init__(self, kind: str, game, bandit: bandits.Bandit, num_simulations: int, horizon: int, leaf_parallelism: int = 1):
        assert kind in ("fdts", "mcts", "mcts_no_rollout", "mcs")
        self.kind, self.game, self.bandit = kind, game, bandit
        self.num_simulations, self.horizon, self.leaf_parallelism = num_simulations, horizon, leaf_parallelism
        self.players = game.num_players
        self.tree: dict[tuple[int, int], list[Arms]] = {}

    def plan(self, key, state) -> dict[str, np.ndarray]:
        """Plans one move and lets the tree grow. Returns what a Plan holds, by name; `best` says where its policy is not zero."""
        if self.kind == "mcs":
            self.tree = {}
        root = self.look(state)
        met, known = np.zeros((2, self.horizon), int)
        for number in range(self.num_simulations // self.leaf_parallelism):
            walks = [self.walk(key, root, leaf_parallelism, number) for leaf_parallelism in range(self.leaf_parallelism)]
            for walk in walks:
                met, known = met + walk.met, known + walk.known
                self.credit(walk)
        node = self.tree[root.key]
        return {
            "arms": root.arms,
            "visits": np.array([arms.visits for arms in node]),
            "values": np.where(root.legal, [arms.values(self.bandit.name) for arms in node], -1.0),
            "best": np.array([arms.best(self.bandit.name, legal) for arms, legal in zip(node, root.legal, strict=True)]),
            "met": met,
            "known": known,
        }

    def walk(self, key, root: Look, leaf_parallelism: int, number: int) -> Walk:
        walk = Walk(*np.zeros((2, self.horizon), int), [], [], root.value)
        here, guided = root, True
        for depth in range(self.horizon):
            if here.terminated:
                break
            walk.met[depth] = 1
            walk.known[depth] = here.key in self.tree
            if guided:
                walk.opened.append(here.key)
            if self.kind == "mcs":
                guided = depth == 0
            elif self.kind != "fdts":
                guided = guided and (here.key in self.tree or here.key == root.key)
                if not guided and self.kind == "mcts_no_rollout":
                    return walk._replace(value=here.value)
            bandit = rule_of("uniform") if self.kind == "mcs" and not guided else self.bandit  # both choose any, as likely
            node = self.tree.get(here.key) if guided else None
            scores, chance = self.draw(bandit, key, leaf_parallelism, number, depth, node)
            choice = [int(np.argmax(np.where(legal, score, -np.inf))) for score, legal in zip(scores, here.legal, strict=True)]
            if guided:
                walk.path.append((here.key, choice))
            here = self.look(_step(self.game, here.state, here.arms[np.arange(self.players), choice], chance))
        return walk._replace(value=here.value)

    def credit(self, walk: Walk) -> None:
        """Every visit is credited, and all visits of a state in one simulation for what was chosen there last."""
        for key in walk.opened:
            self.tree.setdefault(key, [Arms(self.game.num_arms) for _ in range(self.players)])
        for key, choice in walk.path:
            for arms, arm in zip(self.tree[key], choice, strict=True):
                arms.last = arm
        for key, _ in walk.path:
            for arms, value in zip(self.tree[key], walk.value, strict=True):
                arms.update(float(value))

    def look(self, state) -> Look:
        key, arms, legal, value, terminated = jax.device_get(_look(self.game, state))
        return Look(state, tuple(key.tolist()), arms, legal, value, bool(terminated))

    def draw(self, bandit, key, leaf_parallelism: int, number: int, depth: int, node: list[Arms] | None):
        """The scores of all arms [P, K], and the key for the game's own chance, as `search.decoupled` draws them."""
        words = np.zeros((self.players, self.game.num_arms), np.uint32)
        if node is not None:
            words[:] = [arms.words(self.bandit.name) for arms in node]
        scores, chance = _draw(bandit, self.game.num_arms, key, leaf_parallelism, number, depth, words.reshape(-1))
        return np.asarray(scores).reshape(words.shape), chance


@functools.partial(jax.jit, static_argnums=0)
def _look(game, state):
    return game.state_key(state), *game.search_arms(state), game.heuristic(state), state.terminated


@functools.partial(jax.jit, static_argnums=0)
def _step(game, state, actions, key):
    return game.step(state, actions, key)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _draw(bandit, num_arms, key, leaf_parallelism, number, depth, words):
    lane = random_bits.fold(random_bits.fold(random_bits.lane_key(key), leaf_parallelism), number)
    scores = bandit.scores(random_bits.fold(lane, depth), words, num_arms)
    chance = choices.chance_keys(LaneKey(lane.first[None], lane.second[None]), depth)[0]
    return scores, chance


def lane_of(tree, index):
    """One lane of a batch."""
    return jax.tree.map(lambda leaf: leaf[index], tree)


rule_of = functools.cache(bandits.by_name)


@functools.cache
def compiled_rule(name: str):
    """A bandit whose functions are compiled, to look at what they give; planners take that of `rule_of`."""
    rule = rule_of(name)
    functions = set(rule._fields) - {"name", "scores", "value_range"}
    return rule._replace(**{field: jax.jit(getattr(rule, field)) for field in functions})


def make(game, kind: str, bandit: str = "ts", *, leaf_parallelism: int = 1, **settings):
    """`presets.by_name` that gives the same object again, which then is compiled once."""
    waves = {} if leaf_parallelism == 1 else {"leaf_parallelism": leaf_parallelism}
    return _made(game, kind, bandit, **dict(sorted((settings | waves).items())))


@functools.cache
def _made(game, kind: str, bandit: str, **settings):
    rows = {} if kind == "mcs" else {"table_rows": 2**12}
    return presets.by_name(game, kind, bandit=bandit, **{**rows, **settings})


def compiled(planner):
    """`planner.plan(keys, memory, states, active)`, compiled, for whomever; plans as numpy arrays."""

    def plan(keys, memory, states, active):
        found, memory = _plan(planner.plan, keys, memory, states, active)
        return jax.device_get(found), memory

    return plan


@functools.partial(jax.jit, static_argnums=0)
def _plan(plan, keys, memory, states, active):
    return plan(None, keys, memory, states, jnp.zeros(active.shape, jnp.int32), active)


def assert_like_reference(
    game, kind: str, bandit: str, states, *, moves: int, num_simulations: int, horizon: int, leaf_parallelism: int = 1
):
    """Plans and plays some moves in all lanes, one of which rests at times, and compares all that is known of the roots."""
    planner = make(game, kind, bandit, num_simulations=num_simulations, horizon=horizon, leaf_parallelism=leaf_parallelism)
    batch = len(states.terminated)
    references = [Reference(kind, game, rule_of(bandit), num_simulations, horizon, leaf_parallelism) for _ in range(batch)]
    memory = planner.init(batch)
    for move in range(moves):
        keys = jax.random.split(jax.random.key(100 + move), batch)
        active = (np.arange(batch) != batch - 1) | (move % 2 == 1)
        plan, memory = compiled(planner)(keys, memory, states, active)
        plan = jax.device_get(plan)
        for lane in np.flatnonzero(active & ~np.asarray(states.terminated)):
            expected = references[lane].plan(keys[lane], lane_of(states, lane))
            where = f"move {move}, lane {lane}"
            np.testing.assert_array_equal(plan.arms[lane], expected["arms"], err_msg=where)
            np.testing.assert_array_equal(plan.visit_counts[lane], expected["visits"], err_msg=where)
            np.testing.assert_allclose(plan.qvalues[lane], expected["values"], atol=1e-6, err_msg=where)
            np.testing.assert_array_equal(plan.action_weights[lane] > 0, expected["best"], err_msg=where)
            for name in ("met", "known"):
                if name in plan.metrics:
                    np.testing.assert_array_equal(plan.metrics[name][lane], expected[name], err_msg=where)
            for player, action in enumerate(plan.actions[lane]):
                arm = plan.arms[lane, player].tolist().index(action)
                assert expected["best"][player, arm]
                np.testing.assert_allclose(plan.root_value[lane, player], expected["values"][player, arm], atol=1e-6)
        states = jax.device_get(_steps(game, states, plan.actions, keys))


@functools.partial(jax.jit, static_argnums=0)
def _steps(game, states, actions, keys):
    return jax.vmap(game.step)(states, actions, keys)
