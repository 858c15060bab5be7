"""The card report: battles of Clash with and without a change of cards, and what it does to decks and cards.

Battles are played in parts, each of which is a file; a run that was stopped goes on after the last of them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import time
from pathlib import Path
from typing import Any

import jax
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table as Shown

import jaxgames
from jaxgames import checks
from jaxgames.clash.changes import Changed, read_change, read_rows, value_before, with_versions
from jaxgames.clash.config import BEGINNER_DECK
from jaxgames.clash.constants import DECK
from jaxgames.clash.game import Clash
from jaxgames.specs import with_settings
from training.jobs import card_page
from training.jobs.card_statistics import Level, summarize
from training.play import agents, card_battles, evaluate, memory
from training.play.card_battles import BLOCK, SIDES, Decks, Part
from training.storage import provenance
from training.storage.files import output_folder, write_atomically, write_together
from training.storage.json_files import read_json

PART_BLOCKS = 64  # at most, in a part
_FREE = ("output", "batch", "alpha", "power")  # settings that change no battle


@dataclasses.dataclass(frozen=True)
class ReportConfig:
    """Tells what a change of a card, or of a deck, does: battles with and without it, the same in all else.

    One side holds the deck in question, without the change in half of the battles and with it in the others; the other side holds
    a deck that does not change. Give one of: changes, a row, a new deck. A run that was stopped goes on by the same command.

    Attributes:
      change: changed numbers, Knight.hp=2000 of a unit or arrows.cost=4 of a card; several are one change.
      row: a JSON file with a row of a card or a unit, or lists "cards" and "units" of them, by known names or new ones.
      instead_of: for a new card: the card of the deck whose place it takes. Networks are shown it as that card.
      new_deck: keys of eight cards with + between: the deck in question with the change.
      deck: the deck in question, likewise; "": the beginners'.
      against: decks that it meets; none: the deck in question as it is without the change.
      player: who plays the deck in question, such as counter, follower:FOLDER or fdts:horizon=10.
      opponent: who plays the other; "": the same.
      mode: variant and settings of the battle, but for decks and cards.
      battles: of each arm, even; as many more as fill the last part.
      alpha: intervals hold with 1 - alpha; for the power, the chance to find a difference where there is none.
      power: chance to find a difference that is there.
      seed: of everything.
      batch: battles at a time, over all devices.
      output: folder for report.html, report.json and the parts.
    """

    change: tuple[str, ...] = ()
    row: str = ""
    instead_of: str = ""
    new_deck: str = ""
    deck: str = ""
    against: tuple[str, ...] = ()
    player: str = "counter"
    opponent: str = ""
    mode: str = "beginner"
    battles: int = 500
    alpha: float = 0.05
    power: float = 0.8
    seed: int = 0
    batch: int = 128
    output: str = "output/card_report"

    def __post_init__(self) -> None:
        given = [name for name, value in (("change", self.change), ("row", self.row), ("new_deck", self.new_deck)) if value]
        if not given:
            raise ValueError("nothing is changed: give --change, --row or --new-deck")
        if self.new_deck and len(given) > 1:
            raise ValueError(f"new_deck={self.new_deck!r}: is a change of its own; leave out {' and '.join(given[:-1])}")
        checks.at_least(1, self, "batch")
        checks.at_least(2, self, "battles")
        checks.below(checks.COUNTS, self, "battles")
        checks.seed(self)
        for name in ("alpha", "power"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: must be above 0 and below 1")
        checks.folder(self)


@dataclasses.dataclass(frozen=True)
class Comparison:
    """What a config asks for.

    Attributes:
      game: in which all cards may come.
      decks: of both arms.
      change: what changes, in words.
    """

    game: Clash
    decks: Decks
    change: str


def comparison(config: ReportConfig) -> Comparison:
    """Reads rows and decks.

    Raises:
      ValueError: a change, a row, a deck or the variant is not possible.
    """
    usual = jaxgames.make("clash", config.mode)
    assert isinstance(usual, Clash)
    rows = [read_change(usual.config.table, text) for text in config.change]
    rows += read_rows(config.row) if config.row else []
    if config.instead_of and config.instead_of not in usual.config.table.card_ids:
        raise ValueError(f"instead_of={config.instead_of!r}: is no card; {usual.config.table.meant(config.instead_of)}")
    changed = with_versions(usual.config.table, rows, config.instead_of)
    before = _deck("deck", config.deck, changed) if config.deck else BEGINNER_DECK
    after = _deck("new_deck", config.new_deck, changed) if config.new_deck else _changed_deck(config, changed, before)
    against = tuple(_deck("against", text, changed) for text in config.against) or (before,)
    decks = Decks(before, after, against)
    settings = {"table": changed.table, "decks": ((), ()), "pool": decks.pool}
    numbers = [f"{text} (was {value_before(usual.config.table, text)})" for text in config.change]
    told = ", ".join(filter(None, [*numbers, config.row and Path(config.row).name, config.new_deck and "another deck"]))
    return Comparison(Clash(with_settings(usual.config, settings)), decks, told)


def _deck(label: str, text: str, changed: Changed) -> tuple[str, ...]:
    keys = tuple(text.split("+"))
    for key in keys:
        if key not in changed.table.card_ids or key in changed.versions.values():
            known = [each for each in changed.table.card_ids if each not in changed.versions.values()]
            meant = checks.perhaps(key, known) or f"there are {', '.join(known)}"
            raise ValueError(f"{label}={text!r}: {key!r} is no card; {meant}")
        if keys.count(key) > 1:
            raise ValueError(f"{label}={text!r}: {key!r} is there twice, must be there once")
    if len(keys) != DECK:
        raise ValueError(f"{label}={text!r}: {len(keys)} cards, must be {DECK}")
    return keys


def _changed_deck(config: ReportConfig, changed: Changed, before: tuple[str, ...]) -> tuple[str, ...]:
    after = changed.deck(before)
    if changed.new:
        if len(changed.new) > 1:
            raise ValueError(f"row={config.row!r}: {len(changed.new)} new cards, {', '.join(changed.new)}; must be one")
        if config.instead_of not in before:
            raise ValueError(f"instead_of={config.instead_of!r}: {changed.new[0]!r} is new; must be one of {', '.join(before)}")
        return tuple(changed.new[0] if key == config.instead_of else new for key, new in zip(before, after, strict=True))
    if config.instead_of:
        raise ValueError(f"instead_of={config.instead_of!r}: is for new cards, and there is none")
    if after == before:
        cards = ", ".join(changed.versions) or "no card"
        raise ValueError(f"deck: none of its cards changes; the change is of {cards}, so give a deck with one of them")
    return after


def run(config: ReportConfig, console: Console | None = None) -> dict:
    """Plays what is missing, shows the report, and writes it.

    Returns:
      What report.json holds.

    Raises:
      ValueError: for settings that are not possible, or another report lies in the folder.
      OSError: a file cannot be read, or the folder not written, or it is in use.
    """
    console = console or Console()
    asked = comparison(config)
    specs = [config.player, config.opponent or config.player]
    made = {spec: agents.make(spec, asked.game) for spec in specs}
    players = [made[spec] for spec in specs]
    blocks, parts = sizes(config.battles, len(asked.decks.against))
    memory.check(asked.game, players, config.batch, games=blocks * BLOCK)
    head = {
        "settings": provenance.as_read(config),
        "rows": _digest(asked),
        "networks": {spec: agents.digest(spec, asked.game) for spec in made},
        "code": provenance.source_hash(("jaxgames", "search", "training")),
    }
    with output_folder(config.output) as folder:
        assert folder is not None
        _check_folder(folder, head)
        started = time.perf_counter()
        played = _play(config, asked, players, folder, blocks, parts, console)
        told = f"{played.points.size} battles; {time.perf_counter() - started:.0f} s in this call"
        console.print(told, markup=False, highlight=False, soft_wrap=True)
        report = _report(config, asked, head, played)
        console.print(card_table(report))
        for line in card_page.lines(report):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        written: dict[Any, str | bytes] = {folder / "report.json": json.dumps(report, indent=1) + "\n"}
        try:
            plots = card_page.plots(report)
        except ImportError:
            plots = {}
            console.print("no plots: pip install '.[viz]' in a checkout", markup=False, highlight=False, soft_wrap=True)
        written[folder / "report.html"] = card_page.page(report, plots)
        write_together(written)
        console.print(f"the page {folder / 'report.html'}, its figures in {folder / 'report.json'}", markup=False, soft_wrap=True)
    return report


def sizes(battles: int, decks: int = 1) -> tuple[int, int]:
    """Gives the blocks of a part, and the parts, for so many battles of each arm against so many decks.

    All parts have one size, as it is compiled, and meet each deck equally often.
    """
    rounds = -(-battles // (SIDES * decks))
    parts = -(-rounds * decks // PART_BLOCKS)
    return -(-rounds // parts) * decks, parts


def _digest(asked: Comparison) -> str:
    """A short name for all cards of all decks, which may stand in a file that changes."""
    config = asked.game.config
    return hashlib.sha256(repr((config.units, config.cards_of, asked.decks)).encode()).hexdigest()[:16]


def _check_folder(folder: Path, head: dict) -> None:
    """Checks that the battles that lie in a folder are of the same report, and says there what it is of."""
    path = folder / "parts.json"
    if path.exists():
        then = "give another folder, or remove it"
        found = read_json(path, "settings of a report", {"settings": dict}, then=then)
        others = [name for name, value in head["settings"].items() if found["settings"].get(name) != value and name not in _FREE]
        others += [name for name in ("rows", "networks", "code") if found.get(name) != head[name]]
        if others and any(folder.glob("part-*.npz")):  # else it was stopped before any battle was over
            raise ValueError(f"output={str(folder)!r}: holds a report with other {', '.join(others)}; give another folder")
    write_atomically(path, json.dumps(head, indent=1) + "\n")


def _play(
    config: ReportConfig, asked: Comparison, players: list, folder: Path, blocks: int, parts: int, console: Console
) -> Part:
    """Plays the parts that are not there. Returns all of them."""
    found: list[Part] = []
    cards, each = len(asked.game.config.table.cards), BLOCK * blocks

    def path_of(number: int) -> Path:
        return folder / f"part-{number:04d}.npz"

    for path in itertools.takewhile(Path.exists, map(path_of, range(parts))):
        try:
            found.append(card_battles.read_part(path.read_bytes(), blocks, cards))
        except ValueError as error:
            raise ValueError(f"{path}: {error}; remove it, and it is played again") from None
    if found:
        console.print(f"{len(found) * each} battles are taken from {folder}", markup=False, highlight=False, soft_wrap=True)
    begun = len(found)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("compiling" if begun < parts else "played", total=parts * each, completed=begun * each)

        def report(progress: evaluate.Progress) -> None:
            bar.update(task, description="playing", completed=len(found) * each + progress.games)

        for number in range(begun, parts):
            key = jax.random.fold_in(jax.random.key(config.seed), number)
            size = min(config.batch, each)
            part = card_battles.play_part(asked.game, asked.decks, players, key, blocks, batch_size=size, report=report)
            write_atomically(path_of(number), part.as_bytes())
            found.append(part)
    return card_battles.join(found)


def _report(config: ReportConfig, asked: Comparison, head: dict, played: Part) -> dict:
    found = summarize(played, asked.decks, asked.game.config.table, Level(config.alpha, config.power))
    return {
        "answer": card_page.verdict(found),
        **head,
        "change": asked.change,
        "players": [config.player, config.opponent or config.player],
        "deck": {"without": list(asked.decks.before), "with": list(asked.decks.after)},
        **found,
        **provenance.describe(jax.devices()[0]),
    }


def card_table(report: dict) -> Shown:
    """Makes the table of cards for the terminal."""
    table = Shown(
        "card", *(title for title, _, _ in card_page.COLUMNS), title="without the change -> with it (difference, interval)"
    )
    for one in report["cards"]:
        name = one["card"] if one["card"] == one["with"] else f"{one['card']} -> {one['with']}"
        table.add_row(name, *(card_page.short_cell(one[figure], scale) for _, figure, scale in card_page.COLUMNS))
    return table
