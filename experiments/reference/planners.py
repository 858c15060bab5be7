"""Tables of the pages of planners: what can be set, and in which games each can be asked for by name."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Any

import jaxgames
from experiments.pages import NONE, markdown
from experiments.reference import words
from experiments.reference.docstrings import told_of
from jaxgames.registration import game_names
from jaxgames.specs import values_of
from search import presets
from search.entries import NUM_EVALUATIONS, WITHOUT_NETWORK, PlannerEntry
from search.presets import PLANNERS
from search.turns.game import has_turns

FOLDER = Path("docs/planners")
IN_WORLDS = "determinized_"
# Planners by page and table; those of turns have the same names as those of steps.
PAGES: dict[str, dict[str, tuple[str, ...]]] = {
    "bandits": {"settings": ("fdts", "mcts", "mcts_no_rollout", "mcs")},
    "puct": {"settings": ("puct",)},
    "pimc": {"settings": ("pc_pimc", "medoid", "pimc", "pimc_value", "true_sight")},
    "ismcts": {"settings": ("ismcts",)},
    "modelled": {"settings": ("sp_mcts", "tp_mcts"), "bandits": ("modelled_fdts", "modelled_mcts")},
    "turns": {
        "evolution": ("oep", "rolling_horizon"),
        "replies": ("oep_replies",),
        "trees": ("mcts", "mcts_non_exploring", "mcts_bridge_burning"),
        "greedy": ("greedy_turn",),
        "strings": ("oep", "rolling_horizon"),
    },
}
OF_TURNS = ("evolution", "replies", "trees", "greedy")  # tables of the page "turns" that are about games of turns


def texts(page: str) -> dict[str, str]:
    """Makes the tables of a page."""
    found = {mark: settings_table(entries(page, mark)) for mark in PAGES[page]}
    return found | {"games": _games(page)} | ({"worlds": _worlds()} if page == "pimc" else {})


def entries(page: str, mark: str) -> list[PlannerEntry]:
    """Gives the planners of a table."""
    turns = page == "turns" and mark in OF_TURNS
    fitting = [entry for entry in PLANNERS if _is_of_turns(entry) == turns]
    return [next(entry for entry in fitting if entry.name == name) for name in PAGES[page][mark]]


def page_of(game: Any, name: str) -> str:
    """Gives the page that tells of a planner of a game."""
    if name.startswith(IN_WORLDS):
        return "pimc"
    if has_turns(game) and name not in ("puct", "pc_pimc", "medoid", "pimc", "pimc_value", "ismcts", "true_sight"):
        return "turns"
    of_steps = {
        one: page for page, tables in PAGES.items() for mark, names in tables.items() for one in names if mark not in OF_TURNS
    }
    return of_steps[name]


@functools.cache
def _is_of_turns(entry: PlannerEntry) -> bool:
    return entry.suits is has_turns


def settings_table(of: list[PlannerEntry]) -> str:
    """Tells what can be set: the default of each planner, and what it does."""
    usual = [defaults(entry) for entry in of]
    told = {name: text for entry in of for name, text in _told(entry.settings).items()}
    rows = []
    for name in dict.fromkeys(name for entry in of for name in entry.kinds):
        values = [f"`{words.written(one[name])}`" if name in one else NONE for one in usual]
        rows.append([f"`{name}`", *values, words.cell(told[name])])
    network = [f"`{entry.network}`" if entry.network else NONE for entry in of]
    if any(entry.network for entry in of):
        rows.append(["a network", *network, "the name of the setting that takes its file, or the folder of a training run"])
    return markdown(("setting", *(f"`{entry.name}`" for entry in of), "what"), rows)


def defaults(entry: PlannerEntry) -> dict[str, Any]:
    """What holds where nothing is said, of what may be set, without a network."""
    values = values_of(entry.settings)
    if entry.budget:
        values |= {"num_evaluations": NUM_EVALUATIONS, entry.budget: None}
    configured = values_of(entry.configure({}))
    values |= {name: configured[name] for name in WITHOUT_NETWORK if name in values}
    return {name: values[name] for name in entry.kinds}


def _told(settings: Any) -> dict[str, str]:
    """What the docstrings say of settings, those of dataclasses in them too; the outer one counts."""
    found: dict[str, str] = {}
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if dataclasses.is_dataclass(value):
            found |= _told(value)
    of_trees = hasattr(settings, "num_simulations")
    spent = "simulations per turn" if of_trees else "turns that are made and valued per turn (`rolling_horizon`: per action)"
    budget = {"num_evaluations": f"{spent}, in place of the setting that says `none`"}
    return budget | found | told_of(type(settings))


def _worlds() -> str:
    """What every planner in drawn worlds can be told beside its own settings."""
    entry = next(entry for entry in PLANNERS if entry.name == f"{IN_WORLDS}fdts")
    worlds = entry.settings.worlds
    told, own = told_of(type(worlds)), values_of(worlds)
    return markdown(
        ("setting", "default", "what"),
        [[f"`{name}`", f"`{words.written(value)}`", words.cell(told[name])] for name, value in own.items()],
    )


def _games(page: str) -> str:
    """In which variants each planner of the page goes by its name."""
    found: dict[str, dict[str, list[str]]] = {}
    for name in game_names():
        if name not in words.games():
            continue
        for variant, game in words.variants(name).items():
            for planner in presets.planners_of(game):
                if page_of(game, planner) == page:
                    found.setdefault(planner, {}).setdefault(name, []).append(variant)
    rows = []
    for planner, of_game in found.items():
        places = []
        for name, variants in of_game.items():
            all_of_it = len(variants) == len(words.variants(name))
            which = "" if all_of_it else f" ({', '.join(f'`{variant}`' for variant in variants)})"
            places.append(f"[{jaxgames.registration(name).name}](../games/{name}.md){which}")
        rows.append([f"`{planner}`", ", ".join(places)])
    return markdown(("name", "games"), rows)
