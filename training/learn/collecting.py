"""Keeps the samples of self-play: some steps of all games, and what is counted of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from search.planner import Planner
from training.learn.learner import Learner, Updates, mean
from training.learn.self_play import Sample, SelfPlay


def no_progress() -> dict[str, Array]:
    """The progress that `play_and_keep` counts, before the first step."""
    return {"samples": jnp.int32(0), "games": jnp.int32(0)}


def play_and_keep(
    games: SelfPlay,
    updates: Updates,
    planner: Planner,
    key: Array,
    params: Any,
    learner: Learner,
    steps: int,
    watch: Callable[[Sample, Array], dict[str, Array]] = lambda sample, use: {},
) -> tuple[Learner, dict[str, Array], dict[str, Array]]:
    """Plays some steps in all lanes and keeps the samples, on one device of the axis "data".

    Args:
      games: how they are played.
      updates: keeps samples.
      planner: who searches.
      key: root of all randomness.
      params: of the planner.
      learner: whose games go on, and whose progress counts `samples`, and `games` that are over.
      steps: how many.
      watch: `watch(sample, use) -> counts` to add up, beside those of the games.

    Returns:
      The learner, metrics to tell, and all counts over all devices.
    """

    def step(carry: tuple, _: None) -> tuple[tuple, dict[str, Array]]:
        at_work, memory, ring = carry
        at_work, memory, sample, use, counts = games.step(key, planner, params, memory, at_work)
        return (at_work, memory, updates.store(ring, sample, use)), counts | watch(sample, use)

    memory = planner.init(games.rows) if games.remembers is None else learner.games.memory
    begin = (dataclasses.replace(learner.games, memory=()), memory, learner.ring)
    (at_work, memory, ring), counts = jax.lax.scan(step, begin, length=steps)
    if games.remembers is not None:
        at_work = dataclasses.replace(at_work, memory=memory)
    seen = jax.lax.psum(jax.tree.map(lambda count: count.sum(0), counts), "data")
    before = learner.progress
    progress = {"samples": before["samples"] + seen["searches"], "games": before["games"] + seen["games"]}
    told = {
        "samples": progress["samples"],
        "games": seen["games"],
        "policy_entropy": mean(seen["entropy"], seen["searches"]),
        "root_value": mean(seen["root_value"], seen["searches"]),
        "mean_length": mean(seen["length"], seen["games"]),
    }
    return dataclasses.replace(learner, games=at_work, ring=ring, progress=progress), told, seen
