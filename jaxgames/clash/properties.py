"""Checks of rules that have no number: each plays small battles and says whether the rule holds."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxgames import checks
from jaxgames.clash import rules, setup
from jaxgames.clash.config import ClashConfig
from jaxgames.clash.constants import DECK, HAND, NUM_TILES, TOWERS
from jaxgames.clash.scene import Scene, film
from jaxgames.clash.state import State
from jaxgames.clash.tick import run

CONFIG = ClashConfig(decks=((), ()), slots=32, spell_slots=8)
_STEPS = 120
_BATTLES = 4


def results(interaction: Mapping[str, Any]) -> dict[str, Any]:
    """Plays the check of an interaction's id.

    Raises:
      ValueError: there is none.
    """
    known: dict[str, Callable[[], dict[str, Any]]] = {
        "sudden_death": sudden_death,
        "rotation_symmetry": rotation_symmetry,
        "projectile_fizzle": projectile_fizzle,
        "order_independence": order_independence,
    }
    if interaction["id"] not in known:
        raise ValueError(f"id={interaction['id']!r}: {checks.one_of(interaction['id'], known)}")
    return known[interaction["id"]]()


@functools.partial(jax.jit, static_argnums=(0, 1))
def _run(config: ClashConfig, num_ticks: int, states: State) -> State:
    return jax.vmap(lambda state: run(config, state, num_ticks))(states)


@functools.partial(jax.jit, static_argnums=0)
def _play(config: ClashConfig, cards: Array, actions: Array) -> State:
    """Battles with these cards, int8 [B, 2, 8], and actions, int32 [T, B, 2]: all states [T, B, ...]."""

    def step(states: State, actions: Array) -> tuple[State, State]:
        states = jax.vmap(lambda state, both: rules.step(config, state, both))(states, actions)
        return states, states

    return jax.lax.scan(step, jax.vmap(lambda both: setup.start(config, both))(cards), actions)[1]


def sudden_death() -> dict[str, Any]:
    """Equal towers at the end of regular time: it goes on; the first difference ends it; the end of overtime is a draw."""
    last, regular = CONFIG.last_tick, CONFIG.regular_ticks

    def at(tick: int, fallen: tuple[int, ...] = ()) -> State:
        scene = Scene(CONFIG)
        scene.arrays["tick"][...] = tick
        for player in fallen:
            scene.arrays["alive"][player, 0] = False
        return scene.state

    cases = (at(regular - 2), at(regular - 1), at(regular + 5, (1,)), at(regular - 2, (0,)), at(regular - 1, (0,)), at(last - 1))
    winners = _run(CONFIG, 1, jax.tree.map(lambda *leaves: jnp.stack(leaves), *cases)).winner.tolist()
    return {"holds": winners == [-1, -1, 0, -1, 1, 2]}


def rotation_symmetry() -> dict[str, Any]:
    """Random battles, and the same with players exchanged: as every player's things are told in its own frame, all is equal."""
    random = np.random.default_rng(0)
    cards = np.stack([[random.permutation(len(CONFIG.table.cards))[:DECK] for _ in range(2)] for _ in range(_BATTLES)])
    place, tile = random.integers(HAND, size=(_STEPS, _BATTLES, 2)), random.integers(NUM_TILES, size=(_STEPS, _BATTLES, 2))
    actions = (1 + place * NUM_TILES + tile).astype(np.int32)
    both = np.concatenate([cards, cards[:, ::-1]]).astype(np.int8), np.concatenate([actions, actions[..., ::-1]], axis=1)
    states = jax.device_get(_play(CONFIG, *map(jnp.asarray, both)))
    worst = 0
    for field in dataclasses.fields(State):
        leaf = getattr(states, field.name)
        first, second = leaf[:, :_BATTLES].astype(np.int64), leaf[:, _BATTLES:].astype(np.int64)
        if field.name == "winner":
            second = np.where((second == 0) | (second == 1), 1 - second, second)
        elif leaf.ndim > 2:
            second = second[:, :, ::-1]
        worst = max(worst, int(np.abs(first - second).max()))
    return {"max_abs_diff": worst}


def projectile_fizzle() -> dict[str, Any]:
    """A shot at one unit does nothing when that has died, whoever comes into its slot; one that splashes lands where it was."""

    def hurt(shooter: str) -> int:
        scene = Scene(CONFIG)
        slot = scene.put_unit(0, shooter, 9_000, 10_000)
        near = scene.put_unit(1, "Giant", 9_600, 20_000)
        other = scene.put_unit(1, "Giant", 9_000, 20_000)  # the one that took the slot of the target
        for field, value in (("shot_ticks", 2), ("shot_target", -1), ("shot_x", 9_000), ("shot_y", 20_000)):
            scene.arrays[field][0, 0, slot] = value
        shown = film(CONFIG, scene.state, 3, towers_act=False, units_act=False)
        return int((shown.hp[0, 1] != shown.hp[3, 1])[[near, other]].sum())

    return {"holds": (hurt("Musketeer"), hurt("BabyDragon")) == (0, 2)}


def order_independence() -> dict[str, Any]:
    """The same troops in other slots fight the same fight."""
    units = ("Knight", "Musketeer", "Giant", "BabyDragon", "Valkyrie", "Wizard")
    random = np.random.default_rng(1)
    places = random.integers((2_000, 8_000), (16_000, 15_000), size=(2, len(units), 2))

    def play(orders: np.ndarray) -> Any:
        scene, slots = Scene(CONFIG), np.zeros((2, len(units)), int)
        for player in range(2):
            for number in orders[player]:
                x, y = places[player, number].tolist()
                x, y = (18_000 - x, 32_000 - y) if player else (x, y)
                slots[player, number] = scene.put_unit(player, units[number], x, y)
        shown = film(CONFIG, scene.state, 400)
        return [np.stack([getattr(shown, name)[:, p, slots[p]] for p in range(2)]) for name in ("x", "y", "hp", "alive")] + [
            shown.hp[:, :, :TOWERS]
        ]

    plain = play(np.tile(np.arange(len(units)), (2, 1)))
    mixed = play(np.stack([random.permutation(len(units)) for _ in range(2)]))
    return {"holds": all(np.array_equal(one, other) for one, other in zip(plain, mixed, strict=True))}
